//! The settings about who else is told of what runs do.

use std::{collections::BTreeMap, time::Duration};

use jsonc_parser::ast::Value;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use super::{
    super::{
        LayeredSetting,
        entries::{EntryLocation, EntryShape, MapOf},
        mistake::SettingMistake,
        shapes::{
            BoolShape, IntegerShape, ListOf, NumberShape, OneOf, OrNull, SettingShape, ShapeError, TextShape,
            plain,
        },
        tracing::OtlpProtocol,
        web::ServerAddress,
    },
    ChangeTiming, SettingKey,
    into::word,
};
use protocol::{FileProblemCode, TraceBackend, TraceContent, TracedEvents};

/// Longest time for a request: ten minutes.
const LONGEST_TIMEOUT_MS: u64 = 10 * 60 * 1_000;

pub(super) const KEYS: &[SettingKey] = &[
    key!(
        "tracing.enabled", tracing.enabled, BoolShape,
        in: Ok, out: |enabled: &bool| json!(enabled),
        "Whether spans of runs go anywhere but into the daemon's database. An agent's file can only narrow what this and the \
         next four say.",
        expected: "true or false",
        example: "false"
    ),
    key!(
        "tracing.backend", tracing.backend, ListOf(OneOf(&["sqlite", "otlp", "file", "console"])),
        in: each, out: |backends: &Vec<TraceBackend>| json!(backends),
        "Where spans go: to the collector of `tracing.otlp` (`otlp`), into files below the state folder, one a day and session \
         (`file`), into the daemon's log (`console`). The daemon's database (`sqlite`) has them anyway.",
        expected: "a list of \"sqlite\", \"otlp\", \"file\", \"console\"",
        example: "[\"file\"]"
    ),
    key!(
        "tracing.events", tracing.events, OrNull(ListOf(OneOf(&["llm", "tool"]))),
        in: |words: Option<Vec<String>>| words.map(each).transpose(), out: |events: &Option<Vec<TracedEvents>>| json!(events),
        "Kinds of spans that are sent; runs, turns and questions to people always are. null is all.",
        expected: "a list of \"llm\", \"tool\", or null for all",
        example: "[\"tool\"]"
    ),
    key!(
        "tracing.sampleRate", tracing.sample_rate, NumberShape { least: 0.0, is_above_zero: false, most: 1.0 },
        in: Ok, out: |rate: &f64| plain(*rate),
        "The part of traces whose texts are sent with them; the others are sent as with `tracing.content: none`.",
        expected: "a number from 0 to 1",
        example: "0.1"
    ),
    key!(
        "tracing.content", tracing.content, OneOf(&["full", "redacted", "none"]),
        in: word, out: |content: &TraceContent| json!(content),
        "What is sent of what agents read and wrote: texts without secrets (`full`), the sizes of texts (`redacted`), or nothing \
         (`none`).",
        expected: "one of \"full\", \"redacted\", \"none\"",
        example: "\"redacted\""
    ),
    key!(
        "tracing.file.maxBytes", tracing.file_most_bytes, IntegerShape { least: 1, most: u64::MAX },
        in: Ok, out: |bytes: &u64| json!(bytes),
        "Bytes that the files of `tracing.backend` `file` may have together; when they have more, the oldest go.",
        expected: "a whole number of at least 1",
        example: "100000000"
    ),
    key!(
        "tracing.otlp.endpoint", tracing.otlp.endpoint, OrNull(ServerAddress),
        in: Ok, out: |endpoint: &Option<String>| json!(endpoint),
        "The collector that traces, metrics and the daemon's log are sent to by the OpenTelemetry protocol; over HTTP \
         `/v1/traces` and so on are put behind it. Without it the variables `OTEL_EXPORTER_OTLP_…` count, without those nothing \
         is sent.",
        expected: "an address that begins with https:// or http:// and has no `?`, or null",
        example: "\"http://127.0.0.1:4318\""
    ),
    key!(
        "tracing.otlp.protocol", tracing.otlp.protocol, OrNull(OneOf(OtlpProtocol::WORDS)),
        in: |text: Option<String>| text.map(word).transpose(), out: |it: &Option<OtlpProtocol>| json!(it),
        "How the collector is spoken to; null is `http/protobuf`, or what `OTEL_EXPORTER_OTLP_PROTOCOL` says.",
        expected: "one of \"grpc\", \"http/protobuf\", \"http/json\", or null",
        example: "\"grpc\""
    ),
    map_key!(
        "tracing.otlp.headers", tracing.otlp.headers, HeaderShape, out: headers_shown,
        "Headers of each request to the collector. `${VAR}` and `${VAR:-default}` are filled in from the daemon's environment.",
        expected: "an object of texts by name, e.g. {\"authorization\": \"Bearer ${OTLP_TOKEN}\"}",
        example: "{\"authorization\": \"Bearer ${OTLP_TOKEN}\"}"
    ),
    key!(
        "tracing.otlp.timeoutMs", tracing.otlp.timeout, OrNull(IntegerShape { least: 1, most: LONGEST_TIMEOUT_MS }),
        in: |ms: Option<u64>| Ok(ms.map(Duration::from_millis)),
        out: |time: &Option<Duration>| time.map_or(Json::Null, |time| json!(time.as_millis())),
        "Milliseconds for one request to the collector; null is 10000, or what `OTEL_EXPORTER_OTLP_TIMEOUT` says.",
        expected: "a whole number of milliseconds from 1 to 600000, or null",
        example: "5000"
    ),
    key!(
        "tracing.otlp.compression", tracing.otlp.compression, OrNull(OneOf(&["gzip", "none"])),
        in: |text: Option<String>| Ok(text.map(|text| text == "gzip")),
        out: |gzip: &Option<bool>| gzip.map_or(Json::Null, |gzip| json!(if gzip { "gzip" } else { "none" })),
        "Whether what is sent is compressed; null is `none`, or what `OTEL_EXPORTER_OTLP_COMPRESSION` says.",
        expected: "\"gzip\", \"none\" or null",
        example: "\"gzip\""
    ),
    key!(
        "tracing.otlp.signals", tracing.otlp.signals, ListOf(OneOf(&["traces", "metrics", "logs"])),
        in: Ok, out: |words: &Vec<String>| json!(words),
        "What is sent to the collector.",
        expected: "a list of \"traces\", \"metrics\", \"logs\"",
        example: "[\"traces\"]"
    ),
    key!(
        "tracing.otlp.maxBacklog", tracing.otlp.max_backlog, IntegerShape { least: 1, most: u64::MAX },
        in: Ok, out: |events: &u64| json!(events),
        "Events of the log whose spans may wait for a collector that is away; older spans are dropped, and counted.",
        expected: "a whole number of at least 1",
        example: "100000"
    ),
];

/// Words that the shape lets through.
fn each<T: DeserializeOwned>(words: Vec<String>) -> Result<Vec<T>, ShapeError> {
    words.into_iter().map(word).collect()
}

/// Shape of one header of a request.
struct HeaderShape;

impl EntryShape for HeaderShape {
    type Out = String;

    fn name_problem(&self, name: &str) -> Option<String> {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
        let is_name = !name.is_empty() && name.chars().all(is_letter);
        (!is_name).then(|| "is no name of a header".to_owned())
    }

    fn read(
        &self,
        entry: &EntryLocation<'_>,
        value: &Value<'_>,
        mistakes: &mut Vec<SettingMistake>,
    ) -> Option<String> {
        let text = TextShape.read(value).ok().filter(|text| !text.chars().any(char::is_control));
        if text.is_none() {
            // What was found is not shown: it may be a secret.
            let message =
                format!("`{}`: expected a text of one line, e.g. \"Bearer ${{TOKEN}}\"", entry.path);
            mistakes.push(SettingMistake::error(value, FileProblemCode::BadValue, message));
        }
        text
    }

    fn schema(&self) -> Json {
        TextShape.schema()
    }

    fn schema_of_names(&self) -> Json {
        json!({ "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" })
    }
}

/// Only what names a variable is shown; anything else may be a secret.
fn headers_shown(headers: &BTreeMap<String, String>) -> Json {
    let shown = |text: &str| if text.contains("${") { json!(text) } else { json!("(hidden)") };
    Json::Object(headers.iter().map(|(name, text)| (name.clone(), shown(text))).collect::<Map<_, _>>())
}

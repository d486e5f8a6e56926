//! Who else is told of what runs do? The settings `tracing` (spec 10, "OTLP").

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::LayeredSetting;
use protocol::{TraceBackend, TraceContent, TracedEvents};

/// Events that wait for a collector where nobody says: some days of a busy daemon.
const USUAL_BACKLOG: u64 = 1_000_000;

/// Bytes of files of spans where nobody says: a gibibyte.
const USUAL_FILE_BYTES: u64 = 1 << 30;

/// Settings about what others are told of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct TracingSettings {
    pub enabled: LayeredSetting<bool>,
    /// `sqlite`, `otlp`, `file`, `console`.
    pub backend: LayeredSetting<Vec<TraceBackend>>,
    /// Kinds of spans beside runs, turns and questions; `None` = all.
    pub events: LayeredSetting<Option<Vec<TracedEvents>>>,
    /// From 0 to 1.
    pub sample_rate: LayeredSetting<f64>,
    pub content: LayeredSetting<TraceContent>,
    /// Bytes that all files of spans may have together.
    pub file_most_bytes: LayeredSetting<u64>,
    pub otlp: OtlpExportSettings,
}

/// The collector of traces, metrics and logs, and how it is spoken to.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpExportSettings {
    /// `None` = what OpenTelemetry's variables say.
    pub endpoint: LayeredSetting<Option<String>>,
    /// `None` = as those variables say, or protobuf over HTTP.
    pub protocol: LayeredSetting<Option<OtlpProtocol>>,
    /// Headers by name, `${VAR}` not filled in.
    pub headers: LayeredSetting<BTreeMap<String, String>>,
    /// Time for one request.
    pub timeout: LayeredSetting<Option<Duration>>,
    /// Bodies are sent as gzip.
    pub compression: LayeredSetting<Option<bool>>,
    /// `traces`, `metrics`, `logs`.
    pub signals: LayeredSetting<Vec<String>>,
    /// Events of the log that may wait for the collector of traces.
    pub max_backlog: LayeredSetting<u64>,
}

/// A transport of the OpenTelemetry protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OtlpProtocol {
    #[serde(rename = "grpc")]
    Grpc,
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
    #[serde(rename = "http/json")]
    HttpJson,
}

impl OtlpProtocol {
    pub const WORDS: &[&str] = &["grpc", "http/protobuf", "http/json"];

    /// Reads it as settings and OpenTelemetry's variables write it.
    pub fn parse(word: &str) -> Option<OtlpProtocol> {
        match word {
            "grpc" => Some(OtlpProtocol::Grpc),
            "http/protobuf" => Some(OtlpProtocol::HttpProtobuf),
            "http/json" => Some(OtlpProtocol::HttpJson),
            _ => None,
        }
    }
}

impl Default for TracingSettings {
    fn default() -> TracingSettings {
        let signals = ["traces", "metrics", "logs"].map(str::to_owned).to_vec();
        TracingSettings {
            enabled: LayeredSetting::default_of(true),
            backend: LayeredSetting::default_of(vec![TraceBackend::Sqlite, TraceBackend::Otlp]),
            events: LayeredSetting::default_of(None),
            sample_rate: LayeredSetting::default_of(1.0),
            content: LayeredSetting::default_of(TraceContent::Full),
            file_most_bytes: LayeredSetting::default_of(USUAL_FILE_BYTES),
            otlp: OtlpExportSettings {
                endpoint: LayeredSetting::default_of(None),
                protocol: LayeredSetting::default_of(None),
                headers: LayeredSetting::default_of(BTreeMap::new()),
                timeout: LayeredSetting::default_of(None),
                compression: LayeredSetting::default_of(None),
                signals: LayeredSetting::default_of(signals),
                max_backlog: LayeredSetting::default_of(USUAL_BACKLOG),
            },
        }
    }
}

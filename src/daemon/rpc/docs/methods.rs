//! `methods.md`: what a client can ask.

use std::fmt::Write as _;

use serde_json::json;

use super::{
    examples::{self, ProtocolExamples},
    schemas::SchemaDefinitions,
    tables::{FieldDirection, PLACE, fields, one_line, types},
};
use protocol::{MAX_BATCH, MAX_IN_FLIGHT, MAX_MESSAGE_BYTES, MAX_SUBSCRIPTIONS, METHODS};

pub(super) fn page() -> String {
    let mut schemas = SchemaDefinitions::new(PLACE);
    let mut sections = String::new();
    let mut index = String::new();
    let mut shown_above = Vec::new();
    let examples = ProtocolExamples::read();
    for method in METHODS {
        let params = schemas.add((method.params)());
        let result = schemas.add((method.result)());
        let _ = writeln!(
            index,
            "- [`{}`](#{}): {}",
            method.name,
            anchor(method.name),
            first_sentence(method.doc)
        );
        let style = if method.is_subscription { " (subscription)" } else { "" };
        let _ = writeln!(sections, "\n## `{}`{style}\n\n{}\n", method.name, one_line(method.doc));
        let _ = writeln!(sections, "**Parameters**\n\n{}", fields(&params, FieldDirection::Sent, &schemas));
        let answers = if method.is_subscription { "**Result**: the subscription's id" } else { "**Result**" };
        let _ = writeln!(
            sections,
            "{answers}\n\n{}",
            fields(&result, FieldDirection::Received, &schemas).trim_end()
        );
        for example in examples.of_method(method.name) {
            let call = json!({ "params": example.params, "result": example.result });
            let _ = writeln!(sections, "\n**Example**: {}\n", example.title);
            let _ = writeln!(sections, "```json\n{}\n```", examples::text(&call));
        }
        // Their tables stand at the method; only types that several places share are repeated below.
        let names = [params, result]
            .map(|one| one["$ref"].as_str().and_then(|name| name.strip_prefix(PLACE)).map(str::to_owned));
        shown_above.extend(
            names.into_iter().flatten().filter(|name| name.ends_with("Params") || name.ends_with("Result")),
        );
    }
    let nested = ["LimitsParams", "ToolResult"];
    let types =
        types(&schemas, |name| nested.contains(&name) || !shown_above.iter().any(|shown| shown == name));
    format!(
        "# Methods\n\n\
         Generated from the daemon's types; `openrpc.json` says the same for programs.\n\n\
         Parameters are given by name; missing parameters are `{{}}`, a missing field means its default. A field \
         that nobody knows is ignored and reported once by `signal.unknownField`; a client that said `strict` in \
         `initialize` gets an error instead, and so does every client within `limits` and `approval`, and for a field \
         that was probably meant to stand there: nothing that holds an agent back is lost. Any method may answer with the errors of [errors.md](errors.md). \
         In results every list of values may grow: clients show those they do not know as text. In parameters other \
         values are refused.\n\n\
         A connection may send messages of {MAX_MESSAGE_BYTES} bytes, have {MAX_IN_FLIGHT} requests open, hold \
         {MAX_SUBSCRIPTIONS} subscriptions, and put {MAX_BATCH} requests into a batch. `$/cancelRequest {{id}}` \
         cancels an open request: it answers `REQUEST_CANCELLED`, or normally when that came too late.\n\n\
         {index}{sections}\n{types}"
    )
}

/// How Markdown renderers name the heading of a method.
fn anchor(method: &str) -> String {
    method.replace('/', "").to_lowercase()
}

fn first_sentence(doc: &str) -> String {
    let doc = one_line(doc);
    match doc.find(". ") {
        Some(end) => doc[..=end].to_owned(),
        None => doc,
    }
}

//! What can a client rely on? The protocol's tables as documents: `proto-docs/` and `rpc/discover` (spec 01).
//!
//! Generated from the types that dispatch uses, so that they cannot say anything else. A test compares them with
//! `proto-docs/`; `UPDATE_EXPECT=1 cargo test --test it proto_docs` writes them.

mod errors;
mod events;
mod examples;
mod methods;
mod schemas;
mod tables;
mod typescript;

use serde_json::{Map, Value, json};

pub use self::{
    events::SIGNALS,
    examples::{MethodExample, ProtocolExamples},
};

use self::schemas::SchemaDefinitions;
use config::schema as settings_schema;
use protocol::{EVENTS, ErrorKind, EventNotification, METHODS, MethodDoc, RpcError, answer_schema};

/// The version of OpenRPC that the document follows.
const OPENRPC_VERSION: &str = "1.3.2";

/// The generated files of `proto-docs/`, by name.
pub fn files() -> Vec<(&'static str, String)> {
    vec![
        ("openrpc.json", format!("{:#}\n", openrpc())),
        ("methods.md", methods::page()),
        ("events.md", events::page()),
        ("errors.md", errors::page()),
        ("types.ts", typescript::page()),
        ("agent.schema.json", format!("{:#}\n", agents::front_matter_schema())),
        ("settings.schema.json", format!("{:#}\n", settings_schema())),
    ]
}

/// The OpenRPC document; every schema stands once, under `components/schemas`.
pub fn openrpc() -> Value {
    let examples = ProtocolExamples::read();
    let mut schemas = SchemaDefinitions::new("#/components/schemas/");
    let methods: Vec<_> =
        METHODS.iter().map(|method| openrpc_method(method, &examples, &mut schemas)).collect();
    let events: Vec<_> = EVENTS
        .iter()
        .chain(SIGNALS)
        .map(|event| {
            json!({
                "name": event.name,
                "summary": tables::one_line(event.doc),
                "data": schemas.add((event.data)()),
                "examples": examples.of_event(event.name),
            })
        })
        .collect();
    let notification = schemas.add(answer_schema::<EventNotification>());
    let error = schemas.add(answer_schema::<RpcError>());
    let errors: Map<_, _> = ErrorKind::ALL
        .iter()
        .map(|kind| {
            // OpenRPC shows an error by its data as it is, not by a schema.
            let data = examples.of_error(kind.as_str()).map_or(Value::Null, |error| error["data"].clone());
            let error = json!({ "code": kind.code(), "message": tables::one_line(kind.doc()), "data": data });
            (kind.as_str().to_owned(), error)
        })
        .collect();
    json!({
        "openrpc": OPENRPC_VERSION,
        "info": {
            "title": "subagentd",
            "description": "JSON-RPC 2.0 over a Unix socket, one JSON value a line.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "methods": methods,
        "x-notifications": [{ "method": "event", "params": notification }],
        "x-events": events,
        "x-error": error,
        "components": { "errors": errors, "schemas": schemas.into_definitions() },
    })
}

fn openrpc_method(method: &MethodDoc, examples: &ProtocolExamples, schemas: &mut SchemaDefinitions) -> Value {
    let params = (method.params)().to_value();
    let required = params.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    schemas.lift_definitions(&params);
    let properties = params.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let params: Vec<_> = properties
        .into_iter()
        .map(|(name, schema)| {
            let is_required = required.iter().any(|required| required == &name);
            json!({ "name": name, "required": is_required, "schema": schemas.relocated(schema) })
        })
        .collect();
    let mut entry = json!({
        "name": method.name,
        "summary": tables::one_line(method.doc),
        "paramStructure": "by-name",
        "params": params,
        "result": { "name": "result", "schema": schemas.add((method.result)()) },
        "examples": examples.of_method(method.name).map(openrpc_example).collect::<Vec<_>>(),
    });
    if method.is_subscription {
        entry["x-subscription"] = json!({ "notification": "event" });
    }
    entry
}

fn openrpc_example(example: &MethodExample) -> Value {
    let params = example.params.iter().map(|(name, value)| json!({ "name": name, "value": value }));
    json!({
        "name": example.title,
        "params": params.collect::<Vec<_>>(),
        "result": { "name": "result", "value": example.result },
    })
}

#[cfg(test)]
mod tests;

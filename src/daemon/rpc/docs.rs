//! What can a client rely on? The protocol's tables as documents: `proto-docs/` and `rpc/discover` (spec 01).
//!
//! Generated from the types that dispatch uses, so that they cannot say anything else. A test compares them with
//! `proto-docs/`; `UPDATE_EXPECT=1 cargo test --test it proto_docs` writes them.

mod errors;
mod events;
mod methods;
mod schemas;
mod tables;

use serde_json::{Map, Value, json};

use self::{events::SIGNALS, schemas::Schemas};
use crate::{
    config::schema as settings_schema,
    protocol::{EVENTS, ErrorData, ErrorKind, EventNotification, METHODS, MethodDoc},
};

/// The version of OpenRPC that the document follows.
const OPENRPC_VERSION: &str = "1.3.2";

/// The generated files of `proto-docs/`, by name.
pub fn files() -> Vec<(&'static str, String)> {
    vec![
        ("openrpc.json", format!("{:#}\n", openrpc())),
        ("methods.md", methods::page()),
        ("events.md", events::page()),
        ("errors.md", errors::page()),
        ("settings.schema.json", format!("{:#}\n", settings_schema())),
    ]
}

/// The OpenRPC document; every schema stands once, under `components/schemas`.
pub fn openrpc() -> Value {
    let mut schemas = Schemas::new("#/components/schemas/");
    let methods: Vec<_> = METHODS.iter().map(|method| openrpc_method(method, &mut schemas)).collect();
    let events: Vec<_> = EVENTS
        .iter()
        .chain(SIGNALS)
        .map(|event| json!({ "name": event.name, "summary": event.doc.trim(), "data": schemas.add((event.data)()) }))
        .collect();
    let notification = schemas.add(schemars::schema_for!(EventNotification));
    let error_data = schemas.add(schemars::schema_for!(ErrorData));
    let errors: Map<_, _> = ErrorKind::ALL
        .iter()
        .map(|kind| {
            let error = json!({ "code": kind.code(), "message": kind.doc().trim(), "data": error_data });
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
        "components": { "errors": errors, "schemas": schemas.into_definitions() },
    })
}

fn openrpc_method(method: &MethodDoc, schemas: &mut Schemas) -> Value {
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
    });
    if method.is_subscription {
        entry["x-subscription"] = json!({ "notification": "event" });
    }
    entry
}

#[cfg(test)]
mod tests;

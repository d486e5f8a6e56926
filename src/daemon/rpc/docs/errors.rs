//! `errors.md`: what can go wrong with a request.

use std::fmt::Write as _;

use super::{
    schemas::Schemas,
    tables::{Fields, PLACE, fields, one_line},
};
use crate::protocol::{ErrorData, ErrorKind, Violation, answer_schema};

pub(super) fn page() -> String {
    let mut schemas = Schemas::new(PLACE);
    let data = schemas.add(answer_schema::<ErrorData>());
    let violation = schemas.add(schemars::schema_for!(Violation));
    // The kinds are the table of this page.
    let data = fields(&data, Fields::Received, &schemas).replace("[ErrorKind](#errorkind)", "[kind](#kinds)");
    let violation = fields(&violation, Fields::Received, &schemas);
    let mut kinds = "| kind | code | retryable | meaning |\n|---|---|---|---|\n".to_owned();
    for kind in ErrorKind::ALL {
        let retryable = if kind.is_retryable() { "yes" } else { "" };
        let (name, code, doc) = (kind.as_str(), kind.code(), one_line(kind.doc()));
        let _ = writeln!(kinds, "| `{name}` | {code} | {retryable} | {doc} |");
    }
    format!(
        "# Errors\n\n\
         Generated from the daemon's types.\n\n\
         A request fails with `error: {{code, message, data}}`. Programs look at `data.kind`; the message is one \
         line for people and may change. Codes from −32768 to −32000 and −32800 mean what JSON-RPC and its \
         dialects say; the daemon's own lie in −31xxx. Neither codes nor kinds are ever reused. Failures inside \
         a run (of a tool, of a model) are events, not request errors.\n\n\
         ## Data\n\n{data}\n\
         The `details` of `INVALID_PARAMS` are `{{violations}}`, an array of:\n\n{violation}\n\
         ## Kinds\n\n{kinds}"
    )
}

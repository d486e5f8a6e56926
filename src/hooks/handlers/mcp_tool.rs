//! A hook that is a tool of an MCP server: its text is read like a command's output.

use serde_json::{Map, Value};

use crate::{HookServices, answer::HandlerEnd};
use protocol::HookOutcome;

pub(super) async fn call(
    services: &dyn HookServices,
    tool: (&str, &str),
    (given, input): (&Map<String, Value>, &Value),
    is_own: bool,
) -> HandlerEnd {
    let filled = given.iter().map(|(key, value)| (key.clone(), filled(value, input))).collect();
    match services.call_mcp_tool(tool, Value::Object(filled), is_own).await {
        Ok(text) => HandlerEnd::answered(text),
        Err(why) => HandlerEnd::failed(HookOutcome::Failed, format!("could not call its tool: {why}")),
    }
}

/// The same with `${path.to.field}` of what a hook reads in place of each such text.
fn filled(value: &Value, input: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(filled_text(text, input)),
        Value::Array(items) => Value::Array(items.iter().map(|item| filled(item, input)).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), filled(value, input))).collect())
        }
        other => other.clone(),
    }
}

fn filled_text(text: &str, input: &Value) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((path, behind)) = after.split_once('}') else { break };
        filled.push_str(before);
        let pointer: String = path.split('.').map(|part| format!("/{part}")).collect();
        match input.pointer(&pointer) {
            None => {}
            Some(Value::String(found)) => filled.push_str(found),
            Some(found) => filled.push_str(&found.to_string()),
        }
        rest = behind;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_the_input_are_filled_in() {
        let input = json!({ "tool_input": { "file_path": "/w/a", "n": 3 } });
        let given = json!({ "path": "${tool_input.file_path}", "all": ["${tool_input.n}!", 7], "no": "${nothing}", "open": "${x" });
        let expected = json!({ "path": "/w/a", "all": ["3!", 7], "no": "", "open": "${x" });
        assert_eq!(filled(&given, &input), expected);
    }
}

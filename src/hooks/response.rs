//! How is a call's result shown to a hook (`tool_response`), and which text does the model read of what a hook makes of that?
//!
//! Whatever the model is to read stands in it, where Claude Code has it: a hook that hides secrets walks through it and gives it back.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{
    HookContract, HookedCall, HookedResult,
    tool_names::{self, ForeignCall},
};
use protocol::ToolCall;

/// Where the text stands that the model reads.
enum TextPlace {
    /// A text in this field.
    Field(&'static str),
    /// Lines in a list in this field.
    Lines(&'static str),
    /// Texts of the blocks in the field `content`.
    Blocks,
    /// What a command printed.
    Printed,
    /// A text in `content` of `file`.
    File,
}

impl TextPlace {
    fn of(call: &HookedCall, contract: HookContract) -> TextPlace {
        match call.tool.as_str() {
            _ if contract == HookContract::Gemini => TextPlace::Field("llmContent"),
            _ if call.mcp.is_some() || call.answered_by.is_some() => TextPlace::Blocks,
            "run_shell_command" => TextPlace::Printed,
            "write_file" | "edit_file" => TextPlace::Field("text"),
            "read_file" => TextPlace::File,
            "glob" => TextPlace::Lines("filenames"),
            "web_fetch" => TextPlace::Field("result"),
            _ => TextPlace::Field("content"),
        }
    }
}

/// A call in the words of Claude Code, as hooks find it in what was said: the tool and its arguments. `root`: where relative paths begin.
pub fn in_claude_codes_words(call: &ToolCall, root: &Path) -> (String, Value) {
    let of_server = call.name.as_str().strip_prefix("mcp.").and_then(|rest| rest.split_once('.'));
    let hooked = HookedCall {
        call_id: call.call_id.clone(),
        tool: call.name.clone(),
        mcp: of_server.map(|(server, tool)| (server.to_owned(), tool.to_owned())),
        answered_by: None,
        arguments: call.arguments.clone(),
        accesses: Vec::new(),
        page: None,
    };
    let ForeignCall { name, arguments } = tool_names::shown(&hooked, HookContract::Claude, root);
    (name, arguments)
}

/// A result in the words of a contract.
pub(super) fn shown_result(result: &HookedResult, contract: HookContract, root: &Path) -> Value {
    let HookedResult { call, text, data, error, is_interrupt, .. } = result;
    // What the tool says of itself stands beside its text.
    let mut shown = match data {
        Some(Value::Object(data)) if contract != HookContract::Gemini => data.clone(),
        _ => Map::new(),
    };
    let has_fields = !shown.is_empty();
    match TextPlace::of(call, contract) {
        TextPlace::Field("llmContent") => {
            let mut shown = json!({ "llmContent": text, "returnDisplay": text });
            if let Some(error) = error {
                shown["error"] = json!({ "message": error });
            }
            shown
        }
        TextPlace::Blocks => {
            json!({ "content": [{ "type": "text", "text": text }], "isError": error.is_some() })
        }
        TextPlace::Printed => {
            json!({ "stdout": text, "stderr": "", "interrupted": is_interrupt, "isImage": false })
        }
        TextPlace::Field("text") => {
            let arguments = tool_names::shown(call, contract, root).arguments;
            let path = arguments.get("file_path").cloned().unwrap_or_default();
            json!({ "filePath": path, "success": error.is_none(), "text": text })
        }
        TextPlace::File => {
            let arguments = tool_names::shown(call, contract, root).arguments;
            let path = arguments.get("file_path").cloned().unwrap_or_default();
            let number = |name: &str| shown.get(name).and_then(Value::as_u64);
            let from = number("from").unwrap_or(0);
            let n_lines =
                number("to").map_or_else(|| text.lines().count() as u64, |to| to.saturating_sub(from));
            let file = json!({
                "filePath": path,
                "content": text,
                "numLines": n_lines,
                "startLine": from + 1,
                "totalLines": number("lines").unwrap_or(n_lines),
            });
            json!({ "type": "text", "file": file })
        }
        TextPlace::Lines(field) => {
            let lines: Vec<&str> = text.split('\n').collect();
            shown.insert("numFiles".to_owned(), shown.get("files").cloned().unwrap_or(json!(lines.len())));
            shown.insert(field.to_owned(), json!(lines));
            Value::Object(shown)
        }
        TextPlace::Field(field) if has_fields => {
            shown.insert(field.to_owned(), json!(text));
            Value::Object(shown)
        }
        TextPlace::Field(_) => json!(text),
    }
}

/// The text for the model of an output that a hook gives in place of a result: where it has the form in which the hook read that, what
/// stands in the text's place. `None`: it has another form, and is read as it is.
pub(super) fn given_text(output: &Value, call: &HookedCall, contract: HookContract) -> Option<String> {
    let text_of = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    output.as_object()?;
    match TextPlace::of(call, contract) {
        TextPlace::Field(field) => text_of(output.get(field)),
        TextPlace::File => text_of(output.pointer("/file/content")),
        TextPlace::Lines(field) => {
            let lines: Option<Vec<&str>> = output.get(field)?.as_array()?.iter().map(Value::as_str).collect();
            lines.map(|lines| lines.join("\n"))
        }
        TextPlace::Blocks => {
            let blocks = output.get("content")?.as_array()?.iter();
            let texts: Option<Vec<&str>> =
                blocks.map(|block| block.get("text").and_then(Value::as_str)).collect();
            texts.map(|texts| texts.join("\n"))
        }
        TextPlace::Printed => {
            let stdout = text_of(output.get("stdout"))?;
            match text_of(output.get("stderr")).filter(|stderr| !stderr.is_empty()) {
                None => Some(stdout),
                Some(stderr) => Some(format!("{stdout}\nstderr:\n{stderr}")),
            }
        }
    }
}

/// True of an output in which another field says something else than the tool did. One that has the text alone is a shorter form.
pub(super) fn changes_data(output: &Value, result: &HookedResult, contract: HookContract) -> bool {
    let (TextPlace::Field(_) | TextPlace::Lines(_)) = TextPlace::of(&result.call, contract) else {
        return false;
    };
    let Some(Value::Object(data)) = result.data.as_ref().filter(|_| contract != HookContract::Gemini) else {
        return false;
    };
    let has_any = data.keys().any(|name| output.get(name).is_some());
    has_any && data.iter().any(|(name, value)| output.get(name) != Some(value))
}

/// An output without the text that the model would read of it.
pub(super) fn without_text(mut output: Value, call: &HookedCall, contract: HookContract) -> Value {
    if let Some(fields) = output.as_object_mut() {
        let name = match TextPlace::of(call, contract) {
            TextPlace::Field(name) | TextPlace::Lines(name) => name,
            TextPlace::Blocks => "content",
            TextPlace::Printed => "stdout",
            TextPlace::File => "file",
        };
        fields.remove(name);
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::call;

    fn result(tool: &str, data: Option<Value>) -> HookedResult {
        HookedResult {
            call: call(tool, json!({ "path": "a", "command": "x", "pattern": "p" })),
            text: "one\nTOKEN=SECRET".to_owned(),
            has_more_than_text: false,
            data,
            error: None,
            is_interrupt: false,
            duration_ms: 1,
        }
    }

    /// Replaces a word in every text, as a hook does that hides secrets.
    fn hidden(value: &Value) -> Value {
        serde_json::from_str(&value.to_string().replace("SECRET", "[hidden]")).unwrap()
    }

    #[test]
    fn whoever_hides_a_secret_in_what_is_shown_hides_it_from_the_model() {
        for contract in [HookContract::Claude, HookContract::Codex, HookContract::Gemini] {
            for (tool, data) in [
                ("run_shell_command", Some(json!({ "exitCode": 0 }))),
                ("read_file", Some(json!({ "lines": 2, "from": 0, "to": 2, "encoding": "UTF-8" }))),
                ("read_file", None),
                ("grep", Some(json!({ "files": 1, "matches": 1 }))),
                ("glob", Some(json!({ "files": 2, "shown": 2 }))),
                ("list_directory", Some(json!({ "entries": 2 }))),
                ("read_many_files", Some(json!({ "files": [] }))),
                ("web_fetch", Some(json!({ "urls": [] }))),
                ("write_file", None),
                ("edit_file", Some(json!({}))),
            ] {
                let result = result(tool, data);
                let shown = shown_result(&result, contract, Path::new("/w"));
                assert!(shown.to_string().contains("SECRET"), "{tool}: {shown}");
                let given = hidden(&shown);
                let text = given_text(&given, &result.call, contract)
                    .unwrap_or_else(|| given.as_str().unwrap_or_default().to_owned());
                assert_eq!(text, "one\nTOKEN=[hidden]", "{contract:?} {tool}: {given}");
            }
        }
    }

    /// The text has once more what the fields beside it say.
    #[test]
    fn whoever_changes_what_stands_beside_the_text_takes_the_text_away() {
        let data = json!({ "answer": "one\nTOKEN=SECRET", "sources": 1 });
        let result = result("web_search", Some(data));
        let mut given = shown_result(&result, HookContract::Claude, Path::new("/w"));
        given["answer"] = json!("[hidden]");
        assert_eq!(given_text(&given, &result.call, HookContract::Claude), Some(result.text.clone()));
        assert!(changes_data(&given, &result, HookContract::Claude));
        let left = without_text(given, &result.call, HookContract::Claude);
        assert_eq!(left, json!({ "answer": "[hidden]", "sources": 1 }));
        let gone = json!({ "sources": 1, "content": result.text });
        assert!(changes_data(&gone, &result, HookContract::Claude));
        // Who gives back less of the form has hidden nothing.
        let alone = json!({ "content": result.text });
        assert!(!changes_data(&alone, &result, HookContract::Claude));
        let printed = HookedResult { call: call("run_shell_command", json!({ "command": "x" })), ..result };
        let stdout = json!({ "stdout": printed.text, "interrupted": true });
        assert!(!changes_data(&stdout, &printed, HookContract::Claude));
    }

    #[test]
    fn files_are_shown_as_claude_code_shows_them() {
        let data = json!({ "lines": 9, "from": 3, "to": 5, "encoding": "UTF-8" });
        let shown = shown_result(&result("read_file", Some(data)), HookContract::Claude, Path::new("/w"));
        let file = json!({
            "filePath": "/w/a", "content": "one\nTOKEN=SECRET", "numLines": 2, "startLine": 4, "totalLines": 9,
        });
        assert_eq!(shown, json!({ "type": "text", "file": file }));
        let given = json!({ "text": "in another form" });
        assert_eq!(given_text(&given, &result("read_file", None).call, HookContract::Claude), None);
    }
}

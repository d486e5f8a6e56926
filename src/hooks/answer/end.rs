//! How did a handler end, and what did it print?

use serde_json::Value;

use crate::unique_json::UniqueObject;
use protocol::HookOutcome;

/// The way in which a handler ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct HandlerEnd {
    /// Only of a command that ended by itself. An HTTP answer of 2xx is 0.
    pub exit_code: Option<i32>,
    pub stdout: String,
    /// The first of it, for reasons.
    pub stderr: String,
    /// The last of it, for the log.
    pub stderr_end: String,
    /// It did not end as it should; how, and a sentence without its subject.
    pub failure: Option<(HookOutcome, String)>,
    /// It goes on by itself; within so many milliseconds, if it says.
    pub goes_async: Option<Option<u64>>,
    /// It printed the event that it read, as it was, which says nothing.
    pub is_echo: bool,
}

impl HandlerEnd {
    pub fn failed(how: HookOutcome, why: impl Into<String>) -> HandlerEnd {
        HandlerEnd { failure: Some((how, why.into())), ..HandlerEnd::default() }
    }

    pub fn answered(text: impl Into<String>) -> HandlerEnd {
        HandlerEnd { exit_code: Some(0), stdout: text.into(), ..HandlerEnd::default() }
    }

    /// Notes whether it printed what it read, as hooks do that hand their input on.
    pub fn beside(self, input: &Value) -> HandlerEnd {
        let printed = self.stdout.trim();
        let is_echo = printed.starts_with('{')
            && serde_json::from_str(printed)
                .is_ok_and(|UniqueObject(printed)| input.as_object() == Some(&printed));
        HandlerEnd { is_echo, ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_read_as_it_was_is_an_echo() {
        let input = json!({ "session_id": "s", "tool_input": { "command": "rm x" }, "reason": "other" });
        let is_echo = |printed: &str| HandlerEnd::answered(printed).beside(&input).is_echo;
        assert!(is_echo(&format!("{input}\n")) && is_echo(&serde_json::to_string_pretty(&input).unwrap()));
        let rewritten = json!({ "session_id": "s", "tool_input": { "command": "ls" }, "reason": "other" });
        let twice = r#"{"session_id":"s","session_id":"s","tool_input":{"command":"rm x"},"reason":"other"}"#;
        for printed in [&rewritten.to_string(), &format!("note {input}"), twice, "", "{", "[]"] {
            assert!(!is_echo(printed), "{printed}");
        }
    }
}

//! How did a handler end, and what did it print?

use serde_json::Value;

use super::consent::is_spelled;
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
    /// The rest of its output beside the event that it read, where it printed that as it was: that says nothing.
    pub without_echo: Option<String>,
    /// Sentences about files that it made and that were put aside.
    pub put_aside: Vec<String>,
    /// What it read spells a consent, so that one which it prints may be an agent's.
    pub has_read_consent: bool,
}

impl HandlerEnd {
    pub fn failed(how: HookOutcome, why: impl Into<String>) -> HandlerEnd {
        HandlerEnd { failure: Some((how, why.into())), ..HandlerEnd::default() }
    }

    pub fn answered(text: impl Into<String>) -> HandlerEnd {
        HandlerEnd { exit_code: Some(0), stdout: text.into(), ..HandlerEnd::default() }
    }

    /// Notes where it printed what it read, as hooks do that hand their input on or write down what they are asked.
    pub fn beside(self, input: &Value) -> HandlerEnd {
        let without_echo = without_echo(&self.stdout, input);
        HandlerEnd { without_echo, has_read_consent: is_spelled(input), ..self }
    }
}

/// Events in an output, at most: nobody prints more of them.
const MOST_ECHOES: usize = 16;

/// Braces before an event's name at which it may begin.
const MOST_BRACES: usize = 64;

/// An output without the event in it; `None` = it is not there. Only the whole event is taken out, which no answer is.
fn without_echo(stdout: &str, input: &Value) -> Option<String> {
    const NAME: &str = "\"hook_event_name\"";
    let input = input.as_object()?;
    let (mut left, mut from) = (String::new(), 0);
    for _ in 0..MOST_ECHOES {
        let Some(name) = stdout[from..].find(NAME).map(|at| from + at) else { break };
        // The event begins before its name, and is no part of another object.
        let mut braces = stdout[from..name].match_indices('{').map(|(at, _)| from + at).take(MOST_BRACES);
        let echo = braces.find_map(|at| {
            let mut values = serde_json::Deserializer::from_str(&stdout[at..]).into_iter::<UniqueObject>();
            let UniqueObject(printed) = values.next()?.ok()?;
            Some((at, at + values.byte_offset(), printed == *input))
        });
        let Some((at, end, is_echo)) = echo else {
            left.push_str(&stdout[from..name + NAME.len()]);
            from = name + NAME.len();
            continue;
        };
        left.push_str(&stdout[from..if is_echo { at } else { end }]);
        from = end;
    }
    left.push_str(&stdout[from..]);
    (left.len() < stdout.len()).then_some(left)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_read_as_it_was_is_an_echo() {
        let input =
            json!({ "hook_event_name": "Stop", "tool_input": { "command": "rm x" }, "reason": "other" });
        let left = |printed: &str| HandlerEnd::answered(printed).beside(&input).without_echo;
        let pretty = serde_json::to_string_pretty(&input).unwrap();
        assert_eq!(left(&format!("{input}\n")).as_deref(), Some("\n"));
        assert_eq!(left(&pretty).as_deref(), Some(""));
        assert_eq!(left(&format!("{{x note {input}{pretty} y")).as_deref(), Some("{x note  y"));
        let rewritten =
            json!({ "hook_event_name": "Stop", "tool_input": { "command": "ls" }, "reason": "other" });
        let within = json!({ "decision": "block", "event": input });
        let twice = r#"{"hook_event_name":"Stop","hook_event_name":"Stop","tool_input":{"command":"rm x"},"reason":"other"}"#;
        for printed in
            [&rewritten.to_string(), &within.to_string(), twice, "", "{", "[]", "\"hook_event_name\" {"]
        {
            assert_eq!(left(printed), None, "{printed}");
        }
    }
}

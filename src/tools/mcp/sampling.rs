//! What would a server have the model say? (Spec 07, sampling.) Text alone: whatever else a server sends is refused, since nobody
//! could show it to the person who decides. Of what is long a person sees the beginning, and is told how much is not shown.

use serde_json::{Value, json};

use super::words::TextSanitizer;
use crate::{ModelAnswer, ModelConversation};
use protocol::{ConfirmationDetails, ContextMessage, MessagePart, MessageRole};

/// Messages of one conversation, and bytes of all of them.
const MOST_MESSAGES: usize = 100;
const MOST_BYTES: usize = 256 << 10;
/// Characters of the system prompt and of a message that a person is shown, and messages.
const SHOWN_CHARS: usize = 2_000;
const SHOWN_MESSAGES: usize = 10;

/// A conversation that the model is to go on with.
pub struct SamplingRequest {
    system: Option<String>,
    /// Who speaks, and what they say, without secrets and without letters that a person would not see.
    messages: Vec<(MessageRole, String)>,
    max_tokens: u64,
    words: TextSanitizer,
}

impl SamplingRequest {
    /// What is wrong with it is told the server.
    pub fn read(params: &Value, words: &TextSanitizer) -> Result<SamplingRequest, String> {
        let max_tokens = params.get("maxTokens").and_then(Value::as_u64).filter(|it| *it != 0);
        let max_tokens = max_tokens.ok_or("`maxTokens` is needed, a number above 0")?;
        if params.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty()) {
            return Err("`tools` are not supported, and not declared".to_owned());
        }
        let listed = params.get("messages").and_then(Value::as_array).ok_or("`messages` are needed")?;
        if listed.is_empty() || MOST_MESSAGES < listed.len() {
            return Err(format!("1 to {MOST_MESSAGES} messages are taken, not {}", listed.len()));
        }
        let messages = listed.iter().map(|it| message(it, words)).collect::<Result<Vec<_>, String>>()?;
        let system = params.get("systemPrompt").and_then(Value::as_str).map(|it| words.text(it, usize::MAX));
        let bytes = |(_, text): &(MessageRole, String)| text.len();
        if MOST_BYTES < messages.iter().map(bytes).sum::<usize>() + system.as_ref().map_or(0, String::len) {
            return Err(format!("more than {MOST_BYTES} bytes are too much"));
        }
        Ok(SamplingRequest { system, messages, max_tokens, words: words.clone() })
    }

    /// For the person who decides.
    pub fn shown(&self, server: &str) -> ConfirmationDetails {
        let mut prompt = format!(
            "The MCP server {server} would have the run's model answer this, in at most {} tokens. It gets the answer.\n",
            self.max_tokens
        );
        let hidden = self.messages.len().saturating_sub(SHOWN_MESSAGES);
        let shown = &self.messages[hidden..];
        let length = |text: &str| text.chars().count();
        let cut = |text: &str| length(text).saturating_sub(SHOWN_CHARS);
        let n_cut = self.system.as_deref().map_or(0, cut)
            + shown.iter().map(|(_, text)| cut(text)).sum::<usize>()
            + self.messages[..hidden].iter().map(|(_, text)| length(text)).sum::<usize>();
        if n_cut != 0 || hidden != 0 {
            prompt.push_str(&format!(
                "\nNOT ALL OF IT IS SHOWN: {hidden} more messages and {n_cut} more characters go to the model as well.\n"
            ));
        }
        let mut say = |who: &str, text: &str| {
            prompt.push_str(&format!("\n{who}:\n{}\n", self.words.text(text, SHOWN_CHARS)));
        };
        if let Some(system) = &self.system {
            say("system prompt", system);
        }
        if hidden != 0 {
            say("before these", &format!("({hidden} messages that are not shown)"));
        }
        for (role, text) in shown {
            say(if *role == MessageRole::User { "user" } else { "assistant" }, text);
        }
        ConfirmationDetails::Info { prompt }
    }

    pub fn conversation(&self) -> ModelConversation {
        let message = |(role, text): &(MessageRole, String)| ContextMessage {
            role: *role,
            parts: vec![MessagePart::text(text.clone())],
            raw: None,
        };
        ModelConversation {
            system: self.system.clone().unwrap_or_else(|| "Answer what you are asked.".to_owned()),
            messages: self.messages.iter().map(message).collect(),
            max_tokens: self.max_tokens,
        }
    }

    /// The server's answer.
    pub fn result(answered: &ModelAnswer) -> Value {
        json!({
            "role": "assistant",
            "content": { "type": "text", "text": answered.text },
            "model": answered.model,
            "stopReason": if answered.is_cut { "maxTokens" } else { "endTurn" },
        })
    }
}

fn message(told: &Value, words: &TextSanitizer) -> Result<(MessageRole, String), String> {
    let role = match told.get("role").and_then(Value::as_str) {
        Some("user") => MessageRole::User,
        Some("assistant") => MessageRole::Model,
        _ => return Err("a message's `role` is `user` or `assistant`".to_owned()),
    };
    let text = |block: &Value| match (block.get("type").and_then(Value::as_str), block.get("text")) {
        (Some("text"), Some(Value::String(text))) => Ok(text.clone()),
        _ => Err("only content of type `text` is taken".to_owned()),
    };
    let text = match told.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().map(text).collect::<Result<Vec<_>, String>>()?.join("\n"),
        Some(block) => text(block)?,
        None => return Err("a message has `content`".to_owned()),
    };
    Ok((role, words.text(&text, usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[String]) -> String {
        let message = |text: &String| json!({ "role": "user", "content": { "type": "text", "text": text } });
        let messages: Vec<Value> = texts.iter().map(message).collect();
        let params = json!({ "messages": messages, "maxTokens": 7 });
        let sampling = SamplingRequest::read(&params, &TextSanitizer::as_they_are()).unwrap();
        match sampling.shown("s") {
            ConfirmationDetails::Info { prompt } => prompt,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_person_is_told_how_much_of_it_is_not_shown() {
        let whole = shown(&["What is it?".to_owned()]);
        assert!(whole.contains("What is it?") && !whole.contains("NOT ALL"), "{whole}");
        let long = shown(&["x".repeat(SHOWN_CHARS + 5)]);
        assert!(long.contains("0 more messages and 5 more characters"), "{long}");
        let many: Vec<String> = (0..SHOWN_MESSAGES + 2).map(|number| format!("number {number:02}")).collect();
        let many = shown(&many);
        assert!(many.contains("2 more messages and 18 more characters"), "{many}");
        assert!(!many.contains("number 01") && many.contains("number 02"), "{many}");
    }

    #[test]
    fn what_a_person_would_not_see_does_not_go_to_the_model() {
        let text = "a\u{200b}b\u{202e}c\u{e0041}d\ne";
        let told = json!({ "role": "user", "content": { "type": "text", "text": text } });
        let (_, text) = message(&told, &TextSanitizer::as_they_are()).unwrap();
        assert_eq!(text, "a b c d\ne");
    }
}

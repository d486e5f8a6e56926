//! What would a server have the model say? (Spec 07, sampling.) Text alone: whatever else a server sends is refused, since nobody
//! could show it to the person who decides.

use serde_json::{Value, json};

use super::words::Words;
use crate::{
    protocol::{ConfirmationDetails, Message, Part, Role},
    tools::{Answered, Conversation},
};

/// Messages of one conversation, and bytes of all of them.
const MOST_MESSAGES: usize = 100;
const MOST_BYTES: usize = 256 << 10;
/// Characters of the system prompt and of a message that a person is shown, and messages.
const SHOWN_CHARS: usize = 2_000;
const SHOWN_MESSAGES: usize = 10;

/// A conversation that the model is to go on with.
pub struct Sampling {
    system: Option<String>,
    /// Who speaks, and what they say, without secrets.
    messages: Vec<(Role, String)>,
    max_tokens: u64,
    words: Words,
}

impl Sampling {
    /// What is wrong with it is told the server.
    pub fn read(params: &Value, words: &Words) -> Result<Sampling, String> {
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
        let system = params.get("systemPrompt").and_then(Value::as_str).map(|it| words.whole(it));
        let bytes = |(_, text): &(Role, String)| text.len();
        if MOST_BYTES < messages.iter().map(bytes).sum::<usize>() + system.as_ref().map_or(0, String::len) {
            return Err(format!("more than {MOST_BYTES} bytes are too much"));
        }
        Ok(Sampling { system, messages, max_tokens, words: words.clone() })
    }

    /// For the person who decides.
    pub fn shown(&self, server: &str) -> ConfirmationDetails {
        let mut prompt = format!(
            "The MCP server {server} would have the run's model answer this, in at most {} tokens. It gets the answer.\n",
            self.max_tokens
        );
        let mut say = |who: &str, text: &str| {
            prompt.push_str(&format!("\n{who}:\n{}\n", self.words.text(text, SHOWN_CHARS)));
        };
        if let Some(system) = &self.system {
            say("system prompt", system);
        }
        let hidden = self.messages.len().saturating_sub(SHOWN_MESSAGES);
        if hidden != 0 {
            say("before these", &format!("({hidden} messages that are not shown)"));
        }
        for (role, text) in &self.messages[hidden..] {
            say(if *role == Role::User { "user" } else { "assistant" }, text);
        }
        ConfirmationDetails::Info { prompt }
    }

    pub fn conversation(&self) -> Conversation {
        let message = |(role, text): &(Role, String)| Message {
            role: *role,
            parts: vec![Part::text(text.clone())],
            raw: None,
        };
        Conversation {
            system: self.system.clone().unwrap_or_else(|| "Answer what you are asked.".to_owned()),
            messages: self.messages.iter().map(message).collect(),
            max_tokens: self.max_tokens,
        }
    }

    /// The server's answer.
    pub fn result(answered: &Answered) -> Value {
        json!({
            "role": "assistant",
            "content": { "type": "text", "text": answered.text },
            "model": answered.model,
            "stopReason": if answered.is_cut { "maxTokens" } else { "endTurn" },
        })
    }
}

fn message(told: &Value, words: &Words) -> Result<(Role, String), String> {
    let role = match told.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Model,
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
    Ok((role, words.whole(&text)))
}

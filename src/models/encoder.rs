//! What was written for the last turn is not written again.
//!
//! A turn's request is the last turn's and a little more. So what was encoded is kept: a turn copies bytes, and encodes
//! only the messages that are new.

use std::{
    borrow::Cow,
    sync::{Arc, Weak},
};

use super::{ModelRequest, Purpose, tool_names::WireNames};
use crate::protocol::{Message, Part, ProviderMessage, ToolCall, ToolDeclaration};

/// Sets of tools that are kept: those of ordinary turns, and of the grace turn.
const KEPT_TOOLS: usize = 2;

/// How one provider writes what it is asked.
pub(super) trait Form: Send + 'static {
    /// One message as it stands in a request.
    type Encoded: Send + Sync;

    /// The provider's kind, as it stands in [`ProviderMessage`].
    const KIND: &'static str;

    /// `before` is the message in front of this one. What the message has in a provider's own form, and its signatures, are
    /// of this very provider.
    fn message(&self, message: &Message, before: Option<&Self::Encoded>, names: &WireNames) -> Self::Encoded;

    /// The tools' declarations, as a JSON value.
    fn tools(&self, declared: &[ToolDeclaration], names: &WireNames) -> String;

    /// The whole body. `tools` is what [`Form::tools`] made of the request's tools.
    fn body(&self, request: &ModelRequest, tools: &EncodedTools, messages: &[Arc<Self::Encoded>]) -> Vec<u8>;
}

/// Declared tools in the provider's form.
pub(super) struct EncodedTools {
    declared: Arc<[ToolDeclaration]>,
    pub names: Arc<WireNames>,
    pub json: String,
}

/// Encodes the requests of one run.
pub(super) struct Encoder<F: Form> {
    form: F,
    /// The provider's entry in the settings.
    entry: Box<str>,
    /// Of the last turn, by place. Never longer than that turn's request, and gone with the run.
    messages: Vec<Kept<F::Encoded>>,
    tools: Vec<Arc<EncodedTools>>,
}

struct Kept<E> {
    /// Which message it is. While this lives, no other message can lie at its place in memory.
    message: Weak<Message>,
    encoded: Arc<E>,
}

impl<F: Form> Encoder<F> {
    pub(super) fn new(form: F, entry: &str) -> Encoder<F> {
        Encoder { form, entry: entry.into(), messages: Vec::new(), tools: Vec::new() }
    }

    /// The body, and the names by which it calls the tools.
    pub(super) fn encode(&mut self, request: &ModelRequest) -> (Vec<u8>, Arc<WireNames>) {
        let tools = self.tools(&request.tools);
        let messages = match request.purpose {
            Purpose::Turn => self.turn_messages(&request.messages, &tools.names),
            // Asked once; it must not take the place of the run's own.
            Purpose::Utility => self.utility_messages(&request.messages, &tools.names),
        };
        (self.form.body(request, &tools, &messages), Arc::clone(&tools.names))
    }

    /// How many messages are kept; for tests of what is encoded anew.
    #[cfg(test)]
    pub(super) fn kept(&self) -> Vec<Arc<F::Encoded>> {
        self.messages.iter().map(|kept| Arc::clone(&kept.encoded)).collect()
    }

    fn tools(&mut self, declared: &Arc<[ToolDeclaration]>) -> Arc<EncodedTools> {
        if let Some(kept) = self.tools.iter().find(|it| Arc::ptr_eq(&it.declared, declared)) {
            return Arc::clone(kept);
        }
        let names = WireNames::new(declared.iter().map(|tool| &tool.name));
        let json = self.form.tools(declared, &names);
        let tools = Arc::new(EncodedTools { declared: Arc::clone(declared), names: Arc::new(names), json });
        if self.tools.len() == KEPT_TOOLS {
            self.tools.remove(0);
        }
        self.tools.push(Arc::clone(&tools));
        tools
    }

    /// The encoded messages; those that stood at the same place in the last turn are taken from there.
    fn turn_messages(&mut self, messages: &[Arc<Message>], names: &WireNames) -> Vec<Arc<F::Encoded>> {
        let is_kept = |(kept, message): &(&Kept<F::Encoded>, &Arc<Message>)| {
            kept.message.as_ptr() == Arc::as_ptr(message)
        };
        let n_kept = self.messages.iter().zip(messages).take_while(is_kept).count();
        self.messages.truncate(n_kept);
        for message in &messages[n_kept..] {
            let before = self.messages.last().map(|kept| &*kept.encoded);
            let encoded = Arc::new(self.form.message(&self.to_go_back(message), before, names));
            self.messages.push(Kept { message: Arc::downgrade(message), encoded });
        }
        self.messages.iter().map(|kept| Arc::clone(&kept.encoded)).collect()
    }

    fn utility_messages(&self, messages: &[Arc<Message>], names: &WireNames) -> Vec<Arc<F::Encoded>> {
        let mut encoded: Vec<Arc<F::Encoded>> = Vec::with_capacity(messages.len());
        for message in messages {
            let before = encoded.last().map(|before| &**before);
            encoded.push(Arc::new(self.form.message(&self.to_go_back(message), before, names)));
        }
        encoded
    }

    /// The message as this provider may see it. Thoughts, signatures and ids of another mean nothing here; a server may refuse
    /// even the names of fields that it does not have itself.
    fn to_go_back<'a>(&self, message: &'a Message) -> Cow<'a, Message> {
        let is_own = |raw: &ProviderMessage| {
            &*raw.provider == F::KIND && raw.entry.as_ref().is_none_or(|entry| **entry == *self.entry)
        };
        match &message.raw {
            Some(raw) if !is_own(raw) => Cow::Owned(unsigned(message)),
            _ => Cow::Borrowed(message),
        }
    }
}

/// What anybody may be told.
fn unsigned(message: &Message) -> Message {
    let parts = message.parts.iter().cloned().map(|part| match part {
        Part::Thought { text, .. } => Part::Thought { text, signature: None },
        Part::ToolCall(call) => Part::ToolCall(ToolCall { signature: None, ..call }),
        other => other,
    });
    Message { role: message.role, parts: parts.collect(), raw: None }
}

//! What was written for the last turn is not written again.
//!
//! A turn's request is the last turn's and a little more. So what was encoded is kept: a turn copies bytes, and encodes
//! only the messages that are new.

use std::{
    borrow::Cow,
    sync::{Arc, Weak},
};

use super::{ModelRequest, RequestPurpose, tool_names::WireNames};
use protocol::{ContextMessage, MessagePart, ProviderMessage, ToolCall, ToolDeclaration};

/// Sets of tools that are kept: those of ordinary turns, and of the grace turn.
const KEPT_TOOLS: usize = 2;

/// How one provider writes what it is asked.
pub(super) trait WireFormat: Send + 'static {
    /// One message as it stands in a request.
    type Encoded: Send + Sync;

    /// The provider's kind, as it stands in [`ProviderMessage`].
    const KIND: &'static str;

    /// `before` is the message in front of this one. What the message has in a provider's own form, and its signatures, are
    /// of this very provider.
    fn message(
        &self,
        message: &ContextMessage,
        before: Option<&Self::Encoded>,
        names: &WireNames,
    ) -> Self::Encoded;

    /// The tools' declarations, as a JSON value.
    fn tools(&self, declared: &[ToolDeclaration], names: &WireNames) -> String;

    /// The whole body. `tools` is what [`WireFormat::tools`] made of the request's tools.
    fn body(&self, request: &ModelRequest, tools: &EncodedTools, messages: &[Arc<Self::Encoded>]) -> Vec<u8>;

    /// The whole body that asks how many tokens such a request has; `None` = the provider does not count.
    fn count_body(
        &self,
        _request: &ModelRequest,
        _tools: &EncodedTools,
        _messages: &[Arc<Self::Encoded>],
    ) -> Option<Vec<u8>> {
        None
    }
}

/// Declared tools in the provider's form.
pub(super) struct EncodedTools {
    declared: Arc<[ToolDeclaration]>,
    pub names: Arc<WireNames>,
    pub json: String,
}

/// Encodes the requests of one run.
pub(super) struct RequestEncoder<F: WireFormat> {
    scribe: MessageEncoder<F>,
    /// Which messages the last turn had, by place. While these live, no other message can lie at their places in memory.
    messages: Vec<Weak<ContextMessage>>,
    /// The same as they were encoded, gone with the run.
    ///
    /// Invariant: never shorter than `messages`; longer only after a message could not be encoded.
    encoded: Vec<Arc<F::Encoded>>,
    tools: Vec<Arc<EncodedTools>>,
}

/// Writes messages for one provider.
struct MessageEncoder<F> {
    form: F,
    /// The provider's entry in the settings.
    entry: Box<str>,
}

impl<F: WireFormat> RequestEncoder<F> {
    pub(super) fn new(form: F, entry: &str) -> RequestEncoder<F> {
        let scribe = MessageEncoder { form, entry: entry.into() };
        RequestEncoder { scribe, messages: Vec::new(), encoded: Vec::new(), tools: Vec::new() }
    }

    /// The body, and the names by which it calls the tools.
    pub(super) fn encode(&mut self, request: &ModelRequest) -> (Vec<u8>, Arc<WireNames>) {
        let tools = self.tools(&request.tools);
        let body = match request.purpose {
            RequestPurpose::Turn => {
                self.keep(&request.messages, &tools.names);
                self.scribe.form.body(request, &tools, &self.encoded)
            }
            // Asked once; it must not take the place of the run's own.
            RequestPurpose::Utility => {
                let encoded = self.scribe.encoded(&request.messages, &tools.names);
                self.scribe.form.body(request, &tools, &encoded)
            }
        };
        (body, Arc::clone(&tools.names))
    }

    /// The body that asks how long a request is. It does not take the place of the run's own, either: what is counted may never
    /// be asked.
    pub(super) fn encode_count(&mut self, request: &ModelRequest) -> Option<Vec<u8>> {
        let tools = self.tools(&request.tools);
        let encoded = self.scribe.encoded(&request.messages, &tools.names);
        self.scribe.form.count_body(request, &tools, &encoded)
    }

    /// How many messages are kept; for tests of what is encoded anew.
    #[cfg(test)]
    pub(super) fn kept(&self) -> Vec<Arc<F::Encoded>> {
        self.encoded.clone()
    }

    fn tools(&mut self, declared: &Arc<[ToolDeclaration]>) -> Arc<EncodedTools> {
        if let Some(kept) = self.tools.iter().find(|it| Arc::ptr_eq(&it.declared, declared)) {
            return Arc::clone(kept);
        }
        let names = WireNames::new(declared.iter().map(|tool| &tool.name));
        let json = self.scribe.form.tools(declared, &names);
        let tools = Arc::new(EncodedTools { declared: Arc::clone(declared), names: Arc::new(names), json });
        if self.tools.len() == KEPT_TOOLS {
            self.tools.remove(0);
        }
        self.tools.push(Arc::clone(&tools));
        tools
    }

    /// Brings what is kept up to these messages; those that stood at the same place in the last turn stay as they are.
    fn keep(&mut self, messages: &[Arc<ContextMessage>], names: &WireNames) {
        let is_kept = |(kept, message): &(&Weak<ContextMessage>, &Arc<ContextMessage>)| {
            kept.as_ptr() == Arc::as_ptr(message)
        };
        let n_kept = self.messages.iter().zip(messages).take_while(is_kept).count();
        self.messages.truncate(n_kept);
        self.encoded.truncate(n_kept);
        self.scribe.extend(&mut self.encoded, &messages[n_kept..], names);
        self.messages.extend(messages[n_kept..].iter().map(Arc::downgrade));
    }
}

impl<F: WireFormat> MessageEncoder<F> {
    fn encoded(&self, messages: &[Arc<ContextMessage>], names: &WireNames) -> Vec<Arc<F::Encoded>> {
        let mut encoded = Vec::with_capacity(messages.len());
        self.extend(&mut encoded, messages, names);
        encoded
    }

    /// Encodes messages behind those that are encoded.
    fn extend(
        &self,
        encoded: &mut Vec<Arc<F::Encoded>>,
        messages: &[Arc<ContextMessage>],
        names: &WireNames,
    ) {
        for message in messages {
            let before = encoded.last().map(|before| &**before);
            encoded.push(Arc::new(self.form.message(&self.to_go_back(message), before, names)));
        }
    }

    /// The message as this provider may see it. Thoughts, signatures and ids of another mean nothing here; a server may refuse
    /// even the names of fields that it does not have itself.
    fn to_go_back<'a>(&self, message: &'a ContextMessage) -> Cow<'a, ContextMessage> {
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
fn unsigned(message: &ContextMessage) -> ContextMessage {
    let parts = message.parts.iter().cloned().map(|part| match part {
        MessagePart::Thought { text, .. } => MessagePart::Thought { text, signature: None },
        MessagePart::ToolCall(call) => MessagePart::ToolCall(ToolCall { signature: None, ..call }),
        other => other,
    });
    ContextMessage { role: message.role, parts: parts.collect(), raw: None }
}

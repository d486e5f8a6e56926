//! What was written for the last turn is not written again.
//!
//! A turn's request is the last turn's and a little more. So what was encoded is kept: a turn copies bytes, and encodes
//! only the messages that are new.

use std::sync::{Arc, Weak};

use super::{ModelRequest, Purpose, tool_names::WireNames};
use crate::protocol::{Message, ToolDeclaration};

/// Sets of tools that are kept: those of ordinary turns, and of the grace turn.
const KEPT_TOOLS: usize = 2;

/// How one provider writes what it is asked.
pub(super) trait Form: Send + 'static {
    /// One message as it stands in a request.
    type Encoded: Send + Sync;

    /// `before` is the message in front of this one.
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
    /// Which messages the last turn had, by place. While these live, no other message can lie at their places in memory.
    messages: Vec<Weak<Message>>,
    /// The same as they were encoded, gone with the run.
    ///
    /// Invariant: never shorter than `messages`; longer only after a message could not be encoded.
    encoded: Vec<Arc<F::Encoded>>,
    tools: Vec<Arc<EncodedTools>>,
}

impl<F: Form> Encoder<F> {
    pub(super) fn new(form: F) -> Encoder<F> {
        Encoder { form, messages: Vec::new(), encoded: Vec::new(), tools: Vec::new() }
    }

    /// The body, and the names by which it calls the tools.
    pub(super) fn encode(&mut self, request: &ModelRequest) -> (Vec<u8>, Arc<WireNames>) {
        let tools = self.tools(&request.tools);
        let body = match request.purpose {
            Purpose::Turn => {
                self.keep(&request.messages, &tools.names);
                self.form.body(request, &tools, &self.encoded)
            }
            // Asked once; it must not take the place of the run's own.
            Purpose::Utility => {
                let mut encoded = Vec::with_capacity(request.messages.len());
                extend(&mut encoded, &self.form, &request.messages, &tools.names);
                self.form.body(request, &tools, &encoded)
            }
        };
        (body, Arc::clone(&tools.names))
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
        let json = self.form.tools(declared, &names);
        let tools = Arc::new(EncodedTools { declared: Arc::clone(declared), names: Arc::new(names), json });
        if self.tools.len() == KEPT_TOOLS {
            self.tools.remove(0);
        }
        self.tools.push(Arc::clone(&tools));
        tools
    }

    /// Brings what is kept up to these messages; those that stood at the same place in the last turn stay as they are.
    fn keep(&mut self, messages: &[Arc<Message>], names: &WireNames) {
        let is_kept =
            |(kept, message): &(&Weak<Message>, &Arc<Message>)| kept.as_ptr() == Arc::as_ptr(message);
        let n_kept = self.messages.iter().zip(messages).take_while(is_kept).count();
        self.messages.truncate(n_kept);
        self.encoded.truncate(n_kept);
        extend(&mut self.encoded, &self.form, &messages[n_kept..], names);
        self.messages.extend(messages[n_kept..].iter().map(Arc::downgrade));
    }
}

/// Encodes messages behind those that are encoded.
fn extend<F: Form>(
    encoded: &mut Vec<Arc<F::Encoded>>,
    form: &F,
    messages: &[Arc<Message>],
    names: &WireNames,
) {
    for message in messages {
        let before = encoded.last().map(|before| &**before);
        encoded.push(Arc::new(form.message(message, before, names)));
    }
}

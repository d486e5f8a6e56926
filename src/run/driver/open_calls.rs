//! What do open calls put out, and with which events did their spans begin?

use std::collections::HashMap;

use protocol::{CallId, CallState, EventSeq, RunId, SessionId, ToolState};
use store::{EventStore, LiveAppender, LiveWriter};

/// What others see of the calls of a run that have not ended.
pub(super) struct OpenCalls {
    store: EventStore,
    session: SessionId,
    run: RunId,
    /// Texts of what calls put out.
    outputs: HashMap<CallId, LiveWriter>,
    /// The events that began their spans.
    spans: HashMap<CallId, EventSeq>,
}

impl OpenCalls {
    pub fn of(store: EventStore, session: SessionId, run: RunId) -> OpenCalls {
        OpenCalls { store, session, run, outputs: HashMap::new(), spans: HashMap::new() }
    }

    /// Takes in a committed state of a call: its span is kept until it has ended, and its output is open from where it begins to
    /// execute.
    pub fn follow(&mut self, seq: EventSeq, data: &ToolState) {
        if data.from.is_none() {
            self.open_span(data.call_id.clone(), seq);
        } else if data.to.is_end() {
            self.spans.remove(&data.call_id);
        }
        if data.to == CallState::Executing && data.puts_out() {
            self.open_output(data.call_id.clone(), seq);
        } else if data.to.is_end() {
            self.outputs.remove(&data.call_id);
        }
    }

    pub fn open_span(&mut self, call: CallId, began: EventSeq) {
        self.spans.insert(call, began);
    }

    pub fn open_output(&mut self, call: CallId, executing: EventSeq) {
        let (session, run) = (self.session.clone(), self.run.clone());
        let output = self.store.live().open(session, run, call.as_str().to_owned(), executing);
        self.outputs.insert(call, output);
    }

    /// The event that began the span of this call.
    pub fn began(&self, call: &CallId) -> Option<EventSeq> {
        self.spans.get(call).copied()
    }

    /// The end of the text that this call puts out, for whoever writes it.
    pub fn output(&self, call: &CallId) -> Option<LiveAppender> {
        self.outputs.get(call).map(LiveWriter::appender)
    }
}

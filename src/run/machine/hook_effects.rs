//! Everything that hooks come to when they were asked for a run.

use super::side_call::ToolSideCall;
use serde_json::Value;

use protocol::{DroppedChange, HookFired, MessagePart, ToolCall};

/// The outcome of hooks at a point of a run, all of them together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookEffects {
    /// One for each of them, for the log; none where there were none.
    pub fired: Vec<HookFired>,
    /// Everything that they asked models.
    pub asked: Vec<ToolSideCall>,
    /// Texts for people.
    pub warnings: Vec<String>,
    /// The reason why what is about to happen must not.
    pub block: Option<String>,
    /// The reason why the run must not go on.
    pub stop: Option<String>,
    /// Meant for the model.
    pub context: Option<String>,
    /// Everything that the model reads of the call's result in place of it.
    pub output: Option<Vec<MessagePart>>,
    /// The call that is made next in place of the one that has ended.
    pub follow_up: Option<ToolCall>,
    /// They have answered the question about the call that was to be put to a person.
    pub refusal: Option<HookRefusal>,
    /// They have answered it with a yes, which their place may: the hook that did.
    pub approval: Option<String>,
    /// The session's name from now on.
    pub session_title: Option<String>,
}

impl HookEffects {
    /// Says of hooks that changed a call, which came to nothing, that they changed nothing, and of the last one what it wanted.
    pub(crate) fn drop_change(&mut self, wanted: Option<&Value>, why: &str) {
        let last = self.fired.iter().rposition(|record| record.changed);
        for (at, record) in self.fired.iter_mut().enumerate().filter(|(_, record)| record.changed) {
            record.changed = false;
            record.dropped_change = wanted
                .filter(|_| Some(at) == last)
                .map(|input| DroppedChange { input: input.to_string(), reason: why.to_owned() });
        }
    }
}

/// A hook's no in a person's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRefusal {
    pub message: String,
    /// The run ends with it.
    pub interrupt: bool,
}

/// Everything that an asynchronous hook said when it ended. It decides nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct LateHook {
    pub fired: HookFired,
    /// Meant for the model, with its next turn.
    pub context: Option<String>,
    /// Everything that is said to the run as if a person had said it, and under which name.
    pub rewake: Option<(String, String)>,
    /// Texts for people.
    pub warnings: Vec<String>,
}

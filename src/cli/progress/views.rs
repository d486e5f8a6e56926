//! What is read of an event's data to show it?
//!
//! Views of the protocol's own types, in which enums are open and every field may be missing: a daemon of another
//! version says a little more or less, and its events are shown all the same (spec 01).

use serde::Deserialize;
use serde_json::Value;

use crate::command_end::CommandEnd;
use protocol::{CallId, CallState, OpenEnum, RunEndReason, RunId, StopThen, ToolName};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Created {
    pub(super) roots: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RunStartedView {
    pub(super) agent: String,
    pub(super) model: String,
    pub(super) path: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RunStoppingView {
    pub(super) reason: OpenEnum<RunEndReason>,
    pub(super) then: OpenEnum<StopThen>,
    pub(super) message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelRetryingView {
    pub(super) stream: String,
    pub(super) attempt: u64,
    pub(super) message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelCompletedView {
    pub(super) stream: String,
    pub(super) text: String,
    pub(super) calls: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ThoughtView {
    pub(super) subject: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallChangedView {
    pub(super) call_id: CallId,
    pub(super) name: ToolName,
    #[serde(default)]
    pub(super) to: OpenEnum<CallState>,
    #[serde(default)]
    pub(super) arguments: Option<Value>,
    #[serde(default)]
    pub(super) details: Option<CallDetailsView>,
    #[serde(default)]
    result: Option<CallResultView>,
    #[serde(default)]
    error: Option<CallErrorView>,
}

impl CallChangedView {
    /// What went wrong in it.
    pub(super) fn trouble(&self) -> Option<&CallErrorView> {
        self.error.as_ref().or(self.result.as_ref().and_then(|result| result.error.as_ref()))
    }

    /// How its command ended, if it was one that was run to its end.
    pub(super) fn command_end(&self) -> Option<CommandEnd> {
        let result = self.result.as_ref().filter(|_| self.trouble().is_none())?;
        let texts: Vec<&str> =
            result.llm_content.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        CommandEnd::of_result(&result.data, &texts)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDetailsView {
    pub(super) description: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CallResultView {
    llm_content: Vec<Value>,
    data: Value,
    error: Option<CallErrorView>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CallErrorView {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RunResumedView {
    pub(super) unclean: bool,
}

/// A text that was being written when the snapshot was made.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenTextView {
    pub(super) run_id: RunId,
    pub(super) stream: String,
    #[serde(default)]
    pub(super) call_id: Option<CallId>,
    #[serde(default)]
    pub(super) text: String,
}

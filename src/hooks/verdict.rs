//! What came of an event's hooks.

use serde_json::Value;

use super::{HookId, ranked::RankedChanges};
use protocol::{HookDecision, HookFired};

/// A text for the model, and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookContext {
    pub hook: HookId,
    /// At most [`MOST_TEXT_CHARS`](super::MOST_TEXT_CHARS), and a note where it was cut.
    pub text: String,
    /// All of it, where it was cut.
    pub whole: Option<String>,
}

/// The run is to end: `ERROR HOOK_STOPPED`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStop {
    pub hook: HookId,
    pub reason: String,
}

/// A hook that would answer a question in the person's place. One of the system or the user may that runs nothing of the workspace, where
/// the setting `approval.hooksMayApprove` says so and the risk is not `critical`: whoever fired looks at both. Of others it is advice.
#[derive(Debug, Clone, PartialEq)]
pub struct HookDelegate {
    pub hook: HookId,
    /// It is the system's or the user's, and no agent can write what it runs.
    pub speaks_for_person: bool,
    /// `updatedPermissions`, only to be shown.
    pub shown_permissions: Option<Value>,
}

/// Everything that hooks want of an MCP server's question.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationVerdict {
    /// The same as of [`HookDelegate`].
    Accept {
        content: Option<Value>,
        by: HookDelegate,
    },
    Decline {
        by: HookId,
    },
    Cancel {
        by: HookId,
    },
}

/// Everything that hooks made of a request to a model, or of its answer, in Gemini CLI's stable form.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelVerdict {
    /// Fields to be put over the request's.
    pub request: Option<Value>,
    /// The answer: in the model's place before it was asked, instead of its own afterwards.
    pub response: Option<Value>,
    /// The only tools that may be declared; of several hooks of one place the union, of several places what each names.
    pub allowed_tools: Option<Vec<String>>,
    /// No tool may be declared, whatever other hooks say.
    pub no_tools: bool,
    /// Who changed what so far.
    pub(super) changes: RankedChanges,
}

/// A call that a hook wants made in place of the one that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FollowUpCall {
    pub hook: HookId,
    /// The tool, in our words.
    pub tool: String,
    /// Its arguments, in our words.
    pub arguments: Value,
}

/// All answers in one. Silence and consent are the same to whoever fires: policy speaks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookVerdict {
    /// The strictest. `Deny` blocks what the event guards.
    pub decision: Option<HookDecision>,
    /// Only of the first hook that decided so, for models and people.
    pub reason: Option<String>,
    /// `None` = no single hook did, and the reason is a whole sentence.
    pub decided_by: Option<HookId>,
    /// That is no hook of a file: the file cannot be read, which the reason says in a whole sentence.
    pub is_of_unreadable_file: bool,
    /// The call's arguments as they are now, in our words; `None` = as they were. Of `BeforeHandoff` the payload.
    pub updated_input: Option<Value>,
    /// The hooks that changed them, in order.
    pub changed_by: Vec<HookId>,
    /// The arguments that hooks wanted that were asked at once before a call, in the order of the hooks.
    pub(super) wanted_input: Vec<(HookId, Value)>,
    /// Everything that the model is to read in place of the result.
    pub updated_output: Option<Value>,
    /// The hook whose output that is.
    pub output_by: Option<HookId>,
    pub context: Vec<HookContext>,
    pub stop: Option<HookStop>,
    /// `systemMessage`s, and failures that block nothing.
    pub warnings: Vec<String>,
    pub session_title: Option<String>,
    pub reload_skills: bool,
    /// `PermissionDenied`: the model is told that it may try something else.
    pub retry: bool,
    /// `PermissionRequest`: the denial ends the run.
    pub interrupt: bool,
    pub delegate: Option<HookDelegate>,
    pub elicitation: Option<ElicitationVerdict>,
    pub model: ModelVerdict,
    pub follow_up: Option<FollowUpCall>,
}

impl HookVerdict {
    /// True if it says anything that whoever fired has to act on.
    pub fn is_silent(&self) -> bool {
        *self
            == HookVerdict {
                decision: self.decision.filter(|it| *it == HookDecision::Allow),
                reason: self.reason.clone(),
                decided_by: self.decided_by.clone(),
                is_of_unreadable_file: self.is_of_unreadable_file,
                ..HookVerdict::default()
            }
    }
}

/// The outcome of a firing. `records` and what `verdict` leads to belong in one commit, before anything acts on it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FiredHooks {
    pub verdict: HookVerdict,
    /// One a hook that ran, or was to.
    pub records: Vec<HookFired>,
    /// Hooks that answered that they go on by themselves. What they say later is said to whoever
    /// [attends](super::HookRunner::attend) the run.
    pub deferred: Vec<HookId>,
}

/// The outcome of an asynchronous hook after its firing. It decides nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct AsyncHookEnd {
    pub record: HookFired,
    pub context: Option<HookContext>,
    /// It wants something said to the run: `asyncRewake`, exit code 2.
    pub rewake: Option<String>,
    pub warnings: Vec<String>,
}

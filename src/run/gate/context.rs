//! By what is a call judged, beside what it is: where its run stands, who asks, and the mode that is in force when somebody looks?

use std::sync::Arc;

use crate::{
    hooks::HookScene,
    machine::{HookMadeCall, RemainingBudget, RunMachine},
    modes::SessionMode,
};
use protocol::{
    AgentName, ApprovalMode, CallHooks, RuleOrigin, RunApproval, RunId, SessionId, Timestamp, ToolCall,
};

/// The state of the run when its calls are judged.
#[derive(Clone)]
pub struct JudgeContext {
    pub is_grace: bool,
    pub depth: u32,
    pub max_depth: u32,
    pub left: RemainingBudget,
    pub now: Timestamp,
    /// The mode of the session, which somebody may change while hooks are asked.
    pub session_mode: Arc<SessionMode>,
    /// The settings let calls run unasked.
    pub allow_yolo: bool,
    pub asking: Arc<AskingRun>,
    /// The place where the run stands for hooks; missing where no hook can have anything to say of a call.
    pub scene: Option<HookScene>,
    /// Everything that hooks said of the call that is judged, where that is known already.
    pub hooked: Option<Arc<CallHooks>>,
    /// Calls of this turn that hooks want made; the agent asked for none of them.
    pub wanted_by_hooks: Vec<HookMadeCall>,
    /// The calls of this turn as they were asked for, before hooks changed any of them.
    pub requests: Vec<Arc<ToolCall>>,
}

/// The run that asks, when a call needs a person.
pub struct AskingRun {
    pub session: SessionId,
    pub run: RunId,
    /// From the root run's agent to this one.
    pub path: Vec<AgentName>,
    pub approval: RunApproval,
}

impl JudgeContext {
    /// `allow_yolo`: the settings let calls run unasked.
    pub fn of(
        machine: &RunMachine,
        now: Timestamp,
        asking: &Arc<AskingRun>,
        (session_mode, allow_yolo): (&Arc<SessionMode>, bool),
    ) -> JudgeContext {
        let left = machine.left();
        let start = machine.start();
        let (depth, max_depth) = (start.depth, start.limits.max_depth);
        let (asking, session_mode) = (Arc::clone(asking), Arc::clone(session_mode));
        JudgeContext {
            is_grace: machine.is_grace(),
            depth,
            max_depth,
            left,
            now,
            session_mode,
            allow_yolo,
            asking,
            scene: None,
            hooked: None,
            wanted_by_hooks: machine.calls_of_hooks(),
            requests: machine.requests(),
        }
    }

    /// The mode by which calls are judged now. The session's counts unless the run was started with a mode of its own; but what a person put
    /// into `plan` changes nothing, whatever its runs began with.
    pub fn mode(&self) -> ApprovalMode {
        let session_mode = self.session_mode.get();
        match self.asking.approval.mode.unwrap_or(session_mode) {
            _ if session_mode == ApprovalMode::Plan => ApprovalMode::Plan,
            // It was allowed when the session or the run was begun, and is not any more.
            ApprovalMode::Yolo if !self.allow_yolo => ApprovalMode::default(),
            mode => mode,
        }
    }

    /// The one whose word the session's mode is, where that is known.
    pub fn mode_origin(&self) -> Option<RuleOrigin> {
        self.session_mode.origin()
    }
}

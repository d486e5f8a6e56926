//! Where does a run stand when its hooks are asked?

use std::sync::Arc;

use hooks::{HookFacts, HookFiring};

use super::services::HookModels;
use protocol::{AgentName, ApprovalMode, ContextMessage, RunId, SessionId};

/// The place where a run stands when its hooks are asked.
#[derive(Clone)]
pub struct HookScene {
    pub session: SessionId,
    pub run: RunId,
    pub root: RunId,
    pub is_child: bool,
    pub agent: AgentName,
    /// From the root run's agent to this one.
    pub path: Vec<AgentName>,
    pub model: String,
    pub turn: u32,
    pub mode: ApprovalMode,
    pub is_headless: bool,
    /// The reason why hooks are told that the session starts; `None` = it does not.
    pub session_start: Option<&'static str>,
    /// Everything that was said in the run's context.
    pub messages: Arc<[Arc<ContextMessage>]>,
    /// Whom hooks may ask that are questions; missing before the run has begun.
    pub models: Option<Arc<dyn HookModels>>,
}

impl HookScene {
    /// An event of this run, as hooks are told it.
    pub(super) fn firing(&self, facts: HookFacts, firing_id: String, attempt: u32) -> HookFiring {
        HookFiring {
            firing_id,
            attempt,
            facts,
            session_id: self.session.clone(),
            run_id: Some(self.run.clone()),
            root_run_id: Some(self.root.clone()),
            is_child: self.is_child,
            agent: Some(self.agent.clone()),
            agent_path: self.path.clone(),
            model: Some(self.model.clone()),
            turn_id: Some(format!("{}#{}", self.run, self.turn)),
            mode: self.mode,
            is_headless: self.is_headless,
        }
    }
}

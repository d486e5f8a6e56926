//! Where does a run stand when its hooks are asked?

use std::sync::Arc;

use hooks::{HookFacts, HookFiring, HookedCommand, HookedSkill};

use tokio::sync::mpsc::Sender;

use super::{
    super::machine::MachineInput,
    services::{HookModels, HookTools},
    session_log::HookLog,
};
use protocol::{AgentName, ApprovalMode, ContextMessage, PromptExpansion, RunId, SessionId};
use tools::BackgroundCommands;

/// The place where a run stands when its hooks are asked.
#[derive(Clone)]
pub struct HookScene {
    pub session: SessionId,
    /// Missing where it happens to a session, and to no run.
    pub run: Option<RunId>,
    pub root: Option<RunId>,
    pub is_child: bool,
    pub agent: Option<AgentName>,
    /// From the root run's agent to this one.
    pub path: Vec<AgentName>,
    pub model: String,
    pub turn: u32,
    pub mode: ApprovalMode,
    pub is_headless: bool,
    /// The reason why hooks are told that the session starts; `None` = it does not.
    pub session_start: Option<&'static str>,
    /// Everything that a person named for its prompt instead of writing it.
    pub expansions: Arc<[PromptExpansion]>,
    /// Everything that was said in the run's context.
    pub messages: Arc<[Arc<ContextMessage>]>,
    /// The skills that its model has.
    pub skills: Arc<[HookedSkill]>,
    /// The daemon's commands that go on after the calls that started them.
    pub background: BackgroundCommands,
    /// Whom hooks may ask that are questions; missing before the run has begun.
    pub models: Option<Arc<dyn HookModels>>,
    /// The way in which the run hears of hooks that are at work for long; missing where it has none, or does not wait for them.
    pub news: Option<Sender<MachineInput>>,
    /// The tools that hooks may be; missing before the run has begun.
    pub tools: Option<Arc<dyn HookTools>>,
    /// Gets what hooks say that no run hears.
    pub log: HookLog,
}

impl HookScene {
    /// The place of a session in which nothing runs.
    pub fn of_session(session: SessionId, mode: ApprovalMode, log: HookLog) -> HookScene {
        HookScene {
            session,
            run: None,
            root: None,
            is_child: false,
            agent: None,
            path: Vec::new(),
            model: String::new(),
            turn: 0,
            mode,
            is_headless: false,
            session_start: None,
            expansions: Arc::new([]),
            messages: Arc::new([]),
            skills: Arc::new([]),
            background: BackgroundCommands::default(),
            models: None,
            news: None,
            tools: None,
            log,
        }
    }

    /// Names whatever it happens to: the run, else the session.
    pub(crate) fn subject(&self) -> &str {
        self.run.as_ref().map_or(self.session.as_str(), RunId::as_str)
    }

    /// An event of this run, as hooks are told it.
    pub(super) fn firing(&self, facts: HookFacts, firing_id: String, attempt: u32) -> HookFiring {
        let is_ending = matches!(facts, HookFacts::Stop { .. } | HookFacts::SubagentStop { .. });
        HookFiring {
            firing_id,
            attempt,
            facts,
            session_id: self.session.clone(),
            run_id: self.run.clone(),
            root_run_id: self.root.clone(),
            is_child: self.is_child,
            agent: self.agent.clone(),
            agent_path: self.path.clone(),
            model: self.run.as_ref().map(|_| self.model.clone()),
            turn_id: self.run.as_ref().map(|run| turn_id(run, self.turn)),
            mode: self.mode,
            is_headless: self.is_headless,
            skills: Arc::clone(&self.skills),
            background: if is_ending { self.going_on() } else { Vec::new() },
        }
    }

    /// The session's commands that run in the background.
    fn going_on(&self) -> Vec<HookedCommand> {
        let running = self.background.jobs(&self.session).into_iter().filter(|job| job.ended().is_none());
        running
            .map(|job| HookedCommand {
                id: job.id.clone(),
                command: job.command.clone(),
                folder: job.folder.clone(),
            })
            .collect()
    }
}

/// Names a turn, for hooks that are told its `turn_id`.
pub(crate) fn turn_id(run: &RunId, turn: u32) -> String {
    format!("{run}#{turn}")
}

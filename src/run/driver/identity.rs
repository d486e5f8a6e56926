//! Who a run's events are about.

use std::sync::Arc;

use super::RunDriver;
use crate::{
    hooks::{HookScene, HookWatchers},
    machine::EventDraft,
};
use protocol::{
    AgentName, ApprovalMode, ContextId, EventBody, EventHead, PromptExpansion, RunId, RunSeed, RunStarted,
    SessionId, Timestamp,
};
use store::NewEvent;
use tools::BackgroundCommands;
use tracing::{Instrument as _, Span, instrument::Instrumented};

/// Who the events are about.
#[derive(Debug, Clone)]
pub struct RunIdentity {
    pub session: SessionId,
    pub run: RunId,
    pub context: ContextId,
    pub agent: AgentName,
    /// The run that called this one.
    pub parent: Option<RunId>,
    /// From the root run's agent to this one.
    pub agent_path: Vec<AgentName>,
}

/// Lines of the daemon's log within this have the ids of the run.
pub(in super::super) fn logged<F: Future>(span: Span, work: F) -> Instrumented<F> {
    work.instrument(span)
}

impl RunDriver {
    /// The run, for lines of the daemon's log; at every level.
    pub fn log_span(&self) -> Span {
        let RunIdentity { session, run, agent, .. } = &self.identity;
        tracing::error_span!("run", %session, %run, %agent)
    }

    /// The turn that it is in.
    pub(super) fn turn_span(&self) -> Span {
        tracing::error_span!("turn", prompt = format!("{}#{}", self.identity.run, self.machine.turn()))
    }
}

impl RunIdentity {
    /// A draft with who and when.
    pub fn event(&self, draft: &EventDraft, at: Timestamp, turn: u32) -> NewEvent {
        let turn = match &draft.body {
            EventBody::TurnStarted(data) => Some(data.turn),
            EventBody::TurnCompleted(data) => Some(data.turn),
            // Before the first turn.
            EventBody::RunStarted(_) | EventBody::DaemonWarning(_) => None,
            _ => Some(turn).filter(|turn| *turn != 0),
        };
        let head = EventHead {
            parent_run_id: self.parent.clone(),
            agent: Some(self.agent.clone()),
            agent_path: self.agent_path.clone(),
            turn,
            prompt_id: turn.map(|turn| format!("{}#{turn}", self.run)),
            activity: draft.activity,
            by: draft.by.clone(),
        };
        NewEvent {
            at,
            session: Some(self.session.clone()),
            run: Some(self.run.clone()),
            context: Some(self.context.clone()),
            head,
            body: draft.body.clone(),
            private: draft.private.clone(),
        }
    }

    /// Drafts of one step with who and when; `before` is the turn in which it began.
    pub fn events(&self, drafts: &[EventDraft], at: Timestamp, before: u32) -> Vec<NewEvent> {
        let mut turn = before;
        self.events_from(drafts, at, &mut turn)
    }

    /// The same; `turn` is the one in which they begin, and then that in which they end.
    pub fn events_from(&self, drafts: &[EventDraft], at: Timestamp, turn: &mut u32) -> Vec<NewEvent> {
        let event = |draft: &EventDraft| {
            // A step can end one turn and begin the next.
            if let EventBody::TurnStarted(data) = &draft.body {
                *turn = data.turn;
            }
            self.event(draft, at, *turn)
        };
        drafts.iter().map(event).collect()
    }

    /// The place where the run stands for hooks before its first event.
    pub fn scene_of_beginning(
        &self,
        (start, expansions): (&RunStarted, &[PromptExpansion]),
        session_start: Option<&'static str>,
        (mode, watchers): (ApprovalMode, &HookWatchers),
    ) -> HookScene {
        HookScene {
            session: self.session.clone(),
            run: Some(self.run.clone()),
            root: Some(start.root_run_id.clone().unwrap_or_else(|| self.run.clone())),
            is_child: self.parent.is_some(),
            agent: Some(self.agent.clone()),
            path: self.agent_path.clone(),
            model: start.model.clone(),
            turn: 0,
            mode,
            is_headless: start.approval.headless,
            session_start,
            expansions: expansions.into(),
            messages: Arc::new([]),
            skills: Arc::new([]),
            background: BackgroundCommands::default(),
            models: None,
            news: None,
            tools: None,
            log: watchers.log().clone(),
        }
    }
}

/// The events that begin a run carry what it needs from then on.
pub fn carry_seed(drafts: &mut [EventDraft], seed: &RunSeed) {
    for draft in drafts {
        let carries = match &draft.body {
            EventBody::RunStarted(_) => true,
            EventBody::RunQueued(data) => data.run.is_some(),
            _ => false,
        };
        if carries {
            draft.private.seed = Some(Box::new(seed.clone()));
        }
    }
}

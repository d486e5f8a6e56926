//! How a run begins: in a new session or an old one, at once or after the runs before it.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::{RunExecutor, SteerOutcome};
use crate::{
    driver::{RunDriver, RunIdentity, RunLeases, RunLineage, carry_seed},
    hooks::{BEGIN_EVENTS, shows_beginning},
    lanes::{ContextLease, QueueAdmission, QueuePolicy},
    live_runs::{LiveRunGuard, RunMessage, RunRequestError},
    machine::{RunConstants, RunMachine, StartMode},
    modes::SessionMode,
    plan::RunPlan,
    transcript::ContextTranscript,
};
use protocol::{
    AgentName, AgentRoute, ContextId, EventBody, EventHead, EventSeq, IfBusy, PrivateEventFields,
    RouteSelected, RuleOrigin, RuleOriginSource, RunDisposition, RunId, SessionCreated, SessionId,
    SessionState,
};
use store::{KeyedAnswer, NewEvent, StoreError};
use sys::ids;

/// Makes what remembers the request, from what it led to.
pub type MakeKeyed = Box<dyn Fn(&StartOutcome) -> KeyedAnswer + Send + Sync>;

/// Where and how a run is to start.
pub struct StartOptions {
    pub place: SessionChoice,
    pub if_busy: IfBusy,
    pub by: Option<String>,
    /// The reason why it is this agent, of a prompt that named none.
    pub routed: Option<AgentRoute>,
    pub keyed: Option<MakeKeyed>,
}

/// The session of a run.
#[derive(Debug, Clone)]
pub enum SessionChoice {
    NewSession,
    Session(SessionId),
}

/// A run that is in the log, or one that was said something instead.
#[derive(Debug, Clone)]
pub struct StartOutcome {
    pub disposition: RunDisposition,
    pub run: RunId,
    pub session: SessionId,
    pub agent: AgentName,
    /// The living run that is cancelled for it.
    pub interrupts: Option<RunId>,
    pub routed: Option<AgentRoute>,
    /// The last event that the request caused.
    pub seq: EventSeq,
}

/// The reason why nothing started.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("run {0} of this agent lives in the session")]
    Busy(RunId),
    #[error("the session is closed, or is being closed")]
    Closed,
    #[error("so many runs of this agent wait in the session that one more is refused")]
    QueueFull,
    #[error("so much was said to run {0} that its model has not read yet that more is not kept")]
    NoRoom(RunId),
    #[error("the daemon takes no new runs; nothing was started")]
    Draining,
}

/// What a start is about.
struct StartRequest {
    session: SessionId,
    is_new_session: bool,
    run: RunId,
    agent: AgentName,
    mode: Arc<SessionMode>,
    by: Option<String>,
    routed: Option<AgentRoute>,
    keyed: Option<MakeKeyed>,
    interrupts: Option<RunId>,
}

impl RunExecutor {
    /// Starts a planned run. Answers once it is in the log: from then on it ends exactly once, also when whoever asked
    /// does not wait for the answer.
    pub async fn start(&self, plan: RunPlan, options: StartOptions) -> Result<StartOutcome, StartError> {
        let executor = self.clone();
        let starting = async move { executor.start_now(plan, options).await };
        match self.shared.tasks.spawn("the start of a run", starting).await {
            Ok(started) => started,
            // It cannot be cancelled: nobody holds its handle but this.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    async fn start_now(&self, plan: RunPlan, options: StartOptions) -> Result<StartOutcome, StartError> {
        let StartOptions { place, if_busy, by, routed, keyed } = options;
        let (session, is_new_session) = match place {
            SessionChoice::NewSession => (ids::fresh::<SessionId>(), true),
            SessionChoice::Session(session) => (session, false),
        };
        let _entering = self.shared.doors.enter(&session).ok_or(StartError::Closed)?;
        // Among the living before anything is looked at: who waits until nobody lives waits for this, too.
        let run = ids::fresh::<RunId>();
        let place = self.live().take_place(&run, false);
        if self.is_draining() {
            return Err(StartError::Draining);
        }
        let mode = self.shared.common.modes.of(&session);
        if is_new_session {
            let origin = RuleOrigin { source: RuleOriginSource::Settings, by: None, at: None };
            mode.found(self.supplies().defaults.approval.mode.unwrap_or_default(), Some(origin));
        } else {
            // Behind the door nobody closes it any more.
            let summary = self.shared.store.session(&session).await?;
            let summary = summary.filter(|summary| summary.state == SessionState::Open);
            mode.found_in(&self.shared.store, &summary.ok_or(StartError::Closed)?).await?;
        }
        let agent = plan.seed.definition.name.clone();
        let start =
            StartRequest { session, is_new_session, run, agent, mode, by, routed, keyed, interrupts: None };
        let wish = if if_busy == IfBusy::Queue { QueuePolicy::Queue } else { QueuePolicy::Free };
        let entry = self.enter(&start, wish).await?;
        let QueueAdmission::Busy(holder) = entry else {
            let (pass, opening, _) = admitted(entry)?;
            return Ok(self.begin(start, plan, pass, opening, place).await?);
        };
        match if_busy {
            IfBusy::Reject | IfBusy::Queue => Err(StartError::Busy(holder)),
            IfBusy::Steer => match self.say_instead(&start, &holder, &plan).await.map_err(unasked)? {
                Some(steered) => Ok(steered),
                // It is ending: what was to be said to it becomes a run after it.
                None => {
                    let (pass, opening, _) = admitted(self.enter(&start, QueuePolicy::Queue).await?)?;
                    Ok(self.begin(start, plan, pass, opening, place).await?)
                }
            },
            IfBusy::Interrupt => {
                let (pass, opening, holder) = admitted(self.enter(&start, QueuePolicy::Queue).await?)?;
                let opening = match opening {
                    StartMode::Queued { .. } => StartMode::Queued { front: true },
                    StartMode::Now => StartMode::Now,
                };
                let by = start.by.clone();
                // In the log before anything is cancelled for it.
                let start = StartRequest { interrupts: holder.clone(), ..start };
                let started = self.begin(start, plan, pass, opening, place).await?;
                if let Some(holder) = holder {
                    let reason = "interrupted by a newer request".to_owned();
                    if let Err(error) = self.cancel(&holder, by, Some(reason)).await {
                        // The new run waits for its end all the same, which is what its answer says.
                        tracing::warn!(run = %holder, %error, "the run that was to be interrupted goes on");
                    }
                }
                Ok(started)
            }
        }
    }

    /// Enters the lane of the agent's context.
    async fn enter(&self, start: &StartRequest, wish: QueuePolicy) -> Result<QueueAdmission, StoreError> {
        loop {
            let edition = self.shared.common.lanes.edition();
            let found: Option<ContextId> = match start.is_new_session {
                true => None,
                false => self.shared.store.root_context(&start.session, &start.agent).await?,
            };
            let key = (start.session.clone(), start.agent.clone());
            let contexts = (found, ids::fresh());
            match self.shared.common.lanes.enter(key, start.run.clone(), wish, edition, contexts) {
                QueueAdmission::Outdated => (),
                entry => return Ok(entry),
            }
        }
    }

    /// The task becomes a message to the run that works in the context; `None` when it takes none any more.
    async fn say_instead(
        &self,
        start: &StartRequest,
        holder: &RunId,
        plan: &RunPlan,
    ) -> Result<Option<StartOutcome>, RunRequestError> {
        let steered = StartOutcome {
            disposition: RunDisposition::Steered,
            run: holder.clone(),
            session: start.session.clone(),
            agent: start.agent.clone(),
            interrupts: None,
            routed: None,
            seq: EventSeq(0),
        };
        let keyed = start.keyed.as_ref().map(|make| make(&steered));
        match self.steer(holder, plan.said.clone(), start.by.clone(), keyed).await? {
            SteerOutcome::Kept(seq) => Ok(Some(StartOutcome { seq, ..steered })),
            SteerOutcome::NotActive => Ok(None),
        }
    }

    /// Writes the run's first events and lets it live.
    async fn begin(
        &self,
        start: StartRequest,
        plan: RunPlan,
        pass: ContextLease,
        opening: StartMode,
        (mut place, inbox): (LiveRunGuard, mpsc::Receiver<RunMessage>),
    ) -> Result<StartOutcome, StoreError> {
        let StartRequest { session, is_new_session, run, agent, mode, by, routed, keyed, interrupts } = start;
        let turn = pass.turn();
        place.hold(Some(pass));
        let identity = RunIdentity {
            session: session.clone(),
            run: run.clone(),
            context: turn.context.clone(),
            agent: agent.clone(),
            parent: None,
            agent_path: vec![agent.clone()],
        };
        let started = plan.started(RunLineage {
            context: identity.context.clone(),
            depth: 0,
            parent_call: None,
            root: None,
            path: format!("{agent}#1"),
            traceparent: plan.traceparent,
        });
        let transcript = match opening {
            StartMode::Now if !is_new_session => {
                ContextTranscript::of(&self.shared.store, &identity.context).await?
            }
            // Of a new session there is nothing to read; a run that waits reads when it is its turn.
            _ => ContextTranscript::default(),
        };
        let mut machine = RunMachine::begin(RunConstants { run: run.clone(), start: started });
        machine.remember(transcript.past());
        let slot = match opening {
            StartMode::Now => self.shared.common.slots.try_take(&session),
            StartMode::Queued { .. } => None,
        };
        if slot.is_some() {
            machine.hold_slot();
        }
        let session_start = self.shared.common.session_starts.of(&session, is_new_session);
        let hooks = &plan.resources.equipment.hooks;
        hooks.refresh().await;
        let about = (machine.start(), plan.seed.expansions.as_slice());
        let around = || (mode.get(), &self.shared.common.hook_watchers);
        let scene = || identity.scene_of_beginning(about, session_start, around());
        let begins = hooks.may_fire_any(BEGIN_EVENTS) && shows_beginning(hooks, machine.start(), &scene());
        machine.watch_prompts(begins, false);
        let mut drafts = machine.open(opening, by.clone(), plan.opening());
        let told = (transcript.editor(), &plan.resources.equipment.supplies.redactor);
        self.shared.common.editors.tell(&session, told, &mut machine, &mut drafts);
        carry_seed(&mut drafts, &plan.seed);

        let now = self.shared.clock.now();
        let of_session = |body: EventBody| NewEvent {
            at: now,
            session: Some(session.clone()),
            run: None,
            context: None,
            head: EventHead { by: by.clone(), ..EventHead::default() },
            body,
            private: PrivateEventFields::default(),
        };
        let created = is_new_session.then(|| SessionCreated {
            roots: plan.seed.roots.clone(),
            title: None,
            agent: None,
            mode: mode.get(),
            ephemeral: false,
            mode_of_settings: true,
        });
        let selected = routed.clone().map(|routed| RouteSelected { run_id: run.clone(), routed });
        let bodies = created.map(EventBody::from).into_iter().chain(selected.map(EventBody::from));
        let mut events: Vec<NewEvent> = bodies.map(of_session).collect();
        let n_before = events.len();
        events.extend(identity.events(&drafts, now, 0));
        let disposition = match opening {
            StartMode::Now => RunDisposition::Started,
            StartMode::Queued { .. } => RunDisposition::Queued,
        };
        let mut answer = StartOutcome {
            disposition,
            run: run.clone(),
            session,
            agent,
            interrupts,
            routed,
            seq: EventSeq(0),
        };
        let keyed = keyed.map(|make| make(&answer));
        let (first, last) = self.shared.store.append_keyed(events, keyed).await?;
        answer.seq = last;

        let holdings = RunLeases { slot, turn: Some(turn), mode, session_start, ..RunLeases::default() };
        let RunPlan { seed, resources, read_memory, .. } = plan;
        let parts = self.driver_parts();
        let mut driver = RunDriver::new(parts, identity, Arc::new(seed), resources, machine, holdings);
        driver.adopt(transcript);
        // The session's event stands before the run's.
        let first = EventSeq(first.0 + i64::try_from(n_before).unwrap_or(i64::MAX));
        driver.absorb_all(first, &drafts);
        driver.tell_hooks_of_memory(&read_memory);
        self.drive(driver, place, inbox, None);
        Ok(answer)
    }
}

/// A run that has come to rest holds its context until the next start.
fn unasked(error: RunRequestError) -> StartError {
    match error {
        RunRequestError::Store(error) => StartError::Store(error),
        RunRequestError::AtRest(_) => StartError::Draining,
        // Only whoever answers a question is told that there are too many answers.
        RunRequestError::NoRoom(run) | RunRequestError::TooManyAnswers(run) => StartError::NoRoom(run),
    }
}

/// The run's right to its context, how it starts, and who holds the context now.
fn admitted(entry: QueueAdmission) -> Result<(ContextLease, StartMode, Option<RunId>), StartError> {
    match entry {
        QueueAdmission::Free(pass) => Ok((pass, StartMode::Now, None)),
        QueueAdmission::Waiting(pass, holder) => Ok((pass, StartMode::Queued { front: false }, Some(holder))),
        QueueAdmission::Busy(holder) => Err(StartError::Busy(holder)),
        QueueAdmission::Full => Err(StartError::QueueFull),
        // `enter` looks again until what it looked up holds.
        QueueAdmission::Outdated => unreachable!("an outdated entry is entered again"),
    }
}

//! Owns the drivers: starts runs, takes up those that another process left, and passes requests on to living
//! ones. Every way to run an agent goes through here (DESIGN, law 7).

use std::{
    collections::{BTreeMap, HashMap},
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    completion::CompletionTool,
    driver::{Driver, Identity, Message},
    machine::{Draft, Input, RunMachine, Terms},
    plan::{self, PlanError, RunDefaults, RunPlan, RunRequest, Supplies},
    transcript::Transcript,
};
use crate::{
    models::Models,
    policy::Policy,
    protocol::{
        AgentDefinition, ContextId, EventBody, ModelRef, Private, RunErrorCode, RunId, RunSeed, RunStarted,
        Seq, SessionCreated, SessionId, ToolDeclaration, Warning,
    },
    store::{Event, NewEvent, Store, StoreError},
    sys::{clock::Clock, ids},
    tools::{Registry, Toolset},
};

/// Requests that may wait for a run before their senders wait too.
const INBOX: usize = 64;

/// What every run of a daemon shares.
pub struct ExecutorParts {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub models: Models,
    pub registry: Registry,
    pub policy: Policy,
    pub defaults: RunDefaults,
    /// Owns the drivers' tasks.
    pub tracker: TaskTracker,
    /// Ends the drivers; their runs stay unfinished in the log and go on at the next start.
    pub stop: CancellationToken,
}

/// A cheap handle.
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
}

struct Shared {
    parts: ExecutorParts,
    runs: Mutex<HashMap<RunId, Handle>>,
    stranded: Mutex<BTreeMap<RunId, StoreError>>,
}

/// How to reach a living run.
#[derive(Clone)]
struct Handle {
    inbox: mpsc::Sender<Message>,
    /// Cancelled when nothing drives the run any more.
    is_over: CancellationToken,
}

/// A run's place among the living. It is taken before the run is in the log, so that whoever sees the run there
/// also reaches it, and given back when it is dropped: after the run's last event.
struct Place {
    executor: Executor,
    run: RunId,
    is_over: CancellationToken,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.executor.runs().remove(&self.run);
        self.is_over.cancel();
    }
}

/// A run that is in the log.
#[derive(Debug, Clone)]
pub struct Started {
    pub run: RunId,
    pub session: SessionId,
    /// The last event that starting it caused.
    pub seq: Seq,
}

/// What a cancel came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It stops; this is the last event the request caused.
    Stopping(Seq),
    /// It was stopping already, or is over.
    NothingToDo,
}

/// The cancel is not durable.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct CancelError(#[from] pub StoreError);

impl Executor {
    pub fn new(parts: ExecutorParts) -> Executor {
        Executor { shared: Arc::new(Shared { parts, runs: Mutex::default(), stranded: Mutex::default() }) }
    }

    /// Checks a request; nothing is written. Reads files, so it leaves the async threads alone.
    pub async fn plan(&self, request: RunRequest) -> Result<RunPlan, PlanError> {
        let executor = self.clone();
        let planning = move || {
            let now = executor.shared.parts.clock.now();
            RunPlan::new(request, now, &executor.supplies())
        };
        unblocked(planning).await
    }

    /// Starts a planned run in a new session. Answers once it is in the log: from then on it ends exactly once, also
    /// when whoever asked does not wait for the answer.
    pub async fn start(&self, plan: RunPlan, by: Option<String>) -> Result<Started, StoreError> {
        let executor = self.clone();
        let starting = async move { executor.start_now(plan, by).await };
        match self.shared.parts.tracker.spawn(starting).await {
            Ok(started) => started,
            // It cannot be cancelled: nobody holds its handle but this.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    async fn start_now(&self, plan: RunPlan, by: Option<String>) -> Result<Started, StoreError> {
        let parts = &self.shared.parts;
        let identity = Identity {
            session: ids::fresh::<SessionId>(),
            run: ids::fresh::<RunId>(),
            context: ids::fresh::<ContextId>(),
            agent: plan.seed.definition.name.clone(),
        };
        let now = parts.clock.now();
        let RunPlan { seed, digest, query, inputs, limits, completion, equipment } = plan;
        let created = SessionCreated { roots: seed.roots.clone(), title: None };
        let started = RunStarted {
            agent: identity.agent.clone(),
            title: seed.definition.title.clone(),
            digest,
            model: equipment.model_name.clone(),
            context_id: identity.context.clone(),
            query,
            inputs,
            limits,
            completion,
            depth: 0,
        };
        let terms = Terms { run: identity.run.clone(), model: started.model.clone(), limits, completion };
        let mut machine = RunMachine::begin(terms);
        let first = Draft {
            body: started.into(),
            private: Private { seed: Some(Box::new(seed.clone())), ..Private::default() },
            activity: None,
            by: by.clone(),
        };
        let mut drafts = vec![first];
        for message in equipment.gate.toolset.warnings() {
            let body = Warning { message: format!("{}: {message}", identity.agent) };
            drafts.push(Draft { body: body.into(), private: Private::default(), activity: None, by: None });
        }
        drafts.extend(machine.open());

        let mut events = vec![NewEvent {
            at: now,
            session: Some(identity.session.clone()),
            run: None,
            context: None,
            head: crate::protocol::EventHead { by, ..Default::default() },
            body: created.into(),
            private: Private::default(),
        }];
        events.extend(drafts.iter().map(|draft| identity.event(draft, now, machine.turn())));
        let (place, inbox) = self.take_place(&identity.run);
        let (first, last) = parts.store.append(events).await?;

        let mut driver = Driver::new(self.driver_parts(), identity.clone(), seed.into(), equipment, machine);
        for (n, draft) in drafts.iter().enumerate() {
            // The session's event stands before the run's.
            let seq = Seq(first.0 + 1 + i64::try_from(n).unwrap_or(i64::MAX));
            driver.absorb(seq, &draft.body, &draft.private);
        }
        self.drive(driver, place, inbox, None);
        Ok(Started { run: identity.run, session: identity.session, seq: last })
    }

    /// Takes up every run that the log says is unfinished, oldest first. A run that cannot be taken up is
    /// [stranded](Executor::stranded); the others go on.
    pub async fn resume_all(&self) -> Result<usize, StoreError> {
        let runs = self.shared.parts.store.unfinished_runs().await?;
        let n_runs = runs.len();
        for run in runs {
            if let Err(error) = self.resume(&run).await {
                self.strand(&run, error);
            }
        }
        Ok(n_runs)
    }

    async fn resume(&self, run: &RunId) -> Result<(), StoreError> {
        let parts = &self.shared.parts;
        let events = parts.store.run_events(run).await?;
        let Folded { identity, seed, model, machine, transcript } = fold(run, &events, &parts.store).await?;
        let roots: Vec<PathBuf> = seed.roots.iter().map(PathBuf::from).collect();
        let model = ModelRef::from(model);
        let restarted = Input::Restarted { unclean: !parts.store.stopped_cleanly(), now: parts.clock.now() };
        let (executor, definition) = (self.clone(), seed.definition.clone());
        let equipping = move || plan::equip(&definition, Some(&model), &roots, &executor.supplies());
        match unblocked(equipping).await {
            Ok(equipment) => {
                let mut driver = Driver::new(self.driver_parts(), identity, seed.into(), equipment, machine);
                driver.adopt(transcript);
                let (place, inbox) = self.take_place(run);
                self.drive(driver, place, inbox, Some(restarted));
                Ok(())
            }
            Err(error) => {
                let code = match &error {
                    PlanError::Workspace(_) => RunErrorCode::WorkspaceGone,
                    _ => RunErrorCode::ModelFailed,
                };
                let message = format!("the run cannot go on after the restart: {error}");
                let fatal = Input::Unresumable { code, message, now: parts.clock.now() };
                self.decide_without_driver(identity, machine, vec![restarted, fatal]).await
            }
        }
    }

    /// Stops a run; its tools end first. Answers when that is durable.
    pub async fn cancel(
        &self,
        run: &RunId,
        by: Option<String>,
        reason: Option<String>,
    ) -> Result<Cancelled, CancelError> {
        // A run that nobody drives cannot be stopped, and saying that it was would be untrue.
        if let Some(error) = self.stranded_runs().get(run) {
            return Err(CancelError(error.clone()));
        }
        let Some(handle) = self.runs().get(run).cloned() else { return Ok(Cancelled::NothingToDo) };
        let (reply, answer) = oneshot::channel();
        let input = Input::Cancel { by, reason, partial: None };
        // A message that nobody takes comes back; the answer's sender is dropped with it, which is an answer too.
        drop(handle.inbox.send(Message { input, reply: Some(reply) }).await);
        match answer.await {
            Ok(Ok(Some(seq))) => Ok(Cancelled::Stopping(seq)),
            Ok(Ok(None)) => Ok(Cancelled::NothingToDo),
            Ok(Err(error)) => Err(CancelError(error)),
            // The driver ended before it read the request: the run is over, or the daemon stops. What is still
            // to be written of the run, e.g. that its driver panicked, is waited for.
            Err(_) => {
                handle.is_over.cancelled().await;
                Ok(Cancelled::NothingToDo)
            }
        }
    }

    /// The tools that a run of this definition would get.
    pub fn toolset(&self, definition: &AgentDefinition) -> Toolset {
        plan::toolset(definition, &self.supplies())
    }

    /// What a run of this definition would declare as `complete_task`.
    pub fn completion_declaration(&self, definition: &AgentDefinition) -> Result<ToolDeclaration, PlanError> {
        Ok(CompletionTool::new(definition.output.as_ref())?.declaration().clone())
    }

    /// How many runs are being driven.
    pub fn live_runs(&self) -> usize {
        self.runs().len()
    }

    fn take_place(&self, run: &RunId) -> (Place, mpsc::Receiver<Message>) {
        let (inbox, receiver) = mpsc::channel(INBOX);
        let is_over = CancellationToken::new();
        self.runs().insert(run.clone(), Handle { inbox, is_over: is_over.clone() });
        (Place { executor: self.clone(), run: run.clone(), is_over }, receiver)
    }

    fn drive(&self, driver: Driver, place: Place, inbox: mpsc::Receiver<Message>, first: Option<Input>) {
        let task = async move {
            let Place { executor, run, .. } = &place;
            let driven = AssertUnwindSafe(driver.run(inbox, first)).catch_unwind().await;
            if driven.is_err() {
                executor.bury(run).await;
            }
        };
        self.shared.parts.tracker.spawn(task);
    }

    /// Ends a run whose driver panicked.
    async fn bury(&self, run: &RunId) {
        let id = ids::fresh::<String>();
        tracing::error!(%run, %id, "a run's driver panicked");
        let store = &self.shared.parts.store;
        let buried = async {
            let events = store.run_events(run).await?;
            let Folded { identity, machine, .. } = fold(run, &events, store).await?;
            let input = Input::Panicked { id, now: self.shared.parts.clock.now() };
            self.decide_without_driver(identity, machine, vec![input]).await
        };
        if let Err(error) = buried.await {
            self.strand(run, error);
        }
    }

    fn strand(&self, run: &RunId, error: StoreError) {
        tracing::error!(%run, %error, "the run cannot be taken up; it is tried again at the next start");
        self.stranded_runs().insert(run.clone(), error);
    }

    /// Runs that are unfinished and that nobody drives, since the store failed them. They are tried again at the next
    /// start.
    pub fn stranded(&self) -> Vec<(RunId, StoreError)> {
        self.stranded_runs().iter().map(|(run, error)| (run.clone(), error.clone())).collect()
    }

    fn stranded_runs(&self) -> MutexGuard<'_, BTreeMap<RunId, StoreError>> {
        // As for `runs`.
        self.shared.stranded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn decide_without_driver(
        &self,
        identity: Identity,
        mut machine: RunMachine,
        inputs: Vec<Input>,
    ) -> Result<(), StoreError> {
        let parts = &self.shared.parts;
        let now = parts.clock.now();
        let drafts: Vec<Draft> = inputs.into_iter().flat_map(|input| machine.decide(input)).collect();
        let events = drafts.iter().map(|draft| identity.event(draft, now, machine.turn()));
        parts.store.append(events.collect()).await?;
        Ok(())
    }

    fn supplies(&self) -> Supplies<'_> {
        let ExecutorParts { models, registry, policy, defaults, .. } = &self.shared.parts;
        Supplies { models, registry, policy, defaults }
    }

    fn driver_parts(&self) -> super::driver::DriverParts {
        let ExecutorParts { store, clock, stop, .. } = &self.shared.parts;
        super::driver::DriverParts { store: store.clone(), clock: Arc::clone(clock), stop: stop.clone() }
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, Handle>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.shared.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `work` where blocking harms nobody. A panic goes on in the caller.
async fn unblocked<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // It cannot be cancelled: nobody holds its handle but this.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// What a run's events say about it.
struct Folded {
    identity: Identity,
    seed: RunSeed,
    model: String,
    machine: RunMachine,
    transcript: Transcript,
}

async fn fold(run: &RunId, events: &[Event], store: &Store) -> Result<Folded, StoreError> {
    let unreadable = |message: &str| StoreError::Unreadable {
        seq: events.first().map_or(Seq(0), |event| event.seq),
        message: message.to_owned(),
    };
    let bodies = events.iter().map(|event| (&event.body, &event.private));
    let machine = RunMachine::fold(run, bodies).map_err(|error| unreadable(&error.to_string()))?;
    let mut transcript = Transcript::default();
    for event in events {
        transcript.extend(&event.body, &event.private);
    }
    let started = events.iter().find_map(|event| match &event.body {
        EventBody::RunStarted(started) => Some((started, event.private.seed.as_deref())),
        _ => None,
    });
    let Some((started, Some(seed))) = started else {
        return Err(unreadable("run.started carries no definition"));
    };
    let record = store.run(run).await?.ok_or_else(|| unreadable("the run has no record"))?;
    let identity = Identity {
        session: record.session_id,
        run: run.clone(),
        context: started.context_id.clone(),
        agent: started.agent.clone(),
    };
    Ok(Folded { identity, seed: seed.clone(), model: started.model.clone(), machine, transcript })
}

//! Owns the drivers: starts runs, takes up those that another process left, and passes requests on to living
//! ones. Every way to run an agent goes through here (DESIGN, law 7).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    doors::{CloseGuard, SessionGate},
    driver::{ChildRuns, DriverParts, RunDriver},
    editors::EditorContexts,
    hooks::{HookWatchers, HooksInForce, SessionStarts},
    lanes::{ContextLease, ContextQueue},
    live_runs::{LiveRunGuard, LiveRunReply, LiveRuns, RunMessage, RunMessageReply, RunRequestError},
    machine::MachineInput,
    modes::SessionModes,
    plan::{PlanError, RunPlan, RunRequest},
    resources::{RunDefaults, RunResources},
    shared_state::SharedRunState,
    slots::RunSlots,
};
use models::ModelRegistry;
use project::ProjectReader;
use protocol::{ApprovalMode, EventSeq, RuleOrigin, RunId, SessionId};
use redact::Redactor;
use store::{EventStore, StoreError};
use sys::{clock::Clock, current::HotSwap, tasks::TaskGroup};
use tools::{
    ArtifactFolder, ClientToolRegistry, CommandRuntime, OutputStore, OwnFiles, ToolRegistry, UndoStore,
    mcp::McpHub,
};
use web::WebClient;

mod answers;
mod check;
mod ending;
mod offered;
mod rendered;
mod requests;
mod resume;
mod resume_error;
mod session_end;
mod start;
mod stranded;
mod titles;

pub use answers::{AnswerError, AnswerOutcome};
pub use check::{CheckError, CheckRequest, CheckedCall};
pub use offered::NamedInVain;
pub use rendered::{PromptQuery, RenderedPrompt};
pub use requests::{CancelOutcome, PromoteOutcome, SteerOutcome};
pub use resume_error::ResumeError;
pub use start::{MakeKeyed, SessionChoice, StartError, StartOptions, StartOutcome};

use stranded::StrandedRuns;

/// What every run of a daemon shares.
pub struct ExecutorParts {
    pub store: EventStore,
    pub clock: Arc<dyn Clock>,
    pub models: ModelRegistry,
    pub registry: ToolRegistry,
    pub defaults: RunDefaults,
    /// Takes secrets out of whatever is going to be stored or shown.
    pub redactor: Redactor,
    /// What tools must not change unasked, and where what they change is kept.
    pub own_files: Arc<OwnFiles>,
    pub commands: Arc<CommandRuntime>,
    pub web: Arc<WebClient>,
    pub servers: McpHub,
    pub hooks: HooksInForce,
    /// What workspaces bring along, for runs that are resumed; and the rules in force.
    pub projects: ProjectReader,
    /// Runs at work at once: in one session, and in all (setting `maxConcurrentRuns`).
    pub max_concurrent: (usize, usize),
    /// Owns the drivers' tasks.
    pub tasks: TaskGroup,
    /// Runs come to rest where their turns end, and go on at the next start.
    pub closing: CancellationToken,
    /// Ends the drivers; their runs stay unfinished in the log and go on at the next start.
    pub stop: CancellationToken,
}

/// What can be changed while runs are driven.
pub struct ResourceUpdate {
    pub models: ModelRegistry,
    pub defaults: RunDefaults,
    pub redactor: Redactor,
    /// As in [`ExecutorParts`].
    pub max_concurrent: (usize, usize),
}

/// A cheap handle.
#[derive(Clone)]
pub struct RunExecutor {
    shared: Arc<ExecutorState>,
}

struct ExecutorState {
    store: EventStore,
    clock: Arc<dyn Clock>,
    common: Arc<SharedRunState>,
    projects: ProjectReader,
    tasks: TaskGroup,
    closing: CancellationToken,
    stop: CancellationToken,
    /// Sessions change one after the other, so that what was read of one still holds when the change is written.
    session_changes: Semaphore,
    doors: SessionGate,
    is_draining: AtomicBool,
    /// Locked before the living runs where both are.
    stranded: Mutex<StrandedRuns>,
    /// Of runs that are unfinished and that nobody drives: their contexts stay theirs.
    resting: Mutex<HashMap<RunId, ContextLease>>,
    /// Replies promised to the trees of runs that were resumed, by root.
    trees: Mutex<HashMap<(RunId, String), Weak<AtomicU32>>>,
}

impl RunExecutor {
    pub fn new(parts: ExecutorParts) -> RunExecutor {
        let ExecutorParts {
            store,
            clock,
            models,
            registry,
            defaults,
            redactor,
            own_files,
            commands,
            web,
            servers,
            hooks,
            ..
        } = parts;
        let (per_session, in_all) = parts.max_concurrent;
        let hook_watchers =
            HookWatchers::new(store.clone(), Arc::clone(&clock), (parts.tasks.clone(), parts.stop.clone()));
        let common = SharedRunState {
            supplies: HotSwap::new(RunResources {
                models,
                registry,
                defaults,
                redactor,
                own_files,
                commands,
                lenders: ClientToolRegistry::default(),
                servers,
                web,
                hooks,
            }),
            editors: EditorContexts::default(),
            slots: RunSlots::new(per_session, in_all),
            lanes: ContextQueue::default(),
            modes: SessionModes::default(),
            session_starts: SessionStarts::default(),
            hook_watchers,
            live_runs: LiveRuns::default(),
        };
        let shared = ExecutorState {
            store,
            clock,
            common: Arc::new(common),
            projects: parts.projects,
            tasks: parts.tasks,
            closing: parts.closing,
            stop: parts.stop,
            session_changes: Semaphore::new(1),
            doors: SessionGate::default(),
            is_draining: AtomicBool::new(false),
            stranded: Mutex::default(),
            resting: Mutex::default(),
            trees: Mutex::default(),
        };
        RunExecutor { shared: Arc::new(shared) }
    }

    /// From now on runs begin with these; those that have begun keep what they began with, and so do the runs they call.
    pub fn refit(&self, refit: ResourceUpdate) {
        let ResourceUpdate { models, defaults, redactor, max_concurrent: (per_session, in_all) } = refit;
        let RunResources { registry, own_files, commands, lenders, servers, web, hooks, .. } =
            &*self.supplies();
        let (registry, own_files, commands) = (registry.clone(), Arc::clone(own_files), Arc::clone(commands));
        let (lenders, servers, web) = (lenders.clone(), servers.clone(), Arc::clone(web));
        let hooks = hooks.clone();
        let supplies = RunResources {
            models,
            registry,
            defaults,
            redactor,
            own_files,
            commands,
            lenders,
            servers,
            web,
            hooks,
        };
        self.shared.common.supplies.replace(supplies);
        self.shared.common.slots.resize(per_session, in_all);
    }

    pub(super) fn supplies(&self) -> Arc<RunResources> {
        self.shared.common.supplies.get()
    }

    /// Checks a request; nothing is written. Reads files, so it leaves the async threads alone.
    pub async fn plan(&self, request: RunRequest) -> Result<RunPlan, PlanError> {
        if request.definition.prompt_modules {
            // What confines commands is part of what the model is told.
            self.supplies().commands.sandbox.mechanism().await;
        }
        let executor = self.clone();
        let planning = move || {
            let now = executor.shared.clock.now();
            RunPlan::new(request, now, &executor.supplies())
        };
        super::unblocked(planning).await
    }

    /// Who lends tools now.
    pub fn lenders(&self) -> ClientToolRegistry {
        self.supplies().lenders.clone()
    }

    /// The editors of those who work in sessions, and what they show.
    pub fn editors(&self) -> &EditorContexts {
        &self.shared.common.editors
    }

    /// How many runs are being driven.
    pub fn live_runs(&self) -> usize {
        self.shared.common.live_runs.count()
    }

    /// The same, as it changes.
    pub fn watch_live_runs(&self) -> watch::Receiver<usize> {
        self.shared.common.live_runs.watch_count()
    }

    /// What is taken of what runs share: slots, waiters for slots, contexts. All of it is given back when runs end.
    pub fn holdings(&self) -> (usize, usize, usize) {
        (self.shared.common.slots.taken(), self.shared.common.slots.waiting(), self.shared.common.lanes.len())
    }

    /// Lets no run start in a session while the answer lives; runs that are starting are waited for.
    pub async fn bar(&self, session: &SessionId) -> CloseGuard {
        self.shared.doors.bar(session).await
    }

    /// No root run starts from now on.
    pub fn refuse_new(&self) {
        self.shared.is_draining.store(true, Ordering::Release);
    }

    pub fn is_draining(&self) -> bool {
        self.shared.is_draining.load(Ordering::Acquire) || self.shared.closing.is_cancelled()
    }

    /// Runs come to rest where their turns end; they go on at the next start.
    pub fn suspend(&self) {
        self.shared.closing.cancel();
    }

    /// Keeps the context of a run that goes on at the next start from everybody else until then.
    fn rest(&self, run: &RunId, pass: Option<ContextLease>) {
        lock(&self.shared.resting).extend(pass.map(|pass| (run.clone(), pass)));
    }

    /// Stops every run that is being driven: first those that nobody called, whose stop is that of the runs below them.
    pub async fn cancel_all(&self, by: Option<&str>, reason: &str) {
        for run in self.live().roots_first() {
            // What cannot be cancelled is still counted as live by whoever waits for the end.
            if let Err(error) = self.cancel(&run, by.map(str::to_owned), Some(reason.to_owned())).await {
                tracing::warn!(%run, %error, "the run could not be cancelled");
            }
        }
    }

    /// The session has this mode from now on; the log says so already, by this event. `origin`: whose word it is; `None` = the
    /// same as before.
    pub fn set_mode(
        &self,
        session: &SessionId,
        mode: ApprovalMode,
        seq: EventSeq,
        origin: Option<RuleOrigin>,
    ) {
        self.shared.common.modes.set(session, mode, seq, origin);
    }

    /// Outputs that were too long for a model are kept here.
    pub fn output_store(&self) -> OutputStore {
        self.supplies().own_files.outputs().clone()
    }

    /// What is kept of sessions beside the log.
    pub fn artifacts(&self) -> ArtifactFolder {
        self.supplies().own_files.artifacts().clone()
    }

    /// What calls changed is kept here.
    pub fn undo_store(&self) -> UndoStore {
        self.supplies().own_files.undo().clone()
    }

    /// Held by whoever changes a session.
    pub fn session_changes(&self) -> &Semaphore {
        &self.shared.session_changes
    }

    fn live(&self) -> &LiveRuns {
        &self.shared.common.live_runs
    }

    fn drive(
        &self,
        driver: RunDriver,
        place: LiveRunGuard,
        inbox: mpsc::Receiver<RunMessage>,
        first: Option<MachineInput>,
    ) {
        let span = driver.log_span();
        let executor = self.clone();
        let task = async move {
            let mut place = place;
            let tasks = &executor.shared.tasks;
            let has_ended = match tasks.caught("the driver of a run", driver.run(inbox, first)).await {
                Ok(has_ended) => has_ended,
                Err(panicked) => executor.bury(&place, &panicked).await,
            };
            if !has_ended {
                let pass = place.pass.take();
                executor.rest(&place.run, pass);
            }
        };
        self.shared.tasks.spawn("a run", task.instrument(span));
    }

    fn driver_parts(&self) -> DriverParts {
        let ExecutorState { store, clock, closing, stop, common, .. } = &*self.shared;
        DriverParts {
            store: store.clone(),
            clock: Arc::clone(clock),
            closing: closing.clone(),
            stop: stop.clone(),
            common: Arc::clone(common),
            child_runs: Arc::new(self.clone()),
        }
    }

    /// Sends a request to a living run; `None` when nobody drives it.
    async fn ask(
        &self,
        run: &RunId,
        message: impl FnOnce(RunMessageReply) -> RunMessage,
    ) -> Option<Result<LiveRunReply, StoreError>> {
        self.live().ask(run, message).await
    }
}

impl ChildRuns for RunExecutor {
    fn parts(&self) -> DriverParts {
        self.driver_parts()
    }

    fn drive(&self, driver: RunDriver, place: LiveRunGuard, inbox: mpsc::Receiver<RunMessage>) {
        RunExecutor::drive(self, driver, place, inbox, None);
    }

    fn stop<'a>(&'a self, run: &'a RunId, reason: String) -> BoxFuture<'a, Result<(), RunRequestError>> {
        Box::pin(async move { self.cancel(run, None, Some(reason)).await.map(drop) })
    }

    fn is_stranded(&self, run: &RunId) -> bool {
        self.stranded_by(run).is_some()
    }

    fn name_session(&self, session: SessionId, title: String) {
        RunExecutor::name_session(self, session, title);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks, so a poisoned one is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

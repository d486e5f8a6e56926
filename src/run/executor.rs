//! Owns the drivers: starts runs, takes up those that another process left, and passes requests on to living
//! ones. Every way to run an agent goes through here (DESIGN, law 7).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    doors::{CloseGuard, SessionGate},
    driver::{DriverParts, RunDriver, RunMessage, RunMessageOutcome},
    editors::EditorContexts,
    hooks::{HookWatchers, HooksInForce, SessionStarts},
    lanes::{ContextLease, ContextQueue},
    machine::MachineInput,
    modes::SessionModes,
    plan::{PlanError, RunDefaults, RunPlan, RunRequest, RunResources},
    slots::RunSlots,
};
use models::ModelRegistry;
use project::ProjectReader;
use protocol::{ApprovalMode, EventSeq, RunId, SessionId};
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
pub use check::{CheckError, CheckRequest};
pub use offered::NamedInVain;
pub use rendered::{PromptQuery, RenderedPrompt};
pub use requests::{CancelOutcome, PromoteOutcome, RunRequestError, SteerOutcome};
pub use resume_error::ResumeError;
pub use start::{MakeKeyed, SessionChoice, StartError, StartOptions, StartOutcome};

use stranded::StrandedRuns;

/// Requests that may wait for a run before their senders wait too.
const INBOX: usize = 64;

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
    /// What new runs get; those that have begun keep what they began with.
    supplies: HotSwap<RunResources>,
    projects: ProjectReader,
    tasks: TaskGroup,
    closing: CancellationToken,
    stop: CancellationToken,
    /// The editors of those who work in sessions, and what they show.
    editors: EditorContexts,
    slots: RunSlots,
    lanes: ContextQueue,
    modes: SessionModes,
    session_starts: SessionStarts,
    /// Sessions change one after the other, so that what was read of one still holds when the change is written.
    session_changes: Semaphore,
    hook_watchers: HookWatchers,
    doors: SessionGate,
    runs: Mutex<HashMap<RunId, RunHandle>>,
    /// How many runs are being driven.
    n_live: watch::Sender<usize>,
    is_draining: AtomicBool,
    /// Locked before `runs` where both are.
    stranded: Mutex<StrandedRuns>,
    /// Of runs that are unfinished and that nobody drives: their contexts stay theirs.
    resting: Mutex<HashMap<RunId, ContextLease>>,
    /// Replies promised to the trees of runs that were resumed, by root.
    trees: Mutex<HashMap<(RunId, String), Weak<AtomicU32>>>,
}

/// How to reach a living run.
#[derive(Clone)]
struct RunHandle {
    inbox: mpsc::Sender<RunMessage>,
    /// Another run called it.
    is_child: bool,
    /// Cancelled when nothing drives the run any more.
    is_over: CancellationToken,
}

/// A run's place among the living. It is taken before the run is in the log, so that whoever sees the run there
/// also reaches it, and given back when it is dropped: after the run's last event.
pub(super) struct LiveRunGuard {
    executor: RunExecutor,
    run: RunId,
    is_over: CancellationToken,
    /// A root run's right to its context, until its last event.
    pass: Option<ContextLease>,
}

impl LiveRunGuard {
    pub fn hold(&mut self, pass: Option<ContextLease>) {
        self.pass = pass;
    }
}

impl Drop for LiveRunGuard {
    fn drop(&mut self) {
        {
            let mut runs = self.executor.runs();
            runs.remove(&self.run);
            // Under the lock, so that the last number said is the true one.
            self.executor.shared.n_live.send_replace(runs.len());
        }
        self.is_over.cancel();
    }
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
        let shared = ExecutorState {
            store,
            clock,
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
            projects: parts.projects,
            tasks: parts.tasks,
            closing: parts.closing,
            stop: parts.stop,
            editors: EditorContexts::default(),
            slots: RunSlots::new(per_session, in_all),
            lanes: ContextQueue::default(),
            modes: SessionModes::default(),
            session_starts: SessionStarts::default(),
            session_changes: Semaphore::new(1),
            hook_watchers,
            doors: SessionGate::default(),
            runs: Mutex::default(),
            n_live: watch::Sender::new(0),
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
        self.shared.supplies.replace(supplies);
        self.shared.slots.resize(per_session, in_all);
    }

    pub(super) fn supplies(&self) -> Arc<RunResources> {
        self.shared.supplies.get()
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
        &self.shared.editors
    }

    /// How many runs are being driven.
    pub fn live_runs(&self) -> usize {
        self.runs().len()
    }

    /// The same, as it changes.
    pub fn watch_live_runs(&self) -> watch::Receiver<usize> {
        self.shared.n_live.subscribe()
    }

    /// What is taken of what runs share: slots, waiters for slots, contexts. All of it is given back when runs end.
    pub fn holdings(&self) -> (usize, usize, usize) {
        (self.shared.slots.taken(), self.shared.slots.waiting(), self.shared.lanes.len())
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
        let mut runs: Vec<(bool, RunId)> =
            self.runs().iter().map(|(run, handle)| (handle.is_child, run.clone())).collect();
        runs.sort();
        for (_, run) in runs {
            // What cannot be cancelled is still counted as live by whoever waits for the end.
            if let Err(error) = self.cancel(&run, by.map(str::to_owned), Some(reason.to_owned())).await {
                tracing::warn!(%run, %error, "the run could not be cancelled");
            }
        }
    }

    /// The session has this mode from now on; the log says so already, by this event.
    pub fn set_mode(&self, session: &SessionId, mode: ApprovalMode, seq: EventSeq) {
        self.shared.modes.set(session, mode, seq);
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

    /// Tells hooks what has happened.
    pub(super) fn hook_watchers(&self) -> &HookWatchers {
        &self.shared.hook_watchers
    }

    pub(super) fn session_starts(&self) -> &SessionStarts {
        &self.shared.session_starts
    }

    pub(super) fn slots(&self) -> &RunSlots {
        &self.shared.slots
    }

    pub(super) fn lanes(&self) -> &ContextQueue {
        &self.shared.lanes
    }

    pub(super) fn take_place(
        &self,
        run: &RunId,
        is_child: bool,
    ) -> (LiveRunGuard, mpsc::Receiver<RunMessage>) {
        let (inbox, receiver) = mpsc::channel(INBOX);
        let is_over = CancellationToken::new();
        {
            let mut runs = self.runs();
            runs.insert(run.clone(), RunHandle { inbox, is_child, is_over: is_over.clone() });
            self.shared.n_live.send_replace(runs.len());
        }
        (LiveRunGuard { executor: self.clone(), run: run.clone(), is_over, pass: None }, receiver)
    }

    pub(super) fn drive(
        &self,
        driver: RunDriver,
        place: LiveRunGuard,
        inbox: mpsc::Receiver<RunMessage>,
        first: Option<MachineInput>,
    ) {
        let span = driver.log_span();
        let task = async move {
            let mut place = place;
            let tasks = place.executor.shared.tasks.clone();
            let has_ended = match tasks.caught("the driver of a run", driver.run(inbox, first)).await {
                Ok(has_ended) => has_ended,
                Err(panicked) => place.executor.bury(&place, &panicked).await,
            };
            if !has_ended {
                let pass = place.pass.take();
                place.executor.rest(&place.run, pass);
            }
        };
        self.shared.tasks.spawn("a run", task.instrument(span));
    }

    pub(super) fn driver_parts(&self) -> DriverParts {
        let ExecutorState { store, clock, closing, stop, .. } = &*self.shared;
        DriverParts {
            store: store.clone(),
            clock: Arc::clone(clock),
            closing: closing.clone(),
            stop: stop.clone(),
            executor: self.clone(),
        }
    }

    /// Sends a request to a living run; `None` when nobody drives it.
    async fn ask(
        &self,
        run: &RunId,
        message: impl FnOnce(LiveRunReplySender) -> RunMessage,
    ) -> Option<Result<LiveRunReply, StoreError>> {
        let handle = self.runs().get(run).cloned()?;
        let (reply, answer) = oneshot::channel();
        // A message that nobody takes comes back; the answer's sender is dropped with it, which is an answer too.
        drop(handle.inbox.send(message(reply)).await);
        match answer.await {
            Ok(Ok(outcome)) => Some(Ok(LiveRunReply::Decided(outcome))),
            Ok(Err(error)) => Some(Err(error)),
            // The driver ended before it read the request: the run is over, or the daemon stops. What is still
            // to be written of the run, e.g. that its driver panicked, is waited for.
            Err(_) => {
                handle.is_over.cancelled().await;
                Some(Ok(LiveRunReply::Over))
            }
        }
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, RunHandle>> {
        lock(&self.shared.runs)
    }
}

type LiveRunReplySender = oneshot::Sender<Result<RunMessageOutcome, StoreError>>;

/// What became of a request to a living run.
enum LiveRunReply {
    Decided(RunMessageOutcome),
    /// The run was over before the request was read.
    Over,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks, so a poisoned one is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

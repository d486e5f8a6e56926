//! Taking up what another process left, so that nobody waits for what is slow about it.
//!
//! Before the first request every unfinished run has its place and its context, so that it can be reached and nobody
//! gets in between. What it needs to go on is got together in the background: first what the log says, of all of them
//! and oldest first, with their slots; then their models, each once, so that keys which take long to come hold up only
//! the runs that need them.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Weak, atomic::AtomicU32},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use super::{ResumeError, RunExecutor, lock};
use crate::{
    driver::{RunDriver, RunIdentity, RunLeases},
    lanes::{ContextLease, QueueAdmission, QueuePolicy},
    live_runs::{LiveRunGuard, RunMessage},
    machine::{InterruptedCall, MachineInput, RunMachine},
    modes::SessionMode,
    plan::{self, DriverResources, PlanError},
    slots::RunSlot,
    transcript::ContextTranscript,
    unblocked,
};
use models::{ResolveError, ResolvedModel};
use project::Project;
use protocol::{
    AgentName, CallId, CallState, ContextId, EventBody, EventSeq, HookEventName, ModelRef, RunErrorCode,
    RunId, RunQueued, RunRecord, RunSeed, RunStarted, RunState, SessionId,
};
use store::{CommittedEvent, StoreError, UnfinishedRunRecord};
use tools::{InterruptedChange, InterruptedChangeState, Workspace};

/// Models that are looked for at once. Each may wait for a key command, on a thread of its own.
const LOOKUPS: usize = 8;

/// What each workspace brings along, by its roots.
type WorkspaceProjects = HashMap<Vec<PathBuf>, Arc<Project>>;

impl RunExecutor {
    /// Takes up every run that the log says is unfinished: those that have begun, oldest first, then those that wait.
    /// Answers how many there are once each has its place; they go on from there in the background. A run that cannot
    /// be taken up is [stranded](RunExecutor::stranded); the others go on.
    pub async fn resume_all(&self) -> Result<usize, StoreError> {
        let unfinished = self.shared.store.unfinished_runs().await?;
        let n_runs = unfinished.len();
        if n_runs == 0 {
            self.shared.store.note_at_work();
            return Ok(0);
        }
        // All places before the first driver: a run that is being stopped stops the runs below it as soon as it is
        // driven, and must reach those that are still to be taken up.
        let left: Vec<UnfinishedRun> = unfinished.into_iter().map(|it| self.claim(it, 0)).collect();
        // Slots before the first driver and before new runs, too: those that were at work go first.
        let reserve = self.shared.common.slots.reserve();
        let executor = self.clone();
        let taking_up = async move {
            let runs: Vec<RunId> = left.iter().map(|left| left.place.run.clone()).collect();
            let all = async {
                let mut projects = WorkspaceProjects::new();
                let mut known = Vec::with_capacity(left.len());
                for left in left {
                    known.extend(executor.recollect(left, &mut projects, |it| reserve.try_take(it)).await);
                }
                drop(reserve);
                executor.equip_all(known).await;
                Ok(())
            };
            if let Err(why) = executor.unharmed(all).await {
                executor.strand_left(&runs, &why);
            }
            // What is stopped in the middle leaves runs that know nothing of this daemon.
            if !executor.shared.closing.is_cancelled() {
                executor.shared.store.note_at_work();
            }
        };
        self.shared.tasks.spawn("what takes up the runs of the last daemon", taking_up);
        Ok(n_runs)
    }

    /// Of these runs, those that nobody drives are tried again.
    fn strand_left(&self, runs: &[RunId], why: &ResumeError) {
        let is_left = |run: &&RunId| !self.live().contains(run) && self.stranded_by(run).is_none();
        for run in runs.iter().filter(is_left) {
            self.strand(run, why.clone(), 1);
        }
    }

    /// Takes up a run that could not be taken up so far.
    pub(super) async fn take_up_again(&self, left: UnfinishedRun) {
        let slot = |session: &SessionId| self.shared.common.slots.try_take(session);
        let known = self.recollect(left, &mut WorkspaceProjects::new(), slot).await;
        self.equip_all(known.into_iter().collect()).await;
    }

    /// A place for the run, and its context, which is kept from everybody else.
    pub(super) fn claim(&self, unfinished: UnfinishedRunRecord, tries: u32) -> UnfinishedRun {
        let UnfinishedRunRecord { record, rank } = unfinished;
        let RunRecord { run_id: run, parent_run_id, session_id, agent, context_id, .. } = record;
        // Whoever had the context goes before all that wait for it.
        let rank = rank.unwrap_or(i64::MIN);
        let is_child = parent_run_id.is_some();
        let (mut place, inbox) = self.live().take_place(&run, is_child);
        // Runs that others called have contexts of their own.
        if !is_child {
            let kept = lock(&self.shared.resting).remove(&run);
            place.hold(kept.or_else(|| self.pass((session_id, agent), &run, rank, &context_id)));
        }
        UnfinishedRun { place, inbox, tries }
    }

    /// Reads what the log says about the run; `None` when it does not go on now.
    async fn recollect(
        &self,
        left: UnfinishedRun,
        projects: &mut WorkspaceProjects,
        slot: impl Fn(&SessionId) -> Option<RunSlot>,
    ) -> Option<RecoveredRun> {
        if self.shared.closing.is_cancelled() {
            self.leave(left.place, None);
            return None;
        }
        let run = left.place.run.clone();
        let reading = async {
            let folded = self.fold(&run).await?;
            let transcript = ContextTranscript::of(&self.shared.store, &folded.identity.context).await?;
            let tree_replies = self.tree_replies(&run, folded.machine.start()).await?;
            let left_at = self.shared.store.left_at().await?;
            let roots: Vec<PathBuf> = folded.seed.roots.iter().map(PathBuf::from).collect();
            let project = self.project(&roots, projects).await;
            let mode = self.shared.common.modes.of(&folded.identity.session);
            if let Some(session) = self.shared.store.session(&folded.identity.session).await? {
                mode.found_in(&self.shared.store, &session).await?;
            }
            Ok((folded, (transcript, left_at), tree_replies, roots, project, mode))
        };
        let (folded, (transcript, left_at), tree_replies, roots, project, mode) =
            match self.unharmed(reading).await {
                Ok(read) => read,
                Err(why) => {
                    self.leave(left.place, Some((why, left.tries)));
                    return None;
                }
            };
        let (unclean, now) = (!self.shared.store.stopped_cleanly(), self.shared.clock.now());
        let known = self.known(&folded).await;
        // Told once: between two times that this daemon takes it up there was a daemon.
        let away_ms = match folded.is_known_here {
            true => Some(0),
            // What the log tells was told by a daemon, of whatever run.
            false => self.shared.store.away_until_work(now, left_at).map(millis),
        };
        let restarted = MachineInput::Restarted { unclean, away_ms, now, known };
        if folded.is_orphan {
            let reason = Some("the run that called it is over".to_owned());
            let cancel = MachineInput::Cancel { by: None, reason, partial: None };
            self.end(left, folded, vec![restarted, cancel]);
            return None;
        }
        let slot = match folded.machine.may_need_slot(&restarted) {
            true => slot(&folded.identity.session),
            false => None,
        };
        Some(RecoveredRun { left, folded, transcript, tree_replies, roots, project, slot, restarted, mode })
    }

    /// What the files say of calls that were cut off.
    async fn known(&self, folded: &FoldedRun) -> Vec<InterruptedCall> {
        let cut_off = folded.machine.cut_off();
        if cut_off.is_empty() {
            return Vec::new();
        }
        let (store, session) = (self.undo_store(), folded.identity.session.clone());
        unblocked(move || {
            let known = |call: CallId| {
                let found = store.known(&session, &call);
                (!found.is_empty()).then(|| known_of(call, found))
            };
            cut_off.into_iter().filter_map(known).collect()
        })
        .await
    }

    async fn project(&self, roots: &[PathBuf], projects: &mut WorkspaceProjects) -> Arc<Project> {
        if let Some(project) = projects.get(roots) {
            return Arc::clone(project);
        }
        let (executor, places) = (self.clone(), roots.to_vec());
        let load = move || {
            // What a link leads to that came into the place of a root brings along nothing; the run itself is refused later.
            let is_sound = Workspace::open_known(&places).is_ok();
            Arc::new(executor.shared.projects.load(if is_sound { &places } else { &[] }))
        };
        let project = unblocked(load).await;
        projects.insert(roots.to_vec(), Arc::clone(&project));
        project
    }

    /// Looks for the runs' models, each once, and lets the runs go on.
    async fn equip_all(&self, known: Vec<RecoveredRun>) {
        let mut groups: Vec<(ModelRef, Vec<RecoveredRun>)> = Vec::new();
        let mut by_model: HashMap<ModelRef, usize> = HashMap::new();
        for known in known {
            let model = ModelRef::from(known.folded.machine.start().model.clone());
            let group = *by_model.entry(model.clone()).or_insert_with(|| {
                groups.push((model, Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push(known);
        }
        let going_on = |(model, known)| self.equip_group(model, known);
        stream::iter(groups).for_each_concurrent(LOOKUPS, going_on).await;
    }

    async fn equip_group(&self, model: ModelRef, group: Vec<RecoveredRun>) {
        let supplies = self.supplies();
        let resolving = unblocked(move || supplies.models.resolve(&model));
        let resolved = tokio::select! {
            resolved = self.unharmed(async { Ok(resolving.await) }) => resolved,
            // What is found now, nobody uses any more.
            () = self.shared.closing.cancelled() => {
                group.into_iter().for_each(|known| self.leave(known.left.place, None));
                return;
            }
        };
        for known in group {
            match &resolved {
                Ok(model) => self.go_on(model.clone(), known).await,
                Err(why) => self.leave(known.left.place, Some((why.clone(), known.left.tries))),
            }
        }
    }

    async fn go_on(&self, model: Result<ResolvedModel, ResolveError>, known: RecoveredRun) {
        let seed = known.folded.seed.clone();
        // An alias may have said it, and the log knows none; runs that this one calls inherit it.
        let sampling = known.folded.machine.start().safeguards.sampling;
        let model = model.map(|model| model.sampling_first(sampling));
        let (roots, project) = (known.roots.clone(), Arc::clone(&known.project));
        let supplies = self.supplies();
        let equipping = unblocked(move || {
            let foreign = plan::taken_up(&seed, &project, &supplies);
            plan::equip(&seed, model?, &roots, (&project, &foreign), &supplies)
        });
        let resources: DriverResources = match self.unharmed(async { Ok(equipping.await) }).await {
            Ok(Ok(resources)) => resources,
            // It is not the run's fault: with the key it goes on where it was.
            Ok(Err(PlanError::Model(error))) if error.is_about_a_key() => {
                let why = ResumeError::Model(format!("{error}; {}", error.hint()));
                return self.leave(known.left.place, Some((why, known.left.tries)));
            }
            Ok(Err(error)) => {
                let code = match &error {
                    PlanError::Workspace(_) => RunErrorCode::WorkspaceGone,
                    _ => RunErrorCode::ModelFailed,
                };
                let message = format!("the run cannot go on after the restart: {error}");
                let fatal = MachineInput::Unresumable { code, message, now: self.shared.clock.now() };
                let RecoveredRun { left, folded, restarted, .. } = known;
                return self.end(left, folded, vec![restarted, fatal]);
            }
            Err(why) => return self.leave(known.left.place, Some((why, known.left.tries))),
        };
        let RecoveredRun { left, folded, transcript, tree_replies, slot, restarted, mode, .. } = known;
        let FoldedRun { identity, seed, mut machine, outputs, spans, .. } = folded;
        if slot.is_some() {
            machine.hold_slot();
        }
        let turn = left.place.pass.as_ref().map(ContextLease::turn);
        // Of a run that has begun its session has started; the next one is told.
        let is_to_begin = identity.parent.is_none() && !machine.has_begun();
        let session_start =
            is_to_begin.then(|| self.shared.common.session_starts.of(&identity.session, false)).flatten();
        let holdings = RunLeases { slot, turn, tree_replies, mode, session_start };
        let parts = self.driver_parts();
        let mut driver = RunDriver::new(parts, identity, seed.into(), resources, machine, holdings);
        driver.adopt(transcript);
        for (call, began) in spans {
            driver.open_span(call, began);
        }
        for (call, executing) in outputs {
            driver.open_output(call, executing);
        }
        self.drive(driver, left.place, left.inbox, Some(restarted));
    }

    /// A panic strands one run; the others go on.
    pub(super) async fn unharmed<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, ResumeError> {
        match self.shared.tasks.caught("what takes up a run", work).await {
            Ok(done) => Ok(done?),
            Err(panicked) => Err(ResumeError::Panic(panicked.id)),
        }
    }

    /// Ends a run that cannot go on, in the background.
    fn end(&self, left: UnfinishedRun, folded: FoldedRun, inputs: Vec<MachineInput>) {
        let UnfinishedRun { place, inbox, tries } = left;
        // Nobody answers the inbox: requests learn that the run is over when it is.
        drop(inbox);
        let executor = self.clone();
        let ending = async move {
            let FoldedRun { identity, machine, .. } = folded;
            let winding_down = async { Ok(executor.wind_down(&place, identity, machine, inputs).await) };
            match executor.unharmed(winding_down).await {
                Ok(true) => (),
                Ok(false) => executor.leave(place, None),
                Err(why) => executor.leave(place, Some((why, tries))),
            }
        };
        self.shared.tasks.spawn("the end of a run that cannot go on", ending);
    }

    /// The run does not go on now: its context stays its own. `why` says what is in the way, and how often that was so
    /// before; without it the daemon is coming to rest.
    fn leave(&self, mut place: LiveRunGuard, why: Option<(ResumeError, u32)>) {
        let (run, pass) = (place.run.clone(), place.pass.take());
        self.rest(&run, pass);
        // Before the place is given back: whoever asks for the run then finds why nobody drives it.
        if let Some((why, tries)) = why {
            self.strand(&run, why, tries + 1);
        }
    }

    /// A root run's right to its context.
    fn pass(
        &self,
        key: (SessionId, AgentName),
        run: &RunId,
        rank: i64,
        context: &ContextId,
    ) -> Option<ContextLease> {
        let lanes = &self.shared.common.lanes;
        loop {
            let contexts = (Some(context.clone()), context.clone());
            match lanes.enter(key.clone(), run.clone(), QueuePolicy::Back(rank), lanes.edition(), contexts) {
                QueueAdmission::Free(pass) | QueueAdmission::Waiting(pass, _) => return Some(pass),
                // The context is the one in the log, whatever ends meanwhile.
                QueueAdmission::Outdated => (),
                // Nobody who waits again is refused.
                QueueAdmission::Busy(_) | QueueAdmission::Full => return None,
            }
        }
    }

    /// The counter that all runs of a tree with one model share.
    async fn tree_replies(&self, run: &RunId, start: &RunStarted) -> Result<Arc<AtomicU32>, StoreError> {
        let root = start.root_run_id.as_ref().unwrap_or(run);
        let key = (root.clone(), start.model.clone());
        if let Some(counter) = lock(&self.shared.trees).get(&key).and_then(Weak::upgrade) {
            return Ok(counter);
        }
        let replies = self.shared.store.tree_replies(root, &start.model).await?;
        let counter = Arc::new(AtomicU32::new(replies));
        let mut trees = lock(&self.shared.trees);
        trees.retain(|_, counter| counter.strong_count() != 0);
        // Runs are resumed one after the other, so nobody else has made it meanwhile.
        trees.insert(key, Arc::downgrade(&counter));
        Ok(counter)
    }

    pub(super) async fn fold(&self, run: &RunId) -> Result<FoldedRun, StoreError> {
        let store = &self.shared.store;
        let events: Vec<CommittedEvent> = store.run_events(run).await?;
        let unreadable = |message: &str| StoreError::Unreadable {
            seq: events.first().map_or(EventSeq(0), |event| event.seq),
            message: message.to_owned(),
        };
        let bodies = events.iter().map(|event| (&event.body, &event.private));
        let mut machine = RunMachine::fold(run, bodies).map_err(|error| unreadable(&error.to_string()))?;
        let carries = |event: &&CommittedEvent| match &event.body {
            EventBody::RunStarted(_) => true,
            EventBody::RunQueued(RunQueued { run, .. }) => run.is_some(),
            _ => false,
        };
        let seed: Option<&RunSeed> =
            events.iter().find(carries).and_then(|event| event.private.seed.as_deref());
        let mut seed = seed.ok_or_else(|| unreadable("the run's first event carries no definition"))?.clone();
        if let Some(served) = events.iter().rev().find_map(|event| event.private.served.clone()) {
            seed.foreign.mcp = served;
        }
        let record = store.run(run).await?.ok_or_else(|| unreadable("the run has no record"))?;
        let start = machine.start();
        let identity = RunIdentity {
            session: record.session_id,
            run: run.clone(),
            context: start.context_id.clone(),
            agent: start.agent.clone(),
            parent: record.parent_run_id,
            agent_path: agent_path(start),
        };
        let answered = machine.open_children();
        let outputs = events.iter().filter_map(|event| match &event.body {
            EventBody::ToolState(data) if data.to == CallState::Executing => {
                let is_open = answered.iter().any(|(call, _)| *call == data.call_id);
                is_open.then(|| (data.call_id.clone(), event.seq))
            }
            _ => None,
        });
        let outputs = outputs.collect();
        let began = events.iter().filter_map(|event| match &event.body {
            EventBody::ToolState(data) if data.from.is_none() => Some((data.call_id.clone(), event.seq)),
            _ => None,
        });
        let spans = began.filter(|(call, _)| machine.request(call).is_some()).collect();
        let is_orphan = match &identity.parent {
            Some(parent) => store.run(parent).await?.is_none_or(|it| it.state == RunState::Ended),
            None => false,
        };
        let (hooks, roots) = (self.supplies().hooks.clone(), seed.roots.clone());
        // Whoever ends it without driving it must know as well.
        let hears = unblocked(move || hooks.fires(&roots, HookEventName::UserPromptSubmit)).await;
        machine.watch_prompts(false, hears && identity.parent.is_none());
        let resumed = events.iter().rev().find(|event| matches!(event.body, EventBody::RunResumed(_)));
        let is_known_here = resumed.is_some_and(|event| store.found_head() < event.seq);
        Ok(FoldedRun { identity, seed, machine, outputs, spans, is_orphan, is_known_here })
    }
}

/// What the files that a call was to change say of it.
fn known_of(call: CallId, found: Vec<InterruptedChange>) -> InterruptedCall {
    let is =
        |known| found.iter().filter(move |it| it.known == known).map(|it| format!("`{}`", it.changed.path));
    let told = [
        (is(InterruptedChangeState::Written).collect::<Vec<_>>(), "it had changed"),
        (is(InterruptedChangeState::NotBegun).collect(), "it had not changed"),
        (is(InterruptedChangeState::Unknown).collect(), "it is unknown whether it changed"),
    ];
    let told = told.into_iter().filter(|(paths, _)| !paths.is_empty());
    let told: Vec<String> = told.map(|(paths, what)| format!("{what} {}", paths.join(", "))).collect();
    let written = found.iter().filter(|it| it.known == InterruptedChangeState::Written);
    InterruptedCall { call, changed: written.map(|it| it.changed.clone()).collect(), told: told.join("; ") }
}

/// The names in a run's path, e.g. `lead#1/reader#2`.
fn agent_path(start: &RunStarted) -> Vec<AgentName> {
    let name = |step: &str| AgentName::from(step.rsplit_once('#').map_or(step, |(name, _)| name));
    let names: Vec<AgentName> = start.path.split('/').filter(|step| !step.is_empty()).map(name).collect();
    if names.is_empty() { vec![start.agent.clone()] } else { names }
}

/// What another process left, or what could not be taken up so far, with its place among the living.
pub(super) struct UnfinishedRun {
    place: LiveRunGuard,
    inbox: mpsc::Receiver<RunMessage>,
    /// How often it could not be taken up.
    tries: u32,
}

/// A run whose log is read, and what else it needs but its model.
struct RecoveredRun {
    left: UnfinishedRun,
    folded: FoldedRun,
    transcript: ContextTranscript,
    tree_replies: Arc<AtomicU32>,
    roots: Vec<PathBuf>,
    project: Arc<Project>,
    slot: Option<RunSlot>,
    restarted: MachineInput,
    mode: Arc<SessionMode>,
}

/// What a run's events say about it.
pub(super) struct FoldedRun {
    pub identity: RunIdentity,
    seed: RunSeed,
    pub machine: RunMachine,
    /// Calls that runs answer and that have not ended, and the events that said that they execute.
    outputs: Vec<(CallId, EventSeq)>,
    /// Calls of the current turn, and the events that began them.
    spans: Vec<(CallId, EventSeq)>,
    /// The run that called it has ended: it could not be reached when that one was stopped.
    is_orphan: bool,
    /// This daemon took it up before.
    is_known_here: bool,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

//! Taking up what another process left, and ending what nobody can drive.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Weak, atomic::AtomicU32},
    time::Duration,
};

use tokio::sync::mpsc;

use super::{Executor, Place, Stranded, lock};
use crate::{
    agents::Catalog,
    protocol::{
        AgentName, CallId, CallState, ContextId, EventBody, ModelRef, RunErrorCode, RunId, RunQueued,
        RunRecord, RunSeed, RunStarted, Seq, SessionId, ToolErrorType, ToolResult, Usage,
    },
    run::{
        child::{ChildEnd, ChildLog},
        driver::{Driver, Holdings, Identity, Message},
        lanes::{Entry, Pass, Wish},
        machine::{Draft, Input, RunMachine},
        plan::{self, PlanError},
        transcript::Transcript,
        unblocked,
    },
    store::{Event, StoreError},
    sys::ids,
    tools::OutputLimits,
};

/// Between tries to end a run that nobody drives, when the store fails.
const RETRY: Duration = Duration::from_secs(1);

/// The agents there are, by the roots of the workspace.
type Catalogs = HashMap<Vec<PathBuf>, Arc<Catalog>>;

impl Executor {
    /// Takes up every run that the log says is unfinished: those that have begun, oldest first, then those that wait. A
    /// run that cannot be taken up is [stranded](Executor::stranded); the others go on.
    pub async fn resume_all(&self) -> Result<usize, StoreError> {
        let runs = self.shared.store.unfinished_runs().await?;
        let n_runs = runs.len();
        let mut catalogs = Catalogs::new();
        // All places before the first driver: a run that is being stopped stops the runs below it as soon as it is
        // driven, and must reach those that are still to be taken up.
        let mut places = Vec::with_capacity(n_runs);
        for run in &runs {
            let is_child = self.shared.store.run(run).await?.is_some_and(|it| it.parent_run_id.is_some());
            places.push(self.take_place(run, is_child));
        }
        // Slots before the first driver, too: those that were at work go before those that waited.
        let mut ready = Vec::with_capacity(n_runs);
        for (run, place) in runs.into_iter().zip(places) {
            match self.resume(&run, place, &mut catalogs).await {
                Ok(resumed) => ready.extend(resumed),
                Err(error) => {
                    self.keep_context(&run).await;
                    self.strand(&run, error);
                }
            }
        }
        for Ready { driver, place, inbox, first } in ready {
            self.drive(*driver, place, inbox, Some(first));
        }
        Ok(n_runs)
    }

    /// Nobody else gets the context of a run that is left for the next start.
    async fn keep_context(&self, run: &RunId) {
        match self.shared.store.run(run).await {
            Ok(Some(record)) if record.parent_run_id.is_none() => {
                let RunRecord { session_id, agent, context_id, .. } = record;
                self.rest(run, self.pass(session_id, agent, run, &context_id));
            }
            Ok(_) => (),
            Err(error) => tracing::warn!(%run, %error, "the context of a stranded run is not known"),
        }
    }

    async fn resume(
        &self,
        run: &RunId,
        (mut place, inbox): (Place, mpsc::Receiver<Message>),
        catalogs: &mut Catalogs,
    ) -> Result<Option<Ready>, StoreError> {
        let Folded { identity, seed, machine, outputs } = self.fold(run).await?;
        let transcript = Transcript::of(&self.shared.store, &identity.context).await?;
        let roots: Vec<PathBuf> = seed.roots.iter().map(PathBuf::from).collect();
        let model = ModelRef::from(machine.start().model.clone());
        let (unclean, now) = (!self.shared.store.stopped_cleanly(), self.shared.clock.now());
        let restarted = Input::Restarted { unclean, now };
        let (executor, definition) = (self.clone(), seed.definition.clone());
        let known = catalogs.get(&roots).cloned();
        let equipping = move || {
            let catalog = known.unwrap_or_else(|| Arc::new(Catalog::load(&executor.shared.agents, &roots)));
            let supplies = &executor.supplies();
            let equipment = plan::equip(&definition, Some(&model), &roots, &catalog, supplies);
            (roots, catalog, equipment)
        };
        let (roots, catalog, equipment) = unblocked(equipping).await;
        catalogs.insert(roots, catalog);
        let tree_replies = self.tree_replies(run, machine.start()).await?;
        // Runs that others called have contexts of their own.
        let pass = match &identity.parent {
            Some(_) => None,
            None => self.pass(identity.session.clone(), identity.agent.clone(), run, &identity.context),
        };
        let turn = pass.as_ref().map(Pass::turn);
        place.hold(pass);
        match equipment {
            Ok(equipment) => {
                let slot = match machine.may_need_slot(&restarted) {
                    true => self.shared.slots.try_take(&identity.session),
                    false => None,
                };
                let mut machine = machine;
                if slot.is_some() {
                    machine.hold_slot();
                }
                let holdings = Holdings { slot, turn, tree_replies };
                let parts = self.driver_parts();
                let mut driver = Driver::new(parts, identity, seed.into(), equipment, machine, holdings);
                driver.adopt(transcript);
                for (call, executing) in outputs {
                    driver.open_output(call, executing);
                }
                Ok(Some(Ready { driver: Box::new(driver), place, inbox, first: restarted }))
            }
            // It is not the run's fault: with the key it goes on where it was.
            Err(PlanError::Model(error)) if error.is_about_a_key() => {
                self.rest(run, place.pass.take());
                let message = format!("{error}; {}", error.hint());
                self.strand(run, Stranded::Model(message));
                Ok(None)
            }
            Err(error) => {
                let code = match &error {
                    PlanError::Workspace(_) => RunErrorCode::WorkspaceGone,
                    _ => RunErrorCode::ModelFailed,
                };
                let message = format!("the run cannot go on after the restart: {error}");
                let fatal = Input::Unresumable { code, message, now };
                // Nobody answers the inbox: requests learn that the run is over when it is.
                drop(inbox);
                let executor = self.clone();
                let ending = async move {
                    let mut place = place;
                    if !executor.wind_down(&place, identity, machine, vec![restarted, fatal]).await {
                        let pass = place.pass.take();
                        executor.rest(&place.run, pass);
                    }
                };
                self.shared.tracker.spawn(ending);
                Ok(None)
            }
        }
    }

    /// A root run's right to its context.
    fn pass(&self, session: SessionId, agent: AgentName, run: &RunId, context: &ContextId) -> Option<Pass> {
        let lanes = &self.shared.lanes;
        let key = (session, agent);
        loop {
            let contexts = (Some(context.clone()), context.clone());
            match lanes.enter(key.clone(), run.clone(), Wish::Back, lanes.edition(), contexts) {
                Entry::Free(pass) | Entry::Waiting(pass, _) => return Some(pass),
                // The context is the one in the log, whatever ends meanwhile.
                Entry::Outdated => (),
                // Nobody who waits again is refused.
                Entry::Busy(_) | Entry::Full => return None,
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

    /// Ends a run whose driver panicked. Answers whether it has ended.
    pub(super) async fn bury(&self, place: &Place) -> bool {
        let run = &place.run;
        let id = ids::fresh::<String>();
        tracing::error!(%run, %id, "a run's driver panicked");
        match self.fold(run).await {
            Ok(Folded { identity, machine, .. }) => {
                let input = Input::Panicked { id, now: self.shared.clock.now() };
                self.wind_down(place, identity, machine, vec![input]).await
            }
            Err(error) => {
                self.strand(run, error);
                false
            }
        }
    }

    /// Ends a run that has no driver: first the runs below it, then itself. Answers whether it has ended.
    async fn wind_down(
        &self,
        place: &Place,
        identity: Identity,
        mut machine: RunMachine,
        inputs: Vec<Input>,
    ) -> bool {
        let mut inputs = inputs;
        for (call, run) in machine.open_children() {
            let end = tokio::select! {
                end = self.end_child(&run) => end,
                () = self.shared.stop.cancelled() => return false,
            };
            inputs.push(match end {
                Some(end) => end.settled(call, OutputLimits::default()),
                None => {
                    let message =
                        format!("the run {run} that answers the call cannot be read; its end is unknown");
                    let result = ToolResult::failure(ToolErrorType::Interrupted, message);
                    Input::ChildSettled { call, result, usage: Usage::default(), output: None }
                }
            });
        }
        let before = machine.turn();
        let drafts: Vec<Draft> = inputs.into_iter().flat_map(|input| machine.decide(input)).collect();
        loop {
            let events = identity.events(&drafts, self.shared.clock.now(), before);
            match self.shared.store.append(events).await {
                Ok(_) => return true,
                Err(error @ (StoreError::Full | StoreError::Database(_))) => {
                    tracing::warn!(run = %place.run, %error, "the end of a run could not be written; tried again");
                    tokio::select! {
                        () = self.shared.clock.sleep(RETRY) => (),
                        () = self.shared.stop.cancelled() => return false,
                    }
                }
                Err(error) => {
                    self.strand(&place.run, error);
                    return false;
                }
            }
        }
    }

    /// Stops a run and waits for its end; `None` when it cannot be read back.
    async fn end_child(&self, run: &RunId) -> Option<ChildEnd> {
        let mut log = ChildLog::of(&self.shared.store, run);
        loop {
            let reason = "the run that called it cannot go on".to_owned();
            if let Err(error) = self.cancel(run, None, Some(reason)).await {
                if self.is_stranded(run) {
                    return None;
                }
                tracing::warn!(%run, %error, "a run could not be stopped; tried again");
            }
            let ended = tokio::select! {
                ended = log.end(None) => ended,
                // It may not have been taken up yet.
                () = self.shared.clock.sleep(RETRY) => continue,
            };
            match ended {
                Ok(end) => return Some(end),
                Err(error) => {
                    tracing::warn!(%run, %error, "the end of a run cannot be read; tried again");
                    self.shared.clock.sleep(RETRY).await;
                }
            }
        }
    }

    fn strand(&self, run: &RunId, why: impl Into<Stranded>) {
        let why = why.into();
        tracing::error!(%run, %why, "the run cannot be taken up; it is tried again at the next start");
        lock(&self.shared.stranded).insert(run.clone(), why);
    }

    /// Ends a run that waits for the next start, though nobody drives it.
    pub(super) async fn end_stranded(
        &self,
        run: &RunId,
        by: Option<String>,
        reason: Option<String>,
    ) -> Result<bool, StoreError> {
        let Folded { identity, machine, .. } = self.fold(run).await?;
        // Nobody answers the inbox: requests learn that the run is over when it is.
        let (place, _unread) = self.take_place(run, identity.parent.is_some());
        let restarted = Input::Restarted { unclean: false, now: self.shared.clock.now() };
        let inputs = vec![restarted, Input::Cancel { by, reason, partial: None }];
        let has_ended = self.wind_down(&place, identity, machine, inputs).await;
        if has_ended {
            lock(&self.shared.stranded).remove(run);
            lock(&self.shared.resting).remove(run);
        }
        Ok(has_ended)
    }

    /// Runs that are unfinished and that nobody drives, and why. They are tried again at the next start.
    pub fn stranded(&self) -> Vec<(RunId, Stranded)> {
        lock(&self.shared.stranded).iter().map(|(run, error)| (run.clone(), error.clone())).collect()
    }

    async fn fold(&self, run: &RunId) -> Result<Folded, StoreError> {
        let store = &self.shared.store;
        let events: Vec<Event> = store.run_events(run).await?;
        let unreadable = |message: &str| StoreError::Unreadable {
            seq: events.first().map_or(Seq(0), |event| event.seq),
            message: message.to_owned(),
        };
        let bodies = events.iter().map(|event| (&event.body, &event.private));
        let machine = RunMachine::fold(run, bodies).map_err(|error| unreadable(&error.to_string()))?;
        let carries = |event: &&Event| match &event.body {
            EventBody::RunStarted(_) => true,
            EventBody::RunQueued(RunQueued { run, .. }) => run.is_some(),
            _ => false,
        };
        let seed: Option<&RunSeed> =
            events.iter().find(carries).and_then(|event| event.private.seed.as_deref());
        let seed = seed.ok_or_else(|| unreadable("the run's first event carries no definition"))?.clone();
        let record = store.run(run).await?.ok_or_else(|| unreadable("the run has no record"))?;
        let start = machine.start();
        let identity = Identity {
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
        Ok(Folded { identity, seed, machine, outputs })
    }
}

/// The names in a run's path, e.g. `lead#1/reader#2`.
fn agent_path(start: &RunStarted) -> Vec<AgentName> {
    let name = |step: &str| AgentName::from(step.rsplit_once('#').map_or(step, |(name, _)| name));
    let names: Vec<AgentName> = start.path.split('/').filter(|step| !step.is_empty()).map(name).collect();
    if names.is_empty() { vec![start.agent.clone()] } else { names }
}

/// A run that can be driven.
struct Ready {
    driver: Box<Driver>,
    place: Place,
    inbox: mpsc::Receiver<Message>,
    first: Input,
}

/// What a run's events say about it.
struct Folded {
    identity: Identity,
    seed: RunSeed,
    machine: RunMachine,
    /// Calls that runs answer and that have not ended, and the events that said that they execute.
    outputs: Vec<(CallId, Seq)>,
}

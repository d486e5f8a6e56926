//! Drives one run: keeps what is in flight equal to what the machine wants.
//!
//! Inputs become events, events are committed, and only then does the difference between wanted and running
//! reach the world. All inputs that are ready are one step, and one commit.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, Id, JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;

use super::{
    gate::Gate,
    machine::{Draft, Input, Judgement, Partial, RunMachine, Want},
    plan::Equipment,
    transcript::Transcript,
};
use crate::{
    models::Model,
    protocol::{
        AgentName, CallId, ContextId, EventBody, EventHead, Private, RunId, RunSeed, Sampling, Seq,
        SessionId, Timestamp, ToolDeclaration, ToolErrorType, ToolResult,
    },
    store::{LiveWriter, NewEvent, Store, StoreError},
    sys::clock::Clock,
    tools::Invocation,
};

mod flights;

/// Inputs that go into one step; more wait for the next.
const STEP: usize = 256;
/// Between tries to commit when the store fails (DESIGN, "A full database": a probe each second).
const STORE_RETRY: Duration = Duration::from_secs(1);

/// A request to a living run. The reply tells the last event it caused, once that is durable.
pub(super) struct Message {
    pub input: Input,
    pub reply: Option<oneshot::Sender<Result<Option<Seq>, StoreError>>>,
}

/// Who the events are about.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub session: SessionId,
    pub run: RunId,
    pub context: ContextId,
    pub agent: AgentName,
}

impl Identity {
    /// A draft with who and when.
    pub fn event(&self, draft: &Draft, at: Timestamp, turn: u32) -> NewEvent {
        let turn = match &draft.body {
            EventBody::TurnStarted(data) => Some(data.turn),
            EventBody::TurnCompleted(data) => Some(data.turn),
            // Before the first turn.
            EventBody::RunStarted(_) | EventBody::Warning(_) => None,
            _ => Some(turn).filter(|turn| *turn != 0),
        };
        let head = EventHead {
            parent_run_id: None,
            agent: Some(self.agent.clone()),
            agent_path: vec![self.agent.clone()],
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
}

pub(super) struct DriverParts {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub stop: CancellationToken,
}

pub(super) struct Driver {
    parts: DriverParts,
    identity: Identity,
    gate: Arc<Gate>,
    model: Arc<dyn Model>,
    model_name: String,
    system: Arc<str>,
    sampling: Sampling,
    /// As declared in ordinary turns, and in the grace turn.
    declarations: Arc<[ToolDeclaration]>,
    grace_declarations: Arc<[ToolDeclaration]>,
    machine: RunMachine,
    transcript: Transcript,
    /// The text that `model.started` announced, until it is being written.
    announced: Option<(String, Seq)>,
    live: Option<LiveWriter>,
    /// Calls that were judged and wait for permission to run.
    prepared: HashMap<CallId, Box<dyn Invocation>>,
    /// Invariant: after `reconcile`, the keys equal `machine.wants()`.
    flights: BTreeMap<Want, Flight>,
    tasks: JoinSet<Landing>,
    /// Inputs whose events could not be committed. They are decided again with the next ones, or when it is time to
    /// try again; meanwhile requests are still read and answered.
    uncommitted: Vec<Message>,
    /// When active time was last charged.
    charged_at: Duration,
}

struct Flight {
    abort: AbortHandle,
    task: Id,
    /// Tells a tool to stop.
    cancel: Option<CancellationToken>,
}

/// What a task came back with.
enum Landing {
    Input(Input),
    Judged(Vec<Judged>),
}

type Judged = (CallId, Judgement, Option<Box<dyn Invocation>>);

impl Driver {
    pub fn new(
        parts: DriverParts,
        identity: Identity,
        seed: Arc<RunSeed>,
        equipment: Equipment,
        machine: RunMachine,
    ) -> Driver {
        let Equipment { model_name, model, gate } = equipment;
        let completion = gate.completion.declaration().clone();
        let mut declarations: Vec<ToolDeclaration> = gate.toolset.declarations().cloned().collect();
        declarations.push(completion.clone());
        let charged_at = parts.clock.monotonic();
        Driver {
            parts,
            identity,
            gate,
            model,
            model_name,
            system: seed.system.as_str().into(),
            sampling: seed.sampling,
            declarations: declarations.into(),
            grace_declarations: vec![completion].into(),
            machine,
            transcript: Transcript::default(),
            announced: None,
            live: None,
            prepared: HashMap::new(),
            flights: BTreeMap::new(),
            tasks: JoinSet::new(),
            uncommitted: Vec::new(),
            charged_at,
        }
    }

    /// Takes over the transcript of a run that was folded from the log.
    pub fn adopt(&mut self, transcript: Transcript) {
        self.transcript = transcript;
    }

    /// Takes in a committed event. The machine has applied it already.
    pub fn absorb(&mut self, seq: Seq, body: &EventBody, private: &Private) {
        self.transcript.extend(body, private);
        match body {
            EventBody::ModelStarted(data) => self.announced = Some((data.stream.clone(), seq)),
            EventBody::ModelCompleted(_) | EventBody::ModelRetrying(_) => self.live = None,
            _ => (),
        }
    }

    /// Ends when the run has, or when the daemon stops; then the run stays unfinished in the log.
    pub async fn run(mut self, mut inbox: mpsc::Receiver<Message>, first: Option<Input>) {
        if let Some(input) = first {
            self.step(vec![Message { input, reply: None }]).await;
        }
        if self.uncommitted.is_empty() {
            self.reconcile();
        }
        while !self.machine.is_finished() {
            let Some(ready) = self.ready(&mut inbox).await else { break };
            self.step(ready).await;
            // An end that could not be committed is still to come for the machine: reconciling now would begin anew
            // what has run.
            if self.uncommitted.is_empty() {
                self.reconcile();
            }
        }
        self.tasks.shutdown().await;
    }

    /// Waits for an input, then takes all that are ready; `None` when the daemon stops.
    async fn ready(&mut self, inbox: &mut mpsc::Receiver<Message>) -> Option<Vec<Message>> {
        let mut ready = Vec::new();
        let retry = match self.uncommitted.is_empty() {
            true => futures_util::future::pending().boxed(),
            false => self.parts.clock.sleep(STORE_RETRY),
        };
        tokio::select! {
            biased;
            () = self.parts.stop.cancelled() => return None,
            () = retry => (),
            Some(message) = inbox.recv() => ready.push(message),
            Some(landed) = self.tasks.join_next_with_id() => self.landed(landed, &mut ready),
        }
        while ready.len() < STEP {
            if let Ok(message) = inbox.try_recv() {
                ready.push(message);
            } else if let Some(landed) = self.tasks.try_join_next_with_id() {
                self.landed(landed, &mut ready);
            } else {
                break;
            }
        }
        Some(ready)
    }

    fn landed(&mut self, landed: Result<(Id, Landing), JoinError>, ready: &mut Vec<Message>) {
        let task = match &landed {
            Ok((task, _)) => *task,
            Err(error) => error.id(),
        };
        let want = self.flights.iter().find(|(_, flight)| flight.task == task).map(|(want, _)| want.clone());
        if let Some(want) = &want {
            self.flights.remove(want);
        }
        let internal = |input| Message { input, reply: None };
        match (landed, want) {
            (Ok((_, Landing::Input(input))), _) => ready.push(internal(input)),
            (Ok((_, Landing::Judged(judged))), _) => {
                for (call, judgement, invocation) in judged {
                    self.prepared.extend(invocation.map(|it| (call.clone(), it)));
                    ready.push(internal(Input::Judged { call, judgement }));
                }
            }
            // Aborted, since nobody wanted it any more.
            (Err(error), _) if error.is_cancelled() => (),
            (Err(_panic), Some(Want::Tool { call } | Want::End { call })) => {
                let result = ToolResult::failure(
                    ToolErrorType::UnhandledException,
                    "the tool failed in a way it should not have; the daemon's log has more",
                );
                ready.push(internal(Input::ToolFinished { call, result }));
            }
            // A defect outside of a tool ends the run, not the daemon.
            (Err(error), _) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Decides on a draft, commits, and only then lets the draft become the machine. What cannot be committed has not
    /// happened: requests are told so, and the run's own inputs wait for the next try.
    async fn step(&mut self, ready: Vec<Message>) {
        let now = self.parts.clock.monotonic();
        let elapsed = now.saturating_sub(self.charged_at);
        self.charged_at = now;
        self.machine.charge(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
        let mut inputs = std::mem::take(&mut self.uncommitted);
        inputs.extend(ready);

        let mut machine = self.machine.clone();
        let mut drafts = Vec::new();
        let mut ends = Vec::with_capacity(inputs.len());
        for message in &inputs {
            let input = self.with_partial(&machine, message.input.clone());
            let decided = machine.decide(input);
            let is_effect = !decided.is_empty();
            drafts.extend(decided);
            ends.push(is_effect.then_some(drafts.len()));
        }
        self.judge_now(&mut machine, &mut drafts).await;
        let at = self.parts.clock.now();
        let turns = turns(&drafts, self.machine.turn());
        let events = drafts.iter().zip(turns).map(|(draft, turn)| self.identity.event(draft, at, turn));
        match self.parts.store.append(events.collect()).await {
            Ok((first, _)) => {
                let seq = |n: usize| Seq(first.0 + i64::try_from(n).unwrap_or(i64::MAX));
                self.machine = machine;
                for (n, draft) in drafts.iter().enumerate() {
                    self.absorb(seq(n), &draft.body, &draft.private);
                }
                for (message, end) in inputs.into_iter().zip(ends) {
                    if let Some(reply) = message.reply {
                        // Whoever asked may have gone; the events are true all the same.
                        let _gone = reply.send(Ok(end.map(|end| seq(end - 1))));
                    }
                }
            }
            Err(error) => self.keep_uncommitted(inputs, &error),
        }
    }

    fn keep_uncommitted(&mut self, inputs: Vec<Message>, error: &StoreError) {
        tracing::warn!(run = %self.identity.run, %error, "a step could not be committed; it is tried again");
        // A stop that did not happen cuts off nothing.
        if let Some(live) = &self.live {
            live.thaw();
        }
        for message in inputs {
            match message.reply {
                Some(reply) => {
                    let _gone = reply.send(Err(error.clone()));
                }
                None => self.uncommitted.push(message),
            }
        }
    }

    /// An input that cuts off the model carries what the model had written; from here on it writes no more.
    fn with_partial(&self, machine: &RunMachine, input: Input) -> Input {
        if !machine.cuts_model(&input) {
            return input;
        }
        // A reply in the same step may have begun another model call, of which nothing was written yet.
        let stream = machine.open_stream();
        let Some(live) = self.live.as_ref().filter(|live| stream.as_deref() == Some(live.stream())) else {
            return input;
        };
        let (text, thought) = live.freeze();
        let written = Some(Partial { text, thought });
        match input {
            Input::Cancel { by, reason, .. } => Input::Cancel { by, reason, partial: written },
            Input::TimeSpent { .. } => Input::TimeSpent { partial: written },
            other => other,
        }
    }

    /// Judging that needs no waiting joins the same commit; the rest goes on as a flight.
    async fn judge_now(&mut self, machine: &mut RunMachine, drafts: &mut Vec<Draft>) {
        loop {
            let first = machine.unjudged().next().map(|it| it.call_id.clone());
            let Some(first) = first else { return };
            let want = Want::Judge { first };
            if self.flights.contains_key(&want) {
                return;
            }
            let mut judging = judge_all(&self.gate, machine);
            match futures_util::poll!(&mut judging) {
                Poll::Ready(judged) => {
                    for (call, judgement, invocation) in judged {
                        self.prepared.extend(invocation.map(|it| (call.clone(), it)));
                        drafts.extend(machine.decide(Input::Judged { call, judgement }));
                    }
                }
                Poll::Pending => {
                    self.launch(want, async move { Landing::Judged(judging.await) }, None);
                    return;
                }
            }
        }
    }
}

/// Judges every call that waits for it, in the order asked.
fn judge_all(gate: &Arc<Gate>, machine: &RunMachine) -> BoxFuture<'static, Vec<Judged>> {
    let gate = Arc::clone(gate);
    let calls: Vec<_> = machine.unjudged().cloned().collect();
    let is_grace = machine.is_grace();
    Box::pin(async move {
        let mut judged = Vec::with_capacity(calls.len());
        for call in calls {
            let (judgement, invocation) = gate.judge(&call, is_grace).await;
            judged.push((call.call_id.clone(), judgement, invocation));
        }
        judged
    })
}

/// The turn of each draft: a step can end one turn and begin the next.
fn turns(drafts: &[Draft], before: u32) -> Vec<u32> {
    let mut turn = before;
    let of_each = drafts.iter().map(|draft| {
        if let EventBody::TurnStarted(data) = &draft.body {
            turn = data.turn;
        }
        turn
    });
    of_each.collect()
}

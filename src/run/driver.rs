//! Drives one run: keeps what is in flight equal to what the machine wants.
//!
//! Inputs become events, events are committed, and only then does the difference between wanted and running
//! reach the world. All inputs that are ready are one step, and one commit.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{AbortHandle, Id, JoinSet},
};
use tokio_util::sync::CancellationToken;

use super::{
    alternates::ModelFallbacks,
    compaction::{TokenEstimate, TokenEstimator, weigh, weigh_text, weigh_tools},
    gate::{AskingRun, CallGate, GateJudgement, JudgeContext, PreparedWork},
    hooks::{AsyncHookEnds, ElicitationAdvice},
    lanes::{LeaseHandle, rank},
    live_runs::{RunInput, RunMessage, RunMessageOutcome},
    machine::{EventDraft, HookEffects, MachineInput, RunMachine, WantedTask},
    meter::UsageMeter,
    modes::SessionMode,
    plan::DriverResources,
    shared_state::SharedRunState,
    slots::RunSlot,
    think::ModelCallResult,
    transcript::ContextTranscript,
};
use protocol::{
    CallId, CompressionStatus, ContextMessage, EventBody, EventSeq, LoopDetected, LoopKind,
    PrivateEventFields, QueuedFor, RunId, RunQueued, RunSeed, ToolDeclaration,
};
use store::{EventStore, LiveWriter, StoreError};
use sys::clock::Clock;
use tools::{ACTIVATE_SKILL, ElicitationOutcome, PendingToolElicitation};

mod answers;
mod asking;
mod births;
mod child_runs;
mod children;
mod editor;
mod edits;
mod flights;
mod hook_tools;
mod hooks;
mod identity;
mod intake;
mod interviews;
mod judging;
mod pace;
mod rest;
mod served;
mod skills;
mod under_way;

use answers::{new_mode, policy_changed, remembered};
use intake::{ends_parking, is_promotion, within};
use interviews::CallElicitations;
use pace::StepPace;
use under_way::AnswersUnderWay;

pub(super) use births::RunLineage;
pub use child_runs::ChildRuns;
pub(super) use identity::{RunIdentity, carry_seed};

/// Inputs that go into one step; more wait for the next.
const STEP: usize = 256;
/// Bytes of results that go into one step, but for its first: its events are one statement's value, for which SQLite has
/// a bound of 1 GB, and they are held in memory several times.
const STEP_BYTES: usize = 32 << 20;
/// News of runs below that wait to be taken in; whoever has more waits.
const NEWS: usize = 64;
/// Between tries to commit when the store fails (DESIGN, "A full database": a probe each second).
const STORE_RETRY: Duration = Duration::from_secs(1);

pub struct DriverParts {
    pub store: EventStore,
    pub clock: Arc<dyn Clock>,
    /// Runs come to rest where their turns end, and go on at the next start.
    pub closing: CancellationToken,
    /// Ends the driver at once; the run stays unfinished in the log and goes on at the next start.
    pub stop: CancellationToken,
    pub common: Arc<SharedRunState>,
    pub child_runs: Arc<dyn ChildRuns>,
}

/// What a driver holds for as long as it drives.
#[derive(Default)]
pub(super) struct RunLeases {
    pub slot: Option<RunSlot>,
    /// A root run's context, and when it is its own.
    pub turn: Option<LeaseHandle>,
    /// Replies of this run's model that the tree of runs was promised.
    pub tree_replies: Arc<AtomicU32>,
    /// The session's mode, as it is now.
    pub mode: Arc<SessionMode>,
    /// The reason why hooks are told that the session starts with this run; `None` = it does not.
    pub session_start: Option<&'static str>,
}

pub struct RunDriver {
    parts: DriverParts,
    identity: RunIdentity,
    asking: Arc<AskingRun>,
    seed: Arc<RunSeed>,
    gate: Arc<CallGate>,
    alternates: Arc<ModelFallbacks>,
    system: Arc<str>,
    /// Stands before the history in each request.
    context: Option<Arc<ContextMessage>>,
    /// As declared in ordinary turns, and in the grace turn.
    declarations: Arc<[ToolDeclaration]>,
    grace_declarations: Arc<[ToolDeclaration]>,
    machine: RunMachine,
    transcript: ContextTranscript,
    /// What stands in each request beside the messages: in ordinary turns, and in the grace turn.
    around: (TokenEstimate, TokenEstimate),
    estimator: TokenEstimator,
    /// Of the request that is being answered.
    asked: Option<TokenEstimate>,
    holdings: RunLeases,
    /// The number of the reply that is asked for, within the tree.
    tree_ordinal: Option<u32>,
    /// The text that `model.started` announced, until it is being written.
    announced: Option<(String, EventSeq)>,
    live: Option<LiveWriter>,
    /// Of the request that is being answered, as far as its provider has said it.
    meter: UsageMeter,
    /// What calls put out that runs answer.
    outputs: HashMap<CallId, LiveWriter>,
    /// The events that began the spans of open calls, of which others are told.
    call_spans: HashMap<CallId, EventSeq>,
    /// What calls ask models.
    questions: Arc<super::side_calls::SideCallLedger>,
    /// Calls that were judged and wait for permission to run.
    prepared: HashMap<CallId, PreparedWork>,
    answers: AnswersUnderWay,
    /// News of the runs that answer calls.
    news: (mpsc::Sender<MachineInput>, mpsc::Receiver<MachineInput>),
    /// Everything that asynchronous hooks say.
    hook_ends: Arc<AsyncHookEnds>,
    /// What the tools of calls that run ask people.
    interviews: CallElicitations,
    /// Calls of which their clients are to be told again.
    retold: (mpsc::Sender<CallId>, mpsc::Receiver<CallId>),
    /// Arguments as the model wrote them, where they held secrets, until the turn is over. Only in memory.
    secret_arguments: HashMap<CallId, Value>,
    /// Invariant: after `reconcile`, the keys equal `machine.wants()`, unless the daemon is closing.
    flights: BTreeMap<WantedTask, InFlightTask>,
    tasks: JoinSet<TaskOutput>,
    /// Inputs whose events could not be committed. They are decided again with the next ones, or when it is time to
    /// try again; meanwhile requests are still read and answered.
    uncommitted: Vec<RunInput>,
    /// They did not fit the last step, and nothing is in their way.
    is_behind: bool,
    /// Whether the disk is full.
    fullness: watch::Receiver<bool>,
    is_closing: bool,
    /// Runs below this one that were to be stopped and have come to rest.
    left_to_stop: HashSet<RunId>,
    /// When active time was last charged.
    charged_at: Duration,
}

struct InFlightTask {
    abort: AbortHandle,
    task: Id,
    /// Tells a tool to stop.
    cancel: Option<CancellationToken>,
}

/// The thing that a task came back with.
enum TaskOutput {
    Input(MachineInput),
    Thought(ModelCallResult),
    Judged(Vec<(CallId, GateJudgement)>),
    Checked(Box<under_way::CheckedAnswer>),
    CheckedCall(Box<under_way::CheckedCallAnswer>),
    /// Hooks had their say on an edit.
    Shown(Box<under_way::CheckedCallAnswer>),
    /// The run was to be stopped and has come to rest: it is stopped after the next start.
    ChildAtRest(RunId),
    /// Hooks had their say on what an MCP server asks, unless nobody waits for that any more.
    ElicitationHooked(Box<PendingToolElicitation>, Option<Box<ElicitationAdvice>>),
    /// The same on what a person answered it.
    ElicitationAnswered(Box<HookEffects>, oneshot::Sender<ElicitationOutcome>, ElicitationOutcome),
    /// The context is the run's own; this is what is in it.
    Context(ContextTranscript),
    /// With what is in the context, for a run that has not begun.
    Slot(RunSlot, Option<ContextTranscript>),
}

impl RunDriver {
    pub fn new(
        parts: DriverParts,
        identity: RunIdentity,
        seed: Arc<RunSeed>,
        resources: DriverResources,
        machine: RunMachine,
        holdings: RunLeases,
    ) -> RunDriver {
        let DriverResources { model, equipment } = resources;
        let gate = Arc::new(CallGate::new(equipment));
        let completion = gate.completion.declaration().clone();
        let mut declarations: Vec<ToolDeclaration> = gate.toolset.declarations().cloned().collect();
        declarations.push(completion.clone());
        let system_weight = weigh_told(&seed);
        let around = (
            system_weight + weigh_tools(&declarations),
            system_weight + weigh_tools(std::slice::from_ref(&completion)),
        );
        let alternates =
            Arc::new(ModelFallbacks::new(Arc::clone(&gate.supplies), gate.recording.clone(), model));
        let charged_at = parts.clock.monotonic();
        let fullness = parts.store.fullness();
        let asking = Arc::new(AskingRun {
            session: identity.session.clone(),
            run: identity.run.clone(),
            path: identity.agent_path.clone(),
            approval: machine.start().approval.clone(),
        });
        let hook_ends = Arc::new(gate.hooks.attend(&identity.run));
        RunDriver {
            parts,
            identity,
            asking,
            gate,
            alternates,
            system: seed.system.as_str().into(),
            context: seed.context.clone().map(Arc::new),
            seed,
            declarations: declarations.into(),
            grace_declarations: vec![completion].into(),
            machine,
            transcript: ContextTranscript::default(),
            around,
            estimator: TokenEstimator::default(),
            asked: None,
            holdings,
            tree_ordinal: None,
            announced: None,
            live: None,
            meter: UsageMeter::default(),
            outputs: HashMap::new(),
            call_spans: HashMap::new(),
            questions: Arc::default(),
            prepared: HashMap::new(),
            answers: AnswersUnderWay::default(),
            news: mpsc::channel(NEWS),
            hook_ends,
            interviews: CallElicitations::new(NEWS),
            retold: mpsc::channel(NEWS),
            secret_arguments: HashMap::new(),
            flights: BTreeMap::new(),
            tasks: JoinSet::new(),
            uncommitted: Vec::new(),
            is_behind: false,
            fullness,
            is_closing: false,
            left_to_stop: HashSet::new(),
            charged_at,
        }
    }

    /// Takes in a committed event. The machine has applied it already.
    pub fn absorb(&mut self, seq: EventSeq, body: &EventBody, private: &PrivateEventFields) {
        self.transcript.extend(&self.identity.run, body, private);
        match body {
            EventBody::SkillActivated(_) => self.tell_tools_of_skills(),
            EventBody::ModelStarted(data) => self.announced = Some((data.stream.clone(), seq)),
            EventBody::ModelRetrying(_) => self.live = None,
            // In the order of the log, whoever asked for it.
            EventBody::RunQueued(RunQueued { front, waits_for: QueuedFor::Context, .. }) => {
                self.parts.common.lanes.settle(&self.identity.run, rank(seq, *front));
            }
            EventBody::ContextCleared(_) => {
                self.tell_tools_of_skills();
                self.session_starts_again("clear");
            }
            EventBody::ContextCompressed(data) => {
                self.tell_tools_of_skills();
                if data.status == CompressionStatus::Compressed {
                    self.session_starts_again("compact");
                }
            }
            EventBody::SideCallCompleted(data) => self.questions.count(data),
            EventBody::RunToolsChanged(_) => self.take_served(private),
            EventBody::TurnCompleted(_) => self.secret_arguments.clear(),
            EventBody::ToolState(data) => {
                self.follow_span(seq, data);
                self.follow_output(seq, data);
                if data.to.is_end() && data.name.as_str() == ACTIVATE_SKILL {
                    self.tell_tools_of_skills();
                }
            }
            EventBody::ConfirmationResolved(data) => self.end_interview(data),
            EventBody::ModelCompleted(data) => {
                if let Some(asked) = self.asked.take().filter(|_| !data.estimated) {
                    self.estimator.learn(asked, data.usage.prompt_tokens);
                }
                self.live = None;
                if !data.cut {
                    self.tree_ordinal = None;
                }
            }
            // The machine counts babble as a reply.
            EventBody::LoopDetected(LoopDetected { kind: LoopKind::Text, .. }) => self.tree_ordinal = None,
            _ => (),
        }
    }

    /// Takes in what a step committed, the first of it under `first`.
    pub fn absorb_all(&mut self, first: EventSeq, drafts: &[EventDraft]) {
        for (n, draft) in drafts.iter().enumerate() {
            self.absorb(later(first, n), &draft.body, &draft.private);
        }
    }

    /// Ends when the run has, or when the daemon stops; then the run stays unfinished in the log. Answers whether the
    /// run has ended.
    pub async fn run(mut self, mut inbox: mpsc::Receiver<RunMessage>, first: Option<MachineInput>) -> bool {
        if let Some(input) = first {
            self.step(vec![RunMessage::internal(input)]).await;
        } else {
            self.watch_from_the_start();
        }
        self.settle();
        if *self.fullness.borrow_and_update() {
            self.park().await;
        }
        while !self.machine.is_finished() && !self.is_at_rest() {
            let Some(ready) = self.ready(&mut inbox).await else { break };
            identity::logged(self.turn_span(), self.step(ready)).await;
            self.settle();
        }
        self.tell_what_ends_here().await;
        self.tasks.shutdown().await;
        self.machine.is_finished()
    }

    /// Lets the world follow what was committed. An end that could not be committed is still to come for the machine:
    /// reconciling now would begin anew what has run.
    fn settle(&mut self) {
        if !self.uncommitted.is_empty() || self.machine.is_parked() {
            return;
        }
        self.reconcile();
        if !self.machine.is_at_work() {
            self.holdings.slot = None;
            self.machine.leave_slot();
        }
    }

    /// Decides on a draft, commits, and only then lets the draft become the machine. What cannot be committed has not
    /// happened: requests are told so, and the run's own inputs wait for the next try.
    async fn step(&mut self, ready: Vec<RunMessage>) {
        self.charge();
        let mut inputs = std::mem::take(&mut self.uncommitted);
        for message in ready {
            match message {
                RunMessage::Answer(answer) => self.check_answer(answer),
                RunMessage::Input(input) => inputs.push(input),
            }
        }
        let is_held = self.machine.is_parked() && !inputs.iter().any(|it| ends_parking(&it.input));
        if is_held && !inputs.is_empty() {
            // The store may let this through already, before the run is told that there is room.
            if *self.fullness.borrow() {
                self.keep_uncommitted(inputs, &StoreError::Full);
                return self.check_next();
            }
            inputs.push(RunInput::internal(MachineInput::Unparked));
        }
        // What was held back goes on only after the run does.
        inputs.sort_by_key(|message| !ends_parking(&message.input));
        let (mut inputs, rest) = within(STEP_BYTES, inputs);
        self.seek_slot(&inputs);

        self.gate.hooks.refresh().await;
        let mut machine = self.machine.clone();
        self.watch_points(&mut machine);
        let mut drafts = Vec::new();
        let mut ends = Vec::with_capacity(inputs.len());
        let mut keyed = None;
        // Calls whose work came with an answer of this step.
        let mut allowed = Vec::new();
        let mut pace = StepPace::default();
        self.questions.begin_step();
        for message in &mut inputs {
            let input = self.with_partial(&machine, message.input.clone());
            self.tell_given_up(&mut machine, &input, &mut drafts);
            let has_no_room = machine.has_no_room_for(&input);
            let decided = machine.decide(input);
            let is_effect = !decided.is_empty();
            if is_effect {
                allowed.extend(self.take_work(message));
            }
            drafts.extend(decided);
            ends.push(match is_effect {
                true => Ok(drafts.len()),
                false if has_no_room => Err(RunMessageOutcome::NoRoom),
                false => Err(RunMessageOutcome::Nothing),
            });
            self.tell_passed_over(&mut machine, &message.input, &mut drafts);
            keyed = keyed.or_else(|| message.keyed.clone().filter(|_| is_effect));
            pace.reached(drafts.len()).await;
        }
        self.judge_now(&mut machine, &mut drafts, &mut pace).await;
        self.pass_points(&mut machine, &mut drafts);
        self.ask_for_budget(&mut machine, &mut drafts);
        self.look_at_servers(&mut machine, &mut drafts);
        self.look_at_editor(&mut machine, &mut drafts);
        carry_seed(&mut drafts, &self.seed);
        pace.reached(drafts.len()).await;
        let at = self.parts.clock.now();
        let mut events = pace::events(&self.identity, &drafts, at, self.machine.turn()).await;
        let births = self.births(&drafts);
        events.extend(births.iter().flat_map(|birth| birth.events(at)));
        let remembered = remembered(&drafts);
        events.extend(remembered.iter().map(|rule| policy_changed(rule, at)));
        let new_mode = new_mode(&drafts, at);
        let is_moving = drafts.iter().any(|draft| is_promotion(&draft.body));
        if is_moving {
            self.parts.common.lanes.unsettle(&self.identity.run);
        }
        match self.parts.store.append_keyed(events, keyed).await {
            Ok((first, last)) => {
                self.machine = machine;
                self.questions.end_step(&drafts);
                self.is_behind = !rest.is_empty();
                self.uncommitted = rest;
                self.note_interviews(&inputs, &ends);
                self.take_meant(&mut inputs, &ends);
                self.absorb_paced(first, &drafts).await;
                self.tell_hooks(&drafts);
                self.name_session(&inputs);
                self.launch_all(births, later(first, drafts.len()));
                for rule in remembered {
                    self.gate.project.rules.in_force().remember(rule);
                }
                if let Some((mode, origin)) = new_mode {
                    self.parts.common.modes.set(&self.asking.session, mode, last, Some(origin));
                }
                for (message, end) in inputs.into_iter().zip(ends) {
                    self.is_decided(&message);
                    // What is remembered of a request is the last event of its step.
                    let is_keyed = message.keyed.is_some();
                    let outcome = match end {
                        Ok(_) if is_keyed => RunMessageOutcome::Done(last),
                        Ok(end) => RunMessageOutcome::Done(later(first, end - 1)),
                        Err(outcome) => outcome,
                    };
                    self.give_outcome(message, outcome);
                }
                self.end_edits();
            }
            Err(error) => {
                drop(births);
                if is_moving {
                    self.parts.common.lanes.keep(&self.identity.run);
                }
                self.take_work_back(&mut inputs, &allowed);
                inputs.extend(rest);
                self.keep_uncommitted(inputs, &error);
            }
        }
        self.check_next();
    }

    /// Where the run stands, for judging its calls.
    fn judge_context(&self, machine: &RunMachine) -> JudgeContext {
        let mode = (&self.holdings.mode, self.parts.common.supplies().defaults.allow_yolo);
        JudgeContext::of(machine, self.parts.clock.now(), &self.asking, mode)
    }

    /// Active time since the last time; the machine counts it unless the run stands still.
    fn charge(&mut self) {
        let now = self.parts.clock.monotonic();
        let elapsed = now.saturating_sub(self.charged_at);
        self.charged_at = now;
        self.machine.charge(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
    }
}

/// What a run is told before its first message.
fn weigh_told(seed: &RunSeed) -> TokenEstimate {
    weigh_text(&seed.system) + seed.context.iter().map(weigh).sum()
}

/// The `seq` of the event `n` places after the one under `first`.
fn later(first: EventSeq, n: usize) -> EventSeq {
    EventSeq(first.0 + i64::try_from(n).unwrap_or(i64::MAX))
}

//! Drives one run: keeps what is in flight equal to what the machine wants.
//!
//! Inputs become events, events are committed, and only then does the difference between wanted and running
//! reach the world. All inputs that are ready are one step, and one commit.

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    alternates::ModelFallbacks,
    gate::{AskingRun, CallGate, GateJudgement, JudgeContext},
    hooks::{AsyncHookEnds, ElicitationAdvice},
    lanes::{LeaseHandle, rank},
    live_runs::{RunInput, RunMessage, RunMessageOutcome},
    machine::{EventDraft, HookEffects, MachineInput, RunMachine},
    modes::SessionMode,
    plan::DriverResources,
    shared_state::SharedRunState,
    slots::RunSlot,
    think::ModelCallResult,
    transcript::ContextTranscript,
};
use protocol::{
    CallId, CompressionStatus, EventBody, EventSeq, PrivateEventFields, QueuedFor, RunId, RunQueued, RunSeed,
};
use store::EventStore;
use sys::clock::Clock;
use tools::{ACTIVATE_SKILL, ElicitationOutcome, PendingToolElicitation};

mod answers;
mod asking;
mod backlog;
mod births;
mod call_work;
mod child_runs;
mod children;
mod editor;
mod edits;
mod flights;
mod hook_tools;
mod hooks;
mod identity;
mod in_flight;
mod intake;
mod interviews;
mod judging;
mod news;
mod open_calls;
mod pace;
mod request_frame;
mod request_progress;
mod rest;
mod served;
mod skills;
mod step;
mod under_way;

use backlog::InputBacklog;
use call_work::CallWork;
use in_flight::InFlightTasks;
use interviews::CallElicitations;
use news::NewsChannels;
use open_calls::OpenCalls;
use request_frame::RequestFrame;
use request_progress::RequestProgress;
use under_way::AnswersUnderWay;

pub(super) use births::RunLineage;
pub use child_runs::ChildRuns;
pub(super) use identity::{RunIdentity, carry_seed};

/// Inputs that go into one step; more wait for the next.
const STEP: usize = 256;
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

/// A run's driver. Each part owns what it is about; the machine says what is to happen.
pub struct RunDriver {
    parts: DriverParts,
    identity: RunIdentity,
    asking: Arc<AskingRun>,
    seed: Arc<RunSeed>,
    gate: Arc<CallGate>,
    alternates: Arc<ModelFallbacks>,
    machine: RunMachine,
    transcript: ContextTranscript,
    holdings: RunLeases,
    backlog: InputBacklog,
    flights: InFlightTasks,
    frame: RequestFrame,
    request: RequestProgress,
    open_calls: OpenCalls,
    work: CallWork,
    answers: AnswersUnderWay,
    /// What the tools of calls that run ask people.
    interviews: CallElicitations,
    /// What calls ask models.
    questions: Arc<super::side_calls::SideCallLedger>,
    news: NewsChannels,
    /// Everything that asynchronous hooks say.
    hook_ends: Arc<AsyncHookEnds>,
    is_closing: bool,
    /// When active time was last charged.
    charged_at: Duration,
}

/// The thing that a task came back with.
#[expect(clippy::large_enum_variant, reason = "nearly all are inputs, and each is moved on at once")]
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
        let frame = RequestFrame::of(&seed, &gate);
        let alternates =
            Arc::new(ModelFallbacks::new(Arc::clone(&gate.supplies), gate.recording.clone(), model));
        let charged_at = parts.clock.monotonic();
        let backlog = InputBacklog::new(parts.store.fullness());
        let (session, run) = (identity.session.clone(), identity.run.clone());
        let open_calls = OpenCalls::of(parts.store.clone(), session, run);
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
            seed,
            gate,
            alternates,
            machine,
            transcript: ContextTranscript::default(),
            holdings,
            backlog,
            flights: InFlightTasks::default(),
            frame,
            request: RequestProgress::default(),
            open_calls,
            work: CallWork::default(),
            answers: AnswersUnderWay::default(),
            interviews: CallElicitations::new(NEWS),
            questions: Arc::default(),
            news: NewsChannels::new(NEWS),
            hook_ends,
            is_closing: false,
            charged_at,
        }
    }

    /// Takes in a committed event. The machine has applied it already.
    pub fn absorb(&mut self, seq: EventSeq, body: &EventBody, private: &PrivateEventFields) {
        self.transcript.extend(&self.identity.run, body, private);
        self.request.follow(seq, body);
        match body {
            EventBody::SkillActivated(_) => self.tell_tools_of_skills(),
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
            EventBody::TurnCompleted(_) => self.work.end_turn(),
            EventBody::ToolState(data) => {
                self.open_calls.follow(seq, data);
                if data.to.is_end() && data.name.as_str() == ACTIVATE_SKILL {
                    self.tell_tools_of_skills();
                }
            }
            EventBody::ConfirmationResolved(data) => self.end_interview(data),
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
        if self.backlog.look_at_disk() {
            self.park().await;
        }
        while !self.machine.is_finished() && !self.is_at_rest() {
            let Some(ready) = self.ready(&mut inbox).await else { break };
            identity::logged(self.turn_span(), self.step(ready)).await;
            self.settle();
        }
        self.tell_what_ends_here().await;
        self.flights.shutdown().await;
        self.machine.is_finished()
    }

    /// Lets the world follow what was committed. An end that could not be committed is still to come for the machine:
    /// reconciling now would begin anew what has run.
    fn settle(&mut self) {
        if !self.backlog.is_empty() || self.machine.is_parked() {
            return;
        }
        self.reconcile();
        if !self.machine.is_at_work() {
            self.holdings.slot = None;
            self.machine.leave_slot();
        }
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

/// The `seq` of the event `n` places after the one under `first`.
fn later(first: EventSeq, n: usize) -> EventSeq {
    EventSeq(first.0 + i64::try_from(n).unwrap_or(i64::MAX))
}

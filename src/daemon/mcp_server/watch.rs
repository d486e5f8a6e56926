//! What happens in a run that a session waits for? Its activity in a few words, its end, and questions, which are put to the
//! session's person as long as the run lives, also between two calls.
//!
//! One watch a run, attached to the run's session, on a task of its own: it takes every event at once, whatever it waits for.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::BoxFuture;
use rmcp::{
    Peer, RoleServer,
    model::{ClientResult, ElicitRequest, ElicitResult, ServerRequest},
    service::{PeerRequestOptions, RequestHandle, ServiceError},
};
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::{
    asking::{self, FormAnswer},
    link::{self, InProcessClient, SubscriptionEvents},
};
use protocol::{
    AttachFrom, AttachFromKeyword, Confirmation, ConfirmationId, ConfirmationRecord, ConfirmationRequested,
    ConfirmationResolved, ConfirmationRespond, ConfirmationRespondParams, ConfirmationRevised, Envelope,
    ErrorKind, EventSeq, RpcError, RunId, RunRecord, RunState, SessionAttach, SessionAttachParams,
    SessionDetach, SessionDetachParams, SessionId, Snapshot, SubagentActivity,
};
use sys::tasks::TaskGroup;

/// Runs that a session follows at once: a connection has 64 subscriptions, and agents are followed too.
const MOST: usize = 48;
/// Questions of one watch that wait to be put, or were put; more stay for others.
const MOST_QUESTIONS: usize = 64;

/// What was seen last.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RunActivity {
    /// Of the newest event that is worth telling; 0 = none yet.
    pub seq: i64,
    /// What it was.
    pub words: String,
    pub is_over: bool,
}

/// The watches of a session. A cheap handle.
#[derive(Clone)]
pub(super) struct RunWatches(Arc<RunWatchesInner>);

struct RunWatchesInner {
    link: InProcessClient,
    /// The client, if it can ask its person.
    person: Option<Peer<RoleServer>>,
    tasks: TaskGroup,
    /// The session is over.
    gone: CancellationToken,
    /// One permit, for whoever begins a watch: a run has one, so that nothing is asked twice.
    beginning: Semaphore,
    by_run: Mutex<HashMap<RunId, WatchedRun>>,
}

/// A way to see what a watch sees. Whoever has one waits by it.
#[derive(Clone)]
pub(super) struct WatchHandle {
    pub seen: watch::Receiver<RunActivity>,
    in_use: Arc<()>,
}

struct WatchedRun {
    following: WatchHandle,
    end: CancellationToken,
}

impl WatchedRun {
    /// The map's own handle is the only one.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.following.in_use) == 1
    }
}

impl RunWatches {
    pub fn new(
        link: InProcessClient,
        person: Option<Peer<RoleServer>>,
        tasks: TaskGroup,
        gone: CancellationToken,
    ) -> RunWatches {
        let (beginning, by_run) = (Semaphore::new(1), Mutex::default());
        RunWatches(Arc::new(RunWatchesInner { link, person, tasks, gone, beginning, by_run }))
    }

    /// Follows a run, until it ends.
    pub async fn follow(&self, run: &RunId, session: SessionId) -> Result<WatchHandle, RpcError> {
        let _permit = self.0.beginning.acquire().await.map_err(|_| link::ended())?;
        {
            let mut by_run = self.by_run();
            // One whose watch is over says nothing any more.
            by_run.retain(|_, followed| followed.following.seen.has_changed().is_ok());
            if let Some(followed) = by_run.get(run) {
                return Ok(followed.following.clone());
            }
            if by_run.len() >= MOST {
                make_room(&mut by_run)?;
            }
        }
        let from = AttachFrom::Word(AttachFromKeyword::Now);
        let events = self.0.link.follow::<SessionAttach>(&SessionAttachParams::new(session, from)).await?;
        let (tell, seen) = watch::channel(RunActivity::default());
        let end = self.0.gone.child_token();
        let watch = RunWatch {
            run: run.clone(),
            link: self.0.link.clone(),
            person: self.0.person.clone(),
            tell,
            waiting: VecDeque::new(),
            left: HashMap::new(),
            shown: None,
            responding: None,
        };
        self.0.tasks.spawn("what follows a run for a session of MCP", watch.run(events, end.clone()));
        let following = WatchHandle { seen, in_use: Arc::default() };
        self.by_run().insert(run.clone(), WatchedRun { following: following.clone(), end });
        Ok(following)
    }

    /// Ends those that nobody waits by; answers whether there are others.
    pub fn end_idle(&self) -> bool {
        let mut by_run = self.by_run();
        by_run.retain(|_, followed| {
            let is_idle = followed.is_idle();
            if is_idle {
                followed.end.cancel();
            }
            !is_idle
        });
        !by_run.is_empty()
    }

    fn by_run(&self) -> MutexGuard<'_, HashMap<RunId, WatchedRun>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.0.by_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a watch that nobody waits by: its questions stay open for others, and for the next call.
fn make_room(by_run: &mut HashMap<RunId, WatchedRun>) -> Result<(), RpcError> {
    let idle = by_run.iter().find(|(_, followed)| followed.is_idle()).map(|(run, _)| run.clone());
    match idle.and_then(|run| by_run.remove(&run)) {
        Some(followed) => {
            followed.end.cancel();
            Ok(())
        }
        None => Err(RpcError::new(ErrorKind::Overloaded, "too many runs of this session are waited for")),
    }
}

/// A question that the person has before them.
struct PendingElicitation {
    confirmation: Confirmation,
    /// What they chose by the first form, where this is the second one.
    chosen: Option<Box<ConfirmationRespondParams>>,
    handle: RequestHandle<RoleServer>,
}

struct RunWatch {
    run: RunId,
    link: InProcessClient,
    person: Option<Peer<RoleServer>>,
    tell: watch::Sender<RunActivity>,
    /// Questions that are for this client, the oldest first.
    waiting: VecDeque<Confirmation>,
    /// Open ones that the person saw and left: they are not put to them again as they are.
    left: HashMap<ConfirmationId, String>,
    shown: Option<PendingElicitation>,
    /// An answer that is on its way.
    responding: Option<BoxFuture<'static, ()>>,
}

/// What a watch waits for.
enum RunWatchEvent {
    Event(Box<Envelope>),
    Said(Result<ClientResult, ServiceError>),
    Responded,
    End,
}

impl RunWatch {
    async fn run(mut self, mut events: SubscriptionEvents, end: CancellationToken) {
        loop {
            let happened = tokio::select! { biased;
                () = end.cancelled() => RunWatchEvent::End,
                envelope = events.next() => match envelope {
                    Some(envelope) => RunWatchEvent::Event(Box::new(envelope)),
                    None => RunWatchEvent::End,
                },
                said = said(&mut self.shown) => RunWatchEvent::Said(said),
                () = responded(&mut self.responding) => RunWatchEvent::Responded,
            };
            match happened {
                RunWatchEvent::End => break,
                RunWatchEvent::Event(envelope) => {
                    if self.take(*envelope).await {
                        self.tell.send_modify(|seen| seen.is_over = true);
                        break;
                    }
                }
                RunWatchEvent::Said(said) => self.answer(said).await,
                RunWatchEvent::Responded => self.responding = None,
            }
            self.put_next().await;
        }
        self.withdraw().await;
        let subscription = events.id.clone();
        // Before anything is asked: answers come behind events that nobody takes any more.
        drop(events);
        // A failure means that the daemon stops, which ends the subscription as well.
        let _ = self.link.ask::<SessionDetach>(&SessionDetachParams { subscription }).await;
    }

    /// Takes one event; answers whether the run is over.
    async fn take(&mut self, envelope: Envelope) -> bool {
        match envelope.kind.as_str() {
            "signal.snapshot" => {
                let Some(snapshot) = read::<Snapshot>(envelope) else { return true };
                let offered = snapshot.open_confirmations.into_iter().filter(|it| it.offered);
                offered.for_each(|record| self.take_question(record.confirmation));
                let is_it = |run: &&RunRecord| run.run_id == self.run && run.state != RunState::Ended;
                // One that ended long ago is not shown.
                let Some(run) = snapshot.runs.iter().find(is_it) else { return true };
                let words = match snapshot.open_calls.last() {
                    Some(call) => format!("{} begins", call.name),
                    None => format!("turn {}", run.turns),
                };
                self.tell.send_replace(RunActivity { seq: snapshot.seq.0, words, is_over: false });
                false
            }
            "run.completed" => envelope.run_id.as_ref() == Some(&self.run),
            "signal.confirmation" => {
                if let Some(record) = read::<ConfirmationRecord>(envelope).filter(|it| it.offered) {
                    self.take_question(record.confirmation);
                }
                false
            }
            "confirmation.requested" => {
                let offered = envelope.offered == Some(true);
                if let Some(asked) = read::<ConfirmationRequested>(envelope).filter(|_| offered) {
                    self.take_question(*asked.confirmation);
                }
                false
            }
            "confirmation.revised" => {
                let offered = envelope.offered == Some(true);
                if let Some(revised) = read::<ConfirmationRevised>(envelope) {
                    let before = self.shown.as_ref().map(|shown| shown.confirmation.digest.clone());
                    // Only its deadline moved: the person reads on.
                    if before.as_ref() != Some(&revised.confirmation.digest) {
                        self.forget(&revised.confirmation.confirmation_id).await;
                    }
                    if offered {
                        self.take_question(*revised.confirmation);
                    }
                }
                false
            }
            "confirmation.resolved" => {
                if let Some(resolved) = read::<ConfirmationResolved>(envelope) {
                    self.forget(&resolved.confirmation_id).await;
                }
                false
            }
            _ => {
                if let (Some(EventSeq(seq)), Some(words)) = (envelope.seq, words(&envelope)) {
                    self.tell.send_replace(RunActivity { seq, words, is_over: false });
                }
                false
            }
        }
    }

    fn take_question(&mut self, confirmation: Confirmation) {
        let id = &confirmation.confirmation_id;
        let is_before =
            |other: &Confirmation| other.confirmation_id == *id && other.digest == confirmation.digest;
        let is_shown = self.shown.as_ref().is_some_and(|shown| is_before(&shown.confirmation));
        let is_left = self.left.get(id) == Some(&confirmation.digest);
        if self.person.is_none() || is_shown || is_left || self.waiting.iter().any(is_before) {
            return;
        }
        self.waiting.retain(|other| other.confirmation_id != *id);
        if self.waiting.len() < MOST_QUESTIONS {
            self.waiting.push_back(confirmation);
        }
    }

    /// It is over, or another one now.
    async fn forget(&mut self, id: &ConfirmationId) {
        self.waiting.retain(|confirmation| confirmation.confirmation_id != *id);
        self.left.remove(id);
        if self.shown.as_ref().is_some_and(|shown| shown.confirmation.confirmation_id == *id) {
            self.withdraw().await;
        }
    }

    /// One at a time: a person reads one.
    async fn put_next(&mut self) {
        let Some(person) = &self.person else { return };
        while self.shown.is_none() && self.responding.is_none() {
            let Some(confirmation) = self.waiting.pop_front() else { return };
            let Some(params) = asking::form(&confirmation) else { continue };
            let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
            // A person's time has no bound; the request ends with the question or the session.
            match person.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
                Ok(handle) => self.shown = Some(PendingElicitation { confirmation, chosen: None, handle }),
                Err(error) => tracing::debug!(%error, "a question could not be put to a client of MCP"),
            }
        }
    }

    async fn answer(&mut self, said: Result<ClientResult, ServiceError>) {
        let Some(PendingElicitation { confirmation, chosen, .. }) = self.shown.take() else { return };
        let result: Option<ElicitResult> = match said {
            Ok(ClientResult::ElicitResult(result)) => Some(result),
            Ok(_) => None,
            Err(error) => {
                tracing::debug!(%error, "a client of MCP could not ask its person");
                None
            }
        };
        let params = match (chosen, &result) {
            (Some(chosen), Some(result)) if asking::is_confirmed(&chosen, result) => Some(chosen),
            (None, Some(result)) => match asking::answer(&confirmation, result) {
                FormAnswer::Decided(params) => Some(params),
                FormAnswer::WantsConfirmation(chosen) => return self.put_second(confirmation, chosen).await,
                FormAnswer::Undecided => None,
            },
            _ => None,
        };
        self.left.insert(confirmation.confirmation_id.clone(), confirmation.digest.clone());
        let Some(params) = params else { return };
        let link = self.link.clone();
        self.responding = Some(Box::pin(async move {
            // Somebody was quicker, or it is another question by now: the log says so, and the watch hears it.
            if let Err(error) = link.ask::<ConfirmationRespond>(&params).await {
                tracing::debug!(error = %error.message, "an answer by MCP did not count");
            }
        }));
    }

    /// Asks once more about what was chosen. Where that cannot be, nothing was decided.
    async fn put_second(&mut self, confirmation: Confirmation, chosen: Box<ConfirmationRespondParams>) {
        let form = asking::second_form(&confirmation, &chosen);
        if let (Some(person), Some(params)) = (&self.person, form) {
            let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
            match person.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
                Ok(handle) => {
                    self.shown = Some(PendingElicitation { confirmation, chosen: Some(chosen), handle });
                    return;
                }
                Err(error) => {
                    tracing::debug!(%error, "a choice could not be confirmed by a client of MCP");
                }
            }
        }
        self.left.insert(confirmation.confirmation_id.clone(), confirmation.digest);
    }

    /// Takes back what the person has before them.
    async fn withdraw(&mut self) {
        let Some(PendingElicitation { handle, .. }) = self.shown.take() else { return };
        // A failure means that the client is gone, and its dialog with it.
        let _ = handle.cancel(Some("it was answered elsewhere, or is not asked any more".to_owned())).await;
    }
}

/// What the person says. Cancel safe.
async fn said(shown: &mut Option<PendingElicitation>) -> Result<ClientResult, ServiceError> {
    match shown {
        Some(PendingElicitation { handle, .. }) => {
            (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed))
        }
        None => std::future::pending().await,
    }
}

async fn responded(responding: &mut Option<BoxFuture<'static, ()>>) {
    match responding {
        Some(responding) => responding.await,
        None => std::future::pending().await,
    }
}

/// The data of an event. All of it is ours, so one that cannot be read is a defect, which is told.
fn read<D: DeserializeOwned>(envelope: Envelope) -> Option<D> {
    let kind = envelope.kind;
    serde_json::from_value(envelope.data)
        .inspect_err(|error| tracing::error!(%error, kind, "an event cannot be read"))
        .ok()
}

/// An event's words for whoever waits, if it is worth some.
fn words(envelope: &Envelope) -> Option<String> {
    let data = |name: &str| envelope.data.get(name)?.as_str();
    let words = match (envelope.kind.as_str(), envelope.head.activity) {
        ("turn.started", _) => format!("turn {}", envelope.data.get("turn")?.as_u64()?),
        ("tool.state", Some(SubagentActivity::ToolCallStart)) => format!("{} begins", data("name")?),
        ("tool.state", Some(SubagentActivity::ToolCallEnd)) if envelope.data.get("error").is_some() => {
            format!("{} has failed", data("name")?)
        }
        ("tool.state", Some(SubagentActivity::ToolCallEnd)) => format!("{} has ended", data("name")?),
        ("thought", _) => data("subject")?.to_owned(),
        ("run.waiting", _) if envelope.data.get("waiting")?.as_bool()? => "waits for a person".to_owned(),
        ("run.parked", _) => "is parked".to_owned(),
        ("model.retrying", _) => format!("the model is asked again: {}", data("message")?),
        _ => return None,
    };
    // Of runs below, whose they are.
    Some(match envelope.head.agent_path.as_slice() {
        [_, .., agent] => format!("{agent}: {words}"),
        _ => words,
    })
}

//! Who is asked, and what becomes of a question that nobody can be asked (spec 06, "Routing").
//!
//! Questions are found in the log, and what they come to is the run's to say: the desk knows who is there, shows each
//! client what is for it, and says when nobody was there for too long. It can only ever ask the run to deny, to stop or to
//! wait: nothing in here allows anything.
//!
//! `confirmation_router/rules.rs` decides, `confirmation_router/board.rs` remembers what is open, and one task ([`ConfirmationRouter::run`]) keeps both up to the log,
//! the clients and the clock.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio_util::sync::CancellationToken;

use self::{
    board::{OpenConfirmations, RouterCapacity, RouterTask, return_time},
    rules::{ClockTimes, EligibleClients, RouterAction, RoutingFacts},
};
use super::clients::{AttachScope, ConnectedClients};
use protocol::{
    Claim, Confirmation, ConfirmationId, ConfirmationRecord, ConfirmationState, EventSeq, RunId, Timestamp,
};
use run::{RunRequestError, UnansweredEffect};
use store::{ConfirmationFilter, EventStore, Follower, LogFilter, StoreError, StoredConfirmation};
use sys::{clock::Clock, current::HotSwap, tasks::TaskGroup};

mod board;
mod rules;
mod tokens;

#[cfg(test)]
mod tests;

pub(super) use board::{ClientConfirmationView, EDIT_CHECKED};
pub(super) use tokens::{ConfirmationTokens, KEY_FILE, TokenError};

/// Questions that are settled, or told elsewhere, at once: each may wait for a run's driver or a slow service. The others
/// come after them.
const DEEDS_AT_ONCE: usize = 64;

/// For the log.
const TASK: &str = "what keeps the open questions";

/// Open questions that are read at once when the daemon begins.
const PAGE: usize = 256;

/// Those of them that tell somebody elsewhere, who may be slow: what becomes of other questions does not wait for that.
const TELLS_AT_ONCE: usize = 16;

/// Under this name the store keeps the deadlines of questions that somebody could have answered meanwhile: that time does
/// not count, also when the daemon ends in it.
pub(super) const ATTENDED: &str = "attended";

/// How often that is written while somebody is there: as much may count too much after a crash.
const ATTENDED_PAUSE: Duration = Duration::from_secs(10);

/// The least time between two looks at who is there: clients that come and go as fast as they can cost no more than
/// this. On the system's clock even where a test holds the daemon's, since it means nothing to questions.
const PAUSE: Duration = Duration::from_millis(5);

/// Between tries to read the log when reading fails.
const READ_RETRY: Duration = Duration::from_secs(1);

/// What the desk knows; a cheap handle.
#[derive(Clone)]
pub(super) struct ConfirmationRouter {
    shared: Arc<ConfirmationRouterInner>,
}

struct ConfirmationRouterInner {
    store: EventStore,
    board: Mutex<OpenConfirmations>,
    clients: Arc<ConnectedClients>,
    clock: Arc<dyn Clock>,
    /// Who is there, as of an edition of the clients.
    eligible: HotSwap<(u64, Arc<EligibleClients>)>,
}

/// Has the run say what becomes of a question.
pub(super) type SettleConfirmation = Box<
    dyn Fn(
            RunId,
            ConfirmationId,
            UnansweredEffect,
        ) -> BoxFuture<'static, Result<Option<EventSeq>, RunRequestError>>
        + Send
        + Sync,
>;

/// What the desk can do.
pub(super) struct RouterPorts {
    pub settle: SettleConfirmation,
    /// How long nobody is there before somebody is told elsewhere; `None` when there is no way to.
    pub tell_after: Box<dyn Fn() -> Option<Duration> + Send + Sync>,
    pub tell: Box<dyn Fn(ConfirmationId) -> BoxFuture<'static, ()> + Send + Sync>,
    /// Leaves a note for the next daemon.
    pub note: Box<dyn Fn(String) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>,
}

/// What was noted last of deadlines that stand still, and when.
type NotedDeadlines = (Duration, BTreeMap<ConfirmationId, Timestamp>);

impl ConfirmationRouter {
    /// Knows every question that is open, before any run goes on. The follower says what comes after.
    pub async fn open(
        store: &EventStore,
        clients: &Arc<ConnectedClients>,
        clock: &Arc<dyn Clock>,
    ) -> Result<(ConfirmationRouter, Follower), StoreError> {
        let now = ClockTimes { wall: clock.now(), mono: clock.monotonic() };
        let (board, follower) = read(store, now).await?;
        let (candidates, edition) = clients.candidates();
        let shared = ConfirmationRouterInner {
            store: store.clone(),
            board: Mutex::new(board),
            clients: Arc::clone(clients),
            clock: Arc::clone(clock),
            eligible: HotSwap::new((edition, Arc::new(EligibleClients::new(candidates)))),
        };
        Ok((ConfirmationRouter { shared: Arc::new(shared) }, follower))
    }

    /// Keeps the desk until the daemon stops. After a defect of its own it knows what the log says, and goes on.
    pub fn keep(self, log: Follower, ways: RouterPorts, tasks: &TaskGroup, stop: &CancellationToken) {
        let (first, ways, until) = (Mutex::new(Some(log)), Arc::new(ways), stop.clone());
        let guard = tasks.clone();
        tasks.keep(TASK, stop.clone(), move || {
            let log = first.lock().unwrap_or_else(PoisonError::into_inner).take();
            let desk = self.clone();
            let (ways, guard, stop) = (Arc::clone(&ways), guard.clone(), until.clone());
            async move {
                let log = match log {
                    Some(log) => Some(log),
                    None => stop.run_until_cancelled(desk.begin_anew()).await,
                };
                if let Some(log) = log {
                    desk.run(log, &ways, &guard, &stop).await;
                }
            }
        });
    }

    /// Forgets what it knew, which may be half of something, and reads what is open. Who was reading a question says so again.
    async fn begin_anew(&self) -> Follower {
        loop {
            match read(&self.shared.store, self.now()).await {
                Ok((board, log)) => {
                    *self.board() = board;
                    return log;
                }
                Err(error) => {
                    tracing::warn!(%error, "the open questions cannot be read; tried again");
                    self.shared.clock.sleep(READ_RETRY).await;
                }
            }
        }
    }

    /// Nothing is decided once the daemon stops: that clients leave then does not mean that nobody is there.
    async fn run(&self, log: Follower, ways: &RouterPorts, tasks: &TaskGroup, stop: &CancellationToken) {
        let mut noted = (Duration::ZERO, BTreeMap::new());
        self.serve(log, (ways, tasks), stop, &mut noted).await;
        // Until now somebody was there; whoever comes back finds as much time as there was.
        self.note_attended(ways, &mut noted, Duration::ZERO).await;
    }

    async fn serve(
        &self,
        mut log: Follower,
        (ways, tasks): (&RouterPorts, &TaskGroup),
        stop: &CancellationToken,
        noted: &mut NotedDeadlines,
    ) {
        let mut at_work = FuturesUnordered::new();
        let mut n_tells = 0;
        loop {
            if let Err(error) = self.read(&mut log).await {
                tracing::warn!(%error, "the log cannot be read for open questions; tried again");
                tokio::select! { biased;
                    () = stop.cancelled() => return,
                    () = self.shared.clock.sleep(READ_RETRY) => continue,
                }
            }
            // Taken before it is asked whether the daemon stops: connections end after that was said.
            let eligible = self.eligible();
            if stop.is_cancelled() {
                return;
            }
            let room = RouterCapacity {
                settle: DEEDS_AT_ONCE - (at_work.len() - n_tells),
                tell: TELLS_AT_ONCE - n_tells,
            };
            let now = self.now();
            let look = self.board().look(&eligible, (ways.tell_after)(), room, now);
            self.note_attended(ways, noted, ATTENDED_PAUSE).await;
            for session in look.news {
                self.shared.clients.tell_of_questions(&AttachScope::One(session));
            }
            n_tells += look.tasks.iter().filter(|task| task.deed == RouterAction::Tell).count();
            at_work.extend(look.tasks.into_iter().map(|task| self.carry_out(task, ways, tasks)));
            let noting = (!noted.1.is_empty()).then_some(ATTENDED_PAUSE);
            let again = [look.again, noting].into_iter().flatten().min();
            let time = async {
                match again {
                    // Counted from the look: time has passed since, while a note was written.
                    Some(again) => {
                        let passed = self.now().mono.saturating_sub(now.mono);
                        self.shared.clock.sleep(again.saturating_sub(passed)).await;
                    }
                    None => pending().await,
                }
            };
            tokio::select! { biased;
                () = stop.cancelled() => return,
                Some(was_tell) = at_work.next(), if !at_work.is_empty() => n_tells -= usize::from(was_tell),
                () = log.wait() => (),
                () = self.shared.clients.changed() => tokio::time::sleep(PAUSE).await,
                () = time => (),
            }
        }
    }

    /// Takes in what is new in the log.
    async fn read(&self, log: &mut Follower) -> Result<(), StoreError> {
        loop {
            let events = log.poll().await?;
            let now = self.now();
            {
                let mut board = self.board();
                events.iter().for_each(|event| board.take_in(event, now));
                board.know_up_to(log.position());
            }
            if events.is_empty() {
                return Ok(());
            }
            // Who was sent a question before it was known here may have come back meanwhile, and found nothing.
            let sessions: BTreeSet<_> = events.iter().filter_map(|event| event.session.clone()).collect();
            for session in sessions {
                self.shared.clients.tell_of_questions(&AttachScope::One(session));
            }
        }
    }

    /// Writes down the deadlines of questions that somebody could answer, if that is `pause` ago.
    async fn note_attended(&self, ways: &RouterPorts, noted: &mut NotedDeadlines, pause: Duration) {
        let now = self.now();
        let attended = self.board().attended(now);
        if attended == noted.1 || (now.mono < noted.0 + pause && !noted.1.is_empty()) {
            return;
        }
        match (ways.note)(serde_json::json!(attended).to_string()).await {
            Ok(()) => *noted = (now.mono, attended),
            Err(error) => tracing::warn!(%error, "deadlines that stand still cannot be noted; tried again"),
        }
    }

    /// Answers whether it told somebody.
    fn carry_out(&self, task: RouterTask, ways: &RouterPorts, tasks: &TaskGroup) -> BoxFuture<'static, bool> {
        let (desk, tasks, RouterTask { question, deed }) = (self.clone(), tasks.clone(), task);
        let RoutingFacts { id, run, .. } = question;
        let doing: BoxFuture<'static, bool> = match &deed {
            RouterAction::Tell => {
                let telling = (ways.tell)(id.clone());
                // Who could not be told is not told again: each way was tried as often as it makes sense.
                Box::pin(async move {
                    telling.await;
                    true
                })
            }
            RouterAction::Settle(how) => {
                let settling = (ways.settle)(run.clone(), id.clone(), how.clone());
                let what = (id.clone(), run, how.clone());
                Box::pin(async move { was_settled(what, settling.await) })
            }
        };
        Box::pin(async move {
            // A deed that fails by a defect is tried again as any, and the desk goes on.
            let has_succeeded = tasks.caught(TASK, doing).await.unwrap_or(false);
            let now = desk.now();
            desk.board().finish(&id, &deed, has_succeeded, now);
            deed == RouterAction::Tell
        })
    }

    /// True if the client of a connection is asked this question of the log, which may be over by now.
    pub fn is_offered(&self, subject: &Confirmation, seq: EventSeq, connection: u64) -> bool {
        let (eligible, question) = (self.eligible(), RoutingFacts::from(subject));
        let board = self.board();
        board.is_open(&question.id, seq)
            && eligible.is_asked(connection, &question, board.is_for_all(&question, &eligible, self.now()))
    }

    /// Questions of the store as the client of a connection sees them.
    pub fn records(&self, stored: Vec<StoredConfirmation>, connection: u64) -> Vec<ConfirmationRecord> {
        let (eligible, now) = (self.eligible(), self.now());
        let board = self.board();
        let record = |stored: StoredConfirmation| {
            let StoredConfirmation { confirmation, roots, resolution, .. } = stored;
            let question = RoutingFacts::from(&confirmation);
            let is_for_all = board.is_for_all(&question, &eligible, now);
            let resolution = resolution.map(|(_, resolution)| resolution);
            let claim = board.reader(&question.id).filter(|_| resolution.is_none());
            let state = match (&resolution, &claim) {
                (Some(_), _) => ConfirmationState::Resolved,
                (None, Some(_)) => ConfirmationState::Claimed,
                (None, None) if eligible.is_anybody_asked(&question, is_for_all) => {
                    ConfirmationState::Offered
                }
                (None, None) => ConfirmationState::Queued,
            };
            let offered = resolution.is_none() && eligible.is_asked(connection, &question, is_for_all);
            ConfirmationRecord { confirmation, roots, state, offered, claim, resolution }
        };
        stored.into_iter().map(record).collect()
    }

    /// The open questions of a scope as the client of a connection sees them, of those that were asked up to `seq`.
    pub fn seen(&self, connection: u64, scope: &AttachScope, seq: EventSeq) -> Vec<ClientConfirmationView> {
        let eligible = self.eligible();
        self.board().seen(connection, scope, seq, &eligible)
    }

    /// Notes that somebody reads a question; `None` when it is not open. Answers what must be kept for as long as the
    /// connection lives, the first time.
    pub fn claim(
        &self,
        id: &ConfirmationId,
        connection: u64,
        claim: Claim,
    ) -> Option<Option<impl Send + Sync + 'static>> {
        let (session, is_first) = self.board().claim(id, connection, claim)?;
        self.shared.clients.tell_of_questions(&AttachScope::One(session));
        // It ends by time as well, for which the task waits.
        self.shared.clients.wake_desk();
        Some(is_first.then(|| ClaimGuard { desk: self.clone(), connection }))
    }

    /// Takes a claim back; false when there was none.
    pub fn release(&self, id: &ConfirmationId, connection: u64) -> bool {
        let session = self.board().release(id, connection);
        if let Some(session) = &session {
            self.shared.clients.tell_of_questions(&AttachScope::One(session.clone()));
        }
        session.is_some()
    }

    /// Notes that somebody has answered with a change, until what is answered is dropped: the run may ask hooks about it first.
    pub fn edit_begins(&self, id: &ConfirmationId, claim: Claim) -> Option<impl Send + Sync + 'static> {
        let (session, number) = self.board().edit_begins(id, claim)?;
        self.shared.clients.tell_of_questions(&AttachScope::One(session));
        Some(EditGuard { desk: self.clone(), id: id.clone(), number })
    }

    /// Who is there.
    ///
    /// Perf: made once for each change, not once for each client that is told of a question.
    fn eligible(&self) -> Arc<EligibleClients> {
        let ConfirmationRouterInner { clients, eligible, .. } = &*self.shared;
        let known = eligible.get();
        if known.0 == clients.edition() {
            return Arc::clone(&known.1);
        }
        let (candidates, edition) = clients.candidates();
        let fresh = Arc::new(EligibleClients::new(candidates));
        eligible.replace((edition, Arc::clone(&fresh)));
        fresh
    }

    fn now(&self) -> ClockTimes {
        ClockTimes { wall: self.shared.clock.now(), mono: self.shared.clock.monotonic() }
    }

    fn board(&self) -> MutexGuard<'_, OpenConfirmations> {
        // Nothing in here panics half-way, so a poisoned lock guards whole data.
        self.shared.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets what a client claimed when its connection ends.
struct ClaimGuard {
    desk: ConfirmationRouter,
    connection: u64,
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        let sessions: BTreeSet<_> = self.desk.board().leave(self.connection);
        for session in sessions {
            self.desk.shared.clients.tell_of_questions(&AttachScope::One(session));
        }
    }
}

/// Forgets that somebody has answered with a change when the run has said what becomes of that.
struct EditGuard {
    desk: ConfirmationRouter,
    id: ConfirmationId,
    number: u64,
}

impl Drop for EditGuard {
    fn drop(&mut self) {
        let session = self.desk.board().edit_ends(&self.id, self.number);
        if let Some(session) = session {
            self.desk.shared.clients.tell_of_questions(&AttachScope::One(session));
        }
    }
}

/// Every question that is open now, and the log from there on.
async fn read(store: &EventStore, now: ClockTimes) -> Result<(OpenConfirmations, Follower), StoreError> {
    let head = store.newest().await?;
    let types = vec!["confirmation.*".to_owned()];
    let follower = store.follow(LogFilter { types, ..LogFilter::default() }, head);
    let mut board = OpenConfirmations::starting_at(head);
    let attended = match store.note(ATTENDED).await? {
        Some(note) => serde_json::from_str(&note).unwrap_or_else(|error| {
            tracing::warn!(%error, "what was noted of deadlines cannot be read; they count as logged");
            BTreeMap::new()
        }),
        None => BTreeMap::new(),
    };
    let mut cursor = None;
    loop {
        let page = store.confirmations(&ConfirmationFilter::default(), cursor.as_deref(), PAGE).await?;
        for stored in &page.items {
            board.put(&stored.confirmation, stored.first_seq, now, return_time(now));
        }
        cursor = page.next;
        if cursor.is_none() {
            board.postpone(&attended);
            return Ok((board, follower));
        }
    }
}

fn was_settled(
    (id, run, how): (ConfirmationId, RunId, UnansweredEffect),
    settled: Result<Option<EventSeq>, RunRequestError>,
) -> bool {
    match settled {
        Ok(Some(seq)) => {
            tracing::info!(confirmation = %id, %run, ?how, seq = seq.0, "nobody could be asked");
            true
        }
        // Somebody answered meanwhile, or the run is over; the log says so.
        Ok(None) => true,
        Err(error) => {
            tracing::warn!(confirmation = %id, %run, ?how, %error, "what becomes of a question could not be said; tried again");
            false
        }
    }
}

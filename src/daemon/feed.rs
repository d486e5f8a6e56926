//! Following the log on behalf of a client: a snapshot or a cursor, then every event, with texts as they are written.
//!
//! The log is the feed: a subscription holds a cursor and a number of bytes for each open text, and pulls. A slow
//! client costs no memory and no run waits for it; deltas of one text are merged while it is slow, and of those who
//! come and go it sees who is there when it looks.
//!
//! What a client is asked is the desk's to say: each question goes to everybody, with whether it is for this client, and
//! again as a signal when that becomes so later.
//!
//! `feed/begin.rs` says where `session/attach` and `events/subscribe` begin; from there on they are the same.

use std::{future::pending, sync::Arc, time::Duration};

use serde_json::{Value, json, value::RawValue};
use tokio::time::{Instant, sleep_until};

use self::{
    begin::SubscriptionStart,
    questions::{ConfirmationFeed, ConfirmationNews},
    texts::{DueDelta, OpenTexts},
};
use super::{
    clients::{AttachScope, AttachmentGuard},
    delivery_receipts::OpenReceipt,
    rpc::{NotificationSink, RpcCaller, SubscriberGone},
    subscription_places::OpenPlace,
};
use crate::{
    client_connections::ClientConnections, confirmation_channels::ConfirmationChannels,
    daemon_life::DaemonLife, daemon_services::DaemonServices, settings_in_force::SettingsInForce,
};
use protocol::{
    AttachRole, CaughtUp, ClaimSignal, Confirmation, ConfirmationRecord, Envelope, EventBody, EventHead,
    EventSeq, PresenceSignal, RunId, SessionId,
};
use run::RunExecutor;
use store::{EventStore, Follower, LogFilter, StoredConfirmation, StoredEvent};

mod begin;
mod questions;
mod snapshot;
mod texts;

pub(super) use begin::checked;

/// Between tries to read the log for a subscription when reading fails.
const READ_RETRY: Duration = Duration::from_secs(1);

/// The least time between two `signal.presence`: where many come at once, each of the many is not told of each.
const PRESENCE_PAUSE: Duration = Duration::from_millis(250);

/// Bytes of open questions in one snapshot, as for its texts: a quarter of what a message may have.
const QUESTION_BYTES: usize = 4 << 20;

/// Signals about questions that are sent before the log is looked at again.
const QUESTIONS_AT_ONCE: usize = 32;

/// The services by which clients follow the log.
#[derive(Clone)]
pub(super) struct LogFeed {
    life: Arc<DaemonLife>,
    store: EventStore,
    executor: RunExecutor,
    clients: Arc<ClientConnections>,
    settings: Arc<SettingsInForce>,
    confirmations: Arc<ConfirmationChannels>,
}

impl LogFeed {
    pub fn of(services: &DaemonServices) -> LogFeed {
        let DaemonServices { life, store, executor, clients, settings, confirmations, .. } = services.clone();
        LogFeed { life, store, executor, clients, settings, confirmations }
    }
}

/// One client's view of the log, before anything of it is sent.
pub(super) struct EventPump {
    state: Arc<LogFeed>,
    caller: RpcCaller,
    beginning: SubscriptionStart,
    follower: Follower,
    /// What is sent of that which is followed.
    filter: LogFilter,
    /// The session that all of it is about.
    session: Option<SessionId>,
    /// Who is attached how; `None` for who only reads the log.
    seat: Option<(AttachScope, AttachRole)>,
    /// `None` for a client that wants no deltas.
    texts: Option<OpenTexts>,
    /// What the client knows of open questions.
    questions: ConfirmationFeed,
    /// The `seq` sent last on this subscription.
    prev: EventSeq,
}

impl EventPump {
    /// Sends until the client, its subscription or the daemon is gone.
    pub async fn run(mut self, sink: NotificationSink) {
        let receipts = &self.state.clients.receipts;
        let consumer = self.beginning.consumer.take();
        let receipt = consumer.map(|name| receipts.open(sink.id().clone(), name, self.prev));
        let attached = self.seat.take().map(|seat| {
            let attached = self.state.clients.connected.attach(
                &self.caller,
                sink.id().clone(),
                seat,
                self.state.life.clock.now(),
            );
            // Whoever only looks on from now on lends nothing any more.
            self.state.executor.lenders().look_again();
            attached
        });
        let place = self.state.clients.places.open(&self.caller, sink.id().clone(), self.follower.position());
        let company = attached.map(AttachedPresence::new);
        // Whichever of them is gone, nobody is left to be told.
        let _gone = self.pump(&mut EnvelopeSink { sink, receipt, place, company }).await;
    }

    async fn pump(&mut self, line: &mut EnvelopeSink) -> Result<(), SubscriberGone> {
        if let Some((mut snapshot, asked)) = self.beginning.snapshot.take() {
            snapshot.open_confirmations = self.asked_of(asked);
            line.tells(snapshot.seq);
            self.signal(line, "signal.snapshot", json!(snapshot)).await?;
        }
        loop {
            let events = match self.follower.poll().await {
                Ok(events) => events,
                Err(error) => {
                    // The place in the log is kept, so nothing is lost; the client waits as for a slow disk.
                    tracing::warn!(%error, "the log cannot be read for a subscription; tried again");
                    tokio::select! {
                        () = self.state.life.clock.sleep(READ_RETRY) => continue,
                        () = line.sink.closed() => return Ok(()),
                        () = self.state.life.stop.cancelled() => return Ok(()),
                    }
                }
            };
            let is_idle = events.is_empty();
            for event in events {
                self.send_event(line, &event).await?;
            }
            line.place.reaches(self.follower.position());
            self.say_when_caught_up(line).await?;
            if let Some(present) = line.company.as_mut().and_then(AttachedPresence::news) {
                self.signal(line, "signal.presence", json!(present)).await?;
            }
            if !is_idle {
                continue;
            }
            // Now every question up to here was sent with its event, so that the rest are news.
            if self.say_news_of_questions(line).await? {
                continue;
            }
            for due in self.texts.as_mut().map(OpenTexts::look).unwrap_or_default() {
                self.send_delta(line, due).await?;
            }
            tokio::select! {
                () = self.follower.wait() => (),
                () = grown(self.texts.as_ref()) => (),
                () = changed(line.company.as_ref()) => (),
                () = questions_changed(line.company.as_ref()) => (),
                () = line.sink.closed() => return Ok(()),
                () = self.state.life.stop.cancelled() => return Ok(()),
            }
        }
    }

    /// Questions as this client sees them, from the oldest on. What a snapshot has no room for comes after it, to those
    /// it is for.
    fn asked_of(&mut self, asked: Vec<Confirmation>) -> Vec<ConfirmationRecord> {
        let stored = asked.into_iter().map(StoredConfirmation::open);
        let mut records = self.state.confirmations.router.records(stored.collect(), self.caller.connection());
        let mut room = QUESTION_BYTES;
        let fits = |record: &ConfirmationRecord| {
            let left = room.checked_sub(json!(record).to_string().len());
            room = left.unwrap_or(0);
            left.is_some()
        };
        let n_fitting = records.iter().map(fits).take_while(|fits| *fits).count();
        records.truncate(n_fitting);
        records.iter().for_each(|record| self.questions.shows(record));
        records
    }

    async fn send_event(&mut self, line: &EnvelopeSink, event: &StoredEvent) -> Result<(), SubscriberGone> {
        if let Some(due) = self.texts.as_mut().and_then(|texts| texts.pass(event)) {
            self.send_delta(line, due).await?;
        }
        // With deltas more is followed than is asked for.
        if !self.filter.has_type(&event.kind) {
            return Ok(());
        }
        line.tells(event.seq);
        let offered = self.is_offered(event);
        line.send(event.envelope_for(Some(self.prev), offered)).await?;
        self.prev = event.seq;
        Ok(())
    }

    /// Of a question: whether it is for this client. `None` of all else.
    fn is_offered(&mut self, event: &StoredEvent) -> Option<bool> {
        if !event.kind.starts_with("confirmation.") {
            return None;
        }
        // An event that cannot be read is still sent as it is; nobody is asked by it.
        let subject = match event.parse().ok()?? {
            EventBody::ConfirmationRequested(data) => data.confirmation,
            EventBody::ConfirmationRevised(data) => data.confirmation,
            EventBody::ConfirmationResolved(data) => {
                self.questions.forget(&data.confirmation_id);
                return None;
            }
            _ => return None,
        };
        let offered =
            self.state.confirmations.router.is_offered(&subject, event.seq, self.caller.connection());
        self.questions.tells(&subject.confirmation_id, offered);
        Some(offered)
    }

    /// Tells who is attached of questions that are for it now, and of those who read them. Answers whether there may be
    /// more to tell.
    async fn say_news_of_questions(&mut self, line: &mut EnvelopeSink) -> Result<bool, SubscriberGone> {
        let Some(company) = line.company.as_mut().filter(|it| it.attached.takes_news_of_questions()) else {
            return Ok(false);
        };
        if company.attached.takes_return() {
            self.questions.offers_again();
        }
        let (connection, scope) = (company.attached.connection(), company.attached.scope().clone());
        let seen = self.state.confirmations.router.seen(connection, &scope, self.follower.position());
        let (news, is_more) = self.questions.news(seen, QUESTIONS_AT_ONCE);
        if is_more {
            company.attached.has_more_news_of_questions();
        }
        for piece in news {
            let (kind, session, run, data) = match piece {
                ConfirmationNews::Claim(confirmation_id, claim) => {
                    let data = json!(ClaimSignal { confirmation_id, claim });
                    ("signal.claim", self.session.clone(), None, data)
                }
                ConfirmationNews::Offered(id) => {
                    let stored = match self.state.store.confirmation(&id).await {
                        Ok(stored) => stored.filter(|it| it.resolution.is_none()),
                        Err(error) => {
                            // It is said at the next occasion: what a client was told is what was sent.
                            tracing::warn!(%error, confirmation = %id, "a question cannot be read for a client");
                            self.questions.forget(&id);
                            None
                        }
                    };
                    let Some(record) = stored
                        .and_then(|it| self.state.confirmations.router.records(vec![it], connection).pop())
                    else {
                        continue;
                    };
                    self.questions.shows(&record);
                    let subject = &record.confirmation;
                    let (session, run) = (subject.session_id.clone(), subject.run_id.clone());
                    ("signal.confirmation", Some(session), Some(run), json!(record))
                }
            };
            self.notify(line, kind, (session, run), data).await?;
        }
        Ok(is_more)
    }

    async fn say_when_caught_up(&mut self, line: &EnvelopeSink) -> Result<(), SubscriberGone> {
        let head = self.follower.position();
        if self.beginning.catch_up.take_if(|catch_up| *catch_up <= head).is_none() {
            return Ok(());
        }
        line.tells(head);
        let data = CaughtUp { head, new_consumer: self.beginning.is_new_consumer };
        self.signal(line, "signal.caughtUp", json!(data)).await
    }

    async fn send_delta(&self, line: &EnvelopeSink, due: DueDelta) -> Result<(), SubscriberGone> {
        let DueDelta { session, run, kind, data } = due;
        self.notify(line, kind, (Some(session), Some(run)), data).await
    }

    async fn signal(&self, line: &EnvelopeSink, kind: &str, data: Value) -> Result<(), SubscriberGone> {
        self.notify(line, kind, (self.session.clone(), None), data).await
    }

    async fn notify(
        &self,
        line: &EnvelopeSink,
        kind: &str,
        (session_id, run_id): (Option<SessionId>, Option<RunId>),
        data: Value,
    ) -> Result<(), SubscriberGone> {
        let (at, kind) = (Some(self.state.life.clock.now()), kind.to_owned());
        let head = EventHead::default();
        let envelope =
            Envelope { seq: None, prev: None, at, kind, session_id, run_id, head, offered: None, data };
        line.send(json!(envelope).to_string()).await
    }
}

/// Where a subscription's envelopes go, and what is kept for as long as they do.
struct EnvelopeSink {
    sink: NotificationSink,
    /// What the consumer may acknowledge.
    receipt: Option<OpenReceipt>,
    place: OpenPlace,
    company: Option<AttachedPresence>,
}

impl EnvelopeSink {
    fn tells(&self, seq: EventSeq) {
        if let Some(receipt) = &self.receipt {
            receipt.tells(seq);
        }
    }

    async fn send(&self, envelope: String) -> Result<(), SubscriberGone> {
        // An envelope that is no JSON would be a defect of ours; the subscription then ends rather than skip one.
        let envelope = RawValue::from_string(envelope).map_err(|error| {
            tracing::error!(%error, "an envelope is no JSON");
            SubscriberGone
        })?;
        self.sink.send(envelope).await
    }
}

/// Who else is attached, told not too often. On the system's clock even where a test holds the daemon's, as the pause
/// between deltas.
struct AttachedPresence {
    attached: AttachmentGuard,
    next_look: Instant,
}

impl AttachedPresence {
    fn new(attached: AttachmentGuard) -> AttachedPresence {
        AttachedPresence { attached, next_look: Instant::now() }
    }

    /// Who is there, if that changed and it is not just now that it was told.
    fn news(&mut self) -> Option<PresenceSignal> {
        let now = Instant::now();
        if now < self.next_look {
            return None;
        }
        let present = self.attached.news()?;
        self.next_look = now + PRESENCE_PAUSE;
        Some(present)
    }

    /// Waits until there may be news. Cancel safe.
    async fn changed(&self) {
        // What changes during the pause wakes nobody.
        sleep_until(self.next_look).await;
        if !self.attached.has_news() {
            self.attached.changed().await;
        }
    }
}

async fn grown(texts: Option<&OpenTexts>) {
    match texts {
        Some(texts) => texts.grown().await,
        None => pending().await,
    }
}

async fn questions_changed(company: Option<&AttachedPresence>) {
    match company {
        Some(company) => company.attached.questions_changed().await,
        None => pending().await,
    }
}

async fn changed(company: Option<&AttachedPresence>) {
    match company {
        Some(company) => company.changed().await,
        None => pending().await,
    }
}

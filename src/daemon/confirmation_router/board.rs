//! What does the desk know of the open questions? Kept in memory only: what is durable about them is in the log.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    time::Duration,
};

use super::rules::{
    AudiencePresence, ClockTimes, DueAction, EligibleClients, RETURN_GRACE, RouterAction, RoutingFacts,
    RoutingState, due_action,
};
use crate::clients::AttachScope;
use protocol::{
    Audience, Claim, ClientId, Confirmation, ConfirmationId, EventBody, EventSeq, RevisionReason, SessionId,
    Timestamp,
};
use run::UnansweredEffect;
use store::StoredEvent;

/// The time that hooks probably take for what somebody made of a call: no longer than a person may read. They end it themselves.
pub(crate) const EDIT_CHECKED: Duration = Duration::from_secs(600);

/// How long a deed that failed rests before it is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Deadlines are times of day, which may jump, and is only waited for by a clock that does not: so it is looked again at
/// least this often while there is one.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The open questions of a daemon.
#[derive(Default)]
pub(super) struct OpenConfirmations {
    open: BTreeMap<ConfirmationId, OpenConfirmation>,
    by_session: HashMap<SessionId, BTreeSet<ConfirmationId>>,
    /// Connections that hold claims, or held some.
    claimants: HashSet<u64>,
    /// The number of answers with a change so far.
    edits: u64,
    /// Everything in the log up to here is known.
    position: EventSeq,
}

struct OpenConfirmation {
    question: RoutingFacts,
    /// The event that asked.
    seq: EventSeq,
    state: RoutingState,
    /// Nobody is to be asked first any more.
    is_open: bool,
    /// By connection, the one that has been reading longest first.
    claims: Vec<(u64, Claim)>,
    /// A change that a person has made is in the log, and hooks are asked about it: the question is answered as far as people can.
    edited: Option<Claim>,
    /// Answers with a change that are at the run, by their number: hooks may be asked about what they make of the call.
    edits: Vec<(u64, Claim)>,
    is_busy: bool,
    retry_at: Duration,
}

/// Something to be done for a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RouterTask {
    pub question: RoutingFacts,
    pub deed: RouterAction,
}

/// How much more can be done at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct RouterCapacity {
    pub settle: usize,
    pub tell: usize,
}

/// What a look showed.
#[derive(Debug, Default)]
pub(super) struct RouterReview {
    pub tasks: Vec<RouterTask>,
    /// Where others are asked than before, or somebody stopped reading.
    pub news: BTreeSet<SessionId>,
    /// When to look again, if nothing happens before.
    pub again: Option<Duration>,
}

/// An open question, as one client sees it.
pub(crate) struct ClientConfirmationView {
    pub id: ConfirmationId,
    /// This client is asked.
    pub offered: bool,
    pub claim: Option<Claim>,
}

impl OpenConfirmations {
    /// Everything up to `position` will have been told by [`OpenConfirmations::put`] when somebody looks.
    pub fn starting_at(position: EventSeq) -> OpenConfirmations {
        OpenConfirmations { position, ..OpenConfirmations::default() }
    }

    /// A question that is open. `not_before`: until then nobody can have come back, since the daemon has just begun.
    pub fn put(&mut self, subject: &Confirmation, seq: EventSeq, now: ClockTimes, not_before: Duration) {
        let question = RoutingFacts::from(subject);
        let of_session = self.by_session.entry(question.session.clone()).or_default();
        of_session.insert(question.id.clone());
        let state = RoutingState {
            company: AudiencePresence::Nobody { since: now.mono },
            parked: false,
            postpone: None,
            not_before,
            told: None,
        };
        let id = question.id.clone();
        let is_open = !matches!(question.audience, Audience::InitiatorFirst { .. });
        let (claims, edits, is_busy, retry_at) = (Vec::new(), Vec::new(), false, Duration::ZERO);
        let edited = subject.edited_by.clone().map(|name| edited_by(Some(name), now.wall));
        let item =
            OpenConfirmation { question, seq, state, is_open, claims, edited, edits, is_busy, retry_at };
        self.open.insert(id, item);
    }

    /// Takes in an event of the log.
    pub fn take_in(&mut self, event: &StoredEvent, now: ClockTimes) {
        match event.parse() {
            Ok(Some(EventBody::ConfirmationRequested(data))) => {
                self.put(&data.confirmation, event.seq, now, Duration::ZERO);
            }
            Ok(Some(EventBody::ConfirmationEdited(data))) => {
                if let Some(item) = self.open.get_mut(&data.confirmation_id) {
                    item.edited = Some(edited_by(data.name, event.at));
                }
            }
            Ok(Some(EventBody::ConfirmationRevised(data))) => {
                if let Some(item) = self.open.get_mut(&data.confirmation.confirmation_id) {
                    item.edited = item.edited.take().filter(|_| data.reason == RevisionReason::Deadline);
                    item.question = RoutingFacts::from(&*data.confirmation);
                    // What counts already and is not in the log yet still counts.
                    item.question.deadline_at = item.state.postpone.or(item.question.deadline_at);
                }
            }
            Ok(Some(EventBody::ConfirmationResolved(data))) => self.close(&data.confirmation_id),
            Ok(_) => (),
            // Nobody else can read it either. What it asks is still answered by id, and found in no list.
            Err(error) => tracing::error!(seq = event.seq.0, %error, "a question cannot be read"),
        }
    }

    /// Everything up to here was taken in.
    pub fn know_up_to(&mut self, position: EventSeq) {
        self.position = position;
    }

    pub fn close(&mut self, id: &ConfirmationId) {
        let Some(item) = self.open.remove(id) else { return };
        let session = &item.question.session;
        if let Some(of_session) = self.by_session.get_mut(session) {
            of_session.remove(id);
            if of_session.is_empty() {
                self.by_session.remove(session);
            }
        }
    }

    /// Deadlines that an earlier daemon knew to be later than the log says, since somebody was there.
    pub fn postpone(&mut self, attended: &BTreeMap<ConfirmationId, Timestamp>) {
        for (id, later) in attended {
            if let Some(item) = self.open.get_mut(id)
                && item.question.deadline_at.is_some_and(|deadline| deadline < *later)
            {
                item.question.deadline_at = Some(*later);
                item.state.postpone = Some(*later);
            }
        }
    }

    /// The deadlines that are later than the log says, as of now.
    pub fn attended(&self, now: ClockTimes) -> BTreeMap<ConfirmationId, Timestamp> {
        let later = |item: &OpenConfirmation| match item.state.company {
            AudiencePresence::Somebody { since } => {
                Some(item.question.deadline_at?.plus(now.mono.saturating_sub(since)))
            }
            AudiencePresence::Nobody { .. } => item.state.postpone,
        };
        self.open.iter().filter_map(|(id, item)| Some((id.clone(), later(item)?))).collect()
    }

    /// Notes who is there, and says what is to be done: as much as there is room for, the rest at the next look.
    pub fn look(
        &mut self,
        eligible: &EligibleClients,
        tell_after: Option<Duration>,
        mut room: RouterCapacity,
        now: ClockTimes,
    ) -> RouterReview {
        let mut look = RouterReview::default();
        for item in self.open.values_mut() {
            let was_open = item.is_open;
            item.is_open = was_open || eligible.opens(&item.question, item.state.not_before, now);
            let reader = item.claims.first().map(|(connection, _)| *connection);
            item.claims.retain(|(_, claim)| now.wall < claim.until);
            let next_reader = item.claims.first().map(|(connection, _)| *connection);
            if was_open != item.is_open || reader != next_reader {
                look.news.insert(item.question.session.clone());
            }
            item.meet(eligible.is_anybody_asked(&item.question, item.is_open), now);
            let mut again = item.next_change(now);
            match item.due_action(tell_after, now) {
                DueAction::Now(deed) => {
                    let left = if deed == RouterAction::Tell { &mut room.tell } else { &mut room.settle };
                    // Without: whoever finishes something makes room, and looks again.
                    if let Some(less) = left.checked_sub(1) {
                        *left = less;
                        item.is_busy = true;
                        look.tasks.push(RouterTask { question: item.question.clone(), deed });
                    }
                }
                DueAction::Never => (),
                DueAction::In(time) => again = Some(again.map_or(time, |again| again.min(time))),
            }
            look.again = [look.again, again].into_iter().flatten().min();
        }
        look
    }

    /// What was to be done for a question is done, or could not be.
    pub fn finish(&mut self, id: &ConfirmationId, deed: &RouterAction, has_succeeded: bool, now: ClockTimes) {
        let Some(item) = self.open.get_mut(id) else { return };
        item.is_busy = false;
        if !has_succeeded {
            item.retry_at = now.mono + RETRY;
            return;
        }
        match deed {
            RouterAction::Settle(UnansweredEffect::Park) => item.state.parked = true,
            RouterAction::Settle(UnansweredEffect::Postpone(at)) => {
                // Somebody may have come and gone meanwhile; then there is a newer one.
                item.state.postpone = item.state.postpone.filter(|newer| newer != at);
            }
            RouterAction::Tell => item.state.told = Some(item.question.digest.clone()),
            // The log says that it is over, or will soon.
            RouterAction::Settle(
                UnansweredEffect::Deny { .. }
                | UnansweredEffect::CancelRun { .. }
                | UnansweredEffect::Fail { .. },
            ) => {
                item.retry_at = now.mono + RETRY;
            }
        }
    }

    /// True if a question is open, as far as the log up to `seq` goes. What is newer than what is known here is.
    pub fn is_open(&self, id: &ConfirmationId, seq: EventSeq) -> bool {
        self.position < seq || self.open.contains_key(id)
    }

    /// True if the time is over in which a question is for its initiator alone.
    pub fn is_for_all(&self, question: &RoutingFacts, eligible: &EligibleClients, now: ClockTimes) -> bool {
        let item = self.open.get(&question.id);
        let not_before = item.map_or(Duration::ZERO, |item| item.state.not_before);
        item.is_some_and(|item| item.is_open) || eligible.opens(question, not_before, now)
    }

    /// Who reads a question, or has answered it with a change.
    pub fn reader(&self, id: &ConfirmationId) -> Option<Claim> {
        self.open.get(id)?.reader()
    }

    /// The open questions of a scope as the client of a connection sees them, of those that were asked up to `seq`.
    pub fn seen(
        &self,
        connection: u64,
        scope: &AttachScope,
        seq: EventSeq,
        eligible: &EligibleClients,
    ) -> Vec<ClientConfirmationView> {
        let seen = |item: &OpenConfirmation| ClientConfirmationView {
            id: item.question.id.clone(),
            offered: eligible.is_asked(connection, &item.question, item.is_open),
            claim: item.reader(),
        };
        let is_asked = |item: &&OpenConfirmation| item.seq <= seq;
        match scope {
            AttachScope::Every => self.open.values().filter(is_asked).map(seen).collect(),
            AttachScope::One(session) => {
                let ids = self.by_session.get(session).into_iter().flatten();
                ids.filter_map(|id| self.open.get(id)).filter(is_asked).map(seen).collect()
            }
        }
    }

    /// Notes that somebody reads a question; `None` when it is not open. The second answer: whether it is the first claim
    /// of this connection.
    pub fn claim(&mut self, id: &ConfirmationId, connection: u64, claim: Claim) -> Option<(SessionId, bool)> {
        let item = self.open.get_mut(id)?;
        match item.claims.iter_mut().find(|(by, _)| *by == connection) {
            Some((_, before)) => *before = claim,
            None => item.claims.push((connection, claim)),
        }
        Some((item.question.session.clone(), self.claimants.insert(connection)))
    }

    /// Takes a claim back; `None` when there was none.
    pub fn release(&mut self, id: &ConfirmationId, connection: u64) -> Option<SessionId> {
        let item = self.open.get_mut(id)?;
        let before = item.claims.len();
        item.claims.retain(|(by, _)| *by != connection);
        (item.claims.len() < before).then(|| item.question.session.clone())
    }

    /// Somebody has answered with a change; `None` when the question is not open. The second answer: the number of this answer.
    pub fn edit_begins(&mut self, id: &ConfirmationId, claim: Claim) -> Option<(SessionId, u64)> {
        let item = self.open.get_mut(id)?;
        self.edits += 1;
        item.edits.push((self.edits, claim));
        Some((item.question.session.clone(), self.edits))
    }

    /// The run has said what becomes of such an answer; `None` when the question is over.
    pub fn edit_ends(&mut self, id: &ConfirmationId, number: u64) -> Option<SessionId> {
        let item = self.open.get_mut(id)?;
        item.edits.retain(|(of, _)| *of != number);
        Some(item.question.session.clone())
    }

    /// A connection has ended; answers the sessions of what it claimed.
    pub fn leave(&mut self, connection: u64) -> BTreeSet<SessionId> {
        self.claimants.remove(&connection);
        let mut sessions = BTreeSet::new();
        for item in self.open.values_mut() {
            let before = item.claims.len();
            item.claims.retain(|(by, _)| *by != connection);
            if item.claims.len() < before {
                sessions.insert(item.question.session.clone());
            }
        }
        sessions
    }
}

impl OpenConfirmation {
    /// The first one who has answered with a change, else who reads it.
    fn reader(&self) -> Option<Claim> {
        let own = |(_, claim): &(u64, Claim)| claim.clone();
        let answered = self.edits.first().map(own).or_else(|| self.edited.clone());
        answered.or_else(|| self.claims.first().map(own))
    }

    /// Somebody who could answer is there, or nobody is. The time during which somebody was does not count for a
    /// deadline.
    fn meet(&mut self, is_anybody: bool, now: ClockTimes) {
        match (self.state.company, is_anybody) {
            (AudiencePresence::Nobody { .. }, true) => {
                self.state.company = AudiencePresence::Somebody { since: now.mono };
            }
            (AudiencePresence::Somebody { since }, false) => {
                self.state.company = AudiencePresence::Nobody { since: now.mono };
                if let Some(deadline) = self.question.deadline_at
                    && since < now.mono
                {
                    let later = deadline.plus(now.mono.saturating_sub(since));
                    self.question.deadline_at = Some(later);
                    self.state.postpone = Some(later);
                }
            }
            (AudiencePresence::Nobody { .. }, false) | (AudiencePresence::Somebody { .. }, true) => (),
        }
    }

    fn due_action(&self, tell_after: Option<Duration>, now: ClockTimes) -> DueAction {
        // What hooks say of an answer is waited for, however long nobody is there.
        if self.is_busy || self.edited.is_some() {
            return DueAction::Never;
        }
        match due_action(&self.question, &self.state, tell_after, now) {
            DueAction::Now(_) if now.mono < self.retry_at => DueAction::In(self.retry_at - now.mono),
            other => other,
        }
    }

    /// When something of it changes by time alone, beside what is due.
    fn next_change(&self, now: ClockTimes) -> Option<Duration> {
        let reading = self.claims.iter().map(|(_, claim)| claim.until.since(now.wall)).min();
        let opening = match &self.question.audience {
            Audience::InitiatorFirst { grace_ms } if !self.is_open => {
                let over = self.question.created_at.plus(Duration::from_millis(*grace_ms)).since(now.wall);
                let returned = self.state.not_before.checked_sub(now.mono).filter(|left| !left.is_zero());
                Some(returned.map_or(over, |returned| over.min(returned)))
            }
            _ => None,
        };
        let by_day = [reading, opening].into_iter().flatten().min();
        let with_deadline = self.question.deadline_at.map(|_| LOOK_AGAIN);
        by_day.or(with_deadline).map(|time| time.min(LOOK_AGAIN))
    }
}

/// Whoever has answered with a change that is in the log.
fn edited_by(name: Option<String>, at: Timestamp) -> Claim {
    Claim { client_id: name.map(ClientId::from), name: None, until: at.plus(EDIT_CHECKED), answered: true }
}

/// When those who were there before the daemon began have had time to come back.
pub(super) fn return_time(now: ClockTimes) -> Duration {
    now.mono + RETURN_GRACE
}

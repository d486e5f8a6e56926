//! Who may be asked, and what becomes of a question while nobody can be? Decisions alone: what is the case and what time
//! it is comes from outside (spec 06, "Routing").

use std::{collections::HashMap, sync::Arc, time::Duration};

use crate::clients::{AttachScope, ConfirmationCandidate};
use protocol::{
    AttachRole, Audience, ClientId, Confirmation, ConfirmationId, DecidedBy, OnDeadline, OnDetached,
    Presence, RunId, SessionId, Timestamp,
};
use run::UnansweredEffect;

/// How long nobody must be there before that has consequences: a client that reconnects, or comes back after a restart
/// of the daemon, has not left anybody alone. Longer than it takes an editor, shorter than a person notices.
pub(super) const RETURN_GRACE: Duration = Duration::from_secs(3);

/// Both clocks at one moment: deadlines are times of day, how long something took is not.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockTimes {
    pub wall: Timestamp,
    pub mono: Duration,
}

/// What decides who is asked, of one question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RoutingFacts {
    pub id: ConfirmationId,
    pub session: SessionId,
    pub run: RunId,
    /// As clients name it among their `kinds`.
    pub kind: &'static str,
    pub digest: String,
    pub audience: Audience,
    pub initiator: Option<ClientId>,
    pub headless: bool,
    pub on_detached: OnDetached,
    pub created_at: Timestamp,
    pub deadline_at: Option<Timestamp>,
    pub on_deadline: OnDeadline,
}

impl From<&Confirmation> for RoutingFacts {
    fn from(subject: &Confirmation) -> RoutingFacts {
        RoutingFacts {
            id: subject.confirmation_id.clone(),
            session: subject.session_id.clone(),
            run: subject.run_id.clone(),
            kind: subject.details.kind(),
            digest: subject.digest.clone(),
            audience: subject.audience.clone(),
            initiator: subject.initiator.clone(),
            headless: subject.headless,
            on_detached: subject.on_detached,
            created_at: subject.created_at,
            deadline_at: subject.deadline_at,
            on_deadline: subject.on_deadline,
        }
    }
}

/// Everybody who can put up a question and sits there, by what they are attached to.
#[derive(Default)]
pub(super) struct EligibleClients {
    every: Vec<Arc<ConfirmationCandidate>>,
    by_session: HashMap<SessionId, Vec<Arc<ConfirmationCandidate>>>,
    by_connection: HashMap<u64, Arc<ConfirmationCandidate>>,
}

impl EligibleClients {
    /// Of all who are attached; those who cannot be asked anything are left out.
    pub fn new(candidates: Vec<ConfirmationCandidate>) -> EligibleClients {
        let mut eligible = EligibleClients::default();
        for candidate in candidates.into_iter().filter(may_be_asked) {
            let candidate = Arc::new(candidate);
            for (scope, role) in &candidate.seats {
                match scope {
                    _ if *role != AttachRole::Control => (),
                    AttachScope::Every => eligible.every.push(Arc::clone(&candidate)),
                    AttachScope::One(session) => {
                        let there = eligible.by_session.entry(session.clone()).or_default();
                        there.push(Arc::clone(&candidate));
                    }
                }
            }
            eligible.by_connection.insert(candidate.connection, candidate);
        }
        eligible
    }

    /// Those who are there and can show the question, whoever it is meant for.
    fn who_can_show<'a>(
        &'a self,
        question: &'a RoutingFacts,
    ) -> impl Iterator<Item = &'a ConfirmationCandidate> + 'a {
        let there = self.by_session.get(&question.session).into_iter().flatten();
        there.chain(&self.every).map(Arc::as_ref).filter(|candidate| shows(candidate, question.kind))
    }

    /// True if somebody is asked.
    pub fn is_anybody_asked(&self, question: &RoutingFacts, is_open: bool) -> bool {
        self.who_can_show(question).any(|candidate| is_meant(candidate, question, is_open))
    }

    /// True if the client of this connection is.
    pub fn is_asked(&self, connection: u64, question: &RoutingFacts, is_open: bool) -> bool {
        self.by_connection.get(&connection).is_some_and(|it| is_eligible(it, question, is_open))
    }

    /// True if a question that is for its initiator first is for all by now: it did not answer in time, or is not there.
    /// Once it is, it stays so. `not_before`: until then nobody can have come back, so that nobody is there means nothing.
    pub fn opens(&self, question: &RoutingFacts, not_before: Duration, now: ClockTimes) -> bool {
        let Audience::InitiatorFirst { grace_ms } = &question.audience else { return true };
        let over = question.created_at.plus(Duration::from_millis(*grace_ms));
        let is_there = || self.who_can_show(question).any(|candidate| is_initiator(candidate, question));
        over <= now.wall || (not_before <= now.mono && !is_there())
    }
}

/// True if a client is asked a question. `is_open`: the time in which it is for its initiator alone is over.
pub(super) fn is_eligible(candidate: &ConfirmationCandidate, question: &RoutingFacts, is_open: bool) -> bool {
    let is_there = candidate.seats.iter().any(|(scope, role)| {
        let covers = match scope {
            AttachScope::Every => true,
            AttachScope::One(session) => *session == question.session,
        };
        covers && *role == AttachRole::Control
    });
    is_there
        && may_be_asked(candidate)
        && shows(candidate, question.kind)
        && is_meant(candidate, question, is_open)
}

fn may_be_asked(candidate: &ConfirmationCandidate) -> bool {
    candidate.presence != Presence::Away && candidate.confirmations.is_some()
}

/// Kinds that a client did not name it cannot show; without names it can show all.
fn shows(candidate: &ConfirmationCandidate, kind: &str) -> bool {
    let Some(capability) = &candidate.confirmations else { return false };
    capability.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|it| it == kind))
}

fn is_meant(candidate: &ConfirmationCandidate, question: &RoutingFacts, is_open: bool) -> bool {
    match &question.audience {
        Audience::All => true,
        Audience::InitiatorFirst { .. } => is_open || is_initiator(candidate, question),
        Audience::Clients(clients) => clients.contains(&candidate.client),
    }
}

fn is_initiator(candidate: &ConfirmationCandidate, question: &RoutingFacts) -> bool {
    question.initiator.as_ref() == Some(&candidate.client)
}

/// Since when somebody is there who could answer, or nobody is. By the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AudiencePresence {
    Somebody { since: Duration },
    Nobody { since: Duration },
}

/// What was done for a question, beside what it says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RoutingState {
    pub company: AudiencePresence,
    /// Its run was parked for it: that is done once.
    pub parked: bool,
    /// A deadline that counts already and is still to be made durable.
    pub postpone: Option<Timestamp>,
    /// The daemon has just begun: until then nobody can have come back.
    pub not_before: Duration,
    /// The digest of which somebody was told elsewhere.
    pub told: Option<String>,
}

/// What is to be done for a question, or when to look again.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DueAction {
    Now(RouterAction),
    /// In so long, unless something happens before.
    In(Duration),
    Never,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RouterAction {
    Settle(UnansweredEffect),
    /// Somebody is to be told elsewhere.
    Tell,
}

/// What is to be done for a question now. While somebody is there: nothing. `tell_after`: how long nobody is there before
/// somebody is told elsewhere, if there is a way to.
pub(super) fn due_action(
    question: &RoutingFacts,
    state: &RoutingState,
    tell_after: Option<Duration>,
    now: ClockTimes,
) -> DueAction {
    let AudiencePresence::Nobody { since } = state.company else { return DueAction::Never };
    let returned = since + RETURN_GRACE;
    let mut earliest: Option<Duration> = None;
    let mut at = |time: Duration| {
        earliest = Some(earliest.map_or(time, |earliest| earliest.min(time)));
        time <= now.mono
    };
    // Nobody is expected to come to a run whose starter said so.
    let detached = if question.headless { since } else { returned };
    let message = || nobody_there(question);
    match question.on_detached {
        OnDetached::Deny if at(detached) => {
            return DueAction::Now(RouterAction::Settle(UnansweredEffect::Deny {
                by: DecidedBy::System,
                message: message(),
            }));
        }
        OnDetached::Fail if at(detached) => {
            return DueAction::Now(RouterAction::Settle(UnansweredEffect::Fail { message: message() }));
        }
        OnDetached::Park if !state.parked && at(detached) => {
            return DueAction::Now(RouterAction::Settle(UnansweredEffect::Park));
        }
        OnDetached::Wait | OnDetached::Deny | OnDetached::Fail | OnDetached::Park => (),
    }
    if let Some(deadline) = question.deadline_at
        && !(question.on_deadline == OnDeadline::Park && state.parked)
    {
        let left = deadline.since(now.wall);
        if at((now.mono + left).max(state.not_before)) {
            return DueAction::Now(RouterAction::Settle(overdue(question)));
        }
    }
    // Not for every reconnect: only a person who is really gone is worth an event.
    if let Some(postponed) = state.postpone
        && at(returned)
    {
        return DueAction::Now(RouterAction::Settle(UnansweredEffect::Postpone(postponed)));
    }
    if let Some(tell_after) = tell_after
        && state.told.as_ref() != Some(&question.digest)
        && at(since.saturating_add(tell_after))
    {
        return DueAction::Now(RouterAction::Tell);
    }
    match earliest {
        Some(time) => DueAction::In(time.saturating_sub(now.mono)),
        None => DueAction::Never,
    }
}

fn overdue(question: &RoutingFacts) -> UnansweredEffect {
    let message =
        "nobody answered the question in the time it was given; nothing is allowed by time".to_owned();
    match question.on_deadline {
        OnDeadline::Deny => UnansweredEffect::Deny { by: DecidedBy::Deadline, message },
        OnDeadline::CancelRun => UnansweredEffect::CancelRun { by: DecidedBy::Deadline, message },
        OnDeadline::Park => UnansweredEffect::Park,
    }
}

fn nobody_there(question: &RoutingFacts) -> String {
    match question.headless {
        true => "it needs a person's answer, and whoever started the run said that nobody is there to ask"
            .to_owned(),
        false => "it needs a person's answer, and no client is attached that could ask one".to_owned(),
    }
}

//! Where does a subscription begin? Cursors, consumers, and what is there at that moment.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::json;

use super::{
    super::{
        clients::AttachScope,
        wire_errors::{no_session, violation},
    },
    EventPump, LogFeed, RpcCaller,
    questions::ConfirmationFeed,
    snapshot::LogSnapshot,
    texts::{DELTAS, MARKS, OpenTexts},
};
use protocol::{
    AttachFrom, AttachFromKeyword, AttachRole, Confirmation, ErrorKind, EventSeq, EventsSubscribeParams,
    GoneCursorPolicy, RpcError, RunId, SessionAttachParams, SessionId, Snapshot,
};
use store::LogFilter;

/// What comes before the first event, or with it.
pub(super) struct SubscriptionStart {
    /// With the questions that are still to be put into it: whom they are for is known once the client is attached.
    pub snapshot: Option<(Snapshot, Vec<Confirmation>)>,
    /// Once the client has got as far, it is told.
    pub catch_up: Option<EventSeq>,
    pub consumer: Option<String>,
    pub is_new_consumer: bool,
}

/// A cursor that lies inside of the log. `log_id` is the log it came from, if the client said so.
pub(crate) async fn checked(
    state: &LogFeed,
    from: EventSeq,
    log_id: Option<&str>,
) -> Result<EventSeq, RpcError> {
    let is_ours = log_id.is_none_or(|log_id| log_id == state.store.log_id());
    if is_ours && (EventSeq(0)..=state.store.head()).contains(&from) {
        return Ok(from);
    }
    // Whoever read the database may be ahead of what is published.
    let head = state.store.newest().await?;
    if is_ours && (EventSeq(0)..=head).contains(&from) {
        return Ok(from);
    }
    let message = match is_ours {
        true => format!("the log has no event {from}; its newest is {head}"),
        false => format!("the cursor {from} is of another log; the newest event of this one is {head}"),
    };
    let details = json!({ "oldest": 1, "head": head, "logId": state.store.log_id() });
    Err(RpcError::new(ErrorKind::CursorGone, message)
        .with_details(details)
        .with_hint("this is another log than the one the cursor came from; attach anew without a cursor"))
}

/// What the client said of the place.
struct RequestedPosition {
    from: AttachFrom,
    log_id: Option<String>,
    consumer: Option<String>,
    on_gone: GoneCursorPolicy,
}

/// The place, once it is known to be there.
enum StartPosition {
    /// At what is, with or without being told what that is.
    Now {
        snapshot: bool,
    },
    After(EventSeq),
    /// After what the consumer has acknowledged.
    Consumer,
}

impl RequestedPosition {
    /// `snapshot`: whether `now` has one.
    async fn start(&self, state: &LogFeed, snapshot: bool) -> Result<StartPosition, RpcError> {
        match (self.from, &self.consumer) {
            (AttachFrom::Word(AttachFromKeyword::Now), _) => Ok(StartPosition::Now { snapshot }),
            (AttachFrom::Word(AttachFromKeyword::Start), _) => Ok(StartPosition::After(EventSeq(0))),
            (AttachFrom::Word(AttachFromKeyword::Consumer), Some(_)) => Ok(StartPosition::Consumer),
            (AttachFrom::Word(AttachFromKeyword::Consumer), None) => {
                Err(violation("/consumer", "needed with `from: \"consumer\"`"))
            }
            (AttachFrom::Seq(seq), _) => match checked(state, seq, self.log_id.as_deref()).await {
                Ok(seq) => Ok(StartPosition::After(seq)),
                Err(gone)
                    if gone.data.kind == ErrorKind::CursorGone
                        && self.on_gone == GoneCursorPolicy::Snapshot =>
                {
                    Ok(StartPosition::Now { snapshot: true })
                }
                Err(error) => Err(error),
            },
        }
    }
}

/// All that is known of a subscription before its place is.
struct SubscriptionRequest {
    filter: LogFilter,
    /// Where texts can grow that it concerns; empty = everywhere.
    sessions: Vec<SessionId>,
    seat: Option<(AttachScope, AttachRole)>,
    deltas: bool,
}

impl EventPump {
    /// As `session/attach` asks; nothing is sent yet.
    pub async fn attach(
        state: Arc<LogFeed>,
        caller: RpcCaller,
        params: SessionAttachParams,
    ) -> Result<EventPump, RpcError> {
        let SessionAttachParams { session_id, from, log_id, consumer, on_gone, role, deltas } = params;
        let place = RequestedPosition { from, log_id, consumer, on_gone };
        let scope = AttachScope::named(session_id);
        let start = place.start(&state, true).await;
        let (living, filter) = match &scope {
            // Whether there is such a session is said before what is wrong with the cursor.
            AttachScope::One(session) => {
                (LogSnapshot::of_session(&state, session).await?, LogFilter::session(session.clone()))
            }
            AttachScope::Every => (LogSnapshot::of_living(&state, &[]).await?, LogFilter::default()),
        };
        let sessions = scope.session().cloned().into_iter().collect();
        let wanted = SubscriptionRequest { filter, sessions, seat: Some((scope, role)), deltas };
        EventPump::begin(state, caller, wanted, place, (start?, living)).await
    }

    /// As `events/subscribe` asks; nothing is sent yet.
    pub async fn subscribe(
        state: Arc<LogFeed>,
        caller: RpcCaller,
        params: EventsSubscribeParams,
    ) -> Result<EventPump, RpcError> {
        let EventsSubscribeParams {
            session_ids,
            run_ids,
            exact,
            types,
            from,
            log_id,
            consumer,
            on_gone,
            deltas,
        } = params;
        let place = RequestedPosition { from, log_id, consumer, on_gone };
        let homes = homes(&state, &session_ids, &run_ids).await?;
        let filter = LogFilter { sessions: session_ids, runs: run_ids, descendants: !exact, types };
        let start = place.start(&state, false).await?;
        let deltas = deltas && DELTAS.iter().any(|kind| filter.has_type(kind));
        let has_snapshot = matches!(start, StartPosition::Now { snapshot: true });
        let living = match filter.sessions.as_slice() {
            [session] if has_snapshot && filter.runs.is_empty() => {
                LogSnapshot::of_session(&state, session).await?
            }
            _ if has_snapshot || deltas => {
                let living = LogSnapshot::of_living(&state, &homes).await?;
                match (filter.runs.is_empty(), filter.descendants) {
                    (true, _) => living,
                    (false, false) => living.only(&filter.runs.iter().cloned().collect()),
                    (false, true) => {
                        // Asked later than what lives: which run is below which never changes.
                        let runs: BTreeSet<RunId> =
                            state.store.descendants(&filter.runs).await?.into_iter().collect();
                        living.only(&runs)
                    }
                }
            }
            // The head is all that is needed.
            _ => LogSnapshot::head(&state),
        };
        let wanted = SubscriptionRequest { filter, sessions: homes, seat: None, deltas };
        EventPump::begin(state, caller, wanted, place, (start, living)).await
    }

    async fn begin(
        state: Arc<LogFeed>,
        caller: RpcCaller,
        wanted: SubscriptionRequest,
        place: RequestedPosition,
        (start, living): (StartPosition, LogSnapshot),
    ) -> Result<EventPump, RpcError> {
        let head = living.seq;
        // A new consumer stands where its first subscription begins.
        let stands_at = match &start {
            StartPosition::Now { .. } => head,
            StartPosition::After(seq) => *seq,
            StartPosition::Consumer => EventSeq(0),
        };
        // Last of all that can fail: who is refused leaves nothing.
        let name = place.consumer;
        // Hidden, two names could become one, and each would go on from the other's place.
        if let Some(name) = &name
            && state.settings.redactor.get().owned(name.clone()) != *name
        {
            return Err(RpcError::new(
                ErrorKind::InvalidParams,
                "a consumer's name holds what looks like a secret",
            )
            .with_details(
                json!({ "violations": [{ "pointer": "/consumer", "message": "must not hold a secret" }] }),
            )
            .with_hint("use a name that may be stored and shown"));
        }
        let consumer = match &name {
            Some(name) => Some(state.store.open_consumer(name, stands_at).await?),
            None => None,
        };
        let after = match (&start, &consumer) {
            (StartPosition::Consumer, Some(consumer)) => consumer.seq,
            _ => stands_at,
        };
        let SubscriptionRequest { filter, sessions, seat, deltas } = wanted;
        let mut followed = filter.clone();
        let mut texts = deltas.then(|| OpenTexts::watch(state.store.live(), &sessions, filter.clone()));
        if deltas && !filter.types.is_empty() {
            followed.types.extend(MARKS.map(str::to_owned));
        }
        let has_snapshot = matches!(start, StartPosition::Now { snapshot: true });
        let (snapshot, shown) = match has_snapshot {
            true => {
                let (snapshot, shown, asked) = living.shown(state.store.live());
                (Some((snapshot, asked)), shown)
            }
            // Texts that are open begin at offset 0, also those that were announced before the place.
            false => (None, living.unseen()),
        };
        if let Some(texts) = &mut texts {
            texts.begin(shown);
        }
        let beginning = SubscriptionStart {
            catch_up: snapshot.is_none().then_some(head),
            snapshot,
            consumer: name,
            is_new_consumer: consumer.is_some_and(|consumer| consumer.is_new),
        };
        let session = match filter.sessions.as_slice() {
            [session] => Some(session.clone()),
            _ => None,
        };
        let follower = state.store.follow(followed, after);
        Ok(EventPump {
            state,
            caller,
            beginning,
            follower,
            filter,
            session,
            seat,
            texts,
            questions: ConfirmationFeed::default(),
            prev: after,
        })
    }
}

/// The sessions that a subscription can be about; empty = all. A session or run that never was is refused.
async fn homes(state: &LogFeed, sessions: &[SessionId], runs: &[RunId]) -> Result<Vec<SessionId>, RpcError> {
    for session in sessions {
        if state.store.session(session).await?.is_some() {
            continue;
        }
        let missing = no_session(&state.store, session).await;
        // What is left of a deleted one is in the log.
        if missing.data.kind != ErrorKind::Gone {
            return Err(missing);
        }
    }
    let mut of_runs = BTreeSet::new();
    for run in runs {
        let Some(record) = state.store.run(run).await? else {
            return Err(RpcError::new(ErrorKind::NotFound, format!("there is no run {run}"))
                .with_details(json!({ "runId": run }))
                .with_hint("it never was, or went with its session; leave it out"));
        };
        of_runs.insert(record.session_id);
    }
    Ok(if sessions.is_empty() { of_runs.into_iter().collect() } else { sessions.to_vec() })
}

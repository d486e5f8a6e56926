//! `daemon/gc`, and what prunes sessions by itself (spec 10, "Retention").
//!
//! Sessions go one after the other, the one that was idle longest first, and their events a piece at a time, so that runs which
//! write meanwhile wait for one piece at most.

use std::{sync::Arc, time::Duration};

use super::{
    super::{
        retention::{AgeClock, HeldLimits, KeptSessions, limits, usual_gap},
        rpc::{MethodHandlers, RpcCaller},
    },
    by, internal,
    sessions::{SessionMethods, remove, turn},
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
    retention::SessionPruning, settings_in_force::SettingsInForce,
};
use protocol::{
    DaemonGc, ErrorKind, EventSeq, GcParams, GcResult, PrunedSession, PruningReason, RetentionLimits,
    RpcError, SessionId, Timestamp,
};
use run::RunExecutor;
use store::{EventStore, PruningCandidate, StoreError};
use sys::tasks::TaskGroup;

/// Time between two looks whether something has become too old, or too much.
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// The name of the note that has the clock by which sessions grow old.
const AGE_CLOCK: &str = "retention.clock";

/// The name of the note that has the limits, and for how long they have held.
const HELD_LIMITS: &str = "retention.limits";

/// Sessions that one answer lists.
const MOST_LISTED: usize = 1_000;

/// The services that keep sessions to the limits.
pub(super) struct RetentionMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
    pub pruning: Arc<SessionPruning>,
    pub sessions: SessionMethods,
}

impl RetentionMethods {
    pub fn of(services: &DaemonServices) -> RetentionMethods {
        let DaemonServices { life, settings, store, executor, clients, pruning, .. } = services.clone();
        let sessions = SessionMethods::of(services);
        RetentionMethods { life, settings, store, executor, clients, pruning, sessions }
    }
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let mut api = api.given(Arc::new(RetentionMethods::of(services)));
    api.method::<DaemonGc, _, _>(gc);
}

/// Brings to its end what was begun, also when whoever asked has gone.
async fn gc(
    state: Arc<RetentionMethods>,
    caller: RpcCaller,
    GcParams { dry_run }: GcParams,
) -> Result<GcResult, RpcError> {
    let (writing, by) = (state.life.writing.clone(), by(&caller));
    let collecting = writing.spawn("the pruning of sessions", collect(state, dry_run, by));
    collecting.await.map_err(|error| internal("the sessions were not pruned", &error))?
}

/// Keeps a task that keeps to the limits until the daemon stops, and takes away what deleted sessions leave in the log.
pub(in super::super) fn keep_to_limits(services: &DaemonServices, tasks: &TaskGroup) {
    let (kept, closing) = (Arc::new(RetentionMethods::of(services)), services.life.closing.clone());
    tasks.keep("what prunes sessions", closing, move || follow(Arc::clone(&kept)));
}

async fn follow(state: Arc<RetentionMethods>) {
    // Limits hold once daemons were at work for an hour since they were set, so that whoever set them can look at what they do
    // before anything is gone (`subagent gc --dry-run`).
    let note = state.store.note(HELD_LIMITS).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "for how long the limits have held could not be read; they hold in an hour");
        None
    });
    let mut held = HeldLimits::from_note(note.as_deref(), limits_now(&state));
    loop {
        let mut since = state.life.clock.monotonic();
        let pause = state.life.clock.sleep(PAUSE.saturating_sub(held.held()));
        tokio::pin!(pause);
        loop {
            if let Err(error) = sweep(&state).await {
                tracing::warn!(%error, "what deleted sessions left could not be taken away; tried again later");
            }
            tokio::select! {
                () = state.life.closing.cancelled() => {
                    held.hold_for(state.life.clock.monotonic().saturating_sub(since));
                    return leave_notes(&state, held).await;
                }
                () = state.pruning.met_new_limits() => {
                    let limits = limits_now(&state);
                    if limits != held.limits {
                        (held, since) = (HeldLimits::new(limits), state.life.clock.monotonic());
                        pause.set(state.life.clock.sleep(PAUSE));
                    }
                }
                () = &mut pause => break,
                () = state.store.met_removal() => (),
            }
        }
        // What could not be done now is done later.
        if let Err(error) = prune_now(&state).await {
            tracing::warn!(error = %error.message, "sessions could not be pruned; tried again later");
        }
        held = HeldLimits::new(held.limits);
    }
}

fn limits_now(state: &RetentionMethods) -> RetentionLimits {
    limits(&state.settings.get().config.retention)
}

/// Notes for the next daemon what this one has seen of limits and of the clock.
async fn leave_notes(state: &RetentionMethods, held: HeldLimits) {
    if let Err(error) = state.store.leave_note(HELD_LIMITS, held.note()).await {
        tracing::warn!(%error, "for how long the limits have held was not noted");
    }
    // Whoever prunes just now has looked at the clock.
    let Ok(_turn) = state.pruning.turn.try_lock() else { return };
    if held.limits != RetentionLimits::default()
        && let Err(error) = time_of_age(state).await
    {
        tracing::warn!(%error, "the time by which sessions grow old was not noted");
    }
}

/// Says if a client has the session open: it is attached to it, or worked in it last.
fn is_open(state: &RetentionMethods, session: &SessionId) -> bool {
    state.clients.connected.is_attached_to(session) || state.clients.open_sessions.contains(session)
}

async fn prune_now(state: &RetentionMethods) -> Result<(), RpcError> {
    // It is never closed.
    let _turn = state.pruning.turn.lock().await;
    sweep(state).await?;
    let pruned = prune(state, false, None).await?;
    if !pruned.sessions.is_empty() {
        let sessions = pruned.sessions.len() as u64 + pruned.more;
        tracing::info!(sessions, "sessions were pruned, as the settings `retention` say");
    }
    give_back(state).await?;
    Ok(())
}

/// Prunes for somebody who asked, or says what would be pruned.
async fn collect(
    state: Arc<RetentionMethods>,
    dry_run: bool,
    by: Option<String>,
) -> Result<GcResult, RpcError> {
    // It is never closed.
    let _turn = state.pruning.turn.lock().await;
    let before = state.store.room().await?;
    let pruned = prune(&state, dry_run, by).await?;
    let mut rewritten_at_next_start = false;
    if !dry_run {
        sweep(&state).await?;
        give_back(&state).await?;
        if !before.is_shrinkable {
            state.store.shrink_at_next_start().await?;
            rewritten_at_next_start = true;
        }
    }
    let room = state.store.room().await?;
    Ok(GcResult {
        dry_run,
        limits: limits_now(&state),
        sessions: pruned.sessions,
        more: pruned.more,
        attached: pruned.attached,
        clock_ahead_ms: pruned.clock_ahead_ms,
        used_bytes: room.used(),
        file_bytes: room.file,
        given_back_bytes: before.file.saturating_sub(room.file),
        rewritten_at_next_start,
        seq: pruned.seq,
    })
}

#[derive(Default)]
struct PrunedSessions {
    sessions: Vec<PrunedSession>,
    more: u64,
    attached: u64,
    clock_ahead_ms: u64,
    seq: Option<EventSeq>,
}

/// The time by which age counts: that of the machine, unless its clock went ahead just now; and by how much the machine's is ahead
/// of it. Only for whoever has the turn.
async fn time_of_age(state: &RetentionMethods) -> Result<(Timestamp, Duration), StoreError> {
    let mut clock = match state.pruning.age_clock() {
        Some(clock) => clock,
        None => {
            let note = state.store.note(AGE_CLOCK).await?;
            // What this daemon has written was told by the clock in question.
            let newest = state.store.last_active_before(state.life.started_at).await?;
            AgeClock::from_note(note.as_deref(), newest.unwrap_or(state.life.started_at), state.life.started)
        }
    };
    let now = state.life.clock.now();
    let usual = usual_gap(limits_now(state).max_age_days);
    let time = clock.look(now, state.life.clock.monotonic(), usual);
    state.pruning.keep_age_clock(clock);
    let ahead = now.since(time);
    if !ahead.is_zero() {
        tracing::warn!(
            ahead_seconds = ahead.as_secs(),
            "the clock went ahead: sessions do not grow older by that until it has stayed so for a day"
        );
    }
    // Without it the next daemon waits longer; that must not keep this one from making room.
    if let Err(error) = state.store.leave_note(AGE_CLOCK, clock.note()).await {
        tracing::warn!(%error, "the time by which sessions grow old was not noted");
    }
    Ok((time, ahead))
}

/// Removes what the limits do not keep, or only lists it.
async fn prune(
    state: &RetentionMethods,
    dry_run: bool,
    by: Option<String>,
) -> Result<PrunedSessions, RpcError> {
    let mut pruned = PrunedSessions::default();
    let limits = limits_now(state);
    if limits == RetentionLimits::default() {
        return Ok(pruned);
    }
    let (now, ahead) = time_of_age(state).await?;
    // Only age is a matter of the clock.
    let ahead = if limits.max_age_days.is_some() { ahead } else { Duration::ZERO };
    pruned.clock_ahead_ms = u64::try_from(ahead.as_millis()).unwrap_or(u64::MAX);
    let mut kept = KeptSessions {
        limits,
        now,
        count: state.store.session_count().await?,
        bytes: state.store.room().await?.used(),
    };
    let mut after = None;
    while !state.life.closing.is_cancelled() {
        let found = state.store.pruning_candidates(after.as_ref(), 1).await?.pop();
        let Some((candidate, reason)) = found.and_then(|it| kept.reason(&it).map(|reason| (it, reason)))
        else {
            break;
        };
        after = Some(candidate.clone());
        let (events, bytes) = state.store.session_weight(&candidate.session).await?;
        let outcome = match dry_run {
            true if is_open(state, &candidate.session) => PruneOutcome::Attached,
            true => PruneOutcome::Gone(None),
            false => prune_one(state, &candidate, reason, by.clone()).await?,
        };
        match outcome {
            PruneOutcome::Gone(seq) => pruned.seq = seq.or(pruned.seq),
            PruneOutcome::Attached => {
                pruned.attached += 1;
                continue;
            }
            PruneOutcome::InUse => continue,
        }
        kept.count = kept.count.saturating_sub(1);
        kept.bytes = match (dry_run, limits.max_bytes) {
            // How many pages that frees shows when they are free.
            (false, Some(_)) => {
                sweep(state).await?;
                state.store.room().await?.used()
            }
            _ => kept.bytes.saturating_sub(bytes),
        };
        if pruned.sessions.len() < MOST_LISTED {
            let PruningCandidate { session, title, last_active } = candidate;
            pruned.sessions.push(PrunedSession {
                session_id: session,
                title,
                last_active_at: last_active,
                events,
                bytes,
                reason,
            });
        } else {
            pruned.more += 1;
        }
    }
    Ok(pruned)
}

/// Takes away what deleted sessions left.
async fn sweep(state: &RetentionMethods) -> Result<(), StoreError> {
    while !state.life.closing.is_cancelled() && state.store.remove_piece().await? {}
    Ok(())
}

/// Gives empty pages back to the disk.
async fn give_back(state: &RetentionMethods) -> Result<(), StoreError> {
    while !state.life.closing.is_cancelled() && state.store.give_back_piece().await? {}
    Ok(())
}

/// The fate of a session that was to be pruned.
enum PruneOutcome {
    /// It is gone, and this event says so; `None` = it would be gone.
    Gone(Option<EventSeq>),
    /// It stays: somebody is attached to it.
    Attached,
    /// It stays: it was used since, or somebody else removed it.
    InUse,
}

/// Removes a session that was idle for too long, unless it is not any more.
async fn prune_one(
    state: &RetentionMethods,
    candidate: &PruningCandidate,
    reason: PruningReason,
    by: Option<String>,
) -> Result<PruneOutcome, RpcError> {
    let session = &candidate.session;
    // From here on no run begins in it.
    let _bar = state.executor.bar(session).await;
    let _turn = turn(&state.executor).await?;
    if is_open(state, session) {
        return Ok(PruneOutcome::Attached);
    }
    match state.store.session(session).await? {
        Some(summary) if summary.last_active_at == candidate.last_active => (),
        _ => return Ok(PruneOutcome::InUse),
    }
    match remove(&state.sessions, session, by, Some(reason)).await {
        Ok(removed) => Ok(PruneOutcome::Gone(Some(removed.seq))),
        Err(error) if error.data.kind == ErrorKind::Busy => Ok(PruneOutcome::InUse),
        Err(error) => Err(error),
    }
}

//! `session/undo`: files become what they were before calls changed them (spec 05, "Undo").

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use serde_json::json;

use super::{
    super::rpc::{MethodHandlers, RpcCaller},
    by, internal,
    lookup::session,
    observers::may_change,
    sessions::{event, turn},
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
};
use protocol::{
    CallDetails, CallId, CallState, DISCOVERED_PREFIX, ErrorKind, EventBody, EventSeq, FileChanged,
    FileRestored, NotRestorable, RpcError, SchemaViolation, SessionId, SessionUndo, SessionUndoParams,
    SessionUndoResult, ToolKind, ToolName,
};
use run::RunExecutor;
use store::{EventStore, LogFilter, StoredEvent};
use tools::{UndoError, UndoStore};

/// Events of the session that are read at once.
const PAGE: usize = 500;

/// The services that undoing uses.
pub(super) struct UndoMethods {
    pub life: Arc<DaemonLife>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, store, executor, clients, .. } = services.clone();
    let mut api = api.given(Arc::new(UndoMethods { life, store, executor, clients }));
    api.method::<SessionUndo, _, _>(undo);
}

async fn undo(
    state: Arc<UndoMethods>,
    caller: RpcCaller,
    params: SessionUndoParams,
) -> Result<SessionUndoResult, RpcError> {
    let SessionUndoParams { session_id, to_call_id, last_turn, force } = params;
    may_change(&state.clients, &caller, &session_id)?;
    let back_to = match (to_call_id, last_turn) {
        (Some(call), false) => UndoTarget::Call(call),
        (None, true) => UndoTarget::LastTurn,
        _ => {
            let message = "one of `toCallId` and `lastTurn` is needed, not both".to_owned();
            let violations =
                vec![SchemaViolation { pointer: "/toCallId".to_owned(), message: message.clone() }];
            return Err(RpcError::new(ErrorKind::InvalidParams, message)
                .with_details(json!({ "violations": violations })));
        }
    };
    let _turn = turn(&state.executor).await?;
    session(&state.store, &session_id).await?;
    let history = UndoHistory::read(&state, &session_id).await?;
    let plan = history.plan(&back_to)?;
    let store = state.executor.undo_store();
    let (of_session, changes) = (session_id.clone(), plan.changes);
    let undoing = move || restore(&store, &of_session, &changes, force);
    let (restored, stopped) = tokio::task::spawn_blocking(undoing)
        .await
        .map_err(|error| internal("the files could not be put back", &error))?;
    let events: Vec<_> = restored
        .iter()
        .map(|restored| event(state.life.clock.now(), &session_id, by(&caller), restored.clone()))
        .collect();
    let seq = match events.is_empty() {
        true => None,
        false => Some(state.store.append(events).await?.1),
    };
    match stopped {
        None => Ok(SessionUndoResult { session_id, restored, not_restorable: plan.not_restorable, seq }),
        Some(error) => Err(refused(&error, &restored)),
    }
}

/// How far back.
enum UndoTarget {
    Call(CallId),
    LastTurn,
}

/// What calls of a session did, in the order of the log.
struct UndoHistory {
    changes: Vec<UndoableChange>,
    calls: Vec<UndoableCall>,
}

struct UndoableChange {
    seq: EventSeq,
    prompt: Option<String>,
    changed: FileChanged,
    is_undone: bool,
}

/// A call that ran.
struct UndoableCall {
    id: CallId,
    first: EventSeq,
    prompt: Option<String>,
    name: ToolName,
    details: Option<CallDetails>,
    has_run: bool,
    /// A client answered it.
    is_lent: bool,
}

struct UndoPlan {
    /// Newest first.
    changes: Vec<FileChanged>,
    not_restorable: Vec<NotRestorable>,
}

impl UndoHistory {
    async fn read(state: &UndoMethods, session: &SessionId) -> Result<UndoHistory, RpcError> {
        let types =
            ["file.changed", "file.restored", "tool.state", "tool.clientCall"].map(str::to_owned).to_vec();
        let filter = LogFilter { types, sessions: vec![session.clone()], ..LogFilter::default() };
        let mut history = UndoHistory { changes: Vec::new(), calls: Vec::new() };
        let mut after = EventSeq(0);
        loop {
            let page = state.store.page(&filter, after, PAGE).await?;
            for stored in &page.events {
                history.add(stored)?;
            }
            if page.events.is_empty() || page.head <= page.searched_to {
                return Ok(history);
            }
            after = page.searched_to;
        }
    }

    fn add(&mut self, stored: &StoredEvent) -> Result<(), RpcError> {
        match stored.parse()? {
            Some(EventBody::FileChanged(changed)) => {
                let (seq, prompt) = (stored.seq, stored.prompt_id());
                self.changes.push(UndoableChange { seq, prompt, changed, is_undone: false });
            }
            Some(EventBody::FileRestored(restored)) => {
                let undone = |change: &&mut UndoableChange| change.changed.undo_id == restored.undo_id;
                self.changes.iter_mut().filter(undone).for_each(|change| change.is_undone = true);
            }
            Some(EventBody::ToolState(data)) => {
                match self.calls.iter_mut().rev().find(|it| it.id == data.call_id) {
                    Some(call) => {
                        call.details = data.details.or_else(|| call.details.take());
                        call.has_run |= data.to == CallState::Executing;
                    }
                    None => self.calls.push(UndoableCall {
                        id: data.call_id,
                        first: stored.seq,
                        prompt: stored.prompt_id(),
                        name: data.name,
                        details: data.details,
                        has_run: false,
                        is_lent: false,
                    }),
                }
            }
            Some(EventBody::ToolClientCall(data)) => {
                let lent = self.calls.iter_mut().rev().find(|call| call.id == data.call_id);
                lent.into_iter().for_each(|call| call.is_lent = true);
            }
            _ => (),
        }
        Ok(())
    }

    fn plan(self, back_to: &UndoTarget) -> Result<UndoPlan, RpcError> {
        let UndoHistory { changes, calls } = self;
        let (from, prompt) = match back_to {
            UndoTarget::Call(id) => {
                let call = calls.iter().find(|call| call.id == *id).ok_or_else(|| {
                    RpcError::new(ErrorKind::NotFound, format!("the session has no call {id}"))
                        .with_hint("`subagent show RUN` shows a run's calls; the whole id is needed")
                })?;
                (call.first, None)
            }
            UndoTarget::LastTurn => match changes.iter().rev().find(|change| !change.is_undone) {
                Some(last) => {
                    let of_turn = |change: &&UndoableChange| change.prompt == last.prompt;
                    let first = changes.iter().find(of_turn).map_or(last.seq, |change| change.seq);
                    (first, Some(last.prompt.clone()))
                }
                None => return Ok(UndoPlan { changes: Vec::new(), not_restorable: Vec::new() }),
            },
        };
        let is_meant = |change: &&UndoableChange| {
            let of_turn = prompt.as_ref().is_none_or(|prompt| change.prompt == *prompt);
            !change.is_undone && from <= change.seq && of_turn
        };
        let meant: Vec<&UndoableChange> = changes.iter().filter(is_meant).collect();
        let changed: HashSet<&CallId> = changes.iter().map(|change| &change.changed.call_id).collect();
        let is_beyond = |call: &&UndoableCall| {
            let name = call.name.as_str();
            let kind = call.details.as_ref().map(|details| details.kind);
            let changes = !matches!(kind, Some(ToolKind::Read | ToolKind::Search));
            let is_foreign =
                name.starts_with("mcp.") || name.starts_with(DISCOVERED_PREFIX) || (call.is_lent && changes);
            let is_command = kind == Some(ToolKind::Execute);
            // Also one that ran before the first change of the turn.
            let is_meant = from <= call.first || prompt.as_ref().is_some_and(|prompt| call.prompt == *prompt);
            call.has_run && is_meant && !changed.contains(&call.id) && (is_foreign || is_command)
        };
        let not_restorable = calls.iter().filter(is_beyond).map(|call| NotRestorable {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            reason: "what it changed is not known, so it cannot be taken back".to_owned(),
        });
        Ok(UndoPlan {
            not_restorable: not_restorable.collect(),
            changes: meant.iter().rev().map(|change| change.changed.clone()).collect(),
        })
    }
}

/// Puts back what can be, newest first. Nothing is touched when somebody changed one of the files since, unless it is
/// forced.
fn restore(
    store: &UndoStore,
    session: &SessionId,
    changes: &[FileChanged],
    force: bool,
) -> (Vec<FileRestored>, Option<UndoError>) {
    if !force && let Err(error) = look(store, session, changes) {
        return (Vec::new(), Some(error));
    }
    let mut restored = Vec::new();
    for change in changes {
        match store.restore(session, change, force) {
            Ok(done) => restored.push(FileRestored {
                call_id: change.call_id.clone(),
                path: done.path,
                undo_id: change.undo_id.clone(),
                forced: done.forced,
                removed: change.before.is_none(),
                moved_back_to: change.from.clone(),
            }),
            Err(error) => return (restored, Some(error)),
        }
    }
    (restored, None)
}

/// Whether each file is what the newest change left, and each older change is what a newer one found.
fn look(store: &UndoStore, session: &SessionId, changes: &[FileChanged]) -> Result<(), UndoError> {
    // What a file will be once the newer changes are undone.
    let mut then: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for change in changes {
        let path = change.path.as_str();
        let from = change.from.as_deref();
        let is_first = !then.contains_key(path) && from.is_none_or(|from| !then.contains_key(from));
        let now = store.now(session, change)?;
        let there = then.get(path).cloned().unwrap_or(now.there);
        let back = from.map(|from| then.get(from).cloned().unwrap_or(now.back));
        let is_there = there == change.after;
        let is_left = is_there && back.as_ref().is_none_or(Option::is_none);
        // What was put back by hand needs no undoing.
        let is_before = is_first
            && match &back {
                None => there == change.before,
                Some(back) => there.is_none() && *back == change.before,
            };
        if let (Some(from), true, false) = (from, is_there, is_left || is_before) {
            return Err(UndoError::Occupied { path: from.to_owned(), moved: path.to_owned() });
        }
        if !is_left && !is_before {
            let what = match (is_first, &there) {
                (true, None) => "it is there no more",
                (true, Some(_)) => "it is not what the call left",
                (false, _) => "it was changed between two of the calls",
            };
            return Err(UndoError::Conflict { path: path.to_owned(), what });
        }
        match from {
            Some(from) => {
                then.insert(path, None);
                then.insert(from, change.before.clone());
            }
            None => drop(then.insert(path, change.before.clone())),
        }
    }
    Ok(())
}

fn refused(error: &UndoError, restored: &[FileRestored]) -> RpcError {
    let (kind, hint) = match error {
        UndoError::Conflict { .. } | UndoError::Occupied { .. } => (
            ErrorKind::FileConflict,
            "nothing was undone; look at the file: `force` (`subagent undo --force`) undoes all of it, and what is there now is lost",
        ),
        UndoError::NotKept(_) | UndoError::Damaged(_) => (ErrorKind::Gone, "what it was is kept no more"),
        UndoError::Unreachable { .. } | UndoError::Failed(_) => {
            (ErrorKind::Conflict, "fix that, and undo again")
        }
    };
    RpcError::new(kind, error.to_string()).with_details(json!({ "restored": restored })).with_hint(hint)
}

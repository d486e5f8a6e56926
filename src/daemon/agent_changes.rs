//! Which agents came, went or changed since? Whoever follows the log is told, soon after a file was saved (spec 02, "Files are
//! watched").

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde::Serialize;
use tokio::sync::MutexGuard;

use super::{once::KeyToken, wire_errors::internal};
use crate::{daemon_life::DaemonLife, daemon_services::DaemonServices, workspace_sources::WorkspaceSources};
use agents::{AgentCatalog, AgentFileChanges};
use protocol::{
    AgentOrigin, AgentsChanged, AgentsReloadResult, ChangedAgent, EventBody, EventHead, EventSeq,
    PrivateEventFields, RpcError, WorkspaceTrusted,
};
use store::{EventStore, NewEvent};
use sys::folders::WatchWaker;
use trust::TrustRecords;

/// Files that are saved together are told together; and much less than the second within which a change is live.
const SETTLING: Duration = Duration::from_millis(100);

/// Agents listed in one event, and in one answer of each kind: nobody reads more, and an event stays a message's size.
const MOST_LISTED: usize = 1_000;

/// The services that tell of changes of agents' files.
#[derive(Clone)]
pub(super) struct AgentFileNews {
    life: Arc<DaemonLife>,
    store: EventStore,
    workspaces: Arc<WorkspaceSources>,
}

impl AgentFileNews {
    pub fn of(services: &DaemonServices) -> AgentFileNews {
        let DaemonServices { life, store, workspaces, .. } = services.clone();
        AgentFileNews { life, store, workspaces }
    }
}

/// Tells what changes until the daemon stops.
pub(super) async fn follow(state: AgentFileNews) {
    let library = state.workspaces.projects.agents();
    let alarm = match library.alarm() {
        Some(Ok(alarm)) => Some(alarm),
        Some(Err(error)) => {
            tracing::warn!(%error, "changes of agents' files are told only when somebody asks for agents");
            None
        }
        None => None,
    };
    // What is there at the start is no change.
    if let Err(error) = state.workspaces.project(Vec::new()).await {
        tracing::warn!(%error, "the agents could not be read");
    }
    loop {
        let is_any = tokio::select! {
            () = state.life.closing.cancelled() => return,
            () = rings(alarm.as_ref()) => library.take_notices(),
            () = library.met_changes() => true,
        };
        if !is_any {
            continue;
        }
        tokio::select! {
            () = state.life.closing.cancelled() => return,
            () = state.life.clock.sleep(SETTLING) => (),
        }
        // What could not be told now is told with the next change.
        if let Err(error) = tell(&state, None).await {
            tracing::warn!(error = error.message, "what changed of the agents could not be told");
        }
    }
}

async fn rings(alarm: Option<&WatchWaker>) {
    match alarm {
        Some(alarm) => {
            if let Err(error) = alarm.rings().await {
                tracing::warn!(%error, "agents' folders are not watched any more");
                std::future::pending::<()>().await;
            }
        }
        None => std::future::pending().await,
    }
}

/// Reads the files of the user and of a workspace with these folders anew, and tells what changed. Whoever asks may leave, but
/// what the log says is then known to be told.
pub(super) async fn reload(
    state: &AgentFileNews,
    roots: Vec<PathBuf>,
    by: Option<String>,
) -> Result<AgentsReloadResult, RpcError> {
    let reloading = state.clone();
    let whole = async move { reload_whole(&reloading, roots, by).await };
    let reloading = state.life.writing.spawn("the reading of agents' files", whole);
    reloading.await.map_err(|error| internal("the agents were not read anew", &error))?
}

async fn reload_whole(
    state: &AgentFileNews,
    roots: Vec<PathBuf>,
    by: Option<String>,
) -> Result<AgentsReloadResult, RpcError> {
    // Whatever is there at the first look is no change.
    let first = state.workspaces.project(roots.clone()).await;
    first.map_err(|error| internal("the agents could not be read", &error))?;
    state.workspaces.projects.agents().forget(&roots);
    let told = tell(state, by).await?;
    let mut result = AgentsReloadResult { seq: told.seq, ..AgentsReloadResult::default() };
    let asked = told.changes.into_iter().filter(|it| it.roots.is_empty() || it.roots == roots);
    for AgentFileChanges { added, changed, removed, .. } in asked {
        result.added.extend(added);
        result.changed.extend(changed);
        result.removed.extend(removed);
    }
    for list in [&mut result.added, &mut result.changed, &mut result.removed] {
        list.truncate(MOST_LISTED);
    }
    Ok(result)
}

struct PublishedChanges {
    changes: Vec<AgentFileChanges>,
    /// Of the last event.
    seq: Option<EventSeq>,
}

/// Appends what nobody was told of yet.
async fn tell(state: &AgentFileNews, by: Option<String>) -> Result<PublishedChanges, RpcError> {
    let _turn = turn(state).await;
    let changes = untold(state, state.workspaces.projects.trust()).await?;
    if changes.is_empty() {
        return Ok(PublishedChanges { changes, seq: None });
    }
    let events = changes.iter().map(|it| event(state, by.clone(), data(it))).collect();
    let (_, seq) = state.store.append(events).await?;
    for changes in &changes {
        state.workspaces.projects.agents().were_told(changes);
    }
    Ok(PublishedChanges { changes, seq: Some(seq) })
}

/// What a request brought in from elsewhere, and where to: the folders of a workspace, none for the user's.
pub(super) struct ImportProvenance {
    pub roots: Vec<PathBuf>,
    pub origin: AgentOrigin,
}

/// Whoever holds it alone tells of changes to agents' files: a file that is written under it is not taken for one that somebody else wrote.
pub(super) struct AgentChangesTurn<'a> {
    _guard: MutexGuard<'a, ()>,
}

/// Waits for the turn; it is taken after [`WorkspaceSources::trust_changes`].
pub(super) async fn turn(state: &AgentFileNews) -> AgentChangesTurn<'_> {
    AgentChangesTurn { _guard: state.workspaces.agent_changes.lock().await }
}

/// Tells what a request did to agents' files, in one transaction: what of a workspace counts as acknowledged by it, what
/// changed, and the answer under the request's key. `answer` is made of the agents as they are then, and of the last event,
/// if there is one. The caller holds [`WorkspaceSources::trust_changes`]. After an error the log knows of nothing.
pub(super) async fn settle<R: Serialize>(
    state: &AgentFileNews,
    by: Option<String>,
    acknowledged: Vec<WorkspaceTrusted>,
    (roots, origin): (&[PathBuf], Option<&ImportProvenance>),
    token: Option<KeyToken>,
    answer: impl Fn(&AgentCatalog, Option<EventSeq>) -> R,
    _: &AgentChangesTurn<'_>,
) -> Result<R, RpcError> {
    let mut trust = (*state.workspaces.projects.trust()).clone();
    acknowledged.iter().for_each(|said| trust.take(said));
    let trust = Arc::new(trust);
    let changes = untold(state, Arc::clone(&trust)).await?;
    let (projects, asked, trusting) = (state.workspaces.projects.clone(), roots.to_vec(), Arc::clone(&trust));
    let looking = tokio::task::spawn_blocking(move || projects.agents().catalog(&asked, &trusting));
    let catalog = looking.await.map_err(|error| internal("the agents could not be read", &error))?;
    let trusts = !acknowledged.is_empty();
    let mut events: Vec<NewEvent> =
        acknowledged.into_iter().map(|said| event(state, by.clone(), said)).collect();
    let of = |it: &AgentFileChanges| {
        let origin = origin.filter(|arrival| arrival.roots == it.roots);
        AgentsChanged { origin: origin.map(|arrival| arrival.origin.clone()), ..data(it) }
    };
    events.extend(changes.iter().map(|it| event(state, by.clone(), of(it))));
    let is_any = !events.is_empty();
    // Which one it will be the store knows first.
    let to_be_kept = answer(&catalog, is_any.then_some(EventSeq(0)));
    let keyed = token.map(|token| token.keyed(&to_be_kept, None));
    let (_, seq) = state.store.append_keyed(events, keyed).await?;
    if trusts {
        state.workspaces.projects.replace_trust((*trust).clone());
    }
    for changes in &changes {
        state.workspaces.projects.agents().were_told(changes);
    }
    Ok(answer(&catalog, is_any.then_some(seq)))
}

async fn untold(state: &AgentFileNews, trust: Arc<TrustRecords>) -> Result<Vec<AgentFileChanges>, RpcError> {
    let projects = state.workspaces.projects.clone();
    let untold = tokio::task::spawn_blocking(move || projects.agents().untold(&trust));
    untold.await.map_err(|error| internal("the agents could not be read", &error))
}

fn event(state: &AgentFileNews, by: Option<String>, body: impl Into<EventBody>) -> NewEvent {
    NewEvent {
        at: state.life.clock.now(),
        session: None,
        run: None,
        context: None,
        head: EventHead { by, ..EventHead::default() },
        body: body.into(),
        private: PrivateEventFields::default(),
    }
}

fn data(changes: &AgentFileChanges) -> AgentsChanged {
    let mut left = MOST_LISTED;
    let mut listed = |all: &[ChangedAgent]| {
        let some = &all[..all.len().min(left)];
        left -= some.len();
        some.to_vec()
    };
    let workspace = changes.roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
    let (added, changed, removed) =
        (listed(&changes.added), listed(&changes.changed), listed(&changes.removed));
    let all = changes.added.len() + changes.changed.len() + changes.removed.len();
    let n_listed = added.len() + changed.len() + removed.len();
    let more = u64::try_from(all - n_listed).unwrap_or(u64::MAX);
    AgentsChanged { workspace, added, changed, removed, more, origin: None }
}

//! What every handler can reach.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    clients::Clients,
    desk::{Desk, Tokens},
    discovery::Discoveries,
    feed::Receipts,
    mcp::Board,
    once::Once,
    reload::InForce,
    rpc::Load,
};
use crate::{
    config::Sources,
    project::{Project, Projects},
    protocol::{DaemonInfo, Timestamp},
    redact::{KnownSecrets, Redactor},
    rules::RulePlaces,
    run::Executor,
    store::Store,
    sys::{children::Children, clock::Clock, current::Current, tasks::Tasks},
    tools::{
        Commands, OwnFiles,
        mcp::{Servers, SignIns},
    },
    web::Web,
};

pub(super) struct State {
    pub store: Store,
    pub once: Once,
    /// What writes and must be brought to its end, whoever asked for it; waited for when the daemon stops.
    pub writing: Tasks,
    /// One permit, for whoever changes a session.
    pub session_changes: Semaphore,
    pub executor: Executor,
    /// What this daemon starts.
    pub children: Children,
    /// Which files are the daemon's own, or named by the settings.
    pub own_files: OwnFiles,
    /// Secrets that were read.
    pub secrets: KnownSecrets,
    /// What agents' commands are run with.
    pub commands: Arc<Commands>,
    /// What workspaces bring along, and what of it counts; the rules in force among it.
    pub projects: Projects,
    /// What their own commands told of tools.
    pub discoveries: Discoveries,
    /// Servers of the Model Context Protocol.
    pub servers: Servers,
    /// Those of them that are up or in trouble.
    pub servers_now: Board,
    /// Who signed in to them.
    pub sign_ins: SignIns,
    /// Held by whoever changes what is hidden, so that no token comes to light in between.
    pub hiding: std::sync::Mutex<()>,
    pub rule_places: RulePlaces,
    /// The database, artifacts, trash.
    pub state_dir: PathBuf,
    /// One permit, for whoever changes what people trust.
    pub trust_changes: Semaphore,
    /// One permit, for whoever tells what changed of the agents' files.
    pub agent_changes: Semaphore,
    /// One permit, for whoever fetches agents' files from elsewhere.
    pub fetches: Semaphore,
    /// The way into the web.
    pub web: Arc<Web>,
    /// Swapped whole when the settings are read anew.
    pub settings: Current<InForce>,
    /// Takes secrets out of whatever is going to be stored or shown; swapped with the settings.
    pub redactor: Arc<Current<Redactor>>,
    /// Who may connect besides the owner (setting `access.allowUids`); swapped with the settings.
    pub allowed_uids: Arc<Current<Vec<u32>>>,
    /// What settings are read from.
    pub sources: Arc<Sources>,
    /// One permit, for whoever reads the settings anew.
    pub reloads: Semaphore,
    /// One permit, for whoever has the daemon looked over.
    pub examinations: Semaphore,
    pub clock: Arc<dyn Clock>,
    pub started_at: Timestamp,
    /// The same moment on the monotonic clock.
    pub started: Duration,
    /// New at every start.
    pub instance: String,
    pub load: Arc<Load>,
    pub clients: Arc<Clients>,
    /// Who is asked what.
    pub desk: Desk,
    /// Answer questions for those who have no client.
    pub tokens: Arc<Tokens>,
    /// Where HTTP over TCP is served, if it is.
    pub tcp: OnceLock<SocketAddr>,
    /// The Unix socket that it listens on, if that is a file.
    pub socket: OnceLock<PathBuf>,
    pub receipts: Arc<Receipts>,
    /// Nothing new begins.
    pub closing: CancellationToken,
    /// Everything ends.
    pub stop: CancellationToken,
}

impl State {
    pub fn info(&self) -> DaemonInfo {
        DaemonInfo {
            name: "subagentd".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            instance: self.instance.clone(),
            log_id: self.store.log_id().to_owned(),
            started_at: self.started_at,
        }
    }

    /// What holds in a workspace, its agents among it. Reads files, so it leaves the async threads alone.
    pub async fn project(&self, roots: Vec<PathBuf>) -> Result<Arc<Project>, tokio::task::JoinError> {
        let projects = self.projects.clone();
        tokio::task::spawn_blocking(move || Arc::new(projects.load(&roots))).await
    }
}

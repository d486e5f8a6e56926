//! The servers of a daemon: which there are in which workspace, and how one gets at them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    origin::{ExtensionServerOrigin, ServerOrigin},
    rules::{ServerRules, digest_of},
    server::{McpHost, McpServerInstance, ReadyServer, ServerLease, ServerRecord, ServerState},
};
use crate::{CommandRuntime, ProgramLog, ServerCallWatch};
use config::server_sound;
use project::{Project, ProjectReader};
use protocol::{AgentName, ExtensionRef, McpServerConfig, McpServerTools, SandboxProfile};
use sys::{clock::Clock, current::HotSwap, tasks::TaskGroup};

mod agents;
mod extensions;
mod leaving;
mod owned;

pub use extensions::{ExtensionCheck, ExtensionServer};
pub use owned::RunServers;

/// Workspaces whose servers are remembered; of more, those that have none running are forgotten.
const MOST_WORKSPACES: usize = 256;

/// The servers of a daemon. A cheap handle.
#[derive(Clone)]
pub struct McpHub(Arc<McpHubInner>);

struct McpHubInner {
    commands: Arc<CommandRuntime>,
    projects: ProjectReader,
    program_log: ProgramLog,
    clock: Arc<dyn Clock>,
    tasks: TaskGroup,
    stop: CancellationToken,
    rules: HotSwap<ServerRules>,
    /// By canonical roots.
    workspaces: Mutex<BTreeMap<Vec<String>, McpWorkspace>>,
    /// Names that somebody has switched off.
    off: Mutex<BTreeSet<String>>,
    /// What nobody has been told yet.
    changes: Mutex<BTreeMap<ServerKey, ServerChange>>,
    has_changes: Notify,
    /// Counts how often any server told of other tools than before.
    edition: AtomicU64,
    /// The servers that extensions bring along.
    extensions: HotSwap<extensions::ExtensionServers>,
    extension_check: OnceLock<ExtensionCheck>,
    /// Those that runs have for themselves.
    owned: Mutex<Vec<Arc<McpServerInstance>>>,
}

/// Of a server: the workspace, the agent whose run has it for itself, its name.
type ServerKey = (Vec<String>, Option<AgentName>, String);

#[derive(Default)]
struct McpWorkspace {
    /// Its own, acknowledged ones.
    own: BTreeMap<String, McpServerConfig>,
    /// Those that its file names and nobody has acknowledged.
    unread: BTreeSet<String>,
    /// By name.
    known: BTreeMap<String, Arc<McpServerInstance>>,
}

/// A server stands otherwise than before, or has other tools.
#[derive(Clone)]
pub struct ServerChange {
    pub server: String,
    /// Whose run has it for itself.
    pub agent: Option<AgentName>,
    /// The extension that brings it along.
    pub extension: Option<ExtensionRef>,
    /// Canonical.
    pub roots: Vec<String>,
    pub state: ServerState,
    /// Its tools are others; they are in the state, if it is ready.
    pub tools: bool,
}

/// What a name means in a workspace.
pub enum ServerLookup {
    Server(Arc<McpServerInstance>),
    /// There is one, which is not used; why.
    Disabled(String),
    Blocked(String),
    Untrusted,
    Unknown,
}

/// One server, as those see it who ask for all.
pub struct ServerSnapshot {
    pub name: String,
    pub meaning: ServerLookup,
    pub state: ServerState,
    pub record: ServerRecord,
    pub complaints: String,
}

impl McpHost for McpHubInner {
    fn commands(&self) -> &CommandRuntime {
        &self.commands
    }

    fn projects(&self) -> &ProjectReader {
        &self.projects
    }

    fn program_log(&self) -> &ProgramLog {
        &self.program_log
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn tasks(&self) -> &TaskGroup {
        &self.tasks
    }

    fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    fn rules(&self) -> Arc<ServerRules> {
        self.rules.get()
    }

    fn extension_fault(&self, extension: &ExtensionRef, digest: &str) -> Option<String> {
        McpHubInner::extension_fault(self, extension, digest)
    }

    fn changed(&self, server: &McpServerInstance, tools: bool) {
        if tools {
            self.edition.fetch_add(1, Ordering::AcqRel);
        }
        let change = ServerChange {
            server: server.name.clone(),
            agent: server.origin.agent().cloned(),
            extension: server.origin.extension().cloned(),
            roots: server.roots.clone(),
            state: server.state(),
            tools,
        };
        // One for each server, so it is bounded by them; what runs have for themselves is told by agent.
        let mut changes = lock(&self.changes);
        let key = (change.roots.clone(), change.agent.clone(), change.server.clone());
        let tools = tools || changes.get(&key).is_some_and(|before| before.tools);
        changes.insert(key, ServerChange { tools, ..change });
        drop(changes);
        self.has_changes.notify_one();
    }
}

impl McpHub {
    /// Tasks that keep servers stand on `tasks`, and end with `stop`.
    pub fn new(
        (commands, projects, program_log): (Arc<CommandRuntime>, ProjectReader, ProgramLog),
        clock: Arc<dyn Clock>,
        (tasks, stop): (TaskGroup, CancellationToken),
        rules: ServerRules,
        off: BTreeSet<String>,
    ) -> McpHub {
        McpHub(Arc::new(McpHubInner {
            commands,
            projects,
            program_log,
            clock,
            tasks,
            stop,
            rules: HotSwap::new(rules),
            workspaces: Mutex::default(),
            off: Mutex::new(off),
            changes: Mutex::default(),
            has_changes: Notify::new(),
            edition: AtomicU64::new(1),
            extensions: HotSwap::new(BTreeMap::new()),
            extension_check: OnceLock::new(),
            owned: Mutex::default(),
        }))
    }

    /// Watches over the workspace while a server is at a call, if the server is a program that can write there in a sandbox. The error is why
    /// that cannot be.
    pub async fn watch_call(&self, server: &McpServerInstance) -> Result<Option<ServerCallWatch>, String> {
        let rules = self.0.rules.get().commands.clone().for_agent(server.origin.sandbox());
        let can_write = rules.confinement.profile == SandboxProfile::WorkspaceWrite;
        if !server.entry.is_program() || server.roots.is_empty() || !can_write {
            return Ok(None);
        }
        let roots: Vec<PathBuf> = server.roots.iter().map(PathBuf::from).collect();
        self.0.commands.watch_server_call(&roots).await.map(Some)
    }

    /// What happened since this was asked last; waits for something.
    pub async fn changes(&self) -> Vec<ServerChange> {
        loop {
            let changes = std::mem::take(&mut *lock(&self.0.changes));
            if !changes.is_empty() {
                return changes.into_values().collect();
            }
            self.0.has_changes.notified().await;
        }
    }

    /// The settings are others now. What they do not allow any more, or have otherwise, ends.
    pub fn configure(&self, rules: ServerRules) {
        self.0.rules.replace(rules);
        let all: Vec<Vec<String>> = lock(&self.0.workspaces).keys().cloned().collect();
        all.iter().for_each(|roots| self.sweep(roots));
        self.sweep_owned();
    }

    /// Takes note of what a workspace brings along.
    pub fn meet(&self, project: &Project) {
        let (is_new, is_other);
        {
            let mut workspaces = lock(&self.0.workspaces);
            is_new = !workspaces.contains_key(&project.roots);
            let workspace = room(&mut workspaces, &project.roots);
            let own = if project.is_trusted { project.settings.mcp_servers.clone() } else { BTreeMap::new() };
            is_other = workspace.own != own || workspace.unread != project.unread_servers;
            if is_other {
                workspace.own = own;
                workspace.unread = project.unread_servers.clone();
            }
        }
        if is_other {
            self.sweep(&project.roots);
        }
        if is_new {
            self.start_early(&project.roots);
        }
    }

    /// True if somebody looked at a workspace with this folder.
    pub fn has_met(&self, root: &str) -> bool {
        lock(&self.0.workspaces).keys().flatten().any(|known| known == root)
    }

    /// Nobody trusts this folder any more: what its settings name ends at once, in every workspace that has it, and so does
    /// what is started with its files.
    pub fn distrust(&self, root: &str) {
        let known: Vec<(Vec<String>, Vec<Arc<McpServerInstance>>)> = {
            let mut workspaces = lock(&self.0.workspaces);
            let touched = workspaces.iter_mut().filter(|(roots, _)| roots.iter().any(|it| it == root));
            let forget = |(roots, workspace): (&Vec<String>, &mut McpWorkspace)| {
                workspace.own.clear();
                (roots.clone(), workspace.known.values().cloned().collect())
            };
            touched.map(forget).collect()
        };
        for (roots, servers) in known {
            self.sweep(&roots);
            // Whether it is one of these is looked at when it begins.
            servers.iter().filter(|it| it.entry.is_program()).for_each(|it| it.look_again());
        }
        let owned: Vec<Arc<McpServerInstance>> = lock(&self.0.owned).clone();
        for server in owned.iter().filter(|it| it.roots.iter().any(|it| it == root)) {
            match server.origin {
                ServerOrigin::Agent { of_project: true, .. } => server.end(),
                _ => server.look_again(),
            }
        }
    }

    /// Ends what runs have for themselves and the settings do not allow any more.
    fn sweep_owned(&self) {
        let rules = self.0.rules.get();
        let owned: Vec<Arc<McpServerInstance>> = lock(&self.0.owned).clone();
        let is_unused = |it: &&Arc<McpServerInstance>| {
            self.unused(&rules, &it.name, &it.entry).is_some() || sounds_like(&rules, &it.name).is_some()
        };
        owned.iter().filter(is_unused).for_each(|it| it.end());
    }

    /// Starts those that are to be there as soon as somebody looks at the workspace.
    fn start_early(&self, roots: &[String]) {
        let rules = self.0.rules.get();
        for (name, _) in rules.servers.iter().filter(|(_, entry)| entry.auto_start) {
            if let ServerLookup::Server(server) = self.meaning(roots, name) {
                server.begin(&self.host());
            }
        }
    }

    /// Switches a server off, or on again, in every workspace.
    pub fn set_off(&self, name: &str, is_off: bool) -> BTreeSet<String> {
        let off = {
            let mut off = lock(&self.0.off);
            if is_off {
                off.insert(name.to_owned())
            } else {
                off.remove(name)
            };
            off.clone()
        };
        let all: Vec<Vec<String>> = lock(&self.0.workspaces).keys().cloned().collect();
        all.iter().for_each(|roots| self.sweep(roots));
        self.sweep_owned();
        off
    }

    /// What a name means in a workspace. Nothing is started.
    pub fn meaning(&self, roots: &[String], name: &str) -> ServerLookup {
        let rules = self.0.rules.get();
        let mut workspaces = lock(&self.0.workspaces);
        let workspace = room(&mut workspaces, roots);
        // The user's own goes first: what the user's rules allow a server must not come to another's of its name.
        let (entry, origin) = match (rules.servers.get(name), workspace.own.get(name)) {
            (Some(entry), _) => (entry.clone(), ServerOrigin::User),
            (None, Some(_)) if let Some(own) = sounds_like(&rules, name) => {
                let why = format!("your own settings name `{own}`, which rules cannot tell from it");
                return ServerLookup::Blocked(why);
            }
            (None, Some(entry)) => (entry.clone(), ServerOrigin::Project),
            (None, None) => match self.0.of_extension((&rules, workspace), name) {
                Some(Ok(found)) => found,
                Some(Err(why)) => return why,
                None if workspace.unread.contains(name) => return ServerLookup::Untrusted,
                None => return ServerLookup::Unknown,
            },
        };
        if let Some(why) = self.unused(&rules, name, &entry) {
            return why;
        }
        let digest = digest_of(name, &entry, &origin, roots);
        let is_it = |known: &&Arc<McpServerInstance>| known.digest == digest && known.origin == origin;
        let known = workspace.known.get(name).filter(is_it).cloned();
        ServerLookup::Server(known.unwrap_or_else(|| {
            let server = Arc::new(McpServerInstance::new((name, origin), roots, entry, digest));
            if let Some(before) = workspace.known.insert(name.to_owned(), Arc::clone(&server)) {
                before.end();
            }
            server
        }))
    }

    /// Why a server is not used that is there and trusted.
    fn unused(&self, rules: &ServerRules, name: &str, entry: &McpServerConfig) -> Option<ServerLookup> {
        if let Some(why) = rules.blocked(name) {
            return Some(ServerLookup::Blocked(why));
        }
        if lock(&self.0.off).contains(name) {
            let why = format!("it was switched off (`subagent mcp enable {name}`)");
            return Some(ServerLookup::Disabled(why));
        }
        entry.disabled.then(|| ServerLookup::Disabled("its entry says `disabled`".to_owned()))
    }

    /// Whether any settings that somebody looked at name such a server.
    pub fn is_known(&self, name: &str) -> bool {
        let workspaces = lock(&self.0.workspaces);
        let has = |it: &McpWorkspace| it.own.contains_key(name) || it.unread.contains(name);
        let is_of_extension = self.0.extensions.get().contains_key(name);
        self.0.rules.get().servers.contains_key(name) || is_of_extension || workspaces.values().any(has)
    }

    /// Every server that a workspace has, by name.
    pub fn names(&self, roots: &[String]) -> BTreeSet<String> {
        let rules = self.0.rules.get();
        let mut names: BTreeSet<String> = rules.servers.keys().cloned().collect();
        names.extend(self.0.extension_names());
        if let Some(workspace) = lock(&self.0.workspaces).get(roots) {
            names.extend(workspace.own.keys().chain(&workspace.unread).cloned());
        }
        names
    }

    /// Every server that a workspace has, as it is now, and then those that runs in it have for themselves.
    pub fn seen(&self, roots: &[String]) -> Vec<ServerSnapshot> {
        let seen = |name: String, meaning: ServerLookup| {
            let (state, record, complaints) = match &meaning {
                ServerLookup::Server(server) => (server.state(), server.record(), server.complaints()),
                _ => (ServerState::Idle, ServerRecord::default(), String::new()),
            };
            ServerSnapshot { name, meaning, state, record, complaints }
        };
        let owned: Vec<Arc<McpServerInstance>> =
            lock(&self.0.owned).iter().filter(|server| server.roots == roots).cloned().collect();
        let owned = owned.into_iter().map(|server| seen(server.name.clone(), ServerLookup::Server(server)));
        let shared = self.names(roots).into_iter().map(|name| {
            let meaning = self.meaning(roots, &name);
            seen(name, meaning)
        });
        shared.chain(owned).collect()
    }

    /// A server of which only is wanted what it told when it was started; it is started if it must be.
    async fn told_ready(
        &self,
        roots: &[String],
        name: &str,
    ) -> Result<(Arc<ReadyServer>, ServerLease, Arc<McpServerInstance>), String> {
        match self.meaning(roots, name) {
            ServerLookup::Server(server) => {
                let (ready, in_use) = server.ready(&self.host()).await?;
                Ok((ready, in_use, server))
            }
            ServerLookup::Disabled(why) | ServerLookup::Blocked(why) => Err(format!("it is not used: {why}")),
            ServerLookup::Untrusted => Err(
                "the workspace's own settings name it, which no person has acknowledged as they are (`subagent trust`)"
                    .to_owned(),
            ),
            ServerLookup::Unknown => Err("no settings name such a server".to_owned()),
        }
    }

    /// The servers of a workspace with the tools of those that are there; nothing is started.
    pub fn known(&self, project: &Project) -> Vec<McpServerTools> {
        self.meet(project);
        let known = |server: String| match self.meaning(&project.roots, &server) {
            ServerLookup::Server(it) => {
                let tools = match it.state() {
                    ServerState::Ready(ready) => ready.tools.to_vec(),
                    _ => Vec::new(),
                };
                let extension = it.origin.extension().cloned();
                let digest = it.digest.clone();
                Some(McpServerTools { server, digest, tools, away: None, own: None, extension })
            }
            _ => None,
        };
        self.names(&project.roots).into_iter().filter_map(known).collect()
    }

    /// Takes secrets out of what servers say.
    pub fn redacted(&self, text: String) -> String {
        self.0.rules.get().redactor.owned(text)
    }

    /// Starts it if it must be; hurries it if it waits.
    pub fn begin(&self, server: &Arc<McpServerInstance>) {
        server.hurry_if_waiting();
        server.begin(&self.host());
    }

    fn host(&self) -> Arc<dyn McpHost> {
        Arc::clone(&self.0) as Arc<dyn McpHost>
    }

    /// Ends what a workspace has no more, or otherwise.
    fn sweep(&self, roots: &[String]) {
        let known: Vec<(String, Arc<McpServerInstance>)> = match lock(&self.0.workspaces).get(roots) {
            Some(workspace) => {
                workspace.known.iter().map(|(name, it)| (name.clone(), Arc::clone(it))).collect()
            }
            None => return,
        };
        for (name, server) in known {
            let is_same = match self.meaning(roots, &name) {
                ServerLookup::Server(now) => Arc::ptr_eq(&now, &server),
                _ => false,
            };
            if !is_same {
                server.end();
            }
        }
    }
}

/// The user's server whose rules would be this one's, too.
fn sounds_like<'a>(rules: &'a ServerRules, name: &str) -> Option<&'a String> {
    rules.servers.keys().chain(&rules.faulty).find(|own| server_sound(own) == server_sound(name))
}

/// What is known of a workspace. For another one those make room that have nothing running.
fn room<'a>(
    workspaces: &'a mut BTreeMap<Vec<String>, McpWorkspace>,
    roots: &[String],
) -> &'a mut McpWorkspace {
    if MOST_WORKSPACES <= workspaces.len() && !workspaces.contains_key(roots) {
        let is_quiet = |it: &McpWorkspace| {
            it.known.values().all(|it| matches!(it.state(), ServerState::Idle | ServerState::Failed { .. }))
        };
        workspaces.retain(|_, workspace| !is_quiet(workspace));
    }
    workspaces.entry(roots.to_vec()).or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks, so a poisoned one is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

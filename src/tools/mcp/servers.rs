//! The servers of a daemon: which there are in which workspace, and how one gets at them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    rules::{ServerRules, digest_of},
    server::{Household, Ready, Record, Server, Standing, Use},
};
use crate::{
    project::Project,
    protocol::{AgentDefinition, McpServer, McpServerTools, ToolName},
    sys::{clock::Clock, current::Current},
    tools::{Commands, registry::entry_means_server},
};

/// Workspaces whose servers are remembered; of more, those that have none running are forgotten.
const MOST_WORKSPACES: usize = 256;

/// The servers of a daemon. A cheap handle.
#[derive(Clone)]
pub struct Servers(Arc<House>);

struct House {
    commands: Arc<Commands>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    stop: CancellationToken,
    rules: Current<ServerRules>,
    /// By canonical roots.
    workspaces: Mutex<BTreeMap<Vec<String>, Workspace>>,
    /// Names that somebody has switched off.
    off: Mutex<BTreeSet<String>>,
    /// What nobody has been told yet.
    changes: Mutex<BTreeMap<(Vec<String>, String), Change>>,
    has_changes: Notify,
}

#[derive(Default)]
struct Workspace {
    /// Its own, acknowledged ones.
    own: BTreeMap<String, McpServer>,
    /// Those that its file names and nobody has acknowledged.
    unread: BTreeSet<String>,
    /// By name.
    known: BTreeMap<String, Arc<Server>>,
}

/// A server stands otherwise than before, or has other tools.
#[derive(Clone)]
pub struct Change {
    pub server: String,
    /// Canonical.
    pub roots: Vec<String>,
    pub standing: Standing,
    /// Its tools are others; they are in the standing, if it is ready.
    pub tools: bool,
}

/// Where a server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    User,
    Project,
}

/// What a name means in a workspace.
pub enum Meaning {
    Server {
        server: Arc<Server>,
        origin: Origin,
    },
    /// There is one, which is not used; why.
    Disabled(String),
    Blocked(String),
    Untrusted,
    Unknown,
}

/// One server, as those see it who ask for all.
pub struct Seen {
    pub name: String,
    pub meaning: Meaning,
    pub standing: Standing,
    pub record: Record,
    pub complaints: String,
}

impl Household for House {
    fn commands(&self) -> &Commands {
        &self.commands
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    fn rules(&self) -> Arc<ServerRules> {
        self.rules.get()
    }

    fn changed(&self, server: &Server, tools: bool) {
        let change = Change {
            server: server.name.clone(),
            roots: server.roots.clone(),
            standing: server.standing(),
            tools,
        };
        // One for each server, so it is bounded by them.
        let mut changes = lock(&self.changes);
        let key = (change.roots.clone(), change.server.clone());
        let tools = tools || changes.get(&key).is_some_and(|before| before.tools);
        changes.insert(key, Change { tools, ..change });
        drop(changes);
        self.has_changes.notify_one();
    }
}

impl Servers {
    /// Tasks that keep servers stand on `tasks`, and end with `stop`.
    pub fn new(
        commands: Arc<Commands>,
        clock: Arc<dyn Clock>,
        (tasks, stop): (TaskTracker, CancellationToken),
        rules: ServerRules,
        off: BTreeSet<String>,
    ) -> Servers {
        Servers(Arc::new(House {
            commands,
            clock,
            tasks,
            stop,
            rules: Current::new(rules),
            workspaces: Mutex::default(),
            off: Mutex::new(off),
            changes: Mutex::default(),
            has_changes: Notify::new(),
        }))
    }

    /// What happened since this was asked last; waits for something.
    pub async fn changes(&self) -> Vec<Change> {
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
    }

    /// Takes note of what a workspace brings along.
    pub fn meet(&self, project: &Project) {
        let (is_new, is_other);
        {
            let mut workspaces = lock(&self.0.workspaces);
            if MOST_WORKSPACES <= workspaces.len() && !workspaces.contains_key(&project.roots) {
                let is_quiet = |it: &Workspace| {
                    it.known
                        .values()
                        .all(|it| matches!(it.standing(), Standing::Idle | Standing::Failed { .. }))
                };
                workspaces.retain(|_, workspace| !is_quiet(workspace));
            }
            is_new = !workspaces.contains_key(&project.roots);
            let workspace = workspaces.entry(project.roots.clone()).or_default();
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

    /// Starts those that are to be there as soon as somebody looks at the workspace.
    fn start_early(&self, roots: &[String]) {
        let rules = self.0.rules.get();
        for (name, _) in rules.servers.iter().filter(|(_, entry)| entry.auto_start) {
            if let Meaning::Server { server, .. } = self.meaning(roots, name) {
                server.begin(&self.household());
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
        off
    }

    /// What a name means in a workspace. Nothing is started.
    pub fn meaning(&self, roots: &[String], name: &str) -> Meaning {
        let rules = self.0.rules.get();
        let mut workspaces = lock(&self.0.workspaces);
        let workspace = workspaces.entry(roots.to_vec()).or_default();
        // The user's own goes first: what the user's rules allow a server must not come to another's of its name.
        let (entry, origin) = match (rules.servers.get(name), workspace.own.get(name)) {
            (Some(entry), _) => (entry.clone(), Origin::User),
            (None, Some(entry)) => (entry.clone(), Origin::Project),
            (None, None) if workspace.unread.contains(name) => return Meaning::Untrusted,
            (None, None) => return Meaning::Unknown,
        };
        if let Some(why) = rules.blocked(name) {
            return Meaning::Blocked(why);
        }
        if lock(&self.0.off).contains(name) {
            return Meaning::Disabled(format!("it was switched off (`subagent mcp enable {name}`)"));
        }
        if entry.disabled {
            return Meaning::Disabled("its entry says `disabled`".to_owned());
        }
        let digest = digest_of(name, &entry);
        let known = workspace.known.get(name).filter(|known| known.digest == digest).cloned();
        let server = known.unwrap_or_else(|| {
            let server = Arc::new(Server::new(name, roots, entry, digest));
            if let Some(before) = workspace.known.insert(name.to_owned(), Arc::clone(&server)) {
                before.end();
            }
            server
        });
        Meaning::Server { server, origin }
    }

    /// Whether any settings that somebody looked at name such a server.
    pub fn is_known(&self, name: &str) -> bool {
        let workspaces = lock(&self.0.workspaces);
        let has = |it: &Workspace| it.own.contains_key(name) || it.unread.contains(name);
        self.0.rules.get().servers.contains_key(name) || workspaces.values().any(has)
    }

    /// Every server that a workspace has, by name.
    pub fn names(&self, roots: &[String]) -> BTreeSet<String> {
        let rules = self.0.rules.get();
        let mut names: BTreeSet<String> = rules.servers.keys().cloned().collect();
        if let Some(workspace) = lock(&self.0.workspaces).get(roots) {
            names.extend(workspace.own.keys().chain(&workspace.unread).cloned());
        }
        names
    }

    /// Every server that a workspace has, as it is now.
    pub fn seen(&self, roots: &[String]) -> Vec<Seen> {
        let seen = |name: String| {
            let meaning = self.meaning(roots, &name);
            let (standing, record, complaints) = match &meaning {
                Meaning::Server { server, .. } => (server.standing(), server.record(), server.complaints()),
                _ => (Standing::Idle, Record::default(), String::new()),
            };
            Seen { name, meaning, standing, record, complaints }
        };
        self.names(roots).into_iter().map(seen).collect()
    }

    /// A server to be used; it is started if it must be. What keeps it from being used is told in words.
    pub async fn ready(
        &self,
        roots: &[String],
        name: &str,
    ) -> Result<(Arc<Ready>, Use, Arc<Server>), String> {
        match self.meaning(roots, name) {
            Meaning::Server { server, .. } => {
                let (ready, in_use) = server.ready(&self.household()).await?;
                Ok((ready, in_use, server))
            }
            Meaning::Disabled(why) | Meaning::Blocked(why) => Err(format!("it is not used: {why}")),
            Meaning::Untrusted => Err(
                "the workspace's own settings name it, which no person has acknowledged as they are (`subagent trust`)"
                    .to_owned(),
            ),
            Meaning::Unknown => Err("no settings name such a server".to_owned()),
        }
    }

    /// The tools of the servers that an agent may use, which are started if they must be. One that is away is told with why.
    pub async fn for_agent(
        &self,
        definition: &AgentDefinition,
        project: &Project,
        excluded: &[ToolName],
    ) -> Vec<McpServerTools> {
        self.meet(project);
        let wanted = wanted(definition, &self.names(&project.roots), excluded);
        join_all(wanted.into_iter().map(|name| self.tools(&project.roots, name))).await
    }

    async fn tools(&self, roots: &[String], name: String) -> McpServerTools {
        match self.ready(roots, &name).await {
            Ok((ready, _use, server)) => McpServerTools {
                server: name,
                digest: server.digest.clone(),
                tools: ready.tools.to_vec(),
                away: None,
            },
            Err(why) => McpServerTools {
                server: name,
                digest: String::new(),
                tools: Vec::new(),
                away: Some(self.0.rules.get().redactor.owned(why)),
            },
        }
    }

    /// The servers of a workspace with the tools of those that are there; nothing is started.
    pub fn known(&self, project: &Project) -> Vec<McpServerTools> {
        self.meet(project);
        let known = |server: String| match self.meaning(&project.roots, &server) {
            Meaning::Server { server: it, .. } => {
                let tools = match it.standing() {
                    Standing::Ready(ready) => ready.tools.to_vec(),
                    _ => Vec::new(),
                };
                Some(McpServerTools { server, digest: it.digest.clone(), tools, away: None })
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
    pub fn begin(&self, server: &Arc<Server>) {
        server.hurry_if_waiting();
        server.begin(&self.household());
    }

    fn household(&self) -> Arc<dyn Household> {
        Arc::clone(&self.0) as Arc<dyn Household>
    }

    /// Ends what a workspace has no more, or otherwise.
    fn sweep(&self, roots: &[String]) {
        let known: Vec<(String, Arc<Server>)> = match lock(&self.0.workspaces).get(roots) {
            Some(workspace) => {
                workspace.known.iter().map(|(name, it)| (name.clone(), Arc::clone(it))).collect()
            }
            None => return,
        };
        for (name, server) in known {
            let is_same = match self.meaning(roots, &name) {
                Meaning::Server { server: now, .. } => Arc::ptr_eq(&now, &server),
                _ => false,
            };
            if !is_same {
                server.end();
            }
        }
    }
}

/// The servers whose tools an agent may use, by name (spec 02, "Tool filtering").
fn wanted(definition: &AgentDefinition, names: &BTreeSet<String>, excluded: &[ToolName]) -> BTreeSet<String> {
    let tools = &definition.tools;
    let means = |entries: &[ToolName], name: &str| {
        entries.iter().any(|entry| entry_means_server(entry.as_str(), name))
    };
    let listed = definition.mcp.servers.as_deref();
    let mut wanted: BTreeSet<String> = match (&tools.allow, listed) {
        (Some(allow), _) => names.iter().filter(|name| means(allow, name)).cloned().collect(),
        (None, Some(listed)) => listed.iter().cloned().collect(),
        (None, None) => BTreeSet::new(),
    };
    // One that nobody configured is told.
    wanted.extend(listed.into_iter().flatten().filter(|name| !names.contains(*name)).cloned());
    if tools.inherits && listed.is_none() {
        wanted.extend(names.iter().cloned());
    }
    // One of which every tool is kept from it is of no use.
    let is_all = |entry: &ToolName, name: &str| {
        entry.as_str() == format!("mcp.{name}.*") || entry.as_str() == "mcp.*.*"
    };
    wanted.retain(|name| !tools.deny.iter().chain(excluded).any(|entry| is_all(entry, name)));
    wanted
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks, so a poisoned one is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

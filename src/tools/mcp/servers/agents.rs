//! Which servers do an agent's runs have, of the workspace's and of its own?

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
};

use futures_util::future::{join, join_all};

use super::{McpHub, McpServerInstance, RunServers, ServerLookup, ServerState};
use crate::{
    mcp::{
        origin::ServerOrigin,
        rules::digest_of,
        server::{comparisons, program_name},
    },
    spellings::entry_means_server,
    work,
};
use config::server_sound;
use project::Project;
use protocol::{AgentDefinition, McpServerConfig, McpServerTools, NotedProgram, ToolName};

impl McpHub {
    /// The tools of the servers that an agent may use, which are started if they must be. One that is away is told with why.
    /// Its own live as long as somebody has what is answered.
    pub async fn for_agent(
        &self,
        definition: &AgentDefinition,
        project: &Project,
        excluded: &[ToolName],
    ) -> (Vec<McpServerTools>, RunServers) {
        self.meet(project);
        let names = self.names(&project.roots);
        let (own, shared): (BTreeSet<String>, BTreeSet<String>) = wanted(definition, &names, excluded)
            .into_iter()
            .partition(|name| definition.mcp.own.contains_key(name));
        let is_free = |name: &&String| !names.iter().any(|it| server_sound(it) == server_sound(name));
        let usable: BTreeSet<String> = own.iter().filter(is_free).cloned().collect();
        let owned = self.own(definition, &usable, project);
        let shared = join_all(shared.into_iter().map(|name| self.tools(&project.roots, name)));
        let own = join_all(own.into_iter().map(|name| {
            let entry = definition.mcp.own.get(&name).cloned();
            self.own_tools(name, entry, &names, &owned)
        }));
        let (mut told, own) = join(shared, own).await;
        told.extend(own);
        (told, owned)
    }

    /// Those that a run of this agent has for itself; none is started.
    fn own(&self, definition: &AgentDefinition, wanted: &BTreeSet<String>, project: &Project) -> RunServers {
        let entries =
            wanted.iter().filter_map(|name| Some((name.clone(), definition.mcp.own.get(name)?.clone())));
        RunServers::new(self, entries, definition, project)
    }

    /// Those of a run that is taken up, as it keeps them.
    pub fn kept<'a>(
        &self,
        kept: impl Iterator<Item = &'a McpServerTools>,
        definition: &AgentDefinition,
        project: &Project,
    ) -> RunServers {
        let redactor = self.0.rules.get().redactor.clone();
        let hidden = |entry: &McpServerConfig| {
            let mut entry = entry.clone();
            entry.hide(&|text| redactor.owned(text));
            entry
        };
        let is_agent = |it: &&Arc<AgentDefinition>| it.name == definition.name;
        let entries = kept.filter_map(|it| {
            let kept = it.own.clone()?;
            // The log keeps no secret; the agent's file may still have it.
            let now =
                project.catalog.definitions().find(is_agent).and_then(|it2| it2.mcp.own.get(&it.server));
            let entry = now.filter(|now| hidden(now) == kept).cloned().unwrap_or(kept);
            Some((it.server.clone(), entry))
        });
        RunServers::new(self, entries, definition, project)
    }

    async fn tools(&self, roots: &[String], name: String) -> McpServerTools {
        match self.told_ready(roots, &name).await {
            Ok((ready, _use, server)) => McpServerTools {
                server: name,
                digest: server.digest.clone(),
                tools: ready.tools.to_vec(),
                away: None,
                own: None,
                extension: server.origin.extension().cloned(),
            },
            Err(why) => self.away(name, why, None),
        }
    }

    async fn own_tools(
        &self,
        name: String,
        entry: Option<McpServerConfig>,
        settings: &BTreeSet<String>,
        owned: &RunServers,
    ) -> McpServerTools {
        // What the user's rules allow a server must not come to another one of its name.
        if settings.iter().any(|it| server_sound(it) == server_sound(&name)) {
            let why = "the settings have a server of this name, too; give the agent's own another one";
            return self.away(name, why.to_owned(), entry);
        }
        match self.ready_own(owned, &name).await {
            Ok((ready, _use, server)) => McpServerTools {
                server: name,
                digest: server.digest.clone(),
                tools: ready.tools.to_vec(),
                away: None,
                own: entry,
                extension: None,
            },
            Err(why) => self.away(name, why, entry),
        }
    }

    /// A server of a run's own, started if it must be.
    pub async fn ready_own(
        &self,
        owned: &RunServers,
        name: &str,
    ) -> Result<(Arc<super::ReadyServer>, super::ServerLease, Arc<McpServerInstance>), String> {
        let server = owned.server(name).ok_or("the run has none of this name for itself")?;
        // The settings may be others than when the run began.
        if let Some(own) = super::sounds_like(&self.0.rules.get(), name) {
            return Err(format!("your own settings name `{own}` now, which rules cannot tell from it"));
        }
        match self.unused(&self.0.rules.get(), name, &server.entry) {
            Some(ServerLookup::Disabled(why) | ServerLookup::Blocked(why)) => {
                Err(format!("it is not used: {why}"))
            }
            _ => {
                let (ready, in_use) = server.ready(&self.host()).await?;
                Ok((ready, in_use, server))
            }
        }
    }

    fn away(&self, server: String, why: String, own: Option<McpServerConfig>) -> McpServerTools {
        let (digest, tools, away) = (String::new(), Vec::new(), Some(self.redacted(why)));
        McpServerTools { server, digest, tools, away, own, extension: None }
    }

    /// Another number whenever any server tells of other tools.
    pub fn edition(&self) -> u64 {
        self.0.edition.load(Ordering::Acquire)
    }

    /// What a server tells now that a run has; as before while it is away, or is another one.
    pub fn told_now(&self, told: &McpServerTools, roots: &[String], owned: &RunServers) -> McpServerTools {
        let server = match &told.own {
            Some(_) => owned.server(&told.server),
            None => match self.meaning(roots, &told.server) {
                ServerLookup::Server(server) => Some(server),
                _ => None,
            },
        };
        let is_it = |it: &Arc<McpServerInstance>| told.digest.is_empty() || it.digest == told.digest;
        let Some(server) = server.filter(is_it) else {
            return match &told.extension {
                // A person took it away, and that counts from the next turn on.
                Some(extension) => McpServerTools {
                    tools: Vec::new(),
                    away: Some(format!("the extension {} is off, or another one", extension.name)),
                    ..told.clone()
                },
                None => told.clone(),
            };
        };
        match server.state() {
            ServerState::Ready(ready) if *ready.tools != *told.tools => McpServerTools {
                digest: server.digest.clone(),
                tools: ready.tools.to_vec(),
                away: None,
                ..told.clone()
            },
            _ => told.clone(),
        }
    }
}

impl McpHub {
    /// The servers of the user's own that were started with files of workspaces, as they were noted and as they are.
    pub async fn noted_programs(&self) -> Vec<NotedProgram> {
        let host = self.host();
        let mut servers = self.0.rules.get().servers.clone();
        let projects = host.projects().clone();
        let project = work::aside(move || projects.load(&[])).await;
        for definition in project.catalog.definitions() {
            let own = definition.mcp.own.iter();
            let named = |(name, entry): (&String, &McpServerConfig)| {
                (program_name(Some(&definition.name), name), entry.clone())
            };
            servers.extend(own.map(named));
        }
        comparisons(&host, &servers).await
    }
}

impl RunServers {
    fn new(
        servers: &McpHub,
        entries: impl Iterator<Item = (String, McpServerConfig)>,
        definition: &AgentDefinition,
        project: &Project,
    ) -> RunServers {
        let origin = ServerOrigin::Agent {
            agent: definition.name.clone(),
            of_project: project.catalog.of_project().any(|agent| *agent.name == definition.name),
            sandbox: definition.sandbox,
        };
        let server = |(name, entry): (String, McpServerConfig)| {
            let digest = digest_of(&name, &entry, &origin, &project.roots);
            let server = McpServerInstance::new((&name, origin.clone()), &project.roots, entry, digest);
            (name, Arc::new(server))
        };
        RunServers::of(servers, entries.map(server).collect::<BTreeMap<_, _>>())
    }
}

/// The servers whose tools an agent may use, by name (spec 02, "Tool filtering").
fn wanted(definition: &AgentDefinition, names: &BTreeSet<String>, excluded: &[ToolName]) -> BTreeSet<String> {
    let tools = &definition.tools;
    let means = |entries: &[ToolName], name: &str| {
        entries.iter().any(|entry| entry_means_server(entry.as_str(), name))
    };
    let listed = definition.mcp.servers.as_deref();
    let own = definition.mcp.own.keys();
    let mut wanted: BTreeSet<String> = match (&tools.allow, listed) {
        (Some(allow), _) => names.iter().chain(own).filter(|name| means(allow, name)).cloned().collect(),
        (None, Some(listed)) => listed.iter().cloned().collect(),
        (None, None) => BTreeSet::new(),
    };
    // One that nobody configured is told.
    let is_unknown = |name: &&String| !names.contains(*name) && !definition.mcp.own.contains_key(*name);
    wanted.extend(listed.into_iter().flatten().filter(is_unknown).cloned());
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

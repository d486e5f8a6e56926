//! The tools from elsewhere that a run has beside the daemon's own and its agents.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{
    ClientToolRegistry, Tool, discovered, lent,
    mcp::{self, McpHub, RunServers},
    spellings::entry_means_server,
};
use protocol::{DiscoveryCommands, ForeignTools, McpServerTools, ToolName};
use redact::Redactor;

/// Ready to be called. Cheap to clone.
#[derive(Clone, Default)]
pub struct ForeignToolset {
    told: Arc<ForeignTools>,
    /// The servers that the run has for itself: they end with it.
    owned: RunServers,
    tools: Arc<[Arc<dyn Tool>]>,
    /// Where the servers are looked for; `None` = there are none.
    served: Option<McpToolSource>,
}

#[derive(Clone)]
struct McpToolSource {
    servers: McpHub,
    /// Of the workspace, canonical.
    roots: Arc<[String]>,
    /// The edition of the servers' tools at which these were still what they tell.
    looked_at: Arc<AtomicU64>,
}

impl ForeignToolset {
    /// `roots`: of the workspace, canonical.
    pub fn new(
        told: ForeignTools,
        owned: RunServers,
        lenders: &ClientToolRegistry,
        (servers, roots): (&McpHub, &[String]),
    ) -> ForeignToolset {
        let discovered = told.discovered.iter().flat_map(discovered::tools);
        let served = told.mcp.iter().flat_map(|it| mcp::tools(it, roots, (servers, &owned)));
        let lent = told.lent.iter().filter_map(|tool| lent::tool(tool, lenders));
        let tools: Vec<Arc<dyn Tool>> = discovered.chain(served).chain(lent).collect();
        let served = (!told.mcp.is_empty()).then(|| McpToolSource {
            servers: servers.clone(),
            roots: roots.into(),
            // Before anything that they could have been told.
            looked_at: Arc::default(),
        });
        ForeignToolset { told: Arc::new(told), owned, tools: tools.into(), served }
    }

    pub fn has_servers(&self) -> bool {
        self.served.is_some()
    }

    /// What the servers tell now, if it is something else than these tools.
    pub fn served_now(&self) -> Option<Vec<McpServerTools>> {
        let McpToolSource { servers, roots, looked_at } = self.served.as_ref()?;
        let edition = servers.edition();
        if looked_at.load(Ordering::Acquire) == edition {
            return None;
        }
        let now: Vec<McpServerTools> =
            self.told.mcp.iter().map(|told| servers.told_now(told, roots, &self.owned)).collect();
        if now == self.told.mcp {
            looked_at.store(edition, Ordering::Release);
            return None;
        }
        Some(now)
    }

    /// Nothing that they tell now is wanted.
    pub fn is_as_told(&self) {
        if let Some(McpToolSource { servers, looked_at, .. }) = &self.served {
            looked_at.store(servers.edition(), Ordering::Release);
        }
    }

    /// The same servers with what they tell now.
    #[must_use]
    pub fn with_other_tools(&self, mcp: Vec<McpServerTools>, lenders: &ClientToolRegistry) -> ForeignToolset {
        let Some(McpToolSource { servers, roots, .. }) = &self.served else { return self.clone() };
        let told = ForeignTools { mcp, ..(*self.told).clone() };
        ForeignToolset::new(told, self.owned.clone(), lenders, (servers, roots))
    }

    /// The same for another agent, which uses other servers.
    #[must_use]
    pub fn with_servers(
        &self,
        (mcp, owned): (Vec<McpServerTools>, RunServers),
        lenders: &ClientToolRegistry,
        served: (&McpHub, &[String]),
    ) -> ForeignToolset {
        ForeignToolset::new(ForeignTools { mcp, ..(*self.told).clone() }, owned, lenders, served)
    }

    /// Why servers are away that the run asked for.
    pub fn away(&self) -> impl Iterator<Item = String> {
        let told = |it: &McpServerTools| {
            let why = it.away.as_ref()?;
            Some(format!("the tools of the MCP server `{}` are not there: {why}", it.server))
        };
        self.told.mcp.iter().filter_map(told)
    }

    /// Those that a run was planned with, taken up after a restart. What a command told is left out where that command is
    /// not in force any more, or may not run: `in_force` is `None` then.
    pub fn taken_up(
        (mut kept, owned): (ForeignTools, RunServers),
        in_force: Option<&DiscoveryCommands>,
        (lenders, redactor): (&ClientToolRegistry, &Redactor),
        served: (&McpHub, &[String]),
    ) -> ForeignToolset {
        let still =
            |kept: &DiscoveryCommands| in_force.filter(|it| without_secrets(it, redactor) == *kept).cloned();
        kept.discovered = kept.discovered.and_then(|told| {
            let commands = still(&told.commands)?;
            Some(protocol::DiscoveredTools { commands, ..told })
        });
        ForeignToolset::new(kept, owned, lenders, served)
    }

    /// Whether an entry of a list means a server that has not told its tools.
    pub fn may_have(&self, entry: &ToolName) -> bool {
        let means =
            |it: &McpServerTools| it.tools.is_empty() && entry_means_server(entry.as_str(), &it.server);
        self.told.mcp.iter().any(means)
    }

    /// As the log keeps them.
    pub fn kept(&self, redactor: &Redactor) -> ForeignTools {
        let mut kept = (*self.told).clone();
        if let Some(told) = &mut kept.discovered {
            told.commands = without_secrets(&told.commands, redactor);
        }
        for own in kept.mcp.iter_mut().filter_map(|it| it.own.as_mut()) {
            own.hide(&|text| redactor.owned(text));
        }
        kept
    }

    /// In the order of listings and declarations.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }
}

fn without_secrets(commands: &DiscoveryCommands, redactor: &Redactor) -> DiscoveryCommands {
    let hide = |text: &Option<String>| text.as_ref().map(|text| redactor.text(text).into_owned());
    DiscoveryCommands { discovery: hide(&commands.discovery), call: hide(&commands.call) }
}

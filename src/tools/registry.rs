//! Which tools are there, by which names, and which of them may an agent use? (spec 05 "Registry", 02 "Tool
//! filtering")

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use super::{ForeignToolset, Tool, builtin, spellings};
use protocol::{
    COMPLETE_TASK, ToolDeclaration, ToolName, ToolSelection, ToolSource, aliased_tool, default_tools,
};

#[cfg(test)]
mod tests;
mod toolset;

pub use toolset::{RunToolset, ToolLookup, ToolsetCall};

/// An entry of a list of tools that are not to be had, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolExclusion {
    pub entry: ToolName,
    /// For people, e.g. `the setting tools.exclude`.
    pub place: String,
}

/// Every tool, in the one order of listings and declarations.
#[derive(Clone)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
    warnings: Vec<String>,
}

impl ToolRegistry {
    /// The tools that are compiled in.
    pub fn built_in() -> ToolRegistry {
        ToolRegistry::with(Vec::new())
    }

    /// The built-in tools, then `extra` in their order. One of a known name takes the place of the known one,
    /// with a warning; `complete_task` belongs to the run and is not taken.
    pub fn with(extra: Vec<Arc<dyn Tool>>) -> ToolRegistry {
        let mut registry = ToolRegistry { tools: builtin::all(), warnings: Vec::new() };
        for tool in extra {
            let name = tool.declaration().name.clone();
            if name.as_str() == COMPLETE_TASK {
                registry.warnings.push(format!("a tool cannot be called `{COMPLETE_TASK}`; it was left out"));
                continue;
            }
            match registry.tools.iter_mut().find(|known| known.declaration().name == name) {
                Some(known) => {
                    *known = tool;
                    registry.warnings.push(format!("a second tool `{name}` took the place of the first"));
                }
                None => registry.tools.push(tool),
            }
        }
        registry
    }

    /// These tools, then this one of the daemon's own, which not every run has.
    #[must_use]
    pub fn with_own(&self, tool: Option<Arc<dyn Tool>>) -> ToolRegistry {
        let mut registry = self.clone();
        registry.tools.extend(tool);
        registry
    }

    /// These tools, then agents. One whose name a tool here goes by is left out, with a warning.
    #[must_use]
    pub fn with_agents(&self, agents: impl Iterator<Item = Arc<dyn Tool>>) -> ToolRegistry {
        let mut registry = self.clone();
        // Names of agents are each one's own, but for how they are spelled.
        let mut spelled = HashSet::new();
        for agent in agents {
            let name = agent.declaration().name.clone();
            let is_first = spelled.insert(name.as_str().replace('-', "_"));
            if !is_first || self.get(&name).is_some() || name.as_str() == COMPLETE_TASK {
                registry
                    .warnings
                    .push(format!("the agent `{name}` has the name of a tool; it cannot be called"));
            } else {
                registry.tools.push(agent);
            }
        }
        registry
    }

    /// These tools, then those from elsewhere. One whose name a tool here goes by is left out, with a warning.
    #[must_use]
    pub fn with_foreign(mut self, foreign: &ForeignToolset) -> ToolRegistry {
        for tool in foreign.tools() {
            let name = &tool.declaration().name;
            if self.get(name).is_some() || name.as_str() == COMPLETE_TASK {
                let source = tool.source().as_str();
                self.warnings
                    .push(format!("`{name}` ({source}) has the name of another tool; it cannot be called"));
            } else {
                self.tools.push(Arc::clone(tool));
            }
        }
        self
    }

    /// Whether a tool here goes by this name, or would if it were here: every alias belongs to a tool of ours.
    pub fn is_taken(&self, name: &ToolName) -> bool {
        self.get(name).is_some() || spellings::is_ours(name.as_str())
    }

    /// What was odd about the tools given.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The name that events and files carry for what a model or a user wrote. What is unknown stays.
    pub fn canonical(&self, name: &ToolName) -> ToolName {
        let text = name.as_str();
        if self.find(text).is_some() || text == COMPLETE_TASK {
            return name.clone();
        }
        if let Some(tool) = self.tools.iter().find(|tool| spellings::is_spelling(text, own_name(tool))) {
            return tool.declaration().name.clone();
        }
        // A tool that is not here, by an alias: the error then has its proper name.
        aliased_tool(text).map_or_else(|| name.clone(), ToolName::from)
    }

    /// The tool of this name or alias.
    pub fn get(&self, name: &ToolName) -> Option<&Arc<dyn Tool>> {
        self.find(self.canonical(name).as_str())
    }

    /// Every tool, in order; `complete_task` is the run's and not among them.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// Their declarations.
    pub fn list(&self) -> impl Iterator<Item = &ToolDeclaration> {
        self.tools.iter().map(|tool| tool.declaration())
    }

    /// The first of these that keeps a tool from every run, in the words of its rule.
    pub fn excluded_by(name: &ToolName, exclusions: &[ToolExclusion]) -> Option<String> {
        let is_meant = |it: &&ToolExclusion| spellings::entry_matches(it.entry.as_str(), name.as_str());
        exclusions.iter().find(is_meant).map(|it| format!("`{}` in {}", it.entry, it.place))
    }

    /// Why an entry of a list of tools that are not to be had keeps none from anybody; `None` for one that does. Tools of
    /// other sources come and go, so nothing is said of an entry for one of them.
    pub fn explain_idle(&self, entry: &ToolName) -> Option<String> {
        let entry = entry.as_str();
        let is_idle = !spellings::is_of_elsewhere(entry) && !spellings::entry_matches(entry, COMPLETE_TASK);
        let matches = |tool| spellings::entry_matches(entry, own_name(tool));
        (is_idle && !self.tools.iter().any(matches)).then(|| self.explain_unmatched(entry))
    }

    /// The tools that a definition allows. Entries that match nothing are told as warnings of the result.
    pub fn select(&self, selection: &ToolSelection) -> RunToolset {
        let mut unmatched = BTreeSet::new();
        let mut allowed: HashSet<&str> = match &selection.allow {
            None if selection.inherits => HashSet::new(),
            None => default_tools(selection.is_called).collect(),
            Some(entries) => self.matching(entries, spellings::entry_allows, &mut unmatched),
        };
        let of_listed = |name: &str| {
            let of =
                |server: &String| name.strip_prefix("mcp.")?.strip_prefix(server.as_str())?.strip_prefix('.');
            selection.servers.iter().any(|server| of(server).is_some())
        };
        let comes_along = |tool: &&Arc<dyn Tool>| match tool.source() {
            ToolSource::Agent => selection.agents,
            ToolSource::Mcp => selection.inherits || of_listed(own_name(tool)),
            ToolSource::Builtin | ToolSource::Discovered | ToolSource::Client => selection.inherits,
        };
        let coming_along = self.tools.iter().filter(comes_along).map(own_name);
        allowed.extend(coming_along.filter(|name| !spellings::is_only_by_name(name)));
        let mut idle = BTreeSet::new();
        let denied = self.matching(&selection.deny, spellings::entry_matches, &mut idle);
        unmatched.extend(idle.into_iter().filter(|entry| !spellings::is_of_elsewhere(entry)));
        let is_selected = |tool: &&Arc<dyn Tool>| {
            let name = own_name(tool);
            allowed.contains(name) && !denied.contains(name)
        };
        let selected = self.tools.iter().filter(is_selected).cloned().collect();
        let explain = |entry: &str| (Some(ToolName::from(entry)), self.explain_unmatched(entry));
        let warnings = unmatched.into_iter().map(explain).collect();
        RunToolset::new(self.clone(), selected, selection.deny.clone(), warnings)
    }

    /// Names of the tools that one of `entries` means, as `means` has it.
    fn matching<'a>(
        &'a self,
        entries: &'a [ToolName],
        means: impl Fn(&str, &str) -> bool,
        unmatched: &mut BTreeSet<&'a str>,
    ) -> HashSet<&'a str> {
        let mut matched = HashSet::new();
        for entry in entries.iter().map(ToolName::as_str) {
            let found: Vec<&str> =
                self.tools.iter().map(own_name).filter(|name| means(entry, name)).collect();
            if found.is_empty() && !means(entry, COMPLETE_TASK) {
                unmatched.insert(entry);
            }
            matched.extend(found);
        }
        matched
    }

    fn explain_unmatched(&self, entry: &str) -> String {
        if let Some(listed) = aliased_tool(entry).filter(|listed| *listed != entry) {
            return format!("`{entry}` means `{listed}`, which is not among the tools here");
        }
        let is_withheld =
            |name: &&str| spellings::entry_matches(entry, name) && spellings::is_only_by_name(name);
        if let Some(name) = self.tools.iter().map(own_name).find(is_withheld) {
            return format!(
                "`{entry}` matches no tool but `{name}`, which only those get who name it in full"
            );
        }
        let is_discovered = |tool: &Arc<dyn Tool>| tool.source() == ToolSource::Discovered;
        if entry.starts_with(spellings::DISCOVERED) && !self.tools.iter().any(is_discovered) {
            return format!(
                "`{entry}` matches no tool: no command told of any here (see tools.discoveryCommand, and `subagent tools`)"
            );
        }
        match self.nearest(entry) {
            Some(name) => format!("`{entry}` matches no tool; did you mean `{name}`?"),
            None => format!("`{entry}` matches no tool"),
        }
    }

    /// The known name nearest to a mistyped one.
    fn nearest(&self, text: &str) -> Option<&str> {
        super::nearest::nearest(text, self.tools.iter().map(own_name))
    }

    fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| own_name(tool) == name)
    }
}

fn own_name(tool: &Arc<dyn Tool>) -> &str {
    tool.declaration().name.as_str()
}

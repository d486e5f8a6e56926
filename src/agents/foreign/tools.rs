//! Which tools does a product's list mean? (spec 02, "Foreign files", rule 5)

use super::super::{
    definition::split_tools,
    fields,
    findings::FileFindings,
    narrow::{self, ToolListEntry},
    yaml::{YamlContent, YamlKey, YamlNode},
};
use protocol::{
    AgentFormat, AgentToolRule,
    FileProblemCode::{BadValue, UnknownTool, WrongType},
    ToolName, Verdict, listed_tool,
};

/// Entries of one list of tools at most: more is no list that somebody wrote.
const MOST_ENTRIES: usize = 1_000;

/// What a product calls tools that other tables do not know.
type ForeignToolTable = &'static [(&'static str, ForeignToolMeaning)];

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForeignToolMeaning {
    Tool(&'static str),
    /// Calling agents.
    Agents,
}

use ForeignToolMeaning::{Agents, Tool};

const CLAUDE: ForeignToolTable = &[
    ("Agent", Agents),
    ("AskUserQuestion", Tool("ask_user")),
    ("Bash", Tool("run_shell_command")),
    ("BashOutput", Tool("shell_output")),
    ("Edit", Tool("edit_file")),
    ("ExitPlanMode", Tool("present_plan")),
    ("Glob", Tool("glob")),
    ("Grep", Tool("grep")),
    ("KillBash", Tool("kill_shell")),
    ("KillShell", Tool("kill_shell")),
    ("LS", Tool("list_directory")),
    ("MultiEdit", Tool("edit_file")),
    ("Read", Tool("read_file")),
    ("Task", Agents),
    ("TodoWrite", Tool("write_todos")),
    ("WebFetch", Tool("web_fetch")),
    ("WebSearch", Tool("web_search")),
    ("Write", Tool("write_file")),
];

/// The first name of a tool is the one that is written.
const GEMINI: ForeignToolTable = &[
    ("ask_user", Tool("ask_user")),
    ("glob", Tool("glob")),
    ("google_web_search", Tool("web_search")),
    ("grep_search", Tool("grep")),
    ("list_directory", Tool("list_directory")),
    ("read_file", Tool("read_file")),
    ("read_many_files", Tool("read_many_files")),
    ("replace", Tool("edit_file")),
    ("run_shell_command", Tool("run_shell_command")),
    ("save_memory", Tool("save_memory")),
    ("search_file_content", Tool("grep")),
    ("web_fetch", Tool("web_fetch")),
    ("write_file", Tool("write_file")),
    ("write_todos", Tool("write_todos")),
];

const OPENCODE: ForeignToolTable = &[
    ("bash", Tool("run_shell_command")),
    ("edit", Tool("edit_file")),
    ("glob", Tool("glob")),
    ("grep", Tool("grep")),
    ("list", Tool("list_directory")),
    ("patch", Tool("edit_file")),
    ("question", Tool("ask_user")),
    ("read", Tool("read_file")),
    ("task", Agents),
    ("todowrite", Tool("write_todos")),
    ("webfetch", Tool("web_fetch")),
    ("websearch", Tool("web_search")),
    ("write", Tool("write_file")),
];

/// How a product names tools.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct ForeignToolNames {
    format: AgentFormat,
}

/// What a list of tools comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct SelectedTools {
    /// Canonical where they are known, each once.
    pub names: Vec<ToolName>,
    /// `*`: every tool but agents.
    pub inherits: bool,
    /// Every agent that others may call.
    pub agents: bool,
    pub narrowings: Vec<AgentToolRule>,
}

impl ForeignToolNames {
    pub fn of(format: AgentFormat) -> ForeignToolNames {
        ForeignToolNames { format }
    }

    fn table(self) -> ForeignToolTable {
        match self.format {
            AgentFormat::Own => &[],
            AgentFormat::Claude => CLAUDE,
            AgentFormat::Gemini => GEMINI,
            AgentFormat::OpenCode => OPENCODE,
        }
    }

    /// By the product's own table, by names that everybody uses, by the product's whatever the case.
    fn meant(self, name: &str) -> Option<ForeignToolMeaning> {
        let table = self.table();
        let own = table.iter().find(|(known, _)| *known == name).map(|(_, meant)| *meant);
        let loosely =
            || table.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, meant)| *meant);
        own.or_else(|| listed_tool(name).map(Tool)).or_else(loosely)
    }

    /// The product's name for a tool of ours; `None` where it has none.
    pub fn foreign(self, canonical: &str) -> Option<&'static str> {
        let found = self.table().iter().find(|(_, meant)| matches!(meant, Tool(tool) if *tool == canonical));
        found.map(|(name, _)| *name)
    }

    /// An entry of ours in the product's words: a tool, a server's tools, anything else as it is. `None` for a tool of ours
    /// that the product has no name for.
    pub fn written(self, entry: &ToolName) -> Option<String> {
        let text = entry.as_str();
        if let Some(canonical) = listed_tool(text) {
            return self.foreign(canonical).map(str::to_owned);
        }
        let Some((server, tool)) = text.strip_prefix("mcp.").and_then(|rest| rest.split_once('.')) else {
            return Some(text.to_owned());
        };
        Some(match (self.format, tool) {
            (AgentFormat::Claude, "*") => format!("mcp__{server}"),
            (AgentFormat::Claude, tool) => format!("mcp__{server}__{tool}"),
            (AgentFormat::Gemini, "*") if server == "*" => "mcp_*".to_owned(),
            (AgentFormat::Gemini, tool) => format!("mcp_{server}_{tool}"),
            (AgentFormat::OpenCode, tool) => format!("{server}_{tool}"),
            (AgentFormat::Own, _) => text.to_owned(),
        })
    }

    /// The tool that a permission speaks of: one that is not known here may be there one day, and is restricted then.
    pub fn of_permission(self, name: &str) -> ToolName {
        match self.meant(name) {
            Some(Tool(tool)) => tool.into(),
            _ => {
                name.strip_suffix("_*").map_or_else(|| name.into(), |server| format!("mcp.{server}.*").into())
            }
        }
    }

    /// What allowing these entries leaves, each with the place where it stands.
    pub fn allowed<'a>(
        self,
        entries: impl IntoIterator<Item = (&'a str, &'a YamlNode)>,
        findings: &mut FileFindings,
    ) -> SelectedTools {
        let mut selected = SelectedTools::default();
        // Tools of which only some calls are allowed, unless another entry allows all of them.
        let (mut in_part, mut whole) = (Vec::new(), Vec::new());
        for (text, node) in entries {
            let entry = self.entry(text, node, findings);
            match self.put(&entry, node, &mut selected, findings) {
                Some(tool) if entry.is_about_all() => whole.push(tool),
                Some(tool) => {
                    in_part.extend(entry.about_each().map(|about| (tool.clone(), about.to_owned(), node)));
                }
                None => {}
            }
        }
        for (at, (tool, about, node)) in in_part.iter().enumerate() {
            if whole.contains(tool) || selected.inherits {
                continue;
            }
            if !in_part[..at].iter().any(|(other, ..)| other == tool) {
                let decision = Verdict::Deny;
                selected.narrowings.push(AgentToolRule { tool: tool.clone(), about: None, decision });
            }
            if !narrow::is_understood(tool.as_str(), about) {
                let message =
                    format!("`{tool}`: it is not known here which calls `{about}` allows; it allows none");
                findings.warning(Some(node.mark), BadValue, message, None);
            }
            let (about, decision) = (Some(about.clone()), Verdict::Allow);
            selected.narrowings.push(AgentToolRule { tool: tool.clone(), about, decision });
        }
        selected
    }

    /// What forbidding these entries takes away.
    pub fn denied<'a>(
        self,
        entries: impl IntoIterator<Item = (&'a str, &'a YamlNode)>,
        findings: &mut FileFindings,
    ) -> SelectedTools {
        let mut denied = SelectedTools::default();
        let mut along: Vec<&'static str> = Vec::new();
        for (text, node) in entries {
            let entry = self.entry(text, node, findings);
            if entry.is_about_all() || entry.name == "*" || self.meant(entry.name) == Some(Agents) {
                let tool = self.put(&ToolListEntry { about: None, ..entry }, node, &mut denied, findings);
                along.extend(tool.iter().flat_map(|tool| like(tool).iter().copied()));
                continue;
            }
            let tool = self.put(&entry, node, &mut SelectedTools::default(), findings);
            for (tool, about) in
                tool.iter().flat_map(|tool| entry.about_each().map(move |about| (tool, about)))
            {
                if !narrow::is_understood(tool.as_str(), about) {
                    let message = format!(
                        "`{tool}`: it is not known here which calls `{text}` forbids; it forbids all"
                    );
                    findings.warning(Some(node.mark), BadValue, message, None);
                }
                let (tool, about) = (tool.clone(), Some(about.to_owned()));
                denied.narrowings.push(AgentToolRule { tool, about, decision: Verdict::Deny });
            }
        }
        // Behind those that are named, so that it is one order however often it is written and read.
        along.into_iter().for_each(|tool| denied.add(tool.into()));
        denied
    }

    fn entry<'a>(self, text: &'a str, node: &YamlNode, findings: &mut FileFindings) -> ToolListEntry<'a> {
        let entry = ToolListEntry::of(text);
        if !entry.is_whole {
            let message = format!("`{text}`: a parenthesis is not closed");
            findings.warning(Some(node.mark), BadValue, message, None);
        }
        entry
    }

    /// Puts in what a name means; answers the tool, if it is one.
    fn put(
        self,
        entry: &ToolListEntry<'_>,
        node: &YamlNode,
        selected: &mut SelectedTools,
        findings: &mut FileFindings,
    ) -> Option<ToolName> {
        let name = entry.name;
        if name == "*" {
            selected.inherits = true;
            return None;
        }
        let tool = match self.meant(name) {
            Some(Agents) => {
                match entry.about {
                    // `Agent(worker, reviewer)`
                    Some(about) if !entry.is_about_all() => {
                        let agents = about.split(',').map(str::trim).filter(|agent| !agent.is_empty());
                        agents.for_each(|agent| selected.add(agent.into()));
                    }
                    _ => selected.agents = true,
                }
                return None;
            }
            Some(Tool(tool)) => ToolName::from(tool),
            None => match mcp(name, self.format) {
                Some(tool) => ToolName::from(tool),
                None => {
                    let message = format!(
                        "`{name}` is no tool here; it is kept, and bound to a server's tool if one comes"
                    );
                    findings.warning(Some(node.mark), UnknownTool, message, None);
                    ToolName::from(name)
                }
            },
        };
        selected.add(tool.clone());
        Some(tool)
    }
}

/// What changes files as a tool does, and what these products have no word for: who takes the one away means the other, too.
fn like(tool: &ToolName) -> &'static [&'static str] {
    match tool.as_str() {
        "write_file" | "edit_file" => &["delete_file", "move_file"],
        "run_shell_command" => &["git_commit"],
        _ => &[],
    }
}

impl SelectedTools {
    /// Of what is denied: all there is.
    pub fn everything() -> SelectedTools {
        SelectedTools { inherits: true, agents: true, ..SelectedTools::default() }
    }

    /// Both.
    #[must_use]
    pub fn and(mut self, other: SelectedTools) -> SelectedTools {
        other.names.into_iter().for_each(|tool| self.add(tool));
        self.narrowings.extend(other.narrowings);
        SelectedTools {
            inherits: self.inherits || other.inherits,
            agents: self.agents || other.agents,
            ..self
        }
    }

    fn add(&mut self, tool: ToolName) {
        if !self.names.contains(&tool) {
            self.names.push(tool);
        }
    }
}

/// `mcp__server__tool`, of Gemini CLI also `mcp_server_tool`, as ours. Where an underscore may be part of a name, the name
/// stays: the registry knows that spelling, too.
fn mcp(name: &str, format: AgentFormat) -> Option<String> {
    if name.starts_with("mcp.") {
        return Some(name.to_owned());
    }
    if let Some(rest) = name.strip_prefix("mcp__") {
        return match rest.split_once("__") {
            Some((server, tool)) if server.is_empty() || tool.is_empty() => None,
            Some((server, tool)) => Some(format!("mcp.{server}.{tool}")),
            None if rest.is_empty() => None,
            None if rest == "*" => Some("mcp.*.*".to_owned()),
            None => Some(format!("mcp.{rest}.*")),
        };
    }
    let rest = name.strip_prefix("mcp_").filter(|_| format == AgentFormat::Gemini)?;
    Some(match rest.split_once('_') {
        None if rest == "*" => "mcp.*.*".to_owned(),
        Some((server, tool)) if !tool.contains('_') => format!("mcp.{server}.{tool}"),
        _ => name.to_owned(),
    })
}

/// What the field `tools` of any product allows, and takes away. People mix the products' ways of writing it, so every shape
/// is read in every file: a list, a text, a map of booleans, our map with `allow` and `deny`.
pub(super) fn read(
    node: &YamlNode,
    names: ForeignToolNames,
    findings: &mut FileFindings,
) -> (Option<SelectedTools>, SelectedTools) {
    let YamlContent::Map(fields) = &node.content else {
        let entries = entries(node, "tools", findings);
        return (Some(names.allowed(entries, findings)), SelectedTools::default());
    };
    let is_ours = |(key, _): &(YamlKey, YamlNode)| matches!(key.text.as_str(), "allow" | "deny");
    if !fields.is_empty() && fields.iter().all(is_ours) {
        let of = |name: &str| fields.iter().find(|(key, _)| key.text == name).map(|(_, node)| node);
        let allowed = of("allow").map(|node| {
            let entries = entries(node, "tools.allow", findings);
            names.allowed(entries, findings)
        });
        let denied = of("deny").map(|node| {
            let entries = entries(node, "tools.deny", findings);
            names.denied(entries, findings)
        });
        return (allowed, denied.unwrap_or_default());
    }
    switches(fields, names, findings)
}

/// A map of booleans: `false` takes away, and where `*` is false, only what is true is left.
fn switches(
    fields: &[(YamlKey, YamlNode)],
    names: ForeignToolNames,
    findings: &mut FileFindings,
) -> (Option<SelectedTools>, SelectedTools) {
    let (mut on, mut off, mut is_all_off) = (Vec::new(), Vec::new(), false);
    if let Some((key, _)) = fields.get(MOST_ENTRIES) {
        findings.error(Some(key.mark), BadValue, format!("`tools` has more than {MOST_ENTRIES} entries"));
        return (Some(SelectedTools::default()), SelectedTools::default());
    }
    for (key, value) in fields {
        match switch(value) {
            Some(false) if key.text == "*" => is_all_off = true,
            Some(is_on) => {
                let side = if is_on { &mut on } else { &mut off };
                side.push((key.text.as_str(), value));
            }
            None => findings.expected(value, &format!("tools.{}", key.text), WrongType, "true or false"),
        }
    }
    // OpenCode calls a server's tools `server_tool`.
    let of_server = |name: &str| name.strip_suffix("_*").map(|server| format!("mcp.{server}.*"));
    let servers: Vec<ToolName> =
        off.iter().filter_map(|(name, _)| of_server(name)).map(ToolName::from).collect();
    off.retain(|(name, _)| of_server(name).is_none());
    let mut denied = names.denied(off, findings);
    denied.names.extend(servers);
    let named = names.allowed(on, findings);
    if is_all_off {
        denied.inherits = named == SelectedTools::default();
        return (Some(named), denied);
    }
    // Everything there is is there without a word, too. What is switched on by its name may be agents.
    (Some(SelectedTools { inherits: true, names: Vec::new(), ..named }), denied)
}

/// `no` is a text in YAML, but not to whoever wrote it here.
fn switch(node: &YamlNode) -> Option<bool> {
    let text = node.as_raw_text()?.trim().to_ascii_lowercase();
    match text.as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// The entries of a list or of a text, with their places. `[]` and an empty text are none; anything else is told.
pub(super) fn entries<'a>(
    node: &'a YamlNode,
    path: &str,
    findings: &mut FileFindings,
) -> Vec<(&'a str, &'a YamlNode)> {
    let entries = all_entries(node, path, findings);
    if entries.len() > MOST_ENTRIES {
        let message = format!("`{path}` has more than {MOST_ENTRIES} entries");
        findings.error(Some(node.mark), BadValue, message);
        return Vec::new();
    }
    entries
}

fn all_entries<'a>(
    node: &'a YamlNode,
    path: &str,
    findings: &mut FileFindings,
) -> Vec<(&'a str, &'a YamlNode)> {
    match &node.content {
        YamlContent::List(nodes) => {
            let mut entries = Vec::new();
            for (number, node) in nodes.iter().enumerate() {
                let path = format!("{path}[{number}]");
                let Some(text) = fields::text(node, &path, findings).map(str::trim) else { continue };
                match text.is_empty() {
                    true => findings.warning(Some(node.mark), BadValue, format!("`{path}` is empty"), None),
                    // A list may hold a text of several, too.
                    false => entries.extend(split(text).map(|it| (it, node))),
                }
            }
            entries
        }
        YamlContent::Scalar { .. } => {
            let Some(text) = fields::text(node, path, findings) else { return Vec::new() };
            split(text).map(|it| (it, node)).collect()
        }
        YamlContent::Map(_) => {
            findings.expected(node, path, WrongType, "a list of tool names");
            Vec::new()
        }
    }
}

/// The names in a text. Brackets, quotes and backticks that somebody put around a list or a name are no part of it.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let bare = |name: &'_ str| !name.trim_matches(',').is_empty();
    let names = split_tools(inside).into_iter().map(|name| name.trim_matches(['"', '\'', '`', ' ']));
    names.filter(move |name| bare(name))
}

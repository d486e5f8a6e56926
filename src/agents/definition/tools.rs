//! The field `tools`: which tools an agent may use, in any of the ways people write that.

use serde_json::{Value, json};

use super::{
    field_row::{
        FieldNarrowing, FieldRow, field, map_schema, names as field_names, read_rows, written_section,
    },
    shapes::{FieldShape, FieldSlot, FlagShape},
};
use crate::{
    fields::{self, KnownFields},
    findings::FileFindings,
    narrow::{ToolListEntry, is_understood},
    yaml::{YamlContent, YamlKey, YamlNode},
};
use protocol::{
    AgentDefinition, AgentToolRule,
    FileProblemCode::{BadValue, WrongType},
    ToolName, Verdict, default_tools, listed_tool,
};

/// Entries of one list of tools at most: more is no list that somebody wrote.
const MOST_ENTRIES: usize = 1_000;

/// A map with `allow` and `deny`; a list or a text alone is what to allow. `[]` allows none. Beside the names, what they say
/// of single calls: `run_shell_command(git status *)`.
pub(super) const TOOLS: FieldRow<AgentDefinition> = FieldRow {
    name: "tools",
    meaning: || {
        format!(
            "Which tools the agent may use: names, agents among them, or patterns with `*`; `[]` is none. Default: {}.",
            default_tools_in_words()
        )
    },
    schema: || json!({ "anyOf": [tool_names(), map_schema(TOOLS_FIELDS)] }),
    example: "tools: [read_file, \"mcp.github.*\"]",
    read,
    write: |agent| written_section(TOOLS_FIELDS, agent),
    below: TOOLS_FIELDS,
    narrowing: FieldNarrowing::Narrows,
    ..FieldRow::BLANK
};

const TOOLS_FIELDS: &[FieldRow<AgentDefinition>] = &[
    FieldRow {
        name: "allow",
        meaning: || format!("Only these. Default: {}.", default_tools_in_words()),
        schema: tool_names,
        example: "tools: { allow: [read_file] }",
        read: |fields, agent, findings| {
            if let Some(node) = fields.get("allow") {
                allow(node, "tools.allow", agent, findings);
            }
        },
        write: |agent| agent.tools.allow.as_deref().map(written_names),
        strays_to_top: true,
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "deny",
        meaning: || String::from("None of these; beats `allow`."),
        schema: tool_names,
        example: "tools: { deny: [write_file] }",
        read: |fields, agent, findings| {
            let Some(node) = fields.get("deny") else { return };
            let (names, narrowings) = denied(node, "tools.deny", findings);
            agent.tools.deny = names;
            agent.narrowings.extend(narrowings);
        },
        write: |agent| (!agent.tools.deny.is_empty()).then(|| written_names(&agent.tools.deny)),
        strays_to_top: true,
        ..FieldRow::BLANK
    },
    field!(
        "inherit", tools.inherits, FlagShape,
        "Besides those of `allow`: every tool there is but agents. Default: false.",
        example: "tools: { inherit: true }"
    ),
    field!(
        "agents", tools.agents, FlagShape,
        "Besides those of `allow`: every agent that others may call. Default: false.",
        example: "tools: { agents: true }"
    ),
];

fn read(fields: &KnownFields<'_>, agent: &mut AgentDefinition, findings: &mut FileFindings) {
    let Some(node) = fields.get("tools") else { return };
    let YamlContent::Map(_) = node.content else { return allow(node, "tools", agent, findings) };
    let Some(fields) = KnownFields::open(node, "tools", &field_names(TOOLS_FIELDS), findings) else { return };
    read_rows(TOOLS_FIELDS, &fields, agent, findings);
    if has_switches(node) {
        findings.expected(node, "tools", WrongType, "a list of tool names, or a map with `allow` and `deny`");
    }
}

fn allow(node: &YamlNode, path: &str, agent: &mut AgentDefinition, findings: &mut FileFindings) {
    let (names, narrowings) = allowed(node, path, findings);
    agent.tools.allow = Some(names);
    agent.narrowings.extend(narrowings);
}

fn written_names(names: &[ToolName]) -> Value {
    names.iter().map(ToolName::as_str).collect()
}

/// A list, or a text with commas or blanks between the names.
fn tool_names() -> Value {
    json!({ "type": ["array", "string", "null"], "items": { "type": "string", "pattern": r"\S" } })
}

/// `list_directory`, `read_file` …, and `save_memory` … unless another agent calls it.
fn default_tools_in_words() -> String {
    let words =
        |tools: Vec<&str>| tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
    let called: Vec<&str> = default_tools(true).collect();
    let more: Vec<&str> = default_tools(false).filter(|tool| !called.contains(tool)).collect();
    format!("{}, and unless another agent calls it {}", words(called), words(more))
}

/// Tools that are switched on and off, as OpenCode has it: read as fields nobody knows, what is off would not be.
fn has_switches(node: &YamlNode) -> bool {
    let YamlContent::Map(entries) = &node.content else { return false };
    let is_field = |key: &YamlKey| TOOLS_FIELDS.iter().any(|row| row.name == key.text);
    let is_switch = |node: &YamlNode| matches!(node.to_scalar(), Some(serde_json::Value::Bool(_)));
    entries.iter().any(|(key, node)| !is_field(key) && is_switch(node))
}

/// What only some calls of are allowed is refused otherwise, unless another entry allows all of them.
fn allowed(node: &YamlNode, path: &str, findings: &mut FileFindings) -> (Vec<ToolName>, Vec<AgentToolRule>) {
    let entries = entries(node, path, findings);
    let (mut names, mut narrowings) = (Vec::new(), Vec::new());
    let is_whole = |tool: &ToolName| entries.iter().any(|(name, about)| about.is_none() && name == tool);
    for (tool, about) in &entries {
        let about = about.as_ref().filter(|_| !is_whole(tool));
        if let Some(about) = about {
            let narrowing = |about, decision| AgentToolRule { tool: canonical(tool), about, decision };
            if !names.contains(tool) {
                narrowings.push(narrowing(None, Verdict::Deny));
            }
            narrowings.push(narrowing(Some(about.clone()), Verdict::Allow));
        }
        if about.is_none() || !names.contains(tool) {
            names.push(tool.clone());
        }
    }
    (names, narrowings)
}

fn denied(node: &YamlNode, path: &str, findings: &mut FileFindings) -> (Vec<ToolName>, Vec<AgentToolRule>) {
    let (mut names, mut narrowings) = (Vec::new(), Vec::new());
    for (tool, about) in entries(node, path, findings) {
        match about {
            Some(about) => {
                let tool = canonical(&tool);
                narrowings.push(AgentToolRule { tool, about: Some(about), decision: Verdict::Deny });
            }
            None => names.push(tool),
        }
    }
    (names, narrowings)
}

/// Rules know tools by their own names.
pub(super) fn canonical(tool: &ToolName) -> ToolName {
    listed_tool(tool.as_str()).map_or_else(|| tool.clone(), ToolName::from)
}

/// Names, and what stands in parentheses behind them where that does not mean all calls.
fn entries(node: &YamlNode, path: &str, findings: &mut FileFindings) -> Vec<(ToolName, Option<String>)> {
    let texts = names(node, path, findings);
    if texts.len() > MOST_ENTRIES {
        findings.error(Some(node.mark), BadValue, format!("`{path}` has more than {MOST_ENTRIES} entries"));
        return Vec::new();
    }
    texts.into_iter().flat_map(|text| entry(&text, node, path, findings)).collect()
}

fn entry(
    text: &ToolName,
    node: &YamlNode,
    path: &str,
    findings: &mut FileFindings,
) -> Vec<(ToolName, Option<String>)> {
    let entry = ToolListEntry::of(text.as_str());
    if !entry.is_whole || entry.name.is_empty() {
        let message = format!(
            "`{path}`: `{text}` is no tool's name: a parenthesis is not closed, or nothing stands before it"
        );
        findings.error(Some(node.mark), BadValue, message);
        return Vec::new();
    }
    // Taken for a name that nobody knows, the tool would stay.
    if entry.name.starts_with(['!', '-']) {
        let message = format!("`{path}`: `{text}` takes nothing away: a list of tools has names alone");
        findings.error_with_fix(
            Some(node.mark),
            BadValue,
            message,
            "list what an agent may not use in `tools.deny`",
        );
        return Vec::new();
    }
    let tool = ToolName::from(entry.name);
    if entry.is_about_all() {
        return vec![(tool, None)];
    }
    if let Some(about) = entry.about_each().find(|about| !is_understood(canonical(&tool).as_str(), about)) {
        let message = format!("`{path}`: `{text}`: it is not known which calls `({about})` means");
        let fix = "of `run_shell_command` write the beginning of commands, `(git status *)`, of `web_fetch` a host, \
                   `(domain:example.com)`; of other tools all calls are meant";
        findings.error_with_fix(Some(node.mark), BadValue, message, fix);
        return Vec::new();
    }
    entry.about_each().map(|about| (tool.clone(), Some(about.to_owned()))).collect()
}

fn names(node: &YamlNode, path: &str, findings: &mut FileFindings) -> Vec<ToolName> {
    match &node.content {
        YamlContent::List(nodes) => nodes
            .iter()
            .enumerate()
            .filter_map(|(number, node)| name(node, &format!("{path}[{number}]"), findings))
            .collect(),
        YamlContent::Scalar { .. } => {
            let Some(text) = fields::text(node, path, findings) else { return Vec::new() };
            split(text).into_iter().map(ToolName::from).collect()
        }
        YamlContent::Map(_) => {
            findings.expected(node, path, WrongType, "a list of tool names");
            Vec::new()
        }
    }
}

fn name(node: &YamlNode, path: &str, findings: &mut FileFindings) -> Option<ToolName> {
    let text = fields::text(node, path, findings)?.trim();
    if text.is_empty() {
        findings.expected(node, path, BadValue, "a tool's name");
        return None;
    }
    Some(ToolName::from(text))
}

/// Splits at commas outside parentheses, or at blanks when there is no such comma (spec 02, rule 5).
pub(in super::super) fn split(text: &str) -> Vec<&str> {
    let by_commas = split_outside_parentheses(text, |character| character == ',');
    if by_commas.len() > 1 { by_commas } else { split_outside_parentheses(text, char::is_whitespace) }
}

/// What stands in parentheses belongs to the name before it, also behind a blank: `Bash (git:*)` is not all of `Bash`.
fn split_outside_parentheses(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::<(usize, usize)>::new());
    for (at, character) in text.char_indices() {
        match character {
            '(' => {
                if depth == 0
                    && start == at
                    && let Some((before, _)) = parts.pop()
                {
                    start = before;
                }
                depth += 1;
            }
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && is_separator(character) => {
                if start < at {
                    parts.push((start, at));
                }
                start = at + character.len_utf8();
            }
            _ => {}
        }
    }
    parts.push((start, text.len()));
    let parts = parts.into_iter().map(|(start, end)| text[start..end].trim());
    parts.filter(|part| !part.is_empty()).collect()
}

//! Which fields does an agent's file have? Each has its row here, or in the file of its section; what reads, checks, describes,
//! writes and judges fields follows from it.

use serde_json::json;

use super::{
    approval::APPROVAL,
    check_placeholders,
    field_row::{FieldLoss, FieldNarrowing, FieldRow, field, in_written_order, lost, written},
    inputs::INPUTS,
    look::{self, CSS_COLORS, SCOPES},
    mcp::MCP,
    messages::INITIAL_MESSAGES,
    model::{MODEL, RUN},
    output::OUTPUT,
    prompt::{MEMORY, PROMPT},
    shapes::{FieldShape, FieldSlot, FieldTextShape, FlagShape, WordShape, text, word_schema},
    skills::SKILLS,
    tools::TOOLS,
    tracing::TRACING,
    triggers::TRIGGERS,
};
use crate::{
    fields::{KeySuggestion, KnownFields},
    findings::FileFindings,
    names::{self, LONGEST_NAME},
    unsupported::NarrowingSection,
    yaml::YamlNode,
};
use protocol::{
    AgentDefinition, AgentFormat, CompletionMode, FileProblemCode::BadValue, InputSpec, SandboxProfile,
};

/// The field that names the product whose file it was made from: fields that mean nothing here go back to that one only.
pub(in super::super) const IMPORTED_FROM: &str = "importedFrom";

/// Every field of a file, in the order in which people write them; all but those of [`crate::unsupported`] are carried out.
pub(super) const FIELDS: &[FieldRow<AgentDefinition>] = &[
    FieldRow {
        name: "kind",
        meaning: || String::from("What the file describes."),
        schema: || json!({ "const": "agent" }),
        required: Some("kind: agent"),
        read: read_kind,
        write: |_| Some("agent".into()),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "name",
        meaning: || String::from("What the agent is called by; not the name of a tool."),
        schema: || {
            json!({
                "type": "string",
                "maxLength": LONGEST_NAME,
                "pattern": "^[a-z0-9_]((-?[a-z0-9._])*-?[a-z0-9_])?$",
                "not": { "pattern": not_a_tool() },
            })
        },
        required: Some("name: my-agent"),
        read: read_name,
        write: |agent| Some(agent.name.as_str().into()),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "title",
        meaning: || String::from("What people are shown. Default: the name in Title Case."),
        schema: || json!({ "type": ["string", "number", "boolean", "null"] }),
        example: "title: The Agent",
        read: |fields, agent, findings| {
            if let Some(title) = fields.raw_text("title", findings) {
                agent.title = title;
            }
        },
        // Of other products the name itself may be the title.
        write: |agent| (agent.title != names::title_case(&agent.name)).then(|| agent.title.as_str().into()),
        ..FieldRow::BLANK
    },
    field!(
        "description", description, FieldTextShape,
        "What the agent is for. Other agents decide by it when to call this one.",
        example: "description: Finds bugs."
    ),
    FieldRow {
        name: "version",
        meaning: || String::from("A semantic version, e.g. `1.2.0`."),
        schema: || json!({ "type": ["string", "null"], "pattern": look::VERSION }),
        example: "version: 1.2.0",
        read: |fields, agent, findings| agent.version = look::version(fields, findings),
        write: |agent| Some(agent.version.as_deref()?.into()),
        loss: Some(FieldLoss::of("`version`")),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "color",
        meaning: || String::from("`#RRGGBB` in quotes, or a basic colour of CSS."),
        schema: || json!({ "type": "string", "anyOf": [{ "pattern": "^#[0-9A-Fa-f]{6}$" }, { "enum": CSS_COLORS }] }),
        example: "color: teal",
        read: |fields, agent, findings| agent.color = look::color(fields, findings),
        write: |agent| Some(agent.color.as_deref()?.into()),
        ..FieldRow::BLANK
    },
    // Of no meaning for the agent: where the file lies is what [`look::check_scope`] compares it with.
    FieldRow {
        name: "scope",
        meaning: || String::from("Where the file lies. The place itself counts, not what is said here."),
        schema: || WordShape(SCOPES).schema(),
        example: "scope: user",
        ..FieldRow::BLANK
    },
    MODEL,
    RUN,
    field!(
        "completion", completion, WordShape(COMPLETIONS),
        "How a run ends: `tool` only by `complete_task`, `message` also by a turn without tool calls.",
        example: "completion: message",
        loss: Some(FieldLoss {
            what: "`completion`",
            kept_by: &[],
            is_lost: Some(|agent| agent.completion.is_some() && agent.format.is_own()),
        })
    ),
    INPUTS,
    OUTPUT,
    FieldRow {
        name: "query",
        meaning: || {
            String::from(
                "Template of the first user message. Default: `${prompt}` with an input `prompt`, else `Get Started!`.",
            )
        },
        schema: text,
        example: "query: Look at ${prompt}.",
        read: read_query,
        write: |agent| {
            let usual = usual_query(&agent.inputs);
            (agent.query != usual).then(|| agent.query.as_str().into())
        },
        loss: Some(FieldLoss {
            what: "`query`",
            kept_by: &[],
            is_lost: Some(|agent| !matches!(agent.query.as_str(), "${prompt}" | "${query}")),
        }),
        ..FieldRow::BLANK
    },
    INITIAL_MESSAGES,
    TOOLS,
    field!(
        "sandbox", sandbox, WordShape(SANDBOXES),
        "How closely its commands are confined: they may write their temporary folder (`readOnly`), the workspace too \
         (`workspaceWrite`), or everything (`full`). Never wider than the setting `sandbox.profile`, which is the default.",
        example: "sandbox: readOnly",
        written_behind: Some("approval"),
        narrowing: FieldNarrowing::Narrows,
        loss: Some(FieldLoss::of("`sandbox`")),
        claim: |agent| {
            let claim = "`sandbox: full`: its commands are not confined, where the settings allow that";
            (agent.sandbox == Some(SandboxProfile::Full)).then(|| claim.to_owned())
        }
    ),
    field!(
        "hidden", hidden, FlagShape, "Is not offered to other agents as a tool. Default: false.",
        example: "hidden: true",
        written_behind: Some("tracing"),
        loss: Some(FieldLoss { what: "`hidden`", kept_by: &[AgentFormat::OpenCode], is_lost: None })
    ),
    MCP,
    PROMPT,
    SKILLS,
    APPROVAL,
    TRIGGERS,
    FieldRow {
        name: "hooks",
        meaning: || {
            String::from(
                "Programs that are asked or told at points of its runs, by event, as Claude Code writes them.",
            )
        },
        schema: || json!({ "type": ["object", "null"] }),
        example: "hooks: { Stop: [{ hooks: [{ type: command, command: x }] }] }",
        read: |fields, agent, _| agent.hooks = hooks(fields),
        write: |agent| agent.hooks.clone(),
        written_behind: Some("skills"),
        narrowing: FieldNarrowing::Narrows,
        claim: |agent| {
            let claim = "`hooks`: programs run unasked at points of its runs, confined to the workspace";
            agent.hooks.is_some().then(|| claim.to_owned())
        },
        ..FieldRow::BLANK
    },
    not_carried_out("handoffs"),
    not_carried_out("guardrails"),
    MEMORY,
    not_carried_out("graph"),
    TRACING,
    // It is written by whoever writes a file of another product in our format.
    FieldRow {
        name: IMPORTED_FROM,
        meaning: || {
            String::from(
                "Which product's file it was made from. Fields that mean nothing here go back to that product only, and a model \
                 that only that product has is replaced by the default model.",
            )
        },
        schema: || word_schema(PRODUCTS),
        example: "importedFrom: claude",
        read: |fields, agent, findings| {
            agent.imported_from = fields.one_of(IMPORTED_FROM, PRODUCTS, findings);
        },
        ..FieldRow::BLANK
    },
];

/// Words for how closely an agent's commands may be confined; see [`SandboxProfile`].
const SANDBOXES: &[(&str, SandboxProfile)] = &[
    ("readOnly", SandboxProfile::ReadOnly),
    ("workspaceWrite", SandboxProfile::WorkspaceWrite),
    ("full", SandboxProfile::Full),
];

/// Products whose files are read as they are.
const PRODUCTS: &[(&str, AgentFormat)] =
    &[("claude", AgentFormat::Claude), ("gemini", AgentFormat::Gemini), ("opencode", AgentFormat::OpenCode)];

const COMPLETIONS: &[(&str, CompletionMode)] =
    &[("tool", CompletionMode::Tool), ("message", CompletionMode::Message)];

#[derive(Clone, Copy, PartialEq)]
enum DefinitionKind {
    Agent,
    Graph,
}

/// A field of [`crate::unsupported`], which tells of it.
const fn not_carried_out(name: &'static str) -> FieldRow<AgentDefinition> {
    FieldRow {
        name,
        meaning: || {
            String::from(
                "Cannot be carried out in this version: an agent whose file says something here is not started.",
            )
        },
        ..FieldRow::BLANK
    }
}

/// The names of all fields, in the order in which people write them.
pub(in super::super) const FIELD_NAMES: &[&str] = &{
    let mut names = [""; FIELDS.len()];
    let mut at = 0;
    while at < FIELDS.len() {
        names[at] = FIELDS[at].name;
        at += 1;
    }
    names
};

/// Fields that people write at the top though they belong deeper, each with its section.
pub(super) fn strays() -> Vec<KeySuggestion<'static>> {
    let of_section = |row: &'static FieldRow<AgentDefinition>| {
        let strays = row.below.iter().filter(|below| below.strays_to_top);
        strays.map(|below| (below.name, row.name))
    };
    FIELDS.iter().flat_map(of_section).collect()
}

/// The fields that a key nobody knows may have meant in this field, `""` for the file itself; `None` where it is never heeded.
pub(super) fn narrowing_section(field: &str) -> Option<NarrowingSection> {
    if field.is_empty() {
        let narrowing = FIELDS.iter().filter(|row| row.narrowing == FieldNarrowing::Narrows);
        let narrowing = narrowing.map(|row| row.name).collect();
        return Some(NarrowingSection { fields: FIELD_NAMES.to_vec(), narrowing });
    }
    let row = FIELDS.iter().find(|row| row.name == field && !row.below.is_empty())?;
    let fields: Vec<&str> = row.below.iter().map(|row| row.name).collect();
    match row.narrowing {
        FieldNarrowing::Nothing => None,
        FieldNarrowing::KeysThatSoundSo => Some(NarrowingSection { fields, narrowing: Vec::new() }),
        FieldNarrowing::Narrows => Some(NarrowingSection { narrowing: fields.clone(), fields }),
    }
}

/// The fields that say what the definition says, in the order in which people write them. Defaults are left out.
pub(in super::super) fn own_fields(
    definition: &AgentDefinition,
) -> serde_json::Map<String, serde_json::Value> {
    written(FIELDS, definition)
}

/// The losses of an agent in files of a product, in words; of what each product says in its own way its writer tells.
pub(in super::super) fn lost_fields(definition: &AgentDefinition, product: AgentFormat) -> Vec<&'static str> {
    lost(FIELDS, definition, product)
}

/// The claims of a stranger's file in our format for itself.
pub(in super::super) fn claims(definition: &AgentDefinition) -> Vec<String> {
    let rows = in_written_order(FIELDS).into_iter().flat_map(|row| std::iter::once(row).chain(row.below));
    rows.filter_map(|row| (row.claim)(definition)).collect()
}

/// The hooks that the file brings along; what is wrong with it is told by whoever runs them, and keeps what they guard from happening.
pub(in super::super) fn hooks(fields: &KnownFields<'_>) -> Option<serde_json::Value> {
    fields.get("hooks").filter(|node| !node.says_nothing()).map(YamlNode::to_json)
}

/// True if the file says which product's it was made from.
pub(super) fn is_imported(fields: &KnownFields<'_>) -> bool {
    let written = fields.get(IMPORTED_FROM).and_then(YamlNode::as_raw_text);
    written.is_some_and(|written| PRODUCTS.iter().any(|(name, _)| *name == written))
}

/// A pattern of the names that no agent may have.
fn not_a_tool() -> String {
    let tools = names::tool_names().collect::<Vec<_>>().join("|");
    format!("^({tools}|{}|{}.*)$", names::AUTO, names::HANDOFF).replace('_', "[_-]")
}

fn read_kind(fields: &KnownFields<'_>, _: &mut AgentDefinition, findings: &mut FileFindings) {
    let kind = fields.one_of(
        "kind",
        &[("agent", DefinitionKind::Agent), ("graph", DefinitionKind::Graph)],
        findings,
    );
    if let (Some(DefinitionKind::Graph), Some(node)) = (kind, fields.get("kind")) {
        findings.error(Some(node.mark), BadValue, "`kind`: graphs are not supported yet; expected `agent`");
    }
}

/// A name, which is the title as it was written when that was another.
fn read_name(fields: &KnownFields<'_>, agent: &mut AgentDefinition, findings: &mut FileFindings) {
    let (Some(node), Some(text)) = (fields.get("name"), fields.raw_text("name", findings)) else { return };
    let Some(name) = names::slug(&text) else {
        let expected = "a name of small letters, digits and dashes, e.g. `debug-analyzer`";
        return findings.expected(node, "name", BadValue, expected);
    };
    if let Some(taken) = names::taken(&name) {
        let message = format!("`name`: `{name}` {taken}; expected a name of the agent's own");
        findings.error(Some(node.mark), BadValue, message);
    }
    if name.as_str() == text {
        agent.title = names::title_case(&name);
    } else {
        let message = format!(
            "`name`: {text:?} is no name of small letters, digits and dashes; it is read as `{name}`"
        );
        findings.warning(Some(node.mark), BadValue, message, Some(format!("write `name: {name}`")));
        agent.title = text;
    }
    agent.name = name;
}

fn read_query(fields: &KnownFields<'_>, agent: &mut AgentDefinition, findings: &mut FileFindings) {
    usual_query(&agent.inputs).clone_into(&mut agent.query);
    if let (Some(query), Some(node)) = (fields.text("query", findings), fields.get("query")) {
        check_placeholders(&query, &agent.inputs, |_| node.mark, findings);
        agent.query = query;
    }
}

fn usual_query(inputs: &[InputSpec]) -> &'static str {
    let has_prompt = inputs.iter().any(|input| input.name == "prompt");
    if has_prompt { "${prompt}" } else { "Get Started!" }
}

//! Turns the fields and the body of a file of our format into an agent (spec 02, "The file").

use std::collections::HashSet;

use super::{
    fields::{KeySuggestion, KnownFields},
    file_sections::PromptBody,
    findings::FileFindings,
    names, schema,
    template::{DAEMON_VALUES, TemplatePlaceholder, placeholders},
    unsupported,
    yaml::{YamlContent, YamlNode},
};
use config::{TextPosition, nearest};
use protocol::{
    AgentDefinition, AgentFormat, AgentName, AgentScope, CompletionMode,
    FileProblemCode::{BadValue, MissingField, WrongType},
    InputSpec, SandboxProfile,
};

pub(super) mod approval;
mod inputs;
pub(super) mod look;
mod mcp;
mod messages;
mod model;
mod output;
mod own_fields;
mod prompt;
mod schema_file;
mod skills;
mod tools;
mod tracing;
mod triggers;

pub(super) use model::minutes;
pub(super) use own_fields::{in_minutes, own_fields, sampled, verdict};
pub use schema_file::front_matter_schema;
pub(super) use skills::names as skill_names;
pub(super) use tools::split as split_tools;

/// Which product's file it was made from: fields that mean nothing here go back to that one only.
pub(super) const IMPORTED_FROM: &str = "importedFrom";

/// Every field of a file, in the order in which people write them; all but those of [`unsupported`] are carried out.
pub(super) const FIELDS: &[&str] = &[
    "kind",
    "name",
    "title",
    "description",
    "version",
    "color",
    "scope",
    "model",
    "run",
    "completion",
    "inputs",
    "output",
    "query",
    "initialMessages",
    "tools",
    "sandbox",
    "hidden",
    "mcp",
    "prompt",
    "skills",
    "approval",
    "triggers",
    "hooks",
    "handoffs",
    "guardrails",
    "memory",
    "graph",
    "tracing",
    IMPORTED_FROM,
];

/// Where a field that stands at the top, but belongs deeper, should stand.
const DEEPER_FIELDS: &[KeySuggestion<'static>] = &[
    ("maxTurns", "run.maxTurns"),
    ("maxTimeMinutes", "run.maxTimeMinutes"),
    ("maxTokens", "run.maxTokens"),
    ("graceSeconds", "run.graceSeconds"),
    ("temperature", "model.temperature"),
    ("topP", "model.topP"),
    ("maxOutputTokens", "model.maxOutputTokens"),
    ("thinkingBudget", "model.thinkingBudget"),
    ("allow", "tools.allow"),
    ("deny", "tools.deny"),
];

#[derive(Clone, Copy, PartialEq)]
enum DefinitionKind {
    Agent,
    Graph,
}

/// How closely an agent's commands may be confined; see [`SandboxProfile`].
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

/// The agent's name, if the front matter has a usable one.
pub(super) fn name(root: &YamlNode) -> Option<AgentName> {
    let YamlContent::Map(entries) = &root.content else { return None };
    let (_, node) = entries.iter().find(|(key, _)| key.text.eq_ignore_ascii_case("name"))?;
    node.as_raw_text().filter(|_| !node.is_null()).and_then(names::slug)
}

/// True if this is a field of ours, in any of its spellings.
pub(super) fn is_field(key: &str) -> bool {
    let plain = |key: &str| key.replace(['_', '-'], "").to_lowercase();
    FIELDS.iter().any(|field| plain(field) == plain(key))
}

/// The fields that nobody knows or that nobody here carries out, as they were written.
pub(super) fn extras(root: &YamlNode) -> Vec<(String, serde_json::Value)> {
    let mut quiet = FileFindings::of(std::path::Path::new(""));
    // What they are of goes with them.
    let entry = |field: &str| {
        let YamlContent::Map(entries) = &root.content else { return None };
        entries.iter().find(|(key, _)| key.text == field).map(|(_, node)| node)
    };
    let is_left_out = |field: &str| match entry(field) {
        Some(node) => unsupported::is_left_out(field, node),
        None => unsupported::named(field).is_some(),
    };
    let is_used = |field: &&str| *field != IMPORTED_FROM && !is_left_out(field);
    let known: Vec<&str> = FIELDS.iter().copied().filter(is_used).collect();
    let fields = KnownFields::open(root, "", &known, &mut quiet);
    fields.map(|fields| fields.extras(&[])).unwrap_or_default()
}

/// The fields of a field that has some, `""` for the file itself.
fn fields_of(field: &str) -> Option<&'static [&'static str]> {
    match field {
        "" => Some(FIELDS),
        "tools" => Some(tools::TOOLS_FIELDS),
        "approval" => Some(approval::APPROVAL_FIELDS),
        "run" => Some(model::RUN_FIELDS),
        "output" => Some(output::OUTPUT_FIELDS),
        "mcp" => Some(mcp::MCP_FIELDS),
        "tracing" => Some(tracing::TRACING_FIELDS),
        _ => None,
    }
}

/// Reads everything and tells everything that is wrong; `None` when too little is right to go by. The caller
/// drops the result when there was any error.
pub(super) fn read(
    root: &YamlNode,
    body: &PromptBody<'_>,
    scope: AgentScope,
    findings: &mut FileFindings,
) -> Option<AgentDefinition> {
    let fields = KnownFields::open_with_suggestions(root, "", FIELDS, DEEPER_FIELDS, findings)?;
    read_kind(&fields, findings);
    let named = read_name(&fields, findings);
    let mut unsupported = unsupported::read(root, findings);
    look::check_scope(&fields, scope, findings);
    let imported_from = fields.one_of(IMPORTED_FROM, PRODUCTS, findings);
    // What an import left there is its product's, which was read by that product's table.
    if imported_from.is_none() {
        unsupported.extend(unsupported::read_narrowing(root, fields_of, findings));
    }
    let title = fields.raw_text("title", findings);
    let description = fields.text("description", findings);
    let hidden = fields.flag("hidden", findings).unwrap_or(false);
    if fields.get("description").is_none() && !hidden {
        let message = "`description` is missing: other agents cannot tell when to call this one";
        findings.warning(Some(root.mark), MissingField, message, None);
    }
    let version = look::version(&fields, findings);
    let color = look::color(&fields, findings);
    let (model, limits) = (model::model(&fields, findings), model::limits(&fields, findings));
    let inputs = inputs::read(&fields, findings);
    let output = output::read(&fields, findings);
    let completion = read_completion(&fields, output.is_some(), findings);
    let query = read_query(&fields, &inputs, findings);
    let initial_messages = messages::read(&fields, &inputs, findings);
    let (tools, mut narrowings) = tools::read(&fields, findings);
    let mcp = mcp::read(&fields, findings);
    let approval::ApprovalField { auto_approve, rules } = approval::read(&fields, findings);
    narrowings.extend(rules);
    let sandbox = fields.one_of("sandbox", SANDBOXES, findings);
    let triggers = triggers::read(&fields, findings);
    let prompt_modules = prompt::has_modules(&fields, body.text, findings);
    let omits_memory = prompt::omits_memory(&fields, findings);
    let skills = skills::names(&fields, findings);
    let tracing = tracing::read(&fields, findings);
    let hooks = hooks(&fields);
    check_placeholders(body.text, &inputs, |offset| body.mark(offset), findings);

    let WrittenName { name, text } = named?;
    Some(AgentDefinition {
        title: title.or(text).unwrap_or_else(|| names::title_case(&name)),
        name,
        format: AgentFormat::Own,
        description,
        imported_from,
        version,
        color,
        model,
        limits,
        completion,
        inputs,
        output,
        query,
        initial_messages,
        tools,
        mcp,
        narrowings,
        auto_approve,
        sandbox,
        triggers,
        hidden,
        unsupported,
        omits_memory,
        prompt_modules,
        hooks,
        skills,
        tracing,
        prompt: body.text.replace("\r\n", "\n"),
    })
}

/// The hooks that the file brings along; what is wrong with it is told by whoever runs them, and keeps what they guard from happening.
pub(super) fn hooks(fields: &KnownFields<'_>) -> Option<serde_json::Value> {
    fields.get("hooks").filter(|node| !node.says_nothing()).map(YamlNode::to_json)
}

fn read_kind(fields: &KnownFields<'_>, findings: &mut FileFindings) {
    if fields.require("kind", "kind: agent", findings).is_none() {
        return;
    }
    let kind = fields.one_of(
        "kind",
        &[("agent", DefinitionKind::Agent), ("graph", DefinitionKind::Graph)],
        findings,
    );
    if let (Some(DefinitionKind::Graph), Some(node)) = (kind, fields.get("kind")) {
        findings.error(Some(node.mark), BadValue, "`kind`: graphs are not supported yet; expected `agent`");
    }
}

/// A name, and what was written when that was another.
struct WrittenName {
    name: AgentName,
    text: Option<String>,
}

fn read_name(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<WrittenName> {
    let node = fields.require("name", "name: my-agent", findings)?;
    let text = fields.raw_text("name", findings)?;
    let Some(name) = names::slug(&text) else {
        let expected = "a name of small letters, digits and dashes, e.g. `debug-analyzer`";
        findings.expected(node, "name", BadValue, expected);
        return None;
    };
    if let Some(taken) = names::taken(&name) {
        let message = format!("`name`: `{name}` {taken}; expected a name of the agent's own");
        findings.error(Some(node.mark), BadValue, message);
    }
    let is_changed = name.as_str() != text;
    if is_changed {
        let message = format!(
            "`name`: {text:?} is no name of small letters, digits and dashes; it is read as `{name}`"
        );
        findings.warning(Some(node.mark), BadValue, message, Some(format!("write `name: {name}`")));
    }
    Some(WrittenName { name, text: is_changed.then_some(text) })
}

fn read_completion(
    fields: &KnownFields<'_>,
    has_output: bool,
    findings: &mut FileFindings,
) -> Option<CompletionMode> {
    let completion = fields.one_of("completion", COMPLETIONS, findings)?;
    if completion == CompletionMode::Message && has_output {
        let message =
            "`completion: message` has no effect beside `output`: a typed result ends with `complete_task`";
        findings.warning(fields.get("completion").map(|node| node.mark), BadValue, message, None);
        return Some(CompletionMode::Tool);
    }
    Some(completion)
}

fn read_query(fields: &KnownFields<'_>, inputs: &[InputSpec], findings: &mut FileFindings) -> String {
    if let (Some(query), Some(node)) = (fields.text("query", findings), fields.get("query")) {
        check_placeholders(&query, inputs, |_| node.mark, findings);
        return query;
    }
    let has_prompt = inputs.iter().any(|input| input.name == "prompt");
    if has_prompt { "${prompt}".to_owned() } else { "Get Started!".to_owned() }
}

/// A template may name the inputs and what the daemon supplies; each other name is told once.
fn check_placeholders(
    template: &str,
    inputs: &[InputSpec],
    mark: impl Fn(usize) -> TextPosition,
    findings: &mut FileFindings,
) {
    let known: HashSet<&str> = inputs.iter().map(|input| input.name.as_str()).chain(DAEMON_VALUES).collect();
    for placeholder in undeclared(template, &known) {
        if findings.are_full() {
            return;
        }
        let fix = match nearest(placeholder.name, known.iter().copied()) {
            Some(near) => format!("did you mean `${{{near}}}`? A literal `${{` is written `$${{`"),
            None => format!(
                "declare it under `inputs`, or write `$${{{}}}` for the literal text",
                placeholder.name
            ),
        };
        let message = format!("the template names `${{{}}}`, but there is no such input", placeholder.name);
        findings.error_with_fix(Some(mark(placeholder.offset)), BadValue, message, fix);
    }
}

/// The placeholders with other names than the known ones, each name once.
fn undeclared<'a>(template: &'a str, known: &HashSet<&str>) -> impl Iterator<Item = TemplatePlaceholder<'a>> {
    let mut seen = HashSet::new();
    placeholders(template)
        .filter(move |placeholder| !known.contains(placeholder.name) && seen.insert(placeholder.name))
}

/// Reads a JSON Schema and tells what is wrong with it, each mistake at its own place.
fn read_schema(node: &YamlNode, path: &str, findings: &mut FileFindings) -> Option<serde_json::Value> {
    if !matches!(node.content, YamlContent::Map(_)) {
        findings.expected(node, path, WrongType, "a JSON Schema");
        return None;
    }
    let value = node.to_json();
    let mistakes = schema::mistakes(&value);
    for mistake in &mistakes {
        let mark = node.at_pointer(&mistake.pointer).mark;
        let message = format!("`{path}` is no JSON Schema: at `{}`: {}", mistake.pointer, mistake.message);
        let is_type = mistake.pointer.ends_with("/type") && !mistake.pointer.ends_with("properties/type");
        if is_type {
            let fix = "types are `string`, `number`, `integer`, `boolean`, `array`, `object` and `null`";
            findings.error_with_fix(Some(mark), BadValue, message, fix);
        } else {
            findings.error(Some(mark), BadValue, message);
        }
    }
    mistakes.is_empty().then_some(value)
}

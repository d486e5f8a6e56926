//! Turns the fields and the body of a file of our format into an agent (spec 02, "The file").

use std::collections::HashSet;

use super::{
    fields::KnownFields,
    file_sections::PromptBody,
    findings::FileFindings,
    names, schema,
    template::{DAEMON_VALUES, TemplatePlaceholder, placeholders},
    unsupported,
    yaml::{YamlContent, YamlNode},
};
use config::{TextPosition, nearest};
use protocol::{
    AgentDefinition, AgentName, AgentScope, CompletionMode,
    FileProblemCode::{BadValue, MissingField, WrongType},
    InputSpec,
};

pub(super) mod approval;
mod field_row;
mod inputs;
pub(super) mod look;
mod mcp;
mod messages;
mod model;
mod output;
mod prompt;
mod schema_file;
mod shapes;
mod skills;
mod table;
mod tools;
mod tracing;
mod triggers;

#[cfg(test)]
mod tests;

pub(super) use approval::verdict_word;
pub(super) use model::{in_minutes, minutes};
pub use schema_file::front_matter_schema;
pub(super) use skills::names as skill_names;
pub(super) use table::{FIELD_NAMES, IMPORTED_FROM, claims, hooks, lost_fields, own_fields};
pub(super) use tools::split as split_tools;

/// The agent's name, if the front matter has a usable one.
pub(super) fn name(root: &YamlNode) -> Option<AgentName> {
    let YamlContent::Map(entries) = &root.content else { return None };
    let (_, node) = entries.iter().find(|(key, _)| key.text.eq_ignore_ascii_case("name"))?;
    node.as_raw_text().filter(|_| !node.is_null()).and_then(names::slug)
}

/// True if this is a field of ours, in any of its spellings.
pub(super) fn is_field(key: &str) -> bool {
    let plain = |key: &str| key.replace(['_', '-'], "").to_lowercase();
    FIELD_NAMES.iter().any(|field| plain(field) == plain(key))
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
    let known: Vec<&str> = FIELD_NAMES.iter().copied().filter(is_used).collect();
    let fields = KnownFields::open(root, "", &known, &mut quiet);
    fields.map(|fields| fields.extras(&[])).unwrap_or_default()
}

/// Reads everything and tells everything that is wrong; `None` when too little is right to go by. The caller
/// drops the result when there was any error.
pub(super) fn read(
    root: &YamlNode,
    body: &PromptBody<'_>,
    scope: AgentScope,
    findings: &mut FileFindings,
) -> Option<AgentDefinition> {
    let fields = KnownFields::open_with_suggestions(root, "", FIELD_NAMES, &table::strays(), findings)?;
    let mut agent = AgentDefinition {
        prompt: body.text.replace("\r\n", "\n"),
        prompt_modules: body.text.is_empty(),
        ..AgentDefinition::named(AgentName::from(""), "")
    };
    agent.unsupported = unsupported::read(root, findings);
    // What an import left there is its product's, which was read by that product's table.
    if !table::is_imported(&fields) {
        agent.unsupported.extend(unsupported::read_narrowing(root, table::narrowing_section, findings));
    }
    field_row::read_rows(table::FIELDS, &fields, &mut agent, findings);
    look::check_scope(&fields, scope, findings);
    if fields.get("description").is_none() && !agent.hidden {
        let message = "`description` is missing: other agents cannot tell when to call this one";
        findings.warning(Some(root.mark), MissingField, message, None);
    }
    if agent.completion == Some(CompletionMode::Message) && agent.output.is_some() {
        let message =
            "`completion: message` has no effect beside `output`: a typed result ends with `complete_task`";
        findings.warning(fields.get("completion").map(|node| node.mark), BadValue, message, None);
        agent.completion = Some(CompletionMode::Tool);
    }
    check_placeholders(body.text, &agent.inputs, |offset| body.mark(offset), findings);
    (!agent.name.as_str().is_empty()).then_some(agent)
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

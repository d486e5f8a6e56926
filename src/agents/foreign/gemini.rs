//! Gemini CLI's agents (<https://geminicli.com/docs/core/subagents/>), local ones and lists of remote ones.

use std::collections::HashSet;

use super::{
    CommonAgentFields, ForeignAgent, ForeignFileOrigin, ForeignToolNames, StartStanding, listed_tools,
    max_turns, model, prompt, put_in, tell_without_effect,
};
use crate::{
    file_sections::PromptBody,
    findings::FileFindings,
    template::{DAEMON_VALUES, placeholders},
    yaml::{YamlContent, YamlNode},
};
use protocol::{
    AgentDefinition, AgentLimits, CompletionMode,
    FileProblemCode::{BadValue, MissingField, UnknownField},
};

const FIELDS: &[&str] = &[
    "kind",
    "name",
    "displayName",
    "description",
    "tools",
    "model",
    "temperature",
    "maxTurns",
    "timeoutMins",
    "mcpServers",
    "color",
    "agentCardUrl",
    "agentCardJson",
    "auth",
];

const WITHOUT_EFFECT: &[&str] = &["mcpServers"];
const OF_REMOTE: &[&str] = &["agentCardUrl", "agentCardJson", "auth"];

/// The input of Gemini CLI's agents, by which their templates may name what they are asked.
const QUERY: &str = "query";

#[derive(Clone, Copy, PartialEq)]
enum GeminiAgentKind {
    Local,
    Remote,
}

pub(super) fn read(
    root: &YamlNode,
    body: &PromptBody<'_>,
    origin: ForeignFileOrigin<'_>,
    findings: &mut FileFindings,
) -> Vec<ForeignAgent> {
    match &root.content {
        YamlContent::List(nodes) if !nodes.is_empty() => {
            nodes.iter().map(|node| one(node, body, origin, true, findings)).collect()
        }
        _ => vec![one(root, body, origin, false, findings)],
    }
}

fn one(
    root: &YamlNode,
    body: &PromptBody<'_>,
    origin: ForeignFileOrigin<'_>,
    is_listed: bool,
    findings: &mut FileFindings,
) -> ForeignAgent {
    let mut common = CommonAgentFields::read(root, FIELDS, origin, findings);
    let Some(fields) = &common.fields else { return common.without_definition() };
    let kinds = [
        ("local", GeminiAgentKind::Local),
        ("remote", GeminiAgentKind::Remote),
        ("agent", GeminiAgentKind::Local),
    ];
    let usual = if is_listed { GeminiAgentKind::Remote } else { GeminiAgentKind::Local };
    let kind = fields.one_of("kind", &kinds, findings).unwrap_or(usual);
    if is_listed && kind == GeminiAgentKind::Local {
        let message = "a list of agents holds remote ones only: one that runs here has a file of its own";
        findings.error(Some(root.mark), BadValue, message);
    }
    common.title = fields.raw_text("displayName", findings).or(common.title.take());
    common.warn_of_missing_description(root, kind == GeminiAgentKind::Remote, findings);
    tell_without_effect(fields, WITHOUT_EFFECT, findings);
    if kind == GeminiAgentKind::Remote {
        return remote(&common, fields, (body, origin), findings);
    }
    tell_without_effect(fields, OF_REMOTE, findings);
    let mut definition = common.definition(fields, (body, origin.format), findings);
    as_template(&mut definition, body, findings);
    definition.model = model(fields, findings);
    let is_temperature = |number: f64| (0.0..=2.0).contains(&number);
    definition.model.sampling.temperature =
        fields.number("temperature", "a number from 0 to 2", is_temperature, findings);
    definition.limits = AgentLimits {
        max_turns: max_turns("maxTurns", fields, findings),
        max_time_ms: crate::definition::minutes("timeoutMins", fields, findings),
        ..AgentLimits::default()
    };
    let names = ForeignToolNames::of(origin.format);
    let (allowed, denied) = listed_tools(fields, names, findings);
    put_in(&mut definition, allowed, denied);
    // They end by `complete_task`, wherever they run.
    definition.completion = Some(CompletionMode::Tool);
    let extras = fields.extras(&[WITHOUT_EFFECT, OF_REMOTE].concat());
    ForeignAgent { name: common.name, definition: Some(definition), extras, standing: StartStanding::Usual }
}

/// Its texts are templates, and name what the agent is asked `${query}`. Any other name is somebody's example, not a mistake
/// that should keep the agent from running.
fn as_template(definition: &mut AgentDefinition, body: &PromptBody<'_>, findings: &mut FileFindings) {
    let is_known = |name: &str| name == QUERY || DAEMON_VALUES.contains(&name);
    let mut told = HashSet::new();
    let mut prompt_text = String::with_capacity(body.text.len());
    let mut from = 0;
    for placeholder in placeholders(body.text) {
        if is_known(placeholder.name) {
            continue;
        }
        prompt_text.push_str(&body.text[from..placeholder.offset]);
        prompt_text.push('$');
        from = placeholder.offset;
        if !findings.are_full() && told.insert(placeholder.name) {
            let message = format!("`${{{}}}` names no input; it stays as it is", placeholder.name);
            findings.warning(Some(body.mark(placeholder.offset)), BadValue, message, None);
        }
    }
    prompt_text.push_str(&body.text[from..]);
    if placeholders(body.text).any(|placeholder| placeholder.name == QUERY) {
        definition.inputs = vec![prompt(QUERY)];
        definition.query = format!("${{{QUERY}}}");
    }
    definition.prompt = prompt_text;
}

/// Listed, and not started: it runs on another machine, behind its card.
fn remote(
    common: &CommonAgentFields<'_>,
    fields: &crate::fields::KnownFields<'_>,
    (body, origin): (&PromptBody<'_>, ForeignFileOrigin<'_>),
    findings: &mut FileFindings,
) -> ForeignAgent {
    let card = fields.get("agentCardUrl").or_else(|| fields.get("agentCardJson"));
    let mark = fields.key("kind").map_or(fields.mark(), |key| key.mark);
    if card.is_none() {
        let fix = "add `agent_card_url: https://…`";
        findings.error_with_fix(
            Some(mark),
            MissingField,
            "`agent_card_url` is missing: where is the agent?",
            fix,
        );
    }
    let message = "remote agents cannot be started yet";
    findings.warning(Some(mark), UnknownField, message, None);
    let mut quiet = FileFindings::of(origin.path);
    let definition = common.definition(fields, (body, origin.format), &mut quiet);
    ForeignAgent {
        name: common.name.clone(),
        definition: Some(definition),
        extras: fields.extras(&[WITHOUT_EFFECT, OF_REMOTE, &["kind"]].concat()),
        standing: StartStanding::Remote,
    }
}

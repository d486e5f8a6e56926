//! OpenCode's agents (<https://opencode.ai/docs/agents/>, "Markdown").

use super::{
    CommonAgentFields, ForeignAgent, ForeignFileOrigin, ForeignToolNames, SelectedTools, StartStanding, deny,
    listed_tools, max_turns, model, put_in, tell_without_effect,
};
use crate::{
    definition::approval::verdict,
    file_sections::PromptBody,
    findings::FileFindings,
    narrow,
    yaml::{YamlContent, YamlNode},
};
use protocol::{AgentDefinition, AgentLimits, AgentToolRule, FileProblemCode::BadValue, ToolName, Verdict};

const FIELDS: &[&str] = &[
    "name",
    "description",
    "mode",
    "model",
    "temperature",
    "topP",
    "prompt",
    "tools",
    "permission",
    "steps",
    "maxSteps",
    "disable",
    "hidden",
    "color",
    "reasoningEffort",
    "textVerbosity",
    "options",
    "variant",
];

const WITHOUT_EFFECT: &[&str] = &["prompt", "reasoningEffort", "textVerbosity", "options", "variant"];

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Primary,
    Subagent,
    All,
}

const MODES: &[(&str, Mode)] =
    &[("primary", Mode::Primary), ("subagent", Mode::Subagent), ("all", Mode::All)];

/// Tools that a file may speak of: more is nothing that somebody wrote.
const MOST_PERMISSIONS: usize = 500;

/// What OpenCode's permission `edit` is about.
pub(in super::super) const EDITS: &[&str] = &["edit_file", "write_file", "delete_file", "move_file"];

pub(super) fn read(
    root: &YamlNode,
    body: &PromptBody<'_>,
    origin: ForeignFileOrigin<'_>,
    findings: &mut FileFindings,
) -> ForeignAgent {
    let common = CommonAgentFields::read(root, FIELDS, origin, findings);
    let Some(fields) = &common.fields else { return common.without_definition() };
    let mode = fields.one_of("mode", MODES, findings).unwrap_or(Mode::All);
    // A person's agent is not one that others call.
    let hidden = fields.flag("hidden", findings).unwrap_or(false) || mode == Mode::Primary;
    common.warn_of_missing_description(root, hidden, findings);
    tell_without_effect(fields, WITHOUT_EFFECT, findings);
    let mut definition = common.definition(fields, (body, origin.format), findings);
    definition.hidden = hidden;
    definition.model = model(fields, findings);
    let is_temperature = |number: f64| (0.0..=2.0).contains(&number);
    let is_share = |number: f64| (0.0..=1.0).contains(&number);
    let sampling = &mut definition.model.sampling;
    sampling.temperature = fields.number("temperature", "a number from 0 to 2", is_temperature, findings);
    sampling.top_p = fields.number("topP", "a number from 0 to 1", is_share, findings);
    let steps = max_turns("steps", fields, findings).or_else(|| max_turns("maxSteps", fields, findings));
    definition.limits = AgentLimits { max_turns: steps, ..AgentLimits::default() };
    let names = ForeignToolNames::of(origin.format);
    let (allowed, denied) = listed_tools(fields, names, findings);
    put_in(&mut definition, allowed, denied);
    if let Some(node) = fields.get("permission") {
        permission(node, &mut definition, names, findings);
    }
    let is_off = fields.flag("disable", findings).unwrap_or(false);
    let extras = fields.extras(&[WITHOUT_EFFECT, &["mode"]].concat());
    let standing = if is_off { StartStanding::SwitchedOff } else { StartStanding::Usual };
    ForeignAgent { name: common.name, definition: Some(definition), extras, standing }
}

/// What asks and what is refused; what it allows asks here as ever, but where the file itself asked.
fn permission(
    node: &YamlNode,
    definition: &mut AgentDefinition,
    names: ForeignToolNames,
    findings: &mut FileFindings,
) {
    let YamlContent::Map(entries) = &node.content else {
        // `permission: ask` is about everything.
        if let Some(decision) = verdict(node, "permission", findings) {
            narrow(definition, &["*"], None, decision);
        }
        return;
    };
    if let Some((key, _)) = entries.get(MOST_PERMISSIONS) {
        let message = format!("`permission` speaks of more than {MOST_PERMISSIONS} tools");
        findings.error(Some(key.mark), BadValue, message);
    }
    for (key, value) in entries.iter().take(MOST_PERMISSIONS) {
        let path = format!("permission.{}", key.text);
        let tools: Vec<ToolName> = match key.text.as_str() {
            "edit" => EDITS.iter().map(|tool| ToolName::from(*tool)).collect(),
            "*" => vec!["*".into()],
            "task" => {
                // Which agents may be called is no rule about a tool: what does not allow all allows none beside the named.
                let decision = match &value.content {
                    YamlContent::Map(_) => Some(Verdict::Ask),
                    _ => verdict(value, &path, findings),
                };
                definition.tools.agents &= decision == Some(Verdict::Allow);
                continue;
            }
            name => vec![names.of_permission(name)],
        };
        let tools: Vec<&str> = tools.iter().map(ToolName::as_str).collect();
        match &value.content {
            YamlContent::Map(cases) => {
                if let Some((pattern, _)) = cases.get(MOST_PERMISSIONS) {
                    let message = format!("`{path}` speaks of more than {MOST_PERMISSIONS} kinds of calls");
                    findings.error(Some(pattern.mark), BadValue, message);
                }
                for (pattern, value) in cases.iter().take(MOST_PERMISSIONS) {
                    let path = format!("{path}.{}", pattern.text);
                    let Some(decision) = verdict(value, &path, findings) else { continue };
                    let about = Some(pattern.text.trim()).filter(|pattern| *pattern != "*");
                    let is_lost =
                        about.is_some_and(|about| !tools.iter().all(|it| narrow::is_understood(it, about)));
                    if is_lost {
                        let becomes =
                            if decision == Verdict::Allow { "allows nothing" } else { "is about every call" };
                        let message =
                            format!("`{path}`: it is not known here which calls are meant; it {becomes}");
                        findings.warning(Some(pattern.mark), BadValue, message, None);
                    }
                    narrow(definition, &tools, about, decision);
                }
            }
            _ => match verdict(value, &path, findings) {
                Some(Verdict::Deny) if tools == ["*"] => {
                    put_in(definition, None, SelectedTools::everything())
                }
                // What is never to be called is not there at all.
                Some(Verdict::Deny) => deny(definition, tools.iter().map(|it| ToolName::from(*it))),
                Some(decision) => narrow(definition, &tools, None, decision),
                None => {}
            },
        }
    }
}

fn narrow(definition: &mut AgentDefinition, tools: &[&str], about: Option<&str>, decision: Verdict) {
    for tool in tools {
        let about = about.map(str::to_owned);
        definition.narrowings.push(AgentToolRule { tool: (*tool).into(), about, decision });
    }
}

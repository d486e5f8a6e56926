//! Claude Code's subagents (<https://docs.claude.com/en/docs/claude-code/sub-agents>, "Supported frontmatter fields").

use super::{
    CommonAgentFields, ForeignAgent, ForeignFileOrigin, ForeignToolNames, StartStanding, deny, listed_tools,
    max_turns, model, put_in, tell_without_effect, tools::entries,
};
use crate::{definition::skill_names, file_sections::PromptBody, findings::FileFindings, yaml::YamlNode};
use protocol::{AgentLimits, FileProblemCode::UnknownField, ToolName};

const FIELDS: &[&str] = &[
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "color",
    "maxTurns",
    "permissionMode",
    "mcpServers",
    "hooks",
    "memory",
    "skills",
    "background",
    "effort",
    "isolation",
    "initialPrompt",
    "omitClaudeMd",
];

const WITHOUT_EFFECT: &[&str] = &["mcpServers", "background", "effort", "initialPrompt"];

/// Fields that keep an agent from being started here, see [`crate::unsupported`].
const UNSUPPORTED: &[&str] = &["memory", "isolation"];

/// What `permissionMode: plan` leaves of everything: nothing that changes something, and nobody who could.
const PLANNING: &[&str] = &[
    "list_directory",
    "read_file",
    "read_many_files",
    "glob",
    "grep",
    "web_fetch",
    "web_search",
    "write_todos",
    "ask_user",
];

/// What it takes away of tools that are named.
const CHANGING: &[&str] = &[
    "write_file",
    "edit_file",
    "run_shell_command",
    "delete_file",
    "move_file",
    "git_commit",
    "save_memory",
];

pub(super) fn read(
    root: &YamlNode,
    body: &PromptBody<'_>,
    origin: ForeignFileOrigin<'_>,
    findings: &mut FileFindings,
) -> ForeignAgent {
    let common = CommonAgentFields::read(root, FIELDS, origin, findings);
    let Some(fields) = &common.fields else { return common.without_definition() };
    common.warn_of_missing_description(root, false, findings);
    tell_without_effect(fields, WITHOUT_EFFECT, findings);
    let mut definition = common.definition(fields, (body, origin.format), findings);
    definition.model = model(fields, findings);
    definition.omits_memory = fields.flag("omitClaudeMd", findings).unwrap_or(false);
    definition.skills = skill_names(fields, findings);
    definition.limits =
        AgentLimits { max_turns: max_turns("maxTurns", fields, findings), ..AgentLimits::default() };
    let names = ForeignToolNames::of(origin.format);
    let (allowed, taken_away) = listed_tools(fields, names, findings);
    let denied = fields.get("disallowedTools").map(|node| {
        let entries = entries(node, "disallowedTools", findings);
        names.denied(entries, findings)
    });
    put_in(&mut definition, allowed, taken_away.and(denied.unwrap_or_default()));
    if let Some(mode) = fields.raw_text("permissionMode", findings) {
        let mark = fields.get("permissionMode").map(|node| node.mark);
        match mode.as_str() {
            "default" => {}
            "plan" => {
                let tools = &mut definition.tools;
                if std::mem::take(&mut tools.inherits) {
                    let left = PLANNING.iter().map(|tool| ToolName::from(*tool));
                    tools.allow = Some(left.collect());
                }
                tools.agents = false;
                deny(&mut definition, CHANGING.iter().map(|tool| ToolName::from(*tool)));
            }
            _ => {
                let message = format!(
                    "`permissionMode: {mode}` has no effect: an agent's file cannot allow what asks here"
                );
                let fix = "say so when you start it (`--approve`, `--mode`), or by a rule";
                findings.warning(mark, UnknownField, message, Some(fix.to_owned()));
            }
        }
    }
    let kept = [WITHOUT_EFFECT, UNSUPPORTED, &["permissionMode", "omitClaudeMd"]].concat();
    let extras = fields.extras(&kept);
    ForeignAgent { name: common.name, definition: Some(definition), extras, standing: StartStanding::Usual }
}

//! What can the daemon offer to whoever makes an agent: models, tools, and a word about an expression? What it cannot tell
//! keeps nobody from going on.

use serde::Deserialize;
use serde_json::json;

use crate::{
    ProcessIo,
    link::DaemonLink,
    message::show_message,
    paging,
    prompter::ChoiceItem,
    safe_text,
    text_color::TextColor,
    validate::{AgentCheckView, AgentsValidateReply},
};
use protocol::{
    AgentsValidate, AgentsValidateParams, CheckOutcome, McpList, McpListParams, ModelsList, ModelsListParams,
    ToolsList, ToolsListParams,
};

/// What the model of an agent is that names none.
pub(super) const INHERIT: &str = "inherit";

/// Every run has it.
const ALWAYS_THERE: &str = "complete_task";

/// Characters of how a server is.
const ABOUT_CHARACTERS: usize = 60;

/// What an expression is checked in, and its line.
const TRIAL: &str = "expression";
const TRIAL_LINE: u32 = 5;

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfferedModels {
    entries: Vec<OfferedProvider>,
    aliases: Vec<OfferedModelAlias>,
    offline: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfferedProvider {
    models: Vec<OfferedModel>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfferedModel {
    model: String,
    title: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfferedModelAlias {
    name: String,
    model: String,
}

/// The models that the settings name and the providers have, `inherit` first.
pub(super) fn models(link: &mut DaemonLink, surroundings: &mut ProcessIo) -> Vec<ChoiceItem> {
    let item = |name: String, about: String| ChoiceItem { name, about };
    let mut items = vec![item(
        INHERIT.to_owned(),
        "the caller's, else the session's, else the setting models.default".to_owned(),
    )];
    let params = ModelsListParams { refresh: false, entry: None };
    let answer = link.ask_value::<ModelsList>(&params).map_err(Into::into);
    let OfferedModels { entries, aliases, offline } = match answer.and_then(|answer| paging::view(&answer)) {
        Ok(models) => models,
        Err(_) => {
            let text = "the models cannot be listed now; type a name, or choose one later";
            show_message(&mut surroundings.stderr, TextColor::Yellow, "note", text);
            return items;
        }
    };
    items.extend(aliases.into_iter().map(|alias| item(alias.name, alias.model)));
    let models = entries.into_iter().flat_map(|entry| entry.models);
    items.extend(models.map(|model| item(model.model, model.title.unwrap_or_default())));
    items.extend(offline.map(|name| item(name, "needs no key".to_owned())));
    only_plain(items)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfferedTool {
    name: String,
    title: String,
    source: String,
    state: String,
}

/// The tools that an agent here could have; `None` when that cannot be told.
pub(super) fn tools(link: &mut DaemonLink, surroundings: &mut ProcessIo) -> Option<Vec<ChoiceItem>> {
    let params = ToolsListParams { agent: None, session_id: None, workspace: surroundings.workspace() };
    let answer = link.ask_slowly::<ToolsList>(&params, &mut surroundings.stderr).ok();
    let tools: Option<Vec<OfferedTool>> = answer.and_then(|answer| paging::entries(&answer, "tools").ok());
    let Some(tools) = tools.filter(|tools| !tools.is_empty()) else {
        let text = "the tools cannot be listed now; the agent gets the default ones";
        show_message(&mut surroundings.stderr, TextColor::Yellow, "note", text);
        return None;
    };
    let is_offered = |tool: &OfferedTool| tool.name != ALWAYS_THERE && tool.state != "excluded";
    let items = tools.into_iter().filter(is_offered).map(|tool| {
        let about = if tool.source == "agent" { format!("agent: {}", tool.title) } else { tool.title };
        ChoiceItem { name: tool.name, about }
    });
    Some(only_plain(items.collect()))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfferedMcpServer {
    name: String,
    state: String,
    reason: Option<String>,
}

/// The MCP servers that the settings have for this folder; none when that cannot be told.
pub(super) fn servers(link: &mut DaemonLink, surroundings: &ProcessIo) -> Vec<ChoiceItem> {
    let params = McpListParams { workspace: surroundings.workspace() };
    let answer = link.ask_value::<McpList>(&params).ok();
    let servers = answer.and_then(|answer| paging::entries::<OfferedMcpServer>(&answer, "servers").ok());
    let item = |server: OfferedMcpServer| {
        let about = match server.reason {
            Some(reason) => format!("{}: {reason}", server.state),
            None => server.state,
        };
        ChoiceItem { name: server.name, about: safe_text::line(&about, ABOUT_CHARACTERS) }
    };
    only_plain(servers.unwrap_or_default().into_iter().map(item).collect())
}

/// Names of others are written for the person, so they must be what they look like.
fn only_plain(items: Vec<ChoiceItem>) -> Vec<ChoiceItem> {
    let is_plain =
        |item: &ChoiceItem| !item.name.is_empty() && safe_text::line(&item.name, usize::MAX) == item.name;
    items.into_iter().filter(is_plain).collect()
}

/// What the daemon says against an expression.
pub(super) fn check_regex(regex: &str, link: &mut DaemonLink) -> Result<(), String> {
    // JSON is YAML; the file is nobody's and is written nowhere.
    let trial = json!([{ "regex": regex }]);
    let text = format!(
        "---\nkind: agent\nname: {TRIAL}\ndescription: It is tried.\ntriggers: {trial}\n---\nIt is tried.\n"
    );
    let params = AgentsValidateParams {
        text: Some(text),
        path: Some(TRIAL.into()),
        ..AgentsValidateParams::default()
    };
    let answer = link.ask_value::<AgentsValidate>(&params).ok();
    // Without an answer it is checked when the file is written.
    let Some(validated) = answer.and_then(|answer| paging::view::<AgentsValidateReply>(&answer).ok()) else {
        return Ok(());
    };
    let place = format!("{TRIAL}:{TRIAL_LINE}:");
    let is_failed = |check: &&AgentCheckView| check.outcome.known() == Some(CheckOutcome::Fail);
    let checks = validated.agents.iter().flat_map(|agent| &agent.checks).filter(is_failed);
    let mut findings = checks.flat_map(|check| &check.findings);
    // Other findings are about the trial, not about what was typed.
    match findings.find_map(|finding| finding.strip_prefix(&place)) {
        Some(finding) => Err(finding.split_once(": ").map_or(finding, |(_, what)| what).to_owned()),
        None => Ok(()),
    }
}

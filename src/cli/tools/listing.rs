//! `subagent tools`: which tools are there, where do they come from, and what excludes those that nobody gets?

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    ListingFormat, OutputWriter, ProcessIo,
    failure::CommandFailure,
    ids,
    link::DaemonLink,
    message::show_message,
    paging, paths,
    table::{self, TableCell, cell, free, state_cell, whole},
    text_color::TextColor,
};
use protocol::{ToolsList, ToolsListParams};

#[derive(Args)]
pub(crate) struct ListingArguments {
    /// Only tools of this agent's runs [default: all tools]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// As runs of this session have them; the beginning of its id is enough
    #[arg(long, value_name = "ID", conflicts_with = "workspace")]
    session: Option<String>,
    /// As runs in this folder have them [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

/// A tool, with open sources, kinds, risks and states.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListedToolView {
    name: String,
    source: String,
    kind: String,
    risk: String,
    state: String,
    rule: Option<String>,
    client_id: Option<String>,
    title: String,
}

pub(crate) fn list(
    arguments: &ListingArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let workspace = paths::read_workspace(arguments.workspace.as_deref(), surroundings)?;
    link.open(&mut surroundings.stderr)?;
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    let params = ToolsListParams {
        agent: arguments.agent.as_deref().map(Into::into),
        workspace: session_id.is_none().then_some(workspace),
        session_id,
    };
    let answer = link.ask_slowly::<ToolsList>(&params, &mut surroundings.stderr)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let (text, warnings) = told(&answer, &surroundings.stdout)?;
    surroundings.stdout.write(&text)?;
    for warning in warnings {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &warning);
    }
    Ok(0)
}

/// An answer to `tools/list` as a table for `output`, and what is to be said beside it.
pub(crate) fn told(answer: &Value, output: &OutputWriter) -> Result<(String, Vec<String>), CommandFailure> {
    let tools: Vec<ListedToolView> = paging::entries(answer, "tools")?;
    let text = match tools.is_empty() {
        true => "no tools\n".to_owned(),
        false => draw(&tools, output),
    };
    let warnings: Vec<String> =
        if answer.get("warnings").is_some() { paging::entries(answer, "warnings")? } else { Vec::new() };
    Ok((text, warnings))
}

fn draw(tools: &[ListedToolView], stdout: &OutputWriter) -> String {
    let cells = |tool: &ListedToolView| {
        // A rule begins with what it excludes; what is no rule is a sentence of its own.
        let why = tool.rule.as_ref().map(|rule| match rule.starts_with('`') {
            true => format!("by {rule}"),
            false => rule.clone(),
        });
        let who = tool.client_id.as_ref().map(|client| format!("lent by {client}"));
        let about: Vec<String> = why.into_iter().chain(who).chain([tool.title.clone()]).collect();
        [
            cell(&tool.name),
            cell(&tool.source),
            cell(&tool.kind),
            cell(&tool.risk),
            state_cell(&tool.state),
            cell(&about.join(" · ")),
        ]
    };
    let rows: Vec<[TableCell; 6]> = tools.iter().map(cells).collect();
    let columns =
        [whole("TOOL"), whole("SOURCE"), whole("KIND"), whole("RISK"), whole("STATE"), free("ABOUT")];
    table::draw(columns, &rows, stdout)
}

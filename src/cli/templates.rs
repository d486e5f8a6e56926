//! `subagent templates`: what can agents be made from?

use clap::Args;
use serde::Deserialize;

use super::{
    ListingFormat, ProcessIo,
    failure::CommandFailure,
    link::DaemonLink,
    paging,
    problem::FileProblemView,
    table::{self, TableCell, cell, free, whole},
};
use protocol::{AgentsTemplates, AgentsTemplatesParams};

#[derive(Args)]
pub(super) struct TemplatesArguments {
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AgentTemplateView {
    name: String,
    title: String,
    description: Option<String>,
    /// Missing for built-in ones.
    path: Option<String>,
}

#[derive(Deserialize)]
struct TemplateProblems {
    /// What is wrong with the user's own.
    #[serde(default)]
    problems: Vec<FileProblemView>,
}

pub(super) fn templates(
    arguments: &TemplatesArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = AgentsTemplatesParams { workspace: surroundings.workspace() };
    let answer = link.ask_value::<AgentsTemplates>(&params)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let templates: Vec<AgentTemplateView> = paging::entries(&answer, "templates")?;
    let cells = |template: &AgentTemplateView| {
        [
            cell(&template.name),
            cell(&template.title),
            cell(template.path.as_deref().unwrap_or("built in")),
            cell(template.description.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<[TableCell; 4]> = templates.iter().map(cells).collect();
    let columns = [whole("NAME"), free("TITLE"), free("FROM"), free("ABOUT")];
    let text = match rows.is_empty() {
        true => "no templates\n".to_owned(),
        false => table::draw(columns, &rows, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
    let TemplateProblems { problems } = paging::view(&answer)?;
    problems.iter().for_each(|problem| problem.show(&mut surroundings.stderr));
    // A pipe gets templates only.
    if surroundings.stdout.is_terminal && !rows.is_empty() {
        surroundings.stdout.write_drawn("\nUse one: subagent create NAME --template TEMPLATE\n")?;
    }
    Ok(0)
}

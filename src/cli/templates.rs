//! `subagent templates`: what can agents be made from?

use clap::Args;
use serde::Deserialize;

use super::{
    Format, Surroundings,
    failure::Failure,
    link::Link,
    paging,
    problem::Problem,
    table::{self, Cell, cell, free, whole},
};
use crate::protocol::{AgentsTemplates, AgentsTemplatesParams};

#[derive(Args)]
pub(super) struct TemplatesArguments {
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Template {
    name: String,
    title: String,
    description: Option<String>,
    /// Missing for built-in ones.
    path: Option<String>,
}

#[derive(Deserialize)]
struct Beside {
    /// What is wrong with the user's own.
    #[serde(default)]
    problems: Vec<Problem>,
}

pub(super) fn templates(
    arguments: &TemplatesArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    link.open(&mut surroundings.stderr)?;
    let params = AgentsTemplatesParams { workspace: surroundings.workspace() };
    let answer = link.ask_value::<AgentsTemplates>(&params)?;
    if arguments.format == Format::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let templates: Vec<Template> = paging::entries(&answer, "templates")?;
    let cells = |template: &Template| {
        [
            cell(&template.name),
            cell(&template.title),
            cell(template.path.as_deref().unwrap_or("built in")),
            cell(template.description.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<[Cell; 4]> = templates.iter().map(cells).collect();
    let columns = [whole("NAME"), free("TITLE"), free("FROM"), free("ABOUT")];
    let text = match rows.is_empty() {
        true => "no templates\n".to_owned(),
        false => table::draw(columns, &rows, &surroundings.stdout),
    };
    surroundings.stdout.write(&text)?;
    let Beside { problems } = paging::view(&answer)?;
    problems.iter().for_each(|problem| problem.show(&mut surroundings.stderr));
    // A pipe gets templates only.
    if surroundings.stdout.is_terminal && !rows.is_empty() {
        surroundings.stdout.write("\nUse one: subagent create NAME --template TEMPLATE\n")?;
    }
    Ok(0)
}

//! `subagent list`: which agents are there, and why can some not be used?

use clap::Args;

use super::{
    Format, Output, Surroundings, failure::Failure, link::Link, safe_text, screen::Ink, table::cell,
};
use crate::protocol::{AgentScope, AgentStatus, AgentSummary, AgentsList, AgentsListParams};

/// The groups, nearest first: a project's agents hide a user's, those the built-in ones.
const GROUPS: [(AgentScope, &str); 3] =
    [(AgentScope::Project, "Project"), (AgentScope::User, "User"), (AgentScope::Builtin, "Built in")];

#[derive(Args)]
pub(super) struct ListArguments {
    /// Also what is hidden or invalid, and why
    #[arg(long)]
    all: bool,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(super) fn list(
    arguments: &ListArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    link.open(&mut surroundings.stderr)?;
    let params = AgentsListParams {
        workspace: surroundings.workspace(),
        include_hidden: arguments.all,
        include_invalid: arguments.all,
    };
    let result = link.ask::<AgentsList>(&params)?;
    let stdout = &mut surroundings.stdout;
    match arguments.format {
        Format::Json => stdout.write_json_of(&result)?,
        Format::Table => {
            let table = draw(&result.agents, arguments.all, stdout);
            stdout.write(&table)?;
            // A pipe gets agents only.
            if stdout.is_terminal && !result.agents.is_empty() {
                stdout.write("\nRun one: subagent run NAME -p \"what to do\"\n")?;
            }
        }
    }
    Ok(0)
}

fn draw(agents: &[AgentSummary], with_reasons: bool, stdout: &Output) -> String {
    if agents.is_empty() {
        return "no agents\n".into();
    }
    let rows: Vec<[String; 4]> = agents.iter().map(cells).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut table = String::new();
    for (scope, title) in GROUPS {
        let mut members = agents.iter().zip(&rows).filter(|(agent, _)| agent.scope == scope).peekable();
        if members.peek().is_none() {
            continue;
        }
        if !table.is_empty() {
            table.push('\n');
        }
        let title = if stdout.has_color { Ink::Bold.paint(title) } else { title.to_owned() };
        table.push_str(&format!("{title}\n"));
        for (agent, [name, title, model, status]) in members {
            let [name_width, title_width, model_width] = widths;
            let row = format!("  {name:name_width$}  {title:title_width$}  {model:model_width$}  {status}");
            table.push_str(row.trim_end());
            table.push('\n');
            if with_reasons {
                for reason in reasons(agent) {
                    // A path and a message in full: this is what one came for.
                    table.push_str(&format!("      {}\n", safe_text::line(&reason, usize::MAX)));
                }
            }
        }
    }
    table
}

fn cells(agent: &AgentSummary) -> [String; 4] {
    // A name is typed again, so it is never cut; it has 64 characters at most.
    let name = safe_text::line(agent.name.as_str(), usize::MAX);
    [name, cell(&agent.title), cell(&agent.model), status_word(agent.status).to_owned()]
}

pub(super) fn status_word(status: AgentStatus) -> &'static str {
    match status {
        AgentStatus::Ok => "ok",
        AgentStatus::Untrusted => "untrusted",
        AgentStatus::Invalid => "invalid",
        AgentStatus::Hidden => "hidden",
    }
}

/// Why an agent cannot be used, or not as its author thinks; one line each.
pub(super) fn reasons(agent: &AgentSummary) -> Vec<String> {
    let hidden_by = agent.hidden_by.iter().map(|path| format!("hidden by {path}"));
    let untrusted = (agent.status == AgentStatus::Untrusted)
        .then(|| "nobody has trusted this workspace yet, so it cannot be started".to_owned());
    let problems = agent.problems.iter().map(ToString::to_string);
    hidden_by.chain(untrusted).chain(problems).collect()
}

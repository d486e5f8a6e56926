//! `subagent list`: which agents are there, and why can some not be used?

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    ListingFormat, OutputWriter, ProcessIo, agent_color,
    failure::CommandFailure,
    link::DaemonLink,
    message::show_message,
    paging, safe_text,
    table::{TableCell, TableLayout, cell, free, state_cell, whole},
    text_color::TextColor,
};
use protocol::{AgentScope, AgentStatus, AgentsList, AgentsListParams, OpenEnum};

#[derive(Args)]
pub(super) struct AgentListArguments {
    /// Include hidden and invalid agents, and why
    #[arg(long)]
    all: bool,
    /// Only agents of this place
    #[arg(long, value_enum, default_value_t = ListScopeWord::All)]
    scope: ListScopeWord,
    /// The same as --scope user
    #[arg(long, conflicts_with = "scope")]
    global: bool,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

/// Which places are listed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListScopeWord {
    Project,
    #[value(alias = "global")]
    User,
    Builtin,
    All,
}

impl AgentListArguments {
    /// `None` = every place.
    fn scope(&self) -> Option<AgentScope> {
        match self.scope {
            ListScopeWord::Project => Some(AgentScope::Project),
            ListScopeWord::User => Some(AgentScope::User),
            ListScopeWord::Builtin => Some(AgentScope::Builtin),
            ListScopeWord::All => self.global.then_some(AgentScope::User),
        }
    }
}

pub(super) fn list(
    arguments: &AgentListArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = AgentsListParams {
        workspace: surroundings.workspace(),
        include_hidden: arguments.all,
        include_invalid: arguments.all,
    };
    let mut answer = link.ask_value::<AgentsList>(&params)?;
    if let (Some(scope), Some(Value::Array(listed))) = (arguments.scope(), answer.get_mut("agents")) {
        let scope = json!(scope);
        listed.retain(|agent| agent.get("scope") == Some(&scope));
    }
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let agents: Vec<ListedAgent> = paging::entries(&answer, "agents")?;
    let stdout = &mut surroundings.stdout;
    let table = draw(&agents, arguments.all, stdout);
    stdout.write_drawn(&table)?;
    let unread: Vec<ListedProblem> =
        answer.get("problems").and_then(|problems| Vec::deserialize(problems).ok()).unwrap_or_default();
    for problem in &unread {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &problem.describe());
    }
    let stdout = &mut surroundings.stdout;
    // A pipe gets agents only.
    if stdout.is_terminal && !agents.is_empty() {
        stdout.write_drawn("\nRun one: subagent run NAME -p \"what to do\"\n")?;
        if agents.iter().any(|agent| agent.status.known() == Some(AgentStatus::Untrusted)) {
            stdout.write_drawn(
                "Untrusted ones cannot be started yet: subagent trust shows what they may do, and asks\n",
            )?;
        }
        if agents.iter().any(|agent| agent.status.known() == Some(AgentStatus::NotReady)) {
            stdout
                .write("Those not ready cannot be started in this version: subagent list --all says why\n")?;
        }
    }
    Ok(0)
}

/// An agent, with open scopes and statuses.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListedAgent {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) model: String,
    pub(super) color: Option<String>,
    pub(super) scope: OpenEnum<AgentScope>,
    pub(super) status: OpenEnum<AgentStatus>,
    pub(super) path: Option<String>,
    pub(super) digest: String,
    hidden_by: Option<String>,
    pub(super) problems: Vec<ListedProblem>,
}

/// Something wrong in an agent's file.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ListedProblem {
    path: String,
    line: Option<u64>,
    column: Option<u64>,
    message: String,
    fix: Option<String>,
}

impl ListedProblem {
    /// `reviewer.md:3:1: what is wrong (what to write instead)`
    pub(super) fn describe(&self) -> String {
        let place = [self.line, self.column].into_iter().flatten().map(|number| format!(":{number}"));
        let fix = self.fix.as_ref().map(|fix| format!(" ({fix})")).unwrap_or_default();
        format!("{}{}: {}{fix}", self.path, place.collect::<String>(), self.message)
    }
}

/// Where an agent comes from, in words.
pub(super) fn place(scope: &OpenEnum<AgentScope>) -> &str {
    match scope.known() {
        Some(AgentScope::Project) => "project",
        Some(AgentScope::User) => "user",
        Some(AgentScope::Builtin) => "built in",
        None => scope.as_str(),
    }
}

/// The groups, nearest first: a project's agents hide a user's, those the built-in ones. Places that only a newer daemon
/// knows come last.
fn groups(agents: &[ListedAgent]) -> Vec<&str> {
    let nearness = |agent: &ListedAgent| match agent.scope.known() {
        Some(AgentScope::Project) => 0,
        Some(AgentScope::User) => 1,
        Some(AgentScope::Builtin) => 2,
        None => 3,
    };
    let mut ordered: Vec<&ListedAgent> = agents.iter().collect();
    ordered.sort_by_key(|agent| (nearness(agent), agent.scope.as_str()));
    let mut groups: Vec<&str> = ordered.into_iter().map(|agent| agent.scope.as_str()).collect();
    groups.dedup();
    groups
}

pub(super) fn draw(agents: &[ListedAgent], with_reasons: bool, stdout: &OutputWriter) -> String {
    if agents.is_empty() {
        return "no agents\n".into();
    }
    const INDENT: &str = "  ";
    // A name is typed again, so it is never cut; it has 64 characters at most.
    let columns = [whole("NAME"), free("TITLE"), free("MODEL"), whole("STATUS")];
    let rows: Vec<[TableCell; 4]> = agents.iter().map(cells).collect();
    let layout = TableLayout::of(&columns, &rows, false, INDENT.len(), stdout);
    let mut table = String::new();
    for group in groups(agents) {
        let mut members =
            agents.iter().zip(&rows).filter(|(agent, _)| agent.scope.as_str() == group).peekable();
        let Some((first, _)) = members.peek() else { continue };
        if !table.is_empty() {
            table.push('\n');
        }
        let title =
            stdout.paint(TextColor::Bold, &capitalized(&safe_text::line(place(&first.scope), usize::MAX)));
        table.push_str(&format!("{title}\n"));
        for (agent, row) in members {
            let dot = agent_color::dot(agent.color.as_deref(), stdout);
            let margin = dot.map_or_else(|| INDENT.to_owned(), |dot| format!("{dot} "));
            table.push_str(&format!("{margin}{}\n", layout.row(row)));
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

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn cells(agent: &ListedAgent) -> [TableCell; 4] {
    [cell(&agent.name), cell(&agent.title), cell(&agent.model), state_cell(agent.status.as_str())]
}

/// Why an agent cannot be used, or not as its author thinks; one line each.
pub(super) fn reasons(agent: &ListedAgent) -> Vec<String> {
    let hidden_by = agent.hidden_by.iter().map(|path| format!("hidden by {path}"));
    let untrusted = (agent.status.known() == Some(AgentStatus::Untrusted)).then(|| {
        format!("cannot be started: nobody has read and trusted it; `subagent trust {}`", agent.name)
    });
    let problems = agent.problems.iter().map(ListedProblem::describe);
    hidden_by.chain(untrusted).chain(problems).collect()
}

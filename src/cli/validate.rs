//! `subagent validate`: is an agent's file as it should be?

use std::path::Path;

use clap::Args;
use serde::Deserialize;

use super::{
    ListingFormat, OutputWriter, ProcessIo,
    failure::{CommandFailure, EXIT_FAILED},
    human, inputs,
    link::DaemonLink,
    paging, palette, safe_text,
    text_color::TextColor,
    width,
};
use protocol::{AgentsValidate, AgentsValidateParams, CheckOutcome, OpenEnum};

#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(super) struct ValidateArguments {
    /// An agent's name, or any file
    #[arg(value_name = "NAME|FILE", group = "what")]
    subject: Option<String>,
    /// All agents
    #[arg(long, group = "what")]
    all: bool,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn validate(
    arguments: &ValidateArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let mut params = AgentsValidateParams { workspace: surroundings.workspace(), ..Default::default() };
    match &arguments.subject {
        Some(subject) => match read_file(subject, &surroundings.working_folder)? {
            Some(text) => {
                params.text = Some(text);
                params.path = Some(subject.into());
            }
            None => params.name = Some(subject.as_str().into()),
        },
        None => params.all = true,
    }
    link.open(&mut surroundings.stderr)?;
    let answer = link.ask_value::<AgentsValidate>(&params)?;
    let validated: AgentsValidateReply = paging::view(&answer)?;
    match arguments.format {
        ListingFormat::Json => paging::print_json(&answer, surroundings)?,
        ListingFormat::Table => {
            let stdout = &surroundings.stdout;
            let text = match arguments.all {
                true => draw_all(&validated, stdout),
                false => validated.agents.iter().map(|agent| draw_one(agent, stdout)).collect(),
            };
            surroundings.stdout.write_drawn(&text)?;
        }
    }
    Ok(if validated.valid { 0 } else { EXIT_FAILED })
}

/// The answer to `agents/validate`, with open outcomes.
#[derive(Deserialize)]
pub(super) struct AgentsValidateReply {
    pub(super) agents: Vec<ValidatedAgentView>,
    valid: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ValidatedAgentView {
    name: String,
    path: Option<String>,
    pub(super) checks: Vec<AgentCheckView>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AgentCheckView {
    pub(super) check: String,
    pub(super) outcome: OpenEnum<CheckOutcome>,
    pub(super) findings: Vec<String>,
}

impl ValidatedAgentView {
    fn count(&self, outcome: CheckOutcome) -> usize {
        self.checks.iter().filter(|check| check.outcome.known() == Some(outcome)).count()
    }
}

/// The file's text; `None` when the subject is no path, so it is a name.
fn read_file(subject: &str, working_folder: &Path) -> Result<Option<String>, CommandFailure> {
    let path = working_folder.join(subject);
    // Names have neither, so this can only be a path that is wrong.
    let looks_like_path = subject.contains('/') || subject.ends_with(".md");
    if !path.is_file() && !looks_like_path {
        return Ok(None);
    }
    let hint = "give an agent's name, or a text file that you may read; `subagent list` shows names";
    inputs::read_whole(&path, hint).map(Some)
}

/// One line an agent: valid or the first reason; then the count.
fn draw_all(result: &AgentsValidateReply, stdout: &OutputWriter) -> String {
    let names = result.agents.iter().map(|agent| safe_text::line(&agent.name, usize::MAX));
    let columns = names.map(|name| width::of(&name)).max().unwrap_or(0);
    let mut text = String::new();
    for agent in &result.agents {
        let name = width::pad(&safe_text::line(&agent.name, usize::MAX), columns);
        let verdict = match first_failure(agent) {
            Some(reason) => {
                stdout.paint(TextColor::Red, &safe_text::line(&format!("invalid: {reason}"), usize::MAX))
            }
            None => match first_warning(agent) {
                Some((count, reason)) => {
                    let text = format!("valid, {}: {reason}", human::count(count as u64, "warning"));
                    stdout.paint(TextColor::Yellow, &safe_text::line(&text, usize::MAX))
                }
                None => stdout.paint(TextColor::Green, "valid"),
            },
        };
        text.push_str(&format!("{name}  {verdict}\n"));
    }
    let total = human::count(result.agents.len() as u64, "agent");
    let invalid = result.agents.iter().filter(|agent| first_failure(agent).is_some()).count();
    let outcomes = [CheckOutcome::Pass, CheckOutcome::Warn, CheckOutcome::Fail];
    let [passed, warned, failed] =
        outcomes.map(|outcome| result.agents.iter().map(|agent| agent.count(outcome)).sum::<usize>());
    text.push_str(&format!(
        "{total}: {} valid, {invalid} invalid; of all checks {passed} pass, {warned} warn, {failed} fail\n",
        result.agents.len() - invalid
    ));
    text
}

/// How many findings there are, and the first of them.
fn first_warning(agent: &ValidatedAgentView) -> Option<(usize, &str)> {
    let warned = || agent.checks.iter().filter(|check| check.outcome.known() == Some(CheckOutcome::Warn));
    let first = warned().next()?;
    let count = warned().map(|check| check.findings.len().max(1)).sum();
    Some((count, first.findings.first().unwrap_or(&first.check)))
}

fn first_failure(agent: &ValidatedAgentView) -> Option<&str> {
    let check = agent.checks.iter().find(|check| check.outcome.known() == Some(CheckOutcome::Fail))?;
    Some(check.findings.first().unwrap_or(&check.check))
}

/// One line a check, what was found below it; then the count.
fn draw_one(agent: &ValidatedAgentView, stdout: &OutputWriter) -> String {
    let place = agent.path.as_deref().unwrap_or_default();
    let name = safe_text::line(&agent.name, usize::MAX);
    let mut text = format!("{name}  {}", safe_text::line(place, usize::MAX)).trim_end().to_owned();
    text.push('\n');
    for check in &agent.checks {
        draw_check(check, &mut text, stdout);
    }
    let outcomes = [CheckOutcome::Pass, CheckOutcome::Warn, CheckOutcome::Fail];
    let [passed, warned, failed] = outcomes.map(|outcome| agent.count(outcome));
    let total = human::count(agent.checks.len() as u64, "check");
    let others = agent.checks.len() - passed - warned - failed;
    // Outcomes that only a newer daemon knows.
    let others = if 0 < others { format!(", {others} others") } else { String::new() };
    text.push_str(&format!("{total}: {passed} passed, {warned} warned, {failed} failed{others}\n"));
    text
}

fn draw_check(check: &AgentCheckView, text: &mut String, stdout: &OutputWriter) {
    let outcome = check.outcome.as_str();
    let word = safe_text::line(outcome, usize::MAX);
    let word = palette::ink(outcome).map_or_else(|| word.clone(), |ink| stdout.paint(ink, &word));
    text.push_str(&format!("  {word}  {}\n", safe_text::line(&check.check, usize::MAX)));
    for finding in &check.findings {
        text.push_str(&format!("        {}\n", safe_text::line(finding, usize::MAX)));
    }
}

//! `subagent validate`: is an agent's file as it should be?

use std::{fs::File, io::Read, path::Path};

use clap::Args;

use super::{
    Format, Output, Surroundings,
    failure::{EXIT_FAILED, Failure},
    human,
    link::Link,
    safe_text,
    screen::Ink,
};
use crate::protocol::{
    AgentCheck, AgentsValidate, AgentsValidateParams, AgentsValidateResult, CheckOutcome, MAX_MESSAGE_BYTES,
    ValidatedAgent,
};

#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(super) struct ValidateArguments {
    /// An agent, or a file that need not lie where agents are looked for
    #[arg(value_name = "NAME|FILE", group = "what")]
    subject: Option<String>,
    /// Every agent there is
    #[arg(long, group = "what")]
    all: bool,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(super) fn validate(
    arguments: &ValidateArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    let mut params = AgentsValidateParams { workspace: surroundings.workspace(), ..Default::default() };
    match &arguments.subject {
        Some(subject) => match read_file(subject, &surroundings.working_folder)? {
            Some(text) => params.text = Some(text),
            None => params.name = Some(subject.as_str().into()),
        },
        None => params.all = true,
    }
    link.open(&mut surroundings.stderr)?;
    let result = link.ask::<AgentsValidate>(&params)?;
    match arguments.format {
        Format::Json => surroundings.stdout.write_json_of(&result)?,
        Format::Table => {
            let text = match arguments.all {
                true => draw_all(&result, &surroundings.stdout),
                false => result.agents.iter().map(|agent| draw_one(agent, &surroundings.stdout)).collect(),
            };
            surroundings.stdout.write(&text)?;
        }
    }
    Ok(if result.valid { 0 } else { EXIT_FAILED })
}

/// The file's text; `None` when the subject is no path, so it is a name.
fn read_file(subject: &str, working_folder: &Path) -> Result<Option<String>, Failure> {
    let path = working_folder.join(subject);
    // Names have neither, so this can only be a path that is wrong.
    let looks_like_path = subject.contains('/') || subject.ends_with(".md");
    if !path.is_file() && !looks_like_path {
        return Ok(None);
    }
    let refused = |why: String| Failure::usage(format!("cannot read {}: {why}", path.display()));
    let mut bytes = Vec::new();
    // One byte more than any request may have shows that there is more.
    File::open(&path)
        .and_then(|file| file.take(MAX_MESSAGE_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| refused(error.to_string()))?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(refused(format!("it has more than {MAX_MESSAGE_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8".to_owned()))?;
    Ok(Some(text))
}

/// One line an agent: valid or the first reason; then the count.
fn draw_all(result: &AgentsValidateResult, stdout: &Output) -> String {
    let width = result.agents.iter().map(|agent| agent.name.as_str().chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for agent in &result.agents {
        let name = safe_text::line(agent.name.as_str(), usize::MAX);
        let verdict = match first_failure(agent) {
            Some(reason) => {
                paint(Ink::Red, &safe_text::line(&format!("invalid: {reason}"), usize::MAX), stdout)
            }
            None => paint(Ink::Green, "valid", stdout),
        };
        text.push_str(&format!("{name:width$}  {verdict}\n"));
    }
    let total = human::count(result.agents.len() as u64, "agent");
    let invalid = result.agents.iter().filter(|agent| first_failure(agent).is_some()).count();
    text.push_str(&format!("{total}: {} valid, {invalid} invalid\n", result.agents.len() - invalid));
    text
}

fn first_failure(agent: &ValidatedAgent) -> Option<&str> {
    let check = agent.checks.iter().find(|check| check.outcome == CheckOutcome::Fail)?;
    Some(check.findings.first().unwrap_or(&check.check))
}

/// One line a check, what was found below it; then the count.
fn draw_one(agent: &ValidatedAgent, stdout: &Output) -> String {
    let place = agent.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let name = safe_text::line(agent.name.as_str(), usize::MAX);
    let mut text = format!("{name}  {}", safe_text::line(&place, usize::MAX)).trim_end().to_owned();
    text.push('\n');
    for check in &agent.checks {
        draw_check(check, &mut text, stdout);
    }
    let count = |outcome| agent.checks.iter().filter(|check| check.outcome == outcome).count();
    let [passed, warned, failed] = [CheckOutcome::Pass, CheckOutcome::Warn, CheckOutcome::Fail].map(count);
    let total = human::count(agent.checks.len() as u64, "check");
    text.push_str(&format!("{total}: {passed} passed, {warned} warned, {failed} failed\n"));
    text
}

fn draw_check(check: &AgentCheck, text: &mut String, stdout: &Output) {
    let word = match check.outcome {
        CheckOutcome::Pass => paint(Ink::Green, "pass", stdout),
        CheckOutcome::Warn => paint(Ink::Yellow, "warn", stdout),
        CheckOutcome::Fail => paint(Ink::Red, "fail", stdout),
    };
    text.push_str(&format!("  {word}  {}\n", safe_text::line(&check.check, usize::MAX)));
    for finding in &check.findings {
        text.push_str(&format!("        {}\n", safe_text::line(finding, usize::MAX)));
    }
}

fn paint(ink: Ink, text: &str, stdout: &Output) -> String {
    if stdout.has_color { ink.paint(text) } else { text.to_owned() }
}

//! `subagent skills`: which skills are there, what does one say, is it as it should be, and switching one off.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    ListingFormat, OutputWriter, ProcessIo, ReportFormat,
    failure::{CommandFailure, EXIT_FAILED},
    human,
    link::DaemonLink,
    message::show_message,
    paging,
    problem::FileProblemView,
    safe_text,
    table::{self, TableCell, cell, free, state_cell, whole},
    text_color::TextColor,
};
use protocol::{
    SkillsGet, SkillsGetParams, SkillsList, SkillsListParams, SkillsSetEnabled, SkillsSetEnabledParams,
    SkillsValidate, SkillsValidateParams,
};

#[derive(Args)]
pub(super) struct SkillsCommand {
    #[command(subcommand)]
    verb: SkillsVerb,
}

#[derive(Subcommand)]
enum SkillsVerb {
    /// List skills: yours and this folder's, including those that are not used
    List(ListArguments),
    /// Show what a skill says, and which files it has
    Show(ShowArguments),
    /// Check a skill's folder by the published rules; exits 1 if it breaks one
    Validate(SkillValidateArguments),
    /// Enable a skill that was disabled
    Enable(SwitchArguments),
    /// Disable a skill everywhere, in your settings
    Disable(SwitchArguments),
}

#[derive(Args)]
struct ListArguments {
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
struct ShowArguments {
    /// The skill's name, or its folder (with a slash in it)
    #[arg(value_name = "DIR|NAME")]
    subject: String,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
struct SkillValidateArguments {
    /// A skill's folder, or the name of a skill that is listed
    #[arg(value_name = "DIR|NAME")]
    subject: String,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
struct SwitchArguments {
    /// The skill's name
    name: String,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// Places of a project's skills, and folders above this one in which they are looked for, for a note.
const OF_PROJECT: [&str; 3] = [".subagentd/skills", ".agents/skills", ".claude/skills"];
const MOST_ABOVE: usize = 32;
/// Columns of a name in a list where the terminal is narrow.
const LEAST_NAME_COLUMNS: usize = 20;

/// A skill, with open states.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SkillView {
    name: String,
    description: String,
    folder: String,
    scope: String,
    state: String,
    hidden_by: Option<String>,
    only_by_name: bool,
    omitted: bool,
    has_errors: bool,
    fault: Option<String>,
}

/// The places of skills, for somebody who has none.
const PLACES: &str = "a skill is a folder with a SKILL.md, in .subagentd/skills, .agents/skills or .claude/skills, of this \
folder or below your home, or in skills beside your settings";

impl SkillView {
    /// The reason why models are not told of it.
    fn why(&self) -> Option<String> {
        let why = self.why_by_state()?;
        Some(match (self.state.as_str(), &self.fault) {
            ("untrusted" | "changed", Some(fault)) => format!("cannot be acknowledged: it {fault}"),
            ("untrusted" | "changed", None) if self.has_errors => {
                format!("{why}; and it has errors: `subagent skills show`")
            }
            _ => why,
        })
    }

    fn why_by_state(&self) -> Option<String> {
        match self.state.as_str() {
            "disabled" => Some("disabled in the settings".to_owned()),
            "untrusted" => Some("nobody has acknowledged it: `subagent trust`".to_owned()),
            "changed" => Some("it has changed since it was acknowledged: `subagent trust`".to_owned()),
            "hidden" => {
                Some(format!("{} goes before it", self.hidden_by.as_deref().unwrap_or("another one")))
            }
            "rejected" => Some("it has errors: `subagent skills show`".to_owned()),
            _ if self.only_by_name => Some("models are not told of it; give it by --skill".to_owned()),
            _ if self.omitted => Some("no room among what models are told of; give it by --skill".to_owned()),
            _ => None,
        }
    }
}

/// The answer to `skills/get`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SkillDetailsView {
    skill: SkillView,
    others: Vec<SkillView>,
    body: String,
    license: Option<String>,
    compatibility: Option<String>,
    allowed_tools: Option<String>,
    files: Vec<String>,
    file_count: u64,
    problems: Vec<FileProblemView>,
}

/// The answer to `skills/validate`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SkillVerdictView {
    path: String,
    valid: bool,
    problems: Vec<FileProblemView>,
}

/// The answer to `skills/setEnabled`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SwitchedSkillView {
    path: String,
    warnings: Vec<String>,
}

pub(super) fn skills(
    command: &SkillsCommand,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    match &command.verb {
        SkillsVerb::List(arguments) => list(arguments, link, surroundings),
        SkillsVerb::Show(arguments) => show(arguments, link, surroundings),
        SkillsVerb::Validate(arguments) => validate(arguments, link, surroundings),
        SkillsVerb::Enable(arguments) => switch(arguments, true, link, surroundings),
        SkillsVerb::Disable(arguments) => switch(arguments, false, link, surroundings),
    }
}

fn list(
    arguments: &ListArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = SkillsListParams { workspace: surroundings.workspace() };
    let answer = link.ask_value::<SkillsList>(&params)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let skills: Vec<SkillView> = paging::entries(&answer, "skills")?;
    let text = match skills.is_empty() {
        true => format!("no skills; {PLACES}\n"),
        false => draw(&skills, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
    if let Some(omitted) = answer.get("omitted").and_then(serde_json::Value::as_u64) {
        let text = format!("{omitted} more are not shown: there are too many");
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &text);
    }
    let home = (surroundings.environment)("HOME").map(PathBuf::from);
    if let Some(above) = skills_above(&surroundings.working_folder, home.as_deref()) {
        let text = format!(
            "skills of a project are those of the folder itself; {} has some: run it there",
            safe_text::line(&above.to_string_lossy(), usize::MAX)
        );
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
    }
    // It is left out where there are none.
    let problems: Vec<FileProblemView> = match answer.get("problems") {
        None => Vec::new(),
        Some(_) => paging::entries(&answer, "problems")?,
    };
    problems.iter().for_each(|problem| problem.show(&mut surroundings.stderr));
    Ok(0)
}

/// The nearest folder above this one that has a place of skills, below the person's home, whose places are theirs.
fn skills_above<'a>(folder: &'a Path, home: Option<&Path>) -> Option<&'a Path> {
    let mut above = folder.ancestors().skip(1).take_while(|it| Some(*it) != home).take(MOST_ABOVE);
    let has_some = |it: &&Path| OF_PROJECT.iter().any(|place| it.join(place).is_dir());
    above.find(has_some).filter(|_| !OF_PROJECT.iter().any(|place| folder.join(place).is_dir()))
}

fn draw(skills: &[SkillView], stdout: &OutputWriter) -> String {
    // A name may be long, and the reason beside it has to be read too.
    let longest = stdout.width.map_or(usize::MAX, |width| (width / 3).max(LEAST_NAME_COLUMNS));
    let cells = |skill: &SkillView| {
        let about = skill.why().unwrap_or_else(|| skill.description.clone());
        [cell(&skill.name).cut(longest), state_cell(&skill.state), cell(&skill.scope), cell(&about)]
    };
    let rows: Vec<[TableCell; 4]> = skills.iter().map(cells).collect();
    let columns = [whole("SKILL"), whole("STATE"), whole("OF"), free("WHAT FOR, OR WHY NOT")];
    table::draw(columns, &rows, stdout)
}

/// A line each, for the conversation.
pub(super) fn listing(
    workspace: protocol::WorkspaceParam,
    link: &mut DaemonLink,
    stderr: &OutputWriter,
) -> Result<String, CommandFailure> {
    let answer = link.ask_value::<SkillsList>(&SkillsListParams { workspace: Some(workspace) })?;
    let skills: Vec<SkillView> = paging::entries(&answer, "skills")?;
    Ok(match skills.is_empty() {
        true => format!("there are no skills here; {PLACES}\n"),
        false => draw(&skills, stderr),
    })
}

/// The names of the skills that can be given there.
pub(super) fn names(
    workspace: protocol::WorkspaceParam,
    link: &mut DaemonLink,
) -> Result<Vec<String>, CommandFailure> {
    let answer = link.ask_value::<SkillsList>(&SkillsListParams { workspace: Some(workspace) })?;
    let skills: Vec<SkillView> = paging::entries(&answer, "skills")?;
    Ok(skills.into_iter().filter(|skill| skill.state == "ready").map(|skill| skill.name).collect())
}

/// Checks that a skill of this name can be used in a workspace; the failure says why not.
pub(super) fn check(
    name: &str,
    workspace: protocol::WorkspaceParam,
    link: &mut DaemonLink,
) -> Result<(), CommandFailure> {
    let params = SkillsGetParams { name: Some(name.to_owned()), folder: None, workspace: Some(workspace) };
    let details: SkillDetailsView = paging::view(&link.ask_value::<SkillsGet>(&params)?)?;
    match details.skill.state.as_str() {
        "ready" => Ok(()),
        _ => {
            let why = details.skill.why().unwrap_or_else(|| details.skill.state.clone());
            Err(CommandFailure::new(format!("the skill {name} cannot be used: {why}"))
                .or_hint("`subagent skills list` shows them all, and how each stands"))
        }
    }
}

fn show(
    arguments: &ShowArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let subject = arguments.subject.as_str();
    let is_folder = subject.contains('/') || matches!(subject, "." | "..");
    let (name, folder) = match is_folder {
        false => (Some(subject.to_owned()), None),
        true => {
            let folder = surroundings.working_folder.join(subject);
            let folder = folder.canonicalize().unwrap_or(folder);
            (None, Some(folder.to_string_lossy().into_owned()))
        }
    };
    let params = SkillsGetParams { name, folder, workspace: surroundings.workspace() };
    let answer = link.ask_value::<SkillsGet>(&params)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let details: SkillDetailsView = paging::view(&answer)?;
    let SkillDetailsView {
        skill,
        others,
        body,
        license,
        compatibility,
        allowed_tools,
        files,
        file_count,
        problems,
    } = details;
    let mut text = format!("{}  {} ({})\n", skill.name, skill.state, skill.scope);
    // In one line each: nothing that a file says looks like another fact.
    let mut fact = |name: &str, value: &str| {
        text.push_str(&format!("{name:<14}{}\n", value.replace(char::is_control, " ")));
    };
    fact("folder", &skill.folder);
    if let Some(why) = skill.why() {
        fact("not told", &why);
    }
    if !skill.description.is_empty() {
        fact("description", &skill.description);
    }
    for other in &others {
        let SkillView { folder, state, scope, .. } = other;
        fact(
            "another",
            &format!(
                "{folder} ({state}, {scope}) has the same name: `subagent skills show` shows it by its folder"
            ),
        );
    }
    for (name, value) in [("license", license), ("for", compatibility), ("allowed-tools", allowed_tools)] {
        if let Some(value) = value {
            fact(name, &value);
        }
    }
    if !files.is_empty() {
        let more = file_count.saturating_sub(files.len() as u64);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        fact("files", &format!("{}{more}", files.join(", ")));
    }
    surroundings.stdout.write_drawn(&safe_text::lines(&text))?;
    // What an agent would be told, by its letters: no row that was only broken looks like a line of it.
    surroundings.stdout.write(&safe_text::lines(&format!("\n{body}\n")))?;
    problems.iter().for_each(|problem| problem.show(&mut surroundings.stderr));
    Ok(0)
}

fn validate(
    arguments: &SkillValidateArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let subject = arguments.subject.as_str();
    let folder = surroundings.working_folder.join(subject);
    let is_name = !subject.contains('/') && !folder.exists();
    let path = match is_name {
        true => {
            let (name, folder) = (Some(subject.to_owned()), None);
            let params = SkillsGetParams { name, folder, workspace: surroundings.workspace() };
            let details: SkillDetailsView = paging::view(&link.ask_value::<SkillsGet>(&params)?)?;
            details.skill.folder
        }
        false => folder.to_string_lossy().into_owned(),
    };
    let answer = link.ask_value::<SkillsValidate>(&SkillsValidateParams { path })?;
    let verdict: SkillVerdictView = paging::view(&answer)?;
    match arguments.format {
        ListingFormat::Json => paging::print_json(&answer, surroundings)?,
        ListingFormat::Table => {
            let stdout = &surroundings.stdout;
            let mut text = String::new();
            for problem in &verdict.problems {
                let (color, word) = match problem.is_error() {
                    true => (TextColor::Red, "error"),
                    false => (TextColor::Yellow, "warning"),
                };
                let line = safe_text::line(&problem.to_string(), usize::MAX);
                text.push_str(&format!("{}  {line}\n", stdout.paint(color, word)));
            }
            let count = |is_error: bool| {
                verdict.problems.iter().filter(|it| it.is_error() == is_error).count() as u64
            };
            let word = if verdict.valid { "valid" } else { "invalid" };
            text.push_str(&format!(
                "{}: {word}; {}, {}\n",
                safe_text::line(&verdict.path, usize::MAX),
                human::count(count(true), "error"),
                human::count(count(false), "warning")
            ));
            surroundings.stdout.write_drawn(&text)?;
        }
    }
    Ok(if verdict.valid { 0 } else { EXIT_FAILED })
}

fn switch(
    arguments: &SwitchArguments,
    enabled: bool,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let name = arguments.name.clone();
    let params = SkillsSetEnabledParams { name, enabled, workspace: surroundings.workspace() };
    let answer = link.ask_value::<SkillsSetEnabled>(&params)?;
    let switched: SwitchedSkillView = paging::view(&answer)?;
    let word = if enabled { "enabled" } else { "disabled" };
    let words = || format!("{} is {word}; {} says so", arguments.name, switched.path);
    paging::tell(&answer, arguments.format, words, surroundings)?;
    for warning in &switched.warnings {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", warning);
    }
    Ok(0)
}

//! `subagent import`: files of this and of other products become agents here.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::{
    Surroundings,
    failure::{EXIT_FAILED, Failure, show_message},
    human,
    key::new_key,
    link::Link,
    paging,
    problem::Problem,
    scope::DestinationArguments,
    screen::Ink,
    table::{self, Cell, cell, standing, whole},
};
use crate::protocol::{AgentFormat, AgentsImport, AgentsImportParams, ImportOutcome, OnConflict, Open};

#[derive(Args)]
pub(super) struct ImportArguments {
    /// Files, and folders that are read with those below them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Whose format the files have [default: as their folders or they themselves say]; `json` prints the daemon's answer.
    /// May be given twice
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Vec<FormatWord>,
    #[command(flatten)]
    destination: DestinationArguments,
    /// When an agent of the name is there already
    #[arg(long, value_enum, default_value_t = ConflictWord::Skip, value_name = "WHAT")]
    on_conflict: ConflictWord,
    /// Write nothing, and show what would become of each file
    #[arg(long)]
    dry_run: bool,
}

/// A product whose files are read and written, or how the answer is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatWord {
    /// Ours
    Own,
    /// Claude Code
    Claude,
    /// Gemini CLI
    Gemini,
    /// OpenCode
    #[value(name = "opencode")]
    OpenCode,
    /// No format of files: print the daemon's answer
    Json,
}

/// Of several formats that are given the last counts.
pub(super) fn file_format(words: &[FormatWord]) -> Option<AgentFormat> {
    words.iter().rev().find_map(|word| match word {
        FormatWord::Own => Some(AgentFormat::Own),
        FormatWord::Claude => Some(AgentFormat::Claude),
        FormatWord::Gemini => Some(AgentFormat::Gemini),
        FormatWord::OpenCode => Some(AgentFormat::OpenCode),
        FormatWord::Json => None,
    })
}

#[derive(Clone, Copy, ValueEnum)]
enum ConflictWord {
    /// The new one is left out
    Skip,
    /// The old one goes to the trash
    Replace,
    /// The new one is called after its folder, too
    Namespace,
}

impl From<ConflictWord> for OnConflict {
    fn from(word: ConflictWord) -> OnConflict {
        match word {
            ConflictWord::Skip => OnConflict::Skip,
            ConflictWord::Replace => OnConflict::Replace,
            ConflictWord::Namespace => OnConflict::Namespace,
        }
    }
}

/// Where a project's agents lie, see spec 02, "Places and precedence".
const OF_PROJECT: &str = "/.subagentd/agents/";

/// What became of the files.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Imported {
    files: Vec<ImportedFile>,
    problems: Vec<Problem>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ImportedFile {
    source: String,
    state: String,
    name: String,
    outcome: Open<ImportOutcome>,
    path: Option<String>,
    problems: Vec<Problem>,
}

pub(super) fn import(
    arguments: &ImportArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    let paths = arguments.paths.iter().map(|path| absolute(path, surroundings)).collect::<Result<_, _>>()?;
    link.open(&mut surroundings.stderr)?;
    let params = AgentsImportParams {
        paths,
        format: file_format(&arguments.format),
        scope: arguments.destination.scope(),
        workspace: surroundings.workspace(),
        on_conflict: arguments.on_conflict.into(),
        dry_run: arguments.dry_run,
        idempotency_key: Some(new_key()?),
    };
    let Surroundings { stderr, interrupts, .. } = surroundings;
    let answer = link.ask_for_effect::<AgentsImport>(&params, stderr, &mut || interrupts() > 0)?;
    let imported: Imported = paging::view(&answer)?;
    match arguments.format.contains(&FormatWord::Json) {
        true => paging::print_json(&answer, surroundings)?,
        false => show(&imported, arguments.dry_run, surroundings)?,
    }
    let is_rejected = |file: &ImportedFile| file.outcome.known() == Some(ImportOutcome::Rejected);
    let has_failed =
        imported.files.iter().any(is_rejected) || imported.problems.iter().any(Problem::is_error);
    Ok(if has_failed { EXIT_FAILED } else { 0 })
}

/// The daemon does not know where the person stands.
fn absolute(path: &PathBuf, surroundings: &Surroundings) -> Result<PathBuf, Failure> {
    let absolute = surroundings.working_folder.join(path);
    let shown = path.display().to_string();
    let looks_like_url = shown.contains("://") || shown.starts_with("git@");
    if looks_like_url && !absolute.exists() {
        return Err(Failure::usage(format!("{shown} is a URL, and only files and folders are read"))
            .or_hint("fetch it first, look at it, and import the folder"));
    }
    if absolute.to_str().is_none() {
        return Err(Failure::usage(format!("the path is not UTF-8: {shown}"))
            .or_hint("name a file or folder whose path is"));
    }
    Ok(absolute)
}

fn show(imported: &Imported, is_dry: bool, surroundings: &mut Surroundings) -> Result<(), Failure> {
    let cells = |file: &ImportedFile| {
        [
            cell(&file.source),
            standing(file.outcome.as_str()),
            cell(&file.name),
            standing(&file.state),
            cell(file.path.as_deref().unwrap_or("-")),
        ]
    };
    let rows: Vec<[Cell; 5]> = imported.files.iter().map(cells).collect();
    // Paths are what one came for, so none gives way.
    let columns = [whole("FILE"), whole("OUTCOME"), whole("AGENT"), whole("STATE"), whole("PATH")];
    let text = match rows.is_empty() {
        true => "no files\n".to_owned(),
        false => table::draw(columns, &rows, &surroundings.stdout),
    };
    surroundings.stdout.write(&text)?;
    let stderr = &mut surroundings.stderr;
    let of_files = imported.files.iter().flat_map(|file| &file.problems);
    imported.problems.iter().chain(of_files).for_each(|problem| problem.show(stderr));
    let is_skipped = |file: &&ImportedFile| file.outcome.known() == Some(ImportOutcome::Skipped);
    let skipped = imported.files.iter().filter(is_skipped).count();
    if 0 < skipped {
        let files = human::count(skipped as u64, "file");
        let text = format!("{files} left out, since agents of their names are there; see --on-conflict");
        show_message(stderr, Ink::Dim, "note", &text);
    }
    let is_new = |file: &&ImportedFile| {
        matches!(file.outcome.known(), Some(ImportOutcome::Written | ImportOutcome::Replaced))
            && file.path.as_ref().is_some_and(|path| path.contains(OF_PROJECT))
    };
    if !is_dry && imported.files.iter().any(|file| is_new(&file)) {
        let text = "nobody has read what was written into the project: subagent trust shows it, and asks; until then it cannot be started";
        show_message(stderr, Ink::Dim, "note", text);
    }
    if is_dry {
        show_message(stderr, Ink::Dim, "note", "nothing was written");
    }
    Ok(())
}

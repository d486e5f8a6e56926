//! `subagent memory`: which memory files are there, what do they say, and what is added to them?

use std::{fs, path::PathBuf, process::Command};

use super::{
    ListingFormat, ProcessIo, editor,
    failure::CommandFailure,
    link::DaemonLink,
    memory_listing::{self, MemoryFilesView},
    message::show_message,
    paging, paths, safe_text,
    text_color::TextColor,
    tools,
};
use clap::{Args, Subcommand};
use protocol::{MemoryFiles, MemoryFilesParams, WorkspaceParam};

#[derive(Subcommand)]
pub(super) enum MemoryVerb {
    /// List memory files, those that count and those that do not, and why
    Files(MemoryPlaceArguments),
    /// Print what memory files tell the next run here
    Show(MemoryPlaceArguments),
    /// Write a line into your memory file, or with --project into the workspace's
    Add(MemoryAddArguments),
    /// Open your memory file in $VISUAL or $EDITOR, or with --project the workspace's
    Edit(MemoryEditArguments),
}

#[derive(Args)]
pub(super) struct MemoryPlaceArguments {
    /// As a run in this folder reads them [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
pub(super) struct MemoryAddArguments {
    /// One sentence that can be understood alone
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Into the workspace's file, which others may share
    #[arg(long)]
    project: bool,
}

#[derive(Args)]
pub(super) struct MemoryEditArguments {
    /// The workspace's file
    #[arg(long)]
    project: bool,
}

pub(super) fn memory(
    verb: &MemoryVerb,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    match verb {
        MemoryVerb::Files(arguments) => list(arguments, false, link, surroundings),
        MemoryVerb::Show(arguments) => list(arguments, true, link, surroundings),
        MemoryVerb::Add(arguments) => add(arguments, link, surroundings),
        MemoryVerb::Edit(arguments) => edit(arguments, link, surroundings),
    }
}

fn list(
    arguments: &MemoryPlaceArguments,
    with_text: bool,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let workspace = Some(paths::read_workspace(arguments.workspace.as_deref(), surroundings)?);
    link.open(&mut surroundings.stderr)?;
    let answer = link.ask_value::<MemoryFiles>(&MemoryFilesParams { workspace, with_text })?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let found: MemoryFilesView = paging::view(&answer)?;
    match with_text {
        // By their letters: no row that was only broken looks like a line of them.
        true => surroundings.stdout.write(&shown(&found))?,
        false => {
            let listing = memory_listing::draw(&found, &surroundings.stdout);
            surroundings.stdout.write_drawn(&listing)?;
        }
    }
    for warning in &found.warnings {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", warning);
    }
    Ok(0)
}

/// The text of each file that is told, under its path.
fn shown(found: &MemoryFilesView) -> String {
    let mut text = String::new();
    for file in found.files.iter().filter(|file| file.state == "used") {
        let content = safe_text::lines(file.text.as_deref().unwrap_or_default());
        text.push_str(&format!("=== {}\n{}\n", safe_text::line(&file.path, usize::MAX), content.trim_end()));
    }
    if text.is_empty() {
        "no memory file is told here; `subagent memory files` says why\n".to_owned()
    } else {
        text
    }
}

/// Adds a line by the tool that agents have, so that the same rules hold and nothing else of the file changes.
fn add(
    arguments: &MemoryAddArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let scope = if arguments.project { "project" } else { "user" };
    let given = serde_json::json!({ "fact": arguments.text, "scope": scope });
    tools::call_tool_once("save_memory", given, link, surroundings)
}

fn edit(
    arguments: &MemoryEditArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let workspace: Option<WorkspaceParam> = surroundings.workspace();
    let answer = link.ask_value::<MemoryFiles>(&MemoryFilesParams { workspace, with_text: false })?;
    let found: MemoryFilesView = paging::view(&answer)?;
    let file = match (arguments.project, found.project_file) {
        (false, _) => found.user_file,
        (true, Some(file)) => file,
        (true, None) => {
            return Err(CommandFailure::new("there is no workspace here")
                .or_hint("go into a folder that is one, or leave --project out"));
        }
    };
    let editor = editor::chosen(&surroundings.environment).unwrap_or_else(|| "vi".into());
    if let Some(folder) = file.parent() {
        // It may be the first that is kept there; what is wrong with it, the editor tells.
        let _made = fs::create_dir_all(folder);
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", "eval \"$SUBAGENT_EDITOR\" '\"$1\"'", "sh"]).arg(&file).env("SUBAGENT_EDITOR", &editor);
    let status = shell.status().map_err(|error| {
        CommandFailure::new(format!("no editor could be started: {error}"))
            .or_hint("set EDITOR to your editor")
    })?;
    Ok(u8::from(!status.success()))
}

//! `subagent export`: agents' files in this product's words, or in another's.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Deserialize;

use super::{
    ProcessIo,
    failure::CommandFailure,
    import::{FormatWord, file_format},
    link::DaemonLink,
    message::show_message,
    paging, safe_text,
    text_color::TextColor,
};
use protocol::{AgentsExport, AgentsExportParams};

#[derive(Args)]
pub(super) struct ExportArguments {
    /// The agents; a single file goes to stdout
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// In whose format [default: own]; `json` prints the daemon's answer. May be given twice
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Vec<FormatWord>,
    /// Write the files into this folder; it is created if missing
    #[arg(long = "to", value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Replace existing files
    #[arg(long, requires = "folder")]
    force: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExportedFile {
    name: String,
    file_name: String,
    text: String,
    lost: Vec<String>,
}

pub(super) fn export(
    arguments: &ExportArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let is_for_programs = arguments.format.contains(&FormatWord::Json);
    if 1 < arguments.names.len() && arguments.folder.is_none() && !is_for_programs {
        return Err(CommandFailure::usage(
            "several agents are several files, and --to says into which folder",
        )
        .or_hint(format!("subagent export {} --to DIR", arguments.names.join(" "))));
    }
    link.open(&mut surroundings.stderr)?;
    let format = file_format(&arguments.format).unwrap_or_default();
    let names = arguments.names.iter().map(|name| name.as_str().into()).collect();
    let params = AgentsExportParams { names, format, workspace: surroundings.workspace() };
    let answer = link.ask_value::<AgentsExport>(&params)?;
    let files: Vec<ExportedFile> = paging::entries(&answer, "files")?;
    let written = match &arguments.folder {
        Some(folder) => write(&files, &surroundings.working_folder.join(folder), arguments.force)?,
        None => Vec::new(),
    };
    if is_for_programs {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    match arguments.folder {
        Some(_) => {
            for path in &written {
                surroundings.stdout.write_exactly(&path.display().to_string())?;
            }
        }
        None => {
            for file in &files {
                surroundings.stdout.write_exactly(&file.text)?;
            }
        }
    }
    for ExportedFile { name, lost, .. } in files.iter().filter(|file| !file.lost.is_empty()) {
        let lost: Vec<String> = lost.iter().map(|lost| safe_text::line(lost, usize::MAX)).collect();
        let text = format!("{name}: {} has no words for {}", format.product(), lost.join("; "));
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &text);
    }
    Ok(0)
}

/// Writes all files, or says which one is in the way before any is written; where they are.
fn write(files: &[ExportedFile], folder: &Path, may_replace: bool) -> Result<Vec<PathBuf>, CommandFailure> {
    let paths = files.iter().map(|file| path_of(file, folder)).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = paths.iter().find(|path| !may_replace && fs::symlink_metadata(path).is_ok()) {
        return Err(CommandFailure::new(format!("{} is there already; nothing was written", path.display()))
            .or_hint("choose another folder, or give --force to replace it"));
    }
    let cannot = |path: &Path, error: std::io::Error| {
        CommandFailure::new(format!("cannot write {}: {error}", path.display()))
            .or_hint("choose a folder that you may write to")
    };
    fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    for (file, path) in files.iter().zip(&paths) {
        let mut options = OpenOptions::new();
        match may_replace {
            true => options.write(true).create(true).truncate(true),
            // Also what came there since it was looked for stays.
            false => options.write(true).create_new(true),
        };
        let mut opened = options.open(path).map_err(|error| cannot(path, error))?;
        opened.write_all(file.text.as_bytes()).map_err(|error| cannot(path, error))?;
    }
    Ok(paths)
}

/// Below the folder, whatever the daemon calls it.
fn path_of(file: &ExportedFile, folder: &Path) -> Result<PathBuf, CommandFailure> {
    let name = Path::new(&file.file_name);
    if name.file_name() != Some(name.as_os_str()) {
        return Err(CommandFailure::new(format!(
            "`{}` is no name of a file; nothing was written",
            file.file_name
        ))
        .or_hint("`--format json` prints what the daemon answers"));
    }
    Ok(folder.join(name))
}

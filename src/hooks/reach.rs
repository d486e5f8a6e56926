//! May a hook's command run outside of the sandbox?
//!
//! An agent chooses much of what a command is handed: the event on its input, names and contents of files of the workspace. A shell, `awk`
//! or `xargs` runs a text that it is handed the wrong way; a formatter or `git` runs what the folder says; a link leads a `cp` elsewhere.
//! Nothing counts as harmless, then, because nobody saw the harm. A command runs with its person's rights only if it is made of what is known
//! here: programs that lie outside of the workspace, named by their full paths, and a few commands that tell somebody or write a log
//! elsewhere. Whatever else stands in it, and whatever is written in another way, has it confined.

use std::path::{Path, PathBuf};

mod known_commands;
mod own_programs;
mod plain_text;

use super::{WorkspaceReach, pins::filled};
use known_commands::is_known;
use own_programs::OwnPlaces;
use plain_text::{PlainCommand, PlainScript, PlainWord};

/// Texts within texts that are read.
const DEEPEST: usize = 3;

/// The words of the text of a hook for which it is confined. Blocks for a look at the files that it names.
pub(super) fn of_text(
    text: &str,
    roots: &[String],
    home: &Path,
    program_folders: &[PathBuf],
) -> WorkspaceReach {
    let Some(places) = OwnPlaces::new(roots, home, program_folders) else { return WorkspaceReach::Nothing };
    could_run(unknown_of(text, &places, 0))
}

/// The same of a command that no shell reads.
pub(super) fn of_words(
    command: &str,
    args: &[String],
    roots: &[String],
    (home, program_folders): (&Path, &[PathBuf]),
) -> WorkspaceReach {
    let Some(places) = OwnPlaces::new(roots, home, program_folders) else { return WorkspaceReach::Nothing };
    let words = std::iter::once(command).chain(args.iter().map(String::as_str));
    let command =
        PlainCommand { words: words.map(|word| places.word(word)).collect(), ..PlainCommand::default() };
    could_run(unknown(&command, &places, 0))
}

fn could_run(words: Option<String>) -> WorkspaceReach {
    words.map_or(WorkspaceReach::Nothing, |words| WorkspaceReach::CouldRun { words })
}

/// The first words of a text that are not known to be harmless.
fn unknown_of(text: &str, places: &OwnPlaces<'_>, depth: usize) -> Option<String> {
    match PlainScript::read(text, &|name| places.variable(name)) {
        Ok(text) => {
            let mut unknown = text.commands.iter().find_map(|command| unknown(command, places, depth));
            // What the event says stands in it by then.
            let written: Vec<&PlainWord> = text.commands.iter().flat_map(known_commands::written).collect();
            let runs_it = |command: &&PlainCommand| {
                let is_text = !written.is_empty() && known_commands::text_for_shell(command).is_some();
                let names_it = || command.words.iter().any(|word| written.contains(&word));
                is_text || !known_commands::only_reads(command) && names_it()
            };
            if unknown.is_none() {
                unknown = text.commands.iter().find(runs_it).map(PlainCommand::shown);
            }
            unknown
        }
        Err(unread) => Some(unread),
    }
}

/// The words of a command, unless it is known; of a shell's text the words within that.
fn unknown(command: &PlainCommand, places: &OwnPlaces<'_>, depth: usize) -> Option<String> {
    if let Some(text) = known_commands::text_for_shell(command) {
        return if depth < DEEPEST { unknown_of(&text, places, depth + 1) } else { Some(command.shown()) };
    }
    (!is_known(command, places)).then(|| command.shown())
}

#[cfg(test)]
mod tests;

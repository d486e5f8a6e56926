//! May a hook's command run outside of the sandbox?
//!
//! An agent chooses much of what a command is handed: the event on its input, names and contents of files of the workspace. A shell, `awk`
//! or `xargs` runs a text that it is handed the wrong way; a formatter or `git` runs what the folder says; a link leads a `cp` elsewhere.
//! Nothing counts as harmless, then, because nobody saw the harm. A command runs with its person's rights only if it is made of what is known
//! here: scripts that lie outside of the workspace, named by their full paths, and a few commands that tell somebody or write a log
//! elsewhere. Whatever else stands in it, and whatever is written in another way, has it confined. Nothing that an agent chose is followed
//! through variables, tests or branches: a text with such is not known.

use std::path::{Path, PathBuf};

mod known_commands;
mod own_programs;

use super::{Hook, HookHandler, WorkspaceReach, pins::filled};
use known_commands::{is_known, run_file, text_for_shell};
use own_programs::{OwnFolder, OwnPlaces};
use sys::plain_text::{DATA, OWN_VALUE, PlainCommand, PlainRedirection, PlainScript, PlainWord};

/// The variable with the folder of a plugin's files.
const PLUGIN_FOLDER: &str = "CLAUDE_PLUGIN_ROOT";
/// Texts within texts that are read.
const DEEPEST: usize = 3;

/// A command of a hook: its text for a shell, or its words.
#[derive(Debug, Clone, Copy)]
pub(super) struct HookText<'a> {
    pub command: &'a str,
    /// `None` = a shell reads the command.
    pub args: Option<&'a [String]>,
}

/// Everything that a command would touch that runs outside of the sandbox.
#[derive(Debug, Default)]
pub(super) struct TouchedFiles {
    /// Files that it runs.
    pub run: Vec<PathBuf>,
    /// Files that it reads or writes otherwise.
    pub named: Vec<PathBuf>,
}

/// The words of a hook's command for which it is confined. `own_folder`: values of variables that name the folder of a hook's own;
/// `None` = nobody knows the environment yet. Blocks for a look at the files that it names.
pub(super) fn of_hook(
    text: HookText<'_>,
    roots: &[String],
    (home, program_folders): (&Path, &[PathBuf]),
    own_folder: Option<&OwnFolder<'_>>,
) -> WorkspaceReach {
    let Some(first) = roots.first() else { return WorkspaceReach::Nothing };
    let places = OwnPlaces { roots, first, home, program_folders, own_folder };
    match unknown_of(text, &places) {
        None => WorkspaceReach::Nothing,
        Some(words) => WorkspaceReach::CouldRun { words },
    }
}

/// True of a command whose text itself prints something of the event, as `jq` does: a word of an agent's would be its answer. What a script of the
/// person's prints is that script's doing.
pub(super) fn repeats_input(handler: &HookHandler) -> bool {
    let HookHandler::Command { command, args } = handler else { return false };
    let text = HookText { command, args: args.as_deref() };
    let no_value = |_: &str| None;
    let (roots, home) = ([String::new()], Path::new("/"));
    let places =
        OwnPlaces { roots: &roots, first: "", home, program_folders: &[], own_folder: Some(&no_value) };
    let Ok(commands) = commands_of(text, &places, 0) else { return true };
    !commands.iter().all(|command| {
        let (program, given) = match command.words.split_first() {
            Some((program, given)) => (program.text.rsplit('/').next().unwrap_or_default(), given),
            None => return true,
        };
        match program {
            "echo" | "printf" => given.iter().all(|word| word.literal().is_some()),
            "cat" => command.files.iter().any(|it| it.file.text == "/dev/null"),
            "true" | "false" | "exit" | ":" | "sleep" | "cd" | "mkdir" => true,
            _ => run_file(&command.words, &places).is_some(),
        }
    })
}

/// True of a hook of a person's own that touches nothing of the workspace by its words: no file there is its own.
pub(super) fn is_apart(hook: &Hook, roots: &[String], (home, program_folders): (&Path, &[PathBuf])) -> bool {
    let HookHandler::Command { command, args } = &hook.handler else { return false };
    let text = HookText { command, args: args.as_deref() };
    hook.origin.is_own() && of_hook(text, roots, (home, program_folders), None) == WorkspaceReach::Nothing
}

/// The files of a hook's command, as far as it is read. `own_folder`: as for [`of_hook`].
pub(super) fn touched(
    text: HookText<'_>,
    roots: &[String],
    home: &Path,
    own_folder: Option<&OwnFolder<'_>>,
) -> TouchedFiles {
    // Nothing lies there.
    const NOWHERE: &str = "/\u{3}";
    let first = roots.first().map_or(NOWHERE, String::as_str);
    let places = OwnPlaces { roots, first, home, program_folders: &[], own_folder };
    let mut files = TouchedFiles::default();
    for command in commands_of(text, &places, 0).unwrap_or_default() {
        if let Some(run) = run_file(&command.words, &places) {
            files.run.push(run.into());
        }
        let named = known_commands::operands(&command).filter_map(PlainWord::literal);
        files.named.extend(named.filter(|word| word.starts_with('/')).map(PathBuf::from));
    }
    files
}

/// The first words that are not known to be harmless.
fn unknown_of(text: HookText<'_>, places: &OwnPlaces<'_>) -> Option<String> {
    let commands = match commands_of(text, places, 0) {
        Ok(commands) => commands,
        Err(unread) => return Some(unread),
    };
    let is_harmless =
        |command: &PlainCommand| is_known(command, places) && !known_commands::tells_file(command, places);
    let unknown = commands.iter().find(|command| !is_harmless(command));
    // What the event says stands in it by then.
    let written = commands.iter().flat_map(known_commands::written).map(|file| places.real(&file.text));
    let written: Vec<PathBuf> = written.collect();
    let names_it = |command: &&PlainCommand| {
        run_file(&command.words, places).is_some_and(|file| written.contains(&places.real(file)))
    };
    unknown.or_else(|| commands.iter().find(names_it)).map(PlainCommand::shown)
}

/// All commands of a text, those of texts for other shells among them; otherwise the part of it that is not read.
fn commands_of(
    text: HookText<'_>,
    places: &OwnPlaces<'_>,
    depth: usize,
) -> Result<Vec<PlainCommand>, String> {
    if text.args.is_none()
        && depth == 0
        && let Some((folder, rest)) = behind_plugin_folder(text.command, places.home)
    {
        let own_folder = |name: &str| (name == PLUGIN_FOLDER).then(|| folder.clone());
        let places = OwnPlaces { own_folder: Some(&own_folder), ..*places };
        // Twice it is set by nobody.
        return commands_of(HookText { command: rest, args: None }, &places, depth + 1);
    }
    let commands = match text.args {
        None => PlainScript::read(text.command, &|name| places.variable(name))?.commands,
        Some(args) => {
            let words = std::iter::once(text.command).chain(args.iter().map(String::as_str));
            vec![PlainCommand { words: words.map(|word| places.word(word)).collect(), files: Vec::new() }]
        }
    };
    let mut all = Vec::new();
    for command in commands {
        match text_for_shell(&command) {
            Some(_) if DEEPEST <= depth => return Err(command.shown()),
            Some(inner) => {
                all.extend(commands_of(HookText { command: inner, args: None }, places, depth + 1)?);
            }
            None => all.push(command),
        }
    }
    Ok(all)
}

/// The folder of a plugin, and the rest of a text that begins with setting it, as the manual has it: `export CLAUDE_PLUGIN_ROOT="$HOME/x"; …`.
fn behind_plugin_folder<'a>(text: &'a str, home: &Path) -> Option<(String, &'a str)> {
    let value = text.strip_prefix("export ")?.strip_prefix(PLUGIN_FOLDER)?.strip_prefix('=')?;
    let (value, rest) = match value.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => value.split_at(value.find([';', ' '])?),
    };
    let rest = rest.strip_prefix("; ").or_else(|| rest.strip_prefix(" && "))?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    let below =
        value.strip_prefix("$HOME/").or_else(|| value.strip_prefix("~/").filter(|_| !text.contains("=\"~")));
    let folder = match below {
        Some(below) if below.chars().all(is_plain) => home.join(below).to_str()?.to_owned(),
        None if value.starts_with('/') && value.chars().all(is_plain) => value.to_owned(),
        _ => return None,
    };
    Some((folder, rest))
}

#[cfg(test)]
mod tests;

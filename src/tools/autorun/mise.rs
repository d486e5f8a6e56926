//! Which files do mise's settings in a folder have read, run or evaluated, and in which folders do shells find programs by them?
//!
//! mise asks a person when its settings change, not when these do (<https://mise.jdx.dev/environments>). The grammar is read as far as which
//! key has which texts. A text of a key that may name both counts as a file and as a folder.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    direnv::{self, NamedByEnvrc},
    program_texts::{linked_in, texts_in},
};
use shell::AutorunPlace;
use sys::{guarded::listed, regular_file};

const EVALUATED: &str = "mise reads or runs it for the shell that enters the folder, or as a task";
const PROGRAMS: &str = "by mise's settings, the shell that enters the folder finds its programs there";

/// Folders with such settings, and the beginnings of the files' names there (https://mise.jdx.dev/configuration.html).
const PLACES: &[(&str, &[&str])] = &[
    ("", &["mise.", ".mise."]),
    ("mise", &[""]),
    (".mise", &[""]),
    (".config", &["mise."]),
    (".config/mise", &[""]),
    ("mise/conf.d", &[""]),
    (".mise/conf.d", &[""]),
    (".config/mise/conf.d", &[""]),
];

/// Files of settings that are read in all, and bytes of one.
const MOST_FILES: usize = 64;
const MOST_BYTES: u64 = 256 * 1024;
/// Folders of programs of which it is looked which names are free in them.
const MOST_FOLDERS: usize = 16;

/// Words for the folder of the settings (https://mise.jdx.dev/templates.html).
const OF_ROOT: &[&str] = &[
    "{{config_root}}",
    "{{cwd}}",
    "{{env.PWD}}",
    "{{env.MISE_PROJECT_ROOT}}",
    "{{env.MISE_CONFIG_ROOT}}",
    "${MISE_PROJECT_ROOT}",
    "${MISE_CONFIG_ROOT}",
    "$MISE_PROJECT_ROOT",
    "$MISE_CONFIG_ROOT",
];

/// Variables whose value is a file that programs run, read as commands, or load.
const RUN_BY_PROGRAMS: &[&str] = &[
    "AWS_CONFIG_FILE",
    "BASH_ENV",
    "EDITOR",
    "ENV",
    "GIT_CONFIG_GLOBAL",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "KUBECONFIG",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "PAGER",
    "PYTHONSTARTUP",
    "RUSTC_WRAPPER",
    "STARSHIP_CONFIG",
    "VISUAL",
];

/// Keys of tasks and hooks whose texts are no commands.
const WORKED_ON: &[&str] =
    &["alias", "depends", "depends_post", "description", "dir", "outputs", "patterns", "sources", "wait_for"];

/// Ends of names of files that a task runs; others it works on.
const SCRIPT_ENDS: &[&str] =
    &["bash", "cjs", "fish", "js", "lua", "mjs", "nu", "php", "pl", "ps1", "py", "rb", "sh", "ts", "zsh"];
/// Bits of a mode by which a file is run.
const RUN: u32 = 0o111;

/// Everything that the settings of one folder name.
#[derive(Default)]
struct NamedByMise {
    files: Vec<PathBuf>,
    /// The ones among them that a shell reads.
    sourced: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

/// The places that mise's settings in a folder name, for whoever is asked about a change. Blocks for a bounded look.
pub(super) fn named(root: &Path) -> Vec<AutorunPlace> {
    let NamedByMise { files, folders, .. } = NamedByMise::of(root);
    let files = files.into_iter().map(|path| AutorunPlace { path, why: EVALUATED });
    let linked = folders.iter().flat_map(|folder| linked_in(folder, PROGRAMS)).collect::<Vec<_>>();
    let folders = folders.into_iter().map(|path| AutorunPlace { path, why: PROGRAMS });
    files.chain(folders).chain(linked).collect()
}

/// The ones that are kept from commands: of folders in which programs are found the texts that are there, as what is none is what builds make.
/// Blocks for a bounded look.
pub(super) fn named_texts(root: &Path) -> Vec<AutorunPlace> {
    let NamedByMise { files, mut folders, .. } = NamedByMise::of(root);
    folders.retain(|folder| !direnv::is_built(folder, root));
    let files = files.into_iter().filter(|path| !path.is_dir());
    let files = files.map(|path| AutorunPlace { path, why: EVALUATED });
    files.chain(folders.iter().flat_map(|folder| texts_in(folder, PROGRAMS))).collect()
}

/// The folders in which shells find programs by them, each with whether package managers or builds make programs there. Blocks for a bounded
/// look.
pub(super) fn program_folders(root: &Path) -> Vec<(PathBuf, bool)> {
    let folders: HashSet<PathBuf> = NamedByMise::of(root).folders.into_iter().collect();
    let folders = folders.into_iter().filter(|folder| !folder.is_file()).take(MOST_FOLDERS);
    folders.map(|folder| (folder.clone(), direnv::is_built(&folder, root))).collect()
}

impl NamedByMise {
    fn of(root: &Path) -> NamedByMise {
        let mut found = NamedByMise::default();
        for file in settings_in(root).into_iter().take(MOST_FILES) {
            let Some(text) = regular_file::read_bounded(&file, MOST_BYTES).ok().flatten() else { continue };
            found.read(&String::from_utf8_lossy(&text), root);
        }
        let NamedByEnvrc { files, folders, .. } = NamedByEnvrc::of(root, std::mem::take(&mut found.sourced));
        found.files.extend(files);
        found.folders.extend(folders);
        found.files.retain(|file| file != root);
        found
    }

    fn read(&mut self, text: &str, root: &Path) {
        let mut text = text.replace("{{ ", "{{").replace(" }}", "}}");
        OF_ROOT.iter().for_each(|word| text = text.replace(word, "$PWD"));
        for command in executed_in(&text) {
            self.take_command(&command, root);
        }
        for TomlEntry { keys, texts } in entries_of(&text) {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            match keys.as_slice() {
                ["env", rest @ ..] => self.take_variable(rest, &texts, root),
                [.., last] if WORKED_ON.contains(last) => (),
                ["hooks" | "watch_files" | "shell_alias", ..] => {
                    texts.iter().for_each(|text| self.take_command(text, root));
                }
                ["tasks", ..] => texts.iter().for_each(|text| self.take_task(text, root)),
                ["task_config" | "plugins" | "env_file" | "dotenv" | "env_path", ..] => {
                    texts.iter().for_each(|text| self.take_any(text, root));
                }
                _ => (),
            }
        }
    }

    fn take_variable(&mut self, keys: &[&str], texts: &[String], root: &Path) {
        let directive = keys.iter().skip_while(|key| **key != "_").nth(1);
        for text in texts {
            match (directive, keys) {
                (Some(&"source"), _) => {
                    let file = direnv::path(text, root);
                    self.sourced.extend(file.clone());
                    self.files.extend(file);
                }
                (Some(&"file"), _) => self.files.extend(direnv::path(text, root)),
                (Some(&"path"), _) => {
                    self.folders.extend(text.split(':').filter_map(|part| direnv::path(part, root)));
                }
                (Some(&"python"), _) => {
                    self.folders.extend(direnv::path(text, root).map(|venv| venv.join("bin")));
                }
                // A table in one line, or a plugin's.
                (Some(_), _) | (None, ["_", ..]) => self.take_any(text, root),
                (None, []) if text.contains(['/', '.']) => self.take_any(text, root),
                (None, [name, ..]) if RUN_BY_PROGRAMS.contains(name) => {
                    self.take_command(text, root);
                    let words = text.split([' ', ':', '=']);
                    self.files.extend(words.filter_map(|word| direnv::path(word, root)));
                }
                (None, _) => (),
            }
        }
    }

    /// A text of which it is not known whether it names a file or a folder.
    fn take_any(&mut self, text: &str, root: &Path) {
        let Some(path) = direnv::path(text, root) else { return };
        if !path.is_dir() {
            self.sourced.push(path.clone());
            self.files.push(path.clone());
        }
        if !path.is_file() {
            self.folders.push(path);
        }
    }

    fn take_command(&mut self, text: &str, root: &Path) {
        let mut named = NamedByEnvrc::default();
        named.read(text, root);
        self.sourced.append(&mut named.read_on);
        self.files.append(&mut named.files);
        self.folders.append(&mut named.folders);
    }

    /// A command of a task, or its file. Files that it works on are none that are run.
    fn take_task(&mut self, text: &str, root: &Path) {
        let mut named = NamedByEnvrc::default();
        named.read(text, root);
        let is_file = !text.trim().contains(char::is_whitespace) && text.contains(['/', '.']);
        named.files.extend(is_file.then(|| direnv::path(text.trim(), root)).flatten());
        let is_run = |path: &PathBuf| {
            let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
            let mode =
                fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|it| it.permissions().mode());
            SCRIPT_ENDS.contains(&end) || mode.is_some_and(|mode| mode & RUN != 0)
        };
        self.files.extend(named.files.into_iter().filter(is_run));
    }
}

fn settings_in(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (folder, beginnings) in PLACES {
        let entries = listed(&root.join(folder)).into_iter().flatten().flatten();
        let named = entries.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.ends_with(".toml") && beginnings.iter().any(|beginning| name.starts_with(beginning))
        });
        found.extend(named.map(|entry| entry.path()).take(MOST_FILES));
    }
    found
}

/// The commands of `exec(command='…')` in templates.
fn executed_in(text: &str) -> Vec<String> {
    let parts = text.split("exec(").skip(1);
    let commands = parts.map(|part| {
        let part = part.split("}}").next().unwrap_or(part).replace("\\\"", "\"");
        let begin = part.find(['"', '\'']);
        let quoted = begin.and_then(|at| {
            let quote = part[at..].chars().next()?;
            part[at + 1..].split(quote).next().map(str::to_owned)
        });
        quoted.unwrap_or(part)
    });
    commands.collect()
}

/// A key with all texts that stand in its value.
struct TomlEntry {
    keys: Vec<String>,
    texts: Vec<String>,
}

/// The entries of a file of TOML (https://toml.io/en/v1.0.0). A table in one line is one entry, with all texts that stand in it.
fn entries_of(text: &str) -> Vec<TomlEntry> {
    let mut found: Vec<TomlEntry> = Vec::new();
    let mut section: Vec<String> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line.starts_with('[') {
            let name = line.trim_start_matches('[').split(']').next().unwrap_or_default();
            section = keys_of(name);
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else { continue };
        let mut value = value.to_owned();
        while is_open(&value) {
            let Some(next) = lines.next() else { break };
            value.push('\n');
            value.push_str(next);
        }
        let keys = section.iter().cloned().chain(keys_of(key)).collect();
        found.push(TomlEntry { keys, texts: texts_of(&value) });
    }
    found
}

fn keys_of(name: &str) -> Vec<String> {
    name.split('.').map(|key| key.trim().trim_matches(['"', '\'']).to_owned()).collect()
}

/// True if a value goes on in the next line.
fn is_open(value: &str) -> bool {
    let threes = |quote: &str| value.matches(quote).count() % 2 == 1;
    if threes("\"\"\"") || threes("'''") {
        return true;
    }
    let mut depth = 0_i32;
    let mut quote = None;
    for letter in value.chars() {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (Some(_), '\n') => quote = None,
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            _ => (),
        }
    }
    0 < depth
}

/// The texts in quotes of a value.
fn texts_of(value: &str) -> Vec<String> {
    for three in ["\"\"\"", "'''"] {
        if value.contains(three) {
            return value.split(three).skip(1).step_by(2).map(str::to_owned).collect();
        }
    }
    let (mut texts, mut left) = (Vec::new(), value);
    while let Some(at) = left.find(['"', '\'', '#']) {
        let rest = &left[at + 1..];
        let end = match &left[at..=at] {
            "#" => rest.find('\n'),
            "'" => rest.find('\''),
            _ => ended_by_quote(rest),
        };
        let Some(end) = end else { break };
        if &left[at..=at] != "#" {
            texts.push(rest[..end].replace("\\\"", "\""));
        }
        left = &rest[end + 1..];
    }
    texts
}

/// The place of the quote that ends a text in which others are escaped.
fn ended_by_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, letter)| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end.then_some(at)
    })
}

#[cfg(test)]
mod tests;

//! Which files does a command read that prints a key?
//!
//! What stands in them is the key, or opens it, so they are hidden from commands of agents like a key's own file.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    leading::{DEEPEST, INTERPRETERS, SHELLS, ScriptOrText, behind_wrappers, script_or_text},
    readers::{OF_SYSTEM, is_one_of},
};
use crate::{
    lexical::lexical,
    plain_text::{PlainCommand, PlainScript, PlainWord},
    word_paths::{absolute, pieces},
};

/// Bits of a mode by which a file is run.
const RUN: u32 = 0o111;

/// The files among these words that no program of them runs, and those of the commands of a text among them, as far as they are there. Blocks on
/// the file system.
pub fn files_read(words: &[String], home: Option<&Path>) -> Vec<PathBuf> {
    let words = words.iter().map(|word| PlainWord { text: word.clone() }).collect();
    let mut found = Vec::new();
    of_command(&PlainCommand { words, files: Vec::new() }, home, 0, &mut found);
    found.sort();
    found.dedup();
    found
}

fn of_command(command: &PlainCommand, home: Option<&Path>, depth: usize, found: &mut Vec<PathBuf>) {
    let read = command.files.iter().filter(|it| it.is_read).filter_map(|it| it.file.literal());
    read.for_each(|word| add(word, home, found));
    let words = behind_wrappers(&command.words);
    let Some((program, given)) = words.split_first() else { return };
    let name = program.literal().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    if is_one_of(name, SHELLS) || is_one_of(name, INTERPRETERS) {
        if let Some(ScriptOrText::Text(text)) = script_or_text(name, given) {
            of_text(text, home, depth, found);
        }
    } else {
        given.iter().filter_map(PlainWord::literal).for_each(|word| add(word, home, found));
    }
}

fn of_text(text: &str, home: Option<&Path>, depth: usize, found: &mut Vec<PathBuf>) {
    let of_home = home.map(|home| home.to_string_lossy().into_owned());
    let known = |name: &str| of_home.clone().filter(|_| name == "HOME");
    let Ok(script) = PlainScript::read(text, &known) else { return };
    if depth < DEEPEST {
        script.commands.iter().for_each(|command| of_command(command, home, depth + 1, found));
    }
}

fn add(word: &str, home: Option<&Path>, found: &mut Vec<PathBuf>) {
    let word = word.replace("${HOME}", "$HOME");
    // They are started in `/`.
    let path = |piece: &str| absolute(piece, home).unwrap_or_else(|| lexical(&Path::new("/").join(piece)));
    found.extend(pieces(&word).map(path).filter(|path| path.is_file() && !is_program_of_system(path)));
}

/// True of a program that everybody runs, as one that another one starts (`sudo /bin/cat`).
fn is_program_of_system(path: &Path) -> bool {
    let is_run = || path.metadata().is_ok_and(|found| found.permissions().mode() & RUN != 0);
    OF_SYSTEM.iter().any(|folder| path.starts_with(folder)) && is_run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_for_a_key_reads_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in ["key", "a key", "creds.json", "id.txt", "key.age", "get-key"] {
            std::fs::write(home.join(name), "x").unwrap();
        }
        let read = |words: &[&str]| -> Vec<String> {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let found = files_read(&words, Some(&home)).into_iter();
            found.map(|path| path.strip_prefix(&home).unwrap().display().to_string()).collect()
        };
        for (words, expected) in [
            (&["cat", "~/key"][..], &["key"][..]),
            (&["cat", "~/a key"], &["a key"]),
            (&["jq", "-r", ".key", "~/creds.json"], &["creds.json"]),
            (&["age", "-d", "-i", "~/id.txt", "~/key.age"], &["id.txt", "key.age"]),
            (&["sh", "-c", "tr -d '\\n' < ~/key"], &["key"]),
            (&["sh", "-c", "cat \"$HOME/key\" | head -1"], &["key"]),
            (&["timeout", "5", "cat", "~/key"], &["key"]),
            (&["sed", "-n", "1p", "~/key"], &["key"]),
            (&["sh", "-c", "openssl enc -d -in ~/key.age | rev"], &["key.age"]),
            // What `sudo` runs is no key: hidden, it would be there for no command.
            (&["sudo", "/bin/cat", "~/key"], &["key"]),
            (&["~/get-key"], &[]),
            (&["sh", "~/get-key"], &[]),
            (&["pass", "show", "key"], &[]),
            (&["cat", "~/missing"], &[]),
        ] {
            assert_eq!(read(words), expected, "{words:?}");
        }
    }
}

//! What does `tar` write: where it unpacks, and the archive itself?

use super::{FileEffect, outputs::NONE};
use crate::{
    options::{OptionSpec, anywhere},
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};
use protocol::Risk;

impl ScriptWalk<'_> {
    /// `-x` unpacks: in the folder of `-C`, or here. `-c`, `-r` and `-u` write the file of `-f`.
    pub(super) fn archives(&mut self, args: &[WordValue], scope: &CommandScope) {
        const TAR: OptionSpec = OptionSpec {
            valued: "fCTXbIgNVHKLF",
            long_valued: &[
                "file",
                "directory",
                "files-from",
                "exclude",
                "exclude-from",
                "transform",
                "xform",
                "strip-components",
                "owner",
                "group",
                "mode",
                "mtime",
                "format",
                "use-compress-program",
                "to-command",
                "checkpoint-action",
                "listed-incremental",
                "index-file",
                "volno-file",
                "one-top-level",
                "suffix",
            ],
            long_flags: &["extract", "get", "create", "append", "update", "concatenate", "list", "delete"],
            ..NONE
        };
        // `tar xzf a.tgz` means `tar -xzf a.tgz`, but for the order of the values, which follow in turn.
        let (bundle, args) = match args.split_first() {
            Some((first, rest)) if !first.lead().starts_with('-') => match first.known() {
                Some(text) => (text.to_owned(), rest),
                None => return self.unpacks_here(scope),
            },
            _ => (String::new(), args),
        };
        let mut behind = args;
        let mut given: Vec<(char, WordValue)> = Vec::new();
        for letter in bundle.chars().filter(|letter| TAR.valued.contains(*letter)) {
            let Some((value, rest)) = behind.split_first() else { break };
            given.push((letter, value.clone()));
            behind = rest;
        }
        let parsed = anywhere(&TAR, behind);
        let has = |letter: char, long: &[&str]| {
            bundle.contains(letter) || parsed.has(&[letter.to_string().as_str()]) || parsed.has(long)
        };
        let values = |letter: char, long: &str| -> Vec<WordValue> {
            let bundled = given.iter().filter(|(name, _)| *name == letter).map(|(_, value)| value.clone());
            let name = letter.to_string();
            let others = parsed.options.iter().filter(|option| option.name == name || option.name == long);
            bundled.chain(others.filter_map(|option| option.value.clone())).collect()
        };
        // Notes of its own, whatever it does with the archive.
        for file in values('g', "listed-incremental")
            .into_iter()
            .chain(values('\0', "index-file"))
            .chain(values('\0', "volno-file"))
        {
            self.changes(&file, FileEffect::Writes, scope);
        }
        // `host:file` lies on another machine, unless it is told that it does not.
        let is_remote = |file: &WordValue| {
            let lead = file.lead();
            lead.split_once(':').is_some_and(|(host, _)| !host.contains('/'))
        };
        if values('f', "file").iter().any(is_remote) && !parsed.has(&["force-local"]) {
            self.draft.found(Risk::High, "`tar` works on another machine");
        }
        let may_be_option = behind.iter().any(WordValue::may_be_option);
        if has('x', &["extract", "get"]) || may_be_option {
            let folders = values('C', "directory");
            for folder in &folders {
                self.changes(folder, FileEffect::WritesBelow, scope);
            }
            if folders.is_empty() {
                self.unpacks_here(scope);
            }
            if has('P', &["absolute-names"]) {
                self.changes(&WordValue::unknown("-P"), FileEffect::Writes, scope);
            }
        }
        if has('c', &["create"])
            || has('r', &["append"])
            || has('u', &["update"])
            || has('A', &["concatenate"])
        {
            for file in values('f', "file").iter().filter(|file| !file.is("-")) {
                self.changes(file, FileEffect::Writes, scope);
            }
        }
    }
}

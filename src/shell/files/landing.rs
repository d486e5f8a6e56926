//! Under which names do files land in a folder that they are copied into?

use std::path::{Path, PathBuf};

use super::FileEffect;
use crate::{
    CandidateKind,
    options::ParsedArguments,
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};
use protocol::ResourceAccess;

/// Options of `find` before what a file that is found is called.
const FINDS_BY: &[&str] = &["-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"];

/// Options of `find` before a command.
const RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Commands that put what they find elsewhere, under its own name.
const PLACERS: &[&str] = &["cp", "install", "ln", "link", "mv", "rsync", "scp"];

impl ScriptWalk<'_> {
    /// Judges what is copied into `target`, if that may be a folder: each file under its own last name, or with `--parents` under all of them.
    pub(super) fn land_in(
        &mut self,
        sources: &[WordValue],
        target: Option<&WordValue>,
        parsed: &ParsedArguments,
        scope: &CommandScope,
    ) {
        let Some(target) = target.filter(|_| !parsed.has(&["T", "no-target-directory"])) else { return };
        // Only a folder can be meant with these.
        let is_named = parsed.has(&["t", "target-directory", "parents"]);
        if !is_named && sources.len() < 2 && !self.may_be_folder(target, scope) {
            return;
        }
        for source in sources {
            let Some(name) = source.last_name().filter(names_something) else { continue };
            let landed = if parsed.has(&["parents"]) { source } else { &name };
            self.judge_quietly(&target.joined(landed), FileEffect::Writes, scope);
        }
    }

    /// A command that `find` runs with each file that it finds puts it somewhere under the name that it was found by.
    pub(super) fn lands_found(&mut self, args: &[WordValue], scope: &CommandScope) {
        let runs = args.windows(2).any(|pair| {
            let command = pair[1].known().and_then(|text| Path::new(text).file_name()?.to_str());
            RUNS.iter().any(|option| pair[0].is(option)) && command.is_none_or(|it| PLACERS.contains(&it))
        });
        if !runs {
            return;
        }
        for pair in args.windows(2).filter(|pair| FINDS_BY.iter().any(|option| pair[0].is(option))) {
            // `find` reads it as a pattern, whatever quotes kept it from the shell.
            let name = pair[1].known().map(WordValue::pattern_of).and_then(|value| value.last_name());
            if let Some(name) = name.filter(names_something) {
                self.judge_quietly(&name, FileEffect::Writes, scope);
            }
        }
    }

    /// True unless it is surely a file, or nothing yet.
    fn may_be_folder(&self, target: &WordValue, scope: &CommandScope) -> bool {
        let Some(text) = target.known() else { return true };
        if target.is_pattern() || text.ends_with(['/', '.']) {
            return true;
        }
        let targets = self.targets(target, scope);
        targets.iter().any(|target| {
            let (Some(above), Some(name)) = (target.path.parent(), target.path.file_name()) else {
                return true;
            };
            let name = name.to_string_lossy();
            match (self.around.entries)(above) {
                None => true,
                Some(entries) => match entries.iter().find(|entry| entry.name == name) {
                    Some(entry) => entry.kind != CandidateKind::Other,
                    // The text itself may make it before.
                    None => {
                        self.draft.has_access(&ResourceAccess::Write { path: PathBuf::from(&target.path) })
                    }
                },
            }
        })
    }
}

/// True unless it is a pattern from its first letter on, by which nothing is named.
fn names_something(name: &WordValue) -> bool {
    !name.is_pattern() || name.pattern().first().is_some_and(|(_, is_pattern)| !is_pattern)
}

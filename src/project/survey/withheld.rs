//! Which files cannot be acknowledged, since nobody can be shown what they would run or do?

use super::{Path, ProjectFile, ProjectFileKind, ProjectSurvey, problem};
use protocol::FileProblemCode::BadValue;

/// Characters of a sentence about what runs. Nobody reads more to its end.
const MOST_CHARS: usize = 64 * 1024;

/// A file of which a part of what it would run cannot be shown.
#[derive(Debug, Clone)]
pub struct WithheldFile {
    pub root: String,
    /// Below the root.
    pub path: String,
    /// A sentence that follows the file's name, with what to do.
    pub reason: &'static str,
}

impl ProjectSurvey {
    /// Takes out the files whose words on what would run cannot be shown whole: they are too long, or it `is_hidden` how a command of
    /// them is put together. Of a program only those words are: it is its own bytes that are acknowledged.
    pub fn withhold(&mut self, is_hidden: impl Fn(&str) -> bool) {
        let fault = |effect: &String| {
            if MOST_CHARS < effect.chars().count() {
                return Some(TOO_LONG);
            }
            is_hidden(effect).then_some(HOLDS_SECRET)
        };
        for mut file in std::mem::take(&mut self.files) {
            let said = || file.effects.iter().chain(&file.unasked);
            match (file.kind, said().find_map(fault)) {
                (ProjectFileKind::Program, Some(_)) => {
                    let shown = |effect: &mut String| {
                        if fault(effect).is_some() {
                            UNSHOWN.clone_into(effect);
                        }
                    };
                    file.effects.iter_mut().for_each(shown);
                    self.files.push(file);
                }
                (
                    ProjectFileKind::Agent | ProjectFileKind::Settings | ProjectFileKind::Hooks,
                    Some(reason),
                ) => self.withhold_one(file, reason),
                // Of the others nothing runs.
                _ => self.files.push(file),
            }
        }
    }

    pub(super) fn withhold_one(&mut self, file: ProjectFile, reason: &'static str) {
        let ProjectFile { root, path, .. } = file;
        self.problems.push(problem(&Path::new(&root).join(&path), None, BadValue, reason.to_owned()));
        self.withheld.push(WithheldFile { root, path, reason });
    }
}

pub(super) const HAS_ERRORS: &str = "cannot be acknowledged: the agent has errors and cannot be started; `subagent validate` tells them; mend them, then trust it";
const HOLDS_SECRET: &str = "cannot be acknowledged: in what it would run stands what looks like a secret over several words, \
                            lines or signs of a shell, so nobody can be shown all of it; take the secret out of the command, \
                            then trust it";
const TOO_LONG: &str = "cannot be acknowledged: what it would run is longer than anybody reads; put that into a script of the \
                        workspace and name the script, then trust it";
const UNSHOWN: &str = "a command runs it that cannot be shown: it is too long, or what looks like a secret in it goes over several words, lines or signs of a shell";

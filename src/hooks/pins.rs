//! Which files of a workspace does a hook run, and are they what a person acknowledged?
//!
//! A command is trusted by its words, but a word that names a file of the workspace means whatever stands in that file, which
//! an agent may write. So such a file counts as somebody acknowledged it, whoever configured the hook.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{HookHandler, PinnedProgram};
use sys::regular_file;
use trust::{AcknowledgementState, TrustRecords, digest};

/// Largest file that a hook runs; larger ones nobody has read.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Pieces of one command that are looked at.
const MOST_PIECES: usize = 256;

/// Everything that stands between the names of files in a command, quotes aside.
const BETWEEN: &[char] = &[';', '|', '&', '(', ')', '<', '>', '`', '=', ',', '{', '}'];

/// The roots, and what variables of a hook mean.
pub(super) struct PinContext<'a> {
    pub roots: &'a [String],
    pub home: &'a Path,
    pub trust: &'a TrustRecords,
    /// Read once for all hooks.
    pub digests: BTreeMap<PathBuf, Option<String>>,
}

/// The files that one hook runs.
#[derive(Debug, Default)]
pub(super) struct PinnedPrograms {
    /// The same as they are now, whether acknowledged or not; `None` = unreadable.
    pub found: Vec<(String, String, Option<String>)>,
    /// Everything that was acknowledged of them.
    pub pinned: Vec<PinnedProgram>,
    /// The outcome of words of it would name below a root, and is not there: it may be.
    pub missing: Vec<PathBuf>,
    /// A sentence about the first that is not what a person acknowledged.
    pub mistake: Option<String>,
}

impl PinContext<'_> {
    /// Looks at all files that a handler names. Blocks on the file system.
    pub fn of_handler(&mut self, handler: &HookHandler) -> PinnedPrograms {
        let mut programs = PinnedPrograms::default();
        let HookHandler::Command { command, args } = handler else { return programs };
        let texts = std::iter::once(command).chain(args.iter().flatten());
        for piece in texts.flat_map(|text| pieces(text)).take(MOST_PIECES) {
            self.add(&piece, &mut programs);
        }
        programs
    }

    fn add(&mut self, piece: &str, programs: &mut PinnedPrograms) {
        let Some(first) = self.roots.first() else { return };
        let filled = filled(piece, first, self.home);
        let named = Path::new(first).join(&filled);
        let Ok(file) = named.canonicalize() else { return self.add_vanished(&named, programs) };
        let is_file = file.is_file();
        let Some(root) = self.roots.iter().find(|root| file.starts_with(root)).filter(|_| is_file) else {
            return;
        };
        let path = below(root, &file);
        if programs.found.iter().any(|(known, other, _)| (known, other) == (root, &path)) {
            return;
        }
        let now = self.digests.entry(file.clone()).or_insert_with(|| current_digest(&file)).clone();
        let consent = self.trust.consent(root, &path, now.as_deref().unwrap_or(""));
        match (&now, consent) {
            (Some(digest), AcknowledgementState::Now) => {
                programs.pinned.push(PinnedProgram {
                    root: root.clone(),
                    path: path.clone(),
                    digest: digest.clone(),
                });
            }
            (None, _) => note(programs, format!("{} cannot be read, or is too large", file.display())),
            (_, AcknowledgementState::Never) => {
                note(
                    programs,
                    format!("{} is a file of the workspace that nobody acknowledged", file.display()),
                );
            }
            (Some(_), AcknowledgementState::Before) => {
                note(programs, format!("{} changed after it was acknowledged", file.display()));
            }
        }
        programs.found.push((root.clone(), path, now));
    }

    /// A name that leads nowhere matters where it once led to something that was acknowledged.
    fn add_vanished(&self, named: &Path, programs: &mut PinnedPrograms) {
        for root in self.roots {
            let Ok(rest) = named.strip_prefix(root) else { continue };
            programs.missing.push(named.to_owned());
            let path = rest.to_string_lossy();
            if self.trust.consent(root, path.trim_start_matches("./"), "") == AcknowledgementState::Before {
                note(programs, format!("{} vanished after it was acknowledged", named.display()));
            }
        }
    }
}

fn note(programs: &mut PinnedPrograms, sentence: String) {
    programs.mistake.get_or_insert(sentence);
}

/// True if the files are still what was acknowledged; a sentence about the first that is not. Blocks on the file system.
pub(super) fn changed(programs: &[PinnedProgram]) -> Option<String> {
    programs.iter().find_map(|program| {
        let file = Path::new(&program.root).join(&program.path);
        let now = current_digest(&file);
        (now.as_ref() != Some(&program.digest))
            .then(|| format!("{} changed after it was acknowledged", file.display()))
    })
}

/// `None` = it cannot be read, or is too large.
pub(super) fn current_digest(file: &Path) -> Option<String> {
    regular_file::read_bounded(file, LARGEST).ok().flatten().map(|bytes| digest(&bytes))
}

/// The path below a root.
pub(super) fn below(root: &str, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned()
}

/// Everything that may be names of files in a command: once with quotes taken as part of a word, once as ends of words.
fn pieces(text: &str) -> Vec<String> {
    let plain = text.replace(['"', '\''], "").replace('\\', "");
    let is_end = |letter: char| letter.is_whitespace() || BETWEEN.contains(&letter);
    // `${NAME}` is one word: its braces are none that end words.
    let braced = |text: &str| text.replace("${", "\u{1}").replace('}', "\u{2}");
    let split = |text: &str, also: &[char]| -> Vec<String> {
        let text = braced(text);
        let parts = text.split(|letter: char| is_end(letter) || also.contains(&letter));
        parts.map(|part| part.replace('\u{1}', "${").replace('\u{2}', "}")).collect()
    };
    let mut all = split(&plain, &[]);
    all.extend(split(text, &['"', '\'']));
    // Names that have blanks stand in quotes.
    all.extend(text.split(['"', '\'']).map(|part| part.trim().to_owned()));
    all.retain(|piece| !piece.is_empty() && !piece.starts_with('-') && piece != "." && piece != "..");
    all.sort();
    all.dedup();
    all
}

/// The same with the variables that hooks have for the workspace and the home.
fn filled(piece: &str, root: &str, home: &Path) -> String {
    let home = home.to_string_lossy();
    let mut text = piece.to_owned();
    for name in ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "PWD"] {
        text = text.replace(&format!("${{{name}}}"), root).replace(&format!("${name}"), root);
    }
    text = text.replace("${HOME}", &home).replace("$HOME", &home);
    match text.strip_prefix("~/") {
        Some(rest) => format!("{home}/{rest}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_found_in_quotes_variables_and_lists() {
        for (command, expected) in [
            ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/a.sh --fast", "/w/.claude/hooks/a.sh"),
            ("python3 ${CLAUDE_PROJECT_DIR}/b.py", "/w/b.py"),
            ("bash './my scripts/c.sh'", "./my scripts/c.sh"),
            ("cd x&&./d.sh", "./d.sh"),
            ("env A=e.sh sh e.sh", "e.sh"),
            ("~/bin/f", "/home/me/bin/f"),
            ("cat<g.txt", "g.txt"),
        ] {
            let found: Vec<String> =
                pieces(command).iter().map(|piece| filled(piece, "/w", Path::new("/home/me"))).collect();
            assert!(found.iter().any(|it| it == expected), "{command}: {found:?}");
        }
    }
}

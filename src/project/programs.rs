//! Which files of a workspace do its commands run? Trust in a command is trust in them as they were.
//!
//! A command is trusted by its words; but a word that names a file of the workspace means whatever stands in that file,
//! which an agent may write. So such a file counts like a settings file: as somebody acknowledged it, and not otherwise.

use std::path::{Path, PathBuf};

use super::{Consent, Trust, below, digest};
use crate::{
    config::{command_words, read_bounded},
    protocol::{DiscoveryCommands, ProgramDigest},
};

/// Largest file that is run; larger ones nobody has read, and each run's start would read them again.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A file of the workspace that one of its commands names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub root: String,
    /// Below the root.
    pub path: String,
    /// `None` = it cannot be read, so nobody can acknowledge it.
    pub digest: Option<String>,
    pub consent: Consent,
    /// It is run at each call, not only to tell tools.
    pub is_for_calls: bool,
}

impl Program {
    /// As a run keeps it for its calls; `None` = none of them runs it.
    pub fn acknowledged(&self) -> Option<ProgramDigest> {
        let digest = self.digest.clone().filter(|_| self.is_for_calls && self.consent == Consent::Now)?;
        Some(ProgramDigest { path: Path::new(&self.root).join(&self.path), digest })
    }
}

/// The files that the words of these commands lead to, each once. `roots` are canonical; commands run in the first. Blocks
/// on the file system.
pub(super) fn named_by(roots: &[String], commands: &DiscoveryCommands, trust: &Trust) -> Vec<Program> {
    let Some(directory) = roots.first() else { return Vec::new() };
    let mut programs: Vec<Program> = Vec::new();
    let words = |command: &Option<String>, is_for_calls: bool| {
        let words = command.as_deref().and_then(|command| command_words(command).ok()).unwrap_or_default();
        words.into_iter().map(move |word| (word, is_for_calls))
    };
    for (word, is_for_calls) in words(&commands.discovery, false).chain(words(&commands.call, true)) {
        // Also of `--file=NAME`.
        let names = [Some(word.as_str()), word.split_once('=').map(|(_, name)| name)];
        for name in names.into_iter().flatten().filter(|name| !name.is_empty()) {
            let Ok(file) = Path::new(directory).join(name).canonicalize() else { continue };
            let Some(root) = roots.iter().find(|root| file.starts_with(root)).filter(|_| file.is_file())
            else {
                continue;
            };
            let path = below(root, &file);
            if let Some(known) = programs.iter_mut().find(|known| known.root == *root && known.path == path) {
                known.is_for_calls |= is_for_calls;
                continue;
            }
            let digest = current_digest(&file);
            // No file has this digest, so it only says whether any was acknowledged.
            let consent = trust.consent(root, &path, digest.as_deref().unwrap_or(""));
            programs.push(Program { root: root.clone(), path, digest, consent, is_for_calls });
        }
    }
    programs
}

fn current_digest(file: &Path) -> Option<String> {
    Some(digest(&read_bounded(file, LARGEST).ok()??))
}

/// The first of these files that is not what it was. Blocks on the file system.
pub fn changed(programs: &[ProgramDigest]) -> Option<PathBuf> {
    let is_changed =
        |program: &&ProgramDigest| current_digest(&program.path).as_ref() != Some(&program.digest);
    programs.iter().find(is_changed).map(|program| program.path.clone())
}

//! Which skills do extensions bring along, and is each what was installed?
//!
//! Whoever installs extensions knows their files, and says which skills count by the digest of their `SKILL.md`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{
    file::{LARGEST_FILE, SkillFile, SkillText},
    search::FoundSkill,
};
use config::read_bounded;
use protocol::ExtensionRef;

/// Skills that are kept as they were read; of more, all are read anew.
const MOST_READ: usize = 4_096;

/// The skills of one extension that is enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionSkills {
    pub extension: ExtensionRef,
    pub skills: Vec<PinnedSkill>,
}

/// A skill that counts as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedSkill {
    /// Absolute.
    pub folder: PathBuf,
    /// The digest of the bytes of its `SKILL.md`.
    pub digest: String,
}

/// Tells the skills of all extensions that are enabled and are what was installed. May block on the file system.
pub type ExtensionSkillSource = Arc<dyn Fn() -> Vec<ExtensionSkills> + Send + Sync>;

/// The skills of extensions, as they were read.
#[derive(Default)]
pub(super) struct ExtensionSkillReader {
    source: OnceLock<ExtensionSkillSource>,
    read: Mutex<HashMap<PathBuf, (String, Arc<FoundSkill>)>>,
}

/// A skill of an extension that counts now.
pub(super) struct ExtensionSkill {
    pub extension: ExtensionRef,
    pub digest: String,
    pub found: Arc<FoundSkill>,
}

impl ExtensionSkillReader {
    /// From now on these count; of several who say so the first.
    pub fn bring(&self, source: ExtensionSkillSource) {
        let _first = self.source.set(source);
    }

    fn enabled(&self) -> Vec<ExtensionSkills> {
        self.source.get().map(|source| source()).unwrap_or_default()
    }

    /// All that count now, in the order of precedence. Blocks on the file system.
    pub fn all(&self) -> Vec<ExtensionSkill> {
        let of_one = |ExtensionSkills { extension, skills }: ExtensionSkills| {
            skills.into_iter().filter_map(move |PinnedSkill { folder, digest }| {
                let found = self.found(&folder, &digest)?;
                Some(ExtensionSkill { extension: extension.clone(), digest, found })
            })
        };
        self.enabled().into_iter().flat_map(of_one).collect()
    }

    /// The one in this folder, if it counts now: its extension and its digest. Blocks on the file system.
    pub fn pinned(&self, folder: &Path) -> Option<(ExtensionRef, String)> {
        self.enabled().into_iter().find_map(|ExtensionSkills { extension, skills }| {
            let skill = skills.into_iter().find(|skill| skill.folder == folder)?;
            Some((extension, skill.digest))
        })
    }

    /// The bytes of the file of the one in this folder, if they are those of the digest. An error is the end of a sentence that begins with
    /// the skill. Blocks on the file system.
    pub fn bytes(path: &Path, digest: &str) -> Result<Vec<u8>, String> {
        let bytes = read_bounded(path, LARGEST_FILE).map_err(|found| found.message)?;
        let bytes = bytes.ok_or_else(|| "is gone".to_owned())?;
        match trust::digest(&bytes) == digest {
            true => Ok(bytes),
            false => Err("is not what was installed".to_owned()),
        }
    }

    fn found(&self, folder: &Path, digest: &str) -> Option<Arc<FoundSkill>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        let read = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, found)) = read().get(folder)
            && known == digest
        {
            return Some(Arc::clone(found));
        }
        let path = FoundSkill::file_in(folder);
        // One that changes in this moment is none until somebody asks again.
        let bytes = ExtensionSkillReader::bytes(&path, digest).ok()?;
        let file = SkillFile::of(SkillText::read(&path, &bytes));
        let found = Arc::new(FoundSkill::pinned(folder, file));
        let mut read = read();
        if MOST_READ <= read.len() {
            read.clear();
        }
        read.insert(folder.to_owned(), (digest.to_owned(), Arc::clone(&found)));
        Some(found)
    }
}

//! The skills that hold in a workspace, as they were when it was read.

use std::{path::Path, sync::Arc};

use super::ProjectReader;
use skills::{ActivatedSkill, Skill, SkillCatalog, SkillError};
use trust::TrustRecords;

/// The skills of a workspace, and a way to read one. A cheap handle.
#[derive(Clone)]
pub struct ProjectSkills {
    reader: ProjectReader,
    catalog: Arc<SkillCatalog>,
    /// Canonical.
    roots: Arc<[String]>,
}

impl ProjectSkills {
    /// `roots` are canonical. Blocks on the file system.
    pub(super) fn new(reader: ProjectReader, roots: &[String]) -> ProjectSkills {
        let catalog = Arc::new(reader.skills().catalog(roots, &reader.trust()));
        ProjectSkills { reader, catalog, roots: roots.into() }
    }

    /// The folders that people trust by now.
    pub(super) fn trust(&self) -> Arc<TrustRecords> {
        self.reader.trust()
    }

    /// All there are.
    pub fn catalog(&self) -> &SkillCatalog {
        &self.catalog
    }

    /// Reads one whole, as it is now and as people trust it now. Blocks on the file system.
    pub fn activate(&self, skill: &Skill) -> Result<ActivatedSkill, SkillError> {
        self.reader.skills().activate(skill, &self.reader.trust())
    }

    /// Answers whether one that is active in a context still counts, as people trust it now: its name, its folder, and as what it was
    /// activated, of a workspace's. An error is the end of a sentence that begins with the skill. Blocks on the file system.
    pub fn still_counts(&self, name: &str, folder: &Path, digest: Option<&str>) -> Result<(), String> {
        self.reader.skills().still_counts((name, folder, digest), &self.roots, &self.reader.trust())
    }
}

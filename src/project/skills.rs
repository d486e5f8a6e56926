//! The skills that hold in a workspace, as they were when it was read.

use std::sync::Arc;

use super::ProjectReader;
use skills::{ActivatedSkill, Skill, SkillCatalog, SkillError};
use trust::TrustRecords;

/// The skills of a workspace, and a way to read one. A cheap handle.
#[derive(Clone)]
pub struct ProjectSkills {
    reader: ProjectReader,
    catalog: Arc<SkillCatalog>,
}

impl ProjectSkills {
    /// `roots` are canonical. Blocks on the file system.
    pub(super) fn new(reader: ProjectReader, roots: &[String]) -> ProjectSkills {
        let catalog = Arc::new(reader.skills().catalog(roots, &reader.trust()));
        ProjectSkills { reader, catalog }
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
}

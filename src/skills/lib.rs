//! Which skills are there, what does each say, and may it be used? (spec 08, "Skills")
//!
//! A skill is a folder with a file `SKILL.md`: a name, a description, and what to do. This crate finds such folders within
//! bounds, reads them with a word on everything that is odd, decides which of several of one name counts, and reads one whole
//! when somebody wants to use it. A workspace's own counts only as a person acknowledged it: path, mode and bytes of every
//! file; an extension's as it was installed. It never runs anything, and never knows who asks or what is made of the text.

mod catalog;
mod contents;
mod extension;
mod file;
mod places;
mod reader;
mod rules;
mod search;
#[cfg(test)]
mod tests;
mod verdict;

pub use catalog::{Skill, SkillCatalog, SkillOrigin, SkillState};
pub use contents::{LARGEST_SKILL, MOST_SKILL_FILES};
pub use extension::{ExtensionSkillSource, ExtensionSkills, PinnedSkill};
pub use file::{LARGEST_TEXT, SkillFile, SkillText};
pub use places::SkillPlaces;
pub use reader::{ActivatedSkill, ProjectSkill, SkillError, SkillFileNames, SkillReader};
pub use verdict::{SkillVerdict, validate};

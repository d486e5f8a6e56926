//! Which skill of a name counts, and which of them is a model told of?

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{file::SkillFile, search::FoundSkill};
use protocol::FileProblem;
use trust::{AcknowledgementState, TrustRecords};

/// Bytes of all lines of a catalogue: with its heading it stays below 16 KiB (spec 08).
const MOST_LISTED_BYTES: usize = 15 * 1024;
/// Characters of a description in a catalogue: as many as the published rules allow.
const LONGEST_DESCRIPTION: usize = 1_024;

/// The owner of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillOrigin {
    /// `root`: canonical; `path`: of its folder below that.
    Project {
        root: String,
        path: String,
    },
    User,
}

/// The state of a skill: can it be used?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillState {
    Ready,
    /// The settings switch it off.
    Disabled,
    /// No person has acknowledged it.
    Unread,
    /// It was acknowledged, and is another one since.
    Changed,
    /// One of the same name in this folder goes before it.
    Hidden(PathBuf),
    /// It has errors.
    Rejected,
}

/// A skill that was found.
#[derive(Debug, Clone)]
pub struct Skill {
    pub origin: SkillOrigin,
    pub state: SkillState,
    found: Arc<FoundSkill>,
}

impl Skill {
    pub fn name(&self) -> &str {
        &self.found.file.name
    }

    /// The content of its file.
    pub fn file(&self) -> &SkillFile {
        &self.found.file
    }

    pub fn folder(&self) -> &Path {
        &self.found.folder
    }

    /// The path of its file.
    pub fn path(&self) -> PathBuf {
        self.found.folder.join(self.found.file_name)
    }

    pub(super) fn file_name(&self) -> &'static str {
        self.found.file_name
    }

    /// True if a model may ask for it.
    pub fn is_offered(&self) -> bool {
        self.state == SkillState::Ready && !self.found.file.is_for_people
    }
}

/// Every skill that was found for a workspace, or for none.
#[derive(Debug, Default)]
pub struct SkillCatalog {
    skills: Vec<Skill>,
    problems: Vec<FileProblem>,
    /// The skills that models are told of.
    listed: BTreeSet<usize>,
    lines: String,
}

/// The skills of one place.
pub(super) struct PlaceContents {
    pub skills: Vec<Arc<FoundSkill>>,
    pub problems: Vec<FileProblem>,
    /// The root, of a workspace's place.
    pub root: Option<String>,
}

impl SkillCatalog {
    /// Makes one of places in the order of precedence.
    pub(super) fn new(
        places: Vec<PlaceContents>,
        trust: &TrustRecords,
        disabled: &BTreeSet<String>,
    ) -> SkillCatalog {
        let (mut skills, mut problems) = (Vec::new(), Vec::new());
        let mut first: BTreeMap<String, PathBuf> = BTreeMap::new();
        for place in places {
            problems.extend(place.problems);
            for found in place.skills {
                let origin = origin(place.root.as_deref(), &found);
                let name = &found.file.name;
                let state = match standing(&found, &origin, trust) {
                    // What nobody has acknowledged hides nothing; what changed since is not replaced unseen.
                    state @ (SkillState::Ready | SkillState::Changed) => match first.get(name) {
                        Some(before) => SkillState::Hidden(before.clone()),
                        None => {
                            first.insert(name.clone(), found.folder.clone());
                            match disabled.contains(name) {
                                true => SkillState::Disabled,
                                false => state,
                            }
                        }
                    },
                    state => state,
                };
                skills.push(Skill { origin, state, found });
            }
        }
        let mut catalog = SkillCatalog { skills, problems, listed: BTreeSet::new(), lines: String::new() };
        catalog.list();
        catalog
    }

    fn list(&mut self) {
        for (at, skill) in self.skills.iter().enumerate().filter(|(_, skill)| skill.is_offered()) {
            let file = skill.file();
            let mut description: String = file.description.chars().take(LONGEST_DESCRIPTION).collect();
            if description.len() < file.description.len() {
                description.push('…');
            }
            let line = format!("\n- `{}`: {description}", file.name);
            if self.lines.len() + line.len() <= MOST_LISTED_BYTES {
                self.lines.push_str(&line);
                self.listed.insert(at);
            }
        }
    }

    /// All of them, those that do not count among them, in the order of precedence.
    pub fn all(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    /// Problems with the places.
    pub fn problems(&self) -> &[FileProblem] {
        &self.problems
    }

    /// The one of this name that counts; where none does, the first of them.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        let of_name = || self.skills.iter().filter(|skill| skill.name() == name);
        let counts = |skill: &&Skill| {
            matches!(skill.state, SkillState::Ready | SkillState::Disabled | SkillState::Changed)
        };
        of_name().find(counts).or_else(|| of_name().next())
    }

    /// The skills that models are told of.
    pub fn listed(&self) -> impl Iterator<Item = &Skill> {
        self.listed.iter().map(|at| &self.skills[*at])
    }

    /// The skills that models would be told of, were there room.
    pub fn left_out(&self) -> impl Iterator<Item = &Skill> {
        let is_left_out = |(at, skill): &(usize, &Skill)| skill.is_offered() && !self.listed.contains(at);
        self.skills.iter().enumerate().filter(is_left_out).map(|(_, skill)| skill)
    }

    /// A line for each that models are told of; empty = there is none.
    pub fn lines(&self) -> &str {
        &self.lines
    }
}

fn origin(root: Option<&str>, found: &FoundSkill) -> SkillOrigin {
    let Some(root) = root else { return SkillOrigin::User };
    let path = found.folder.strip_prefix(root).unwrap_or(&found.folder).to_string_lossy().into_owned();
    SkillOrigin::Project { root: root.to_owned(), path }
}

fn standing(found: &FoundSkill, origin: &SkillOrigin, trust: &TrustRecords) -> SkillState {
    let acknowledged = match origin {
        SkillOrigin::User => AcknowledgementState::Now,
        SkillOrigin::Project { root, path } => match trust.consent(root, path, "") {
            // No folder has this digest, so it says whether any was acknowledged: the others are not read whole.
            AcknowledgementState::Never => AcknowledgementState::Never,
            _ => found.digest().map_or(AcknowledgementState::Before, |it| trust.consent(root, path, &it)),
        },
    };
    match acknowledged {
        AcknowledgementState::Never => SkillState::Unread,
        AcknowledgementState::Before => SkillState::Changed,
        AcknowledgementState::Now if found.file.is_sound() => SkillState::Ready,
        AcknowledgementState::Now => SkillState::Rejected,
    }
}

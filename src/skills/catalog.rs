//! Which skill of a name counts, and which of them is a model told of?

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    extension::ExtensionSkill,
    file::{SkillFile, folder_name, plain_name},
    search::{FoundSkill, WholeSkill},
};
use protocol::{ExtensionRef, FileProblem};
use trust::{AcknowledgementState, TrustRecords};

/// Bytes of all lines of a catalogue: with its heading it stays below 16 KiB (spec 08).
const MOST_LISTED_BYTES: usize = 15 * 1024;
/// Names of skills that are remembered as they were acknowledged.
const MOST_NAMES: usize = 10_000;

/// The owner of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillOrigin {
    /// `root`: canonical; `path`: of its folder below that.
    Project {
        root: String,
        path: String,
    },
    User,
    /// `digest`: of the bytes of its `SKILL.md`, as they were installed.
    Extension {
        extension: ExtensionRef,
        digest: String,
    },
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
    /// The reason why nobody can acknowledge it as it is, as far as that is known: the end of a sentence that begins with it.
    pub fault: Option<String>,
    /// There was no room for it among what models are told of.
    pub is_left_out: bool,
    name: String,
    /// The front of its file; of a workspace's that counts, by the very bytes that a person acknowledged.
    file: Arc<SkillFile>,
    found: Arc<FoundSkill>,
}

impl Skill {
    /// The name by which it is called. One that has changed since it was acknowledged keeps the name that it had, whatever it calls
    /// itself now.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The front of its file.
    pub fn file(&self) -> &SkillFile {
        &self.file
    }

    pub fn folder(&self) -> &Path {
        &self.found.folder
    }

    /// The path of its file.
    pub fn path(&self) -> PathBuf {
        self.found.path()
    }

    /// The reason why nobody could acknowledge it, if there is one: the end of a sentence that begins with it. Blocks on the file
    /// system.
    pub fn find_fault(&self) -> Option<String> {
        match self.origin {
            SkillOrigin::User | SkillOrigin::Extension { .. } => None,
            SkillOrigin::Project { .. } => self.found.whole().err(),
        }
    }

    pub(super) fn file_name(&self) -> &'static str {
        self.found.file_name
    }

    /// The extension that brings it along.
    pub fn extension(&self) -> Option<&ExtensionRef> {
        match &self.origin {
            SkillOrigin::Extension { extension, .. } => Some(extension),
            SkillOrigin::User | SkillOrigin::Project { .. } => None,
        }
    }

    /// True if a model may ask for it.
    pub fn is_offered(&self) -> bool {
        self.state == SkillState::Ready && !self.file.is_for_people
    }
}

/// Every skill that was found for a workspace, or for none.
#[derive(Debug, Default)]
pub struct SkillCatalog {
    skills: Vec<Skill>,
    problems: Vec<FileProblem>,
    lines: String,
}

/// The names that skills of workspaces had when they were as a person acknowledged them, by root and path.
#[derive(Debug, Default)]
pub(super) struct AcknowledgedNames {
    names: BTreeMap<(String, String), String>,
}

impl AcknowledgedNames {
    fn keep(&mut self, root: &str, path: &str, name: &str) {
        if self.names.len() == MOST_NAMES {
            // The name of its folder serves as well, which is the same by the published rules.
            self.names.pop_first();
        }
        self.names.insert((root.to_owned(), path.to_owned()), name.to_owned());
    }

    fn of(&self, root: &str, path: &str) -> Option<&String> {
        self.names.get(&(root.to_owned(), path.to_owned()))
    }
}

/// The skills of one place.
pub(super) struct PlaceContents {
    pub skills: Vec<Arc<FoundSkill>>,
    pub problems: Vec<FileProblem>,
    /// The root, of a workspace's place.
    pub root: Option<String>,
}

impl SkillCatalog {
    /// Makes one of places in the order of precedence, and of the skills of extensions, which come last.
    pub(super) fn new(
        places: Vec<PlaceContents>,
        of_extensions: Vec<ExtensionSkill>,
        trust: &TrustRecords,
        disabled: &BTreeSet<String>,
        names: &mut AcknowledgedNames,
    ) -> SkillCatalog {
        let (mut all, mut problems) = (Vec::new(), Vec::new());
        for place in places {
            problems.extend(place.problems);
            let origin = |found: &FoundSkill| origin(place.root.as_deref(), found);
            all.extend(place.skills.into_iter().map(|found| (origin(&found), found)));
        }
        all.extend(of_extensions.into_iter().map(|ExtensionSkill { extension, digest, found }| {
            (SkillOrigin::Extension { extension, digest }, found)
        }));
        let mut skills = Vec::new();
        let mut first: BTreeMap<String, PathBuf> = BTreeMap::new();
        for (origin, found) in all {
            let SkillStanding { state, file, fault } = standing(&found, &origin, trust);
            let name = called(&state, &file, &origin, &found, names);
            let state = match state {
                // What nobody has acknowledged hides nothing; what changed since is not replaced unseen.
                state @ (SkillState::Ready | SkillState::Changed) => match first.get(&name) {
                    Some(before) => SkillState::Hidden(before.clone()),
                    None => {
                        first.insert(name.clone(), found.folder.clone());
                        match disabled.contains(&name) {
                            true => SkillState::Disabled,
                            false => state,
                        }
                    }
                },
                state => state,
            };
            skills.push(Skill { origin, state, fault, is_left_out: false, name, file, found });
        }
        let mut catalog = SkillCatalog { skills, problems, lines: String::new() };
        catalog.list();
        catalog
    }

    fn list(&mut self) {
        for skill in self.skills.iter_mut().filter(|skill| skill.is_offered()) {
            let line = format!("\n- `{}`: {}", skill.name, skill.file.description);
            skill.is_left_out = MOST_LISTED_BYTES < self.lines.len() + line.len();
            if !skill.is_left_out {
                self.lines.push_str(&line);
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

    /// The others of the same name.
    pub fn others(&self, skill: &Skill) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(move |it| it.name == skill.name && it.folder() != skill.folder())
    }

    /// The one that lies in this folder.
    pub fn at(&self, folder: &Path) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.folder() == folder)
    }

    /// The skills that models are told of.
    pub fn listed(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| skill.is_offered() && !skill.is_left_out)
    }

    /// The skills that models would be told of, were there room.
    pub fn left_out(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| skill.is_left_out)
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

/// The name by which a skill is called.
fn called(
    state: &SkillState,
    file: &SkillFile,
    origin: &SkillOrigin,
    found: &FoundSkill,
    names: &mut AcknowledgedNames,
) -> String {
    let SkillOrigin::Project { root, path } = origin else { return file.name.clone() };
    match state {
        SkillState::Ready => names.keep(root, path, &file.name),
        // What it calls itself by now nobody has acknowledged, and it may be the name of another one.
        SkillState::Changed => {
            let known = names.of(root, path).cloned();
            return known.unwrap_or_else(|| plain_name(None, &folder_name(&found.path())));
        }
        _ => {}
    }
    file.name.clone()
}

/// A skill's standing with the people who may acknowledge it.
struct SkillStanding {
    state: SkillState,
    file: Arc<SkillFile>,
    fault: Option<String>,
}

fn standing(found: &FoundSkill, origin: &SkillOrigin, trust: &TrustRecords) -> SkillStanding {
    let of_file = |state| SkillStanding { state, file: Arc::clone(&found.file), fault: None };
    let counts = |is_sound: bool| if is_sound { SkillState::Ready } else { SkillState::Rejected };
    let SkillOrigin::Project { root, path } = origin else { return of_file(counts(found.file.is_sound())) };
    // No folder has this digest, so it says whether any was acknowledged: the others are not read whole.
    if trust.consent(root, path, "") == AcknowledgementState::Never {
        return of_file(SkillState::Unread);
    }
    match found.whole() {
        Err(fault) => SkillStanding { fault: Some(fault), ..of_file(SkillState::Changed) },
        // Name, description and all else are of the bytes whose digest is compared, not of another reading.
        Ok(WholeSkill { digest, file }) => match trust.consent(root, path, &digest) {
            AcknowledgementState::Now => SkillStanding { state: counts(file.is_sound()), file, fault: None },
            _ => SkillStanding { state: SkillState::Changed, file, fault: None },
        },
    }
}

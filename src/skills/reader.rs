//! Finds skills for whoever asks, and reads one whole.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    catalog::{PlaceContents, Skill, SkillCatalog, SkillOrigin},
    contents::{LARGEST_SKILL, SkillContents},
    file::{self, LARGEST_FILE, SkillFile},
    places::SkillPlaces,
    search::{LinkHandling, SkillPlace},
};
use config::read_bounded;
use protocol::FileProblem;
use sys::current::HotSwap;
use trust::{AcknowledgementState, TrustRecords};

/// Places that are kept; the one that was not asked for longest is read anew when somebody asks again.
const MOST_PLACES: usize = 256;
/// Files of all skills of a workspace that are looked at for a person, and their bytes: a stranger's folder could hold more than
/// anybody waits for.
const MOST_SURVEYED_FILES: usize = 50_000;
const MOST_SURVEYED_BYTES: u64 = 512 * 1024 * 1024;
/// Said of those beyond.
const TOO_MUCH: &str = "lies among more skills than are looked at";
/// Names of files that are told of a skill (spec 08).
const MOST_NAMES: usize = 100;

/// Reads skills. A cheap handle; what was read is kept and looked at again with each question.
#[derive(Clone)]
pub struct SkillReader {
    shared: Arc<SkillReaderInner>,
}

struct SkillReaderInner {
    places: SkillPlaces,
    /// Names that the settings switch off.
    disabled: HotSwap<BTreeSet<String>>,
    known: Mutex<KnownPlaces>,
}

#[derive(Default)]
struct KnownPlaces {
    places: HashMap<PathBuf, (Arc<SkillPlace>, u64)>,
    /// Counts questions, to tell which place was asked for last.
    questions: u64,
}

/// A skill of a workspace, for a person who is to acknowledge it.
#[derive(Debug, Clone)]
pub struct ProjectSkill {
    /// The path of its folder, below the root.
    pub path: String,
    /// Over all its files; an error is the end of a sentence that begins with the skill.
    pub digest: Result<String, String>,
    pub name: String,
    /// It has errors.
    pub is_broken: bool,
    pub problems: Vec<FileProblem>,
}

/// A skill as it is told to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivatedSkill {
    pub name: String,
    pub folder: PathBuf,
    /// Over all its files, of a workspace's.
    pub digest: Option<String>,
    /// Without front matter.
    pub body: String,
    /// Names of its other files, below the folder; not more than a model is told.
    pub files: Vec<String>,
    /// The number of all of them.
    pub n_files: usize,
    /// Notes for a model on how it is read here.
    pub notes: Vec<&'static str>,
}

/// The files of a skill beside its `SKILL.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillFileNames {
    /// Below its folder; not more than are told.
    pub names: Vec<String>,
    pub count: usize,
}

impl Skill {
    /// The names of its files. Blocks on the file system.
    pub fn file_names(&self) -> SkillFileNames {
        SkillFileNames::of(&SkillContents::of(self.folder()), self.file_name())
    }
}

impl SkillFileNames {
    fn of(contents: &SkillContents, main: &str) -> SkillFileNames {
        let others = || contents.files.iter().filter(|entry| entry.path != Path::new(main));
        let shown = |path: &Path| path.to_string_lossy().replace(char::is_control, "\u{fffd}");
        let names = others().take(MOST_NAMES).map(|entry| shown(&entry.path)).collect();
        SkillFileNames { names, count: others().count() }
    }
}

/// The reason why a skill cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    #[error(
        "the skill `{0}` has changed since a person acknowledged it, or nobody has: it is not used until a person looks at it"
    )]
    NotAcknowledged(String),
    #[error("the skill `{name}` {fault}")]
    Faulty { name: String, fault: String },
}

impl SkillReader {
    pub fn new(places: SkillPlaces) -> SkillReader {
        let (disabled, known) = (HotSwap::new(BTreeSet::new()), Mutex::default());
        SkillReader { shared: Arc::new(SkillReaderInner { places, disabled, known }) }
    }

    /// From now on these are switched off.
    pub fn disable(&self, names: BTreeSet<String>) {
        self.shared.disabled.replace(names);
    }

    /// Finds the skills of a workspace with these roots, which are canonical, and the user's. Blocks on the file system.
    pub fn catalog(&self, roots: &[String], trust: &TrustRecords) -> SkillCatalog {
        let mut places = Vec::new();
        for root in roots {
            for place in self.shared.places.of_project(Path::new(root)) {
                places.push(self.contents(&place, Some(root.clone())));
            }
        }
        places.extend(self.shared.places.of_user().map(|place| self.contents(place, None)));
        SkillCatalog::new(places, trust, &self.shared.disabled.get())
    }

    /// Finds what a workspace's root brings along, whoever trusts it, and what is wrong with its places. Blocks on the file system.
    pub fn of_project(&self, root: &str) -> (Vec<ProjectSkill>, Vec<FileProblem>) {
        let (mut skills, mut problems) = (Vec::new(), Vec::new());
        let (mut files_left, mut bytes_left) = (MOST_SURVEYED_FILES, MOST_SURVEYED_BYTES);
        for place in self.shared.places.of_project(Path::new(root)) {
            let found = self.contents(&place, Some(root.to_owned()));
            problems.extend(found.problems);
            for skill in &found.skills {
                let digest = match files_left {
                    0 => Err(TOO_MUCH.to_owned()),
                    _ => {
                        let contents = SkillContents::of(&skill.folder);
                        files_left = files_left.saturating_sub(contents.files.len());
                        match bytes_left.checked_sub(contents.bytes().min(LARGEST_SKILL)) {
                            None => Err(TOO_MUCH.to_owned()),
                            Some(left) => {
                                bytes_left = left;
                                skill.digest_of(contents)
                            }
                        }
                    }
                };
                let path = skill.folder.strip_prefix(root).unwrap_or(&skill.folder);
                skills.push(ProjectSkill {
                    path: path.to_string_lossy().into_owned(),
                    digest,
                    name: skill.file.name.clone(),
                    is_broken: !skill.file.is_sound(),
                    problems: skill.file.problems.clone(),
                });
            }
        }
        (skills, problems)
    }

    /// Reads a skill whole, as it is now. Of a workspace's own every file must be as a person acknowledged it, and the text is
    /// of the very bytes that were compared. Blocks on the file system.
    pub fn activate(&self, skill: &Skill, trust: &TrustRecords) -> Result<ActivatedSkill, SkillError> {
        let name = skill.name().to_owned();
        let faulty = |fault: String| SkillError::Faulty { name: name.clone(), fault };
        let (path, contents) = (skill.path(), SkillContents::of(skill.folder()));
        let (digest, bytes) = match &skill.origin {
            SkillOrigin::Project { root, path } => {
                let main = Path::new(skill.file_name());
                let (digest, bytes) = contents.digest(skill.folder(), main).map_err(faulty)?;
                if trust.consent(root, path, &digest) != AcknowledgementState::Now {
                    return Err(SkillError::NotAcknowledged(name));
                }
                (Some(digest), bytes)
            }
            SkillOrigin::User => {
                let bytes = read_bounded(&path, LARGEST_FILE).map_err(|found| faulty(found.message))?;
                (None, bytes)
            }
        };
        let bytes = bytes.ok_or_else(|| faulty("is gone".to_owned()))?;
        let file = SkillFile::read(&path, &bytes);
        if !file.is_sound() {
            return Err(faulty("has errors by now: `subagent skills validate` tells them".to_owned()));
        }
        let SkillFileNames { names: files, count: n_files } =
            SkillFileNames::of(&contents, skill.file_name());
        let notes = file::runs_inline(&file.body).then_some(file::INLINE).into_iter().collect();
        let folder = match &skill.origin {
            // Found without any link.
            SkillOrigin::Project { .. } => skill.folder().to_owned(),
            // From now on it is known where it lies: a person's link to it may come to lead elsewhere.
            SkillOrigin::User => {
                skill.folder().canonicalize().map_err(|error| faulty(format!("is gone: {error}")))?
            }
        };
        Ok(ActivatedSkill { folder, digest, body: file.body, files, n_files, notes, name })
    }

    fn contents(&self, place: &Path, root: Option<String>) -> PlaceContents {
        let links = if root.is_some() { LinkHandling::Refuse } else { LinkHandling::Follow };
        let found = self.look(place, links);
        PlaceContents { skills: found.skills.clone(), problems: found.problems.clone(), root }
    }

    fn look(&self, place: &Path, links: LinkHandling) -> Arc<SkillPlace> {
        let known = self.known().places.get(place).map(|(known, _)| Arc::clone(known));
        let found = match known {
            Some(known) if known.is_as_it_was() => known,
            before => Arc::new(SkillPlace::look(place, links, before.as_deref())),
        };
        let mut known = self.known();
        known.questions += 1;
        let now = known.questions;
        if MOST_PLACES <= known.places.len() && !known.places.contains_key(place) {
            let oldest = known.places.iter().min_by_key(|(_, (_, used))| *used).map(|(path, _)| path.clone());
            oldest.and_then(|path| known.places.remove(&path));
        }
        known.places.insert(place.to_owned(), (Arc::clone(&found), now));
        found
    }

    fn known(&self) -> MutexGuard<'_, KnownPlaces> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.shared.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActivatedSkill {
    /// The words that come before its text: where it lies, and what that means.
    pub fn introduction(&self) -> String {
        let ActivatedSkill { name, folder, files, n_files, notes, .. } = self;
        let mut text = format!(
            "The skill `{name}` lies in `{}`; paths in it are below that. Its files can be read there, and not changed. A script of \
             it runs only by run_shell_command, which is judged as any command. What it says is guidance; it permits nothing.",
            folder.display()
        );
        if !files.is_empty() {
            let more = n_files - files.len();
            text.push_str(&format!("\nFiles: {}", files.join(", ")));
            if more != 0 {
                text.push_str(&format!(", and {more} more"));
            }
        }
        for note in notes {
            text.push_str(&format!("\nNote: {note}."));
        }
        text
    }
}

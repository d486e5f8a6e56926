//! Which skills are active for a run's model, and where may its tools read because of them? (spec 08, "Skills")
//!
//! One such memory belongs to one run: it lives in the run's [`PrepareContext`], is filled from the log, and is shared by the
//! tool that activates skills, those that read files, and those that run commands.

use std::{
    collections::HashSet,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{OwnFiles, PrepareContext, Workspace, WorkspacePath};
use protocol::{ToolError, ToolErrorType};

/// A skill that a run's model has the text of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveSkillFolder {
    pub name: String,
    pub folder: PathBuf,
    /// The digest with which it was activated, of a workspace's.
    pub digest: Option<String>,
}

/// Answers whether a skill that is active still counts; an error is the end of a sentence that begins with the skill. Blocks on the file
/// system.
pub type ActiveSkillCheck = Arc<dyn Fn(&ActiveSkillFolder) -> Result<(), String> + Send + Sync>;

/// The skills that a run's model has the text of. A cheap handle.
#[derive(Clone, Default)]
pub struct ActiveSkills {
    state: Arc<Mutex<ActiveSkillsState>>,
    /// `None` = each counts as long as it is there.
    check: Option<ActiveSkillCheck>,
}

impl fmt::Debug for ActiveSkills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveSkills").field("state", &self.state).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct ActiveSkillsState {
    active: Vec<ActiveSkillFolder>,
    /// Names of those that are being activated.
    claimed: HashSet<String>,
    /// Folders, held open; made when somebody reads there.
    reading: Option<(Vec<PathBuf>, Arc<Workspace>)>,
}

impl ActiveSkills {
    /// None yet; before anything is read in the folder of one, `check` says whether it still counts.
    pub fn checked_by(check: ActiveSkillCheck) -> ActiveSkills {
        ActiveSkills { check: Some(check), ..ActiveSkills::default() }
    }

    /// From now on these are active, as the log has them.
    pub fn are(&self, active: Vec<ActiveSkillFolder>) {
        let mut state = self.state();
        state.claimed.clear();
        if state.active != active {
            state.active = active;
            state.reading = None;
        }
    }

    /// Takes the right to activate it; false = the model has its text, or is about to get it.
    pub fn claim(&self, name: &str) -> bool {
        let mut state = self.state();
        let is_active = state.active.iter().any(|known| known.name == name);
        !is_active && state.claimed.insert(name.to_owned())
    }

    /// It was not activated after all.
    pub fn release(&self, name: &str) {
        self.state().claimed.remove(name);
    }

    /// True if reading may take a look at all files of a skill: one of them is of a workspace, where anybody may write who works there.
    pub fn are_compared(&self) -> bool {
        self.check.is_some() && self.state().active.iter().any(|it| it.digest.is_some())
    }

    /// Answers whether the active skill of this name still counts; see [`ActiveSkillCheck`]. Blocks on the file system.
    pub fn still_counts(&self, name: &str) -> Result<(), String> {
        let named = self.state().active.iter().find(|it| it.name == name).cloned();
        named.map_or(Ok(()), |skill| self.check(&skill))
    }

    /// The folders of all that are there and count. One in whose place, or above which, a link lies by now is none: it was known
    /// without, and a command may have put one there that leads anywhere. Blocks on the file system.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.folders_where(|skill| self.check(skill).is_ok())
    }

    /// The folders that commands read and never write: the same, and those in the workspace, which they may read in any case. Blocks on
    /// the file system.
    pub(super) fn folders_of_commands(&self, workspace: &Workspace) -> Vec<PathBuf> {
        self.folders_where(|skill| workspace.place_at(&skill.folder).is_some() || self.check(skill).is_ok())
    }

    fn folders_where(&self, is_meant: impl Fn(&ActiveSkillFolder) -> bool) -> Vec<PathBuf> {
        let active = self.state().active.clone();
        let is_itself =
            |folder: &PathBuf| folder.is_dir() && folder.canonicalize().is_ok_and(|it| it == *folder);
        let meant = active.into_iter().filter(|it| is_itself(&it.folder) && is_meant(it));
        meant.map(|it| it.folder).collect()
    }

    fn check(&self, skill: &ActiveSkillFolder) -> Result<(), String> {
        self.check.as_ref().map_or(Ok(()), |check| check(skill))
    }

    /// The skill that a place lies in, or that lies in it.
    fn holding(&self, path: &Path) -> Option<String> {
        let state = self.state();
        let holds = |it: &&ActiveSkillFolder| path.starts_with(&it.folder) || it.folder.starts_with(path);
        state.active.iter().find(holds).map(|it| it.name.clone())
    }

    /// Refuses to read in the folder of a workspace's skill that is no longer what it was when it was activated.
    fn check_place(&self, path: &Path, shown: &str) -> Result<(), ToolError> {
        let is_in = |it: &&ActiveSkillFolder| it.digest.is_some() && path.starts_with(&it.folder);
        let Some(skill) = self.state().active.iter().find(is_in).cloned() else { return Ok(()) };
        self.check(&skill).map_err(|why| {
            let message = format!(
                "`{shown}` belongs to the skill `{}`, which is active here and {why}: its files are not read until a person looks at them",
                skill.name
            );
            ToolError { kind: ToolErrorType::WorkspaceNotTrusted, message }
        })
    }

    /// The ground on which they are read; `None` = there is none.
    fn reading(&self, own_files: &OwnFiles) -> Option<Arc<Workspace>> {
        let folders = self.folders();
        if let Some((known, reading)) = &self.state().reading
            && *known == folders
        {
            return Some(Arc::clone(reading));
        }
        let opened = Workspace::open_known(&folders).ok()?;
        let reading = Arc::new(own_files.close(opened).shown_whole());
        self.state().reading = Some((folders, Arc::clone(&reading)));
        Some(reading)
    }

    fn state(&self) -> MutexGuard<'_, ActiveSkillsState> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PrepareContext {
    /// Finds where a path leads that is only read: below the workspace's roots, or into the folder of an active skill.
    pub(super) fn place_to_read(&self, text: &str) -> Result<(Arc<Workspace>, WorkspacePath), ToolError> {
        let refused = match self.workspace.resolve(text) {
            Ok(place) => {
                self.skills.check_place(&self.workspace.absolute(&place), &self.workspace.shown(&place))?;
                return Ok((Arc::clone(&self.workspace), place));
            }
            Err(error) => error,
        };
        let may_be_skill = refused.kind == ToolErrorType::PathNotInWorkspace && text.starts_with('/');
        let skills = may_be_skill.then(|| self.skills.reading(&self.own_files)).flatten();
        match skills.and_then(|skills| Some((skills.resolve(text).ok()?, skills))) {
            Some((place, skills)) => Ok((skills, place)),
            None => Err(refused),
        }
    }

    /// Finds where all of these paths and patterns lead that are only read: the workspace, unless every one of them begins in an active
    /// skill's folder.
    pub(super) fn ground_to_read(&self, texts: &[String]) -> Result<Arc<Workspace>, ToolError> {
        for text in texts {
            for root in self.workspace.roots() {
                // An absolute one stays as it is.
                self.skills.check_place(&root.join(text), text)?;
            }
        }
        let is_outside = |text: &String| {
            text.starts_with('/') && !self.workspace.roots().any(|root| Path::new(text).starts_with(root))
        };
        if texts.is_empty() || !texts.iter().all(is_outside) {
            return Ok(Arc::clone(&self.workspace));
        }
        let skills = self.skills.reading(&self.own_files);
        let is_of_skill = |skills: &Workspace| {
            texts.iter().all(|text| skills.roots().any(|root| Path::new(text).starts_with(root)))
        };
        Ok(skills.filter(|skills| is_of_skill(skills)).unwrap_or_else(|| Arc::clone(&self.workspace)))
    }

    /// Finds where a path leads that is going to be changed: below the workspace's roots, and in no active skill.
    pub(super) fn place_to_write(&self, text: &str) -> Result<WorkspacePath, ToolError> {
        let place = self.workspace.resolve(text)?;
        match self.skills.holding(&self.workspace.absolute(&place)) {
            None => Ok(place),
            Some(name) => {
                let shown = self.workspace.shown(&place);
                let message = format!(
                    "`{shown}` belongs to the skill `{name}`, which is active: its folder is read and never written"
                );
                Err(ToolError { kind: ToolErrorType::PermissionDenied, message })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// A command that goes on may have put it there, beside a workspace whose files are read by permission.
    #[test]
    fn a_skill_in_whose_place_a_link_lies_is_read_nowhere() {
        let ground = tempfile::tempdir().unwrap();
        let at = ground.path().canonicalize().unwrap();
        for folder in ["work/skills/one", "work/skills/two", "private/one"] {
            fs::create_dir_all(at.join(folder)).unwrap();
            fs::write(at.join(folder).join("file"), folder).unwrap();
        }
        let folders = ["one", "two"].map(|name| at.join("work/skills").join(name));
        let active = ActiveSkills::default();
        let skill = |folder: &PathBuf| ActiveSkillFolder {
            name: "s".to_owned(),
            folder: folder.clone(),
            digest: None,
        };
        active.are(folders.iter().map(skill).collect());
        assert_eq!(active.folders(), folders);
        fs::rename(at.join("work/skills/one"), at.join("work/skills/moved")).unwrap();
        symlink(at.join("private/one"), at.join("work/skills/one")).unwrap();
        assert_eq!(active.folders(), folders[1..]);
        // So is one behind a link.
        fs::rename(at.join("work/skills"), at.join("work/kept")).unwrap();
        symlink(at.join("private"), at.join("work/skills")).unwrap();
        assert_eq!(active.folders(), [""; 0].map(PathBuf::from));
    }
}

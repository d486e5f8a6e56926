//! Which skills are active for a run's model, and where may its tools read because of them? (spec 08, "Skills")
//!
//! One such memory belongs to one run: it lives in the run's [`PrepareContext`], is filled from the log, and is shared by the
//! tool that activates skills, those that read files, and those that run commands.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{OwnFiles, PrepareContext, Workspace, WorkspacePath};
use protocol::{ToolError, ToolErrorType};

/// The skills that a run's model has the text of. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct ActiveSkills {
    state: Arc<Mutex<ActiveSkillsState>>,
}

#[derive(Debug, Default)]
struct ActiveSkillsState {
    active: Vec<(String, PathBuf)>,
    /// Names of those that are being activated.
    claimed: HashSet<String>,
    /// The folders, held open; made when somebody reads there.
    reading: Option<Arc<Workspace>>,
}

impl ActiveSkills {
    /// From now on these are active: a name each, and the folder, as the log has them.
    pub fn are(&self, active: Vec<(String, PathBuf)>) {
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
        let is_active = state.active.iter().any(|(known, _)| known == name);
        !is_active && state.claimed.insert(name.to_owned())
    }

    /// It was not activated after all.
    pub fn release(&self, name: &str) {
        self.state().claimed.remove(name);
    }

    /// The folders of all that are there. One in whose place, or above which, a link lies by now is none: it was known without, and a
    /// command may have put one there that leads anywhere.
    pub fn folders(&self) -> Vec<PathBuf> {
        let folders: Vec<PathBuf> = self.state().active.iter().map(|(_, folder)| folder.clone()).collect();
        let is_itself =
            |folder: &PathBuf| folder.is_dir() && folder.canonicalize().is_ok_and(|it| it == *folder);
        folders.into_iter().filter(is_itself).collect()
    }

    /// The skill that a place lies in.
    fn holding(&self, path: &Path) -> Option<String> {
        let state = self.state();
        let holds = |folder: &PathBuf| path.starts_with(folder) || folder.starts_with(path);
        state.active.iter().find(|(_, folder)| holds(folder)).map(|(name, _)| name.clone())
    }

    /// The ground on which they are read; `None` = there is none.
    fn reading(&self, own_files: &OwnFiles) -> Option<Arc<Workspace>> {
        if let Some(reading) = &self.state().reading {
            return Some(Arc::clone(reading));
        }
        let opened = Workspace::open_known(&self.folders()).ok()?;
        let reading = Arc::new(own_files.close(opened).shown_whole());
        self.state().reading = Some(Arc::clone(&reading));
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
            Ok(place) => return Ok((Arc::clone(&self.workspace), place)),
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
    pub(super) fn ground_to_read(&self, texts: &[String]) -> Arc<Workspace> {
        let is_outside = |text: &String| {
            text.starts_with('/') && !self.workspace.roots().any(|root| Path::new(text).starts_with(root))
        };
        if texts.is_empty() || !texts.iter().all(is_outside) {
            return Arc::clone(&self.workspace);
        }
        let skills = self.skills.reading(&self.own_files);
        let is_of_skill = |skills: &Workspace| {
            texts.iter().all(|text| skills.roots().any(|root| Path::new(text).starts_with(root)))
        };
        skills.filter(|skills| is_of_skill(skills)).unwrap_or_else(|| Arc::clone(&self.workspace))
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
        active.are(folders.iter().map(|folder| ("s".to_owned(), folder.clone())).collect());
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

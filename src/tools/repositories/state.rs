//! How was a repository before something of an agent's began, and how does it become that again?
//!
//! git replaces files by renaming, so not all of it can be mounted over, nor can a link, nor what is not there. But a repository without a
//! valid `HEAD`, or one that git cannot get into, is none, and git looks for another one around it; `commondir` has git read its
//! settings elsewhere; and a link can be replaced by a folder of hooks.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, FileType, Mode, fchmod, mkdirat, statat, symlinkat};
use serde::{Deserialize, Serialize};

use super::{
    LONGEST_POINTER,
    below::RepositoryBelow,
    folder::{
        again, bring_back, bytes_in, folder_at, folder_in, head_in, is_closed_since, kind_in, link_in,
        mode_in, mode_of, put_aside, set_mode_in, sure_head_in, text_in, write_in,
    },
    hooks::{self, NotedHooks, hooks_in},
    settings::new_danger,
};
use crate::git_settings::LONGEST_CONFIG;
use sys::guarded::FileIdentity;

mod changeable;

/// Files of settings of a repository.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// Mode of what is made anew, before the umask.
const FILE_MODE: u32 = 0o666;
/// Parts that git must get into, or read, to take a folder for a repository.
const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];

/// Folders in which git of old looks for addresses by the names of remotes, a path of this machine among them (gitrepository-layout(5)).
pub const OLD_REMOTES: [&str; 2] = ["remotes", "branches"];

fn all_old_remotes() -> Vec<String> {
    OLD_REMOTES.map(str::to_owned).to_vec()
}

/// A thing that was found to be another.
#[derive(Debug)]
pub struct MendedPlace {
    pub path: PathBuf,
    pub what: MendedPart,
    /// An error where it could not be put back.
    pub done: io::Result<()>,
    /// git itself does no such thing: whoever did it goes on no more.
    pub is_attack: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MendedPart {
    /// git tells by this which repository it has.
    Way,
    /// A setting by which git runs something came; which one.
    Setting(String),
    Hook,
    /// There was no repository, and then one by which git runs something.
    NewRepository,
    /// Another folder came in the place of a repository; why git would run something by it.
    Exchanged(String),
}

/// Everything that decides about a repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepositoryState {
    pub path: PathBuf,
    pub id: FileIdentity,
    mode: u32,
    /// Modes of its parts that are no links.
    modes: Vec<(String, u32)>,
    /// The last one that git went by; `None` = git takes it for no repository.
    head: Option<Vec<u8>>,
    /// It says itself where its settings are.
    has_commondir: bool,
    /// The words by which it says so.
    #[serde(default)]
    commondir: Option<Vec<u8>>,
    /// The folders of [`OLD_REMOTES`] that it had. Of a note of an older daemon's all, of which nothing is put aside.
    #[serde(default = "all_old_remotes")]
    old_remotes: Vec<String>,
    /// The place that `hooks` leads to, if it is a link.
    hooks_link: Option<Vec<u8>>,
    pub hooks: NotedHooks,
    /// It keeps objects and references of its own.
    has_own: bool,
    settings: Vec<SettingsState>,
    is_of_worktree: bool,
}

/// A file of settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SettingsState {
    name: String,
    /// The link that it is, and the file that this leads to.
    link: Option<(Vec<u8>, PathBuf)>,
    text: Option<String>,
    /// It is there, also where its text is none that can be read.
    is_there: bool,
}

/// A repository that is held open and looked at.
pub struct WatchedRepository {
    pub state: RepositoryState,
    pub folder: OwnedFd,
    /// Folders that it keeps of its own, wherever that is by now.
    parts: Vec<(&'static str, OwnedFd)>,
    /// It came to be while it was watched, so nothing covers its settings and hooks.
    pub is_new: bool,
    /// The state when the command began, where another went on that may have changed it; `state` is from before that one.
    pub begun: Option<BegunState>,
}

/// A repository as a command found it, beside others that go on.
pub struct BegunState {
    pub state: RepositoryState,
    /// One of the others still goes on.
    pub goes_on: bool,
}

impl RepositoryState {
    pub fn of(path: &Path, folder: &OwnedFd, is_of_worktree: bool) -> Option<RepositoryState> {
        let is_folder = |name: &str| kind_in(folder, name) == Some(FileType::Directory);
        let mode = |name: &&str| Some(((*name).to_owned(), mode_in(folder, name)?));
        Some(RepositoryState {
            path: path.to_owned(),
            id: FileIdentity::of_stat(&rustix::fs::fstat(folder).ok()?),
            mode: mode_of(folder),
            modes: PARTS.iter().filter_map(mode).collect(),
            head: head_in(folder),
            has_commondir: kind_in(folder, "commondir").is_some(),
            commondir: bytes_in(folder, "commondir", LONGEST_POINTER),
            old_remotes: all_old_remotes()
                .into_iter()
                .filter(|name| kind_in(folder, name).is_some())
                .collect(),
            hooks_link: link_in(folder, "hooks"),
            hooks: hooks_in(path, folder),
            has_own: is_folder("objects") && is_folder("refs"),
            settings: SETTINGS.map(|name| SettingsState::of(path, folder, name)).to_vec(),
            is_of_worktree,
        })
    }

    /// True if both are of one repository, at the same place.
    pub fn is_of_same(&self, other: &RepositoryState) -> bool {
        (&self.path, &self.id) == (&other.path, &other.id)
    }

    /// Takes over what the other says of settings and hooks: the rest is put back at once when it is changed.
    pub fn take_changeable(&mut self, other: &RepositoryState) {
        self.hooks_link.clone_from(&other.hooks_link);
        self.hooks.clone_from(&other.hooks);
        self.settings.clone_from(&other.settings);
    }

    /// A folder's state by now, or the reason why git would run something by it that it would not have run by this one; `None` = as if
    /// there had been nothing. It counts as it was read here: a program may be at writing it.
    pub fn harmless(
        before: Option<&RepositoryState>,
        (path, folder): (&Path, &OwnedFd),
        named: &[String],
    ) -> Result<RepositoryState, String> {
        let now = RepositoryState::of(path, folder, false);
        let now = now.ok_or_else(|| "it cannot be looked at".to_owned())?;
        match RepositoryState::danger(before, &now, folder, named) {
            Some(danger) => Err(danger),
            None => Ok(now),
        }
    }

    fn danger(
        before: Option<&RepositoryState>,
        now: &RepositoryState,
        folder: &OwnedFd,
        named: &[String],
    ) -> Option<String> {
        if now.has_commondir && !before.is_some_and(|before| before.has_commondir) {
            return Some("it takes its settings from elsewhere".to_owned());
        }
        if let Some(before) = before {
            // Of a note of an older daemon's nobody knows where to.
            if before.commondir.is_some() && before.commondir != now.commondir {
                return Some("it takes its settings from elsewhere".to_owned());
            }
            if now.old_remotes.iter().any(|name| !before.old_remotes.contains(name)) {
                return Some("it has addresses of remotes as they were kept of old".to_owned());
            }
        }
        let had_link = |now: &SettingsState| {
            let mut had = before.iter().flat_map(|before| &before.settings);
            had.any(|it| it.name == now.name && it.link == now.link)
        };
        if now.settings.iter().any(|settings| settings.link.is_some() && !had_link(settings)) {
            return Some("its settings lie elsewhere".to_owned());
        }
        let hooks = before.map_or_else(|| Some(Vec::new()), |before| before.hooks.clone());
        let is_led = now.hooks_link != before.and_then(|before| before.hooks_link.clone());
        if hooks::has_new(&hooks, &now.hooks) || is_led {
            return Some("it has a hook".to_owned());
        }
        now.settings.iter().find_map(|now| {
            let before = before.and_then(|it| it.settings.iter().find(|it| it.name == now.name));
            match &now.text {
                Some(text) => {
                    let before = before.and_then(|it| it.text.as_deref()).unwrap_or_default();
                    new_danger(before, text, named)
                }
                // It may say anything that is not read to its end.
                None => kind_in(folder, &now.name).map(|_| format!("`{}` cannot be read", now.name)),
            }
        })
    }
}

/// True of the repository of a submodule by which git would run something, as if there had been nothing; also where that cannot be told. Blocks.
pub fn may_run_something(path: &Path) -> bool {
    // As git itself writes it for a submodule.
    let named = ["core.worktree".to_owned()];
    folder_at(path).is_none_or(|folder| RepositoryState::harmless(None, (path, &folder), &named).is_err())
}

impl SettingsState {
    fn of(path: &Path, folder: &OwnedFd, name: &str) -> SettingsState {
        let link = link_in(folder, name).and_then(|link| Some((link, path.join(name).canonicalize().ok()?)));
        let mut state = SettingsState { name: name.to_owned(), link, text: None, is_there: false };
        state.text = state.text_now(folder);
        state.is_there = kind_in(folder, name).is_some();
        state
    }

    fn text_now(&self, folder: &OwnedFd) -> Option<String> {
        match &self.link {
            None => text_in(folder, &self.name, LONGEST_CONFIG),
            Some((_, at)) => text_in(&folder_at(at.parent()?)?, at.file_name()?.to_str()?, LONGEST_CONFIG),
        }
    }

    /// True if `after`, its text by now, is what it was. `is_there`: it is there, whether that can be read or not.
    fn is_still(&self, after: Option<&str>, is_there: bool) -> bool {
        match after {
            Some(_) => after == self.text.as_deref(),
            // One that cannot be read by now, and was not there or could be, may say anything.
            None => !is_there || (self.is_there && self.text.is_none()),
        }
    }

    /// Writes what it was in the place of what it is.
    fn put_back(&self, folder: &OwnedFd) -> io::Result<()> {
        let put = |folder: &OwnedFd, name: &str| {
            again(folder, name, |folder| match &self.text {
                Some(text) => write_in(folder, name, text.as_bytes(), FILE_MODE),
                None => Ok(()),
            })
        };
        let Some((_, at)) = &self.link else { return put(folder, &self.name) };
        let above = at.parent().and_then(folder_at);
        let name = at.file_name().and_then(|name| name.to_str());
        match (above, name) {
            (Some(above), Some(name)) => put(&above, name),
            _ => Err(io::Error::other("the place that it leads to is gone")),
        }
    }
}

impl WatchedRepository {
    pub fn of(found: &RepositoryBelow) -> Option<WatchedRepository> {
        let folder = folder_at(&found.folder)?;
        let state = RepositoryState::of(&found.folder, &folder, found.is_of_worktree)?;
        Some(WatchedRepository::holding(state, folder))
    }

    /// The same that was noted, if it is still there.
    pub fn again(state: RepositoryState) -> Option<WatchedRepository> {
        let folder = folder_at(&state.path)?;
        let id = FileIdentity::of_stat(&rustix::fs::fstat(&folder).ok()?);
        (id == state.id).then(|| WatchedRepository::holding(state, folder))
    }

    /// One that came to be while it was watched, as it was then.
    pub fn anew(state: RepositoryState) -> Option<WatchedRepository> {
        WatchedRepository::again(state).map(|it| WatchedRepository { is_new: true, ..it })
    }

    /// The folder of this identity that is in the place of one, as if it were that one.
    pub fn of_copy(state: &RepositoryState, id: FileIdentity) -> Option<WatchedRepository> {
        WatchedRepository::anew(RepositoryState { id, ..state.clone() })
    }

    fn holding(state: RepositoryState, folder: OwnedFd) -> WatchedRepository {
        let part = |name| Some((name, folder_in(&folder, name)?));
        let parts = ["objects", "refs"].into_iter().filter_map(part).collect();
        WatchedRepository { state, folder, parts, is_new: false, begun: None }
    }

    /// Puts back what was changed of what git goes by before it reads a repository. `roots`: where its parts may have gone to.
    pub fn put_way_back(&mut self, roots: &[PathBuf]) -> Vec<MendedPlace> {
        if self.state.head.is_none() {
            return Vec::new();
        }
        let mut done = Vec::new();
        // Nothing is looked up in a folder that is closed.
        if is_closed_since(self.state.mode, mode_of(&self.folder)) {
            let open = fchmod(&self.folder, Mode::from_raw_mode(self.state.mode));
            done.push(("", open.map_err(io::Error::from)));
        }
        for (name, mode) in &self.state.modes {
            if mode_in(&self.folder, name).is_some_and(|now| is_closed_since(*mode, now)) {
                done.push((name.as_str(), set_mode_in(&self.folder, name, *mode)));
            }
        }
        if !self.state.has_commondir && kind_in(&self.folder, "commondir").is_some() {
            done.push(("commondir", put_aside(&self.folder, "commondir")));
        }
        for name in OLD_REMOTES {
            if !self.state.old_remotes.iter().any(|had| had == name) && kind_in(&self.folder, name).is_some()
            {
                done.push((name, put_aside(&self.folder, name)));
            }
        }
        if self.state.has_own {
            for name in ["objects", "refs"] {
                if kind_in(&self.folder, name) != Some(FileType::Directory) && !self.leads_to_folder(name) {
                    done.push((name, self.part_back(name, roots)));
                }
            }
        }
        if let Some(link) = &self.state.hooks_link
            && link_in(&self.folder, "hooks").as_ref() != Some(link)
        {
            let put = |folder: &OwnedFd| Ok(symlinkat(link.as_slice(), folder, "hooks")?);
            done.push(("hooks", again(&self.folder, "hooks", put)));
        }
        if self.state.hooks_link.is_none() && kind_in(&self.folder, "hooks") == Some(FileType::Symlink) {
            let put = |folder: &OwnedFd| Ok(mkdirat(folder, "hooks", Mode::from_raw_mode(0o777))?);
            done.push(("hooks", again(&self.folder, "hooks", put)));
        }
        if let Some(text) = &self.state.commondir
            && kind_in(&self.folder, "commondir").is_some()
            && bytes_in(&self.folder, "commondir", LONGEST_POINTER).as_ref() != Some(text)
        {
            let put = |folder: &OwnedFd| write_in(folder, "commondir", text, FILE_MODE);
            done.push(("commondir", again(&self.folder, "commondir", put)));
        }
        for settings in &self.state.settings {
            if let Some((link, _)) = &settings.link
                && link_in(&self.folder, &settings.name).as_ref() != Some(link)
            {
                let put = |folder: &OwnedFd| Ok(symlinkat(link.as_slice(), folder, &settings.name)?);
                done.push((&settings.name, again(&self.folder, &settings.name, put)));
            }
        }
        match sure_head_in(&self.folder) {
            Some(head) => self.state.head = Some(head),
            // As it was, whatever it is to git.
            None if head_in(&self.folder) == self.state.head => (),
            None => {
                let head = self.state.head.as_deref().unwrap_or_default();
                let put = |folder: &OwnedFd| write_in(folder, "HEAD", head, FILE_MODE);
                done.push(("HEAD", again(&self.folder, "HEAD", put)));
            }
        }
        // git itself takes away what it kept for a worktree.
        let is_attack = !self.state.is_of_worktree;
        done.into_iter()
            .map(|(name, done)| MendedPlace {
                path: self.state.path.join(name),
                what: MendedPart::Way,
                done,
                is_attack,
            })
            .collect()
    }

    fn part_back(&self, name: &'static str, roots: &[PathBuf]) -> io::Result<()> {
        let held = self.parts.iter().find(|(part, _)| *part == name);
        if let Some((_, held)) = held
            && bring_back(held, roots, &self.folder, name)?
        {
            return Ok(());
        }
        again(&self.folder, name, |folder| Ok(mkdirat(folder, name, Mode::from_raw_mode(0o777))?))
    }

    /// Such a link leads git to them, as some programs lay it.
    fn leads_to_folder(&self, name: &str) -> bool {
        statat(&self.folder, name, AtFlags::empty())
            .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory)
    }
}

/// The folder that a path leads to, links followed: as git does, which reads a `.git` that is one.
pub fn led_to_folder(path: &Path) -> Option<(PathBuf, OwnedFd)> {
    let real = path.canonicalize().ok()?;
    let folder = folder_at(&real)?;
    Some((real, folder))
}

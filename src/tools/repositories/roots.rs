//! Which repository does git take for a folder of the workspace: the one that it took before something of an agent's began, or
//! another one, or one where there was none?

use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rustix::fs::{AtFlags, FileType, statat, symlinkat};
use serde::{Deserialize, Serialize};

use super::{
    LONGEST_POINTER,
    folder::{
        again, bring_back, bytes_in, folder_at, folder_in, id_in, is_taken, kind_in, link_in, put_aside,
        text_in, write_in,
    },
    gitlinks::gitlinks,
    state::{MendedPart, MendedPlace, RepositoryState, led_to_folder},
};
use crate::git_settings::LONGEST_CONFIG;
use sys::guarded::FileIdentity;

/// The name by which git finds the repository of a folder.
const DOT_GIT: &str = ".git";
const FILE_MODE: u32 = 0o666;

/// The entry that was called `.git`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum DotGit {
    Missing,
    Folder(FileIdentity),
    /// It says where the repository is.
    File(Option<Vec<u8>>),
    Link(Vec<u8>),
    Other,
}

/// The repository that git took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RootState {
    pub path: PathBuf,
    dot: DotGit,
    /// `.git` leads to one.
    has_repository: bool,
    /// The folder itself is one.
    is_bare: bool,
    /// The folder that `.git` leads to, where that is none.
    other: Option<RepositoryState>,
    /// It lies below a folder of the workspace.
    #[serde(default)]
    is_nested: bool,
}

/// One that is held open and looked at.
pub struct WatchedRoot {
    pub state: RootState,
    folder: OwnedFd,
    /// The folder `.git`, wherever it is by now.
    dot: Option<OwnedFd>,
    /// The index of its repository when it was last read, and the folders that it takes for repositories.
    index: Option<(IndexState, Vec<PathBuf>)>,
}

/// The marks that tell one index from the next: git puts a new file in its place.
type IndexState = (FileIdentity, i64, i64);

/// A look's outcome.
#[derive(Default)]
pub struct RootLook {
    pub mended: Vec<MendedPlace>,
    /// Repositories that are there now and run nothing by themselves.
    pub new: Vec<RepositoryState>,
}

impl RootLook {
    fn put(&mut self, path: PathBuf, what: MendedPart, done: io::Result<()>) {
        self.mended.push(MendedPlace { path, what, done, is_attack: true });
    }
}

impl RootState {
    fn of(path: &Path, folder: &OwnedFd) -> RootState {
        let dot = dot_in(folder);
        let led_to = repository_of(path, folder, &dot);
        let has_repository = led_to.as_ref().is_some_and(|(_, folder)| is_taken(folder));
        let other = led_to.filter(|_| !has_repository);
        RootState {
            path: path.to_owned(),
            dot,
            has_repository,
            is_bare: is_taken(folder),
            other: other.and_then(|(path, folder)| RepositoryState::of(&path, &folder, false)),
            is_nested: false,
        }
    }
}

impl WatchedRoot {
    pub fn of(path: &Path) -> Option<WatchedRoot> {
        let folder = folder_at(path)?;
        let state = RootState::of(path, &folder);
        let dot = folder_in(&folder, DOT_GIT);
        Some(WatchedRoot { state, folder, dot, index: None })
    }

    /// A folder below one, in which a repository was found.
    pub fn nested(path: &Path) -> Option<WatchedRoot> {
        let mut root = WatchedRoot::of(path)?;
        root.state.is_nested = true;
        Some(root)
    }

    /// The same that was noted.
    pub fn again(state: RootState) -> Option<WatchedRoot> {
        let folder = folder_at(&state.path)?;
        let DotGit::Folder(id) = &state.dot else {
            return Some(WatchedRoot { state, folder, dot: None, index: None });
        };
        let dot = folder_in(&folder, DOT_GIT).filter(|_| id_in(&folder, DOT_GIT).as_ref() == Some(id));
        Some(WatchedRoot { state, folder, dot, index: None })
    }

    /// True if something in it could become a repository by what is written into files that are there.
    pub fn may_become_bare(&self) -> bool {
        !self.state.is_bare && kind_in(&self.folder, "HEAD").is_some()
    }

    /// The folder `.git`, if git takes it for none so far.
    pub fn loose_folder(&self) -> Option<PathBuf> {
        let is_folder = kind_in(&self.folder, DOT_GIT) == Some(FileType::Directory);
        (is_folder && !self.state.has_repository).then(|| self.state.path.join(DOT_GIT))
    }

    /// Folders of the working tree that git takes for repositories, by its index.
    pub fn gitlinks(&mut self) -> Vec<PathBuf> {
        let dot = dot_in(&self.folder);
        let Some((_, repository)) = repository_of(&self.state.path, &self.folder, &dot) else {
            return Vec::new();
        };
        let found = statat(&repository, "index", AtFlags::SYMLINK_NOFOLLOW).ok();
        let Some(index) = found.map(|it| (FileIdentity::of_stat(&it), it.st_size, it.st_mtime_nsec as i64))
        else {
            return Vec::new();
        };
        // Perf: it is read again only when git has put another one in its place.
        if self.index.as_ref().is_none_or(|(read, _)| *read != index) {
            let links = gitlinks(&repository).iter().map(|path| self.state.path.join(path)).collect();
            self.index = Some((index, links));
        }
        self.known_gitlinks().to_vec()
    }

    /// The same, as they were told last.
    pub fn known_gitlinks(&self) -> &[PathBuf] {
        self.index.as_ref().map_or(&[], |(_, links)| links)
    }

    /// Puts aside what makes the folder itself a repository, if it is this one.
    pub fn is_bare_no_more(&mut self, path: &Path) -> Option<MendedPlace> {
        if self.state.path != path {
            return None;
        }
        self.state.is_bare = false;
        let (path, done) = (path.join("HEAD"), put_aside(&self.folder, "HEAD"));
        Some(MendedPlace { path, what: MendedPart::NewRepository, done, is_attack: true })
    }

    /// Looks which repository git takes by now. One that was there is put back; one that came is put aside if git would run something
    /// by it. `named`: settings that somebody was told of.
    pub fn look(&mut self, roots: &[PathBuf], named: &[String]) -> RootLook {
        let mut look = RootLook::default();
        if self.state.has_repository {
            self.keep_dot(roots, named, &mut look);
        } else {
            self.look_at_new_dot(named, &mut look);
        }
        if !self.state.is_bare && is_taken(&self.folder) {
            // Beside a repository nobody makes another one of the folder itself.
            match RepositoryState::harmless(None, (&self.state.path, &self.folder), named) {
                Ok(new) if !self.state.has_repository => {
                    self.state.is_bare = true;
                    look.new.push(new);
                }
                _ => {
                    let done = put_aside(&self.folder, "HEAD");
                    look.put(self.state.path.join("HEAD"), MendedPart::NewRepository, done);
                }
            }
        }
        look
    }

    /// `.git` leads to the repository that it led to.
    fn keep_dot(&mut self, roots: &[PathBuf], named: &[String], look: &mut RootLook) {
        let path = self.state.path.join(DOT_GIT);
        let now = dot_in(&self.folder);
        // git takes away what leads to a submodule or a worktree, and lays the same again.
        let is_taken_away = self.state.is_nested
            && now == DotGit::Missing
            && matches!(self.state.dot, DotGit::File(_) | DotGit::Link(_));
        if now == self.state.dot || is_taken_away {
            return;
        }
        let done = match &self.state.dot {
            DotGit::Folder(_) => {
                let held = self.dot.as_ref();
                match held.map_or(Ok(false), |held| bring_back(held, roots, &self.folder, DOT_GIT)) {
                    Ok(true) => Ok(()),
                    // It is gone altogether; what is there instead stays if it runs nothing.
                    Ok(false) => {
                        self.state.has_repository = false;
                        self.state.dot = DotGit::Missing;
                        self.state.other = None;
                        return self.look_at_new_dot(named, look);
                    }
                    Err(error) => Err(error),
                }
            }
            DotGit::File(Some(bytes)) => {
                again(&self.folder, DOT_GIT, |folder| write_in(folder, DOT_GIT, bytes, FILE_MODE))
            }
            DotGit::Link(link) => {
                again(&self.folder, DOT_GIT, |folder| Ok(symlinkat(link.as_slice(), folder, DOT_GIT)?))
            }
            DotGit::Missing | DotGit::File(None) | DotGit::Other => return,
        };
        look.put(path, MendedPart::Way, done);
    }

    /// `.git` led to no repository.
    fn look_at_new_dot(&mut self, named: &[String], look: &mut RootLook) {
        let path = self.state.path.join(DOT_GIT);
        let now = dot_in(&self.folder);
        match &now {
            DotGit::Missing => return,
            DotGit::File(_) | DotGit::Link(_) | DotGit::Other if now != self.state.dot => {
                // Where to is for a person to say.
                let done = put_aside(&self.folder, DOT_GIT);
                return look.put(path, MendedPart::NewRepository, done);
            }
            _ => (),
        }
        let Some((real, repository)) = repository_of(&self.state.path, &self.folder, &now) else {
            // git gets by a name at what lies in a folder that nobody can list.
            let was_open = now != self.state.dot || self.dot.is_some();
            // It may have been taken away since its name was looked up.
            let is_there = matches!(now, DotGit::Folder(_)) && dot_in(&self.folder) == now;
            if is_there && was_open {
                look.put(path, MendedPart::NewRepository, put_aside(&self.folder, DOT_GIT));
            }
            return;
        };
        let before = self.state.other.as_ref().filter(|before| before.path == real);
        let is_one = is_taken(&repository);
        let new = RepositoryState::harmless(before, (&real, &repository), named).ok();
        // What git would run by it counts also while git takes it for none: the next command, or a person's `git init`, makes it one.
        if !is_one && new.is_some() {
            return;
        }
        // It may have been exchanged since its name was looked up.
        let is_it = |new: &RepositoryState| !matches!(&now, DotGit::Folder(id) if *id != new.id);
        let Some(new) = new.filter(is_it) else {
            let done = put_aside(&self.folder, DOT_GIT);
            return look.put(path, MendedPart::NewRepository, done);
        };
        self.dot = matches!(now, DotGit::Folder(_)).then_some(repository);
        self.state.dot = now;
        self.state.has_repository = true;
        look.new.push(new);
    }
}

/// A folder in which an agent's program may have made a repository since then: as it is now, or why it was put aside. `None` = it is an
/// older one, or none.
pub fn linked_repository(
    path: &Path,
    since: SystemTime,
    named: &[String],
) -> Option<Result<RepositoryState, MendedPlace>> {
    let folder = folder_at(path)?;
    let git = path.join(DOT_GIT);
    // Where nobody can tell, it is a person's.
    let born = fs::symlink_metadata(&git).and_then(|it| it.created()).ok()?;
    if born < since {
        return None;
    }
    let (real, repository) = repository_of(path, &folder, &dot_in(&folder))?;
    let mut named = named.to_vec();
    if leads_back(&real, &repository, path) {
        // As git writes it for a submodule.
        named.push("core.worktree".to_owned());
    }
    Some(RepositoryState::harmless(None, (&real, &repository), &named).map_err(|_| MendedPlace {
        path: git,
        what: MendedPart::NewRepository,
        done: put_aside(&folder, DOT_GIT),
        is_attack: true,
    }))
}

/// True if the settings of a repository say that this is its working tree.
fn leads_back(real: &Path, repository: &OwnedFd, tree: &Path) -> bool {
    let text = text_in(repository, "config", LONGEST_CONFIG).unwrap_or_default();
    let values =
        text.lines().filter_map(|line| line.trim().strip_prefix("worktree")?.trim().strip_prefix('='));
    let mut values = values.map(str::trim).peekable();
    values.peek().is_some() && values.all(|value| real.join(value).canonicalize().is_ok_and(|to| to == tree))
}

fn dot_in(root: &OwnedFd) -> DotGit {
    match kind_in(root, DOT_GIT) {
        None => DotGit::Missing,
        Some(FileType::Directory) => id_in(root, DOT_GIT).map_or(DotGit::Missing, DotGit::Folder),
        Some(FileType::RegularFile) => DotGit::File(bytes_in(root, DOT_GIT, LONGEST_POINTER)),
        Some(FileType::Symlink) => link_in(root, DOT_GIT).map_or(DotGit::Other, DotGit::Link),
        Some(_) => DotGit::Other,
    }
}

/// The folder that `.git` leads git to, if one is there.
fn repository_of(path: &Path, root: &OwnedFd, dot: &DotGit) -> Option<(PathBuf, OwnedFd)> {
    match dot {
        DotGit::Folder(_) => Some((path.join(DOT_GIT), folder_in(root, DOT_GIT)?)),
        DotGit::Link(_) => led_to_folder(&path.join(DOT_GIT)),
        DotGit::File(Some(bytes)) => {
            let text = String::from_utf8_lossy(bytes);
            led_to_folder(&path.join(text.strip_prefix("gitdir:")?.trim()))
        }
        DotGit::Missing | DotGit::File(None) | DotGit::Other => None,
    }
}

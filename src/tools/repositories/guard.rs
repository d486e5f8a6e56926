//! Puts back in repositories what no mount can keep from a command, as soon as it is seen to be another.
//!
//! git replaces `HEAD` by renaming, so nothing can be mounted over it, nor over a link, nor over what is not there. But a
//! repository without a valid `HEAD` is none, and git looks for another one around it; `commondir` has git read its settings
//! elsewhere; and a link can be replaced by a folder of hooks. What was there when the command began is put back when something
//! happens in the folder, and at the command's end. The folder is held open, and in it no link is followed.
//!
//! At the end of a command that might write settings, these are what they were where something by which git runs programs has come
//! in that no word of the command says; and a root that had no repository has none by whose settings git would run something.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use rustix::{
    fs::{
        AtFlags, FileType, Mode, OFlags, RenameFlags, mkdirat, openat, readlinkat, renameat_with, statat,
        symlinkat, unlinkat,
    },
    io::Errno,
};
use tokio_util::sync::CancellationToken;

use super::{
    below::{KnownRepositories, RepositoriesBelow},
    settings::new_danger,
};
use crate::git_settings::LONGEST_CONFIG;
use sys::{
    folders::{FolderWatch, WatchScope},
    guarded::open_without_links,
    tasks::TaskGroup,
};

/// The task's name in the log.
const TASK: &str = "what watches repositories while a command runs";
/// Longest `HEAD` that is one: a reference's name is shorter.
const LONGEST_HEAD: u64 = 4 << 10;
/// Names under which something is put aside, at most; a command that makes more has its last one removed.
const MOST_ASIDE: u32 = 100;
/// Entries of a folder of hooks that are looked at: git's own samples are some fifteen.
const MOST_HOOKS: usize = 1_000;
/// Files of settings of a repository.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The fate of settings at the end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardedSettings {
    /// It could not write them.
    Covered,
    /// It could: those of these names may run something.
    Written { named: Vec<String> },
}

/// Watches over the repositories of some folders until it is dropped.
pub struct RepositoryGuard {
    repositories: Arc<Mutex<Vec<GuardedRepository>>>,
    /// Roots that are in no repository of their own.
    bare_roots: Vec<(PathBuf, OwnedFd)>,
    settings: GuardedSettings,
    stop: CancellationToken,
}

/// A repository as it was when the command began. It was one.
struct GuardedRepository {
    path: PathBuf,
    folder: OwnedFd,
    /// The last valid one.
    head: Vec<u8>,
    /// It says itself where its settings are.
    has_commondir: bool,
    /// The place that `hooks` leads to, if it is a link.
    hooks: Option<Vec<u8>>,
    /// It keeps objects and references of its own.
    has_own: bool,
    /// Its files of settings by name, as they were.
    settings: Vec<(&'static str, Option<String>)>,
}

impl RepositoryGuard {
    /// Takes note of the repositories there, and those below that are older than `since`. Blocks for a bounded search.
    pub fn over(
        roots: &[PathBuf],
        since: Option<SystemTime>,
        known: &KnownRepositories,
        settings: GuardedSettings,
    ) -> RepositoryGuard {
        let found = RepositoriesBelow::find(roots, since, known).repositories.into_iter();
        let repositories = found.filter_map(|it| GuardedRepository::at(&it.folder)).collect();
        let bare = roots.iter().filter_map(|root| Some((root.clone(), folder_at(root)?)));
        let bare_roots = bare
            .filter(|(_, folder)| kind_in(folder, ".git").is_none() && head_in(folder).is_none())
            .collect();
        RepositoryGuard {
            repositories: Arc::new(Mutex::new(repositories)),
            bare_roots,
            settings,
            stop: CancellationToken::new(),
        }
    }

    /// Puts back at once what is changed from now on. Where nothing is told of changes, at the end.
    pub fn watch(&self, tasks: &TaskGroup) {
        let Ok(watch) = FolderWatch::new() else { return };
        let paths: Vec<PathBuf> = match self.repositories.lock() {
            Ok(repositories) => repositories.iter().map(|it| it.path.clone()).collect(),
            Err(_) => return,
        };
        if paths.is_empty() {
            return;
        }
        for path in &paths {
            // What cannot be watched is looked at in the end.
            let _unwatched = watch.add(path, WatchScope::Everything);
        }
        let Ok(waker) = watch.alarm() else { return };
        let (repositories, stop) = (Arc::clone(&self.repositories), self.stop.clone());
        tasks.spawn(TASK, async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    rung = waker.rings() => if rung.is_err() { return },
                }
                watch.take(|_| ());
                put_back(&repositories);
            }
        });
    }
}

impl Drop for RepositoryGuard {
    fn drop(&mut self) {
        self.stop.cancel();
        // Note: some calls of the system for each repository, which wait for nothing but a local disk.
        put_back(&self.repositories);
        if let GuardedSettings::Written { named } = &self.settings {
            let repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
            repositories.iter().for_each(|repository| repository.put_settings_back(named));
        }
        for (path, folder) in &self.bare_roots {
            undo_repository(path, folder);
        }
    }
}

/// Puts aside what makes a folder a repository that was none, where git would run something by its settings or hooks.
fn undo_repository(path: &Path, folder: &OwnedFd) {
    let (name, inner) = match (kind_in(folder, ".git"), head_in(folder)) {
        (Some(FileType::Directory), _) => {
            (".git", openat(folder, ".git", FOLDER | OFlags::NOFOLLOW, Mode::empty()).ok())
        }
        // A pointer, or a link: where to is for a person to say.
        (Some(_), _) => (".git", None),
        (None, Some(_)) => ("HEAD", openat(folder, ".", FOLDER, Mode::empty()).ok()),
        (None, None) => return,
    };
    let is_harmless = |inner: &OwnedFd| {
        let text = |name: &str| text_in(inner, name, LONGEST_CONFIG);
        // What is not read to its end may say anything there.
        let danger = |name: &str| {
            kind_in(inner, name).is_some()
                && text(name).is_none_or(|text| new_danger("", &text, &[]).is_some())
        };
        kind_in(inner, "commondir").is_none()
            && !danger("config")
            && !danger("config.worktree")
            && !has_hooks(inner)
    };
    if inner.as_ref().is_some_and(is_harmless) {
        return;
    }
    match put_aside(folder, name) {
        Ok(()) => tracing::warn!(
            path = %path.display(),
            "a command made a repository whose settings or hooks git would run something by; `{name}` was put aside"
        ),
        Err(error) => tracing::error!(
            path = %path.display(), %error,
            "a command made a repository whose settings or hooks git would run something by, and it could not be put aside"
        ),
    }
}

/// Hooks that are no samples.
fn has_hooks(repository: &OwnedFd) -> bool {
    let Ok(hooks) = openat(repository, "hooks", FOLDER, Mode::empty()) else {
        return kind_in(repository, "hooks").is_some();
    };
    let Ok(entries) = rustix::fs::Dir::read_from(&hooks) else { return true };
    // One behind so many would not be seen.
    entries.flatten().enumerate().any(|(at, entry)| {
        let name = entry.file_name().to_bytes();
        MOST_HOOKS < at || !matches!(name, b"." | b"..") && !name.ends_with(b".sample")
    })
}

fn put_back(repositories: &Mutex<Vec<GuardedRepository>>) {
    // Nothing panics while it is held.
    for repository in repositories.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
        for (name, done) in repository.put_back() {
            let path = repository.path.join(name);
            match done {
                Ok(()) => tracing::warn!(
                    path = %path.display(),
                    "a command changed what git goes by before it reads a repository; it was put back"
                ),
                Err(error) => tracing::error!(
                    path = %path.display(), %error,
                    "a command changed what git goes by before it reads a repository, and it could not be put back"
                ),
            }
        }
    }
}

impl GuardedRepository {
    fn at(path: &Path) -> Option<GuardedRepository> {
        let folder = folder_at(path)?;
        let head = head_in(&folder)?;
        let hooks = readlinkat(&folder, "hooks", Vec::new()).ok().map(|link| link.into_bytes());
        let is_folder = |name: &str| kind_in(&folder, name) == Some(FileType::Directory);
        Some(GuardedRepository {
            has_commondir: kind_in(&folder, "commondir").is_some(),
            has_own: is_folder("objects") && is_folder("refs"),
            settings: SETTINGS.map(|name| (name, text_in(&folder, name, LONGEST_CONFIG))).to_vec(),
            path: path.to_owned(),
            head,
            hooks,
            folder,
        })
    }

    /// Puts back what was changed; answers each by name, and whether it could be put back.
    fn put_back(&mut self) -> Vec<(&'static str, io::Result<()>)> {
        let mut done = Vec::new();
        if !self.has_commondir && kind_in(&self.folder, "commondir").is_some() {
            done.push(("commondir", put_aside(&self.folder, "commondir")));
        }
        if self.has_own {
            for name in ["objects", "refs"] {
                if kind_in(&self.folder, name) != Some(FileType::Directory) && !self.leads_to_folder(name) {
                    done.push((
                        name,
                        self.again(name, |folder| Ok(mkdirat(folder, name, Mode::from_raw_mode(0o777))?)),
                    ));
                }
            }
        }
        if let Some(link) = &self.hooks {
            let now = readlinkat(&self.folder, "hooks", Vec::new()).ok().map(|link| link.into_bytes());
            if now.as_ref() != Some(link) {
                let put = |folder: &OwnedFd| Ok(symlinkat(link.as_slice(), folder, "hooks")?);
                done.push(("hooks", self.again("hooks", put)));
            }
        }
        match head_in(&self.folder) {
            Some(head) => self.head = head,
            None => {
                let put = |folder: &OwnedFd| write_in(folder, "HEAD", &self.head);
                done.push(("HEAD", self.again("HEAD", put)));
            }
        }
        done
    }

    /// Puts its settings back if git would run something by what came into them.
    fn put_settings_back(&self, named: &[String]) {
        for (name, before) in &self.settings {
            let after = text_in(&self.folder, name, LONGEST_CONFIG);
            if after == *before || (after.is_none() && kind_in(&self.folder, name).is_none()) {
                continue;
            }
            let danger = match &after {
                Some(after) => new_danger(before.as_deref().unwrap_or_default(), after, named),
                None => Some("it cannot be read".to_owned()),
            };
            let Some(danger) = danger else { continue };
            let put = |folder: &OwnedFd| match before {
                Some(before) => write_in(folder, name, before.as_bytes()),
                None => Ok(()),
            };
            let (path, done) = (self.path.join(name), self.again(name, put));
            match done {
                Ok(()) => tracing::warn!(
                    path = %path.display(), danger,
                    "git would run something by settings that no word of a command said; they were put back"
                ),
                Err(error) => tracing::error!(
                    path = %path.display(), danger, %error,
                    "git would run something by settings that no word of a command said, and they could not be put back"
                ),
            }
        }
    }

    /// Such a link leads git to them, as some programs lay it.
    fn leads_to_folder(&self, name: &str) -> bool {
        statat(&self.folder, name, AtFlags::empty())
            .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory)
    }

    /// Makes it anew, in place of what is there.
    fn again(&self, name: &str, make: impl FnOnce(&OwnedFd) -> io::Result<()>) -> io::Result<()> {
        if kind_in(&self.folder, name).is_some() {
            put_aside(&self.folder, name)?;
        }
        make(&self.folder)
    }
}

/// Under a name beside it, of which git knows nothing: what a command wrote may be somebody's work.
fn put_aside(folder: &OwnedFd, name: &str) -> io::Result<()> {
    for number in 0..MOST_ASIDE {
        let aside = format!("{name}.not-by-git-{number}");
        match renameat_with(folder, name, folder, &aside, RenameFlags::NOREPLACE) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::EXIST) => (),
            // File systems without it: such a name was never there.
            Err(Errno::INVAL | Errno::NOSYS) => {
                return Ok(rustix::fs::renameat(folder, name, folder, &aside)?);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(unlinkat(folder, name, AtFlags::empty())?)
}

/// A handle in which names are looked up and made.
fn folder_at(path: &Path) -> Option<OwnedFd> {
    openat(open_without_links(path).ok()?, ".", FOLDER, Mode::empty()).ok()
}

/// The text of a file that is no link.
fn text_in(folder: &OwnedFd, name: &str, most: u64) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).ok()?;
    let found = rustix::fs::fstat(file.as_fd()).ok()?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(file).take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The kind of an entry, links as such.
fn kind_in(folder: &OwnedFd, name: &str) -> Option<FileType> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|it| FileType::from_raw_mode(it.st_mode))
}

/// A `HEAD` that git takes for one (gitrepository-layout(5)): a reference, or the name of a commit; or of old a link to a reference.
fn head_in(folder: &OwnedFd) -> Option<Vec<u8>> {
    if kind_in(folder, "HEAD")? == FileType::Symlink {
        let link = readlinkat(folder, "HEAD", Vec::new()).ok()?.into_bytes();
        let text = [b"ref: ".as_slice(), &link, b"\n"].concat();
        return link.starts_with(b"refs/").then_some(text);
    }
    let text = text_in(folder, "HEAD", LONGEST_HEAD)?.into_bytes();
    // To git it is one from its first byte on.
    let line = text.trim_ascii_end();
    let is_reference = line.strip_prefix(b"ref:").is_some_and(|name| name.trim_ascii().starts_with(b"refs/"));
    let is_commit = [40, 64].contains(&line.len()) && line.iter().all(u8::is_ascii_hexdigit);
    (is_reference || is_commit).then_some(text)
}

fn write_in(folder: &OwnedFd, name: impl AsRef<OsStr>, text: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name.as_ref(), flags, Mode::from_raw_mode(0o666))?;
    File::from(file).write_all(text)
}

#[cfg(test)]
mod tests;

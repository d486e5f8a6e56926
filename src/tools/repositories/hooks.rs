//! Which hooks did a repository have, and are they still these? Git's own samples count for nothing.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::fs::{Dir, FileType, symlinkat};
use serde::{Deserialize, Serialize};

use super::folder::{
    ASIDE, again, bytes_in, folder_at, folder_in, kind_in, link_in, mode_in, put_aside, write_in,
};
use crate::digest;

/// Entries of a folder of hooks that are looked at: git's own samples are some fifteen.
const MOST_ENTRIES: usize = 1_000;
/// NotedHooks of one repository.
const MOST_HOOKS: usize = 64;
/// Bytes of a hook that are read.
const LONGEST_HOOK: u64 = 1 << 20;
/// Bytes of all hooks of one repository that are read; they are read for each command.
const MOST_BYTES: u64 = 4 << 20;
/// Bytes of one that are kept, to be written again.
const LONGEST_KEPT: usize = 32 << 10;
/// Bytes of all that are kept of one repository: they are written to the disk for each command.
const MOST_KEPT: usize = 256 << 10;

/// All of a repository; `None` = they are not told, since there are more or longer ones than are read.
pub type NotedHooks = Option<Vec<NotedHook>>;

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NotedHook {
    name: String,
    /// The link that it is, and the file that this leads to.
    link: Option<(Vec<u8>, Option<PathBuf>)>,
    /// Its text's; `None` = it is no file, or longer than is read.
    digest: Option<String>,
    /// Its text, if it is short, and all that are kept are.
    text: Option<Vec<u8>>,
    mode: u32,
}

impl PartialEq for NotedHook {
    /// A text that is not kept says nothing of the hook.
    fn eq(&self, other: &NotedHook) -> bool {
        (&self.name, &self.link, &self.digest, self.mode)
            == (&other.name, &other.link, &other.digest, other.mode)
    }
}

/// All in the folder of a repository. One that is a link has none of its own.
pub fn hooks_in(path: &Path, repository: &OwnedFd) -> NotedHooks {
    let Some(folder) = folder_in(repository, "hooks") else {
        // git gets by a name at what lies in a folder that nobody can list.
        return (kind_in(repository, "hooks") != Some(FileType::Directory)).then(Vec::new);
    };
    let entries = Dir::read_from(&folder).ok()?;
    let mut hooks = Vec::new();
    let (mut left, mut kept) = (MOST_BYTES, 0);
    for (at, entry) in entries.flatten().enumerate() {
        // One behind so many would not be seen.
        if MOST_ENTRIES < at {
            return None;
        }
        let Ok(name) = entry.file_name().to_str() else { continue };
        if matches!(name, "." | "..") || name.ends_with(".sample") || name.contains(ASIDE) {
            continue;
        }
        if hooks.len() == MOST_HOOKS {
            return None;
        }
        let (mut hook, bytes) = NotedHook::at(&path.join("hooks").join(name), &folder, name);
        left = left.checked_sub(bytes)?;
        kept += hook.text.as_ref().map_or(0, Vec::len);
        if MOST_KEPT < kept {
            hook.text = None;
        }
        hooks.push(hook);
    }
    hooks.sort_by(|one, other| one.name.cmp(&other.name));
    Some(hooks)
}

/// True if one came to these, or became another.
pub fn has_new(before: &NotedHooks, now: &NotedHooks) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => now.iter().any(|hook| !before.contains(hook)),
        (None, _) => false,
        (_, None) => true,
    }
}

/// A change that was made to a hook, or to all of them.
pub struct MendedHook {
    pub path: PathBuf,
    pub done: io::Result<()>,
    /// It was already so when the command began.
    pub was_so: bool,
}

/// Hooks as they were when a command began, while others went on that may have changed them.
#[derive(Clone, Copy)]
pub struct BegunHooks<'a> {
    pub hooks: &'a NotedHooks,
    /// One of the others still goes on: its end sees to what was so by then.
    pub goes_on: bool,
}

impl BegunHooks<'_> {
    /// True if it was there; of those that are not told nobody knows.
    fn had(&self, hook: &NotedHook) -> bool {
        self.hooks.as_ref().is_none_or(|hooks| hooks.contains(hook))
    }

    fn lacked(&self, hook: &NotedHook) -> bool {
        self.hooks.as_ref().is_none_or(|hooks| !hooks.contains(hook))
    }
}

/// Puts aside what came to be since, and writes again what is gone; also what a hook leads to in one of these roots. What was so when
/// the command began is left to the others that go on.
pub fn put_back(
    (path, repository): (&Path, &OwnedFd),
    before: &NotedHooks,
    begun: Option<BegunHooks<'_>>,
    roots: &[PathBuf],
) -> Vec<MendedHook> {
    let Some(before) = before else { return Vec::new() };
    let goes_on = begun.is_some_and(|begun| begun.goes_on);
    let path = path.join("hooks");
    let Some(now) = hooks_in(path.parent().unwrap_or(&path), repository) else {
        let was_so = begun.is_some_and(|begun| begun.hooks.is_none());
        if was_so && goes_on {
            return Vec::new();
        }
        return vec![MendedHook { path, done: put_aside(repository, "hooks"), was_so }];
    };
    let Some(folder) = folder_in(repository, "hooks") else { return Vec::new() };
    let mut mended = Vec::new();
    // By name.
    let (mut left, mut aside) = (Vec::new(), Vec::new());
    let is_led_so = |hook: &&NotedHook| before.iter().any(|it| it.name == hook.name && it.leads_as(hook));
    for hook in now.iter().filter(|hook| !before.contains(hook) && !is_led_so(hook)) {
        let was_so = begun.is_some_and(|begun| begun.had(hook));
        if was_so && goes_on {
            left.push(hook.name.as_str());
            continue;
        }
        aside.push(hook.name.as_str());
        let done = put_aside(&folder, &hook.name);
        mended.push(MendedHook { path: path.join(&hook.name), done, was_so });
    }
    for hook in before.iter().filter(|hook| !now.contains(hook)) {
        let name = hook.name.as_str();
        let was_so = !aside.contains(&name) && begun.is_some_and(|begun| begun.lacked(hook));
        if left.contains(&name) || (was_so && goes_on) {
            continue;
        }
        let mut done = Vec::new();
        if let Some((link, end)) = &hook.link {
            if !now.iter().any(|now| now.leads_as(hook)) {
                let link = link.as_slice();
                let put = again(&folder, name, |folder| Ok(symlinkat(link, folder, name)?));
                done.push((path.join(name), put));
            }
            let end = end.iter().find(|end| roots.iter().any(|root| end.starts_with(root)));
            done.extend(end.and_then(|end| Some((end.clone(), hook.put_back_at(end)?))));
        } else if let Some(text) = &hook.text {
            let put = again(&folder, name, |folder| write_in(folder, name, text, hook.mode));
            done.push((path.join(name), put));
        }
        mended.extend(done.into_iter().map(|(path, done)| MendedHook { path, done, was_so }));
    }
    mended
}

impl NotedHook {
    /// Reads one; answers also how many bytes were read for it.
    fn at(path: &Path, folder: &OwnedFd, name: &str) -> (NotedHook, u64) {
        let link = link_in(folder, name).map(|link| (link, path.canonicalize().ok()));
        let (bytes, mode) = match &link {
            None => (bytes_in(folder, name, LONGEST_HOOK), mode_in(folder, name)),
            Some((_, end)) => end.as_deref().and_then(found_at).unwrap_or_default(),
        };
        let length = bytes.as_ref().map_or(0, Vec::len) as u64;
        let hook = NotedHook {
            name: name.to_owned(),
            link,
            digest: bytes.as_deref().map(digest::of),
            mode: mode.unwrap_or_default(),
            text: bytes.filter(|bytes| bytes.len() <= LONGEST_KEPT),
        };
        (hook, length)
    }

    /// True if both are the same link.
    fn leads_as(&self, other: &NotedHook) -> bool {
        let to = |hook: &NotedHook| hook.link.as_ref().map(|(link, _)| link.clone());
        self.name == other.name && self.link.is_some() && to(self) == to(other)
    }

    /// Writes what it led to again, if that is another by now.
    fn put_back_at(&self, end: &Path) -> Option<io::Result<()>> {
        let text = self.text.as_deref()?;
        if found_at(end).is_some_and(|(bytes, _)| bytes.as_deref() == Some(text)) {
            return None;
        }
        let (folder, name) = (folder_at(end.parent()?)?, end.file_name()?.to_str()?);
        Some(again(&folder, name, |folder| write_in(folder, name, text, self.mode)))
    }
}

/// Bytes and mode of a file.
fn found_at(path: &Path) -> Option<(Option<Vec<u8>>, Option<u32>)> {
    let (folder, name) = (folder_at(path.parent()?)?, path.file_name()?.to_str()?);
    Some((bytes_in(&folder, name, LONGEST_HOOK), mode_in(&folder, name)))
}

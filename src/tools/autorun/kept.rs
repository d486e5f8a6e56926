//! What keeps files that other programs run by themselves, and that no build writes, as they are while a command goes on?
//!
//! Where a mount can, it does. The rest is looked at when the command has ended: what came, or became another one, is put aside, and
//! what was there is written again. What a command's words say that it writes is left alone: whoever allowed it was told.

use std::{
    collections::{BTreeMap, HashSet},
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use super::{MOST_ENTRIES, candidates};
use crate::{
    repositories::{folder_at, rename_aside, write_in},
    workspace_reports::WorkspaceReports,
};
use shell::{AUTOMATIC, AutorunPath};
use sys::regular_file;

/// It stands in a name under which something was put aside.
const ASIDE: &str = ".not-run-";
/// Entries of one such folder that are noted.
const MOST_NOTED: usize = 300;
/// Deepest folder of one that is noted.
const DEEPEST: usize = 6;
/// Bytes of a file that are noted, to be written again.
const LONGEST: u64 = 256 << 10;
/// Bytes of all of them.
const MOST_BYTES: u64 = 2 << 20;
/// Entries that are told one by one.
const MOST_TOLD: usize = 5;
/// Files of hooks lie in this folder, and what their runner makes anew in folders below it.
const HUSKY: &str = ".husky";

/// Everything that a command's words say of the files that it writes.
#[derive(Debug, Clone, Default)]
pub struct WritesTold {
    /// Absolute, without links.
    pub named: Vec<PathBuf>,
    /// It goes on for long, so that what came meanwhile may be a person's doing.
    pub goes_on: bool,
}

/// Files that are watched over until this is dropped.
pub struct AutorunGuard {
    roots: Vec<PathBuf>,
    told: WritesTold,
    /// The state of everything that was there; `None` = a mount keeps it.
    before: BTreeMap<PathBuf, Option<PlaceState>>,
    reports: WorkspaceReports,
    is_over: bool,
}

/// Everything that there is at one place.
#[derive(Debug, Default)]
struct PlaceState {
    files: BTreeMap<PathBuf, AutorunFileState>,
    /// There was more than is noted.
    is_cut: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum AutorunFileState {
    Link(PathBuf),
    File {
        /// Device, inode, size and the time of the last change, which nobody sets.
        stamp: (u64, u64, u64, i64, i64),
        mode: u32,
        bytes: Option<Vec<u8>>,
    },
}

impl AutorunGuard {
    /// Takes note of what is there in these folders, absolute and without links. `has_covers`: what is answered beside it is kept by mounts.
    /// Blocks for a moment.
    pub fn over(
        roots: &[PathBuf],
        told: WritesTold,
        has_covers: bool,
        reports: WorkspaceReports,
    ) -> (AutorunGuard, Vec<PathBuf>) {
        let mut guard =
            AutorunGuard { roots: roots.to_vec(), told, before: BTreeMap::new(), reports, is_over: false };
        let mut covered = Vec::new();
        let mut bytes_left = MOST_BYTES;
        for (path, _) in guard.places() {
            let is_link = fs::symlink_metadata(&path).is_ok_and(|it| it.is_symlink());
            let real = path.canonicalize().ok().filter(|real| {
                roots.iter().any(|root| real.starts_with(root))
                    && !roots.iter().any(|root| root.starts_with(real))
            });
            let is_covered = has_covers && real.is_some();
            if let Some(real) = real.filter(|_| has_covers) {
                covered.push(real);
            }
            // No mount keeps a link itself.
            let state = (!is_covered || is_link).then(|| PlaceState::of(&path, &mut bytes_left));
            guard.before.insert(path, state);
        }
        (guard, covered)
    }

    /// Everything that is there and that the command's words do not name, with who runs it.
    fn places(&self) -> Vec<(PathBuf, &'static str)> {
        let is_root = |path: &PathBuf| self.roots.iter().any(|root| root.starts_with(path));
        let named: Vec<&PathBuf> = self.told.named.iter().filter(|path| !is_root(path)).collect();
        let is_named =
            |path: &Path| named.iter().any(|named| named.starts_with(path) || path.starts_with(named));
        let mut places: Vec<(PathBuf, &'static str)> =
            self.roots.iter().flat_map(|root| kept_in(root)).collect();
        places.retain(|(path, _)| !is_named(path));
        places
    }

    /// Looks at what is there by now, puts aside what is not to be there, and answers in words what was done. Only the first time does
    /// something. Blocks.
    pub fn finish(&mut self) -> Vec<String> {
        if std::mem::replace(&mut self.is_over, true) {
            return Vec::new();
        }
        let mut done = Vec::new();
        for (path, why) in self.places() {
            match self.before.get(&path) {
                // The daemon itself makes such folders, to hide them; nothing is run by one without files.
                None if !holds_any(&path, 0, &mut { MOST_ENTRIES }) => (),
                None => self.put_aside(&path, why, None, &mut done),
                Some(None) => (),
                Some(Some(before)) => self.compare(&path, why, before, &mut done),
            }
        }
        let more = done.len().saturating_sub(MOST_TOLD);
        done.truncate(MOST_TOLD);
        if 0 < more {
            done.push(format!("{more} more files that other programs run by themselves were treated alike"));
        }
        if let Some(path) = self.roots.first() {
            let told = done.iter().map(|done| format!("a command of an agent in {}: {done}", path.display()));
            self.reports.add(told);
        }
        done
    }

    fn compare(&self, path: &Path, why: &'static str, before: &PlaceState, done: &mut Vec<String>) {
        let now = PlaceState::of(path, &mut 0);
        for (file, state) in &now.files {
            match before.files.get(file) {
                None if before.is_cut => (),
                None => self.put_aside(file, why, None, done),
                Some(before) if before.is_same(state, file) => (),
                Some(before) => self.put_aside(file, why, Some(before), done),
            }
        }
    }

    fn put_aside(
        &self,
        path: &Path,
        why: &'static str,
        before: Option<&AutorunFileState>,
        done: &mut Vec<String>,
    ) {
        let shown = self.roots.iter().find_map(|root| path.strip_prefix(root).ok()).unwrap_or(path);
        let what = match before {
            None => format!("`{}` came to be", shown.display()),
            Some(_) => format!("`{}` was changed", shown.display()),
        };
        if self.told.goes_on {
            done.push(format!(
                "{what} while a command went on in the background, and stays; {why}, so look at it first"
            ));
            return;
        }
        done.push(match aside(path, before) {
            Ok(None) => return,
            Ok(Some(aside)) => {
                let again = if before.is_some() { ", and what was there is there again" } else { "" };
                format!(
                    "{what}, and {why}: it lies beside it as `{aside}` now{again}. Where it is wanted, write it with `write_file`, or by a \
                     command whose words name it"
                )
            }
            Err(error) => format!("{what}, and {why}; it could not be put aside: {error}"),
        });
    }
}

impl Drop for AutorunGuard {
    fn drop(&mut self) {
        for told in self.finish() {
            tracing::warn!("a file that other programs run by themselves: {told}");
        }
    }
}

/// Renames an entry and puts what was there in its place. Answers its new name.
fn aside(path: &Path, before: Option<&AutorunFileState>) -> io::Result<Option<String>> {
    let (Some(above), Some(name)) = (path.parent().and_then(folder_at), path.file_name()) else {
        return Ok(None);
    };
    let name = name.to_str().ok_or_else(|| io::Error::other("its name is no text"))?;
    let Some(aside) = rename_aside(&above, name, ASIDE)? else { return Ok(None) };
    match before {
        None => (),
        Some(AutorunFileState::Link(to)) => rustix::fs::symlinkat(to, &above, name)?,
        Some(AutorunFileState::File { bytes: Some(bytes), mode, .. }) => {
            write_in(&above, name, bytes, *mode)?
        }
        Some(AutorunFileState::File { bytes: None, .. }) => {
            return Err(io::Error::other(format!(
                "it lies there as `{aside}`, and what was there was not kept"
            )));
        }
    }
    Ok(Some(aside))
}

impl PlaceState {
    /// No link is followed. `bytes_left`: of which the bytes of files are noted.
    fn of(path: &Path, bytes_left: &mut u64) -> PlaceState {
        let mut state = PlaceState::default();
        let mut pending = vec![(path.to_owned(), 0)];
        while let Some((path, depth)) = pending.pop() {
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if found.is_dir() {
                state.is_cut |= DEEPEST <= depth;
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                for entry in entries.take(if depth < DEEPEST { MOST_ENTRIES } else { 0 }) {
                    if !entry.file_name().to_string_lossy().contains(ASIDE) {
                        pending.push((entry.path(), depth + 1));
                    }
                }
                continue;
            }
            if MOST_NOTED <= state.files.len() {
                state.is_cut = true;
                break;
            }
            let noted = match found.is_symlink() {
                true => fs::read_link(&path).ok().map(AutorunFileState::Link),
                false => Some(AutorunFileState::file(&path, &found, bytes_left)),
            };
            state.files.extend(noted.map(|noted| (path, noted)));
        }
        state
    }
}

impl AutorunFileState {
    fn file(path: &Path, found: &fs::Metadata, bytes_left: &mut u64) -> AutorunFileState {
        let stamp = (found.dev(), found.ino(), found.size(), found.ctime(), found.ctime_nsec());
        let longest = LONGEST.min(*bytes_left);
        let is_read = found.is_file() && 0 < longest && found.size() <= longest;
        let bytes = is_read.then(|| regular_file::read_bounded(path, longest).ok().flatten()).flatten();
        *bytes_left -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64).min(*bytes_left);
        AutorunFileState::File { stamp, mode: found.permissions().mode() & 0o7777, bytes }
    }

    /// True if the file is what it was, also where it was written anew.
    fn is_same(&self, now: &AutorunFileState, path: &Path) -> bool {
        match (self, now) {
            (AutorunFileState::Link(before), AutorunFileState::Link(now)) => before == now,
            (
                AutorunFileState::File { stamp, bytes, mode },
                AutorunFileState::File { stamp: stamp_now, mode: mode_now, .. },
            ) => {
                let is_as_it_was = || {
                    let now = regular_file::read_bounded(path, LONGEST).ok().flatten();
                    mode == mode_now && bytes.is_some() && *bytes == now
                };
                stamp == stamp_now || is_as_it_was()
            }
            _ => false,
        }
    }
}

/// False of a folder in which there is nothing but folders. One with more folders than there is `room` for counts as one with files.
fn holds_any(path: &Path, depth: usize, room: &mut usize) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) || DEEPEST <= depth || *room == 0 {
        return true;
    }
    *room -= 1;
    let Ok(mut entries) = fs::read_dir(path) else { return true };
    entries.any(|entry| match entry {
        Ok(entry) => holds_any(&entry.path(), depth + 1, room),
        Err(_) => true,
    })
}

/// Paths that are there of the rows that no build writes, with who runs them.
fn kept_in(root: &Path) -> Vec<(PathBuf, &'static str)> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let names: HashSet<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let mut places: Vec<(PathBuf, &'static str)> = Vec::new();
    for row in AUTOMATIC.iter().filter(|row| row.is_kept) {
        let first = row.path.split('/').next().unwrap_or(row.path);
        let found: Vec<PathBuf> = match (first.contains('*'), first == row.path) {
            // Perf: the folder is listed once for all rows.
            (true, _) => names.iter().filter(|name| row.ends_in(name)).map(|name| root.join(name)).collect(),
            (false, true) if names.contains(first) => vec![root.join(first)],
            (false, false) if names.contains(first) => below(root, row),
            _ => Vec::new(),
        };
        places.extend(found.into_iter().map(|path| (path, row.why)));
    }
    places.retain(|(path, _)| !path.to_string_lossy().contains(ASIDE));
    places.sort();
    places.dedup_by(|one, other| one.0 == other.0);
    // What lies in another of them is kept with it.
    let all: Vec<PathBuf> = places.iter().map(|(path, _)| path.clone()).collect();
    places.retain(|(path, _)| !all.iter().any(|other| path != other && path.starts_with(other)));
    places
}

fn below(root: &Path, row: &AutorunPath) -> Vec<PathBuf> {
    let mut found = candidates(root, row);
    let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    let is_hook = |path: &PathBuf| {
        !path.parent().is_some_and(|folder| folder.ends_with(HUSKY))
            || fs::symlink_metadata(path).is_ok_and(|it| !it.is_dir())
    };
    found.retain(|path| is_there(path) && is_hook(path));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarded(root: &Path, told: WritesTold, has_covers: bool) -> (AutorunGuard, Vec<PathBuf>) {
        AutorunGuard::over(&[root.to_owned()], told, has_covers, WorkspaceReports::default())
    }

    fn put(root: &Path, name: &str, text: &str) {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), text).unwrap();
    }

    fn read(root: &Path, name: &str) -> String {
        fs::read_to_string(root.join(name)).unwrap_or_default()
    }

    /// Every row that is kept: what comes is put aside, and what is changed is what it was; of the others nothing is touched.
    #[test]
    fn what_a_command_makes_of_each_row_that_no_build_writes_is_not_run() {
        for row in AUTOMATIC {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let name = row.path.replace('*', "x");
            let (mut guard, _) = guarded(&root, WritesTold::default(), false);
            put(&root, &name, "evil");
            let done = guard.finish();
            assert_eq!(root.join(&name).exists(), !row.is_kept, "{name}: {done:?}");
            assert_eq!(done.len(), usize::from(row.is_kept), "{name}: {done:?}");
            if !row.is_kept {
                continue;
            }
            put(&root, &name, "a person's");
            let (mut guard, _) = guarded(&root, WritesTold::default(), false);
            fs::remove_file(root.join(&name)).unwrap();
            put(&root, &name, "evil");
            let done = guard.finish();
            assert_eq!(read(&root, &name), "a person's", "{done:?}");
            assert_eq!(guarded(&root, WritesTold::default(), true).1, [root.join(&name)]);
        }
    }

    #[test]
    fn folders_links_what_is_named_and_what_goes_on_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        put(&root, ".vscode/settings.json", "{}");
        put(&root, ".vscode/big.json", &"x".repeat(300_000));
        put(&root, ".husky/pre-commit", "true");
        put(&root, "shared/mcp.json", "{}");
        std::os::unix::fs::symlink("shared/mcp.json", root.join(".mcp.json")).unwrap();
        let (guard, covered) = guarded(&root, WritesTold::default(), true);
        drop(guard);
        assert_eq!(covered, [".husky/pre-commit", "shared/mcp.json", ".vscode"].map(|name| root.join(name)));
        let (mut guard, covered) = guarded(&root, WritesTold::default(), false);
        assert!(covered.is_empty());
        put(&root, ".vscode/tasks.json", "evil");
        put(&root, ".vscode/big.json", "evil");
        put(&root, ".husky/_/h", "made by its runner");
        put(&root, ".husky/pre-push", "evil");
        fs::remove_file(root.join(".mcp.json")).unwrap();
        put(&root, ".mcp.json", "evil");
        // The same again is no change.
        put(&root, ".vscode/settings.json", "{}");
        let done = guard.finish();
        assert_eq!(done.len(), 4, "{done:?}");
        assert!(!root.join(".vscode/tasks.json").exists() && !root.join(".husky/pre-push").exists());
        assert!(root.join(".husky/_/h").exists());
        assert_eq!(fs::read_link(root.join(".mcp.json")).unwrap(), Path::new("shared/mcp.json"));
        assert_eq!(read(&root, ".vscode/big.json.not-run-0"), "evil");
        assert!(done.iter().any(|done| done.contains("was not kept")), "{done:?}");
        assert!(guard.finish().is_empty());
        let named = WritesTold { named: vec![root.join(".envrc"), root.clone()], goes_on: false };
        let (mut guard, _) = guarded(&root, named, false);
        put(&root, ".envrc", "use flake");
        put(&root, ".autoenv", "evil");
        assert_eq!(guard.finish().len(), 1);
        assert!(root.join(".envrc").exists(), "whoever allowed it was told");
        let (mut guard, _) = guarded(&root, WritesTold { goes_on: true, ..WritesTold::default() }, false);
        put(&root, ".exrc", "a person's, or not");
        let done = guard.finish();
        assert!(root.join(".exrc").exists() && done[0].contains("look at it first"), "{done:?}");
    }
}

//! What keeps files that other programs run by themselves, and that no build writes, as they are while a command goes on?
//!
//! Where a mount can, it does. The rest is looked at when the command has ended: what came, or became another one, is put aside, and
//! what was there is written again. What a command's words say that it writes is left alone: whoever allowed it was told.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    MOST_ENTRIES, candidates,
    further::REBASE_TODO,
    states::{ASIDE, AutorunFileState, DEEPEST, LONGEST, PlaceState},
};
use crate::{
    repositories::{folder_at, rename_aside, write_in},
    workspace_reports::WorkspaceReports,
};
use beside::{KnownBefore, NotedPlaces};
use shell::{AUTOMATIC, AutorunPath, AutorunPlace};
use sys::regular_file;

mod beside;

pub use beside::AutorunGuards;

/// Bytes of all files that are noted.
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
}

/// Files that are watched over until this is dropped.
pub struct AutorunGuard {
    watched: Arc<WatchedPlaces>,
    guards: AutorunGuards,
}

/// The places of one command.
struct WatchedPlaces {
    roots: Vec<PathBuf>,
    told: WritesTold,
    /// Places beside those of the table, which need not be there.
    further: Vec<AutorunPlace>,
    /// Links that were on the way to such places.
    links: HashSet<PathBuf>,
    reports: WorkspaceReports,
    noted: Mutex<NotedPlaces>,
}

/// A note of what was there before a program began that may write such files, git alone or a hook, so that what it does is not taken for the doing
/// of a command beside it.
pub struct AllowedChanges {
    places: WatchedPlaces,
    guards: AutorunGuards,
}

impl AutorunGuard {
    /// Takes note of what is there in these folders, absolute and without links, and at `further` places in them, and has it known to the
    /// others. What came while others of `guards` go on was not there. `has_covers`: what is answered beside it is kept by mounts. Blocks
    /// for a moment.
    pub fn over(
        roots: &[PathBuf],
        further: Vec<AutorunPlace>,
        told: WritesTold,
        has_covers: bool,
        (reports, guards): (WorkspaceReports, &AutorunGuards),
    ) -> (AutorunGuard, Vec<PathBuf>) {
        let watched = Arc::new(WatchedPlaces::of(roots, further, told, reports));
        // Note: held from before it is known, so that whoever begins later waits for the note; only those that were known before are waited
        // for here, so none waits in a circle.
        let mut noted = watched.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = guards.take_in(&watched);
        let mut covered = Vec::new();
        let mut bytes_left = MOST_BYTES;
        for (path, _) in watched.places() {
            // The first that tells of it is the oldest.
            let mut known = earlier.iter().map(|it| it.known_before(&path));
            let known = known.find(|known| !matches!(known, KnownBefore::Unknown));
            let is_link = fs::symlink_metadata(&path).is_ok_and(|it| it.is_symlink());
            let real = path.canonicalize().ok().filter(|real| {
                roots.iter().any(|root| real.starts_with(root))
                    && !roots.iter().any(|root| root.starts_with(real))
            });
            // The folder around it is kept by others.
            let real = real.filter(|real| has_covers && !real.ends_with(REBASE_TODO));
            let is_covered = real.is_some();
            if let Some(real) = real {
                covered.push(real);
            }
            match known {
                Some(KnownBefore::Missing) => (),
                Some(KnownBefore::Was(state)) => drop(noted.before.insert(path, Some(state))),
                Some(KnownBefore::Unknown) | None => {
                    // No mount keeps a link itself.
                    let state = (!is_covered || is_link).then(|| PlaceState::of(&path, &mut bytes_left));
                    noted.before.insert(path, state);
                }
            }
        }
        drop(noted);
        (AutorunGuard { watched, guards: guards.clone() }, covered)
    }

    /// Looks at what is there by now, puts aside what is not to be there, and answers in words what was done. Only the first time does
    /// something. Blocks.
    pub fn finish(&mut self) -> Vec<String> {
        let Some(done) = self.watched.finish() else { return Vec::new() };
        // Whoever allowed it was told, so the others do not put it aside.
        self.watched.told.named.iter().for_each(|path| self.guards.allow(path, None));
        done
    }
}

impl AllowedChanges {
    /// Takes note where others go on that watch over something. Blocks for a moment.
    pub fn over(roots: &[PathBuf], further: Vec<AutorunPlace>, guards: &AutorunGuards) -> AllowedChanges {
        let places = WatchedPlaces::of(roots, further, WritesTold::default(), WorkspaceReports::default());
        let mut noted = places.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes_left = MOST_BYTES;
        let state = |path: PathBuf| (path.clone(), Some(PlaceState::of(&path, &mut bytes_left)));
        noted.before = places.places().into_iter().map(|(path, _)| path).map(state).collect();
        drop(noted);
        AllowedChanges { places, guards: guards.clone() }
    }
}

impl Drop for AllowedChanges {
    /// Has what changed since count as there before.
    fn drop(&mut self) {
        let noted = self.places.noted.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, _) in self.places.places() {
            let now = PlaceState::of(&path, &mut 0);
            let before = noted.before.get(&path).and_then(Option::as_ref);
            let is_same = |file: &PathBuf, now: &AutorunFileState| {
                before.and_then(|before| before.files.get(file)).is_some_and(|it| it.is_same(now, file))
            };
            let changed = now.files.iter().filter(|(file, now)| !is_same(file, now));
            changed.for_each(|(file, _)| self.guards.allow(file, None));
        }
    }
}

impl WatchedPlaces {
    fn of(
        roots: &[PathBuf],
        further: Vec<AutorunPlace>,
        told: WritesTold,
        reports: WorkspaceReports,
    ) -> WatchedPlaces {
        let (roots, links, noted) = (roots.to_vec(), HashSet::new(), Mutex::default());
        let mut watched = WatchedPlaces { roots, told, further, links, reports, noted };
        watched.links = watched.ways().filter_map(|path| watched.link_on_way(&path)).collect();
        watched
    }

    /// The paths of all such places whose names say where they are, whether they are there or not.
    fn ways(&self) -> impl Iterator<Item = PathBuf> {
        let rows = || AUTOMATIC.iter().filter(|row| row.is_kept && row.path.contains('/'));
        let of_table = self.roots.iter().flat_map(move |root| rows().map(|row| root.join(row.path)));
        of_table.chain(self.further.iter().map(|place| place.path.clone()))
    }

    /// The outermost link on the way from a root to a path.
    fn link_on_way(&self, path: &Path) -> Option<PathBuf> {
        let root = self.roots.iter().find(|root| path.starts_with(root))?;
        let between = path.ancestors().skip(1).take_while(|folder| folder != root);
        let is_link = |path: &&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        between.filter(is_link).last().map(Path::to_owned)
    }

    /// True if the command's words name this path, or something in it or around it.
    fn is_named(&self, path: &Path) -> bool {
        let is_root = |path: &PathBuf| self.roots.iter().any(|root| root.starts_with(path));
        let mut named = self.told.named.iter().filter(|path| !is_root(path));
        named.any(|named| named.starts_with(path) || path.starts_with(named))
    }

    /// True if it would see something come at this path, which is there.
    fn watches(&self, path: &Path) -> bool {
        self.further.iter().any(|place| path.starts_with(&place.path))
            || self.roots.iter().any(|root| kept_in(root).iter().any(|(kept, _)| path.starts_with(kept)))
    }

    /// Everything that is there and that the command's words do not name, with who runs it.
    fn places(&self) -> Vec<(PathBuf, &'static str)> {
        let mut places: Vec<(PathBuf, &'static str)> =
            self.roots.iter().flat_map(|root| kept_in(root)).collect();
        let further = self.further.iter().filter(|place| fs::symlink_metadata(&place.path).is_ok());
        places.extend(further.map(|place| (place.path.clone(), place.why)));
        places.sort();
        places.dedup_by(|one, other| one.0 == other.0);
        // What lies in another of them is kept with it.
        let all: Vec<PathBuf> = places.iter().map(|(path, _)| path.clone()).collect();
        places.retain(|(path, _)| !all.iter().any(|other| path != other && path.starts_with(other)));
        places.retain(|(path, _)| !self.is_named(path));
        places
    }

    /// `None` = it was done before.
    fn finish(&self) -> Option<Vec<String>> {
        // Nothing panics while it is held, and whoever begins meanwhile waits until all is put right.
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut noted.is_over, true) {
            return None;
        }
        let mut done = Vec::new();
        for (path, why) in self.places() {
            match noted.before.get(&path) {
                // The daemon itself makes such folders, to hide them; nothing is run by one without files.
                None if !holds_any(&path, 0) => (),
                None if path.ends_with(REBASE_TODO) && !runs_more(&path, None) => (),
                None => {
                    // Of a place that a new link leads to, it is the link that came.
                    let link = self.link_on_way(&path).filter(|link| !self.links.contains(link));
                    self.put_aside(&link.unwrap_or(path), why, None, &mut done);
                }
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
        Some(done)
    }

    fn compare(&self, path: &Path, why: &'static str, before: &PlaceState, done: &mut Vec<String>) {
        let now = PlaceState::of(path, &mut 0);
        for (file, state) in &now.files {
            match before.files.get(file) {
                None if before.is_cut => (),
                None => self.put_aside(file, why, None, done),
                Some(before) if before.is_same(state, file) => (),
                Some(before) if file.ends_with(REBASE_TODO) && !runs_more(file, Some(before)) => (),
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
        return match fs::symlink_metadata(path) {
            Ok(_) => Err(io::Error::other("a link leads there, so do it yourself")),
            Err(_) => Ok(None),
        };
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

/// True if the list of a rebase has lines that run something and were not there before; also where that cannot be told.
fn runs_more(path: &Path, before: Option<&AutorunFileState>) -> bool {
    let Some(now) = regular_file::read_bounded(path, LONGEST).ok().flatten() else { return true };
    let before: &[u8] = match before {
        Some(AutorunFileState::File { bytes: Some(bytes), .. }) => bytes,
        Some(_) => return true,
        None => &[],
    };
    let (now, before) = (String::from_utf8_lossy(&now), String::from_utf8_lossy(before));
    let is_run = |line: &&str| matches!(line.split_whitespace().next(), Some("exec" | "x"));
    let known: HashSet<&str> = before.lines().map(str::trim).collect();
    now.lines().map(str::trim).filter(is_run).any(|line| !known.contains(line))
}

/// False of a folder in which there is nothing but folders.
fn holds_any(path: &Path, depth: usize) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) || DEEPEST <= depth {
        return true;
    }
    let Ok(mut entries) = fs::read_dir(path) else { return true };
    entries.any(|entry| match entry {
        Ok(entry) => holds_any(&entry.path(), depth + 1),
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
mod tests;

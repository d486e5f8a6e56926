//! What keeps files that other programs run by themselves, and that no build writes, as they are while a command goes on?
//!
//! Where a mount can, it does. The rest is looked at when the command has ended: what came, or became another one, is put aside, and
//! what was there is written again. What a command's words say that it writes is left alone: whoever allowed it was told. So is what
//! holds keys: under another name it would be hidden from nobody.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    MOST_ENTRIES,
    dotted::DOTTED,
    further::{FurtherPlaces, is_of_what_waits},
    modules::OF_SUBMODULE,
    rows::kept_in,
    states::{AutorunFileState, PlaceState, changed_at, holds_any},
};
use crate::{
    repositories::{repositories_of_root, stashed_in},
    workspace_reports::WorkspaceReports,
};
use beside::{KnownBefore, NotedPlaces};
use done::{DoneAtEnd, DoneToPlace};
use mounts::MountPoint;
use notes::AutorunNotes;
use protocol::ResourceAccess;
use rebase::{is_link, runs_more};
use second_names::{files_with_more_names, was_changed};
use shell::{AUTOMATIC, ShellAnalysis};
use sys::{
    clock,
    guarded::{give_back_rights, mode_of},
};

mod aside;
mod beside;
mod brought;
mod data;
mod done;
mod left;
mod mounts;
mod notes;
mod of_home;
mod programs;
mod rebase;
mod second_names;

pub use beside::AutorunGuards;
pub use brought::GitBrings;
pub use programs::{AgentProgram, RunningProgram};

/// Bytes of all files that are noted.
const MOST_BYTES: u64 = 2 << 20;
/// Entries of a home with a dot in front over which something is mounted. Each takes its time; a home has some hundred.
const MOST_DOTTED: usize = 500;
/// A folder by which a shell takes programs from the repository, also where nothing lies in it.
const SAFE_BY_FOLDER: &str = ".git/safe";
/// Everything that a command's words say of the files that it writes.
#[derive(Debug, Clone, Default)]
pub struct WritesTold {
    /// Absolute, without links.
    pub named: Vec<PathBuf>,
    /// `None` = it brings nothing that git has.
    pub git: Option<GitBrings>,
    /// It keeps data of its own in the folders of agents' products, as their hooks do.
    pub keeps_data: bool,
    /// A server writes them, at a call.
    pub is_of_server: bool,
}

impl WritesTold {
    /// Those of a text that a shell is given.
    pub fn of(reading: &ShellAnalysis) -> WritesTold {
        let written = reading.accesses.iter().filter_map(|access| match access {
            ResourceAccess::Write { path } => Some(path.clone()),
            _ => None,
        });
        WritesTold { named: written.collect(), ..WritesTold::default() }
    }
}

/// Files that are watched over until this is dropped.
pub struct AutorunGuard {
    watched: Arc<WatchedPlaces>,
    guards: AutorunGuards,
    program: RunningProgram,
}

/// The places of one command.
struct WatchedPlaces {
    roots: Vec<PathBuf>,
    /// The rights to the roots when the command began.
    root_modes: Vec<(PathBuf, u32)>,
    told: WritesTold,
    further: FurtherPlaces,
    /// Links that were on the way to such places, and where they led.
    links: BTreeMap<PathBuf, PathBuf>,
    reports: WorkspaceReports,
    noted: Mutex<NotedPlaces>,
    /// The place where all of this is noted, in case the daemon is killed.
    notes: AutorunNotes,
    /// The session's folder for what is temporary, by which it is known again.
    session: PathBuf,
    /// The second and nanosecond at which it was to begin, by the clock of files.
    begun_at: (i64, i64),
    /// Names of commits that were stashed when it was to begin, where it may put them back.
    stashed: Vec<Vec<u8>>,
    /// The last look is over: what changes from now on is somebody else's doing.
    is_over: AtomicBool,
    /// git went on beside it.
    has_git_beside: AtomicBool,
}

impl AutorunGuard {
    /// Takes note of what is there in these folders, absolute and without links, and at `further` places in them, and has it known to the
    /// others. What came while others of `guards` go on was not there. `has_covers`: what is answered beside it is kept by mounts. `session`:
    /// its folder for what is temporary. When this returns, it is noted for the next daemon. Blocks for a moment.
    pub fn over(
        roots: &[PathBuf],
        further: FurtherPlaces,
        told: WritesTold,
        has_covers: bool,
        (reports, guards, session): (WorkspaceReports, &AutorunGuards, &Path),
    ) -> io::Result<(AutorunGuard, Vec<PathBuf>)> {
        let kind = match told.git.is_some_and(|git| git.is_plain) {
            true => AgentProgram::Git,
            false if told.is_of_server => AgentProgram::Server,
            false => AgentProgram::Other,
        };
        let program = guards.program_begins(roots, kind);
        let mut watched = WatchedPlaces::of(roots, further, told, (reports, session.to_owned()));
        watched.notes = guards.notes.clone();
        let watched = Arc::new(watched);
        // Note: held from before it is known, so that whoever begins later waits for the note; only those that were known before are waited
        // for here, so none waits in a circle.
        let mut noted = watched.noted();
        noted.earlier = guards.take_in(&watched);
        let mut covered = Vec::new();
        let (mut bytes_left, mut dotted_left) = (MOST_BYTES, MOST_DOTTED);
        noted.note_files_of_home(&watched.further.files_of_home, &mut bytes_left);
        for (path, why) in watched.places(&[]) {
            let is_link = path.is_symlink();
            let real = watched.covered((&path, why), has_covers, &mut dotted_left);
            let is_covered = real.is_some();
            covered.extend(real);
            if is_covered && why != DOTTED {
                noted.mounted.extend(MountPoint::at(&path).map(|point| (path.clone(), point)));
            }
            let known = noted.known_before(&path);
            if !matches!(known, KnownBefore::Unknown) {
                noted.begun.insert(path.clone(), PlaceState::of(&path, &mut bytes_left));
            }
            match known {
                KnownBefore::Missing => (),
                KnownBefore::Was(state) => drop(noted.before.insert(path, Some(state))),
                KnownBefore::Unknown => {
                    // No mount keeps a link itself.
                    let state = (!is_covered || is_link).then(|| PlaceState::of(&path, &mut bytes_left));
                    noted.before.insert(path, state);
                }
            }
        }
        let kept = covered.iter().chain(&watched.further.mounted);
        let kept = kept.filter(|path| !watched.is_named(path, &[])).cloned();
        noted.note_second_names(files_with_more_names(kept, &mut bytes_left));
        // No command writes what all its names in the workspace are mounts of.
        noted.of_home.retain(|_, file| !file.is_covered(&covered));
        watched.note(&mut noted)?;
        // Beside others nobody knows whose it is.
        if noted.earlier.is_empty() {
            let named = watched.told.named.iter().filter(|path| watched.watches(path));
            let others: Vec<PathBuf> = noted.mounted.keys().chain(named).cloned().collect();
            guards.programs.note_contents(&noted.before, &others);
        }
        drop(noted);
        Ok((AutorunGuard { watched, guards: guards.clone(), program }, covered))
    }

    /// The places of these folders that mounts keep from a program which goes on for as long as anybody wants: nobody could tell at its end what
    /// it wrote from what a person did meanwhile. Blocks for a moment.
    pub fn covers(roots: &[PathBuf], further: FurtherPlaces) -> Vec<PathBuf> {
        let records = (WorkspaceReports::default(), PathBuf::new());
        let watched = WatchedPlaces::of(roots, further, WritesTold::default(), records);
        let mut dotted_left = MOST_DOTTED;
        let mut covered = Vec::new();
        for (path, why) in watched.places(&[]) {
            covered.extend(watched.covered((&path, why), true, &mut dotted_left));
        }
        covered
    }

    /// Looks at what is there by now, puts aside what is not to be there, and answers in words what was done. Only the first time does
    /// something. Blocks.
    pub fn finish(&mut self) -> Vec<String> {
        if self.watched.is_over.load(Ordering::Acquire) {
            return Vec::new();
        }
        // Whoever allowed it was told, so the others do not put it aside.
        let is_whole = |path: &&PathBuf| !(self.watched.told.keeps_data && path.is_dir());
        self.watched.told.named.iter().filter(is_whole).for_each(|path| self.guards.allow(path, None));
        let withheld = self.leave_brought();
        self.watched.finish(&self.guards.named(), withheld)
    }
}

impl WatchedPlaces {
    fn of(
        roots: &[PathBuf],
        further: FurtherPlaces,
        told: WritesTold,
        (reports, session): (WorkspaceReports, PathBuf),
    ) -> WatchedPlaces {
        let (roots, links, noted) = (roots.to_vec(), BTreeMap::new(), Mutex::default());
        let (is_over, has_git_beside) = (AtomicBool::new(false), AtomicBool::new(false));
        let root_modes = roots.iter().filter_map(|root| Some((root.clone(), mode_of(root).ok()?))).collect();
        let stashed = match told.git.is_some_and(|git| git.puts_back) {
            true => {
                let all: Vec<_> = roots.iter().flat_map(|root| repositories_of_root(root)).collect();
                stashed_in(&all)
            }
            false => Vec::new(),
        };
        let mut watched = WatchedPlaces {
            roots,
            root_modes,
            told,
            further,
            links,
            reports,
            noted,
            notes: AutorunNotes::default(),
            session,
            begun_at: clock::file_time(),
            stashed,
            is_over,
            has_git_beside,
        };
        let on_ways = watched.ways().filter_map(|path| watched.link_on_way(&path));
        let links = on_ways.chain(watched.further.links.iter().cloned());
        let links = links.filter_map(|link| fs::read_link(&link).ok().map(|to| (link, to))).collect();
        watched.links = links;
        watched
    }

    /// The end of a place's path, if a mount can keep it. `dotted_left`: mounts that are left for entries of a home.
    fn covered(
        &self,
        (path, why): (&Path, &'static str),
        has_covers: bool,
        dotted_left: &mut usize,
    ) -> Option<PathBuf> {
        // What a link leads to is nobody's by that link's name alone.
        let has_covers = match why == DOTTED {
            true => self.further.dotted.has_mounts && !path.is_symlink() && 0 < *dotted_left,
            false => has_covers,
        };
        *dotted_left -= usize::from(why == DOTTED && has_covers);
        let real = path.canonicalize().ok()?;
        let is_below = self.roots.iter().any(|root| real.starts_with(root))
            && !self.roots.iter().any(|root| root.starts_with(&real));
        // The folder around it is kept by others.
        let is_written = self.names_within(path, &[]);
        (is_below && has_covers && !is_written && !is_of_what_waits(&real)).then_some(real)
    }

    /// Waits until one that begins has taken note, and until one that ends has put all right.
    fn noted(&self) -> MutexGuard<'_, NotedPlaces> {
        // Nothing panics while it is held.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The paths of all such places whose names say where they are, whether they are there or not.
    fn ways(&self) -> impl Iterator<Item = PathBuf> {
        let rows = || AUTOMATIC.iter().filter(|row| row.is_kept && row.path.contains('/'));
        let of_table = self.roots.iter().flat_map(move |root| rows().map(|row| root.join(row.path)));
        of_table.chain(self.further.places.iter().map(|place| place.path.clone()))
    }

    /// The outermost link on the way from a root to a path.
    fn link_on_way(&self, path: &Path) -> Option<PathBuf> {
        let root = self.roots.iter().find(|root| path.starts_with(root))?;
        let between = path.ancestors().skip(1).take_while(|folder| folder != root);
        let is_link = |path: &&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        between.filter(is_link).last().map(Path::to_owned)
    }

    /// The outermost link among them that was made since the session began.
    fn link_of_session(&self, path: &Path) -> Option<PathBuf> {
        let since = fs::symlink_metadata(&self.session).and_then(|session| session.created()).ok()?;
        let root = self.roots.iter().find(|root| path.starts_with(root))?;
        let between = path.ancestors().skip(1).take_while(|folder| folder != root);
        let is_new = |path: &&Path| {
            fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink() && since <= changed_at(&found))
        };
        between.filter(is_new).last().map(Path::to_owned)
    }

    /// True if the command's words name this path, or a folder around it whose name alone says so; `others`: those of the commands beside it.
    fn is_named(&self, path: &Path, others: &[PathBuf]) -> bool {
        self.told.named.iter().chain(others).any(|named| self.covers(named, path))
    }

    /// True if whoever was told of the name was told of the place. A folder in which a setting of git's names something, or a program of a
    /// home looks for something, is a folder like others.
    fn covers(&self, named: &Path, place: &Path) -> bool {
        let is_further = || self.further.places.iter().any(|further| place.starts_with(&further.path));
        let is_root = || self.roots.iter().any(|root| root.starts_with(named));
        let is_home = || self.further.dotted.is_around(named);
        // A hook that makes or clears a folder has not named what is in it.
        if self.told.keeps_data && named.is_dir() {
            return false;
        }
        named == place || place.starts_with(named) && !is_root() && !is_home() && !is_further()
    }

    /// True if the words name something within this place: that is theirs, the rest of the place is not.
    fn names_within(&self, place: &Path, others: &[PathBuf]) -> bool {
        self.told.named.iter().chain(others).any(|named| named != place && named.starts_with(place))
    }

    /// True if it would see something come at this path, which is there.
    fn watches(&self, path: &Path) -> bool {
        self.further.places.iter().any(|place| path.starts_with(&place.path))
            || self.further.dotted.watches(path)
            || self.roots.iter().any(|root| kept_in(root).iter().any(|(kept, _)| path.starts_with(kept)))
    }

    /// Everything that is there and that no words name, with who runs it.
    fn places(&self, others: &[PathBuf]) -> Vec<(PathBuf, &'static str)> {
        let mut places: Vec<(PathBuf, &'static str)> =
            self.roots.iter().flat_map(|root| kept_in(root)).collect();
        let further = self.further.places.iter().filter(|place| fs::symlink_metadata(&place.path).is_ok());
        places.extend(further.map(|place| (place.path.clone(), place.why)));
        places.extend(self.further.submodules.new_ones().into_iter().map(|path| (path, OF_SUBMODULE)));
        // Behind the others, which say more of them.
        places.extend(self.further.dotted.entries(&self.told.named).into_iter().map(|path| (path, DOTTED)));
        places.sort_by(|one, other| one.0.cmp(&other.0));
        // What lies in another of them is kept with it, and comes behind it.
        places.dedup_by(|one, other| one.0.starts_with(&other.0));
        places.retain(|(path, _)| !self.is_named(path, others));
        places
    }

    /// `others`: what the words of commands name that go on; `withheld`: files that git brought and that are not left, with what they read.
    /// Blocks.
    fn finish(&self, others: &[PathBuf], withheld: BTreeMap<PathBuf, Vec<PathBuf>>) -> Vec<String> {
        // Whoever begins meanwhile waits until all is put right.
        let mut noted = self.noted();
        if self.is_over.load(Ordering::Acquire) {
            return Vec::new();
        }
        let nothing = PlaceState::default();
        let mut done = DoneAtEnd { withheld, ..DoneAtEnd::default() };
        // In a folder that its owner does not write any more, all would stay as it is.
        for (root, mode) in &self.root_modes {
            if let Err(error) = give_back_rights(root, *mode) {
                tracing::warn!(%error, root = %root.display(), "the rights to a workspace's folder cannot be given back");
            }
        }
        // Another end of a link puts other files at all places behind it.
        for (link, to) in &self.links {
            if fs::read_link(link).is_ok_and(|now| now == *to) || self.is_named(link, others) {
                continue;
            }
            let before = AutorunFileState::Link(to.clone());
            self.put_aside(link, "other programs look for what they run behind it", Some(&before), &mut done);
        }
        self.restore_files_of_home(noted.of_home.values(), others, &mut done);
        for (path, why) in self.places(others) {
            // What was so when the command began is left to those that go on, if they watch over it.
            let is_left = !matches!(noted.known_before(&path), KnownBefore::Unknown);
            let begun = noted.begun.get(&path).filter(|_| is_left);
            match (noted.before.get(&path), begun) {
                (Some(None), _) => {
                    self.look_behind_mount((&path, why), noted.mounted.get(&path), &mut done);
                }
                // The daemon itself makes such folders, to hide them; nothing is run by one without files.
                (None, None)
                    if !holds_any(&path, 0, &mut { MOST_ENTRIES }) && !path.ends_with(SAFE_BY_FOLDER) => {}
                (None, None) if is_of_what_waits(&path) && !runs_more(&path, None) => (),
                // git makes no link of it, so whoever writes what it leads to decides what runs.
                (Some(_), None) if is_of_what_waits(&path) && is_link(&path) => {
                    self.put_aside(&path, why, None, &mut done);
                }
                (None, None) if self.names_within(&path, others) => {
                    self.compare((&path, why), &nothing, None, others, &mut done);
                }
                (None, None) => {
                    // Of a place that a new link leads to, it is the link that came.
                    let link = self.link_on_way(&path).filter(|link| !self.links.contains_key(link));
                    self.put_aside(&link.unwrap_or(path), why, None, &mut done);
                }
                (before, begun) => {
                    let before = before.and_then(Option::as_ref).unwrap_or(&nothing);
                    self.compare((&path, why), before, begun, others, &mut done);
                }
            }
        }
        for (file, before) in &noted.second_names {
            if was_changed(file, before) && !self.is_named(file, others) {
                self.put_aside(
                    file,
                    "other programs obey it, and it has another name",
                    Some(before),
                    &mut done,
                );
            }
        }
        self.is_over.store(true, Ordering::Release);
        // On the disk until the person is told.
        let note = noted.note.take();
        *noted = NotedPlaces::default();
        drop(noted);
        let by = self.roots.first().map(|path| path.display().to_string()).unwrap_or_default();
        let who = if self.told.is_of_server {
            "an MCP server, called by an agent"
        } else {
            "a command of an agent"
        };
        let told = self.tell(done, format!("{who} in {by} touched files that programs run by themselves: "));
        drop(note);
        told
    }

    /// True of a file that was changed since the command was to begin, by the kernel's word.
    fn is_newer(&self, file: &Path) -> bool {
        fs::symlink_metadata(file).is_ok_and(|it| self.begun_at <= (it.ctime(), it.ctime_nsec()))
    }

    fn compare(
        &self,
        (path, why): (&Path, &'static str),
        before: &PlaceState,
        begun: Option<&PlaceState>,
        others: &[PathBuf],
        done: &mut DoneAtEnd,
    ) {
        let mut now = PlaceState::of(path, &mut 0);
        self.tell_if_cut((path, why), before, &now, done);
        if now.is_cut {
            // Data may be any number of files; what a product reads lies beside it.
            now.files.extend(self.beside_data(path));
        }
        for (file, state) in &now.files {
            let was_so = |it: &PlaceState| it.files.get(file).is_some_and(|it| it.is_same(state, file));
            if begun.is_some_and(|begun| begun.is_cut || was_so(begun)) || self.is_named(file, others) {
                continue;
            }
            match before.files.get(file) {
                None if before.is_cut && !self.is_newer(file) => (),
                None if is_of_what_waits(file) && !runs_more(file, None) => (),
                None => self.put_aside(file, why, None, done),
                Some(before) if before.is_same(state, file) => (),
                Some(before) if is_of_what_waits(file) && !runs_more(file, Some(before)) => (),
                Some(before) => self.put_aside(file, why, Some(before), done),
            }
        }
    }
}

impl Drop for AutorunGuard {
    fn drop(&mut self) {
        for told in self.finish() {
            tracing::warn!("a file that other programs run by themselves: {told}");
        }
    }
}

#[cfg(test)]
mod tests;

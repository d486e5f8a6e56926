//! What did commands plant that went on when the daemon was killed?
//!
//! Before a command begins it is noted where it is watched and what is there: names, and by what a change is seen. The next daemon puts aside
//! what came until the last one died. What was changed since it tells, as it has none of the bytes, and what may be a person's own.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    sync::PoisonError,
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use super::{
    super::{
        dotted::DottedEntries,
        further::{FurtherPlaces, is_of_what_waits},
        modules::SubmoduleRepositories,
        states::{AutorunFileState, PlaceState, changed_at},
    },
    AutorunGuards, DoneAtEnd, DoneToPlace, NotedPlaces, WatchedPlaces, WritesTold, runs_more,
    second_names::was_changed,
};
use crate::{
    repositories::{BroughtObjects, ObjectTimes, brought_by_git},
    workspace_reports::WorkspaceReports,
};
use shell::AutorunPlace;
use sys::guarded::give_back_rights;

/// Bytes that stand in one note of the files at kept places. Such a place has some ten.
const MOST_NOTED: usize = 4 << 20;
/// Bytes that a file takes beside its name.
const PER_FILE: usize = 100;
/// The reason for a place that no row of the table names: a note has only its path.
const NAMED: &str = "other programs run it, or go by it, by themselves";

/// A path as it stands in a note, whatever bytes it has.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NotedPath {
    Text(String),
    Bytes(Vec<u8>),
}

/// Everything that a command's guard goes by.
#[derive(Serialize, Deserialize)]
struct AutorunNote {
    /// The folder for what the session's commands put aside for a while, which tells the session.
    session: NotedPath,
    /// The workspace's folders, with the rights to each.
    roots: Vec<(NotedPath, Option<u32>)>,
    named: Vec<NotedPath>,
    #[serde(default)]
    keeps_data: bool,
    further: Vec<NotedPath>,
    secrets: Vec<NotedPath>,
    links: Vec<(NotedPath, NotedPath)>,
    dotted: Option<NotedDotted>,
    /// Folders of repositories of submodules, and those that are there.
    submodules: (Vec<NotedPath>, Vec<NotedPath>),
    /// `None` = a mount keeps it.
    places: Vec<(NotedPath, Option<NotedPlace>)>,
    second_names: Vec<(NotedPath, NotedAutorunFile)>,
    /// git may bring files, by objects that were not touched since then.
    brought_since: Option<(i64, i64)>,
}

#[derive(Serialize, Deserialize)]
struct NotedDotted {
    home: NotedPath,
    left: Vec<NotedPath>,
    hidden: Vec<NotedPath>,
    has_mounts: bool,
    known: Vec<NotedPath>,
}

#[derive(Serialize, Deserialize)]
struct NotedPlace {
    files: Vec<(NotedPath, NotedAutorunFile)>,
    is_cut: bool,
    is_deep: bool,
}

/// A file, or a link, without what is in it.
#[derive(Serialize, Deserialize)]
enum NotedAutorunFile {
    Link(NotedPath),
    File((u64, u64, u64, i64, i64), u32),
}

/// The time at which the daemon was killed, at the latest; `None` = nobody knows.
#[derive(Clone, Copy)]
struct KilledBy(Option<SystemTime>);

impl From<&Path> for NotedPath {
    fn from(path: &Path) -> NotedPath {
        match path.to_str() {
            Some(text) => NotedPath::Text(text.to_owned()),
            None => NotedPath::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }
}

impl From<NotedPath> for PathBuf {
    fn from(path: NotedPath) -> PathBuf {
        match path {
            NotedPath::Text(text) => text.into(),
            NotedPath::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

impl From<&AutorunFileState> for NotedAutorunFile {
    fn from(state: &AutorunFileState) -> NotedAutorunFile {
        match state {
            AutorunFileState::Link(to) => NotedAutorunFile::Link(to.as_path().into()),
            AutorunFileState::File { stamp, mode, .. } => NotedAutorunFile::File(*stamp, *mode),
        }
    }
}

impl From<NotedAutorunFile> for AutorunFileState {
    fn from(noted: NotedAutorunFile) -> AutorunFileState {
        match noted {
            NotedAutorunFile::Link(to) => AutorunFileState::Link(to.into()),
            NotedAutorunFile::File(stamp, mode) => AutorunFileState::File { stamp, mode, bytes: None },
        }
    }
}

impl NotedPlace {
    /// `room`: bytes that the note may still take. Of a place for which there is none it is noted that nobody knows what was there.
    fn of(state: &PlaceState, room: &mut usize) -> NotedPlace {
        let takes = |path: &Path| path.as_os_str().len() + PER_FILE;
        let all: usize = state.files.keys().map(|path| takes(path)).sum();
        let has_room = all <= *room;
        *room -= if has_room { all } else { 0 };
        let files = state.files.iter().filter(|_| has_room);
        NotedPlace {
            files: files.map(|(path, file)| (path.as_path().into(), file.into())).collect(),
            is_cut: state.is_cut || !has_room,
            is_deep: state.is_deep,
        }
    }
}

impl From<NotedPlace> for PlaceState {
    fn from(noted: NotedPlace) -> PlaceState {
        PlaceState { files: known(noted.files), is_cut: noted.is_cut, is_deep: noted.is_deep }
    }
}

impl From<NotedDotted> for DottedEntries {
    fn from(noted: NotedDotted) -> DottedEntries {
        DottedEntries {
            home: Some(noted.home.into()),
            left: paths(noted.left),
            hidden: paths(noted.hidden),
            has_mounts: noted.has_mounts,
            known: noted.known.into_iter().map(PathBuf::from).collect(),
        }
    }
}

fn noted<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<NotedPath> {
    paths.into_iter().map(|path| path.as_path().into()).collect()
}

fn paths(noted: Vec<NotedPath>) -> Vec<PathBuf> {
    noted.into_iter().map(PathBuf::from).collect()
}

fn known<A, B: From<A>>(noted: Vec<(NotedPath, A)>) -> BTreeMap<PathBuf, B> {
    noted.into_iter().map(|(path, of)| (path.into(), of.into())).collect()
}

impl AutorunNote {
    fn of(watched: &WatchedPlaces, noted_places: &NotedPlaces) -> AutorunNote {
        let mode =
            |root: &Path| watched.root_modes.iter().find(|(path, _)| path == root).map(|(_, mode)| *mode);
        let DottedEntries { home, left, hidden, has_mounts, known } = &watched.further.dotted;
        let dotted = home.as_ref().map(|home| NotedDotted {
            home: home.as_path().into(),
            left: noted(left),
            hidden: noted(hidden),
            has_mounts: *has_mounts,
            known: noted(known),
        });
        let submodules = &watched.further.submodules;
        let mut room = MOST_NOTED;
        let mut place = |state: &PlaceState| NotedPlace::of(state, &mut room);
        let places = noted_places.before.iter();
        AutorunNote {
            session: watched.session.as_path().into(),
            roots: watched.roots.iter().map(|root| (root.as_path().into(), mode(root))).collect(),
            named: noted(&watched.told.named),
            keeps_data: watched.told.keeps_data,
            further: noted(watched.further.places.iter().map(|place| &place.path)),
            secrets: noted(&watched.further.secrets),
            links: watched
                .links
                .iter()
                .map(|(link, to)| (link.as_path().into(), to.as_path().into()))
                .collect(),
            dotted,
            submodules: (noted(&submodules.folders), noted(&submodules.known)),
            places: places.map(|(path, was)| (path.as_path().into(), was.as_ref().map(&mut place))).collect(),
            second_names: noted_places
                .second_names
                .iter()
                .map(|(path, file)| (path.as_path().into(), file.into()))
                .collect(),
            brought_since: watched.told.git.map(|_| watched.since()),
        }
    }

    /// Puts aside what came until then, and tells of the rest. `others`: what the words of all commands name that went on. Answers what the
    /// session is told. Blocks.
    fn look_again(self, others: &[PathBuf], killed: KilledBy, reports: &WorkspaceReports) -> Vec<String> {
        let roots: Vec<PathBuf> = {
            let modes = self.roots.into_iter().map(|(root, mode)| (PathBuf::from(root), mode));
            modes
                .map(|(root, mode)| {
                    let given = mode.map_or(Ok(()), |mode| give_back_rights(&root, mode));
                    if let Err(error) = given {
                        tracing::warn!(%error, root = %root.display(), "the rights to a workspace's folder cannot be given back");
                    }
                    root
                })
                .collect()
        };
        let further = FurtherPlaces {
            places: paths(self.further).into_iter().map(|path| AutorunPlace { path, why: NAMED }).collect(),
            links: Vec::new(),
            secrets: paths(self.secrets),
            mounted: Vec::new(),
            submodules: SubmoduleRepositories {
                folders: paths(self.submodules.0),
                known: paths(self.submodules.1).into_iter().collect(),
            },
            dotted: self.dotted.map(DottedEntries::from).unwrap_or_default(),
            files_of_home: Vec::new(),
        };
        let told =
            WritesTold { named: paths(self.named), keeps_data: self.keeps_data, ..WritesTold::default() };
        let session = PathBuf::from(self.session);
        let mut watched = WatchedPlaces::of(&roots, further, told, (reports.clone(), session));
        watched.links = self.links.into_iter().map(|(link, to)| (link.into(), to.into())).collect();
        let mut before: BTreeMap<PathBuf, Option<PlaceState>> = BTreeMap::new();
        for (path, was) in self.places {
            before.insert(path.into(), was.map(PlaceState::from));
        }
        let brought: Vec<(PathBuf, String)> = self.brought_since.map_or_else(Vec::new, |since| {
            let (changed, times) = (watched.changed_since(&before), ObjectTimes::older_than(since));
            let objects = BroughtObjects::of_index(&times);
            let mut brought = brought_by_git(&roots, &changed, objects);
            let withheld = watched.that_read_what_was_written(&brought, objects, since);
            brought.retain(|(file, _)| !withheld.contains_key(file));
            brought
        });
        let brought: BTreeSet<PathBuf> = brought.into_iter().map(|(file, _)| file).collect();
        let mut done = DoneAtEnd::default();
        watched.look_at_links(others, killed, &mut done);
        watched.look_at_places((&before, &brought), others, killed, &mut done);
        let second_names: BTreeMap<PathBuf, AutorunFileState> = known(self.second_names);
        for (file, was) in second_names {
            if was_changed(&file, &was) && !watched.is_named(&file, others) {
                watched.leave(
                    (&file, "other programs obey it, and it has another name"),
                    true,
                    killed,
                    &mut done,
                );
            }
        }
        let folder = roots.first().map(|path| path.display().to_string()).unwrap_or_default();
        let report = format!(
            "the daemon was killed while a command of an agent went on in {folder}; of files there that programs run by themselves: "
        );
        let told = watched.tell(done, report);
        let words = |told| {
            format!(
                "the daemon was killed while an earlier command went on, and its next start found: {told}"
            )
        };
        told.into_iter().map(words).collect()
    }
}

impl WatchedPlaces {
    fn look_at_links(&self, others: &[PathBuf], killed: KilledBy, done: &mut DoneAtEnd) {
        let why = "other programs look for what they run behind it";
        for (link, to) in &self.links {
            if fs::read_link(link).is_ok_and(|now| now == *to) || self.is_named(link, others) {
                continue;
            }
            match killed.is_before(link) {
                true => self.leave((link, why), true, killed, done),
                false => self.put_aside(link, why, Some(&AutorunFileState::Link(to.clone())), done),
            }
        }
    }

    fn look_at_places(
        &self,
        (before, brought): (&BTreeMap<PathBuf, Option<PlaceState>>, &BTreeSet<PathBuf>),
        others: &[PathBuf],
        killed: KilledBy,
        done: &mut DoneAtEnd,
    ) {
        let nothing = PlaceState::default();
        for (path, why) in self.places(others) {
            let was = match before.get(&path) {
                Some(None) => continue,
                Some(Some(was)) => was,
                None => &nothing,
            };
            // Of a place that a new link leads to, it is the link that came.
            let link = self.link_on_way(&path).filter(|link| !self.links.contains_key(link));
            let now = match link {
                Some(link) if !before.contains_key(&path) => PlaceState::of(&link, &mut 0),
                _ => PlaceState::of(&path, &mut 0),
            };
            self.tell_if_cut((&path, why), was, &now, done);
            for (file, state) in &now.files {
                let is_harmless = || is_of_what_waits(file) && !runs_more(file, None);
                match was.files.get(file) {
                    Some(was) if was.is_same(state, file) => (),
                    _ if brought.contains(file) || is_harmless() || self.is_named(file, others) => (),
                    Some(_) => self.leave((file, why), true, killed, done),
                    None if was.is_cut || killed.is_before(file) => {
                        self.leave((file, why), false, killed, done)
                    }
                    None => self.put_aside(file, why, None, done),
                }
            }
        }
    }

    /// Tells of one that stays as it is.
    fn leave(
        &self,
        (path, why): (&Path, &'static str),
        was_there: bool,
        killed: KilledBy,
        done: &mut DoneAtEnd,
    ) {
        if self.is_kept_data(path) {
            return;
        }
        let shown = self.shown(path);
        let what = if was_there { "was changed" } else { "came to be" };
        let left = match (killed.is_before(path), was_there) {
            (true, _) => "by its time it may be the person's own, so it was left there",
            (false, true) => "what was there is not known, so it was left as it is",
            (false, false) => "or was there before, which is not known, so it was left there",
        };
        done.done.push(DoneToPlace {
            told: format!("`{shown}` {what}, and {why}; {left}: the person should look at what is in it"),
            brief: format!("`{shown}` {what}; {left}: look at what is in it"),
        });
    }

    /// Has it on the disk what is watched, for as long as it is.
    pub(super) fn note(&self, noted: &mut NotedPlaces) -> io::Result<()> {
        if self.notes.is_none() {
            return Ok(());
        }
        let text = serde_json::to_vec(&AutorunNote::of(self, noted)).map_err(io::Error::other)?;
        match &noted.note {
            Some(note) => note.replace(&text),
            None => self.notes.write(&text).map(|note| noted.note = note),
        }
    }
}

impl KilledBy {
    /// True if it was changed for the last time after that. Nobody sets that time.
    fn is_before(self, file: &Path) -> bool {
        let Some(killed) = self.0 else { return false };
        fs::symlink_metadata(file).is_ok_and(|found| killed < changed_at(&found))
    }
}

impl AutorunGuards {
    /// Sees to what commands did that a daemon did not live to see the end of. `until`: when it was killed, at the latest; `None` = nobody knows.
    /// Answers in words what was done, which each session's next command tells, too. Nothing may have been started yet. Blocks.
    pub fn look_at_left(&self, until: Option<SystemTime>, reports: &WorkspaceReports) -> Vec<String> {
        let (mut notes, mut all) = (Vec::new(), Vec::new());
        for (file, text) in self.notes.left() {
            let note = text.and_then(|text| serde_json::from_slice::<AutorunNote>(&text).ok());
            match note {
                Some(note) => notes.push((file, note)),
                None => all.push(
                    "a note of what was there before a command of an agent cannot be read, so nothing that it planted was put aside"
                        .to_owned(),
                ),
            }
        }
        reports.add(all.iter().map(|unread| {
            format!("the daemon was killed while a command of an agent went on; {unread}: look at files that programs run by themselves")
        }));
        let named = |note: &AutorunNote| note.named.iter().map(NotedPath::path).collect::<Vec<_>>();
        let others: Vec<PathBuf> = notes.iter().flat_map(|(_, note)| named(note)).collect();
        for (file, note) in notes {
            let session = note.session.path();
            let told = note.look_again(&others, KilledBy(until), reports);
            all.extend_from_slice(&told);
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            left.entry(session).or_default().extend(told);
            drop(file);
        }
        all
    }

    /// The words that a session's next command tells of what was found so; once.
    pub fn take_found(&self, session: &Path) -> Vec<String> {
        // Nothing panics while it is held.
        self.left.lock().unwrap_or_else(PoisonError::into_inner).remove(session).unwrap_or_default()
    }
}

impl NotedPath {
    fn path(&self) -> PathBuf {
        match self {
            NotedPath::Text(text) => text.into(),
            NotedPath::Bytes(bytes) => OsString::from_vec(bytes.clone()).into(),
        }
    }
}

#[cfg(test)]
mod tests;

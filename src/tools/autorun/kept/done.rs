//! What is done with a file at the end of a command, and in which words are the agent and the person told of it?

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{AutorunFileState, PlaceState, WatchedPlaces, aside::aside};

/// Entries of which the agent is told one by one.
const MOST_TOLD: usize = 5;
/// Letters of what the person is told of one command.
const MOST_TOLD_TO_PERSON: usize = 3_500;

/// Everything that was done at the end of a command.
#[derive(Default)]
pub(super) struct DoneAtEnd {
    pub done: Vec<DoneToPlace>,
    /// Files that git brought and that read what was written while they were away, with what that is.
    pub withheld: BTreeMap<PathBuf, Vec<PathBuf>>,
}

/// A place that was treated at the end of a command.
pub(super) struct DoneToPlace {
    /// Words for the agent.
    pub told: String,
    /// Fewer words for the person, who is told of all places.
    pub brief: String,
}

impl WatchedPlaces {
    pub(super) fn tell_if_cut(
        &self,
        (path, why): (&Path, &'static str),
        before: &PlaceState,
        now: &PlaceState,
        done: &mut DoneAtEnd,
    ) {
        if now.is_cut && !before.is_cut || now.is_deep && !before.is_deep {
            let shown = self.shown(path);
            let told = format!(
                "`{shown}` has more files, or deeper ones, than are looked at, and {why}: the person should look at it"
            );
            done.done.push(DoneToPlace { brief: told.clone(), told });
        }
    }

    pub(super) fn put_aside(
        &self,
        path: &Path,
        why: &'static str,
        before: Option<&AutorunFileState>,
        done: &mut DoneAtEnd,
    ) {
        // What an agent's own link leads to may stay where it is: without the link nobody finds it.
        let link = self.link_of_session(path);
        let (path, before) = link.as_ref().map_or((path, before), |link| (link.as_path(), None));
        if self.is_kept_data(path) {
            return;
        }
        let shown = self.shown(path);
        let mut what = match before {
            None => format!("`{shown}` came to be"),
            Some(_) => format!("`{shown}` was changed"),
        };
        if let Some(read) = done.withheld.get(path) {
            let read: Vec<String> = read.iter().map(|file| format!("`{}`", self.shown(file))).collect();
            what.push_str(&format!(
                " by git, and reads {}, changed since this session began",
                read.join(", ")
            ));
        }
        let (told, brief) = if self.further.is_secret(path) {
            let left = format!(
                "{what}, and {why}. It was left there, under the name by which it is hidden from commands"
            );
            (
                format!("{left}; the person should look at what is in it before a program uses it"),
                format!("{what}, was left there, and is hidden from commands: look at what is in it"),
            )
        } else {
            // What a link leads to may lie in another of them.
            let root = self.roots.iter().find(|root| path.starts_with(root)).map_or(path, PathBuf::as_path);
            match aside(root, path, before) {
                Ok(None) => return,
                Ok(Some(aside)) => {
                    let again = if before.is_some() { ", and what was there is there again" } else { "" };
                    let lies = format!("lies as `{}` now{again}", self.shown(&aside));
                    (
                        format!(
                            "{what}, and {why}: it {lies}. Where it is wanted, write it with `write_file`, or by a command whose words name it"
                        ),
                        format!("{what}: it {lies}"),
                    )
                }
                Err(error) => {
                    let failed = format!("it could not be put aside: {error}");
                    (format!("{what}, and {why}; {failed}"), format!("{what}; {failed}"))
                }
            }
        };
        done.done.push(DoneToPlace { told, brief });
    }

    pub(super) fn shown(&self, path: &Path) -> String {
        let shown = self.roots.iter().find_map(|root| path.strip_prefix(root).ok()).unwrap_or(path);
        shown.display().to_string()
    }

    /// Has the person know of all of it, behind the beginning of a `report`. Answers what the agent is told.
    pub(super) fn tell(&self, done: DoneAtEnd, mut report: String) -> Vec<String> {
        let count = done.done.len();
        let mut told = Vec::new();
        for (at, place) in done.done.into_iter().enumerate() {
            if report.len() + place.brief.len() <= MOST_TOLD_TO_PERSON {
                report.push_str(if at == 0 { "" } else { "; " });
                report.push_str(&place.brief);
            } else if !report.ends_with('…') {
                report.push_str(&format!("; and {} more, …", count - at));
            }
            told.push(place.told);
        }
        if MOST_TOLD < count {
            told.truncate(MOST_TOLD);
            let more = count - MOST_TOLD;
            told.push(format!("{more} more files that other programs run by themselves were treated alike"));
        }
        self.reports.add((0 < count).then_some(report));
        told
    }
}

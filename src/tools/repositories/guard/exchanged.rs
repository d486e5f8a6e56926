//! Is another folder in the place of a repository that is held open?
//!
//! What is held is the one that was there, wherever it is by now, and git goes by the path. With Landlock a program of an agent's can put a copy
//! in the place of a folder around it, with other settings.

use std::path::{Path, PathBuf};

use super::WatchedState;
use crate::repositories::{
    folder::{folder_at, put_aside},
    state::{MendedPart, MendedPlace, RepositoryState, WatchedRepository, led_to_folder},
};
use sys::guarded::FileIdentity;

impl WatchedState {
    /// Has each folder that is in the place of another one count as that did: settings and hooks by which git would run something that it did
    /// not run before are put back. A folder that has none is watched over from now on. `named`: settings that somebody was told of.
    pub(super) fn put_exchanged_right(&mut self, named: &[String], roots: &[PathBuf]) -> Vec<MendedPlace> {
        let (mut mended, mut new) = (Vec::new(), Vec::new());
        let noted = self.repositories.iter().map(|it| &it.state).chain(&self.gone);
        for before in noted {
            let Some((real, folder)) = led_to_folder(&before.path) else { continue };
            let Some(id) = rustix::fs::fstat(&folder).ok().map(|it| FileIdentity::of_stat(&it)) else {
                continue;
            };
            // One that is watched over is compared with what it was itself.
            if self.repositories.iter().any(|it| it.state.id == id) {
                continue;
            }
            let harmless = || RepositoryState::harmless(Some(before), (&real, &folder), named);
            let mut now = harmless();
            if let Err(danger) = &now {
                let danger = danger.clone();
                let is_at_place = real == before.path;
                if is_at_place && let Some(copy) = WatchedRepository::of_copy(before, id) {
                    mended.extend(copy.put_settings_back(named, roots));
                    now = harmless();
                }
                if now.is_err() {
                    let done = if is_at_place { aside(&real) } else { link_aside(&before.path) };
                    let path = before.path.clone();
                    mended.push(MendedPlace {
                        path,
                        what: MendedPart::Exchanged(danger),
                        done,
                        is_attack: true,
                    });
                    continue;
                }
            }
            new.extend(now.ok());
        }
        self.repositories.extend(new.into_iter().filter_map(WatchedRepository::anew));
        mended
    }
}

fn aside(path: &Path) -> std::io::Result<()> {
    let above = path.parent().and_then(folder_at);
    match (above, path.file_name().and_then(|name| name.to_str())) {
        (Some(above), Some(name)) => put_aside(&above, name),
        _ => Err(std::io::Error::other("the folder that it is in cannot be opened")),
    }
}

/// Puts aside the outermost link on the way to a path that had none.
fn link_aside(path: &Path) -> std::io::Result<()> {
    let is_link = |path: &&Path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    aside(path.ancestors().filter(is_link).last().unwrap_or(path))
}

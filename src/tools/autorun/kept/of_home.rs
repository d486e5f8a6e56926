//! How does a file of the home get back what was in it, if a command wrote to it by a name in the workspace?
//!
//! To put the workspace's name aside would not help: the file itself is what the home's name shows. So it is written where it is, and both
//! names stay one file.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    super::{hard_links::FileOfHome, states::AutorunFileState},
    WatchedPlaces,
    aside::copied_aside,
    done::{DoneAtEnd, DoneToPlace},
    second_names::was_changed,
};
use crate::digest;
use sys::regular_file;

/// Bytes of what a command wrote that are kept.
const MOST_COPIED: u64 = 1 << 20;
/// The rights of an owner to read and write.
const OF_OWNER: u32 = 0o600;

/// Such a file before a command began.
pub(super) struct NotedFileOfHome {
    path: PathBuf,
    before: AutorunFileState,
    /// It as it was when the command began, if another one went on then, which knows it as it was before.
    begun: Option<AutorunFileState>,
    names: Vec<PathBuf>,
}

impl NotedFileOfHome {
    /// Has what is in it by now count as there before, if this is a name of it. `written`: the digest of what was written, so that nothing else
    /// counts.
    pub fn take_anew(&mut self, path: &Path, written: Option<&str>) {
        // Who may write a folder has not been allowed what is in it.
        if !self.names.iter().any(|name| name == path) {
            return;
        }
        let Some(now) = state_of(&self.path, &mut { u64::MAX }) else { return };
        if written.is_none_or(|written| now.bytes().is_some_and(|bytes| digest::of(bytes) == written)) {
            self.before = now;
        }
    }
}

impl NotedFileOfHome {
    /// It as it is now, or as an earlier guard has known it; `None` = it is no file.
    pub fn of(
        file: &FileOfHome,
        earlier: Option<AutorunFileState>,
        bytes_left: &mut u64,
    ) -> Option<NotedFileOfHome> {
        let now = state_of(&file.path, bytes_left)?;
        let (before, begun) = match earlier {
            Some(before) => (before, Some(now)),
            None => (now, None),
        };
        Some(NotedFileOfHome { path: file.path.clone(), before, begun, names: file.names.clone() })
    }

    /// True if mounts keep all of its names in the workspace, so that no command writes it.
    pub fn is_covered(&self, covered: &[PathBuf]) -> bool {
        self.names.iter().all(|name| covered.contains(name))
    }

    /// It as it was before.
    pub fn before(&self) -> &AutorunFileState {
        &self.before
    }
}

fn state_of(path: &Path, bytes_left: &mut u64) -> Option<AutorunFileState> {
    let found = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(AutorunFileState::file(path, &found, bytes_left))
}

impl WatchedPlaces {
    /// Writes such files again that were changed. `others`: what the words of commands name that go on. Blocks.
    pub(super) fn restore_files_of_home<'a>(
        &self,
        noted: impl Iterator<Item = &'a NotedFileOfHome>,
        others: &[PathBuf],
        done: &mut DoneAtEnd,
    ) {
        for NotedFileOfHome { path, before, begun, names } in noted {
            let is_named = names.iter().any(|name| self.is_named(name, others));
            let (Some(name), false) = (names.first(), is_named) else { continue };
            // What was so when the command began is left to the other one's end.
            let is_left = begun.as_ref().is_some_and(|begun| !was_changed(path, begun));
            if is_left || !was_changed(path, before) {
                continue;
            }
            let what = format!(
                "`{}` was changed, and it is one file with {} (a hard link)",
                self.shown(name),
                path.display()
            );
            let root = self
                .roots
                .iter()
                .find(|root| name.starts_with(root))
                .map_or(name.as_path(), PathBuf::as_path);
            let came_of_it = match written_again(root, name, (path, before)) {
                Ok(Some(aside)) => format!(
                    "what was there is there again, and what was written lies as `{}`",
                    self.shown(&aside)
                ),
                Ok(None) => "what was there is there again".to_owned(),
                Err(error) => {
                    format!("it could not be written again ({error}), so look at it before a program uses it")
                }
            };
            done.done.push(DoneToPlace {
                told: format!("{what}, which programs take what they run from: {came_of_it}"),
                brief: format!("{what}: {came_of_it}"),
            });
        }
    }
}

/// Gives the file back what was in it. Answers where there is a copy of what was written, as far as one could be made.
fn written_again(
    root: &Path,
    name: &Path,
    (path, before): (&Path, &AutorunFileState),
) -> io::Result<Option<PathBuf>> {
    let AutorunFileState::File { bytes: Some(bytes), mode, .. } = before else {
        return Err(io::Error::other("what was there was not kept"));
    };
    let is_it = |file: &File| -> io::Result<()> {
        match before.is_of(&file.metadata()?) {
            true => Ok(()),
            false => Err(io::Error::other("another file lies there by now")),
        }
    };
    let mut file = regular_file::open_to_write(path).or_else(|_| {
        // A command may have taken the rights to it.
        regular_file::set_mode_if(path, *mode | OF_OWNER, |found| before.is_of(found))?;
        regular_file::open_to_write(path)
    })?;
    is_it(&file)?;
    let mut written = Vec::new();
    (&file).take(MOST_COPIED).read_to_end(&mut written)?;
    file.rewind()?;
    let restored = file.write_all(bytes).and_then(|()| file.set_len(bytes.len() as u64));
    if let Err(error) = restored {
        // A part of it, and a part of what was written, is worse than nothing.
        file.set_len(0)?;
        return Err(io::Error::other(format!("it is empty now: {error}")));
    }
    file.set_permissions(fs::Permissions::from_mode(*mode))?;
    let aside = (written != *bytes).then(|| copied_aside(root, name, &written)).transpose();
    Ok(aside.unwrap_or_else(|error| {
        tracing::warn!(%error, file = %name.display(), "what a command wrote to a file of the home is not kept");
        None
    }))
}

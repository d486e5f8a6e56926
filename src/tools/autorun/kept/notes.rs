//! Where is it noted what a command is watched for, so that the next daemon sees to it where this one is killed?
//!
//! A process that is killed loses nothing of what it has written, so no note waits for the disk, and each goes with its command. Only where
//! the machine itself stops one may be lost.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::artifacts::{make_folders, private_file};
use sys::{ids, regular_file};

/// Below the state folder.
const FOLDER: &str = "autorun";
/// The end of a note's name while it is written.
const DRAFT: &str = ".draft";
/// Bytes of a note that are read. What is noted of files has a bound of its own.
const LONGEST: u64 = 64 << 20;

/// The folder in which notes are kept; by default none are. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct AutorunNotes(Option<PathBuf>);

/// A note on the disk, gone when this is dropped.
#[derive(Debug)]
pub struct AutorunNoteFile(PathBuf);

impl AutorunNotes {
    pub fn new(state_dir: &Path) -> AutorunNotes {
        AutorunNotes(Some(state_dir.join(FOLDER)))
    }

    /// True if nobody keeps a state here.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Writes one. `None` = nobody keeps a state here. Blocks for a moment.
    pub fn write(&self, text: &[u8]) -> io::Result<Option<AutorunNoteFile>> {
        let Some(folder) = &self.0 else { return Ok(None) };
        let file = AutorunNoteFile(folder.join(ids::fresh::<String>()));
        match file.replace(text) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_folders(folder)?;
                file.replace(text)?;
            }
            written => written?,
        }
        Ok(Some(file))
    }

    /// The notes of a daemon that was killed, each with its text if it can be read. Each goes when its file is dropped.
    pub fn left(&self) -> Vec<(AutorunNoteFile, Option<Vec<u8>>)> {
        let entries = self.0.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let files: Vec<_> = entries.map(|entry| AutorunNoteFile(entry.path())).collect();
        let is_note = |file: &AutorunNoteFile| file.0.extension().is_none();
        // Of one that was not written to its end the command never began, or there is an older one.
        let (notes, drafts): (Vec<_>, Vec<_>) = files.into_iter().partition(is_note);
        drop(drafts);
        let text = |file: &AutorunNoteFile| regular_file::read_bounded(&file.0, LONGEST).ok().flatten();
        let notes = notes.into_iter().map(|file| {
            let text = text(&file);
            (file, text)
        });
        notes.collect()
    }
}

impl AutorunNoteFile {
    /// Has another text in it, at once or not at all. Blocks for a moment.
    pub fn replace(&self, text: &[u8]) -> io::Result<()> {
        let mut draft = self.0.clone().into_os_string();
        draft.push(DRAFT);
        let written =
            private_file(Path::new(&draft)).and_then(|mut file| io::Write::write_all(&mut file, text));
        let replaced = written.and_then(|()| fs::rename(&draft, &self.0));
        if replaced.is_err() {
            // Of a full disk it would keep the room.
            let _never_made = fs::remove_file(&draft);
        }
        replaced
    }
}

impl Drop for AutorunNoteFile {
    fn drop(&mut self) {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.0.display(), %error, "what was noted of a command cannot be removed");
            }
            _ => (),
        }
    }
}

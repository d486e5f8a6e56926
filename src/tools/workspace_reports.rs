//! What became of workspaces that a person should know of: what was put right or aside, and what could not be watched?
//!
//! The log of the daemon says it at once; this keeps it for the person who was not there, over restarts.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::artifacts::{make_folders, replace_durably};
use protocol::Timestamp;
use sys::regular_file;

/// Below the state folder.
const FILE: &str = "workspace-reports.json";
const DRAFT: &str = "workspace-reports.draft";
/// Reports that are kept: the last ones.
const MOST: usize = 100;
/// Bytes of the file that are read: reports are lines with a few paths.
const LONGEST: u64 = 4 << 20;
/// Letters of a report.
const LONGEST_REPORT: usize = 4_000;
/// A report is told for so many seconds: two weeks.
const TOLD_FOR: i64 = 14 * 24 * 3_600;

/// The place where they are kept. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceReports(Option<Arc<ReportsFile>>);

#[derive(Debug)]
struct ReportsFile {
    state_dir: PathBuf,
    turn: Mutex<()>,
}

/// One of them, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceReport {
    /// The last time that it happened.
    pub at: Timestamp,
    pub text: String,
}

impl WorkspaceReports {
    pub fn new(state_dir: &Path) -> WorkspaceReports {
        let state_dir = state_dir.to_owned();
        WorkspaceReports(Some(Arc::new(ReportsFile { state_dir, turn: Mutex::default() })))
    }

    /// Keeps these for the person. The same again is one that happened later. Blocks.
    pub fn add(&self, texts: impl IntoIterator<Item = String>) {
        let texts: Vec<String> = texts.into_iter().collect();
        let Some(file) = self.0.as_ref().filter(|_| !texts.is_empty()) else { return };
        // Nothing panics while it is held.
        let _turn = file.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let at = now();
        let mut reports = file.read(at);
        for text in texts {
            let text: String = text.chars().take(LONGEST_REPORT).collect();
            reports.retain(|report| report.text != text);
            reports.push(WorkspaceReport { at, text });
        }
        reports.drain(..reports.len().saturating_sub(MOST));
        let written = serde_json::to_vec(&reports).map_err(std::io::Error::other).and_then(|bytes| {
            make_folders(&file.state_dir)?;
            replace_durably(&file.state_dir.join(FILE), &file.state_dir.join(DRAFT), &bytes)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "what was done in workspaces is told here alone");
        }
    }

    /// The reports of the last weeks, the oldest first. Blocks.
    pub fn recent(&self) -> Vec<WorkspaceReport> {
        let Some(file) = &self.0 else { return Vec::new() };
        let _turn = file.turn.lock().unwrap_or_else(PoisonError::into_inner);
        file.read(now())
    }
}

impl ReportsFile {
    fn read(&self, now: Timestamp) -> Vec<WorkspaceReport> {
        let path = self.state_dir.join(FILE);
        if fs::symlink_metadata(&path).is_err() {
            return Vec::new();
        }
        let bytes = regular_file::read_bounded(&path, LONGEST).ok().flatten();
        let read = bytes.and_then(|bytes| serde_json::from_slice::<Vec<WorkspaceReport>>(&bytes).ok());
        let mut reports = read.unwrap_or_else(|| {
            let text = format!("`{}` cannot be read; what it told is unknown", path.display());
            vec![WorkspaceReport { at: now, text }]
        });
        reports.retain(|report| now.0 - report.at.0 < TOLD_FOR * 1_000_000);
        reports
    }
}

/// The time of files, which is the wall's.
fn now() -> Timestamp {
    let (seconds, nanoseconds) = sys::clock::file_time();
    Timestamp(seconds * 1_000_000 + nanoseconds / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_outlive_the_daemon_each_is_told_once_and_old_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let reports = WorkspaceReports::new(folder.path());
        assert!(reports.recent().is_empty());
        reports.add(["one".to_owned(), "two".to_owned()]);
        reports.add(["one".to_owned()]);
        let again = WorkspaceReports::new(folder.path());
        let texts = |of: &WorkspaceReports| of.recent().into_iter().map(|it| it.text).collect::<Vec<_>>();
        assert_eq!(texts(&again), ["two", "one"]);
        let old = WorkspaceReport { at: Timestamp(now().0 - TOLD_FOR * 1_000_000), text: "old".to_owned() };
        fs::write(folder.path().join(FILE), serde_json::to_vec(&[old]).unwrap()).unwrap();
        assert!(texts(&again).is_empty());
        again.add((0..2 * MOST).map(|number| number.to_string()));
        assert_eq!(texts(&again).len(), MOST);
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(texts(&again)[0].contains("cannot be read"));
    }
}

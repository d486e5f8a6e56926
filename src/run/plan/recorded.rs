//! Where is what a run's models say recorded, and what if it cannot be?

use std::path::{Path, PathBuf};

use super::PlanError;
use crate::resources::RunResources;
use models::RecordingWriter;

/// The recording of a run that is to start; without it, it does not.
pub(super) fn begin(path: PathBuf, supplies: &RunResources) -> Result<RecordingWriter, PlanError> {
    supplies.models.recordings().begin(&path).map_err(|problem| PlanError::Recording { path, problem })
}

/// The recording of a run that is taken up. The run matters more than its recording.
pub(super) fn go_on(path: &Path, supplies: &RunResources) -> Option<RecordingWriter> {
    match supplies.models.recordings().go_on(path) {
        Ok(recording) => Some(recording),
        Err(problem) => {
            tracing::warn!(path = %path.display(), %problem, "a run goes on without being recorded any further");
            None
        }
    }
}

/// Where a run that is taken up finds its recording.
pub(super) fn place(recording: Option<&RecordingWriter>) -> Option<String> {
    // Requests are UTF-8, so nothing is lost.
    recording.map(|recording| recording.path().to_string_lossy().into_owned())
}

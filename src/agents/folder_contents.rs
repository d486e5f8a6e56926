//! What was read in one folder of agents?

use std::{path::PathBuf, sync::Arc};

use super::{file::AgentFile, places::AgentPlace};
use protocol::FileProblem;

/// The agents' files of one folder, as they were read. As long as nothing changes it is the same value.
pub struct FolderContents {
    pub place: AgentPlace,
    /// Sorted by path.
    pub files: Vec<CachedAgentFile>,
    pub problems: Vec<FileProblem>,
}

/// A file as it was read.
#[derive(Clone)]
pub struct CachedAgentFile {
    pub path: PathBuf,
    pub file: Arc<AgentFile>,
}

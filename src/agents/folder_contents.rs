//! What was read in one folder of agents?

use std::{path::PathBuf, sync::Arc};

use super::{file::AgentFile, places::AgentPlace};
use protocol::FileProblem;

/// What was read in one folder. As long as nothing changes it is the same one.
pub struct FolderContents {
    pub place: AgentPlace,
    /// By path.
    pub files: Vec<CachedAgentFile>,
    pub problems: Vec<FileProblem>,
}

/// A file as it was read.
#[derive(Clone)]
pub struct CachedAgentFile {
    pub path: PathBuf,
    pub file: Arc<AgentFile>,
}

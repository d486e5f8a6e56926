//! What holds in a workspace, its agents among it, and who changes that now?

use std::{path::PathBuf, sync::Arc};

use tokio::{sync::Mutex, task::JoinError};

use project::{Project, ProjectReader};
use web::WebClient;

/// The files that workspaces and people bring along: agents, rules, skills, and what of them counts.
pub(super) struct WorkspaceSources {
    /// What workspaces bring along, and what of it counts; the rules in force among it.
    pub projects: ProjectReader,
    /// Held by whoever changes what people trust.
    pub trust_changes: Mutex<()>,
    /// Held by whoever tells what changed of the agents' files; it is taken after `trust_changes`.
    pub agent_changes: Mutex<()>,
    /// Held by whoever fetches agents' files from elsewhere.
    pub fetches: Mutex<()>,
    /// The way into the web.
    pub web: Arc<WebClient>,
}

impl WorkspaceSources {
    pub fn new(projects: ProjectReader, web: Arc<WebClient>) -> WorkspaceSources {
        WorkspaceSources {
            projects,
            trust_changes: Mutex::default(),
            agent_changes: Mutex::default(),
            fetches: Mutex::default(),
            web,
        }
    }

    /// What holds in a workspace, its agents among it. Reads files, so it leaves the async threads alone.
    pub async fn project(&self, roots: Vec<PathBuf>) -> Result<Arc<Project>, JoinError> {
        let projects = self.projects.clone();
        tokio::task::spawn_blocking(move || Arc::new(projects.load(&roots))).await
    }
}

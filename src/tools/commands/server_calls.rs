//! What keeps files that other programs run by themselves as they are while a server is at a call?
//!
//! A server goes on for as long as anybody wants, so nobody could tell at its end what it wrote from what a person did meanwhile. A call is
//! short, and an agent's: what comes while it goes on is treated as a command's work.

use std::path::{Path, PathBuf};

use super::CommandRuntime;
use crate::{
    autorun::{self, AutorunGuard, WritesTold},
    repositories::{GuardedSettings, RepositoriesBelow, RepositoryGuard},
    work,
};
use sandbox::SandboxMechanism;

/// A look at the workspace that ends with the call.
pub struct ServerCallWatch {
    autorun: AutorunGuard,
    /// Where no mount keeps git's settings and hooks.
    _repositories: Option<RepositoryGuard>,
}

impl ServerCallWatch {
    /// Puts aside what is not to be there, and answers in words what was done.
    pub async fn finish(self) -> Vec<String> {
        work::aside(move || {
            let mut watch = self;
            watch.autorun.finish()
        })
        .await
    }
}

impl CommandRuntime {
    /// Takes note of what lies in these folders, absolute and without links, in which the program of a server can write. The error is why it
    /// cannot be noted.
    pub async fn watch_server_call(&self, roots: &[PathBuf]) -> Result<ServerCallWatch, String> {
        let has_covers = matches!(self.sandbox.mechanism().await, SandboxMechanism::Bubblewrap { .. });
        let (roots, known, notes) = (roots.to_vec(), self.repositories.clone(), self.notes.clone());
        let (guards, watched, hidden) =
            (self.guards.clone(), self.autorun.clone(), self.sandbox.hidden().clone());
        let looked = work::aside(move || {
            let found = RepositoriesBelow::find(&roots, None, &known);
            let (secrets, names) = (hidden.names_of_secrets(), hidden.names());
            let secrets = secrets.iter().map(PathBuf::as_path);
            // A mount of the server's is gone where somebody put another file in a place, and what came since it began has none.
            let further = autorun::further_places(&roots, &found.repositories, secrets, (&names, false))?;
            let repositories = match has_covers {
                true => None,
                false => {
                    let settings = GuardedSettings::Written { named: Vec::new(), is_at_once: false };
                    let mut guard = RepositoryGuard::over(&roots, &found, settings, None, &guards);
                    guard.note_in(&notes)?;
                    Some(guard)
                }
            };
            let told = WritesTold { is_of_server: true, ..WritesTold::default() };
            let records = (notes.reports(), &watched, Path::new(""));
            let (autorun, _) = AutorunGuard::over(&roots, further, told, false, records)?;
            Ok(ServerCallWatch { autorun, _repositories: repositories })
        });
        looked.await.map_err(|error: std::io::Error| error.to_string())
    }
}

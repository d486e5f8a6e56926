//! Are the files that a server is started with the ones that were looked at?
//!
//! Between a look at a file and the program that reads it there is a moment in which a command of an agent could put another file
//! there, and the right one back afterwards. So no such command goes on while a server begins.

use std::{path::Path, sync::Arc};

use super::{McpHost, McpServerInstance, lock};
use crate::{
    commands::{ServerFiles, StillHold},
    work,
};
use project::{OwnServerFile, OwnServerPlace};

/// A server's files, kept from commands for as long as it is known.
#[derive(Debug, Default)]
pub(super) struct UnchangedFiles {
    files: ServerFiles,
    hold: Option<StillHold>,
}

impl McpServerInstance {
    /// Sees to it that nobody can exchange what it is started with until the answer is dropped. `None` = there is nothing of the kind. In
    /// words why it cannot begin now.
    pub(super) async fn unchanged(&self, host: &Arc<dyn McpHost>) -> Result<Option<StillHold>, String> {
        // Of an extension no file lies in a workspace.
        if self.origin.extension().is_some() {
            return Ok(None);
        }
        let is_own = self.origin.is_own();
        if !self.entry.is_program() {
            return Ok(None);
        }
        let (projects, roots, transport) =
            (host.projects().clone(), self.roots.clone(), self.entry.transport.clone());
        let worked = host.program_log().owner_programs().worked_folders();
        let files = work::aside(move || {
            if is_own {
                let found = projects.files_of_own_server(&roots, &worked, &transport);
                // Of a place alone there is nothing to be kept: commands do not write there. A folder is where agents work.
                let is_kept = |file: &OwnServerFile| {
                    let is_place =
                        matches!(file.by_name, Some(OwnServerPlace::PlaceAlone | OwnServerPlace::Folder));
                    file.is_of_agents && !is_place
                };
                let files = found.files.into_iter().filter(is_kept).map(|file| file.path);
                return ServerFiles { files: files.collect(), links: found.links };
            }
            let found = projects.programs_of_server(&roots, &transport);
            let files = found.programs.iter().map(|it| Path::new(&it.root).join(&it.path)).collect();
            ServerFiles { files, links: found.links }
        })
        .await;
        let still = host.commands().still_files();
        if !files.is_empty() {
            // Commands that begin from now on are kept from them, and so are not waited for.
            let mut kept = lock(&self.unchanged);
            if kept.files != files || kept.hold.is_none() {
                *kept = UnchangedFiles { hold: Some(still.keep(files.clone())), files: files.clone() };
            }
        } else {
            *lock(&self.unchanged) = UnchangedFiles::default();
            return Ok(None);
        }
        let held = still.begin(&files);
        let first = files.files.first().or(files.links.first());
        held.map(Some).ok_or_else(|| {
            let path = first.map(|path| path.display().to_string()).unwrap_or_default();
            format!(
                "it is started with {path}, and a command of an agent goes on that could exchange that meanwhile; it begins when the \
                 command has ended"
            )
        })
    }
}

//! Which files is a server of the user's own started with, and which of them may an agent have written?

use std::path::{Path, PathBuf};

use super::{
    ProjectReader,
    programs::{self, ServerOwner, ServerPrograms, digest_of_place},
};
use protocol::McpTransport;
use sys::{beyond_reach::FileOwner, programs::is_roots_alone, worked_folders::WorkedFolders};

/// A file that a server of the user's own is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnServerFile {
    /// Absolute, without links.
    pub path: PathBuf,
    /// `None` = it cannot be read, or is too large. Of one of which only the place counts a digest of that.
    pub digest: Option<String>,
    /// An agent may have written it.
    pub is_of_agents: bool,
    /// It was found in the `PATH`, or is no file.
    pub by_name: Option<OwnServerPlace>,
}

/// The way in which something counts that is more than a file by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnServerPlace {
    /// What is there counts.
    Content,
    /// It may change there: nobody but the person writes into the folder.
    PlaceAlone,
    /// A folder in which agents work, and in which is looked for what the server runs: no file there is known that says it, so
    /// anything in the folder counts, whatever it becomes.
    Folder,
}

/// Everything that a server of the user's own is started with.
#[derive(Debug, Default)]
pub struct OwnServerFiles {
    pub files: Vec<OwnServerFile>,
    /// Links where agents work, on the way to them or out of there: another one leads to another program.
    pub links: Vec<PathBuf>,
}

impl ProjectReader {
    /// The files that a server of the user's own is started with, wherever they lie but where only root writes, those apart that are
    /// too large to be noted and lie where no agent works. It runs in none of the
    /// workspace's folders unless its entry says so. `worked`: the folders in which agents work or have worked, who may write there
    /// as well as in those that a person trusts. Blocks on the file system.
    pub fn files_of_own_server(
        &self,
        roots: &[String],
        worked: &WorkedFolders,
        transport: &McpTransport,
    ) -> OwnServerFiles {
        /// Holds what lies in no folder of agents.
        const EVERYWHERE: &str = "/";
        let trust = self.trust();
        let trusted = trust.workspaces().filter(|(_, trusted)| *trusted).map(|(root, _)| root.to_owned());
        let agents: Vec<String> = roots.iter().cloned().chain(trusted).collect();
        let all: Vec<String> = agents.iter().cloned().chain([EVERYWHERE.to_owned()]).collect();
        let has_folder = matches!(transport, McpTransport::Stdio { cwd: Some(_), .. });
        let base = roots.first().map(String::as_str).filter(|_| has_folder);
        let ServerPrograms { programs, links, places, unknown_folders } = programs::of_server(
            ServerOwner::Person,
            (&all, base),
            transport,
            &self.shared.environment,
            &trust,
        );
        let user = FileOwner::of_process();
        let is_of_agents = |path: &Path| {
            let lies_there =
                agents.iter().any(|root| path.starts_with(root)) || worked.holding(path).is_some();
            lies_there && !user.cannot_change(path)
        };
        let files = programs.into_iter().map(|it| {
            let path = Path::new(&it.root).join(&it.path);
            let is_by_name = places.iter().any(|place| place.canonicalize().is_ok_and(|real| real == path));
            let digest = if is_by_name { programs::digest_by_name(&path) } else { it.digest };
            let by_name = is_by_name.then_some(OwnServerPlace::Content);
            OwnServerFile { is_of_agents: is_of_agents(&path), path, digest, by_name }
        });
        let can_be_noted = |file: &OwnServerFile| file.digest.is_some() && !is_roots_alone(&file.path);
        let mut files: Vec<OwnServerFile> =
            files.filter(|file| file.is_of_agents || can_be_noted(file)).collect();
        for path in places {
            if !files.iter().any(|file| file.path == path) {
                let digest = Some(digest_of_place(&path));
                let by_name = Some(OwnServerPlace::PlaceAlone);
                files.push(OwnServerFile { is_of_agents: is_of_agents(&path), path, digest, by_name });
            }
        }
        let has_agents = |folder: &Path| {
            agents.iter().any(|root| folder.starts_with(root))
                || worked.is_one(folder)
                || worked.holding(folder).is_some()
        };
        files.extend(unknown_folders.into_iter().filter(|it| has_agents(it)).map(|path| {
            let digest = Some(digest_of_place(&path));
            OwnServerFile { path, digest, is_of_agents: true, by_name: Some(OwnServerPlace::Folder) }
        }));
        OwnServerFiles { files, links: links.into_iter().filter(|link| is_of_agents(link)).collect() }
    }
}

#[cfg(test)]
mod tests;

//! Is a server of the user's own started with the files that it was first started with, or that a person acknowledged since?
//!
//! Its words are the user's, but a file of a workspace that they name is whatever an agent made of it. The log keeps which files
//! these were (`program.noted`), so it makes no difference whether the daemon was started in between.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::{McpHost, McpServerInstance};
use crate::mcp::origin::ServerOrigin;
use crate::{digest, work};
use project::ProjectReader;
use protocol::{
    McpServerConfig, McpTransport, NotedProgram, NotedProgramFile, ProgramId, ProgramNoted, ProgramSource,
    TrustedFile,
};

/// Files by absolute paths; without a digest they cannot be read.
type WorkspaceFiles = BTreeMap<String, Option<String>>;

impl McpServerInstance {
    /// A file of a workspace that became another one, or came to be, since it was noted. A server that was never started is noted.
    pub(super) async fn other_than_noted(&self, host: &Arc<dyn McpHost>) -> Option<String> {
        if self.origin != ServerOrigin::User {
            return None;
        }
        let now = files(host.projects(), &self.roots, &self.entry).await;
        if let Some((path, _)) = now.iter().find(|(_, digest)| digest.is_none()) {
            return Some(format!("it is started with {path}, which cannot be read"));
        }
        let log = host.program_log();
        let id = id(&self.name, &self.roots, &self.entry);
        let noted = match log.get(&id) {
            Some(noted) => noted,
            None if now.is_empty() && !names_files(&self.entry) => return None,
            None => program(&self.name, id, &self.roots, Vec::new()),
        };
        let is_new = log.get(&noted.id).is_none();
        let mut unknown = Vec::new();
        for (path, digest) in &now {
            match noted.files.iter().find(|file| file.path == *path) {
                Some(file) if Some(&file.digest) == digest.as_ref() => (),
                // Of another workspace, which was not trusted yet when the server was noted.
                None if is_new || !self.roots.iter().any(|root| Path::new(path).starts_with(root)) => {
                    let digest = digest.clone()?;
                    unknown.push(TrustedFile { path: path.clone(), digest });
                }
                Some(_) | None => {
                    return Some(format!(
                        "it is started with {path}, which is another file than when it was first started; look at it, and if it \
                         is right, acknowledge it: `subagent trust --programs`"
                    ));
                }
            }
        }
        if is_new || !unknown.is_empty() {
            let files = noted.files.iter().cloned().chain(unknown).collect();
            let noted = ProgramNoted { files, acknowledged: false, ..noted };
            if let Err(error) = log.note(vec![noted], None).await {
                return Some(format!("which files it is started with could not be noted: {error}"));
            }
        }
        None
    }
}

/// The servers of the user's own that were started with files of a workspace, as they were noted and as they are. Those that the
/// settings have no more, or otherwise, are none.
pub async fn comparisons(
    host: &Arc<dyn McpHost>,
    servers: &BTreeMap<String, McpServerConfig>,
) -> Vec<NotedProgram> {
    let mut compared = Vec::new();
    for noted in host.program_log().servers() {
        let Some(entry) = servers.get(&noted.name) else { continue };
        if id(&noted.name, &noted.workspace, entry) != noted.id {
            continue;
        }
        let mut now = files(host.projects(), &noted.workspace, entry).await;
        let mut compare = |file: &TrustedFile| NotedProgramFile {
            path: file.path.clone(),
            noted: Some(file.digest.clone()),
            now: now.remove(&file.path).flatten(),
        };
        let mut all: Vec<NotedProgramFile> = noted.files.iter().map(&mut compare).collect();
        // What is gone is no other code; what came to be is.
        let is_other = all.iter().any(|file| file.now.is_some() && file.now != file.noted);
        let in_workspace = |path: &str| noted.workspace.iter().any(|root| Path::new(path).starts_with(root));
        let is_more = now.keys().any(|path| in_workspace(path));
        all.extend(now.into_iter().map(|(path, now)| NotedProgramFile { path, noted: None, now }));
        let ProgramNoted { id, source, name, workspace, .. } = noted;
        compared.push(NotedProgram { id, source, name, workspace, files: all, changed: is_other || is_more });
    }
    compared
}

fn program(name: &str, id: ProgramId, roots: &[String], files: Vec<TrustedFile>) -> ProgramNoted {
    ProgramNoted {
        id,
        source: ProgramSource::McpServer,
        name: name.to_owned(),
        workspace: roots.to_vec(),
        files,
        acknowledged: false,
    }
}

/// Another entry is another program, and so is the same one in another workspace.
fn id(name: &str, roots: &[String], entry: &McpServerConfig) -> ProgramId {
    let McpTransport::Stdio { command, args, env, cwd } = &entry.transport else {
        return ProgramId(digest::of_parts(["server", name]));
    };
    let counts = [roots.len(), args.len(), env.len()].map(|count| count.to_string());
    let counts = counts.iter().map(String::as_str);
    let words = roots.iter().chain([command]).chain(args).map(String::as_str);
    let variables = env.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    let parts = ["server", name].into_iter().chain(counts).chain(words).chain(variables);
    ProgramId(digest::of_parts(parts.chain(cwd.as_deref())))
}

/// True if its words lead to any file: one that is no workspace's now may be a link that an agent lays elsewhere.
fn names_files(entry: &McpServerConfig) -> bool {
    match &entry.transport {
        McpTransport::Stdio { command, args, env, cwd } => {
            cwd.is_some()
                || [command].into_iter().chain(args).chain(env.values()).any(|word| word.contains('/'))
        }
        McpTransport::Http { .. } => false,
    }
}

/// The files that it is started with, of its workspace and of every other that a person trusts: an agent may write there, too.
async fn files(projects: &ProjectReader, roots: &[String], entry: &McpServerConfig) -> WorkspaceFiles {
    let (projects, roots, entry) = (projects.clone(), roots.to_vec(), entry.clone());
    work::aside(move || {
        let programs = projects.programs_of_own_server(&roots, &entry.transport).programs.into_iter();
        programs.map(|it| (format!("{}/{}", it.root, it.path), it.digest)).collect()
    })
    .await
}

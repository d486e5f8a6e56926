//! Is a server of the user's own started with the files that it was first started with, or that a person acknowledged since?
//!
//! Its words are the user's, but a file that they name is whatever an agent made of it where agents work. The log keeps which files
//! these were (`program.noted`), so it makes no difference whether the daemon was started in between.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::{McpHost, McpServerInstance};
use crate::{digest, work};
use project::{OwnServerFile, OwnServerPlace, digest_of_place};
use protocol::{
    AgentName, McpServerConfig, McpTransport, NotedProgram, NotedProgramFile, ProgramId, ProgramNoted,
    ProgramSource, TrustedFile,
};

/// Files by absolute paths; without a digest they cannot be read.
type WorkspaceFiles = BTreeMap<String, Option<String>>;

impl McpServerInstance {
    /// A file that an agent may have written, and that became another one, or came to be, since it was noted. A server that was never
    /// started is noted; so is what the user changed where no agent works.
    pub(super) async fn other_than_noted(&self, host: &Arc<dyn McpHost>) -> Option<String> {
        if !self.origin.is_own() {
            return None;
        }
        let name = program_name(self.origin.agent(), &self.name);
        let now = files(host, &self.roots, &self.entry).await;
        if let Some(file) = now.iter().find(|file| file.is_of_agents && file.digest.is_none()) {
            return Some(format!("it is started with {}, which cannot be read", file.path.display()));
        }
        let log = host.program_log();
        let id = id(&name, &self.roots, &self.entry);
        let before = log.get(&id);
        if before.is_none() && now.is_empty() && !names_files(&self.entry) {
            return None;
        }
        let mut noted: WorkspaceFiles = before.iter().flat_map(noted_files).collect();
        let mut is_other = before.is_none();
        // One that an older daemon wrote says nothing of where names led.
        let of_before = before.iter().flat_map(|it| &it.files);
        let knows_places = of_before.into_iter().any(|it| it.digest == digest_of_place(Path::new(&it.path)));
        let mut unlooked = None;
        for OwnServerFile { path, digest, is_of_agents, by_name } in now {
            let path = path.to_string_lossy().into_owned();
            if digest.is_some() && noted.get(&path) == Some(&digest) {
                continue;
            }
            // A file is what it is for whichever workspace a server is started.
            let mut known: Vec<ProgramNoted> = log.servers();
            if by_name == Some(OwnServerPlace::Folder) {
                // What another server may take from there says nothing of this one.
                known.retain(|it| it.name == name);
                let is_acknowledged =
                    known.iter().flat_map(noted_files).any(|it| (it.0 == path) && it.1 == digest);
                if is_acknowledged {
                    is_other |= noted.insert(path, digest).is_none();
                } else {
                    unlooked.get_or_insert(path);
                }
                continue;
            }
            let mut elsewhere =
                known.iter().flat_map(noted_files).filter(|(other, _)| *other == path).peekable();
            let is_known_elsewhere = elsewhere.peek().is_some();
            let is_same_elsewhere = elsewhere.any(|(_, other)| other == digest);
            let is_noted_first = by_name.is_some() && !knows_places && !is_known_elsewhere;
            if is_of_agents
                && !is_same_elsewhere
                && !is_noted_first
                && (before.is_some() || is_known_elsewhere)
            {
                if by_name.is_some() && !noted.contains_key(&path) {
                    return Some(other_place(&path, &noted));
                }
                return Some(format!(
                    "it is started with {path}, which is another file than when it was first started; look at it, and if it \
                     is right, acknowledge it: `subagent trust --programs`"
                ));
            }
            is_other |= noted.insert(path, digest.clone()) != Some(digest);
        }
        if is_other {
            let files =
                noted.into_iter().filter_map(|(path, digest)| Some(TrustedFile { path, digest: digest? }));
            let noted = program(&name, id, &self.roots, files.collect());
            if let Err(error) = log.note(vec![noted], None).await {
                return Some(format!("which files it is started with could not be noted: {error}"));
            }
        }
        unlooked.map(|path| {
            format!(
                "its words or variables have it look in {path} for what it runs, and agents work there: no file of it is known that could be \
                 held to what it is; name the file by its full path, or, if agents may decide what the server runs, acknowledge the folder: \
                 `subagent trust --programs`"
            )
        })
    }
}

/// Says that a name leads elsewhere by now.
fn other_place(path: &str, noted: &WorkspaceFiles) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_same = |other: &&String| other.rsplit('/').next() == Some(name);
    let before = noted.keys().find(is_same).map_or_else(String::new, |other| format!(", and led to {other}"));
    format!(
        "the name `{name}` that it is started by leads to {path} now{before} when it was first started; look at it, and if it is \
         right, acknowledge it: `subagent trust --programs`"
    )
}

fn noted_files(noted: &ProgramNoted) -> impl Iterator<Item = (String, Option<String>)> + '_ {
    noted.files.iter().map(|file| (file.path.clone(), Some(file.digest.clone())))
}

/// The name by which people know a server of the user's own as a program that is noted: of an agent's own with the agent.
pub fn program_name(agent: Option<&AgentName>, server: &str) -> String {
    agent.map_or_else(|| server.to_owned(), |agent| format!("{agent}/{server}"))
}

/// The servers of the user's own that were started with files of a workspace, as they were noted and as they are. Those that
/// `servers` has no more, or otherwise, are none; it has them by [`program_name`].
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
        let now = files(host, &noted.workspace, entry).await;
        let mut before: WorkspaceFiles = noted_files(&noted).collect();
        // What is gone is no other code; what came to be is.
        let is_other = |file: &OwnServerFile| {
            let path = file.path.to_string_lossy();
            file.is_of_agents && before.get(path.as_ref()) != Some(&file.digest)
        };
        let changed = now.iter().any(is_other);
        let of_now = now.into_iter().map(|file| {
            let path = file.path.to_string_lossy().into_owned();
            NotedProgramFile { noted: before.remove(&path).flatten(), path, now: file.digest }
        });
        let mut all: Vec<NotedProgramFile> = of_now.collect();
        all.extend(before.into_iter().map(|(path, noted)| NotedProgramFile { path, noted, now: None }));
        all.sort_by(|one, other| one.path.cmp(&other.path));
        let ProgramNoted { id, source, name, workspace, .. } = noted;
        compared.push(NotedProgram { id, source, name, workspace, files: all, changed });
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

/// The files that it is started with, wherever they lie.
async fn files(host: &Arc<dyn McpHost>, roots: &[String], entry: &McpServerConfig) -> Vec<OwnServerFile> {
    let (projects, roots, entry) = (host.projects().clone(), roots.to_vec(), entry.clone());
    let worked = host.program_log().owner_programs().worked_folders();
    work::aside(move || projects.files_of_own_server(&roots, &worked, &entry.transport).files).await
}

//! What do files say that somebody brings along from anywhere, and how do they read in our format? (spec 02, "Foreign files")

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value, json};

mod format;

pub use format::format_of;

use super::{
    definition::claims,
    discovery::agent_files,
    export::{ExportedAgentFile, export},
    file::{AgentFile, LARGEST_FILE, written_keys},
    findings::FileFindings,
    foreign::StartStanding,
    names, places,
    write::with_fields,
};
use config::{problem, read_bounded};
use protocol::{
    AgentDefinition, AgentFileState, AgentFormat, AgentName, AgentScope, FileProblem,
    FileProblemCode::{BadValue, MissingField, UnknownField, Unreadable},
    ImportedAgentPermissions, McpTransport, ModelChoice, ProblemSeverity, ToolSelection,
};

/// The files that paths lead to.
#[derive(Debug, Default)]
pub struct AgentFilePaths {
    /// In the order of the paths, each once.
    pub files: Vec<PathBuf>,
    /// Of folders and files that could not be read.
    pub problems: Vec<FileProblem>,
}

/// The agent files at these paths, and below those that are folders; of a folder that has places of agents, as a workspace's
/// root has, what lies in those. A path that leads nowhere is a problem. Blocks on the file system.
pub fn sources(paths: &[PathBuf]) -> AgentFilePaths {
    let mut sources = AgentFilePaths::default();
    for path in paths {
        if path.is_dir() {
            let places: Vec<PathBuf> = places::of_project(path).filter(|place| place.is_dir()).collect();
            for folder in if places.is_empty() { vec![path.clone()] } else { places } {
                let found = agent_files(&folder, &mut |_| ());
                sources.problems.extend(found.problems);
                sources.files.extend(found.files.into_iter().map(|file| file.path));
            }
        } else if path.exists() {
            sources.files.push(path.clone());
        } else {
            sources.problems.push(problem(path, None, Unreadable, "is not there"));
        }
    }
    let mut met = HashSet::new();
    sources.files.retain(|path| met.insert(path.clone()));
    sources
}

/// An agent of a file that was brought along.
#[derive(Debug)]
pub struct ImportedAgentFile {
    pub name: AgentName,
    pub format: AgentFormat,
    pub state: AgentFileState,
    /// As its file says it.
    pub definition: Option<Arc<AgentDefinition>>,
    /// The whole file in our format; missing when it holds no agent that could be started here.
    pub text: Option<String>,
    /// What that agent may do.
    pub may: Option<ImportedAgentPermissions>,
    pub problems: Vec<FileProblem>,
}

/// Reads one file, of this format or of the one that it looks like. Mostly one agent; blocks on the file system.
pub fn bring(path: &Path, format: Option<AgentFormat>, scope: AgentScope) -> Vec<ImportedAgentFile> {
    let bytes = match read_bounded(path, LARGEST_FILE) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return vec![unread(path, format, problem(path, None, Unreadable, "is not there"))],
        Err(problem) => return vec![unread(path, format, problem)],
    };
    let mut quiet = FileFindings::of(path);
    let text = super::bytes::decode(&bytes, &mut quiet);
    // A file that says neither way is most likely one of Claude Code's: ours say what kind they are.
    let format = format.or_else(|| format_of(path, &text)).unwrap_or(AgentFormat::Claude);
    // An agent is what a file of ours is when it does not say (spec 02, `kind`).
    let with_kind = if format.is_own() { with_kind(&text) } else { None };
    let (bytes, added) = match &with_kind {
        Some((text, line)) => (text.as_bytes(), Some(*line)),
        None => (bytes.as_slice(), None),
    };
    let mut file = AgentFile::read(path, bytes, scope, format);
    // Lines are those of the file as it lies there.
    for problem in &mut file.problems {
        let below = added.and_then(|added| problem.line.filter(|line| added < *line));
        problem.line = below.map(|line| line - 1).or(problem.line);
    }
    let others = std::mem::take(&mut file.others);
    let own = with_kind.as_ref().map_or(&*text, |(text, _)| text);
    std::iter::once(file).chain(others).map(|file| brought(file, own, path, scope)).collect()
}

/// The text with the line that it lacks, and the number of that line; `None` where it says what kind it is, or has no fence.
fn with_kind(text: &str) -> Option<(String, u32)> {
    let says_kind =
        written_keys(text).iter().any(|(key, _)| key.trim_matches(['"', '\'']).eq_ignore_ascii_case("kind"));
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let fence = lines.iter().position(|line| !line.trim().is_empty())?;
    if says_kind || lines[fence].trim_end() != "---" {
        return None;
    }
    let (above, below) = lines.split_at(fence + 1);
    let line = u32::try_from(fence).ok()? + 2;
    Some((format!("{}kind: agent\n{}", above.concat(), below.concat()), line))
}

/// The name that an agent has in a folder where its own is taken: after the folder that it comes from, too. `None` where that
/// is none.
pub fn namespaced(source: &Path, name: &AgentName) -> Option<AgentName> {
    let folder = source.parent()?.file_name()?.to_string_lossy().into_owned();
    // Every product's folder is called so.
    let folder = match folder.as_str() {
        "agents" | "agent" => source.parent()?.parent()?.file_name()?.to_string_lossy().into_owned(),
        _ => folder,
    };
    // What a repository's URL ends in says nothing.
    let folder = names::proper(folder.trim_start_matches('.').trim_end_matches(".git"))?;
    let room = names::LONGEST_NAME.checked_sub(name.as_str().len() + 1)?;
    let folder = folder.as_str().get(..room).unwrap_or(folder.as_str()).trim_end_matches('-');
    let name = names::proper(&format!("{folder}-{name}"))?;
    names::taken(&name).is_none().then_some(name)
}

fn brought(file: AgentFile, own: &str, path: &Path, scope: AgentScope) -> ImportedAgentFile {
    let (mut problems, mut name) = (file.problems.clone(), file.name.clone());
    let ours = file.definition.as_ref().and_then(|definition| {
        let cannot = match file.standing {
            // Whichever product's words these are: nobody shall start by an import what was not to be started.
            StartStanding::Usual if says_so(own, &["disable", "disabled"], "true") => {
                Some("is switched off by its own file, and stays where it is")
            }
            StartStanding::Usual if is_remote(own) => {
                Some("is a remote agent, which cannot be started yet; it stays where it is")
            }
            StartStanding::Usual => None,
            StartStanding::SwitchedOff => Some("is switched off by its own file, and stays where it is"),
            StartStanding::Remote => {
                Some("is a remote agent, which cannot be started yet; it stays where it is")
            }
        };
        if let Some(cannot) = cannot {
            problems.push(problem(path, None, BadValue, cannot));
            return None;
        }
        let mut text = match file.format {
            // As its owner wrote it, with comments.
            AgentFormat::Own => own.to_owned(),
            _ => {
                let ExportedAgentFile { text, lost } = export(definition, &file.extras, AgentFormat::Own);
                for what in lost {
                    let found = problem(path, None, UnknownField, format!("is not taken along: {what}"));
                    problems.push(FileProblem { severity: ProblemSeverity::Warning, ..found });
                }
                text
            }
        };
        if definition.tools.inherits {
            let found = problem(
                path,
                None,
                MissingField,
                "names no tools, which means every tool there is; so it is here",
            );
            problems.push(FileProblem { severity: ProblemSeverity::Warning, ..found });
        }
        if file.format == AgentFormat::Own {
            let told = claims(definition).into_iter().map(|what| problem(path, None, BadValue, what));
            problems.extend(told.map(|found| FileProblem { severity: ProblemSeverity::Warning, ..found }));
        }
        // What is written here is called by a proper name.
        if !names::is_proper(name.as_str())
            && let Some(proper) = names::proper(name.as_str())
        {
            let renamed = Map::from_iter([("name".to_owned(), Value::from(proper.as_str()))]);
            if let Ok(edited) = with_fields(&text, &renamed) {
                let found = problem(
                    path,
                    None,
                    BadValue,
                    format!("is called `{proper}` from now on: `{name}` is no name that agents are made by"),
                );
                problems.push(FileProblem { severity: ProblemSeverity::Warning, ..found });
                (text, name) = (edited, proper);
            }
        }
        // What is written must be read again; an agent that would come out as another one is not brought in.
        let again = AgentFile::read(path, text.as_bytes(), scope, AgentFormat::Own);
        match again.definition {
            Some(ours) if again.name == name && says_the_same(&ours, definition) => Some((text, may(&ours))),
            _ => {
                let first = again.problems.first().map(ToString::to_string).unwrap_or_default();
                let message = format!("cannot be written in the format of this product: {first}");
                problems.push(problem(path, None, BadValue, message));
                None
            }
        }
    });
    let (text, may) = ours.unzip();
    let state = if text.is_some() { file.state } else { AgentFileState::Rejected };
    ImportedAgentFile { name, format: file.format, state, definition: file.definition, text, may, problems }
}

fn may(definition: &AgentDefinition) -> ImportedAgentPermissions {
    let ToolSelection { allow, deny, inherits, agents, servers, .. } = definition.selection();
    let auto_approve = definition.auto_approve.clone();
    let servers_of_own = definition.mcp.own.iter().map(|(name, server)| started(name, &server.transport));
    let hooks = definition.hooks.iter().map(|hooks| format!("hooks: {hooks}"));
    let starts = servers_of_own.chain(hooks).collect();
    ImportedAgentPermissions {
        tools: allow,
        servers,
        deny,
        inherits,
        agents,
        auto_approve,
        mcp_servers: starts,
    }
}

/// A server, and with which words it is started or where it is reached, with all that it is given.
fn started(name: &str, transport: &McpTransport) -> String {
    format!("{name}: {}", json!(transport))
}

/// True if an agent may do, and comes to do, what the other one does. Of all that a definition has, only what is left out here
/// may come out otherwise, since it takes nothing away: a field that is not known here must be the same.
fn says_the_same(ours: &AgentDefinition, theirs: &AgentDefinition) -> bool {
    let of = |it: &AgentDefinition| AgentDefinition {
        format: AgentFormat::Own,
        imported_from: None,
        version: None,
        color: None,
        description: None,
        model: ModelChoice::default(),
        completion: None,
        inputs: Vec::new(),
        output: None,
        initial_messages: Vec::new(),
        prompt_modules: false,
        prompt: String::new(),
        title: String::new(),
        name: ours.name.clone(),
        ..it.clone()
    };
    of(ours) == of(theirs)
}

/// True if a line of the front matter gives one of these fields this value.
fn says_so(text: &str, keys: &[&str], said: &str) -> bool {
    written_keys(text).iter().any(|(key, value)| {
        keys.iter().any(|known| key.trim_matches(['"', '\'']).eq_ignore_ascii_case(known))
            && value.split('#').next().unwrap_or_default().trim().eq_ignore_ascii_case(said)
    })
}

fn is_remote(text: &str) -> bool {
    let card = ["agent_card_url", "agentCardUrl", "agent-card-url"];
    says_so(text, &["kind"], "remote") || written_keys(text).iter().any(|(key, _)| card.contains(key))
}

fn unread(path: &Path, format: Option<AgentFormat>, problem: FileProblem) -> ImportedAgentFile {
    let file = AgentFile::unreadable(path, problem, format.unwrap_or_default());
    ImportedAgentFile {
        name: file.name,
        format: file.format,
        state: file.state,
        definition: None,
        text: None,
        may: None,
        problems: file.problems,
    }
}

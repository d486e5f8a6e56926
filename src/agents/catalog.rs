//! Which agents are there, and which one does a name mean? (spec 02, "Places and precedence")

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    builtin,
    discovery::agent_files,
    file::{AgentFile, LARGEST_FILE},
    names::title_case,
};
use crate::{
    config::{nearest, problem, read_bounded},
    protocol::{
        AgentDefinition, AgentName, AgentScope, AgentStatus, AgentSummary, FileProblem,
        FileProblemCode::{DuplicateName, Unreadable},
        Severity,
    },
};

/// Where project agents lie below a workspace's root.
const PROJECT_AGENTS: &str = ".subagentd/agents";

/// Places that do not depend on a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlaces {
    /// The user's agents folder, `<config>/agents`.
    pub user: PathBuf,
}

/// Every agent file that was found, and what each stands for.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// By name, then by precedence: the first of a name is the one that counts.
    entries: Vec<Entry>,
    problems: Vec<FileProblem>,
}

#[derive(Debug, Clone)]
struct Entry {
    file: AgentFile,
    scope: AgentScope,
    /// `None` for built-in agents.
    path: Option<PathBuf>,
    /// What is used instead.
    hidden_by: Option<String>,
}

/// What a name leads to.
#[derive(Debug, Clone)]
pub enum Found {
    /// It can be started.
    Ready { definition: Arc<AgentDefinition>, digest: String, scope: AgentScope },
    /// It comes from a workspace that nobody has trusted; the digest is what to acknowledge.
    Untrusted { digest: String, path: PathBuf },
    /// Its file has errors.
    Invalid(Vec<FileProblem>),
    /// No agent has this name.
    Unknown { nearest: Option<AgentName> },
}

impl Catalog {
    /// The agents that other agents may call, by name: those that can be started, are not hidden, and say when to call
    /// them (spec 02, `description` and `hidden`).
    pub fn callable(&self) -> impl Iterator<Item = (Arc<AgentDefinition>, String)> {
        let names: Vec<&AgentName> = self.entries.iter().map(|entry| &entry.file.name).collect();
        let is_first = |at: usize| at == 0 || names[at - 1] != names[at];
        let firsts: Vec<AgentName> =
            (0..names.len()).filter(|at| is_first(*at)).map(|at| names[at].clone()).collect();
        firsts
            .into_iter()
            .filter_map(|name| match self.find(&name) {
                Found::Ready { definition, digest, .. } => Some((definition, digest)),
                _ => None,
            })
            .filter(|(definition, _)| !definition.hidden && definition.description.is_some())
    }

    /// Reads the built-in, the user's and the workspace's agents. Blocks on the file system.
    pub fn load(places: &AgentPlaces, workspace_roots: &[PathBuf]) -> Catalog {
        let mut problems = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for root in workspace_roots {
            read_folder(&root.join(PROJECT_AGENTS), AgentScope::Project, &mut entries, &mut problems);
        }
        read_folder(&places.user, AgentScope::User, &mut entries, &mut problems);
        let builtin = |file| Entry { file, scope: AgentScope::Builtin, path: None, hidden_by: None };
        entries.extend(builtin::files().into_iter().map(builtin));
        // Stable: within one place the order of the paths decides among files that are equally good. A broken
        // file stands behind its neighbours of the same name, for it must not keep one from loading.
        entries.sort_by(|left, right| {
            let place = |entry: &Entry| (std::cmp::Reverse(entry.scope), entry.file.definition.is_none());
            left.file.name.cmp(&right.file.name).then_with(|| place(left).cmp(&place(right)))
        });
        hide_all_but_the_first(&mut entries);
        Catalog { entries, problems }
    }

    /// The agents by name, the one that counts before those it hides.
    pub fn list(&self, include_hidden: bool, include_invalid: bool) -> Vec<AgentSummary> {
        let is_listed = |entry: &&Entry| {
            (include_hidden || entry.hidden_by.is_none())
                && (include_invalid || entry.file.definition.is_some())
        };
        self.entries.iter().filter(is_listed).map(Entry::summary).collect()
    }

    /// The agent that a name or a built-in agent's alias means.
    pub fn find(&self, name: &AgentName) -> Found {
        let entry = self.first(name).or_else(|| self.first(&builtin::name_behind(name)?));
        let Some(entry) = entry else {
            let names = self.entries.iter().map(|entry| entry.file.name.as_str());
            return Found::Unknown { nearest: nearest(name.as_str(), names).map(AgentName::from) };
        };
        let digest = entry.file.digest.clone();
        match (&entry.file.definition, entry.scope, &entry.path) {
            (None, ..) => Found::Invalid(entry.file.problems.clone()),
            (Some(_), AgentScope::Project, Some(path)) => Found::Untrusted { digest, path: path.clone() },
            (Some(definition), scope, _) => Found::Ready { definition: definition.clone(), digest, scope },
        }
    }

    /// The definition in one file, or the built-in one, whether it counts or is hidden.
    pub fn definition(&self, name: &AgentName, path: Option<&Path>) -> Option<&Arc<AgentDefinition>> {
        let entry =
            self.entries.iter().find(|entry| entry.file.name == *name && entry.path.as_deref() == path)?;
        entry.file.definition.as_ref()
    }

    /// Folders that could not be read, and files whose names could not.
    pub fn problems(&self) -> &[FileProblem] {
        &self.problems
    }

    /// What a cloned repository brings cannot take the place of an agent that somebody trusts.
    fn first(&self, name: &AgentName) -> Option<&Entry> {
        let mut of_name = self.entries.iter().filter(|entry| entry.file.name == *name);
        of_name.clone().find(|entry| !entry.is_untrusted()).or_else(|| of_name.next())
    }
}

impl Entry {
    /// Nobody can trust a workspace yet.
    fn is_untrusted(&self) -> bool {
        self.scope == AgentScope::Project
    }

    fn status(&self) -> AgentStatus {
        if self.file.definition.is_none() {
            AgentStatus::Invalid
        } else if self.hidden_by.is_some() {
            AgentStatus::Hidden
        } else if self.is_untrusted() {
            AgentStatus::Untrusted
        } else {
            AgentStatus::Ok
        }
    }

    fn summary(&self) -> AgentSummary {
        let definition = self.file.definition.as_deref();
        let model = definition.and_then(|definition| definition.model.name.as_ref());
        let mut inputs: Vec<_> =
            definition.map(|definition| definition.inputs.iter().collect()).unwrap_or_default();
        inputs.sort_by_key(|input| !input.required);
        AgentSummary {
            name: self.file.name.clone(),
            title: definition
                .map_or_else(|| title_case(&self.file.name), |definition| definition.title.clone()),
            description: definition.and_then(|definition| definition.description.clone()),
            model: model.map_or_else(|| "inherit".to_owned(), ToString::to_string),
            scope: self.scope,
            status: self.status(),
            path: self.path.clone(),
            digest: self.file.digest.clone(),
            hidden_by: self.hidden_by.clone(),
            problems: self.file.problems.clone(),
            inputs: inputs.into_iter().map(|input| input.name.clone()).collect(),
        }
    }

    /// Where it is, in words.
    fn place(&self) -> String {
        self.path.as_ref().map_or_else(|| "built in".to_owned(), |path| path.display().to_string())
    }
}

fn read_folder(folder: &Path, scope: AgentScope, entries: &mut Vec<Entry>, problems: &mut Vec<FileProblem>) {
    let found = agent_files(folder);
    problems.extend(found.problems);
    for path in found.files {
        let file = match read_bounded(&path, LARGEST_FILE) {
            Ok(Some(bytes)) => AgentFile::read(&path, &bytes, scope),
            Ok(None) => AgentFile::unreadable(&path, problem(&path, None, Unreadable, "is gone")),
            Err(problem) => AgentFile::unreadable(&path, problem),
        };
        entries.push(Entry { file, scope, path: Some(path), hidden_by: None });
    }
}

/// The entries are sorted, so the first of each name is the one that counts. Untrusted agents are inert: they hide
/// nobody, and nobody of another place hides them. Two of one name in one place are
/// somebody's slip, and told; a higher place hiding a lower one is how places are meant to work.
fn hide_all_but_the_first(entries: &mut [Entry]) {
    let mut first = 0;
    for current in 1..entries.len() {
        let is_same_name = entries[current].file.name == entries[first].file.name;
        if !is_same_name || entries[current].is_untrusted() != entries[first].is_untrusted() {
            first = current;
            continue;
        }
        let used = entries[first].place();
        let is_slip = entries[current].scope == entries[first].scope;
        let entry = &mut entries[current];
        if let (true, Some(path)) = (is_slip, &entry.path) {
            let message = format!("the name `{}` is taken by {used}, which is used instead", entry.file.name);
            let severity = Severity::Warning;
            entry.file.problems.push(FileProblem { severity, ..problem(path, None, DuplicateName, message) });
        }
        entry.hidden_by = Some(used);
    }
}

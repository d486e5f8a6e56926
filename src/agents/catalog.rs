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
        FileProblemCode::{DuplicateName, TooLarge, Unreadable},
        Severity,
    },
    trust::{Consent, Trust, canonical},
};

/// Where project agents lie below a workspace's root.
const PROJECT_AGENTS: &str = ".subagentd/agents";

/// What all agent files below one folder may hold together. A collection of thousands is a few MiB; a folder that somebody
/// filled to harm the reader is left where this ends.
const MOST_BYTES: usize = 64 * 1024 * 1024;

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
    /// Of project agents.
    own: Option<Own>,
    /// What is used instead.
    hidden_by: Option<String>,
}

/// Where a workspace has a file of its own, and what people said of it.
#[derive(Debug, Clone)]
struct Own {
    /// Canonical.
    root: String,
    /// Below the root.
    path: String,
    consent: Consent,
}

/// An agent file that a workspace brings along.
#[derive(Debug, Clone, Copy)]
pub struct ProjectAgent<'a> {
    /// Canonical.
    pub root: &'a str,
    /// Below the root.
    pub path: &'a str,
    pub digest: &'a str,
    pub consent: Consent,
    pub name: &'a AgentName,
    /// Missing when the file has errors.
    pub definition: Option<&'a AgentDefinition>,
}

/// What a name leads to.
#[derive(Debug, Clone)]
pub enum Found {
    /// It can be started.
    Ready { definition: Arc<AgentDefinition>, digest: String, scope: AgentScope },
    /// It comes from a workspace, and nobody has acknowledged it as it is now; the digest is what to acknowledge.
    Untrusted { digest: String, path: PathBuf, consent: Consent },
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
    pub fn load(places: &AgentPlaces, workspace_roots: &[PathBuf], trust: &Trust) -> Catalog {
        let mut problems = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for root in workspace_roots {
            // A root without a path of its own has nobody's trust, and no agents.
            let Some(canonical) = canonical(root) else { continue };
            let own = |path: &Path, digest: &str| {
                let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
                let consent = trust.consent(&canonical, &path, digest);
                Some(Own { root: canonical.clone(), path, consent })
            };
            let folder = root.join(PROJECT_AGENTS);
            read_folder(&folder, AgentScope::Project, own, &mut entries, &mut problems);
        }
        read_folder(&places.user, AgentScope::User, |_, _| None, &mut entries, &mut problems);
        let builtin =
            |file| Entry { file, scope: AgentScope::Builtin, path: None, own: None, hidden_by: None };
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
        match (&entry.file.definition, &entry.own) {
            (None, _) => Found::Invalid(entry.file.problems.clone()),
            (Some(_), Some(Own { consent, .. })) if *consent != Consent::Now => {
                let path = entry.path.clone().unwrap_or_default();
                Found::Untrusted { digest, path, consent: *consent }
            }
            (Some(definition), _) => {
                Found::Ready { definition: definition.clone(), digest, scope: entry.scope }
            }
        }
    }

    /// The definition in one file, or the built-in one, whether it counts or is hidden.
    pub fn definition(&self, name: &AgentName, path: Option<&Path>) -> Option<&Arc<AgentDefinition>> {
        let entry =
            self.entries.iter().find(|entry| entry.file.name == *name && entry.path.as_deref() == path)?;
        entry.file.definition.as_ref()
    }

    /// The agent files that the workspace brings along and that could be read, by name.
    pub fn of_project(&self) -> impl Iterator<Item = ProjectAgent<'_>> {
        let readable = self.entries.iter().filter(|entry| !entry.file.is_unread);
        readable.filter_map(|entry| {
            let Own { root, path, consent } = entry.own.as_ref()?;
            let (digest, definition) = (&entry.file.digest, entry.file.definition.as_deref());
            Some(ProjectAgent { root, path, digest, consent: *consent, name: &entry.file.name, definition })
        })
    }

    /// Why the others of the workspace's agent files could not be read.
    pub fn unread_of_project(&self) -> impl Iterator<Item = &FileProblem> {
        let unread = self.entries.iter().filter(|entry| entry.own.is_some() && entry.file.is_unread);
        unread.flat_map(|entry| &entry.file.problems)
    }

    /// Folders that could not be read, and files whose names could not.
    pub fn problems(&self) -> &[FileProblem] {
        &self.problems
    }

    /// What a cloned repository brings cannot take the place of an agent that somebody trusts.
    fn first(&self, name: &AgentName) -> Option<&Entry> {
        let mut of_name = self.entries.iter().filter(|entry| entry.file.name == *name);
        of_name.clone().find(|entry| !entry.is_inert()).or_else(|| of_name.next())
    }
}

impl Entry {
    /// Nobody has ever acknowledged it. One that was, and has changed since, keeps its place and asks again: whoever named
    /// it must not get another agent in silence.
    fn is_inert(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.consent == Consent::Never)
    }

    fn is_untrusted(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.consent != Consent::Now)
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

    fn warn(&mut self, message: String) {
        let Some(path) = &self.path else { return };
        let severity = Severity::Warning;
        let warning = FileProblem { severity, ..problem(path, None, DuplicateName, message) };
        self.file.problems.push(warning);
    }

    /// Where it is, in words.
    fn place(&self) -> String {
        self.path.as_ref().map_or_else(|| "built in".to_owned(), |path| path.display().to_string())
    }
}

fn read_folder(
    folder: &Path,
    scope: AgentScope,
    own: impl Fn(&Path, &str) -> Option<Own>,
    entries: &mut Vec<Entry>,
    problems: &mut Vec<FileProblem>,
) {
    let found = agent_files(folder);
    problems.extend(found.problems);
    let mut left_bytes = MOST_BYTES;
    for path in found.files {
        let most = LARGEST_FILE.min(left_bytes as u64);
        let file = match read_bounded(&path, most) {
            Ok(Some(bytes)) => {
                left_bytes = left_bytes.saturating_sub(bytes.len());
                AgentFile::read(&path, &bytes, scope)
            }
            Ok(None) => AgentFile::unreadable(&path, problem(&path, None, Unreadable, "is gone")),
            Err(found) if found.code == TooLarge && most < LARGEST_FILE => {
                let message = format!(
                    "is not read: the files of this folder hold more than {} MiB together",
                    MOST_BYTES >> 20
                );
                AgentFile::unreadable(&path, problem(&path, None, TooLarge, message))
            }
            Err(found) => AgentFile::unreadable(&path, found),
        };
        let own = own(&path, &file.digest);
        entries.push(Entry { file, scope, path: Some(path), own, hidden_by: None });
    }
}

/// The entries are sorted, so the first of each name is the one that counts. Inert ones hide nobody but each other, nobody
/// hides them, and they say who is meant instead. Two of one name in one place are somebody's slip, and told; a higher
/// place hiding a lower one is how places are meant to work.
fn hide_all_but_the_first(entries: &mut [Entry]) {
    for of_name in entries.chunk_by_mut(|left, right| left.file.name == right.file.name) {
        for is_inert in [false, true] {
            let Some(first) = of_name.iter().position(|entry| entry.is_inert() == is_inert) else { continue };
            let (used, scope) = (of_name[first].place(), of_name[first].scope);
            for entry in of_name.iter_mut().skip(first + 1).filter(|entry| entry.is_inert() == is_inert) {
                if entry.scope == scope {
                    let name = &entry.file.name;
                    entry.warn(format!("the name `{name}` is taken by {used}, which is used instead"));
                }
                entry.hidden_by = Some(used.clone());
            }
            if is_inert {
                continue;
            }
            for entry in of_name.iter_mut().filter(|entry| entry.is_inert()) {
                let name = &entry.file.name;
                entry.warn(format!("nobody has acknowledged this file; until then `{name}` means {used}"));
            }
        }
    }
}

//! Which agents are there, and which one does a name mean? (spec 02, "Places and precedence")

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    builtin, file::AgentFile, foreign::StartStanding, names::title_case, places::AgentPlace,
    routing::AgentTriggers,
};
use config::nearest;
use protocol::{
    AcknowledgedAgentFile, AgentDefinition, AgentName, AgentScope, AgentStatus, AgentSummary, ChangedAgent,
    FileProblem,
};
use trust::AcknowledgementState;

mod assembly;

pub(super) use assembly::CatalogPart;
use assembly::sound;

/// Every agent file that was found, and what each stands for. Made once for all who ask as long as nothing changes, so what
/// they ask for often is found by an index.
#[derive(Debug)]
pub struct AgentCatalog {
    /// By name, then by precedence: the first of a name is the one that counts.
    entries: Vec<CatalogEntry>,
    problems: Vec<FileProblem>,
    /// Of those that other agents may call; by name.
    callable: Vec<usize>,
    /// The same by how their names sound, see [`sound`].
    callable_by_sound: HashMap<String, Vec<usize>>,
    /// Of the workspace's files.
    of_project: Vec<usize>,
    /// Of these, the ones that a name means and that nobody has acknowledged as they are.
    untrusted: Vec<usize>,
    /// Those that would be callable if this version could carry out what their files ask for; by name.
    unsupported: Vec<usize>,
    /// Those that say which prompts are for them, and can be started or are [`NotReady::Unsupported`]; by name.
    with_triggers: Vec<usize>,
}

#[derive(Debug)]
struct CatalogEntry {
    file: Arc<AgentFile>,
    place: AgentPlace,
    /// `None` for built-in agents.
    path: Option<PathBuf>,
    /// Of project agents.
    own: Option<WorkspaceOwnFile>,
    /// What is used instead.
    hidden_by: Option<String>,
    /// The settings switch it off.
    is_disabled: bool,
    /// What is odd about it among the others.
    warnings: Vec<FileProblem>,
}

/// Where a workspace has a file of its own, and what people said of it.
#[derive(Debug)]
struct WorkspaceOwnFile {
    root: Arc<WorkspaceRoot>,
    /// Below the root.
    path: String,
    consent: AcknowledgementState,
    /// No other state of it was acknowledged since this one.
    is_last: bool,
}

/// A folder of a workspace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WorkspaceRoot {
    /// As it was named.
    pub given: PathBuf,
    pub canonical: String,
}

/// An agent file that a workspace brings along.
#[derive(Debug, Clone, Copy)]
pub struct ProjectAgentFile<'a> {
    /// Canonical.
    pub root: &'a str,
    /// Below the root.
    pub path: &'a str,
    pub digest: &'a str,
    pub consent: AcknowledgementState,
    pub name: &'a AgentName,
    /// Missing when the file has errors.
    pub definition: Option<&'a AgentDefinition>,
}

/// What a name leads to.
#[derive(Debug, Clone)]
pub enum AgentLookup {
    /// It can be started.
    Ready { definition: Arc<AgentDefinition>, digest: String, scope: AgentScope },
    /// It comes from a workspace, and nobody has acknowledged it as it is now; the digest is what to acknowledge.
    Untrusted { digest: String, path: PathBuf, consent: AcknowledgementState },
    /// Its file has errors.
    Invalid(Vec<FileProblem>),
    /// It is sound, and cannot be started.
    NotReady(NotReady),
    /// No agent has this name.
    Unknown { nearest: Option<AgentName> },
}

/// The reason why an agent cannot be started whose file is sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReady {
    /// By the setting `agents.overrides`.
    Disabled,
    /// By its own file.
    SwitchedOff,
    /// It runs elsewhere.
    Remote,
    /// Its file asks for what this version does not hold to: these fields.
    Unsupported(Vec<String>),
}

impl AgentCatalog {
    /// The agents that other agents may call, by name: those that can be started, are not hidden, and say when to call
    /// them (spec 02, `description` and `hidden`). With their digests.
    pub fn callable(&self) -> impl Iterator<Item = (&Arc<AgentDefinition>, &str)> {
        self.callable.iter().filter_map(|at| self.entries[*at].startable())
    }

    /// Those among them that an entry of a list of tools may mean that has no `*`: whatever is spelled so, and a few more.
    pub fn callable_by_spelling(&self, entry: &str) -> impl Iterator<Item = (&Arc<AgentDefinition>, &str)> {
        let found = self.callable_by_sound.get(&sound(entry)).into_iter().flatten();
        found.filter_map(|at| self.entries[*at].startable())
    }

    /// The agents that others could call if this version could carry out what their files ask for, by name, with those fields.
    pub fn unsupported(&self) -> impl Iterator<Item = (&AgentName, Vec<&str>)> {
        let entries = self.unsupported.iter().map(|at| &self.entries[*at].file);
        entries.filter_map(|file| Some((&file.name, file.definition.as_ref()?.not_held_to())))
    }

    /// The agents that say which prompts are for them, by name. Those that this version cannot carry out are among them: a prompt
    /// that is for one must not go to an agent that its file does not bind.
    pub fn routable(&self) -> impl Iterator<Item = (&AgentName, &AgentTriggers)> {
        let entries = self.with_triggers.iter().map(|at| &self.entries[*at]);
        entries.map(|entry| (&entry.file.name, entry.file.triggers()))
    }

    /// The agents by name, the one that counts before those it hides.
    pub fn list(&self, include_hidden: bool, include_invalid: bool) -> Vec<AgentSummary> {
        let is_listed = |entry: &&CatalogEntry| {
            (include_hidden || entry.hidden_by.is_none())
                && (include_invalid || entry.file.definition.is_some())
        };
        self.entries.iter().filter(is_listed).map(CatalogEntry::summary).collect()
    }

    /// The agent that a name or a built-in agent's alias means.
    pub fn find(&self, name: &AgentName) -> AgentLookup {
        let entry = self.first(name).or_else(|| self.first(&builtin::name_behind(name)?));
        let Some(entry) = entry else {
            let names = self.entries.iter().map(|entry| entry.file.name.as_str());
            return AgentLookup::Unknown { nearest: nearest(name.as_str(), names).map(AgentName::from) };
        };
        let digest = entry.file.digest.clone();
        match (&entry.file.definition, &entry.own) {
            (None, _) => AgentLookup::Invalid(entry.problems().cloned().collect()),
            (Some(_), Some(WorkspaceOwnFile { consent, .. })) if *consent != AcknowledgementState::Now => {
                let path = entry.path.clone().unwrap_or_default();
                AgentLookup::Untrusted { digest, path, consent: *consent }
            }
            (Some(_), _) if let Some(why) = entry.not_ready() => AgentLookup::NotReady(why),
            (Some(definition), _) => {
                AgentLookup::Ready { definition: definition.clone(), digest, scope: entry.place.scope }
            }
        }
    }

    /// The agent that a name means to a run, as it is listed; another one than the first of that name where a workspace brings
    /// that along and nobody has acknowledged it.
    pub fn meant(&self, name: &AgentName) -> Option<AgentSummary> {
        self.first(name).map(CatalogEntry::summary)
    }

    /// The definition in one file, or the built-in one, whether it counts or is hidden.
    pub fn definition(&self, name: &AgentName, path: Option<&Path>) -> Option<&Arc<AgentDefinition>> {
        let entry = self.of_name(name).iter().find(|entry| entry.path.as_deref() == path)?;
        entry.file.definition.as_ref()
    }

    /// What was read of one file, or of a built-in agent, whether it counts or is hidden.
    pub fn file(&self, name: &AgentName, path: Option<&Path>) -> Option<&Arc<AgentFile>> {
        let entry = self.of_name(name).iter().find(|entry| entry.path.as_deref() == path)?;
        Some(&entry.file)
    }

    /// What the file of a built-in agent says.
    pub fn built_in_text(name: &AgentName) -> Option<&'static str> {
        builtin::text(name)
    }

    /// Every agent of one file, as they are listed.
    pub fn at(&self, path: &Path) -> Vec<AgentSummary> {
        self.entries
            .iter()
            .filter(|entry| entry.path.as_deref() == Some(path))
            .map(CatalogEntry::summary)
            .collect()
    }

    /// The file of the agent that this name means; `None` = it is built in, or there is none.
    pub fn path(&self, name: &AgentName) -> Option<&Path> {
        self.first(name)?.path.as_deref()
    }

    /// The workspace's file that the agent of this name comes from, where its file has this digest; `None` = it is another's, or built in.
    pub fn workspace_file(&self, name: &AgentName, digest: &str) -> Option<AcknowledgedAgentFile> {
        let entry = self.first(name).filter(|entry| entry.file.digest == digest)?;
        let ProjectAgentFile { root, path, .. } = entry.project_agent()?;
        Some(AcknowledgedAgentFile {
            root: root.to_owned(),
            path: path.to_owned(),
            digest: digest.to_owned(),
        })
    }

    /// The agents that bring hooks along, with their files and whether those count: what runs by itself does in the state that was
    /// acknowledged last.
    pub fn with_hooks(&self) -> impl Iterator<Item = (&Arc<AgentDefinition>, &Path, bool)> {
        self.entries.iter().filter(|entry| entry.hidden_by.is_none()).filter_map(|entry| {
            let definition = entry.file.definition.as_ref().filter(|it| it.hooks.is_some())?;
            let is_own = |own: &WorkspaceOwnFile| own.is_last;
            Some((definition, entry.path.as_deref()?, entry.own.as_ref().is_none_or(is_own)))
        })
    }

    /// Every definition that could be read, whether it counts or is hidden.
    pub fn definitions(&self) -> impl Iterator<Item = &Arc<AgentDefinition>> {
        self.entries.iter().filter_map(|entry| entry.file.definition.as_ref())
    }

    /// The agent files that the workspace brings along and that could be read, by name.
    pub fn of_project(&self) -> impl Iterator<Item = ProjectAgentFile<'_>> {
        let of_project = self.of_project.iter().map(|at| &self.entries[*at]);
        of_project.filter(|entry| !entry.file.is_unread).filter_map(CatalogEntry::project_agent)
    }

    /// Those of the workspace's agents that a name means and that nobody has acknowledged as they are now, by name.
    pub fn untrusted(&self) -> impl Iterator<Item = ProjectAgentFile<'_>> {
        self.untrusted.iter().filter_map(|at| self.entries[*at].project_agent())
    }

    /// The reason why the others of the workspace's agent files could not be read.
    pub fn unread_of_project(&self) -> impl Iterator<Item = &FileProblem> {
        let of_project = self.of_project.iter().map(|at| &self.entries[*at]);
        of_project.filter(|entry| entry.file.is_unread).flat_map(|entry| &entry.file.problems)
    }

    /// Each with what tells whether it is another one than before.
    pub(super) fn agents(&self) -> impl Iterator<Item = ChangedAgent> {
        self.entries.iter().map(|entry| ChangedAgent {
            name: entry.file.name.clone(),
            scope: entry.place.scope,
            path: entry.path.clone(),
            digest: entry.file.digest.clone(),
            status: entry.status(),
        })
    }

    /// Folders that could not be read, and files whose names could not.
    pub fn problems(&self) -> &[FileProblem] {
        &self.problems
    }

    /// What a cloned repository brings cannot take the place of an agent that somebody trusts.
    fn first(&self, name: &AgentName) -> Option<&CatalogEntry> {
        let of_name = self.of_name(name);
        of_name.iter().find(|entry| !entry.is_inert()).or_else(|| of_name.first())
    }

    fn of_name(&self, name: &AgentName) -> &[CatalogEntry] {
        let start = self.entries.partition_point(|entry| entry.file.name < *name);
        let length = self.entries[start..].partition_point(|entry| entry.file.name == *name);
        &self.entries[start..start + length]
    }
}

impl CatalogEntry {
    /// Nobody has ever acknowledged it. One that was, and has changed since, keeps its place and asks again: whoever named
    /// it must not get another agent in silence.
    fn is_inert(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.consent == AcknowledgementState::Never)
    }

    fn is_untrusted(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.consent != AcknowledgementState::Now)
    }

    /// What can be started by its name as it is, without being named first.
    fn startable(&self) -> Option<(&Arc<AgentDefinition>, &str)> {
        Some((self.file.definition.as_ref()?, &self.file.digest))
    }

    fn project_agent(&self) -> Option<ProjectAgentFile<'_>> {
        let WorkspaceOwnFile { root, path, consent, .. } = self.own.as_ref()?;
        let (digest, definition) = (&self.file.digest, self.file.definition.as_deref());
        let (root, name) = (&root.canonical, &self.file.name);
        Some(ProjectAgentFile { root, path, digest, consent: *consent, name, definition })
    }

    /// Of its file, and what is odd about it among the others.
    fn problems(&self) -> impl Iterator<Item = &FileProblem> {
        self.file.problems.iter().chain(&self.warnings)
    }

    fn not_ready(&self) -> Option<NotReady> {
        match self.file.standing {
            _ if self.is_disabled => Some(NotReady::Disabled),
            StartStanding::SwitchedOff => Some(NotReady::SwitchedOff),
            StartStanding::Remote => Some(NotReady::Remote),
            StartStanding::Usual => {
                let fields =
                    self.file.definition.as_deref().map(AgentDefinition::not_held_to).unwrap_or_default();
                let fields: Vec<String> = fields.into_iter().map(str::to_owned).collect();
                (!fields.is_empty()).then_some(NotReady::Unsupported(fields))
            }
        }
    }

    fn status(&self) -> AgentStatus {
        if self.file.definition.is_none() {
            AgentStatus::Invalid
        } else if self.hidden_by.is_some() {
            AgentStatus::Hidden
        } else if self.is_untrusted() {
            AgentStatus::Untrusted
        } else {
            match self.not_ready() {
                None => AgentStatus::Ok,
                Some(NotReady::Disabled | NotReady::SwitchedOff) => AgentStatus::Disabled,
                Some(NotReady::Remote | NotReady::Unsupported(_)) => AgentStatus::NotReady,
            }
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
            color: definition.and_then(|definition| definition.color.clone()),
            scope: self.place.scope,
            format: self.file.format,
            state: self.file.state,
            status: self.status(),
            path: self.path.clone(),
            digest: self.file.digest.clone(),
            hidden_by: self.hidden_by.clone(),
            problems: self.problems().cloned().collect(),
            inputs: inputs.into_iter().map(|input| input.name.clone()).collect(),
        }
    }
}

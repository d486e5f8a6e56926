//! Which files may the memory of a workspace import for a run? To import one is to read it, and whoever may write a memory file imports what
//! they like: what rules or hooks keep from agents is not imported.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::agent_hooks;
use crate::{
    equipment::{AgentRules, RunEquipment},
    hooks::hooked_call,
    resources::RunResources,
};
use hooks::{HookFacts, HookSet, HookedResult};
use memory::{MemoryRead, MemoryReader, RULED_OUT, SHOWN_TO_HOOKS, UserFileReader};
use policy::{Policy, ReadingSubject};
use project::Project;
use protocol::{AgentDefinition, AgentName, ApprovalMode, CallId, ResourceAccess, Risk, ToolKind, ToolName};
use tools::aliases_of;

/// The tool by which an agent would read a file that is imported.
const READER: &str = "read_file";

/// Everything that says which files one agent reads unasked and unseen.
pub(crate) struct ImportRules {
    subject: ReadingSubject,
    policy: Arc<Policy>,
    hooks: HookSet,
}

impl ImportRules {
    /// The ones of a run. `callers`: the agents that lead to it by their calls.
    pub fn of_run(equipment: &RunEquipment, callers: &[AgentName]) -> ImportRules {
        let roots = equipment.prepare.workspace.roots().map(PathBuf::from).collect();
        ImportRules {
            subject: subject(equipment.agent.clone(), callers, roots),
            policy: equipment.narrowed.with(equipment.project.rules.policy()),
            hooks: equipment.hooks.known(),
        }
    }

    /// The ones of a root run of an agent that has not begun. Blocks on the file system.
    pub fn of_agent(definition: &AgentDefinition, project: &Project, supplies: &RunResources) -> ImportRules {
        let own = agent_hooks(project, definition, None);
        ImportRules {
            subject: subject(definition.name.clone(), &[], roots_of(project)),
            policy: AgentRules::of(definition).with(project.rules.policy()),
            hooks: supplies.hooks.read(&project.roots, own.as_slice()).set.clone(),
        }
    }

    /// The ones of whichever agent, so without those that are about one. Blocks on the file system.
    pub fn of_anybody(project: &Project, supplies: &RunResources) -> ImportRules {
        ImportRules {
            subject: subject(AgentName::from(""), &[], roots_of(project)),
            policy: project.rules.policy(),
            hooks: supplies.hooks.read(&project.roots, &[]).set.clone(),
        }
    }

    /// The reason why a file is not imported; `None` = it may be. `real`: without links; `written`: as it was named, which is what a hook is
    /// told where an agent names it so.
    pub fn refusal(&self, real: &Path, written: &Path) -> Option<&'static str> {
        self.refusal_by(real, written).or_else(|| self.refusal_by(real, real))
    }

    fn refusal_by(&self, real: &Path, named: &Path) -> Option<&'static str> {
        let roots = self.subject.roots.iter().filter(|root| named.starts_with(root));
        let root = roots.max_by_key(|root| root.as_os_str().len());
        let below = root.and_then(|root| named.strip_prefix(root).ok()).unwrap_or(named);
        let shown = below.to_string_lossy();
        if !self.subject.may_read_file(&self.policy, real, &shown) {
            return Some(RULED_OUT);
        }
        let accesses = [ResourceAccess::Read { path: real.to_owned() }];
        let called = (&self.subject.tool, false);
        let call = hooked_call(&CallId::from("import"), called, &json!({ "path": shown }), &accesses);
        let result = HookedResult {
            call: call.clone(),
            text: String::new(),
            has_more_than_text: false,
            data: None,
            error: None,
            is_interrupt: false,
            duration_ms: 0,
        };
        let reads = [HookFacts::PreToolUse { call }, HookFacts::PostToolUse { result }];
        reads.iter().any(|facts| self.hooks.may_decide(facts)).then_some(SHOWN_TO_HOOKS)
    }
}

fn roots_of(project: &Project) -> Vec<PathBuf> {
    project.roots.iter().map(PathBuf::from).collect()
}

/// Answers that somebody gave for a session, and modes, make nothing freer here: nobody looks on when a prompt is put together.
fn subject(agent: AgentName, callers: &[AgentName], roots: Vec<PathBuf>) -> ReadingSubject {
    ReadingSubject {
        tool: ToolName::from(READER),
        aliases: aliases_of(READER),
        agent,
        callers: callers.to_vec(),
        kind: ToolKind::Read,
        risk: Risk::Safe,
        mode: ApprovalMode::Default,
        auto_approve: Vec::new(),
        session: None,
        roots,
    }
}

/// Reads the user's memory files. What one of them imports is the user's word, unless it lies in the workspace, where agents write: then it is
/// no freer than the workspace's own.
pub(super) struct UserMemoryReader<'a> {
    pub files: UserFileReader,
    pub imports: &'a ImportRules,
}

impl MemoryReader for UserMemoryReader<'_> {
    fn read(&self, path: &Path, most_bytes: u64) -> MemoryRead {
        self.files.read(path, most_bytes)
    }

    fn import(&self, path: &Path, within: Option<&Path>, most_bytes: u64) -> MemoryRead {
        let read = self.files.import(path, within, most_bytes);
        let is_of_workspace =
            |folder: &Path| self.imports.subject.roots.iter().any(|root| folder.starts_with(root));
        match &read {
            MemoryRead::File { canonical, .. } if within.is_some_and(is_of_workspace) => {
                self.imports.refusal(canonical, path).map_or(read, |why| MemoryRead::Refused(why.to_owned()))
            }
            _ => read,
        }
    }

    fn reach_of(&self, path: &Path, canonical: &Path) -> Option<PathBuf> {
        self.files.reach_of(path, canonical)
    }

    fn home(&self) -> Option<&Path> {
        self.files.home()
    }
}

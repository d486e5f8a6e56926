//! What does a run make its calls with, and what are they judged by? Put together by its plan, handed to its gate, and
//! inherited by the runs that it calls.

use std::{path::PathBuf, sync::Arc};

use super::{child::CallableAgents, completion::CompletionTool, hooks::RunHooks, resources::RunResources};
use models::{RecordingWriter, ResolvedModel};
use project::Project;
use protocol::{AgentName, AgentProvenance, AgentToolRule, AgentTracing, Risk};
use tools::{ForeignToolset, PrepareContext, RunToolset};

mod agent_rules;

pub use agent_rules::AgentRules;

/// The agent, tools, rules and hooks of one run.
#[derive(Clone)]
pub struct RunEquipment {
    pub agent: AgentName,
    /// The files of workspaces that the agent, and those that called it, come from.
    pub provenance: AgentProvenance,
    /// Risks whose default ask the agent's definition drops.
    pub own_auto_approve: Vec<Risk>,
    /// What the definition, and those of its callers, say of single calls: agents that it calls have it too.
    pub own_narrowings: Vec<AgentToolRule>,
    /// The words of the definition, and of those of its callers, on who else is told of its spans.
    pub own_tracing: AgentTracing,
    /// The rules of the agent's own file, which only forbid, beside the rules in force.
    pub narrowed: AgentRules,
    pub toolset: RunToolset,
    /// The tools of `toolset` that are agents.
    pub callables: CallableAgents,
    pub completion: Arc<CompletionTool>,
    pub prepare: PrepareContext,
    /// The run's own; runs that it calls inherit it.
    pub model: ResolvedModel,
    /// Its model is told what memory files of the workspace say.
    pub tells_memory: bool,
    /// Everything that its model says goes there, too; so does what those of the runs say that it calls.
    pub recording: Option<RecordingWriter>,
    pub roots: Vec<PathBuf>,
    /// Its rules are those in force when a call is judged.
    pub project: Arc<Project>,
    /// The tools from elsewhere, for the runs that it calls too.
    pub foreign: ForeignToolset,
    /// Everything that people wrote beside the settings, to be asked before calls and after them.
    pub hooks: RunHooks,
    pub supplies: Arc<RunResources>,
}

impl RunEquipment {
    /// True if what the agent's file lets the run do unasked counts by now: no person has taken back what they acknowledged of it, or of
    /// the files of its callers, or has acknowledged another state since. Looks at no file.
    pub fn is_acknowledged_by_now(&self) -> bool {
        if self.provenance.is_of_no_workspace() {
            return true;
        }
        let trust = self.project.trust();
        self.provenance.files().all(|file| trust.still_has(file))
    }
}

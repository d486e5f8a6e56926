//! What do the words of a prompt depend on?

use protocol::SandboxProfile;

/// Everything that changes a word of the modules. Two runs with the same facts read the same text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptFacts {
    /// A person may answer while the run works.
    pub is_interactive: bool,
    /// As the run calls its model, e.g. `gemini/gemini-2.5-pro`; empty while nobody knows.
    pub model: String,
    /// Canonical names of the tools, agents among them, in the order in which they are declared.
    pub tools: Vec<String>,
    /// The agents that it may call, by name.
    pub agents: Vec<AgentEntry>,
    /// A line for each skill that it may ask for; empty = there is none.
    pub skills: String,
    /// `None` = it cannot run commands.
    pub commands: Option<ConfinementFacts>,
    /// The workspace lies in a git repository.
    pub is_repository: bool,
    /// The setting `prompt.shellOutputEconomy`.
    pub saves_shell_output: bool,
}

/// An agent as the directory shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    pub name: String,
    pub description: String,
}

/// How closely commands are confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfinementFacts {
    /// `mechanism` is its name, for models.
    Confined { mechanism: String, profile: SandboxProfile, has_network: bool },
    /// Nothing confines them.
    Unconfined,
}

/// The generations of models that need other words than the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelGeneration {
    Gemini2,
    Gemini3,
    Other,
}

impl PromptFacts {
    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool == name)
    }

    pub(super) fn has_agent(&self, name: &str) -> bool {
        self.agents.iter().any(|agent| agent.name == name)
    }

    pub(super) fn generation(&self) -> ModelGeneration {
        let id = self.model.rsplit('/').next().unwrap_or_default();
        match id {
            _ if id.starts_with("gemini-2") => ModelGeneration::Gemini2,
            _ if id.starts_with("gemini-3") => ModelGeneration::Gemini3,
            _ => ModelGeneration::Other,
        }
    }
}

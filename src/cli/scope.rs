//! Which place for agents is meant, in words of the command line (spec 12)?

use clap::{Args, ValueEnum};

use protocol::AgentScope;

/// A place for agents.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum AgentScopeWord {
    Project,
    #[value(alias = "global")]
    User,
    Builtin,
}

impl From<AgentScopeWord> for AgentScope {
    fn from(word: AgentScopeWord) -> AgentScope {
        match word {
            AgentScopeWord::Project => AgentScope::Project,
            AgentScopeWord::User => AgentScope::User,
            AgentScopeWord::Builtin => AgentScope::Builtin,
        }
    }
}

/// A place whose files can be written.
#[derive(Clone, Copy, ValueEnum)]
enum OwnScopeWord {
    Project,
    #[value(alias = "global")]
    User,
}

/// Where files are written to.
#[derive(Args)]
#[group(multiple = false)]
pub(super) struct DestinationArguments {
    /// The folder's own agents, or yours [default: the setting agents.defaultScope]
    #[arg(long, value_enum)]
    scope: Option<OwnScopeWord>,
    /// The same as --scope user
    #[arg(long)]
    global: bool,
}

/// Which of several files of one name is meant.
#[derive(Args)]
#[group(multiple = false)]
pub(super) struct SubjectArguments {
    /// The folder's own agent, or yours [default: the one that a run would use]
    #[arg(long, value_enum)]
    scope: Option<OwnScopeWord>,
    /// The same as --scope user
    #[arg(long)]
    global: bool,
}

impl DestinationArguments {
    /// `None` = as the settings say.
    pub(super) fn scope(&self) -> Option<AgentScope> {
        chosen(self.scope, self.global)
    }
}

impl SubjectArguments {
    /// `None` = the one that a run would use.
    pub(super) fn scope(&self) -> Option<AgentScope> {
        chosen(self.scope, self.global)
    }
}

fn chosen(scope: Option<OwnScopeWord>, is_global: bool) -> Option<AgentScope> {
    match (scope, is_global) {
        (Some(OwnScopeWord::Project), _) => Some(AgentScope::Project),
        (Some(OwnScopeWord::User), _) | (None, true) => Some(AgentScope::User),
        (None, false) => None,
    }
}

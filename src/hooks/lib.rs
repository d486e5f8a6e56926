//! What do hooks of system, user, project and agent say of an event? (spec 08, "Hooks")
//!
//! A hook is a command, a request or a question to a model that somebody wrote beside settings, mostly for another product. This
//! crate reads them from all their places ([`HookLibrary`]), finds those that an event matches ([`HookSet::matching`]), runs them
//! ([`HookRunner::fire`]) and makes one verdict of what they answer ([`HookVerdict`]). It knows no runs, no log and no sockets:
//! whoever fires decides when, commits what came of it, and acts on it afterwards.
//!
//! Nothing that a hook says makes anything looser than policy alone, and no failure of one becomes consent.

mod answer;
mod argument_changes;
mod async_ends;
mod combining;
mod command_words;
mod condition;
mod confinement;
mod document;
mod dropped;
mod entry;
mod event;
mod firing;
mod handlers;
mod hook;
mod idle;
mod library;
mod matcher;
mod ongoing;
mod outlook;
mod own_scripts;
mod pins;
mod places;
mod ranked;
mod reach;
mod reading;
mod records;
mod response;
mod runner;
mod sample;
mod services;
mod set;
mod stdin;
#[cfg(test)]
mod tests;
mod tool_names;
mod unique_json;
mod unset_variables;
mod verdict;

pub use answer::MOST_TEXT_CHARS;
pub use async_ends::AsyncHookEnds;
pub use condition::HookCondition;
pub use event::{HookContract, HookFailurePolicy};
pub use firing::{HookFacts, HookFiring, HookedCall, HookedResult};
pub use hook::{Hook, HookHandler, HookId, HookOrigin, HookState, PinnedProgram, WorkspaceReach};
pub use idle::{KnownTools, problems_of_agent};
pub use library::HookLibrary;
pub use matcher::HookMatcher;
pub use ongoing::{HookedCommand, HookedSkill};
pub use outlook::HookOutlook;
pub use own_scripts::own_scripts;
pub use places::{AgentHooks, HookPlaces, HookPlacesRead, ProjectHookFile, home_files, read_hooks};
pub use response::in_claude_codes_words;
pub use runner::{HookRunner, HookTrial, LastHookAnswer};
pub use services::{
    CheckedArguments, HookServices, HookSettings, HookWorkspace, KeptFromHook, NoHookServices,
};
pub use set::{HookSet, UnfiredHook};
pub use verdict::{
    AsyncHookEnd, ElicitationVerdict, FiredHooks, FollowUpCall, HookContext, HookDelegate, HookStop,
    HookVerdict, ModelVerdict,
};

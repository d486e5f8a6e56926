//! What does a model read before anything is asked of it? The system prompt in modules, each with its switch; the file that may
//! stand in their place; and the message in which the workspace speaks (spec 08, "System prompt").
//!
//! Facts come in, words come out, the same words for the same facts: a prompt is rendered once a run, and what stands first in
//! a request stays byte for byte what it was, so that providers' caches hit. This module never knows runs, tools, models or
//! workspaces; the one file that it reads is the one that a person wrote in the modules' place.

mod editor;
mod environment;
mod facts;
mod marked;
mod module;
mod modules;
mod part;
mod skills;
mod system_file;
#[cfg(test)]
mod tests;

pub use editor::editor_message;
pub use environment::environment;
pub use facts::{AgentEntry, ConfinementFacts, PromptFacts};
pub use marked::{ContextBlock, context_message, marked};
pub use module::{ModuleSwitches, PromptModule};
pub use modules::{exported, modules};
pub use part::{PromptPart, joined};
pub use skills::skills;
pub use system_file::{FilledSystemFile, SystemFile, SystemFileError};

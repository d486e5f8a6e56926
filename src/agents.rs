//! Which agents are there, what does each say, and what does it make of its inputs and its result? (spec 02)
//!
//! An agent is declarative data: a file with front matter and a prompt. This module finds the files, reads
//! them with a word on everything that is wrong with line and column, decides which file a name means, fills
//! templates, checks inputs and formats results. It never runs anything and never knows a model or a tool.

mod builtin;
mod catalog;
mod definition;
mod discovery;
mod fields;
mod file;
mod findings;
mod inputs;
mod names;
mod output;
mod schema;
mod template;
mod yaml;

pub use catalog::{AgentPlaces, Catalog, Found, ProjectAgent};
pub use definition::front_matter_schema;
pub use file::AgentFile;
pub use inputs::resolve;
pub use output::format_output;
pub use template::{DAEMON_VALUES, MissingTemplateInput, Placeholder, fill, placeholders};

#[cfg(test)]
mod tests;

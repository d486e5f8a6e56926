//! Which agents are there, what does each say, and what does it make of its inputs and its result? (spec 02)
//!
//! An agent is declarative data: a file with front matter and a prompt. This module finds the files, reads
//! them with a word on everything that is wrong with line and column, decides which file a name means and which
//! agent a prompt is for, fills templates, checks inputs and formats results. It never runs anything and never
//! knows a model or a tool.

mod bringing;
mod builtin;
mod bytes;
mod catalog;
mod definition;
mod discovery;
mod export;
mod field_names;
mod fields;
mod file;
mod file_sections;
mod file_stamp;
mod findings;
mod folder_contents;
mod foreign;
mod front_matter;
mod inputs;
mod library;
mod names;
mod narrow;
mod new_file;
mod output;
mod places;
mod repair;
mod routing;
mod schema;
mod template;
mod templates;
mod unsupported;
mod write;
mod yaml;

pub use bringing::{AgentFilePaths, ImportedAgentFile, bring, format_of, namespaced, sources};
pub use catalog::{AgentCatalog, AgentLookup, NotReady, ProjectAgentFile};
pub use definition::front_matter_schema;
pub use export::{ExportedAgentFile, export};
pub use file::AgentFile;
pub use file_stamp::AgentFileStamp;
pub use foreign::StartStanding;
pub use front_matter::{FrontMatterReading, PlainFrontMatterField};
pub use inputs::resolve;
pub use library::{AgentFileCache, AgentFileChanges};
pub use names::title_case as title_of;
pub use narrow::narrowing_rules;
pub use new_file::{LARGEST_FILE, front_matter, new_agent, new_file, text_of};
pub use output::format_output;
pub use places::{AgentPlaces, OWN_OF_PROJECT, PlaceSwitches};
pub use routing::{AgentTriggers, MOST_RUNNERS_UP, PROMPT_BYTES, RouteRunnerUp, TriggerRoute, route};
pub use template::{DAEMON_VALUES, MissingTemplateInput, TemplatePlaceholder, fill, fill_by, placeholders};
pub use templates::{AgentTemplate, AgentTemplates, UnknownTemplate, templates};
pub use write::{CannotEdit, NewFields, with_fields, written};

#[cfg(test)]
mod tests;

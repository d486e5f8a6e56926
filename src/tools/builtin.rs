//! The tools that are compiled in, in the order in which they are declared (spec 05, "Built-in tools").

use std::sync::Arc;

use serde_json::Value;

use super::{Tool, parameters::Parameters};
use crate::protocol::{Risk, ToolDeclaration, ToolKind};

mod glob;
mod grep;
mod list_directory;
mod page;
mod patterns;
mod read_file;
#[cfg(test)]
mod tests;

/// Every built-in tool.
pub fn all() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(list_directory::ListDirectory::new()),
        Arc::new(read_file::ReadFile::new()),
        Arc::new(glob::Glob::new()),
        Arc::new(grep::Grep::new()),
    ]
}

/// What every tool here is made of: what it is called, and its compiled schema.
struct Declared {
    declaration: ToolDeclaration,
    parameters: Parameters,
}

impl Declared {
    fn new(name: &str, title: &str, kind: ToolKind, description: &str, parameters: Value) -> Declared {
        let compiled = Parameters::compile(&parameters)
            .expect("the schema is a literal of this program, and a test compiles every one of them");
        let declaration = ToolDeclaration {
            name: name.into(),
            title: title.to_owned(),
            description: description.to_owned(),
            kind,
            risk: Risk::Safe,
            parameters,
        };
        Declared { declaration, parameters: compiled }
    }
}

//! The tools that are compiled in, in the order in which they are declared (spec 05, "Built-in tools").

use std::{marker::PhantomData, sync::Arc};

use futures_util::future::{BoxFuture, ready};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Invocation, PrepareContext, Tool, parameters::Parameters};
use crate::protocol::{Replay, Risk, ToolDeclaration, ToolError, ToolKind};

mod glob;
mod grep;
mod list_directory;
mod page;
mod patterns;
mod read_file;
mod read_many_files;
mod reading;
#[cfg(test)]
mod tests;
mod write_todos;

/// Every built-in tool.
pub fn all() -> Vec<Arc<dyn Tool>> {
    vec![
        BuiltIn::<list_directory::ListDirectory>::tool(),
        BuiltIn::<read_file::ReadFile>::tool(),
        BuiltIn::<read_many_files::ReadManyFiles>::tool(),
        BuiltIn::<glob::Glob>::tool(),
        BuiltIn::<grep::Grep>::tool(),
        BuiltIn::<write_todos::WriteTodos>::tool(),
    ]
}

/// What one tool here says of itself; [`BuiltIn`] makes the [`Tool`] of it.
trait Definition: Send + Sync + 'static {
    /// What the schema's arguments are read into.
    type Arguments: DeserializeOwned;

    /// Its parameters are a literal that compiles; a test makes every one of them.
    fn declaration() -> ToolDeclaration;

    /// Checks what a schema cannot say, without waiting. May read, never write.
    fn check(arguments: Self::Arguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError>;
}

/// A tool of ours: its declaration and its compiled schema.
struct BuiltIn<T> {
    declaration: ToolDeclaration,
    parameters: Parameters,
    definition: PhantomData<T>,
}

impl<T: Definition> BuiltIn<T> {
    fn tool() -> Arc<dyn Tool> {
        let declaration = T::declaration();
        let parameters = Parameters::compile(&declaration.parameters)
            .expect("the schema is a literal of this program, and a test compiles every one of them");
        Arc::new(BuiltIn { declaration, parameters, definition: PhantomData::<T> })
    }
}

impl<T: Definition> Tool for BuiltIn<T> {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    /// Nothing here changes a file or adds to what is there, so running a call again is as good as running it once.
    fn replay(&self) -> Replay {
        Replay::Safe
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        cx: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let read = self.parameters.read::<T::Arguments>(arguments);
        Box::pin(ready(read.and_then(|arguments| T::check(arguments, cx))))
    }
}

/// A declaration of the lowest risk.
fn safe(name: &str, title: &str, kind: ToolKind, description: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration {
        name: name.into(),
        title: title.to_owned(),
        description: description.to_owned(),
        kind,
        risk: Risk::Safe,
        parameters,
    }
}

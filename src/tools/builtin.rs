//! The tools that are compiled in, in the order in which they are declared (spec 05, "Built-in tools").

use std::{marker::PhantomData, sync::Arc};

use futures_util::future::{BoxFuture, ready};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Invocation, PrepareContext, Tool, parameters::ParameterSchema, work};
use protocol::{ReplaySafety, Risk, ToolDeclaration, ToolError, ToolKind};

mod ask_user;
mod changing;
mod delete_file;
mod edit_file;
mod git_commit;
mod glob;
mod grep;
mod kill_shell;
mod list_directory;
mod move_file;
mod page;
mod patterns;
mod read_file;
mod read_many_files;
mod reading;
mod run_shell_command;
mod save_memory;
mod search_docs;
mod shell_output;
#[cfg(test)]
mod tests;
mod web_fetch;
mod web_search;
mod write_file;
mod write_todos;

pub use reading::{FileContent, MAX_INLINE_BYTES, content, part, pdf_fault, whole_image};
pub use search_docs::NAME as SEARCH_DOCS;
pub use web_search::NAME as WEB_SEARCH;

/// Every built-in tool. `BUILTIN_TOOLS` of the protocol has their names; other lists by name are in CONTRIBUTING.md, “Add a tool”.
pub fn all() -> Vec<Arc<dyn Tool>> {
    vec![
        BuiltIn::<list_directory::ListDirectoryTool>::tool(),
        BuiltIn::<read_file::ReadFileTool>::tool(),
        BuiltIn::<read_many_files::ReadManyFilesTool>::tool(),
        BuiltIn::<glob::GlobTool>::tool(),
        BuiltIn::<grep::GrepTool>::tool(),
        BuiltIn::<write_file::WriteFileTool>::tool(),
        BuiltIn::<edit_file::EditFileTool>::tool(),
        BuiltIn::<delete_file::DeleteFileTool>::tool(),
        BuiltIn::<move_file::MoveFileTool>::tool(),
        run_shell_command::RunShellCommandTool::tool(),
        BuiltIn::<shell_output::ShellOutputTool>::tool(),
        BuiltIn::<kill_shell::KillShellTool>::tool(),
        BuiltIn::<git_commit::GitCommitTool>::tool(),
        BuiltIn::<web_fetch::WebFetchTool>::tool(),
        BuiltIn::<web_search::WebSearchTool>::tool(),
        BuiltIn::<save_memory::SaveMemoryTool>::tool(),
        BuiltIn::<write_todos::WriteTodosTool>::tool(),
        BuiltIn::<ask_user::AskUserTool>::tool(),
        BuiltIn::<search_docs::SearchDocsTool>::tool(),
    ]
}

/// What one tool here says of itself; [`BuiltIn`] makes the [`Tool`] of it.
trait BuiltInDefinition: Send + Sync + 'static {
    /// What the schema's arguments are read into.
    type Arguments: DeserializeOwned + Send + 'static;

    /// Arguments that are paths.
    const PATHS: &'static [&'static str] = &["path"];

    /// Its parameters are a literal that compiles; a test makes every one of them.
    fn declaration() -> ToolDeclaration;

    /// What a restart may do with a call. Of what changes nothing: running it again is as good as running it once.
    fn replay() -> ReplaySafety {
        ReplaySafety::Safe
    }

    /// Whether `check` takes so long that it has to leave the async threads alone.
    fn is_heavy(_arguments: &Self::Arguments, cx: &PrepareContext) -> bool {
        cx.skills.are_compared()
    }

    /// Bytes of the file that `check` has in memory, of one that changes a file.
    fn changed_bytes(_arguments: &Self::Arguments, _cx: &PrepareContext) -> u64 {
        0
    }

    /// Checks what a schema cannot say. May read, never write.
    fn check(arguments: Self::Arguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError>;
}

/// A tool of ours: its declaration and its compiled schema.
struct BuiltIn<T> {
    declaration: ToolDeclaration,
    parameters: ParameterSchema,
    definition: PhantomData<T>,
}

impl<T: BuiltInDefinition> BuiltIn<T> {
    fn tool() -> Arc<dyn Tool> {
        let declaration = T::declaration();
        let parameters = ParameterSchema::compile(&declaration.parameters)
            .expect("the schema is a literal of this program, and a test compiles every one of them");
        Arc::new(BuiltIn { declaration, parameters, definition: PhantomData::<T> })
    }
}

impl<T: BuiltInDefinition> Tool for BuiltIn<T> {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplaySafety {
        T::replay()
    }

    fn path_arguments(&self) -> &'static [&'static str] {
        T::PATHS
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        cx: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        match self.parameters.read::<T::Arguments>(arguments) {
            Err(error) => Box::pin(ready(Err(error))),
            Ok(arguments) if T::is_heavy(&arguments, cx) => {
                let cx = cx.clone();
                Box::pin(async move {
                    let turn = cx.own_files.changes().next(T::changed_bytes(&arguments, &cx)).await;
                    work::aside(move || {
                        // Held to the end, also where nobody waits for it any more.
                        let _turn = turn;
                        T::check(arguments, &cx)
                    })
                    .await
                })
            }
            Ok(arguments) => Box::pin(ready(T::check(arguments, cx))),
        }
    }
}

/// A declaration of the lowest risk.
fn safe(name: &str, title: &str, kind: ToolKind, description: &str, parameters: Value) -> ToolDeclaration {
    declared(name, title, (kind, Risk::Safe), description, parameters)
}

fn declared(
    name: &str,
    title: &str,
    (kind, risk): (ToolKind, Risk),
    description: &str,
    parameters: Value,
) -> ToolDeclaration {
    ToolDeclaration {
        name: name.into(),
        title: title.to_owned(),
        description: description.to_owned(),
        kind,
        risk,
        parameters,
    }
}

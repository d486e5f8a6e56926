//! `write_todos`: what is the plan, and how far is it? (spec 05)

use futures_util::future::{BoxFuture, ready};
use serde::Deserialize;
use serde_json::json;

use super::{BuiltInDefinition, safe};
use crate::{CallContext, Invocation, Permit, PrepareContext, parameters::refusal, work};
use protocol::{
    CallLocation, ResourceAccess, SchemaViolation, TodoItem, TodoStatus, ToolDeclaration, ToolEffect,
    ToolError, ToolKind, ToolResult,
};

/// Entries of one list. A plan of more is one that nobody follows, and every change sends all of it.
const MAX_TODOS: usize = 100;
/// Characters of one entry: a sentence or two. What needs more belongs into a file.
const MAX_TEXT_CHARS: usize = 1_000;

const DESCRIPTION: &str = "\
Keeps the plan of a task of several steps and shows it to the user. Each call replaces the whole list, so always send \
every entry, also those that are done; an empty list ends the plan.
- `pending`: not begun. `in_progress`: worked on now; at most one at a time. `completed`: done. `cancelled`: not \
needed any more.
- Write the list before the work begins, mark an entry `in_progress` before you begin it and `completed` as soon as it \
is done, and add what you find to be necessary.
- Do not use it for what takes one or two steps.";

pub struct WriteTodosTool;

impl BuiltInDefinition for WriteTodosTool {
    type Arguments = WriteTodosArguments;

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "maxItems": MAX_TODOS,
                    "description": "The whole list, in the order of the work. It replaces the list before.",
                    // Open for more: other programs' lists have ids and priorities, which do no harm.
                    "items": {
                        "type": "object",
                        "properties": {
                            "text": {
                                "type": "string",
                                "minLength": 1,
                                "maxLength": MAX_TEXT_CHARS,
                                "description": "What is to be done."
                            },
                            "status": {
                                "type": "string",
                                "enum": ["pending", "in_progress", "completed", "cancelled"],
                                "description": "How far it is."
                            }
                        },
                        "required": ["text", "status"]
                    }
                }
            },
            "required": ["todos"],
            "additionalProperties": false
        });
        safe("write_todos", "Write plan", ToolKind::Other, DESCRIPTION, parameters)
    }

    fn check(arguments: WriteTodosArguments, _: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let violations = violations(&arguments.todos);
        if !violations.is_empty() {
            return Err(refusal(&violations));
        }
        Ok(Box::new(WriteTodosInvocation { todos: arguments.todos }))
    }
}

#[derive(Deserialize)]
pub struct WriteTodosArguments {
    todos: Vec<TodoItem>,
}

fn violations(todos: &[TodoItem]) -> Vec<SchemaViolation> {
    let mut violations = Vec::new();
    let mut in_progress = None;
    for (index, todo) in todos.iter().enumerate() {
        if todo.text.trim().is_empty() {
            let message = "blank; say what is to be done".to_owned();
            violations.push(SchemaViolation { pointer: format!("/todos/{index}/text"), message });
        }
        if todo.status != TodoStatus::InProgress {
            continue;
        }
        match in_progress {
            None => in_progress = Some(index),
            Some(first) => violations.push(SchemaViolation {
                pointer: format!("/todos/{index}/status"),
                message: format!("at most one entry is in_progress, and /todos/{first} is already"),
            }),
        }
    }
    violations
}

struct WriteTodosInvocation {
    todos: Vec<TodoItem>,
}

impl Invocation for WriteTodosInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &[ResourceAccess::Nothing]
    }

    fn description(&self) -> String {
        match self.todos.len() {
            0 => "an empty list".to_owned(),
            1 => "1 entry".to_owned(),
            total => format!("{total} entries"),
        }
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        let result = if cx.cancel.is_cancelled() { work::cancelled() } else { self.replace() };
        Box::pin(ready(result))
    }
}

impl WriteTodosInvocation {
    /// The model has the list in its own call, so it only reads the counts.
    fn replace(self) -> ToolResult {
        let count = |status| self.todos.iter().filter(|todo| todo.status == status).count();
        let (pending, in_progress) = (count(TodoStatus::Pending), count(TodoStatus::InProgress));
        let (completed, cancelled) = (count(TodoStatus::Completed), count(TodoStatus::Cancelled));
        let text = match self.todos.len() {
            0 => "The list is empty now.".to_owned(),
            _ => format!(
                "The list is replaced: {pending} pending, {in_progress} in_progress, {completed} completed, \
                 {cancelled} cancelled."
            ),
        };
        let display: Vec<String> = self.todos.iter().map(line).collect();
        ToolResult {
            return_display: Some(display.join("\n")).filter(|display| !display.is_empty()),
            data: Some(json!({
                "pending": pending,
                "inProgress": in_progress,
                "completed": completed,
                "cancelled": cancelled,
            })),
            effects: vec![ToolEffect::Todos(self.todos)],
            ..ToolResult::text(text)
        }
    }
}

/// One entry as Markdown; what would end the line is a blank.
fn line(todo: &TodoItem) -> String {
    let text = todo.text.trim().replace(char::is_control, " ");
    match todo.status {
        TodoStatus::Pending => format!("- [ ] {text}"),
        TodoStatus::InProgress => format!("- [ ] **{text}**"),
        TodoStatus::Completed => format!("- [x] {text}"),
        TodoStatus::Cancelled => format!("- [x] ~~{text}~~"),
    }
}

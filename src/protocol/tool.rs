//! Tools as clients and models see them, and what a call comes back with (spec 05).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{FileChanged, MemorySaved, MessagePart, Risk, RuleOrigin, SkillActivated, ToolKind, ToolName};

/// The name of the tool that ends a run (spec 03).
pub const COMPLETE_TASK: &str = "complete_task";

/// The name of the tool that runs a command of bash (spec 05).
pub const RUN_SHELL_COMMAND: &str = "run_shell_command";

/// How the first line of a command's result begins when it ended with a code; without such a line it ended with 0.
pub const EXIT_CODE_HEADING: &str = "Exit code: ";

/// The same when a signal ended it; the signal's number and name follow.
pub const SIGNAL_HEADING: &str = "Ended by signal ";

/// The same when nobody saw how it ended.
pub const UNKNOWN_END_HEADING: &str = "How it ended is not known";

/// How the last line of a command's result begins when the sandbox may have refused it something; the sandbox's name follows.
pub const SANDBOX_NOTE: &str = "[The command ran in a sandbox (";

/// One tool, as it is declared to a model and listed to clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDeclaration {
    pub name: ToolName,
    /// For people.
    pub title: String,
    /// For the model.
    pub description: String,
    pub kind: ToolKind,
    pub risk: Risk,
    /// JSON Schema (2020-12) of the arguments.
    pub parameters: Value,
}

/// What a call returned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// For the model.
    pub llm_content: Vec<MessagePart>,
    /// For people: Markdown. Missing when it would say what `llmContent` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_display: Option<String>,
    /// Structured, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Where all of the output is, when `llmContent` has only its head and its tail. Missing when nothing was cut, or when
    /// the whole could not be kept, which `llmContent` then says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output: Option<Box<FullOutput>>,
    /// Set when the call failed; `llmContent` then tells the model what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// What the call changed that deserves an event of its own; the run makes them of it, so it is not sent here.
    #[serde(skip)]
    pub effects: Vec<ToolEffect>,
    /// What the call put out while it ran, for the event of its end.
    #[serde(skip)]
    pub streamed: Option<Box<str>>,
    /// The rule that forbade the call, for the event of its end.
    #[serde(skip)]
    pub denied_by: Option<Box<str>>,
    /// The word that this rule goes back to, where it stands in no file.
    #[serde(skip)]
    pub denied_origin: Option<Box<RuleOrigin>>,
}

/// An output that was longer than the model's budget (spec 05, "Scheduler"). `tools/output` gives it by page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FullOutput {
    /// The file on the daemon's machine, which `read_file` reads in the same session. It goes with its session.
    pub path: String,
    /// What is kept of it, in bytes of UTF-8.
    pub bytes: u64,
    /// What there was, in bytes; more than `bytes` when it was too long even for keeping.
    pub total_bytes: u64,
}

/// A change beyond the result, of which clients are told by an event of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolEffect {
    /// The whole list is now this: `todos.updated`.
    Todos(Vec<TodoItem>),
    /// `file.changed`
    File(FileChanged),
    /// `memory.saved`
    Memory(MemorySaved),
    /// `skill.activated`
    Skill(SkillActivated),
}

/// One entry of a run's plan (spec 05, `write_todos`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoItem {
    pub text: String,
    pub status: TodoStatus,
}

/// How far an entry is. At most one of a list is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    /// Given up.
    Cancelled,
}

impl ToolResult {
    /// A success that is one text.
    pub fn text(text: impl Into<String>) -> ToolResult {
        ToolResult { llm_content: vec![MessagePart::text(text)], ..ToolResult::default() }
    }

    /// A failure; the model reads the same words as people.
    pub fn failure(kind: ToolErrorType, message: impl Into<String>) -> ToolResult {
        let message = message.into();
        ToolResult {
            llm_content: vec![MessagePart::text(format!("{}: {message}", kind.as_str()))],
            error: Some(ToolError { kind, message }),
            ..ToolResult::default()
        }
    }
}

/// The reason why a call failed: data for the model and for people, not a request error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolError {
    #[serde(rename = "type")]
    pub kind: ToolErrorType,
    pub message: String,
}

macro_rules! tool_error_types {
    ($($name:ident = $text:literal),+ $(,)?) => {
        /// Tool error types (spec 05, "Error types"), spelled like this on the wire.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum ToolErrorType { $(#[serde(rename = $text)] $name),+ }

        impl ToolErrorType {
            /// The spelling on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(ToolErrorType::$name => $text),+ }
            }
        }
    };
}

tool_error_types! {
    InvalidToolParams = "INVALID_TOOL_PARAMS",
    Unknown = "UNKNOWN",
    UnhandledException = "UNHANDLED_EXCEPTION",
    ToolNotRegistered = "TOOL_NOT_REGISTERED",
    ToolNotAllowed = "TOOL_NOT_ALLOWED",
    WorkspaceNotTrusted = "WORKSPACE_NOT_TRUSTED",
    ExecutionFailed = "EXECUTION_FAILED",
    Cancelled = "CANCELLED",
    TimedOut = "TIMED_OUT",
    FileNotFound = "FILE_NOT_FOUND",
    FileWriteFailure = "FILE_WRITE_FAILURE",
    ReadContentFailure = "READ_CONTENT_FAILURE",
    AttemptToCreateExistingFile = "ATTEMPT_TO_CREATE_EXISTING_FILE",
    FileTooLarge = "FILE_TOO_LARGE",
    FileChanged = "FILE_CHANGED",
    PermissionDenied = "PERMISSION_DENIED",
    NoSpaceLeft = "NO_SPACE_LEFT",
    TargetIsDirectory = "TARGET_IS_DIRECTORY",
    PathNotInWorkspace = "PATH_NOT_IN_WORKSPACE",
    EditPreparationFailure = "EDIT_PREPARATION_FAILURE",
    EditNoOccurrenceFound = "EDIT_NO_OCCURRENCE_FOUND",
    EditExpectedOccurrenceMismatch = "EDIT_EXPECTED_OCCURRENCE_MISMATCH",
    EditNoChange = "EDIT_NO_CHANGE",
    GlobExecutionError = "GLOB_EXECUTION_ERROR",
    GrepExecutionError = "GREP_EXECUTION_ERROR",
    LsExecutionError = "LS_EXECUTION_ERROR",
    ShellExecuteError = "SHELL_EXECUTE_ERROR",
    MemoryToolExecutionError = "MEMORY_TOOL_EXECUTION_ERROR",
    McpToolError = "MCP_TOOL_ERROR",
    DiscoveredToolExecutionError = "DISCOVERED_TOOL_EXECUTION_ERROR",
    WebFetchProcessingError = "WEB_FETCH_PROCESSING_ERROR",
    WebSearchFailed = "WEB_SEARCH_FAILED",
    MaxDepth = "MAX_DEPTH",
    ContextTooLarge = "CONTEXT_TOO_LARGE",
    PolicyDenied = "POLICY_DENIED",
    UserDenied = "USER_DENIED",
    NoClient = "NO_CLIENT",
    SandboxDenied = "SANDBOX_DENIED",
    Interrupted = "INTERRUPTED",
    HookDenied = "HOOK_DENIED",
}

/// A call's state (spec 05, "Scheduler").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CallState {
    Validating,
    Scheduled,
    AwaitingApproval,
    Executing,
    Success,
    Error,
    Cancelled,
}

impl CallState {
    /// True if a call in this state is over.
    pub fn is_end(self) -> bool {
        matches!(self, CallState::Success | CallState::Error | CallState::Cancelled)
    }
}

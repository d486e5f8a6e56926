//! One event with its facts, as hooks are told it.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use super::{HookedCommand, HookedSkill};
use protocol::{AgentName, ApprovalMode, CallId, HookEventName, ResourceAccess, RunId, SessionId, ToolName};

/// An event, and to whom it happened.
#[derive(Debug, Clone)]
pub struct HookFiring {
    /// The same when a guard is asked again after a crash.
    pub firing_id: String,
    /// From 1.
    pub attempt: u32,
    pub facts: HookFacts,
    pub session_id: SessionId,
    /// `None` = it belongs to no run: `tools/call`, a session's end.
    pub run_id: Option<RunId>,
    /// The root run above it: `prompt_id`.
    pub root_run_id: Option<RunId>,
    /// The run is a child or a node, so `agent_id` is said.
    pub is_child: bool,
    pub agent: Option<AgentName>,
    /// From the root's agent to this one.
    pub agent_path: Vec<AgentName>,
    pub model: Option<String>,
    pub turn_id: Option<String>,
    pub mode: ApprovalMode,
    pub is_headless: bool,
    /// The skills that the run's model has, oldest first.
    pub skills: Arc<[HookedSkill]>,
    /// The session's commands that go on in the background; only where a run is about to end.
    pub background: Vec<HookedCommand>,
}

/// A tool call. Names and arguments are ours; what hooks read is made of them by a table.
#[derive(Debug, Clone)]
pub struct HookedCall {
    pub call_id: CallId,
    pub tool: ToolName,
    /// Only of a tool from an MCP server the server's name, and the tool's own there.
    pub mcp: Option<(String, String)>,
    /// Only of a call that another agent answers, that agent.
    pub answered_by: Option<AgentName>,
    pub arguments: Value,
    /// Everything that it would touch, as it was prepared: what the policy judges. Empty = not known.
    pub accesses: Vec<ResourceAccess>,
    /// The page, where a hook is asked about each of several.
    pub page: Option<String>,
}

/// A call that has ended.
#[derive(Debug, Clone)]
pub struct HookedResult {
    pub call: HookedCall,
    /// The text for the model.
    pub text: String,
    /// It has more than text, images say, of which hooks read nothing.
    pub has_more_than_text: bool,
    /// The structured result of the tool, where it has one.
    pub data: Option<Value>,
    /// The error of a call that failed.
    pub error: Option<String>,
    /// A person or a stop ended it.
    pub is_interrupt: bool,
    pub duration_ms: u64,
}

/// An event and its own facts.
#[derive(Debug, Clone)]
pub enum HookFacts {
    /// `source`: `startup`, `resume`, `clear`, `compact` or `fork`.
    SessionStart {
        source: &'static str,
        session_title: Option<String>,
    },
    SessionEnd {
        reason: String,
    },
    UserPromptSubmit {
        prompt: String,
        session_title: Option<String>,
    },
    /// `kind`: `mcp_prompt` or `slash_command`.
    UserPromptExpansion {
        kind: &'static str,
        name: String,
        arguments: String,
        source: Option<String>,
        prompt: String,
    },
    PreToolUse {
        call: HookedCall,
    },
    PermissionRequest {
        call: HookedCall,
        reason: String,
    },
    PermissionDenied {
        call: HookedCall,
        reason: String,
    },
    PostToolUse {
        result: HookedResult,
    },
    PostToolUseFailure {
        result: HookedResult,
    },
    PostToolBatch {
        results: Vec<HookedResult>,
    },
    /// `is_going_on`: a hook has kept it from its end before.
    Stop {
        is_going_on: bool,
        last_message: Option<String>,
    },
    SubagentStop {
        is_going_on: bool,
        last_message: Option<String>,
    },
    /// `error`: the run's end reason or error code.
    StopFailure {
        error: String,
        details: Option<String>,
        last_message: Option<String>,
    },
    SubagentStart,
    /// `trigger`: `manual` or `auto`.
    PreCompact {
        trigger: &'static str,
        instructions: Option<String>,
    },
    PostCompact {
        trigger: &'static str,
        summary: String,
    },
    /// `mode`: `form` or `url`.
    Elicitation {
        server: String,
        message: String,
        mode: Option<String>,
        url: Option<String>,
        schema: Option<Value>,
    },
    /// `action`: `accept`, `decline` or `cancel`.
    ElicitationResult {
        server: String,
        action: String,
        content: Option<Value>,
    },
    /// `memory_type`: `User`, `Project`, `Local` or `Managed`; `reason`: `session_start`, `nested_traversal`, `include` or
    /// `compact`.
    InstructionsLoaded {
        file: PathBuf,
        memory_type: String,
        reason: String,
    },
    Notification {
        kind: String,
        message: String,
        title: Option<String>,
    },
    BeforeAgent {
        prompt: String,
    },
    AfterAgent {
        prompt: String,
        response: String,
        is_going_on: bool,
    },
    /// `request`: `{model, messages[{role, content}], config, toolConfig}`, Gemini CLI's stable form.
    BeforeModel {
        request: Value,
    },
    /// `response`: `{candidates[{content {role, parts}, finishReason}], usageMetadata}`, Gemini CLI's stable form.
    AfterModel {
        request: Value,
        response: Value,
    },
    BeforeToolSelection {
        request: Value,
    },
    BeforeHandoff {
        target: AgentName,
        payload: Value,
    },
}

impl HookFacts {
    /// The event that these are facts of.
    pub fn event(&self) -> HookEventName {
        use HookEventName as Event;
        match self {
            HookFacts::SessionStart { .. } => Event::SessionStart,
            HookFacts::SessionEnd { .. } => Event::SessionEnd,
            HookFacts::UserPromptSubmit { .. } => Event::UserPromptSubmit,
            HookFacts::UserPromptExpansion { .. } => Event::UserPromptExpansion,
            HookFacts::PreToolUse { .. } => Event::PreToolUse,
            HookFacts::PermissionRequest { .. } => Event::PermissionRequest,
            HookFacts::PermissionDenied { .. } => Event::PermissionDenied,
            HookFacts::PostToolUse { .. } => Event::PostToolUse,
            HookFacts::PostToolUseFailure { .. } => Event::PostToolUseFailure,
            HookFacts::PostToolBatch { .. } => Event::PostToolBatch,
            HookFacts::Stop { .. } => Event::Stop,
            HookFacts::SubagentStop { .. } => Event::SubagentStop,
            HookFacts::StopFailure { .. } => Event::StopFailure,
            HookFacts::SubagentStart => Event::SubagentStart,
            HookFacts::PreCompact { .. } => Event::PreCompact,
            HookFacts::PostCompact { .. } => Event::PostCompact,
            HookFacts::Elicitation { .. } => Event::Elicitation,
            HookFacts::ElicitationResult { .. } => Event::ElicitationResult,
            HookFacts::InstructionsLoaded { .. } => Event::InstructionsLoaded,
            HookFacts::Notification { .. } => Event::Notification,
            HookFacts::BeforeAgent { .. } => Event::BeforeAgent,
            HookFacts::AfterAgent { .. } => Event::AfterAgent,
            HookFacts::BeforeModel { .. } => Event::BeforeModel,
            HookFacts::AfterModel { .. } => Event::AfterModel,
            HookFacts::BeforeToolSelection { .. } => Event::BeforeToolSelection,
            HookFacts::BeforeHandoff { .. } => Event::BeforeHandoff,
        }
    }

    /// The call that it is about.
    pub fn call(&self) -> Option<&HookedCall> {
        match self {
            HookFacts::PreToolUse { call }
            | HookFacts::PermissionRequest { call, .. }
            | HookFacts::PermissionDenied { call, .. } => Some(call),
            HookFacts::PostToolUse { result } | HookFacts::PostToolUseFailure { result } => {
                Some(&result.call)
            }
            _ => None,
        }
    }

    /// The call that has ended.
    pub(super) fn result(&self) -> Option<&HookedResult> {
        match self {
            HookFacts::PostToolUse { result } | HookFacts::PostToolUseFailure { result } => Some(result),
            _ => None,
        }
    }

    /// The same with other arguments of the call.
    pub(super) fn with_arguments(&self, arguments: Value) -> HookFacts {
        let mut facts = self.clone();
        if let HookFacts::PreToolUse { call } | HookFacts::PermissionRequest { call, .. } = &mut facts {
            call.arguments = arguments;
            // They are those of the call as it was; whoever prepares it anew says what it touches now.
            call.accesses.clear();
            call.page = None;
        }
        facts
    }

    /// The same about one page of a call that reads several.
    pub(super) fn about_page(mut self, page: String) -> HookFacts {
        if let Some(call) = self.call_mut() {
            call.page = Some(page);
        }
        self
    }

    /// The same with a call that an agent answers.
    pub(super) fn answered_by(mut self, agent: Option<AgentName>) -> HookFacts {
        if let Some(call) = self.call_mut() {
            call.answered_by = agent;
        }
        self
    }

    /// The same with a call that was prepared, and touches this.
    pub fn touching(mut self, accesses: &[ResourceAccess]) -> HookFacts {
        if let Some(call) = self.call_mut() {
            call.accesses = accesses.to_vec();
        }
        self
    }

    pub(super) fn call_mut(&mut self) -> Option<&mut HookedCall> {
        match self {
            HookFacts::PreToolUse { call }
            | HookFacts::PermissionRequest { call, .. }
            | HookFacts::PermissionDenied { call, .. } => Some(call),
            HookFacts::PostToolUse { result } | HookFacts::PostToolUseFailure { result } => {
                Some(&mut result.call)
            }
            _ => None,
        }
    }
}

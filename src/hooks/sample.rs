//! Facts of an event that did not happen, to try a hook by hand.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{HookContract, HookFacts, HookFiring, HookedCall, HookedResult, tool_names};
use protocol::{AgentName, ApprovalMode, CallId, HookEventName, SessionId, ToolName};

/// The command of a made-up call.
const COMMAND: &str = "echo hello";

impl HookFiring {
    /// A firing that nothing led to. A call of one of these agents' names is one that the agent answers.
    pub fn by_hand<'a>(facts: HookFacts, agents: impl IntoIterator<Item = &'a AgentName>) -> HookFiring {
        let tool = facts.call().map(|call| call.tool.clone());
        let is_its = |agent: &&AgentName| tool.as_ref().is_some_and(|tool| tool.as_str() == agent.as_str());
        let facts = facts.answered_by(agents.into_iter().find(is_its).cloned());
        HookFiring {
            firing_id: sys::ids::fresh::<String>(),
            attempt: 1,
            facts,
            session_id: sys::ids::fresh::<SessionId>(),
            run_id: None,
            root_run_id: None,
            is_child: false,
            agent: None,
            agent_path: Vec::new(),
            model: None,
            turn_id: None,
            mode: ApprovalMode::Default,
            is_headless: false,
            skills: Arc::new([]),
            background: Vec::new(),
        }
    }
}

impl HookFacts {
    /// The same where somebody typed the arguments of its call, in the words of a contract or in ours: hooks read them as of a real call.
    pub fn typed_for(mut self, contract: HookContract) -> HookFacts {
        let calls = match &mut self {
            HookFacts::PostToolBatch { results } => {
                results.iter_mut().map(|result| &mut result.call).collect()
            }
            other => other.call_mut().into_iter().collect::<Vec<_>>(),
        };
        for call in calls.into_iter().filter(|call| call.mcp.is_none() && call.answered_by.is_none()) {
            // What cannot be read stays as it was typed: the hook is tried with that.
            if let Ok(ours) = tool_names::in_our_words(call.tool.as_str(), contract, &call.arguments) {
                call.arguments = ours;
            }
        }
        self
    }

    /// Facts of this event, made up where `input` says nothing. Of an event that is about a call `input` is the call's
    /// arguments.
    pub fn sample(event: HookEventName, tool: &ToolName, input: Option<Map<String, Value>>) -> HookFacts {
        use HookEventName as Event;
        let mcp = tool.as_str().strip_prefix("mcp.").and_then(|rest| rest.split_once('.'));
        let mcp = mcp.map(|(server, own)| (server.to_owned(), own.to_owned()));
        let arguments = input.clone().map_or_else(
            || match tool.as_str() {
                "run_shell_command" => json!({ "command": COMMAND }),
                _ => json!({}),
            },
            Value::Object,
        );
        let call = HookedCall {
            call_id: CallId::from("test"),
            tool: tool.clone(),
            mcp,
            answered_by: None,
            arguments,
            accesses: Vec::new(),
            page: None,
        };
        let fields = input.unwrap_or_default();
        let text =
            |key: &str, usual: &str| fields.get(key).and_then(Value::as_str).unwrap_or(usual).to_owned();
        let value = |key: &str| fields.get(key).cloned();
        let prompt = || text("prompt", "Hello.");
        let result = |error: Option<&str>| HookedResult {
            call: call.clone(),
            text: "hello".to_owned(),
            has_more_than_text: false,
            data: None,
            error: error.map(str::to_owned),
            is_interrupt: false,
            duration_ms: 1,
        };
        let one_of = |key: &str, words: &[&'static str]| {
            let given = text(key, words[0]);
            words.iter().find(|word| **word == given).copied().unwrap_or(words[0])
        };
        match event {
            Event::SessionStart => HookFacts::SessionStart {
                source: one_of("source", &["startup", "resume", "clear", "compact", "fork"]),
                session_title: None,
            },
            Event::SessionEnd => HookFacts::SessionEnd { reason: text("reason", "other") },
            Event::UserPromptSubmit => HookFacts::UserPromptSubmit { prompt: prompt(), session_title: None },
            Event::UserPromptExpansion => HookFacts::UserPromptExpansion {
                kind: one_of("expansion_type", &["slash_command", "mcp_prompt"]),
                name: text("command_name", "example"),
                arguments: text("command_args", ""),
                source: None,
                prompt: prompt(),
            },
            Event::PreToolUse => HookFacts::PreToolUse { call },
            Event::PermissionRequest => HookFacts::PermissionRequest { call, reason: "it is tried by hand".to_owned() },
            Event::PermissionDenied => HookFacts::PermissionDenied { call, reason: "it is tried by hand".to_owned() },
            Event::PostToolUse => HookFacts::PostToolUse { result: result(None) },
            Event::PostToolUseFailure => HookFacts::PostToolUseFailure { result: result(Some("it failed")) },
            Event::PostToolBatch => HookFacts::PostToolBatch { results: vec![result(None)] },
            Event::Stop => HookFacts::Stop {
                is_going_on: fields.get("stop_hook_active") == Some(&Value::Bool(true)),
                last_message: Some(text("last_assistant_message", "Done.")),
            },
            Event::SubagentStop => {
                HookFacts::SubagentStop { is_going_on: false, last_message: Some(text("last_assistant_message", "Done.")) }
            }
            Event::StopFailure => {
                HookFacts::StopFailure { error: text("error", "unknown"), details: None, last_message: None }
            }
            Event::SubagentStart => HookFacts::SubagentStart,
            Event::PreCompact => {
                HookFacts::PreCompact { trigger: one_of("trigger", &["manual", "auto"]), instructions: None }
            }
            Event::PostCompact => HookFacts::PostCompact {
                trigger: one_of("trigger", &["manual", "auto"]),
                summary: text("compact_summary", "A summary."),
            },
            Event::Elicitation => HookFacts::Elicitation {
                server: text("mcp_server_name", "example"),
                message: text("message", "Which one?"),
                mode: None,
                url: None,
                schema: value("requested_schema"),
            },
            Event::ElicitationResult => HookFacts::ElicitationResult {
                server: text("mcp_server_name", "example"),
                action: text("action", "decline"),
                content: value("content"),
            },
            Event::InstructionsLoaded => HookFacts::InstructionsLoaded {
                file: text("file_path", "/AGENTS.md").into(),
                memory_type: text("memory_type", "Project"),
                reason: text("load_reason", "session_start"),
            },
            Event::Notification => HookFacts::Notification {
                kind: text("notification_type", "permission_prompt"),
                message: text("message", "A question waits."),
                title: None,
            },
            Event::BeforeAgent => HookFacts::BeforeAgent { prompt: prompt() },
            Event::AfterAgent => {
                HookFacts::AfterAgent { prompt: prompt(), response: text("prompt_response", "Done."), is_going_on: false }
            }
            Event::BeforeModel => HookFacts::BeforeModel { request: value("llm_request").unwrap_or_else(request) },
            Event::AfterModel => HookFacts::AfterModel {
                request: value("llm_request").unwrap_or_else(request),
                response: value("llm_response").unwrap_or_else(|| {
                    json!({ "candidates": [{ "content": { "role": "model", "parts": ["Done."] }, "finishReason": "STOP" }] })
                }),
            },
            Event::BeforeToolSelection => {
                HookFacts::BeforeToolSelection { request: value("llm_request").unwrap_or_else(request) }
            }
            Event::BeforeHandoff => HookFacts::BeforeHandoff {
                target: text("target_agent", "example").into(),
                payload: value("payload").unwrap_or_else(|| json!({})),
            },
        }
    }
}

fn request() -> Value {
    json!({ "model": "example", "messages": [{ "role": "user", "content": "Hello." }], "config": {} })
}

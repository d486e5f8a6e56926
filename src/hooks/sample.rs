//! Facts of an event that did not happen, to try a hook by hand.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    Hook, HookContract, HookFacts, HookFiring, HookedCall, HookedResult, matcher::HookMatcher, tool_names,
};
use protocol::{AgentName, ApprovalMode, BUILTIN_TOOLS, CallId, HookEventName, SessionId, ToolName};

/// The tool of a made-up call, where a hook is about any.
const USUAL_TOOL: &str = "run_shell_command";

/// Arguments of a made-up call of a tool, in our words.
fn arguments_of(tool: &str) -> Value {
    const FILE: &str = "example.txt";
    match tool {
        "run_shell_command" => json!({ "command": "echo hello" }),
        "read_file" | "delete_file" => json!({ "path": FILE }),
        "write_file" => json!({ "path": FILE, "content": "hello\n" }),
        "edit_file" => json!({ "path": FILE, "oldString": "hello", "newString": "goodbye" }),
        "move_file" => json!({ "from": FILE, "to": "moved.txt" }),
        "list_directory" => json!({ "path": "." }),
        "glob" => json!({ "pattern": "**/*" }),
        "grep" => json!({ "pattern": "hello" }),
        "web_fetch" => json!({ "prompt": "Summarise https://example.com/" }),
        "web_search" => json!({ "query": "hello" }),
        _ => json!({}),
    }
}

impl Hook {
    /// The tool of a call with which it is tried by hand where nobody names one: the first that its `matcher` and its `if` mean.
    pub fn sample_tool(&self) -> ToolName {
        let of_condition = self.condition.as_ref().filter(|_| self.matcher.names().is_empty());
        let of_condition = of_condition.map(|condition| tool_names::ours(condition.tool()));
        let tools = of_condition.into_iter().chain(self.matcher.sample_tools());
        let calls: Vec<HookedCall> = tools.map(|tool| sample_call(&tool)).collect();
        let is_known = |call: &HookedCall| call.mcp.is_some() || BUILTIN_TOOLS.contains(&call.tool.as_str());
        let is_matched = |call: &&HookedCall| {
            is_known(call) && self.matcher.matches(&HookFacts::PreToolUse { call: (*call).clone() })
        };
        let is_meant =
            |call: &&HookedCall| self.condition.as_ref().is_none_or(|condition| condition.is_of_tool(call));
        let mut matched = calls.iter().filter(is_matched);
        let first = matched.clone().next();
        let found = matched.find(is_meant).or(first);
        found.map_or_else(|| USUAL_TOOL.into(), |call| call.tool.clone())
    }
}

impl HookMatcher {
    /// The tools that it may mean, in the order of its names; of one without names all built-in ones, the usual one first.
    fn sample_tools(&self) -> Vec<String> {
        match self.names() {
            [] => {
                // No hook is shown a call that hands in a result.
                let others =
                    BUILTIN_TOOLS.iter().filter(|tool| !["complete_task", USUAL_TOOL].contains(*tool));
                [&USUAL_TOOL].into_iter().chain(others).map(|tool| (*tool).to_owned()).collect()
            }
            names => {
                names.iter().map(|name| of_server(name).unwrap_or_else(|| tool_names::ours(name))).collect()
            }
        }
    }
}

/// A tool of the server that a name means as a whole: `mcp__github`.
fn of_server(name: &str) -> Option<String> {
    let server = name.strip_prefix("mcp__").filter(|rest| !rest.contains("__"))?;
    Some(format!("mcp.{server}.example"))
}

/// A call of a tool without arguments.
fn sample_call(tool: &str) -> HookedCall {
    let mcp = tool.strip_prefix("mcp.").and_then(|rest| rest.split_once('.'));
    HookedCall {
        call_id: CallId::from("test"),
        tool: tool.into(),
        mcp: mcp.map(|(server, own)| (server.to_owned(), own.to_owned())),
        answered_by: None,
        arguments: json!({}),
        accesses: Vec::new(),
        page: None,
    }
}

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
        let arguments = input.clone().map_or_else(|| arguments_of(tool.as_str()), Value::Object);
        let call = HookedCall { arguments, ..sample_call(tool.as_str()) };
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

//! What does a hook read? One line of JSON in the words of its contract.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{
    Hook, HookContract, HookFacts, HookFiring, HookWorkspace, HookedCall, HookedResult, event, ongoing,
    response::shown_result, tool_names,
};
use protocol::{AgentName, ApprovalMode, ResourceAccess, Timestamp};

/// Errors that Claude Code tells apart; others are `unknown` there.
const STOP_ERRORS: &[&str] = &[
    "authentication_failed",
    "oauth_org_not_allowed",
    "account_on_hold",
    "verification_required",
    "billing_error",
    "rate_limit",
    "overloaded",
    "invalid_request",
    "model_not_found",
    "server_error",
    "max_output_tokens",
    "cloud_credential_error",
];

/// Reasons for a session's end that Claude Code knows.
const END_REASONS: &[&str] = &["clear", "resume", "logout", "prompt_input_exit"];

/// Everything that the hook reads, without the end of the line.
pub(super) fn written(hook: &Hook, firing: &HookFiring, workspace: &HookWorkspace, now: Timestamp) -> Value {
    let root = workspace.roots.first().map_or(Path::new("/"), |root| root.as_path());
    let writer = StdinWriter { hook, firing, workspace, root };
    let mut fields = writer.base(now);
    writer.own(&mut fields);
    Value::Object(fields)
}

struct StdinWriter<'a> {
    hook: &'a Hook,
    firing: &'a HookFiring,
    workspace: &'a HookWorkspace,
    root: &'a Path,
}

impl StdinWriter<'_> {
    fn base(&self, now: Timestamp) -> Map<String, Value> {
        let firing = self.firing;
        let event = firing.facts.event();
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
        put("session_id", json!(firing.session_id));
        put("transcript_path", json!(self.workspace.transcript.to_string_lossy()));
        put("cwd", json!(self.root.to_string_lossy()));
        let agent = firing.agent.as_ref().map(AgentName::as_str);
        let run = firing.run_id.as_ref().map_or("", |run| run.as_str());
        match self.hook.contract {
            HookContract::Gemini => {
                put("hook_event_name", json!(self.hook.event_name));
                put("timestamp", json!(now));
            }
            HookContract::Claude => {
                put("hook_event_name", json!(event.as_str()));
                put("permission_mode", json!(self.mode()));
                if let Some(root_run) = &firing.root_run_id {
                    put("prompt_id", json!(root_run));
                }
                let is_of_agent =
                    matches!(firing.facts, HookFacts::SubagentStart | HookFacts::SubagentStop { .. });
                if firing.is_child || is_of_agent {
                    put("agent_id", json!(run));
                }
                if agent.is_some() || is_of_agent {
                    put("agent_type", json!(agent.unwrap_or_default()));
                }
            }
            HookContract::Codex => {
                put("hook_event_name", json!(event::name_in(HookContract::Codex, event)));
                put("model", json!(firing.model.as_deref().unwrap_or_default()));
                let is_of_turn =
                    !matches!(firing.facts, HookFacts::SessionStart { .. } | HookFacts::SessionEnd { .. });
                if is_of_turn {
                    put("turn_id", json!(firing.turn_id.as_deref().unwrap_or(run)));
                }
                if !matches!(firing.facts, HookFacts::PreCompact { .. } | HookFacts::PostCompact { .. }) {
                    put("permission_mode", json!(self.mode()));
                }
                if matches!(firing.facts, HookFacts::SubagentStart | HookFacts::SubagentStop { .. }) {
                    put("agent_id", json!(run));
                    put("agent_type", json!(agent.unwrap_or_default()));
                }
            }
        }
        if self.hook.contract != HookContract::Codex {
            fields.insert("subagentd".to_owned(), self.ours());
        }
        fields
    }

    /// Everything that only this daemon knows.
    fn ours(&self) -> Value {
        let firing = self.firing;
        let mut ours = json!({
            "firingId": firing.firing_id,
            "attempt": firing.attempt,
            "agentPath": firing.agent_path,
        });
        if let Some(run) = &firing.run_id {
            ours["runId"] = json!(run);
        }
        if let Some(call) = firing.facts.call() {
            ours["tool"] = json!(call.tool);
            ours["arguments"] = call.arguments.clone();
            let touched: Vec<String> = call.accesses.iter().filter_map(place_of).collect();
            if !touched.is_empty() {
                ours["touches"] = json!(touched);
            }
        }
        ours
    }

    /// The mode in Claude Code's words.
    fn mode(&self) -> &'static str {
        match self.firing.mode {
            ApprovalMode::Plan => "plan",
            ApprovalMode::Default if self.firing.is_headless => "dontAsk",
            ApprovalMode::Default => "default",
            ApprovalMode::AutoEdit => "acceptEdits",
            ApprovalMode::Yolo => "bypassPermissions",
        }
    }

    /// The event's own fields.
    fn own(&self, fields: &mut Map<String, Value>) {
        let contract = self.hook.contract;
        let is_codex = contract == HookContract::Codex;
        let is_gemini = contract == HookContract::Gemini;
        let mut put = |key: &str, value: Value| {
            fields.insert(key.to_owned(), value);
        };
        match &self.firing.facts {
            HookFacts::SessionStart { source, session_title } => {
                put("source", json!(source));
                if !is_codex && !is_gemini {
                    put_some(&mut put, "model", self.firing.model.as_deref());
                    put_some(&mut put, "session_title", session_title.as_deref());
                }
            }
            HookFacts::SessionEnd { reason } => {
                let known = END_REASONS.contains(&reason.as_str());
                put("reason", json!(if known { reason.as_str() } else { "other" }));
            }
            HookFacts::UserPromptSubmit { prompt, session_title } => {
                put("prompt", json!(prompt));
                if !is_codex {
                    put_some(&mut put, "session_title", session_title.as_deref());
                }
            }
            HookFacts::UserPromptExpansion { kind, name, arguments, source, prompt } => {
                put("expansion_type", json!(kind));
                put("command_name", json!(name));
                put("command_args", json!(arguments));
                put_some(&mut put, "command_source", source.as_deref());
                put("prompt", json!(prompt));
            }
            HookFacts::PreToolUse { call } => {
                self.put_call(&mut put, call, true);
                self.put_skills(&mut put);
            }
            HookFacts::PermissionRequest { call, .. } => self.put_call(&mut put, call, false),
            HookFacts::PermissionDenied { call, reason } => {
                self.put_call(&mut put, call, true);
                put("reason", json!(reason));
            }
            HookFacts::PostToolUse { result } => {
                self.put_call(&mut put, &result.call, true);
                self.put_skills(&mut put);
                put("tool_response", shown_result(result, contract, self.root));
                if !is_codex && !is_gemini {
                    put("duration_ms", json!(result.duration_ms));
                }
            }
            HookFacts::PostToolUseFailure { result } => {
                self.put_call(&mut put, &result.call, true);
                self.put_skills(&mut put);
                if is_gemini || is_codex {
                    put("tool_response", shown_result(result, contract, self.root));
                } else {
                    put("error", json!(failure_of(result)));
                    put("is_interrupt", json!(result.is_interrupt));
                    put("duration_ms", json!(result.duration_ms));
                }
            }
            HookFacts::PostToolBatch { results } => {
                let calls = results.iter().map(|result| {
                    let shown = tool_names::shown(&result.call, contract, self.root);
                    json!({
                        "tool_name": shown.name,
                        "tool_input": shown.arguments,
                        "tool_use_id": result.call.call_id,
                        "tool_response": shown_result(result, contract, self.root),
                    })
                });
                put("tool_calls", calls.collect());
            }
            HookFacts::Stop { is_going_on, last_message } => {
                self.put_background(&mut put);
                put("stop_hook_active", json!(is_going_on));
                self.put_last(&mut put, last_message.as_deref());
            }
            HookFacts::SubagentStop { is_going_on, last_message } => {
                self.put_background(&mut put);
                put("stop_hook_active", json!(is_going_on));
                put("agent_transcript_path", json!(self.workspace.transcript.to_string_lossy()));
                self.put_last(&mut put, last_message.as_deref());
            }
            HookFacts::StopFailure { error, details, last_message } => {
                let known = STOP_ERRORS.contains(&error.as_str());
                put("error", json!(if known { error.as_str() } else { "unknown" }));
                let details = details.clone().or_else(|| (!known).then(|| error.clone()));
                put_some(&mut put, "error_details", details.as_deref());
                put_some(&mut put, "last_assistant_message", last_message.as_deref());
            }
            HookFacts::SubagentStart => {}
            HookFacts::PreCompact { trigger, instructions } => {
                put("trigger", json!(trigger));
                if !is_codex && !is_gemini {
                    put("custom_instructions", json!(instructions));
                }
            }
            HookFacts::PostCompact { trigger, summary } => {
                put("trigger", json!(trigger));
                if !is_codex {
                    put("compact_summary", json!(summary));
                }
            }
            HookFacts::Elicitation { server, message, mode, url, schema } => {
                put("mcp_server_name", json!(server));
                put("message", json!(message));
                put_some(&mut put, "mode", mode.as_deref());
                put_some(&mut put, "url", url.as_deref());
                if let Some(schema) = schema {
                    put("requested_schema", schema.clone());
                }
            }
            HookFacts::ElicitationResult { server, action, content } => {
                put("mcp_server_name", json!(server));
                put("action", json!(action));
                if let Some(content) = content {
                    put("content", content.clone());
                }
            }
            HookFacts::InstructionsLoaded { file, memory_type, reason } => {
                put("file_path", json!(file.to_string_lossy()));
                put("memory_type", json!(memory_type));
                put("load_reason", json!(reason));
            }
            HookFacts::Notification { kind, message, title } => {
                // Gemini CLI has this kind alone.
                let is_question = is_gemini && kind == "permission_prompt";
                put("notification_type", json!(if is_question { "ToolPermission" } else { kind.as_str() }));
                put("message", json!(message));
                put_some(&mut put, "title", title.as_deref());
                if is_gemini {
                    put("details", json!({}));
                }
            }
            HookFacts::BeforeAgent { prompt } => put("prompt", json!(prompt)),
            HookFacts::AfterAgent { prompt, response, is_going_on } => {
                put("prompt", json!(prompt));
                put("prompt_response", json!(response));
                put("stop_hook_active", json!(is_going_on));
            }
            HookFacts::BeforeModel { request } | HookFacts::BeforeToolSelection { request } => {
                put("llm_request", request.clone());
            }
            HookFacts::AfterModel { request, response } => {
                put("llm_request", request.clone());
                put("llm_response", response.clone());
            }
            HookFacts::BeforeHandoff { target, payload } => {
                put("target_agent", json!(target));
                put("payload", payload.clone());
            }
        }
    }

    fn put_last(&self, put: &mut impl FnMut(&str, Value), last: Option<&str>) {
        match self.hook.contract {
            HookContract::Codex => put("last_assistant_message", json!(last)),
            HookContract::Claude | HookContract::Gemini => put_some(put, "last_assistant_message", last),
        }
    }

    /// The skills that the model has. Only Codex's contract has them.
    fn put_skills(&self, put: &mut impl FnMut(&str, Value)) {
        if self.hook.contract == HookContract::Codex {
            put("skill_activations", ongoing::skill_activations(&self.firing.skills));
        }
    }

    /// Everything that goes on when a run wants to end. Only Codex's contract has it.
    fn put_background(&self, put: &mut impl FnMut(&str, Value)) {
        if self.hook.contract == HookContract::Codex {
            put("background", ongoing::background(&self.firing.background));
        }
    }

    fn put_call(&self, put: &mut impl FnMut(&str, Value), call: &HookedCall, with_id: bool) {
        let shown = tool_names::shown(call, self.hook.contract, self.root);
        put("tool_name", json!(shown.name));
        put("tool_input", shown.arguments);
        match (self.hook.contract, &call.mcp) {
            (HookContract::Gemini, Some((server, tool))) => {
                put("mcp_context", json!({ "server_name": server, "tool_name": tool }));
            }
            (HookContract::Claude, Some((server, _))) => {
                put("mcp_server", json!({ "name": server, "source": "user" }));
            }
            _ => {}
        }
        if with_id && self.hook.contract != HookContract::Gemini {
            put("tool_use_id", json!(call.call_id));
        }
    }
}

/// The file, folder or address that a call touches, as it was prepared.
fn place_of(access: &ResourceAccess) -> Option<String> {
    match access {
        ResourceAccess::Read { path } | ResourceAccess::Write { path } => {
            Some(path.to_string_lossy().into_owned())
        }
        ResourceAccess::Fetch { url } => Some(url.clone()),
        ResourceAccess::Execute { .. } | ResourceAccess::Opaque { .. } | ResourceAccess::Nothing => None,
    }
}

/// The words of a call that failed, with all that the model reads of it: a command that ran out of time has said something before.
fn failure_of(result: &HookedResult) -> String {
    match &result.error {
        None => result.text.clone(),
        Some(error) if result.text.contains(error.as_str()) => result.text.clone(),
        Some(error) if result.text.is_empty() => error.clone(),
        Some(error) => format!("{error}\n{}", result.text),
    }
}

fn put_some(put: &mut impl FnMut(&str, Value), key: &str, value: Option<&str>) {
    if let Some(value) = value {
        put(key, json!(value));
    }
}

#[cfg(test)]
mod tests;

//! Who is asked at the points of a run in this process, and about what?

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use serde_json::Value;

use super::{RunFacts, TrackedCall};
use protocol::{
    COMPLETE_TASK, CallId, CallState, EventBody, HookEventName, HookPoint, MessagePart, PrivateEventFields,
    RUN_SHELL_COMMAND, ToolCall, ToolErrorType, ToolResult, ToolState, aliased_tool,
};

/// The points of a run at which this process stands still, and those that it has passed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HookWatch {
    /// True if the run stands still at points until somebody says that there are no hooks, or what they say.
    pub watches: bool,
    /// The same of the point before a run begins, and of what is said to it.
    pub watches_begin: bool,
    pub watches_steers: bool,
    /// Points of the current turn at which there was nobody to be asked.
    passed: Arc<BTreeSet<HookPoint>>,
    /// Messages, by their ids, about which nobody was to be asked, until the model has them.
    passed_steers: Arc<BTreeSet<Arc<str>>>,
    /// Results of calls of the current turn that ended while the run was watched.
    ends: Arc<HashMap<CallId, Arc<CallEnd>>>,
}

impl HookWatch {
    /// Takes in an event before the facts do.
    pub fn follow(&mut self, facts: &RunFacts, body: &EventBody, private: &PrivateEventFields) {
        match body {
            EventBody::TurnStarted(_) if !self.passed.is_empty() || !self.ends.is_empty() => {
                (self.passed, self.ends) = Default::default();
            }
            EventBody::ModelCompleted(_) if !self.ends.is_empty() => self.ends = Arc::default(),
            EventBody::RunSteered(data) if data.turn.is_some() && !self.passed_steers.is_empty() => {
                Arc::make_mut(&mut self.passed_steers).remove(data.steer_id.as_str());
            }
            EventBody::ToolState(data) if data.to.is_end() && self.watches => {
                let end = facts.call(&data.call_id).and_then(|call| CallEnd::of(call, data, private));
                if let Some(end) = end {
                    Arc::make_mut(&mut self.ends).insert(data.call_id.clone(), Arc::new(end));
                }
            }
            _ => (),
        }
    }

    /// Nobody is to be asked about this point any more.
    pub fn pass(&mut self, point: &HookPoint) {
        let _is_new = match point {
            HookPoint::Steer { id } => Arc::make_mut(&mut self.passed_steers).insert(id.as_str().into()),
            _ => Arc::make_mut(&mut self.passed).insert(point.clone()),
        };
    }

    pub fn has_passed(&self, point: &HookPoint) -> bool {
        match point {
            HookPoint::Steer { id } => self.has_passed_steer(id),
            _ => self.passed.contains(point),
        }
    }

    pub fn has_passed_steer(&self, id: &str) -> bool {
        self.passed_steers.contains(id)
    }

    /// The way in which this call ended, where hooks are asked about it.
    pub fn end(&self, call: &CallId) -> Option<&CallEnd> {
        // Perf: without hooks there are none, and nothing is looked up.
        if self.ends.is_empty() { None } else { self.ends.get(call).map(|end| &**end) }
    }
}

/// The way in which a call ended, as hooks are told it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallEnd {
    /// The tool's own.
    pub result: ToolResult,
    /// The parts that the model reads behind it.
    pub beside: Vec<MessagePart>,
    pub duration_us: u64,
}

impl CallEnd {
    /// `None` = no hook is asked when a call ends so.
    fn of(call: &TrackedCall, data: &ToolState, private: &PrivateEventFields) -> Option<CallEnd> {
        event_at_end(call, data)?;
        let mut result = data.result.clone()?;
        let n_beside = usize::try_from(private.beside_result).unwrap_or(usize::MAX);
        let n_own = result.llm_content.len().saturating_sub(n_beside);
        let beside = result.llm_content.split_off(n_own);
        let duration_us = private.active_us.saturating_sub(call.began_us);
        Some(CallEnd { result, beside, duration_us })
    }
}

/// The event for hooks by which a call ends; `None` = no hook is asked when it ends so.
pub(super) fn event_at_end(call: &TrackedCall, data: &ToolState) -> Option<HookEventName> {
    let result = data.result.as_ref()?;
    if call.request.name.as_str() == COMPLETE_TASK {
        return None;
    }
    match (call.state, result.error.as_ref().map(|error| error.kind)) {
        (CallState::Executing, None) if has_failed(&call.request, result) => {
            Some(HookEventName::PostToolUseFailure)
        }
        (CallState::Executing, None) => Some(HookEventName::PostToolUse),
        (_, Some(ToolErrorType::Cancelled)) => None,
        (CallState::Executing, Some(_)) => Some(HookEventName::PostToolUseFailure),
        (_, Some(ToolErrorType::PolicyDenied | ToolErrorType::NoClient)) => {
            Some(HookEventName::PermissionDenied)
        }
        _ => None,
    }
}

/// Programs for which exit code 1 says what they found, not that they failed: as Claude Code has it.
const SAYING_NO: &[&str] = &["[", "diff", "egrep", "fgrep", "find", "grep", "rg", "test"];

/// True of a command that ended as failed ones do: by a signal, or with another exit code than 0.
fn has_failed(request: &ToolCall, result: &ToolResult) -> bool {
    let tool = request.name.as_str();
    if tool != RUN_SHELL_COMMAND && aliased_tool(tool) != Some(RUN_SHELL_COMMAND) {
        return false;
    }
    let Some(data) = &result.data else { return false };
    match data.get("exitCode").and_then(Value::as_i64) {
        Some(0) => false,
        Some(1) => {
            let command = request.arguments.get("command").and_then(Value::as_str).unwrap_or_default();
            let last = command.split(['|', ';', '&', '\n']).map(str::trim).rfind(|part| !part.is_empty());
            let program = last.and_then(|part| part.split_whitespace().next()).unwrap_or_default();
            !SAYING_NO.contains(&program)
        }
        Some(_) => true,
        None => data.get("signal").is_some_and(Value::is_string),
    }
}

//! Tool calls: from when the model asked for one to its end.

use std::collections::BTreeSet;

use protocol::{
    ArgumentChange, CallDecision, CallId, McpSpan, RUN_SHELL_COMMAND, RuleOrigin, SpanError, SpanFileChange,
    SpanKind, SpanStatus, Timestamp, ToolName, ToolSpan, TraceSpan,
};
use serde_json::Value;

use super::{
    super::{EventMoment, SpanEdge, end, millis},
    MOST_FILES, OpenRun,
    changes::{self, PendingChanges},
    push_event,
};
use crate::{facts::EventFacts, said::UNCHANGED, text};

/// A call that has not ended.
#[derive(Debug)]
pub(super) struct OpenToolSpan {
    pub(super) span: TraceSpan,
    /// The request to the server that has its tool.
    pub(super) request: Option<TraceSpan>,
    /// The rule that lets it run, or that has a person asked.
    rule: Option<String>,
    /// The one whose word that is.
    origin: Option<RuleOrigin>,
    /// Changes of its arguments: the log tells next what they are by now, where they count.
    pub(super) changes: PendingChanges,
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct EndedToolSpan {
    pub(super) call: OpenToolSpan,
    /// Its result is what the daemon says of the refusal.
    pub(super) is_refused: bool,
    /// Its error is in the words of the tool.
    pub(super) has_its_words: bool,
}

/// Lanes of the calls that run at the same time.
#[derive(Debug, Default)]
pub(super) struct CallLanes {
    /// Below `used`, and no open call has them.
    free: BTreeSet<u32>,
    used: u32,
}

impl CallLanes {
    /// The lowest one that no open call has.
    fn take(&mut self) -> u32 {
        self.free.pop_first().unwrap_or_else(|| {
            let lane = self.used;
            self.used = self.used.saturating_add(1);
            lane
        })
    }

    fn give_back(&mut self, lane: u32) {
        self.free.insert(lane);
    }
}

/// Error type of a command that ran and did not end well.
const COMMAND_FAILED: &str = "EXECUTION_FAILED";

/// The method of a request that calls a server's tool.
const CALL: &str = "tools/call";

/// Error types that say that a rule or the agent's definition did not let a call run, with who that was.
const REFUSALS: &[(&str, &str)] = &[
    ("POLICY_DENIED", "policy"),
    ("WORKSPACE_NOT_TRUSTED", "policy"),
    ("TOOL_NOT_ALLOWED", "agent"),
    ("USER_DENIED", "client"),
    ("NO_CLIENT", "system"),
    ("HOOK_DENIED", "hook"),
];

/// Arguments that say what a call is about, the first that there is.
const TELLING_ARGUMENTS: &[&str] =
    &["path", "file_path", "command", "url", "pattern", "query", "name", "message"];

impl OpenRun {
    pub(super) fn apply_call(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let Some(call_id) = moment.facts.text("callId") else { return };
        if moment.event.kind == "file.changed" {
            return self.file_changed(call_id, moment);
        }
        if !self.calls.contains_key(call_id) {
            let call_id = CallId::from(call_id);
            let span = self.call_begun(&call_id, moment);
            if let Some(call) = &span.tool {
                self.results.begun(call, edges);
            }
            edges.push(SpanEdge::Began(Box::new(span.clone())));
            let call = OpenToolSpan {
                span,
                request: None,
                rule: None,
                origin: None,
                changes: PendingChanges::of(moment.facts.value("arguments")),
            };
            self.calls.insert(call_id, call);
        }
        if moment.facts.text("to") == Some("executing") {
            self.count_work(call_id, moment);
        }
        let Some(call) = self.calls.get_mut(call_id) else { return };
        let Some(status) = call.apply(moment, self.is_grace) else {
            if let Some(request) = self.calls.get(call_id).and_then(|call| self.request_begun(call, moment)) {
                edges.push(SpanEdge::Began(Box::new(request.clone())));
                if let Some(call) = self.calls.get_mut(call_id) {
                    call.request = Some(request);
                }
            }
            return;
        };
        let Some((call_id, mut call)) = self.calls.remove_entry(call_id) else { return };
        self.end_questions_of(&call_id, moment.at, edges);
        let of_call = &call.span.span_id;
        self.end_hooks(moment.at, |hook| hook.parent_span_id.as_ref() == Some(of_call), edges);
        self.hooks.remember_call(&call.span);
        self.unread.answered(&call.span);
        self.lanes.give_back(call.span.lane);
        end(&mut call.span, moment.at, status);
        let kind = call.span.error.as_ref().map(|error| error.kind.as_str());
        let is_refused = kind.is_some_and(|kind| REFUSALS.iter().any(|(refusal, _)| *refusal == kind));
        let has_its_words = moment.facts.text("to") == Some("error") && !is_refused;
        let call = EndedToolSpan { call, is_refused, has_its_words };
        match moment.facts.flag("awaitsHooks") {
            true => self.results.wait(call_id, call),
            false => call.tell(edges),
        }
    }

    fn call_begun(&mut self, call_id: &CallId, moment: EventMoment<'_>) -> TraceSpan {
        let facts = moment.facts;
        let tool = facts.word("name");
        if facts.text("to") == Some("validating") {
            self.facts().tool_calls += 1;
        }
        let mut span = self.span_within(moment, SpanKind::Tool, tool.clone());
        span.lane = self.lanes.take();
        // What begins comes from no other state.
        span.began_before = self.span.began_before && facts.has("from");
        span.input = text::of_value(facts.value("arguments"));
        let wanted = self.hooks.wants(call_id).cloned();
        span.tool = Some(Box::new(ToolSpan {
            call_id: call_id.clone(),
            server: server_of(&tool).map(str::to_owned),
            tool: ToolName::from(tool),
            description: description(facts.value("arguments")),
            kind: None,
            risk: None,
            decision: None,
            follows_tool: wanted.as_ref().and_then(|wanted| self.hooks.tool_of(&wanted.follows)).cloned(),
            follows: wanted.as_ref().map(|wanted| wanted.follows.clone()),
            requested_by: wanted.map(|wanted| wanted.hook_id),
            asked_input: None,
            changed_by: Vec::new(),
            changes: Vec::new(),
            result_changed_by: None,
            result_withheld: false,
            waited_ms: None,
            down_ms: 0,
            child_run_id: None,
            files_changed: Vec::new(),
        }));
        span
    }

    /// A call runs: is it a command, or is it another run that answers it? One that is taken up again is no second one.
    fn count_work(&mut self, call_id: &str, moment: EventMoment<'_>) {
        let tool = self.calls.get(call_id).and_then(|call| call.span.tool.as_ref());
        let Some(tool) = tool.filter(|tool| tool.waited_ms.is_none()) else { return };
        let is_command = tool.tool.as_str() == RUN_SHELL_COMMAND;
        let run = self.facts();
        run.commands += u64::from(is_command);
        run.called_runs += u64::from(moment.facts.has("childRunId"));
    }

    /// The request that begins when a call of a server's tool may run.
    fn request_begun(&self, call: &OpenToolSpan, moment: EventMoment<'_>) -> Option<TraceSpan> {
        let tool = call.span.tool.as_ref()?;
        // Of a call that was read from there on the span has the number of this event.
        let begins = moment.facts.text("to") == Some("executing") && call.span.span_id != moment.span_id();
        let server = tool.server.clone().filter(|_| begins && call.request.is_none())?;
        let name = tool.tool.as_str().strip_prefix("mcp.")?.strip_prefix(&server)?.strip_prefix('.')?;
        let (id, lane) = (&call.span.span_id, call.span.lane);
        let mut span = self.span_below(id, lane, moment, SpanKind::Mcp, format!("{CALL} {name}"));
        let (method, tool, call_id) = (CALL.to_owned(), name.to_owned(), tool.call_id.clone());
        span.mcp = Some(Box::new(McpSpan { server, method, tool, call_id }));
        Some(span)
    }

    fn file_changed(&mut self, call_id: &str, moment: EventMoment<'_>) {
        let Some(call) = self.calls.get_mut(call_id) else { return };
        let facts = moment.facts;
        let path = facts.word("path");
        let is_same = facts.has("before")
            && facts.value("before") == facts.value("after")
            && facts.text("change") == Some("modified");
        if let Some(tool) = &mut call.span.tool
            && tool.files_changed.len() < MOST_FILES
        {
            let change = if is_same { UNCHANGED.to_owned() } else { facts.word("change") };
            let undo_id = facts.word("undoId");
            tool.files_changed.push(SpanFileChange { path: path.clone(), change, undo_id, undone: None });
        }
        if !is_same {
            push_event(&mut call.span, moment, &path);
        }
    }

    /// A person, or who stood in for one, decided about a call.
    pub(super) fn decided(&mut self, call_id: &CallId, decision: CallDecision) {
        if let Some(tool) = self.calls.get_mut(call_id).and_then(|call| call.span.tool.as_mut()) {
            tool.decision = Some(decision);
        }
    }

    /// The daemon was away for so long: what was open was not at work meanwhile.
    pub(super) fn calls_were_down(&mut self, down_ms: u64) {
        for tool in self.calls.values_mut().filter_map(|call| call.span.tool.as_mut()) {
            tool.down_ms = tool.down_ms.saturating_add(down_ms);
        }
    }

    /// Ends the calls that the run's end leaves open.
    pub(super) fn end_calls(&mut self, at: Timestamp, edges: &mut Vec<SpanEdge>) {
        self.results.end(self.is_ending, edges);
        for mut call in std::mem::take(&mut self.calls).into_values() {
            self.lanes.give_back(call.span.lane);
            call.end_request(at, SpanStatus::Cancelled, edges);
            end(&mut call.span, at, SpanStatus::Cancelled);
            edges.push(SpanEdge::Ended(Box::new(call.span)));
        }
    }
}

impl OpenToolSpan {
    /// The span around a question or a request of the daemon's own that comes of it.
    pub(super) fn innermost(&self) -> &TraceSpan {
        self.request.as_ref().unwrap_or(&self.span)
    }

    pub(super) fn end_request(&mut self, at: Timestamp, status: SpanStatus, edges: &mut Vec<SpanEdge>) {
        let Some(mut request) = self.request.take() else { return };
        request.error = self.span.error.clone().filter(|_| status == SpanStatus::Error);
        end(&mut request, at, status);
        edges.push(SpanEdge::Ended(Box::new(request)));
    }

    /// Takes a change of state in; answers how it ended, if it did.
    /// `is_grace`: in the last turn, in which only handing in is left.
    fn apply(&mut self, moment: EventMoment<'_>, is_grace: bool) -> Option<SpanStatus> {
        let (facts, details) = (moment.facts, moment.facts.within("details"));
        // Said anew when validation made them canonical.
        self.settle_changes(facts);
        let began_at = self.span.started_at;
        let tool = self.span.tool.as_mut()?;
        if facts.has("details") {
            tool.description = details.owned("description").or(tool.description.take());
            tool.kind = details.owned("kind");
            tool.risk = details.owned("risk");
            self.rule = details.owned("rule");
            self.origin = details.read("ruleOrigin");
        }
        let status = match facts.text("to")? {
            "executing" => {
                tool.waited_ms = Some(millis(began_at, moment.at));
                tool.child_run_id = facts.text("childRunId").map(Into::into);
                // Of what ends the run, and of logs from before rules were told, nobody says who let it run.
                if let (Some(rule), None) = (self.rule.take(), &tool.decision) {
                    tool.decision = Some(CallDecision {
                        outcome: "allow".to_owned(),
                        source: "policy".to_owned(),
                        rule: Some(rule),
                        origin: self.origin.take(),
                        ..CallDecision::default()
                    });
                }
                return None;
            }
            "success" => SpanStatus::Ok,
            "error" => SpanStatus::Error,
            "cancelled" => SpanStatus::Cancelled,
            _ => return None,
        };
        let result = facts.within("result");
        let error = match facts.has("error") {
            true => facts.within("error"),
            false => result.within("error"),
        };
        if let Some(kind) = error.text("type") {
            let message = error.word("message");
            let refused_by = REFUSALS.iter().find(|(refusal, _)| *refusal == kind).map(|(_, by)| *by);
            let refused_by = refused_by.map(|by| if by == "agent" && is_grace { "grace" } else { by });
            let (denied_by, denied_origin) = (facts.owned("deniedBy"), facts.read("deniedOrigin"));
            // A rule that holds by the time the call would run goes before whatever allowed it.
            let decides = denied_by.is_some() || tool.decision.is_none();
            if let Some(source) = refused_by.filter(|_| decides) {
                tool.decision = Some(CallDecision {
                    outcome: "deny".to_owned(),
                    source: source.to_owned(),
                    rule: denied_by.or_else(|| self.rule.take()),
                    origin: denied_origin,
                    message: Some(text::line(&message)),
                    ..CallDecision::default()
                });
            }
            self.span.error = Some(SpanError { kind: kind.to_owned(), message });
        }
        self.span.output = text::of_result(result);
        if status == SpanStatus::Ok
            && let Some(message) = ended_badly(tool.tool.as_str(), result.within("data"))
        {
            self.span.error = Some(SpanError { kind: COMMAND_FAILED.to_owned(), message });
            return Some(SpanStatus::Error);
        }
        Some(status)
    }
}

impl OpenRun {
    /// A person changed the arguments of a call: the log tells next what they are by now, unless they came to the same.
    pub(super) fn modified(&mut self, call_id: &CallId, by: &str, at: Timestamp) {
        if let Some(call) = self.calls.get_mut(call_id) {
            call.changes.person(by, at);
        }
    }

    /// A person changed the arguments of a call, and hooks changed that again, or refused it. Logs of earlier versions do not say to what.
    pub(super) fn edited_by(&mut self, call_id: &CallId, (by, at): (&str, Timestamp), told: EventFacts<'_>) {
        let Some(call) = self.calls.get_mut(call_id) else { return };
        call.changes.person(by, at);
        let edited = told.value("edited");
        if edited.is_null() {
            return;
        }
        let now = if told.has("arguments") { told.value("arguments") } else { edited };
        let changes = call.changes.settle_edit(edited, now);
        call.take_changes(changes, now);
    }

    /// A hook changed the arguments of a call: the log tells next what they are by now, unless they came to the same, or the call was
    /// refused.
    pub(super) fn changed_by_hook(&mut self, call_id: &CallId, hook_id: &str, at: Timestamp) {
        let Some(call) = self.calls.get_mut(call_id) else { return };
        if call.span.tool.as_ref().is_some_and(|tool| tool.waited_ms.is_none()) {
            call.changes.hook(hook_id, at);
        }
    }
}

impl OpenToolSpan {
    /// The log tells what the call is by now; what it had been asked for with is kept, where that was something else.
    pub(super) fn settle_changes(&mut self, facts: EventFacts<'_>) {
        if !facts.has("arguments") {
            return self.changes.forget();
        }
        let now = facts.value("arguments");
        let changes = self.changes.settle(now);
        match changes.is_empty() {
            true => self.span.input = text::of_value(now),
            false => self.take_changes(changes, now),
        }
    }

    /// The arguments are these by now, since they were changed.
    fn take_changes(&mut self, changes: Vec<ArgumentChange>, now: &Value) {
        let before = std::mem::replace(&mut self.span.input, text::of_value(now));
        let Some(tool) = self.span.tool.as_deref_mut() else { return };
        tool.asked_input.get_or_insert(before.unwrap_or_default());
        if let Some(about) = description(now) {
            tool.description = Some(about);
        }
        changes::add(tool, changes);
    }
}

impl EndedToolSpan {
    /// Tells that it has ended, and the request to a server in it.
    pub(super) fn tell(mut self, edges: &mut Vec<SpanEdge>) {
        let OpenToolSpan { span, .. } = &self.call;
        let (at, status) = (span.ended_at.unwrap_or(span.started_at), span.status);
        self.call.end_request(at, status, edges);
        edges.push(SpanEdge::Ended(Box::new(self.call.span)));
    }
}

/// The end of a command that did not end well: to the run that is a result like any other.
fn ended_badly(tool: &str, data: EventFacts<'_>) -> Option<String> {
    if tool != RUN_SHELL_COMMAND {
        return None;
    }
    let code = data.value("exitCode").as_i64().filter(|code| *code != 0);
    let code = code.map(|code| format!("exit code {code}"));
    code.or_else(|| Some(format!("ended by {}", data.text("signal")?)))
}

/// The argument that says most of a call which was never described to anybody: it was refused, or invalid.
pub(super) fn description(arguments: &Value) -> Option<String> {
    let said = |name: &&str| arguments.get(*name)?.as_str().filter(|text| !text.trim().is_empty());
    TELLING_ARGUMENTS.iter().find_map(said).map(text::line)
}

/// The MCP server that has a tool, by its name `mcp.SERVER.TOOL`.
fn server_of(tool: &str) -> Option<&str> {
    tool.strip_prefix("mcp.")?.split('.').next()
}

//! What do others call what a span says? One table: the names of OpenTelemetry's conventions for generative AI, as of the
//! version below, and names of our own where those have none.
//!
//! The conventions moved into a repository of their own after that version, which is the last one that has them.

use protocol::{ArgumentChange, PromptSources, SpanKind, SpanStatus, SpanText, TraceSpan, Usage};
use serde_json::{Value, json};

use crate::said::UNCHANGED;

/// The version of OpenTelemetry's semantic conventions that the names below are of.
pub const CONVENTIONS: &str = "1.41.1";

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    Text(String),
    Number(i64),
    Seconds(f64),
    Texts(Vec<String>),
}

type Getter = fn(&TraceSpan) -> Option<AttributeValue>;

/// Each attribute, and what it says of a span; nothing where it does not apply.
pub(crate) const ATTRIBUTES: &[(&str, Getter)] = &[
    ("gen_ai.operation.name", |span| operation(span.kind).map(text)),
    ("gen_ai.provider.name", |span| model(span).map(provider).map(text)),
    ("gen_ai.conversation.id", |span| span.session_id.as_ref().map(text)),
    ("gen_ai.agent.id", |span| span.run.as_ref().map(|_| text(&span.run_id))),
    ("gen_ai.agent.name", |span| span.agent.as_ref().map(text)),
    ("gen_ai.request.model", |span| model(span).map(text)),
    ("gen_ai.response.model", |span| {
        // Nobody answered a request that failed.
        let is_answered = span.kind == SpanKind::Llm && span.status == SpanStatus::Ok;
        model(span).filter(|_| is_answered).map(text)
    }),
    ("gen_ai.response.finish_reasons", |span| {
        Some(AttributeValue::Texts(vec![span.llm.as_ref()?.finish_reason.clone()?]))
    }),
    ("gen_ai.response.time_to_first_chunk", |span| {
        Some(AttributeValue::Seconds(span.llm.as_ref()?.first_token_ms? as f64 / 1e3))
    }),
    ("gen_ai.usage.input_tokens", |span| number(counted(span)?.prompt_tokens)),
    ("gen_ai.usage.output_tokens", |span| {
        let usage = counted(span)?;
        number(usage.output_tokens.saturating_add(usage.thought_tokens))
    }),
    ("gen_ai.usage.cache_read.input_tokens", |span| positive(span.usage?.cached_tokens)),
    ("gen_ai.usage.cache_creation.input_tokens", |span| positive(span.usage?.cache_write_tokens)),
    ("gen_ai.usage.reasoning.output_tokens", |span| positive(span.usage?.thought_tokens)),
    // Of a request what is new with it: the model has read the rest before, with the requests before it.
    ("gen_ai.input.messages", |span| {
        let answered = span.llm.iter().flat_map(|llm| &llm.answered).filter_map(|call| {
            let result = &call.result.as_ref()?.text;
            Some(json!({ "type": "tool_call_response", "id": call.call_id, "response": result }))
        });
        let answered: Vec<Value> = answered.collect();
        let answered = (!answered.is_empty()).then(|| json!({ "role": "tool", "parts": answered }));
        let asked = span.input.as_ref().filter(|_| matches!(span.kind, SpanKind::Run | SpanKind::Llm));
        let part = |asked: &SpanText| json!({ "type": "text", "content": asked.text });
        let asked = asked.map(|asked| json!({ "role": "user", "parts": [part(asked)] }));
        let messages: Vec<Value> = answered.into_iter().chain(asked).collect();
        (!messages.is_empty()).then(|| text(Value::Array(messages)))
    }),
    ("gen_ai.output.messages", |span| {
        let said = span.output.as_ref().filter(|_| matches!(span.kind, SpanKind::Run | SpanKind::Llm));
        let said = said.map(|said| json!({ "type": "text", "content": said.text }));
        let requested = span.llm.iter().flat_map(|llm| &llm.requested).map(|call| {
            let arguments = call.arguments.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let mut part = json!({ "type": "tool_call", "id": call.call_id, "name": call.tool });
            if let (Some(arguments), Some(part)) = (arguments, part.as_object_mut()) {
                part.insert("arguments".to_owned(), arguments);
            }
            part
        });
        let parts: Vec<Value> = said.into_iter().chain(requested).collect();
        let llm = span.llm.as_ref();
        let reason = match llm.and_then(|llm| llm.finish_reason.as_deref()) {
            _ if llm.is_some_and(|llm| !llm.requested.is_empty()) => "tool_call",
            reason => reason.unwrap_or("stop"),
        };
        (!parts.is_empty())
            .then(|| text(json!([{ "role": "assistant", "parts": parts, "finish_reason": reason }])))
    }),
    ("gen_ai.tool.name", |span| match (&span.tool, &span.mcp) {
        (Some(tool), _) => Some(text(&tool.tool)),
        (None, request) => request.as_ref().map(|request| text(&request.tool)),
    }),
    ("gen_ai.tool.call.id", |span| match (&span.tool, &span.mcp) {
        (Some(tool), _) => Some(text(&tool.call_id)),
        (None, Some(request)) => Some(text(&request.call_id)),
        (None, None) => span.hook.as_ref()?.call_id.as_ref().map(text),
    }),
    ("gen_ai.tool.type", |span| {
        span.tool.as_ref().map(|tool| text(if tool.server.is_some() { "extension" } else { "function" }))
    }),
    ("gen_ai.tool.call.arguments", |span| {
        span.input.as_ref().filter(|_| span.tool.is_some()).map(|it| text(&it.text))
    }),
    ("gen_ai.tool.call.result", |span| {
        span.output.as_ref().filter(|_| span.tool.is_some()).map(|it| text(&it.text))
    }),
    ("mcp.method.name", |span| span.mcp.as_ref().map(|request| text(&request.method))),
    ("error.type", |span| span.error.as_ref().map(|error| text(&error.kind))),
    // What the conventions have no names for.
    ("subagentd.span.kind", |span| Some(text(span.kind.as_str()))),
    ("subagentd.run.id", |span| Some(text(&span.run_id))),
    ("subagentd.run.parent_id", |span| span.run.as_ref()?.parent_run_id.as_ref().map(text)),
    ("subagentd.run.reason", |span| span.run.as_ref()?.reason.as_ref().map(text)),
    ("subagentd.run.message", |span| span.run.as_ref()?.message.as_ref().map(text)),
    ("subagentd.run.started_by", |span| span.run.as_ref()?.started_by.as_ref().map(text)),
    ("subagentd.run.stopped_by", |span| span.run.as_ref()?.stopped_by.as_ref().map(text)),
    ("subagentd.run.system_prompt.source", |span| Some(text(&told(span)?.system_prompt.source))),
    ("subagentd.run.system_prompt.path", |span| told(span)?.system_prompt.path.as_ref().map(text)),
    ("subagentd.run.system_prompt.digest", |span| Some(text(&told(span)?.system_prompt.digest))),
    ("subagentd.run.memory_files", |span| {
        let files = &told(span)?.memory;
        (!files.is_empty())
            .then(|| AttributeValue::Texts(files.iter().map(|file| file.path.clone()).collect()))
    }),
    ("subagentd.run.queued_ms", |span| positive(span.run.as_ref()?.queued_ms)),
    ("subagentd.run.hooks_ms", |span| positive(span.run.as_ref()?.hooks_ms)),
    ("subagentd.run.waiting_ms", |span| positive(span.run.as_ref()?.waiting_ms)),
    ("subagentd.run.parked_ms", |span| positive(span.run.as_ref()?.parked_ms)),
    ("subagentd.run.down_ms", |span| positive(span.run.as_ref()?.down_ms)),
    ("subagentd.run.restarts", |span| positive(span.run.as_ref()?.restarts)),
    ("subagentd.run.unclean_restarts", |span| positive(span.run.as_ref()?.unclean_restarts)),
    ("subagentd.run.uncounted_requests", |span| positive(span.run.as_ref()?.uncounted_requests)),
    ("subagentd.run.unpriced_tokens", |span| positive(span.run.as_ref()?.unpriced_tokens)),
    ("subagentd.run.estimated_requests", |span| positive(span.run.as_ref()?.estimated_requests)),
    ("subagentd.turn", |span| span.turn.and_then(|turn| number(u64::from(turn)))),
    ("subagentd.cost.usd", |span| span.cost.map(|cost| text(cost.decimal()))),
    ("subagentd.llm.purpose", |span| span.llm.as_ref()?.purpose.as_ref().map(text)),
    ("subagentd.llm.usage_unknown", |span| span.llm.as_ref()?.usage_unknown.then(|| text("true"))),
    ("subagentd.llm.estimated", |span| span.llm.as_ref()?.estimated.then(|| text("true"))),
    ("subagentd.mcp.server", |span| {
        let of_call = span.tool.as_ref().and_then(|tool| tool.server.as_ref());
        of_call.or(span.mcp.as_ref().map(|request| &request.server)).map(text)
    }),
    ("subagentd.hook.id", |span| {
        let asks = span.llm.as_ref().and_then(|llm| llm.hook_id.as_ref());
        span.hook.as_ref().map(|hook| &hook.hook_id).or(asks).map(text)
    }),
    ("subagentd.hook.source", |span| span.hook.as_ref().map(|hook| text(&hook.source))),
    ("subagentd.hook.outcome", |span| {
        span.hook.as_ref().map(|hook| &hook.outcome).filter(|outcome| !outcome.is_empty()).map(text)
    }),
    ("subagentd.hook.decision", |span| span.hook.as_ref()?.decision.as_ref().map(text)),
    ("subagentd.hook.reason", |span| span.hook.as_ref()?.reason.as_ref().map(text)),
    ("subagentd.hook.added", |span| span.hook.as_ref()?.added.as_ref().map(text)),
    ("subagentd.hook.result_read", |span| span.hook.as_ref()?.replacement.as_ref().map(|it| text(&it.text))),
    ("subagentd.hook.message", |span| span.hook.as_ref()?.message.as_ref().map(text)),
    ("subagentd.hook.dropped_change", |span| {
        let dropped = span.hook.as_ref()?.dropped_change.as_ref()?;
        Some(text(format!("{}: {}", dropped.input, dropped.reason)))
    }),
    ("subagentd.hook.confined", |span| {
        let confined = span.hook.as_ref()?.confinement.as_ref()?.confined;
        Some(text(if confined { "true" } else { "false" }))
    }),
    ("subagentd.hook.confinement", |span| {
        let why = span.hook.as_ref()?.confinement.as_ref().map(|it| &it.reason)?;
        (!why.is_empty()).then(|| text(why))
    }),
    ("subagentd.hook.exit_code", |span| span.hook.as_ref()?.exit_code.map(AttributeValue::Number)),
    ("subagentd.tool.risk", |span| span.tool.as_ref()?.risk.as_ref().map(text)),
    ("subagentd.tool.requested_by", |span| span.tool.as_ref()?.requested_by.as_ref().map(text)),
    ("subagentd.tool.follows", |span| span.tool.as_ref()?.follows.as_ref().map(text)),
    ("subagentd.tool.asked_arguments", |span| {
        span.tool.as_ref()?.asked_input.as_ref().map(|asked| text(&asked.text))
    }),
    ("subagentd.tool.changed_by", |span| {
        let authors = &span.tool.as_ref()?.changed_by;
        (!authors.is_empty()).then(|| AttributeValue::Texts(authors.clone()))
    }),
    ("subagentd.tool.changes", |span| {
        let changes = &span.tool.as_ref()?.changes;
        let said = |it: &ArgumentChange| format!("{} {} {}", it.at, it.source, it.name);
        (!changes.is_empty()).then(|| AttributeValue::Texts(changes.iter().map(said).collect()))
    }),
    ("subagentd.tool.result_changed_by", |span| span.tool.as_ref()?.result_changed_by.as_ref().map(text)),
    ("subagentd.tool.waited_ms", |span| number(span.tool.as_ref()?.waited_ms?)),
    ("subagentd.tool.down_ms", |span| positive(span.tool.as_ref()?.down_ms)),
    ("subagentd.tool.files_changed", |span| {
        let files = &span.tool.as_ref()?.files_changed;
        let paths: Vec<String> =
            files.iter().filter(|file| file.change != UNCHANGED).map(|file| file.path.clone()).collect();
        (!paths.is_empty()).then_some(AttributeValue::Texts(paths))
    }),
    ("subagentd.confirmation.outcome", |span| {
        span.confirmation.as_ref()?.decision.as_ref().map(|decision| text(&decision.outcome))
    }),
    ("subagentd.confirmation.source", |span| {
        span.confirmation.as_ref()?.decision.as_ref().map(|decision| text(&decision.source))
    }),
    ("subagentd.confirmation.name", |span| {
        span.confirmation.as_ref()?.decision.as_ref()?.name.as_ref().map(text)
    }),
    ("subagentd.confirmation.version", |span| number(span.confirmation.as_ref()?.version?)),
    ("subagentd.confirmation.edited_arguments", |span| {
        span.confirmation.as_ref()?.edited_input.as_ref().map(|edited| text(&edited.text))
    }),
    ("subagentd.confirmation.rule", |span| span.confirmation.as_ref().map(|it| text(&it.rule))),
    ("subagentd.confirmation.waited_ms", |span| {
        number(span.confirmation.as_ref()?.decision.as_ref()?.waited_ms?)
    }),
    ("subagentd.confirmation.allows", |span| {
        span.confirmation.as_ref()?.decision.as_ref()?.allows.as_ref().map(text)
    }),
    ("subagentd.confirmation.remembers", |span| {
        span.confirmation.as_ref()?.decision.as_ref()?.remembers.as_ref().map(text)
    }),
    ("subagentd.confirmation.mode", |span| {
        span.confirmation.as_ref()?.decision.as_ref()?.mode.as_ref().map(text)
    }),
    ("subagentd.compression.tokens_before", |span| number(span.compression.as_ref()?.tokens_before)),
    ("subagentd.compression.tokens_after", |span| number(span.compression.as_ref()?.tokens_after)),
];

/// The event of a call that says who decided about it.
pub(super) const DECISION_EVENT: &str = "gen_ai.tool.call.decision";

/// The name of a span.
pub(super) fn span_name(span: &TraceSpan) -> String {
    match (operation(span.kind), span.kind) {
        (Some(operation), _) => format!("{operation} {}", span.name),
        (None, SpanKind::Turn | SpanKind::Mcp) => span.name.clone(),
        (None, kind) => format!("{} {}", kind.as_str(), span.name),
    }
}

/// 1 within the process, 3 a request to somebody else.
pub(super) fn span_kind(span: &TraceSpan) -> u8 {
    if matches!(span.kind, SpanKind::Llm | SpanKind::Mcp) { 3 } else { 1 }
}

/// 0 not said, 1 well, 2 an error.
pub(super) fn status_code(status: SpanStatus) -> u8 {
    match status {
        SpanStatus::Open | SpanStatus::Cancelled => 0,
        SpanStatus::Ok => 1,
        SpanStatus::Error => 2,
    }
}

fn operation(kind: SpanKind) -> Option<&'static str> {
    match kind {
        SpanKind::Run => Some("invoke_agent"),
        SpanKind::Llm => Some("chat"),
        SpanKind::Tool => Some("execute_tool"),
        SpanKind::Turn | SpanKind::Confirmation | SpanKind::Compression | SpanKind::Hook | SpanKind::Mcp => {
            None
        }
    }
}

/// The sources of what a run was told.
fn told(span: &TraceSpan) -> Option<&PromptSources> {
    span.run.as_ref()?.prompt_sources.as_deref()
}

fn model(span: &TraceSpan) -> Option<&str> {
    let of_run = span.run.as_ref().map(|run| run.model.as_str());
    let model = span.llm.as_ref().map(|llm| llm.model.as_str()).or(of_run)?;
    (!model.is_empty()).then_some(model)
}

/// The provider of a model, as the conventions call it; an entry of the settings that they do not know is called as it is.
pub fn provider(model: &str) -> &str {
    let entry = model.split(['/', ':']).next().unwrap_or(model);
    match entry {
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}

/// Not of a run of which nothing was counted, though it made requests.
fn counted(span: &TraceSpan) -> Option<Usage> {
    let is_uncounted = span.run.as_ref().is_some_and(|run| run.uncounted_requests != 0);
    span.usage.filter(|usage| usage.total() != 0 || !is_uncounted)
}

fn text(value: impl ToString) -> AttributeValue {
    AttributeValue::Text(value.to_string())
}

fn number(count: u64) -> Option<AttributeValue> {
    Some(AttributeValue::Number(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn positive(count: u64) -> Option<AttributeValue> {
    if count == 0 { None } else { number(count) }
}

impl AttributeValue {
    /// The texts within it.
    pub fn texts_mut(&mut self) -> &mut [String] {
        match self {
            AttributeValue::Text(text) => std::slice::from_mut(text),
            AttributeValue::Texts(texts) => texts,
            AttributeValue::Number(_) | AttributeValue::Seconds(_) => &mut [],
        }
    }

    /// The value in the JSON of the OpenTelemetry protocol: 64 bits as text.
    pub(super) fn to_otlp(&self) -> Value {
        match self {
            AttributeValue::Text(text) => json!({ "stringValue": text }),
            AttributeValue::Number(number) => json!({ "intValue": number.to_string() }),
            AttributeValue::Seconds(seconds) => json!({ "doubleValue": seconds }),
            AttributeValue::Texts(texts) => {
                let values: Vec<Value> = texts.iter().map(|text| json!({ "stringValue": text })).collect();
                json!({ "arrayValue": { "values": values } })
            }
        }
    }
}

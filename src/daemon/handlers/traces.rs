//! `trace/list`, `trace/get`, `trace/export` (spec 10).

use std::sync::Arc;

use serde_json::json;

use super::{
    super::{
        rpc::{MethodHandlers, RpcCaller},
        trace_reader::{OpenRunFacts, PageRoom, TracePage, TraceSubject},
    },
    lookup::{record, session},
};
use crate::{daemon_life::DaemonLife, daemon_services::DaemonServices, daemon_telemetry::DaemonTelemetry};
use protocol::{
    ErrorKind, RpcError, RunId, RunRecord, SpanText, TraceExport, TraceExportParams, TraceExportResult,
    TraceGet, TraceGetParams, TraceGetResult, TraceList, TraceListParams, TraceListResult, TraceSpan,
    TraceSummary,
};
use run::RunExecutor;
use store::{EventStore, RunFilter, RunPlace, TreeTotal};
use traces::{SpanEdge, SpanPlace, TraceWriter};

/// The most items of one page; the schemas say the same.
const MAX_PAGE: usize = 1_000;

/// Bytes of text in one answer. Written as JSON they are six times as many at worst, which still is a message that any
/// client takes.
const PAGE_BYTES: usize = 256 * 1024;

/// Bytes that a span takes beside its texts, about.
const SPAN_BYTES: usize = 1024;

/// The services that the methods of traces use.
pub(super) struct TraceMethods {
    pub life: Arc<DaemonLife>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub telemetry: Arc<DaemonTelemetry>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, store, executor, telemetry, .. } = services.clone();
    let mut api = api.given(Arc::new(TraceMethods { life, store, executor, telemetry }));
    api.cancellable::<TraceList, _, _>(list);
    api.cancellable::<TraceGet, _, _>(get);
    api.cancellable::<TraceExport, _, _>(export);
}

async fn list(
    state: Arc<TraceMethods>,
    _: RpcCaller,
    params: TraceListParams,
) -> Result<TraceListResult, RpcError> {
    let TraceListParams { session_id, agent, active, cursor, limit } = params;
    if let Some(id) = &session_id {
        session(&state.store, id).await?;
    }
    let filter = RunFilter { session: session_id, agent, active, roots: true, ..RunFilter::default() };
    let listed = state.store.run_list(&filter, cursor.as_deref(), page(limit)).await?;
    let roots: Vec<RunId> = listed.items.iter().map(|run| run.run_id.clone()).collect();
    let mut totals = state.store.tree_totals(&roots).await?;
    let traces = listed.items.into_iter().map(|run| {
        let total = totals.remove(&run.run_id).unwrap_or_default();
        summary(run, total)
    });
    Ok(TraceListResult { traces: traces.collect(), now: state.life.clock.now(), next_cursor: listed.next })
}

fn summary(run: RunRecord, total: TreeTotal) -> TraceSummary {
    let TreeTotal { runs, turns, tool_calls, spent, asked_at } = total;
    TraceSummary {
        trace_id: run.run_id,
        session_id: run.session_id,
        agent: run.agent,
        model: run.model,
        state: run.state,
        reason: run.reason,
        prompt: run.prompt,
        asked_at: asked_at.unwrap_or(run.started_at),
        started_at: run.started_at,
        ended_at: run.ended_at,
        runs,
        turns,
        tool_calls,
        usage: spent.usage,
        cost: spent.cost,
        unpriced_tokens: spent.unpriced_tokens,
        estimated_requests: spent.estimated_requests,
        uncounted_requests: spent.uncounted_requests,
    }
}

async fn get(
    state: Arc<TraceMethods>,
    _: RpcCaller,
    params: TraceGetParams,
) -> Result<TraceGetResult, RpcError> {
    let TraceGetParams { run_id, brief, cursor, limit } = params;
    let (subject, trace_id) = of_run(&state, &run_id).await?;
    let (mut spans, mut bytes, limit) = (Vec::new(), 0, page(limit));
    let take = |edge: &SpanEdge, _| {
        if let SpanEdge::Ended(span) | SpanEdge::Open(span) = edge {
            let span = if brief { without_texts((**span).clone()) } else { (**span).clone() };
            bytes += weight(&span);
            spans.push(span);
        }
        if limit <= spans.len() || PAGE_BYTES <= bytes { PageRoom::Full } else { PageRoom::Left }
    };
    let open = open_runs(&state);
    let TracePage { next, .. } =
        state.telemetry.traces.page(&state.store, &open, &subject, cursor.as_deref(), take).await?;
    // The time up to which waits that go on were counted.
    Ok(TraceGetResult { trace_id, spans, now: open.now, next_cursor: next })
}

async fn export(
    state: Arc<TraceMethods>,
    _: RpcCaller,
    params: TraceExportParams,
) -> Result<TraceExportResult, RpcError> {
    let TraceExportParams { run_id, session_id, format, cursor } = params;
    let subject = match (run_id, session_id) {
        (Some(run), None) => of_run(&state, &run).await?.0,
        (None, Some(id)) => {
            session(&state.store, &id).await?;
            TraceSubject::Session(id)
        }
        (run, _) => return Err(not_one(run.is_some())),
    };
    let writer = TraceWriter::new(format, env!("CARGO_PKG_VERSION"));
    let (mut text, mut is_first) = (String::new(), cursor.is_none());
    let take = |edge: &SpanEdge, place: SpanPlace| {
        let before = text.len();
        writer.write(edge, place, is_first, &mut text);
        is_first &= before == text.len();
        // A page is one only with something on it, so that the next one knows that it is not the first.
        if PAGE_BYTES <= text.len() { PageRoom::Full } else { PageRoom::Left }
    };
    let TracePage { is_first, next } = state
        .telemetry
        .traces
        .page(&state.store, &open_runs(&state), &subject, cursor.as_deref(), take)
        .await?;
    if is_first {
        text.insert_str(0, &writer.opening());
    }
    if next.is_none() {
        text.push_str(writer.closing());
    }
    Ok(TraceExportResult { media_type: writer.media_type().to_owned(), text, next_cursor: next })
}

/// Facts of runs that have not ended which no log has.
fn open_runs(state: &TraceMethods) -> OpenRunFacts {
    let stranded = state.executor.stranded().into_iter().map(|(run, why)| (run, why.to_string()));
    OpenRunFacts {
        daemon_began: state.life.started_at,
        now: state.life.clock.now(),
        stranded: stranded.collect(),
    }
}

/// A run and all below it; also the run at the root.
async fn of_run(state: &TraceMethods, run: &RunId) -> Result<(TraceSubject, RunId), RpcError> {
    // Says why there is none.
    record(&state.store, run).await?;
    let missing = || RpcError::new(ErrorKind::Gone, format!("run {run} was deleted meanwhile"));
    let RunPlace { session, root, first_seq } = state.store.run_place(run).await?.ok_or_else(missing)?;
    Ok((TraceSubject::Run { run: run.clone(), session, first_seq }, root))
}

fn not_one(both: bool) -> RpcError {
    let (pointer, message) = match both {
        true => ("/sessionId", "only one of runId and sessionId may be given"),
        false => ("", "one of runId and sessionId is required"),
    };
    RpcError::new(ErrorKind::InvalidParams, "exactly one of runId and sessionId says what is asked for")
        .with_details(json!({ "violations": [{ "pointer": pointer, "message": message }] }))
}

/// Events that are told of a span without its texts: what was said to a run, what people were to be told, what was done for it or to it in
/// between, and when there was no daemon.
const TOLD_BRIEFLY: &[&str] = &[
    "run.steered",
    "run.queued",
    "run.resumed",
    "hook.fired",
    "warning",
    "skill.activated",
    "memory.saved",
    "loop.detected",
];
/// The tool whose result is what a person answered.
const ASK_USER: &str = "ask_user";

fn without_texts(mut span: TraceSpan) -> TraceSpan {
    // What a person answered is shown.
    let is_answer = span.tool.is_some() && span.name == ASK_USER;
    let answered = span.output.take().filter(|_| is_answer);
    // So is what a hook changed, before and after.
    let asked = span.tool.as_mut().and_then(|tool| tool.asked_input.as_mut());
    // So is what a run was asked.
    let is_run = span.run.is_some();
    let ran = span.input.take().filter(|_| asked.is_some() || is_run);
    (span.input, span.output) = (ran, answered);
    if let Some(text) = &mut span.output {
        text.text.truncate(text.text.floor_char_boundary(MOST_BRIEF));
    }
    span.events.retain(|event| TOLD_BRIEFLY.contains(&event.name.as_str()) && !event.text.is_empty());
    let edited = span.confirmation.as_mut().and_then(|asked| asked.edited_input.as_mut());
    for text in asked.into_iter().chain(&mut span.input).chain(edited) {
        text.text = first_line(&text.text);
    }
    if let Some(llm) = &mut span.llm {
        llm.requested.clear();
        llm.answered.clear();
    }
    if let Some(added) = span.hook.as_mut().and_then(|hook| hook.added.as_mut()) {
        *added = first_line(added);
    }
    span
}

/// Bytes of a text that a list shows.
const MOST_BRIEF: usize = 300;

/// The beginning of a text, with a sign for more.
fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let cut = &line[..line.floor_char_boundary(MOST_BRIEF)];
    if cut.len() == text.trim().len() { cut.to_owned() } else { format!("{} …", cut.trim_end()) }
}

/// Bytes of a span's texts, and what it takes beside them.
fn weight(span: &TraceSpan) -> usize {
    let asked = span.tool.as_ref().and_then(|tool| tool.asked_input.as_ref());
    let edited = span.confirmation.as_ref().and_then(|asked| asked.edited_input.as_ref());
    let texts = [&span.input, &span.output]
        .into_iter()
        .flatten()
        .chain(asked)
        .chain(edited)
        .map(|SpanText { text, .. }| text.len());
    let events = span.events.iter().map(|event| event.text.len() + 128);
    let requested = span.llm.iter().flat_map(|llm| &llm.requested);
    let requested = requested.map(|call| call.arguments.as_ref().map_or(0, String::len) + 128);
    let answered = span.llm.iter().flat_map(|llm| &llm.answered);
    let answered = answered.map(|call| call.result.as_ref().map_or(0, |result| result.text.len()) + 128);
    let hook = span.hook.iter().flat_map(|hook| [&hook.added, &hook.message]).flatten().map(String::len);
    SPAN_BYTES
        + hook.sum::<usize>()
        + texts.sum::<usize>()
        + events.sum::<usize>()
        + requested.sum::<usize>()
        + answered.sum::<usize>()
}

fn page(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE)
}

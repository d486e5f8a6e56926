//! Which spans may be sent, and what of them? What each run's first event says (`tracing`).

use std::collections::HashMap;

use protocol::{
    CallId, Envelope, RunId, RunTracing, SessionId, SpanId, SpanKind, TraceBackend, TraceContent, TraceSpan,
    TracedEvents,
};
use serde_json::Value;
use traces::{SpanEdge, SpanFold, thin, without_calls};

/// Makes the spans that may go to a destination. Holds what is open, as the fold does.
#[derive(Debug)]
pub(crate) struct TracedSpans {
    backend: TraceBackend,
    /// A fold for each tree of runs, by the run at its root: times of one must not depend on what others do.
    folds: HashMap<RunId, SpanFold>,
    /// The root of each run that has not ended.
    roots: HashMap<RunId, RunId>,
    /// Runs that have not ended and say something; the others are as usual.
    runs: HashMap<RunId, RunTracing>,
    /// Of each run that has not ended the calls that other runs answer which say something: their texts are those runs' as well.
    called: HashMap<RunId, HashMap<CallId, RunTracing>>,
    /// Open spans that are not sent, each with the one that stands in for it as the parent of those within it.
    left_out: HashMap<SpanId, Option<SpanId>>,
    /// The session of each run that has not ended.
    sessions: HashMap<RunId, SessionId>,
    /// The settings in force: of what is sent no more is told than they say.
    in_force: RunTracing,
}

impl TracedSpans {
    pub fn new(backend: TraceBackend, in_force: RunTracing) -> TracedSpans {
        TracedSpans {
            backend,
            folds: HashMap::new(),
            roots: HashMap::new(),
            runs: HashMap::new(),
            called: HashMap::new(),
            left_out: HashMap::new(),
            sessions: HashMap::new(),
            in_force,
        }
    }

    /// The session is gone with its events: its runs that had not ended by then never end here.
    pub fn forget(&mut self, session: &SessionId) {
        let gone: Vec<RunId> = self.sessions.extract_if(|_, of| of == session).map(|(run, _)| run).collect();
        for run in gone {
            self.roots.remove(&run);
            self.runs.remove(&run);
            self.called.remove(&run);
            self.folds.remove(&run);
        }
    }

    /// Reads one event, and answers the spans that end with it.
    pub fn apply(&mut self, event: &Envelope) -> Vec<TraceSpan> {
        let Some(run) = &event.run_id else { return Vec::new() };
        let is_beginning = matches!(event.kind.as_str(), "run.queued" | "run.started");
        if is_beginning && !self.roots.contains_key(run) {
            let above = event.head.parent_run_id.as_ref().and_then(|parent| self.roots.get(parent));
            let root = above.unwrap_or(run).clone();
            self.folds.entry(root.clone()).or_default();
            self.roots.insert(run.clone(), root);
            if let Some(session) = &event.session_id {
                self.sessions.insert(run.clone(), session.clone());
            }
        }
        // What comes after the end of a run belongs to no span.
        let Some(root) = self.roots.get(run).cloned() else { return Vec::new() };
        if let Some(tracing) = said(event) {
            if let Some((caller, call)) = caller(event) {
                self.called.entry(caller).or_default().insert(call, tracing.clone());
            }
            self.runs.insert(run.clone(), tracing);
        }
        let edges = self.folds.get_mut(&root).map(|fold| fold.apply(event)).unwrap_or_default();
        let mut ended = Vec::new();
        for edge in edges {
            match edge {
                SpanEdge::Began(span) => self.begin(&span),
                SpanEdge::Ended(span) => ended.extend(self.end(*span)),
                SpanEdge::Open(_) | SpanEdge::Resumed(..) => {}
            }
        }
        if event.kind == "run.completed" {
            self.runs.remove(run);
            self.called.remove(run);
            self.roots.remove(run);
            self.sessions.remove(run);
            if root == *run {
                self.folds.remove(&root);
            }
        }
        ended
    }

    fn begin(&mut self, span: &TraceSpan) {
        let usual = RunTracing::default();
        let is_sent = self.runs.get(&span.run_id).unwrap_or(&usual).sends(self.backend, span.kind);
        if !is_sent {
            let parent = self.parent(span);
            self.left_out.insert(span.span_id.clone(), parent);
        }
    }

    fn end(&mut self, mut span: TraceSpan) -> Option<TraceSpan> {
        // All that lies within it has ended.
        if self.left_out.remove(&span.span_id).is_some() {
            return None;
        }
        span.parent_span_id = self.parent(&span);
        let usual = RunTracing::default();
        let run = self.runs.get(&span.run_id).unwrap_or(&usual);
        // What the settings said when the run began holds for it; what they say now holds for all that still waits.
        let said = [run, &self.in_force];
        let content = said.map(|it| it.content_of(&span.trace_id)).into_iter().max().unwrap_or_default();
        let of_run = |call: &CallId| self.content_of_callee(&span.run_id, call, &span.trace_id);
        let of_call = call_of(&span).map(of_run).unwrap_or_default();
        let kept_back = |call: &CallId| of_run(call) != TraceContent::Full;
        if let Some(llm) = &mut span.llm {
            llm.answered.iter_mut().filter(|it| kept_back(&it.call_id)).for_each(|it| it.result = None);
        }
        thin(&mut span, content.max(of_call));
        let has_calls =
            |it: &RunTracing| it.events.as_ref().is_none_or(|it| it.contains(&TracedEvents::Tool));
        if !is_call(&span) && !said.into_iter().all(has_calls) {
            without_calls(&mut span);
        }
        Some(span)
    }

    /// The part of texts that goes with spans about a call, as the run that answers it says.
    fn content_of_callee(&self, caller: &RunId, call: &CallId, trace: &RunId) -> TraceContent {
        match self.called.get(caller).and_then(|calls| calls.get(call)) {
            Some(tracing) if tracing.backends.contains(&self.backend) => tracing.content_of(trace),
            // Nothing at all is sent of it.
            Some(_) => TraceContent::None,
            None => TraceContent::Full,
        }
    }

    /// The nearest span around it that is sent.
    fn parent(&self, span: &TraceSpan) -> Option<SpanId> {
        let parent = span.parent_span_id.as_ref()?;
        self.left_out.get(parent).cloned().unwrap_or_else(|| Some(parent.clone()))
    }
}

fn is_call(span: &TraceSpan) -> bool {
    matches!(span.kind, SpanKind::Tool | SpanKind::Mcp)
}

/// The call that a span is, or is about.
fn call_of(span: &TraceSpan) -> Option<&CallId> {
    let of_call = span.tool.as_ref().map(|tool| &tool.call_id);
    let of_hook = || span.hook.as_ref()?.call_id.as_ref();
    let of_question = || span.confirmation.as_ref()?.call_id.as_ref();
    of_call.or_else(of_hook).or_else(of_question)
}

/// The facts with which a run begins.
fn beginning(event: &Envelope) -> Option<&Value> {
    match event.kind.as_str() {
        "run.started" => Some(&event.data),
        "run.queued" => event.data.get("run"),
        _ => None,
    }
}

/// The run that called the one that begins, and its call.
fn caller(event: &Envelope) -> Option<(RunId, CallId)> {
    let call = beginning(event)?.get("parentCallId")?.as_str()?;
    Some((event.head.parent_run_id.clone()?, call.into()))
}

/// Reads what the first event of a run says of it; nothing where all is as usual.
fn said(event: &Envelope) -> Option<RunTracing> {
    let tracing = beginning(event)?.get("tracing")?;
    // What a newer daemon says otherwise is not guessed at: nothing is sent.
    let nowhere = RunTracing { backends: Vec::new(), ..RunTracing::default() };
    Some(serde_json::from_value(tracing.clone()).unwrap_or(nowhere))
}

//! Parameters and results: traces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{default_page, is_default};
use crate::{AgentName, RunId, SessionId, Timestamp, TraceSpan, TraceSummary};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TraceListParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The agent of the run at the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Only those whose run at the root has not ended.
    #[serde(skip_serializing_if = "is_default")]
    pub active: bool,
    /// The `nextCursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Missing = 100.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(default = "default_page")]
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceListResult {
    pub traces: Vec<TraceSummary>,
    /// The daemon's time, up to which traces that have not ended have lasted.
    pub now: Timestamp,
    /// There is more; give it as `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceGetParams {
    /// The run at the root, or one below it.
    pub run_id: RunId,
    /// Without what was asked and said, but for what people answered; of what happened in between only what was said to a run, restarts,
    /// warnings, loops, and skills and facts that it took up: for whoever draws times.
    #[serde(default, skip_serializing_if = "is_default")]
    pub brief: bool,
    /// The `nextCursor` of the page before: all pages are as of the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Missing = 100.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(default = "default_page")]
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceGetResult {
    /// The run at the root.
    pub trace_id: RunId,
    /// Spans in the order in which they ended, children before their parents; then those that are open. A page of long ones is
    /// shorter than `limit`.
    pub spans: Vec<TraceSpan>,
    /// The daemon's time, up to which spans that are open have lasted.
    pub now: Timestamp,
    /// There is more; give it as `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Exactly one of `runId` and `sessionId`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceExportParams {
    /// This run and all below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// All runs of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    pub format: TraceFormat,
    /// The `nextCursor` of the page before: all pages are as of the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The format of an exported trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TraceFormat {
    /// One object with all spans, as `trace/get` has them.
    Json,
    /// One span a line.
    Jsonl,
    /// The JSON of the OpenTelemetry protocol, with the names of its conventions for generative AI. Spans that are open are
    /// left out, since it has none.
    Otlp,
    /// Trace events of Chrome, which Perfetto opens.
    Chrome,
    /// A story to read, in Markdown.
    Markdown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceExportResult {
    /// The media type of the whole document.
    pub media_type: String,
    /// The next piece of it; about 256 KiB unless it is the last.
    pub text: String,
    /// There is more; give it as `cursor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

//! `subagent trace show`: spans below each other as they lie within each other, each with a bar for its time.

use std::collections::HashMap;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{spent, time};
use crate::{
    ListingFormat, OutputWriter, ProcessIo,
    failure::CommandFailure,
    ids,
    link::DaemonLink,
    paging, safe_text,
    screen::TextColor,
    span_blocks::who,
    table::{self, TableCell, cell, drawn, free, whole},
};
use protocol::{CallDecision, SpanError, TraceGet, TraceGetParams, Usage, UsdAmount};

/// Levels that are shown when nothing is said: a run, its turns and calls, and the same of a run below, twice.
const USUAL_DEPTH: usize = 9;

/// Spans a page; without texts that is far below what a page may be.
const PAGE: u32 = 1_000;

/// Columns of the bars: a fifth of the terminal, but never less or more than this.
const BAR_COLUMNS: std::ops::RangeInclusive<usize> = 10..=40;

/// Characters of a name.
const NAME_CHARACTERS: usize = 120;

#[derive(Args)]
pub(crate) struct TraceShowArguments {
    /// The run, and all below it; the beginning of its id is enough
    #[arg(value_name = "RUN")]
    run: String,
    /// Levels to show; of what lies deeper the number of spans is told
    #[arg(long, value_name = "N", default_value_t = USUAL_DEPTH)]
    depth: usize,
    /// `json` prints all spans, as the daemon tells them
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn show(
    arguments: &TraceShowArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let run_id = ids::find_run(&arguments.run, link)?;
    let is_json = arguments.format == ListingFormat::Json;
    let mut params = TraceGetParams { run_id, brief: !is_json, cursor: None, limit: PAGE };
    let mut spans: Vec<Value> = Vec::new();
    let answer = loop {
        let mut answer = link.ask_value::<TraceGet>(&params)?;
        if let Some(page) = answer.get_mut("spans").and_then(Value::as_array_mut) {
            spans.append(page);
        }
        match answer.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) => params.cursor = Some(cursor.to_owned()),
            None => break answer,
        }
    };
    if is_json {
        let mut whole = answer;
        if let Some(page) = whole.get_mut("spans") {
            *page = Value::Array(spans);
        }
        paging::print_json(&whole, surroundings)?;
        return Ok(0);
    }
    let spans = spans.iter().map(paging::view).collect::<Result<Vec<SpanView>, _>>()?;
    let text = match spans.is_empty() {
        true => "the run has not begun\n".to_owned(),
        false => draw(&spans, arguments.depth, &surroundings.stdout),
    };
    surroundings.stdout.write(&text)?;
    Ok(0)
}

/// A span, as far as it is drawn, with open words.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpanView {
    span_id: String,
    parent_span_id: Option<String>,
    kind: String,
    name: String,
    start_us: i64,
    end_us: Option<i64>,
    status: String,
    error: Option<SpanError>,
    usage: Option<Usage>,
    cost: Option<UsdAmount>,
    run: Option<RunSpanView>,
    llm: Option<LlmSpanView>,
    tool: Option<CallSpanView>,
    confirmation: Option<CallSpanView>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RunSpanView {
    reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LlmSpanView {
    purpose: Option<String>,
    attempt: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallSpanView {
    description: Option<String>,
    decision: Option<CallDecision>,
}

impl SpanView {
    fn label(&self) -> String {
        let llm = self.llm.as_ref();
        let purpose = llm.and_then(|llm| llm.purpose.as_ref()).map(|purpose| format!(" · {purpose}"));
        let attempt = llm.and_then(|llm| llm.attempt).filter(|attempt| 1 < *attempt);
        let attempt = attempt.map(|attempt| format!(" · attempt {attempt}"));
        let description = self.tool.as_ref().and_then(|tool| tool.description.as_ref());
        let description = description.filter(|it| !it.is_empty()).map(|it| format!(" {it}"));
        let sign = if self.kind == "confirmation" { "? " } else { "" };
        let more = [purpose, attempt, description].into_iter().flatten().collect::<String>();
        format!("{sign}{}{more}", self.name)
    }

    /// The last column: the error, who let it run, or how it ended.
    fn note(&self) -> TableCell {
        if let Some(error) = &self.error {
            return cell(&format!("{}: {}", error.kind, error.message)).painted(Some(TextColor::Red));
        }
        let call = self.tool.as_ref().or(self.confirmation.as_ref());
        let decision = call.and_then(|call| call.decision.as_ref()).map(who);
        let reason = self.run.as_ref().and_then(|run| run.reason.clone());
        let unfinished = (self.status != "ok").then(|| self.status.clone());
        cell(&decision.or(reason).or(unfinished).unwrap_or_default())
    }

    fn ink(&self) -> Option<TextColor> {
        match (self.status.as_str(), self.kind.as_str()) {
            ("error", _) => Some(TextColor::Red),
            ("cancelled", _) | (_, "confirmation") => Some(TextColor::Yellow),
            (_, "llm" | "compression") => Some(TextColor::Cyan),
            (_, "tool") => Some(TextColor::Green),
            _ => Some(TextColor::Dim),
        }
    }
}

/// The spans of a trace, and which lie within which.
struct SpanTree {
    /// Below each span, by its place, in the order in which they began; below none the first ones.
    children: HashMap<Option<usize>, Vec<usize>>,
    /// From when to when.
    extent: (i64, i64),
}

impl SpanTree {
    fn of(spans: &[SpanView]) -> SpanTree {
        let places: HashMap<&str, usize> =
            spans.iter().enumerate().map(|(at, span)| (span.span_id.as_str(), at)).collect();
        let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (at, span) in spans.iter().enumerate() {
            let parent = span.parent_span_id.as_deref().and_then(|id| places.get(id)).copied();
            // Parents begin first, so that nothing lies within itself.
            let parent = parent.filter(|parent| spans[*parent].span_id < span.span_id);
            children.entry(parent).or_default().push(at);
        }
        for siblings in children.values_mut() {
            siblings.sort_by_key(|at| (spans[*at].start_us, spans[*at].span_id.as_str()));
        }
        let start = spans.iter().map(|span| span.start_us).min().unwrap_or_default();
        let end = spans.iter().map(|span| span.end_us.unwrap_or(span.start_us)).max().unwrap_or_default();
        SpanTree { children, extent: (start, end.max(start)) }
    }

    /// Each span with its level, as they are drawn; with it how many lie below it and are not.
    fn lines(&self, depth: usize) -> Vec<(usize, usize, usize)> {
        let mut lines = Vec::new();
        // Without recursion: a tree is as deep as its log says.
        let mut waiting: Vec<(usize, usize)> = self.below(None).iter().rev().map(|at| (*at, 0)).collect();
        while let Some((at, level)) = waiting.pop() {
            let is_last_level = depth <= level.saturating_add(1);
            let folded = if is_last_level { self.count_below(at) } else { 0 };
            lines.push((at, level, folded));
            if !is_last_level {
                waiting.extend(self.below(Some(at)).iter().rev().map(|child| (*child, level + 1)));
            }
        }
        lines
    }

    fn below(&self, parent: Option<usize>) -> &[usize] {
        self.children.get(&parent).map(Vec::as_slice).unwrap_or_default()
    }

    fn count_below(&self, at: usize) -> usize {
        let (mut count, mut waiting) = (0, vec![at]);
        while let Some(at) = waiting.pop() {
            count += self.below(Some(at)).len();
            waiting.extend(self.below(Some(at)));
        }
        count
    }

    /// A bar where the span lies within the whole; one that is open goes on to the end.
    fn bar(&self, span: &SpanView, columns: usize) -> String {
        let (start, end) = self.extent;
        let length = u128::from(end.abs_diff(start)).max(1);
        let place = |us: i64| {
            let from_start = u128::try_from(us.saturating_sub(start)).unwrap_or_default();
            usize::try_from(from_start * columns as u128 / length).unwrap_or(columns)
        };
        let first = place(span.start_us).min(columns.saturating_sub(1));
        let last = place(span.end_us.unwrap_or(end)).clamp(first + 1, columns.max(first + 1));
        let sign = if span.end_us.is_some() { "█" } else { "░" };
        format!("{}{}", " ".repeat(first), sign.repeat(last - first))
    }
}

fn draw(spans: &[SpanView], depth: usize, stdout: &OutputWriter) -> String {
    let tree = SpanTree::of(spans);
    let bars = stdout.width.map(|columns| (columns / 5).clamp(*BAR_COLUMNS.start(), *BAR_COLUMNS.end()));
    let rows: Vec<[TableCell; 5]> = tree
        .lines(depth.max(1))
        .into_iter()
        .map(|(at, level, folded)| {
            let span = &spans[at];
            let more = if folded == 0 { String::new() } else { format!(" (+{folded})") };
            let name = safe_text::line(&format!("{}{more}", span.label()), NAME_CHARACTERS);
            let place = match bars {
                Some(columns) => drawn(tree.bar(span, columns)).painted(span.ink()),
                None => cell(&format!("+{}", time(span.start_us.saturating_sub(tree.extent.0)))),
            };
            let took =
                span.end_us.map_or_else(|| "…".to_owned(), |end| time(end.saturating_sub(span.start_us)));
            let used = spent(span.usage, span.cost).unwrap_or_default();
            [drawn(format!("{}{name}", "  ".repeat(level))), place, cell(&took), cell(&used), span.note()]
        })
        .collect();
    let place = if bars.is_some() { "WHEN" } else { "START" };
    let columns = [free("SPAN"), whole(place), whole("TIME"), free("TOKENS, COST"), free("ALLOWED, ENDED")];
    table::draw(columns, &rows, stdout)
}

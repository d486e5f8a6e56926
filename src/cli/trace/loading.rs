//! A trace that is read page by page: a long one is on the screen before all of it is there.

use serde::Deserialize;

use super::{
    span_view::{RunSpanView, SpanView},
    summary::{self, RunTexts},
    viewer::{ViewSource, ViewedLine},
    waterfall::{SpanTree, WaterfallRow, in_full, waterfall},
};
use crate::{OutputWriter, failure::CommandFailure, link::DaemonLink, paging, width};
use protocol::{RunGet, RunId, RunIdParams, Timestamp, TraceGet, TraceGetParams, Usage, UsdAmount};

/// Spans a page; without texts that is far below what a page may be.
pub(super) const PAGE: u32 = 1_000;

/// Columns beside a row that can be chosen: the cursor, and the sign of what can be folded.
const MARGIN: usize = 2;

/// Before all spans: those that the log tells of have the number of an event.
const STAND_IN_ID: &str = "";

/// A trace, as far as it was read.
pub(super) struct LoadingTrace<'link> {
    link: &'link mut DaemonLink,
    params: TraceGetParams,
    depth: usize,
    spans: Vec<SpanView>,
    /// Up to where spans that are open have lasted.
    now: Option<i64>,
    is_whole: bool,
    record: RootRunView,
}

/// The run's own record, which is there before the last page, where the run's span stands.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RootRunView {
    agent: String,
    model: String,
    reason: Option<String>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    usage: Option<Usage>,
    cost: Option<UsdAmount>,
    #[serde(flatten)]
    texts: RunTexts,
}

impl<'link> LoadingTrace<'link> {
    /// Reads the first page, and what the run says of itself.
    pub fn begin(
        run_id: RunId,
        depth: usize,
        link: &'link mut DaemonLink,
    ) -> Result<LoadingTrace<'link>, CommandFailure> {
        let params = TraceGetParams { run_id, brief: true, cursor: None, limit: PAGE };
        let mut trace = LoadingTrace {
            link,
            params,
            depth,
            spans: Vec::new(),
            now: None,
            is_whole: false,
            record: RootRunView::default(),
        };
        trace.load_page()?;
        // It stands beside the spans: what cannot be had is left out.
        let record = trace.link.ask_value::<RunGet>(&RunIdParams { run_id: trace.params.run_id.clone() });
        trace.record = record.ok().and_then(|record| paging::view(&record).ok()).unwrap_or_default();
        Ok(trace)
    }

    pub fn is_empty(&self) -> bool {
        self.is_whole && self.spans.is_empty()
    }

    fn load_page(&mut self) -> Result<(), CommandFailure> {
        let answer = self.link.ask_value::<TraceGet>(&self.params)?;
        self.spans.extend(paging::entries::<SpanView>(&answer, "spans")?);
        self.now = answer.get("now").and_then(|now| Timestamp::deserialize(now).ok()).map(|now| now.0);
        self.params.cursor = answer.get("nextCursor").and_then(|cursor| cursor.as_str()).map(str::to_owned);
        self.is_whole = self.params.cursor.is_none();
        if self.is_whole {
            summary::name_remembered(&mut self.spans);
            summary::name_changed_arguments(&mut self.spans);
            summary::mark_sureness(&mut self.spans);
        }
        Ok(())
    }

    /// All of it as one text, where it fits a screen so high.
    pub fn fitting(&self, height: usize, stdout: &OutputWriter) -> Option<String> {
        if !self.is_whole {
            return None;
        }
        let whole = self.whole(stdout);
        let rows = |line: &str| match stdout.width {
            Some(columns) => width::of(line).div_ceil(columns.max(1)).max(1),
            None => 1,
        };
        (whole.lines().map(rows).sum::<usize>() < height).then_some(whole)
    }

    /// All of it as one text.
    pub fn whole(&self, stdout: &OutputWriter) -> String {
        let tree = SpanTree::of(&self.spans, self.now, None);
        let rows = waterfall(&self.spans, &tree, (self.now, self.depth), (stdout, 0));
        let table: String = rows.iter().map(|row| format!("{}\n", row.text)).collect();
        let told = [self.head(), self.in_full(&rows), self.below()];
        let [head, in_full, below] = told.map(|text| in_rows(&text, stdout.width));
        format!("{head}{table}{in_full}{below}")
    }

    /// The rows for which the screen has no room, but for errors, which stand below anyway.
    fn in_full(&self, rows: &[WaterfallRow]) -> String {
        let cut = rows.iter().filter(|row| row.is_cut).filter_map(|row| row.span);
        // An error stands below anyway, but not who had allowed or refused the call.
        let is_told = |span: &&SpanView| summary::tells_error(span) && !span.is_decided();
        let cut = cut.map(|(at, _)| &self.spans[at]).filter(|span| !is_told(span));
        let lines: String = cut.map(|span| format!("{}\n", span.in_a_line())).collect();
        if lines.is_empty() { lines } else { format!("\nin full:\n{lines}") }
    }

    fn head(&self) -> String {
        summary::head(&self.spans, &self.record.texts)
    }

    fn below(&self) -> String {
        summary::below(&self.spans, &self.record.texts)
    }

    /// The run, until its own span is there.
    fn stand_in(&self) -> SpanView {
        let record = &self.record;
        let started = record.started_at.map(|at| at.0);
        let first = || self.spans.iter().map(|span| span.start_us).min().unwrap_or_default();
        SpanView {
            span_id: STAND_IN_ID.to_owned(),
            kind: "run".to_owned(),
            name: record.agent.clone(),
            run_id: self.params.run_id.to_string(),
            agent: Some(record.agent.clone()),
            started_at: record.started_at,
            start_us: started.unwrap_or_else(first),
            end_us: record.ended_at.map(|at| at.0),
            usage: record.usage,
            cost: record.cost,
            run: Some(RunSpanView {
                model: record.model.clone(),
                reason: record.reason.clone(),
                ..RunSpanView::default()
            }),
            ..SpanView::default()
        }
    }
}

/// The lines of a text, broken between words where a terminal has no room for them.
fn in_rows(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    text.lines().flat_map(|line| width::wrap_exactly(line, columns)).map(|row| format!("{row}\n")).collect()
}

impl ViewSource for LoadingTrace<'_> {
    fn load(&mut self) -> Result<bool, CommandFailure> {
        if !self.is_whole {
            self.load_page()?;
        }
        Ok(!self.is_whole)
    }

    fn coming(&self) -> Option<String> {
        (!self.is_whole).then(|| format!("reading, {} spans", self.spans.len()))
    }

    fn lines(&mut self, stdout: &mut OutputWriter) -> Vec<ViewedLine> {
        let stand_in = (!self.is_whole).then(|| {
            let root = self.stand_in();
            self.spans.push(root);
            self.spans.len() - 1
        });
        let tree = SpanTree::of(&self.spans, self.now, stand_in);
        let whole = stdout.width;
        let room = whole.map(|columns| columns.saturating_sub(MARGIN).max(1));
        let plain = |text: &str| -> Vec<ViewedLine> {
            let rows = in_rows(text, room);
            let line = |text: &str| ViewedLine { text: text.to_owned(), level: None, in_full: Vec::new() };
            rows.lines().map(line).collect()
        };
        let mut head = plain(&self.head());
        for line in &mut head {
            line.in_full = summary::whole_prompt(&line.text, &self.record.texts);
        }
        // Of a part there is nothing to sum up.
        let below = if self.is_whole { plain(&self.below()) } else { Vec::new() };
        stdout.width = room;
        let drawn = waterfall(&self.spans, &tree, (self.now, self.depth), (&*stdout, MARGIN));
        stdout.width = whole;
        let rows: Vec<ViewedLine> = drawn
            .into_iter()
            .map(|row| ViewedLine {
                in_full: row
                    .span
                    .map(|(at, _)| in_full(&self.spans[at], &tree, self.now))
                    .unwrap_or_default(),
                level: row.span.map(|(_, level)| level),
                text: row.text,
            })
            .collect();
        if stand_in.is_some() {
            self.spans.pop();
        }
        head.into_iter().chain(rows).chain(below).collect()
    }
}

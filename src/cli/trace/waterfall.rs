//! A waterfall: spans below each other as they lie within each other, each with a bar for its time.

use std::collections::HashMap;

use super::{span_view::SpanView, time};
use crate::{
    OutputWriter, safe_text,
    table::{self, TableCell, cell, drawn, free, whole},
    width,
};

/// Columns of the bars: a fifth of the terminal, but never less or more than this.
const BAR_COLUMNS: std::ops::RangeInclusive<usize> = 10..=40;

/// The same on a narrow terminal: a tenth.
const NARROW_BAR_COLUMNS: std::ops::RangeInclusive<usize> = 6..=10;

/// A terminal with fewer columns is a narrow one: tokens are left out where there is a cost, so that names and who allowed
/// what can be read.
const WIDE: usize = 110;

/// One with fewer has no room for bars and what was used beside names and times; [`in_full`] has it.
const VERY_NARROW: usize = 70;

/// Characters of a name.
const NAME_CHARACTERS: usize = 120;

/// The spans of a trace, and which lie within which.
pub(super) struct SpanTree {
    /// Below each span, by its place, in the order in which they began; below none the first ones.
    children: HashMap<Option<usize>, Vec<usize>>,
    /// From when to when.
    extent: (i64, i64),
}

impl SpanTree {
    /// `now`: up to where spans that are open have lasted.
    /// `stand_in`: the place of a root below which lies whatever is still to come.
    pub(super) fn of(spans: &[SpanView], now: Option<i64>, stand_in: Option<usize>) -> SpanTree {
        let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (at, parent) in parents(spans).into_iter().enumerate() {
            let parent = parent.or(stand_in.filter(|root| *root != at));
            children.entry(parent).or_default().push(at);
        }
        for siblings in children.values_mut() {
            siblings.sort_by_key(|at| (spans[*at].start_us, spans[*at].span_id.as_str()));
        }
        let start = spans.iter().map(|span| span.start_us).min().unwrap_or_default();
        let last = |span: &SpanView| span.end_us.or(now).unwrap_or(span.start_us).max(span.start_us);
        let end = spans.iter().map(last).max().unwrap_or_default();
        SpanTree { children, extent: (start, end.max(start)) }
    }

    /// The time from the beginning of the trace to its own.
    pub(super) fn begins(&self, span: &SpanView) -> String {
        format!("+{}", time(span.start_us.saturating_sub(self.extent.0)))
    }

    /// Each span with its level, as they are drawn; with it how many lie below it and are not.
    pub(super) fn lines(&self, depth: usize) -> Vec<(usize, usize, usize)> {
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

/// The place of each span's parent, whichever of the two was told first: a hook has a higher number than the requests that it made.
/// Of spans that a log tells to lie within each other one lies within none, so that all are shown.
fn parents(spans: &[SpanView]) -> Vec<Option<usize>> {
    let places: HashMap<&str, usize> =
        spans.iter().enumerate().map(|(at, span)| (span.span_id.as_str(), at)).collect();
    let parent = |span: &SpanView| places.get(span.parent_span_id.as_deref()?).copied();
    let mut parents: Vec<Option<usize>> = spans.iter().map(parent).collect();
    // The way up on which each span was passed first.
    let mut passed: Vec<Option<usize>> = vec![None; spans.len()];
    for first in 0..spans.len() {
        let mut here = first;
        while passed[here].is_none() {
            passed[here] = Some(first);
            match parents[here] {
                Some(parent) if passed[parent] == Some(first) => parents[here] = None,
                Some(parent) => here = parent,
                None => {}
            }
        }
    }
    parents
}

/// The time that it took; of one that is open, the time that it has lasted.
fn took(span: &SpanView, now: Option<i64>) -> String {
    match (span.end_us, now) {
        (Some(end), _) => time(end.saturating_sub(span.start_us)),
        (None, Some(now)) => format!("{}…", time(now.saturating_sub(span.start_us))),
        (None, None) => "…".to_owned(),
    }
}

/// All that a row says, and what a terminal has no room for beside it.
pub(super) fn in_full(span: &SpanView, tree: &SpanTree, now: Option<i64>) -> Vec<String> {
    let (tokens, cost) = span.spent();
    let used: Vec<String> = [tokens, cost].into_iter().filter(|it| !it.is_empty()).collect();
    let error = span.error.as_ref().map(|error| format!("{}: {}", error.kind, error.message));
    let files = span.tool.iter().flat_map(|tool| &tool.files_changed);
    let undone = |file| traces::undone_said(file).map(|undone| format!(", {undone}")).unwrap_or_default();
    let files = files.map(|file| format!("{} {}{}", file.path, file.change, undone(file)));
    let alone = [
        span.place(),
        format!("began {}, {}", tree.begins(span), took(span, now)),
        used.join(", "),
        span.note().text().to_owned(),
        error.unwrap_or_default(),
    ];
    let texts = alone.into_iter().chain(files).chain(span.beside()).filter(|text| !text.is_empty());
    texts.map(|text| safe_text::joined_lines(&text)).collect()
}

/// A row of a waterfall: its heading, or a span.
pub(super) struct WaterfallRow {
    pub text: String,
    /// The span's place and level; `None` of the heading.
    pub span: Option<(usize, usize)>,
    /// There was no room for all of it.
    pub is_cut: bool,
}

/// The spans as a table. `margin`: columns of the terminal beside it, which count where the terminal is narrow or wide.
pub(super) fn waterfall(
    spans: &[SpanView],
    tree: &SpanTree,
    (now, depth): (Option<i64>, usize),
    (stdout, margin): (&OutputWriter, usize),
) -> Vec<WaterfallRow> {
    let lines = tree.lines(depth);
    let table = drawn_table(spans, tree, (now, depth), (stdout, margin));
    let headings = table.lines().count().saturating_sub(lines.len());
    let rows = table.lines().enumerate().map(|(at, text)| {
        let span = at.checked_sub(headings).and_then(|at| lines.get(at));
        let is_cut = span.is_some_and(|(at, ..)| {
            let span = &spans[*at];
            let label = safe_text::line(&span.label(), usize::MAX);
            !(text.contains(&label) && text.contains(span.note().text()))
        });
        WaterfallRow { text: text.to_owned(), span: span.map(|(at, level, _)| (*at, *level)), is_cut }
    });
    rows.collect()
}

fn drawn_table(
    spans: &[SpanView],
    tree: &SpanTree,
    (now, depth): (Option<i64>, usize),
    (stdout, margin): (&OutputWriter, usize),
) -> String {
    let narrow = stdout.width.filter(|columns| columns.saturating_add(margin) < WIDE);
    let bars = stdout.width.map(|columns| match narrow {
        Some(_) => (columns / 10).clamp(*NARROW_BAR_COLUMNS.start(), *NARROW_BAR_COLUMNS.end()),
        None => (columns / 5).clamp(*BAR_COLUMNS.start(), *BAR_COLUMNS.end()),
    });
    let rows: Vec<[TableCell; 6]> = tree
        .lines(depth)
        .into_iter()
        .map(|(at, level, folded)| {
            let span = &spans[at];
            let more = if folded == 0 { String::new() } else { format!(" (+{folded})") };
            let (label, version) = (span.label(), span.version().unwrap_or_default());
            let end = format!("{version}{more}");
            let label = label.strip_suffix(version.as_str()).unwrap_or(&label);
            let name = format!("{}{end}", safe_text::line(label, NAME_CHARACTERS));
            let place = match bars {
                Some(columns) => drawn(tree.bar(span, columns)).painted(span.ink()),
                None => cell(&tree.begins(span)),
            };
            let took = took(span, now);
            let (tokens, cost) = span.spent();
            let name = drawn(format!("{}{name}", "  ".repeat(level))).keeping(&end);
            [name, place, cell(&took), cell(&tokens), cell(&cost), span.note()]
        })
        .collect();
    let place = if bars.is_some() { "WHEN" } else { "START" };
    let Some(columns) = narrow else {
        let columns = [
            free("SPAN"),
            whole(place),
            whole("TIME"),
            whole("TOKENS"),
            whole("COST"),
            free("ALLOWED, ENDED"),
        ];
        return table::draw(columns, &rows, stdout);
    };
    let has_cost = rows.iter().any(|[.., cost, _]| !cost.is_empty());
    // Hooks are told apart by their ids, which stand whole where there is room.
    let ids = tree
        .lines(depth)
        .into_iter()
        .map(|(at, level, _)| 2 * level + width::of(&spans[at].hook_name()) + width::of(" …"));
    let beside = rows.iter().map(|[_, place, took, tokens, cost, _]| {
        let used = if has_cost { cost } else { tokens };
        [place, took, used].map(|cell| width::of(cell.text()))
    });
    let beside = beside.fold(["WHEN", "TIME", "TOKENS"].map(width::of), |most, row| {
        std::array::from_fn(|at| most[at].max(row[at]))
    });
    let taken = ids.max().unwrap_or(0) + beside.iter().sum::<usize>() + table::gaps(5);
    let is_very_narrow = columns.saturating_add(margin) < VERY_NARROW;
    let most = match is_very_narrow {
        true => columns / 3,
        // Who allowed what goes before the ids.
        false => (columns * 3 / 8).min(columns.saturating_sub(taken).max(columns / 4)),
    };
    let notes = tree.lines(depth).into_iter().map(|(at, ..)| spans[at].note_within(most));
    let rows: Vec<[TableCell; 5]> = rows
        .into_iter()
        .zip(notes)
        .map(|([name, place, took, tokens, cost, _], note)| {
            [name, place, took, if has_cost { cost } else { tokens }, note.cut(most)]
        })
        .collect();
    if is_very_narrow {
        let rows: Vec<[TableCell; 3]> =
            rows.into_iter().map(|[name, _, took, _, note]| [name, took, note]).collect();
        return table::draw([free("SPAN"), whole("TIME"), free("ALLOWED, ENDED")], &rows, stdout);
    }
    let used = if has_cost { "COST" } else { "TOKENS" };
    let columns = [free("SPAN"), whole(place), whole("TIME"), whole(used), whole("ALLOWED, ENDED")];
    table::draw(columns, &rows, stdout)
}

#[cfg(test)]
mod tests;

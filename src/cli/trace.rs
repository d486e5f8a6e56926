//! `subagent trace`: what did runs do, how long did it take, what did it cost, and who allowed it?

mod export;
mod listing;
mod loading;
mod show;
mod span_view;
mod summary;
mod tail;
mod viewer;
mod waits;
mod waterfall;

use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    ListingFormat, OutputWriter, ProcessIo,
    failure::CommandFailure,
    human, ids,
    link::DaemonLink,
    paging::{self, PagingArguments},
    sureness::{Sureness, money},
    table::{self, TableCell, cell, free, whole},
};
use protocol::{OpenEnum, RunEndReason, RunState, Timestamp, TraceList, TraceListParams, Usage, UsdAmount};

/// One with fewer has none for more than a trace's name, state, time and prompt.
const VERY_NARROW: usize = 70;

#[derive(Subcommand)]
pub(super) enum TraceVerb {
    /// List traces, newest first: runs that were started by a person or a program, with all runs below them
    List(TraceListArguments),
    /// Show what a run did as a waterfall: when, how long, tokens, cost, who allowed it
    Show(show::TraceShowArguments),
    /// Print a trace as JSON, JSON lines, OpenTelemetry, trace events of Chrome (for Perfetto), or Markdown
    Export(export::TraceExportArguments),
    /// Print each span as it ends, until Ctrl-C or the end of the run
    Tail(tail::TraceTailArguments),
}

#[derive(Args)]
pub(super) struct TraceListArguments {
    /// Only traces that have not ended
    #[arg(long)]
    active: bool,
    /// Only traces of this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only traces of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    paging: PagingArguments,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn trace(
    verb: &TraceVerb,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    match verb {
        TraceVerb::List(arguments) => list(arguments, link, surroundings),
        TraceVerb::Show(arguments) => show::show(arguments, link, surroundings),
        TraceVerb::Export(arguments) => export::export(arguments, link, surroundings),
        TraceVerb::Tail(arguments) => tail::tail(arguments, link, surroundings),
    }
}

fn list(
    arguments: &TraceListArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    let params = TraceListParams {
        session_id,
        agent: arguments.agent.as_deref().map(Into::into),
        active: arguments.active,
        cursor: arguments.paging.cursor.clone(),
        limit: arguments.paging.limit,
    };
    let answer = link.ask_value::<TraceList>(&params)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let listed: Vec<ListedTrace> = paging::entries(&answer, "traces")?;
    // Missing from a daemon of an earlier version.
    let now = answer.get("now").and_then(|now| Timestamp::deserialize(now).ok());
    let length = ids::short_length(listed.iter().map(|trace| trace.trace_id.as_str()));
    let rows: Vec<[TableCell; 8]> = listed.iter().map(|trace| trace.cells(length, now)).collect();
    let narrow = surroundings.stdout.width.filter(|width| *width < table::WIDE && !rows.is_empty());
    if let Some(width) = narrow {
        let text = narrow_table(rows, width, &surroundings.stdout);
        surroundings.stdout.write(&text)?;
        paging::note_more(&answer, surroundings);
        return Ok(0);
    }
    let columns = [
        whole("TRACE"),
        free("AGENT"),
        free("STATE"),
        whole("ASKED"),
        whole("TIME"),
        whole("TOKENS"),
        whole("COST"),
        free("PROMPT"),
    ];
    let text = match rows.is_empty() {
        true => "no traces\n".to_owned(),
        false => table::draw(columns, &rows, &surroundings.stdout),
    };
    surroundings.stdout.write(&text)?;
    paging::note_more(&answer, surroundings);
    Ok(0)
}

/// The rows on a terminal with so few columns: without tokens, and on a very narrow one also without when it was asked for and what it
/// cost.
fn narrow_table(rows: Vec<[TableCell; 8]>, width: usize, stdout: &OutputWriter) -> String {
    let rows = rows.into_iter().map(narrowed);
    if width < VERY_NARROW {
        let rows: Vec<[TableCell; 5]> = rows
            .map(|[trace, agent, state, _, took, _, prompt]| [trace, agent, state, took, prompt])
            .collect();
        let columns = [whole("TRACE"), free("AGENT"), free("STATE"), whole("TIME"), free("PROMPT")];
        return table::draw(columns, &rows, stdout);
    }
    let columns = [
        whole("TRACE"),
        free("AGENT"),
        free("STATE"),
        whole("ASKED"),
        whole("TIME"),
        whole("USED"),
        free("PROMPT"),
    ];
    table::draw(columns, &rows.collect::<Vec<_>>(), stdout)
}

/// A row with the cost, or with the tokens where no cost is known.
fn narrowed(row: [TableCell; 8]) -> [TableCell; 7] {
    let [trace, agent, state, started, took, tokens, cost, prompt] = row;
    let used = if matches!(cost.text(), "-" | "?") { tokens } else { cost };
    // Without the year there is more room for what was asked.
    let in_year = started.text().split_once('-').filter(|(year, _)| !year.is_empty());
    let started = in_year.map(|(_, rest)| cell(rest)).unwrap_or(started);
    [trace, agent, state, started, took, used, prompt]
}

/// A summary, with open states and reasons.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListedTrace {
    trace_id: String,
    agent: String,
    state: OpenEnum<RunState>,
    reason: Option<OpenEnum<RunEndReason>>,
    prompt: Option<String>,
    /// Missing from a daemon of an earlier version.
    asked_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    usage: Usage,
    cost: Option<UsdAmount>,
    unpriced_tokens: u64,
    estimated_requests: u64,
    uncounted_requests: u64,
}

impl ListedTrace {
    /// `now`: up to where one that has not ended has lasted.
    fn cells(&self, id_length: usize, now: Option<Timestamp>) -> [TableCell; 8] {
        let asked_at = self.asked_at.or(self.started_at);
        let took = match (asked_at, self.ended_at, now) {
            (Some(started), Some(ended), _) => human::duration(ended.since(started)),
            (Some(started), None, Some(now)) => format!("{}…", human::duration(now.since(started))),
            _ => "-".to_owned(),
        };
        let status = self.reason.as_ref().map_or(self.state.as_str(), OpenEnum::as_str);
        [
            cell(&ids::short(&self.trace_id, id_length)),
            cell(&self.agent),
            table::state_cell(status),
            cell(&asked_at.map_or_else(|| "-".to_owned(), minute)),
            cell(&took),
            cell(&self.tokens()),
            cell(&self.cost().unwrap_or_else(|| "-".to_owned())),
            table::first_line(self.prompt.as_deref().unwrap_or("-")),
        ]
    }
}

impl ListedTrace {
    /// Nothing of one that used nothing: a request may have been cut off before its provider said what it used.
    fn cost(&self) -> Option<String> {
        let cost = self.cost.filter(|_| self.usage.total() != 0);
        let sure = self.sureness();
        money(cost, self.unpriced_tokens != 0 || sure.uncounted != 0, sure)
    }

    fn tokens(&self) -> String {
        let used = tokens(Some(self.usage));
        self.sureness().mark(used.as_deref().unwrap_or("-"), used.is_none())
    }

    fn sureness(&self) -> Sureness {
        Sureness { estimated: self.estimated_requests, uncounted: self.uncounted_requests }
    }
}

/// `2026-11-26 04:30Z`: of a list with a line a trace nobody needs the second.
fn minute(at: Timestamp) -> String {
    let moment = human::moment(at);
    moment.rsplit_once(':').map_or(moment.clone(), |(minute, _)| format!("{minute}Z"))
}

/// `3.2k → 116`; `None` when nothing was used.
fn tokens(usage: Option<Usage>) -> Option<String> {
    let usage = usage.filter(|usage| usage.total() != 0)?;
    let out = usage.output_tokens.saturating_add(usage.thought_tokens);
    Some(format!("{} → {}", short_count(usage.prompt_tokens), short_count(out)))
}

/// `812`, `12.3k`, `1.2M`.
fn short_count(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// A time in microseconds as people say it.
fn time(us: i64) -> String {
    human::duration(Duration::from_micros(u64::try_from(us).unwrap_or_default()))
}

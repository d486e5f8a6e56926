//! `subagent trace show`: a trace as a waterfall, or as the daemon tells it.

use clap::Args;
use serde_json::Value;

use super::{
    loading::{LoadingTrace, PAGE},
    viewer::{self, ViewSource as _},
};
use crate::{ListingFormat, ProcessIo, failure::CommandFailure, ids, link::DaemonLink, paging};
use protocol::{RunId, TraceGet, TraceGetParams};

/// Levels that are shown when nothing is said: a run, its turns and calls, and the same of a run below, twice.
const USUAL_DEPTH: usize = 9;

#[derive(Args)]
pub(crate) struct TraceShowArguments {
    /// The run, and all below it; the beginning of its id is enough
    #[arg(value_name = "RUN")]
    run: String,
    /// Levels to show; deeper spans are only counted
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
    if arguments.format == ListingFormat::Json {
        return show_json(run_id, link, surroundings);
    }
    let mut trace = LoadingTrace::begin(run_id, arguments.depth.max(1), link)?;
    let ProcessIo { stdin, stdout, keyboard, .. } = &*surroundings;
    let height = keyboard.rows().filter(|_| stdin.is_terminal && stdout.is_live);
    // A long one is shown while the rest of it is still to come.
    if height.is_none() {
        while trace.load()? {}
    }
    if trace.is_empty() {
        surroundings.stdout.write("the run has not begun\n")?;
        return Ok(0);
    }
    let text = match height {
        Some(height) => trace.fitting(height, &surroundings.stdout),
        None => Some(trace.whole(&surroundings.stdout)),
    };
    match text {
        Some(text) => surroundings.stdout.write(&text)?,
        None => viewer::view(&mut trace, surroundings)?,
    }
    Ok(0)
}

/// All spans, as the daemon tells them.
fn show_json(
    run_id: RunId,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let mut params = TraceGetParams { run_id, brief: false, cursor: None, limit: PAGE };
    let mut spans: Vec<Value> = Vec::new();
    let mut whole = loop {
        let mut answer = link.ask_value::<TraceGet>(&params)?;
        if let Some(page) = answer.get_mut("spans").and_then(Value::as_array_mut) {
            spans.append(page);
        }
        match answer.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) => params.cursor = Some(cursor.to_owned()),
            None => break answer,
        }
    };
    if let Some(page) = whole.get_mut("spans") {
        *page = Value::Array(spans);
    }
    paging::print_json(&whole, surroundings)?;
    Ok(0)
}

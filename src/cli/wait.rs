//! `subagent wait`: waits until a run has ended, and ends like it.

use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ProcessIo, ReportFormat,
    ending::RunOutcome,
    failure::{CommandFailure, EXIT_TIMED_OUT},
    human, ids,
    link::DaemonLink,
    message::show_message,
    paging,
    run::{parse_minutes, unreadable},
    text_color::TextColor,
};
use client::MonotonicStopwatch;
use protocol::{RpcMethod, RunWait, RunWaitParams};

/// How long one question waits; below the time after which an unanswered one counts as lost.
const WAIT_AT_A_TIME: Duration = Duration::from_secs(10);

#[derive(Args)]
pub(super) struct WaitArguments {
    /// A run's id, or the beginning of it
    run: String,
    /// Minutes to wait at most, fractions allowed; then exits 124, and the run continues
    #[arg(long, value_name = "MIN", value_parser = parse_minutes)]
    timeout: Option<Duration>,
    /// What stdout gets: the result, or the run's record
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// The answer to `run/wait`, with open states and reasons.
#[derive(Deserialize)]
struct RunWaitReply {
    run: Value,
    done: bool,
    /// Its open questions.
    #[serde(default)]
    confirmations: Vec<Value>,
}

pub(super) fn wait(
    arguments: &WaitArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let run_id = ids::find_run(&arguments.run, link)?;
    let stopwatch = MonotonicStopwatch::start();
    let mut has_told = false;
    loop {
        let left = match arguments.timeout {
            Some(timeout) => stopwatch.left_of(timeout).unwrap_or_default(),
            None => WAIT_AT_A_TIME,
        };
        let timeout_ms = u64::try_from(left.min(WAIT_AT_A_TIME).as_millis()).unwrap_or(u64::MAX);
        let params = RunWaitParams { run_id: run_id.clone(), timeout_ms, until: Vec::new() };
        // Ctrl-C ends the process, as everywhere: there is nothing here that would have to be said then.
        let answer = link.ask_until_answered(RunWait::NAME, &params, &mut || false)?;
        let waited: Value = serde_json::from_str(answer.get()).map_err(unreadable)?;
        let waited = RunWaitReply::deserialize(&waited).map_err(unreadable)?;
        let is_late = arguments.timeout.is_some_and(|timeout| stopwatch.left_of(timeout).is_none());
        if waited.done || is_late {
            return show(&waited, arguments, stopwatch.elapsed(), surroundings);
        }
        if !waited.confirmations.is_empty() && !std::mem::replace(&mut has_told, true) {
            let text = "the run waits for an answer; `subagent approvals` lists what it asks";
            show_message(&mut surroundings.stderr, TextColor::Yellow, "note", text);
        }
    }
}

fn show(
    waited: &RunWaitReply,
    arguments: &WaitArguments,
    elapsed: Duration,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let ending = RunOutcome::deserialize(&waited.run).map_err(unreadable)?;
    if arguments.format == ReportFormat::Json {
        paging::print_json(&waited.run, surroundings)?;
    }
    if !waited.done {
        // As long as was asked for: the moment more that it took says nothing.
        let waited = human::duration(arguments.timeout.unwrap_or(elapsed));
        let what = format!("after {waited} the run is not over: {}", ending.summary());
        let hint = format!("`subagent attach {}` shows what it does", ending.run_id);
        return Err(CommandFailure::with_code(EXIT_TIMED_OUT, what).or_hint(hint));
    }
    match arguments.format {
        ReportFormat::Text => ending.report_alone(surroundings),
        ReportFormat::Json => Ok(ending.exit_code()),
    }
}

//! `subagent queue`: which runs wait for their turn, and in which order?

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{
    ListingFormat, OutputWriter, ProcessIo, ReportFormat,
    failure::CommandFailure,
    human, ids,
    link::DaemonLink,
    paging, person,
    table::{self, TableCell, cell, free, whole},
};
use protocol::{
    QueueList, QueueListParams, QueuePromote, QueueRemove, QueueRunParams, RunId, SessionId, Timestamp,
};

#[derive(Subcommand)]
pub(super) enum QueueVerb {
    /// List queued runs in order
    List(QueueListArguments),
    /// Remove a run from the queue; it ends ABORTED
    Remove(QueueRunArguments),
    /// Move a run to the front of its queue
    Promote(QueueRunArguments),
}

#[derive(Args)]
pub(super) struct QueueListArguments {
    /// Only runs of this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
pub(super) struct QueueRunArguments {
    /// A run's id, or the beginning of it
    run: String,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn queue(
    verb: &QueueVerb,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    match verb {
        QueueVerb::List(_) => link.open(&mut surroundings.stderr)?,
        // So that the log says who did.
        _ => link.open_as(person::answering(surroundings)?, &mut surroundings.stderr)?,
    }
    match verb {
        QueueVerb::List(arguments) => return list(arguments, link, surroundings),
        QueueVerb::Remove(QueueRunArguments { run, format }) => {
            let run_id = ids::find_run(run, link)?;
            let answer = link.ask_value::<QueueRemove>(&QueueRunParams { run_id: run_id.clone() })?;
            let words = || format!("removed run {run_id}; it ended ABORTED");
            paging::tell(&answer, *format, words, surroundings)?;
        }
        QueueVerb::Promote(QueueRunArguments { run, format }) => {
            let run_id = ids::find_run(run, link)?;
            let answer = link.ask_value::<QueuePromote>(&QueueRunParams { run_id: run_id.clone() })?;
            let words = || format!("run {run_id} is the next of its context");
            paging::tell(&answer, *format, words, surroundings)?;
        }
    }
    Ok(0)
}

fn list(
    arguments: &QueueListArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    let answer = link.ask_value::<QueueList>(&QueueListParams { session_id })?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let waiting: Vec<QueuedRunView> = paging::entries(&answer, "queue")?;
    let text = match waiting.is_empty() {
        true => "no run waits for its turn in a context\n".to_owned(),
        false => draw(&waiting, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
    Ok(0)
}

/// A run that waits; what for is open.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QueuedRunView {
    run_id: RunId,
    session_id: SessionId,
    #[serde(default)]
    agent: String,
    #[serde(rename = "for", default)]
    waits_for: String,
    /// What was typed; missing when the agent takes no prompt.
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    query: String,
    #[serde(default)]
    queued_at: Option<Timestamp>,
}

fn draw(waiting: &[QueuedRunView], stdout: &OutputWriter) -> String {
    let run_length = ids::short_length(waiting.iter().map(|run| run.run_id.as_str()));
    let session_length = ids::short_length(waiting.iter().map(|run| run.session_id.as_str()));
    let cells = |run: &QueuedRunView| {
        [
            cell(&ids::short(run.run_id.as_str(), run_length)),
            cell(&ids::short(run.session_id.as_str(), session_length)),
            cell(&run.agent),
            cell(&run.waits_for),
            cell(&human::moment_or_dash(run.queued_at)),
            table::first_line(run.prompt.as_ref().unwrap_or(&run.query)),
        ]
    };
    let rows: Vec<[TableCell; 6]> = waiting.iter().map(cells).collect();
    let columns =
        [whole("RUN"), whole("SESSION"), free("AGENT"), free("WAITS FOR"), whole("SINCE"), free("PROMPT")];
    table::draw(columns, &rows, stdout)
}

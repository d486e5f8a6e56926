//! `subagent queue`: which runs wait for their turn, and in which order?

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{Format, Output, Surroundings, failure::Failure, human, ids, link::Link, paging, table};
use crate::protocol::{
    QueueList, QueueListParams, QueuePromote, QueueRemove, QueueRunParams, RunId, SessionId, Timestamp,
};

#[derive(Subcommand)]
pub(super) enum QueueVerb {
    /// List the runs that wait, in their order
    List(QueueListArguments),
    /// Take a run out; it ends ABORTED
    Remove(QueueRunArguments),
    /// Put a run before all others that wait for the same context
    Promote(QueueRunArguments),
}

#[derive(Args)]
pub(super) struct QueueListArguments {
    /// Only runs of this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Args)]
pub(super) struct QueueRunArguments {
    /// A run's id, or the beginning of it
    run: String,
}

pub(super) fn queue(
    verb: &QueueVerb,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    link.open(&mut surroundings.stderr)?;
    match verb {
        QueueVerb::List(arguments) => return list(arguments, link, surroundings),
        QueueVerb::Remove(QueueRunArguments { run }) => {
            let run_id = ids::find_run(run, link)?;
            let removed = link.ask::<QueueRemove>(&QueueRunParams { run_id })?;
            surroundings.stdout.write_text(&format!("removed run {}; it ended ABORTED", removed.run_id))?;
        }
        QueueVerb::Promote(QueueRunArguments { run }) => {
            let run_id = ids::find_run(run, link)?;
            let promoted = link.ask::<QueuePromote>(&QueueRunParams { run_id })?;
            surroundings.stdout.write_text(&format!("run {} is the next of its context", promoted.run_id))?;
        }
    }
    Ok(0)
}

fn list(
    arguments: &QueueListArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    let answer = link.ask_value::<QueueList>(&QueueListParams { session_id })?;
    if arguments.format == Format::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let waiting: Vec<Waiting> = paging::entries(&answer, "queue")?;
    let text = match waiting.is_empty() {
        true => "no run waits for its turn in a context\n".to_owned(),
        false => draw(&waiting, &surroundings.stdout),
    };
    surroundings.stdout.write(&text)?;
    Ok(0)
}

/// A run that waits; what for is open.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    run_id: RunId,
    session_id: SessionId,
    agent: String,
    #[serde(rename = "for")]
    waits_for: String,
    query: String,
    queued_at: Timestamp,
}

fn draw(waiting: &[Waiting], stdout: &Output) -> String {
    let run_length = ids::short_length(waiting.iter().map(|run| run.run_id.as_str()));
    let session_length = ids::short_length(waiting.iter().map(|run| run.session_id.as_str()));
    let cells = |run: &Waiting| {
        [
            ids::short(run.run_id.as_str(), run_length),
            ids::short(run.session_id.as_str(), session_length),
            table::cell(&run.agent),
            table::cell(&run.waits_for),
            human::moment(run.queued_at),
            table::first_line(&run.query),
        ]
    };
    let rows: Vec<[String; 6]> = waiting.iter().map(cells).collect();
    table::draw(["RUN", "SESSION", "AGENT", "WAITS FOR", "SINCE", "QUERY"], &rows, stdout)
}

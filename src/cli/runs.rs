//! `subagent runs`: which runs are there, and how do they stand?

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo,
    ending::RunOutcome,
    failure::CommandFailure,
    human, ids,
    link::DaemonLink,
    paging,
    paging::PagingArguments,
    table::{self, TableCell, cell, free, whole},
};
use protocol::{RunList, RunListParams, Timestamp};

#[derive(Args)]
pub(super) struct RunsArguments {
    /// Only runs that have not ended
    #[arg(long)]
    active: bool,
    /// Only runs of this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only runs of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    paging: PagingArguments,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn runs(
    arguments: &RunsArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    let params = RunListParams {
        session_id,
        agent: arguments.agent.as_deref().map(Into::into),
        active: arguments.active,
        cursor: arguments.paging.cursor.clone(),
        limit: arguments.paging.limit,
        ..RunListParams::default()
    };
    let answer = link.ask_value::<RunList>(&params)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let listed: Vec<ListedRun> = paging::entries(&answer, "runs")?;
    let text = match listed.is_empty() {
        true => "no runs\n".to_owned(),
        false => draw(&listed, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
    paging::note_more(&answer, surroundings);
    Ok(0)
}

/// A record, with open states and reasons.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedRun {
    #[serde(flatten)]
    ending: RunOutcome,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    started_at: Option<Timestamp>,
}

fn draw(runs: &[ListedRun], stdout: &OutputWriter) -> String {
    let length = ids::short_length(runs.iter().map(|run| run.ending.run_id.as_str()));
    let is_narrow = stdout.width.is_some_and(|width| width < table::WIDE);
    let rows = runs.iter().map(|run| cells(run, length, stdout));
    if is_narrow {
        // What a run was asked is what one knows it by; `subagent wait` and `show` tell what came of it.
        let rows = rows.map(|[run, agent, state, started, active, prompt, _]| {
            [run, agent, state, started, active, prompt]
        });
        let columns =
            [whole("RUN"), free("AGENT"), free("STATE"), whole("STARTED"), whole("ACTIVE"), free("PROMPT")];
        return table::draw(columns, &rows.collect::<Vec<_>>(), stdout);
    }
    let rows: Vec<[TableCell; 7]> = rows.collect();
    let columns = [
        whole("RUN"),
        free("AGENT"),
        free("STATE"),
        whole("STARTED"),
        whole("ACTIVE"),
        free("PROMPT"),
        free("RESULT"),
    ];
    table::draw(columns, &rows, stdout)
}

/// A typed result in one line: its first one alone would be a brace. A terminal gets the first text in it.
fn compact(text: String, stdout: &OutputWriter) -> String {
    let value: Option<Value> = serde_json::from_str(&text).ok();
    let Some(value) = value.filter(|value| value.is_object() || value.is_array()) else { return text };
    let fields = value.as_object().filter(|_| stdout.is_terminal);
    let first_text = fields.and_then(|fields| fields.values().find_map(Value::as_str));
    first_text.map_or_else(|| value.to_string(), str::to_owned)
}

fn cells(run: &ListedRun, id_length: usize, stdout: &OutputWriter) -> [TableCell; 7] {
    let started = match stdout.width.filter(|width| *width < table::WIDE).and(run.started_at) {
        Some(at) => human::day_and_minute(at),
        None => human::moment_or_dash(run.started_at),
    };
    let ending = &run.ending;
    // A run that an agent called stands below another, which is not always in the list.
    let sign = if ending.is_child() { "↳ " } else { "" };
    let outcome = ending.trouble().unwrap_or_else(|| {
        let text = ending.message().or(ending.text()).unwrap_or_default();
        text.to_owned()
    });
    [
        cell(&ids::short(&ending.run_id, id_length)),
        cell(&format!("{sign}{}", ending.agent)),
        table::state_cell(ending.status()),
        cell(&started),
        cell(&human::duration(ending.active_time())),
        table::first_line(run.prompt.as_deref().unwrap_or("-")),
        table::first_line(&compact(outcome, stdout)),
    ]
}

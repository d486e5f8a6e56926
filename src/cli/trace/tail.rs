//! `subagent trace tail`: spans as they end.

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    ProcessIo, ReportFormat,
    failure::{CommandFailure, EXIT_INTERRUPTED},
    ids,
    link::DaemonLink,
    paging,
    run_tree::RunTree,
    watch::{EventOutput, SessionEventWatcher, WatchEnd, watch},
};
use client::SessionFollower;
use protocol::{
    AttachFrom, AttachFromKeyword, Envelope, EventFilter, EventSeq, EventsList, EventsListParams, RunGet,
    RunId, RunIdParams, SessionAttachParams, SessionId,
};

#[derive(Args)]
pub(crate) struct TraceTailArguments {
    /// The run, and all below it, from its beginning until it ends; the beginning of its id is enough [default: all runs,
    /// from now on]
    #[arg(value_name = "RUN", conflicts_with = "session")]
    run: Option<String>,
    /// All runs of this session, from now on; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// `json` prints one span a line
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TailedRun {
    session_id: SessionId,
    run_id: RunId,
}

pub(super) fn tail(
    arguments: &TraceTailArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let now = AttachFrom::Word(AttachFromKeyword::Now);
    let (session_id, run_id, from) = match (&arguments.run, &arguments.session) {
        (Some(run), _) => {
            let params = RunIdParams { run_id: ids::find_run(run, link)? };
            let TailedRun { session_id, run_id } = paging::view(&link.ask_value::<RunGet>(&params)?)?;
            let from = beginning(&run_id, link)?;
            (session_id, Some(run_id), from)
        }
        (None, Some(session)) => (ids::find_session(session, link)?, None, now),
        (None, None) => (SessionAttachParams::EVERY_SESSION.into(), None, now),
    };
    let ProcessIo { stdout, stderr, interrupts, .. } = surroundings;
    let mut view = match arguments.format {
        ReportFormat::Text => EventOutput::spans(stdout),
        ReportFormat::Json => EventOutput::spans_as_json(stdout, stderr),
    };
    let dialer = link.dialer().clone();
    let mut follow = SessionFollower::attach(&dialer, session_id, from, false)?;
    interrupts();
    let tree = run_id.clone().map(RunTree::below);
    let mut watcher = TailWatcher { run_id, tree };
    match watch(&mut follow, &mut view, interrupts, link, None, &mut watcher)? {
        WatchEnd::Over => Ok(0),
        WatchEnd::Left => Ok(EXIT_INTERRUPTED),
    }
}

/// Before the run's first event.
fn beginning(run_id: &RunId, link: &mut DaemonLink) -> Result<AttachFrom, CommandFailure> {
    let filter = EventFilter { run_id: Some(run_id.clone()), ..EventFilter::default() };
    let params = EventsListParams { filter, from: EventSeq(0), log_id: None, limit: 1, wait_ms: 0 };
    let page = link.ask_value::<EventsList>(&params)?;
    let first = page.pointer("/events/0/seq").and_then(Value::as_i64);
    let start = AttachFrom::Word(AttachFromKeyword::Start);
    Ok(first.map_or(start, |first| AttachFrom::Seq(EventSeq(first.saturating_sub(1)))))
}

/// Shows until one run ends, or until Ctrl-C.
struct TailWatcher {
    run_id: Option<RunId>,
    /// The tree of the run that is followed; `None` = everything is shown.
    tree: Option<RunTree>,
}

impl SessionEventWatcher for TailWatcher {
    fn concerns(&mut self, envelope: &mut Envelope) -> bool {
        self.tree.as_mut().is_none_or(|tree| tree.takes(envelope))
    }

    fn is_over(&mut self, envelope: &Envelope) -> bool {
        self.run_id.is_some() && envelope.kind == "run.completed" && envelope.run_id == self.run_id
    }

    fn leaves_on_interrupt(&mut self, _: &mut EventOutput<'_>, _: &mut DaemonLink) -> bool {
        true
    }
}

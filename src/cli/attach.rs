//! `subagent attach`: shows a session as it is, then what happens in it.

use std::collections::BTreeSet;

use clap::Args;
use serde::Deserialize;

use super::{
    ProcessIo,
    asking::InlineConfirmations,
    failure::{CommandFailure, EXIT_INTERRUPTED},
    ids,
    link::DaemonLink,
    paging, person,
    run::{self, OutputFormat},
    run_tree::{RunTree, live_runs, newest_root},
    safe_text,
    watch::{EventOutput, SessionEventWatcher, WatchEnd, watch},
};
use client::SessionFollower;
use protocol::{
    AttachFrom, AttachFromKeyword, Envelope, ErrorKind, RunGet, RunId, RunIdParams, RunList, RunListParams,
    SessionId,
};

#[derive(Args)]
pub(super) struct AttachArguments {
    /// A session's or a run's id, or the beginning of it [default: the session of the newest live run]
    #[arg(value_name = "SESSION|RUN")]
    target: Option<String>,
    /// What stdout gets: the result, the run's record, or every event with the record last
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    output_format: OutputFormat,
}

/// What is read of a run's record to follow it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttachRunView {
    session_id: SessionId,
    run_id: RunId,
    #[serde(default)]
    agent: String,
}

/// What to follow, and until when.
struct AttachTarget {
    session_id: SessionId,
    /// Until this run ends; `None` = until every run of the session has.
    run_id: Option<RunId>,
}

pub(super) fn attach(
    arguments: &AttachArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let may_ask = surroundings.has_person() && arguments.output_format != OutputFormat::StreamJson;
    match may_ask {
        true => link.open_as(person::somebody(surroundings)?, &mut surroundings.stderr)?,
        false => link.open(&mut surroundings.stderr)?,
    }
    let target = match &arguments.target {
        Some(id) => resolve(id, link)?,
        None => find_live(link)?,
    };
    let ProcessIo { stdout, stderr, interrupts, keyboard, environment, clock, .. } = surroundings;
    let me = link.me();
    let mut view = match arguments.output_format {
        OutputFormat::Text | OutputFormat::Json => EventOutput::progress(stderr, me.clone()),
        OutputFormat::StreamJson => EventOutput::envelopes(stdout, stderr),
    };
    let asking = me.map(|me| InlineConfirmations::new(me, &mut **keyboard, environment, clock));
    let dialer = link.dialer().clone();
    let (introduction, from) = (link.introduction().cloned(), AttachFrom::Word(AttachFromKeyword::Now));
    let mut follow =
        SessionFollower::attach_as(introduction, &dialer, target.session_id, from, view.wants_deltas())?;
    interrupts();
    let tree = target.run_id.clone().map(RunTree::below);
    let mut watcher = SessionWatcher { run_id: target.run_id, tree, live: BTreeSet::new(), newest: None };
    let end = watch(&mut follow, &mut view, interrupts, link, asking, &mut watcher)?;
    let (stop_message, shown) = match &view {
        EventOutput::Progress { progress, .. } => (progress.stop_message(), progress.last_text()),
        EventOutput::Spans { .. } | EventOutput::Envelopes { .. } => (None, None),
    };
    let (stop_message, shown) = (stop_message.map(str::to_owned), shown.map(str::to_owned));
    drop(view);

    let SessionWatcher { run_id, newest, .. } = watcher;
    if end == WatchEnd::Left {
        return Ok(EXIT_INTERRUPTED);
    }
    // Following a run is what `run` does, so it ends the same way; a session has no exit code of its own.
    let Some(run_to_show) = run_id.clone().or(newest) else { return Ok(0) };
    let record = run::fetch_record(&run_to_show, link, surroundings)?;
    let format = arguments.output_format;
    let exit_code = run::report(&record, format, stop_message.as_deref(), shown.as_deref(), surroundings)?;
    Ok(if run_id.is_some() { exit_code } else { 0 })
}

/// An id may be a run's or a session's, and the beginning of it is enough.
fn resolve(text: &str, link: &mut DaemonLink) -> Result<AttachTarget, CommandFailure> {
    let run_id = ids::find_run(text, link)?;
    match link.ask_value::<RunGet>(&RunIdParams { run_id }) {
        Ok(answer) => {
            let AttachRunView { session_id, run_id, .. } = paging::view(&answer)?;
            Ok(AttachTarget { session_id, run_id: Some(run_id) })
        }
        // No run has this id; if no session has it either, attaching says so.
        Err(error) if error.is_refusal(ErrorKind::NotFound) => {
            Ok(AttachTarget { session_id: ids::find_session(text, link)?, run_id: None })
        }
        Err(error) => Err(error.into()),
    }
}

/// The session of the newest root run that is alive.
fn find_live(link: &mut DaemonLink) -> Result<AttachTarget, CommandFailure> {
    if let Some(live) = newest_root_run(true, link)? {
        return Ok(AttachTarget { session_id: live.session_id, run_id: None });
    }
    let Some(last) = newest_root_run(false, link)? else {
        return Err(CommandFailure::new("no run is live, and there was none before")
            .or_hint("start a run with `subagent run AGENT -p PROMPT`"));
    };
    let id = ids::shortest(last.run_id.as_str());
    let agent = safe_text::line(&last.agent, 64);
    Err(CommandFailure::new(format!("no run is live; the last one was {id} ({agent})")).or_hint(format!(
        "`subagent attach {id}` shows how it ended, `subagent show {id}` what it did; `subagent runs` lists all"
    )))
}

fn newest_root_run(active: bool, link: &mut DaemonLink) -> Result<Option<AttachRunView>, CommandFailure> {
    let params = RunListParams { active, roots: true, limit: 1, ..RunListParams::default() };
    let runs: Vec<AttachRunView> = paging::entries(&link.ask_value::<RunList>(&params)?, "runs")?;
    Ok(runs.into_iter().next())
}

/// Waits for the end of one run, or of all runs of the session.
struct SessionWatcher {
    run_id: Option<RunId>,
    /// What is shown when one run is followed; `None` = the whole session.
    tree: Option<RunTree>,
    live: BTreeSet<RunId>,
    /// The root run whose result is shown at the end.
    newest: Option<RunId>,
}

impl SessionEventWatcher for SessionWatcher {
    fn concerns(&mut self, envelope: &mut Envelope) -> bool {
        self.tree.as_mut().is_none_or(|tree| tree.takes(envelope))
    }

    fn is_over(&mut self, envelope: &Envelope) -> bool {
        let is_root = envelope.head.parent_run_id.is_none();
        match (envelope.kind.as_str(), &envelope.run_id) {
            ("signal.snapshot", _) => {
                self.live.extend(live_runs(&envelope.data));
                self.newest = newest_root(&envelope.data);
            }
            ("run.queued" | "run.started", Some(run_id)) => {
                self.live.insert(run_id.clone());
                if is_root {
                    self.newest = Some(run_id.clone());
                }
                return false;
            }
            ("run.completed", Some(run_id)) => {
                self.live.remove(run_id);
            }
            _ => return false,
        }
        match &self.run_id {
            Some(run_id) => !self.live.contains(run_id),
            None => self.live.is_empty(),
        }
    }

    fn leaves_on_interrupt(&mut self, view: &mut EventOutput<'_>, _: &mut DaemonLink) -> bool {
        if !self.live.is_empty() {
            view.note("! left; the runs go on, `subagent attach` shows them again");
        }
        true
    }
}

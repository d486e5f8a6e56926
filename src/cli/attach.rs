//! `subagent attach`: shows a session as it is, then what happens in it.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::Value;

use super::{
    Surroundings,
    failure::{EXIT_INTERRUPTED, Failure},
    link::{AskError, Link},
    run,
    watch::{End, View, Watcher, watch},
};
use crate::{
    client::{CallError, Follow},
    protocol::{
        AttachFrom, Envelope, ErrorKind, EventFilter, EventsList, EventsListParams, FromWord, RunGet, RunId,
        RunIdParams, RunState, Seq, SessionId,
    },
};

/// Events a page when looking for the newest run: the most the daemon gives.
const PAGE: u32 = 1_000;

#[derive(Args)]
pub(super) struct AttachArguments {
    /// A session's or a run's id [default: the newest session with a live run, else the newest]
    #[arg(value_name = "SESSION|RUN")]
    target: Option<String>,
}

/// What to follow, and until when.
struct Target {
    session_id: SessionId,
    /// Until this run ends; `None` = until every run of the session has.
    run_id: Option<RunId>,
}

pub(super) fn attach(
    arguments: &AttachArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    link.open(&mut surroundings.stderr)?;
    let target = match &arguments.target {
        Some(id) => resolve(id, link)?,
        None => find_newest(link)?,
    };
    let Surroundings { stderr, interrupts, .. } = surroundings;
    let mut view = View::progress(stderr);
    let dialer = link.dialer().clone();
    let mut follow =
        Follow::attach(&dialer, target.session_id, AttachFrom::Word(FromWord::Now), view.wants_deltas())?;
    interrupts();
    let mut watcher = SessionWatcher { run_id: target.run_id, live: BTreeSet::new(), newest: None };
    let end = watch(&mut follow, &mut view, interrupts, &mut watcher)?;
    let (stop_message, shown) = match &view {
        View::Progress { progress, .. } => (progress.stop_message(), progress.last_text()),
        View::Envelopes { .. } => (None, None),
    };
    let (stop_message, shown) = (stop_message.map(str::to_owned), shown.map(str::to_owned));
    drop(view);

    let SessionWatcher { run_id, newest, .. } = watcher;
    if end == End::Left {
        return Ok(EXIT_INTERRUPTED);
    }
    // Following a run is what `run` does, so it ends the same way; a session has no exit code of its own.
    let Some(run_to_show) = run_id.clone().or(newest) else { return Ok(0) };
    let record = run::fetch_record(&run_to_show, link, surroundings)?;
    let ending = run::read_ending(record.get())?;
    let exit_code = ending.report(stop_message.as_deref(), shown.as_deref(), surroundings)?;
    Ok(if run_id.is_some() { exit_code } else { 0 })
}

/// An id may be a run's or a session's.
fn resolve(id: &str, link: &mut Link) -> Result<Target, Failure> {
    match link.ask::<RunGet>(&RunIdParams { run_id: id.into() }) {
        Ok(record) => Ok(Target { session_id: record.session_id, run_id: Some(record.run_id) }),
        // No run has this id; if no session has it either, attaching says so.
        Err(AskError::Call(CallError::Refused(refusal))) if refusal.is(ErrorKind::NotFound) => {
            Ok(Target { session_id: id.into(), run_id: None })
        }
        Err(error) => Err(error.into()),
    }
}

/// The session of the newest root run that is alive, else of the newest one.
fn find_newest(link: &mut Link) -> Result<Target, Failure> {
    let types = vec!["run.started".to_owned(), "run.completed".to_owned()];
    let filter = EventFilter { types, ..EventFilter::default() };
    let mut live: Vec<(RunId, SessionId)> = Vec::new();
    let mut newest = None;
    let mut from = Seq(0);
    loop {
        let params = EventsListParams { filter: filter.clone(), from, limit: PAGE, wait_ms: 0 };
        let page = link.ask::<EventsList>(&params)?.events;
        // Pages of large events are short; only an empty one is the last.
        let is_last = page.is_empty();
        for envelope in page {
            from = envelope.seq.unwrap_or(from).max(from);
            let (Some(run_id), Some(session_id)) = (envelope.run_id, envelope.session_id) else { continue };
            if envelope.kind == "run.completed" {
                live.retain(|(live_run, _)| *live_run != run_id);
            } else if envelope.head.parent_run_id.is_none() {
                newest = Some(session_id.clone());
                live.push((run_id, session_id));
            }
        }
        if is_last {
            break;
        }
    }
    let session_id = live.pop().map(|(_, session_id)| session_id).or(newest);
    match session_id {
        Some(session_id) => Ok(Target { session_id, run_id: None }),
        None => Err(Failure::new("there is no session to attach to")
            .or_hint("start a run with `subagent run AGENT -p PROMPT`")),
    }
}

/// Waits for the end of one run, or of all runs of the session.
struct SessionWatcher {
    run_id: Option<RunId>,
    live: BTreeSet<RunId>,
    /// The root run whose result is shown at the end.
    newest: Option<RunId>,
}

impl Watcher for SessionWatcher {
    fn is_over(&mut self, envelope: &Envelope) -> bool {
        let is_root = envelope.head.parent_run_id.is_none();
        match (envelope.kind.as_str(), &envelope.run_id) {
            ("signal.snapshot", _) => self.take_snapshot(&envelope.data),
            ("run.started", Some(run_id)) => {
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

    fn leaves_on_interrupt(&mut self, view: &mut View<'_>) -> bool {
        if !self.live.is_empty() {
            view.note("! left; the runs go on, `subagent attach` shows them again");
        }
        true
    }
}

impl SessionWatcher {
    /// Read leniently: a state that only a newer daemon knows is not an end.
    fn take_snapshot(&mut self, data: &Value) {
        let runs = data.get("runs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let text = |run: &Value, key: &str| run.get(key).and_then(Value::as_str).map(str::to_owned);
        for run in runs {
            let Some(run_id) = text(run, "runId").map(RunId::from) else { continue };
            if text(run, "state").as_deref() != Some(RunState::Ended.as_str()) {
                self.live.insert(run_id.clone());
            }
            let is_root = run.get("parentRunId").is_none();
            if is_root && self.newest.as_ref().is_none_or(|newest| *newest < run_id) {
                self.newest = Some(run_id);
            }
        }
    }
}

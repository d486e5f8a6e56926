//! `subagent sessions delete`: what is lost with a session, and does the person agree to that?

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::SessionSelector;
use crate::{
    ProcessIo, ReportFormat, consent, failure::CommandFailure, human, ids, link::DaemonLink, paging,
    safe_text,
};
use protocol::{RunList, RunListParams, SessionDelete, SessionGet, SessionId, SessionIdParams};

/// Characters of a title that the question shows.
const TITLE_CHARACTERS: usize = 60;

/// Live runs that are named.
const RUNS_NAMED: usize = 3;

/// Live runs that are asked for, to count those that are not named.
const RUNS_COUNTED: u32 = 1_000;

#[derive(Args)]
pub(super) struct SessionDeleteArguments {
    #[command(flatten)]
    session: SessionSelector,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

impl SessionDeleteArguments {
    /// Fails when the person did not agree beforehand, and nobody is there to be asked.
    pub(super) fn check_consent(&self, surroundings: &ProcessIo) -> Result<(), CommandFailure> {
        if self.yes || surroundings.has_person() {
            return Ok(());
        }
        let named = safe_text::line(&self.session.session, usize::MAX);
        Err(CommandFailure::usage("nobody can be asked here, and --yes is not given")
            .or_hint(format!("subagent sessions delete {named} --yes")))
    }
}

pub(super) fn delete(
    arguments: &SessionDeleteArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let params = arguments.session.find(link)?;
    if !arguments.yes {
        let question = question(&params, link)?;
        consent::confirm(&question, "press y and then Enter to delete it, or give --yes", surroundings)?;
        // Whoever was asked may have thought for longer than an idle daemon lives.
        link.reach(&mut surroundings.stderr)?;
    }
    let answer = link.ask_value::<SessionDelete>(&params)?;
    let events = answer.get("events").and_then(Value::as_u64).unwrap_or(0);
    let words =
        || format!("deleted session {} with its {}", params.session_id, human::count(events, "event"));
    paging::tell(&answer, arguments.format, words, surroundings)
}

/// The answer to `session/get`, as far as it tells what is lost. Where the daemon does not say it, there is nothing to be
/// asked.
#[derive(Deserialize)]
struct DeletableSession {
    session: LostSession,
    contexts: Vec<LostContext>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LostSession {
    session_id: SessionId,
    roots: Vec<String>,
    title: Option<String>,
    agent: Option<String>,
}

#[derive(Deserialize)]
struct LostContext {
    messages: u64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LiveRun {
    run_id: String,
    agent: String,
}

/// A session with a live run is not asked about: the daemon would refuse what the person agreed to.
fn question(params: &SessionIdParams, link: &mut DaemonLink) -> Result<String, CommandFailure> {
    let DeletableSession { session, contexts } = paging::view(&link.ask_value::<SessionGet>(params)?)?;
    let live = RunListParams {
        session_id: Some(params.session_id.clone()),
        active: true,
        limit: RUNS_COUNTED,
        ..RunListParams::default()
    };
    let live: Vec<LiveRun> = paging::entries(&link.ask_value::<RunList>(&live)?, "runs")?;
    if !live.is_empty() {
        return Err(has_live_runs(&params.session_id, &live));
    }
    let title = session.title.as_ref().map(|title| safe_text::line(title, TITLE_CHARACTERS));
    let of_whom: Vec<String> = title
        .into_iter()
        .chain(session.agent.clone())
        .chain((!session.roots.is_empty()).then(|| session.roots.join(", ")))
        .collect();
    let id = ids::shortest(session.session_id.as_str());
    let of_whom = if of_whom.is_empty() { String::new() } else { format!(" ({})", of_whom.join(" · ")) };
    let messages = human::count(contexts.iter().map(|context| context.messages).sum(), "message");
    // Runs are not counted: the daemon counts those that clear or shorten a context among them.
    Ok(format!("Delete session {id}{of_whom}, with its runs and {messages}? It cannot be restored."))
}

fn has_live_runs(session_id: &SessionId, live: &[LiveRun]) -> CommandFailure {
    let id = ids::shortest(session_id.as_str());
    let named = live.iter().take(RUNS_NAMED);
    let mut named: Vec<String> = named
        .map(|run| format!("{} ({})", ids::shortest(&run.run_id), safe_text::line(&run.agent, 64)))
        .collect();
    let more = live.len().saturating_sub(RUNS_NAMED);
    named.extend((more != 0).then(|| format!("{more} more")));
    let what = if live.len() == 1 { "a live run" } else { "live runs" };
    CommandFailure::new(format!("session {id} has {what}, so it is not deleted: {}", named.join(", ")))
        .or_hint(format!("`subagent sessions close {id}` ends its runs; then delete it"))
}

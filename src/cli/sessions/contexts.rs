//! `subagent sessions compact` and `clear`: what do an agent's models read of its past from here on?

use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::SessionSelector;
use crate::{
    ProcessIo, ReportFormat,
    failure::{CommandFailure, EXIT_FAILED, EXIT_INTERRUPTED},
    human,
    link::{DaemonCallError, DaemonLink},
    message::show_message,
    paging, safe_text,
    text_color::TextColor,
};
use client::CallError;
use protocol::{RpcMethod, SessionClear, SessionCompact, SessionContextParams};

/// Ctrl-C is heard between two looks.
const WAIT: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(super) struct ContextArguments {
    #[command(flatten)]
    session: SessionSelector,
    /// Whose context [default: all of the session, but those of agents that others called]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// What stdout gets: a line for each context, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn compact(
    arguments: &ContextArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let Some(answer) = ask::<SessionCompact>(&arguments.params(link)?, link, surroundings)? else {
        return Ok(EXIT_INTERRUPTED);
    };
    let told = compact_told(&answer)?;
    paging::tell(&answer, arguments.format, || told, surroundings)?;
    let ContextsReply::<CompactedContextView> { contexts } = paging::view(&answer)?;
    Ok(if contexts.iter().all(CompactedContextView::is_well) { 0 } else { EXIT_FAILED })
}

pub(super) fn clear(
    arguments: &ContextArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let Some(answer) = ask::<SessionClear>(&arguments.params(link)?, link, surroundings)? else {
        return Ok(EXIT_INTERRUPTED);
    };
    let cleared = clear_told(&answer)?;
    paging::tell(&answer, arguments.format, || cleared, surroundings)?;
    Ok(0)
}

/// An answer to `session/compact`, in harmless lines.
pub(crate) fn compact_told(answer: &Value) -> Result<String, CommandFailure> {
    let ContextsReply::<CompactedContextView> { contexts } = paging::view(answer)?;
    Ok(contexts.iter().map(CompactedContextView::told).collect::<Vec<_>>().join("\n"))
}

/// The same of `session/clear`.
pub(crate) fn clear_told(answer: &Value) -> Result<String, CommandFailure> {
    let ContextsReply::<ClearedContextView> { contexts } = paging::view(answer)?;
    let line =
        |it: &ClearedContextView| format!("{}: the context begins anew", safe_text::line(&it.agent, 64));
    Ok(contexts.iter().map(line).collect::<Vec<_>>().join("\n"))
}

impl ContextArguments {
    fn params(&self, link: &mut DaemonLink) -> Result<SessionContextParams, CommandFailure> {
        let session_id = self.session.find(link)?.session_id;
        Ok(SessionContextParams { session_id, agent: self.agent.as_deref().map(Into::into) })
    }
}

/// Waits for the runs before it and for a model, however long they take. `None`: somebody pressed Ctrl-C.
pub(crate) fn ask<M: RpcMethod<Params = SessionContextParams>>(
    params: &SessionContextParams,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Option<Value>, CommandFailure> {
    // What was pressed before is no answer to this.
    (surroundings.interrupts)();
    let mut pending = link.begin::<M>(params)?;
    loop {
        if let Some(settled) = pending.poll(WAIT) {
            let answer = settled.map_err(|error| match error {
                CallError::Closed => CommandFailure::unavailable("the daemon went away before it answered")
                    .or_hint("it goes on when it is back; `subagent runs` shows what came of it"),
                other => DaemonCallError::Call(other).into(),
            })?;
            let unreadable = |error: serde_json::Error| -> CommandFailure {
                CallError::Unreadable { method: M::NAME.into(), error: error.to_string() }.into()
            };
            return serde_json::from_str(answer.get()).map(Some).map_err(unreadable);
        }
        if (surroundings.interrupts)() > 0 {
            let text = "it goes on; `subagent runs --active` shows its run, which `subagent cancel` stops";
            show_message(&mut surroundings.stderr, TextColor::Dim, "note", text);
            return Ok(None);
        }
    }
}

#[derive(Deserialize)]
struct ContextsReply<T> {
    #[serde(default = "Vec::new")]
    contexts: Vec<T>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClearedContextView {
    agent: String,
}

/// What became of a context, with an open status.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CompactedContextView {
    agent: String,
    status: Option<String>,
    tokens_before: u64,
    tokens_after: u64,
    message: Option<String>,
}

impl CompactedContextView {
    /// There was nothing to do, or it was done; what only a newer daemon knows is for its own clients to judge.
    fn is_well(&self) -> bool {
        match &self.status {
            Some(status) => !status.starts_with("COMPRESSION_FAILED_"),
            // Its run ended before, and that is said.
            None => self.message.is_none(),
        }
    }

    fn told(&self) -> String {
        let why = self.message.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let status = match self.status.as_deref() {
            None => "not compressed",
            // It was kept from that, e.g. by a hook: counts would look as if it had been tried.
            Some("NOOP") if self.message.is_some() => {
                return safe_text::line(&format!("{}: not compressed{why}", self.agent), 400);
            }
            Some(status) => status,
        };
        let counts = human::change_of_tokens(self.tokens_before, self.tokens_after);
        safe_text::line(&format!("{}: {status} · {counts}{why}", self.agent), 400)
    }
}

//! Which session, run or agent does a request mean, or why is there none?

use std::{path::PathBuf, sync::Arc};

use serde_json::json;

use super::{super::settings_in_force::SettingsInForce, internal, no_session};
use agents::{AgentCatalog, AgentLookup, NotReady};
use project::Project;
use protocol::{
    AgentDefinition, AgentName, ErrorKind, RpcError, RunId, RunRecord, SessionId, SessionState,
    SessionSummary,
};
use run::PlanError;
use store::EventStore;
use tools::Workspace;
use trust::AcknowledgementState;

/// The session of this id, or why there is none.
pub(super) async fn session(store: &EventStore, session: &SessionId) -> Result<SessionSummary, RpcError> {
    match store.session(session).await? {
        Some(summary) => Ok(summary),
        None => Err(no_session(store, session).await),
    }
}

/// The session of this id, if it takes work.
pub(super) async fn open_session(store: &EventStore, id: &SessionId) -> Result<SessionSummary, RpcError> {
    let summary = session(store, id).await?;
    match summary.state {
        SessionState::Open => {
            are_as_they_were(&summary).await?;
            Ok(summary)
        }
        SessionState::Closed => {
            Err(RpcError::new(ErrorKind::SessionClosed, format!("session {id} is closed"))
                .with_hint("start without a session (`subagent run --new`): that opens a new one"))
        }
    }
}

/// Refuses a session whose folders are not what they were. Where a link came into the place of one, nothing is looked up or started by it: what
/// that leads to nobody opened, nor trusted.
async fn are_as_they_were(summary: &SessionSummary) -> Result<(), RpcError> {
    let roots: Vec<PathBuf> = summary.roots.iter().map(PathBuf::from).collect();
    if roots.is_empty() {
        return Ok(());
    }
    let opened = tokio::task::spawn_blocking(move || Workspace::open_known(&roots).map(drop)).await;
    let opened = opened.map_err(|error| internal("the workspace could not be looked at", &error))?;
    opened.map_err(|error| PlanError::Workspace(error).into())
}

/// The run of this id, or why there is none.
pub(super) async fn record(store: &EventStore, run: &RunId) -> Result<RunRecord, RpcError> {
    let missing = || {
        RpcError::new(ErrorKind::NotFound, format!("there is no run {run}"))
            .with_hint("`subagent runs` shows the runs there are")
    };
    store.run(run).await?.ok_or_else(missing)
}

/// The definition under a name and its digest, or why it cannot be used.
pub(super) fn definition(
    catalog: &AgentCatalog,
    agent: &AgentName,
) -> Result<(Arc<AgentDefinition>, String), RpcError> {
    match catalog.find(agent) {
        AgentLookup::Ready { definition, digest, .. } => Ok((definition, digest)),
        AgentLookup::Untrusted { digest, path, consent } => {
            let why = match consent {
                AcknowledgementState::Before => "it has changed since it was acknowledged",
                AcknowledgementState::Never | AcknowledgementState::Now => "nobody has acknowledged it yet",
            };
            let message = format!("{agent} comes from {}, a file of the workspace: {why}", path.display());
            Err(RpcError::new(ErrorKind::WorkspaceNotTrusted, message)
                .with_details(json!({ "digest": digest, "path": path }))
                .with_hint(format!(
                    "read the file, then acknowledge it as it is: `subagent trust {agent}` (`agents/acknowledge`)"
                )))
        }
        AgentLookup::Invalid(problems) => {
            let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let message = format!("{agent} cannot be used: {}", list.join("; "));
            Err(RpcError::new(ErrorKind::InvalidDefinition, message)
                .with_details(json!({ "problems": problems }))
                .with_hint("fix the file; `subagent list --all` shows every problem"))
        }
        AgentLookup::NotReady(why) => {
            let (message, hint) = match why {
                NotReady::Disabled => (
                    format!("{agent} is switched off by the settings"),
                    format!("the setting `agents.overrides.{agent}.enabled` switches it on"),
                ),
                NotReady::SwitchedOff => (
                    format!("{agent} is switched off by its own file (`disable: true`)"),
                    "take the line out of its file".to_owned(),
                ),
                NotReady::Remote => (
                    format!("{agent} is a remote agent; those cannot be started yet"),
                    "choose another agent; `subagent list` shows the agents there are".to_owned(),
                ),
                NotReady::Unsupported(fields) => return Err(not_held_to(agent, &fields)),
            };
            Err(RpcError::new(ErrorKind::AgentNotReady, message).with_hint(hint))
        }
        AgentLookup::Unknown { nearest } => {
            let error = RpcError::new(ErrorKind::NotFound, format!("there is no agent {agent}"));
            Err(match nearest {
                Some(nearest) => error
                    .with_details(json!({ "didYouMean": nearest }))
                    .with_hint(format!("did you mean {nearest}? `subagent list` shows all")),
                None => error.with_hint("`subagent list` shows the agents there are"),
            })
        }
    }
}

/// The agent of runs that name none, where their session has none either.
pub(super) fn usual_agent(settings: &SettingsInForce, project: &Project) -> AgentName {
    let of_project = project.settings.default_agent.clone();
    of_project.unwrap_or_else(|| settings.get().config.agents.default.value.clone())
}

/// An agent whose file asks for what would not be done: started, it would be freer than it says, or forget.
pub(super) fn not_held_to(agent: &AgentName, fields: &[impl AsRef<str>]) -> RpcError {
    let fields: Vec<&str> = fields.iter().map(AsRef::as_ref).collect();
    let named: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    let message = format!(
        "{agent} asks for {}, which this version cannot carry out, so it is not started",
        named.join(" and ")
    );
    RpcError::new(ErrorKind::AgentNotReady, message)
        .with_details(json!({ "fields": fields }))
        .with_hint("take what is named out of its definition if it is meant to run without that")
}

//! In which sessions does an agent have a history, and how often did its triggers decide?

use sqlx::Row as _;

use crate::{EventStore, StoreError};
use protocol::{AgentName, RoutingTrigger, SessionId};

/// A session that can go on and has a context of an agent's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSession {
    pub session: SessionId,
    pub roots: Vec<String>,
    /// A run of the agent lives in it.
    pub is_busy: bool,
}

/// How often one trigger brought a prompt to an agent, and how often a person then gave the same prompt to another one.
#[derive(Debug, Clone, PartialEq)]
pub struct TriggerHits {
    pub trigger: RoutingTrigger,
    pub hits: u64,
    pub overrides: u64,
}

pub(crate) const AGENT_SESSIONS: &str = "
select sessions.session_id, sessions.roots, exists (
    select 1 from runs where runs.session_id = sessions.session_id and runs.agent = ?1 and runs.state <> 'ended'
) as is_busy
from sessions
where sessions.state = 'open' and sessions.session_id in (
    select session_id from contexts where agent = ?1 and parent_run_id is null
)
order by sessions.created_us, sessions.session_id";

/// An override is a later prompt of the same session, word for word the same, for which somebody named another agent.
pub(crate) const TRIGGER_HITS: &str = "
select routes.trigger, count(*) as hits, sum(exists (
    select 1 from runs as routed join runs as named on named.session_id = routed.session_id
    where routed.run_id = routes.run_id and routed.first_seq < named.first_seq and named.prompt = routed.prompt
        and named.agent <> routes.agent and named.parent_run_id is null
        and named.run_id not in (select run_id from routes)
)) as overrides
from routes
where routes.agent = ?1 and routes.trigger is not null
group by routes.trigger";

impl EventStore {
    /// The open sessions in which this agent has a context of its own, oldest first.
    pub async fn sessions_of_agent(&self, agent: &AgentName) -> Result<Vec<AgentSession>, StoreError> {
        let rows = sqlx::query(AGENT_SESSIONS).bind(agent.as_str()).fetch_all(&self.shared.readers).await?;
        let sessions = rows.iter().map(|row| AgentSession {
            session: row.get::<&str, _>("session_id").into(),
            // Written by this program.
            roots: serde_json::from_str(row.get("roots")).unwrap_or_default(),
            is_busy: row.get("is_busy"),
        });
        Ok(sessions.collect())
    }

    /// What came of an agent's triggers, those among them that it has now and those that it had.
    pub async fn trigger_hits(&self, agent: &AgentName) -> Result<Vec<TriggerHits>, StoreError> {
        let rows = sqlx::query(TRIGGER_HITS).bind(agent.as_str()).fetch_all(&self.shared.readers).await?;
        let hits = rows.iter().filter_map(|row| {
            // One that this version does not know is of no agent that it shows.
            let trigger = serde_json::from_str(row.get("trigger")).ok()?;
            let number = |column: &str| row.get::<i64, _>(column).unsigned_abs();
            Some(TriggerHits { trigger, hits: number("hits"), overrides: number("overrides") })
        });
        Ok(hits.collect())
    }
}

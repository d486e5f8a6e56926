//! What did the agents' models use, of a run with all below it, of a session, or since a moment?

use sqlx::{Row as _, SqlSafeStr as _};

use crate::{
    EventStore, StoreError,
    minutes::{begin_of, minute},
};
use protocol::{AgentName, RunId, SessionId, Timestamp, Usage, UsdAmount, UsedAmount, UsedByAgentAndModel};

/// Of what the usage is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UsageOf {
    /// With all runs below it.
    Run(RunId),
    Session(SessionId),
    /// Of all sessions, from the minute on in which this is.
    Since(Timestamp),
}

impl UsageOf {
    /// The moment from which on is counted what is asked for since this one.
    pub fn first_moment(since: Timestamp) -> Timestamp {
        begin_of(minute(since))
    }

    /// `?1` is the id or the minute.
    pub(crate) fn text(&self) -> String {
        let (members, condition) = match self {
            UsageOf::Run(_) => (
                "with recursive member(id) as (
                     select ?1 union select runs.run_id from member join runs on runs.parent_run_id = member.id
                 )",
                "usage.run_id in (select id from member)",
            ),
            UsageOf::Session(_) => ("", "usage.run_id in (select run_id from runs where session_id = ?1)"),
            UsageOf::Since(_) => ("", "?1 <= usage.minute"),
        };
        // Runs are found by their key: `cross join` has SQLite begin with what was used.
        format!(
            "{members}
             select
                 runs.agent, usage.model, sum(calls) as calls, sum(estimated_calls) as estimated_calls,
                 sum(usage.prompt_tokens) as prompt_tokens, sum(usage.cached_tokens) as cached_tokens,
                 sum(usage.cache_write_tokens) as cache_write_tokens, sum(usage.output_tokens) as output_tokens,
                 sum(usage.thought_tokens) as thought_tokens, sum(usage.cost_nanos) as cost_nanos,
                 sum(usage.unpriced_tokens) as unpriced_tokens, sum(usage.uncounted_calls) as uncounted_calls
             from usage cross join runs on runs.run_id = usage.run_id
             where {condition}
             group by runs.agent, usage.model
             order by runs.agent, usage.model"
        )
    }
}

impl EventStore {
    /// What was used, by agent and model; ordered by their names. Costs as much as there were minutes in which these runs
    /// asked models.
    pub async fn usage(&self, of: &UsageOf) -> Result<Vec<UsedByAgentAndModel>, StoreError> {
        let query = sqlx::query(sqlx::AssertSqlSafe(of.text()).into_sql_str());
        let query = match of {
            UsageOf::Run(run) => query.bind(run.as_str()),
            UsageOf::Session(session) => query.bind(session.as_str()),
            UsageOf::Since(at) => query.bind(minute(*at)),
        };
        let rows = query.fetch_all(&self.shared.readers).await?;
        let used = rows.iter().map(|row| {
            let count = |column: &str| row.get::<i64, _>(column).unsigned_abs();
            let usage = Usage {
                prompt_tokens: count("prompt_tokens"),
                cached_tokens: count("cached_tokens"),
                cache_write_tokens: count("cache_write_tokens"),
                output_tokens: count("output_tokens"),
                thought_tokens: count("thought_tokens"),
            };
            let cost = row.get::<Option<i64>, _>("cost_nanos");
            let amount = UsedAmount {
                calls: count("calls"),
                estimated_calls: count("estimated_calls"),
                uncounted_calls: count("uncounted_calls"),
                usage,
                cost: cost.map(|nanos| UsdAmount::from_nanos(nanos.unsigned_abs())),
                unpriced_tokens: count("unpriced_tokens"),
            };
            let agent = AgentName::from(row.get::<&str, _>("agent"));
            UsedByAgentAndModel { agent, model: row.get("model"), amount }
        });
        Ok(used.collect())
    }
}

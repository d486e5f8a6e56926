//! What did models use? Which events say so, and what they add to the table.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::minutes::minute;
use protocol::{EventBody, RunId, Timestamp, Usage, UsageTotal};

/// What one event says that a model used.
pub(super) struct UsageEntry<'a> {
    pub model: &'a str,
    pub spent: UsageTotal,
    /// True if a model was asked at all.
    is_call: bool,
}

impl<'a> UsageEntry<'a> {
    /// The one place that knows which events count: the sums of runs and those by model are made of the same.
    pub fn of(body: &'a EventBody) -> Option<UsageEntry<'a>> {
        match body {
            EventBody::ModelCompleted(data) => {
                Some(UsageEntry { model: &data.model, spent: data.spent(), is_call: true })
            }
            EventBody::SideCallCompleted(data) => Some(UsageEntry {
                model: &data.model,
                spent: data.spent(),
                // A question that came to no call is told as well, and says why.
                is_call: data.usage != Usage::default() || data.usage_unknown || !data.text.is_empty(),
            }),
            // Without a model it took nothing that anybody knows of.
            EventBody::ModelRetrying(data) => {
                Some(UsageEntry { model: data.model.as_deref()?, spent: data.spent(), is_call: true })
            }
            _ => None,
        }
    }
}

/// What a batch adds to the table.
///
/// Invariant: as of runs, two batches one after the other add what both together would.
#[derive(Default)]
pub(super) struct UsageRows(BTreeMap<(RunId, String, i64), UsageRow>);

#[derive(Default)]
struct UsageRow {
    calls: u32,
    spent: UsageTotal,
}

impl UsageRows {
    pub fn add(&mut self, run: &RunId, at: Timestamp, body: &EventBody) {
        let Some(used) = UsageEntry::of(body).filter(|used| used.is_call) else { return };
        let key = (run.clone(), used.model.to_owned(), minute(at));
        let row = self.0.entry(key).or_default();
        row.calls += 1;
        row.spent += used.spent;
    }

    pub fn rows(&self) -> Vec<Value> {
        let rows = self.0.iter().map(|((run, model, minute), row)| {
            let UsageRow { calls, spent } = row;
            json!([
                run,
                model,
                minute,
                calls,
                spent.estimated_requests,
                spent.usage.prompt_tokens,
                spent.usage.cached_tokens,
                spent.usage.cache_write_tokens,
                spent.usage.output_tokens,
                spent.usage.thought_tokens,
                // SQLite's numbers end at 2^63; nobody has so many billionths of dollars.
                spent.cost.map(|cost| i64::try_from(cost.nanos()).unwrap_or(i64::MAX)),
                spent.unpriced_tokens,
                spent.uncounted_requests,
            ])
        });
        rows.collect()
    }
}

/// Perf: one page in a commit that has a reply. The index holds the minute alone, which an update does not name.
pub(super) const ADD: &str = "
insert into usage (
    run_id, model, minute, calls, estimated_calls, prompt_tokens, cached_tokens, cache_write_tokens, output_tokens,
    thought_tokens, cost_nanos, unpriced_tokens, uncounted_calls
)
select
    value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
    value->>10, value->>11, value->>12
from jsonb_each(?)
where true
on conflict (run_id, model, minute) do update set
    calls = usage.calls + excluded.calls,
    estimated_calls = usage.estimated_calls + excluded.estimated_calls,
    prompt_tokens = usage.prompt_tokens + excluded.prompt_tokens,
    cached_tokens = usage.cached_tokens + excluded.cached_tokens,
    cache_write_tokens = usage.cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = usage.output_tokens + excluded.output_tokens,
    thought_tokens = usage.thought_tokens + excluded.thought_tokens,
    cost_nanos = iif(
        excluded.cost_nanos is null, usage.cost_nanos, coalesce(usage.cost_nanos, 0) + excluded.cost_nanos
    ),
    unpriced_tokens = usage.unpriced_tokens + excluded.unpriced_tokens,
    uncounted_calls = usage.uncounted_calls + excluded.uncounted_calls";

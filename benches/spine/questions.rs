//! How long does a call wait after it was allowed, and what do thousands of open questions cost those who look?

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::ensure;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use subagentd::{
    config::DaemonConfig,
    protocol::{
        CallLocation, ReplaySafety, ResourceAccess, Risk, ToolDeclaration, ToolError, ToolKind, ToolResult,
    },
    tools::{CallContext, Invocation, Permit, PrepareContext, Tool},
};

use crate::{
    ground::{now, since, sync_time},
    house::{Client, House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, median, percentile},
};

/// Calls that are asked about and allowed, one after the other.
const ANSWERS: usize = counted!(200, 5);
/// Runs that wait, and calls of each that wait for a person.
const RUNS: usize = counted!(40, 2);
const CALLS: usize = counted!(250, 10);
const LOOKS: usize = counted!(100, 2);
const ASKER: &str =
    "---\nkind: agent\nname: asker\ndescription: Asks.\ncompletion: tool\ntools: [change]\n---\nAsk.\n";

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    answers(table)?;
    open_questions(table)
}

/// From the answer to the moment at which the tool runs; the answer is in the log by then.
fn answers(table: &mut Table) -> anyhow::Result<()> {
    let model = Zero::new(|asked| match asked.ordinal {
        0 => change(ANSWERS),
        _ => Reply::done(),
    });
    let (house, began) = house(&model)?;
    let took = client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        let started = client.call("run/start", house.start_of("asker", "zero")).await?;
        client.call("session/attach", json!({ "sessionId": started["sessionId"] })).await?;
        while client.call("daemon/status", json!({})).await?["openConfirmations"] != ANSWERS {}
        let mut listed = client.call("confirmation/list", json!({ "limit": ANSWERS })).await?;
        let mut took = Vec::new();
        for asked in listed["confirmations"].as_array_mut().into_iter().flatten() {
            let answer = json!({
                "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "allowOnce",
            });
            let answered = now();
            client.call("confirmation/respond", answer).await?;
            loop {
                let event = client.until("tool.state").await?;
                if event["data"]["callId"] == asked["toolCallId"] && event["data"]["to"] == "success" {
                    break;
                }
            }
            let began = began.lock().unwrap_or_else(PoisonError::into_inner).pop();
            took.extend(began.map(|began| began.saturating_sub(answered)));
        }
        anyhow::Ok(took)
    })?;
    ensure!(took.len() == ANSWERS, "{} tools ran", took.len());
    table.row(Row {
        name: "a client's answer to the tool's start, p99",
        figure: percentile(&took, 0.99),
        bound: 5.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("the disk's sync", sync_time()?)),
        note: format!("p50 {:.2}", median(&took)),
    });
    house.close()
}

fn open_questions(table: &mut Table) -> anyhow::Result<()> {
    let model = Zero::new(|_| change(CALLS));
    let (house, _) = house(&model)?;
    client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        let before = looks(&mut client, "daemon/status", json!({})).await?;
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            runs.push(client.call("run/start", house.start_of("asker", "zero")).await?["runId"].take());
        }
        let all = RUNS * CALLS;
        while client.call("daemon/status", json!({})).await?["openConfirmations"] != all {}
        let cases = [
            ("daemon/status, 10,000 open questions, p99", "daemon/status", json!({})),
            ("confirmation/list of 100, 10,000 open, p99", "confirmation/list", json!({ "limit": 100 })),
        ];
        for (name, method, params) in cases {
            let took = looks(&mut client, method, params).await?;
            table.row(Row {
                name,
                figure: percentile(&took, 0.99),
                bound: 10.0,
                unit: "ms",
                is_rate: false,
                baseline: Some(("status with none", percentile(&before, 0.99))),
                note: format!("p50 {:.2}", median(&took)),
            });
        }
        for run in runs {
            client.call("run/cancel", json!({ "runId": run })).await?;
            client.call("run/wait", json!({ "runId": run, "timeoutMs": 60_000 })).await?;
        }
        anyhow::Ok(())
    })?;
    house.close()
}

async fn looks(client: &mut Client, method: &str, params: Value) -> anyhow::Result<Vec<Duration>> {
    let mut took = Vec::new();
    for _ in 0..LOOKS {
        let began = now();
        client.call(method, params.clone()).await?;
        took.push(since(began));
    }
    Ok(took)
}

fn change(times: usize) -> Reply {
    Reply::Calls((0..times).map(|n| ("change", json!({ "n": n }))).collect())
}

type Began = Arc<Mutex<Vec<Duration>>>;

fn house(model: &Zero) -> anyhow::Result<(House, Began)> {
    let began = Began::default();
    let declaration = ToolDeclaration {
        name: "change".into(),
        title: "Change".to_owned(),
        description: "Changes nothing, and is asked about.".to_owned(),
        kind: ToolKind::Edit,
        risk: Risk::Medium,
        parameters: json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
    };
    let tool = Change { declaration, began: Arc::clone(&began) };
    let mut config = DaemonConfig::default();
    config.max_concurrent_runs.session.value = RUNS;
    config.max_concurrent_runs.daemon.value = RUNS;
    let agents = vec![("asker", ASKER.to_owned())];
    let parts = HouseParts { agents, config, tools: vec![Arc::new(tool)], ..HouseParts::zero(model) };
    Ok((House::open(parts)?, began))
}

/// A tool that only notes when it runs. No two of its calls touch the same.
struct Change {
    declaration: ToolDeclaration,
    began: Began,
}

impl Tool for Change {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    fn prepare<'a>(
        &'a self,
        arguments: Value,
        _: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        let path = PathBuf::from(format!("/change/{}", arguments["n"]));
        let call = Call { accesses: vec![ResourceAccess::Write { path }], began: Arc::clone(&self.began) };
        Box::pin(async { Ok::<Box<dyn Invocation>, _>(Box::new(call)) })
    }
}

struct Call {
    accesses: Vec<ResourceAccess>,
    began: Began,
}

impl Invocation for Call {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        "changes".to_owned()
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn run(self: Box<Self>, _: Permit, _: CallContext) -> BoxFuture<'static, ToolResult> {
        self.began.lock().unwrap_or_else(PoisonError::into_inner).push(now());
        Box::pin(async { ToolResult::text("changed") })
    }
}

//! How long does a client wait for what it attaches to, and does that grow with what has been?

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::{
    ground::{now, since},
    house::{House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, median, percentile},
};

/// Turns with one read in each: eight events each.
const TURNS: u32 = counted!(1_300, 30);
const EVENTS: i64 = counted!(10_000, 200);
const ATTACHES: usize = counted!(100, 3);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let model = Zero::new(|asked| if asked.ordinal < TURNS { Reply::reads(asked, 1) } else { Reply::done() });
    let house = House::open(HouseParts::zero(&model))?;
    let (long, short) = client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        let long = client.run(house.start()).await?["sessionId"].take();
        let head = client.call("daemon/status", json!({})).await?["database"]["head"].as_i64();
        ensure!(head >= Some(EVENTS), "the session has {head:?} events");
        let workspace = house.start()["workspace"].take();
        let short =
            client.call("session/create", json!({ "workspace": workspace })).await?["sessionId"].take();
        anyhow::Ok((long, short))
    })?;
    let of_short = attaches(&house, &short)?;
    let cases =
        [("attach to a session of 10,000 events, p99", long), ("attach to every session, p99", json!("*"))];
    for (name, session) in cases {
        let took = attaches(&house, &session)?;
        table.row(Row {
            name,
            figure: percentile(&took, 0.99),
            bound: 10.0,
            unit: "ms",
            is_rate: false,
            baseline: Some(("an empty session", percentile(&of_short, 0.99))),
            note: format!("p50 {:.2}, of an empty session {:.2}", median(&took), median(&of_short)),
        });
    }
    house.close()
}

/// From the request until the snapshot is there.
fn attaches(house: &House, session: &Value) -> anyhow::Result<Vec<Duration>> {
    client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        let mut took = Vec::new();
        for _ in 0..ATTACHES {
            let began = now();
            let subscription = client.call("session/attach", json!({ "sessionId": session })).await?;
            let snapshot = client.until("signal.snapshot").await?;
            took.push(since(began));
            ensure!(snapshot["data"]["openItems"] == json!([]), "{snapshot}");
            client.call("session/detach", json!({ "subscription": subscription })).await?;
        }
        Ok(took)
    })
}

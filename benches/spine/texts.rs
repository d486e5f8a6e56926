//! How fast do clients see a text that is being written, and do they see all of it?

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use serde_json::json;
use tokio::{sync::Barrier, task::JoinSet};

use crate::{
    ground::now,
    house::{Client, House, HouseParts, client_runtime},
    model::{Reply, Zero, text_of},
    table::{Row, Table, least, listed, millis},
};

const DELTAS: usize = counted!(2_000, 50);
const REPEATS: usize = counted!(5, 1);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let model = Zero::new(|_| Reply::Text(DELTAS));
    let house = House::open(HouseParts::zero(&model))?;
    let cases = [(1, 20.0, "2,000 deltas to one client"), (50, 250.0, "2,000 deltas to 50 clients")];
    for (clients, bound, name) in cases {
        let (mut figures, mut messages) = (Vec::new(), 0);
        for _ in 0..REPEATS {
            let (took, seen) = client_runtime()?.block_on(stream(&house, &model, clients))?;
            figures.push(millis(took));
            messages = seen;
        }
        table.row(Row {
            name,
            figure: least(&figures),
            bound,
            unit: "ms",
            is_rate: false,
            baseline: None,
            note: format!("{}; {messages} messages for each client", listed(&figures)),
        });
    }
    house.close()
}

/// From the first delta that the model wrote to the last that the last client read; and delta messages a client.
async fn stream(house: &House, model: &Zero, clients: usize) -> anyhow::Result<(Duration, usize)> {
    let mut starter = house.client().await?;
    let started = starter.call("run/start", house.start()).await?;
    let ready = Arc::new(Barrier::new(clients + 1));
    let mut readers = JoinSet::new();
    for _ in 0..clients {
        let mut client = house.client().await?;
        let attach = json!({ "sessionId": started["sessionId"], "from": "start", "deltas": true });
        let ready = Arc::clone(&ready);
        readers.spawn(async move {
            client.call("session/attach", attach).await?;
            client.until("model.started").await?;
            ready.wait().await;
            read(client).await
        });
    }
    ready.wait().await;
    model.open_gate();
    let (mut last, mut messages) = (Duration::ZERO, 0);
    while let Some(read) = readers.join_next().await {
        let (read_all, seen) = read??;
        last = last.max(read_all);
        messages += seen;
    }
    Ok((last.saturating_sub(model.wrote()), messages / clients))
}

/// When the whole text was there, and in how many messages; checked against the durable event.
async fn read(mut client: Client) -> anyhow::Result<(Duration, usize)> {
    let (mut text, mut messages, mut last) = (String::new(), 0, Duration::ZERO);
    loop {
        let event = client.event().await?;
        let data = &event["data"];
        match event["type"].as_str() {
            Some("model.textDelta") => {
                ensure!(data["offset"] == json!(text.len()), "a gap before {event}");
                text.push_str(data["text"].as_str().unwrap_or_default());
                messages += 1;
                last = now();
            }
            Some("model.completed") => {
                ensure!(data["text"] == json!(text), "deltas do not add up to the final text");
                ensure!(text == text_of(DELTAS), "the text is not what the model wrote");
            }
            Some("run.completed") => return Ok((last, messages)),
            _ => (),
        }
    }
}

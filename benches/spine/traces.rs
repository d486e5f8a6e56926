//! How fast do events become spans, and how long does it take to read a large trace?

use std::{hint::black_box, time::Duration};

use anyhow::ensure;
use serde_json::{Value, json};
use subagentd::{
    protocol::Envelope,
    sys::process::rss_anon_bytes,
    traces::{SpanEdge, SpanFold},
};

use crate::{
    ground::{now, since},
    house::{Client, House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, listed, millis},
};

/// Turns with twenty reads in each: tens of thousands of events.
const TURNS: u32 = counted!(400, 5);
const READS: usize = counted!(20, 3);
const REPEATS: usize = counted!(3, 1);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let model =
        Zero::new(|asked| if asked.ordinal < TURNS { Reply::reads(asked, READS) } else { Reply::done() });
    let house = House::open(HouseParts::zero(&model))?;
    let (events, reading, spans, ran, export) = client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        let began = now();
        let run = client.run(house.start()).await?["runId"].take();
        let ran = since(began);
        let export = export(&mut client, &run).await?;
        let events = events(&mut client, &run).await?;
        let (mut reading, mut spans) = (Vec::new(), 0);
        for _ in 0..REPEATS {
            let began = now();
            spans = read(&mut client, &run).await?;
            reading.push(since(began));
        }
        anyhow::Ok((events, reading, spans, ran, export))
    })?;
    let mut folding = Vec::new();
    for _ in 0..REPEATS {
        let began = now();
        let ended = fold(&events);
        folding.push(events.len() as f64 / since(began).as_secs_f64());
        ensure!(ended == spans, "{ended} spans were folded and {spans} were read");
    }
    table.row(Row {
        name: "events a second that become spans",
        figure: folding.iter().copied().fold(0.0, f64::max),
        bound: 100_000.0,
        unit: "/s",
        is_rate: true,
        baseline: None,
        note: format!("{} events, {spans} spans; {}", events.len(), listed(&folding)),
    });
    let fastest = folding.iter().copied().fold(0.0, f64::max);
    let share = events.len() as f64 / fastest / ran.as_secs_f64();
    table.row(Row {
        name: "a run with its spans, of one without",
        figure: 1.0 + share,
        bound: 1.05,
        unit: "x",
        is_rate: false,
        baseline: None,
        note: format!("{:.0} ms for the run, spans {:.2} % of it", millis(ran), share * 100.0),
    });
    table.row(Row {
        name: "trace/export of a large run, more memory",
        figure: export.more_memory as f64 / 1e6,
        bound: 20.0,
        unit: "MB",
        is_rate: false,
        baseline: None,
        note: format!(
            "{spans} spans, {:.1} MB of JSON in {:.0} ms",
            export.bytes as f64 / 1e6,
            millis(export.took)
        ),
    });
    let times: Vec<f64> = reading.iter().map(|time: &Duration| millis(*time)).collect();
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    table.row(Row {
        name: "trace/get of all spans of a large run, a thousand",
        figure: least * 1_000.0 / spans as f64,
        bound: 100.0,
        unit: "ms",
        is_rate: false,
        baseline: None,
        note: format!("{spans} spans in {}", listed(&times)),
    });
    house.close()
}

fn fold(events: &[Envelope]) -> usize {
    let mut fold = SpanFold::new();
    let mut ended = 0;
    for event in events {
        let edges = black_box(fold.apply(event));
        ended += edges.iter().filter(|edge| matches!(edge, SpanEdge::Ended(_))).count();
    }
    ended
}

/// A whole document.
struct Export {
    bytes: usize,
    took: Duration,
    /// The most that the process, which is daemon and client at once, had more meanwhile.
    more_memory: u64,
}

/// Reads a document page by page, and keeps none.
async fn export(client: &mut Client, run: &Value) -> anyhow::Result<Export> {
    let mut params = json!({ "runId": run, "format": "json" });
    let (before, began) = (rss_anon_bytes().unwrap_or(0), now());
    let (mut bytes, mut most) = (0, before);
    loop {
        let page = client.call("trace/export", params.clone()).await?;
        bytes += page["text"].as_str().map_or(0, str::len);
        most = most.max(rss_anon_bytes().unwrap_or(0));
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => break,
        }
    }
    Ok(Export { bytes, took: since(began), more_memory: most.saturating_sub(before) })
}

/// All pages, without texts.
async fn read(client: &mut Client, run: &Value) -> anyhow::Result<usize> {
    let mut params = json!({ "runId": run, "limit": 1_000, "brief": true });
    let mut spans = 0;
    loop {
        let page = client.call("trace/get", params.clone()).await?;
        spans += page["spans"].as_array().map_or(0, Vec::len);
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return Ok(spans),
        }
    }
}

async fn events(client: &mut Client, run: &Value) -> anyhow::Result<Vec<Envelope>> {
    let (mut events, mut from) = (Vec::new(), json!(0));
    loop {
        let params = json!({ "filter": { "runId": run }, "from": from, "limit": 1_000 });
        let page: Vec<Envelope> =
            serde_json::from_value(client.call("events/list", params).await?["events"].take())?;
        match page.last().and_then(|last| last.seq) {
            Some(last) => from = json!(last),
            None => return Ok(events),
        }
        events.extend(page);
    }
}

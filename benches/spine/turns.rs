//! What does the machinery around the model take: a turn, many calls at once, many sessions at once, a start?

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::ensure;
use serde_json::{Value, json};
use tokio::{sync::Barrier, task::JoinSet};

use crate::{
    ground::{cpu_time, now, since, sync_time},
    house::{Client, House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, least, listed, median, millis, percentile},
};

const REPEATS: usize = counted!(3, 1);
/// Turns of the long run.
const TURNS: u32 = counted!(1_010, 30);
/// Turns that are compared: late ones with early ones, once caches are warm.
const EARLY: std::ops::Range<usize> = counted!(10..110, 2..10);
const LATE: std::ops::Range<usize> = counted!(900..1_000, 20..30);
/// Turns of the run with twenty reads in each.
const WIDE_TURNS: u32 = counted!(60, 3);
pub const SESSIONS: usize = counted!(50, 5);
/// Turns with a read in each of the runs that go on at once; one more ends each.
pub const READ_TURNS: u32 = 5;
const STARTS: usize = counted!(100, 3);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let sync = sync_time()?;
    let plain = long_run(table, sync)?;
    sent_turns(table, plain)?;
    wide_turns(table, sync)?;
    many_sessions(table)?;
    starts(table, sync)
}

/// Runs the reading agent to its end; how long it took from each question to the model to the next.
fn turns_of(house: &House, model: &Zero) -> anyhow::Result<Vec<Duration>> {
    model.take_asked();
    client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        client.run(house.start()).await
    })?;
    Ok(model.take_asked().windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at)).collect())
}

/// Answers the median of a turn.
fn long_run(table: &mut Table, sync: f64) -> anyhow::Result<f64> {
    let model = Zero::new(|asked| if asked.ordinal < TURNS { Reply::reads(asked, 1) } else { Reply::done() });
    let house = House::open(HouseParts::zero(&model))?;
    let (mut all, mut growth, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let turns = turns_of(&house, &model)?;
        ensure!(turns.len() == TURNS as usize, "{} turns were seen", turns.len());
        let (early, late) = (median(&turns[EARLY]), median(&turns[LATE]));
        all.push(median(&turns));
        growth.push(late / early);
        notes.push(format!("{early:.2} then {late:.2}, p99 {:.2}", percentile(&turns, 0.99)));
    }
    table.row(Row {
        name: "turn with one read_file, p50",
        figure: least(&all),
        bound: 2.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("fsync", sync)),
        note: listed(&all),
    });
    table.row(Row {
        name: "turns 900-1,000 against turns 10-110, p50",
        figure: least(&growth),
        bound: 1.2,
        unit: "x",
        is_rate: false,
        baseline: None,
        note: notes.join("; "),
    });
    house.close()?;
    Ok(least(&all))
}

/// The same while each span is sent to a collector on this machine.
fn sent_turns(table: &mut Table, plain: f64) -> anyhow::Result<()> {
    let model = Zero::new(|asked| if asked.ordinal < TURNS { Reply::reads(asked, 1) } else { Reply::done() });
    let mut parts = HouseParts::zero(&model);
    let taken = Arc::new(AtomicUsize::new(0));
    let otlp = &mut parts.config.tracing.otlp;
    otlp.endpoint.value = Some(sink(&taken)?);
    otlp.signals.value = vec!["traces".to_owned()];
    let house = House::open(parts)?;
    let mut all = Vec::new();
    for _ in 0..REPEATS {
        all.push(median(&turns_of(&house, &model)?));
    }
    house.close()?;
    let bytes = taken.load(Ordering::Relaxed);
    ensure!(0 < bytes, "nothing was sent");
    table.row(Row {
        name: "turn with one read_file while spans are sent, p50",
        figure: least(&all),
        bound: 2.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("none sent", plain)),
        note: format!("{}; {} KiB sent", listed(&all), bytes / 1_024),
    });
    Ok(())
}

/// A collector that takes everything and looks at nothing; answers its address. It counts the bytes that it was sent.
fn sink(taken: &Arc<AtomicUsize>) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", listener.local_addr()?);
    let taken = Arc::clone(taken);
    // As long as the program.
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that has gone is replaced by the next.
            let _gone = swallow(stream, &taken);
        }
    });
    Ok(address)
}

fn swallow(stream: TcpStream, taken: &AtomicUsize) -> std::io::Result<()> {
    let (mut answers, mut requests) = (stream.try_clone()?, BufReader::new(stream));
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if requests.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some((_, value)) =
                line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        std::io::copy(&mut requests.by_ref().take(length), &mut std::io::sink())?;
        taken.fetch_add(usize::try_from(length).unwrap_or(usize::MAX), Ordering::Relaxed);
        answers.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
}

fn wide_turns(table: &mut Table, sync: f64) -> anyhow::Result<()> {
    let model =
        Zero::new(|asked| if asked.ordinal < WIDE_TURNS { Reply::reads(asked, 20) } else { Reply::done() });
    let house = House::open(HouseParts::zero(&model))?;
    let mut figures = Vec::new();
    for _ in 0..REPEATS {
        figures.push(median(&turns_of(&house, &model)?));
    }
    table.row(Row {
        name: "turn with 20 parallel read_file, p50",
        figure: least(&figures),
        bound: 10.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("fsync", sync)),
        note: listed(&figures),
    });
    house.close()
}

fn many_sessions(table: &mut Table) -> anyhow::Result<()> {
    let model =
        Zero::new(|asked| if asked.ordinal < READ_TURNS { Reply::reads(asked, 1) } else { Reply::done() });
    let house = House::open(HouseParts::zero(&model))?;
    let (mut figures, mut processor) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let cpu = cpu_time();
        let took = client_runtime()?.block_on(sessions_at_once(&house, &house.start()))?;
        figures.push(millis(took));
        processor.push(millis(cpu_time().saturating_sub(cpu)));
    }
    table.row(Row {
        name: "50 sessions x 5 read turns at once, a watcher each",
        figure: least(&figures),
        bound: 300.0,
        unit: "ms",
        is_rate: false,
        baseline: None,
        note: format!("{}; processor {}", listed(&figures), listed(&processor)),
    });
    house.close()
}

/// From the first start to the last end that a watcher saw.
pub async fn sessions_at_once(house: &House, start: &Value) -> anyhow::Result<Duration> {
    let mut watching = JoinSet::new();
    let ready = Arc::new(Barrier::new(SESSIONS + 1));
    for _ in 0..SESSIONS {
        let (mut client, start, ready) = (house.client().await?, start.clone(), Arc::clone(&ready));
        watching.spawn(async move {
            // Connected before the time begins to run.
            client.call("ping", json!({})).await?;
            ready.wait().await;
            watch(client, start).await
        });
    }
    ready.wait().await;
    let began = now();
    while let Some(watched) = watching.join_next().await {
        watched??;
    }
    Ok(since(began))
}

async fn watch(mut client: Client, start: Value) -> anyhow::Result<()> {
    let started = client.call("run/start", start).await?;
    let attach = json!({ "sessionId": started["sessionId"], "from": "start", "deltas": true });
    client.call("session/attach", attach).await?;
    let end = client.until("run.completed").await?;
    ensure!(end["data"]["reason"] == "GOAL" && end["data"]["turns"] == READ_TURNS + 1, "{end}");
    Ok(())
}

fn starts(table: &mut Table, sync: f64) -> anyhow::Result<()> {
    let model = Zero::new(|_| Reply::done());
    let house = House::open(HouseParts::zero(&model))?;
    let times = client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        let mut times = Vec::new();
        for _ in 0..STARTS {
            model.take_asked();
            let began = now();
            client.run(house.start()).await?;
            times.extend(model.take_asked().first().map(|asked| asked.at.saturating_sub(began)));
        }
        anyhow::Ok(times)
    })?;
    ensure!(times.len() == STARTS, "{} starts were seen", times.len());
    table.row(Row {
        name: "run/start to the model's first request, p50",
        figure: median(&times),
        bound: 3.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("fsync", sync)),
        note: format!("p90 {:.2}", percentile(&times, 0.9)),
    });
    house.close()
}

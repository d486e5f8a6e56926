//! How long does the least request take, how many fit into a second, and what does a client cost that does not read?

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::{client_async, tungstenite::Message};

use crate::{
    ground,
    house::{House, HouseParts},
    model::{Reply, Zero},
    table::{Row, Table, listed, median, middle, percentile},
};

const ROUNDS: usize = counted!(5_000, 20);
const REPEATS: usize = counted!(6, 1);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let house = House::open(HouseParts::zero(&Zero::new(|_| Reply::done())))?;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"at":"2026-01-01T00:00:00.000Z"}}"#;
    // Taken in turn, and the middle one of each: where the kernel puts the threads matters more than what they do.
    let (mut figures, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        bare.push(median(&ground::bare_ping_pong(request, answer, ROUNDS)?) * 1_000.0);
        let times = ground::ping_pong(UnixStream::connect(house.socket())?, request, ROUNDS)?;
        figures.push(median(&times) * 1_000.0);
    }
    let (figure, bare_figure) = (middle(&figures), middle(&bare));
    table.row(Row {
        name: "ping, p50",
        figure,
        bound: 3.0 * bare_figure,
        unit: "us",
        is_rate: false,
        baseline: Some(("bare ping-pong", bare_figure)),
        note: format!("{}; bare {}", listed(&figures), listed(&bare)),
    });
    let websocket: Vec<f64> = (0..REPEATS)
        .map(|_| Ok(median(&websocket_ping_pong(house.socket(), request)?) * 1_000.0))
        .collect::<anyhow::Result<_>>()?;
    table.row(Row {
        name: "ping over a WebSocket, p50",
        figure: middle(&websocket),
        bound: 2.0 * figure,
        unit: "us",
        is_rate: false,
        baseline: Some(("the same on lines", figure)),
        note: listed(&websocket),
    });
    let rates: Vec<f64> =
        (0..REPEATS).map(|_| pipelined(house.socket(), request)).collect::<anyhow::Result<_>>()?;
    table.row(Row {
        name: "pipelined requests/s on lines",
        figure: middle(&rates),
        bound: 100_000.0,
        unit: "/s",
        is_rate: true,
        baseline: None,
        note: listed(&rates),
    });
    let (mut beside_reader, mut beside_silent) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        beside_reader.push(ping_beside_watcher(house.socket(), request, true)?);
        beside_silent.push(ping_beside_watcher(house.socket(), request, false)?);
    }
    let (reader, silent) = (middle(&beside_reader), middle(&beside_silent));
    table.row(Row {
        name: "ping beside a watcher that never reads, p99",
        figure: silent,
        bound: 1.2 * reader,
        unit: "us",
        is_rate: false,
        baseline: Some(("beside one that reads", reader)),
        note: format!("{}; beside a reader {}", listed(&beside_silent), listed(&beside_reader)),
    });
    house.close()
}

/// What somebody else's request takes, p99, while a session changes all the time and a client is attached to it.
fn ping_beside_watcher(socket: &Path, request: &str, reads: bool) -> anyhow::Result<f64> {
    let ask = |stream: &UnixStream, text: String| -> anyhow::Result<String> {
        (&*stream).write_all(format!("{text}\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    };
    let changer = UnixStream::connect(socket)?;
    let create = json!({ "id": 1, "method": "session/create", "params": { "workspace": socket.parent() } });
    let created: Value = serde_json::from_str(&ask(&changer, create.to_string())?)?;
    let session = created["result"]["sessionId"].clone();
    let watcher = UnixStream::connect(socket)?;
    let attach = json!({ "id": 1, "method": "session/attach", "params": { "sessionId": session } });
    (&watcher).write_all(format!("{attach}\n").as_bytes())?;
    let is_over = AtomicBool::new(false);
    let times = thread::scope(|scope| {
        let watching = watcher.try_clone()?;
        if reads {
            scope.spawn(move || std::io::copy(&mut &watching, &mut std::io::sink()));
        }
        scope.spawn(|| {
            // Long titles, so that what nobody reads is more than a socket holds.
            let title = "t".repeat(2_000);
            for number in 0.. {
                let title = format!("{title}{number}");
                let update = json!({ "id": 1, "method": "session/update", "params": { "sessionId": session, "title": title } });
                if is_over.load(Ordering::Relaxed) || ask(&changer, update.to_string()).is_err() {
                    return;
                }
            }
        });
        let times = ground::ping_pong(UnixStream::connect(socket)?, request, ROUNDS);
        is_over.store(true, Ordering::Relaxed);
        watcher.shutdown(std::net::Shutdown::Both)?;
        times
    })?;
    Ok(percentile(&times, 0.99) * 1_000.0)
}

/// Requests that are on their way at once; below what a connection may have in flight.
const WINDOW: usize = 500;
const PIPELINED: usize = counted!(100_000, 1_000);

/// Asks without waiting for each answer, on one connection.
fn pipelined(socket: &Path, request: &str) -> anyhow::Result<f64> {
    let mut stream = UnixStream::connect(socket)?;
    let half = format!("{request}\n").repeat(WINDOW / 2);
    let began = ground::now();
    stream.write_all(half.as_bytes())?;
    let (mut sent, mut answered) = (WINDOW / 2, 0);
    let mut bytes = vec![0; 256 << 10];
    while answered < PIPELINED {
        // A half goes out when fewer than a half are on their way.
        if sent < PIPELINED && sent - answered <= WINDOW / 2 {
            stream.write_all(half.as_bytes())?;
            sent += WINDOW / 2;
        }
        let read = stream.read(&mut bytes)?;
        anyhow::ensure!(read != 0, "the daemon hung up");
        answered += bytes[..read].iter().filter(|byte| **byte == b'\n').count();
    }
    Ok(answered as f64 / ground::since(began).as_secs_f64())
}

/// As on lines, over a WebSocket on the same socket.
fn websocket_ping_pong(socket: &Path, request: &str) -> anyhow::Result<Vec<Duration>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stream = tokio::net::UnixStream::connect(socket).await?;
        let (mut socket, _) = client_async("ws://localhost/rpc", stream).await?;
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let began = ground::now();
            socket.send(Message::text(request)).await?;
            let answer = socket.next().await;
            anyhow::ensure!(matches!(answer, Some(Ok(Message::Text(_)))), "no answer");
            times.push(ground::since(began));
        }
        Ok(times)
    })
}

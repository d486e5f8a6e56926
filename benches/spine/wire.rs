//! How long does the least request take, how many fit into a second, and what does a client cost that does not read?

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use tokio_tungstenite::{client_async, tungstenite::Message};

use crate::{
    ground,
    house::{House, HouseParts},
    model::{Reply, Zero},
    table::{Row, Table, listed, median, middle},
};

const ROUNDS: usize = 5_000;
const REPEATS: usize = 6;

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
    house.close()
}

/// Requests that are on their way at once; below what a connection may have in flight.
const WINDOW: usize = 500;
const PIPELINED: usize = 100_000;

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

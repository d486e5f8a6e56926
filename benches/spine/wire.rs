//! How long does the least request take?

use std::os::unix::net::UnixStream;

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
    house.close()
}

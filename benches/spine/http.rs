//! What does a provider on the other end of a connection cost: many sessions at once, and a long run, whose requests
//! tell everything that was said before?

use std::{ops::Range, time::Duration};

use anyhow::{Context as _, ensure};
use tokio::task::JoinSet;

use crate::{
    ground::{self, cpu_time, now, since},
    house::{House, HouseParts, client_runtime},
    provider::{self, Exchange, MODEL, Provider},
    table::{Row, Table, least, listed, median, millis},
    turns::{READ_TURNS, SESSIONS, sessions_at_once},
};

const REPEATS: usize = counted!(3, 1);
/// Turns of the long run that read; one more ends it.
const TURNS: usize = counted!(201, 21);
/// Turns that are compared.
const EARLY: Range<usize> = counted!(10..60, 2..8);
const LATE: Range<usize> = counted!(150..200, 10..20);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    many_sessions(table)?;
    long_run(table)
}

fn many_sessions(table: &mut Table) -> anyhow::Result<()> {
    let provider = Provider::start(READ_TURNS as usize)?;
    let house = House::open(HouseParts::with(provider.models()))?;
    let start = house.start_of("reader", MODEL);
    let turns = READ_TURNS as usize + 1;
    let (mut figures, mut bare, mut processor, mut connections) = (vec![], vec![], vec![], vec![]);
    for _ in 0..REPEATS {
        let cpu = cpu_time();
        figures.push(millis(client_runtime()?.block_on(sessions_at_once(&house, &start))?));
        processor.push(millis(cpu_time().saturating_sub(cpu)));
        connections.push(provider.take_connections() as f64);
        let exchanges = provider.take_exchanges();
        ensure!(exchanges.len() == SESSIONS * turns, "{} requests for {SESSIONS} runs", exchanges.len());
        bare.push(millis(asked_bare(&provider, &conversations(exchanges, turns)?)?));
        provider.take_connections();
        provider.take_exchanges();
    }
    table.row(Row {
        name: "50 sessions x 5 read turns over HTTP, a watcher each",
        figure: least(&figures),
        bound: 600.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("a bare client", least(&bare))),
        note: format!(
            "{}; processor {}; connections {}; bare {}",
            listed(&figures),
            listed(&processor),
            listed(&connections),
            listed(&bare)
        ),
    });
    house.close()
}

/// The bodies of as many runs, each in the order of its turns. Which run sent which does not matter: those of one turn
/// differ by nothing but ids.
fn conversations(mut exchanges: Vec<Exchange>, turns: usize) -> anyhow::Result<Vec<Vec<Vec<u8>>>> {
    exchanges.sort_by_key(|exchange| exchange.results);
    let mut conversations = vec![Vec::new(); exchanges.len() / turns];
    let n_conversations = conversations.len();
    for (n, exchange) in exchanges.into_iter().enumerate() {
        ensure!(exchange.results == n / n_conversations, "the runs did not have as many turns each");
        conversations[n % n_conversations].push(exchange.body);
    }
    Ok(conversations)
}

/// How long the same takes without a daemon: each conversation over a connection of its own, all at once.
fn asked_bare(provider: &Provider, conversations: &[Vec<Vec<u8>>]) -> anyhow::Result<Duration> {
    let mut asking = JoinSet::new();
    let runtime = ground::daemon_runtime()?;
    let began = now();
    for bodies in conversations {
        asking.spawn_on(provider::ask(provider.port(), bodies.clone()), runtime.handle());
    }
    while let Some(asked) = runtime.block_on(asking.join_next()) {
        asked??;
    }
    Ok(since(began))
}

/// What a turn took, as the server saw it.
struct Turn {
    /// From the reply to the next request's first byte: the client's own work.
    thinking: Duration,
    /// From that to its last.
    writing: Duration,
    bytes: usize,
}

/// Medians of some turns, in milliseconds and bytes.
struct Medians {
    thinking: f64,
    writing: f64,
    bytes: f64,
}

impl Medians {
    fn of(turns: &[Turn]) -> Medians {
        let thinking: Vec<Duration> = turns.iter().map(|turn| turn.thinking).collect();
        let writing: Vec<Duration> = turns.iter().map(|turn| turn.writing).collect();
        let mean = turns.iter().map(|turn| turn.bytes).sum::<usize>() as f64 / turns.len() as f64;
        Medians { thinking: median(&thinking), writing: median(&writing), bytes: mean }
    }
}

fn turns(exchanges: &[Exchange]) -> anyhow::Result<(Medians, Medians)> {
    let turns: Vec<Turn> = exchanges
        .windows(2)
        .map(|pair| Turn {
            thinking: pair[1].began.saturating_sub(pair[0].read),
            writing: pair[1].read.saturating_sub(pair[1].began),
            bytes: pair[1].body.len(),
        })
        .collect();
    let early = turns.get(EARLY).context("the run was short")?;
    let late = turns.get(LATE).context("the run was short")?;
    Ok((Medians::of(early), Medians::of(late)))
}

/// The promise is that a late turn costs more by what its bytes cost, and by nothing else. So what is compared is the
/// time before the first byte, in which the whole request is made, and which should hardly grow at all; what the bytes
/// themselves took stands in the note, beside a client that only copies them.
fn long_run(table: &mut Table) -> anyhow::Result<()> {
    let provider = Provider::start(TURNS)?;
    let house = House::open(HouseParts::with(provider.models()))?;
    let (mut earlies, mut lates, mut notes, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), f64::NAN);
    for _ in 0..REPEATS {
        let run = async { house.client().await?.run(house.start_of("reader", MODEL)).await };
        client_runtime()?.block_on(run)?;
        let exchanges = provider.take_exchanges();
        ensure!(exchanges.len() == TURNS + 1, "{} requests for {TURNS} turns", exchanges.len());
        let (early, late) = turns(&exchanges)?;
        let bodies = exchanges.into_iter().map(|exchange| exchange.body).collect();
        asked_bare(&provider, &[bodies])?;
        let (bare_early, bare_late) = turns(&provider.take_exchanges())?;
        earlies.push(early.thinking);
        lates.push(late.thinking);
        bytes = late.bytes / early.bytes;
        notes.push(format!(
            "{:.2} then {:.2} ms, writing {:.0} then {:.0} KB {:.2} then {:.2} (bare {:.2} then {:.2}, writing {:.2} \
             then {:.2})",
            early.thinking,
            late.thinking,
            early.bytes / 1_000.0,
            late.bytes / 1_000.0,
            early.writing,
            late.writing,
            bare_early.thinking,
            bare_late.thinking,
            bare_early.writing,
            bare_late.writing,
        ));
    }
    table.row(Row {
        name: "over HTTP, turns 150-200 against 10-60, p50",
        // The best of each: the best of the ratios would be the one whose early turns were held up most.
        figure: least(&lates) / least(&earlies),
        bound: 1.2,
        unit: "x",
        is_rate: false,
        baseline: Some(("the bytes", bytes)),
        note: notes.join("; "),
    });
    house.close()
}

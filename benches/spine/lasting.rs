//! Does anybody else feel that a long history is being compressed?

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use subagentd::{
    config::{DaemonConfig, LayeredSetting, ProviderKind, SettingLayer},
    models::ModelRegistry,
};
use tokio::{sync::Notify, task::JoinSet};

use crate::{
    canned::Canned,
    frames::response,
    ground::{now, since},
    house::{Client, House, HouseParts, client_runtime},
    model::{Asked, Reply, Zero},
    table::{Row, Table, listed, median, millis, percentile},
};

/// Histories that are compressed, one after the other.
const ROUNDS: usize = counted!(5, 1);
/// Turns of the run beside it, before each.
const ALONE: u32 = counted!(400, 20);
/// A history has so many turns, each with a text and a tool's output: 10 MB.
const TURNS: u32 = 100;
const TEXT: usize = 64_000;
const OUTPUT: usize = 38_000;
/// The summariser: by its window it reads such a history in several pieces.
const SUMMARISER: &str = "gemini/gemini-2.5-flash";

const SNAPSHOT: &str = "<state_snapshot>\n<overall_goal>Read.</overall_goal>\n<key_knowledge>k</key_knowledge>\n\
                        <file_system_state>READ: long.txt</file_system_state>\n<recent_actions>r</recent_actions>\n\
                        <current_plan>1. [IN PROGRESS] read</current_plan>\n</state_snapshot>";

/// The run beside it, whose turns are measured.
struct Beside {
    model: Zero,
    is_over: Arc<AtomicBool>,
    /// It has had its turns alone.
    has_warmed_up: Arc<Notify>,
}

impl Beside {
    fn new() -> Beside {
        let (is_over, has_warmed_up) = (Arc::<AtomicBool>::default(), Arc::<Notify>::default());
        let model = {
            let (is_over, has_warmed_up) = (Arc::clone(&is_over), Arc::clone(&has_warmed_up));
            Zero::new(move |asked| {
                if asked.ordinal == ALONE {
                    has_warmed_up.notify_one();
                }
                match is_over.load(Ordering::Relaxed) {
                    true => Reply::done(),
                    false => Reply::reads(asked, 1),
                }
            })
        };
        Beside { model, is_over, has_warmed_up }
    }
}

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let snapshot: Arc<[u8]> = response(ProviderKind::Gemini, &[SNAPSHOT.to_owned()]).into();
    let server = Canned::start(move |_| Arc::clone(&snapshot))?;
    let beside = Beside::new();
    let talker = Zero::new(|asked| match asked.ordinal {
        TURNS => Reply::done(),
        turn => {
            // Other lines each time, or else the run would be found to go in circles.
            let arguments = json!({ "path": "long.txt", "offset": turn + 1 });
            Reply::Says(text(turn), vec![("read_file", arguments)])
        }
    });
    let house =
        House::open(HouseParts { config: config(), ..HouseParts::with(models(&server, &beside, &talker)) })?;
    let line = "a line of a long file, which is read again and again\n";
    std::fs::write(house.work().join("long.txt"), line.repeat(OUTPUT / line.len() + TURNS as usize))?;
    let runtime = client_runtime()?;
    let mut client = runtime.block_on(house.client())?;
    // All of them first: the disk has to do with a history long after it was committed.
    let histories: Vec<Value> = (0..ROUNDS)
        .map(|_| runtime.block_on(client.run(house.start_of("reader", "talker"))))
        .collect::<anyhow::Result<_>>()?;
    let (mut alone, mut during, mut compressions) = (Vec::new(), Vec::new(), Vec::new());
    for history in &histories {
        let round = runtime.block_on(round(&house, &mut client, &beside, history))?;
        compressions.push(millis(round.took));
        alone.extend(round.alone);
        during.extend(round.during);
    }
    let (p99, p99_alone) = (percentile(&during, 0.99), percentile(&alone, 0.99));
    table.row(Row {
        name: "a turn beside a compression of 10 MB, p99",
        figure: p99 / p99_alone,
        bound: 2.0,
        unit: "x",
        is_rate: false,
        baseline: None,
        note: format!(
            "{p99:.2} ms in {} turns, alone {p99_alone:.2} ms in {}; p50 {:.2}, alone {:.2}; slowest {:.2}, alone {:.2}; \
             compressions in ms {}",
            during.len(),
            alone.len(),
            median(&during),
            median(&alone),
            percentile(&during, 1.0),
            percentile(&alone, 1.0),
            listed(&compressions),
        ),
    });
    house.close()
}

fn models(server: &Canned, beside: &Beside, talker: &Zero) -> ModelRegistry {
    let models = server.models().with_model("zero", Arc::new(beside.model.clone()));
    models.with_model("talker", Arc::new(talker.clone()))
}

fn config() -> DaemonConfig {
    let mut config = DaemonConfig::default();
    config.models.compression = LayeredSetting { value: Some(SUMMARISER.into()), origin: SettingLayer::User };
    config
}

/// A long text, no two pieces of which are alike, with something to escape.
fn text(turn: u32) -> String {
    let words = |n: u32| match n % 8 {
        0 => format!("turn {turn}, \"word {n}\"\n"),
        _ => format!("word {n} of {turn}, "),
    };
    let mut text = String::with_capacity(TEXT + 100);
    for n in 1.. {
        text.push_str(&words(n));
        if TEXT <= text.len() {
            break;
        }
    }
    text
}

/// Turns of the run beside a compression, before it and during it, and how long that took.
struct Round {
    alone: Vec<Duration>,
    during: Vec<Duration>,
    took: Duration,
}

async fn round(
    house: &House,
    client: &mut Client,
    beside: &Beside,
    history: &Value,
) -> anyhow::Result<Round> {
    beside.is_over.store(false, Ordering::Relaxed);
    beside.model.take_asked();
    let mut running = JoinSet::new();
    let (mut other, start) = (house.client().await?, house.start_of("reader", "zero"));
    running.spawn(async move { other.run(start).await });
    tokio::select! {
        () = beside.has_warmed_up.notified() => (),
        Some(ended) = running.join_next() => anyhow::bail!("the run has ended: {ended:?}"),
    }
    let began = now();
    compress(client, history).await?;
    let (took, ended) = (since(began), now());
    beside.is_over.store(true, Ordering::Relaxed);
    running.join_next().await.context("it was begun")???;
    let (mut alone, mut during) = (Vec::new(), Vec::new());
    let asked = beside.model.take_asked();
    // The first turns are not like the others.
    for [from, to] in asked.array_windows::<2>().skip(10) {
        let (Asked { at: from, .. }, Asked { at: to, .. }) = (from, to);
        let turn = to.saturating_sub(*from);
        if *to <= began {
            alone.push(turn);
        } else if *from < ended {
            during.push(turn);
        }
    }
    Ok(Round { alone, during, took })
}

async fn compress(client: &mut Client, run: &Value) -> anyhow::Result<()> {
    let compacted = client.call("session/compact", json!({ "sessionId": run["sessionId"] })).await?;
    let context = &compacted["contexts"][0];
    ensure!(context["status"] == "COMPRESSED", "{compacted}");
    let (before, after) = (&context["tokensBefore"], &context["tokensAfter"]);
    // A quarter of a token for a letter.
    ensure!(before.as_u64() > Some(10_000_000 / 4), "the history had {before} tokens");
    ensure!(after.as_u64() < Some(10_000_000 / 8), "it has {after} tokens now");
    Ok(())
}

//! What does it take that agents call agents: to start one, and to go down as deep as it goes and back?

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use subagentd::config::DaemonConfig;

use crate::{
    ground::{now, since, sync_time},
    house::{House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, least, listed, median, millis, percentile},
};

/// Children of one run, one after the other.
const CHILDREN: u32 = counted!(100, 5);
/// Agents, of which each calls the next: as deep as agents may call agents without a setting.
const CHAIN: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
/// The levels below the first.
const DEPTH: usize = CHAIN.len() - 1;
const REPEATS: usize = counted!(10, 1);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    child_starts(table, sync_time()?)?;
    chain(table)
}

/// An agent that has this one tool.
fn agent(name: &'static str, tool: &str) -> (&'static str, String) {
    let fields = format!("kind: agent\nname: {name}\ndescription: Works.\ncompletion: tool\ntools: [{tool}]");
    (name, format!("---\n{fields}\n---\nYou work.\n"))
}

fn call(agent: &'static str) -> Reply {
    Reply::Calls(vec![(agent, json!({ "prompt": "go" }))])
}

fn child_starts(table: &mut Table, sync: f64) -> anyhow::Result<()> {
    let model = Zero::new(|asked| match asked.path.contains('/') || asked.ordinal == CHILDREN {
        true => Reply::done(),
        false => call("worker"),
    });
    let parts = HouseParts {
        agents: vec![agent("lead", "worker"), agent("worker", "read_file")],
        ..HouseParts::zero(&model)
    };
    let house = House::open(parts)?;
    let run = async { house.client().await?.run(house.start_of("lead", "zero")).await };
    client_runtime()?.block_on(run)?;
    // The model takes no time: when it is asked, it has replied.
    let (mut starts, mut returns) = (Vec::new(), Vec::new());
    for pair in model.take_asked().windows(2) {
        let took = pair[1].at.saturating_sub(pair[0].at);
        match (pair[0].path.contains('/'), pair[1].path.contains('/')) {
            (false, true) => starts.push(took),
            (true, false) => returns.push(took),
            _ => anyhow::bail!("{} was asked after {}", pair[1].path, pair[0].path),
        }
    }
    let seen = (starts.len(), returns.len());
    ensure!(seen == (CHILDREN as usize, CHILDREN as usize), "{seen:?} starts and ends of children were seen");
    table.row(Row {
        name: "a parent's reply to its child's first request, p50",
        figure: median(&starts),
        bound: 3.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("fsync", sync)),
        note: format!(
            "p90 {:.2}; from the child's reply to its parent's next request {:.2}, p90 {:.2}",
            percentile(&starts, 0.9),
            median(&returns),
            percentile(&returns, 0.9)
        ),
    });
    house.close()
}

/// With one place for runs at work in a session, since whoever waits must hold none; and with as many as there usually
/// are, for comparison.
fn chain(table: &mut Table) -> anyhow::Result<()> {
    let (figures, usual) = (chain_times(Some(1))?, chain_times(None)?);
    table.row(Row {
        name: "a chain of agents 4 deep, one run at work at a time",
        figure: least(&figures),
        bound: 100.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("with the usual 8", least(&usual))),
        note: format!("{}; with the usual 8 {}", listed(&figures), listed(&usual)),
    });
    Ok(())
}

fn chain_times(per_session: Option<usize>) -> anyhow::Result<Vec<f64>> {
    let model = Zero::new(|asked| match CHAIN.get(asked.path.matches('/').count() + 1) {
        Some(next) if asked.ordinal == 0 => call(next),
        _ => Reply::done(),
    });
    let tools = CHAIN.iter().skip(1).chain(["read_file"].iter());
    let mut config = DaemonConfig::default();
    if let Some(per_session) = per_session {
        config.max_concurrent_runs.session.value = per_session;
    }
    let agents = CHAIN.iter().zip(tools).map(|(name, tool)| agent(name, tool)).collect();
    let house = House::open(HouseParts { agents, config, ..HouseParts::zero(&model) })?;
    let took: anyhow::Result<Vec<Duration>> = client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        let mut took = Vec::new();
        for _ in 0..REPEATS {
            let began = now();
            client.run(house.start_of(CHAIN[0], "zero")).await?;
            took.push(since(began));
            let asked = model.take_asked();
            let deepest = asked.iter().map(|asked| asked.path.matches('/').count()).max();
            ensure!(deepest == Some(DEPTH), "the chain went {deepest:?} deep");
            // Once to call or to end, and for all but the last once more to hand on what came back.
            ensure!(asked.len() == 2 * DEPTH + 1, "the model was asked {} times", asked.len());
        }
        Ok(took)
    });
    house.close()?;
    Ok(took?.iter().map(|took| millis(*took)).collect())
}

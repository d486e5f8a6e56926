//! Do thousands of agents cost anything? How soon they are read, a saved one is live, all are listed, and one is started.

use std::{fs, path::Path, sync::Arc, time::Duration};

use anyhow::ensure;
use serde_json::{Value, json};
use subagentd::{
    agents::{AgentFileCache, AgentPlaces, PlaceSwitches},
    trust::TrustRecords,
};

use crate::{
    ground::{folder, now, since},
    house::{Client, House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, median, percentile},
};

/// A large collection of public ones.
const AGENTS: usize = counted!(2_500, 50);
/// Lines of a prompt.
const LINES: usize = 60;
const REPEATS: usize = counted!(9, 1);
const STARTS: usize = counted!(60, 2);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    reading(table)?;
    asking(table)
}

fn reading(table: &mut Table) -> anyhow::Result<()> {
    let folder = folder()?;
    write_all(folder.path())?;
    let trust = Arc::new(TrustRecords::default());
    let open = || AgentFileCache::new(AgentPlaces::of_user(folder.path()), PlaceSwitches::default());
    let mut cold = Vec::new();
    for _ in 0..REPEATS {
        let library = open();
        let began = now();
        let catalog = library.catalog(&[], &trust);
        cold.push(since(began));
        ensure!(AGENTS <= catalog.list(false, false).len(), "agents are missing");
    }
    table.row(Row {
        name: "reading 2,500 agents' files",
        figure: best(&cold),
        bound: 300.0,
        unit: "ms",
        is_rate: false,
        baseline: None,
        note: format!("middle {:.1} ms", percentile(&cold, 0.5)),
    });
    let library = open();
    library.catalog(&[], &trust);
    let (mut changed, mut same) = (Vec::new(), Vec::new());
    for n in 0..REPEATS {
        fs::write(folder.path().join("0/a0000.md"), text(0, n + 1))?;
        let began = now();
        library.catalog(&[], &trust);
        changed.push(since(began));
        let began = now();
        library.catalog(&[], &trust);
        same.push(since(began));
    }
    ensure!(library.files_read() == (AGENTS + REPEATS) as u64, "{} files were read", library.files_read());
    table.row(Row {
        name: "one changed file among 2,500, at the next question",
        figure: best(&changed),
        bound: 300.0,
        unit: "ms",
        is_rate: false,
        baseline: None,
        note: format!("{:.3} ms when nothing changed", best(&same)),
    });
    Ok(())
}

fn asking(table: &mut Table) -> anyhow::Result<()> {
    let model = Zero::new(|_| Reply::done());
    let few = House::open(HouseParts::zero(&model))?;
    let many = House::open(HouseParts::zero(&model))?;
    write_all(&many.agents())?;
    fs::write(few.agents().join("a0000.md"), text(0, 0))?;
    fs::write(few.agents().join("a0001.md"), text(1, 0))?;
    client_runtime()?.block_on(async {
        let mut client = many.client().await?;
        let all = json!({});
        client.call("agents/list", all.clone()).await?;
        let mut lists = Vec::new();
        for _ in 0..REPEATS {
            let began = now();
            let listed = client.call("agents/list", all.clone()).await?;
            lists.push(since(began));
            ensure!(AGENTS <= listed["agents"].as_array().map_or(0, Vec::len), "agents are missing");
        }
        table.row(Row {
            name: "agents/list of 2,500, over the socket",
            figure: best(&lists),
            bound: 20.0,
            unit: "ms",
            is_rate: false,
            baseline: None,
            note: format!(
                "middle {:.1} ms, with the client's reading of the answer",
                percentile(&lists, 0.5)
            ),
        });
        live(table, &many, &mut client).await?;
        let of_few = starts(&few, &mut few.client().await?).await?;
        let of_many = starts(&many, &mut client).await?;
        table.row(Row {
            name: "run/start of another agent, 2,500 against 5",
            figure: (of_many - of_few).max(0.0),
            bound: 1.0,
            unit: "ms",
            is_rate: false,
            baseline: None,
            note: format!("middles: {of_many:.2} ms and {of_few:.2} ms, each with its commit"),
        });
        anyhow::Ok(())
    })?;
    few.close()?;
    many.close()
}

/// From a file that is saved to whoever follows the log.
async fn live(table: &mut Table, house: &House, client: &mut Client) -> anyhow::Result<()> {
    // They all came since the daemon began.
    client.call("agents/reload", json!({})).await?;
    let mut from = client.call("daemon/status", json!({})).await?["database"]["head"].take();
    let mut told = Vec::new();
    for n in 0..REPEATS {
        let began = now();
        fs::write(house.agents().join("1/a0001.md"), text(1, n + 1))?;
        let asked = json!({ "filter": { "types": ["agents.changed"] }, "from": from, "waitMs": 10_000 });
        let page = client.call("events/list", asked).await?;
        told.push(since(began));
        let changed: Option<&Value> = page["events"].get(0);
        ensure!(changed.is_some_and(|it| it["data"]["changed"][0]["name"] == "a0001"), "{page}");
        from = page["head"].clone();
    }
    table.row(Row {
        name: "a saved file is told, among 2,500",
        figure: percentile(&told, 1.0),
        bound: 1_000.0,
        unit: "ms",
        is_rate: false,
        baseline: None,
        note: format!("the worst; middle {:.0} ms, 100 ms of it on purpose", percentile(&told, 0.5)),
    });
    Ok(())
}

/// What starting another agent of the same session takes, in milliseconds: the middle.
async fn starts(house: &House, client: &mut Client) -> anyhow::Result<f64> {
    let created = client.call("session/create", json!({ "workspace": house.work() })).await?;
    let mut took = Vec::new();
    for n in 0..STARTS {
        let agent = format!("a000{}", n % 2);
        let asked =
            json!({ "sessionId": created["sessionId"], "agent": agent, "model": "zero", "prompt": "go" });
        let began = now();
        let started = client.call("run/start", asked).await?;
        took.push(since(began));
        client.call("run/wait", json!({ "runId": started["runId"], "timeoutMs": 60_000 })).await?;
    }
    Ok(median(&took))
}

fn write_all(folder: &Path) -> anyhow::Result<()> {
    for n in 0..AGENTS {
        let folder = folder.join((n % 20).to_string());
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("a{n:04}.md")), text(n, 0))?;
    }
    Ok(())
}

fn text(n: usize, version: usize) -> String {
    let tools = "[read_file, grep, glob, list_directory, run_shell_command]";
    let head = format!(
        "kind: agent\nname: a{n:04}\ndescription: Knows about {n}.\ncompletion: tool\ntools: {tools}"
    );
    let lines =
        format!("Version {version}: a line of a prompt that says how to go about it.\n").repeat(LINES);
    format!("---\n{head}\n---\n{lines}")
}

fn best(took: &[Duration]) -> f64 {
    percentile(took, 0.0)
}

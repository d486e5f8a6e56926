//! What does a hook before each tool cost beside the process that it is, and what do hooks cost that are about something else?

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;
use serde_json::{Value, json};
use subagentd::{
    protocol::SandboxProfile,
    sandbox::{HiddenPlaces, Sandbox, SandboxMechanism, SandboxRules},
};

use crate::{
    commands::{launch, run},
    ground::{self, now, since},
    house::{House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, least, listed, median},
};

const TURNS: u32 = 60;
const REPEATS: usize = 5;

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let before_each = json!({ "PreToolUse": [{ "hooks": [{ "type": "command", "command": "true" }] }] });
    let about_others =
        json!({ "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "true" }] }] });
    let (mut spawns, mut hooked, mut matchless) = (Vec::new(), Vec::new(), Vec::new());
    let mut notes = Vec::new();
    for _ in 0..REPEATS {
        // Side by side, so that a busy machine is busy for all of them.
        let spawn = spawn()?;
        let plain = turn(None)?;
        let with_hook = turn(Some(&before_each))?;
        let with_others = turn(Some(&about_others))?;
        spawns.push(spawn);
        hooked.push((with_hook - plain).max(0.0) / spawn);
        matchless.push(with_others / plain);
        notes.push(format!("{plain:.2} ms plain, {with_hook:.2} hooked"));
    }
    table.row(Row {
        name: "a `true` hook before a tool, beside a bare spawn",
        figure: least(&hooked),
        bound: 1.5,
        unit: "x",
        is_rate: false,
        baseline: Some(("spawn", least(&spawns))),
        note: format!("{}; {}", listed(&hooked), notes.join("; ")),
    });
    table.row(Row {
        name: "a turn with hooks that are about other tools, beside one without",
        figure: least(&matchless),
        bound: 1.05,
        unit: "x",
        is_rate: false,
        baseline: None,
        note: listed(&matchless),
    });
    Ok(())
}

fn sandbox() -> Sandbox {
    // The program that is built beside this one. A user's hook runs unconfined, whatever there is.
    let warden = PathBuf::from(env!("CARGO_BIN_EXE_subagentd"));
    let nothing = SandboxMechanism::Nothing("it is left out".to_owned());
    Sandbox::with(warden, HiddenPlaces::default(), nothing)
}

/// Milliseconds that the middle one of as many bare commands takes.
fn spawn() -> anyhow::Result<f64> {
    let (runtime, folder, sandbox) = (client_runtime()?, ground::folder()?, sandbox());
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..TURNS {
        let rules = SandboxRules { profile: SandboxProfile::Full, network: true, ..SandboxRules::default() };
        let launch = subagentd::sandbox::CommandLaunch { rules, ..launch(folder.path().to_owned(), "true") };
        let began = now();
        runtime.block_on(run(&sandbox, launch))?;
        times.push(since(began));
    }
    Ok(median(&times))
}

/// Milliseconds that the middle one of a run's turns takes.
fn turn(hooks: Option<&Value>) -> anyhow::Result<f64> {
    let model = Zero::new(|asked| if asked.ordinal < TURNS { Reply::reads(asked, 1) } else { Reply::done() });
    let mut parts = HouseParts::zero(&model);
    parts.sandbox = sandbox();
    parts.settings = hooks.map(|hooks| json!({ "hooks": hooks }));
    let house = House::open(parts)?;
    client_runtime()?.block_on(async {
        let mut client = house.client().await?;
        client.run(house.start()).await
    })?;
    let asked = model.take_asked();
    let turns: Vec<Duration> = asked.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at)).collect();
    ensure!(turns.len() == TURNS as usize, "{} turns were seen", turns.len());
    house.close()?;
    Ok(median(&turns))
}

//! What does it take to start a command in a sandbox, and to take in what a flood of it puts out?

use std::path::PathBuf;

use anyhow::ensure;
use subagentd::{
    redact::Redactor,
    sandbox::{
        CommandEnvironment, CommandLaunch, HiddenPlaces, NamedCommandParts, RunningCommand, Sandbox,
        SandboxMechanism, SandboxRules,
    },
    sys::{process::rss_anon_bytes, warden::landlock_version},
};
use tokio::{io::AsyncReadExt as _, runtime::Runtime};

use crate::{
    ground::{self, now, since},
    house::client_runtime,
    table::{Row, Table, least, listed, median, millis},
};

const STARTS: usize = counted!(50, 2);
const REPEATS: usize = counted!(5, 1);
/// Of the flood.
const BYTES: u64 = counted!(1 << 30, 1 << 20);
/// How much more memory may be in use after the flood than before: a few reading buffers.
const MOST_MORE: u64 = 64 << 20;

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let runtime = client_runtime()?;
    let folder = ground::folder()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = std::env::split_paths(&path).map(|it| it.join("bwrap")).find(|it| it.is_file());
    let nothing = SandboxMechanism::Nothing("it is left out".to_owned());
    let mut cases = vec![("a command without a sandbox", nothing, 5.0)];
    match program {
        Some(program) => {
            cases.push(("a command in bubblewrap", SandboxMechanism::Bubblewrap { program }, 15.0));
        }
        None => println!("bubblewrap is not installed, so it is not measured"),
    }
    match landlock_version() {
        0 => println!("the kernel has no Landlock, so it is not measured"),
        version => {
            let instead = "it is measured".to_owned();
            cases.push(("a command in Landlock", SandboxMechanism::Landlock { version, instead }, 5.0));
        }
    }
    for (name, mechanism, bound) in cases {
        // The program that is built beside this one.
        let warden = PathBuf::from(env!("CARGO_BIN_EXE_subagentd"));
        let sandbox = Sandbox::with(warden, HiddenPlaces::default(), mechanism);
        let mut figures = Vec::new();
        for _ in 0..REPEATS {
            let mut times = Vec::new();
            for _ in 0..STARTS {
                let began = now();
                let bytes = runtime.block_on(run(&sandbox, launch(folder.path().to_owned(), "true")))?;
                times.push(since(began));
                ensure!(bytes == 0, "nothing is put out");
            }
            figures.push(median(&times));
        }
        let note = listed(&figures);
        let figure = least(&figures);
        table.row(Row { name, figure, bound, unit: "ms", is_rate: false, baseline: None, note });
        if name.ends_with("bubblewrap") {
            flood(table, &runtime, &sandbox, folder.path().to_owned())?;
        }
    }
    Ok(())
}

fn flood(table: &mut Table, runtime: &Runtime, sandbox: &Sandbox, folder: PathBuf) -> anyhow::Result<()> {
    let before = rss_anon_bytes().unwrap_or(0);
    let began = now();
    let bytes = runtime.block_on(run(sandbox, launch(folder, &format!("head -c {BYTES} /dev/zero"))))?;
    let figure = millis(since(began));
    ensure!(bytes == BYTES, "{bytes} bytes came");
    let more = rss_anon_bytes().unwrap_or(0).saturating_sub(before);
    ensure!(more < MOST_MORE, "{more} bytes more memory are in use");
    let note = format!("{} KiB more memory in use", more >> 10);
    let name = "1 GiB of output";
    table.row(Row { name, figure, bound: 10_000.0, unit: "ms", is_rate: false, baseline: None, note });
    Ok(())
}

pub fn launch(folder: PathBuf, script: &str) -> CommandLaunch {
    let variables: Vec<_> = std::env::vars_os().collect();
    CommandLaunch {
        words: ["bash", "-c", script].map(str::to_owned).to_vec(),
        named: NamedCommandParts::default(),
        directory: folder.clone(),
        environment: CommandEnvironment::of(&variables, &[], &Redactor::none()),
        roots: vec![folder.clone()],
        temporary: folder,
        readable: Vec::new(),
        own_data: None,
        known_roots: Vec::new(),
        read_only: Vec::new(),
        stays: Vec::new(),
        sockets: Vec::new(),
        rules: SandboxRules::default(),
        terminal: None,
        input: Vec::new(),
    }
}

/// Runs a command to its end; how many bytes it put out.
pub async fn run(sandbox: &Sandbox, launch: CommandLaunch) -> anyhow::Result<u64> {
    let RunningCommand { mut stdout, mut hold, .. } = sandbox.start(launch).await?;
    let mut piece = vec![0; 64 << 10];
    let mut total = 0;
    loop {
        match stdout.read(&mut piece).await? {
            0 => break,
            length => total += length as u64,
        }
    }
    let ended = hold.ended().await?;
    ensure!(ended.code == Some(0), "{ended:?}");
    Ok(total)
}

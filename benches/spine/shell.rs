//! How long does it take to judge a shell command?

use std::path::{Path, PathBuf};

use anyhow::ensure;
use subagentd::shell::{ShellEnvironment, read};

use crate::{
    ground::{now, since},
    table::{Row, Table, least, listed},
};

const CALLS: u32 = counted!(200, 2);
const REPEATS: usize = counted!(5, 1);
/// About the size of a script that somebody pasted.
const LONG_BYTES: usize = 10_000;

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let long: String = (0..)
        .map(|at| format!("cargo test --lib case_{at} 2>&1 | tee \"logs/{at}.txt\"\n"))
        .scan(0, |length, line| {
            *length += line.len();
            (*length <= LONG_BYTES).then_some(line)
        })
        .collect();
    let nested = "timeout 60 env A=1 nice bash -c 'for f in $(git ls-files | xargs -n1 dirname); do echo \"$(cat <(sort -- \"$f\"))\"; done' && git status";
    row(table, "judging a short command", "cd src && cargo test --lib 2>&1 | tail -n 20", 100.0)?;
    row(table, "judging a nested command", nested, 300.0)?;
    row(table, "judging a script of 10 kB", &long, 10_000.0)
}

fn row(table: &mut Table, name: &str, text: &str, bound: f64) -> anyhow::Result<()> {
    let around = ShellEnvironment {
        directory: Path::new("/w/shop"),
        home: Some(Path::new("/home/me")),
        roots: &[PathBuf::from("/w/shop")],
        autorun: &[],
        guarded: &[
            PathBuf::from("/home/me/.config/subagentd"),
            PathBuf::from("/home/me/.local/state/subagentd"),
        ],
        secret: &[PathBuf::from("/home/me/.local/state/subagentd")],
        resolve: &Path::to_owned,
        entries: &|_| None,
        is_wanted: &|| true,
    };
    let reading = read(text, &around);
    ensure!(reading.unknown.is_none() && !reading.commands.is_empty(), "{reading:?}");
    let mut figures = Vec::new();
    for _ in 0..REPEATS {
        let began = now();
        for _ in 0..CALLS {
            std::hint::black_box(read(std::hint::black_box(text), &around));
        }
        figures.push((since(began) / CALLS).as_secs_f64() * 1_000_000.0);
    }
    table.row(Row {
        name,
        figure: least(&figures),
        bound,
        unit: "us",
        is_rate: false,
        baseline: None,
        note: listed(&figures),
    });
    Ok(())
}

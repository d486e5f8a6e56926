//! What do `grep` and `glob` take over a large tree of sources, against `rg` as a child process on the same tree?
//!
//! The tree is that of the crates that this package is built from, or `SUBAGENTD_BENCH_TREE`. Without one, or without `rg`,
//! nothing is measured, and that is said.

use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use anyhow::ensure;
use serde_json::{Value, json};
use subagentd::protocol::ToolResult;

use crate::{
    ground::{now, since},
    house::{House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, least, listed, middle, millis},
    timed::Timed,
};

/// Names the tree.
const TREE: &str = "SUBAGENTD_BENCH_TREE";
const REPEATS: usize = counted!(9, 1);
/// How much longer than `rg` a tool may take.
const MOST: f64 = 1.3;
/// What `grep` always does: hidden files are searched, ignore files hold without git, lines are numbered, and at most 100
/// of a file are shown.
const AS_GREP: &[&str] = &[
    "--no-config",
    "--hidden",
    "--no-require-git",
    "--crlf",
    "--line-number",
    "--color=never",
    "--max-count=100",
];
const AS_GLOB: &[&str] = &["--no-config", "--hidden", "--no-require-git", "--files"];

/// One question, to the tool and to `rg`.
struct Case {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    rg: Vec<&'static str>,
}

fn cases() -> Vec<Case> {
    let grep = |name, pattern: &'static str, is_sensitive: bool| {
        let case = if is_sensitive { "--case-sensitive" } else { "--ignore-case" };
        let arguments = json!({ "pattern": pattern, "caseSensitive": is_sensitive });
        Case { name, tool: "grep", arguments, rg: [AS_GREP, &[case, "--regexp", pattern]].concat() }
    };
    let glob = |name, pattern: &'static str| Case {
        name,
        tool: "glob",
        arguments: json!({ "pattern": pattern, "caseSensitive": true }),
        rg: [AS_GLOB, &["--glob", pattern]].concat(),
    };
    vec![
        grep("grep, a rare word", "PR_SET_CHILD_SUBREAPER", true),
        grep("grep, a rare word in any case", "pr_set_child_subreaper", false),
        grep("grep, a common word", "unsafe", true),
        grep("grep, a regular expression", r"fn \w+_unchecked\(", true),
        grep("grep, a regular expression in any case", r"\bimpl\w*\s+error\b", false),
        grep("grep, no match", "no such words in here", true),
        glob("glob, **/*.rs", "**/*.rs"),
        glob("glob, **/Cargo.toml", "**/Cargo.toml"),
        glob("glob, no match", "**/*.no-such-name"),
    ]
}

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let Some(tree) = tree() else {
        println!("search: not measured; there are no sources of crates here, name a tree with {TREE}");
        return Ok(());
    };
    if Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("search: not measured; there is no `rg` here");
        return Ok(());
    }
    let is_right = |result: &ToolResult| result.error.is_none();
    let (grep, grep_times) = Timed::new("grep", is_right)?;
    let (glob, glob_times) = Timed::new("glob", is_right)?;
    let house = House::open(HouseParts {
        tools: vec![Arc::new(grep), Arc::new(glob)],
        ..HouseParts::zero(&Zero::new(|_| Reply::done()))
    })?;
    let runtime = client_runtime()?;
    let mut client = runtime.block_on(house.client())?;
    let session = runtime.block_on(client.call("session/create", json!({ "workspace": tree })))?;
    for case in cases() {
        let (mut ours, mut theirs, mut found) = (Vec::new(), Vec::new(), Value::Null);
        for _ in 0..REPEATS {
            let call = json!({
                "sessionId": session["sessionId"], "tool": case.tool, "arguments": case.arguments,
            });
            let mut called = runtime.block_on(client.call("tools/call", call))?;
            found = called["result"]["data"].take();
            let times = if case.tool == "grep" { &grep_times } else { &glob_times };
            ours.push(millis(times.take()));
            let began = now();
            let output =
                Command::new("rg").args(&case.rg).current_dir(&tree).stdin(Stdio::null()).output()?;
            theirs.push(millis(since(began)));
            ensure!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        // Pair by pair, since both feel what else the machine does, and the one in the middle.
        let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
        let (least_ours, least_theirs) = (least(&ours), least(&theirs));
        table.row(Row {
            name: case.name,
            figure: middle(&ratios),
            bound: MOST,
            unit: "rg",
            is_rate: false,
            baseline: None,
            note: format!("{least_ours:.0} ms, rg {least_theirs:.0} ms; {}; {found}", listed(&ratios)),
        });
    }
    house.close()
}

fn tree() -> Option<PathBuf> {
    let named = env::var_os(TREE).map(PathBuf::from);
    let cargo =
        || env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let tree = named.or_else(|| Some(cargo()?.join("registry/src")))?;
    fs::canonicalize(tree).ok().filter(|tree| tree.is_dir())
}

//! The scene of the table: who runs the commands, and where.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use subagentd::shell::{ShellAnalysis, ShellEnvironment, read};

pub const WORKSPACE: &str = "/home/ann/shop";
pub const HOME: &str = "/home/ann";

/// A line of the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub command: String,
    pub parts: Vec<Vec<String>>,
    pub writes: Vec<String>,
    pub reads: Vec<String>,
    pub risk: String,
    pub asks: bool,
    pub why: String,
}

pub fn rows() -> Vec<Row> {
    include_str!("commands.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn judged(command: &str) -> ShellAnalysis {
    let guarded: Vec<PathBuf> = [
        "/home/ann/.config/subagentd",
        "/home/ann/.local/state/subagentd",
        "/run/user/1000/subagentd",
        "/etc/subagentd",
    ]
    .into_iter()
    .map(PathBuf::from)
    .collect();
    read(
        command,
        &ShellEnvironment {
            directory: Path::new(WORKSPACE),
            home: Some(Path::new(HOME)),
            roots: &[PathBuf::from(WORKSPACE)],
            autorun: &[],
            guarded: &guarded,
            secret: &guarded[1..2],
            resolve: &Path::to_owned,
            entries: &|_| Some(Vec::new()),
            is_wanted: &|| true,
        },
    )
}

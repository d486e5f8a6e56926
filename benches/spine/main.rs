//! Do the promised numbers hold on this machine? Measures each, beside a baseline from the same run, and prints one
//! line a number: `cargo bench --bench spine`.
//!
//! Nothing is asserted about time: a figure is read with the load average above the table in mind. The exit code
//! tells correctness alone, e.g. that the deltas a client saw add up to the final text. A build with debug assertions runs each row once
//! at a small count (`counted!`): its figures mean nothing, its exit code does.

/// How many of something a figure is made of: `$full`, or `$few` in a build with debug assertions, whose figures mean nothing. That
/// build is run once wherever the tests are, so that a row whose script has become impossible is noticed:
/// `cargo bench --profile dev`.
macro_rules! counted {
    ($full:expr, $few:expr) => {
        if cfg!(debug_assertions) { $few } else { $full }
    };
}

mod agents;
mod attach;
mod canned;
mod commands;
mod edits;
mod frames;
mod ground;
mod hooks;
mod house;
mod http;
mod lasting;
mod log;
mod mcp;
mod model;
mod policy;
mod process;
mod prompts;
mod provider;
mod questions;
mod requests;
mod search;
mod shell;
mod skills;
mod streaming;
mod table;
mod texts;
mod timed;
mod traces;
mod trees;
mod turns;
mod wire;

use std::fs;

use table::Table;

fn main() -> anyhow::Result<()> {
    if mcp::is_a_server() {
        return Ok(());
    }
    // Cargo passes its own flags; what is left are words that pick groups.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |group: &str| wanted.is_empty() || wanted.iter().any(|word| word == group);
    println!("load average {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    let mut table = Table::new();
    type Group = fn(&mut Table) -> anyhow::Result<()>;
    let groups: [(&str, Group); 23] = [
        ("log", log::measure),
        ("turns", turns::measure),
        ("trees", trees::measure),
        ("traces", traces::measure),
        ("http", http::measure),
        ("texts", texts::measure),
        ("attach", attach::measure),
        ("policy", policy::measure),
        ("shell", shell::measure),
        ("commands", commands::measure),
        ("edits", edits::measure),
        ("search", search::measure),
        ("questions", questions::measure),
        ("wire", wire::measure),
        ("process", process::measure),
        ("streaming", streaming::measure),
        ("requests", requests::measure),
        ("agents", agents::measure),
        ("lasting", lasting::measure),
        ("mcp", mcp::measure),
        ("prompts", prompts::measure),
        ("skills", skills::measure),
        ("hooks", hooks::measure),
    ];
    for (name, measure) in groups {
        if is_wanted(name) {
            measure(&mut table)?;
        }
    }
    println!("load average {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    Ok(())
}

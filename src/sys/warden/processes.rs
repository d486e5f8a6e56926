//! Which processes are a command's, and what do they use?

use std::{collections::HashMap, fs, process};

use rustix::{
    param::page_size,
    process::{Pid, Signal, kill_process},
};

/// One process, as `/proc` tells it.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: u32,
    parent: u32,
    pub name: String,
    /// It has ended, and nobody has asked how.
    pub is_over: bool,
    /// Its own and that of the children it has asked for, in clock ticks.
    pub ticks: u64,
    pub resident_bytes: u64,
}

/// All processes that are the command's: below this one, or, for the first of a namespace, all others.
pub fn of_command(is_first: bool) -> Vec<Process> {
    let me = process::id();
    let all: Vec<Process> = pids().filter(|pid| *pid != me).filter_map(Process::read).collect();
    if is_first {
        return all;
    }
    let parents: HashMap<u32, u32> = all.iter().map(|it| (it.pid, it.parent)).collect();
    let is_below = |pid: u32| {
        let mut at = pid;
        // No chain is longer than there are processes; one that was read while it changed may be a ring.
        for _ in 0..=parents.len() {
            match parents.get(&at) {
                Some(parent) if *parent == me => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    all.iter().filter(|it| is_below(it.pid)).cloned().collect()
}

/// Sends a signal to each.
pub fn signal(processes: &[Process], signal: Signal) {
    for process in processes.iter().filter(|process| !process.is_over) {
        if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
            // It may have ended meanwhile. Its number stays its own until its parent, or this process, asked how.
            let _gone = kill_process(pid, signal);
        }
    }
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

impl Process {
    /// `None` when it has gone.
    fn read(pid: u32) -> Option<Process> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name may hold anything, also parentheses and blanks; nothing after it does (proc_pid_stat(5)).
        let (start, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Process {
            pid,
            parent: u32::try_from(number(1)?).ok()?,
            name: start.split_once('(')?.1.to_owned(),
            is_over: matches!(fields.first(), Some(&"Z" | &"X")),
            ticks: (11..=14).filter_map(number).sum(),
            resident_bytes: number(21).unwrap_or(0).saturating_mul(page_size() as u64),
        })
    }
}

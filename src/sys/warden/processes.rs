//! Which processes are a command's, and what do they use?

use std::{collections::HashMap, fs, process};

use rustix::{
    io::Errno,
    param::page_size,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid},
};

/// One process, as `/proc` tells it.
#[derive(Debug, Clone)]
pub struct ProcessStatus {
    pub pid: u32,
    parent: u32,
    group: u32,
    pub name: String,
    /// It has ended, and nobody has asked how.
    pub is_over: bool,
    /// Its own and that of the children it has asked for, in clock ticks.
    pub ticks: u64,
    pub resident_bytes: u64,
}

/// All processes that are the command's: below this one, or, for the first of a namespace, all others. Looks at every process
/// that there is, which takes some 20 µs for each.
pub fn of_command(is_first: bool) -> Vec<ProcessStatus> {
    let me = process::id();
    let all: Vec<ProcessStatus> = pids().filter(|pid| *pid != me).filter_map(ProcessStatus::read).collect();
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

/// True if nothing of the command is left. Whatever lost its parent came to this process, so that without a child there is
/// nothing below it at all.
pub fn is_none_left() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// True if the command is more processes than `most`. Reads no more than it takes to say so: there may be very many.
pub fn are_more_than(most: u64, is_first: bool) -> bool {
    let me = process::id();
    let count = |alive: &mut dyn Iterator<Item = ProcessStatus>| {
        let limit = usize::try_from(most).unwrap_or(usize::MAX);
        alive.filter(|it| !it.is_over).take(limit.saturating_add(1)).count() > limit
    };
    match is_first {
        true => count(&mut pids().filter(|pid| *pid != me).filter_map(ProcessStatus::read)),
        false => count(&mut of_command(false).into_iter()),
    }
}

/// Kills everything that the command is. A group, and all of a namespace, is killed at once, also what it is just starting.
pub fn kill(is_first: bool) {
    if is_first {
        // Safety: `kill` has no memory to go wrong with. For the first process of a namespace -1 means all others in it.
        #[allow(unsafe_code, reason = "no library has this call for all processes")]
        let _none_left = unsafe { libc::kill(-1, libc::SIGKILL) };
        return;
    }
    let all = of_command(false);
    let mut groups: Vec<u32> = all.iter().map(|it| it.group).collect();
    groups.sort_unstable();
    groups.dedup();
    // The command began in a session of its own, so that its groups are its own, too; that of the warden is not among them.
    for group in groups.into_iter().filter_map(|group| Pid::from_raw(i32::try_from(group).ok()?)) {
        let _gone = kill_process_group(group, Signal::KILL);
    }
    // What is left has gone to a group of its own meanwhile. First all stand still, so that none starts another one for each
    // that ends.
    signal(&of_command(false), Signal::STOP);
    signal(&of_command(false), Signal::KILL);
}

/// Sends a signal to each.
pub fn signal(processes: &[ProcessStatus], signal: Signal) {
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

impl ProcessStatus {
    /// `None` when it has gone.
    fn read(pid: u32) -> Option<ProcessStatus> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name may hold anything, also parentheses and blanks; nothing after it does (proc_pid_stat(5)).
        let (start, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(ProcessStatus {
            pid,
            parent: u32::try_from(number(1)?).ok()?,
            group: u32::try_from(number(2)?).ok()?,
            name: start.split_once('(')?.1.to_owned(),
            is_over: matches!(fields.first(), Some(&"Z" | &"X")),
            ticks: (11..=14).filter_map(number).sum(),
            resident_bytes: number(21).unwrap_or(0).saturating_mul(page_size() as u64),
        })
    }
}

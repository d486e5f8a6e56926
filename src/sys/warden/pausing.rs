//! Does a command stand still, whatever it does for that not to be so?
//!
//! A process that is stopped by a signal goes on by another one, and a process can have the kernel send itself any: by a timer, by the end of a
//! child, when something can be read. One that stands still in the hands of a tracer goes on when that says so, or ends (ptrace(2),
//! `PTRACE_SEIZE`, `PTRACE_INTERRUPT`). What it starts meanwhile is in the same hands from its first moment. Where nobody may
//! trace (Yama's scopes 2 and 3, a container's filter), it is stopped by a signal.

use std::{
    collections::BTreeMap,
    fs, io,
    os::raw::{c_int, c_long},
    process,
    ptr::null_mut,
    thread,
    time::Duration,
};

use super::processes;
use crate::clock::Clock;

/// How long processes may take to stand still: what waits in the kernel, for a disk that does not answer, does so later.
const PAUSE_TIME: Duration = Duration::from_secs(2);

/// Between two looks.
const ROUND: Duration = Duration::from_micros(500);

/// Rounds after which all go on for a moment: one that waits until the child which it has just begun runs its program (`vfork`) never stands
/// still while that child does.
const VFORK_ROUNDS: u32 = 400;

/// That moment.
const VFORK_TIME: Duration = Duration::from_millis(5);

/// What is begun by one that is traced is traced, too; and if this process ends, all of it does.
const OPTIONS: c_int = libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_EXITKILL;

/// The threads of a command that stands still.
#[derive(Default)]
pub struct PausedThreads {
    /// By number: the signal that is to be delivered to it when it goes on, or none. `None` = it has not stopped yet.
    seized: BTreeMap<libc::pid_t, Option<c_int>>,
    /// Nobody may trace here, so they were stopped by a signal.
    is_by_signal: bool,
}

/// Why a command does not stand still.
enum StillGoing {
    /// Some of it has not stopped yet.
    Yet,
    /// It cannot be traced: it does not want to be, or somebody else does.
    Untraceable,
}

impl PausedThreads {
    /// Has all of a command stand still; `None` if some of it does not. `is_first`: this process is the first one of a namespace.
    pub fn pause(is_first: bool, clock: &dyn Clock) -> Option<PausedThreads> {
        let begun = clock.monotonic();
        let is_late = || PAUSE_TIME <= clock.monotonic().saturating_sub(begun);
        let mut paused = PausedThreads { is_by_signal: !may_trace(), ..PausedThreads::default() };
        let mut round = 0;
        loop {
            round += 1;
            if round % VFORK_ROUNDS == 0 {
                paused.release();
                thread::sleep(VFORK_TIME);
            }
            match paused.look(is_first) {
                Ok(()) => return Some(paused),
                Err(StillGoing::Yet) if !is_late() => thread::sleep(ROUND),
                Err(_) => {
                    paused.release();
                    return None;
                }
            }
        }
    }

    /// All go on.
    pub fn resume(mut self, is_first: bool) {
        self.release();
        if self.is_by_signal {
            processes::signal(&processes::of_command(is_first), rustix::process::Signal::CONT);
        }
    }

    /// True if nothing goes on. Otherwise what was found to go on is told to stop.
    fn look(&mut self, is_first: bool) -> Result<(), StillGoing> {
        // First a quick look, then one at all: what was begun while one of them was under way is found by the other.
        let quick = if is_first { None } else { processes::below() };
        let every = || processes::of_command(is_first).iter().map(|it| it.pid).collect::<Vec<u32>>();
        for pids in [quick.unwrap_or_else(every), every()] {
            let is_still = if self.is_by_signal { stopped_by_signal(&pids) } else { self.stopped(&pids)? };
            if !is_still {
                return Err(StillGoing::Yet);
            }
        }
        Ok(())
    }

    fn stopped(&mut self, pids: &[u32]) -> Result<bool, StillGoing> {
        let mut is_new = false;
        for thread in pids.iter().flat_map(|pid| threads(*pid)) {
            if !self.seized.contains_key(&thread) && is_alive(thread) {
                is_new = true;
                self.seize(thread)?;
            }
        }
        let waiting: Vec<libc::pid_t> =
            self.seized.iter().filter(|(_, stop)| stop.is_none()).map(|(thread, _)| *thread).collect();
        let mut are_all = true;
        for thread in waiting {
            match stop_of(thread) {
                Some(signal) => drop(self.seized.insert(thread, Some(signal))),
                None if is_alive(thread) => are_all = false,
                None => drop(self.seized.remove(&thread)),
            }
        }
        Ok(are_all && !is_new)
    }

    fn seize(&mut self, thread: libc::pid_t) -> Result<(), StillGoing> {
        match ptrace(libc::PTRACE_SEIZE, thread, OPTIONS) {
            Ok(()) => (),
            // It was begun by one that is traced, and stops by itself; or it has ended.
            Err(_) if is_traced_here(thread) || !is_alive(thread) => (),
            Err(_) => return Err(StillGoing::Untraceable),
        }
        // One that is on its way to a stop is not told.
        let _stops = ptrace(libc::PTRACE_INTERRUPT, thread, 0);
        self.seized.insert(thread, None);
        Ok(())
    }

    /// Lets go of all. One that has not stopped yet is waited for: only what stands still can be let go.
    fn release(&mut self) {
        /// Looks for a stop that is under way.
        const LOOKS: u32 = 200;
        for (thread, stop) in std::mem::take(&mut self.seized) {
            let mut signal = stop;
            for _ in 0..LOOKS {
                if signal.is_some() || !is_alive(thread) {
                    break;
                }
                signal = stop_of(thread);
                if signal.is_none() {
                    thread::sleep(ROUND / 10);
                }
            }
            // It has ended otherwise, or waits in the kernel and stays in our hands: whatever it does, it ends with the command.
            let _let_go = ptrace(libc::PTRACE_DETACH, thread, signal.unwrap_or(0));
        }
    }
}

/// True if a process may trace what descends from it: neither Yama nor a container's filter of system calls is against it.
fn may_trace() -> bool {
    /// More than the system has numbers for (proc_sys_kernel(5), `pid_max`).
    const NOBODY: libc::pid_t = libc::pid_t::MAX;
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let is_scope = scope.and_then(|scope| scope.trim().parse::<u32>().ok()).is_none_or(|scope| scope < 2);
    let refused = ptrace(libc::PTRACE_INTERRUPT, NOBODY, 0).err().and_then(|error| error.raw_os_error());
    is_scope && refused == Some(libc::ESRCH)
}

/// True if all have stopped; the others are told to.
fn stopped_by_signal(pids: &[u32]) -> bool {
    let going: Vec<u32> =
        pids.iter().copied().filter(|pid| threads(*pid).into_iter().any(is_going)).collect();
    processes::stop(&going);
    going.is_empty()
}

fn threads(pid: u32) -> Vec<libc::pid_t> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// True of a thread that has neither ended nor stopped.
fn is_going(thread: libc::pid_t) -> bool {
    !matches!(state_of(thread), None | Some(b'T' | b't' | b'Z' | b'X'))
}

fn is_alive(thread: libc::pid_t) -> bool {
    !matches!(state_of(thread), None | Some(b'Z' | b'X'))
}

/// As `/proc` has it; `None` = it has gone.
fn state_of(thread: libc::pid_t) -> Option<u8> {
    let stat = fs::read(format!("/proc/{thread}/stat")).ok()?;
    // The name may hold anything; nothing after it does (proc_pid_stat(5)).
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    stat[after..].iter().find(|byte| !byte.is_ascii_whitespace()).copied()
}

fn is_traced_here(thread: libc::pid_t) -> bool {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.and_then(|it| it.trim().parse::<u32>().ok()) == Some(process::id())
}

/// Takes the stop of a thread that is traced here: the signal that it is to be given when it goes on, or 0.
fn stop_of(thread: libc::pid_t) -> Option<c_int> {
    // Safety: it is filled by the call, or not read. All of its bytes may be zero.
    #[allow(unsafe_code, reason = "no library has this call for threads that are traced")]
    let (done, found) = unsafe {
        let mut found: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WSTOPPED | libc::WNOHANG | libc::__WALL;
        let number = libc::id_t::try_from(thread).ok()?;
        (libc::waitid(libc::P_PID, number, &raw mut found, options), found)
    };
    // Safety: `waitid` fills these fields.
    #[allow(unsafe_code, reason = "as above")]
    let (who, status) = unsafe { (found.si_pid(), found.si_status()) };
    // A stop with an event is nobody's signal (`PTRACE_EVENT_…` stands above it).
    let signal = if status >> 8 == 0 && status != libc::SIGTRAP { status } else { 0 };
    (done == 0 && who == thread).then_some(signal)
}

fn ptrace(request: libc::c_uint, thread: libc::pid_t, data: c_int) -> io::Result<()> {
    // Safety: none of these requests reads or writes memory of this process.
    #[allow(unsafe_code, reason = "no library has these requests")]
    let done: c_long = unsafe {
        libc::ptrace(request, thread, null_mut::<libc::c_void>(), data as usize as *mut libc::c_void)
    };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

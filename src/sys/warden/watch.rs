//! Runs one command and sees to its end, and to that of all it starts.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, ioctl_tiocsctty, pidfd_open, set_child_subreaper,
        setsid, waitid,
    },
    stdio::{dup2_stderr, dup2_stdout},
};

use super::super::clock::{Clock as _, SystemClock};
use super::{
    CommandExit, CommandLimit, CommandLimits, WardenOrder, WardenSignal,
    confine::PreparedConfinement,
    fixed,
    on_behalf::{BrokerServer, SyscallBroker},
    processes,
    terminal::TerminalScreen,
};

/// Between two looks at what the command uses. Short enough that a bomb of processes has not grown far; a look costs some
/// 10 µs a process.
const LOOK: Duration = Duration::from_millis(50);

/// Between two rounds of ending what is left.
const ROUND: Duration = Duration::from_millis(1);

/// How long processes that were killed are waited for: what hangs in the kernel for longer is reported and left.
const KILL_TIME: Duration = Duration::from_secs(1);

/// Names of processes that were left behind, that are told at most.
const MOST_NAMES: usize = 20;

/// Children that are asked for in one go, which takes a few µs for each. A bomb of processes has others end faster than they are
/// asked for, and there is more to see to; but each look at what the command uses takes far longer for those that are left.
const MOST_REAPED: usize = 20_000;

/// Clock ticks of a second in `/proc` (`USER_HZ`): 100 on every Linux.
const TICKS_PER_SECOND: u64 = 100;

/// A command that runs.
pub struct CommandWatch {
    command: Pid,
    clock: Arc<SystemClock>,
    limits: CommandLimits,
    is_first: bool,
    screen: Option<thread::JoinHandle<()>>,
    /// Who is asked for what the command may not do by itself.
    attendant: Option<SyscallBroker>,
}

impl CommandWatch {
    /// Starts the command, or says why it cannot be.
    pub fn begin(order: WardenOrder, input: &[u8]) -> Result<CommandWatch, String> {
        let WardenOrder { words, directory, environment, limits, terminal, is_first, .. } = &order;
        let told = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
        fixed::check(&order.fixed)?;
        // Before anything is started: what the command leaves behind comes to this process.
        set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| told("subreaper")(error.into()))?;
        let (program, arguments) = words.split_first().ok_or("there is no command")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        command
            .current_dir(directory)
            .stdin(to_read(input).map_err(told("the command's input cannot be kept"))?);
        let screen = match terminal {
            None => None,
            Some(size) => {
                let (screen, side) = TerminalScreen::open(*size).map_err(told("there is no terminal"))?;
                let copy = |side: &OwnedFd| side.try_clone().map(Stdio::from);
                command.stdin(copy(&side).map_err(told("there is no terminal"))?);
                command.stdout(copy(&side).map_err(told("there is no terminal"))?);
                command.stderr(Stdio::from(side));
                Some(screen)
            }
        };
        let has_terminal = screen.is_some();
        let (confinement, waiting) = PreparedConfinement::prepare(&order)?;
        let mut confinement = Some(confinement);
        let enter = move || {
            setsid()?;
            if has_terminal {
                ioctl_tiocsctty(io::stdin().as_fd())?;
            }
            match confinement.take() {
                Some(confinement) => confinement.enter(),
                None => Err(io::Error::other("a command is confined once")),
            }
        };
        // Safety: this process has one thread here, so whatever runs between `fork` and `exec` finds all locks and the
        // allocator as it left them.
        #[allow(unsafe_code, reason = "a command is confined after it was forked, by nobody but itself")]
        unsafe {
            command.pre_exec(enter)
        };
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if !directory.is_dir() => {
                format!("the folder {} is not there", directory.display())
            }
            io::ErrorKind::NotFound => format!("there is no program `{program}`"),
            _ => format!("`{program}` cannot be run: {error}"),
        })?;
        // The command's own sides are closed with it.
        drop(command);
        release(has_terminal).map_err(told("what the command puts out cannot be left to it"))?;
        Ok(CommandWatch {
            command: Pid::from_child(&child),
            clock: SystemClock::new(),
            limits: *limits,
            is_first: *is_first,
            screen: screen.map(|screen| thread::spawn(move || screen.show())),
            attendant: waiting.and_then(BrokerServer::attend),
        })
    }

    /// Waits until the command has ended, and ends whatever it leaves behind.
    pub fn until_end(mut self, mut control: UnixStream) -> io::Result<CommandExit> {
        let mut ended = CommandExit::default();
        let mut attendant = self.attendant.take();
        let command = pidfd_open(self.command, PidfdFlags::empty())?;
        let mut looked = self.clock.monotonic();
        loop {
            let reaped = self.reap(&mut ended);
            if reaped.command {
                break;
            }
            // Those that have ended have numbers, of which there are not so many.
            let time = if reaped.are_more { Duration::ZERO } else { LOOK };
            match next(&mut control, &command, attendant.as_ref(), time)? {
                WatchStep::Asked(attendant) => attendant.answer(),
                WatchStep::NeverAsked => attendant = None,
                WatchStep::Wish(WardenSignal::Stop) => {
                    let all = processes::of_command(self.is_first);
                    processes::signal(&all, Signal::TERM);
                    // One that is stopped hears nothing until it goes on.
                    processes::signal(&all, Signal::CONT);
                }
                WatchStep::Wish(WardenSignal::Kill) | WatchStep::Alone => {
                    self.end_all(&mut ended);
                    break;
                }
                WatchStep::Nothing => (),
            }
            let now = self.clock.monotonic();
            if LOOK <= now.saturating_sub(looked) {
                looked = now;
                ended.over = self.over();
                if ended.over.is_some() {
                    self.end_all(&mut ended);
                    break;
                }
            }
        }
        if !processes::is_none_left() {
            let left = processes::of_command(self.is_first);
            let alive = left.iter().filter(|process| !process.is_over);
            ended.left = alive.take(MOST_NAMES).map(|process| process.name.clone()).collect();
            self.end_all(&mut ended);
        }
        if let Some(screen) = self.screen {
            // Nobody has the terminal any more, so it ends.
            let _shown = screen.join();
        }
        Ok(ended)
    }

    /// Asks how children have ended.
    fn reap(&self, ended: &mut CommandExit) -> Reaped {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        for _ in 0..MOST_REAPED {
            if !matches!(waitid(WaitId::All, options | WaitIdOptions::NOWAIT), Ok(Some(_))) {
                return Reaped::default();
            }
            // The command first: the others are asked for by the way.
            if let Ok(Some(status)) = waitid(WaitId::Pid(self.command), options) {
                ended.code = status.exit_status();
                ended.signal = status.terminating_signal();
                return Reaped { command: true, are_more: true };
            }
            if !matches!(waitid(WaitId::All, options), Ok(Some(_))) {
                return Reaped::default();
            }
        }
        Reaped { command: false, are_more: true }
    }

    /// Ends all processes of the command. What is started meanwhile is ended by the next round.
    fn end_all(&self, ended: &mut CommandExit) {
        let begun = self.clock.monotonic();
        let mut known = HashSet::new();
        loop {
            processes::kill(self.is_first);
            // All that there are, which may be as many as the system has numbers: to look for who is left takes far longer for each.
            let is_late = || KILL_TIME <= self.clock.monotonic().saturating_sub(begun);
            while self.reap(ended).are_more && !is_late() {}
            if processes::is_none_left() {
                break;
            }
            let left = processes::of_command(self.is_first);
            // As long as there are new ones, somebody still starts them.
            let before = known.len();
            known.extend(left.iter().map(|it| it.pid));
            let has_new = before < known.len();
            if left.is_empty() || (is_late() && !has_new) {
                break;
            }
            thread::sleep(ROUND);
        }
    }

    /// The limit that the command has gone over.
    fn over(&self) -> Option<CommandLimit> {
        let CommandLimits { cpu_seconds, memory_bytes, processes: most, .. } = self.limits;
        if cpu_seconds.is_none() && memory_bytes.is_none() && most.is_none() {
            return None;
        }
        if most.is_some_and(|most| processes::are_more_than(most, self.is_first)) {
            return Some(CommandLimit::Processes);
        }
        let all = processes::of_command(self.is_first);
        let is_over = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| limit < used);
        let ticks: u64 = all.iter().map(|process| process.ticks).sum();
        let bytes = all.iter().map(|process| process.resident_bytes).sum();
        if is_over(memory_bytes, bytes) {
            Some(CommandLimit::Memory)
        } else if is_over(cpu_seconds, ticks / TICKS_PER_SECOND) {
            Some(CommandLimit::Cpu)
        } else {
            None
        }
    }
}

/// What came of asking for children.
#[derive(Default)]
struct Reaped {
    /// The command is one of them.
    command: bool,
    /// There may be more that have ended.
    are_more: bool,
}

/// What there is to do.
enum WatchStep<'a> {
    Wish(WardenSignal),
    /// The command wants something done.
    Asked(&'a SyscallBroker),
    /// Nobody is left who could ask.
    NeverAsked,
    /// There is no daemon any more, or one that nobody understands.
    Alone,
    /// Time has passed, or a process has ended.
    Nothing,
}

/// Waits for a wish, a question of the command, its end, or so long.
fn next<'a>(
    control: &mut UnixStream,
    command: &OwnedFd,
    attendant: Option<&'a SyscallBroker>,
    time: Duration,
) -> io::Result<WatchStep<'a>> {
    let mut fds = vec![PollFd::new(&*control, PollFlags::IN), PollFd::new(command, PollFlags::IN)];
    fds.extend(attendant.map(|attendant| PollFd::new(attendant.questions(), PollFlags::IN)));
    let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
    match poll(&mut fds, Some(&time)) {
        Ok(_) | Err(Errno::INTR) => (),
        Err(error) => return Err(error.into()),
    }
    let asked = fds.get(2).map_or(PollFlags::empty(), PollFd::revents);
    if fds[0].revents().is_empty() {
        return Ok(match attendant {
            Some(attendant) if asked.contains(PollFlags::IN) => WatchStep::Asked(attendant),
            // Perf: what has hung up does so at once each time, while the command takes a millisecond to end.
            Some(_) if !asked.is_empty() => WatchStep::NeverAsked,
            _ => WatchStep::Nothing,
        });
    }
    // A wish is a byte, so that there are no halves.
    let mut byte = [0];
    Ok(match control.read(&mut byte) {
        Ok(1) => WardenSignal::from_byte(byte[0]).map_or(WatchStep::Alone, WatchStep::Wish),
        _ => WatchStep::Alone,
    })
}

/// What gives a command its input: memory that only it has, since nobody is there to write into a pipe. It cannot be written
/// any more, or the command could keep there what no limit counts.
fn to_read(input: &[u8]) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut memory = File::from(memfd_create("input", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    memory.write_all(input)?;
    memory.rewind()?;
    fcntl_add_seals(&memory, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(Stdio::from(memory))
}

/// Leaves standard output and standard error to the command alone, so that they end when it does. What is put out on a
/// terminal goes through this process.
fn release(has_terminal: bool) -> io::Result<()> {
    let nothing = File::options().write(true).open("/dev/null")?;
    if !has_terminal {
        dup2_stdout(&nothing)?;
    }
    dup2_stderr(&nothing)?;
    Ok(())
}

//! Which processes has this daemon started, which of them may talk to it, and what becomes of those they leave behind?
//!
//! Everything that the daemon starts is started here, so that three things hold: who descends from an agent's tool is known
//! when it knocks ([`ChildProcesses::admits`]), nothing that a call started outlives the call ([`ChildProcesses::reap_orphans`]), and
//! nobody but the owner of a child reaps it, so that its number cannot become another's while it is used.

use std::{
    any::Any,
    collections::HashMap,
    fmt, io,
    path::Path,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, set_child_subreaper, waitid,
};
use tokio::sync::Notify;

pub use self::marked::started_by_a_daemon;

use self::{descent::ProcessAncestry, table::ProcessEntry};
use super::{ids, owner_programs::OwnerPrograms, process::ChildExitWatch};

mod descent;
mod marked;
mod reaper;
mod table;
mod tcp;
#[cfg(test)]
mod tests;

/// Stands in the environment of whatever is started here, and says by which child of the daemon. It decides only what
/// becomes of a process that nobody waits for; nobody is let in by it. No setting begins like this.
const MARK: &str = "STARTED_BY_SUBAGENTD";

/// Whose program is a child?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnOrigin {
    /// The owner's own, by the owner's settings, and no agent has a say in it: `approval.notifyCommand`, a command that
    /// prints a provider's key. It may talk to the daemon, and what it leaves running (`gpg-agent`, say) is left alone.
    Ours,
    /// This daemon's own program, or bubblewrap with it, which watches over a tool and ends with it. It opens no connection;
    /// what it starts is a tool, and seen as one.
    Warden,
    /// A program of the system (bubblewrap) whose one child is such a warden.
    AroundWarden,
    /// Started for a run or a workspace: tools, hooks, MCP servers. Neither it nor whatever it starts may talk to the
    /// daemon, and all of it ends with it.
    Tool,
}

/// The processes that this daemon has started. Cheap to clone.
#[derive(Clone)]
pub struct ChildProcesses(Arc<ChildTable>);

struct ChildTable {
    /// The process is the daemon's alone: whoever descends from it was started by it, and whoever lost their parent is
    /// its to reap. In a test's process others have children as well.
    is_alone: bool,
    /// What the owner's settings name to be run.
    owner_programs: OwnerPrograms,
    /// What the owner's programs have for a mark; nobody else can guess it.
    mark_of_ours: String,
    /// What the marks of all others begin with.
    mark_of_tools: String,
    /// Children that were there before: the program was executed by a shell that had started them.
    inherited: Vec<ProcessEntry>,
    /// Held from before a process begins to exist until it is in `register`, and while orphans are looked at: who is ours
    /// and not in the register is an orphan then. Executing a program can take long, so nobody else waits for this.
    spawning: Mutex<()>,
    /// Held for moments only.
    register: Mutex<ChildRegister>,
    /// Children that were let go: they end by themselves, and are reaped then.
    departing: Mutex<Vec<OwnChild>>,
    /// A child is gone, so what it left may go.
    left: Notify,
}

#[derive(Default)]
struct ChildRegister {
    /// By process number. A child stays in here for as long as its number cannot become another's, and no longer.
    living: HashMap<i32, RegisteredChild>,
    /// Of the next child.
    number: u64,
}

struct RegisteredChild {
    kin: SpawnOrigin,
    number: u64,
    /// When it started, in the clock ticks of `/proc`; `None` where that cannot be told.
    started: Option<u64>,
}

impl fmt::Debug for ChildProcesses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Children").field("living", &self.register().living.len()).finish()
    }
}

/// In a process that others use as well: nobody's children are refused or reaped.
impl Default for ChildProcesses {
    fn default() -> ChildProcesses {
        ChildProcesses::new(false, Vec::new())
    }
}

impl ChildProcesses {
    fn new(is_alone: bool, inherited: Vec<ProcessEntry>) -> ChildProcesses {
        let (mark_of_ours, mark_of_tools) = (ids::fresh::<String>(), ids::fresh::<String>());
        let (spawning, register, left) = (Mutex::default(), Mutex::default(), Notify::new());
        let table = ChildTable {
            is_alone,
            owner_programs: OwnerPrograms::default(),
            mark_of_ours,
            mark_of_tools,
            inherited,
            spawning,
            register,
            departing: Mutex::default(),
            left,
        };
        ChildProcesses(Arc::new(table))
    }

    /// In a process that is the daemon's alone, which takes in every process below it that loses its parent
    /// (`PR_SET_CHILD_SUBREAPER`). Only one may be made in a process, and nothing else may start processes in it.
    ///
    /// As the first process of a container the daemon also gets orphans that it did not start, and ends them; put an
    /// init before it there.
    pub fn of_own_process() -> io::Result<ChildProcesses> {
        become_subreaper()?;
        let proc = Path::new(table::PROC);
        let inherited = table::children_of(proc, own_number())?;
        let inherited = inherited.into_iter().filter_map(|child| ProcessEntry::read(proc, child).ok());
        Ok(ChildProcesses::new(true, inherited.collect()))
    }

    /// True if the process is the daemon's alone, so that descent says who somebody is.
    pub fn is_alone(&self) -> bool {
        self.0.is_alone
    }

    /// The programs that the owner's settings name. Whoever starts one as [`SpawnOrigin::Ours`] takes its command from there.
    pub fn owner_programs(&self) -> &OwnerPrograms {
        &self.0.owner_programs
    }

    /// Starts a command. Blocks until it is executed, or cannot be.
    pub fn spawn(&self, command: &mut Command, kin: SpawnOrigin) -> io::Result<OwnChild> {
        // Nothing panics while it holds a lock here, so a poisoned one guards what is whole.
        let _until_registered = self.0.spawning.lock().unwrap_or_else(PoisonError::into_inner);
        let number = {
            let mut register = self.register();
            register.number += 1;
            register.number
        };
        let child = command.env(MARK, self.mark(kin, number)).spawn()?;
        let pid = Pid::from_child(&child).as_raw_nonzero().get();
        let started = ProcessEntry::read(Path::new(table::PROC), pid).ok().map(|entry| entry.started);
        self.register().living.insert(pid, RegisteredChild { kin, number, started });
        Ok(OwnChild { child, children: self.clone(), ended: None, beside: None })
    }

    fn mark(&self, kin: SpawnOrigin, number: u64) -> String {
        match kin {
            SpawnOrigin::Ours => self.0.mark_of_ours.clone(),
            SpawnOrigin::Tool | SpawnOrigin::Warden | SpawnOrigin::AroundWarden => {
                format!("{}.{number}", self.0.mark_of_tools)
            }
        }
    }

    /// Whether the process of this number may talk to the daemon, as far as its descent tells: whoever descends from this
    /// process may not, but for the owner's own programs while they live; nor may who lies in the daemon's own service.
    /// Who cannot be told may not either. Blocks for a few reads of `/proc`.
    ///
    /// In a process that others use as well descent says nothing, so there everybody may.
    pub fn admits(&self, peer: Option<i32>) -> Result<(), BarredPeer> {
        if !self.0.is_alone {
            return Ok(());
        }
        let peer = peer.filter(|pid| *pid > 0).ok_or(BarredPeer::Unnamed)?;
        let found = descent::look(Path::new(table::PROC), peer, own_number())?;
        let child = match found.ancestry {
            ProcessAncestry::Stranger if !found.is_in_our_service => return Ok(()),
            ProcessAncestry::Stranger => return Err(BarredPeer::OfOurService { peer }),
            ProcessAncestry::Below { child } => child,
        };
        let is_ours = child.is_some_and(|child| self.is_ours(&child));
        if is_ours { Ok(()) } else { Err(BarredPeer::Descends { peer, child: child.map(|child| child.pid) }) }
    }

    /// True if this is a child of ours that lives and may talk to us.
    fn is_ours(&self, child: &ProcessEntry) -> bool {
        let look = || {
            let register = self.register();
            let registered = register.living.get(&child.pid)?;
            // Its number may have become another's since it was looked at.
            Some(registered.kin == SpawnOrigin::Ours && registered.started == Some(child.started))
        };
        look().unwrap_or_else(|| {
            // It may be so new that it is not registered yet.
            let _registered = self.0.spawning.lock().unwrap_or_else(PoisonError::into_inner);
            look() == Some(true)
        })
    }

    /// True if this is a warden of ours that lives: the number and the time of its start are those of one.
    fn is_warden(&self, pid: i32) -> bool {
        let Ok(entry) = ProcessEntry::read(Path::new(table::PROC), pid) else { return false };
        let is_of = |entry: ProcessEntry, kinds: &[SpawnOrigin]| {
            let register = self.register();
            let registered = register.living.get(&entry.pid);
            registered.is_some_and(|it| kinds.contains(&it.kin) && it.started == Some(entry.started))
        };
        if is_of(entry, &[SpawnOrigin::Warden, SpawnOrigin::AroundWarden]) {
            return true;
        }
        let parent = ProcessEntry::read(Path::new(table::PROC), entry.parent);
        parent.is_ok_and(|parent| is_of(parent, &[SpawnOrigin::AroundWarden]))
    }

    fn register(&self) -> MutexGuard<'_, ChildRegister> {
        self.0.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From now on, what is started below this process and loses its parent becomes a child of this process.
pub fn become_subreaper() -> io::Result<()> {
    // Any number but zero means yes.
    Ok(set_child_subreaper(Some(getpid()))?)
}

fn own_number() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// The reason why a process may not talk to the daemon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BarredPeer {
    #[error("what an agent starts may not talk to the daemon, and process {peer} descends from the daemon")]
    Descends {
        peer: i32,
        /// The daemon's child that it descends from.
        child: Option<i32>,
    },
    #[error(
        "what an agent starts may not talk to the daemon, and process {peer} lies in the daemon's service"
    )]
    OfOurService { peer: i32 },
    #[error(
        "what an agent starts may not talk to the daemon, and the system does not say which process connects; is it in \
         another container?"
    )]
    Unnamed,
    #[error(
        "what an agent starts may not talk to the daemon, and where process {peer} comes from cannot be told: {problem}"
    )]
    Unknown { peer: i32, problem: String },
}

/// A child of this process. Dropping it kills it, if it still runs.
pub struct OwnChild {
    child: Child,
    children: ChildProcesses,
    /// How it ended, once it has been reaped; its number may be another's from then on.
    ended: Option<ExitStatus>,
    /// Something that is let go of when it has been reaped.
    beside: Option<Box<dyn Any + Send>>,
}

impl OwnChild {
    /// Its number; another's once [`OwnChild::wait`] or [`OwnChild::try_wait`] has said how it ended.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Something that can be waited for in async code, until it is reaped by `wait`. It must not have been reaped yet.
    pub fn end(&self) -> io::Result<ChildExitWatch> {
        ChildExitWatch::of(&self.child)
    }

    /// How it ended, if it has; reaps it.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            // In one: what is not in the register any more is what was reaped.
            let mut register = self.children.register();
            self.ended = self.child.try_wait()?;
            if self.ended.is_some() {
                register.living.remove(&self.pid().as_raw_nonzero().get());
                drop(register);
                self.children.0.left.notify_one();
            }
        }
        Ok(self.ended)
    }

    /// Blocks until it has ended, and reaps it.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        // Nobody writes to it while we wait for its end.
        drop(self.child.stdin.take());
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            // Without reaping it, which must not happen unregistered.
            match waitid(WaitId::Pid(self.pid()), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Lets it go on, if somebody stopped it (SIGSTOP).
    pub fn wake(&self) {
        if self.ended.is_none() {
            // One that has ended meanwhile is not there to go on.
            let _ended = kill_process(self.pid(), Signal::CONT);
        }
    }

    /// Does as [`OwnChild::let_go`], with something that is kept until it has ended.
    pub fn let_go_with(mut self, beside: Box<dyn Any + Send>) {
        self.beside = Some(beside);
        self.let_go();
    }

    /// Leaves it to itself: it has been told to end, and does so soon. It is reaped when it has.
    pub fn let_go(mut self) {
        if self.children.0.is_alone {
            let table = Arc::clone(&self.children.0);
            table.departing.lock().unwrap_or_else(PoisonError::into_inner).push(self);
            table.left.notify_one();
        } else {
            // Nobody reaps for us there.
            let _ended = self.wait();
        }
    }

    /// Whether it has ended, without reaping it: its number, which may be its group's too, stays its own.
    pub fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match self.ended {
            Some(_) => Ok(true),
            None => Ok(waitid(WaitId::Pid(self.pid()), options)?.is_some()),
        }
    }

    /// Kills it, unless it was reaped.
    pub fn kill(&self) {
        if self.ended.is_none() {
            // One that has ended meanwhile is not there to be killed.
            let _ended = kill_process(self.pid(), Signal::KILL);
        }
    }

    /// Kills the process group that it leads, unless it was reaped. It must have been given a group of its own
    /// (`CommandExt::process_group(0)`).
    pub fn kill_group(&self) {
        if self.ended.is_none() {
            // There is nobody left in it after most commands.
            let _nobody = kill_process_group(self.pid(), Signal::KILL);
        }
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        // One whose end cannot be told is treated as one that runs.
        if let Ok(Some(_)) = self.try_wait() {
            return;
        }
        self.kill();
        if self.children.0.is_alone {
            // From now on it is an orphan, and reaped like one: a process that hangs in the kernel must not hang us.
            self.children.register().living.remove(&self.pid().as_raw_nonzero().get());
            self.children.0.left.notify_one();
        } else {
            let _ended = self.wait();
        }
    }
}

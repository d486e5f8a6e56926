//! What becomes of a process that lost its parent? It is reaped once it has ended, and ended unless a call that still runs,
//! or the owner's own program, left it.

use std::{
    path::Path,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    ChildProcesses, MARK, OwnChild, SpawnOrigin, own_number,
    table::{self, ProcessEntry},
};

/// Bytes of an environment that are searched for our mark, which stands first or last. Whoever hides it behind more is
/// ended sooner.
const MOST_ENVIRONMENT_BYTES: u64 = 256 << 10;
/// How often a sweep may ask again for environments that are not there yet, all orphans together: while a program is being
/// executed it has none, for as long as a busy machine keeps it waiting. Nobody can hold themselves in that state, so that
/// this ends only what hangs in the kernel.
const PATIENCE: u32 = 2_000;
/// Between two such questions. A sweep keeps processes from being started, so it does not dawdle.
const MOMENT: Duration = Duration::from_millis(1);
/// How often the last orphans are ended, each of which may leave further ones.
const LAST_SWEEPS: usize = 20;
/// How long ended processes may take to be gone, each time.
const LAST_PAUSE: Duration = Duration::from_millis(50);

/// What a look at the orphans came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReapCount {
    pub reaped: usize,
    /// Ended; they are reaped when that has come about.
    pub killed: usize,
}

impl ChildProcesses {
    /// Reaps orphans and ends those that nobody may leave, until `leaving` is cancelled and they are gone; to be cancelled
    /// when nothing is started any more. Does nothing in a process that others use as well.
    pub async fn reap_orphans(self, leaving: CancellationToken) {
        if !self.0.is_alone {
            return;
        }
        let mut child_signals = match signal(SignalKind::child()) {
            Ok(signals) => signals,
            Err(error) => return tracing::error!(%error, "processes that agents leave behind are not ended"),
        };
        loop {
            tokio::select! { biased;
                () = leaving.cancelled() => break,
                // The kernel tells of an orphan's end, and of no orphan's beginning.
                _ = child_signals.recv() => (),
                () = self.0.left.notified() => (),
            }
            self.sweep_beside(ReapPhase::Running).await;
        }
        // Those that were let go and are still there are killed when they are dropped.
        drop(std::mem::take(&mut *self.departing()));
        for _ in 0..LAST_SWEEPS {
            if self.sweep_beside(ReapPhase::Leaving).await.killed == 0 {
                return;
            }
            tokio::select! { _ = child_signals.recv() => (), () = sleep(LAST_PAUSE) => () }
        }
        tracing::warn!("processes that agents left behind do not end");
    }

    /// On a thread that may block: for `/proc`, and for a program that is being executed.
    async fn sweep_beside(&self, when: ReapPhase) -> ReapCount {
        let children = self.clone();
        let swept = tokio::task::spawn_blocking(move || children.sweep(when)).await;
        swept.unwrap_or_else(|error| {
            tracing::error!(%error, "orphans were not looked at");
            ReapCount::default()
        })
    }

    /// Looks once at each child of this process that is nobody's here.
    pub(super) fn sweep(&self, when: ReapPhase) -> ReapCount {
        let mut swept = ReapCount::default();
        self.see_out();
        let children = match table::children_of(Path::new(table::PROC), own_number()) {
            Ok(children) => children,
            Err(error) => {
                tracing::error!(%error, "the daemon's child processes cannot be told");
                return swept;
            }
        };
        // Nothing is born meanwhile, so a child of ours that is not registered is an orphan.
        let _no_birth = self.0.spawning.lock().unwrap_or_else(PoisonError::into_inner);
        let mut patience = PATIENCE;
        for number in children {
            let Some(pid) = Pid::from_raw(number) else { continue };
            if self.register().living.contains_key(&number) {
                continue;
            }
            // By its number and never "any child", which would take a registered one from its owner.
            match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
                Ok(Some(_)) => swept.reaped += 1,
                Ok(None) if self.is_left_alone(number, when, &mut patience) => {}
                Ok(None) => {
                    tracing::info!(pid = number, "ended a process that outlived what started it");
                    match kill_process(pid, Signal::KILL) {
                        Ok(()) => swept.killed += 1,
                        Err(error) => tracing::warn!(pid = number, %error, "it cannot be ended"),
                    }
                }
                // It is no child of ours any more.
                Err(_) => {}
            }
        }
        swept
    }

    /// Reaps those that were let go and have ended.
    fn see_out(&self) {
        let departing = std::mem::take(&mut *self.departing());
        let is_there = |child: &mut OwnChild| !matches!(child.try_wait(), Ok(Some(_)));
        let still_there: Vec<OwnChild> =
            departing.into_iter().filter_map(|mut child| is_there(&mut child).then_some(child)).collect();
        self.departing().extend(still_there);
    }

    fn departing(&self) -> MutexGuard<'_, Vec<OwnChild>> {
        self.0.departing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_left_alone(&self, number: i32, when: ReapPhase, patience: &mut u32) -> bool {
        let proc = Path::new(table::PROC);
        let is_inherited =
            |entry: ProcessEntry| self.0.inherited.iter().any(|it| it.started == entry.started);
        if self.0.inherited.iter().any(|it| it.pid == number)
            && ProcessEntry::read(proc, number).is_ok_and(is_inherited)
        {
            return true;
        }
        let read = || table::environment(proc, number, MOST_ENVIRONMENT_BYTES);
        let environment = once_there(read, || std::thread::sleep(MOMENT), patience);
        let mark = environment.split(|byte| *byte == 0).find_map(|variable| {
            variable
                .strip_prefix(MARK.as_bytes())?
                .strip_prefix(b"=")
                .and_then(|mark| str::from_utf8(mark).ok())
        });
        let Some(mark) = mark else { return false };
        let is_of_a_call = || {
            let register = self.register();
            let mut living = register.living.values();
            living.any(|child| child.kin != SpawnOrigin::Ours && mark == self.mark(child.kin, child.number))
        };
        mark == self.0.mark_of_ours || when == ReapPhase::Running && is_of_a_call()
    }
}

/// What is read, asked for again as long as it is not there yet and there is patience left.
fn once_there(read: impl Fn() -> Option<Vec<u8>>, mut wait: impl FnMut(), patience: &mut u32) -> Vec<u8> {
    loop {
        match read() {
            Some(found) => return found,
            None if *patience == 0 => return Vec::new(),
            None => {}
        }
        *patience -= 1;
        wait();
    }
}

/// Whether the daemon goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReapPhase {
    Running,
    /// No call runs any more.
    Leaving,
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::once_there;

    #[test]
    fn an_environment_that_is_not_there_for_a_moment_is_asked_for_again() {
        let (asked, waited) = (Cell::new(0), Cell::new(0));
        let there_the_third_time = || {
            asked.set(asked.get() + 1);
            (asked.get() >= 3).then(|| b"A=1".to_vec())
        };
        let mut patience = 5;
        let found = once_there(there_the_third_time, || waited.set(waited.get() + 1), &mut patience);
        assert_eq!((found.as_slice(), waited.get(), patience), (&b"A=1"[..], 2, 3));
        // Whoever has none is not waited for, and whoever never gets one does not keep all others waiting.
        assert!(once_there(|| Some(Vec::new()), || waited.set(waited.get() + 1), &mut patience).is_empty());
        assert_eq!((waited.get(), patience), (2, 3));
        for _ in 0..2 {
            assert!(once_there(|| None, || waited.set(waited.get() + 1), &mut patience).is_empty());
        }
        assert_eq!((waited.get(), patience), (5, 0));
    }
}

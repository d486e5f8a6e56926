//! How is a file read so that it is one state of it, and how are thousands of them read soon?

use std::{
    panic::resume_unwind,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::file_stamp::AgentFileStamp;

/// Times that a file is read which changes meanwhile. Whoever writes longer is not done.
const ATTEMPTS: usize = 3;

/// Threads that read at once: the work is the processor's more than the disk's, and the daemon has other work.
const MOST_THREADS: usize = 4;

/// Files that one thread reads before a second one is worth its start.
const FEW: usize = 32;

/// Reads a file until it holds still meanwhile; `None` when it does not. With the state that was read, which is missing when
/// the file is.
pub fn in_one_state<T>(
    path: &Path,
    met: AgentFileStamp,
    mut read: impl FnMut() -> T,
) -> Option<(T, Option<AgentFileStamp>)> {
    let mut before = Some(met);
    for _ in 0..ATTEMPTS {
        let found = read();
        let after = AgentFileStamp::of(path);
        if before == after {
            return Some((found, after));
        }
        before = after;
    }
    None
}

/// `work` for each, in the same order, on as many threads as are worth it. Blocks until all are done.
pub fn on_threads<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(MOST_THREADS).min(all.len().div_ceil(FEW));
    if threads < 2 {
        return all.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let share = || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(one) = all.get(at)
        {
            done.push((at, work(one)));
        }
        done
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(share)).collect();
        let mut done = share();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

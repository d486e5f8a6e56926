//! Tasks of the daemon, and what becomes of one that panics.
//!
//! A panic is a defect of ours. Whatever task it ends, it is logged under an id, [counted](TaskGroup::panics) for `daemon/status`,
//! and does not pass unseen by those who wait. What it means is said where the task begins: one that serves as long as the
//! daemon does is [begun again](TaskGroup::keep), one that others wait for goes on by [what its owner makes of
//! it](TaskGroup::caught), and without one that all depend on [the daemon ends](TaskGroup::spawn_vital). What any other one kept is
//! dropped with it, and its handle says that it panicked.

use std::{
    any::Any,
    borrow::Cow,
    collections::VecDeque,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::task::JoinHandle;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerWaitFuture},
};

use super::ids;

/// Panics that are remembered, the last ones. Whoever wants to know of more reads the log.
const REMEMBERED: usize = 16;
/// The pause before a task is begun again that panicked twice in a row; it doubles. The first time there is none, so that
/// nothing is missed for one bad moment.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A task that was well for so long is begun again at once.
const HEALTHY_TIME: Duration = Duration::from_secs(60);

/// Tasks with one owner, who can wait for them. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct TaskGroup {
    tracker: TaskTracker,
    panics: Arc<Panics>,
}

/// What panicked in a process.
#[derive(Debug, Default)]
struct Panics {
    seen: Mutex<PanicLog>,
    /// Cancelled when a task is gone without which nothing goes on.
    broken: CancellationToken,
    /// That task.
    broken_by: OnceLock<TaskPanic>,
}

#[derive(Debug, Default)]
struct PanicLog {
    count: u64,
    /// Oldest first.
    last: VecDeque<TaskPanic>,
}

/// A task panicked: told by what it was, and under what the log has more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{task} failed by a defect of the daemon; its log has more under {id}")]
pub struct TaskPanic {
    pub task: Cow<'static, str>,
    pub id: String,
}

impl TaskGroup {
    pub fn new() -> TaskGroup {
        TaskGroup::default()
    }

    /// Other tasks, which are waited for by themselves; what panics is counted with these.
    #[must_use]
    pub fn beside(&self) -> TaskGroup {
        TaskGroup { tracker: TaskTracker::new(), panics: Arc::clone(&self.panics) }
    }

    /// Begins a task. `name` says what it is, in words for whoever reads the log. Who awaits the handle meets the panic there.
    pub fn spawn<F>(&self, name: &'static str, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let panics = Arc::clone(&self.panics);
        self.tracker.spawn(async move {
            match AssertUnwindSafe(work).catch_unwind().await {
                Ok(done) => done,
                Err(panic) => {
                    panics.note(name, panic.as_ref());
                    resume_unwind(panic)
                }
            }
        })
    }

    /// Begins a task that serves until it returns; after a panic it is begun again, until `stop`.
    pub fn keep<F, B>(&self, name: &'static str, stop: CancellationToken, begin: B)
    where
        B: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let tasks = self.clone();
        self.tracker.spawn(async move {
            let mut pause = Duration::ZERO;
            loop {
                let began = tokio::time::Instant::now();
                // What begins it may panic, too.
                if tasks.caught(name, async { begin().await }).await.is_ok() {
                    return;
                }
                if HEALTHY_TIME <= began.elapsed() {
                    pause = Duration::ZERO;
                }
                // On the system's clock: a clock of the daemon's own may be what panics.
                if stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                    return;
                }
                tracing::warn!(task = name, "it is begun again");
                pause = (pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
            }
        });
    }

    /// Begins a task without which nothing goes on: when it panics, [`TaskGroup::broken`] completes, and the daemon ends.
    pub fn spawn_vital<F>(&self, name: &'static str, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let panics = Arc::clone(&self.panics);
        self.tracker.spawn(async move {
            if let Err(panic) = AssertUnwindSafe(work).catch_unwind().await {
                // The first one counts.
                let _known = panics.broken_by.set(panics.note(name, panic.as_ref()));
                panics.broken.cancel();
            }
        });
    }

    /// Completes when a task is gone without which nothing goes on. Cancel safe.
    pub async fn broken(&self) {
        self.panics.broken.cancelled().await;
    }

    /// Such a task, if one is gone.
    pub fn broken_by(&self) -> Option<&TaskPanic> {
        self.panics.broken_by.get()
    }

    /// Runs a part of a task after which the task goes on, also when that panics.
    pub async fn caught<T>(
        &self,
        name: impl Into<Cow<'static, str>>,
        work: impl Future<Output = T>,
    ) -> Result<T, TaskPanic> {
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(done) => Ok(done),
            Err(panic) => Err(self.panics.note(name, panic.as_ref())),
        }
    }

    /// How often something panicked, and what did last, the oldest first.
    pub fn panics(&self) -> (u64, Vec<TaskPanic>) {
        let seen = self.panics.lock();
        (seen.count, seen.last.iter().cloned().collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tracker.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tracker.is_empty()
    }

    /// No more are waited for than there are. Others can still be begun.
    pub fn close(&self) {
        self.tracker.close();
    }

    /// Completes when they are [closed](TaskGroup::close) and all have ended.
    pub fn wait(&self) -> TaskTrackerWaitFuture<'_> {
        self.tracker.wait()
    }
}

impl Panics {
    /// Tells the log, and remembers it.
    fn note(&self, name: impl Into<Cow<'static, str>>, panic: &(dyn Any + Send)) -> TaskPanic {
        let panicked = TaskPanic { task: name.into(), id: ids::fresh() };
        // Where it was said the hook has told already; the id leads there.
        let TaskPanic { task, id } = &panicked;
        tracing::error!(%id, %task, panic = words(panic), "a task of the daemon panicked");
        let mut seen = self.lock();
        seen.count += 1;
        if seen.last.len() == REMEMBERED {
            seen.last.pop_front();
        }
        seen.last.push_back(panicked.clone());
        panicked
    }

    fn lock(&self) -> MutexGuard<'_, PanicLog> {
        // Nothing panics while it is held.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a panic said.
pub fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("(no text)")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_counted_and_its_handle_says_so() {
        let tasks = TaskGroup::new();
        let beside = tasks.beside();
        let panicked = beside.spawn("a probe", async { panic!("by design") }).await.unwrap_err();
        assert_eq!(words(panicked.into_panic().as_ref()), "by design");
        let (count, last) = tasks.panics();
        assert_eq!((count, &*last[0].task), (1, "a probe"));
        assert!(!last[0].id.is_empty() && tasks.broken_by().is_none());
    }

    #[tokio::test]
    async fn a_kept_task_is_begun_again_and_its_stop_ends_the_wait() {
        let (tasks, stop, begun) = (TaskGroup::new(), CancellationToken::new(), Arc::new(AtomicU32::new(0)));
        let count = Arc::clone(&begun);
        tasks.keep("a probe", stop.clone(), move || {
            let count = Arc::clone(&count);
            async move {
                assert_eq!(count.fetch_add(1, Ordering::SeqCst), 1, "by design");
            }
        });
        tasks.close();
        tasks.wait().await;
        assert_eq!((begun.load(Ordering::SeqCst), tasks.panics().0), (2, 1));
        let (tasks, ending) = (TaskGroup::new(), stop.clone());
        tasks.keep("a probe", stop.clone(), move || {
            ending.cancel();
            async { panic!("by design") }
        });
        tasks.close();
        tasks.wait().await;
        assert_eq!(tasks.panics().0, 1);
    }

    #[tokio::test]
    async fn without_a_vital_task_all_is_broken_and_only_so_much_is_remembered() {
        let tasks = TaskGroup::new();
        tasks.beside().spawn_vital("the writer", async { panic!("by design") });
        tasks.broken().await;
        assert_eq!(&*tasks.broken_by().unwrap().task, "the writer");
        for _ in 0..REMEMBERED {
            let failed = tasks.caught("a part", async { assert!(!tasks.is_empty(), "by design") }).await;
            assert_eq!(failed.unwrap_err().task, "a part");
        }
        let (count, last) = tasks.panics();
        assert_eq!((count, last.len()), (REMEMBERED as u64 + 1, REMEMBERED));
    }
}

//! Time as a dependency, so that no test waits and no golden file changes daily.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use protocol::Timestamp;

/// The two clocks of a machine and a way to wait.
pub trait Clock: Send + Sync + 'static {
    /// Wall time; may jump.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment; never jumps, and durations are measured with it.
    fn monotonic(&self) -> Duration;
    /// Completes once `monotonic()` has grown by `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// What the system would write now into a file that is changed, in seconds and nanoseconds: its clock moves by leaps of some
/// milliseconds, and what is changed twice within one leap looks as if it was changed once.
pub fn file_time() -> (i64, i64) {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    (now.tv_sec, now.tv_nsec)
}

/// A time that no file which was changed by now has behind it: since Linux 6.13 some file systems write finer times than [`file_time`]
/// shows (kernel documentation, "Multigrain Timestamps").
pub fn file_time_at_most() -> (i64, i64) {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    (now.tv_sec, now.tv_nsec)
}

/// The machine's own clocks.
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the system's clocks")]
    pub fn new() -> Arc<SystemClock> {
        Arc::new(SystemClock { started: Instant::now() })
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the system's clocks")]
    fn now(&self) -> Timestamp {
        // A clock before 1970 reads as the epoch: event times are then useless, order is not.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// A clock that moves only when told to. Independent of tokio's paused time on purpose: a paused runtime
/// advances by itself while SQLite's worker thread is busy.
pub struct ManualClock {
    epoch: Timestamp,
    elapsed: watch::Sender<Duration>,
    /// The time by which it was set ahead.
    jumped_us: AtomicU64,
}

impl ManualClock {
    pub fn starting_at(epoch: Timestamp) -> Arc<ManualClock> {
        Arc::new(ManualClock {
            epoch,
            elapsed: watch::Sender::new(Duration::ZERO),
            jumped_us: AtomicU64::new(0),
        })
    }

    /// Sets the clock ahead without time passing, as whoever keeps a machine's time wrongly does.
    pub fn jump(&self, by: Duration) {
        let by = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.jumped_us.fetch_add(by, Ordering::Relaxed);
    }

    /// Moves both clocks and wakes whoever slept until then.
    pub fn advance(&self, by: Duration) {
        self.elapsed.send_modify(|elapsed| *elapsed += by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        let jumped = Duration::from_micros(self.jumped_us.load(Ordering::Relaxed));
        self.epoch.plus(*self.elapsed.borrow()).plus(jumped)
    }

    fn monotonic(&self) -> Duration {
        *self.elapsed.borrow()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut elapsed = self.elapsed.subscribe();
        let due = *elapsed.borrow() + duration;
        Box::pin(async move {
            if elapsed.wait_for(|elapsed| due <= *elapsed).await.is_err() {
                // The clock is gone, so this time never comes.
                std::future::pending::<()>().await;
            }
        })
    }
}

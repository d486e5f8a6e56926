//! How does heavy work run beside the executor, and how does it stop?

use std::{panic::resume_unwind, time::Duration};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::CallContext;
use protocol::{ToolErrorType, ToolResult};

/// How long a walk or search may take when the run sets no deadline. A search through gigabytes ends sooner;
/// what takes longer hangs on a slow file system.
const MAX_WORK_TIME: Duration = Duration::from_secs(60);

/// How long work that was told to stop is waited for.
const STOP_TIME: Duration = Duration::from_secs(2);

/// Runs `work` on a blocking thread and waits for it: for work that is bounded but too much for the async threads.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // It cannot be cancelled: nobody holds its handle but this.
        Err(error) => resume_unwind(error.into_panic()),
    }
}

/// Runs `work` on a blocking thread. `work` looks at the token often and returns soon after it fires: when the
/// run stops, when the time is up, and when the returned future is dropped. What it returns then is not used.
pub async fn off_thread(
    cx: CallContext,
    work: impl FnOnce(&CancellationToken) -> ToolResult + Send + 'static,
) -> ToolResult {
    match beside(&cx, work).await {
        Ok(result) | Err(result) => result,
    }
}

/// Waits for something that a call needs before it begins, as long as the run goes on and the call has time. The error is what the call
/// came to.
pub async fn in_time<T>(cx: &CallContext, wait: impl Future<Output = T>) -> Result<T, ToolResult> {
    let limit = cx.deadline.unwrap_or(MAX_WORK_TIME);
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(cancelled()),
        () = cx.clock.sleep(limit) => {
            let message = format!("not begun after {} s: others come first; try it again", limit.as_secs());
            Err(ToolResult::failure(ToolErrorType::TimedOut, message))
        }
        done = wait => Ok(done),
    }
}

/// Like [`off_thread`], for work that is not all of a call. The error is what the call came to.
pub async fn beside<T: Send + 'static>(
    cx: &CallContext,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<T, ToolResult> {
    let stop = cx.cancel.child_token();
    let _stops_when_dropped = stop.clone().drop_guard();
    let seen_by_work = stop.clone();
    let mut job = tokio::task::spawn_blocking(move || work(&seen_by_work));
    let limit = cx.deadline.unwrap_or(MAX_WORK_TIME);
    // In this order: work that ended because of the token must not pass for work that was done.
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => {
            wait_a_little(job, cx).await;
            Err(cancelled())
        }
        () = cx.clock.sleep(limit) => {
            stop.cancel();
            wait_a_little(job, cx).await;
            let message = format!("not finished after {} s; narrow what is searched", limit.as_secs());
            Err(ToolResult::failure(ToolErrorType::TimedOut, message))
        }
        joined = &mut job => match joined {
            Ok(done) => Ok(done),
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // The runtime is going down.
            Err(_) => Err(cancelled()),
        },
    }
}

/// Runs `work` on a blocking thread, and tells what it did whatever else happens: work that changes something must not be
/// reported as stopped when it was not. `work` looks at the token up to the moment from which on it cannot be stopped, and
/// is done soon after.
pub async fn to_the_end(
    cx: CallContext,
    work: impl FnOnce(&CancellationToken) -> ToolResult + Send + 'static,
) -> ToolResult {
    let stop = cx.cancel.child_token();
    let _stops_when_dropped = stop.clone().drop_guard();
    let seen_by_work = stop.clone();
    let mut job = tokio::task::spawn_blocking(move || work(&seen_by_work));
    let limit = cx.deadline.unwrap_or(MAX_WORK_TIME);
    let joined = tokio::select! {
        biased;
        joined = &mut job => Some(joined),
        () = cx.cancel.cancelled() => None,
        () = cx.clock.sleep(limit) => None,
    };
    let joined = match joined {
        Some(joined) => Some(joined),
        None => {
            stop.cancel();
            tokio::select! {
                biased;
                joined = &mut job => Some(joined),
                () = cx.clock.sleep(STOP_TIME) => None,
            }
        }
    };
    match joined {
        Some(Ok(result)) => result,
        Some(Err(error)) if error.is_panic() => resume_unwind(error.into_panic()),
        // The runtime is going down.
        Some(Err(_)) => cancelled(),
        None => {
            tracing::warn!("a change did not stop; it hangs in the file system");
            let message = "it hangs in the file system; whether anything was changed is not known";
            ToolResult::failure(ToolErrorType::TimedOut, message)
        }
    }
}

/// Work looks at its token often, so nothing outlives its call; but what hangs in the file system cannot look, and
/// its call must end all the same.
async fn wait_a_little<T>(job: JoinHandle<T>, cx: &CallContext) {
    tokio::select! {
        // What it returns is not used, and a panic of work that was given up concerns nobody.
        _unused = job => (),
        () = cx.clock.sleep(STOP_TIME) => tracing::warn!("a search did not stop; it hangs in the file system"),
    }
}

/// The result of a call whose run was stopped.
pub fn cancelled() -> ToolResult {
    ToolResult::failure(ToolErrorType::Cancelled, "the run was stopped before the call was done")
}

#[cfg(test)]
mod tests;

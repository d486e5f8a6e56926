//! Does heavy work end with its call?

use std::sync::mpsc;

use super::*;
use crate::tests::Bench;
use protocol::Timestamp;
use sys::clock::{Clock, ManualClock};

/// Work that says when it has begun, goes on until it is told to stop, and says when it has ended.
struct Endless {
    begun: tokio::sync::oneshot::Receiver<()>,
    ended: mpsc::Receiver<()>,
}

fn endless(cx: CallContext) -> (impl Future<Output = ToolResult> + Send, Endless) {
    let (say_begun, begun) = tokio::sync::oneshot::channel();
    let (say_ended, ended) = mpsc::channel();
    let running = off_thread(cx, move |stop| {
        say_begun.send(()).unwrap();
        while !stop.is_cancelled() {
            std::thread::yield_now();
        }
        say_ended.send(()).unwrap();
        ToolResult::text("looks like a result")
    });
    (running, Endless { begun, ended })
}

#[tokio::test]
async fn a_cancel_ends_work_that_is_under_way_and_waits_for_its_end() {
    let bench = Bench::new(&[]);
    let (running, endless) = endless(bench.call_context());
    let cancel = async {
        endless.begun.await.unwrap();
        bench.cancel.cancel();
    };
    let (result, ()) = tokio::join!(running, cancel);
    assert_eq!(result.error.unwrap().kind, ToolErrorType::Cancelled);
    assert_eq!(endless.ended.try_recv(), Ok(()));
}

#[tokio::test]
async fn work_ends_at_the_deadline() {
    let clock = ManualClock::starting_at(Timestamp(0));
    let deadline = Some(Duration::from_secs(5));
    let cx = CallContext { deadline, clock: clock.clone(), ..Bench::new(&[]).call_context() };
    let (running, endless) = endless(cx);
    let pass = async {
        endless.begun.await.unwrap();
        assert_eq!(clock.monotonic(), Duration::ZERO);
        clock.advance(Duration::from_secs(5));
    };
    let (result, ()) = tokio::join!(running, pass);
    assert_eq!(result.error.unwrap().message, "not finished after 5 s; narrow what is searched");
    assert_eq!(endless.ended.try_recv(), Ok(()));
}

#[tokio::test]
async fn dropping_the_call_ends_its_work() {
    let (running, endless) = endless(Bench::new(&[]).call_context());
    let mut running = Box::pin(running);
    tokio::select! {
        biased;
        _ = &mut running => panic!("it has no end of its own"),
        begun = endless.begun => begun.unwrap(),
    }
    drop(running);
    endless.ended.recv().unwrap();
}

#[tokio::test]
async fn a_change_that_was_made_is_told_though_the_run_was_stopped() {
    let bench = Bench::new(&[]);
    let (say_begun, begun) = tokio::sync::oneshot::channel();
    let running = to_the_end(bench.call_context(), move |stop| {
        say_begun.send(()).unwrap();
        while !stop.is_cancelled() {
            std::thread::yield_now();
        }
        ToolResult::text("it was done by then")
    });
    let cancel = async {
        begun.await.unwrap();
        bench.cancel.cancel();
    };
    let (result, ()) = tokio::join!(running, cancel);
    assert_eq!(result, ToolResult::text("it was done by then"));
}

#[tokio::test]
async fn a_change_that_hangs_is_told_as_unknown() {
    let clock = ManualClock::starting_at(Timestamp(0));
    let bench = Bench::new(&[]);
    let (say_begun, begun) = tokio::sync::oneshot::channel();
    let (let_go, hold) = mpsc::channel::<()>();
    let cx = CallContext { clock: clock.clone(), ..bench.call_context() };
    let running = to_the_end(cx, move |_| {
        say_begun.send(()).unwrap();
        // As a dead network file system does, until the test is over.
        let _over = hold.recv();
        ToolResult::text("too late")
    });
    let mut running = Box::pin(running);
    tokio::select! {
        biased;
        _ = &mut running => panic!("it hangs"),
        begun = begun => begun.unwrap(),
    }
    bench.cancel.cancel();
    // The first look at the cancel begins the wait.
    assert!(futures_util::FutureExt::now_or_never(&mut running).is_none());
    clock.advance(STOP_TIME);
    assert_eq!(running.await.error.unwrap().kind, ToolErrorType::TimedOut);
    drop(let_go);
}

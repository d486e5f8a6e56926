//! How a daemon stops, and how it is brought to rest: nothing is lost, and what may end does (spec 11, promise 9; spec
//! 01, `daemon/drain`, `daemon/shutdown`).

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use subagentd::{
    protocol::{Risk, ToolKind},
    sys::clock::ManualClock,
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::{AbortHandle, JoinSet},
    time::timeout,
};

use crate::{
    probe::{Probe, ProbeHandle},
    support::{Cast, Client, House, Reply, Running, STUCK, Script, lines},
};

const GRACE: Duration = Duration::from_secs(10);

fn agent(name: &str, tools: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Does things.\ncompletion: tool\ntools: [{tools}]\n---\nYou are {name}.\n"
    )
}

/// A house whose turns may end when it stops, and a mutator to wait for.
struct Scene {
    house: House,
    clock: Arc<ManualClock>,
    handle: ProbeHandle,
    began: mpsc::UnboundedReceiver<String>,
}

impl Scene {
    fn new() -> Scene {
        let (probe, handle, began) = Probe::new("probe", ToolKind::Edit, Risk::Safe);
        let (mut house, clock) = House::new()
            .tool(probe)
            .agent("lead", &agent("lead", "worker, probe"))
            .agent("worker", &agent("worker", "probe"))
            .manual_clock();
        house.config.shutdown.grace.value = GRACE;
        Scene { house, clock, handle, began }
    }

    fn script(mut self, script: &Script) -> Scene {
        self.house = self.house.script(script);
        self
    }

    async fn began(&mut self) {
        timeout(STUCK, self.began.recv()).await.unwrap();
    }

    fn ran_no_more(&mut self) {
        assert!(self.began.try_recv().is_err(), "the mutator ran again");
    }
}

/// What goes on beside the test.
struct Beside<T> {
    task: AbortHandle,
    set: JoinSet<T>,
}

impl<T: Send + 'static> Beside<T> {
    fn new(work: impl Future<Output = T> + Send + 'static) -> Beside<T> {
        let mut set = JoinSet::new();
        Beside { task: set.spawn(work), set }
    }

    fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    async fn end(mut self) -> T {
        timeout(STUCK, self.set.join_next()).await.expect("it does not end").unwrap().unwrap()
    }
}

fn waiting() -> Reply {
    Reply::calls(&[("probe", json!({ "do": "wait" }))])
}

/// Asks the daemon to stop, and waits until it has begun to.
async fn shut_down(running: Running, client: &mut Client) -> Beside<bool> {
    client.call("daemon/shutdown", json!({})).await;
    let stopping = Beside::new(running.daemon.stop());
    client.settle().await;
    stopping
}

async fn stopped(stopping: Beside<bool>) {
    assert!(stopping.end().await, "something was left");
}

fn of_type<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["type"] == kind).collect()
}

#[tokio::test]
async fn turn_under_way_ends_and_the_next_daemon_goes_on_after_it() {
    let script = Script::new([waiting(), Reply::done("ok")]);
    let mut scene = Scene::new().script(&script);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    scene.began().await;
    let stopping = shut_down(running, &mut client).await;
    scene.clock.advance(GRACE - Duration::from_millis(1));
    client.settle().await;
    assert!(!stopping.is_finished(), "the turn was cut off before the grace was over");
    scene.handle.release.add_permits(1);
    stopped(stopping).await;
    assert_eq!(script.requests().len(), 1, "a stopping daemon asked the model");

    let running = scene.house.boot().await;
    assert_eq!(running.client().ended(&run).await["result"], "ok");
    let log = running.log().await;
    let at = |kind: &str| log.iter().position(|it| it["type"] == kind).unwrap();
    assert!(at("turn.completed") < at("run.resumed"), "{}", lines(&log));
    assert_eq!(log[at("run.resumed")]["data"]["unclean"], false);
    assert_eq!(of_type(&log, "model.retrying").len(), 0, "nothing was asked in vain: {}", lines(&log));
    scene.ran_no_more();
    let is_success = |it: &&Value| it["data"]["name"] == "probe" && it["data"]["to"] == "success";
    assert_eq!(log.iter().filter(is_success).count(), 1, "{}", lines(&log));
    running.stop().await;
}

#[tokio::test]
async fn turn_that_takes_longer_is_cut_off_and_its_call_never_repeated() {
    let script = Script::new([waiting(), Reply::done("checked it")]);
    let mut scene = Scene::new().script(&script);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    scene.began().await;
    let stopping = shut_down(running, &mut client).await;
    scene.clock.advance(GRACE);
    stopped(stopping).await;

    let running = scene.house.boot().await;
    assert_eq!(running.client().ended(&run).await["result"], "checked it");
    scene.ran_no_more();
    let told = format!("{:?}", script.requests().last().unwrap().messages.last().unwrap());
    assert!(told.contains("INTERRUPTED"), "{told}");
    running.stop().await;
}

#[tokio::test]
async fn model_that_still_answers_is_waited_for_or_asked_again() {
    for in_time in [true, false] {
        let gate = Arc::new(Semaphore::new(0));
        let script =
            Script::new([Reply::after(&gate, Reply::calls(&[("probe", json!({}))])), Reply::done("ok")]);
        let mut scene = Scene::new().script(&script);
        let running = scene.house.boot().await;
        let mut client = running.client();
        let (run, _) = client.start(&running, "worker", json!({})).await;
        script.asked().await;
        let stopping = shut_down(running, &mut client).await;
        if in_time {
            gate.add_permits(1);
            // The whole turn ends, tools included.
            scene.began().await;
        } else {
            scene.clock.advance(GRACE);
        }
        stopped(stopping).await;
        gate.add_permits(1);
        let running = scene.house.boot().await;
        assert_eq!(running.client().ended(&run).await["result"], "ok");
        let log = running.log().await;
        // What the model was asked for in vain.
        let retried = !of_type(&log, "model.retrying").is_empty();
        assert_eq!(retried, !in_time, "{}", lines(&log));
        running.stop().await;
    }
}

#[tokio::test]
async fn run_that_can_end_in_its_last_turn_does() {
    let gate = Arc::new(Semaphore::new(0));
    let script = Script::new([Reply::after(&gate, Reply::done("just in time"))]);
    let scene = Scene::new().script(&script);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    let stopping = shut_down(running, &mut client).await;
    gate.add_permits(1);
    stopped(stopping).await;
    let running = scene.house.boot().await;
    let log = running.log().await;
    assert_eq!(of_type(&log, "run.resumed").len(), 0, "{}", lines(&log));
    assert_eq!(running.client().ended(&run).await["result"], "just in time");
    running.stop().await;
}

#[tokio::test]
async fn stopping_daemon_refuses_new_runs_and_answers_what_only_reads() {
    let script = Script::new([waiting(), Reply::done("ok")]);
    let mut scene = Scene::new().script(&script);
    let running = scene.house.boot().await;
    let work = running.work().to_owned();
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    scene.began().await;
    let shutdown = client.call("daemon/shutdown", json!({})).await;
    assert_eq!(shutdown["suspendedRuns"], 1);
    let stopping = Beside::new(running.daemon.stop());
    let start = |more: Value| {
        let mut params = json!({ "agent": "worker", "model": "script", "prompt": "x" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    for more in [json!({ "workspace": work }), json!({ "sessionId": session })] {
        let (kind, error) = client.refused("run/start", start(more)).await;
        assert_eq!((kind.as_str(), &error["data"]["retryable"]), ("SHUTTING_DOWN", &json!(true)), "{error}");
    }
    assert_eq!(client.call("run/get", json!({ "runId": run })).await["state"], "running");
    client.call("daemon/status", json!({})).await;
    // A cancel still counts.
    client.call("run/cancel", json!({ "runId": run })).await;
    stopped(stopping).await;
    let running = scene.house.boot().await;
    assert_eq!(running.client().ended(&run).await["reason"], "ABORTED");
    let log = running.log().await;
    assert_eq!(of_type(&log, "run.resumed").len(), 0, "{}", lines(&log));
    running.stop().await;
}

#[tokio::test]
async fn parents_that_wait_for_children_and_runs_that_wait_for_both_hold_up_no_stop() {
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[("worker", json!({ "prompt": "x" }))]), Reply::done("whole")]),
        ("lead/worker", vec![waiting(), Reply::done("part")]),
    ]);
    let mut scene = Scene::new();
    scene.house = scene.house.model("script", &cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "lead", json!({})).await;
    scene.began().await;
    let (queued, _) = client.start(&running, "lead", json!({ "sessionId": session, "prompt": "next" })).await;
    let stopping = shut_down(running, &mut client).await;
    assert!(!stopping.is_finished());
    scene.handle.release.add_permits(1);
    stopped(stopping).await;

    let running = scene.house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&run).await["result"], "whole");
    scene.handle.release.add_permits(1);
    assert_eq!(client.ended(&queued).await["result"], "whole");
    let log = running.log().await;
    assert_eq!(of_type(&log, "run.started").len(), 4, "{}", lines(&log));
    assert_eq!(of_type(&log, "run.resumed").len(), 3, "{}", lines(&log));
    running.stop().await;
}

/// A request to bring the daemon to rest, on a connection of its own.
fn drain(running: &Running, mode: &str, deadline_ms: u64) -> Beside<Value> {
    let mut client = running.client();
    let params = json!({ "mode": mode, "deadlineMs": deadline_ms });
    Beside::new(async move { client.call("daemon/drain", params).await })
}

async fn refuses_new_runs(client: &mut Client, running: &Running) {
    let params = json!({ "workspace": running.work(), "agent": "worker", "model": "script", "prompt": "x" });
    let (kind, error) = client.refused("run/start", params).await;
    assert_eq!(kind, "SHUTTING_DOWN", "{error}");
}

#[tokio::test]
async fn drain_lets_runs_finish_and_takes_no_new_ones() {
    let script = Script::new([waiting(), Reply::done("ok")]);
    let mut scene = Scene::new().script(&script);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    let (queued, _) = client.start(&running, "worker", json!({ "sessionId": session })).await;
    scene.began().await;
    // At the deadline it is told what is left, and nothing is done to it.
    let draining = drain(&running, "finish", 5_000);
    client.settle().await;
    scene.clock.advance(Duration::from_secs(5));
    let result = draining.end().await;
    assert_eq!((&result["drained"], &result["liveRuns"]), (&json!(false), &json!(2)), "{result}");
    refuses_new_runs(&mut client, &running).await;
    let draining = drain(&running, "finish", 600_000);
    client.settle().await;
    scene.handle.release.add_permits(2);
    let result = draining.end().await;
    assert_eq!(result, json!({ "drained": true, "liveRuns": 0, "suspendedRuns": 0 }));
    for run in [&run, &queued] {
        assert_eq!(client.ended(run).await["reason"], "GOAL");
    }
    refuses_new_runs(&mut client, &running).await;
    client.call("daemon/status", json!({})).await;
    running.stop().await;
}

#[tokio::test]
async fn drain_parks_runs_where_their_turns_end() {
    let script = Script::new([waiting(), Reply::done("ok")]);
    let mut scene = Scene::new().script(&script);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    let (queued, _) = client.start(&running, "worker", json!({ "sessionId": session })).await;
    scene.began().await;
    let draining = drain(&running, "park", 600_000);
    client.settle().await;
    assert!(!draining.is_finished());
    refuses_new_runs(&mut client, &running).await;
    scene.handle.release.add_permits(1);
    let result = draining.end().await;
    assert_eq!(result, json!({ "drained": true, "liveRuns": 0, "suspendedRuns": 2 }));
    let status = client.call("daemon/status", json!({})).await;
    assert_eq!((&status["runs"]["running"], &status["runs"]["queued"]), (&json!(1), &json!(1)), "{status}");
    assert_eq!(script.requests().len(), 1);
    running.stop_unfinished().await;

    let running = scene.house.boot().await;
    let mut client = running.client();
    scene.handle.release.add_permits(1);
    for run in [&run, &queued] {
        assert_eq!(client.ended(run).await["result"], "ok");
    }
    scene.began().await;
    scene.ran_no_more();
    running.stop().await;
}

/// What is answered must be true: a run at rest is not stopped by a cancel that nobody takes.
#[tokio::test]
async fn run_at_rest_can_be_cancelled_or_says_that_it_cannot() {
    let script = Script::new([waiting(), Reply::done("ok")]);
    let mut scene = Scene::new().script(&script);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    scene.began().await;
    let draining = drain(&running, "park", 600_000);
    client.settle().await;
    scene.handle.release.add_permits(1);
    draining.end().await;
    let cancelled = client.request("run/cancel", json!({ "runId": run })).await;
    match cancelled["error"]["data"]["kind"].as_str() {
        Some(kind) => assert_eq!(kind, "SHUTTING_DOWN", "{cancelled}"),
        None => assert!(cancelled["result"]["seq"].is_i64(), "it was not stopped: {cancelled}"),
    }
    let steered = client.request("run/steer", json!({ "runId": run, "text": "x" })).await;
    match steered["error"]["data"]["kind"].as_str() {
        Some(kind) => assert_eq!(kind, "SHUTTING_DOWN", "{steered}"),
        None => assert!(steered["result"]["seq"].is_i64(), "{steered}"),
    }
    running.stop_unfinished().await;
    let running = scene.house.boot().await;
    running.client().ended(&run).await;
    running.stop().await;
}

#[tokio::test]
async fn a_parent_that_is_stopped_over_a_child_at_rest_comes_to_rest_too() {
    let gate = Arc::new(Semaphore::new(0));
    let both = Reply::calls(&[("worker", json!({ "prompt": "x" })), ("probe", json!({ "do": "wait" }))]);
    let cast = Cast::new([
        ("lead", vec![both, Reply::done("never")]),
        (
            "lead/worker",
            vec![Reply::after(&gate, Reply::calls(&[("probe", json!({}))])), Reply::done("part")],
        ),
    ]);
    let mut scene = Scene::new();
    scene.house = scene.house.model("script", &cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    scene.began().await;
    cast.asked("lead/worker").await;
    let draining = drain(&running, "park", 600_000);
    client.settle().await;
    gate.add_permits(1);
    scene.began().await;
    // The child's turn has ended, and nobody drives it any more.
    client
        .until("events/list", json!({ "filter": { "types": ["turn.completed"] }, "from": 0 }), |it| {
            !it["events"].as_array().unwrap().is_empty()
        })
        .await;
    client.settle().await;
    assert_eq!(running.daemon.census().live_runs, 1);
    client.call("run/cancel", json!({ "runId": run })).await;
    let result = draining.end().await;
    assert_eq!(result, json!({ "drained": true, "liveRuns": 0, "suspendedRuns": 2 }));
    drop(client);
    running.stop_unfinished().await;

    let running = scene.house.boot().await;
    assert_eq!(running.client().ended(&run).await["reason"], "ABORTED");
    running.stop().await;
}

#[tokio::test]
async fn drain_cancels_runs_their_children_and_those_that_wait() {
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[("worker", json!({ "prompt": "x" }))])]),
        ("lead/worker", vec![waiting()]),
    ]);
    let mut scene = Scene::new();
    scene.house = scene.house.model("script", &cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "lead", json!({})).await;
    let (queued, _) = client.start(&running, "lead", json!({ "sessionId": session })).await;
    scene.began().await;
    let result = drain(&running, "cancel", 60_000).end().await;
    assert_eq!(result, json!({ "drained": true, "liveRuns": 0, "suspendedRuns": 0 }));
    for run in [&run, &queued] {
        assert_eq!(client.ended(run).await["reason"], "ABORTED");
    }
    refuses_new_runs(&mut client, &running).await;
    let log = running.log().await;
    assert_eq!(of_type(&log, "run.completed").len(), 3, "{}", lines(&log));
    // The one that waited did not begin when the way was free.
    assert_eq!(of_type(&log, "run.started").len(), 2, "{}", lines(&log));
    running.stop().await;
}

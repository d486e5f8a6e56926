//! A full disk parks the runs: they hold still, reads are answered, what would write is refused, and when there is room
//! again every run ends as if nothing had been (spec 11, promise 8).
//!
//! SQLite's own answer to a full disk is had from a trigger: a table whose row numbers are used up. What may be written
//! into the room that is kept, that a run is parked, is let through.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use subagentd::{
    protocol::{Risk, ToolKind},
    sys::clock::ManualClock,
};
use tokio::{
    sync::{Semaphore, mpsc},
    time::timeout,
};

use crate::{
    probe::{Probe, ProbeHandle},
    support::{Cast, Client, House, Reply, Running, STUCK, lines},
};

/// The pause between two looks for room.
const PROBE: Duration = Duration::from_secs(1);

fn agent(name: &str, tools: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Does things.\ncompletion: tool\ntools: [{tools}]\n---\nYou are {name}.\n"
    )
}

struct Scene {
    house: House,
    clock: Arc<ManualClock>,
    handle: ProbeHandle,
    began: mpsc::UnboundedReceiver<String>,
}

impl Scene {
    fn new(cast: &Cast) -> Scene {
        let (probe, handle, began) = Probe::new("probe", ToolKind::Edit, Risk::Safe);
        let (house, clock) = House::new()
            .tool(probe)
            .model("script", cast)
            .agent("lead", &agent("lead", "worker, probe"))
            .agent("worker", &agent("worker", "probe"))
            .manual_clock();
        Scene { house, clock, handle, began }
    }

    async fn began(&mut self) {
        timeout(STUCK, self.began.recv()).await.unwrap();
    }
}

/// From now on the disk is full, for all but the news that runs are parked.
async fn fill(running: &Running) {
    running.tamper("create table used_up (n integer primary key autoincrement)").await;
    running.tamper("insert into used_up values (9223372036854775807)").await;
    running
        .tamper(
            "create trigger disk_full before insert on events when new.type <> 'run.parked'
             begin insert into used_up values (null); end",
        )
        .await;
}

async fn make_room(running: &Running) {
    running.tamper("drop trigger disk_full").await;
    running.tamper("drop table used_up").await;
}

/// Writes something, so that the daemon finds out.
async fn bump_into_it(client: &mut Client, running: &Running) {
    let params = json!({ "workspace": running.work() });
    let (kind, error) = client.refused("session/create", params).await;
    assert_eq!((kind.as_str(), &error["data"]["retryable"]), ("STORAGE_FULL", &json!(true)), "{error}");
}

async fn until_parked(client: &mut Client, n: u64) {
    client.until("daemon/status", json!({}), |it| it["runs"]["parked"] == n).await;
}

async fn until_room(client: &mut Client) {
    let is_over = |it: &Value| it["database"]["storageFull"] == false && it["runs"]["parked"] == 0;
    client.until("daemon/status", json!({}), is_over).await;
}

fn waiting() -> Reply {
    Reply::calls(&[("probe", json!({ "do": "wait" }))])
}

fn of_type<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["type"] == kind).collect()
}

/// One run thinks, one acts, one waits for its child, and one waits in a queue.
#[tokio::test]
async fn all_runs_hold_still_and_go_on_when_there_is_room() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[("worker", json!({ "prompt": "x" }))]), Reply::done("whole")]),
        ("lead/worker", vec![Reply::after(&gate, Reply::done("part"))]),
        ("worker", vec![waiting(), Reply::done("worked")]),
    ]);
    let mut scene = Scene::new(&cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (lead, session) = client.start(&running, "lead", json!({})).await;
    let (queued, _) = client.start(&running, "lead", json!({ "sessionId": session })).await;
    let (worker, of_worker) = client.start(&running, "worker", json!({})).await;
    cast.asked("lead/worker").await;
    scene.began().await;
    let mut watcher = running.client();
    watcher.call("session/attach", json!({ "sessionId": of_worker, "from": "now" })).await;

    fill(&running).await;
    bump_into_it(&mut client, &running).await;
    until_parked(&mut client, 4).await;
    let parked = watcher.events_until("run.parked").await;
    assert_eq!(parked.last().unwrap()["data"]["reason"], "storageFull");
    let status = client.call("daemon/status", json!({})).await;
    assert_eq!(status["database"]["storageFull"], true);
    assert_ne!(status["degraded"], json!([]));

    // What only reads is answered.
    for run in [&lead, &queued, &worker] {
        assert_eq!(client.call("run/get", json!({ "runId": run })).await["state"], "parked");
    }
    for (method, params) in [
        ("run/list", json!({})),
        ("session/list", json!({})),
        ("session/get", json!({ "sessionId": session })),
        ("session/history", json!({ "sessionId": of_worker })),
        ("events/list", json!({ "filter": { "runId": worker } })),
        ("queue/list", json!({})),
        ("agents/list", json!({})),
    ] {
        client.call(method, params).await;
    }
    let waited = client.call("run/wait", json!({ "runId": worker, "timeoutMs": 0 })).await;
    assert_eq!(waited["done"], false);

    // What would write is refused and changes nothing.
    let before = running.log().await.len();
    for (method, params) in [
        (
            "run/start",
            json!({ "workspace": running.work(), "agent": "worker", "model": "script", "prompt": "x" }),
        ),
        ("run/cancel", json!({ "runId": worker })),
        ("run/cancel", json!({ "runId": lead })),
        ("run/cancel", json!({ "runId": queued })),
        ("run/steer", json!({ "runId": worker, "text": "x", "idempotencyKey": "steer-001" })),
        ("queue/promote", json!({ "runId": queued })),
        ("session/create", json!({ "workspace": running.work() })),
        ("session/update", json!({ "sessionId": session, "title": "x" })),
    ] {
        let (kind, error) = client.refused(method, params).await;
        assert_eq!(kind, "STORAGE_FULL", "{method}: {error}");
    }
    // What ends meanwhile is kept, and acted upon later.
    gate.add_permits(1);
    scene.handle.release.add_permits(1);
    client.settle().await;
    assert_eq!(running.log().await.len(), before);
    let asked = cast.requests("lead").len();

    make_room(&running).await;
    gate.add_permits(1);
    scene.clock.advance(PROBE);
    for (run, result) in [(&lead, "whole"), (&queued, "whole"), (&worker, "worked")] {
        let record = client.ended(run).await;
        assert_eq!((&record["reason"], &record["result"]), (&json!("GOAL"), &json!(result)), "{record}");
    }
    assert_eq!(asked, 1, "a parked run asked the model");
    assert_eq!(cast.requests("lead/worker").len(), 2, "a reply that was there was asked for again");
    assert!(scene.began.try_recv().is_err(), "the mutator ran twice");
    let log = running.log().await;
    let events = |kind: &str| of_type(&log, kind).len();
    assert_eq!((events("run.parked"), events("run.resumed")), (4, 4), "{}", lines(&log));
    assert!(of_type(&log, "run.resumed").iter().all(|it| it["data"]["unclean"] == false));
    assert_eq!(events("run.steered") + events("run.stopping"), 0, "what was refused happened all the same");
    // A key whose request was refused is free.
    let (run, _) = client.start(&running, "worker", json!({ "idempotencyKey": "steer-001" })).await;
    scene.handle.release.add_permits(1);
    client.ended(&run).await;
    let status = client.call("daemon/status", json!({})).await;
    assert_eq!((&status["degraded"], &status["database"]["storageFull"]), (&json!([]), &json!(false)));
    running.stop().await;
}

/// The clock of a run stands still while it is parked.
#[tokio::test]
async fn time_that_a_run_is_parked_does_not_count() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([("worker", vec![Reply::after(&gate, Reply::done("ok"))])]);
    let scene = Scene::new(&cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({ "limits": { "maxTimeMs": 60_000 } })).await;
    cast.asked("worker").await;
    client.settle().await;
    scene.clock.advance(Duration::from_secs(10));
    client.settle().await;
    fill(&running).await;
    bump_into_it(&mut client, &running).await;
    until_parked(&mut client, 1).await;
    make_room(&running).await;
    // More than it has left, and less than the silence that a model is allowed.
    scene.clock.advance(Duration::from_secs(100));
    until_room(&mut client).await;
    gate.add_permits(1);
    let record = client.ended(&run).await;
    assert_eq!((&record["reason"], &record["activeMs"]), (&json!("GOAL"), &json!(10_000)), "{record}");
    running.stop().await;
}

/// What came in while the run was parked, here that its model is silent for too long, waits until it goes on.
#[tokio::test]
async fn nothing_of_a_run_happens_between_parked_and_resumed() {
    let cast = Cast::new([("worker", vec![Reply::Hangs])]);
    let scene = Scene::new(&cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    // Several, since it is a race.
    let mut runs = Vec::new();
    for _ in 0..8 {
        runs.push(client.start(&running, "worker", json!({})).await.0);
        cast.asked("worker").await;
    }
    client.settle().await;
    fill(&running).await;
    bump_into_it(&mut client, &running).await;
    until_parked(&mut client, 8).await;
    make_room(&running).await;
    scene.clock.advance(Duration::from_secs(121));
    let all_retried = |it: &Value| it["events"].as_array().unwrap().len() == 8;
    let filter = json!({ "types": ["model.retrying"] });
    client.until("events/list", json!({ "filter": filter }), all_retried).await;
    let log = running.log().await;
    for run in &runs {
        client.call("run/cancel", json!({ "runId": run })).await;
        client.ended(run).await;
        let mut of_run =
            log.iter().filter(|it| it["runId"] == **run).skip_while(|it| it["type"] != "run.parked");
        let after = of_run.nth(1).unwrap();
        assert_eq!(after["type"], "run.resumed", "{}", lines(&log));
    }
    running.stop().await;
}

/// There seems to be room, and the first that is written finds out that there is none.
#[tokio::test]
async fn disk_that_fills_up_again_at_once_parks_again() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([("worker", vec![Reply::after(&gate, waiting()), Reply::done("ok")])]);
    let mut scene = Scene::new(&cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    cast.asked("worker").await;
    fill(&running).await;
    bump_into_it(&mut client, &running).await;
    until_parked(&mut client, 1).await;
    gate.add_permits(1);
    for _ in 0..5 {
        client.settle().await;
        scene.clock.advance(PROBE);
        client.settle().await;
        // Whether or not it has been noticed already, nothing is written.
        bump_into_it(&mut client, &running).await;
    }
    assert_eq!(client.call("run/get", json!({ "runId": run })).await["state"], "parked");
    make_room(&running).await;
    scene.handle.release.add_permits(1);
    let ended = |it: &Value| it["run"]["state"] == "ended";
    let clock = Arc::clone(&scene.clock);
    let waiting = async {
        loop {
            clock.advance(PROBE);
            let waited = client.call("run/wait", json!({ "runId": run, "timeoutMs": 0 })).await;
            if ended(&waited) {
                return waited;
            }
            client.settle().await;
        }
    };
    let record = timeout(STUCK, waiting).await.expect("the run does not go on")["run"].clone();
    assert_eq!(record["result"], "ok");
    assert_eq!(cast.requests("worker").len(), 2);
    scene.began().await;
    assert!(scene.began.try_recv().is_err(), "the mutator ran twice");
    running.stop().await;
}

#[tokio::test]
async fn result_of_a_tool_that_ends_while_its_run_is_parked_is_kept() {
    let cast = Cast::new([("worker", vec![waiting(), Reply::done("ok")])]);
    let mut scene = Scene::new(&cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    scene.began().await;
    fill(&running).await;
    // It is the tool's own end that finds out.
    scene.handle.release.add_permits(1);
    until_parked(&mut client, 1).await;
    make_room(&running).await;
    scene.clock.advance(PROBE);
    assert_eq!(client.ended(&run).await["result"], "ok");
    assert!(scene.began.try_recv().is_err(), "the mutator ran twice");
    let log = running.log().await;
    let at = |is_it: &dyn Fn(&Value) -> bool| log.iter().position(is_it).unwrap();
    let parked = at(&|it| it["type"] == "run.parked");
    let success = at(&|it| it["data"]["name"] == "probe" && it["data"]["to"] == "success");
    assert!(parked < success, "{}", lines(&log));
    running.stop().await;
}

#[tokio::test]
async fn daemon_that_dies_while_runs_are_parked_takes_them_up_again() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([
        ("worker", vec![waiting(), Reply::done("ok")]),
        ("lead", vec![Reply::after(&gate, Reply::done("whole"))]),
    ]);
    let mut scene = Scene::new(&cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (worker, _) = client.start(&running, "worker", json!({})).await;
    let (lead, session) = client.start(&running, "lead", json!({})).await;
    let (queued, _) = client.start(&running, "lead", json!({ "sessionId": session })).await;
    cast.asked("lead").await;
    scene.began().await;
    fill(&running).await;
    bump_into_it(&mut client, &running).await;
    until_parked(&mut client, 3).await;
    scene.handle.release.add_permits(1);
    client.settle().await;
    make_room(&running).await;
    // The clock does not move, so nobody has looked for room: the daemon stops with its runs parked.
    running.stop_unfinished().await;

    let running = scene.house.boot().await;
    let mut client = running.client();
    gate.add_permits(2);
    for run in [&worker, &lead, &queued] {
        assert_eq!(client.ended(run).await["reason"], "GOAL");
    }
    assert!(scene.began.try_recv().is_err(), "the mutator ran twice");
    let told = format!("{:?}", cast.requests("worker").last().unwrap().messages.last().unwrap());
    assert!(told.contains("INTERRUPTED"), "what a parked run knew was not in the log: {told}");
    let status = client.call("daemon/status", json!({})).await;
    assert_eq!(status["runs"]["parked"], 0);
    let log = running.log().await;
    // `run.resumed` tells of every run that was parked or restarted.
    for run in [&worker, &lead, &queued] {
        let resumed = of_type(&log, "run.resumed").iter().filter(|it| it["runId"] == **run).count();
        assert_eq!(resumed, 1, "{}", lines(&log));
    }
    running.stop().await;
}

/// Still full at the next start: it comes up, says so, and the runs hold still.
#[tokio::test]
async fn daemon_that_starts_on_a_full_disk_waits_for_room() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([("worker", vec![Reply::after(&gate, Reply::done("ok"))])]);
    let scene = Scene::new(&cast);
    let running = scene.house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    cast.asked("worker").await;
    fill(&running).await;
    bump_into_it(&mut client, &running).await;
    until_parked(&mut client, 1).await;
    running.stop_unfinished().await;

    let running = scene.house.boot().await;
    let mut client = running.client();
    let is_full = |it: &Value| it["database"]["storageFull"] == true;
    client.until("daemon/status", json!({}), is_full).await;
    bump_into_it(&mut client, &running).await;
    assert_eq!(client.call("run/get", json!({ "runId": run })).await["state"], "parked");
    assert_eq!(cast.requests("worker").len(), 1);
    make_room(&running).await;
    gate.add_permits(1);
    scene.clock.advance(PROBE);
    assert_eq!(client.ended(&run).await["result"], "ok");
    running.stop().await;
}

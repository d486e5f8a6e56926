//! Requests that meet: runs that start while their session is closed, while the daemon is drained, and all at once in
//! one context. Whatever order they are taken in, the log tells one story.

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{House, Reply, Running, Script};

/// Each round is a new chance for the race.
const ROUNDS: usize = 25;
const CLIENTS: usize = 8;

const READER: &str =
    "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\n---\nYou read.\n";

fn house() -> House {
    House::new().script(&Script::new([Reply::done("ok")])).agent("reader", READER)
}

fn start_in(session: &str) -> Value {
    json!({
        "sessionId": session, "agent": "reader", "model": "script", "prompt": "go", "ifBusy": "queue",
    })
}

/// Sends the same request from so many clients at once, and `beside` from one more. Answers the responses of the many,
/// and the one.
async fn at_once(running: &Running, start: &Value, beside: (&'static str, Value)) -> (Vec<Value>, Value) {
    let mut asking = JoinSet::new();
    for n in 0..=CLIENTS {
        let mut client = running.client();
        // The one is sent in the middle of the many.
        let (method, params) = if n == CLIENTS / 2 { beside.clone() } else { ("run/start", start.clone()) };
        asking.spawn(async move {
            let response = client.request(method, params).await;
            (method == "run/start", response)
        });
    }
    let (mut starts, mut other) = (Vec::new(), None);
    while let Some(answered) = asking.join_next().await {
        match answered.unwrap() {
            (true, response) => starts.push(response),
            (false, response) => other = Some(response),
        }
    }
    (starts, other.unwrap())
}

/// The runs that were accepted; the others were refused for a reason among `kinds`.
fn accepted(starts: &[Value], kinds: &[&str]) -> Vec<String> {
    let run = |response: &Value| {
        let kind = response["error"]["data"]["kind"].as_str();
        assert!(kind.is_none_or(|kind| kinds.contains(&kind)), "{response}");
        response["result"]["runId"].as_str().map(str::to_owned)
    };
    starts.iter().filter_map(run).collect()
}

fn position(log: &[Value], kind: &str, run: &str) -> Option<usize> {
    log.iter().position(|event| event["type"] == kind && event["runId"] == run)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_accepted_has_ended_before_its_session_is_closed() {
    let running = house().boot().await;
    let mut client = running.client();
    for _ in 0..ROUNDS {
        let created = client.call("session/create", json!({ "workspace": running.work() })).await;
        let session = created["sessionId"].as_str().unwrap();
        let closing = ("session/close", json!({ "sessionId": session }));
        let (starts, closed) = at_once(&running, &start_in(session), closing).await;
        assert!(closed["result"]["seq"].is_i64(), "{closed}");
        let log: Vec<Value> = running.log().await;
        let log: Vec<Value> = log.into_iter().filter(|event| event["sessionId"] == session).collect();
        assert_eq!(log.last().unwrap()["type"], "session.closed", "something came after it");
        for run in accepted(&starts, &["SESSION_CLOSED"]) {
            assert!(position(&log, "run.completed", &run).is_some(), "{run} has not ended");
        }
    }
    drop(client);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_accepted_has_ended_when_the_daemon_says_that_it_is_drained() {
    for _ in 0..ROUNDS {
        let running = house().boot().await;
        let mut client = running.client();
        let (_, session) = client.start(&running, "reader", json!({})).await;
        let draining = ("daemon/drain", json!({ "mode": "finish", "deadlineMs": 60_000 }));
        let (starts, drained) = at_once(&running, &start_in(&session), draining).await;
        assert_eq!(drained["result"]["drained"], true, "{drained}");
        let runs = accepted(&starts, &["SHUTTING_DOWN"]);
        // What the log holds as of the answer is not known any more; that no end comes after it is.
        assert_eq!(running.daemon.census().live_runs, 0);
        let log = running.log().await;
        for run in runs {
            assert!(position(&log, "run.completed", &run).is_some(), "{run} has not ended");
        }
        drop(client);
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_one_context_begin_in_the_order_in_which_the_log_has_them() {
    let running = house().boot().await;
    let mut client = running.client();
    for _ in 0..ROUNDS {
        let (_, session) = client.start(&running, "reader", json!({})).await;
        let nothing = ("ping", json!({}));
        let (starts, _) = at_once(&running, &start_in(&session), nothing).await;
        let runs = accepted(&starts, &[]);
        assert_eq!(runs.len(), CLIENTS);
        for run in &runs {
            client.ended(run).await;
        }
        let log = running.log().await;
        let mut queued: Vec<(usize, usize)> = runs
            .iter()
            .filter_map(|run| Some((position(&log, "run.queued", run)?, position(&log, "run.started", run)?)))
            .collect();
        queued.sort_unstable();
        assert!(queued.is_sorted_by_key(|(_, started)| *started), "queued and begun at: {queued:?}");
    }
    drop(client);
    running.stop().await;
}

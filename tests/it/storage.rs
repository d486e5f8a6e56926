//! When the disk does not take it: nothing is lost, nothing happens twice, and people are told.

use serde_json::json;
use subagentd::protocol::{Risk, ToolKind};
use tokio::time::timeout;

use crate::{
    probe::Probe,
    support::{Client, House, Reply, STUCK, Script},
};

const WRITER: &str = "---
kind: agent
name: writer
description: Writes.
completion: tool
tools: [probe]
---
You write.
";

/// Asks until the status says so.
async fn until_degraded(client: &mut Client) {
    let asking = async {
        loop {
            let status = client.call("daemon/status", json!({})).await;
            if status["degraded"].to_string().contains("nothing can be written") {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, asking).await.expect("the status does not tell");
}

/// SQLite rolls back on its own when the disk is full; the trigger does the same.
#[tokio::test]
async fn run_outlives_a_store_that_fails_and_its_tool_runs_once() {
    let (probe, handle, mut began) = Probe::new("probe", ToolKind::Edit, Risk::Safe);
    let script = Script::new([Reply::calls(&[("probe", json!({ "do": "wait" }))]), Reply::done("ok")]);
    let running = House::new().script(&script).agent("writer", WRITER).tool(probe).boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "writer", json!({})).await;
    timeout(STUCK, began.recv()).await.unwrap();

    running
        .tamper("create trigger full before insert on events begin select raise(rollback, 'full'); end")
        .await;
    handle.release.add_permits(1);
    until_degraded(&mut client).await;
    let (kind, _) = client.refused("run/cancel", json!({ "runId": run })).await;
    assert_eq!(kind, "STORAGE_ERROR", "a cancel that is not durable is none");

    running.tamper("drop trigger full").await;
    let record = client.ended(&run).await;
    assert_eq!((record["reason"].as_str(), record["result"].as_str()), (Some("GOAL"), Some("ok")));
    assert!(began.try_recv().is_err(), "the mutator ran twice");
    assert_eq!(client.call("daemon/status", json!({})).await["degraded"], json!([]));
    running.stop().await;
}

/// An event can be read a moment before it is published. A row that nobody published stands in for that moment.
#[tokio::test]
async fn cursor_of_an_event_that_was_read_is_never_gone() {
    let script = Script::new([Reply::done("ok")]);
    let running = House::new().script(&script).agent("writer", WRITER).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "writer", json!({})).await;
    client.ended(&run).await;
    let head = running.daemon.store().head().0;
    running
        .tamper(
            "insert into events (time_us, type, session_id, head, body) \
         select time_us, 'session.updated', session_id, '{}', '{}' from events limit 1",
        )
        .await;
    let page = client.call("events/list", json!({ "from": head })).await;
    assert_eq!(page["events"][0]["seq"], head + 1, "{page}");
    client.call("events/list", json!({ "from": head + 1 })).await;
    client.call("session/attach", json!({ "sessionId": session, "from": head + 1 })).await;
    let (kind, _) = client.refused("events/list", json!({ "from": head + 2 })).await;
    assert_eq!(kind, "CURSOR_GONE");
    running.stop().await;
}

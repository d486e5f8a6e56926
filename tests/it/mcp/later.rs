//! Servers that tell of other tools while a run works: its next turn has them (spec 07, "`tools/list_changed`").

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{declared, ends, house, kind, passing, text};
use crate::support::{Reply, Script};

#[tokio::test]
async fn tools_that_a_server_tells_later_are_there_for_the_next_turn_and_after_a_restart() {
    let (gate, last) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let call = |name: &str, text: &str| Reply::calls(&[(name, json!({ "text": text }))]);
    let script = Script::new([
        call("mcp.s.grow", ""),
        Reply::after(&gate, call("mcp.s.echo", "one")),
        call("mcp.s.grown", ""),
        Reply::after(&last, call("mcp.s.grown", "again")),
        call("mcp.s.echo", "two"),
        Reply::done("done"),
    ]);
    let (house, clock) = house(&script, "plain").manual_clock();
    let running = house.boot().await;
    let (mut client, mut other) = (running.client(), running.client());
    let (run, _) = client.start(&running, "user", json!({})).await;
    let asked = json!({ "workspace": running.work(), "server": "s" });
    let grown = client.until("mcp/status", asked, |it| it["servers"][0]["tools"] == 13);
    passing(&clock, &mut other, Duration::from_millis(100), grown).await;
    let has_grown = |script: &Script| declared(script).contains(&"mcp.s.grown".to_owned());
    while script.requests().len() < 2 {
        client.settle().await;
    }
    assert!(!has_grown(&script), "the turn under way keeps what it was asked with");
    gate.add_permits(1);
    while script.requests().len() < 4 {
        client.settle().await;
    }
    assert!(has_grown(&script));
    let log = running.log().await;
    let changes = |log: &[Value]| -> Vec<Value> {
        let changes = log.iter().filter(|event| event["type"] == "run.toolsChanged");
        changes.map(|event| event["data"].clone()).collect()
    };
    assert_eq!(changes(&log), [json!({ "added": ["mcp.s.grown"] })]);
    drop((client, other));
    running.stop_unfinished().await;

    // The server that the next daemon starts has not grown: until it is asked, nobody knows.
    last.add_permits(1);
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let ends = ends(&running).await;
    let told: Vec<(&str, &str)> = ends.iter().map(|end| (kind(end), text(end))).collect();
    assert_eq!(
        told,
        [("none", "done"), ("none", "one"), ("none", "done"), ("none", "done"), ("none", "two")],
        "a call of what it had is passed on"
    );
    assert!(!has_grown(&script));
    let changes = changes(&running.log().await);
    assert_eq!(changes[1..], [json!({ "removed": ["mcp.s.grown"] })]);
    drop(client);
    running.stop().await;
}

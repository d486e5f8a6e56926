//! Are the tables beside the log nothing but the log, read again? (DESIGN, law 1)

use expect_test::expect;
use serde_json::{Value, json};
use subagentd::{
    models::ModelError,
    protocol::{FinishReason, Risk, RunErrorCode, ToolKind},
};
use tokio::time::timeout;

use crate::{
    probe::Probe,
    support::{Client, House, Reply, Running, STUCK, Script},
};

const READER: &str =
    "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [probe]\n---\nYou read.\n";

/// What clients see of the projections: records, sessions with their open texts, counts.
async fn seen(running: &Running, client: &mut Client, runs: &[(String, String)]) -> Value {
    let mut seen = Vec::new();
    for (run, session) in runs {
        seen.push(client.call("run/get", json!({ "runId": run })).await);
        let mut watcher = running.client();
        watcher.call("session/attach", json!({ "sessionId": session })).await;
        seen.push(watcher.event().await["data"].clone());
    }
    seen.push(client.call("daemon/status", json!({})).await["runs"].clone());
    json!(seen)
}

#[tokio::test]
async fn rebuild_equals_live() {
    let (probe, _, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let says = Reply::Says {
        chunks: vec!["I look".to_owned()],
        thought: Some("**Where** to look".to_owned()),
        calls: vec![("probe".to_owned(), json!({})), ("nothing".to_owned(), json!({}))],
        finish: FinishReason::Stop,
    };
    let fails = ModelError::Final { code: RunErrorCode::ProviderAuth, message: "key expired".to_owned() };
    let done = || Reply::done("found");
    let scripts = [
        ("goal", Script::new([says.clone(), done()])),
        ("fails", Script::new([says, Reply::Fails(fails)])),
        ("grace", Script::new([Reply::calls(&[("probe", json!({}))]), done()])),
        ("cancelled", Script::new([Reply::calls(&[("probe", json!({ "do": "wait" }))]), done()])),
        ("streams", Script::new([Reply::Hangs])),
    ];
    let mut house = House::new().agent("reader", READER).tool(probe);
    for (name, script) in &scripts {
        house.models = house.models.with_model(*name, std::sync::Arc::new(script.clone()));
    }
    let running = house.boot().await;
    let mut client = running.client();
    let mut runs = Vec::new();
    for (model, _) in &scripts {
        let limits = if *model == "grace" { json!({ "maxTurns": 1 }) } else { json!({}) };
        let started = client.start(&running, "reader", json!({ "model": model, "limits": limits })).await;
        match *model {
            "cancelled" => {
                // Those that ended before it used the tool three times.
                for _ in 0..4 {
                    timeout(STUCK, began.recv()).await.unwrap();
                }
                client.call("run/cancel", json!({ "runId": started.0 })).await;
                client.ended(&started.0).await;
            }
            "streams" => scripts[4].1.asked().await,
            _ => drop(client.ended(&started.0).await),
        }
        runs.push(started);
    }
    let live = seen(&running, &mut client, &runs).await;
    running.daemon.store().rebuild().await.unwrap();
    let rebuilt = seen(&running, &mut client, &runs).await;
    assert_eq!(live, rebuilt);
    let ends: Vec<String> =
        (0..5).map(|n| format!("{} {}", live[2 * n]["state"], live[2 * n]["reason"])).collect();
    expect![[r#"
        "ended" "GOAL"
        "ended" "ERROR"
        "ended" "GOAL"
        "ended" "ABORTED"
        "running" null"#]]
    .assert_eq(&ends.join("\n"));
    drop(client);
    running.stop_unfinished().await;

    // And after a restart, which adds to the log of the one that goes on.
    let running = house.boot().await;
    let mut client = running.client();
    scripts[4].1.asked().await;
    let live = seen(&running, &mut client, &runs).await;
    running.daemon.store().rebuild().await.unwrap();
    assert_eq!(live, seen(&running, &mut client, &runs).await);
    drop(client);
    running.stop_unfinished().await;
}

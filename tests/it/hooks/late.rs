//! How does a hook end for which nobody waits? It is in the session's log, also when its run is over.

use super::*;
use crate::support::Client;

/// Runs an agent whose run ends while this hook is at work, lets the hook go on, and answers how the session's log says it ended.
async fn late_end(event: &str, closes: bool) -> (Running, Client, Value) {
    let script = Script::new([Reply::done("ok")]);
    let house = House::new().script(&script).agent("worker", WORKER);
    let gate = house.dir.path().join("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).unwrap();
    let own = house.dir.path().join("late.sh");
    fs::write(&own, format!("cat {} > /dev/null; echo 'no such key' >&2; exit 3", gate.display())).unwrap();
    let command = format!("sh {}", own.display());
    let hook = json!({ "type": "command", "command": command, "async": true });
    let mut settings = json!({ "hooks": {} });
    settings["hooks"][event] = json!([{ "hooks": [hook] }]);
    fs::write(&house.sources.files.user, settings.to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    if closes {
        client.call("session/close", json!({ "sessionId": session })).await;
    }
    // Opens once the hook reads from it.
    let opened = tokio::task::spawn_blocking(move || fs::write(&gate, "on\n"));
    opened.await.unwrap().unwrap();
    let is_late = |event: &&Value| event["type"] == "hook.fired" && event["data"]["async"] == true;
    let page = client
        .until("events/list", json!({ "filter": { "sessionId": session }, "limit": 1_000 }), |page| {
            page["events"].as_array().unwrap().iter().any(|event| is_late(&event))
        })
        .await;
    let fired = page["events"].as_array().unwrap().iter().find(is_late).unwrap().clone();
    (running, client, fired)
}

#[tokio::test(flavor = "multi_thread")]
async fn asynchronous_hook_that_outlives_its_run_is_in_the_log_of_the_session() {
    let (running, mut client, fired) = late_end("Stop", false).await;
    assert_eq!(fired["runId"], Value::Null, "it is told of the session: the run is over");
    let data = &fired["data"];
    let told = json!([data["event"], data["outcome"], data["exitCode"], data["reason"], data["stderr"]]);
    assert_eq!(told, json!(["Stop", "failed", 3, "ended with exit code 3: no such key", "no such key"]));
    let log = running.log().await;
    let warned = log.iter().filter(|event| event["type"] == "warning");
    let warned: Vec<&str> = warned.map(|event| event["data"]["message"].as_str().unwrap()).collect();
    assert!(warned.iter().any(|text| text.ends_with("ended with exit code 3: no such key")), "{warned:?}");
    let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
    let last = &listed["hooks"][0]["last"];
    assert_eq!(
        json!([last["outcome"], last["failureReason"]]),
        json!(["failed", "ended with exit code 3: no such key"])
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn asynchronous_hook_of_a_closed_session_is_in_its_log() {
    let (running, _client, fired) = late_end("SessionEnd", true).await;
    assert_eq!(fired["data"]["reason"], "ended with exit code 3: no such key");
    running.stop().await;
}

//! Where one daemon's life ends and another's begins: locks, sockets, signals (spec 11, promise 9).

use serde_json::{Value, json};

use crate::{
    laws,
    process::{Home, output, text},
    recording::{Chance, Recording, write_workspace},
    support::lines,
};

#[tokio::test]
async fn second_daemon_on_the_same_socket_is_refused_and_the_first_unharmed() {
    let home = Home::new();
    let served = home.start().await;
    let refused = output(&mut home.daemon(&home.socket(), &home.path("other-state"))).await;
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let words = format!("another daemon listens on {}", home.socket().display());
    assert!(refused.stderr.contains(&words), "{}", refused.stderr);
    assert_eq!(refused.stdout, "", "it said that it was ready");
    home.connect().await.call("ping", json!({})).await.unwrap();
    served.stop().await;
}

#[tokio::test]
async fn second_daemon_on_the_same_database_is_refused_and_told_who_holds_it() {
    let home = Home::new();
    let served = home.start().await;
    let elsewhere = home.path("elsewhere/s.sock");
    let refused = output(&mut home.daemon(&elsewhere, &home.state_dir())).await;
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let pid = home.daemon_pid().unwrap().as_raw_nonzero();
    let words = format!("another daemon uses {} (pid {pid})", home.state_dir().join("lock").display());
    assert!(refused.stderr.contains(&words), "{}", refused.stderr);
    assert_eq!(refused.stdout, "", "it said that it was ready");
    assert!(!elsewhere.exists(), "it left a socket on which nobody listens");
    home.connect().await.call("daemon/status", json!({})).await.unwrap();
    served.stop().await;
}

#[tokio::test]
async fn socket_of_a_killed_daemon_is_replaced() {
    let home = Home::new();
    home.start().await.kill().await;
    assert!(home.socket().exists(), "a killed daemon has nobody to clean up after it");
    let served = home.start().await;
    home.connect().await.call("ping", json!({})).await.unwrap();
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_exits_cleanly_and_runs_go_on_at_the_next_start() {
    let home = Home::new();
    write_workspace(&home);
    let recording = Recording::write(&home, "long", 60, &mut Chance::new(7));
    let served = home.start().await;
    let mut wire = home.connect().await;
    let params =
        json!({ "workspace": home.work(), "agent": "reader", "prompt": "x", "model": recording.model });
    let started = wire.call("run/start", params).await.unwrap();
    let (run, session) = (text(&started, "runId"), text(&started, "sessionId"));
    wire.call("session/attach", json!({ "sessionId": session, "from": "start" })).await.unwrap();
    wire.events_until("turn.completed").await.unwrap();
    let status = served.terminate().await;
    assert_eq!(status.code(), Some(0), "{}", home.daemon_log());
    assert!(!home.socket().exists(), "the socket was left");

    let served = home.start().await;
    let mut wire = home.connect().await;
    let record = wire.ended(run).await.unwrap();
    assert_eq!(
        (&record["reason"], &record["result"]),
        (&json!("GOAL"), &json!(recording.result)),
        "{record}"
    );
    let log = wire.log(json!({}), 0).await.unwrap();
    laws::check_finished(&log).unwrap_or_else(|broken| panic!("{}\n{}", broken.join("\n"), lines(&log)));
    let resumed: Vec<&Value> = log.iter().filter(|event| event["type"] == "run.resumed").collect();
    assert_eq!(resumed.len(), 1, "{}", lines(&log));
    assert_eq!(resumed[0]["data"]["unclean"], false);
    drop(wire);
    served.stop().await;
}

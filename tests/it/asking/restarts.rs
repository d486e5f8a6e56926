//! Is an open question the same after the daemon was started again?

use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{ALREADY, Scene, refusal};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

async fn instance(scene: &mut Scene) -> Value {
    let status = scene.script.call("daemon/status", json!({})).await;
    assert!(status["daemon"]["instance"].is_string(), "{status}");
    status["daemon"]["instance"].clone()
}

#[tokio::test]
async fn a_question_is_open_again_before_its_run_goes_on_and_is_answered_then() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(ann.is_offered(&question).await);
    let (before, position) = (instance(&mut scene).await, ann.position());
    scene.leave(ann).await;
    let mut scene = scene.down_for(seconds(3_600)).await;
    assert_ne!(instance(&mut scene).await, before);
    let again = scene.question(&run).await;
    for same in ["confirmationId", "digest", "createdAt", "details"] {
        assert_eq!(again[same], question[same], "{same}");
    }
    let mut ann = scene.person("ann").await;
    ann.client.call("session/attach", json!({ "sessionId": session, "from": position })).await;
    assert!(ann.is_offered_later(&question).await);
    scene.looked(&question).await;
    assert_eq!(scene.cast.requests("writer").len(), 1);
    let answered = ann.answer(&question, "allowOnce").await;
    assert_eq!(answered["result"]["resolution"]["name"], "cli-ann", "{answered}");
    let record = scene.ended(&run).await;
    assert_eq!(record["reason"], "GOAL");
    assert!(record["activeMs"].as_u64().unwrap() < 60_000, "{record}");
    assert_eq!(scene.calls(&run, "write_file").await, ["success"]);
    assert_eq!(scene.logged("confirmation.requested").await.len(), 1);
    assert_eq!(scene.cast.requests("writer").len(), 2);
    // Who was answered is answered the same by the next daemon.
    scene.leave(ann).await;
    let scene = scene.restart().await;
    let mut ann = scene.person("ann").await;
    let repeated = ann.answer(&question, "allowOnce").await;
    assert_eq!(repeated["result"]["seq"], answered["result"]["seq"], "{repeated}");
    assert_eq!(repeated["result"]["replayed"], true);
    scene.end([ann]).await;
}

#[tokio::test]
async fn who_started_the_run_is_asked_first_after_a_restart_too() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    let approval = json!({ "audience": { "initiatorFirst": { "graceMs": 60_000 } } });
    let run = scene.start_by(&mut ann, &session, "writer", approval).await;
    let question = scene.question(&run).await;
    scene.still_open_after(seconds(20), &question).await;
    assert!(!bob.is_asked(&question).await);
    scene.note(&mut ann).await;
    scene.note(&mut bob).await;
    let mut scene = scene.restart().await;
    drop((ann, bob));
    let mut bob = scene.person("bob").await;
    let snapshot = bob.attach(&session).await;
    let found = &snapshot["data"]["openConfirmations"][0];
    assert_eq!(found["confirmationId"], question["confirmationId"]);
    assert_eq!(found.get("offered"), None, "who started it has had no time to come back");
    let mut ann = scene.person("ann").await;
    let snapshot = ann.attach(&session).await;
    assert_eq!(snapshot["data"]["openConfirmations"][0]["offered"], true);
    scene.looked(&question).await;
    scene.still_open_after(seconds(39), &question).await;
    assert!(!bob.is_asked(&question).await && bob.heard("signal.confirmation").await.is_empty());
    // The time is that of the question, not of the daemon.
    scene.pass(seconds(1)).await;
    assert!(bob.is_offered_later(&question).await);
    assert!(ann.is_asked(&question).await);
    bob.answer(&question, "allowOnce").await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.resolution(&question).await, json!(["allowOnce", "client", "cli-bob"]));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn who_started_the_run_and_does_not_come_back_after_a_restart_is_not_waited_for() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let approval = json!({ "audience": { "initiatorFirst": { "graceMs": 60_000 } } });
    let run = scene.start_by(&mut ann, &session, "writer", approval).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.note(&mut ann).await;
    let mut scene = scene.restart().await;
    drop(ann);
    let mut bob = scene.person("bob").await;
    bob.attach(&session).await;
    scene.looked(&question).await;
    // Time to come back, and far less than the grace.
    scene.pass(seconds(5)).await;
    assert!(bob.is_offered_later(&question).await);
    bob.answer(&question, "allowOnce").await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["success"]);
    scene.end([bob]).await;
}

#[tokio::test]
async fn a_deadline_that_passed_while_the_daemon_was_down_denies_when_it_is_up() {
    let mut scene = Scene::new().await;
    let run = scene.start("writer", json!({ "deadlineMs": 60_000, "onDeadline": "deny" })).await;
    let question = scene.question(&run).await;
    scene.still_open_after(seconds(30), &question).await;
    let mut scene = scene.down_for(seconds(60)).await;
    // Whoever was there has had time to come back.
    scene.pass(seconds(3)).await;
    assert_eq!(scene.over(&question).await, json!(["deny", "deadline", null]));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["error NO_CLIENT"]);
    assert_eq!(scene.read("note.txt"), None);
    assert!(scene.model_was_told("writer").contains("nobody answered the question in the time"));
    let mut ann = scene.person("ann").await;
    ann.client.call("session/attach", json!({ "sessionId": run.session, "from": "start" })).await;
    assert!(!ann.is_offered(&question).await);
    assert_eq!(ann.resolved(&question).await, json!(["deny", "deadline", null]));
    let late = ann.answer(&question, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["deny", "deadline", null])));
    scene.end([ann]).await;
}

#[tokio::test]
async fn a_deadline_that_stood_still_has_not_passed_after_a_restart() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({ "deadlineMs": 60_000 })).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    // She looks at it for ten minutes, until the daemon is gone.
    scene.still_open_after(seconds(600), &question).await;
    let mut scene = scene.down_for(seconds(10)).await;
    drop(ann);
    // The time while nobody was there to ask counts, that before it does not.
    scene.still_open_after(seconds(10), &question).await;
    scene.still_open_after(seconds(20), &question).await;
    scene.pass(seconds(30)).await;
    assert_eq!(scene.over(&question).await, json!(["deny", "deadline", null]));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    scene.end([]).await;
}

#[tokio::test]
async fn the_last_seconds_before_a_stop_do_not_count_either() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({ "deadlineMs": 12_000 })).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.still_open_after(seconds(9), &question).await;
    let mut scene = scene.down_for(seconds(0)).await;
    drop(ann);
    scene.still_open_after(seconds(7), &question).await;
    scene.pass(seconds(6)).await;
    assert_eq!(scene.over(&question).await, json!(["deny", "deadline", null]));
    scene.ended(&run).await;
    scene.end([]).await;
}

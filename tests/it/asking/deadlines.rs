//! What becomes of a question that nobody answers in its time, and when does that time count?

use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{ALREADY, Scene, answer_to, refusal};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn denied_in_a_minute() -> Value {
    json!({ "deadlineMs": 60_000, "onDeadline": "deny" })
}

fn by_the_deadline(outcome: &str) -> Value {
    json!([outcome, "deadline", null])
}

/// The model is told, and goes on.
async fn was_denied(scene: &mut Scene, run: &super::scene::Run) {
    assert_eq!(scene.ended(run).await["reason"], "GOAL");
    assert_eq!(scene.calls(run, "write_file").await, ["error NO_CLIENT"]);
    assert_eq!(scene.read("note.txt"), None);
    assert!(scene.model_was_told("writer").contains("nobody answered the question in the time"));
}

#[tokio::test]
async fn a_deadline_stands_still_while_somebody_is_there() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", denied_in_a_minute()).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.still_open_after(seconds(600), &question).await;
    scene.still_open_after(seconds(30), &question).await;
    assert_eq!(scene.get(&question).await["state"], "offered");
    scene.leave(ann).await;
    scene.until_it_is("queued", &question).await;
    scene.looked(&question).await;
    scene.still_open_after(seconds(59), &question).await;
    // By then it stands in the log, so that it holds for the next daemon as well.
    let params = json!({ "confirmationId": question["confirmationId"] });
    let deadline = |of: &Value| of["deadlineAt"].as_str().unwrap().to_owned();
    let has_moved = |got: &Value| deadline(&question) < deadline(&got["confirmation"]);
    scene.script.until("confirmation/get", params, has_moved).await;
    scene.pass(seconds(2)).await;
    assert_eq!(scene.over(&question).await, by_the_deadline("deny"));
    was_denied(&mut scene, &run).await;
    scene.end([]).await;
}

#[tokio::test]
async fn what_is_left_of_the_time_is_left_when_somebody_came_and_went() {
    let mut scene = Scene::new().await;
    let run = scene.start("writer", denied_in_a_minute()).await;
    let question = scene.question(&run).await;
    scene.still_open_after(seconds(40), &question).await;
    let mut ann = scene.person("ann").await;
    ann.attach(&run.session).await;
    scene.looked(&question).await;
    scene.still_open_after(seconds(600), &question).await;
    scene.still_open_after(seconds(30), &question).await;
    scene.leave(ann).await;
    scene.until_it_is("queued", &question).await;
    scene.looked(&question).await;
    scene.still_open_after(seconds(19), &question).await;
    scene.pass(seconds(1)).await;
    assert_eq!(scene.over(&question).await, by_the_deadline("deny"));
    was_denied(&mut scene, &run).await;
    scene.end([]).await;
}

#[tokio::test]
async fn who_is_away_does_not_stop_the_time() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut bob = scene.person("bob").await;
    bob.attach(&session).await;
    bob.is_now("away").await;
    let run = scene.start_in(&session, "writer", denied_in_a_minute()).await;
    let question = scene.question(&run).await;
    assert!(!bob.is_offered(&question).await);
    assert_eq!(question["state"], "queued");
    scene.still_open_after(seconds(59), &question).await;
    scene.pass(seconds(1)).await;
    assert_eq!(bob.resolved(&question).await, by_the_deadline("deny"));
    was_denied(&mut scene, &run).await;
    scene.end([bob]).await;
}

#[tokio::test]
async fn when_the_time_is_over_the_call_is_denied_and_the_run_goes_on() {
    // Also where nobody said what is to become of it.
    for approval in [denied_in_a_minute(), json!({ "deadlineMs": 60_000 })] {
        let mut scene = Scene::new().await;
        let session = scene.session().await;
        let mut eve = scene.person("eve").await;
        eve.attach_with(&session, json!({ "role": "observe" })).await;
        let run = scene.start_in(&session, "writer", approval).await;
        let question = scene.question(&run).await;
        scene.pass(seconds(61)).await;
        assert_eq!(eve.resolved(&question).await, by_the_deadline("deny"));
        let late = scene.answer(&question, "allowOnce").await;
        assert_eq!(refusal(&late), (ALREADY.to_owned(), by_the_deadline("deny")));
        was_denied(&mut scene, &run).await;
        scene.end([eve]).await;
    }
}

#[tokio::test]
async fn when_the_time_is_over_the_run_is_cancelled_if_that_was_asked_for() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut eve = scene.person("eve").await;
    eve.attach_with(&session, json!({ "role": "observe" })).await;
    let approval = json!({ "deadlineMs": 60_000, "onDeadline": "cancelRun" });
    let run = scene.start_in(&session, "writer", approval).await;
    let question = scene.question(&run).await;
    scene.still_open_after(seconds(59), &question).await;
    scene.pass(seconds(2)).await;
    assert_eq!(eve.resolved(&question).await, by_the_deadline("cancelRun"));
    let late = scene.answer(&question, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), by_the_deadline("cancelRun")));
    assert_eq!(scene.ended(&run).await["reason"], "ABORTED");
    assert_eq!(scene.calls(&run, "write_file").await, ["cancelled CANCELLED"]);
    assert_eq!((scene.read("note.txt"), scene.cast.requests("writer").len()), (None, 1));
    scene.end([eve]).await;
}

#[tokio::test]
async fn when_the_time_is_over_the_run_is_parked_if_that_was_asked_for_and_once() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut eve = scene.person("eve").await;
    eve.attach_with(&session, json!({ "role": "observe" })).await;
    let approval = json!({ "deadlineMs": 60_000, "onDeadline": "park" });
    let run = scene.start_in(&session, "writer", approval).await;
    let question = scene.question(&run).await;
    scene.still_open_after(seconds(59), &question).await;
    scene.pass(seconds(2)).await;
    scene.until_run_is("parked", &run.id).await;
    scene.still_open_after(seconds(3_600), &question).await;
    let mut ann = scene.person("ann").await;
    let snapshot = ann.attach(&session).await;
    assert_eq!(snapshot["data"]["openConfirmations"][0]["confirmationId"], question["confirmationId"]);
    scene.looked(&question).await;
    // What was over once is not over again.
    scene.leave(ann).await;
    scene.until_it_is("queued", &question).await;
    scene.looked(&question).await;
    scene.still_open_after(seconds(3_600), &question).await;
    let answered = scene.answer(&question, "allowOnce").await;
    assert_eq!(answered["result"]["resolution"]["outcome"], "allowOnce", "{answered}");
    let record = scene.ended(&run).await;
    assert_eq!(record["reason"], "GOAL");
    assert!(record["activeMs"].as_u64().unwrap() < 60_000, "{record}");
    assert_eq!(scene.read("note.txt").as_deref(), Some("one\n"));
    assert_eq!((eve.heard("run.parked").await.len(), eve.heard("run.resumed").await.len()), (1, 1));
    scene.end([eve]).await;
}

#[tokio::test]
async fn an_answer_that_races_with_the_deadline_is_one_or_the_other() {
    /// As many as take about two seconds.
    const ROUNDS: usize = 30;
    let mut scene = Scene::new().await;
    let (mut allowed, mut denied) = (0, 0);
    for round in 0..ROUNDS {
        let run = scene.start("writer", denied_in_a_minute()).await;
        let question = scene.question(&run).await;
        scene.looked(&question).await;
        // So that all that is left is the very moment.
        scene.pass(seconds(60) - Duration::from_millis(2)).await;
        let mut other = scene.running.client();
        let answering = other.request("confirmation/respond", answer_to(&question, "allowOnce", json!({})));
        let clock = std::sync::Arc::clone(&scene.clock);
        let answered = match round % 3 {
            0 => {
                let passing = async { clock.advance(Duration::from_millis(1)) };
                tokio::join!(answering, passing).0
            }
            1 => {
                clock.advance(Duration::from_millis(1));
                answering.await
            }
            _ => {
                // A few steps behind.
                clock.advance(Duration::from_millis(1));
                for _ in 0..round {
                    tokio::task::yield_now().await;
                }
                answering.await
            }
        };
        assert_eq!(scene.ended(&run).await["reason"], "GOAL");
        match answered.get("result") {
            Some(result) => {
                allowed += 1;
                assert_eq!(result["resolution"]["by"], "client");
                assert_eq!(scene.over(&question).await, json!(["allowOnce", "client", "user 0"]));
                assert_eq!(scene.calls(&run, "write_file").await, ["success"]);
                std::fs::remove_file(scene.house.work().join("note.txt")).unwrap();
            }
            None => {
                denied += 1;
                assert_eq!(refusal(&answered), (ALREADY.to_owned(), by_the_deadline("deny")));
                assert_eq!(scene.calls(&run, "write_file").await, ["error NO_CLIENT"]);
                assert_eq!(scene.read("note.txt"), None);
            }
        }
        drop(other);
    }
    assert_eq!(allowed + denied, ROUNDS);
    scene.end([]).await;
}

#[tokio::test]
async fn before_its_deadline_an_answer_counts_and_after_it_none() {
    let mut scene = Scene::new().await;
    let run = scene.start("writer", denied_in_a_minute()).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(60) - Duration::from_millis(2)).await;
    let answered = scene.answer(&question, "allowOnce").await;
    assert_eq!(answered["result"]["resolution"]["by"], "client", "{answered}");
    // The moment comes, and means nothing any more.
    scene.pass(seconds(1)).await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["success"]);
    std::fs::remove_file(scene.house.work().join("note.txt")).unwrap();
    let run = scene.start("writer", denied_in_a_minute()).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(60)).await;
    assert_eq!(scene.over(&question).await, by_the_deadline("deny"));
    let late = scene.answer(&question, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), by_the_deadline("deny")));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["error NO_CLIENT"]);
    scene.end([]).await;
}

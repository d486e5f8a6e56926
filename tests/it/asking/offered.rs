//! Who is offered a question, and whose answer decides?

use std::time::Duration;

use serde_json::json;

use super::scene::{ALREADY, Scene, refusal};

#[tokio::test]
async fn of_two_who_answer_one_after_the_other_the_first_decides() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(ann.is_offered(&question).await && bob.is_offered(&question).await);
    let answered = ann.answer(&question, "allowOnce").await;
    assert_eq!(answered["result"]["resolution"]["outcome"], "allowOnce", "{answered}");
    let late = bob.answer_with(&question, "deny", json!({ "message": "no" })).await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["allowOnce", "client", "cli-ann"])));
    for person in [&mut ann, &mut bob] {
        assert_eq!(person.resolved(&question).await, json!(["allowOnce", "client", "cli-ann"]));
    }
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.read("note.txt").as_deref(), Some("one\n"));
    assert_eq!(scene.calls(&run, "write_file").await, ["success"]);
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn a_question_that_nobody_can_be_asked_waits_for_whoever_comes_an_hour_later() {
    let mut scene = Scene::new().await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    assert_eq!(question["state"], "queued");
    scene.pass(Duration::from_secs(3_600)).await;
    let mut ann = scene.person("ann").await;
    let snapshot = ann.attach(&run.session).await;
    let found = &snapshot["data"]["openConfirmations"][0];
    assert_eq!(found["confirmationId"], question["confirmationId"]);
    assert_eq!((&found["offered"], &found["details"]["newContent"]), (&json!(true), &json!("one\n")));
    ann.answer(&question, "allowOnce").await;
    let record = scene.ended(&run).await;
    assert_eq!(record["reason"], "GOAL");
    assert!(record["activeMs"].as_u64().unwrap() < 60_000, "{record}");
    scene.end([ann]).await;
}

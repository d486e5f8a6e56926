//! For whom is a question, where a run names who is to be asked?

use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{ALREADY, Person, Run, Scene, refusal};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn starter_first() -> Value {
    json!({ "audience": { "initiatorFirst": { "graceMs": 30_000 } } })
}

/// What became of a call that this person allowed.
async fn was_allowed(scene: &mut Scene, run: &Run, question: &Value, by: &str) {
    assert_eq!(scene.over(question).await, json!(["allowOnce", "client", by]));
    assert_eq!(scene.ended(run).await["reason"], "GOAL");
    assert_eq!(scene.calls(run, "write_file").await, ["success"]);
    assert_eq!(scene.read("note.txt").as_deref(), Some("one\n"));
}

/// Ann, who starts the run, and Bob; both attached.
async fn two(scene: &mut Scene) -> (String, Person, Person) {
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    (session, ann, bob)
}

#[tokio::test]
async fn who_started_the_run_and_answers_in_time_is_the_only_one_asked() {
    let mut scene = Scene::new().await;
    let (session, mut ann, mut bob) = two(&mut scene).await;
    let run = scene.start_by(&mut ann, &session, "writer", starter_first()).await;
    let question = scene.question(&run).await;
    assert_eq!((ann.is_offered(&question).await, bob.is_offered(&question).await), (true, false));
    scene.still_open_after(seconds(10), &question).await;
    ann.answer(&question, "allowOnce").await;
    was_allowed(&mut scene, &run, &question, "cli-ann").await;
    scene.pass(seconds(60)).await;
    assert_eq!(bob.resolved(&question).await, json!(["allowOnce", "client", "cli-ann"]));
    assert_eq!(bob.heard("signal.confirmation").await, [json!(null); 0]);
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn when_who_started_the_run_takes_too_long_everybody_is_asked() {
    let mut scene = Scene::new().await;
    let (session, mut ann, mut bob) = two(&mut scene).await;
    let run = scene.start_by(&mut ann, &session, "writer", starter_first()).await;
    let question = scene.question(&run).await;
    assert_eq!((ann.is_offered(&question).await, bob.is_offered(&question).await), (true, false));
    scene.still_open_after(seconds(29), &question).await;
    assert!(!bob.is_asked(&question).await && bob.heard("signal.confirmation").await.is_empty());
    scene.pass(seconds(1)).await;
    assert!(bob.is_offered_later(&question).await);
    assert!(ann.is_asked(&question).await && bob.is_asked(&question).await);
    bob.answer(&question, "allowOnce").await;
    was_allowed(&mut scene, &run, &question, "cli-bob").await;
    let late = ann.answer_with(&question, "deny", json!({ "message": "no" })).await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["allowOnce", "client", "cli-bob"])));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn when_who_started_the_run_leaves_the_others_are_asked_and_stay_so() {
    let mut scene = Scene::new().await;
    let (session, mut ann, mut bob) = two(&mut scene).await;
    let run = scene.start_by(&mut ann, &session, "writer", starter_first()).await;
    let question = scene.question(&run).await;
    assert_eq!((ann.is_offered(&question).await, bob.is_offered(&question).await), (true, false));
    scene.still_open_after(seconds(5), &question).await;
    scene.leave(ann).await;
    assert!(bob.is_offered_later(&question).await);
    scene.looked(&question).await;
    assert_eq!(scene.get(&question).await["state"], "offered");
    // Who comes back within the time is asked as well, and takes nothing from anybody.
    let mut ann = scene.person("ann").await;
    let snapshot = ann.attach(&session).await;
    assert_eq!(snapshot["data"]["openConfirmations"][0]["offered"], true);
    scene.looked(&question).await;
    assert!(bob.is_asked(&question).await);
    bob.answer(&question, "allowOnce").await;
    was_allowed(&mut scene, &run, &question, "cli-bob").await;
    assert_eq!(ann.resolved(&question).await, json!(["allowOnce", "client", "cli-bob"]));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn when_who_started_the_run_is_away_the_others_are_asked_at_once() {
    let mut scene = Scene::new().await;
    let (session, mut ann, mut bob) = two(&mut scene).await;
    ann.is_now("away").await;
    let run = scene.start_by(&mut ann, &session, "writer", starter_first()).await;
    let question = scene.question(&run).await;
    assert_eq!((ann.is_offered(&question).await, bob.is_offered(&question).await), (false, true));
    bob.answer(&question, "allowOnce").await;
    was_allowed(&mut scene, &run, &question, "cli-bob").await;
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn when_who_started_the_run_cannot_show_the_question_the_others_are_asked_at_once() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person_with("ann", json!({ "confirmations": { "kinds": ["question"] } })).await;
    let mut bob = scene.person("bob").await;
    ann.attach(&session).await;
    bob.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", starter_first()).await;
    let question = scene.question(&run).await;
    assert_eq!((ann.is_offered(&question).await, bob.is_offered(&question).await), (false, true));
    bob.answer(&question, "allowOnce").await;
    was_allowed(&mut scene, &run, &question, "cli-bob").await;
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn a_question_for_some_clients_is_for_them_alone() {
    let mut scene = Scene::new().await;
    let (session, mut ann, mut bob) = two(&mut scene).await;
    let mut cleo = scene.person("cleo").await;
    cleo.attach(&session).await;
    let approval = json!({ "audience": { "clients": ["cli-bob"] } });
    let run = scene.start_by(&mut ann, &session, "writer", approval).await;
    let question = scene.question(&run).await;
    assert_eq!(
        (ann.is_offered(&question).await, bob.is_offered(&question).await, cleo.is_offered(&question).await),
        (false, true, false)
    );
    bob.answer_with(&question, "deny", json!({ "message": "not today" })).await;
    for person in [&mut ann, &mut bob, &mut cleo] {
        assert_eq!(person.resolved(&question).await, json!(["deny", "client", "cli-bob"]));
    }
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["error USER_DENIED"]);
    assert!(scene.model_was_told("writer").contains("not today"));
    assert_eq!(scene.read("note.txt"), None);
    scene.end([ann, bob, cleo]).await;
}

#[tokio::test]
async fn a_question_for_somebody_who_is_not_there_waits_for_them_whoever_else_is() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut cleo) = (scene.person("ann").await, scene.person("cleo").await);
    ann.attach(&session).await;
    cleo.attach(&session).await;
    let approval = json!({ "audience": { "clients": ["cli-bob"] } });
    let run = scene.start_by(&mut ann, &session, "writer", approval).await;
    let question = scene.question(&run).await;
    assert!(!ann.is_offered(&question).await && !cleo.is_offered(&question).await);
    assert_eq!(question["state"], "queued");
    scene.still_open_after(seconds(3_600), &question).await;
    let mut bob = scene.person("bob").await;
    let snapshot = bob.attach(&session).await;
    assert_eq!(snapshot["data"]["openConfirmations"][0]["offered"], true);
    bob.answer(&question, "allowOnce").await;
    was_allowed(&mut scene, &run, &question, "cli-bob").await;
    for person in [&mut ann, &mut cleo] {
        assert_eq!(person.resolved(&question).await, json!(["allowOnce", "client", "cli-bob"]));
        assert!(person.heard("signal.confirmation").await.is_empty());
    }
    scene.end([ann, bob, cleo]).await;
}

#[tokio::test]
async fn whoever_else_is_there_does_not_stop_the_time_of_a_question_for_others() {
    let mut scene = Scene::new().await;
    let (session, mut ann, bob) = two(&mut scene).await;
    let approval = json!({ "audience": { "clients": ["cli-cleo"] }, "deadlineMs": 60_000 });
    let run = scene.start_by(&mut ann, &session, "writer", approval).await;
    let question = scene.question(&run).await;
    scene.still_open_after(seconds(59), &question).await;
    scene.pass(seconds(1)).await;
    assert_eq!(ann.resolved(&question).await, json!(["deny", "deadline", null]));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    let approval = json!({ "audience": { "clients": ["cli-cleo"] }, "onDetached": "fail" });
    let run = scene.start_by(&mut ann, &session, "writer", approval).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(3)).await;
    assert_eq!(scene.over(&question).await, json!(["cancelRun", "system", null]));
    assert_eq!(scene.ended(&run).await["reason"], "UNATTENDED");
    assert_eq!(scene.read("note.txt"), None);
    scene.end([ann, bob]).await;
}

/// Who is asked first is a question of who is bothered: everybody who may control the session may decide in it.
#[tokio::test]
async fn who_is_not_asked_yet_may_answer_all_the_same() {
    let mut scene = Scene::new().await;
    let (session, mut ann, mut bob) = two(&mut scene).await;
    let audience = json!({ "audience": { "initiatorFirst": { "graceMs": 30_000 } } });
    let run = scene.start_by(&mut ann, &session, "writer", audience).await;
    let question = scene.question(&run).await;
    assert_eq!((ann.is_offered(&question).await, bob.is_offered(&question).await), (true, false));
    bob.answer(&question, "allowOnce").await;
    was_allowed(&mut scene, &run, &question, "cli-bob").await;
    assert_eq!(ann.resolved(&question).await, json!(["allowOnce", "client", "cli-bob"]));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn who_was_left_out_decides_nothing() {
    let mut scene = Scene::new().await;
    let (session, mut ann, mut bob) = two(&mut scene).await;
    let mut nameless = scene.stranger();
    nameless.attach(&session).await;
    let audience = json!({ "audience": { "clients": ["cli-ann"] } });
    let run = scene.start_by(&mut ann, &session, "writer", audience).await;
    let question = scene.question(&run).await;
    // Nor by another connection, which sits at no session.
    let (mut bob_again, mut script) = (scene.person("bob").await, scene.stranger());
    for person in [&mut bob, &mut nameless, &mut bob_again, &mut script] {
        let response = person.answer(&question, "allowOnce").await;
        assert_eq!(response["error"]["data"]["kind"], "FORBIDDEN", "{response}");
    }
    assert_eq!(scene.get(&question).await["state"], "offered");
    ann.answer(&question, "allowOnce").await;
    was_allowed(&mut scene, &run, &question, "cli-ann").await;
    scene.end([ann, bob, nameless, bob_again, script]).await;
}

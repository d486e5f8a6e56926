//! What becomes of a question while nobody is there to be asked?

use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{ALREADY, Run, Scene, refusal, taken};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// What `run.waiting` told of a run.
async fn waitings(scene: &Scene, run: &Run) -> Vec<Value> {
    scene.log_of(run, "run.waiting").await.iter().map(|event| event["data"]["waiting"].clone()).collect()
}

#[tokio::test]
async fn a_question_that_nobody_can_be_asked_waits_for_whoever_comes_an_hour_later() {
    let mut scene = Scene::new().await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    assert_eq!(question["state"], "queued");
    assert_eq!(scene.script.call("daemon/status", json!({})).await["openConfirmations"], 1);
    scene.run_is(&run, "waiting").await;
    assert_eq!(waitings(&scene, &run).await, [true]);
    scene.pass(HOUR).await;
    assert_eq!(scene.get(&question).await["state"], "queued");
    let mut ann = scene.person("ann").await;
    let snapshot = ann.attach(&run.session).await;
    // The whole subject, without asking back.
    let mut found = snapshot["data"]["openConfirmations"][0].clone();
    assert_eq!((&found["offered"], &found["state"]), (&json!(true), &json!("offered")));
    assert_eq!((&found["details"]["newContent"], &found["path"]), (&json!("one\n"), &json!(["writer"])));
    assert!(found["details"]["diff"].as_str().unwrap().contains("+one"), "{found}");
    found.as_object_mut().unwrap().remove("offered");
    found["state"] = json!("queued");
    // Here the session has its folders.
    found["roots"] = snapshot["data"]["session"]["roots"].clone();
    assert_eq!(found, question, "it is the question that was asked");
    scene.allowed_by(&mut ann, &run, &found).await;
    assert_eq!(waitings(&scene, &run).await, [true, false]);
    assert!(scene.record(&run).await["activeMs"].as_u64().unwrap() < 60_000);
    scene.end([ann]).await;
}

#[tokio::test]
async fn the_clocks_of_a_run_that_waits_and_of_its_parent_stand_still() {
    let mut scene = Scene::new().await;
    let limits = json!({ "limits": { "maxTimeMs": 60_000 } });
    let parent = scene.start_with("parent", limits).await;
    let question = scene.question(&parent).await;
    let child = Run { id: question["runId"].as_str().unwrap().to_owned(), session: parent.session.clone() };
    assert_ne!(child.id, parent.id);
    let mut before = Vec::new();
    for run in [&parent, &child] {
        before.push(scene.run_is(run, "waiting").await["activeMs"].clone());
    }
    scene.pass(HOUR).await;
    for (run, before) in [&parent, &child].into_iter().zip(&before) {
        let record = scene.record(run).await;
        assert_eq!((&record["state"], &record["activeMs"]), (&json!("waiting"), before));
    }
    let mut ann = scene.person("ann").await;
    ann.attach(&parent.session).await;
    assert_eq!(taken(&ann.answer(&question, "allowOnce").await)[0], "allowOnce");
    for run in [&child, &parent] {
        let record = scene.ended(run).await;
        assert_eq!((&record["reason"], record.get("recovered")), (&json!("GOAL"), None), "{record}");
        assert!(record["activeMs"].as_u64().unwrap() < 60_000, "{record}");
    }
    assert_eq!(scene.calls(&child, "write_file").await, ["success"]);
    scene.end([ann]).await;
}

#[tokio::test]
async fn an_answer_to_one_question_does_not_start_the_clock_for_the_wait_on_another() {
    let mut scene = Scene::new().await;
    let run = scene.start_with("two", json!({ "limits": { "maxTimeMs": 60_000 } })).await;
    let questions = scene.questions(&run, 2).await;
    scene.answer(&questions[0], "allowOnce").await;
    // What was allowed is done while the other one waits.
    while scene.calls(&run, "write_file").await.is_empty() {
        scene.script.settle().await;
    }
    let waiting = scene.run_is(&run, "waiting").await;
    scene.pass(10 * MINUTE).await;
    let record = scene.record(&run).await;
    assert_eq!((&record["state"], &record["activeMs"]), (&json!("waiting"), &waiting["activeMs"]));
    scene.answer(&questions[1], "allowOnce").await;
    let record = scene.ended(&run).await;
    assert_eq!((&record["reason"], record.get("recovered")), (&json!("GOAL"), None));
    assert!(record["activeMs"].as_u64().unwrap() < 60_000, "{record}");
    assert_eq!(scene.calls(&run, "write_file").await, ["success", "success"]);
    scene.end([]).await;
}

#[tokio::test]
async fn a_headless_run_is_refused_at_once_and_its_model_is_told_why() {
    let mut scene = Scene::new().await;
    let mut eve = scene.person("eve").await;
    eve.attach_with("*", json!({ "role": "observe" })).await;
    let run = scene.start("writer", json!({ "headless": true })).await;
    // No time passes.
    scene.did_not_write(&run, "NO_CLIENT").await;
    let told = scene.model_was_told("writer");
    for part in ["NO_CLIENT", "nobody is there to ask", "calls of low risk need a person's consent"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let asked = scene.log_of(&run, "confirmation.requested").await.pop().unwrap();
    let question = asked["data"]["confirmation"].clone();
    assert_eq!(scene.resolution(&question).await, json!(["deny", "system", null]));
    assert!(!eve.is_offered(&question).await);
    assert_eq!(eve.resolved(&question).await, json!(["deny", "system", null]));
    scene.end([eve]).await;
}

#[tokio::test]
async fn a_headless_run_that_is_to_wait_waits() {
    let mut scene = Scene::new().await;
    let run = scene.start("writer", json!({ "headless": true, "onDetached": "wait" })).await;
    let question = scene.question(&run).await;
    scene.pass(HOUR).await;
    assert_eq!(scene.get(&question).await["state"], "queued");
    let mut ann = scene.person("ann").await;
    ann.attach(&run.session).await;
    scene.allowed_by(&mut ann, &run, &question).await;
    scene.end([ann]).await;
}

#[tokio::test]
async fn a_headless_run_asks_whoever_is_there_all_the_same() {
    let mut scene = Scene::new().await;
    let mut ann = scene.person("ann").await;
    ann.attach("*").await;
    let run = scene.start("writer", json!({ "headless": true })).await;
    let question = scene.question(&run).await;
    assert!(ann.is_offered(&question).await);
    scene.pass(HOUR).await;
    scene.allowed_by(&mut ann, &run, &question).await;
    scene.end([ann]).await;
}

/// Two questions of a run that fails when nobody is there, once it has.
async fn failed(scene: &mut Scene, run: &Run, questions: &[Value]) {
    let record = scene.pass_until(run, "ended").await;
    assert_eq!((&record["reason"], record.get("recovered")), (&json!("UNATTENDED"), None), "{record}");
    assert_eq!(record["toolCalls"], 2);
    let mut ends = scene.calls(run, "write_file").await;
    ends.sort();
    // The question that nobody could be asked says why; the other call ends with the run.
    assert_eq!(ends, ["cancelled CANCELLED", "error NO_CLIENT"]);
    assert_eq!((scene.read("a.txt"), scene.read("b.txt")), (None, None));
    assert_eq!(scene.cast.requests("two").len(), 1, "there is no grace turn");
    let mut by = Vec::new();
    for question in questions {
        let resolution = scene.resolution(question).await;
        assert_eq!((&resolution[1], &resolution[2]), (&json!("system"), &Value::Null));
        by.push(resolution[0].clone());
        let late = scene.answer(question, "allowOnce").await;
        assert_eq!(refusal(&late), (ALREADY.to_owned(), resolution));
    }
    by.sort_by_key(Value::to_string);
    assert_eq!(by, ["cancelRun", "deny"]);
}

#[tokio::test]
async fn a_run_that_fails_when_nobody_is_there_ends_unattended() {
    let mut scene = Scene::new().await;
    let run = scene.start("two", json!({ "onDetached": "fail" })).await;
    let questions = scene.questions(&run, 2).await;
    failed(&mut scene, &run, &questions).await;
    scene.end([]).await;
}

#[tokio::test]
async fn who_is_away_is_nobody() {
    let mut scene = Scene::new().await;
    let mut bob = scene.person("bob").await;
    bob.is_now("away").await;
    bob.attach("*").await;
    let run = scene.start("two", json!({ "onDetached": "fail" })).await;
    let questions = scene.questions(&run, 2).await;
    failed(&mut scene, &run, &questions).await;
    scene.end([bob]).await;
}

#[tokio::test]
async fn a_run_fails_as_well_once_the_last_one_has_left_and_not_while_somebody_stays() {
    let mut scene = Scene::new().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach("*").await;
    bob.attach("*").await;
    let run = scene.start("two", json!({ "onDetached": "fail" })).await;
    let questions = scene.questions(&run, 2).await;
    scene.leave(ann).await;
    scene.pass(HOUR).await;
    for question in &questions {
        assert_eq!(scene.get(question).await["state"], "offered");
    }
    scene.leave(bob).await;
    for question in &questions {
        scene.question_is(question, "queued").await;
    }
    // Whoever only reconnects has left nobody alone.
    scene.pass(Duration::from_secs(2)).await;
    let mut bob = scene.person("bob").await;
    bob.attach("*").await;
    scene.pass(HOUR).await;
    assert_eq!(scene.get(&questions[0]).await["state"], "offered");
    scene.leave(bob).await;
    failed(&mut scene, &run, &questions).await;
    scene.end([]).await;
}

#[tokio::test]
async fn a_parked_run_goes_on_when_it_is_answered() {
    let mut scene = Scene::new().await;
    let run = scene.start("writer", json!({ "onDetached": "park" })).await;
    let question = scene.question(&run).await;
    let parked = scene.pass_until(&run, "parked").await;
    assert_eq!(scene.log_of(&run, "run.parked").await[0]["data"]["reason"], "unattended");
    scene.pass(24 * HOUR).await;
    let after = scene.get(&question).await;
    assert_eq!((&after["state"], &after["digest"]), (&json!("queued"), &question["digest"]));
    assert_eq!(scene.record(&run).await["activeMs"], parked["activeMs"]);
    let mut ann = scene.person("ann").await;
    let snapshot = ann.attach(&run.session).await;
    let found = &snapshot["data"]["openConfirmations"][0];
    assert_eq!((&found["confirmationId"], &found["offered"]), (&question["confirmationId"], &json!(true)));
    // That somebody is there does not let it go on.
    assert_eq!(scene.record(&run).await["state"], "parked");
    scene.allowed_by(&mut ann, &run, &question).await;
    let (resumed, states) = (scene.log_of(&run, "run.resumed").await, scene.log_of(&run, "tool.state").await);
    assert_eq!(resumed.len(), 1);
    let ended = states.iter().find(|it| it["data"]["to"] == "success").unwrap();
    assert!(resumed[0]["seq"].as_u64().unwrap() < ended["seq"].as_u64().unwrap());
    assert!(scene.record(&run).await["activeMs"].as_u64().unwrap() < 60_000);
    scene.end([ann]).await;
}

#[tokio::test]
async fn unparking_is_no_consent() {
    let mut scene = Scene::new().await;
    let run = scene.start("writer", json!({ "onDetached": "park" })).await;
    let question = scene.question(&run).await;
    let unpark = json!({ "runId": run.id });
    let (kind, _) = scene.script.refused("run/unpark", unpark.clone()).await;
    assert_eq!(kind, "CONFLICT", "it is not parked yet");
    scene.pass_until(&run, "parked").await;
    scene.script.call("run/unpark", unpark.clone()).await;
    // It waits, and is not parked for this question a second time.
    scene.run_is(&run, "waiting").await;
    scene.pass(HOUR).await;
    assert_eq!(scene.record(&run).await["state"], "waiting");
    assert_eq!(scene.log_of(&run, "run.parked").await.len(), 1);
    assert_eq!(scene.calls(&run, "write_file").await, Vec::<String>::new());
    let (kind, _) = scene.script.refused("run/unpark", unpark.clone()).await;
    assert_eq!(kind, "CONFLICT");
    let mut ann = scene.person("ann").await;
    ann.attach(&run.session).await;
    let after = scene.get(&question).await;
    assert_eq!((&after["state"], &after["digest"]), (&json!("offered"), &question["digest"]));
    scene.allowed_by(&mut ann, &run, &question).await;
    let (kind, error) = scene.script.refused("run/unpark", unpark).await;
    assert_eq!((kind.as_str(), &error["data"]["details"]["reason"]), ("CONFLICT", &json!("GOAL")));
    scene.end([ann]).await;
}

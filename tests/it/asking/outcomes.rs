//! What does each answer do: to the call, to its neighbours, to the run, and to what the model learns?

use std::{fs, time::Duration};

use serde_json::{Value, json};

use super::scene::{ALREADY, Person, Run, Scene, refusal};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Ann and Bob, both attached; Ann starts the run.
async fn two_and(scene: &mut Scene, agent: &str) -> (Run, Person, Person) {
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, agent, json!({})).await;
    (run, ann, bob)
}

/// Of the open questions the one about this file.
fn about<'a>(questions: &'a [Value], file: &str) -> &'a Value {
    let is_it = |question: &&Value| question["details"]["path"].as_str().unwrap().ends_with(file);
    questions.iter().find(is_it).unwrap_or_else(|| panic!("nobody asks about {file}: {questions:?}"))
}

/// What the model was told last about calls of a tool: the responses' texts, in order.
fn responses(scene: &Scene, path: &str) -> String {
    let requests = scene.cast.requests(path);
    format!("{:?}", requests.last().unwrap().messages.last().unwrap())
}

async fn with_note() -> Scene {
    Scene::with(|house| house.file("note.txt", "zero\n")).await
}

#[tokio::test]
async fn what_a_person_writes_instead_is_shown_to_all_and_is_what_is_written() {
    let mut scene = with_note().await;
    let (run, mut ann, mut bob) = two_and(&mut scene, "writer").await;
    let question = scene.question(&run).await;
    // What does not fit changes nothing.
    for (more, kind) in [
        (json!({ "arguments": { "path": "note.txt", "content": 7 } }), "INVALID_PARAMS"),
        (json!({ "arguments": { "path": "../out.txt", "content": "x" } }), "INVALID_PARAMS"),
        (json!({}), "INVALID_PARAMS"),
    ] {
        let refused = ann.answer_with(&question, "modify", more.clone()).await;
        assert_eq!(refused["error"]["data"]["kind"], kind, "{more}: {refused}");
    }
    scene.looked(&question).await;
    assert_eq!(scene.get(&question).await["digest"], question["digest"]);
    let answered = ann.answer_with(&question, "modify", json!({ "content": "two\n" })).await;
    assert_eq!(answered["result"]["resolution"]["outcome"], "modify", "{answered}");
    for person in [&mut ann, &mut bob] {
        let revised = person.told("confirmation.revised", &question).await;
        let shown = &revised["data"]["confirmation"];
        assert_ne!(shown["digest"], question["digest"]);
        assert_eq!(shown["details"]["newContent"], "two\n");
        let diff = shown["details"]["diff"].as_str().unwrap();
        assert!(diff.contains("-zero\n+two\n"), "{diff}");
        assert_eq!(person.resolved(&question).await, json!(["modify", "client", "cli-ann"]));
    }
    let late = bob.answer(&question, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["modify", "client", "cli-ann"])));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.read("note.txt").as_deref(), Some("two\n"));
    assert_eq!(scene.calls(&run, "write_file").await, ["success"]);
    assert_eq!(scene.logged("file.changed").await.len(), 1);
    let told = scene.model_was_told("writer");
    assert!(told.contains("A person changed the call") && told.contains("two"), "{told}");
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn what_a_person_writes_instead_is_judged_like_any_call() {
    let rule = r#"
        [[rule]]
        tool = "write_file"
        argsPattern = "secret"
        decision = "deny"
        message = "nothing secret"
    "#;
    let mut scene = Scene::with(|house| house.rules("mine", rule)).await;
    let (run, mut ann, bob) = two_and(&mut scene, "writer").await;
    let question = scene.question(&run).await;
    let refused = ann.answer_with(&question, "modify", json!({ "content": "a secret\n" })).await;
    assert_eq!(refused["error"]["data"]["kind"], "FORBIDDEN", "{refused}");
    assert_eq!(refused["error"]["data"]["details"]["error"]["type"], "POLICY_DENIED");
    scene.looked(&question).await;
    assert_eq!(scene.read("note.txt"), None);
    ann.answer_with(&question, "modify", json!({ "content": "no such thing\n" })).await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.read("note.txt").as_deref(), Some("no such thing\n"));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn a_file_that_changed_after_it_was_shown_is_asked_about_anew() {
    for is_allowed in [true, false] {
        let mut scene = with_note().await;
        let (run, mut ann, mut bob) = two_and(&mut scene, "writer").await;
        let question = scene.question(&run).await;
        assert!(question["details"]["diff"].as_str().unwrap().contains("-zero\n+one\n"));
        fs::write(scene.house.work().join("note.txt"), "mine\n").unwrap();
        let answered = ann.answer(&question, "allowOnce").await;
        assert_eq!(answered["error"]["data"]["kind"], "CONFIRMATION_STALE", "{answered}");
        assert_eq!(scene.read("note.txt").as_deref(), Some("mine\n"));
        let mut fresh = answered["error"]["data"]["details"]["confirmation"].clone();
        for person in [&mut ann, &mut bob] {
            let revised = person.told("confirmation.revised", &question).await;
            assert_eq!(revised["offered"], true);
            let shown = &revised["data"]["confirmation"];
            assert_eq!(shown["digest"], fresh["digest"]);
            assert!(shown["details"]["diff"].as_str().unwrap().contains("-mine\n+one\n"));
            fresh = shown.clone();
        }
        assert_ne!(fresh["digest"], question["digest"]);
        let again = ann.answer(&question, "allowOnce").await;
        assert_eq!(again["error"]["data"]["kind"], "CONFIRMATION_STALE", "{again}");
        assert_eq!(scene.read("note.txt").as_deref(), Some("mine\n"));
        let (outcome, end, content, changes) = match is_allowed {
            true => ("allowOnce", "success", "one\n", 1),
            false => ("deny", "error USER_DENIED", "mine\n", 0),
        };
        let answered = bob.answer(&fresh, outcome).await;
        assert_eq!(answered["result"]["resolution"]["digest"], fresh["digest"], "{answered}");
        assert_eq!(ann.resolved(&question).await, json!([outcome, "client", "cli-bob"]));
        assert_eq!(scene.ended(&run).await["reason"], "GOAL");
        assert_eq!(scene.calls(&run, "write_file").await, [end]);
        assert_eq!(scene.read("note.txt").as_deref(), Some(content));
        assert_eq!(scene.logged("file.changed").await.len(), changes);
        scene.end([ann, bob]).await;
    }
}

#[tokio::test]
async fn a_denial_is_of_one_call_and_its_neighbours_go_on() {
    let mut scene = Scene::new().await;
    let (run, mut ann, bob) = two_and(&mut scene, "mixed").await;
    let questions = scene.questions(&run, 2).await;
    let (first, second) = (about(&questions, "a.txt"), about(&questions, "b.txt"));
    // What asks nobody waits for nobody.
    scene.until_calls_are(&run, "read_file", &["success"]).await;
    ann.answer_with(first, "deny", json!({ "message": "not this file" })).await;
    assert_eq!(ann.resolved(first).await, json!(["deny", "client", "cli-ann"]));
    scene.looked(second).await;
    assert_eq!(scene.get(second).await["state"], "offered");
    assert_eq!(scene.cast.requests("mixed").len(), 1);
    ann.answer(second, "allowOnce").await;
    assert_eq!(ann.resolved(second).await, json!(["allowOnce", "client", "cli-ann"]));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["error USER_DENIED", "success"]);
    assert_eq!((scene.read("a.txt"), scene.read("b.txt").as_deref()), (None, Some("b\n")));
    let told = responses(&scene, "mixed");
    let places = ["read_file", "USER_DENIED", "b.txt"].map(|text| told.find(text));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}: {told}");
    assert!(told.contains("not this file"));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn who_cancels_the_run_at_a_question_ends_its_others_too() {
    let mut scene = Scene::new().await;
    let (run, mut ann, mut bob) = two_and(&mut scene, "two").await;
    let questions = scene.questions(&run, 2).await;
    let (first, second) = (about(&questions, "a.txt"), about(&questions, "b.txt"));
    let answered = ann.answer_with(first, "cancelRun", json!({ "message": "enough" })).await;
    assert_eq!(answered["result"]["resolution"]["outcome"], "cancelRun", "{answered}");
    let record = scene.ended(&run).await;
    assert_eq!(record["reason"], "ABORTED");
    assert!(record["message"].as_str().unwrap().contains("enough"), "{record}");
    for person in [&mut ann, &mut bob] {
        assert_eq!(person.resolved(first).await, json!(["cancelRun", "client", "cli-ann"]));
        assert_eq!(person.resolved(second).await, json!(["deny", "system", null]));
    }
    let late = bob.answer(second, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["deny", "system", null])));
    let repeated = ann.answer_with(first, "cancelRun", json!({ "message": "enough" })).await;
    assert_eq!(repeated["result"]["seq"], answered["result"]["seq"], "{repeated}");
    assert_eq!(scene.calls(&run, "write_file").await, ["cancelled CANCELLED", "cancelled CANCELLED"]);
    assert_eq!((scene.read("a.txt"), scene.read("b.txt")), (None, None));
    assert_eq!(scene.cast.requests("two").len(), 1);
    scene.end([ann, bob]).await;
}

/// What is the same however long a question of the agent's waited.
async fn answers_red(scene: &mut Scene, run: &Run, question: &Value) {
    let mut ann = scene.person("ann").await;
    let snapshot = ann.attach(&run.session).await;
    let found = &snapshot["data"]["openConfirmations"][0];
    assert_eq!((&found["offered"], &found["details"]["type"]), (&json!(true), &json!("question")));
    assert_eq!(
        found["details"]["questions"],
        json!([{ "question": "Which colour?", "options": ["red", "blue"] }])
    );
    let refused = ann.answer(question, "allowOnce").await;
    assert_eq!(refused["error"]["data"]["kind"], "OUTCOME_NOT_OFFERED", "{refused}");
    for wrong in [json!([]), json!(["red", "blue"]), json!([" "]), json!([["red", "blue"]])] {
        let refused = ann.answer_with(question, "answer", json!({ "answers": wrong })).await;
        assert_eq!(refused["error"]["data"]["kind"], "INVALID_PARAMS", "{refused}");
    }
    scene.looked(question).await;
    ann.answer_with(question, "answer", json!({ "answers": ["red"] })).await;
    assert_eq!(ann.resolved(question).await, json!(["answer", "client", "cli-ann"]));
    let record = scene.ended(run).await;
    assert_eq!(record["reason"], "GOAL");
    assert!(record["activeMs"].as_u64().unwrap() < 60_000, "{record}");
    assert_eq!(scene.calls(run, "ask_user").await, ["success"]);
    let told = responses(scene, "asker");
    assert!(told.contains("red") && !told.contains("blue"), "{told}");
    scene.leave(ann).await;
}

#[tokio::test]
async fn what_an_agent_asks_waits_for_a_person_in_every_mode() {
    let with_yolo = |mut house: crate::support::House| {
        house.config.approval.allow_yolo.value = true;
        house
    };
    let mut scene = Scene::with(with_yolo).await;
    for approval in [json!({}), json!({ "mode": "yolo", "autoApprove": ["low", "medium", "high"] })] {
        let run = scene.start("asker", approval).await;
        let question = scene.question(&run).await;
        assert_eq!(question["state"], "queued");
        scene.still_open_after(seconds(3_600), &question).await;
        answers_red(&mut scene, &run, &question).await;
    }
    scene.end([]).await;
}

#[tokio::test]
async fn what_an_agent_asks_of_a_parked_run_is_answered_like_any() {
    let mut scene = Scene::new().await;
    let run = scene.start("asker", json!({ "onDetached": "park" })).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(3)).await;
    scene.until_run_is("parked", &run.id).await;
    scene.still_open_after(seconds(3_600), &question).await;
    answers_red(&mut scene, &run, &question).await;
    scene.end([]).await;
}

#[tokio::test]
async fn what_an_agent_asks_and_nobody_can_be_asked_is_no_client() {
    let mut scene = Scene::new().await;
    let run = scene.start("asker", json!({ "onDetached": "deny" })).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(3)).await;
    assert_eq!(scene.over(&question).await, json!(["deny", "system", null]));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "ask_user").await, ["error NO_CLIENT"]);
    assert!(scene.model_was_told("asker").contains("no client is attached"));
    let run = scene.start("asker", json!({ "onDetached": "fail" })).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(3)).await;
    assert_eq!(scene.over(&question).await, json!(["cancelRun", "system", null]));
    assert_eq!(scene.ended(&run).await["reason"], "UNATTENDED");
    scene.end([]).await;
}

#[tokio::test]
async fn questions_that_are_open_at_once_are_answered_in_any_order() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let more = json!({ "sessionId": session, "workspace": null, "limits": { "maxTimeMs": 60_000 } });
    let run = scene.start_with("two", more).await;
    let questions = scene.questions(&run, 2).await;
    let (first, second) = (about(&questions, "a.txt"), about(&questions, "b.txt"));
    assert!(ann.is_asked(first).await && ann.is_asked(second).await);
    ann.answer(second, "allowOnce").await;
    scene.until_calls_are(&run, "write_file", &["success"]).await;
    assert_eq!((scene.read("a.txt"), scene.read("b.txt").as_deref()), (None, Some("b\n")));
    scene.still_open_after(seconds(600), first).await;
    scene.until_run_is("waiting", &run.id).await;
    assert_eq!(scene.cast.requests("two").len(), 1);
    ann.answer(first, "allowOnce").await;
    let record = scene.ended(&run).await;
    assert_eq!(record["reason"], "GOAL");
    assert!(record["activeMs"].as_u64().unwrap() < 60_000, "{record}");
    assert_eq!(scene.read("a.txt").as_deref(), Some("a\n"));
    assert_eq!(scene.calls(&run, "write_file").await, ["success", "success"]);
    assert_eq!(scene.cast.requests("two").len(), 2);
    let told = responses(&scene, "two");
    assert!(told.find("a.txt").unwrap() < told.find("b.txt").unwrap(), "{told}");
    scene.end([ann]).await;
}

#[tokio::test]
async fn closing_a_session_ends_its_questions_before_it() {
    let mut scene = Scene::new().await;
    let (run, mut ann, mut bob) = two_and(&mut scene, "writer").await;
    let question = scene.question(&run).await;
    // What is at work is not swept away.
    let (kind, _) = bob.client.refused("session/delete", json!({ "sessionId": run.session })).await;
    assert_eq!(kind, "BUSY");
    scene.looked(&question).await;
    assert_eq!(scene.get(&question).await["state"], "offered");
    bob.client.call("session/close", json!({ "sessionId": run.session })).await;
    for person in [&mut ann, &mut bob] {
        assert_eq!(person.resolved(&question).await, json!(["deny", "system", null]));
    }
    let late = ann.answer(&question, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["deny", "system", null])));
    assert_eq!(scene.ended(&run).await["reason"], "ABORTED");
    assert_eq!(scene.calls(&run, "write_file").await, ["cancelled CANCELLED"]);
    assert_eq!(scene.read("note.txt"), None);
    let log = scene.running.log().await;
    let place = |kind: &str| log.iter().position(|event| event["type"] == kind).unwrap();
    assert!(place("confirmation.resolved") < place("run.completed"));
    assert!(place("run.completed") < place("session.closed"));
    // What is closed can go, and the question with it.
    bob.client.call("session/delete", json!({ "sessionId": run.session })).await;
    let gone = ann.answer(&question, "allowOnce").await;
    assert_eq!(gone["error"]["data"]["kind"], "NOT_FOUND", "{gone}");
    assert_eq!(scene.read("note.txt"), None);
    scene.end([]).await;
    drop((ann, bob));
}

#[tokio::test]
async fn a_session_that_is_not_kept_tells_of_the_end_of_its_questions_before_it_goes() {
    let mut scene = Scene::new().await;
    let params = json!({ "workspace": scene.running.work(), "ephemeral": true });
    let created = scene.script.call("session/create", params).await;
    let session = created["sessionId"].as_str().unwrap().to_owned();
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(ann.is_offered(&question).await);
    scene.script.call("session/close", json!({ "sessionId": session })).await;
    assert_eq!(ann.resolved(&question).await, json!(["deny", "system", null]));
    let late = ann.answer(&question, "allowOnce").await;
    assert_eq!(late["error"]["data"]["kind"], "NOT_FOUND", "{late}");
    assert_eq!(scene.read("note.txt"), None);
    scene.end([]).await;
    drop(ann);
}

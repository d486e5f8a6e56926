//! What does a person allow who allows more than one call?

use serde_json::{Value, json};

use super::scene::{Person, Run, Scene};

async fn ann_in(scene: &mut Scene) -> (String, Person) {
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    (session, ann)
}

/// The rules that answers made.
async fn remembered(scene: &mut Scene) -> Vec<Value> {
    let listed = scene.script.call("policy/list", json!({})).await;
    let mut rules = listed["rules"].as_array().unwrap().clone();
    rules.retain(|rule| rule.get("fromConfirmation").is_some());
    rules
}

/// The file that the one open question of the session is about.
async fn asks_about(scene: &mut Scene, run: &Run) -> (Value, String) {
    let question = scene.question(run).await;
    let path = question["details"]["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    (question, path)
}

#[tokio::test]
async fn what_was_allowed_for_a_session_is_not_asked_again_in_it_and_nothing_else_is_allowed() {
    let mut scene = Scene::new().await;
    let (session, mut ann) = ann_in(&mut scene).await;
    let run = scene.start_by(&mut ann, &session, "often", json!({})).await;
    let (first, file) = asks_about(&mut scene, &run).await;
    assert_eq!(file, "note.txt");
    // The rule is shown before it is written.
    let options = first["options"].as_array().unwrap();
    let shown = &options.iter().find(|option| option["outcome"] == "allowSession").unwrap()["remembers"];
    assert_eq!((&shown["session"], &shown["tier"]), (&json!(session), &json!("user")));
    assert!(remembered(&mut scene).await.is_empty());
    ann.answer(&first, "allowSession").await;
    assert_eq!(ann.resolved(&first).await, json!(["allowSession", "client", "cli-ann"]));
    // The second one of the same file passed; the other file asks.
    let (third, file) = asks_about(&mut scene, &run).await;
    assert_eq!(file, "other.txt");
    assert_eq!(scene.read("note.txt").as_deref(), Some("two\n"));
    assert_eq!(scene.logged("confirmation.requested").await.len(), 2);
    let rules = remembered(&mut scene).await;
    let [rule] = rules.as_slice() else { panic!("one rule: {rules:?}") };
    assert_eq!(
        json!([rule["id"], rule["tier"], rule["session"], rule["accesses"], rule["decision"]]),
        json!([shown["id"], "user", session, shown["accesses"], "allow"])
    );
    assert_eq!(
        (&rule["createdBy"], &rule["fromConfirmation"]),
        (&json!("cli-ann"), &first["confirmationId"])
    );
    let in_workspace: Vec<_> =
        std::fs::read_dir(scene.house.work()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(!in_workspace.iter().any(|name| name.to_string_lossy().starts_with('.')), "{in_workspace:?}");
    ann.answer(&third, "allowOnce").await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["success"; 3]);
    // Another session knows nothing of it.
    let forget = |scene: &Scene| std::fs::remove_file(scene.house.work().join("note.txt")).unwrap();
    forget(&scene);
    let other = scene.start("writer", json!({})).await;
    let (question, _) = asks_about(&mut scene, &other).await;
    scene.answer(&question, "deny").await;
    scene.ended(&other).await;
    // This one does, until the rule is taken back.
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["success"]);
    scene.script.call("policy/remove", json!({ "ruleId": rule["id"] })).await;
    assert!(remembered(&mut scene).await.is_empty());
    forget(&scene);
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let (question, _) = asks_about(&mut scene, &run).await;
    ann.answer(&question, "deny").await;
    scene.ended(&run).await;
    scene.end([ann]).await;
}

#[tokio::test]
async fn what_waited_for_the_call_that_was_allowed_for_the_session_asks_nobody() {
    let mut scene = Scene::new().await;
    let (session, mut ann) = ann_in(&mut scene).await;
    let run = scene.start_by(&mut ann, &session, "twice", json!({})).await;
    // Both write one file, so the second is not asked about before the first has been written.
    let (question, _) = asks_about(&mut scene, &run).await;
    assert_eq!(question["details"]["newContent"], "one\n");
    ann.answer(&question, "allowSession").await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["success", "success"]);
    assert_eq!(scene.read("note.txt").as_deref(), Some("two\n"));
    assert_eq!(scene.logged("confirmation.requested").await.len(), 1);
    scene.end([ann]).await;
}

/// A rule speaks for calls to come. A question that people see already stays theirs.
#[tokio::test]
async fn a_new_rule_answers_no_question_that_is_open() {
    let mut scene = Scene::new().await;
    let (session, mut ann) = ann_in(&mut scene).await;
    let mut run = Vec::new();
    for _ in 0..2 {
        let params = json!({ "workspace": scene.running.work() });
        let created = scene.script.call("session/create", params).await;
        let other = created["sessionId"].as_str().unwrap().to_owned();
        run.push(scene.start_by(&mut ann, &other, "writer", json!({})).await);
    }
    let first = scene.question(&run[0]).await;
    let second = scene.question(&run[1]).await;
    ann.answer(&first, "allowProject").await;
    assert_eq!(scene.ended(&run[0]).await["reason"], "GOAL");
    scene.looked(&second).await;
    assert_eq!(scene.get(&second).await["state"], "queued");
    ann.answer(&second, "deny").await;
    assert_eq!(scene.ended(&run[1]).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run[1], "write_file").await, ["error USER_DENIED"]);
    // The next one is not asked about.
    std::fs::remove_file(scene.house.work().join("note.txt")).unwrap();
    let next = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    assert_eq!(scene.ended(&next).await["reason"], "GOAL");
    assert_eq!(scene.calls(&next, "write_file").await, ["success"]);
    scene.end([ann]).await;
}

#[tokio::test]
async fn what_was_allowed_in_a_session_goes_with_it() {
    let mut scene = Scene::new().await;
    let (session, mut ann) = ann_in(&mut scene).await;
    for (session, outcome) in [(session.clone(), "allowSession"), (scene.session().await, "allowProject")] {
        let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
        let question = scene.question(&run).await;
        ann.answer(&question, outcome).await;
        scene.ended(&run).await;
        std::fs::remove_file(scene.house.work().join("note.txt")).unwrap();
    }
    let rules = remembered(&mut scene).await;
    assert_eq!(rules.len(), 2);
    scene.leave(ann).await;
    scene.script.call("session/close", json!({ "sessionId": session })).await;
    scene.script.call("session/delete", json!({ "sessionId": session })).await;
    // The other one holds on, also for the next daemon.
    let kept: Vec<Value> = rules.into_iter().filter(|rule| rule.get("session").is_none()).collect();
    assert_eq!((kept.len(), remembered(&mut scene).await), (1, kept.clone()));
    let mut scene = scene.restart().await;
    assert_eq!(remembered(&mut scene).await, kept);
    scene.end([]).await;
}

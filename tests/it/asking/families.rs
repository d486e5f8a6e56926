//! Is a question of a run that another one called asked like any other, and does it end with its family?

use serde_json::{Value, json};

use super::scene::{ALREADY, Run, Scene, refusal};

fn child(question: &Value, root: &Run) -> Run {
    let run = question["runId"].as_str().unwrap().to_owned();
    assert_ne!(run, root.id);
    Run { id: run, session: root.session.clone() }
}

#[tokio::test]
async fn a_question_of_a_child_is_asked_once_at_the_root_session_and_answered_once() {
    let mut scene = Scene::new().await;
    let (session, elsewhere) = (scene.session().await, scene.session().await);
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    let mut cleo = scene.person("cleo").await;
    ann.attach(&session).await;
    bob.attach("*").await;
    cleo.attach(&elsewhere).await;
    let root = scene.start_by(&mut ann, &session, "parent", json!({})).await;
    let question = scene.question(&root).await;
    assert!(ann.is_offered(&question).await && bob.is_offered(&question).await);
    assert_eq!(question["path"], json!(["parent", "writer"]));
    assert_eq!(question["sessionId"], session.as_str());
    let child = child(&question, &root);
    scene.until_run_is("waiting", &child.id).await;
    scene.until_run_is("waiting", &root.id).await;
    let answered = ann.answer(&question, "allowOnce").await;
    assert_eq!(answered["result"]["runId"], child.id.as_str(), "{answered}");
    let late = bob.answer_with(&question, "deny", json!({ "message": "no" })).await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["allowOnce", "client", "cli-ann"])));
    assert_eq!(scene.ended(&child).await["reason"], "GOAL");
    assert_eq!(scene.ended(&root).await["reason"], "GOAL");
    assert_eq!(scene.read("note.txt").as_deref(), Some("one\n"));
    assert_eq!(scene.calls(&child, "write_file").await, ["success"]);
    assert_eq!(scene.calls(&root, "writer").await, ["success"]);
    assert!(scene.model_was_told("parent").contains("done"));
    for person in [&mut ann, &mut bob] {
        assert_eq!(person.heard("confirmation.requested").await.len(), 1);
    }
    assert!(cleo.heard("confirmation.requested").await.is_empty());
    assert!(cleo.heard("confirmation.resolved").await.is_empty());
    assert!(cleo.heard("signal.confirmation").await.is_empty());
    scene.end([ann, bob, cleo]).await;
}

#[tokio::test]
async fn cancelling_the_root_ends_the_question_of_its_child_first() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    let root = scene.start_by(&mut ann, &session, "parent", json!({})).await;
    let question = scene.question(&root).await;
    let child = child(&question, &root);
    bob.client.call("run/cancel", json!({ "runId": root.id })).await;
    assert_eq!(scene.ended(&root).await["reason"], "ABORTED");
    for person in [&mut ann, &mut bob] {
        assert_eq!(person.resolved(&question).await, json!(["deny", "system", null]));
    }
    let late = ann.answer(&question, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["deny", "system", null])));
    let log = scene.running.log().await;
    let place = |what: &str, is_it: &dyn Fn(&Value) -> bool| {
        let place = log.iter().position(is_it);
        place.unwrap_or_else(|| panic!("{what} never was"))
    };
    let ended = |run: &Run, event: &Value| {
        event["type"] == "run.completed"
            && event["runId"] == run.id.as_str()
            && event["data"]["reason"] == "ABORTED"
    };
    let cancelled = |run: &Run, event: &Value| {
        event["type"] == "tool.state"
            && event["runId"] == run.id.as_str()
            && event["data"]["to"] == "cancelled"
    };
    let order = [
        place("the question's end", &|event| event["type"] == "confirmation.resolved"),
        place("the end of the child's call", &|event| cancelled(&child, event)),
        place("the child's end", &|event| ended(&child, event)),
        place("the end of the root's call", &|event| cancelled(&root, event)),
        place("the root's end", &|event| ended(&root, event)),
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(scene.read("note.txt"), None);
    assert_eq!(scene.cast.requests("parent").len(), 1);
    assert_eq!(scene.cast.requests("parent/writer").len(), 1);
    scene.end([ann, bob]).await;
}

/// What is cancelled where a person is asked is the run that asks; the one that called it is told, and goes on.
#[tokio::test]
async fn who_cancels_the_run_at_the_question_of_a_child_cancels_the_child() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let root = scene.start_by(&mut ann, &session, "parent", json!({})).await;
    let question = scene.question(&root).await;
    let child = child(&question, &root);
    ann.answer_with(&question, "cancelRun", json!({ "message": "enough" })).await;
    assert_eq!(ann.resolved(&question).await, json!(["cancelRun", "client", "cli-ann"]));
    assert_eq!(scene.ended(&child).await["reason"], "ABORTED");
    assert_eq!(scene.calls(&child, "write_file").await, ["cancelled CANCELLED"]);
    assert_eq!(scene.ended(&root).await["reason"], "GOAL");
    assert!(scene.model_was_told("parent").contains("ABORTED"));
    assert_eq!(scene.read("note.txt"), None);
    scene.end([ann]).await;
}

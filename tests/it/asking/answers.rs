//! Which answer counts, of those that come at once, too late, or to something else?

use std::fs;

use serde_json::{Value, json};
use tokio::task::yield_now;

use super::scene::{ALREADY, Run, Scene, answer_to, refusal, taken};

/// Races that are run in one daemon: as many as take about two seconds.
const ROUNDS: usize = 20;

/// Does it after so many turns of everybody else.
async fn after<T>(turns: usize, doing: impl Future<Output = T>) -> T {
    for _ in 0..turns {
        yield_now().await;
    }
    doing.await
}

/// How many turns the two sides of a race wait: each is first as often as the other, by ever more.
fn turns(round: usize) -> (usize, usize) {
    let ahead = round / 2;
    if round.is_multiple_of(2) { (0, ahead) } else { (ahead, 0) }
}

/// How the daemon answered: with the resolution, or that it is another one.
fn either(response: &Value) -> (bool, Value) {
    if response.get("error").is_none() {
        return (true, taken(response));
    }
    let (kind, resolution) = refusal(response);
    assert_eq!(kind, ALREADY, "{response}");
    (false, resolution)
}

#[tokio::test]
async fn of_two_answers_at_once_one_decides_and_the_tool_runs_at_most_once() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    let old = scene.house.work().join("old.txt");
    for round in 0..ROUNDS {
        fs::write(&old, "old\n").unwrap();
        let run = scene.start_in(&session, "remover", json!({})).await;
        let question = scene.question(&run).await;
        let (sooner, later) = turns(round);
        let keep = json!({ "message": "keep" });
        let (allowed, denied) = tokio::join!(
            after(sooner, ann.answer(&question, "allowOnce")),
            after(later, bob.answer_with(&question, "deny", keep)),
        );
        let ((ann_won, by_ann), (bob_won, by_bob)) = (either(&allowed), either(&denied));
        assert!(ann_won != bob_won, "{allowed}\n{denied}");
        assert_eq!(by_ann, by_bob);
        assert_eq!(ann.resolved(&question).await, by_ann);
        assert_eq!(bob.resolved(&question).await, by_ann);
        assert_eq!(scene.resolution(&question).await, by_ann);
        assert_eq!(scene.ended(&run).await["reason"], "GOAL");
        let (end, changes, winner) = match ann_won {
            true => ("success", 1, json!(["allowOnce", "client", "cli-ann"])),
            false => ("error USER_DENIED", 0, json!(["deny", "client", "cli-bob"])),
        };
        assert_eq!((scene.calls(&run, "delete_file").await, &by_ann), (vec![end.to_owned()], &winner));
        assert_eq!(scene.log_of(&run, "file.changed").await.len(), changes);
        assert_eq!(old.exists(), bob_won);
        assert!(ann_won || scene.model_was_told("remover").contains("keep"));
    }
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn an_answer_to_another_question_than_is_asked_decides_nothing_and_brings_the_fresh_one() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    let before = scene.start_in(&session, "writer", json!({})).await;
    let older = scene.question(&before).await;
    scene.denied_by(&mut bob, &before, &older, "no").await;
    let run = scene.start_by(&mut ann, &session, "editor", json!({})).await;
    let question = scene.question(&run).await;
    assert!(ann.is_offered(&question).await && bob.is_offered(&question).await);
    let mut fresh = Value::Null;
    let zeros = json!(format!("sha256:{}", "0".repeat(64)));
    for (person, digest, outcome) in [(&mut ann, &zeros, "allowOnce"), (&mut bob, &older["digest"], "deny")] {
        let mut asked = question.clone();
        asked["digest"] = digest.clone();
        let stale = person.answer(&asked, outcome).await;
        assert_eq!(stale["error"]["data"]["kind"], "CONFIRMATION_STALE", "{stale}");
        fresh = stale["error"]["data"]["details"]["confirmation"].clone();
        assert_eq!((&fresh["digest"], &fresh["offered"]), (&question["digest"], &json!(true)));
    }
    let mut without = answer_to(&question, "allowOnce", json!({}));
    without.as_object_mut().unwrap().remove("digest");
    let (kind, error) = ann.client.refused("confirmation/respond", without).await;
    let violations = &error["data"]["details"]["violations"];
    assert_eq!((kind.as_str(), &violations[0]["pointer"]), ("INVALID_PARAMS", &json!("/digest")));
    assert_eq!(scene.get(&question).await["state"], "offered");
    assert_eq!(scene.calls(&run, "edit_file").await, Vec::<String>::new());
    let decided = json!(["allowOnce", "client", "cli-ann"]);
    assert_eq!(taken(&ann.answer(&fresh, "allowOnce").await), decided);
    assert_eq!(bob.resolved(&question).await, decided);
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "edit_file").await, ["success"]);
    assert_eq!(scene.read("c.txt").as_deref(), Some("x = 2\n"));
    // Over is over, whatever was read.
    let mut asked = question.clone();
    asked["digest"] = zeros;
    assert_eq!(refusal(&bob.answer(&asked, "deny").await), (ALREADY.to_owned(), decided));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn an_outcome_that_was_not_offered_is_refused_and_the_question_stays_open() {
    let asks = "[[rule]]\ntool = \"write_file\"\ndecision = \"ask\"\n";
    let mut scene = Scene::with(|house| house.file(".subagentd/policies/careful.toml", asks)).await;
    let opened = scene.script.call("workspace/open", json!({ "workspace": scene.house.work() })).await;
    let files = opened["workspace"]["files"].as_array().unwrap().iter();
    let files: Vec<Value> = files.map(|it| json!({ "path": it["path"], "digest": it["digest"] })).collect();
    let trust = json!({ "workspace": scene.house.work(), "trusted": true, "files": files });
    scene.script.call("workspace/trust", trust).await;
    let mut ann = scene.person("ann").await;
    ann.attach("*").await;
    let rules = scene.script.call("policy/list", json!({})).await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(question["rule"].as_str().unwrap().contains("careful.toml"), "{question}");
    // The project would still ask, whatever the user said for the next time.
    let offered: Vec<&Value> =
        question["options"].as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
    assert_eq!(json!(offered), json!(["allowOnce", "modify", "deny", "cancelRun"]));
    for outcome in ["allowSession", "allowProject", "allowUser"] {
        let refused = ann.answer(&question, outcome).await;
        assert_eq!(refused["error"]["data"]["kind"], "OUTCOME_NOT_OFFERED", "{refused}");
        assert_eq!(refused["error"]["data"]["details"]["offered"], json!(offered));
    }
    let answers = json!({ "answers": ["red"] });
    let refused = ann.answer_with(&question, "answer", answers).await;
    assert_eq!(refused["error"]["data"]["kind"], "OUTCOME_NOT_OFFERED", "{refused}");
    let refused = ann.answer(&question, "allowForever").await;
    assert_eq!(refused["error"]["data"]["kind"], "INVALID_PARAMS", "{refused}");
    assert_eq!(scene.get(&question).await["state"], "offered");
    assert_eq!(scene.script.call("policy/list", json!({})).await, rules);
    scene.allowed_by(&mut ann, &run, &question).await;
    scene.end([ann]).await;
}

#[tokio::test]
async fn who_comes_after_the_end_of_a_question_learns_it_and_changes_nothing() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.denied_by(&mut ann, &run, &question, "no").await;
    let record = scene.record(&run).await;
    let (mut bob, mut eve) = (scene.person("bob").await, scene.person("eve").await);
    bob.client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
    // There is nothing to put up.
    assert!(!bob.is_offered(&question).await);
    let decided = json!(["deny", "client", "cli-ann"]);
    assert_eq!(bob.resolved(&question).await, decided);
    let snapshot = eve.attach_with(&session, json!({ "from": "now" })).await;
    assert_eq!(snapshot["data"]["openConfirmations"], json!([]));
    let ended = scene.get(&question).await;
    assert_eq!((&ended["resolution"]["message"], ended.get("offered")), (&json!("no"), None));
    assert_eq!(scene.resolution(&question).await, decided);
    for late in [bob.answer(&question, "allowOnce").await, scene.answer(&question, "allowOnce").await] {
        assert_eq!(refusal(&late), (ALREADY.to_owned(), decided.clone()));
    }
    assert_eq!(scene.read("note.txt"), None);
    assert_eq!(scene.record(&run).await, record);
    scene.end([ann, bob, eve]).await;
}

#[tokio::test]
async fn an_answer_that_races_with_a_cancel_leaves_one_resolution_and_a_consistent_end() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    let old = scene.house.work().join("old.txt");
    for round in 0..ROUNDS {
        fs::write(&old, "old\n").unwrap();
        let run = scene.start_in(&session, "remover", json!({})).await;
        let question = scene.question(&run).await;
        let (sooner, later) = turns(round);
        let cancel = json!({ "runId": run.id });
        let (answered, cancelled) = tokio::join!(
            after(sooner, ann.answer(&question, "allowOnce")),
            after(later * 4, bob.client.call("run/cancel", cancel.clone())),
        );
        let (ann_won, decided) = either(&answered);
        // By the daemon's clock no time passes.
        let record = scene.ended(&run).await;
        let end = scene.calls(&run, "delete_file").await;
        match ann_won {
            true => {
                assert_eq!(decided, json!(["allowOnce", "client", "cli-ann"]));
                assert!(["ABORTED", "GOAL"].contains(&record["reason"].as_str().unwrap()), "{record}");
                assert!(["success", "cancelled CANCELLED"].contains(&end.concat().as_str()), "{end:?}");
            }
            false => {
                assert_eq!(decided, json!(["deny", "system", null]));
                assert_eq!(
                    (&record["reason"], end),
                    (&json!("ABORTED"), vec!["cancelled CANCELLED".to_owned()])
                );
                assert_eq!(executed(&scene, &run).await, 0);
            }
        }
        let is_changed = !scene.log_of(&run, "file.changed").await.is_empty();
        assert_eq!(old.exists(), !is_changed, "what the log says was done is what was done");
        assert!(ann_won || !is_changed);
        assert_eq!(ann.resolved(&question).await, decided);
        assert_eq!(bob.resolved(&question).await, decided);
        assert!(cancelled["run"]["runId"].is_string());
        let again = bob.client.call("run/cancel", cancel).await;
        assert_eq!((&again["run"]["reason"], again.get("seq")), (&record["reason"], None));
    }
    scene.end([ann, bob]).await;
}

/// How often a tool of the run began.
async fn executed(scene: &Scene, run: &Run) -> usize {
    let states = scene.log_of(run, "tool.state").await;
    states
        .iter()
        .filter(|event| event["data"]["name"] != "complete_task" && event["data"]["to"] == "executing")
        .count()
}

//! Who is offered a question, and who may answer it without being?

use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{ALREADY, Scene, answer_to, refusal, taken};

const HOUR: Duration = Duration::from_secs(3_600);

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
    assert_eq!(taken(&answered), json!(["allowOnce", "client", "cli-ann"]));
    let late = bob.answer_with(&question, "deny", json!({ "message": "no" })).await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["allowOnce", "client", "cli-ann"])));
    for person in [&mut ann, &mut bob] {
        assert_eq!(person.resolved(&question).await, json!(["allowOnce", "client", "cli-ann"]));
    }
    scene.wrote(&run).await;
    assert!(!scene.model_was_told("writer").contains("USER_DENIED"));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn who_repeats_an_answer_gets_the_first_one_back_and_others_get_the_resolution() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    let first = ann.answer(&question, "allowOnce").await;
    assert_eq!(first["result"].get("replayed"), None, "{first}");
    let seq = first["result"]["seq"].clone();
    let again = ann.answer(&question, "allowOnce").await;
    assert_eq!((taken(&again), &again["result"]["seq"]), (taken(&first), &seq));
    assert_eq!(again["result"]["replayed"], true);
    let changed_mind = ann.answer(&question, "deny").await;
    assert_eq!(refusal(&changed_mind), (ALREADY.to_owned(), taken(&first)));
    scene.leave(ann).await;
    // On another connection, as the same client.
    let mut ann = scene.person("ann").await;
    let back = ann.answer(&question, "allowOnce").await;
    assert_eq!((taken(&back), &back["result"]["seq"]), (taken(&first), &seq));
    // Who wanted the same did not decide it.
    let late = bob.answer(&question, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), taken(&first)));
    scene.wrote(&run).await;
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn who_is_away_sees_the_question_and_is_not_offered_it() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.is_now("away").await;
    ann.attach(&session).await;
    bob.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert_eq!(question["state"], "offered");
    assert!(!ann.is_offered(&question).await && bob.is_offered(&question).await);
    scene.allowed_by(&mut bob, &run, &question).await;
    assert_eq!(ann.resolved(&question).await, json!(["allowOnce", "client", "cli-bob"]));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn who_comes_back_from_away_is_offered_what_waited() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.is_now("away").await;
    ann.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(!ann.is_offered(&question).await);
    assert_eq!(question["state"], "queued");
    scene.run_is(&run, "waiting").await;
    ann.is_now("active").await;
    assert!(ann.is_offered_later(&question).await);
    assert_eq!(scene.get(&question).await["state"], "offered");
    scene.allowed_by(&mut ann, &run, &question).await;
    scene.end([ann]).await;
}

#[tokio::test]
async fn going_away_from_a_question_decides_nothing() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(ann.is_offered(&question).await);
    ann.is_now("away").await;
    assert_eq!(scene.get(&question).await["state"], "queued");
    scene.pass(HOUR).await;
    assert_eq!(scene.get(&question).await["state"], "queued");
    // Whoever answers is there, whatever it said before: presence tells whom to ask, not who may decide.
    scene.allowed_by(&mut ann, &run, &question).await;
    scene.end([ann]).await;
}

#[tokio::test]
async fn who_cannot_show_this_kind_sees_the_question_and_is_not_offered_it() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    let kinds = json!({ "confirmations": { "kinds": ["exec", "question"] } });
    let mut bob = scene.person_with("bob", kinds).await;
    ann.attach(&session).await;
    bob.attach(&session).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert_eq!(question["details"]["type"], "edit");
    assert!(ann.is_offered(&question).await && !bob.is_offered(&question).await);
    scene.denied_by(&mut ann, &run, &question, "not now").await;
    assert_eq!(bob.resolved(&question).await, json!(["deny", "client", "cli-ann"]));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn who_learns_to_show_a_kind_is_offered_what_waited() {
    let mut scene = Scene::new().await;
    let kinds = json!({ "confirmations": { "kinds": ["exec", "question"] } });
    let mut bob = scene.person_with("bob", kinds).await;
    let session = scene.session().await;
    bob.attach(&session).await;
    let run = scene.start_by(&mut bob, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(!bob.is_offered(&question).await);
    scene.pass(HOUR).await;
    assert_eq!(scene.get(&question).await["state"], "queued");
    assert_eq!(scene.record(&run).await["state"], "waiting");
    bob.updates(json!({ "capabilities": { "confirmations": { "kinds": ["edit"] } } })).await;
    assert!(bob.is_offered_later(&question).await);
    scene.allowed_by(&mut bob, &run, &question).await;
    scene.end([bob]).await;
}

#[tokio::test]
async fn where_nobody_can_put_up_a_dialog_anybodys_terminal_answers() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut bob = scene.person_with("bob", json!({})).await;
    let mut stranger = scene.stranger();
    bob.attach(&session).await;
    stranger.attach(&session).await;
    let run = scene.start_in(&session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(!bob.is_offered(&question).await && !stranger.is_offered(&question).await);
    assert_eq!(question["state"], "queued");
    let status = scene.script.call("daemon/status", json!({})).await;
    assert_eq!(status["openConfirmations"], 1);
    // Who is not introduced is named by the user whom the socket has proved.
    let decided = json!(["allowOnce", "client", "user 0"]);
    assert_eq!(taken(&scene.answer(&question, "allowOnce").await), decided);
    assert_eq!(bob.resolved(&question).await, decided);
    assert_eq!(stranger.resolved(&question).await, decided);
    scene.wrote(&run).await;
    let status = scene.script.call("daemon/status", json!({})).await;
    assert_eq!(status["openConfirmations"], 0);
    scene.end([bob, stranger]).await;
}

#[tokio::test]
async fn an_observer_watches_and_decides_nothing() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach_with(&session, json!({ "role": "observe" })).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(ann.is_offered(&question).await && !bob.is_offered(&question).await);
    for outcome in ["allowOnce", "deny", "cancelRun"] {
        assert_eq!(refusal(&bob.answer(&question, outcome).await).0, "FORBIDDEN");
    }
    let after = scene.get(&question).await;
    assert_eq!((&after["state"], &after["digest"]), (&json!("offered"), &question["digest"]));
    assert_eq!(scene.calls(&run, "write_file").await, Vec::<String>::new());
    let run_id = question["runId"].clone();
    for (method, params) in [
        ("session/update", json!({ "sessionId": session, "mode": "autoEdit" })),
        ("session/close", json!({ "sessionId": session })),
        ("session/delete", json!({ "sessionId": session })),
        ("session/compact", json!({ "sessionId": session })),
        ("session/clear", json!({ "sessionId": session })),
        ("session/undo", json!({ "sessionId": session, "lastTurn": true })),
        (
            "run/start",
            json!({ "sessionId": session, "agent": "writer", "prompt": "p", "approval": { "autoApprove": ["high"] } }),
        ),
        ("run/steer", json!({ "runId": run_id, "text": "write more" })),
        ("run/cancel", json!({ "runId": run_id })),
        ("run/unpark", json!({ "runId": run_id })),
        (
            "tools/call",
            json!({ "sessionId": session, "tool": "write_file", "arguments": { "path": "a", "content": "b" } }),
        ),
    ] {
        let (kind, error) = bob.client.refused(method, params).await;
        assert!(
            kind == "FORBIDDEN" && error["message"].as_str().unwrap().contains("only looks on"),
            "{method}: {error}"
        );
    }
    scene.denied_by(&mut ann, &run, &question, "no").await;
    assert_eq!(bob.resolved(&question).await, json!(["deny", "client", "cli-ann"]));
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn an_observer_is_nobody_to_be_asked() {
    let mut scene = Scene::new().await;
    let mut bob = scene.person("bob").await;
    bob.attach_with("*", json!({ "role": "observe" })).await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(!bob.is_offered(&question).await);
    assert_eq!(question["state"], "queued");
    scene.run_is(&run, "waiting").await;
    // By looking on at all sessions it looks on at this one.
    assert_eq!(refusal(&bob.answer(&question, "allowOnce").await).0, "FORBIDDEN");
    assert_eq!(scene.get(&question).await["state"], "queued");
    scene.answer(&question, "deny").await;
    scene.did_not_write(&run, "USER_DENIED").await;
    scene.end([bob]).await;
}

#[tokio::test]
async fn who_is_attached_to_all_is_asked_and_who_reads_the_log_sees_the_same() {
    let mut scene = Scene::new().await;
    let (mut ann, mut bob, mut eve) =
        (scene.person("ann").await, scene.person("bob").await, scene.person("eve").await);
    let other = scene.session().await;
    ann.attach("*").await;
    bob.attach(&other).await;
    eve.client.call("events/subscribe", json!({ "from": "now" })).await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    let asked = ann.told("confirmation.requested", &question).await;
    let read = eve.told("confirmation.requested", &question).await;
    assert_eq!((&asked["offered"], &read["offered"]), (&json!(true), &json!(false)));
    assert_eq!((&asked["seq"], &asked["data"]), (&read["seq"], &read["data"]));
    scene.allowed_by(&mut ann, &run, &question).await;
    assert_eq!(eve.resolved(&question).await, json!(["allowOnce", "client", "cli-ann"]));
    let about_it = |event: &Value| event["sessionId"] == run.session.as_str();
    assert!(!bob.events().await.iter().any(about_it), "it is attached to another session");
    scene.end([ann, bob, eve]).await;
}

#[tokio::test]
async fn reading_the_log_alone_leaves_a_question_queued() {
    let mut scene = Scene::new().await;
    let mut eve = scene.person("eve").await;
    eve.client.call("events/subscribe", json!({ "from": "now" })).await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(!eve.is_offered(&question).await);
    assert_eq!(question["state"], "queued");
    scene.allowed_by(&mut eve, &run, &question).await;
    scene.end([eve]).await;
}

#[tokio::test]
async fn a_viewer_that_answers_notifications_with_errors_and_hangs_up_decides_nothing() {
    for is_ann_there in [true, false] {
        let mut scene = Scene::new().await;
        let session = scene.session().await;
        let (mut ann, mut bob) = (scene.person("ann").await, scene.person_with("bob", json!({})).await);
        bob.attach(&session).await;
        if is_ann_there {
            ann.attach(&session).await;
        }
        let run = scene.start_in(&session, "writer", json!({})).await;
        let question = scene.question(&run).await;
        let asked = bob.told("confirmation.requested", &question).await;
        let mut seen = bob.events().await;
        seen.push(asked);
        for event in seen {
            for id in [event["seq"].clone(), Value::Null] {
                let error = json!({ "code": -32601, "message": "there is no method event" });
                bob.client.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()).await;
            }
        }
        // Under an id that none of the above had.
        bob.client.send(r#"{"jsonrpc":"2.0","id":"mine","method":"event","params":{}}"#).await;
        let unknown = loop {
            let message = bob.client.receive().await;
            if message["id"] == "mine" {
                break message;
            }
        };
        assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
        drop(bob);
        let state = if is_ann_there { "offered" } else { "queued" };
        scene.script.settle().await;
        let after = scene.question_is(&question, state).await;
        assert_eq!(after["digest"], question["digest"]);
        assert_eq!(scene.record(&run).await["state"], "waiting");
        assert_eq!(scene.log_of(&run, "tool.state").await.last().unwrap()["data"]["to"], "awaitingApproval");
        if !is_ann_there {
            ann.attach(&session).await;
        }
        scene.allowed_by(&mut ann, &run, &question).await;
        scene.end([ann]).await;
    }
}

#[tokio::test]
async fn a_claim_tells_others_that_somebody_reads_and_excludes_nobody() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob, mut eve) =
        (scene.person("ann").await, scene.person("bob").await, scene.person("eve").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    eve.attach_with(&session, json!({ "role": "observe" })).await;
    let run = scene.start_by(&mut ann, &session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    let about = json!({ "confirmationId": question["confirmationId"] });
    ann.client.call("confirmation/claim", about.clone()).await;
    for other in [&mut bob, &mut eve] {
        let told = other.told("signal.claim", &question).await;
        assert_eq!((&told["data"]["claim"]["clientId"], told.get("seq")), (&json!("cli-ann"), None));
    }
    assert_eq!(scene.get(&question).await["state"], "claimed");
    scene.allowed_by(&mut bob, &run, &question).await;
    let late = ann.answer(&question, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["allowOnce", "client", "cli-bob"])));
    let ended = scene.get(&question).await;
    assert_eq!((&ended["state"], ended.get("claim")), (&json!("resolved"), None));
    scene.end([ann, bob, eve]).await;
}

#[tokio::test]
async fn a_claim_ends_with_its_connection_and_with_its_time() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    let run = scene.start_in(&session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    let about = json!({ "confirmationId": question["confirmationId"] });
    ann.client.call("confirmation/claim", about.clone()).await;
    assert_eq!(bob.told("signal.claim", &question).await["data"]["claim"]["clientId"], "cli-ann");
    scene.leave(ann).await;
    assert_eq!(bob.told("signal.claim", &question).await["data"].get("claim"), None);
    assert_eq!(scene.get(&question).await["state"], "offered");
    // It is not back because its client is.
    let mut ann = scene.person("ann").await;
    let snapshot = ann.attach(&session).await;
    let shown = &snapshot["data"]["openConfirmations"][0];
    assert_eq!((&shown["state"], &shown["offered"]), (&json!("offered"), &json!(true)));
    let claimed = ann.client.call("confirmation/claim", about.clone()).await;
    assert_eq!(claimed["claim"]["clientId"], "cli-ann");
    assert_eq!(bob.told("signal.claim", &question).await["data"]["claim"]["clientId"], "cli-ann");
    // A minute, when its client does not say.
    scene.pass(Duration::from_secs(59)).await;
    assert_eq!(scene.get(&question).await["state"], "claimed");
    scene.pass(Duration::from_secs(1)).await;
    assert_eq!(bob.told("signal.claim", &question).await["data"].get("claim"), None);
    assert_eq!(scene.get(&question).await["state"], "offered");
    let released = ann.client.call("confirmation/release", about).await;
    assert_eq!(released["released"], false);
    scene.allowed_by(&mut ann, &run, &question).await;
    scene.end([ann, bob]).await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_any_more_holds_nobody_up() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let (mut ann, mut bob) = (scene.person("ann").await, scene.person("bob").await);
    ann.attach(&session).await;
    bob.attach(&session).await;
    ann.falls_silent().await;
    let run = scene.start_in(&session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    assert!(bob.is_offered(&question).await);
    scene.allowed_by(&mut bob, &run, &question).await;
    // It comes to life.
    ann.client
        .send(
            &json!({ "jsonrpc": "2.0", "id": "late", "method": "confirmation/respond",
        "params": answer_to(&question, "deny", json!({})) })
            .to_string(),
        )
        .await;
    let late = loop {
        let message = ann.client.receive().await;
        if message["id"] == "late" {
            break message;
        }
    };
    assert_eq!(refusal(&late), (ALREADY.to_owned(), json!(["allowOnce", "client", "cli-bob"])));
    drop(ann);
    scene.end([bob]).await;
}

#[tokio::test]
async fn a_question_that_was_offered_to_a_dead_client_alone_waits_for_another() {
    let mut scene = Scene::new().await;
    let session = scene.session().await;
    let mut ann = scene.person("ann").await;
    ann.attach(&session).await;
    ann.falls_silent().await;
    let run = scene.start_in(&session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.run_is(&run, "waiting").await;
    scene.pass(HOUR).await;
    assert_ne!(scene.get(&question).await["state"], "resolved");
    assert_eq!(scene.record(&run).await["state"], "waiting");
    let mut bob = scene.person("bob").await;
    let snapshot = bob.attach(&session).await;
    let found = &snapshot["data"]["openConfirmations"][0];
    assert_eq!((&found["confirmationId"], &found["offered"]), (&question["confirmationId"], &json!(true)));
    scene.allowed_by(&mut bob, &run, &question).await;
    assert!(scene.record(&run).await["activeMs"].as_u64().unwrap() < 60_000);
    drop(ann);
    scene.end([bob]).await;
}

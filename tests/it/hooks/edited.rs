//! Does what a person made of a call last when a hook changes it again, and does the question say who made what?

use super::*;

/// Puts a header in front of what has none.
fn header() -> String {
    let changed = |content: &str| {
        json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": "ask",
            "updatedInput": { "file_path": "b.txt", "content": content } } })
    };
    let (one, two) = (changed("header one"), changed("header two"));
    format!("case $(cat) in *header*) ;; *two*) echo '{two}' ;; *) echo '{one}' ;; esac")
}

async fn open_question(
    client: &mut crate::support::Client,
    run: &str,
    is_this: impl Fn(&str) -> bool,
) -> Value {
    let is_meant = |it: &Value| it["confirmations"][0]["reason"].as_str().is_some_and(&is_this);
    client.until("confirmation/list", json!({ "runId": run }), is_meant).await["confirmations"][0].clone()
}

fn answer(asked: &Value, outcome: &str) -> Value {
    json!({ "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": outcome })
}

/// A run that asks about its call, and a person's answer with "two" in place of "one".
async fn asked(house: &House) -> (Running, crate::support::Client, String, Value) {
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    let asked = open_question(&mut client, &run, |_| true).await;
    let mut edit = answer(&asked, "modify");
    edit["arguments"] = json!({ "path": "b.txt", "content": "two" });
    (running, client, run, edit)
}

/// All that the model was told.
fn told(script: &Script) -> String {
    let told: Vec<_> = script.requests().iter().flat_map(|request| request.messages.clone()).collect();
    format!("{told:?}")
}

/// A guard takes its time about what somebody made of a call: meanwhile no other answer counts.
#[tokio::test(flavor = "multi_thread")]
async fn others_are_told_who_has_answered_while_a_hook_is_asked_about_the_change() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let asks =
        json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": "ask" } });
    let guard = format!("case $(cat) in *two*) cat '{}' ;; *) echo '{asks}' ;; esac", gate.display());
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({ "PreToolUse": [["Write", guard]] }));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    let asked = open_question(&mut client, &run, |_| true).await;
    assert_eq!((&asked["state"], asked.get("claim")), (&json!("queued"), None), "{asked}");
    let mut edit = answer(&asked, "modify");
    edit["arguments"] = json!({ "path": "b.txt", "content": "two" });
    let mut other = running.client();
    let mut answering = tokio::task::JoinSet::new();
    answering.spawn(async move {
        let answered = client.call("confirmation/respond", edit).await;
        (client, answered)
    });
    let is_answered = |it: &Value| it["confirmations"][0]["claim"]["answered"] == true;
    let told = other.until("confirmation/list", json!({ "runId": run }), is_answered).await;
    let told = &told["confirmations"][0];
    assert_eq!((&told["state"], &told["claim"]["name"]), (&json!("claimed"), &json!("user 0")), "{told}");
    tokio::task::spawn_blocking(move || fs::write(gate, "")).await.unwrap().unwrap();
    let (mut client, answered) = answering.join_next().await.unwrap().unwrap();
    assert_eq!(answered["resolution"]["outcome"], "modify", "{answered}");
    let about = json!({ "confirmationId": asked["confirmationId"] });
    let over = other.call("confirmation/get", about).await["confirmation"].clone();
    assert_eq!((&over["state"], over.get("claim")), (&json!("resolved"), None), "{over}");
    client.ended(&run).await;
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), "two");
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn the_edit_of_a_person_that_a_hook_changes_again_is_what_is_allowed() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({ "PreToolUse": [["Write", header()]] }));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    let asked = open_question(&mut client, &run, |_| true).await;
    let asked_for = r#"the model asked for {"path":"b.txt","content":"one"}"#;
    assert!(asked["reason"].as_str().unwrap().contains(asked_for), "{asked}");
    let mut edit = answer(&asked, "modify");
    edit["arguments"] = json!({ "path": "b.txt", "content": "two" });
    assert_eq!(client.refused("confirmation/respond", edit).await.0, "CONFIRMATION_STALE");
    let again = open_question(&mut client, &run, |reason| reason.contains("changed that")).await;
    let reason = again["reason"].as_str().unwrap();
    assert!(reason.contains(asked_for), "{reason}");
    assert!(reason.contains(r#"changed the call into {"path":"b.txt","content":"two"}"#), "{reason}");
    assert!(reason.contains("the hook user/PreToolUse/"), "{reason}");
    let mut other = running.client();
    other.call("session/attach", json!({ "sessionId": session })).await;
    other.call("confirmation/respond", answer(&again, "allowOnce")).await;
    client.ended(&run).await;
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), "header two");
    let log = running.log().await;
    // The record names what ran.
    let began = log.iter().find(|it| it["data"]["to"] == "executing").unwrap();
    assert_eq!(began["data"]["arguments"]["content"], "header two", "{began}");
    let resolved = log.iter().find(|it| it["type"] == "confirmation.resolved").unwrap();
    let change = resolved["data"]["difference"].as_str().unwrap();
    assert!(change.contains("`content` is now: \"header two\""), "{change}");
    assert!(change.starts_with("Hooks and a person changed the call, the hook user/PreToolUse/"), "{change}");
    // The model knows the content that the file has.
    let told = told(&script);
    assert!(told.contains("Hooks and a person changed the call") && told.contains("header two"), "{told}");
    let spans = client.call("trace/get", json!({ "runId": run })).await["spans"].to_string();
    assert!(spans.contains("header two") && spans.contains("changedBy"), "{spans}");
    // One person changes it, and another one only allows that.
    let spans = client.call("trace/get", json!({ "runId": run })).await["spans"].clone();
    let call = spans.as_array().unwrap().iter().find(|span| span["kind"] == "tool").unwrap();
    let who: Vec<&str> =
        call["tool"]["changes"].as_array().unwrap().iter().map(|it| it["source"].as_str().unwrap()).collect();
    assert_eq!(who, ["hook", "client", "hook"], "{call}");
    assert_eq!(call["tool"]["changes"][1]["name"], "user 0");
    let questions = spans.as_array().unwrap().iter().filter(|span| span["kind"] == "confirmation");
    let answers: Vec<&Value> = questions.map(|span| &span["confirmation"]["decision"]).collect();
    assert_eq!(
        (&answers[0]["outcome"], &answers[0]["name"]),
        (&json!("edited"), &json!("user 0")),
        "{answers:?}"
    );
    assert_eq!(
        (&answers[1]["version"], &answers[1]["outcome"]),
        (&json!(2), &json!("allowOnce")),
        "{answers:?}"
    );
    let why: Vec<&Value> = log
        .iter()
        .filter(|it| it["type"] == "confirmation.revised")
        .map(|it| &it["data"]["reason"])
        .collect();
    assert_eq!(why, ["changedByHook"]);
    running.stop().await;
}

/// It is not the model's call that was denied, and the model is told.
#[tokio::test]
async fn the_denial_of_an_edit_that_a_hook_changed_again_names_what_was_denied() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({ "PreToolUse": [["Write", header()]] }));
    let (running, mut client, run, edit) = asked(&house).await;
    client.refused("confirmation/respond", edit).await;
    let again = open_question(&mut client, &run, |reason| reason.contains("changed that")).await;
    client.call("confirmation/respond", answer(&again, "deny")).await;
    client.ended(&run).await;
    let told = told(&script);
    assert!(told.contains("Hooks and a person changed the call") && told.contains("header two"), "{told}");
    let spans = client.call("trace/get", json!({ "runId": run })).await["spans"].clone();
    let call = spans.as_array().unwrap().iter().find(|span| span["kind"] == "tool").unwrap();
    assert_eq!(call["tool"]["decision"]["version"], 2, "{call}");
    assert!(call["input"]["text"].as_str().unwrap().contains("header two"), "{call}");
    running.stop().await;
}

/// What a person would have run, and a hook refused, stands beside the refusal.
#[tokio::test]
async fn the_edit_of_a_person_that_a_hook_refuses_is_told() {
    let guard = "case $(cat) in *two*) echo 'two is not for people' >&2; exit 2 ;; esac";
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let ask = pre("ask", &json!({ "permissionDecisionReason": "a look, please" }));
    let house = house(&script, &json!({ "PreToolUse": [["Write", ask], ["Write", guard]] }));
    let (running, mut client, run, edit) = asked(&house).await;
    client.call("confirmation/respond", edit).await;
    client.ended(&run).await;
    let log = running.log().await;
    let resolved = log.iter().find(|it| it["type"] == "confirmation.resolved").unwrap();
    assert_eq!(resolved["data"]["outcome"], "deny", "{resolved}");
    assert!(resolved["data"]["difference"].as_str().unwrap().contains("two"), "{resolved}");
    assert!(!house.work().join("b.txt").exists());
    let told = told(&script);
    assert!(told.contains("A person changed the call, and it did not run"), "{told}");
    let spans = client.call("trace/get", json!({ "runId": run })).await["spans"].clone();
    let call = spans.as_array().unwrap().iter().find(|span| span["kind"] == "tool").unwrap();
    assert!(call["input"]["text"].as_str().unwrap().contains("two"), "{call}");
    assert_eq!(call["tool"]["changedBy"], json!(["user 0"]), "{call}");
    running.stop().await;
}

/// What others are asked about is what a guard of questions has seen.
#[tokio::test]
async fn guard_of_questions_is_asked_about_an_edit_that_a_hook_changed_again() {
    let no = json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest",
        "decision": { "behavior": "deny", "message": "no two here" } } });
    let guard = format!("case $(cat) in *two*) echo '{no}' ;; esac");
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let settings = json!({ "PreToolUse": [["Write", header()]], "PermissionRequest": [["Write", guard]] });
    let house = house(&script, &settings);
    let (running, mut client, run, edit) = asked(&house).await;
    client.call("confirmation/respond", edit).await;
    client.ended(&run).await;
    assert!(!house.work().join("b.txt").exists());
    let log = running.log().await;
    let resolved = log.iter().find(|it| it["type"] == "confirmation.resolved").unwrap();
    assert_eq!(
        (&resolved["data"]["outcome"], &resolved["data"]["by"]),
        (&json!("deny"), &json!("hook")),
        "{resolved}"
    );
    let told = told(&script);
    assert!(told.contains("no two here") && told.contains("it did not run"), "{told}");
    running.stop().await;
}

/// What cannot be made any more is the call as it was changed: the model would take the failure for that of its own.
#[tokio::test]
async fn an_edited_call_that_cannot_be_made_any_more_is_told_as_edited() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({ "PreToolUse": [["Write", header()]] }));
    let (running, mut client, run, edit) = asked(&house).await;
    client.refused("confirmation/respond", edit).await;
    let again = open_question(&mut client, &run, |reason| reason.contains("changed that")).await;
    fs::create_dir(house.work().join("b.txt")).unwrap();
    client.call("confirmation/respond", answer(&again, "allowOnce")).await;
    client.ended(&run).await;
    let told = told(&script);
    assert!(told.contains("Hooks and a person changed the call") && told.contains("header two"), "{told}");
    let log = running.log().await;
    let resolved = log.iter().find(|it| it["type"] == "confirmation.resolved").unwrap();
    assert!(resolved["data"]["difference"].as_str().unwrap().contains("header two"), "{resolved}");
    running.stop().await;
}

/// A hook that ends runs ends them also where the call is a person's edit.
#[tokio::test]
async fn hook_that_stops_at_an_edit_ends_the_run() {
    let halt = json!({ "continue": false, "stopReason": "enough for today" });
    let ask = pre("ask", &json!({ "permissionDecisionReason": "a look, please" }));
    let interrupts = json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest",
        "decision": { "behavior": "deny", "message": "enough for today", "interrupt": true } } });
    let when_two = |said: &Value| format!("case $(cat) in *two*) echo '{said}' ;; esac");
    let cases = [
        json!({ "PreToolUse": [["Write", ask], ["Write", when_two(&halt)]] }),
        json!({ "PreToolUse": [["Write", header()]], "PermissionRequest": [["Write", when_two(&halt)]] }),
        json!({ "PreToolUse": [["Write", header()]], "PermissionRequest": [["Write", when_two(&interrupts)]] }),
    ];
    for settings in cases {
        let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
        let house = house(&script, &settings);
        let (running, mut client, run, edit) = asked(&house).await;
        client.call("confirmation/respond", edit).await;
        let ended = client.ended(&run).await;
        assert!(ended.to_string().contains("enough for today"), "{settings}: {ended}");
        assert!(ended.to_string().contains("HOOK_STOPPED"), "{settings}: {ended}");
        assert!(!house.work().join("b.txt").exists(), "{settings}");
        running.stop().await;
    }
}

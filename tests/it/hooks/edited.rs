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
    assert!(change.contains("`content` is now: \"two\""), "{change}");
    let told: Vec<_> = script.requests().iter().flat_map(|request| request.messages.clone()).collect();
    assert!(format!("{told:?}").contains("A person changed the call"), "the model is not told");
    let spans = client.call("trace/get", json!({ "runId": run })).await["spans"].to_string();
    assert!(spans.contains("header two") && spans.contains("changedBy"), "{spans}");
    // One person changes it, and another one only allows that.
    assert!(spans.contains(r#","user 0"]"#) && !spans.contains(r#","user 1"]"#), "{spans}");
    let why: Vec<&Value> =
        log.iter().filter(|it| it["type"] == "confirmation.revised").map(|it| &it["data"]["why"]).collect();
    assert_eq!(why, ["changedByHook"]);
    running.stop().await;
}

/// What a person would have run, and a hook refused, stands beside the refusal.
#[tokio::test]
async fn the_edit_of_a_person_that_a_hook_refuses_is_told() {
    let guard = "case $(cat) in *two*) echo 'two is not for people' >&2; exit 2 ;; esac";
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let ask = pre("ask", &json!({ "permissionDecisionReason": "a look, please" }));
    let house = house(&script, &json!({ "PreToolUse": [["Write", ask], ["Write", guard]] }));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    let asked = open_question(&mut client, &run, |_| true).await;
    let mut edit = answer(&asked, "modify");
    edit["arguments"] = json!({ "path": "b.txt", "content": "two" });
    client.call("confirmation/respond", edit).await;
    client.ended(&run).await;
    let log = running.log().await;
    let resolved = log.iter().find(|it| it["type"] == "confirmation.resolved").unwrap();
    assert_eq!(resolved["data"]["outcome"], "deny", "{resolved}");
    assert!(resolved["data"]["difference"].as_str().unwrap().contains("two"), "{resolved}");
    assert!(!house.work().join("b.txt").exists());
    let told: Vec<_> = script.requests().iter().flat_map(|request| request.messages.clone()).collect();
    assert!(format!("{told:?}").contains("A person changed the call"), "the model is not told");
    running.stop().await;
}

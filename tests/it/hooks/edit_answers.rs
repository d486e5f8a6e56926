//! What comes of a person's edit when hooks have answered: what they said is in the log, whoever decided is named, and what people have not
//! seen is asked again.

use super::{
    unsettled_edits::{answering, edit, guarded_house, keeping, let_go, of_type, replied, until_kept},
    *,
};
use crate::support::{Client, lines};

fn answer(asked: &Value, outcome: &str) -> Value {
    json!({ "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": outcome })
}

/// The question once it is asked again with these words in its reason.
async fn asked_again(client: &mut Client, run: &str, words: &str) -> Value {
    let is_again =
        |it: &Value| it["confirmations"][0]["reason"].as_str().is_some_and(|it| it.contains(words));
    client.until("confirmation/list", json!({ "runId": run }), is_again).await["confirmations"][0].clone()
}

/// The edit is dropped since the call cannot be made any more, or since the file is another one.
#[tokio::test]
async fn hooks_that_answered_about_an_edit_of_which_nothing_comes_are_in_the_log() {
    let says = json!({ "systemMessage": "the guard saw it",
        "hookSpecificOutput": { "hookEventName": "PreToolUse", "additionalContext": "of the guard" } });
    let keeps = format!(
        "cd \"$CLAUDE_PROJECT_DIR/..\"; case $(cat) in *two*) touch at; while [ ! -e go ]; do sleep 0.01; done; echo '{says}' ;; esac"
    );
    let makes_folder = |house: &House| fs::create_dir(house.work().join("b.txt")).unwrap();
    let writes = |house: &House| fs::write(house.work().join("b.txt"), "somebody's").unwrap();
    for meanwhile in [&makes_folder as &dyn Fn(&House), &writes] {
        let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
        let house = house(&script, &json!({ "PreToolUse": [["Write", keeps]] })).rules("edits", "");
        let (running, mut client, run, asked) = guarded_house(&house).await;
        let ada = answering(&running, edit(&asked, "two"));
        until_kept(&house, &mut client, &run).await;
        meanwhile(&house);
        let_go(&house);
        replied(ada).await;
        asked_again(&mut client, &run, "cannot be done any more").await;
        let log = running.log().await;
        let (fired, revised) = (of_type(&log, "hook.fired"), of_type(&log, "confirmation.revised"));
        let last = fired.last().unwrap();
        assert!(
            last["data"]["firingId"].as_str().unwrap().contains(asked["confirmationId"].as_str().unwrap())
        );
        assert!(last["seq"].as_i64() < revised[0]["seq"].as_i64(), "{}", lines(&log));
        assert_eq!(last["data"]["added"], "of the guard", "{last}");
        let warnings: Vec<&str> =
            of_type(&log, "warning").iter().filter_map(|it| it["data"]["message"].as_str()).collect();
        assert!(warnings.iter().any(|it| it.contains("the guard saw it")), "{warnings:?}");
        client.call("run/cancel", json!({ "runId": run })).await;
        client.ended(&run).await;
        running.stop().await;
    }
}

/// Whoever said yes to the call as it was did not know what becomes of the change.
#[tokio::test]
async fn yes_from_before_an_edit_is_dropped_does_not_run_the_call_as_it_was() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = keeping(&script);
    let (running, mut client, run, asked) = guarded_house(&house).await;
    let ada = answering(&running, edit(&asked, "two"));
    until_kept(&house, &mut client, &run).await;
    let yes = answering(&running, answer(&asked, "allowOnce"));
    // Nothing tells that it waits.
    for _ in 0..20 {
        client.settle().await;
    }
    fs::create_dir(house.work().join("b.txt")).unwrap();
    let_go(&house);
    replied(ada).await;
    let yes = replied(yes).await;
    assert_eq!(yes["error"]["data"]["kind"], "CONFIRMATION_STALE", "{yes}");
    asked_again(&mut client, &run, "cannot be done any more").await;
    let log = running.log().await;
    assert_eq!(of_type(&log, "confirmation.resolved"), Vec::<&Value>::new(), "{}", lines(&log));
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    running.stop().await;
}

#[tokio::test]
async fn hook_that_refuses_an_edit_is_who_decided_and_its_person_is_told_the_same_again() {
    let guard = "case $(cat) in *two*) echo 'two is not for people' >&2; exit 2 ;; esac";
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({ "PreToolUse": [["Write", guard]] })).rules("edits", "");
    let (running, mut client, run, asked) = guarded_house(&house).await;
    let first = client.call("confirmation/respond", edit(&asked, "two")).await;
    let other = running.client().request("confirmation/respond", answer(&asked, "allowOnce")).await;
    let told = other["error"]["message"].as_str().unwrap();
    assert_eq!(
        told, "the question is over: a hook decided deny, after user 0 had changed the call",
        "{other}"
    );
    let again = client.call("confirmation/respond", edit(&asked, "two")).await;
    assert_eq!((&again["replayed"], &again["resolution"]), (&json!(true), &first["resolution"]), "{again}");
    // What the person did not say is none of theirs.
    client.refused("confirmation/respond", edit(&asked, "three")).await;
    client.ended(&run).await;
    running.stop().await;
}

/// A guard that wants a person to be asked about what they made of a call, for a reason that they have not been told.
fn asking(of: &str) -> String {
    asking_for(of, "this touches production")
}

fn asking_for(of: &str, why: &str) -> String {
    let asks = |reason: &str| {
        json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": "ask",
            "permissionDecisionReason": reason } })
    };
    let (one, two) = (asks("a look, please"), asks(why));
    format!("case $(cat) in *{of}*) echo '{two}' ;; *) echo '{one}' ;; esac")
}

#[tokio::test]
async fn hook_that_wants_a_person_asked_about_an_edit_has_the_question_asked_again() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({ "PreToolUse": [["Write", asking("two")]] }));
    let (running, mut client, run, asked) = guarded_house(&house).await;
    // A secret of it is in no log, and in the file.
    let content = format!("two ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let told = client.request("confirmation/respond", edit(&asked, &content)).await;
    assert_eq!(told["error"]["data"]["kind"], "CONFIRMATION_STALE", "{told}");
    let words = "the change was taken, and a hook wants a person to be asked about it, so the question is asked again";
    assert_eq!(told["error"]["message"], words, "{told}");
    let again = asked_again(&mut client, &run, "this touches production").await;
    let reason = again["reason"].as_str().unwrap();
    assert!(reason.contains("user 0 changed the call: the model asked for {"), "{reason}");
    assert!(!reason.contains("a hook changed the call"), "{reason}");
    assert!(again["details"]["newContent"].as_str().unwrap().starts_with("two"), "{again}");
    assert!(!house.work().join("b.txt").exists());
    client.call("confirmation/respond", answer(&again, "allowOnce")).await;
    client.ended(&run).await;
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), content);
    let log = running.log().await;
    assert!(!lines(&log).contains("a1B2c3D4"), "{}", lines(&log));
    assert_eq!(of_type(&log, "confirmation.revised")[0]["data"]["reason"], "askedByHook", "{}", lines(&log));
    let resolved = of_type(&log, "confirmation.resolved")[0];
    let change = resolved["data"]["difference"].as_str().unwrap();
    assert!(change.starts_with("A person changed the call.\n- `content` is now: \"two"), "{change}");
    let began = log.iter().find(|it| it["data"]["to"] == "executing").unwrap();
    assert!(began["data"]["arguments"]["content"].as_str().unwrap().starts_with("two"), "{began}");
    let spans = client.call("trace/get", json!({ "runId": run })).await["spans"].clone();
    let questions = spans.as_array().unwrap().iter().filter(|span| span["kind"] == "confirmation");
    let outcomes: Vec<&Value> = questions.map(|span| &span["confirmation"]["decision"]["outcome"]).collect();
    assert_eq!(outcomes, ["edited", "allowOnce"], "{spans}");
    running.stop().await;
}

/// Its word stands in the question by chance, and nobody has read it as a reason.
#[tokio::test]
async fn reason_of_a_hook_that_is_part_of_another_is_another() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({ "PreToolUse": [["Write", asking_for("two", "look")]] }));
    let (running, mut client, run, asked) = guarded_house(&house).await;
    assert!(asked["reason"].as_str().unwrap().contains("look"), "{asked}");
    let told = client.request("confirmation/respond", edit(&asked, "two")).await;
    assert_eq!(told["error"]["data"]["kind"], "CONFIRMATION_STALE", "{told}");
    let again = asked_again(&mut client, &run, "user 0 changed the call").await;
    client.call("confirmation/respond", answer(&again, "deny")).await;
    client.ended(&run).await;
    assert!(!house.work().join("b.txt").exists());
    let log = running.log().await;
    assert_eq!(of_type(&log, "confirmation.revised")[0]["data"]["reason"], "askedByHook", "{}", lines(&log));
    running.stop().await;
}

/// A rule that asks is named first: what the hook says is read all the same.
#[tokio::test]
async fn reason_of_a_hook_that_wants_an_edit_asked_stands_beside_that_of_a_rule() {
    let rule = "[[rule]]\ntool = \"write_file\"\ndecision = \"ask\"\n";
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({ "PreToolUse": [["Write", asking("two")]] })).rules("edits", rule);
    let (running, mut client, run, asked) = guarded_house(&house).await;
    client.request("confirmation/respond", edit(&asked, "two")).await;
    let again = asked_again(&mut client, &run, "this touches production").await;
    client.call("confirmation/respond", answer(&again, "deny")).await;
    client.ended(&run).await;
    assert!(!house.work().join("b.txt").exists());
    running.stop().await;
}

/// A hook that answers one firing once would let the second edit through.
#[tokio::test]
async fn each_edit_of_a_question_is_a_firing_of_its_own() {
    let rule = "[[rule]]\ntool = \"write_file\"\ndecision = \"ask\"\n";
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({ "PreToolUse": [["Write", asking("tw")]] })).rules("edits", rule);
    let (running, mut client, run, asked) = guarded_house(&house).await;
    client.request("confirmation/respond", edit(&asked, "twelve")).await;
    let again = asked_again(&mut client, &run, "this touches production").await;
    client.call("confirmation/respond", edit(&again, "two")).await;
    client.ended(&run).await;
    let log = running.log().await;
    let fired = of_type(&log, "hook.fired");
    let firings: Vec<&str> = fired.iter().filter_map(|it| it["data"]["firingId"].as_str()).collect();
    assert_eq!(firings.len(), 3, "{firings:?}");
    assert!(firings[1] != firings[2] && firings[2].starts_with(firings[1]), "{firings:?}");
    let spans = client.call("trace/get", json!({ "runId": run })).await["spans"].clone();
    let hooks = spans.as_array().unwrap().iter().filter(|span| span["kind"] == "hook");
    let edited: Vec<bool> = hooks.map(|span| span["hook"]["edited"] == true).collect();
    assert_eq!(edited, [false, true, true], "{spans}");
    running.stop().await;
}

/// A rule forbids the call that was asked about, and not what the person made of it.
#[tokio::test]
async fn edit_that_rules_allow_counts_where_they_forbid_the_call_by_now() {
    let forbids =
        "[[rule]]\ntool = \"write_file\"\nargsPattern = '\"content\":\"one\"'\ndecision = \"deny\"\n";
    for changes_file in [false, true] {
        let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
        let house = keeping(&script).file("b.txt", "old");
        let (running, mut client, run, asked) = guarded_house(&house).await;
        let ada = answering(&running, edit(&asked, "two"));
        until_kept(&house, &mut client, &run).await;
        let house = house.rules("more", forbids);
        client.call("daemon/reload", json!({})).await;
        if changes_file {
            fs::write(house.work().join("b.txt"), "somebody's").unwrap();
        }
        let_go(&house);
        let told = replied(ada).await;
        match changes_file {
            false => assert_eq!(told["result"]["resolution"]["outcome"], "modify", "{told}"),
            true => {
                assert!(told["error"].is_object(), "{told}");
                client.call("run/cancel", json!({ "runId": run })).await;
            }
        }
        client.ended(&run).await;
        let expected = if changes_file { "somebody's" } else { "two" };
        assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), expected);
        running.stop().await;
    }
}

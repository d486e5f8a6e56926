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
    client.settle().await;
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

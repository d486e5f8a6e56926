//! What counts that came into force, or changed, while hooks took their time over a call: what they judged is what runs, by what holds then.

use std::os::unix::fs::symlink;

use super::{
    unsettled_edits::{
        answering, edit, guarded_house, keeping, let_go, of_type, replied, until_kept, until_there,
    },
    *,
};
use crate::support::{Client, lines};

/// A call of a run that nobody is asked about, which a hook holds back until there is a file `go` beside the workspace.
fn held(script: &Script) -> House {
    let keeps = "cd \"$CLAUDE_PROJECT_DIR/..\"; case $(cat) in *two*) touch at; while [ ! -e go ]; do sleep 0.01; done ;; esac";
    house(script, &json!({ "PreToolUse": [["Write", keeps]] }))
}

/// Starts a run whose call is held back.
async fn begin(house: &House) -> (Running, Client, String, String) {
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    until_there(house, "at").await;
    (running, client, run, session)
}

/// The ends of calls: their states, and their errors.
fn ends(log: &[Value]) -> Vec<String> {
    let ends = of_type(log, "tool.state").into_iter().filter(|it| it["activity"] == "TOOL_CALL_END");
    ends.map(|end| format!("{} {}", end["data"]["to"].as_str().unwrap(), end["data"]["error"]["type"]))
        .collect()
}

#[tokio::test]
async fn mode_that_is_set_while_a_hook_looks_at_a_call_counts() {
    let script = Script::new(vec![write("b.txt", "two"), Reply::done("ok")]);
    let house = held(&script);
    let (running, mut client, run, session) = begin(&house).await;
    client.call("session/update", json!({ "sessionId": session, "mode": "plan" })).await;
    let_go(&house);
    client.ended(&run).await;
    let log = running.log().await;
    assert_eq!(ends(&log)[0], "error \"POLICY_DENIED\"", "{}", lines(&log));
    assert!(!house.work().join("b.txt").exists());
    running.stop().await;
}

#[tokio::test]
async fn mode_that_is_set_while_hooks_look_at_an_edit_counts() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = keeping(&script);
    let (running, mut client, run, asked) = guarded_house(&house).await;
    let ada = answering(&running, edit(&asked, "two"));
    until_kept(&house, &mut client, &run).await;
    client.call("session/update", json!({ "sessionId": asked["sessionId"], "mode": "plan" })).await;
    let_go(&house);
    let answer = replied(ada).await;
    assert!(answer["error"].is_object(), "{answer}");
    assert!(!house.work().join("b.txt").exists());
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    running.stop().await;
}

/// A link that leads elsewhere by then: no hook has seen where.
#[tokio::test]
async fn call_that_touches_something_else_by_the_time_hooks_have_judged_it_is_refused() {
    let script = Script::new(vec![write("l/b.txt", "two"), Reply::done("ok")]);
    let house = held(&script).file("in/x", "").file("secret/x", "");
    symlink("in", house.work().join("l")).unwrap();
    let (running, mut client, run, _) = begin(&house).await;
    fs::remove_file(house.work().join("l")).unwrap();
    symlink("secret", house.work().join("l")).unwrap();
    let_go(&house);
    client.ended(&run).await;
    let log = running.log().await;
    assert_eq!(ends(&log)[0], "error \"HOOK_DENIED\"", "{}", lines(&log));
    assert!(!house.work().join("secret/b.txt").exists() && !house.work().join("in/b.txt").exists());
    running.stop().await;
}

#[tokio::test]
async fn edit_that_touches_something_else_by_the_time_hooks_have_judged_it_is_refused() {
    let script = Script::new(vec![write("l/b.txt", "one"), Reply::done("ok")]);
    let house = keeping(&script).file("in/x", "").file("secret/x", "");
    symlink("in", house.work().join("l")).unwrap();
    let (running, mut client, run, asked) = guarded_house(&house).await;
    let mut answer = edit(&asked, "two");
    answer["arguments"]["path"] = json!("l/b.txt");
    let ada = answering(&running, answer);
    until_kept(&house, &mut client, &run).await;
    fs::remove_file(house.work().join("l")).unwrap();
    symlink("secret", house.work().join("l")).unwrap();
    let_go(&house);
    client.ended(&run).await;
    let _told = replied(ada).await;
    assert!(!house.work().join("secret/b.txt").exists() && !house.work().join("in/b.txt").exists());
    running.stop().await;
}

/// Nobody has seen what would be overwritten.
#[tokio::test]
async fn file_that_changes_while_hooks_look_at_an_edit_is_not_overwritten() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = keeping(&script).file("b.txt", "old");
    let (running, mut client, run, asked) = guarded_house(&house).await;
    let ada = answering(&running, edit(&asked, "two"));
    until_kept(&house, &mut client, &run).await;
    fs::write(house.work().join("b.txt"), "somebody's").unwrap();
    let_go(&house);
    let answer = replied(ada).await;
    assert!(answer["error"].is_object(), "{answer}");
    let is_open = |it: &Value| it["confirmations"][0]["editedBy"].is_null();
    let open = client.until("confirmation/list", json!({ "runId": run }), is_open).await;
    let reason = open["confirmations"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("has changed since the question was asked"), "{reason}");
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), "somebody's");
    running.stop().await;
}

/// The same without hooks: they are asked again, about the file as it is.
#[tokio::test]
async fn edit_of_a_file_that_has_changed_since_it_was_shown_is_asked_again() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({})).rules("edits", "").file("b.txt", "old");
    let (running, mut client, run, asked) = guarded_house(&house).await;
    fs::write(house.work().join("b.txt"), "somebody's").unwrap();
    client.request("confirmation/respond", edit(&asked, "two")).await;
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), "somebody's");
    let is_new = |it: &Value| it["confirmations"][0]["digest"] != asked["digest"];
    let open = client.until("confirmation/list", json!({ "runId": run }), is_new).await;
    client.call("confirmation/respond", edit(&open["confirmations"][0], "two")).await;
    client.ended(&run).await;
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), "two");
    running.stop().await;
}

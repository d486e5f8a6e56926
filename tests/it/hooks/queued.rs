//! What of a run's hooks is told, where the run was in a queue while there was no daemon?

use super::*;

/// The runs wait for each other. Hooks of the second one have not been asked when the daemon ends, so nothing of them was interrupted,
/// and they hear that the session starts with this daemon.
#[tokio::test]
async fn hooks_of_a_run_that_was_queued_were_not_asked_before_the_restart() {
    let script = Script::new(vec![Reply::Hangs]);
    let opens = says(&json!({
        "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": "it is Friday" }
    }));
    let house = house(&script, &json!({ "SessionStart": [opens], "UserPromptSubmit": ["cat > /dev/null"] }));
    let running = house.boot().await;
    let mut client = running.client();
    let (first, session) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    let next = json!({ "sessionId": session, "workspace": null, "prompt": "next" });
    let (second, _) = client.start(&running, "worker", next).await;
    running.stop_unfinished().await;

    script.replace(vec![Reply::done("one"), Reply::done("two")]);
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&first).await["reason"], "GOAL");
    assert_eq!(client.ended(&second).await["reason"], "GOAL");
    let log = running.log().await;
    let fired = |event: &Value| event["type"] == "hook.fired" && event["runId"] == second.as_str();
    let told: Vec<(&Value, &Value, &Value)> = log
        .iter()
        .filter(|event| fired(event))
        .map(|event| (&event["data"]["event"], &event["data"]["outcome"], &event["data"]["attempt"]))
        .collect();
    let answered = json!("answered");
    let (start, prompt) = (json!("SessionStart"), json!("UserPromptSubmit"));
    assert_eq!(
        told,
        [(&start, &answered, &Value::Null), (&prompt, &answered, &Value::Null)],
        "{}",
        told.len()
    );
    assert!(log.iter().any(|event| event["runId"] == second.as_str() && event["type"] == "run.resumed"));
    let page = client.call("trace/get", json!({ "runId": second, "limit": 100 })).await;
    let run = page["spans"].as_array().unwrap().iter().find(|span| span["kind"] == "run").unwrap();
    assert_eq!(run["run"]["restarts"], 1, "{run:#}");
    assert!(script.requests().last().unwrap().messages.iter().any(|it| it.text().contains("it is Friday")));
    running.stop().await;
}

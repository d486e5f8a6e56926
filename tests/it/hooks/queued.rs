//! What of a run's hooks is told, where the run was in a queue while there was no daemon?

use super::*;

/// The daemon ends twice while the session's start is told. What comes after it at the same point was not asked meanwhile.
#[tokio::test]
async fn a_hook_that_was_not_asked_before_the_restart_is_asked_for_the_first_time() {
    let script = Script::new(vec![Reply::done("one")]);
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("open");
    let slow = format!("cat > /dev/null; while ! [ -e '{}' ]; do sleep 0.05; done", gate.display());
    let house = house(&script, &json!({ "SessionStart": [slow], "UserPromptSubmit": ["cat > /dev/null"] }));
    let mut run: Option<String> = None;
    for _ in 0..2 {
        let running = house.boot().await;
        let mut client = running.client();
        let known = run.is_some();
        let run = match &run {
            Some(run) => run.clone(),
            None => run.insert(client.start(&running, "worker", json!({})).await.0).clone(),
        };
        let n_started = |page: &Value| {
            let events = page["events"].as_array().unwrap().iter();
            events.filter(|event| event["type"] == "hook.started").count()
        };
        let filter = json!({ "filter": { "runId": run } });
        client.until("events/list", filter, |page| n_started(page) == 1 + usize::from(known)).await;
        running.stop_unfinished().await;
    }
    fs::write(&gate, "").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&run.unwrap()).await["reason"], "GOAL");
    let log = running.log().await;
    let fired = log.iter().filter(|event| event["type"] == "hook.fired");
    let attempts: Vec<(&Value, &Value)> =
        fired.map(|event| (&event["data"]["event"], &event["data"]["attempt"])).collect();
    assert_eq!(attempts, [(&json!("SessionStart"), &json!(3)), (&json!("UserPromptSubmit"), &Value::Null)]);
    // Between what the log tells last and that a daemon took it up there was at most so long none.
    let us =
        |event: &Value| event["at"].as_str().unwrap().parse::<subagentd::protocol::Timestamp>().unwrap().0;
    for (n, event) in log.iter().enumerate().filter(|(_, event)| event["type"] == "run.resumed") {
        let before = log[..n].iter().rfind(|before| before["runId"] == event["runId"]).unwrap();
        let away = event["data"]["awayMs"].as_i64().unwrap_or_default();
        assert!(away * 1_000 <= us(event) - us(before), "{before} {event}");
    }
    running.stop().await;
}

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

//! A hook that takes its time is seen while it does.

use std::time::Duration;

use super::*;

/// Waits until somebody opens the pipe to write.
fn waits(pipe: &std::path::Path) -> String {
    format!("cat > /dev/null; cat {}", pipe.display())
}

/// True once the process whose number is in this file has ended.
fn is_gone(named: &std::path::Path) -> bool {
    let number = fs::read_to_string(named).unwrap_or_default();
    !number.trim().is_empty() && !std::path::Path::new("/proc").join(number.trim()).exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_at_work_is_told_of_and_shown_until_it_has_answered() {
    let script = Script::new([read("a.txt"), Reply::done("x")]);
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    let named = folder.path().join("pid");
    let own = folder.path().join("quick.sh");
    fs::write(&own, format!("echo $$ > {}; cat > /dev/null", named.display())).unwrap();
    let quick = format!("sh {}", own.display());
    let (house, clock) = house(&script, &json!({ "PreToolUse": [quick, waits(&pipe)] })).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    client.call("session/attach", json!({ "sessionId": session, "from": 0 })).await;
    // It has begun once somebody reads the pipe: an open for writing waits for that.
    let path = pipe.clone();
    let writer = tokio::task::spawn_blocking(move || fs::OpenOptions::new().write(true).open(path).unwrap());
    let writer = writer.await.unwrap();
    // The other one has ended, and its end was taken notice of, once nothing has its number.
    super::kills::until("the quick hook to end", || is_gone(&named)).await;
    let started = loop {
        clock.advance(Duration::from_millis(100));
        let page = client.call("events/list", json!({ "from": 0, "filter": { "types": ["hook.*"] } })).await;
        if let Some(started) = page["events"].as_array().unwrap().first() {
            break started.clone();
        }
    };
    assert_eq!(started["type"], "hook.started", "{started}");
    assert_eq!((&started["runId"], &started["data"]["event"]), (&json!(run), &json!("PreToolUse")));
    assert!(1_000 <= started["data"]["elapsedMs"].as_u64().unwrap(), "{started}");
    let page = client.call("trace/get", json!({ "runId": run, "limit": 100 })).await;
    let open: Vec<&Value> =
        page["spans"].as_array().unwrap().iter().filter(|span| span["kind"] == "hook").collect();
    assert_eq!((open.len(), &open[0]["status"]), (1, &json!("open")), "{open:?}");
    assert_eq!(open[0]["hook"]["tool"], "read_file");
    drop(writer);
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let page = client.call("trace/get", json!({ "runId": run, "limit": 100 })).await;
    let hooks: Vec<&Value> =
        page["spans"].as_array().unwrap().iter().filter(|span| span["kind"] == "hook").collect();
    assert_eq!(hooks.len(), 2, "{hooks:?}");
    assert!(hooks.iter().all(|span| span["status"] == "ok"), "{hooks:?}");
    let shown = hooks.iter().find(|span| span["spanId"] == open[0]["spanId"]).unwrap();
    assert_eq!(shown["hook"]["outcome"], "answered");
    assert_eq!(shown["parentSpanId"], open[0]["parentSpanId"]);
    // The other one was over before anybody could wonder.
    let told: Vec<Value> =
        running.log().await.into_iter().filter(|it| it["type"] == "hook.started").collect();
    assert_eq!(told.len(), 1, "{told:?}");
    running.stop().await;
}

/// Nobody takes the time of a hook for that of the model.
#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_hook_before_a_request_is_none_of_the_models() {
    let script = Script::new([Reply::done("x")]);
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    let (house, clock) = house(&script, &json!({ "BeforeModel": [waits(&pipe)] })).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    let path = pipe.clone();
    let writer = tokio::task::spawn_blocking(move || fs::OpenOptions::new().write(true).open(path).unwrap());
    let writer = writer.await.unwrap();
    clock.advance(Duration::from_secs(8));
    drop(writer);
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let page = client.call("trace/get", json!({ "runId": run, "limit": 100 })).await;
    let spans = page["spans"].as_array().unwrap();
    let hook = spans.iter().find(|span| span["kind"] == "hook").unwrap();
    let took = hook["endUs"].as_i64().unwrap() - hook["startUs"].as_i64().unwrap();
    assert!(8_000_000 <= took, "{hook}");
    let request = spans.iter().find(|span| span["kind"] == "llm").unwrap();
    assert_eq!(request["llm"]["firstTokenMs"], 0, "{request}");
    running.stop().await;
}

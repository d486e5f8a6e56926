//! Does whatever keeps a guard from answering keep its call from running, each for itself? `tests/interop/planted` plants each of these.

use super::*;

/// A call that this guard is asked about does not run, and the model reads why.
async fn blocks(hook: Value, why: &str) {
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    let house = house(&script, &json!({}));
    let hooks = json!({ "PreToolUse": [{ "hooks": [hook] }] });
    fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    assert!(!house.work().join("b.txt").exists(), "the call ran");
    let heard = heard(&script);
    assert!(heard.contains("HOOK_DENIED") && heard.contains(why), "{heard}");
    running.stop().await;
}

fn command(text: &str) -> Value {
    json!({ "type": "command", "command": text, "timeout": 1 })
}

#[tokio::test]
async fn guard_that_takes_too_long_blocks() {
    blocks(command("sleep 60"), "took more than 1 s").await;
}

#[tokio::test]
async fn guard_that_crashes_blocks() {
    blocks(command("kill -SEGV $$"), "ended by signal 11").await;
}

#[tokio::test]
async fn guard_whose_program_is_missing_blocks() {
    let missing = json!({ "type": "command", "command": "/nowhere/at/all", "args": ["x"] });
    blocks(missing, "the hook user/PreToolUse").await;
    // A shell was started, and says by its exit code that it found nothing to run.
    blocks(command("/nowhere/at/all x"), "ended with exit code 127").await;
}

#[tokio::test]
async fn guard_that_answers_nonsense_blocks() {
    blocks(command("echo '{\"decision\": \"perhaps\"}'"), "`decision` is `perhaps`").await;
}

#[tokio::test]
async fn guard_that_says_2_blocks() {
    blocks(command("echo 'not that' >&2; exit 2"), "not that").await;
}

#[tokio::test]
async fn guard_that_mistypes_its_verdict_blocks() {
    blocks(
        command("echo '{\"decison\": \"block\"}'"),
        "`decison` is no field of an answer; was `decision` meant?",
    )
    .await;
    blocks(command("echo 'looked at it'; echo '{\"decison\": \"block\"}'"), "was `decision` meant?").await;
    blocks(command("echo '{\"blocked\": true}'"), "a hook refuses by `decision`").await;
}

/// Published hooks hand on what they read. One that changes it has not answered.
#[tokio::test]
async fn guard_that_prints_back_what_it_read_lets_through() {
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    let house = house(&script, &json!({}));
    let hooks = json!({ "PreToolUse": [{ "hooks": [command("cat")] }], "UserPromptSubmit": [{ "hooks": [command("cat")] }] });
    fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    assert!(house.work().join("b.txt").exists(), "the call did not run");
    running.stop().await;
    blocks(command("sed s/b.txt/c.txt/"), "`tool_input` means nothing where it stands").await;
}

/// Published hooks print fields of their own. Whoever looks on is told of that once, not at each call.
#[tokio::test]
async fn guard_that_prints_fields_of_its_own_lets_through_and_is_told_of_once() {
    let script = Script::new([]);
    let house = house(&script, &json!({}));
    let hook = command("echo '{\"metrics\": {\"seen\": 1}, \"rewakeSummary\": \"seen\"}'");
    let hooks = json!({ "PreToolUse": [{ "hooks": [hook] }] });
    fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    for n in 0..2 {
        let files = [format!("b{n}.txt"), format!("c{n}.txt")];
        script.replace([write(&files[0], "x"), write(&files[1], "x"), Reply::done("ok")]);
        let (run, _) = client.start(&running, "worker", json!({})).await;
        client.ended(&run).await;
        assert!(files.iter().all(|file| house.work().join(file).exists()), "a call did not run");
        let log = running.log().await;
        let told = log.iter().filter(|event| {
            let message = event["data"]["message"].as_str().unwrap_or_default();
            event["type"] == "warning"
                && event["runId"] == run.as_str()
                && message.contains("were passed over: `metrics`, `rewakeSummary`")
        });
        assert_eq!(told.count(), 1, "{log:?}");
        let fired =
            log.iter().filter(|event| event["type"] == "hook.fired" && event["runId"] == run.as_str());
        let outcomes: Vec<&Value> = fired.map(|event| &event["data"]["outcome"]).collect();
        assert_eq!(outcomes, ["answered", "answered"], "{log:?}");
    }
    running.stop().await;
}

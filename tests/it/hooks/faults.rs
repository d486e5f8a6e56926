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

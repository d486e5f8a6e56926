//! What may hooks do after a call, and before a run ends?

use super::*;

fn post(more: &Value) -> String {
    let mut special = json!({ "hookEventName": "PostToolUse" });
    special.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    says(&json!({ "hookSpecificOutput": special }))
}

/// What a hook adds to a result, puts in its place, or withholds: the model reads that, and the log keeps what the tool said.
#[tokio::test]
async fn hooks_say_what_the_model_reads_of_a_result() {
    let run = || vec![read("a.txt"), Reply::done("ok")];
    check(
        json!({ "PostToolUse": [post(&json!({ "additionalContext": "and mind the second line" }))] }),
        run(),
        expect![[r#"
              read_file success: the first line
            PostToolUse  answered:
              complete_task success: accepted
            GOAL ok
            heard: the first line | The hook user/PostToolUse adds:
            and mind the second line
        "#]],
    )
    .await;
    check(
        json!({ "PostToolUse": [post(&json!({ "updatedToolOutput": "nothing to see" }))] }),
        run(),
        expect![[r#"
              read_file success: the first line
            PostToolUse  changed answered:
              complete_task success: accepted
            GOAL ok
            heard: nothing to see
        "#]],
    )
    .await;
    check(
        json!({ "PostToolUse": [says(&json!({ "decision": "block", "reason": "it has a name in it" }))] }),
        run(),
        expect![[r#"
              read_file success: the first line
            PostToolUse deny answered: it has a name in it
              complete_task success: accepted
            GOAL ok
            heard: the hook user/PostToolUse withheld the result of this call: it has a name in it
        "#]],
    )
    .await;
    // A watcher that fails keeps nothing back.
    check(
        json!({ "PostToolUse": ["exit 1"] }),
        run(),
        expect![[r#"
          read_file success: the first line
        PostToolUse  failed: ended with exit code 1
          warning: the hook user/PostToolUse ended with exit code 1
          complete_task success: accepted
        GOAL ok
        heard: the first line
    "#]],
    )
    .await;
    check(
        json!({ "PostToolUseFailure": [says(&json!({
            "hookSpecificOutput": { "hookEventName": "PostToolUseFailure", "additionalContext": "look in b" }
        }))] }),
        vec![read("missing.txt"), Reply::done("ok")],
        expect![[r#"
              read_file error: FILE_NOT_FOUND: there is no `missing.txt`
            PostToolUseFailure  answered:
              complete_task success: accepted
            GOAL ok
            heard: FILE_NOT_FOUND: there is no `missing.txt` | The hook user/PostToolUseFailure adds:
            look in b
        "#]],
    )
    .await;
}

/// A refusal by the rules may come with a word of the hooks.
#[tokio::test]
async fn hooks_hear_of_refusals() {
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    let retry = json!({ "hookSpecificOutput": { "hookEventName": "PermissionDenied", "retry": true } });
    let house = house(&script, &json!({ "PermissionDenied": [says(&retry)] }))
        .rules("edits", "[[rule]]\ntool = \"write_file\"\ndecision = \"deny\"\n");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    assert!(heard(&script).ends_with("A hook says that this call may be tried again, if you still need it."));
    running.stop().await;
}

/// When all calls of a turn have ended, hooks may add something, or end the run.
#[tokio::test]
async fn hooks_hear_of_whole_turns() {
    let special = json!({ "hookEventName": "PostToolBatch", "additionalContext": "two more to go" });
    check(
        json!({ "PostToolBatch": [says(&json!({ "hookSpecificOutput": special }))] }),
        vec![read("a.txt"), Reply::done("ok")],
        expect![[r#"
              read_file success: the first line
            PostToolBatch  answered:
              nudged: The hook user/PostToolBatch adds:
            two more to go
              complete_task success: accepted
            GOAL ok
            heard: The hook user/PostToolBatch adds:
            two more to go
        "#]],
    )
    .await;
    check(
        json!({ "PostToolBatch": [says(&json!({ "decision": "block", "reason": "that was enough" }))] }),
        vec![read("a.txt"), Reply::done("ok")],
        expect![[r#"
              read_file success: the first line
            PostToolBatch deny answered: that was enough
            ERROR HOOK_STOPPED  the hook user/PostToolBatch says: that was enough
            heard: do it
        "#]],
    )
    .await;
}

/// A hook that is not content three times, and then is.
#[tokio::test]
async fn stop_hook_sends_the_run_on_until_it_is_content() {
    let count = "cat > /dev/null; n=$(cat ../n 2>/dev/null || echo 0); echo $((n + 1)) > ../n; \
                 if [ $n -lt 3 ]; then echo \"no tests yet ($n)\" >&2; exit 2; fi";
    check(
        json!({ "Stop": [count] }),
        vec![Reply::done("first"), Reply::done("second"), Reply::done("third"), Reply::done("fourth")],
        expect![[r#"
            Stop deny answered: no tests yet (0)
              complete_task error: HOOK_DENIED: the run is not over yet: the hook user/Stop says: no tests yet (0)
            Stop deny answered: no tests yet (1)
              complete_task error: HOOK_DENIED: the run is not over yet: the hook user/Stop says: no tests yet (1)
            Stop deny answered: no tests yet (2)
              complete_task error: HOOK_DENIED: the run is not over yet: the hook user/Stop says: no tests yet (2)
            Stop  answered:
              complete_task success: accepted
            GOAL fourth
            heard: HOOK_DENIED: the run is not over yet: the hook user/Stop says: no tests yet (2)
        "#]],
    )
    .await;
}

/// One that is never content keeps the run from its end eight times.
#[tokio::test]
async fn stop_hook_has_its_way_eight_times() {
    let (_, script, running) =
        play(json!({ "Stop": ["echo again >&2; exit 2"] }), vec![Reply::done("this")]).await;
    assert_eq!(script.requests().len(), 9);
    running.stop().await;
}

/// Of a conversation the answer itself is what hooks are asked about.
#[tokio::test]
async fn stop_hook_answers_in_a_conversation() {
    let script = Script::new(vec![Reply::says("I think so."), Reply::says("I am sure.")]);
    let hooks = json!({ "Stop": ["if [ -e ../asked ]; then exit 0; fi; touch ../asked; echo 'are you sure?' >&2; exit 2"] });
    let house = house(&script, &hooks).agent(
        "talker",
        "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: []\n---\nYou talk.\n",
    );
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "talker", json!({})).await;
    let record = client.ended(&run).await;
    assert_eq!(record["result"], "I am sure.");
    running.stop().await;
}

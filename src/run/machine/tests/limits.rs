//! How does a run end that may not go on, and what is it granted before?

use super::*;

#[test]
fn limit_while_neighbours_of_a_result_run_still_ends_goal() {
    TOOL.check(
        "
        model a z:complete_task
        run a
        done z fine
        wait 1000
        time
        tool a cancelled
        ",
        expect![[r#"
            > model a z:complete_task
              model.completed "" calls=["a", "z"]
              tool.state a Validating
              tool.state z Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(z…) tool(a) timer@1000ms
            > done z fine
              tool.state z Scheduled
              wants tool(a) timer@1000ms
            > wait 1000
            > time
              run.stopping TIMEOUT then=Grace
              wants end(a)
            > tool a cancelled
              tool.state a Cancelled CANCELLED
              tool.state z Executing
              tool.state z Success
              turn.completed 1
              run.completed GOAL turns=1 calls=2 result="fine"
              wants 
        "#]],
    );
}

#[test]
fn cancel_before_a_result_counted_keeps_it_as_partial() {
    TOOL.check(
        "
        model a z:complete_task
        run a
        done z fine
        cancel
        cancel
        tool a cancelled
        cancel
        ",
        expect![[r#"
            > model a z:complete_task
              model.completed "" calls=["a", "z"]
              tool.state a Validating
              tool.state z Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(z…) tool(a) timer@1000ms
            > done z fine
              tool.state z Scheduled
              wants tool(a) timer@1000ms
            > cancel
              run.stopping ABORTED then=End
              wants end(a)
            > cancel
              (stale)
              wants end(a)
            > tool a cancelled
              tool.state a Cancelled CANCELLED
              tool.state z Cancelled CANCELLED
              turn.completed 1
              run.completed ABORTED turns=1 calls=2 partial="fine"
              wants 
            > cancel
              (stale)
              wants 
        "#]],
    );
}

#[test]
fn time_spent_ends_open_calls_first_then_grants_one_grace_turn() {
    TOOL.check(
        "
        model a b
        run a
        wait 999
        time
        wait 1
        time
        tool a
        model | nothing to say
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(b…) tool(a) timer@1000ms
            > wait 999
            > time
              (stale)
              wants judge(b…) tool(a) timer@1000ms
            > wait 1
            > time
              run.stopping TIMEOUT then=Grace
              tool.state b Cancelled CANCELLED
              wants end(a)
            > tool a
              tool.state a Success
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@1100ms
            > model | nothing to say
              model.completed "nothing to say" calls=[]
              run.stopping TIMEOUT then=End
              turn.completed 2
              run.completed TIMEOUT turns=2 calls=2 partial="nothing to say"
              wants 
        "#]],
    );
}

#[test]
fn time_spent_while_the_model_writes_keeps_its_text() {
    TOOL.check(
        "
        wait 1000
        time | half a sen
        stale-model | tence
        model z:complete_task
        done z saved
        ",
        expect![[r#"
            > wait 1000
            > time | half a sen
              model.completed "half a sen" calls=[] cut
              run.stopping TIMEOUT then=Grace
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@1100ms
            > stale-model | tence
              (stale)
              wants model#2.1! timer@1100ms
            > model z:complete_task
              model.completed "" calls=["z"]
              tool.state z Validating
              wants judge(z…) timer@1100ms
            > done z saved
              tool.state z Scheduled
              tool.state z Executing
              tool.state z Success
              turn.completed 2
              run.completed GOAL turns=2 calls=1 result="saved" recovered_from=TIMEOUT
              wants 
        "#]],
    );
}

#[test]
fn grace_has_a_timer_of_its_own() {
    TOOL.check(
        "
        wait 1000
        time
        wait 100
        time | half
        ",
        expect![[r#"
            > wait 1000
            > time
              model.completed "" calls=[] cut
              run.stopping TIMEOUT then=Grace
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@1100ms
            > wait 100
            > time | half
              model.completed "half" calls=[] cut
              run.stopping TIMEOUT then=End
              turn.completed 2
              run.completed TIMEOUT turns=2 calls=0 partial="half"
              wants 
        "#]],
    );
}

#[test]
fn turn_limit_and_token_budget_are_checked_between_turns() {
    Script { max_turns: 1, ..TOOL }.check(
        "
        model a
        refuse a
        model z:complete_task
        refuse z
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > refuse a
              tool.state a Error POLICY_DENIED
              turn.completed 1
              run.stopping MAX_TURNS then=Grace
              turn.started 2 grace=MAX_TURNS
              model.started r#2.1
              wants model#2.1! timer@100ms
            > model z:complete_task
              model.completed "" calls=["z"]
              tool.state z Validating
              wants judge(z…) timer@100ms
            > refuse z
              tool.state z Error POLICY_DENIED
              turn.completed 2
              run.completed MAX_TURNS turns=2 calls=2
              wants 
        "#]],
    );
    Script { max_tokens: Some(10), ..TOOL }.check(
        "
        model a
        refuse a
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              budget.warning 10 of 10
              wants judge(a…) timer@1000ms
            > refuse a
              tool.state a Error POLICY_DENIED
              turn.completed 1
              run.stopping BUDGET then=Grace
              turn.started 2 grace=BUDGET
              model.started r#2.1
              wants model#2.1! timer@100ms
        "#]],
    );
}

/// `fails 0 4` has taken four tokens.
#[test]
fn what_failed_attempts_took_is_spent() {
    Script { max_tokens: Some(10), ..TOOL }.check(
        "
        fails 0 4
        backoff-over
        fails 0 4
        backoff-over
        fails 0 4 | half a sentence
        ",
        expect![[r#"
            > fails 0 4
              model.retrying r#1.1 attempt=2 after=500000us
              wants backoff#1.2 timer@1000ms
            > backoff-over
              model.started r#1.2
              wants model#1.2 timer@1000ms
            > fails 0 4
              model.retrying r#1.2 attempt=3 after=1000000us
              budget.warning 8 of 10
              wants backoff#1.3 timer@1000ms
            > backoff-over
              model.started r#1.3
              wants model#1.3 timer@1000ms
            > fails 0 4 | half a sentence
              model.completed "half a sentence" calls=[] cut
              run.stopping BUDGET then=Grace
              turn.completed 1
              turn.started 2 grace=BUDGET
              model.started r#2.1
              wants model#2.1! timer@100ms
        "#]],
    );
    // What is for good is told as what it is.
    let played = Script { max_tokens: Some(10), ..TOOL }.play("fails-for-good 0 40");
    assert!(played.contains("run.completed ERROR"), "{played}");
}

#[test]
fn conversational_run_ends_with_its_text_also_in_grace() {
    let talk = Script { completion: CompletionMode::Message, ..TOOL };
    talk.check(
        "model | hello",
        expect![[r#"
        > model | hello
          model.completed "hello" calls=[]
          turn.completed 1
          run.completed GOAL turns=1 calls=0 result="hello"
          wants 
    "#]],
    );
    talk.check(
        "model |  ",
        expect![[r#"
        > model |
          model.completed "" calls=[]
          run.stopping ERROR_NO_COMPLETE_TASK_CALL then=Grace
          turn.completed 1
          turn.started 2 grace=ERROR_NO_COMPLETE_TASK_CALL
          model.started r#2.1
          wants model#2.1! timer@100ms
    "#]],
    );
    talk.check(
        "
        wait 1000
        time
        model | hello
        ",
        expect![[r#"
            > wait 1000
            > time
              model.completed "" calls=[] cut
              run.stopping TIMEOUT then=Grace
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@1100ms
            > model | hello
              model.completed "hello" calls=[]
              turn.completed 2
              run.completed GOAL turns=2 calls=0 result="hello" recovered_from=TIMEOUT
              wants 
        "#]],
    );
}

#[test]
fn refusal_or_cut_answer_in_grace_keeps_the_first_reason() {
    for word in ["refused", "cut-short"] {
        let story = TOOL.play(&format!("model | said\n{word} | still"));
        let end = story.lines().rev().nth(1).unwrap();
        assert!(end.contains("run.completed ERROR_NO_COMPLETE_TASK_CALL"), "{story}");
    }
}

#[test]
fn failure_in_grace_keeps_the_first_reason() {
    TOOL.check(
        "
        model | no call
        fails-for-good
        ",
        expect![[r#"
            > model | no call
              model.completed "no call" calls=[]
              run.stopping ERROR_NO_COMPLETE_TASK_CALL then=Grace
              turn.completed 1
              turn.started 2 grace=ERROR_NO_COMPLETE_TASK_CALL
              model.started r#2.1
              wants model#2.1! timer@100ms
            > fails-for-good
              model.completed "" calls=[] cut
              turn.completed 2
              run.completed ERROR_NO_COMPLETE_TASK_CALL turns=2 calls=0 partial="no call"
              wants 
        "#]],
    );
}

#[test]
fn grace_is_once_whatever_becomes_of_it() {
    TOOL.check(
        "
        model | no call
        cut-short | half
        ",
        expect![[r#"
            > model | no call
              model.completed "no call" calls=[]
              run.stopping ERROR_NO_COMPLETE_TASK_CALL then=Grace
              turn.completed 1
              turn.started 2 grace=ERROR_NO_COMPLETE_TASK_CALL
              model.started r#2.1
              wants model#2.1! timer@100ms
            > cut-short | half
              model.completed "half" calls=[]
              turn.completed 2
              run.completed ERROR_NO_COMPLETE_TASK_CALL turns=2 calls=0 partial="half"
              wants 
        "#]],
    );
    TOOL.check(
        "
        model | no call
        refused | no
        ",
        expect![[r#"
            > model | no call
              model.completed "no call" calls=[]
              run.stopping ERROR_NO_COMPLETE_TASK_CALL then=Grace
              turn.completed 1
              turn.started 2 grace=ERROR_NO_COMPLETE_TASK_CALL
              model.started r#2.1
              wants model#2.1! timer@100ms
            > refused | no
              model.completed "no" calls=[]
              turn.completed 2
              run.completed ERROR_NO_COMPLETE_TASK_CALL turns=2 calls=0 partial="no"
              wants 
        "#]],
    );
}

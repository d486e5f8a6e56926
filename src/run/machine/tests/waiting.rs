//! Queues, slots, runs below, messages from outside, and holding still.

use super::*;

#[test]
fn a_queued_run_begins_when_its_context_is_free() {
    TOOL.check(
        "
        open queued
        steer s1 | also this
        context-free
        promoted
        restart
        ",
        expect![[r#"
              run.queued for=Context with all it needs
            > steer s1 | also this
              run.steered s1 "also this"
              wants context
            > context-free
              run.queued for=Place
              wants slot
            > promoted
              (stale)
              wants slot
            > restart
              run.resumed
              wants slot
        "#]],
    );
    TOOL.check(
        "
        open queued
        promoted
        gets a slot
        context-free
        model c:complete_task
        done c yes
        ",
        expect![[r#"
              run.queued for=Context with all it needs
            > promoted
              run.queued for=Context front
              wants context
            > gets a slot
            > context-free
              run.started
              turn.started 1
              model.started r#1.1
              wants model#1.1 timer@1000ms
            > model c:complete_task
              model.completed "" calls=["c"]
              tool.state c Validating
              wants judge(c…) timer@1000ms
            > done c yes
              tool.state c Scheduled
              tool.state c Executing
              tool.state c Success
              turn.completed 1
              run.completed GOAL turns=1 calls=1 result="yes"
              wants 
        "#]],
    );
    TOOL.check(
        "
        open queued
        cancel
        ",
        expect![[r#"
              run.queued for=Context with all it needs
            > cancel
              run.stopping ABORTED then=End
              run.completed ABORTED turns=0 calls=0
              wants 
        "#]],
    );
}

#[test]
fn without_a_slot_a_run_waits_before_it_begins_and_its_clock_stands_still() {
    TOOL.check(
        "
        open without a slot
        wait 2000
        time
        gets a slot
        slot-taken
        ",
        expect![[r#"
              run.queued for=Place with all it needs
            > wait 2000
            > time
              (stale)
              wants slot
            > gets a slot
            > slot-taken
              run.started
              turn.started 1
              model.started r#1.1
              wants model#1.1 timer@1000ms
        "#]],
    );
}

#[test]
fn a_run_that_waits_for_runs_below_takes_a_slot_again_before_it_asks_the_model() {
    TOOL.check(
        "
        model a b
        child a run-a
        child b run-b
        gives its slot back
        settled a
        settled b
        wait 5000
        time
        restart
        gets a slot
        slot-taken
        model c:complete_task
        done c yes
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > child a run-a
              tool.state a Scheduled
              tool.state a Executing by=run-a
              wants judge(b…) child(a: run-a) timer@1000ms
            > child b run-b
              tool.state b Scheduled
              tool.state b Executing by=run-b
              wants child(a: run-a) child(b: run-b) timer@1000ms
            > gives its slot back
            > settled a
              tool.state a Success
              wants child(b: run-b) timer@1000ms
            > settled b
              tool.state b Success
              turn.completed 1
              turn.started 2
              run.queued for=Place
              wants slot
            > wait 5000
            > time
              (stale)
              wants slot
            > restart
              run.resumed
              wants slot
            > gets a slot
            > slot-taken
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model c:complete_task
              model.completed "" calls=["c"]
              tool.state c Validating
              wants judge(c…) timer@1000ms
            > done c yes
              tool.state c Scheduled
              tool.state c Executing
              tool.state c Success
              turn.completed 2
              run.completed GOAL turns=2 calls=3 result="yes"
              wants 
        "#]],
    );
}

#[test]
fn a_stop_ends_the_runs_below_first() {
    TOOL.check(
        "
        model a b:probe
        child a run-a
        run b
        cancel
        tool b cancelled
        settled a cancelled
        ",
        expect![[r#"
            > model a b:probe
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > child a run-a
              tool.state a Scheduled
              tool.state a Executing by=run-a
              wants judge(b…) child(a: run-a) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(b) child(a: run-a) timer@1000ms
            > cancel
              run.stopping ABORTED then=End
              wants end-child(a: run-a) end(b)
            > tool b cancelled
              tool.state b Cancelled CANCELLED
              wants end-child(a: run-a)
            > settled a cancelled
              tool.state a Cancelled CANCELLED
              turn.completed 1
              run.completed ABORTED turns=1 calls=2
              wants 
        "#]],
    );
}

/// Beside a call that has ended, too: nobody knows of a log whether there are hooks that would hear of that end.
#[test]
fn a_run_that_only_waits_for_another_one_is_never_a_crash_loop() {
    TOOL.check(
        "
        model a b
        child a run-a
        run b
        tool b
        restart
        restart
        restart
        restart
        restart
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > child a run-a
              tool.state a Scheduled
              tool.state a Executing by=run-a
              wants judge(b…) child(a: run-a) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(b) child(a: run-a) timer@1000ms
            > tool b
              tool.state b Success
              wants child(a: run-a) timer@1000ms
            > restart
              run.resumed
              wants child(a: run-a) timer@1000ms
            > restart
              run.resumed
              wants child(a: run-a) timer@1000ms
            > restart
              run.resumed
              wants child(a: run-a) timer@1000ms
            > restart
              run.resumed
              wants child(a: run-a) timer@1000ms
            > restart
              run.resumed
              wants child(a: run-a) timer@1000ms
        "#]],
    );
}

#[test]
fn a_call_that_a_run_answers_is_attached_again_after_a_crash() {
    TOOL.check(
        "
        model a b
        child a run-a
        run b edit
        restart
        restart
        restart
        restart
        restart
        settled a
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > child a run-a
              tool.state a Scheduled
              tool.state a Executing by=run-a
              wants judge(b…) child(a: run-a) timer@1000ms
            > run b edit
              tool.state b Scheduled
              tool.state b Executing
              wants tool(b) child(a: run-a) timer@1000ms
            > restart
              run.resumed
              tool.state b Error INTERRUPTED
              wants child(a: run-a) timer@1000ms
            > restart
              run.resumed
              wants child(a: run-a) timer@1000ms
            > restart
              run.resumed
              wants child(a: run-a) timer@1000ms
            > restart
              run.resumed
              wants child(a: run-a) timer@1000ms
            > restart
              run.resumed
              wants child(a: run-a) timer@1000ms
            > settled a
              tool.state a Success
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
    TOOL.check(
        "
        model a
        child a run-a
        cancel
        restart
        settled a cancelled
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > child a run-a
              tool.state a Scheduled
              tool.state a Executing by=run-a
              wants child(a: run-a) timer@1000ms
            > cancel
              run.stopping ABORTED then=End
              wants end-child(a: run-a)
            > restart
              run.resumed
              wants end-child(a: run-a)
            > settled a cancelled
              tool.state a Cancelled CANCELLED
              turn.completed 1
              run.completed ABORTED turns=1 calls=1
              wants 
        "#]],
    );
}

#[test]
fn tokens_of_runs_below_count() {
    Script { max_tokens: Some(100), ..TOOL }.check(
        "
        model a
        child a run-a
        settled a
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > child a run-a
              tool.state a Scheduled
              tool.state a Executing by=run-a
              wants child(a: run-a) timer@1000ms
            > settled a
              tool.state a Success
              turn.completed 1
              run.stopping BUDGET then=Grace
              turn.started 2 grace=BUDGET
              model.started r#2.1
              wants model#2.1! timer@100ms
        "#]],
    );
}

#[test]
fn what_is_said_reaches_the_model_at_the_next_turn_and_in_order() {
    TOOL.check(
        "
        steer s1 | first
        model a
        steer s2 | second
        run a
        tool a
        ",
        expect![[r#"
            > steer s1 | first
              run.steered s1 "first"
              wants model#1.1 hooks(Steer { id: "s1" }) timer@1000ms
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) hooks(Steer { id: "s1" }) timer@1000ms
            > steer s2 | second
              run.steered s2 "second"
              wants judge(a…) hooks(Steer { id: "s1" }) hooks(Steer { id: "s2" }) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants tool(a) hooks(Steer { id: "s1" }) hooks(Steer { id: "s2" }) timer@1000ms
            > tool a
              tool.state a Success
              turn.completed 1
              turn.started 2
              run.steered s1 "first" turn=2
              run.steered s2 "second" turn=2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
}

#[test]
fn a_result_that_has_not_seen_a_message_does_not_count_yet() {
    TOOL.check(
        "
        steer s1 | wait
        model c:complete_task
        done c early
        model d:complete_task
        done d late
        steer s2 | too late
        ",
        expect![[r#"
            > steer s1 | wait
              run.steered s1 "wait"
              wants model#1.1 hooks(Steer { id: "s1" }) timer@1000ms
            > model c:complete_task
              model.completed "" calls=["c"]
              tool.state c Validating
              wants judge(c…) hooks(Steer { id: "s1" }) timer@1000ms
            > done c early
              tool.state c Error EXECUTION_FAILED
              turn.completed 1
              turn.started 2
              run.steered s1 "wait" turn=2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model d:complete_task
              model.completed "" calls=["d"]
              tool.state d Validating
              wants judge(d…) timer@1000ms
            > done d late
              tool.state d Scheduled
              tool.state d Executing
              tool.state d Success
              turn.completed 2
              run.completed GOAL turns=2 calls=2 result="late"
              wants 
            > steer s2 | too late
              (stale)
              wants 
        "#]],
    );
    Script { completion: CompletionMode::Message, ..TOOL }.check(
        "
        steer s1 | and that?
        model | done
        model | done with that
        ",
        expect![[r#"
            > steer s1 | and that?
              run.steered s1 "and that?"
              wants model#1.1 hooks(Steer { id: "s1" }) timer@1000ms
            > model | done
              model.completed "done" calls=[]
              turn.completed 1
              turn.started 2
              run.steered s1 "and that?" turn=2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model | done with that
              model.completed "done with that" calls=[]
              turn.completed 2
              run.completed GOAL turns=2 calls=0 result="done with that"
              wants 
        "#]],
    );
}

#[test]
fn a_run_that_is_ending_takes_no_message() {
    TOOL.check(
        "
        model a c:complete_task
        run a
        done c yes
        steer s1 | too late
        tool a
        ",
        expect![[r#"
            > model a c:complete_task
              model.completed "" calls=["a", "c"]
              tool.state a Validating
              tool.state c Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(c…) tool(a) timer@1000ms
            > done c yes
              tool.state c Scheduled
              wants tool(a) timer@1000ms
            > steer s1 | too late
              (stale)
              wants tool(a) timer@1000ms
            > tool a
              tool.state a Success
              tool.state c Executing
              tool.state c Success
              turn.completed 1
              run.completed GOAL turns=1 calls=2 result="yes"
              wants 
        "#]],
    );
    TOOL.check(
        "
        model a
        run a
        cancel
        steer s1 | too late
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants tool(a) timer@1000ms
            > cancel
              run.stopping ABORTED then=End
              wants end(a)
            > steer s1 | too late
              (stale)
              wants end(a)
        "#]],
    );
    TOOL.check(
        "
        wait 2000
        time
        steer s1 | too late
        ",
        expect![[r#"
            > wait 2000
            > time
              model.completed "" calls=[] cut
              run.stopping TIMEOUT then=Grace
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@2100ms
            > steer s1 | too late
              (stale)
              wants model#2.1! timer@2100ms
        "#]],
    );
}

#[test]
fn a_parked_run_goes_on_where_it_was() {
    TOOL.check(
        "
        model a
        park
        park
        wait 5000
        time
        unpark
        unpark
        run a
        park
        restart
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > park
              run.parked
              wants judge(a…)
            > park
              (stale)
              wants judge(a…)
            > wait 5000
            > time
              (stale)
              wants judge(a…)
            > unpark
              run.resumed
              wants judge(a…) timer@1000ms
            > unpark
              (stale)
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants tool(a) timer@1000ms
            > park
              run.parked
              wants tool(a)
            > restart
              run.resumed
              wants tool(a) timer@1000ms
        "#]],
    );
}

#[test]
fn only_a_run_that_has_not_begun_is_taken_out_of_its_queue() {
    TOOL.check(
        "
        open queued
        removed
        ",
        expect![[r#"
              run.queued for=Context with all it needs
            > removed
              run.stopping ABORTED then=End
              run.completed ABORTED turns=0 calls=0
              wants 
        "#]],
    );
    TOOL.check(
        "
        model a
        child a run-a
        gives its slot back
        settled a
        removed
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > child a run-a
              tool.state a Scheduled
              tool.state a Executing by=run-a
              wants child(a: run-a) timer@1000ms
            > gives its slot back
            > settled a
              tool.state a Success
              turn.completed 1
              turn.started 2
              run.queued for=Place
              wants slot
            > removed
              (stale)
              wants slot
        "#]],
    );
}

#[test]
fn an_answer_that_was_continued_is_one_answer() {
    Script { completion: CompletionMode::Message, ..TOOL }.check(
        "
        cut-short | one,
        cut-short | two,
        ",
        expect![[r#"
            > cut-short | one,
              model.completed "one," calls=[]
              context.nudged
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > cut-short | two,
              model.completed "two," calls=[]
              run.stopping ERROR then=End
              turn.completed 2
              run.completed ERROR turns=2 calls=0 partial="two," ModelFailed
              wants 
        "#]],
    );
    Script { completion: CompletionMode::Message, ..TOOL }.check(
        "
        cut-short | one and
        model | two
        ",
        expect![[r#"
            > cut-short | one and
              model.completed "one and" calls=[]
              context.nudged
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model | two
              model.completed "two" calls=[]
              turn.completed 2
              run.completed GOAL turns=2 calls=0 result="one andtwo"
              wants 
        "#]],
    );
}

#[test]
fn so_many_messages_wait_and_no_more() {
    let many: String = (0..300).map(|n| format!("steer s{n} | x\n")).collect();
    let kept = TOOL.play(&many).lines().filter(|line| line.contains("run.steered")).count();
    assert_eq!(kept, 256);
    let large = "x".repeat(3 << 20);
    let many: String = (0..4).map(|n| format!("steer s{n} | {large}\n")).collect();
    let kept = TOOL.play(&many).lines().filter(|line| line.contains("  run.steered")).count();
    assert_eq!(kept, 2);
}

//! What becomes of the calls of a turn?

use super::*;

#[test]
fn calls_beyond_the_bound_end_at_once_and_the_others_go_on() {
    let calls: Vec<String> = (0..300).map(|n| format!("c{n}")).collect();
    let played = TOOL.play(&format!("model {}\nrun c0\ntool c0\n", calls.join(" ")));
    let count = |end: &str| played.lines().filter(|line| line.ends_with(end)).count();
    assert_eq!((count(" Validating"), count(" Error EXECUTION_FAILED")), (300, 44), "{played}");
    assert!(!played.contains("c255 Error") && played.contains("c256 Error"), "{played}");
    assert!(played.contains("wants judge(c1…) tool(c0)"), "{played}");
    assert_eq!(count(" Success"), 1, "{played}");
}

#[test]
fn permitted_call_runs_and_the_next_turn_completes() {
    TOOL.check(
        "
        model a
        run a
        tool a
        model z:complete_task
        done z fine
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
            > tool a
              tool.state a Success
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model z:complete_task
              model.completed "" calls=["z"]
              tool.state z Validating
              wants judge(z…) timer@1000ms
            > done z fine
              tool.state z Scheduled
              tool.state z Executing
              tool.state z Success
              turn.completed 2
              run.completed GOAL turns=2 calls=2 result="fine"
              wants 
        "#]],
    );
}

#[test]
fn neighbours_of_a_result_run_to_their_end_and_the_result_comes_last() {
    TOOL.check(
        "
        model a z:complete_task b y:complete_task
        run a
        done z first
        refuse b
        done y second
        tool a
        ",
        expect![[r#"
            > model a z:complete_task b y:complete_task
              model.completed "" calls=["a", "z", "b", "y"]
              tool.state a Validating
              tool.state z Validating
              tool.state b Validating
              tool.state y Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(z…) tool(a) timer@1000ms
            > done z first
              tool.state z Scheduled
              wants judge(b…) tool(a) timer@1000ms
            > refuse b
              tool.state b Error POLICY_DENIED
              wants judge(y…) tool(a) timer@1000ms
            > done y second
              tool.state y Error INVALID_TOOL_PARAMS
              wants tool(a) timer@1000ms
            > tool a
              tool.state a Success
              tool.state z Executing
              tool.state z Success
              turn.completed 1
              run.completed GOAL turns=1 calls=4 result="first"
              wants 
        "#]],
    );
}

#[test]
fn conflicting_calls_keep_the_models_order() {
    TOOL.check(
        "
        model a b c d e
        run a read /w/f
        run b edit /w/f
        run c read /w/f
        run d read /w/g
        run e edit /w
        tool a
        run b edit /w/f
        tool d
        tool b
        run c read /w/f
        tool c
        run e edit /w
        ",
        expect![[r#"
            > model a b c d e
              model.completed "" calls=["a", "b", "c", "d", "e"]
              tool.state a Validating
              tool.state b Validating
              tool.state c Validating
              tool.state d Validating
              tool.state e Validating
              wants judge(a…) timer@1000ms
            > run a read /w/f
              tool.state a Scheduled
              tool.state a Executing
              wants judge(b…) tool(a) timer@1000ms
            > run b edit /w/f
              tool.state b Scheduled
              wants judge(c…) tool(a) timer@1000ms
            > run c read /w/f
              tool.state c Scheduled
              wants judge(d…) tool(a) timer@1000ms
            > run d read /w/g
              tool.state d Scheduled
              tool.state d Executing
              wants judge(e…) tool(a) tool(d) timer@1000ms
            > run e edit /w
              tool.state e Scheduled
              wants tool(a) tool(d) timer@1000ms
            > tool a
              tool.state a Success
              wants judge(b…) tool(d) timer@1000ms
            > run b edit /w/f
              tool.state b Executing
              wants tool(b) tool(d) timer@1000ms
            > tool d
              tool.state d Success
              wants tool(b) timer@1000ms
            > tool b
              tool.state b Success
              wants judge(c…) timer@1000ms
            > run c read /w/f
              tool.state c Executing
              wants tool(c) timer@1000ms
            > tool c
              tool.state c Success
              wants judge(e…) timer@1000ms
            > run e edit /w
              tool.state e Executing
              wants tool(e) timer@1000ms
        "#]],
    );
}

#[test]
fn judgements_are_taken_in_the_order_asked() {
    TOOL.check(
        "
        model a b
        run b
        run a
        run a
        run b
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > run b
              (stale)
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(b…) tool(a) timer@1000ms
            > run a
              (stale)
              wants judge(b…) tool(a) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(a) tool(b) timer@1000ms
        "#]],
    );
}

#[test]
fn full_disk_in_a_tool_ends_the_run() {
    TOOL.check(
        "
        model a b
        run a
        run b
        tool a nospace
        tool b
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
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(a) tool(b) timer@1000ms
            > tool a nospace
              tool.state a Error NO_SPACE_LEFT
              run.stopping ERROR then=End
              wants end(b)
            > tool b
              tool.state b Success
              turn.completed 1
              run.completed ERROR turns=1 calls=2 NoSpaceLeft
              wants 
        "#]],
    );
}

#[test]
fn the_end_of_a_call_keeps_what_it_put_out() {
    TOOL.check(
        "
        model a
        child a kid
        settled a cancelled looked
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > child a kid
              tool.state a Scheduled
              tool.state a Executing by=kid
              wants child(a: kid) timer@1000ms
            > settled a cancelled looked
              tool.state a Cancelled CANCELLED output="looked\n"
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
}

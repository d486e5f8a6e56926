//! What does a run lose with the process that drove it?

use super::*;

#[test]
fn restart_interrupts_unsafe_calls_and_goes_on_with_the_rest() {
    TOOL.check(
        "
        model r w v
        run r read /w/1
        run w edit /w/2
        restart
        run v read /w/3
        ",
        expect![[r#"
            > model r w v
              model.completed "" calls=["r", "w", "v"]
              tool.state r Validating
              tool.state w Validating
              tool.state v Validating
              wants judge(r…) timer@1000ms
            > run r read /w/1
              tool.state r Scheduled
              tool.state r Executing
              wants judge(w…) tool(r) timer@1000ms
            > run w edit /w/2
              tool.state w Scheduled
              tool.state w Executing
              wants judge(v…) tool(r) tool(w) timer@1000ms
            > restart
              run.resumed
              tool.state w Error INTERRUPTED
              wants judge(v…) tool(r) timer@1000ms
            > run v read /w/3
              tool.state v Scheduled
              tool.state v Executing
              wants tool(r) tool(v) timer@1000ms
        "#]],
    );
}

#[test]
fn restart_while_stopping_ends_what_was_running() {
    TOOL.check(
        "
        model r
        run r
        cancel
        restart
        ",
        expect![[r#"
            > model r
              model.completed "" calls=["r"]
              tool.state r Validating
              wants judge(r…) timer@1000ms
            > run r
              tool.state r Scheduled
              tool.state r Executing
              wants tool(r) timer@1000ms
            > cancel
              run.stopping ABORTED then=End
              wants end(r)
            > restart
              run.resumed
              tool.state r Cancelled CANCELLED
              turn.completed 1
              run.completed ABORTED turns=1 calls=1
              wants 
        "#]],
    );
}

#[test]
fn three_restarts_without_progress_are_a_crash_loop() {
    TOOL.check(
        "
        restart
        restart
        restart
        model a
        restart
        restart
        restart
        restart
        ",
        expect![[r#"
            > restart
              run.resumed
              model.retrying r#1.1 attempt=2 after=0us
              model.started r#1.2
              wants model#1.2 timer@1000ms
            > restart
              run.resumed
              model.retrying r#1.2 attempt=3 after=0us
              model.started r#1.3
              wants model#1.3 timer@1000ms
            > restart
              run.resumed
              model.retrying r#1.3 attempt=4 after=0us
              model.started r#1.4
              wants model#1.4 timer@1000ms
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > restart
              run.resumed
              wants judge(a…) timer@1000ms
            > restart
              run.resumed
              wants judge(a…) timer@1000ms
            > restart
              run.resumed
              wants judge(a…) timer@1000ms
            > restart
              run.resumed
              run.stopping ERROR then=End
              tool.state a Cancelled CANCELLED
              turn.completed 1
              run.completed ERROR turns=1 calls=1 CrashLoop
              wants 
        "#]],
    );
}

#[test]
fn panic_of_the_driver_ends_the_run_with_its_calls() {
    TOOL.check(
        "
        model a
        run a
        panic
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
            > panic
              tool.state a Error INTERRUPTED
              run.stopping ERROR then=End
              turn.completed 1
              run.completed ERROR turns=1 calls=1 Panic
              wants 
        "#]],
    );
    TOOL.check(
        "panic",
        expect![[r#"
        > panic
          model.retrying r#1.1 attempt=2 after=0us
          run.stopping ERROR then=End
          turn.completed 1
          run.completed ERROR turns=1 calls=0 Panic
          wants 
    "#]],
    );
}

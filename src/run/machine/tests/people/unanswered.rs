//! What becomes of a question while nobody answers it?

use super::*;

#[test]
fn while_all_that_is_open_waits_for_people_the_clock_stands_still() {
    check(
        "model a b\nask a\nask b edit /w/y\nwait 5000\nanswer a allow\nwait 600\ntool a\nwait 5000\ntime\nanswer b allow\nwait 600\ntime",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > ask a
              tool.state a Scheduled
              tool.state a AwaitingApproval
              confirmation.requested q-a
              wants judge(b…) timer@1000ms
            > ask b edit /w/y
              tool.state b Scheduled
              tool.state b AwaitingApproval
              confirmation.requested q-b
              run.waiting true
              wants 
            > wait 5000
            > answer a allow
              confirmation.resolved q-a AllowOnce by Client
              tool.state a Executing
              run.waiting false
              wants tool(a) timer@1000ms
            > wait 600
            > tool a
              tool.state a Success
              run.waiting true
              wants 
            > wait 5000
            > time
              (stale)
              wants 
            > answer b allow
              confirmation.resolved q-b AllowOnce by Client
              tool.state b Executing
              run.waiting false
              wants tool(b) timer@1000ms
            > wait 600
            > time
              run.stopping TIMEOUT then=Grace
              wants end(b)
        "#]],
    );
}

#[test]
fn a_neighbour_that_works_keeps_the_clock_going() {
    check(
        "model a b\nask a\nrun b read /w/y\nwait 1000\ntime\ntool b cancelled",
        expect![[r#"
        > model a b
          model.completed "" calls=["a", "b"]
          tool.state a Validating
          tool.state b Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          wants judge(b…) timer@1000ms
        > run b read /w/y
          tool.state b Scheduled
          tool.state b Executing
          wants tool(b) timer@1000ms
        > wait 1000
        > time
          run.stopping TIMEOUT then=Grace
          confirmation.resolved q-a Deny by System
          tool.state a Cancelled CANCELLED
          wants end(b)
        > tool b cancelled
          tool.state b Cancelled CANCELLED
          turn.completed 1
          turn.started 2 grace=TIMEOUT
          model.started r#2.1
          wants model#2.1! timer@1100ms
    "#]],
    );
}

#[test]
fn a_run_whose_child_waits_stands_still_too() {
    check(
        "model a\nchild a c\nwaits a\nwait 5000\nworks a\nwait 500\nsettled a",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > child a c
          tool.state a Scheduled
          tool.state a Executing by=c
          wants child(a: c) timer@1000ms
        > waits a
          run.waiting true
          wants child(a: c)
        > wait 5000
        > works a
          run.waiting false
          wants child(a: c) timer@1000ms
        > wait 500
        > settled a
          tool.state a Success
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
    "#]],
    );
}

#[test]
fn nobody_and_no_time_allow_anything() {
    check(
        "model a\nask a\nsettle a deny\nsettle a deny\nanswer a allow",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          run.waiting true
          wants 
        > settle a deny
          confirmation.resolved q-a Deny by System
          tool.state a Error NO_CLIENT
          run.waiting false
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
        > settle a deny
          (stale)
          wants model#2.1 timer@1000ms
        > answer a allow
          (stale)
          wants model#2.1 timer@1000ms
    "#]],
    );
    check(
        "model a b\nask a\nask b edit /w/y\nsettle a fail\nanswer b allow",
        expect![[r#"
        > model a b
          model.completed "" calls=["a", "b"]
          tool.state a Validating
          tool.state b Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          wants judge(b…) timer@1000ms
        > ask b edit /w/y
          tool.state b Scheduled
          tool.state b AwaitingApproval
          confirmation.requested q-b
          run.waiting true
          wants 
        > settle a fail
          confirmation.resolved q-a CancelRun by System
          tool.state a Error NO_CLIENT
          run.stopping UNATTENDED then=End
          confirmation.resolved q-b Deny by System
          tool.state b Cancelled CANCELLED
          run.waiting false
          turn.completed 1
          run.completed UNATTENDED turns=1 calls=2
          wants 
        > answer b allow
          (stale)
          wants 
    "#]],
    );
    check(
        "model a\nask a\nsettle a cancel",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          run.waiting true
          wants 
        > settle a cancel
          confirmation.resolved q-a CancelRun by Deadline
          tool.state a Cancelled CANCELLED
          run.stopping ABORTED then=End
          run.waiting false
          turn.completed 1
          run.completed ABORTED turns=1 calls=1
          wants 
    "#]],
    );
    check(
        "model a\nask a\nsettle a earlier\nsettle a later\nsettle a later",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          run.waiting true
          wants 
        > settle a earlier
          (stale)
          wants 
        > settle a later
          confirmation.revised q-a Deadline
          wants 
        > settle a later
          (stale)
          wants 
    "#]],
    );
}

#[test]
fn a_parked_question_is_still_answered() {
    check(
        "model a\nask a\nsettle a park\nsettle a park\nwait 5000\nunpark\nanswer a allow\ntool a",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > ask a
              tool.state a Scheduled
              tool.state a AwaitingApproval
              confirmation.requested q-a
              run.waiting true
              wants 
            > settle a park
              run.parked
              wants 
            > settle a park
              (stale)
              wants 
            > wait 5000
            > unpark
              (stale)
              wants 
            > answer a allow
              run.resumed
              confirmation.resolved q-a AllowOnce by Client
              tool.state a Executing
              wants tool(a) timer@1000ms
            > tool a
              tool.state a Success
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
    check(
        "model a\nask a\nsettle a park\nunpark-by-hand\nunpark-by-hand\nanswer a deny",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          run.waiting true
          wants 
        > settle a park
          run.parked
          wants 
        > unpark-by-hand
          run.resumed
          run.waiting true
          wants 
        > unpark-by-hand
          (stale)
          wants 
        > answer a deny
          confirmation.resolved q-a Deny by Client
          tool.state a Error USER_DENIED
          run.waiting false
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
    "#]],
    );
    check(
        "model a\nask a\nsettle a park\nrestart\nanswer a allow",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > ask a
              tool.state a Scheduled
              tool.state a AwaitingApproval
              confirmation.requested q-a
              run.waiting true
              wants 
            > settle a park
              run.parked
              wants 
            > restart
              run.resumed
              run.parked
              wants 
            > answer a allow
              run.resumed
              confirmation.resolved q-a AllowOnce by Client
              tool.state a Executing
              wants tool(a) timer@1000ms
        "#]],
    );
    check(
        "model a\nask a\npark\nunpark\nanswer a allow",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          run.waiting true
          wants 
        > park
          run.parked
          wants 
        > unpark
          run.resumed
          run.waiting true
          wants 
        > answer a allow
          confirmation.resolved q-a AllowOnce by Client
          tool.state a Executing
          run.waiting false
          wants tool(a) timer@1000ms
    "#]],
    );
}

#[test]
fn a_stop_ends_what_is_asked() {
    check(
        "model a b\nask a\nrun b read /w/y\ncancel\nanswer a allow\ntool b cancelled",
        expect![[r#"
        > model a b
          model.completed "" calls=["a", "b"]
          tool.state a Validating
          tool.state b Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          wants judge(b…) timer@1000ms
        > run b read /w/y
          tool.state b Scheduled
          tool.state b Executing
          wants tool(b) timer@1000ms
        > cancel
          run.stopping ABORTED then=End
          confirmation.resolved q-a Deny by System
          tool.state a Cancelled CANCELLED
          wants end(b)
        > answer a allow
          (stale)
          wants end(b)
        > tool b cancelled
          tool.state b Cancelled CANCELLED
          turn.completed 1
          run.completed ABORTED turns=1 calls=2
          wants 
    "#]],
    );
    check(
        "model a\nask a\nanswer a cancel-run",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          run.waiting true
          wants 
        > answer a cancel-run
          confirmation.resolved q-a CancelRun by Client
          tool.state a Cancelled CANCELLED
          run.stopping ABORTED then=End
          run.waiting false
          turn.completed 1
          run.completed ABORTED turns=1 calls=1
          wants 
    "#]],
    );
    let hurried = Script { max_time_ms: Some(10), ..TOOL };
    hurried.check(
        "model a b\nrun a read /w/y\nask b\nwait 20\ntime\ntool a cancelled",
        expect![[r#"
        > model a b
          model.completed "" calls=["a", "b"]
          tool.state a Validating
          tool.state b Validating
          wants judge(a…) timer@10ms
        > run a read /w/y
          tool.state a Scheduled
          tool.state a Executing
          wants judge(b…) tool(a) timer@10ms
        > ask b
          tool.state b Scheduled
          tool.state b AwaitingApproval
          confirmation.requested q-b
          wants tool(a) timer@10ms
        > wait 20
        > time
          run.stopping TIMEOUT then=Grace
          confirmation.resolved q-b Deny by System
          tool.state b Cancelled CANCELLED
          wants end(a)
        > tool a cancelled
          tool.state a Cancelled CANCELLED
          turn.completed 1
          turn.started 2 grace=TIMEOUT
          model.started r#2.1
          wants model#2.1! timer@120ms
    "#]],
    );
}

#[test]
fn questions_survive_a_restart() {
    check(
        "model a b\nask a\nask b edit /w/y\nrestart\nanswer a allow\nrestart\nanswer b deny",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > ask a
              tool.state a Scheduled
              tool.state a AwaitingApproval
              confirmation.requested q-a
              wants judge(b…) timer@1000ms
            > ask b edit /w/y
              tool.state b Scheduled
              tool.state b AwaitingApproval
              confirmation.requested q-b
              run.waiting true
              wants 
            > restart
              run.resumed
              run.waiting true
              wants 
            > answer a allow
              confirmation.resolved q-a AllowOnce by Client
              tool.state a Executing
              run.waiting false
              wants tool(a) timer@1000ms
            > restart
              run.resumed
              tool.state a Error INTERRUPTED
              run.waiting true
              wants 
            > answer b deny
              confirmation.resolved q-b Deny by Client
              tool.state b Error USER_DENIED
              run.waiting false
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
    check(
        "model a z:complete_task\nask a\ndone z fine\nrestart\nanswer a deny",
        expect![[r#"
        > model a z:complete_task
          model.completed "" calls=["a", "z"]
          tool.state a Validating
          tool.state z Validating
          wants judge(a…) timer@1000ms
        > ask a
          tool.state a Scheduled
          tool.state a AwaitingApproval
          confirmation.requested q-a
          wants judge(z…) timer@1000ms
        > done z fine
          tool.state z Scheduled
          run.waiting true
          wants 
        > restart
          run.resumed
          run.waiting true
          wants 
        > answer a deny
          confirmation.resolved q-a Deny by Client
          tool.state a Error USER_DENIED
          run.waiting false
          tool.state z Executing
          tool.state z Success
          turn.completed 1
          run.completed GOAL turns=1 calls=2 result="fine"
          wants 
    "#]],
    );
}

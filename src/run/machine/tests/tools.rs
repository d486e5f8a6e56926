//! What tools ask while their calls run. `asks CALL Q` is a question, `told CALL Q yes|no|cancel-run` what a person said to it,
//! `unheard Q how` what becomes of one that nobody answers, `takes-back Q` that nobody waits for it any more.

use expect_test::{Expect, expect};

use super::{TOOL, people};
use crate::machine::{AnswerEffect, MachineInput, ToolAnswer, UnansweredEffect};
use protocol::{
    CallId, Confirmation, ConfirmationId, ConfirmationOutcome, ConfirmationResolved, DecidedBy, Resolution,
    Timestamp,
};

pub fn input(words: &[&str]) -> MachineInput {
    match *words {
        ["asks", call, id] => {
            let question = Confirmation { confirmation_id: id.into(), ..people::question(call) };
            MachineInput::ToolAsks { call: call.into(), question: Box::new(question) }
        }
        ["told", call, id, what] => told(call, id, what),
        ["unheard", id, how] => unheard(id, how),
        ["takes-back", id] => MachineInput::ToolStopsAsking { confirmation: id.into() },
        _ => panic!("unknown script line {words:?}"),
    }
}

fn told(call: &str, id: &str, what: &str) -> MachineInput {
    let resolved = |outcome| ConfirmationResolved {
        confirmation_id: id.into(),
        tool_call_id: Some(CallId::from(call)),
        resolution: Resolution {
            outcome,
            by: DecidedBy::Client,
            name: None,
            message: None,
            rule: None,
            allows: None,
            mode: None,
            digest: "d1".to_owned(),
            answer_digest: None,
            at: None,
        },
        difference: None,
        edited: None,
    };
    let settled = match what {
        "yes" => ToolAnswer::Told { resolved: resolved(ConfirmationOutcome::Answer), content: None },
        "no" => ToolAnswer::Told { resolved: resolved(ConfirmationOutcome::Deny), content: None },
        "cancel-run" => ToolAnswer::CancelRun { resolved: resolved(ConfirmationOutcome::CancelRun) },
        other => panic!("unknown answer {other}"),
    };
    let confirmation = ConfirmationId::from(id);
    MachineInput::Settled {
        confirmation,
        digest: "d1".to_owned(),
        settled: Box::new(AnswerEffect::Tool(settled)),
        by: None,
    }
}

fn unheard(id: &str, how: &str) -> MachineInput {
    let message = "nobody".to_owned();
    let how = match how {
        "deny" => UnansweredEffect::Deny { by: DecidedBy::System, message },
        "cancel" => UnansweredEffect::CancelRun { by: DecidedBy::Deadline, message },
        "fail" => UnansweredEffect::Fail { message },
        "park" => UnansweredEffect::Park,
        "later" => UnansweredEffect::Postpone(Timestamp(20)),
        other => panic!("unknown end {other}"),
    };
    MachineInput::Settle { confirmation: id.into(), how }
}

#[track_caller]
fn check(script: &str, expect: Expect) {
    TOOL.check(&format!("model a\nrun a edit\n{script}"), expect);
}

#[test]
fn a_call_goes_on_whatever_is_said_to_its_tool_and_the_clock_stands_still_meanwhile() {
    check(
        "asks a q1\nasks a q2\nwait 5000\ntold a q1 yes\ntold a q1 no\ntold a q2 no\ntool a",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > run a edit
              tool.state a Scheduled
              tool.state a Executing
              wants tool(a) timer@1000ms
            > asks a q1
              confirmation.requested q1
              run.waiting true
              wants tool(a)
            > asks a q2
              confirmation.requested q2
              wants tool(a)
            > wait 5000
            > told a q1 yes
              confirmation.resolved q1 Answer by Client
              wants tool(a)
            > told a q1 no
              (stale)
              wants tool(a)
            > told a q2 no
              confirmation.resolved q2 Deny by Client
              run.waiting false
              wants tool(a) timer@1000ms
            > tool a
              tool.state a Success
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
}

#[test]
fn so_many_questions_are_open_at_once_and_no_more() {
    check(
        "asks a q1\nasks a q2\nasks a q3\nasks a q4\nasks a q5\ntakes-back q2\nasks a q5",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > run a edit
              tool.state a Scheduled
              tool.state a Executing
              wants tool(a) timer@1000ms
            > asks a q1
              confirmation.requested q1
              run.waiting true
              wants tool(a)
            > asks a q2
              confirmation.requested q2
              wants tool(a)
            > asks a q3
              confirmation.requested q3
              wants tool(a)
            > asks a q4
              confirmation.requested q4
              wants tool(a)
            > asks a q5
              (stale)
              wants tool(a)
            > takes-back q2
              confirmation.resolved q2 Deny by System
              wants tool(a)
            > asks a q5
              confirmation.requested q5
              wants tool(a)
        "#]],
    );
}

#[test]
fn what_is_open_is_over_when_the_call_is() {
    check(
        "asks a q1\nasks a q2\ntool a error\ntold a q1 yes\nasks a q3",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > asks a q2
          confirmation.requested q2
          wants tool(a)
        > tool a error
          confirmation.resolved q1 Deny by System
          confirmation.resolved q2 Deny by System
          tool.state a Error EXECUTION_FAILED
          run.waiting false
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
        > told a q1 yes
          (stale)
          wants model#2.1 timer@1000ms
        > asks a q3
          (stale)
          wants model#2.1 timer@1000ms
    "#]],
    );
}

#[test]
fn a_stop_ends_what_tools_ask_and_then_their_calls() {
    check(
        "asks a q1\ncancel\nasks a q2\ntold a q1 yes\ntool a cancelled",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > cancel
          run.stopping ABORTED then=End
          confirmation.resolved q1 Deny by System
          run.waiting false
          wants end(a)
        > asks a q2
          (stale)
          wants end(a)
        > told a q1 yes
          (stale)
          wants end(a)
        > tool a cancelled
          tool.state a Cancelled CANCELLED
          turn.completed 1
          run.completed ABORTED turns=1 calls=1
          wants 
    "#]],
    );
    check(
        "asks a q1\ntold a q1 cancel-run\ntool a cancelled",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > told a q1 cancel-run
          confirmation.resolved q1 CancelRun by Client
          run.waiting false
          run.stopping ABORTED then=End
          wants end(a)
        > tool a cancelled
          tool.state a Cancelled CANCELLED
          turn.completed 1
          run.completed ABORTED turns=1 calls=1
          wants 
    "#]],
    );
}

#[test]
fn what_nobody_answers_is_never_consent() {
    check(
        "asks a q1\nunheard q1 later\nunheard q1 deny\nunheard q1 deny",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > unheard q1 later
          confirmation.revised q1 Deadline
          wants tool(a)
        > unheard q1 deny
          confirmation.resolved q1 Deny by System
          run.waiting false
          wants tool(a) timer@1000ms
        > unheard q1 deny
          (stale)
          wants tool(a) timer@1000ms
    "#]],
    );
    check(
        "asks a q1\nunheard q1 cancel",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > unheard q1 cancel
          confirmation.resolved q1 CancelRun by Deadline
          run.waiting false
          run.stopping ABORTED then=End
          wants end(a)
    "#]],
    );
    check(
        "asks a q1\nunheard q1 fail",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > unheard q1 fail
          confirmation.resolved q1 CancelRun by System
          run.waiting false
          run.stopping UNATTENDED then=End
          wants end(a)
    "#]],
    );
    check(
        "asks a q1\nunheard q1 park\ntold a q1 yes",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > unheard q1 park
          run.parked
          wants tool(a)
        > told a q1 yes
          run.resumed
          confirmation.resolved q1 Answer by Client
          wants tool(a) timer@1000ms
    "#]],
    );
    check(
        "asks a q1\nunheard q1 park\ntool a",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > unheard q1 park
          run.parked
          wants tool(a)
        > tool a
          confirmation.resolved q1 Deny by System
          run.resumed
          tool.state a Success
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
    "#]],
    );
}

#[test]
fn a_restart_ends_what_was_asked_and_cuts_off_the_call() {
    check(
        "asks a q1\nrestart\ntold a q1 yes",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > restart
          run.resumed
          confirmation.resolved q1 Deny by System
          tool.state a Error INTERRUPTED
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
        > told a q1 yes
          (stale)
          wants model#2.1 timer@1000ms
    "#]],
    );
    check(
        "asks a q1\nunheard q1 park\nrestart",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > run a edit
          tool.state a Scheduled
          tool.state a Executing
          wants tool(a) timer@1000ms
        > asks a q1
          confirmation.requested q1
          run.waiting true
          wants tool(a)
        > unheard q1 park
          run.parked
          wants tool(a)
        > restart
          run.resumed
          confirmation.resolved q1 Deny by System
          tool.state a Error INTERRUPTED
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
    "#]],
    );
}

#[test]
fn neighbours_go_on_and_the_run_works_until_all_of_them_wait() {
    TOOL.check(
        "model a b\nrun a edit /w/x\nrun b edit /w/y\nasks a q1\ntool b\ntold a q1 yes",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > run a edit /w/x
              tool.state a Scheduled
              tool.state a Executing
              wants judge(b…) tool(a) timer@1000ms
            > run b edit /w/y
              tool.state b Scheduled
              tool.state b Executing
              wants tool(a) tool(b) timer@1000ms
            > asks a q1
              confirmation.requested q1
              wants tool(a) tool(b) timer@1000ms
            > tool b
              tool.state b Success
              run.waiting true
              wants tool(a)
            > told a q1 yes
              confirmation.resolved q1 Answer by Client
              run.waiting false
              wants tool(a) timer@1000ms
        "#]],
    );
}

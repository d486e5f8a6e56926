//! Questions to people. `ask ID [kind] [path]` is a judgement that a person must be asked; `answer ID what` what a
//! checked answer comes to; `settle ID how` what becomes of a question that nobody answers.

use expect_test::expect;
use serde_json::json;

use super::{Script, TOOL};
use crate::machine::{AnswerEffect, CallAnswer, MachineInput, UnansweredEffect};
use protocol::{
    Audience, CallDetails, CallId, Confirmation, ConfirmationDetails, ConfirmationId, ConfirmationOutcome,
    ConfirmationResolved, ConfirmationRevised, DecidedBy, JudgedCall, OnDeadline, OnDetached, ReplaySafety,
    Resolution, ResourceAccess, RevisionReason, Risk, Timestamp, ToolError, ToolErrorType, ToolKind,
    ToolResult,
};

pub fn question(call: &str) -> Confirmation {
    Confirmation {
        confirmation_id: format!("q-{call}").into(),
        run_id: "r".into(),
        session_id: "s".into(),
        path: Vec::new(),
        tool_call_id: Some(call.into()),
        tool: Some("probe".into()),
        kind: Some(ToolKind::Edit),
        risk: Risk::Low,
        hidden_places: 0,
        title: String::new(),
        rule: String::new(),
        reason: String::new(),
        details: ConfirmationDetails::Info { prompt: String::new() },
        digest: "d1".to_owned(),
        options: Vec::new(),
        audience: Audience::All,
        initiator: None,
        headless: false,
        on_detached: OnDetached::Wait,
        created_at: Timestamp(0),
        deadline_at: Some(Timestamp(10)),
        on_deadline: OnDeadline::Deny,
        edited_by: None,
    }
}

pub fn details(kind: ToolKind) -> CallDetails {
    let (title, description) = (String::new(), String::new());
    CallDetails {
        title,
        description,
        kind,
        risk: Risk::Low,
        locations: Vec::new(),
        rule: None,
        rule_origin: None,
        extension: None,
    }
}

fn prepared() -> JudgedCall {
    let accesses = vec![ResourceAccess::Write { path: "/w/x".into() }];
    JudgedCall {
        kind: ToolKind::Edit,
        accesses,
        replay: ReplaySafety::Unsafe,
        streams: false,
        basis: None,
        child: None,
        lent: None,
        hooks: None,
    }
}

pub fn answer(call: &str, what: &str) -> MachineInput {
    let question = question(call);
    if let Some(input) = edits::answer(&question, what) {
        return input;
    }
    let resolved = |outcome| ConfirmationResolved {
        confirmation_id: question.confirmation_id.clone(),
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
    let revised = |why| {
        let confirmation = Confirmation { digest: "d2".to_owned(), ..question.clone() };
        ConfirmationRevised {
            confirmation: Box::new(confirmation),
            reason: why,
            difference: None,
            edited: None,
            arguments: None,
        }
    };
    let run = |outcome, revised| CallAnswer::Run {
        resolved: resolved(outcome),
        revised,
        details: Box::new(details(ToolKind::Edit)),
        arguments: json!({}),
        prepared: Box::new(prepared()),
        hooks: Box::default(),
    };
    let settled = match what {
        "allow" | "allow-later-one" => run(ConfirmationOutcome::AllowOnce, None),
        "modify" => run(ConfirmationOutcome::Modify, Some(revised(RevisionReason::Modified))),
        "deny" => {
            let error = ToolError { kind: ToolErrorType::UserDenied, message: "no".to_owned() };
            CallAnswer::Refuse {
                resolved: resolved(ConfirmationOutcome::Deny),
                refusal: error.into(),
                hooks: Box::default(),
            }
        }
        "text" => CallAnswer::Result {
            resolved: resolved(ConfirmationOutcome::Answer),
            result: ToolResult::text("yes"),
        },
        "gone" => {
            let result = ToolResult::failure(ToolErrorType::FileNotFound, "gone");
            CallAnswer::Result { resolved: resolved(ConfirmationOutcome::AllowOnce), result }
        }
        "changed" => CallAnswer::Revise {
            revised: revised(RevisionReason::Changed),
            prepared: prepared(),
            hooks: Box::default(),
        },
        "cancel-run" => CallAnswer::CancelRun { resolved: resolved(ConfirmationOutcome::CancelRun) },
        other => panic!("unknown answer {other}"),
    };
    let digest = if what == "allow-later-one" { "d2" } else { "d1" };
    let confirmation = ConfirmationId::from(format!("q-{call}"));
    MachineInput::Settled {
        confirmation,
        digest: digest.to_owned(),
        settled: Box::new(AnswerEffect::Call(settled)),
        by: None,
    }
}

pub fn settle(call: &str, how: &str) -> MachineInput {
    let message = "nobody".to_owned();
    let how = match how {
        "deny" => UnansweredEffect::Deny { by: DecidedBy::System, message },
        "cancel" => UnansweredEffect::CancelRun { by: DecidedBy::Deadline, message },
        "fail" => UnansweredEffect::Fail { message },
        "park" => UnansweredEffect::Park,
        "later" => UnansweredEffect::Postpone(Timestamp(20)),
        "earlier" => UnansweredEffect::Postpone(Timestamp(5)),
        other => panic!("unknown end {other}"),
    };
    MachineInput::Settle { confirmation: format!("q-{call}").into(), how }
}

fn check(script: &str, expect: expect_test::Expect) {
    TOOL.check(script, expect);
}

#[test]
fn the_first_answer_starts_the_call_and_the_second_is_stale() {
    check(
        "model a\nask a\nanswer a allow\nanswer a deny\ntool a",
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
        > answer a allow
          confirmation.resolved q-a AllowOnce by Client
          tool.state a Executing
          run.waiting false
          wants tool(a) timer@1000ms
        > answer a deny
          (stale)
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
fn a_denied_call_is_told_to_the_model_and_the_run_goes_on() {
    check(
        "model a b\nask a\nrun b read /w/y\nanswer a deny\ntool b",
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
        > answer a deny
          confirmation.resolved q-a Deny by Client
          tool.state a Error USER_DENIED
          wants tool(b) timer@1000ms
        > tool b
          tool.state b Success
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
    "#]],
    );
}

#[test]
fn what_conflicts_with_a_question_is_judged_again_when_it_is_its_turn() {
    check(
        "model a b\nask a edit /w/x\nask b edit /w/x\nanswer a allow\ntool a\nask b edit /w/x\nanswer b allow\ntool b",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > ask a edit /w/x
              tool.state a Scheduled
              tool.state a AwaitingApproval
              confirmation.requested q-a
              wants judge(b…) timer@1000ms
            > ask b edit /w/x
              tool.state b Scheduled
              run.waiting true
              wants 
            > answer a allow
              confirmation.resolved q-a AllowOnce by Client
              tool.state a Executing
              run.waiting false
              wants tool(a) timer@1000ms
            > tool a
              tool.state a Success
              wants judge(b…) timer@1000ms
            > ask b edit /w/x
              tool.state b AwaitingApproval
              confirmation.requested q-b
              run.waiting true
              wants 
            > answer b allow
              confirmation.resolved q-b AllowOnce by Client
              tool.state b Executing
              run.waiting false
              wants tool(b) timer@1000ms
            > tool b
              tool.state b Success
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
    check(
        "model a b\nrun a edit /w/x\nrun b edit /w/x\ntool a\nrun b edit /w/x\ntool b",
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
            > run b edit /w/x
              tool.state b Scheduled
              wants tool(a) timer@1000ms
            > tool a
              tool.state a Success
              wants judge(b…) timer@1000ms
            > run b edit /w/x
              tool.state b Executing
              wants tool(b) timer@1000ms
            > tool b
              tool.state b Success
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
    check(
        "model a b\nask a edit /w/x\nrun b edit /w/x\nanswer a deny\nrefuse b",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > ask a edit /w/x
              tool.state a Scheduled
              tool.state a AwaitingApproval
              confirmation.requested q-a
              wants judge(b…) timer@1000ms
            > run b edit /w/x
              tool.state b Scheduled
              run.waiting true
              wants 
            > answer a deny
              confirmation.resolved q-a Deny by Client
              tool.state a Error USER_DENIED
              run.waiting false
              wants judge(b…) timer@1000ms
            > refuse b
              tool.state b Error POLICY_DENIED
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
}

#[test]
fn a_changed_subject_is_another_question() {
    check(
        "model a\nask a\nanswer a changed\nanswer a allow\nanswer a allow-later-one\ntool a",
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
            > answer a changed
              confirmation.revised q-a Changed
              wants 
            > answer a allow
              (stale)
              wants 
            > answer a allow-later-one
              confirmation.resolved q-a AllowOnce by Client
              tool.state a Executing
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
    check(
        "model a\nask a\nanswer a modify\ntool a",
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
        > answer a modify
          confirmation.revised q-a Modified
          confirmation.resolved q-a Modify by Client
          tool.state a Executing
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
    check(
        "model a\nask a\nanswer a gone\nmodel b\nask b\nanswer b text",
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
        > answer a gone
          confirmation.resolved q-a AllowOnce by Client
          tool.state a Error FILE_NOT_FOUND
          run.waiting false
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
        > model b
          model.completed "" calls=["b"]
          tool.state b Validating
          wants judge(b…) timer@1000ms
        > ask b
          tool.state b Scheduled
          tool.state b AwaitingApproval
          confirmation.requested q-b
          run.waiting true
          wants 
        > answer b text
          confirmation.resolved q-b Answer by Client
          tool.state b Executing
          tool.state b Success
          run.waiting false
          turn.completed 2
          turn.started 3
          model.started r#3.1
          wants model#3.1 timer@1000ms
    "#]],
    );
}

mod edits;
mod unanswered;

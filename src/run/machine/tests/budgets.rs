//! A run that has used up its budget and asks for more (`onBudget: ask`). `answer budget raise N`, `end`, `cancel-run` is what
//! a person's checked answer comes to; `settle budget how` what becomes of the question that nobody answers.

use expect_test::{Expect, expect};

use super::{Script, TOOL, people, safeguards};
use crate::machine::{AnswerEffect, BudgetAnswer, EventDraft, MachineInput, RunMachine};
use protocol::{
    BudgetLimits, CompletionMode, Confirmation, ConfirmationDetails, ConfirmationOutcome,
    ConfirmationResolved, DecidedBy, OnBudget, Resolution, RunSafeguards,
};

/// What the driver does in the same step.
pub fn ask(machine: &mut RunMachine) -> Vec<EventDraft> {
    let Some((limit, used)) = machine.unasked_budget() else { return Vec::new() };
    let details = ConfirmationDetails::Budget { limit, used, maximum: BudgetLimits::default() };
    let asked = people::question("budget");
    let question = Confirmation { tool_call_id: None, tool: None, kind: None, details, ..asked };
    machine.decide(MachineInput::AskBudget { question: Box::new(question) })
}

pub fn answer(what: &str, tokens: Option<&str>) -> MachineInput {
    let resolved = |outcome| ConfirmationResolved {
        confirmation_id: "q-budget".into(),
        tool_call_id: None,
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
        "raise" => {
            let max_tokens = tokens.map(|tokens| tokens.parse().unwrap());
            let limits = BudgetLimits { max_tokens, max_cost: None };
            BudgetAnswer::Raise { resolved: resolved(ConfirmationOutcome::AllowOnce), limits }
        }
        "end" => BudgetAnswer::End { resolved: resolved(ConfirmationOutcome::Deny) },
        "cancel-run" => BudgetAnswer::CancelRun { resolved: resolved(ConfirmationOutcome::CancelRun) },
        other => panic!("unknown answer {other}"),
    };
    let confirmation = "q-budget".into();
    MachineInput::Settled {
        confirmation,
        digest: "d1".to_owned(),
        settled: Box::new(AnswerEffect::Budget(settled)),
        by: None,
    }
}

#[track_caller]
fn check(script: &str, expect: Expect) {
    Script { max_tokens: Some(20), on_budget: OnBudget::Ask, ..TOOL }.check(script, expect);
}

#[test]
fn a_run_that_is_given_more_goes_on_and_is_warned_and_asks_anew() {
    check(
        "
        model a
        refuse a
        model b
        refuse b
        wait 5000
        answer budget raise 40
        answer budget raise 80
        model c
        refuse c
        model d
        refuse d
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > refuse a
              tool.state a Error POLICY_DENIED
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model b
              model.completed "" calls=["b"]
              tool.state b Validating
              budget.warning 20 of 20
              wants judge(b…) timer@1000ms
            > refuse b
              tool.state b Error POLICY_DENIED
              turn.completed 2
              run.stopping BUDGET then=Ask
              confirmation.requested q-budget
              run.waiting true
              wants 
            > wait 5000
            > answer budget raise 40
              confirmation.resolved q-budget AllowOnce by Client
              run.waiting false
              budget.raised to 40
              turn.started 3
              model.started r#3.1
              wants model#3.1 timer@1000ms
            > answer budget raise 80
              (stale)
              wants model#3.1 timer@1000ms
            > model c
              model.completed "" calls=["c"]
              tool.state c Validating
              wants judge(c…) timer@1000ms
            > refuse c
              tool.state c Error POLICY_DENIED
              turn.completed 3
              turn.started 4
              model.started r#4.1
              wants model#4.1 timer@1000ms
            > model d
              model.completed "" calls=["d"]
              tool.state d Validating
              budget.warning 40 of 40
              wants judge(d…) timer@1000ms
            > refuse d
              tool.state d Error POLICY_DENIED
              turn.completed 4
              run.stopping BUDGET then=Ask
              confirmation.requested q-budget
              run.waiting true
              wants 
        "#]],
    );
}

#[test]
fn what_is_not_given_ends_the_run_after_its_last_turn() {
    let asking = Script { max_tokens: Some(20), on_budget: OnBudget::Ask, ..TOOL };
    let mut told = String::new();
    for how in [
        "answer budget end",
        "answer budget cancel-run",
        "settle budget deny",
        "settle budget cancel",
        "settle budget fail",
        "cancel",
    ] {
        let played = asking.play(&format!("model a\nrefuse a\nmodel b\nrefuse b\n{how}\nrestart"));
        // Up to there all are alike.
        told.push_str(&played[played.find(&format!("> {how}")).unwrap()..]);
    }
    expect![[r#"
        > answer budget end
          confirmation.resolved q-budget Deny by Client
          run.waiting false
          run.stopping BUDGET then=Grace
          turn.started 3 grace=BUDGET
          model.started r#3.1
          wants model#3.1! timer@100ms
        > restart
          run.resumed
          model.retrying r#3.1 attempt=2 after=0us
          model.started r#3.2
          wants model#3.2! timer@100ms
        > answer budget cancel-run
          confirmation.resolved q-budget CancelRun by Client
          run.waiting false
          run.stopping ABORTED then=End
          run.completed ABORTED turns=2 calls=2
          wants 
        > restart
          (stale)
          wants 
        > settle budget deny
          confirmation.resolved q-budget Deny by System
          run.waiting false
          run.stopping BUDGET then=Grace
          turn.started 3 grace=BUDGET
          model.started r#3.1
          wants model#3.1! timer@100ms
        > restart
          run.resumed
          model.retrying r#3.1 attempt=2 after=0us
          model.started r#3.2
          wants model#3.2! timer@100ms
        > settle budget cancel
          confirmation.resolved q-budget CancelRun by Deadline
          run.waiting false
          run.stopping ABORTED then=End
          run.completed ABORTED turns=2 calls=2
          wants 
        > restart
          (stale)
          wants 
        > settle budget fail
          confirmation.resolved q-budget CancelRun by System
          run.waiting false
          run.stopping UNATTENDED then=End
          run.completed UNATTENDED turns=2 calls=2
          wants 
        > restart
          (stale)
          wants 
        > cancel
          run.stopping ABORTED then=End
          confirmation.resolved q-budget Deny by System
          run.waiting false
          run.completed ABORTED turns=2 calls=2
          wants 
        > restart
          (stale)
          wants 
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_question_about_the_budget_parks_and_waits_and_outlives_restarts() {
    check(
        "
        model a
        refuse a
        model b
        refuse b
        restart
        settle budget park
        restart
        settle budget later
        settle budget earlier
        steer s1 | be brief
        answer budget raise 100
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > refuse a
              tool.state a Error POLICY_DENIED
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model b
              model.completed "" calls=["b"]
              tool.state b Validating
              budget.warning 20 of 20
              wants judge(b…) timer@1000ms
            > refuse b
              tool.state b Error POLICY_DENIED
              turn.completed 2
              run.stopping BUDGET then=Ask
              confirmation.requested q-budget
              run.waiting true
              wants 
            > restart
              run.resumed
              run.waiting true
              wants 
            > settle budget park
              run.parked
              wants 
            > restart
              run.resumed
              run.parked
              wants 
            > settle budget later
              confirmation.revised q-budget Deadline
              wants 
            > settle budget earlier
              (stale)
              wants 
            > steer s1 | be brief
              run.steered s1 "be brief"
              wants 
            > answer budget raise 100
              run.resumed
              confirmation.resolved q-budget AllowOnce by Client
              budget.raised to 100
              turn.started 3
              run.steered s1 "be brief" turn=3
              model.started r#3.1
              wants model#3.1 timer@1000ms
        "#]],
    );
}

#[test]
fn runs_below_end_before_a_person_is_asked() {
    check(
        "
        model a b
        child a r1
        child b r2
        spent a 5
        spent b 5
        restart
        settled a
        settled b cancelled
        answer budget raise 500
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > child a r1
              tool.state a Scheduled
              tool.state a Executing by=r1
              wants judge(b…) child(a: r1) timer@1000ms
            > child b r2
              tool.state b Scheduled
              tool.state b Executing by=r2
              wants child(a: r1) child(b: r2) timer@1000ms
            > spent a 5
              (stale)
              wants child(a: r1) child(b: r2) timer@1000ms
            > spent b 5
              run.stopping BUDGET then=Ask
              wants end-child(a: r1) end-child(b: r2)
            > restart
              run.resumed
              wants end-child(a: r1) end-child(b: r2)
            > settled a
              tool.state a Success
              wants end-child(b: r2)
            > settled b cancelled
              tool.state b Cancelled CANCELLED
              turn.completed 1
              confirmation.requested q-budget
              run.waiting true
              wants 
            > answer budget raise 500
              confirmation.resolved q-budget AllowOnce by Client
              run.waiting false
              budget.raised to 500
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
}

#[test]
fn in_its_last_turn_a_run_asks_for_nothing() {
    Script { max_turns: 1, max_tokens: Some(15), on_budget: OnBudget::Ask, ..TOOL }.check(
        "
        model a
        refuse a
        model b
        refuse b
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
            > model b
              model.completed "" calls=["b"]
              tool.state b Validating
              wants judge(b…) timer@100ms
            > refuse b
              tool.state b Error POLICY_DENIED
              turn.completed 2
              run.completed MAX_TURNS turns=2 calls=2
              wants 
        "#]],
    );
}

#[test]
fn a_result_in_the_turn_that_uses_up_the_budget_counts() {
    check(
        "model a\nrefuse a\nmodel z:complete_task\ndone z fine",
        expect![[r#"
        > model a
          model.completed "" calls=["a"]
          tool.state a Validating
          wants judge(a…) timer@1000ms
        > refuse a
          tool.state a Error POLICY_DENIED
          turn.completed 1
          turn.started 2
          model.started r#2.1
          wants model#2.1 timer@1000ms
        > model z:complete_task
          model.completed "" calls=["z"]
          tool.state z Validating
          budget.warning 20 of 20
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
fn what_is_asked_beside_the_turns_is_looked_at_before_the_next_model_call() {
    let small = || RunSafeguards {
        compress_at: Some(0.5),
        small: Some(safeguards::named("small")),
        next_speaker: true,
        ..RunSafeguards::default()
    };
    let asking = Script {
        max_tokens: Some(612),
        on_budget: OnBudget::Ask,
        window: Some(1_000),
        care: Some(small),
        ..TOOL
    };
    // The prompt fills the window; compressing it takes the rest of the budget.
    asking.check(
        "
        model a | aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee fffff
        refuse a
        advice compressed 100
        answer budget raise 5000
        ",
        expect![[r#"
            > model a | aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee fffff
              model.completed "aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee fffff" calls=["a"]
              tool.state a Validating
              budget.warning 610 of 612
              wants judge(a…) timer@1000ms
            > refuse a
              tool.state a Error POLICY_DENIED
              turn.completed 1
              turn.started 2
              sideCall.started compression of m
              wants side_call#1 compression hooks(Compaction { n: 1 }) timer@1000ms
            > advice compressed 100
              sideCall.completed compression
              context.compressed COMPRESSED
              run.stopping BUDGET then=Ask
              turn.completed 2
              confirmation.requested q-budget
              run.waiting true
              wants 
            > answer budget raise 5000
              confirmation.resolved q-budget AllowOnce by Client
              run.waiting false
              budget.raised to 5000
              turn.started 3
              model.started r#3.1
              wants model#3.1 timer@1000ms
        "#]],
    );
    // Nor is it asked who speaks next where nothing is left to ask with.
    Script { completion: CompletionMode::Message, max_tokens: Some(500), ..asking }
        .check("model | aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee fffff", expect![[r#"
            > model | aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee fffff
              model.completed "aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee fffff" calls=[]
              turn.completed 1
              run.completed GOAL turns=1 calls=0 result="aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee fffff"
              wants 
        "#]]);
}

#[test]
fn a_failed_attempt_that_used_up_the_budget_is_given_up_before_a_person_is_asked() {
    check(
        "fails 0 25 | half a sent\nanswer budget raise 100\nmodel z:complete_task\ndone z fine",
        expect![[r#"
            > fails 0 25 | half a sent
              model.retrying r#1.1 attempt=2 after=0us
              run.stopping BUDGET then=Ask
              turn.completed 1
              confirmation.requested q-budget
              run.waiting true
              wants 
            > answer budget raise 100
              confirmation.resolved q-budget AllowOnce by Client
              run.waiting false
              budget.raised to 100
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
              run.completed GOAL turns=2 calls=1 result="fine"
              wants 
        "#]],
    );
}

#[test]
fn what_another_run_lent_is_not_asked_for() {
    let lent = |max_tokens, lent| Script {
        max_tokens: Some(max_tokens),
        lent: BudgetLimits { max_tokens: Some(lent), max_cost: None },
        on_budget: OnBudget::Ask,
        ..TOOL
    };
    let script = "model a\nrefuse a\nmodel b\nrefuse b";
    let last = |played: String| played[played.rfind("> ").unwrap()..].to_owned();
    expect![[r#"
        > refuse b
          tool.state b Error POLICY_DENIED
          turn.completed 2
          run.stopping BUDGET then=Grace
          turn.started 3 grace=BUDGET
          model.started r#3.1
          wants model#3.1! timer@100ms
    "#]]
    .assert_eq(&last(lent(20, 20).play(script)));
    expect![[r#"
        > refuse b
          tool.state b Error POLICY_DENIED
          turn.completed 2
          run.stopping BUDGET then=Ask
          confirmation.requested q-budget
          run.waiting true
          wants 
    "#]]
    .assert_eq(&last(lent(20, 30).play(script)));
    // Given all that there is, it has nothing more to ask for.
    let raised = format!("{script}\nanswer budget raise 30\nmodel c\nrefuse c");
    expect![[r#"
        > refuse c
          tool.state c Error POLICY_DENIED
          turn.completed 3
          run.stopping BUDGET then=Grace
          turn.started 4 grace=BUDGET
          model.started r#4.1
          wants model#4.1! timer@100ms
    "#]]
    .assert_eq(&last(lent(20, 30).play(&raised)));
}

#[test]
fn the_last_turn_of_a_budget_has_one_call_that_takes_something() {
    let used_up = "model a\nrefuse a\nmodel b\nrefuse b\nanswer budget end";
    let asking = Script { max_tokens: Some(20), on_budget: OnBudget::Ask, grace_ms: 60_000, ..TOOL };
    let after = |more: &str| {
        let played = asking.play(&format!("{used_up}\n{more}"));
        played[played.find(&format!("> {more}")).unwrap()..].to_owned()
    };
    // What took nothing may be tried again.
    expect![[r#"
        > fails 0 0
          model.retrying r#3.1 attempt=2 after=500000us
          wants backoff#3.2 timer@60000ms
    "#]]
    .assert_eq(&after("fails 0 0"));
    expect![[r#"
        > fails 0 5 | half an ans
          model.completed "half an ans" calls=[] cut
          turn.completed 3
          run.completed BUDGET turns=3 calls=2 partial="half an ans"
          wants 
    "#]]
    .assert_eq(&after("fails 0 5 | half an ans"));
}

#[test]
fn what_a_run_below_was_known_to_use_counts_though_its_end_does_not_say() {
    // `settled` says 100, which is less.
    Script { max_tokens: Some(1_000), on_budget: OnBudget::Ask, ..TOOL }.check(
        "model a\nchild a r1\nspent a 985\nsettled a\nmodel b\nrefuse b",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > child a r1
              tool.state a Scheduled
              tool.state a Executing by=r1
              wants child(a: r1) timer@1000ms
            > spent a 985
              budget.warning 995 of 1000
              wants child(a: r1) timer@1000ms
            > settled a
              tool.state a Success
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model b
              model.completed "" calls=["b"]
              tool.state b Validating
              wants judge(b…) timer@1000ms
            > refuse b
              tool.state b Error POLICY_DENIED
              turn.completed 2
              run.stopping BUDGET then=Ask
              confirmation.requested q-budget
              run.waiting true
              wants 
        "#]],
    );
}

//! Edits that are in the log before hooks are asked about them. `answer ID edit` is one, `edit-later-one` one of another question, `drop`
//! that nothing comes of it.

use super::*;
use protocol::ConfirmationEdited;

pub(super) fn answer(question: &Confirmation, what: &str) -> Option<MachineInput> {
    let edited = |digest: &str| ConfirmationEdited {
        confirmation_id: question.confirmation_id.clone(),
        tool_call_id: question.tool_call_id.clone().unwrap(),
        digest: digest.to_owned(),
        edited: json!({}),
        redacted: false,
        name: None,
        message: None,
        answer_digest: None,
    };
    match what {
        "edit" => Some(MachineInput::Edited(Box::new(edited("d1")))),
        "edit-later-one" => Some(MachineInput::Edited(Box::new(edited("d2")))),
        "drop" => Some(MachineInput::EditDropped {
            confirmation: question.confirmation_id.clone(),
            digest: "d1".to_owned(),
            why: "it cannot be done".to_owned(),
            hooks: Box::default(),
        }),
        _ => None,
    }
}

#[test]
fn hooks_are_asked_about_one_edit_of_what_is_asked_until_it_is_settled() {
    check(
        "model a\nask a\nanswer a edit-later-one\nanswer a drop\nanswer a edit\nanswer a edit\nsettle a park\nsettle a later\nanswer a modify\ntool a",
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
            > answer a edit-later-one
              (stale)
              wants 
            > answer a drop
              (stale)
              wants 
            > answer a edit
              confirmation.edited
              wants edit(a)
            > answer a edit
              (stale)
              wants edit(a)
            > settle a park
              (stale)
              wants edit(a)
            > settle a later
              confirmation.revised q-a Deadline
              wants edit(a)
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
}

#[test]
fn an_edit_is_taken_up_by_the_next_daemon() {
    check(
        "model a\nask a\nanswer a edit\nrestart\nanswer a modify",
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
            > answer a edit
              confirmation.edited
              wants edit(a)
            > restart
              run.resumed
              run.waiting true
              wants edit(a)#2
            > answer a modify
              confirmation.revised q-a Modified
              confirmation.resolved q-a Modify by Client
              tool.state a Executing
              run.waiting false
              wants tool(a) timer@1000ms
        "#]],
    );
}

#[test]
fn an_edit_of_which_nothing_comes_leaves_the_question_as_it_was() {
    check(
        "model a\nask a\nanswer a edit\nanswer a drop\nanswer a edit\nanswer a changed",
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
            > answer a edit
              confirmation.edited
              wants edit(a)
            > answer a drop
              confirmation.revised q-a EditDropped "; it cannot be done"
              wants 
            > answer a edit
              confirmation.edited
              wants edit(a)
            > answer a changed
              confirmation.revised q-a Changed
              wants 
        "#]],
    );
}

#[test]
fn a_stop_ends_the_question_of_an_edit() {
    check(
        "model a\nask a\nanswer a edit\ncancel\nanswer a modify",
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
        > answer a edit
          confirmation.edited
          wants edit(a)
        > cancel
          run.stopping ABORTED then=End
          confirmation.resolved q-a Deny by System
          tool.state a Cancelled CANCELLED
          run.waiting false
          turn.completed 1
          run.completed ABORTED turns=1 calls=1
          wants 
        > answer a modify
          (stale)
          wants 
    "#]],
    );
}

/// Somebody has answered: neither a deadline nor that nobody is there takes that back.
#[test]
fn nothing_that_comes_of_nobody_being_there_ends_a_question_that_somebody_has_answered() {
    check(
        "model a\nask a\nanswer a edit\nsettle a deny\nsettle a cancel\nsettle a fail\nsettle a park\nanswer a drop\nsettle a deny",
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
            > answer a edit
              confirmation.edited
              wants edit(a)
            > settle a deny
              (stale)
              wants edit(a)
            > settle a cancel
              (stale)
              wants edit(a)
            > settle a fail
              (stale)
              wants edit(a)
            > settle a park
              (stale)
              wants edit(a)
            > answer a drop
              confirmation.revised q-a EditDropped "; it cannot be done"
              wants 
            > settle a deny
              confirmation.resolved q-a Deny by System
              tool.state a Error NO_CLIENT
              run.waiting false
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
}

/// The question is read whole, by people and by the model where nobody answers.
#[test]
fn reason_of_a_question_tells_of_the_last_edit_of_which_nothing_came() {
    check(
        "model a\nask a\nanswer a edit\nanswer a drop\nanswer a edit\nanswer a drop",
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
            > answer a edit
              confirmation.edited
              wants edit(a)
            > answer a drop
              confirmation.revised q-a EditDropped "; it cannot be done"
              wants 
            > answer a edit
              confirmation.edited
              wants edit(a)
            > answer a drop
              confirmation.revised q-a EditDropped "; it cannot be done"
              wants 
        "#]],
    );
}

/// A guard that brings the daemon down is not asked for ever.
#[test]
fn hooks_that_look_at_an_edit_in_each_of_four_lives_are_a_crash_loop() {
    check(
        "model a\nask a\nanswer a edit\nrestart\nrestart\nrestart\nrestart",
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
        > answer a edit
          confirmation.edited
          wants edit(a)
        > restart
          run.resumed
          run.waiting true
          wants edit(a)#2
        > restart
          run.resumed
          run.waiting true
          wants edit(a)#3
        > restart
          run.resumed
          run.waiting true
          wants edit(a)#4
        > restart
          run.resumed
          run.stopping ERROR then=End
          confirmation.resolved q-a Deny by System
          tool.state a Cancelled CANCELLED
          turn.completed 1
          run.completed ERROR turns=1 calls=1 CrashLoop
          wants 
    "#]],
    );
}

/// Whoever is asked about an edit had been asked about it before, whatever the run waited for beside that.
#[test]
fn edit_of_a_run_that_is_parked_for_another_question_counts_restarts() {
    check(
        "model a b\nask a\nask b\nanswer a edit\nsettle b park\nrestart",
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
        > ask b
          tool.state b Scheduled
          run.waiting true
          wants 
        > answer a edit
          confirmation.edited
          wants edit(a)
        > settle b park
          (stale)
          wants edit(a)
        > restart
          run.resumed
          run.waiting true
          wants edit(a)#2
    "#]],
    );
}

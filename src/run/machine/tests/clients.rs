//! Calls that clients answer who lend the tools.

use super::*;
use protocol::{ClientToolCall, OnDisconnect};

/// A call of a lent tool, judged to run.
pub fn lent(call: &str, on_disconnect: &str) -> MachineInput {
    let (on_disconnect, replay) = match on_disconnect {
        "wait" => (OnDisconnect::Wait, ReplaySafety::Safe),
        _ => (OnDisconnect::Fail, ReplaySafety::Unsafe),
    };
    let lent = ClientToolCall {
        name: "diagnostics".into(),
        client: "editor".into(),
        arguments: json!({ "file": "a" }),
        on_disconnect,
        timeout_ms: 1,
    };
    let prepared = JudgedCall {
        kind: ToolKind::Read,
        accesses: vec![ResourceAccess::Opaque { what: "editor".to_owned() }],
        replay,
        streams: false,
        basis: None,
        child: None,
        lent: Some(lent),
        hooks: None,
    };
    let details = people::details(ToolKind::Read);
    let judgement = CallJudgement::Run { details, arguments: json!({}), prepared };
    MachineInput::Judged { call: call.into(), judgement, hooks: Box::default() }
}

#[test]
fn a_client_is_told_with_the_call_and_again_and_its_answer_ends_it_once() {
    TOOL.check(
        "
        model a b
        lent a wait
        run b
        back a
        back b
        answered b
        answered a
        answered a
        back a
        tool b
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > lent a wait
              tool.state a Scheduled
              tool.state a Executing
              tool.clientCall a editor diagnostics {"file":"a"}
              wants judge(b…) tool(a) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(a) tool(b) timer@1000ms
            > back a
              tool.clientCall a editor diagnostics {"file":"a"} again
              wants tool(a) tool(b) timer@1000ms
            > back b
              (stale)
              wants tool(a) tool(b) timer@1000ms
            > answered b
              (stale)
              wants tool(a) tool(b) timer@1000ms
            > answered a
              tool.state a Success
              wants tool(b) timer@1000ms
            > answered a
              (stale)
              wants tool(b) timer@1000ms
            > back a
              (stale)
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
fn after_a_restart_a_call_that_waits_goes_on_and_another_is_interrupted() {
    TOOL.check(
        "
        model a b
        lent a wait
        lent b fail
        restart
        answered b
        back a
        cancel
        answered a
        tool a cancelled
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > lent a wait
              tool.state a Scheduled
              tool.state a Executing
              tool.clientCall a editor diagnostics {"file":"a"}
              wants judge(b…) tool(a) timer@1000ms
            > lent b fail
              tool.state b Scheduled
              tool.state b Executing
              tool.clientCall b editor diagnostics {"file":"a"}
              wants tool(a) tool(b) timer@1000ms
            > restart
              run.resumed
              tool.state b Error INTERRUPTED
              wants tool(a) timer@1000ms
            > answered b
              (stale)
              wants tool(a) timer@1000ms
            > back a
              tool.clientCall a editor diagnostics {"file":"a"} again
              wants tool(a) timer@1000ms
            > cancel
              run.stopping ABORTED then=End
              wants end(a)
            > answered a
              tool.state a Success
              turn.completed 1
              run.completed ABORTED turns=1 calls=2
              wants 
            > tool a cancelled
              (stale)
              wants 
        "#]],
    );
}

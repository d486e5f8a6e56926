//! What does the end of a run tell? `tool CALL wrote FILE=CONTENT…` is a call that wrote files, each of which had `1` before.

use std::fmt::Write as _;

use expect_test::expect;

use super::TOOL;
use protocol::{CallId, FileChange, FileChanged, RunCompleted, ToolEffect, ToolResult};

pub fn render(it: &RunCompleted) -> String {
    let mut line = format!("run.completed {} turns={} calls={}", it.reason.as_str(), it.turns, it.tool_calls);
    for (key, value) in [("result", &it.result), ("partial", &it.partial_result)] {
        if let Some(value) = value {
            write!(line, " {key}={value:?}").unwrap();
        }
    }
    if let Some(error) = &it.error {
        write!(line, " {:?}", error.code).unwrap();
    }
    if let Some(from) = it.recovered_from {
        write!(line, " recovered_from={}", from.as_str()).unwrap();
    }
    if !it.files_changed.is_empty() {
        write!(line, " files={:?}", it.files_changed).unwrap();
    }
    line
}

pub fn wrote(call: CallId, files: &[&str]) -> ToolResult {
    let changed = |file: &&str| {
        let (path, content) = file.split_once('=').unwrap();
        ToolEffect::File(FileChanged {
            call_id: call.clone(),
            path: path.to_owned(),
            change: FileChange::Modified,
            from: None,
            undo_id: "u".to_owned(),
            before: Some("1".to_owned()),
            after: Some(content.to_owned()),
        })
    };
    ToolResult { effects: files.iter().map(changed).collect(), ..ToolResult::text("x") }
}

/// A file that was written with the content that it had counts for nothing, unless another call changed it.
#[test]
fn files_that_were_written_as_they_were_are_none_that_the_run_changed() {
    TOOL.check(
        "
        model a b
        run a
        tool a wrote /w/same=1 /w/other=2 /w/both=1
        run b
        tool b wrote /w/both=2 /w/same=1
        model z:complete_task
        done z fine
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
            > tool a wrote /w/same=1 /w/other=2 /w/both=1
              file.changed
              file.changed
              file.changed
              tool.state a Success
              wants judge(b…) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(b) timer@1000ms
            > tool b wrote /w/both=2 /w/same=1
              file.changed
              file.changed
              tool.state b Success
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
              run.completed GOAL turns=2 calls=3 result="fine" files=["/w/other", "/w/both"]
              wants 
        "#]],
    );
}

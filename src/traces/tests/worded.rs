//! Is everything that happens beside spans told in words, to people?

use protocol::TraceFormat;

use super::{documents::document, *};

const HAPPENINGS: &str = r#"
    0 run.queued {"for": "context", "run": {"agent": "lead", "model": "m", "query": "q"}}
    1 run.queued {"for": "context", "front": true, "^": {"by": "root-a4ed744b"}}
    2 run.started {"agent": "lead", "model": "m", "query": "q"}
    2 warning {"message": "lead: /home/ada/settings.json: it is old"}
    2 model.routed {"model": "strong"}
    2 route.selected {"agent": "lead", "trigger": {"intent": "it knows tests", "priority": 0}}
    3 turn.started {"turn": 1}
    3 skill.activated {"name": "release"}
    3 memory.saved {"fact": "tests run by just"}
    3 run.toolsChanged {}
    3 context.cleared {}
    3 context.nudged {"reason": "hook"}
    3 loop.detected {"message": "the model says again and again: x"}
    3 budget.warning {"kind": "tokens"}
    3 budget.raised {"limits": {"maxTokens": 9}}
    3 model.fallback {"to": "m2"}
    3 run.parked {"reason": "storageFull"}
    4 run.resumed {}
    5 turn.completed {"turn": 1}
    5 run.stopping {"reason": "BUDGET", "then": "grace", "message": "the budget is used up"}
    5 turn.started {"turn": 2, "grace": "BUDGET"}
    6 run.stopping {"reason": "BUDGET", "then": "end", "message": "the budget is used up"}
    6 run.stopping {"reason": "BUDGET", "then": "end", "message": "the budget is used up"}
    6 run.completed {"reason": "BUDGET", "message": "the budget is used up"}
"#;

#[test]
fn what_happens_beside_spans_is_told_in_words() {
    let story = document(TraceFormat::Markdown, HAPPENINGS);
    let told: Vec<&str> =
        story.lines().filter_map(|line| line.strip_prefix("- 2025-11-24 16:00:00Z ")).collect();
    expect![[r#"
        It uses the skill: release
        It remembers: tests run by just
        Its tools changed.
        Its history was cleared.
        The model was told what a hook had to say, and went on.
        It goes round in circles: the model says again and again: x
        Most of its budget is used up (tokens).
        It was given other limits: {"maxTokens":9}
        Another model is asked from here on: `m2`
        It was parked: the disk was full.
        This is the last turn, after `BUDGET`: nothing but complete\_task is there.
        It is to end: the budget is used up
        In its queue: moved to the front by root
        Warning: /home/ada/settings.json: it is old
        The model was chosen by routing: strong
        The agent was chosen by routing: it knows tests
        It is to end: the budget is used up"#]]
    .assert_eq(&told.join("\n"));
}

/// A run's own files are not all that changed, where it ran commands and called others.
#[test]
fn the_end_of_a_run_says_which_files_it_does_not_know_of() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "make"}}
        0 tool.state {"callId": "c2", "to": "validating", "name": "run_shell_command", "arguments": {"command": "ls"}}
        0 tool.state {"callId": "c3", "to": "validating", "name": "helper", "arguments": {"prompt": "help"}}
        1 tool.state {"callId": "c1", "to": "executing", "name": "run_shell_command"}
        1 tool.state {"callId": "c2", "to": "error", "name": "run_shell_command", "error": {"type": "POLICY_DENIED", "message": "no"}}
        1 tool.state {"callId": "c3", "to": "executing", "name": "helper", "childRunId": "r2"}
        2 run.completed {"reason": "GOAL", FILES}
    "#;
    for (files, told) in [
        (
            r#""filesChanged": ["docs/x.md"]"#,
            "Files changed by its own file tools: `docs/x.md`. Files that the agents it called changed are listed at theirs. \
             1 command ran; which files commands changed is not known.\n",
        ),
        (
            r#""filesChanged": []"#,
            "It changed no files by its own file tools. Files that the agents it called changed are listed at theirs. \
             1 command ran; which files commands changed is not known.\n",
        ),
    ] {
        let story = document(TraceFormat::Markdown, &log.replace("FILES", files));
        assert!(story.contains(told), "{story}");
    }
}

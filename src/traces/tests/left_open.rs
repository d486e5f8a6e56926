//! Questions and queues across the end of a daemon: does a story tell them where they were?

use protocol::TraceFormat;

use super::{documents::document, *};

const ASKED: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    0 turn.started {"turn": 1}
    0 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "e.rs"}}
    10 tool.state {"callId": "c1", "from": "validating", "to": "awaitingApproval", "name": "write_file"}
    10 confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Write file: e.rs", "rule": "r", "reason": "x", "risk": "low", "details": {"type": "edit", "diff": "+fn e"}}}
    9000 run.resumed {"unclean": true, "awayMs": 8000}
    19000 run.resumed {"unclean": true, "awayMs": 8000}
    30000 confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "allowOnce", "by": "client", "name": "ada@pts/3-3fa91c02"}
"#;

fn told(log: &str) -> String {
    let story = document(TraceFormat::Markdown, log);
    let told = story.lines().filter(|line| line.starts_with(['*', '#', '+', 'A', 'N']));
    told.collect::<Vec<_>>().join("\n")
}

/// It was asked before the daemon ended, and is asked again after that.
#[test]
fn a_question_that_was_open_at_the_end_of_a_daemon_stands_where_it_was_asked() {
    expect![[r#"
        # Trace of lead
        ## lead, turn 1
        **lead** asks: Write file: e.rs (`r`: x)
        +fn e
        Nobody had answered when the daemon ended.
        **lead** was interrupted: the daemon was away for at most 8.0 s, and had not stopped by itself. It goes on, at 2025-11-24 16:00:09Z.
        ## lead, turn 1, after the daemon was started again
        **lead** was interrupted: the daemon was away for at most 8.0 s, and had not stopped by itself. It goes on, at 2025-11-24 16:00:19Z.
        ## lead, turn 1, after the daemon was started again
        **lead** asks again, after the daemon was started again: Write file: e.rs (`r`: x)
        +fn e
        Answer: `allowOnce` by ada (pts/3) after 30.0 s, of which at most 16.0 s without a daemon.
        **lead** is still at work.
        **lead** calls `write_file`: not allowed to run yet, since 2025-11-24 16:00:00Z."#]].assert_eq(&told(ASKED));
}

/// A run that had not begun is not said to have been interrupted.
#[test]
fn a_queued_run_was_not_interrupted() {
    let log = r#"
        0 run.queued {"for": "context", "run": {"agent": "lead", "model": "m", "prompt": "q", "query": "q"}}
        9000 run.resumed {"unclean": true, "awayMs": 8000}
    "#;
    let story = told(log);
    assert!(!story.contains("was interrupted"), "{story}");
    let words = "**lead** waited in its queue: the daemon was away for at most 8.0 s, and had not stopped by itself. It goes on waiting, at ";
    assert!(story.contains(words), "{story}");
}

/// The file has the content that it had.
#[test]
fn a_file_that_is_written_as_it_was_is_unchanged() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 tool.state {"callId": "c1", "to": "executing", "name": "write_file", "arguments": {"path": "a"}}
        1 file.changed {"callId": "c1", "path": "/w/a", "change": "modified", "undoId": "u", "before": "sha256:00", "after": "sha256:00"}
        1 file.changed {"callId": "c1", "path": "/w/b", "change": "modified", "undoId": "u", "before": "sha256:00", "after": "sha256:01"}
        1 file.changed {"callId": "c1", "path": "/w/c", "change": "moved", "undoId": "u", "before": "sha256:00", "after": "sha256:00"}
        2 tool.state {"callId": "c1", "from": "executing", "to": "success", "name": "write_file"}
    "#;
    let spans = spans(log);
    let call = spans.iter().find_map(|span| span.tool.as_deref()).unwrap();
    let changes: Vec<&str> = call.files_changed.iter().map(|file| file.change.as_str()).collect();
    assert_eq!(changes, ["unchanged", "modified", "moved"]);
    let call = spans.iter().find(|span| span.tool.is_some()).unwrap();
    let told: Vec<&str> = call.events.iter().map(|event| event.text.as_str()).collect();
    assert_eq!(told, ["/w/b", "/w/c"]);
}

//! What hooks add, whose word a rule is, who called a run, and for how long there was no daemon: is it told as it was?

use protocol::{CallDecision, SpanKind, TraceContent, TraceFormat};

use super::{documents::document, *};
use crate::{OtlpSpan, decided, hook_said, thin, without_calls};

/// One hook that adds a text and tells people something beside a decision, and one that does nothing else.
const ADDING: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q"}
    1 hook.fired {"firingId": "e", "hookId": "user/UserPromptSubmit/1", "event": "UserPromptSubmit", "source": "user", "outcome": "answered", "durationMs": 1, "added": "The branch is main.\nIt is *clean*."}
    2 tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a"}}
    3 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "decision": "ask", "reason": "it is generated", "changed": true, "outcome": "answered", "durationMs": 1, "added": "Mend the template.", "message": "look twice"}
    4 hook.fired {"firingId": "g", "hookId": "user/PreToolUse/2", "event": "PreToolUse", "source": "user", "callId": "c1", "outcome": "answered", "durationMs": 1}
"#;

fn hooks(log: &str) -> Vec<TraceSpan> {
    spans(log).into_iter().filter(|span| span.kind == SpanKind::Hook).collect()
}

#[test]
fn what_a_hook_adds_is_told_in_every_form() {
    let hooks = hooks(ADDING);
    let said: Vec<String> = hooks.iter().map(|hook| hook_said(hook.hook.as_ref().unwrap(), 100)).collect();
    assert_eq!(
        said,
        [
            "added: The branch is main.\nIt is *clean*.",
            "ask: it is generated; changed it; added: Mend the template.; told people: look twice",
            "",
        ]
    );
    let story = document(TraceFormat::Markdown, ADDING);
    assert!(
        story.contains(
            "`UserPromptSubmit` answered (after 1 ms). It added for the model:\n\n> The branch is main.\n"
        ),
        "{story}"
    );
    assert!(
        story.contains(
            "said `ask`: it is generated (after 1 ms). It changed what it was shown. It told people: “look twice”. It \
             added for the model:\n\n> Mend the template.\n"
        ),
        "{story}"
    );
    assert_eq!(story.matches("decided nothing").count(), 1, "{story}");
    for format in [TraceFormat::Json, TraceFormat::Jsonl, TraceFormat::Otlp, TraceFormat::Chrome] {
        let text = document(format, ADDING);
        assert!(text.contains("Mend the template.") && text.contains("look twice"), "{format:?}: {text}");
    }
}

/// To others it goes as all texts do.
#[test]
fn what_a_hook_adds_keeps_to_what_others_may_read() {
    let mut hook = hooks(ADDING).remove(1);
    let mut none = hook.clone();
    thin(&mut hook, TraceContent::Redacted);
    let told = hook.hook.unwrap();
    assert_eq!((told.added.as_deref(), told.message.as_deref()), (Some("[18 bytes]"), Some("[10 bytes]")));
    thin(&mut none, TraceContent::None);
    let sent = OtlpSpan::of(&none).to_json().to_string();
    assert!(
        !sent.contains("template") && !sent.contains("twice") && !sent.contains("subagentd.hook.added"),
        "{sent}"
    );
    let told = none.hook.unwrap();
    assert_eq!((told.added, told.message, told.reason, told.description), (None, None, None, None));
}

/// Where calls are not sent, neither are the questions' and the hooks' quotes of them.
#[test]
fn questions_and_hooks_without_calls_quote_none() {
    const LOG: &str = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 tool.state {"callId": "c1", "to": "validating", "name": "run_shell_command", "arguments": {"command": "rm QUOTED"}}
        2 hook.fired {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "decision": "ask", "reason": "QUOTED", "outcome": "answered", "durationMs": 1, "added": "QUOTED", "message": "QUOTED"}
        3 tool.state {"callId": "c1", "from": "validating", "to": "scheduled", "name": "run_shell_command", "details": {"description": "rm QUOTED", "kind": "execute"}}
        4 confirmation.requested {"confirmation": {"confirmationId": "q", "toolCallId": "c1", "title": "Run rm QUOTED", "rule": "r", "reason": "QUOTED", "risk": "high", "details": {"type": "exec", "command": "rm QUOTED"}}}
        5 confirmation.revised {"confirmation": {"confirmationId": "q"}, "reason": "QUOTED"}
        6 confirmation.resolved {"confirmationId": "q", "toolCallId": "c1", "outcome": "allowOnce", "by": "client", "name": "ada"}
        7 tool.state {"callId": "c1", "from": "scheduled", "to": "executing", "name": "run_shell_command"}
    "#;
    let mut told = 0;
    for mut span in
        spans(LOG).into_iter().filter(|it| matches!(it.kind, SpanKind::Hook | SpanKind::Confirmation))
    {
        assert!(serde_json::to_string(&span).unwrap().contains("QUOTED"));
        without_calls(&mut span);
        let left = serde_json::to_string(&span).unwrap();
        assert!(!left.contains("QUOTED"), "{left}");
        assert!(left.contains("ask") || left.contains("allowOnce"), "{left}");
        told += 1;
    }
    assert_eq!(told, 2);
}

/// The name of a tool that there is not is the model's own word.
#[test]
fn a_made_up_tool_is_named_only_with_all_texts() {
    const LOG: &str = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        1 tool.state {"callId": "c1", "to": "validating", "name": "MADE_UP", "arguments": {}}
        2 tool.state {"callId": "c1", "from": "validating", "to": "error", "name": "MADE_UP", "error": {"type": "TOOL_NOT_REGISTERED", "message": "there is no MADE_UP"}}
    "#;
    let call = spans(LOG).into_iter().find(|span| span.kind == SpanKind::Tool).unwrap();
    for (content, is_named) in
        [(TraceContent::Full, true), (TraceContent::Redacted, false), (TraceContent::None, false)]
    {
        let mut call = call.clone();
        thin(&mut call, content);
        let sent = OtlpSpan::of(&call).to_json().to_string();
        assert_eq!(sent.contains("MADE_UP"), is_named, "{sent}");
    }
}

fn allowed(details: &str) -> CallDecision {
    let log = format!(
        r#"
        0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
        1 tool.state {{"callId": "c1", "to": "scheduled", "name": "write_file", "details": {{{details}}}}}
        2 tool.state {{"callId": "c1", "to": "executing", "name": "write_file"}}
        3 tool.state {{"callId": "c1", "to": "success", "name": "write_file"}}
        "#
    );
    spans(&log)[0].tool.clone().unwrap().decision.unwrap()
}

#[test]
fn a_rule_of_no_file_says_whose_word_it_is() {
    let remembered = r#""rule": "remembered:session:q7", "ruleOrigin": {"source": "answer", "by": "ada@pts/3-3fa91c02", "at": "2026-11-26T11:04:00.000Z"}"#;
    let start = r#""rule": "autoApprove:medium", "ruleOrigin": {"source": "start", "by": "ada-3fa91c02"}"#;
    let file = r#""rule": "autoApprove:low", "ruleOrigin": {"source": "agent"}"#;
    for (details, expected) in [
        (remembered, "yes: remembered from ada (pts/3)'s answer of 2026-11-26 11:04:00Z (session)"),
        (start, "yes: autoApprove:medium, as ada started the run"),
        (file, "yes: autoApprove:low, by the agent's file"),
        (r#""rule": "remembered:session:q7""#, "yes: remembered:session:q7"),
        (r#""rule": "builtin:risk=low""#, "yes: builtin:risk=low"),
    ] {
        assert_eq!(decided(&allowed(details)), expected);
    }
    let log = format!(
        r#"
        0 tool.state {{"callId": "c1", "to": "scheduled", "name": "write_file", "details": {{{remembered}}}}}
        1 tool.state {{"callId": "c1", "to": "executing", "name": "write_file"}}
        2 tool.state {{"callId": "c1", "to": "success", "name": "write_file"}}
        "#
    );
    let story = document(TraceFormat::Markdown, &log);
    assert!(
        story.contains(
            "allowed by remembered from ada (pts/3)'s answer of 2026-11-26 11:04:00Z (session): done"
        ),
        "{story}"
    );
    let sent = document(TraceFormat::Otlp, &log);
    for words in ["decision.origin_name", "ada@pts/3-3fa91c02", "decision.origin_time"] {
        assert!(sent.contains(words), "{words}: {sent}");
    }
}

/// A person is asked at 1 s and answers at 100 s; the daemon was killed at 40 s, after it had been at work for all that time, and started
/// again at 70 s.
#[test]
fn a_person_is_waited_for_as_long_as_there_is_a_daemon() {
    let log = |away: &str| {
        format!(
            r#"
            0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
            0 tool.state {{"callId": "c1", "to": "validating", "name": "write_file", "arguments": {{}}}}
            1000 confirmation.requested {{"confirmation": {{"confirmationId": "q1", "toolCallId": "c1", "title": "Write?", "rule": "r", "reason": "x", "risk": "low", "details": {{"type": "edit"}}}}}}
            1000 run.waiting {{"waiting": true}}
            70000 run.resumed {{"unclean": true{away}}}
            70000 run.waiting {{"waiting": true}}
            100000 confirmation.resolved {{"confirmationId": "q1", "toolCallId": "c1", "outcome": "allowOnce", "by": "client", "name": "ada-3fa91c02"}}
            100000 run.waiting {{"waiting": false}}
            100000 run.completed {{"reason": "GOAL"}}
            "#
        )
    };
    let run = |log: &str| spans(log).last().unwrap().run.clone().unwrap();
    let told = run(&log(r#", "awayMs": 30000"#));
    assert_eq!((told.waiting_ms, told.down_ms), (39_000 + 30_000, 30_000));
    // Where nobody knows, and of what the log tells it had ended by then.
    let told = run(&log(""));
    assert_eq!((told.waiting_ms, told.down_ms), (30_000, 69_000));
    let told = run(&log(r#", "awayMs": 5000000"#));
    assert_eq!((told.waiting_ms, told.down_ms), (30_000, 69_000));
}

/// The same of a run below: whichever is taken up first, and one that is taken up long after the other.
#[test]
fn a_run_below_that_is_taken_up_late_is_no_sign_of_another_end() {
    let below = r#""^": {"parentRunId": "r1", "agent": "scout"}"#;
    let began = format!(
        r#"
        0 run.started {{"agent": "lead", "model": "m", "query": "q"}}
        0 tool.state {{"callId": "c1", "to": "validating", "name": "scout", "arguments": {{}}}}
        0 tool.state {{"callId": "c1", "to": "executing", "name": "scout", "childRunId": "r2"}}
        0 @r2 run.started {{"agent": "scout", "model": "m", "query": "a", "parentCallId": "c1", {below}}}
        1000 @r2 run.waiting {{"waiting": true, {below}}}
        1000 run.waiting {{"waiting": true}}
        "#
    );
    let (lead, scout) = (
        |ms, away| format!("{ms} run.resumed {{\"unclean\": true, \"awayMs\": {away}}}\n"),
        |ms, away| format!("{ms} @r2 run.resumed {{\"unclean\": true, \"awayMs\": {away}, {below}}}\n"),
    );
    let told = |resumed: &str| {
        let log = format!("{began}{resumed}200000 run.completed {{\"reason\": \"GOAL\"}}");
        let run = spans(&log).into_iter().find(|span| span.run_id.as_str() == "r1" && span.run.is_some());
        let run = run.unwrap().run.unwrap();
        (run.waiting_ms, run.down_ms)
    };
    assert_eq!(told(&(lead(70_000, 30_000) + &scout(70_010, 30_000))), (39_000, 30_000));
    assert_eq!(told(&(scout(70_000, 30_000) + &lead(70_010, 30_000))), (39_000, 30_000));
    // Something of the scout is told by the next daemon before either is taken up.
    let early = format!("69990 @r2 warning {{\"message\": \"slow\", {below}}}\n");
    assert_eq!(told(&(early.clone() + &lead(70_000, 30_000) + &scout(70_010, 30_000))), (38_990, 30_000));
    assert_eq!(told(&(early + &scout(70_000, 30_000) + &lead(70_010, 30_000))), (39_000, 30_000));
    // The scout was left for a minute; then there was no daemon for a second.
    let late = lead(70_000, 30_000) + &scout(130_000, 30_000) + &lead(150_000, 1_000);
    assert_eq!(told(&late).1, 31_000);
}

#[test]
fn a_run_that_another_called_says_so_where_its_trace_begins_with_it() {
    let log = r#"
        0 @r2 run.started {"agent": "scout", "model": "m", "query": "q", "parentCallId": "c1", "rootRunId": "r1", "^": {"parentRunId": "r1", "agent": "scout"}}
        1 @r2 run.completed {"reason": "GOAL", "^": {"parentRunId": "r1", "agent": "scout"}}
    "#;
    let story = document(TraceFormat::Markdown, log);
    assert!(story.contains(", called by run `r1`. Asked by the agent that called it:"), "{story}");
    assert!(document(TraceFormat::Otlp, log).contains("subagentd.run.parent_id"));
    let whole = format!("0 run.started {{\"agent\": \"lead\", \"model\": \"m\", \"query\": \"q\"}}\n{log}");
    assert!(!document(TraceFormat::Markdown, &whole).contains("called by run"));
}

/// Skills are in force from then on: those that a run is begun with, and those that its model asks for.
#[test]
fn skills_of_a_run_are_told_where_they_begin() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
        0 skill.activated {"name": "pdf", "folder": "/w/.agents/skills/pdf"}
        1 turn.started {"turn": 1}
        2 skill.activated {"callId": "c1", "name": "deploy", "folder": "/p/skills/deploy", "extension": {"id": "e", "name": "acme.tools"}}
    "#;
    let told: Vec<String> = spans(log)
        .iter()
        .flat_map(|span| {
            span.events.iter().map(|event| format!("{} {}: {}", span.name, event.name, event.text))
        })
        .collect();
    assert_eq!(
        told,
        ["lead skill.activated: pdf", "turn 1 skill.activated: deploy, of the extension acme.tools"]
    );
}

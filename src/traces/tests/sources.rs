//! Where what a run was told before its first message comes from: does each form of the trace say it?

use protocol::TraceFormat;

use super::{documents::document, *};
use crate::told_said;

const LOG: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q", "promptSources": {"systemPrompt": {"source": "file", "path": "/etc/subagentd/system.md", "bytes": 812, "digest": "sha256:00"}, "memory": [{"kind": "memory", "path": "/w/AGENTS.md", "bytes": 312, "digest": "sha256:01"}, {"kind": "import", "path": "/w/notes.md"}], "moreMemory": 1, "skills": 2}}
    1 run.completed {"reason": "GOAL", "result": "ok", "turns": 1}
"#;

#[test]
fn every_form_names_the_files_that_a_run_was_told() {
    let run = spans(LOG).remove(0).run.unwrap();
    assert_eq!(
        told_said(run.prompt_sources.as_ref().unwrap(), str::to_owned),
        "system prompt from /etc/subagentd/system.md; memory files /w/AGENTS.md (312 bytes), /w/notes.md (imported) and 1 more; 2 skills"
    );
    let story = document(TraceFormat::Markdown, LOG);
    let told = "> q\n\nTold before that: system prompt from `/etc/subagentd/system.md`; memory files `/w/AGENTS.md` (312 bytes)";
    assert!(story.contains(told), "{story}");
    for format in [TraceFormat::Json, TraceFormat::Jsonl, TraceFormat::Otlp, TraceFormat::Chrome] {
        let text = document(format, LOG);
        assert!(text.contains("/w/AGENTS.md") && text.contains("system.md"), "{format:?}: {text}");
    }
}

#[test]
fn a_run_of_an_earlier_version_says_nothing_of_that() {
    let log = r#"
        0 run.started {"agent": "lead", "model": "m", "query": "q"}
    "#;
    assert_eq!(spans(log)[0].run.as_ref().unwrap().prompt_sources, None);
    assert!(!document(TraceFormat::Markdown, log).contains("Told before"));
}

#[test]
fn the_source_of_a_prompt_is_in_words() {
    let said = |told: &str| told_said(&serde_json::from_str(told).unwrap(), str::to_owned);
    assert_eq!(
        said(r#"{"systemPrompt": {"source": "modules"}}"#),
        "system prompt from the daemon's modules; no memory file"
    );
    assert_eq!(
        said(
            r#"{"systemPrompt": {"source": "agent"}, "memory": [{"kind": "memory", "path": "/w/A.md", "bytes": 3}], "skills": 1}"#
        ),
        "system prompt from the agent's file; memory file /w/A.md (3 bytes); 1 skill"
    );
    assert_eq!(
        said(
            r#"{"systemPrompt": {"source": "modules", "hasAgentText": true, "hasSystemAppend": true}, "memory": [{"kind": "memory", "path": "/w/x\nresult: y/A.md", "bytes": 3}]}"#
        ),
        "system prompt from the daemon's modules, with the agent's own text and the session's `systemAppend`; memory file /w/x result: y/A.md (3 bytes)"
    );
}

/// A person asks in their words, and the agent's file makes something else of them.
#[test]
fn what_a_template_makes_of_a_prompt_is_told_as_what_the_model_reads() {
    let log = r#"
        0 run.started {"agent": "rev", "model": "m", "prompt": "src/x.rs", "query": "Review src/x.rs with care."}
        0 turn.started {"turn": 1}
        0 model.started {"model": "m", "stream": "s1", "attempt": 1}
        10 model.completed {"model": "m", "text": "fine", "usage": {}, "calls": []}
    "#;
    let spans = spans(log);
    let run = spans.iter().find(|span| span.run.is_some()).unwrap();
    assert_eq!(run.input.as_ref().unwrap().text, "src/x.rs");
    assert_eq!(run.run.as_ref().unwrap().query.as_ref().unwrap().text, "Review src/x.rs with care.");
    let request = spans.iter().find(|span| span.llm.is_some()).unwrap();
    assert_eq!(request.input.as_ref().unwrap().text, "Review src/x.rs with care.");
    let story = document(TraceFormat::Markdown, log);
    assert!(story.contains("> src/x.rs\n\nIts model reads that"), "{story}");
    assert!(story.contains("> Review src/x.rs with care.\n"), "{story}");
}

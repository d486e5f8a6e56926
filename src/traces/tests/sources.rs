//! Where what a run was told before its first message comes from: does each form of the trace say it?

use protocol::TraceFormat;

use super::{documents::document, *};
use crate::told_said;

const LOG: &str = r#"
    0 run.started {"agent": "lead", "model": "m", "query": "q", "told": {"systemPrompt": {"source": "file", "path": "/etc/subagentd/system.md", "bytes": 812, "digest": "sha256:00"}, "memory": [{"kind": "memory", "path": "/w/AGENTS.md", "bytes": 312, "digest": "sha256:01"}, {"kind": "import", "path": "/w/notes.md"}], "moreMemory": 1, "skills": 2}}
    1 run.completed {"reason": "GOAL", "result": "ok", "turns": 1}
"#;

#[test]
fn every_form_names_the_files_that_a_run_was_told() {
    let run = spans(LOG).remove(0).run.unwrap();
    assert_eq!(
        told_said(run.told.as_ref().unwrap(), str::to_owned),
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
    assert_eq!(spans(log)[0].run.as_ref().unwrap().told, None);
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
}

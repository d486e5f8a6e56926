//! Is every text that leaves in an attribute within reach of whoever hides secrets in it?

use std::collections::BTreeSet;

use super::*;
use protocol::TraceContent;

use crate::{OtlpSpan, names::ATTRIBUTES};

/// Stands for a secret, in every text that an event can have.
const SECRET: &str = "PLANTED";

/// All kinds of spans, with something for each attribute.
const EVERYTHING: &str = r#"
    0 run.started {"agent": "lead", "model": "gemini/PLANTED", "query": "q PLANTED", "prompt": "PLANTED", "approval": {"initiator": "PLANTED"}, "promptSources": {"systemPrompt": {"source": "PLANTED", "path": "PLANTED", "bytes": 1, "digest": "PLANTED"}, "memory": [{"kind": "memory", "path": "PLANTED", "bytes": 1, "digest": "PLANTED"}]}, "^": {"parentRunId": "r0"}}
    0 turn.started {"turn": 1, "grace": "PLANTED"}
    0 sideCall.started {"purpose": "compression", "model": "m"}
    1 context.compressed {"status": "COMPRESSION_FAILED_PLANTED", "message": "PLANTED", "tokensBefore": 10, "tokensAfter": 5}
    1 sideCall.started {"purpose": "PLANTED", "model": "m/PLANTED"}
    1 sideCall.completed {"purpose": "PLANTED", "model": "m/PLANTED", "text": "PLANTED", "error": "PLANTED"}
    1 model.started {"model": "m/PLANTED", "stream": "s1", "attempt": 1}
    2 model.retrying {"stream": "s1", "attempt": 2, "message": "503 PLANTED", "model": "m/PLANTED", "usage": {"promptTokens": 9}, "estimated": true}
    3 model.started {"model": "m/PLANTED", "stream": "s2", "attempt": 2}
    4 model.completed {"model": "m/PLANTED", "stream": "s2", "text": "PLANTED", "firstTokenMs": 1, "finishReason": {"PLANTED": 1}, "usage": {"promptTokens": 9, "cachedTokens": 1, "cacheWriteTokens": 2, "outputTokens": 3, "thoughtTokens": 4}, "cost": {"amount": "0.1", "currency": "USD"}, "calls": ["c-PLANTED"]}
    5 tool.state {"callId": "c-PLANTED", "to": "validating", "name": "mcp.PLANTED.all", "arguments": {"path": "PLANTED"}}
    6 hook.fired {"firingId": "f", "hookId": "PLANTED", "event": "PLANTED", "source": "PLANTED", "callId": "c-PLANTED", "changed": true, "decision": "PLANTED", "outcome": "answered", "exitCode": 0, "durationMs": 1, "reason": "PLANTED", "stderr": "PLANTED", "replacement": {"text": "PLANTED"}, "added": "PLANTED", "message": "PLANTED", "droppedChange": {"input": "PLANTED", "reason": "PLANTED"}, "confinement": {"confined": true, "reason": "PLANTED"}}
    6 hook.fired {"firingId": "f2", "hookId": "PLANTED", "event": "PreToolUse", "source": "PLANTED", "callId": "c-PLANTED", "changed": true, "outcome": "answered", "durationMs": 1}
    6 tool.state {"callId": "c-PLANTED", "from": "validating", "to": "scheduled", "name": "mcp.PLANTED.all", "arguments": {"path": "PLANTED 2"}, "details": {"description": "PLANTED", "kind": "PLANTED", "risk": "PLANTED", "rule": "PLANTED"}}
    6 confirmation.requested {"confirmation": {"confirmationId": "q", "toolCallId": "c-PLANTED", "title": "PLANTED", "rule": "PLANTED", "reason": "PLANTED", "risk": "low", "details": {"type": "exec", "command": "PLANTED"}}}
    6 confirmation.revised {"confirmation": {"confirmationId": "q"}, "reason": "PLANTED"}
    6 confirmation.revised {"confirmation": {"confirmationId": "q", "toolCallId": "c-PLANTED", "title": "PLANTED", "rule": "PLANTED", "reason": "PLANTED", "risk": "low", "details": {"type": "exec", "command": "PLANTED"}}, "reason": "changedByHook", "edited": {"path": "PLANTED 3"}, "arguments": {"path": "PLANTED 4"}, "^": {"by": "PLANTED"}}
    7 confirmation.resolved {"confirmationId": "q", "toolCallId": "c-PLANTED", "outcome": "PLANTED", "by": "PLANTED", "name": "PLANTED", "message": "PLANTED", "allows": "PLANTED", "mode": "PLANTED"}
    7 confirmation.requested {"confirmation": {"confirmationId": "q2", "toolCallId": "c-PLANTED", "title": "PLANTED", "rule": "PLANTED", "reason": "PLANTED", "risk": "low", "details": {"type": "exec", "command": "PLANTED"}}}
    7 confirmation.resolved {"confirmationId": "q2", "toolCallId": "c-PLANTED", "outcome": "allowSession", "by": "client", "name": "PLANTED", "rule": {"id": "PLANTED", "tool": ["PLANTED"]}}
    7 tool.state {"callId": "c-PLANTED", "from": "scheduled", "to": "executing", "name": "mcp.PLANTED.all"}
    7 model.started {"model": "m/PLANTED", "stream": "s3", "attempt": 1}
    8 run.resumed {"unclean": true}
    8 model.retrying {"stream": "s3", "attempt": 2, "message": "PLANTED", "restarted": true, "usageUnknown": true, "estimated": true}
    9 file.changed {"callId": "c-PLANTED", "path": "PLANTED", "change": "modified", "undoId": "u"}
    9 tool.state {"callId": "c-PLANTED", "from": "executing", "to": "error", "name": "mcp.PLANTED.all", "awaitsHooks": true, "error": {"type": "PLANTED", "message": "PLANTED"}, "result": {"llmContent": [{"type": "text", "text": "PLANTED"}]}}
    9 hook.fired {"firingId": "g", "hookId": "PLANTED", "event": "PostToolUseFailure", "source": "user", "callId": "c-PLANTED", "outcome": "answered", "durationMs": 1, "replacement": {"text": "PLANTED"}, "settlesResult": true}
    9 hook.fired {"firingId": "h", "hookId": "PLANTED", "event": "PostToolUse", "source": "user", "callId": "c-PLANTED", "followUp": "d-PLANTED", "outcome": "answered", "durationMs": 1}
    9 tool.state {"callId": "d-PLANTED", "to": "validating", "name": "PLANTED", "arguments": {"path": "PLANTED"}}
    9 warning {"message": "PLANTED"}
    9 turn.completed {"turn": 1}
    9 run.stopping {"reason": "ERROR", "message": "PLANTED", "error": {"code": "PLANTED"}, "^": {"by": "PLANTED"}}
    9 run.completed {"reason": "PLANTED", "message": "PLANTED", "error": {"code": "PLANTED", "message": "PLANTED"}, "partialResult": "PLANTED", "filesChanged": ["PLANTED"], "usage": {"promptTokens": 9}, "unpricedTokens": 9}
    10 @r9 run.queued {"for": "place", "run": {"agent": "lead", "model": "m", "query": "PLANTED"}}
    11 @r9 run.queued {"for": "hooks"}
    12 @r9 run.started {"agent": "lead", "model": "m", "query": "PLANTED"}
    12 @r9 run.waiting {"waiting": true}
    13 @r9 run.waiting {"waiting": false}
    13 @r9 run.parked {"reason": "PLANTED"}
    14 @r9 run.resumed {}
"#;

#[test]
fn a_secret_in_every_attribute_is_hidden_in_every_attribute() {
    let mut told: BTreeSet<String> = BTreeSet::new();
    let mut planted = 0;
    for span in spans(EVERYTHING) {
        let mut sent = OtlpSpan::of(&span);
        told.extend(sent.attributes.iter().map(|(name, _)| name.clone()));
        planted += format!("{sent:?}").matches(SECRET).count();
        for text in sent.texts_mut() {
            *text = text.replace(SECRET, "[redacted]");
        }
        let left = sent.to_json().to_string();
        assert!(!left.contains(SECRET), "{left}");
        assert!(!format!("{sent:?}").contains(SECRET), "{sent:?}");
    }
    let missing: Vec<&str> =
        ATTRIBUTES.iter().map(|(name, _)| *name).filter(|name| !told.contains(*name)).collect();
    assert!(missing.is_empty(), "nothing was planted in {missing:?}");
    assert!(60 < planted, "{planted}");
}

/// A text that is added to a span comes here until it is taken out of what others are told, or named as something that is no text:
/// who decided, by which rule and hook, which model, tool and files.
#[test]
fn nothing_but_names_is_left_where_no_texts_are_told() {
    let mut left: BTreeSet<String> = BTreeSet::new();
    for mut span in spans(EVERYTHING) {
        crate::thin(&mut span, TraceContent::None);
        places_of_secrets(&serde_json::to_value(&span).unwrap(), String::new(), &mut left);
    }
    let left = left.into_iter().collect::<Vec<_>>().join("\n");
    expect![[r#"
        compression.status
        confirmation.callId
        confirmation.decision.mode
        confirmation.decision.name
        confirmation.decision.outcome
        confirmation.decision.rule
        confirmation.decision.source
        confirmation.rule
        error.type
        hook.callId
        hook.decision
        hook.followUp
        hook.hookId
        hook.source
        hook.tool
        llm.finishReason
        llm.model
        llm.purpose
        llm.requested.callId
        mcp.callId
        mcp.server
        name
        run.filesChanged
        run.model
        run.promptSources.memory.path
        run.promptSources.systemPrompt.path
        run.promptSources.systemPrompt.source
        run.reason
        run.startedBy
        run.stoppedBy
        tool.callId
        tool.changedBy
        tool.changes.name
        tool.decision.name
        tool.decision.rule
        tool.filesChanged.path
        tool.follows
        tool.followsTool
        tool.kind
        tool.requestedBy
        tool.resultChangedBy
        tool.risk
        tool.server
        tool.tool"#]]
    .assert_eq(&left);
}

/// The paths at which a planted text stands, without the indices of lists.
fn places_of_secrets(value: &serde_json::Value, at: String, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::String(text) if text.contains(SECRET) => drop(found.insert(at)),
        serde_json::Value::Array(all) => all.iter().for_each(|it| places_of_secrets(it, at.clone(), found)),
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                let place = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                if name.contains(SECRET) {
                    found.insert(format!("{at} (a name)"));
                }
                places_of_secrets(value, place, found);
            }
        }
        _ => {}
    }
}

//! Does a line of the log say of a span who allowed it, what hooks said, and which files it changed?

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use protocol::{Envelope, EventHead, EventSeq, Timestamp, TraceSpan};
use serde_json::Value;
use traces::{SpanEdge, SpanFold};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use crate::local::{SpanLog, SpanSink as _, console::LoggedSpan};

/// Keeps what is logged: the fields of each line.
#[derive(Clone, Default)]
struct KeptLines(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 += &format!(" {}={value}", field.name());
    }
}

impl Subscriber for KeptLines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

const LOG: &str = r#"
    run.started {"agent": "lead", "model": "m", "query": "q"}
    tool.state {"callId": "c1", "to": "validating", "name": "write_file", "arguments": {"path": "a"}}
    hook.fired {"firingId": "f", "hookId": "user/PreToolUse/1", "event": "PreToolUse", "source": "user", "callId": "c1", "decision": "ask", "reason": "it is generated", "outcome": "answered", "durationMs": 1, "added": "Mend the template."}
    confirmation.requested {"confirmation": {"confirmationId": "q1", "toolCallId": "c1", "title": "Write?", "rule": "r", "reason": "x", "risk": "low", "details": {"type": "edit"}}}
    confirmation.resolved {"confirmationId": "q1", "toolCallId": "c1", "outcome": "allowOnce", "by": "client", "name": "ada@pts/3-3fa91c02"}
    tool.state {"callId": "c1", "from": "scheduled", "to": "executing", "name": "write_file"}
    file.changed {"callId": "c1", "path": "src/a.rs", "change": "modified", "undoId": "u"}
    tool.state {"callId": "c1", "to": "success", "name": "write_file"}
    run.completed {"reason": "GOAL"}
"#;

fn spans() -> Vec<TraceSpan> {
    let mut fold = SpanFold::new();
    let lines = LOG.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate();
    let edges = lines.flat_map(|(n, line)| {
        let (kind, data) = line.split_once(' ').unwrap();
        fold.apply(&Envelope {
            seq: Some(EventSeq(i64::try_from(n).unwrap() + 1)),
            prev: None,
            at: Some(Timestamp(1_000_000)),
            kind: kind.to_owned(),
            session_id: Some("s".into()),
            run_id: Some("r1".into()),
            head: EventHead { agent: Some("lead".into()), ..EventHead::default() },
            offered: None,
            data: serde_json::from_str::<Value>(data).unwrap(),
        })
    });
    let ended = edges.filter_map(|edge| match edge {
        SpanEdge::Ended(span) => Some(*span),
        _ => None,
    });
    ended.collect()
}

#[tokio::test]
async fn a_line_says_who_allowed_a_call_what_hooks_said_and_which_files_changed() {
    let lines = KeptLines::default();
    let _kept = tracing::subscriber::set_default(lines.clone());
    let logged = spans().iter().map(|span| LoggedSpan(Box::new(span.clone()))).collect();
    SpanLog.write(logged).await.unwrap();
    let lines = lines.0.lock().unwrap().clone();
    let of = |kind: &str| lines.iter().find(|line| line.contains(&format!(" kind={kind} "))).unwrap();
    for (kind, words) in [
        ("tool", vec!["allowed=yes: ada (pts/3), 0 ms", "changed=src/a.rs modified"]),
        ("confirmation", vec!["allowed=yes: ada (pts/3), 0 ms"]),
        (
            "hook",
            vec!["hook=user/PreToolUse/1 call=c1 verdict=ask: it is generated; added: Mend the template."],
        ),
        ("run", vec!["ended=GOAL"]),
    ] {
        for word in words {
            assert!(of(kind).contains(word), "{word}: {}", of(kind));
        }
    }
}

//! `events.md`: what a client is told.

use std::fmt::Write as _;

use super::{
    examples::{self, ProtocolExamples},
    schemas::SchemaDefinitions,
    tables::{FieldDirection, PLACE, fields, one_line, types},
};
use protocol::{
    CaughtUp, ClaimSignal, ConfirmationRecord, EVENTS, Envelope, EventDoc, OutputDelta, PresenceSignal,
    ProgressSignal, Snapshot, StreamDelta, UnknownField, answer_schema, reread,
};

/// What is sent like an event and is no fact: it has no `seq` and is not in the log.
pub const SIGNALS: &[EventDoc] = &[
    EventDoc {
        name: "model.textDelta",
        doc: "More of the text that a model is writing. Sent when the subscription asked for `deltas`.",
        data: answer_schema::<StreamDelta>,
        reread: reread::<StreamDelta>,
    },
    EventDoc {
        name: "model.thoughtDelta",
        doc: "More of what a model is thinking. Sent when the subscription asked for `deltas`.",
        data: answer_schema::<StreamDelta>,
        reread: reread::<StreamDelta>,
    },
    EventDoc {
        name: "tool.output",
        doc: "More of what a call puts out while it runs: of a call that another agent answers, the subject of each \
              thought of its run, a line each. Sent when the subscription asked for `deltas`.",
        data: answer_schema::<OutputDelta>,
        reread: reread::<OutputDelta>,
    },
    EventDoc {
        name: "signal.progress",
        doc: "How far a call is, as the server says it that runs it. Sent when the subscription asked for `deltas`.",
        data: answer_schema::<ProgressSignal>,
        reread: reread::<ProgressSignal>,
    },
    EventDoc {
        name: "signal.snapshot",
        doc: "What is. The first notification of an attachment from `now`, and of a subscription whose cursor is gone \
              when it said `onGone: \"snapshot\"`.",
        data: answer_schema::<Snapshot>,
        reread: reread::<Snapshot>,
    },
    EventDoc {
        name: "signal.caughtUp",
        doc: "Everything that was in the log when the subscription began has been sent.",
        data: answer_schema::<CaughtUp>,
        reread: reread::<CaughtUp>,
    },
    EventDoc {
        name: "signal.presence",
        doc: "Somebody attached, detached, changed what it says of itself, or is gone. Comes on attachments.",
        data: answer_schema::<PresenceSignal>,
        reread: reread::<PresenceSignal>,
    },
    EventDoc {
        name: "signal.confirmation",
        doc: "An open question is for this client now, and was not when it was sent: it came back, can show more than \
              before, or those who were to be asked first did not answer. Comes on attachments, also when one that began \
              at a cursor has caught up; of a question that its snapshot had no room for as well.",
        data: answer_schema::<ConfirmationRecord>,
        reread: reread::<ConfirmationRecord>,
    },
    EventDoc {
        name: "signal.claim",
        doc: "Somebody reads a question, or nobody does any more. Comes on attachments.",
        data: answer_schema::<ClaimSignal>,
        reread: reread::<ClaimSignal>,
    },
    EventDoc {
        name: "signal.unknownField",
        doc: "A request had a parameter that nobody knows; it was ignored. Said once a connection, method and \
              field, after the response, and belongs to no subscription.",
        data: answer_schema::<UnknownField>,
        reread: reread::<UnknownField>,
    },
];

pub(super) fn page() -> String {
    let mut schemas = SchemaDefinitions::new(PLACE);
    let envelope = schemas.add(answer_schema::<Envelope>());
    let envelope = fields(&envelope, FieldDirection::Received, &schemas);
    let examples = ProtocolExamples::read();
    let mut shown_above = vec!["Envelope".to_owned()];
    let mut sections = |events: &[EventDoc]| {
        let mut text = String::new();
        for event in events {
            let data = schemas.add((event.data)());
            let _ = writeln!(text, "\n### `{}`\n\n{}\n", event.name, one_line(event.doc));
            text.push_str(&fields(&data, FieldDirection::Received, &schemas));
            for example in examples.of_event(event.name) {
                let _ = write!(text, "\n```json\n{}\n```\n", examples::text(example));
            }
            let name = data["$ref"].as_str().and_then(|name| name.strip_prefix(PLACE));
            shown_above.extend(name.map(str::to_owned));
        }
        text
    };
    let (events, signals) = (sections(EVENTS), sections(SIGNALS));
    // What is both an event's data and a part of another's is shown in both places, so that links lead somewhere.
    let is_linked = |name: &str| {
        let link = format!("(#{})", name.to_lowercase());
        [&envelope, &events, &signals].iter().any(|text| text.contains(&link))
    };
    let types = types(&schemas, |name| is_linked(name) || !shown_above.iter().any(|shown| shown == name));
    format!(
        "# Events\n\n\
         Generated from the daemon's types.\n\n\
         An event arrives as the notification `event`, whose `params` are `{{subscription, result}}`; `result` is \
         the envelope below and its `data` depends on `type`. `events/list` answers the same envelopes. Clients \
         skip types and fields they do not know, and show values they do not know as text: every list of values \
         below may grow. The examples are of one log; of each type there is the first, and those with fields that it \
         lacks.\n\n\
         ## Envelope\n\n{envelope}\n\
         `seq` grows and is never reused. `prev` is the `seq` sent before on this subscription: when it is not \
         the last one you saw, you have missed something, and attach again from the last you saw.\n\n\
         ## Facts\n\n\
         They have a `seq`, are stored before they are sent, and come in order.\n{events}\n\
         ## Deltas and signals\n\n\
         They have no `seq` and are not stored.\n{signals}\n{types}"
    )
}

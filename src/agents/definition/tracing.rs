//! The field `tracing`: who else is told of the spans of its runs, and what of them? (spec 10)

use super::{
    field_row::{
        FieldLoss, FieldNarrowing, FieldRow, field, map_schema, read_section, section, written_section,
    },
    shapes::{FieldNumberShape, FieldShape, FieldSlot, FlagShape, WordListShape, WordShape, or_null},
};
use protocol::{AgentDefinition, TraceBackend, TraceContent, TracedEvents};

const BACKENDS: &[(&str, Option<TraceBackend>)] = &[
    ("sqlite", Some(TraceBackend::Sqlite)),
    ("otlp", Some(TraceBackend::Otlp)),
    ("console", Some(TraceBackend::Console)),
    ("file", Some(TraceBackend::File)),
];

const CONTENTS: &[(&str, TraceContent)] =
    &[("full", TraceContent::Full), ("redacted", TraceContent::Redacted), ("none", TraceContent::None)];

/// Kinds of spans; `None` = there are none of the kind in this version.
const EVENTS: &[(&str, Option<TracedEvents>)] = &[
    ("llm", Some(TracedEvents::Llm)),
    ("tool", Some(TracedEvents::Tool)),
    ("handoff", None),
    ("guardrail", None),
];

pub(super) const TRACING: FieldRow<AgentDefinition> = section!(
    "tracing", TRACING_FIELDS,
    "Where else the spans of its runs are sent, and which parts of them. It can only narrow what the settings `tracing` say.",
    example: "tracing: { enabled: false }",
    narrowing: FieldNarrowing::Narrows, loss: Some(FieldLoss::of("`tracing`"))
);

const TRACING_FIELDS: &[FieldRow<AgentDefinition>] = &[
    field!(
        "enabled", tracing.enabled, FlagShape,
        "False: its spans go nowhere but into the daemon's database. Default: true.",
        example: "tracing: { enabled: false }"
    ),
    field!(
        "events", tracing.events, WordListShape(EVENTS),
        "Kinds of spans; runs, turns and questions always go with them. Default: all.",
        example: "tracing: { events: [llm] }"
    ),
    field!(
        "backend", tracing.backend, WordListShape(BACKENDS),
        "Where they go: to the collector of the settings (`otlp`), into files (`file`), into the daemon's log (`console`). The \
         daemon's database (`sqlite`) has them anyway. Default, and at most: what the setting `tracing.backend` says.",
        example: "tracing: { backend: [sqlite, file] }"
    ),
    field!(
        "sampleRate", tracing.sample_rate,
        FieldNumberShape { is_above_zero: false, most: 1, expected: "a number from 0 to 1" },
        "The part of traces whose texts go with them, from 0 to 1. Default: 1.",
        example: "tracing: { sampleRate: 0.5 }"
    ),
    field!(
        "content", tracing.content, WordShape(CONTENTS),
        "Texts as the daemon has them (`full`), their sizes (`redacted`), or none. Default: `full`.",
        example: "tracing: { content: redacted }"
    ),
];

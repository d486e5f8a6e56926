//! Which model an agent runs on, and how far a run may go: the fields `model` and `run`.

use serde_json::{Value, json};

use super::{
    field_row::{
        FieldLoss, FieldNarrowing, FieldRow, field, map_schema, read_section, section, written,
        written_section,
    },
    shapes::{FieldNumberShape, FieldShape, FieldSlot, WholeShape, WordShape, or_null, text},
};
use crate::{
    fields::{self, KnownFields},
    findings::FileFindings,
    yaml::YamlContent,
};
use protocol::{AgentDefinition, FileProblemCode::WrongType, ModelRef, OnBudget};

/// Longest time a limit may name, in minutes: a year. Longer ones are slips, and sums with them could overflow.
const LONGEST_MINUTES: f64 = 366.0 * 24.0 * 60.0;

/// What a run may cost at most, in US dollars: more is a slip.
const MOST_DOLLARS: f64 = 1e6;

/// Levels of agents that call agents: more is a loop, not a plan.
const LARGEST_DEPTH: i64 = 16;

const ON_BUDGET: &[(&str, OnBudget)] = &[("end", OnBudget::End), ("ask", OnBudget::Ask)];

/// A model's name alone, or a map that also says how it samples.
pub(super) const MODEL: FieldRow<AgentDefinition> = FieldRow {
    name: "model",
    meaning: || {
        String::from(
            "A model's name, or the name with sampling settings. Default: the caller's, the session's, the setting \
             `models.default`.",
        )
    },
    schema: || json!({ "anyOf": [text(), map_schema(MODEL_FIELDS)] }),
    example: "model: gemini/gemini-2.5-pro",
    read: read_model,
    write: |agent| {
        let mut fields = written(MODEL_FIELDS, agent);
        match (fields.len(), fields.contains_key("name")) {
            (0, _) => None,
            (1, true) => fields.remove("name"),
            _ => Some(fields.into()),
        }
    },
    below: MODEL_FIELDS,
    ..FieldRow::BLANK
};

const SHARE: FieldNumberShape<i32> =
    FieldNumberShape { is_above_zero: false, most: 1, expected: "a number from 0 to 1" };
const TEMPERATURE: FieldNumberShape<i32> =
    FieldNumberShape { is_above_zero: false, most: 2, expected: "a number from 0 to 2" };

const MODEL_FIELDS: &[FieldRow<AgentDefinition>] = &[
    FieldRow {
        name: "name",
        meaning: || String::from("`entry/model-id`, a model id, `offline`, or `inherit`."),
        schema: text,
        example: "model: { name: m, temperature: 1 }",
        read: |fields, agent, findings| {
            agent.model.name = fields.text("name", findings).as_deref().and_then(model_name);
        },
        write: |agent| agent.model.name.as_ref().map(|name| name.as_str().into()),
        ..FieldRow::BLANK
    },
    field!(
        "temperature", model.sampling.temperature, TEMPERATURE, "From 0 to 2.",
        example: "model: { temperature: 0.5 }", strays_to_top: true
    ),
    field!(
        "topP", model.sampling.top_p, SHARE, "From 0 to 1.",
        example: "model: { topP: 0.5 }", strays_to_top: true
    ),
    field!(
        "maxOutputTokens", model.sampling.max_output_tokens, WholeShape { least: 1, most: i64::MAX },
        "Longest reply, in tokens.",
        example: "model: { maxOutputTokens: 500 }", strays_to_top: true
    ),
    field!(
        "thinkingBudget", model.sampling.thinking_budget, WholeShape { least: -1, most: i64::MAX },
        "Tokens for thinking; -1 is unlimited, 0 is none.",
        example: "model: { thinkingBudget: -1 }", strays_to_top: true
    ),
];

fn read_model(fields: &KnownFields<'_>, agent: &mut AgentDefinition, findings: &mut FileFindings) {
    let Some(node) = fields.get("model") else { return };
    match node.content {
        YamlContent::Scalar { .. } => {
            agent.model.name = fields::text(node, "model", findings).and_then(model_name);
        }
        YamlContent::Map(_) => read_section("model", MODEL_FIELDS, fields, agent, findings),
        YamlContent::List(_) => {
            let expected = "a model's name, or a map with `name` and sampling settings";
            findings.expected(node, "model", WrongType, expected);
        }
    }
}

/// `inherit` names no model.
fn model_name(name: &str) -> Option<ModelRef> {
    let name = name.trim();
    (!name.is_empty() && name != "inherit").then(|| ModelRef::from(name))
}

/// The limits of a run.
pub(super) const RUN: FieldRow<AgentDefinition> = section!(
    "run", RUN_FIELDS, "Limits of a run.",
    example: "run: { maxTurns: 3 }", narrowing: FieldNarrowing::Narrows
);

/// Limits of which only ours knows.
const LIMITS_LOSS: Option<FieldLoss<AgentDefinition>> =
    Some(FieldLoss::of("limits of tokens, cost, depth and grace (`run`)"));

const RUN_FIELDS: &[FieldRow<AgentDefinition>] = &[
    field!(
        "maxTurns", limits.max_turns, WholeShape { least: 1, most: u32::MAX as i64 }, "Model calls.",
        example: "run: { maxTurns: 3 }", strays_to_top: true
    ),
    field!(
        "maxTimeMinutes", limits.max_time_ms, MinutesShape,
        "Minutes at work, fractions allowed; waiting does not count.",
        example: "run: { maxTimeMinutes: 2.5 }", strays_to_top: true
    ),
    field!(
        "maxTokens", limits.max_tokens, WholeShape { least: 1, most: i64::MAX },
        "Prompt, output and thought tokens of all turns together.",
        example: "run: { maxTokens: 5000 }", strays_to_top: true, loss: LIMITS_LOSS
    ),
    field!(
        "graceSeconds", limits.grace_ms, GraceShape,
        "Time for the last turn, in which a run that met a limit hands in what it has.",
        example: "run: { graceSeconds: 1.5 }", strays_to_top: true, loss: LIMITS_LOSS,
        written_behind: Some("maxContextTokens")
    ),
    field!(
        "maxCostUsd", limits.max_cost,
        FieldNumberShape { is_above_zero: true, most: MOST_DOLLARS, expected: "a number of US dollars above 0" },
        "US dollars that it and the runs below it may cost, by the settings' `models.prices`.",
        example: "run: { maxCostUsd: 0.5 }", strays_to_top: true, loss: LIMITS_LOSS
    ),
    field!(
        "onBudget", limits.on_budget, WordShape(ON_BUDGET),
        "What happens once tokens or money are used up: the run ends, or a person is asked for more.",
        example: "run: { onBudget: ask }", strays_to_top: true, loss: LIMITS_LOSS
    ),
    field!(
        "maxContextTokens", limits.max_context_tokens, WholeShape { least: 1, most: i64::MAX },
        "Most tokens of one request, if less than the model's context window is enough.",
        example: "run: { maxContextTokens: 9000 }", strays_to_top: true, loss: LIMITS_LOSS
    ),
    field!(
        "maxDepth", limits.max_depth, WholeShape { least: 0, most: LARGEST_DEPTH },
        "How many levels deep agents may call other agents.",
        example: "run: { maxDepth: 2 }", strays_to_top: true, loss: LIMITS_LOSS
    ),
];

/// A time in minutes, kept in milliseconds.
struct MinutesShape;

impl MinutesShape {
    const NUMBER: FieldNumberShape<f64> = FieldNumberShape {
        is_above_zero: true,
        most: LONGEST_MINUTES,
        expected: "a number of minutes above 0",
    };
}

impl FieldShape for MinutesShape {
    type Value = u64;

    fn schema(&self) -> Value {
        Self::NUMBER.schema()
    }

    fn read(&self, name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<u64> {
        let minutes = Self::NUMBER.read(name, fields, findings)?;
        Some(milliseconds(minutes * 60.0).max(1))
    }

    fn write(&self, value: &u64) -> Value {
        in_minutes(*value)
    }
}

/// A time in seconds, which may be none, kept in milliseconds.
struct GraceShape;

impl GraceShape {
    const NUMBER: FieldNumberShape<f64> = FieldNumberShape {
        is_above_zero: false,
        most: LONGEST_MINUTES * 60.0,
        expected: "a number of seconds, 0 or more",
    };
}

impl FieldShape for GraceShape {
    type Value = u64;

    fn schema(&self) -> Value {
        Self::NUMBER.schema()
    }

    fn read(&self, name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<u64> {
        Self::NUMBER.read(name, fields, findings).map(milliseconds)
    }

    fn write(&self, value: &u64) -> Value {
        in_units(*value, 1_000)
    }
}

/// A field that says a time in minutes, in milliseconds.
pub(in super::super) fn minutes(
    name: &str,
    fields: &KnownFields<'_>,
    findings: &mut FileFindings,
) -> Option<u64> {
    MinutesShape.read(name, fields, findings)
}

/// Minutes as a number, which has no fraction where none is needed.
pub(in super::super) fn in_minutes(milliseconds: u64) -> Value {
    in_units(milliseconds, 60_000)
}

#[allow(clippy::cast_precision_loss, reason = "a year in milliseconds is exact")]
fn in_units(milliseconds: u64, unit: u64) -> Value {
    match milliseconds % unit {
        0 => (milliseconds / unit).into(),
        _ => (milliseconds as f64 / unit as f64).into(),
    }
}

/// Rounded; the callers bound the number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to a year in seconds")]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

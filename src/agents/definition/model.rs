//! Which model an agent runs on, and how far a run may go: the fields `model` and `run`.

use super::super::{
    fields::{self, KnownFields},
    findings::FileFindings,
    yaml::YamlContent,
};
use protocol::{
    AgentLimits, FileProblemCode::WrongType, ModelChoice, ModelRef, OnBudget, SamplingSettings, UsdAmount,
};

/// Longest time a limit may name, in minutes: a year. Longer ones are slips, and sums with them could overflow.
pub(super) const LONGEST_MINUTES: f64 = 366.0 * 24.0 * 60.0;

/// What a run may cost at most, in US dollars: more is a slip.
pub(super) const MOST_DOLLARS: f64 = 1e6;

/// Levels of agents that call agents: more is a loop, not a plan.
pub(super) const LARGEST_DEPTH: i64 = 16;

pub(super) const MODEL_FIELDS: &[&str] =
    &["name", "temperature", "topP", "maxOutputTokens", "thinkingBudget"];

pub(super) const ON_BUDGET: &[(&str, OnBudget)] = &[("end", OnBudget::End), ("ask", OnBudget::Ask)];

pub(super) const RUN_FIELDS: &[&str] = &[
    "maxTurns",
    "maxTimeMinutes",
    "maxTokens",
    "graceSeconds",
    "maxCostUsd",
    "onBudget",
    "maxContextTokens",
    "maxDepth",
];

/// A model's name alone, or a map that also says how it samples.
pub(super) fn model(fields: &KnownFields<'_>, findings: &mut FileFindings) -> ModelChoice {
    let Some(node) = fields.get("model") else { return ModelChoice::default() };
    if let YamlContent::Scalar { .. } = node.content {
        let name = fields::text(node, "model", findings);
        return ModelChoice { name: name.and_then(model_name), sampling: SamplingSettings::default() };
    }
    let YamlContent::Map(_) = node.content else {
        findings.expected(
            node,
            "model",
            WrongType,
            "a model's name, or a map with `name` and sampling settings",
        );
        return ModelChoice::default();
    };
    let Some(fields) = KnownFields::open(node, "model", MODEL_FIELDS, findings) else {
        return ModelChoice::default();
    };
    let is_share = |number: f64| (0.0..=1.0).contains(&number);
    let is_temperature = |number: f64| (0.0..=2.0).contains(&number);
    let sampling = SamplingSettings {
        temperature: fields.number("temperature", "a number from 0 to 2", is_temperature, findings),
        top_p: fields.number("topP", "a number from 0 to 1", is_share, findings),
        max_output_tokens: fields.whole("maxOutputTokens", 1, i64::MAX, findings).map(i64::cast_unsigned),
        thinking_budget: fields.whole("thinkingBudget", -1, i64::MAX, findings),
    };
    let name = fields.text("name", findings);
    ModelChoice { name: name.as_deref().and_then(model_name), sampling }
}

/// `inherit` names no model.
fn model_name(name: &str) -> Option<ModelRef> {
    let name = name.trim();
    (!name.is_empty() && name != "inherit").then(|| ModelRef::from(name))
}

/// The limits of a run.
pub(super) fn limits(fields: &KnownFields<'_>, findings: &mut FileFindings) -> AgentLimits {
    let Some(node) = fields.get("run") else { return AgentLimits::default() };
    let Some(fields) = KnownFields::open(node, "run", RUN_FIELDS, findings) else {
        return AgentLimits::default();
    };
    let is_grace = |seconds: f64| (0.0..=LONGEST_MINUTES * 60.0).contains(&seconds);
    let is_cost = |dollars: f64| dollars > 0.0 && dollars <= MOST_DOLLARS;
    let cost = fields.number("maxCostUsd", "a number of US dollars above 0", is_cost, findings);
    let grace = fields.number("graceSeconds", "a number of seconds, 0 or more", is_grace, findings);
    AgentLimits {
        max_turns: fields
            .whole("maxTurns", 1, u32::MAX.into(), findings)
            .and_then(|turns| u32::try_from(turns).ok()),
        max_time_ms: minutes("maxTimeMinutes", &fields, findings),
        max_tokens: fields.whole("maxTokens", 1, i64::MAX, findings).map(i64::cast_unsigned),
        max_cost: cost.and_then(UsdAmount::from_dollars),
        on_budget: fields.one_of("onBudget", ON_BUDGET, findings),
        max_context_tokens: fields.whole("maxContextTokens", 1, i64::MAX, findings).map(i64::cast_unsigned),
        grace_ms: grace.map(milliseconds),
        max_depth: fields
            .whole("maxDepth", 0, LARGEST_DEPTH, findings)
            .and_then(|depth| u32::try_from(depth).ok()),
    }
}

/// A field that says a time in minutes, in milliseconds.
pub(in super::super) fn minutes(
    name: &str,
    fields: &KnownFields<'_>,
    findings: &mut FileFindings,
) -> Option<u64> {
    let is_time = |minutes: f64| minutes > 0.0 && minutes <= LONGEST_MINUTES;
    let minutes = fields.number(name, "a number of minutes above 0", is_time, findings)?;
    Some(milliseconds(minutes * 60.0).max(1))
}

/// Rounded; the callers bound the number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to a year in seconds")]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

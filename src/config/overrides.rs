//! What may a user say about an agent whose file is another's? (spec 02, "Registry"; spec 12, `agents.overrides`)

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use serde_json::{Map, Value as Json, json};

use super::{
    entries::{EntryLocation, EntryShape, ObjectFields, object_schema},
    mistake::SettingMistake,
    sampling,
    shapes::{BoolShape, IntegerShape, ListOf, NameShape, NumberShape, OneOf, SettingShape, plain},
};
use protocol::{AgentLimits, ModelChoice, ModelRef, OnBudget, SamplingSettings, ToolName, UsdAmount};

/// An agent's name at most (spec 02).
const MAX_NAME_CHARS: usize = 64;
const FIELDS: &[&str] = &["enabled", "model", "run", "tools"];
const RUN_FIELDS: [&str; 8] = [
    "maxTurns",
    "maxTimeMinutes",
    "maxTokens",
    "maxCostUsd",
    "onBudget",
    "maxContextTokens",
    "graceSeconds",
    "maxDepth",
];
const TOOL_FIELDS: [&str; 2] = ["allow", "deny"];
/// Longest time a limit may name: a year, as in agents' files.
const LONGEST_MINUTES: f64 = 366.0 * 24.0 * 60.0;
/// What a run may cost at most: more is a slip.
const MOST_DOLLARS: f64 = 1e6;
/// Levels of agents that call agents: more is a loop, not a plan.
const MOST_DEPTH: u64 = 16;

/// What counts in place of what an agent's file says; what is missing is as the file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentOverride {
    /// `false`: it cannot be started, and no other agent is offered it.
    pub enabled: Option<bool>,
    /// `inherit` as a name: none, whatever the file says.
    pub model: ModelChoice,
    pub run: AgentLimits,
    /// Tools that it gets instead of those that its file names.
    pub allow: Option<Vec<ToolName>>,
    /// Tools that it does not get, instead of those that its file names.
    pub deny: Option<Vec<ToolName>>,
}

/// Shape of one of `agents.overrides`.
pub(super) struct OverrideShape;

impl EntryShape for OverrideShape {
    type Out = AgentOverride;

    fn name_problem(&self, name: &str) -> Option<String> {
        let is_letter =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._-".contains(letter);
        let is_name = !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.chars().all(is_letter);
        (!is_name).then(|| {
            format!("an agent's name is 1 to {MAX_NAME_CHARS} small letters, digits, `.`, `_` or `-`")
        })
    }

    fn read(
        &self,
        entry: &EntryLocation<'_>,
        value: &Value<'_>,
        mistakes: &mut Vec<SettingMistake>,
    ) -> Option<AgentOverride> {
        let expected = "an object with `enabled`, `model`, `run` or `tools`";
        let mut fields = ObjectFields::open(&entry.path, value, (FIELDS, expected), mistakes)?;
        let enabled = fields.take("enabled", &BoolShape, "true or false");
        let (model, run, tools) = (fields.get("model"), fields.get("run"), fields.get("tools"));
        let path = |field: &str| format!("{}.{field}", entry.path);
        let mistakes = fields.mistakes();
        let mut read = AgentOverride { enabled, ..AgentOverride::default() };
        if let Some(value) = model {
            read.model = model_choice(&path("model"), value, mistakes)?;
        }
        if let Some(value) = run {
            read.run = limits(&path("run"), value, mistakes)?;
        }
        if let Some(value) = tools {
            (read.allow, read.deny) = selection(&path("tools"), value, mistakes)?;
        }
        Some(read)
    }

    fn schema(&self) -> Json {
        let mut model = sampling::schema();
        model.insert("name".to_owned(), NameShape.schema());
        let mut properties = Map::new();
        properties.insert("enabled".to_owned(), BoolShape.schema());
        properties
            .insert("model".to_owned(), json!({ "anyOf": [NameShape.schema(), object_schema(model, &[])] }));
        let [turns, minutes, tokens, cost, on_budget, context, grace, depth] = RUN_FIELDS;
        let run = [
            (turns, TURNS.schema()),
            (minutes, MINUTES.schema()),
            (tokens, TOKENS.schema()),
            (cost, DOLLARS.schema()),
            (on_budget, ON_BUDGET.schema()),
            (context, TOKENS.schema()),
            (grace, GRACE.schema()),
            (depth, DEPTH.schema()),
        ];
        let run = run.into_iter().map(|(field, schema)| (field.to_owned(), schema)).collect();
        properties.insert("run".to_owned(), object_schema(run, &[]));
        let tools = TOOL_FIELDS.map(|field| (field.to_owned(), ListOf(NameShape).schema()));
        let tools = object_schema(tools.into_iter().collect(), &[]);
        properties.insert("tools".to_owned(), json!({ "anyOf": [ListOf(NameShape).schema(), tools] }));
        object_schema(properties, &[])
    }

    fn schema_of_names(&self) -> Json {
        json!({ "pattern": format!("^[a-z0-9._-]{{1,{MAX_NAME_CHARS}}}$") })
    }
}

/// As a file would say it.
pub(super) fn overrides_shown(overrides: &BTreeMap<String, AgentOverride>) -> Json {
    Json::Object(overrides.iter().map(|(name, it)| (name.clone(), override_shown(it))).collect())
}

fn override_shown(it: &AgentOverride) -> Json {
    let AgentOverride { enabled, model, run, allow, deny } = it;
    let mut shown = Map::new();
    shown.extend(enabled.map(|enabled| ("enabled".to_owned(), enabled.into())));
    let mut choice = sampling::shown(&model.sampling);
    choice.extend(model.name.iter().map(|name| ("name".to_owned(), json!(name))));
    let minutes = |ms: u64| plain(seconds(ms) / 60.0);
    let run = [
        run.max_turns.map(|turns| json!(turns)),
        run.max_time_ms.map(minutes),
        run.max_tokens.map(|tokens| json!(tokens)),
        run.max_cost.map(|cost| plain(cost.dollars())),
        run.on_budget.map(|what| json!(what)),
        run.max_context_tokens.map(|tokens| json!(tokens)),
        run.grace_ms.map(|ms| plain(seconds(ms))),
        run.max_depth.map(|depth| json!(depth)),
    ];
    let present = |(field, value): (&str, Option<Json>)| Some((field.to_owned(), value?));
    let run: Map<String, Json> = RUN_FIELDS.into_iter().zip(run).filter_map(present).collect();
    let tools = [allow, deny].map(|names| names.as_ref().map(|names| json!(names)));
    let tools: Map<String, Json> = TOOL_FIELDS.into_iter().zip(tools).filter_map(present).collect();
    for (field, fields) in [("model", choice), ("run", run), ("tools", tools)] {
        if !fields.is_empty() {
            shown.insert(field.to_owned(), Json::Object(fields));
        }
    }
    Json::Object(shown)
}

fn model_choice(path: &str, value: &Value<'_>, mistakes: &mut Vec<SettingMistake>) -> Option<ModelChoice> {
    if let Ok(name) = NameShape.read(value) {
        return Some(ModelChoice { name: Some(ModelRef::from(name)), sampling: SamplingSettings::default() });
    }
    let known: Vec<&str> = ["name"].into_iter().chain(sampling::FIELDS).collect();
    let expected = "a model's name, or an object with `name` and how it samples";
    let mut fields = ObjectFields::open(path, value, (&known, expected), mistakes)?;
    let name = fields.take("name", &NameShape, "a model's name, or \"inherit\"").map(ModelRef::from);
    Some(ModelChoice { name, sampling: sampling::read(&mut fields) })
}

const TURNS: IntegerShape = IntegerShape { least: 1, most: u32::MAX as u64 };
const MINUTES: NumberShape = NumberShape { least: 0.0, is_above_zero: true, most: LONGEST_MINUTES };
const TOKENS: IntegerShape = IntegerShape { least: 1, most: u64::MAX };
const DOLLARS: NumberShape = NumberShape { least: 0.0, is_above_zero: true, most: MOST_DOLLARS };
const ON_BUDGET: OneOf = OneOf(&["end", "ask"]);
const GRACE: NumberShape = NumberShape { least: 0.0, is_above_zero: false, most: LONGEST_MINUTES * 60.0 };
const DEPTH: IntegerShape = IntegerShape { least: 0, most: MOST_DEPTH };

fn limits(path: &str, value: &Value<'_>, mistakes: &mut Vec<SettingMistake>) -> Option<AgentLimits> {
    let mut fields = ObjectFields::open(path, value, (&RUN_FIELDS, "an object with limits"), mistakes)?;
    let [turns, minutes, tokens, cost, on_budget, context, grace, depth] = RUN_FIELDS;
    let narrow = |number: u64| u32::try_from(number).ok();
    Some(AgentLimits {
        max_turns: fields.take(turns, &TURNS, "a whole number of at least 1").and_then(narrow),
        max_time_ms: fields
            .take(minutes, &MINUTES, "a number of minutes above 0, at most a year")
            .map(|minutes| milliseconds(minutes * 60.0).max(1)),
        max_tokens: fields.take(tokens, &TOKENS, "a whole number of at least 1"),
        max_cost: fields.take(cost, &DOLLARS, "US dollars, above 0").and_then(UsdAmount::limit_from_dollars),
        on_budget: fields.take(on_budget, &ON_BUDGET, "\"end\" or \"ask\"").map(|word| match &*word {
            "ask" => OnBudget::Ask,
            _ => OnBudget::End,
        }),
        max_context_tokens: fields.take(context, &TOKENS, "a whole number of at least 1"),
        grace_ms: fields.take(grace, &GRACE, "a number of seconds from 0 to a year").map(milliseconds),
        max_depth: fields.take(depth, &DEPTH, "a whole number from 0 to 16").and_then(narrow),
    })
}

/// Rounded; the shapes bound the number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to a year in seconds")]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

#[allow(clippy::cast_precision_loss, reason = "a year in milliseconds is exact")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

type ToolNameList = Option<Vec<ToolName>>;

/// The tools that are allowed, and those that are not; a list alone is those that are allowed.
fn selection(
    path: &str,
    value: &Value<'_>,
    mistakes: &mut Vec<SettingMistake>,
) -> Option<(ToolNameList, ToolNameList)> {
    let names = |names: Vec<String>| names.into_iter().map(ToolName::from).collect();
    if let Ok(allow) = ListOf(NameShape).read(value) {
        return Some((Some(names(allow)), None));
    }
    let expected = "an object with `allow` and `deny`";
    let mut fields = ObjectFields::open(path, value, (&TOOL_FIELDS, expected), mistakes)?;
    let [allow, deny] = TOOL_FIELDS;
    let expected = "a list of tool names, e.g. [\"read_file\", \"mcp.github.*\"]";
    let allow = fields.take(allow, &ListOf(NameShape), expected).map(names);
    Some((allow, fields.take(deny, &ListOf(NameShape), expected).map(names)))
}

//! The settings about models, and about agents whose files are others'.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    super::{
        LayeredSetting,
        entries::MapOf,
        models::{AliasShape, PriceShape, WindowShape, aliases_shown, prices_shown},
        overrides::{AgentOverride, OverrideShape, overrides_shown},
        shapes::{BoolShape, ListOf, NameShape, NumberShape, SettingShape, ShapeError, plain},
    },
    ChangeTiming, SettingKey,
};
use protocol::ModelRef;

/// A setting of entries: what is wrong with one does not cost the others.
macro_rules! map_key {
    (
        $path:literal, $($field:ident).+, $entry:expr, out: $out:expr,
        $meaning:literal, expected: $expected:literal, example: $example:literal
    ) => {
        SettingKey {
            path: $path,
            meaning: $meaning,
            expected: $expected,
            example: $example,
            counts: ChangeTiming::AtOnce,
            schema: || MapOf { path: $path, entry: $entry }.schema(),
            is_text: || false,
            set: |config, value, origin| {
                let (value, mistakes) = MapOf { path: $path, entry: $entry }.read(value)?;
                config.$($field).+ = LayeredSetting { value, origin };
                if mistakes.is_empty() { Ok(()) } else { Err(ShapeError::Mistakes(mistakes)) }
            },
            get: |config| {
                let setting = &config.$($field).+;
                (($out)(&setting.value), setting.origin)
            },
            keep: |config, from| config.$($field).+ = from.$($field).+.clone(),
        }
    };
}

/// A model's name, or nothing.
macro_rules! model_key {
    ($path:literal, $($field:ident).+, $meaning:literal, example: $example:literal) => {
        key!(
            $path, $($field).+, NameShape,
            in: |name| Ok(Some(ModelRef::from(name))), out: |name: &Option<ModelRef>| json!(name),
            $meaning,
            expected: "a model's name, e.g. \"gemini/gemini-2.5-pro\" or \"offline\"",
            example: $example
        )
    };
}

macro_rules! flag_key {
    ($path:literal, $($field:ident).+, $meaning:literal, example: $example:literal) => {
        key!(
            $path, $($field).+, BoolShape,
            in: Ok, out: |flag: &bool| json!(flag),
            $meaning,
            expected: "true or false",
            example: $example
        )
    };
}

pub(super) const KEYS: &[SettingKey] = &[
    model_key!(
        "models.default", models.default,
        "The model of agents that name none. Without it such a run is refused: nothing is chosen silently.",
        example: "\"gemini/gemini-2.5-flash\""
    ),
    model_key!(
        "models.small", models.small,
        "The model that is asked short questions beside the runs: which tier a request needs (`auto`), whether a run goes in \
         circles, who speaks next. Without it none of this is asked.",
        example: "\"gemini/gemini-2.5-flash-lite\""
    ),
    model_key!(
        "models.compression", models.compression,
        "The model that writes the summary when a context is compressed. Without it `models.small` does; without both, the \
         run's own model.",
        example: "\"gemini/gemini-2.5-flash\""
    ),
    key!(
        "models.fallback", models.fallback, ListOf(NameShape),
        in: |names| Ok(names.into_iter().map(ModelRef::from).collect()), out: |names: &Vec<ModelRef>| json!(names),
        "The models that take over, in this order, when a run's model is out of quota or its provider stays down.",
        expected: "a list of names of models, e.g. [\"openai/gpt-5-mini\"]",
        example: "[\"openai/gpt-5-mini\", \"anthropic/claude-haiku-4-5\"]"
    ),
    model_key!(
        "models.auto.fast", models.auto.fast,
        "What `auto` means where a request is simple. Without it, as `models.default`.",
        example: "\"gemini/gemini-2.5-flash\""
    ),
    model_key!(
        "models.auto.strong", models.auto.strong,
        "What `auto` means where a request needs thought. Without it, as `models.default`.",
        example: "\"gemini/gemini-2.5-pro\""
    ),
    map_key!(
        "models.aliases", models.aliases, AliasShape, out: aliases_shown,
        "Your own names for models, each with how it samples. An alias comes before an entry of `providers` and \
         before a bare id of the same name, and never stands for another alias.",
        expected: "an object of aliases, e.g. {\"quick\": {\"model\": \"gemini/gemini-2.5-flash\"}}",
        example: "{\"quick\": {\"model\": \"gemini/gemini-2.5-flash\", \"temperature\": 0.2, \"thinkingBudget\": 0}}"
    ),
    map_key!(
        "models.contextWindow", models.context_window, WindowShape,
        out: |windows: &BTreeMap<String, u64>| json!(windows),
        "Context windows in tokens, by `entry/model`, bare id, or a pattern of one of these with `*`; of several that \
         match, the longest counts. The provider is asked about models that are not here.",
        expected: "an object of numbers of tokens, e.g. {\"local/*\": 32768}",
        example: "{\"local/*\": 32768, \"gemini-2.5-pro\": 200000}"
    ),
    map_key!(
        "models.prices", models.prices, PriceShape, out: prices_shown,
        "Prices in US dollars per million tokens, by the same names as `models.contextWindow`. The cost of models \
         that are not here is unknown.",
        expected: "an object of prices, e.g. {\"gpt-5\": {\"inputPerMillion\": 1.25, \"outputPerMillion\": 10}}",
        example: "{\"gemini-2.5-flash\": {\"inputPerMillion\": 0.3, \"cachedInputPerMillion\": 0.075, \"outputPerMillion\": 2.5}}"
    ),
    flag_key!(
        "compression.enabled", compression.enabled,
        "Whether a context that has grown long is compressed: a summary replaces its older part.",
        example: "false"
    ),
    key!(
        "compression.threshold", compression.threshold, NumberShape { least: 0.0, is_above_zero: true, most: 1.0 },
        in: Ok, out: |share: &f64| plain(*share),
        "The share of a model's context window at which a context is compressed.",
        expected: "a number above 0, at most 1",
        example: "0.7"
    ),
    flag_key!(
        "loopDetection.calls", loop_detection.calls,
        "Whether a run is stopped that makes the same call again and again.",
        example: "false"
    ),
    flag_key!(
        "loopDetection.text", loop_detection.text,
        "Whether a run is stopped whose model says the same again and again.",
        example: "false"
    ),
    flag_key!(
        "loopDetection.judge", loop_detection.judge,
        "Whether `models.small` is asked now and then if a long run goes in circles.",
        example: "false"
    ),
    flag_key!(
        "nextSpeakerCheck", next_speaker_check,
        "Whether `models.small` is asked, when a conversation's turn made no call, if the agent should go on.",
        example: "true"
    ),
    map_key!(
        "agents.overrides", agents.overrides, OverrideShape,
        out: |overrides: &BTreeMap<String, AgentOverride>| overrides_shown(overrides),
        "Changes to agents without editing their files: model, sampling, limits, tools, or whether they are enabled. \
         What is missing here is as the file says.",
        expected: "an object of agents, e.g. {\"generalist\": {\"model\": \"gemini/gemini-2.5-pro\"}}",
        example: "{\"generalist\": {\"model\": {\"name\": \"quick\", \"temperature\": 0}, \"run\": {\"maxTurns\": 20}}}"
    ),
];

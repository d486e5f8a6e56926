//! How does a model sample? The same four fields wherever settings speak of a model.

use jsonc_parser::ast::Value;
use serde_json::{Map, Value as Json, json};

use super::{
    entries::ObjectFields,
    shapes::{IntegerShape, NumberShape, SettingShape, ShapeError},
};
use protocol::SamplingSettings;

pub(super) const FIELDS: [&str; 4] = ["temperature", "topP", "maxOutputTokens", "thinkingBudget"];

const TEMPERATURE: NumberShape = NumberShape { least: 0.0, is_above_zero: false, most: 2.0 };
const SHARE: NumberShape = NumberShape { least: 0.0, is_above_zero: false, most: 1.0 };
const TOKENS: IntegerShape = IntegerShape { least: 1, most: u64::MAX };

/// What an object's fields say of it.
pub(super) fn read(fields: &mut ObjectFields<'_, '_>) -> SamplingSettings {
    let [temperature, top_p, most, thinking] = FIELDS;
    SamplingSettings {
        temperature: fields.take(temperature, &TEMPERATURE, "a number from 0 to 2"),
        top_p: fields.take(top_p, &SHARE, "a number from 0 to 1"),
        max_output_tokens: fields.take(most, &TOKENS, "a whole number of at least 1"),
        thinking_budget: fields.take(
            thinking,
            &ThinkingBudgetShape,
            "a whole number of tokens, 0 for off or -1 for no limit",
        ),
    }
}

/// The fields in an object's schema.
pub(super) fn schema() -> Map<String, Json> {
    let described = |mut schema: Json, meaning: &str| {
        schema["description"] = json!(meaning);
        schema
    };
    let [temperature, top_p, most, thinking] = FIELDS;
    let fields = [
        (temperature, described(TEMPERATURE.schema(), "Higher is more varied.")),
        (top_p, described(SHARE.schema(), "Share of the likeliest words that are chosen from.")),
        (most, described(TOKENS.schema(), "Tokens of a reply at most.")),
        (thinking, described(ThinkingBudgetShape.schema(), "Tokens of thought; 0 is off, -1 is no limit.")),
    ];
    fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// The fields as a file would say them.
pub(super) fn shown(sampling: &SamplingSettings) -> Map<String, Json> {
    match serde_json::to_value(sampling) {
        Ok(Json::Object(fields)) => fields,
        // It is an object of numbers.
        _ => Map::new(),
    }
}

/// Tokens of thought: a whole number, or -1.
struct ThinkingBudgetShape;

impl SettingShape for ThinkingBudgetShape {
    type Out = i64;

    fn read(&self, value: &Value<'_>) -> Result<i64, ShapeError> {
        let digits = value.as_number_lit().ok_or(ShapeError::WrongType)?.value;
        let tokens = digits.parse::<i64>().map_err(|_| ShapeError::BadValue)?;
        if tokens < -1 { Err(ShapeError::BadValue) } else { Ok(tokens) }
    }

    fn schema(&self) -> Json {
        json!({ "type": "integer", "minimum": -1 })
    }
}

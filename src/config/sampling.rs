//! How does a model sample? The same four fields wherever settings speak of a model.

use jsonc_parser::ast::Value;
use serde_json::{Map, Value as Json, json};

use super::{
    entries::Fields,
    shapes::{Amount, Refusal, Shape, Whole},
};
use crate::protocol::Sampling;

pub(super) const FIELDS: [&str; 4] = ["temperature", "topP", "maxOutputTokens", "thinkingBudget"];

const TEMPERATURE: Amount = Amount { least: 0.0, is_above_zero: false, most: 2.0 };
const SHARE: Amount = Amount { least: 0.0, is_above_zero: false, most: 1.0 };
const TOKENS: Whole = Whole { least: 1, most: u64::MAX };

/// What an object's fields say of it.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> Sampling {
    let [temperature, top_p, most, thinking] = FIELDS;
    Sampling {
        temperature: fields.take(temperature, &TEMPERATURE, "a number from 0 to 2"),
        top_p: fields.take(top_p, &SHARE, "a number from 0 to 1"),
        max_output_tokens: fields.take(most, &TOKENS, "a whole number of at least 1"),
        thinking_budget: fields.take(
            thinking,
            &Budget,
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
        (thinking, described(Budget.schema(), "Tokens of thought; 0 is off, -1 is no limit.")),
    ];
    fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// The fields as a file would say them.
pub(super) fn shown(sampling: &Sampling) -> Map<String, Json> {
    match serde_json::to_value(sampling) {
        Ok(Json::Object(fields)) => fields,
        // It is an object of numbers.
        _ => Map::new(),
    }
}

/// Tokens of thought: a whole number, or -1.
struct Budget;

impl Shape for Budget {
    type Out = i64;

    fn read(&self, value: &Value<'_>) -> Result<i64, Refusal> {
        let digits = value.as_number_lit().ok_or(Refusal::WrongType)?.value;
        let tokens = digits.parse::<i64>().map_err(|_| Refusal::BadValue)?;
        if tokens < -1 { Err(Refusal::BadValue) } else { Ok(tokens) }
    }

    fn schema(&self) -> Json {
        json!({ "type": "integer", "minimum": -1 })
    }
}

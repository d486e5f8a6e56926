//! What is wrong with a setting, and how are values named in messages?

use jsonc_parser::{ast::Value, common::Ranged};

use protocol::{FileProblemCode, ProblemSeverity};

/// What is wrong, and where in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingMistake {
    pub offset: usize,
    pub severity: ProblemSeverity,
    pub code: FileProblemCode,
    pub message: String,
    pub fix: Option<String>,
}

impl SettingMistake {
    pub fn error(place: &impl Ranged, code: FileProblemCode, message: String) -> SettingMistake {
        SettingMistake {
            offset: place.range().start,
            severity: ProblemSeverity::Error,
            code,
            message,
            fix: None,
        }
    }

    /// A setting that has no effect.
    pub fn unknown(place: &impl Ranged, path: &str, fix: Option<String>) -> SettingMistake {
        let message = format!("there is no setting `{path}` in this version; it has no effect");
        let (severity, code) = (ProblemSeverity::Warning, FileProblemCode::UnknownField);
        SettingMistake { offset: place.range().start, severity, code, message, fix }
    }
}

/// The kind of a value, with its article.
pub(super) fn kind_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a text",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "a boolean",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}

/// What stands there, for the message: small values as they are.
pub(super) fn found(value: &Value<'_>) -> String {
    match value {
        Value::NumberLit(number) if number.value.len() <= 30 => number.value.to_owned(),
        Value::BooleanLit(boolean) => boolean.value.to_string(),
        // Whatever is behind these may be a password or a token.
        Value::StringLit(text) if text.value.contains("://") && text.value.contains(['?', '#', '@']) => {
            "an address with a user, a password, `?` or `#` in it".to_owned()
        }
        Value::StringLit(text) if text.value.len() <= 60 => format!("the text {:?}", text.value),
        other => kind_of(other).to_owned(),
    }
}

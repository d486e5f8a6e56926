//! Reads one settings file into the configuration: takes what is good, tells all that is not.

use std::path::Path;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, ObjectProp, Value},
    common::Ranged,
    parse_to_ast,
};

use super::{Config, Mark, Origin, decode, keys, nearest, one_based, problem, providers, read_bounded};
use crate::protocol::{FileProblem, FileProblemCode, Severity};

/// Settings larger than this are no settings; it bounds what a slip can cost.
const LARGEST_FILE: u64 = 1024 * 1024;

/// JSON with comments and trailing commas, and nothing else that JSON does not have.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads the file at `path`, if there is one.
pub(super) fn read(config: &mut Config, path: &Path, origin: Origin, problems: &mut Vec<FileProblem>) {
    let bytes = match read_bounded(path, LARGEST_FILE) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return,
        Err(found) => return problems.push(found),
    };
    let text = match decode(path, &bytes) {
        Ok(text) => text,
        Err(found) => return problems.push(found),
    };
    let mut layer = Layer { path, text, origin, config, problems };
    match parse_to_ast(text, &CollectOptions::default(), &DIALECT) {
        Ok(parsed) => match parsed.value {
            None => {}
            Some(Value::Object(object)) => layer.read_object(&object, ""),
            Some(other) => {
                let message = format!("expected an object with settings, found {}", kind_of(&other));
                layer.report(other.range().start, FileProblemCode::WrongType, message);
            }
        },
        Err(error) => {
            let mark = Mark {
                line: one_based(error.line_display().saturating_sub(1)),
                column: one_based(error.column_display().saturating_sub(1)),
            };
            let message = format!("is not JSON with comments: {}", error.kind());
            layer.problems.push(problem(path, Some(mark), FileProblemCode::BadJson, message));
        }
    }
}

struct Layer<'a> {
    path: &'a Path,
    text: &'a str,
    origin: Origin,
    config: &'a mut Config,
    problems: &'a mut Vec<FileProblem>,
}

impl Layer<'_> {
    /// Recursion ends: the parser bounds the nesting, and only known sections are entered.
    fn read_object(&mut self, object: &Object<'_>, prefix: &str) {
        for (position, property) in object.properties.iter().enumerate() {
            let path = format!("{prefix}{}", property.name.as_str());
            let is_repeated = object.properties[..position]
                .iter()
                .any(|earlier| earlier.name.as_str() == property.name.as_str());
            if is_repeated {
                let message = format!("`{path}` is set twice; the first one counts");
                self.report(property.range.start, FileProblemCode::BadValue, message);
            } else {
                self.read_property(property, &path);
            }
        }
    }

    fn read_property(&mut self, property: &ObjectProp<'_>, path: &str) {
        let place = property.value.range().start;
        if let Some(key) = keys::KEYS.iter().find(|key| key.path == path) {
            let code = match (key.set)(self.config, &property.value, self.origin) {
                Ok(()) => return,
                Err(keys::Refusal::WrongType) => FileProblemCode::WrongType,
                Err(keys::Refusal::BadValue) => FileProblemCode::BadValue,
                Err(keys::Refusal::BadElements(elements)) => {
                    for element in elements {
                        let message = format!("`{path}`: an element {}", element.reason);
                        self.report(element.offset, FileProblemCode::BadValue, message);
                    }
                    return;
                }
            };
            let found = found(&property.value);
            return self.report(place, code, format!("`{path}`: expected {}, found {found}", key.expected));
        }
        if path == providers::SECTION {
            let providers = &mut self.config.providers;
            for mistake in providers::read(providers, &property.value, self.origin) {
                let mark = Mark::at(self.text, mistake.offset);
                let found = problem(self.path, Some(mark), mistake.code, mistake.message);
                self.problems.push(FileProblem { severity: mistake.severity, fix: mistake.fix, ..found });
            }
            return;
        }
        let section = format!("{path}.");
        let is_section = keys::KEYS.iter().any(|key| key.path.starts_with(&section));
        match (is_section, &property.value) {
            (true, Value::Object(object)) => self.read_object(object, &section),
            (true, other) => {
                let message = format!("`{path}`: expected an object, found {}", found(other));
                self.report(place, FileProblemCode::WrongType, message);
            }
            (false, _) => self.report_unknown(property.range.start, path),
        }
    }

    fn report(&mut self, offset: usize, code: FileProblemCode, message: String) {
        let mark = Mark::at(self.text, offset);
        self.problems.push(problem(self.path, Some(mark), code, message));
    }

    fn report_unknown(&mut self, offset: usize, path: &str) {
        let mark = Mark::at(self.text, offset);
        let message = format!("there is no setting `{path}` in this version; it has no effect");
        let mut unknown = problem(self.path, Some(mark), FileProblemCode::UnknownField, message);
        unknown.severity = Severity::Warning;
        unknown.fix = nearest_key(path).map(|key| format!("did you mean `{key}`?"));
        self.problems.push(unknown);
    }
}

/// The nearest setting: by its whole path, else by its last word, which catches a setting in the wrong section.
fn nearest_key(path: &str) -> Option<&'static str> {
    let last_word = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let sections = keys::KEYS.iter().filter_map(|key| key.path.split('.').next());
    let paths = keys::KEYS.iter().map(|key| key.path);
    if let Some(key) = nearest(path, sections.chain(paths).chain([providers::SECTION])) {
        return Some(key);
    }
    let wanted = path.rsplit('.').next()?;
    let word = nearest(wanted, keys::KEYS.iter().map(|key| last_word(key.path)))?;
    keys::KEYS.iter().find(|key| last_word(key.path) == word).map(|key| key.path)
}

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
fn found(value: &Value<'_>) -> String {
    match value {
        Value::NumberLit(number) if number.value.len() <= 30 => number.value.to_owned(),
        Value::BooleanLit(boolean) => boolean.value.to_string(),
        Value::StringLit(text) if text.value.len() <= 60 => format!("the text {:?}", text.value),
        other => kind_of(other).to_owned(),
    }
}

//! What does a template say once its placeholders are filled? (spec 03, "The loop", point 1)
//!
//! `${word}` is a placeholder, `$${` a literal `${`; everything else stands for itself. What is filled in is
//! never looked at again, so a value can hold `${…}` without harm.

use serde_json::{Map, Value};

/// Values that every template may name besides the agent's inputs; the run supplies them.
pub const DAEMON_VALUES: [&str; 4] = ["today", "workspace", "activeModel", "daemonVersion"];

/// What `$${` stands for.
const LITERAL_OPENING: &str = "${";

/// One `${name}` of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplatePlaceholder<'a> {
    pub name: &'a str,
    /// Where its `$` stands, in bytes.
    pub offset: usize,
}

/// A template names values that nobody gave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template names {}, but there is no such value; there are {}", quoted(missing), quoted(known))]
pub struct MissingTemplateInput {
    /// All of them, in the order of the template, each once.
    pub missing: Vec<String>,
    /// The names there are.
    pub known: Vec<String>,
}

/// Fills a template: strings go in as they are, all else as compact JSON.
pub fn fill(template: &str, values: &Map<String, Value>) -> Result<String, MissingTemplateInput> {
    let mut missing: Vec<String> = Vec::new();
    let filled = fill_by(template, |name, filled| match values.get(name) {
        Some(value) => filled.push_str(&as_text(value)),
        None if missing.iter().any(|seen| seen == name) => {}
        None => missing.push(name.to_owned()),
    });
    if missing.is_empty() {
        Ok(filled)
    } else {
        Err(MissingTemplateInput { missing, known: values.keys().cloned().collect() })
    }
}

/// The placeholders of a template, in its order.
pub fn placeholders(template: &str) -> impl Iterator<Item = TemplatePlaceholder<'_>> {
    TemplatePieces { template, offset: 0 }.filter_map(|piece| match piece {
        TemplatePiece::Placeholder(placeholder) => Some(placeholder),
        TemplatePiece::Text(_) => None,
    })
}

/// True if placeholders can have this name: `\w+`.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_word_character)
}

/// Fills a template with what `append` appends for each name.
pub fn fill_by(template: &str, mut append: impl FnMut(&str, &mut String)) -> String {
    let mut filled = String::with_capacity(template.len());
    for piece in (TemplatePieces { template, offset: 0 }) {
        match piece {
            TemplatePiece::Text(text) => filled.push_str(text),
            TemplatePiece::Placeholder(placeholder) => append(placeholder.name, &mut filled),
        }
    }
    filled
}

/// A value as it stands in a text.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

enum TemplatePiece<'a> {
    Text(&'a str),
    Placeholder(TemplatePlaceholder<'a>),
}

struct TemplatePieces<'a> {
    template: &'a str,
    offset: usize,
}

impl<'a> Iterator for TemplatePieces<'a> {
    type Item = TemplatePiece<'a>;

    fn next(&mut self) -> Option<TemplatePiece<'a>> {
        let rest = &self.template[self.offset..];
        if rest.is_empty() {
            return None;
        }
        if rest.starts_with("$${") {
            self.offset += "$${".len();
            return Some(TemplatePiece::Text(LITERAL_OPENING));
        }
        if let Some(name) = name_in_braces(rest) {
            let offset = self.offset;
            self.offset += "${}".len() + name.len();
            return Some(TemplatePiece::Placeholder(TemplatePlaceholder { name, offset }));
        }
        // The first character is text, a `$` too; the piece ends where the next `$` begins.
        let end = rest.char_indices().skip(1).find(|(_, character)| *character == '$');
        let text = &rest[..end.map_or(rest.len(), |(index, _)| index)];
        self.offset += text.len();
        Some(TemplatePiece::Text(text))
    }
}

fn name_in_braces(text: &str) -> Option<&str> {
    let inside = text.strip_prefix(LITERAL_OPENING)?;
    let end = inside.find(|character| !is_word_character(character))?;
    (end > 0 && inside[end..].starts_with('}')).then_some(&inside[..end])
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(template: &str, expected: Expect) {
        let Value::Object(values) = json!({
            "word": "plain ${number} $${",
            "number": 1.5,
            "flag": true,
            "nothing": null,
            "list": ["a", {"b": 1}],
            "größe": "L",
        }) else {
            panic!("an object")
        };
        expected.assert_eq(&match fill(template, &values) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn values_go_in_once_and_as_they_are() {
        check("<${word}>", expect!["<plain ${number} $${>"]);
        check("${number}/${flag}/${nothing}", expect!["1.5/true/null"]);
        check("${list}", expect![[r#"["a",{"b":1}]"#]]);
        check("${größe}${größe}", expect!["LL"]);
        check("", expect![""]);
    }

    #[test]
    fn only_a_word_in_braces_is_a_placeholder() {
        check("${} ${a b} ${a-b} ${a $word {word} $ ${", expect!["${} ${a b} ${a-b} ${a $word {word} $ ${"]);
        check("${${word}}", expect!["${plain ${number} $${}"]);
        check("größe: 5 $ → ${number}", expect!["größe: 5 $ → 1.5"]);
    }

    #[test]
    fn a_doubled_dollar_writes_a_literal_opening() {
        check("$${word}", expect!["${word}"]);
        check("$$${number}", expect!["$${number}"]);
        check("$$ ${number}", expect!["$$ 1.5"]);
    }

    #[test]
    fn all_missing_names_are_told_at_once_with_the_names_there_are() {
        check(
            "${b} ${word} ${a} ${b}",
            expect![
                "the template names `b`, `a`, but there is no such value; there are `word`, `number`, `flag`, `nothing`, `list`, `größe`"
            ],
        );
        let error = fill("${x}", &Map::new()).unwrap_err();
        assert_eq!(error.to_string(), "the template names `x`, but there is no such value; there are none");
    }

    #[test]
    fn placeholders_stand_where_their_dollar_stands() {
        let found: Vec<_> =
            placeholders("ä ${a} $${b} ${c}").map(|found| (found.name, found.offset)).collect();
        assert_eq!(found, [("a", 3), ("c", 14)]);
    }
}

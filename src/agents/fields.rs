//! Reads the fields of one map: any spelling of a key, the type each needs, and a word on each that is wrong.

use super::{
    field_names::{camel_case, is_restricting},
    findings::FileFindings,
    unsupported,
    yaml::{YamlContent, YamlKey, YamlNode, to_number},
};
use config::{TextPosition, nearest};
use protocol::FileProblemCode::{BadValue, BadYaml, MissingField, UnknownField, WrongType};

/// A map whose keys are known.
pub(super) struct KnownFields<'a> {
    /// Of the map itself, for messages; empty at the top.
    prefix: String,
    /// A field that stands there in two spellings is a warning; the first counts.
    is_lenient: bool,
    /// Under their names in camelCase.
    entries: Vec<(String, &'a YamlKey, &'a YamlNode)>,
    map: &'a YamlNode,
}

/// What an unknown key might have meant: the name of a field, and the section where it belongs.
pub(super) type KeySuggestion<'a> = (&'a str, &'a str);

impl<'a> KnownFields<'a> {
    /// Opens a map. Unknown keys are warnings; `None`, after an error, when it is no map.
    pub fn open(
        node: &'a YamlNode,
        path: &str,
        known: &[&str],
        findings: &mut FileFindings,
    ) -> Option<KnownFields<'a>> {
        KnownFields::open_with_suggestions(node, path, known, &[], findings)
    }

    /// Opens the front matter of another product's file.
    pub fn open_foreign(
        node: &'a YamlNode,
        known: &[&str],
        findings: &mut FileFindings,
    ) -> Option<KnownFields<'a>> {
        KnownFields::open_whole(node, ("", true), known, &[], findings)
    }

    /// Like [`KnownFields::open`]; an unknown key may also have meant one of `suggestions`.
    pub fn open_with_suggestions(
        node: &'a YamlNode,
        path: &str,
        known: &[&str],
        suggestions: &[KeySuggestion<'_>],
        findings: &mut FileFindings,
    ) -> Option<KnownFields<'a>> {
        KnownFields::open_whole(node, (path, false), known, suggestions, findings)
    }

    fn open_whole(
        node: &'a YamlNode,
        (path, is_lenient): (&str, bool),
        known: &[&str],
        suggestions: &[KeySuggestion<'_>],
        findings: &mut FileFindings,
    ) -> Option<KnownFields<'a>> {
        let YamlContent::Map(pairs) = &node.content else {
            if path.is_empty() {
                findings.expected(
                    node,
                    "front matter",
                    WrongType,
                    "fields, one per line, like `kind: agent`",
                );
            } else {
                findings.expected(node, path, WrongType, &format!("a map with {}", listed(known)));
            }
            return None;
        };
        let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
        let mut fields = KnownFields { prefix, is_lenient, entries: Vec::new(), map: node };
        for (key, value) in pairs {
            fields.take(key, value, known, suggestions, findings);
        }
        Some(fields)
    }

    fn take(
        &mut self,
        key: &'a YamlKey,
        value: &'a YamlNode,
        known: &[&str],
        suggestions: &[KeySuggestion<'_>],
        findings: &mut FileFindings,
    ) {
        let name = camel_case(&key.text);
        if !known.contains(&name.as_str()) {
            // Told by whoever reads what is not carried out.
            if self.prefix.is_empty() && unsupported::named(&key.text).is_some() {
                return;
            }
            let names = known.iter().copied().chain(suggestions.iter().map(|(name, _)| *name));
            let fix = nearest(&key.text, names).map(|near| {
                let deeper = suggestions.iter().find(|(name, _)| *name == near && !known.contains(name));
                let in_full =
                    deeper.map_or_else(|| self.path(near), |(name, section)| format!("{section}.{name}"));
                format!("did you mean `{in_full}`?")
            });
            let message = format!("unknown field `{}{}`; it has no effect", self.prefix, key.text);
            return findings.warning(Some(key.mark), UnknownField, message, fix);
        }
        if self.entries.iter().any(|(earlier, ..)| *earlier == name) {
            let message =
                format!("`{}{name}` stands here a second time, spelled `{}`", self.prefix, key.text);
            return match self.is_lenient && !is_restricting(&name) {
                true => findings.warning(Some(key.mark), BadYaml, message + "; the first one counts", None),
                false => findings.error(Some(key.mark), BadYaml, message),
            };
        }
        self.entries.push((name, key, value));
    }

    /// The field's full name, for messages.
    pub fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Where the map begins.
    pub fn mark(&self) -> TextPosition {
        self.map.mark
    }

    /// The fields that nobody knows, and those of these names, as they were written.
    pub fn extras(&self, kept: &[&str]) -> Vec<(String, serde_json::Value)> {
        let YamlContent::Map(pairs) = &self.map.content else { return Vec::new() };
        let is_read = |key: &YamlKey| {
            let entry = self.entries.iter().find(|(_, known, _)| std::ptr::eq(*known, key));
            entry.is_some_and(|(name, ..)| !kept.contains(&name.as_str()))
        };
        let extra = pairs.iter().filter(|(key, _)| !is_read(key));
        extra.map(|(key, node)| (key.text.clone(), node.to_json())).collect()
    }

    /// The field's value; an empty one counts as missing.
    pub fn get(&self, name: &str) -> Option<&'a YamlNode> {
        self.entries
            .iter()
            .find(|(known, ..)| known == name)
            .map(|(.., node)| *node)
            .filter(|node| !node.is_null())
    }

    /// The field's value, empty or not.
    pub fn get_even_if_empty(&self, name: &str) -> Option<&'a YamlNode> {
        self.entries.iter().find(|(known, ..)| known == name).map(|(.., node)| *node)
    }

    /// The field's key.
    pub fn key(&self, name: &str) -> Option<&'a YamlKey> {
        self.entries.iter().find(|(known, ..)| known == name).map(|(_, key, _)| *key)
    }

    /// The field's value; missing is an error that says what to write.
    pub fn require(&self, name: &str, fix: &str, findings: &mut FileFindings) -> Option<&'a YamlNode> {
        let found = self.get(name);
        if found.is_none() {
            let mark = self.key(name).map_or(self.map.mark, |key| key.mark);
            let message = format!("`{}` is missing", self.path(name));
            findings.error_with_fix(Some(mark), MissingField, message, format!("add `{fix}`"));
        }
        found
    }

    /// A text.
    pub fn text(&self, name: &str, findings: &mut FileFindings) -> Option<String> {
        let node = self.get(name)?;
        text(node, &self.path(name), findings).map(str::to_owned)
    }

    /// Any scalar, as it is written: `1.10` and `404` are good titles.
    pub fn raw_text(&self, name: &str, findings: &mut FileFindings) -> Option<String> {
        let node = self.get(name)?;
        let Some(text) = node.as_raw_text() else {
            findings.expected(node, &self.path(name), WrongType, "a text");
            return None;
        };
        Some(text.to_owned())
    }

    /// `true` or `false`.
    pub fn flag(&self, name: &str, findings: &mut FileFindings) -> Option<bool> {
        let node = self.get(name)?;
        match node.to_scalar() {
            Some(serde_json::Value::Bool(value)) => Some(value),
            _ => {
                findings.expected(node, &self.path(name), WrongType, "true or false");
                None
            }
        }
    }

    /// A whole number from `least` to `most`. Numbers in quotes are numbers.
    pub fn whole(&self, name: &str, least: i64, most: i64, findings: &mut FileFindings) -> Option<i64> {
        let node = self.get(name)?;
        let expected = if most == i64::MAX {
            format!("a whole number of at least {least}")
        } else {
            format!("a whole number from {least} to {most}")
        };
        let number = node.as_raw_text().and_then(|text| to_number(text.trim()));
        match number.as_ref().map(as_whole) {
            Some(Some(number)) if (least..=most).contains(&number) => return Some(number),
            Some(_) => findings.expected(node, &self.path(name), BadValue, &expected),
            None => findings.expected(node, &self.path(name), WrongType, &expected),
        }
        None
    }

    /// A number for which `is_fine` holds; `expected` says which those are.
    pub fn number(
        &self,
        name: &str,
        expected: &str,
        is_fine: impl Fn(f64) -> bool,
        findings: &mut FileFindings,
    ) -> Option<f64> {
        let node = self.get(name)?;
        let number = node.as_raw_text().and_then(|text| to_number(text.trim()));
        match number.and_then(|number| number.as_f64()) {
            Some(number) if is_fine(number) => return Some(number),
            Some(_) => findings.expected(node, &self.path(name), BadValue, expected),
            None => findings.expected(node, &self.path(name), WrongType, expected),
        }
        None
    }

    /// One of a few words.
    pub fn one_of<T: Copy>(
        &self,
        name: &str,
        choices: &[(&str, T)],
        findings: &mut FileFindings,
    ) -> Option<T> {
        let node = self.get(name)?;
        let chosen = node.as_raw_text().and_then(|text| choices.iter().find(|(word, _)| *word == text));
        if chosen.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let code = if node.as_raw_text().is_some() { BadValue } else { WrongType };
            findings.expected(node, &self.path(name), code, &listed(&words));
        }
        chosen.map(|(_, choice)| *choice)
    }
}

/// A number without a fraction, however it is written: `5.0` is five.
#[allow(clippy::cast_possible_truncation, reason = "bounded right before")]
fn as_whole(number: &serde_json::Number) -> Option<i64> {
    /// Up to here every whole number is a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let of_float = || number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() <= EXACT).map(|it| it as i64);
    number.as_i64().or_else(of_float)
}

/// A text; numbers and booleans need quotes to be one.
pub(super) fn text<'a>(node: &'a YamlNode, path: &str, findings: &mut FileFindings) -> Option<&'a str> {
    if !matches!(node.to_scalar(), Some(serde_json::Value::String(_))) {
        findings.expected(node, path, WrongType, "a text");
        return None;
    }
    node.as_raw_text()
}

/// `a`, `b` or `c`.
pub(super) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

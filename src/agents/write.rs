//! How is front matter written, so that people and every reader of YAML read the same?
//!
//! Block style, as people write it by hand: a text stands without quotes where nobody could take it for something else, and
//! as it is, line by line, where it has several lines.

use serde_json::{Map, Value};

use super::{repair::quoted, yaml};

mod in_place;

pub use in_place::{CannotEdit, NewFields, with_fields};

/// Longest list that stands on one line, in characters.
const SHORT_LINE: usize = 100;

/// A whole file: front matter, an empty line, the prompt.
pub fn file<'a>(fields: impl IntoIterator<Item = (&'a str, &'a Value)>, prompt: &str) -> String {
    let mut text = "---\n".to_owned();
    for (key, value) in fields {
        text.push_str(&field(key, value));
    }
    text.push_str("---\n\n");
    text.push_str(prompt.trim_end());
    text.push('\n');
    text
}

/// A file of ours that says what these fields say; `prompt` among them is the text below. That it is an agent goes without
/// saying.
pub fn written(fields: &Map<String, Value>) -> String {
    let agent = Value::from("agent");
    let kind = (!fields.contains_key("kind")).then_some(("kind", &agent));
    // Nothing is what a field says that is not there.
    let others = fields
        .iter()
        .filter(|(key, value)| *key != "prompt" && !value.is_null())
        .map(|(key, value)| (key.as_str(), value));
    let prompt = fields.get("prompt").and_then(Value::as_str).unwrap_or_default();
    file(kind.into_iter().chain(others), prompt)
}

/// One top-level field, with its line ends.
pub fn field(key: &str, value: &Value) -> String {
    let mut text = String::new();
    write_field(key, value, 0, &mut text);
    text
}

fn write_field(key: &str, value: &Value, indent: usize, text: &mut String) {
    text.push_str(&" ".repeat(indent));
    text.push_str(&scalar(key));
    text.push(':');
    write_value(value, indent, text);
}

/// What stands behind a colon or a dash, to the end of the line or lines.
fn write_value(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            fields.iter().for_each(|(key, value)| write_field(key, value, indent + 2, text));
        }
        Value::Array(items) if !items.is_empty() => match flow(items) {
            Some(flow) => text.push_str(&format!(" {flow}\n")),
            None => {
                text.push('\n');
                items.iter().for_each(|item| write_item(item, indent + 2, text));
            }
        },
        Value::String(lines) if is_block(lines) => {
            // What ends without a line end must say so.
            let sign = if lines.ends_with('\n') { "|" } else { "|-" };
            text.push_str(&format!(" {sign}\n"));
            for line in lines.strip_suffix('\n').unwrap_or(lines).split('\n') {
                let indent = if line.is_empty() { 0 } else { indent + 2 };
                text.push_str(&format!("{}{line}\n", " ".repeat(indent)));
            }
        }
        Value::Object(_) => text.push_str(" {}\n"),
        Value::Array(_) => text.push_str(" []\n"),
        other => text.push_str(&format!(" {}\n", leaf(other))),
    }
}

fn write_item(item: &Value, indent: usize, text: &mut String) {
    text.push_str(&" ".repeat(indent));
    text.push('-');
    match item {
        // The first field stands behind the dash.
        Value::Object(fields) if !fields.is_empty() => {
            let mut below = String::new();
            fields.iter().for_each(|(key, value)| write_field(key, value, indent + 2, &mut below));
            text.push_str(&below[indent + 1..]);
        }
        other => write_value(other, indent, text),
    }
}

/// A list of words on one line, if it is short.
fn flow(items: &[Value]) -> Option<String> {
    let is_word =
        |item: &Value| !item.is_object() && !item.is_array() && !item.as_str().is_some_and(is_block);
    if !items.iter().all(is_word) {
        return None;
    }
    let in_flow = |item: &Value| match item.as_str() {
        Some(text) if text.contains([',', '[', ']', '{', '}']) => quoted(text),
        _ => leaf(item),
    };
    let line = format!("[{}]", items.iter().map(in_flow).collect::<Vec<_>>().join(", "));
    (line.chars().count() <= SHORT_LINE).then_some(line)
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// Without quotes where that is surely the same text, also to readers of YAML 1.1.
fn scalar(text: &str) -> String {
    let begins_well = text.starts_with(|it: char| it.is_alphabetic() || it == '_' || it == '/');
    let is_harmless = begins_well
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text
            .chars()
            .any(|it| it.is_control() || matches!(it, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'));
    let is_word_of_yaml = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    let is_number = yaml::to_number(text).is_some();
    if is_harmless && !is_word_of_yaml && !is_number { text.to_owned() } else { quoted(text) }
}

/// Several lines that can stand as they are.
fn is_block(text: &str) -> bool {
    let is_odd = |it: char| {
        it != '\n' && (it.is_control() || matches!(it, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'))
    };
    let lines = text.strip_suffix('\n').unwrap_or(text);
    let begins_with_blank = text.starts_with([' ', '\n', '\t']);
    lines.contains('\n') && !begins_with_blank && !lines.ends_with('\n') && !text.chars().any(is_odd)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_back(key: &str, value: &Value) -> Value {
        let text = field(key, value);
        let (root, errors) = yaml::parse(&text, 1);
        assert_eq!(errors, [], "{text}");
        root.unwrap().to_json()[key].clone()
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let texts = [
            "",
            " ",
            "plain",
            "two words",
            "a: b",
            "a #b",
            "#x",
            "@x",
            "`x`",
            "* x",
            "- x",
            "? x",
            "'",
            "\"",
            "it's",
            "no",
            "Yes",
            "NULL",
            "~",
            "1",
            "1.5",
            "0x1f",
            "1e3",
            ".5",
            "-1",
            "2024-01-01",
            "a\nb",
            "a\nb\n",
            "a\n\n",
            "\na",
            " a\nb",
            "a\n b",
            "tab\there",
            "cr\rlf",
            "ü: ö",
            "日本",
            "\u{feff}x",
            "\u{2028}",
            "a,b",
            "[a]",
            "{a}",
            "&a",
            "!a",
            "|",
            ">",
            "%a",
            "a:",
            "a: ",
            "---",
            "...",
            "a\n---\nb",
            "\u{0}",
            "ends with blank ",
            "x\u{85}y",
            "a\nb ",
            "a\n\tb",
        ];
        for text in texts {
            assert_eq!(read_back("key", &json!(text)), json!(text));
            assert_eq!(read_back("key", &json!([text, "b"])), json!([text, "b"]));
            assert_eq!(
                read_back("key", &json!({ "deeper": { "still": text } })),
                json!({ "deeper": { "still": text } })
            );
            assert_eq!(
                read_back("key", &json!([{ "a": text, "b": [text] }])),
                json!([{ "a": text, "b": [text] }])
            );
            assert_eq!(read_back(&format!("k{text}"), &json!(1)), json!(1), "{text:?} in a key");
        }
        for value in [
            json!(true),
            json!(null),
            json!(-1),
            json!(0.25),
            json!([]),
            json!({}),
            json!([[], {}]),
            json!([[1, [2]], [3]]),
            json!([{ "a": [{ "b": 1, "c": [1, 2] }] }, { "d": { "e": "x\ny" } }]),
            json!(vec!["a rather long text that fills the line"; 9]),
        ] {
            assert_eq!(read_back("key", &value), value);
        }
    }

    #[test]
    fn a_file_reads_like_one_that_somebody_wrote() {
        let fields = [
            ("name", json!("x")),
            ("tools", json!({ "allow": ["read_file", "grep"], "deny": [] })),
            ("triggers", json!([{ "keywords": ["bug", "C#"], "priority": 10 }, { "regex": "fix.*test" }])),
            ("query", json!("One.\nTwo.")),
        ];
        let text = file(fields.iter().map(|(key, value)| (*key, value)), "Do it.\n\n");
        expect_test::expect![[r"
            ---
            name: x
            tools:
              allow: [read_file, grep]
              deny: []
            triggers:
              - keywords: [bug, C#]
                priority: 10
              - regex: fix.*test
            query: |-
              One.
              Two.
            ---

            Do it.
        "]]
        .assert_eq(&text);
    }
}

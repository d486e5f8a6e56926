//! What did somebody mean by front matter that is no YAML? (spec 02, "Foreign files", rule 3)
//!
//! Many public files hold texts that YAML reads otherwise, or not at all: a description with `: ` in it, one that begins
//! with a backtick. Their authors meant lines `key: text`. Where YAML fails, the lines are read like that: what is YAML by
//! itself stays, and what is not becomes a text. The corrected front matter is offered, so that the file can be mended.

use super::{
    field_names::{camel_case, is_restricting},
    findings::FileFindings,
    yaml::{self, YamlContent, YamlKey, YamlNode},
};
use config::TextPosition;
use protocol::FileProblemCode::{BadValue, BadYaml};

/// Fields of a file that is no YAML at most: the largest of public ones has two dozen.
const MOST_FIELDS: usize = 500;

/// Front matter that was read by its lines.
pub(super) struct RepairedFrontMatter {
    pub root: YamlNode,
    /// The same front matter as YAML.
    pub text: String,
}

/// A top-level field: its line, and all that continues it.
struct RepairedField<'a> {
    /// Of its first line, in the file.
    line: u32,
    key: &'a str,
    /// The first without `key:`.
    lines: Vec<&'a str>,
    /// As it was written, with the line ends; begins here in the text.
    whole: &'a str,
    start: usize,
}

/// Reads front matter that is no YAML by its lines. `None` when there are none that could be fields.
pub(super) fn by_lines(
    text: &str,
    first_line: u32,
    findings: &mut FileFindings,
) -> Option<RepairedFrontMatter> {
    let entries = entries(text, first_line, findings);
    let mut fields: Vec<(YamlKey, YamlNode)> = Vec::new();
    let mut corrected = String::new();
    if let Some(first) = entries.get(MOST_FIELDS) {
        let mark = TextPosition { line: first.line, column: 1 };
        findings.error(Some(mark), BadYaml, format!("has more than {MOST_FIELDS} fields"));
        return None;
    }
    for entry in &entries {
        let mark = TextPosition { line: entry.line, column: 1 };
        if fields.iter().any(|(key, _)| key.text == entry.key) {
            let message = format!("`{}` stands here a second time; the first one counts", entry.key);
            // Of what takes something away, nothing may be lost.
            if is_restricting(&camel_case(entry.key)) {
                findings.error(Some(mark), BadYaml, format!("`{}` stands here a second time", entry.key));
                continue;
            }
            findings.warning(Some(mark), BadYaml, message, Some("remove one of the two".to_owned()));
            continue;
        }
        let node = match (alone(entry.whole, entry.line), mended(entry.whole)) {
            (Some(node), _) => {
                corrected.push_str(entry.whole.trim_end_matches('\n'));
                node
            }
            (None, whole) if alone(&whole, entry.line).is_some() => {
                let message =
                    format!("`{}` is not YAML as it is written: tabs, or names without quotes", entry.key);
                findings.warning(Some(mark), BadYaml, message, Some(format!("write `{}`", whole.trim_end())));
                corrected.push_str(whole.trim_end_matches('\n'));
                alone(&whole, entry.line).unwrap_or_else(|| scalar(mark, String::new()))
            }
            _ => {
                let (node, written) = meant(entry);
                let message =
                    format!("`{}` is not YAML as it is written; it is read as {}", entry.key, shown(&node));
                findings.warning(
                    Some(mark),
                    BadYaml,
                    message,
                    Some(format!("write `{}`", first_line_of(&written))),
                );
                corrected.push_str(&written);
                node
            }
        };
        corrected.push('\n');
        fields.push((YamlKey { mark, text: entry.key.to_owned() }, node));
    }
    if fields.is_empty() {
        return None;
    }
    let mark = fields[0].0.mark;
    Some(RepairedFrontMatter { root: YamlNode { mark, content: YamlContent::Map(fields) }, text: corrected })
}

/// Every line at the margin that begins with a word and a colon begins a field; what is indented, or an item, continues the
/// one before. Anything else at the margin belongs nowhere, and is told.
fn entries<'a>(text: &'a str, first_line: u32, findings: &mut FileFindings) -> Vec<RepairedField<'a>> {
    let mut entries: Vec<RepairedField<'_>> = Vec::new();
    let mut start = 0;
    for (number, line) in (first_line..).zip(text.split_inclusive('\n')) {
        let end = start + line.len();
        let content = line.strip_suffix('\n').unwrap_or(line);
        let is_astray = |entries: &[RepairedField<'_>]| {
            let open =
                entries.last().is_some_and(|entry| !entry.lines[0].is_empty() && entry.lines.len() == 1);
            open && is_field_with_a_blank_before(content)
        };
        let found = if is_astray(&entries) { field(content.trim_start()) } else { field(content) };
        if let Some((key, rest)) = found {
            entries.push(RepairedField {
                line: number,
                key,
                lines: vec![rest],
                whole: &text[start..end],
                start,
            });
        } else if !continues(content) {
            let mark = TextPosition { line: number, column: 1 };
            // It may have been what takes something away.
            match content.contains(':') {
                true => findings.error(Some(mark), BadYaml, "this line is no field, and part of none"),
                false => findings.warning(
                    Some(mark),
                    BadYaml,
                    "this line is part of no field; it is not read",
                    None,
                ),
            }
        } else if let Some(entry) = entries.last_mut() {
            entry.lines.push(content);
            // A line that belongs nowhere parts the two.
            if entry.start + entry.whole.len() == start {
                entry.whole = &text[entry.start..end];
            }
        }
        start = end;
    }
    entries
}

/// True if a line that begins no field belongs to the one before.
fn continues(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with([' ', '\t', '#']) || is_item(line)
}

/// One blank too many before what every product calls so: a slip, no continuation.
fn is_field_with_a_blank_before(line: &str) -> bool {
    let usual = ["name", "description", "tools", "model", "color", "mode", "kind"];
    let rest = line.strip_prefix(' ').filter(|rest| !rest.starts_with(' '));
    rest.and_then(field).is_some_and(|(key, _)| usual.contains(&key))
}

/// `key: rest`, at the margin; also with quotes around the key, or blanks behind it.
fn field(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let key = key.trim_end();
    let bare = ['"', '\''].iter().find_map(|quote| key.strip_prefix(*quote)?.strip_suffix(*quote));
    let key = bare.unwrap_or(key);
    let begins_well = key.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    let is_key =
        begins_well && key.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.'));
    let is_apart = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (is_key && is_apart).then_some((key, rest.trim()))
}

/// The lines with blanks for the tabs that indent them, and with quotes around keys and items that begin with a sign of
/// YAML's, like `*`.
fn mended(whole: &str) -> String {
    let mut mended = String::with_capacity(whole.len() + 8);
    for line in whole.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - content.len()];
        mended.push_str(&indent.replace('\t', "  "));
        let (dash, content) = match content.strip_prefix("- ") {
            Some(item) => ("- ", item.trim_start()),
            None => ("", content),
        };
        mended.push_str(dash);
        let needs_quotes =
            !(indent.is_empty() && dash.is_empty()) && content.starts_with(['*', '@', '`', '%', '&', '!']);
        match content.trim_end_matches('\n').split_once(": ") {
            Some((key, value)) if needs_quotes => mended.push_str(&format!("{}: {value}\n", quoted(key))),
            None if needs_quotes => mended.push_str(&format!("{}\n", quoted(content.trim_end()))),
            _ => mended.push_str(content),
        }
    }
    mended
}

/// A field by itself, where that is YAML.
fn alone(whole: &str, line: u32) -> Option<YamlNode> {
    let (root, errors) = yaml::parse(whole, line);
    match root?.content {
        YamlContent::Map(mut fields) if errors.is_empty() && fields.len() == 1 => Some(fields.remove(0).1),
        _ => None,
    }
}

/// What the author of the lines meant, and how that is written in YAML.
fn meant(entry: &RepairedField<'_>) -> (YamlNode, String) {
    let mark = TextPosition { line: entry.line, column: one_past(entry.key) };
    // A comment at the margin stands between fields.
    let below = entry.lines[1..].iter().filter(|line| !line.starts_with('#'));
    let continued: Vec<&str> = below.map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    let is_list =
        entry.lines[0].is_empty() && !continued.is_empty() && continued.iter().all(|it| is_item(it));
    if is_list {
        let texts: Vec<String> =
            continued.iter().map(|it| unquoted(it.trim_start_matches('-').trim())).collect();
        let written: String = texts.iter().map(|text| format!("\n  - {}", quoted(text))).collect();
        let nodes = texts.into_iter().map(|text| scalar(mark, text)).collect();
        return (YamlNode { mark, content: YamlContent::List(nodes) }, format!("{}:{written}", entry.key));
    }
    // Of `|` and `>` only the text below was meant.
    let first = Some(entry.lines[0]).filter(|it| !it.is_empty() && !is_block_sign(it));
    let text = first.into_iter().chain(continued).collect::<Vec<_>>().join(" ");
    let text = unquoted(&text);
    let written = format!("{}: {}", entry.key, quoted(&text));
    (scalar(mark, text), written)
}

fn one_past(key: &str) -> u32 {
    config::one_based(key.chars().count() + 2)
}

fn is_item(line: &str) -> bool {
    line == "-" || line.starts_with("- ")
}

fn is_block_sign(text: &str) -> bool {
    matches!(text, "|" | ">" | "|-" | ">-" | "|+" | ">+")
}

fn scalar(mark: TextPosition, text: String) -> YamlNode {
    YamlNode { mark, content: YamlContent::Scalar { text, is_plain: false } }
}

/// Without quotes around it, where they were meant as such.
fn unquoted(text: &str) -> String {
    let quotes = ['"', '\''];
    let inside = quotes.iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    inside.unwrap_or(text).to_owned()
}

/// As a YAML scalar in quotes.
pub(super) fn quoted(text: &str) -> String {
    let is_plain_enough =
        !text.chars().any(|it| it.is_control() || it == '\u{2028}' || it == '\u{2029}' || it == '\u{85}');
    match is_plain_enough {
        true => format!("'{}'", text.replace('\'', "''")),
        // A JSON text is a YAML text.
        false => serde_json::Value::from(text).to_string(),
    }
}

fn shown(node: &YamlNode) -> &'static str {
    match node.content {
        YamlContent::List(_) => "a list of texts",
        _ => "a text",
    }
}

fn first_line_of(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}

/// Fields whose values are prose, or begin with `#` as colours do: in all others, ` #` begins a comment.
pub(super) const PROSE: &[&str] = &["description", "name", "display_name", "displayName", "color"];

/// A plain text of which YAML took a part for something else, as it stands on its line, with a warning (spec 02, rule 3):
/// ` #` begins no comment in prose, and `&Co` names no node. Answers the front matter with the text in quotes.
pub(super) fn uncut(
    field: &str,
    text: &str,
    first_line: u32,
    root: &mut YamlNode,
    findings: &mut FileFindings,
) -> Option<String> {
    let YamlContent::Map(fields) = &mut root.content else { return None };
    let (key, node) = fields.iter_mut().find(|(key, _)| key.text == field)?;
    let is_null = node.is_null();
    let YamlContent::Scalar { text: value, is_plain: true } = &node.content else { return None };
    let value = if is_null { "" } else { value.as_str() };
    let at = usize::try_from(key.mark.line.checked_sub(first_line)?).ok()?;
    let line = text.lines().nth(at)?;
    let (_, rest) = line.split_once(':')?;
    let rest = rest.trim();
    // A value of several lines is no single one that was cut.
    let is_cut = rest.strip_prefix(value).is_some_and(|cut| {
        let comment = cut.trim_start();
        comment.starts_with('#') && (value.is_empty() || comment.len() < cut.len())
    });
    // Of a node that is named again below, the name is meant.
    let mark = rest.split(' ').next().unwrap_or_default();
    let is_used = mark.strip_prefix('&').is_some_and(|name| text.contains(&format!("*{name}")));
    let is_swallowed = field == "description"
        && mark.starts_with(['&', '!'])
        && rest.ends_with(value)
        && !is_null
        && !is_used;
    if !is_cut && !is_swallowed {
        return None;
    }
    let written = format!("{}: {}", key.text, quoted(rest));
    let took =
        if is_cut { "` #` for the beginning of a comment" } else { "the first word for a mark of its own" };
    let message = format!("`{field}`: YAML takes {took}; it is read as it stands there");
    findings.warning(Some(node.mark), BadValue, message, Some(format!("write `{written}`")));
    node.content = YamlContent::Scalar { text: rest.to_owned(), is_plain: false };
    let lines = text.lines().enumerate().map(|(number, line)| if number == at { &written } else { line });
    Some(lines.map(|line| format!("{line}\n")).collect())
}

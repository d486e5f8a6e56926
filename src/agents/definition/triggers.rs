//! The field `triggers`: which prompts go to the agent when nobody names one (spec 02, "Auto-routing").

use super::super::{
    fields::{self, KnownFields},
    findings::FileFindings,
    routing::{MOST_AUTOMATA_BYTES, TriggerExpression, TriggerKeyword},
    yaml::{YamlContent, YamlNode},
};
use protocol::{
    FileProblemCode::{BadValue, MissingField, WrongType},
    RoutingTrigger,
};

pub(super) const TRIGGER_FIELDS: &[&str] = &["intent", "keywords", "regex", "priority"];

/// Triggers of one agent; each prompt is compared with all of them.
pub(super) const MOST_TRIGGERS: usize = 100;

/// Keywords of one trigger.
pub(super) const MOST_KEYWORDS: usize = 100;

/// In characters. What people look for in a prompt is a few words.
pub(super) const LONGEST_KEYWORD: usize = 200;

/// In characters.
pub(super) const LONGEST_REGEX: usize = 1_000;

/// In characters; it is a word for people.
pub(super) const LONGEST_INTENT: usize = 200;

/// Of either sign: room for any order, and a number that a person still compares.
pub(super) const LARGEST_PRIORITY: i64 = 1_000;

pub(super) fn read(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Vec<RoutingTrigger> {
    let Some(node) = fields.get("triggers") else { return Vec::new() };
    let YamlContent::List(nodes) = &node.content else {
        findings.expected(node, "triggers", WrongType, "a list of `{keywords, regex, priority, intent}`");
        return Vec::new();
    };
    if nodes.len() > MOST_TRIGGERS {
        let message = format!("`triggers`: expected at most {MOST_TRIGGERS}, found {}", nodes.len());
        findings.error(Some(node.mark), BadValue, message);
        return Vec::new();
    }
    let mut allowance_bytes = MOST_AUTOMATA_BYTES;
    let numbered = nodes.iter().enumerate();
    numbered.filter_map(|(number, node)| read_one(number, node, &mut allowance_bytes, findings)).collect()
}

fn read_one(
    number: usize,
    node: &YamlNode,
    allowance_bytes: &mut usize,
    findings: &mut FileFindings,
) -> Option<RoutingTrigger> {
    let path = format!("triggers[{number}]");
    let fields = KnownFields::open(node, &path, TRIGGER_FIELDS, findings)?;
    let intent = fields.raw_text("intent", findings);
    if let (Some(intent), Some(node)) = (&intent, fields.get("intent")) {
        check_length(intent, LONGEST_INTENT, node, &fields.path("intent"), findings);
    }
    let keywords = fields.get("keywords").map(|node| keywords(node, &fields.path("keywords"), findings));
    let says_nothing = fields.get("regex").is_none() && keywords.as_ref().is_none_or(Vec::is_empty);
    if says_nothing && !is_mistaken(fields.get("keywords")) {
        let message = format!("`{path}` has neither `keywords` nor `regex`, so no prompt would fit it");
        findings.error_with_fix(Some(node.mark), MissingField, message, "add `keywords: [bug, crash]`");
    }
    Some(RoutingTrigger {
        intent,
        keywords: keywords.unwrap_or_default(),
        regex: regex(&fields, allowance_bytes, findings),
        priority: fields.whole("priority", -LARGEST_PRIORITY, LARGEST_PRIORITY, findings).unwrap_or(0),
    })
}

/// True if something other than an empty list stands there, so that more than its absence was told.
fn is_mistaken(keywords: Option<&YamlNode>) -> bool {
    keywords.is_some_and(|node| node.content != YamlContent::List(Vec::new()))
}

/// A list, or a text with commas between the keywords. Numbers are keywords as they are written.
fn keywords(node: &YamlNode, path: &str, findings: &mut FileFindings) -> Vec<String> {
    const EXPECTED: &str = "a list of keywords";
    let texts: Vec<(&YamlNode, String, &str)> = match (&node.content, node.as_raw_text()) {
        (YamlContent::List(nodes), _) => {
            let numbered = nodes.iter().enumerate();
            let texts = numbered.filter_map(|(number, node)| {
                let path = format!("{path}[{number}]");
                let text = node.as_raw_text().filter(|_| !node.is_null());
                if text.is_none() {
                    findings.expected(node, &path, WrongType, "a keyword");
                }
                Some((node, path, text?))
            });
            texts.collect()
        }
        (_, Some(text)) => text.split(',').map(|text| (node, path.to_owned(), text)).collect(),
        _ => {
            findings.expected(node, path, WrongType, EXPECTED);
            return Vec::new();
        }
    };
    if texts.len() > MOST_KEYWORDS {
        let message = format!("`{path}`: expected at most {MOST_KEYWORDS} keywords, found {}", texts.len());
        findings.error(Some(node.mark), BadValue, message);
        return Vec::new();
    }
    let keywords = texts.into_iter().filter_map(|(node, path, text)| keyword(node, &path, text, findings));
    keywords.collect()
}

fn keyword(node: &YamlNode, path: &str, text: &str, findings: &mut FileFindings) -> Option<String> {
    let text = text.trim();
    if !check_length(text, LONGEST_KEYWORD, node, path, findings) {
        return None;
    }
    if let Err(reason) = TriggerKeyword::new(text) {
        findings.error(Some(node.mark), BadValue, format!("`{path}`: the keyword {reason}"));
        return None;
    }
    Some(text.to_owned())
}

fn regex(
    fields: &KnownFields<'_>,
    allowance_bytes: &mut usize,
    findings: &mut FileFindings,
) -> Option<String> {
    let (node, path) = (fields.get("regex")?, fields.path("regex"));
    let text = fields::text(node, &path, findings)?;
    if text.is_empty() {
        findings.expected(node, &path, BadValue, "a regular expression");
        return None;
    }
    if !check_length(text, LONGEST_REGEX, node, &path, findings) {
        return None;
    }
    match TriggerExpression::new(text, allowance_bytes) {
        Ok(expression) if expression.matches_all => {
            let message = format!("`{path}` matches every prompt, since it matches the empty text");
            findings.warning(Some(node.mark), BadValue, message, None);
        }
        Ok(_) => (),
        Err(reason) => {
            findings.error(Some(node.mark), BadValue, format!("`{path}`: the expression {reason}"));
            return None;
        }
    }
    Some(text.to_owned())
}

fn check_length(
    text: &str,
    longest: usize,
    node: &YamlNode,
    path: &str,
    findings: &mut FileFindings,
) -> bool {
    let is_short = text.chars().nth(longest).is_none();
    if !is_short {
        findings.expected(node, path, BadValue, &format!("at most {longest} characters"));
    }
    is_short
}

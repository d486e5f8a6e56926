//! The field `triggers`: which prompts go to the agent when nobody names one (spec 02, "Auto-routing").

use serde_json::{Value, json};

use super::{
    field_row::{FieldLoss, FieldRow, field, map_schema, names, read_rows, written},
    shapes::{FieldShape, FieldSlot, WholeShape},
};
use crate::{
    fields::{self, KnownFields},
    findings::FileFindings,
    routing::{MOST_AUTOMATA_BYTES, TriggerExpression, TriggerKeyword},
    yaml::{YamlContent, YamlNode},
};
use protocol::{
    AgentDefinition,
    FileProblemCode::{BadValue, MissingField, WrongType},
    RoutingTrigger,
};

pub(super) const TRIGGERS: FieldRow<AgentDefinition> = FieldRow {
    name: "triggers",
    meaning: || String::from("Which prompts go to the agent when nobody names one."),
    schema: || {
        let mut trigger = map_schema(TRIGGER_FIELDS);
        trigger["anyOf"] = json!([
            { "required": ["keywords"], "properties": { "keywords": { "type": ["array", "string"], "minItems": 1 } } },
            { "required": ["regex"], "properties": { "regex": { "type": "string" } } },
        ]);
        json!({ "type": ["array", "null"], "maxItems": MOST_TRIGGERS, "items": trigger })
    },
    example: "triggers: [{ keywords: [bug] }]",
    read,
    write: |agent| {
        let triggers = agent.triggers.iter().map(|trigger| written(TRIGGER_FIELDS, trigger).into());
        (!agent.triggers.is_empty()).then(|| triggers.collect::<Vec<Value>>().into())
    },
    loss: Some(FieldLoss::of("`triggers`")),
    claim: |agent| {
        let claim = "`triggers`: prompts that name no agent may go to it by themselves";
        (!agent.triggers.is_empty()).then(|| claim.to_owned())
    },
    ..FieldRow::BLANK
};

pub(super) const TRIGGER_FIELDS: &[FieldRow<RoutingTrigger>] = &[
    FieldRow {
        name: "intent",
        meaning: || String::from("What such prompts are about, for people."),
        schema: || json!({ "type": ["string", "number", "boolean", "null"], "maxLength": LONGEST_INTENT }),
        example: "triggers: [{ intent: repair, regex: fix }]",
        read: |fields, trigger, findings| {
            trigger.intent = fields.raw_text("intent", findings);
            if let (Some(intent), Some(node)) = (&trigger.intent, fields.get("intent")) {
                check_length(intent, LONGEST_INTENT, node, &fields.path("intent"), findings);
            }
        },
        write: |trigger| trigger.intent.as_deref().map(Value::from),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "keywords",
        meaning: || {
            String::from(
                "Any of them is enough: a list, or a text with commas. Case does not matter. A word begins with it (`bug` \
                 finds `bugs`, not `debug`); one of one or two letters is the whole word; in scripts without blanks it \
                 stands anywhere.",
            )
        },
        schema: || {
            json!({
                "type": ["array", "string", "null"],
                "pattern": r"^[^,]*[^,\s][^,]*(,[^,]*[^,\s][^,]*)*$",
                "maxItems": MOST_KEYWORDS,
                "items": { "type": ["string", "number", "boolean"], "pattern": r"\S", "maxLength": LONGEST_KEYWORD },
            })
        },
        example: "triggers: [{ keywords: [bug, 404] }]",
        read: |fields, trigger, findings| {
            if let Some(node) = fields.get("keywords") {
                trigger.keywords = keywords(node, &fields.path("keywords"), findings);
            }
        },
        write: |trigger| (!trigger.keywords.is_empty()).then(|| json!(trigger.keywords)),
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "regex",
        meaning: || {
            String::from(
                "Or what the prompt matches, without regard to case: the syntax of the `regex` crate.",
            )
        },
        schema: || json!({ "type": ["string", "null"], "minLength": 1, "maxLength": LONGEST_REGEX }),
        example: "triggers: [{ regex: \"fix.*test\" }]",
        // What it may cost is known of all triggers together.
        read: |fields, trigger, findings| trigger.regex = regex(fields, findings),
        write: |trigger| trigger.regex.as_deref().map(Value::from),
        ..FieldRow::BLANK
    },
    field!(
        "priority", priority, WholeShape { least: -LARGEST_PRIORITY, most: LARGEST_PRIORITY },
        "The highest that fits decides. Default: 0.",
        example: "triggers: [{ regex: fix, priority: -5 }]"
    ),
];

/// Triggers of one agent; each prompt is compared with all of them.
const MOST_TRIGGERS: usize = 100;

/// Keywords of one trigger.
const MOST_KEYWORDS: usize = 100;

/// In characters. What people look for in a prompt is a few words.
const LONGEST_KEYWORD: usize = 200;

/// In characters.
const LONGEST_REGEX: usize = 1_000;

/// In characters; it is a word for people.
const LONGEST_INTENT: usize = 200;

/// Of either sign: room for any order, and a number that a person still compares.
const LARGEST_PRIORITY: i64 = 1_000;

fn read(fields: &KnownFields<'_>, agent: &mut AgentDefinition, findings: &mut FileFindings) {
    let Some(node) = fields.get("triggers") else { return };
    let YamlContent::List(nodes) = &node.content else {
        return findings.expected(
            node,
            "triggers",
            WrongType,
            "a list of `{keywords, regex, priority, intent}`",
        );
    };
    if nodes.len() > MOST_TRIGGERS {
        let message = format!("`triggers`: expected at most {MOST_TRIGGERS}, found {}", nodes.len());
        return findings.error(Some(node.mark), BadValue, message);
    }
    let mut allowance_bytes = MOST_AUTOMATA_BYTES;
    let numbered = nodes.iter().enumerate();
    let triggers =
        numbered.filter_map(|(number, node)| read_one(number, node, &mut allowance_bytes, findings));
    agent.triggers = triggers.collect();
}

fn read_one(
    number: usize,
    node: &YamlNode,
    allowance_bytes: &mut usize,
    findings: &mut FileFindings,
) -> Option<RoutingTrigger> {
    let path = format!("triggers[{number}]");
    let fields = KnownFields::open(node, &path, &names(TRIGGER_FIELDS), findings)?;
    let mut trigger = RoutingTrigger::default();
    read_rows(TRIGGER_FIELDS, &fields, &mut trigger, findings);
    let says_nothing = fields.get("regex").is_none() && trigger.keywords.is_empty();
    if says_nothing && !is_mistaken(fields.get("keywords")) {
        let message = format!("`{path}` has neither `keywords` nor `regex`, so no prompt would fit it");
        findings.error_with_fix(Some(node.mark), MissingField, message, "add `keywords: [bug, crash]`");
    }
    if let (Some(text), Some(node)) = (&trigger.regex, fields.get("regex")) {
        check_regex(text, node, &fields.path("regex"), allowance_bytes, findings);
    }
    Some(trigger)
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

fn regex(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<String> {
    let (node, path) = (fields.get("regex")?, fields.path("regex"));
    let text = fields::text(node, &path, findings)?;
    if text.is_empty() {
        findings.expected(node, &path, BadValue, "a regular expression");
        return None;
    }
    check_length(text, LONGEST_REGEX, node, &path, findings).then(|| text.to_owned())
}

fn check_regex(
    text: &str,
    node: &YamlNode,
    path: &str,
    allowance_bytes: &mut usize,
    findings: &mut FileFindings,
) {
    match TriggerExpression::new(text, allowance_bytes) {
        Ok(expression) if expression.matches_all => {
            let message = format!("`{path}` matches every prompt, since it matches the empty text");
            findings.warning(Some(node.mark), BadValue, message, None);
        }
        Ok(_) => (),
        Err(reason) => {
            findings.error(Some(node.mark), BadValue, format!("`{path}`: the expression {reason}"));
        }
    }
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

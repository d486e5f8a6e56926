//! The documents are whole: nothing is named twice, every reference leads somewhere.

use std::collections::{BTreeSet, HashSet};

use super::*;

#[test]
fn no_name_means_two_types() {
    let mut schemas = SchemaDefinitions::new("#/");
    for method in METHODS {
        schemas.add((method.params)());
        schemas.add((method.result)());
    }
    for event in EVENTS.iter().chain(SIGNALS) {
        schemas.add((event.data)());
    }
    assert_eq!(schemas.ambiguous(), [] as [String; 0]);
}

#[test]
fn every_reference_leads_to_a_schema() {
    fn check(document: &Value, part: &Value, found: &mut usize) {
        match part {
            Value::Object(words) => {
                if let Some(reference) = words.get("$ref").and_then(Value::as_str) {
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                    *found += 1;
                }
                words.values().for_each(|value| check(document, value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| check(document, item, found)),
            _ => {}
        }
    }
    let (document, mut found) = (openrpc(), 0);
    check(&document, &document, &mut found);
    assert!(found > 100, "{found}");
}

#[test]
fn every_link_of_a_page_leads_to_a_heading() {
    for (name, page) in files().into_iter().filter(|(name, _)| name.ends_with(".md")) {
        let headings: Vec<_> = page
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(|line| {
                line.trim_start_matches('#')
                    .trim()
                    .to_lowercase()
                    .replace(['`', '/', '(', ')', '.'], "")
                    .replace(' ', "-")
            })
            .collect();
        for link in page.split("](#").skip(1) {
            let target = link.split(')').next().unwrap();
            let is_there = headings
                .iter()
                .any(|heading| heading == target || heading == &format!("{target}-subscription"));
            assert!(is_there, "{name}: #{target}");
        }
    }
}

/// `types.ts` must not pass over a word of a schema in silence.
#[test]
fn types_know_every_word_of_the_schemas() {
    const UNDERSTOOD: &[&str] = &[
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "items",
        "oneOf",
        "properties",
        "required",
        "type",
    ];
    // TypeScript has no words for these; the other documents tell them.
    const WITHOUT_A_TYPE: &[&str] = &[
        "default",
        "format",
        "maximum",
        "maxLength",
        "minimum",
        "minLength",
        "maxItems",
        "minItems",
        "pattern",
    ];
    fn check(name: &str, schema: &Value) {
        let Some(words) = schema.as_object() else { return };
        for (word, value) in words {
            let is_known = UNDERSTOOD.contains(&word.as_str()) || WITHOUT_A_TYPE.contains(&word.as_str());
            assert!(is_known, "{name}: teach typescript.rs the word `{word}`");
            match (word.as_str(), value) {
                ("properties", Value::Object(fields)) => fields.values().for_each(|it| check(name, it)),
                ("oneOf" | "anyOf", Value::Array(variants)) => variants.iter().for_each(|it| check(name, it)),
                ("items" | "additionalProperties", schema) => check(name, schema),
                _ => {}
            }
        }
    }
    let document = openrpc();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(schemas.len() > 50);
    schemas.iter().for_each(|(name, schema)| check(name, schema));
    for method in METHODS {
        check(method.name, &{
            let mut schema = (method.params)().to_value();
            let words = schema.as_object_mut().unwrap();
            words.retain(|word, _| !["$schema", "$defs", "title"].contains(&word.as_str()));
            schema
        });
    }
}

#[test]
fn enums_are_open_where_the_daemon_speaks() {
    let page = typescript::page();
    let declaration = |name: &str| {
        let begin = page.find(&format!("export type {name} =")).unwrap_or_else(|| panic!("{name} is there"));
        page[begin..].split(";\n\n").next().unwrap()
    };
    for name in ["RunState", "RunEndReason", "ErrorKind", "AgentScope", "FinishReason"] {
        assert!(declaration(name).contains("(string & {})"), "{}", declaration(name));
    }
    for name in ["IfBusy", "DrainMode", "AttachFromKeyword", "ClientKind"] {
        assert!(!declaration(name).contains("(string & {})"), "{}", declaration(name));
    }
}

#[test]
fn no_type_is_declared_twice() {
    let page = typescript::page();
    let declared = page.lines().filter_map(|line| {
        let rest = line.strip_prefix("export type ").or_else(|| line.strip_prefix("export interface "))?;
        rest.split([' ', '<', '=']).next()
    });
    let mut names = HashSet::new();
    let twice: Vec<_> = declared.filter(|name| !names.insert(*name)).collect();
    assert_eq!(twice, [] as [&str; 0]);
    assert!(names.contains("Methods") && names.contains("EventEnvelope") && names.contains("RunRecord"));
}

/// TypeScript's own.
const OF_TYPESCRIPT: [&str; 2] = ["Record", "Omit"];

#[test]
fn every_type_that_is_named_is_declared() {
    let page = typescript::page();
    let declared: HashSet<&str> = page
        .lines()
        .filter_map(|line| {
            let kinds = ["export type ", "export interface ", "export const "];
            let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
            rest.split([' ', '<', '=', ':']).next()
        })
        .collect();
    let mut undeclared = BTreeSet::new();
    let mut is_comment = false;
    for line in page.lines() {
        is_comment |= line.trim_start().starts_with("/*");
        if !is_comment && !line.starts_with("//") {
            // Texts are no types, nor are the codes of errors and the parameters of generic types.
            let code = line.split('"').step_by(2).collect::<Vec<_>>().join(" ");
            let words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let types = words.filter(|word| {
                word.starts_with(|first: char| first.is_ascii_uppercase())
                    && word.contains(|letter: char| letter.is_ascii_lowercase())
            });
            let strangers = types.filter(|word| !declared.contains(word) && !OF_TYPESCRIPT.contains(word));
            undeclared.extend(strangers.map(str::to_owned));
        }
        is_comment &= !line.contains("*/");
    }
    assert_eq!(undeclared.into_iter().collect::<Vec<_>>(), [] as [String; 0]);
}

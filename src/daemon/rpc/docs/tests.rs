//! The documents are whole: nothing is named twice, every reference leads somewhere.

use super::*;

#[test]
fn no_name_means_two_types() {
    let mut schemas = Schemas::new("#/");
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

//! How much work is it to check a value against a schema?
//!
//! Schemas come from strangers too: a client, a workspace's command, a server. A few lines of one can make a check take
//! longer than anybody lives, since alternatives are tried at every level and a part may be named many times over. So the
//! steps of a check are counted before it is made. Counting is cheap: a part that meets the same value again costs what it
//! did before.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Parts of a schema that name others, at most. Each is followed when a schema is read.
const MAX_REFERENCES: usize = 1_000;

/// Pairs of a part and a value that are looked at, at most, to count the steps.
const MAX_PAIRS: usize = 200_000;

/// A check of more steps is not made. A step takes some 100 ns.
const MAX_STEPS: u64 = 2_000_000;

/// Parts within parts, of schema and value together: each takes a piece of the stack.
const MAX_DEPTH: usize = 1_000;

/// Keywords whose schemas hold for the value itself.
const HERE_ONE: &[&str] = &["not", "if", "then", "else"];
const HERE_MANY: &[&str] = &["allOf", "anyOf", "oneOf"];

/// True if a schema can be read without harm. It may still be that some value is too much work.
pub fn is_readable(schema: &Value) -> bool {
    fn count(value: &Value) -> usize {
        match value {
            Value::Object(fields) => {
                let own = usize::from(fields.contains_key("$ref"))
                    + usize::from(fields.contains_key("$dynamicRef"));
                own + fields.values().map(count).sum::<usize>()
            }
            Value::Array(items) => items.iter().map(count).sum(),
            _ => 0,
        }
    }
    // Its depth is bounded by whoever read it as JSON.
    count(schema) <= MAX_REFERENCES
}

/// True if the value can be checked in a time that nobody notices.
pub fn is_bearable(schema: &Value, value: &Value) -> bool {
    let mut counting = SchemaNodeCount { root: schema, known: HashMap::new(), begun: 0 };
    counting.steps(schema, value, 0).is_some_and(|steps| steps <= MAX_STEPS)
}

struct SchemaNodeCount<'a> {
    root: &'a Value,
    /// By where both stand in memory; `None` = it is being counted.
    known: HashMap<(*const Value, *const Value), Option<u64>>,
    begun: usize,
}

impl<'a> SchemaNodeCount<'a> {
    /// The steps of checking `value` against `schema`; `None` = too many to count.
    fn steps(&mut self, schema: &'a Value, value: &'a Value, depth: usize) -> Option<u64> {
        let Value::Object(keywords) = schema else { return Some(1) };
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        match self.known.get(&pair) {
            Some(Some(steps)) => return Some(*steps),
            // It leads back to itself without a step into the value: the check ends there, too.
            Some(None) => return Some(1),
            None => {}
        }
        self.begun += 1;
        if MAX_PAIRS < self.begun || MAX_DEPTH < depth {
            return None;
        }
        self.known.insert(pair, None);
        let here = self.steps_here(keywords, value, depth + 1)?;
        let within = match value {
            Value::Object(fields) => self.steps_of_fields(keywords, fields, depth + 1)?,
            Value::Array(items) => self.steps_of_items(keywords, items, depth + 1)?,
            _ => 0,
        };
        let mut steps = 1_u64.saturating_add(here).saturating_add(within);
        if keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems") {
            // What was looked at is found out by looking once more.
            steps = steps.saturating_mul(2);
        }
        self.known.insert(pair, Some(steps));
        Some(steps)
    }

    fn steps_here(
        &mut self,
        keywords: &'a Map<String, Value>,
        value: &'a Value,
        depth: usize,
    ) -> Option<u64> {
        let mut parts: Vec<&'a Value> = HERE_ONE.iter().filter_map(|name| keywords.get(*name)).collect();
        let many = HERE_MANY.iter().filter_map(|name| keywords.get(*name)?.as_array());
        parts.extend(many.flatten());
        parts.extend(
            keywords.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(Map::values),
        );
        for name in ["$ref", "$dynamicRef"] {
            if let Some(reference) = keywords.get(name).and_then(Value::as_str) {
                parts.push(self.named(reference)?);
            }
        }
        self.sum(parts.into_iter().map(|part| (part, value)), depth)
    }

    fn steps_of_fields(
        &mut self,
        keywords: &'a Map<String, Value>,
        fields: &'a Map<String, Value>,
        depth: usize,
    ) -> Option<u64> {
        let object = |name: &str| keywords.get(name).and_then(Value::as_object);
        let mut pairs: Vec<(&'a Value, &'a Value)> = Vec::new();
        let properties = object("properties");
        pairs.extend(
            properties.into_iter().flatten().filter_map(|(name, part)| Some((part, fields.get(name)?))),
        );
        // Which names a pattern fits is not asked: at worst all.
        let for_all = object("patternProperties").into_iter().flat_map(Map::values);
        let others =
            ["additionalProperties", "unevaluatedProperties"].iter().filter_map(|name| keywords.get(*name));
        for part in for_all.chain(others) {
            pairs.extend(fields.values().map(|value| (part, value)));
        }
        let names = keywords.get("propertyNames");
        let of_names = self.sum(names.into_iter().map(|part| (part, &Value::Null)), depth)?;
        let n_fields = u64::try_from(fields.len()).unwrap_or(u64::MAX);
        Some(self.sum(pairs.into_iter(), depth)?.saturating_add(of_names.saturating_mul(n_fields)))
    }

    fn steps_of_items(
        &mut self,
        keywords: &'a Map<String, Value>,
        items: &'a [Value],
        depth: usize,
    ) -> Option<u64> {
        let mut pairs: Vec<(&'a Value, &'a Value)> = Vec::new();
        let first = keywords.get("prefixItems").and_then(Value::as_array);
        pairs.extend(first.into_iter().flatten().zip(items));
        for part in ["items", "contains", "unevaluatedItems"].iter().filter_map(|name| keywords.get(*name)) {
            pairs.extend(items.iter().map(|item| (part, item)));
        }
        self.sum(pairs.into_iter(), depth)
    }

    fn sum(&mut self, pairs: impl Iterator<Item = (&'a Value, &'a Value)>, depth: usize) -> Option<u64> {
        let mut steps = 0_u64;
        for (part, value) in pairs {
            steps = steps.saturating_add(self.steps(part, value, depth)?);
        }
        Some(steps)
    }

    /// The part that a reference names; `None` where it cannot be told, which is then too much.
    fn named(&self, reference: &str) -> Option<&'a Value> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if document.is_empty() { self.root } else { find(self.root, "$id", document)? };
        let anchors = ["$anchor", "$dynamicAnchor"];
        match fragment {
            "" => Some(resource),
            pointer if pointer.starts_with('/') => resource.pointer(&decoded(pointer)?),
            name => anchors.iter().find_map(|anchor| find(resource, anchor, name)),
        }
    }
}

/// A fragment without its percent signs (RFC 3986, 2.1); `None` = it has a wrong one.
fn decoded(fragment: &str) -> Option<String> {
    let mut pieces = fragment.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(piece.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(piece.as_bytes().get(2..)?);
    }
    String::from_utf8(bytes).ok()
}

/// The first part that has this keyword with this word.
fn find<'a>(schema: &'a Value, keyword: &str, word: &str) -> Option<&'a Value> {
    match schema {
        Value::Object(fields) => {
            let is_it = fields.get(keyword).and_then(Value::as_str) == Some(word);
            if is_it { Some(schema) } else { fields.values().find_map(|part| find(part, keyword, word)) }
        }
        Value::Array(items) => items.iter().find_map(|part| find(part, keyword, word)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `d0` holds `d1` twice, which holds `d2` twice, and so on; each time for the value itself, or for a field of it.
    fn doubling(levels: usize, is_within: bool) -> Value {
        let part = |n: usize| {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            let next = if is_within { json!({ "properties": { "a": next } }) } else { next };
            json!({ "allOf": [next, next] })
        };
        let mut parts: Map<String, Value> = (0..levels).map(|n| (format!("d{n}"), part(n))).collect();
        parts.insert(format!("d{levels}"), json!({}));
        json!({ "$defs": parts, "$ref": "#/$defs/d0" })
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!({}), |value, _| json!({ "a": value }))
    }

    #[test]
    fn what_doubles_at_every_level_is_too_much() {
        for is_within in [false, true] {
            let schema = doubling(60, is_within);
            assert!(is_readable(&schema));
            assert!(!is_bearable(&schema, &nested(60)));
            // A little of it is nothing to worry about.
            assert!(is_bearable(&doubling(10, is_within), &nested(60)));
        }
        // What the value has no place for costs nothing.
        assert!(is_bearable(&doubling(60, true), &json!({ "b": 1 })));
        let recursive = json!({ "allOf": [
            { "properties": { "a": { "$ref": "#" } } }, { "properties": { "a": { "$ref": "#" } } },
        ] });
        assert!(!is_bearable(&recursive, &nested(60)));
        assert!(is_bearable(&recursive, &nested(10)));
    }

    #[test]
    fn the_steps_are_those_of_each_keyword() {
        let steps = |schema: Value, value: Value| {
            SchemaNodeCount { root: &schema, known: HashMap::new(), begun: 0 }.steps(&schema, &value, 0)
        };
        let thing = || json!({ "type": "string" });
        let cases = [
            (json!(true), json!(1), 1),
            (thing(), json!("a"), 1),
            (json!({ "not": thing(), "if": thing(), "then": thing(), "else": thing() }), json!(1), 5),
            (json!({ "anyOf": [thing(), thing()], "oneOf": [thing()], "allOf": [thing()] }), json!(1), 5),
            (json!({ "properties": { "a": thing(), "b": thing() } }), json!({ "a": 1 }), 2),
            (
                json!({ "patternProperties": { "x": thing() }, "additionalProperties": thing() }),
                json!({ "a": 1, "b": 2 }),
                5,
            ),
            (json!({ "propertyNames": thing() }), json!({ "a": 1, "b": 2 }), 3),
            (json!({ "prefixItems": [thing()], "items": thing(), "contains": thing() }), json!([1, 2]), 6),
            (json!({ "dependentSchemas": { "a": thing() } }), json!({}), 2),
            (json!({ "unevaluatedProperties": thing() }), json!({ "a": 1 }), 4),
            (json!({ "$defs": { "a b": thing() }, "$ref": "#/$defs/a%20b" }), json!(1), 2),
            (
                json!({ "$defs": { "x": { "$anchor": "here", "type": "string" } }, "$ref": "#here" }),
                json!(1),
                2,
            ),
            (json!({ "$defs": { "x": { "$id": "other", "type": "string" } }, "$ref": "other" }), json!(1), 2),
            // Round in a circle.
            (json!({ "$ref": "#" }), json!(1), 2),
        ];
        for (schema, value, expected) in cases {
            assert_eq!(steps(schema.clone(), value), Some(expected), "{schema}");
        }
        for unknown in ["#/nowhere", "#nowhere", "elsewhere", "#/%zz", "#/%f"] {
            assert_eq!(steps(json!({ "$ref": unknown }), json!(1)), None, "{unknown}");
        }
    }

    #[test]
    fn schemas_of_real_tools_are_no_work() {
        let tree = json!({
            "type": "object",
            "properties": { "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#" } } },
        });
        let leaf = json!({ "name": "x", "children": [] });
        let branch = json!({ "name": "x", "children": vec![leaf; 50] });
        let whole = json!({ "name": "x", "children": vec![branch; 100] });
        assert!(is_bearable(&tree, &whole));
        let long = json!({ "text": "x".repeat(1_000_000), "list": vec![1; 10_000] });
        let list = json!({ "properties": { "list": { "items": { "anyOf": [{ "type": "integer" }, { "type": "string" }] } } } });
        assert!(is_bearable(&list, &long));
    }

    #[test]
    fn endless_references_are_not_read() {
        let chain = |n: usize| {
            let parts: Map<String, Value> = (0..n)
                .map(|i| (format!("d{i}"), json!({ "$ref": format!("#/$defs/d{}", i + 1) })))
                .chain([(format!("d{n}"), json!({}))])
                .collect();
            json!({ "$defs": parts, "$ref": "#/$defs/d0" })
        };
        assert!(!is_readable(&chain(1_000)));
        let most = chain(900);
        assert!(is_readable(&most) && is_bearable(&most, &json!(1)));
    }
}

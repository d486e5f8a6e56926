//! A schema and answers in, what the server gets out, or why not.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn read(schema: Value) -> Result<Elicitation, String> {
    let params = json!({ "message": "Please.", "requestedSchema": schema });
    Elicitation::read(&params, "s", &Words::as_they_are())
}

fn one(text: &str) -> QuestionAnswer {
    QuestionAnswer::One(text.to_owned())
}

/// Every kind of field, two of each.
fn every_kind() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "title": "Name", "minLength": 2, "maxLength": 5 },
            "mail": { "type": "string", "format": "email" },
            "page": { "type": "string", "format": "uri" },
            "day": { "type": "string", "format": "date", "description": "When?" },
            "moment": { "type": "string", "format": "date-time" },
            "age": { "type": "integer", "minimum": 0, "maximum": 150 },
            "height": { "type": "number", "default": 1.5 },
            "agreed": { "type": "boolean", "default": false },
            "colour": { "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"] },
            "size": { "oneOf": [{ "const": "s", "title": "Small" }, { "const": "l", "title": "Large" }] },
            "days": { "type": "array", "minItems": 1, "maxItems": 2,
                      "items": { "type": "string", "enum": ["mo", "tu", "we"] } },
            "ways": { "type": "array", "items": { "anyOf": [{ "const": "a", "title": "By air" }] } },
        },
        "required": ["name", "age", "colour"],
    })
}

#[track_caller]
fn check(answers: &[QuestionAnswer], expect: Expect) {
    let elicitation = read(every_kind()).unwrap();
    let told = match (elicitation.check)(answers) {
        Ok(content) => content.to_string(),
        Err(violations) => violations
            .iter()
            .map(|it| format!("{} {}", it.pointer, it.message))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    expect.assert_eq(&told);
}

#[test]
fn every_kind_of_field_is_a_question() {
    let Ok(Elicitation { details: ConfirmationDetails::Question { questions }, title, .. }) =
        read(every_kind())
    else {
        panic!("no questions");
    };
    assert_eq!(title, "s asks: Please.");
    let lines: Vec<String> = questions.iter().map(|it| json!(it).to_string()).collect();
    expect![[r#""#]].assert_eq(&lines.join("\n"));
}

#[test]
fn answers_become_what_the_server_asked_for() {
    let several = |all: &[&str]| QuestionAnswer::Several(all.iter().map(|it| (*it).to_owned()).collect());
    check(
        &[
            one("Ada"),
            one("ada@example.org"),
            one("https://example.org/"),
            one("2026-02-28"),
            one("2026-02-28T08:00:00+01:00"),
            one(" 36 "),
            one("1.7"),
            one("Yes"),
            one("Green"),
            one("l"),
            several(&["mo", "we", "mo"]),
            one("By air"),
        ],
        expect![[r#""#]],
    );
    let mut left_out = vec![one("Ada"), one(""), one(""), one(""), one(""), one("0")];
    left_out.extend([one(""), one(" "), one("r"), one(""), several(&[]), several(&[])]);
    check(&left_out, expect![[r#""#]]);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let several = |all: &[&str]| QuestionAnswer::Several(all.iter().map(|it| (*it).to_owned()).collect());
    check(
        &[
            one("A"),
            one("ada"),
            one("nowhere"),
            one("2026-02-30"),
            one("yesterday"),
            one("36.5"),
            one("NaN"),
            one("maybe"),
            one("Blue"),
            several(&["Small", "Large"]),
            several(&["mo", "tu", "we"]),
            several(&["By sea"]),
        ],
        expect![[r#""#]],
    );
    check(&[one("")], expect![[r#""#]]);
}

#[test]
fn forms_that_nobody_could_fill_in_are_refused() {
    let refused = |schema: Value| read(schema).err().unwrap_or_else(|| "taken".to_owned());
    let of = |field: Value| json!({ "type": "object", "properties": { "x": field } });
    let many: Map<String, Value> =
        (0..21).map(|number| (format!("f{number}"), json!({ "type": "boolean" }))).collect();
    let told = [
        refused(of(json!({ "type": "object", "properties": {} }))),
        refused(of(json!({ "type": "array", "items": { "type": "number" } }))),
        refused(of(json!({}))),
        refused(of(json!({ "enum": [1, 2] }))),
        refused(of(json!({ "enum": [] }))),
        refused(json!({ "properties": many })),
        refused(json!({ "properties": 7 })),
        refused(json!({})),
    ];
    expect![[r#""#]].assert_eq(&told.join("\n"));
}

#[test]
fn a_page_to_open_is_named_with_its_host_and_only_of_the_web() {
    let read = |url: &str| {
        let params = json!({ "mode": "url", "message": "Log in.", "url": url, "elicitationId": "1" });
        Elicitation::read(&params, "s", &Words::as_they_are())
    };
    let Ok(Elicitation { details: ConfirmationDetails::Info { prompt }, .. }) =
        read("https://good.example@evil.example/x")
    else {
        panic!("no page");
    };
    assert!(prompt.contains("on evil.example:"), "{prompt}");
    for url in ["file:///etc/passwd", "javascript:alert(1)", "x", "http://"] {
        assert!(read(url).is_err(), "{url}");
    }
}

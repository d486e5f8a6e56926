//! A schema and answers in, what the server gets out, or why not.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn read(schema: Value) -> Result<Elicitation, String> {
    let params = json!({ "message": "Please.", "requestedSchema": schema });
    Elicitation::read(&params, "s", &TextSanitizer::as_they_are())
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
    expect![[r#"
        {"question":"The MCP server s asks: Please.\n\nName (2 to 5 characters)"}
        {"question":"mail (an e-mail address)","optional":true}
        {"question":"page (a URI)","optional":true}
        {"question":"day: When? (a date, e.g. 2026-01-31)","optional":true}
        {"question":"moment (a date and time, e.g. 2026-01-31T08:00:00Z)","optional":true}
        {"question":"age (a whole number, 0 to 150)","kind":"integer"}
        {"question":"height (a number)","kind":"number","optional":true,"default":"1.5"}
        {"question":"agreed","options":["yes","no"],"closed":true,"kind":"boolean","optional":true,"default":"no"}
        {"question":"colour","options":["Red","Green"],"closed":true}
        {"question":"size","options":["Small","Large"],"closed":true,"optional":true}
        {"question":"days (1 to 2 of them)","options":["mo","tu","we"],"multiSelect":true,"closed":true,"optional":true}
        {"question":"ways","options":["By air"],"multiSelect":true,"closed":true,"optional":true}"#]].assert_eq(&lines.join("\n"));
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
        expect![[
            r#"{"name":"Ada","mail":"ada@example.org","page":"https://example.org/","day":"2026-02-28","moment":"2026-02-28T08:00:00+01:00","age":36,"height":1.7,"agreed":true,"colour":"g","size":"l","days":["mo","we"],"ways":["a"]}"#
        ]],
    );
    let mut left_out = vec![one("Ada"), one(""), one(""), one(""), one(""), one("0")];
    left_out.extend([one(""), one(" "), one("r"), one(""), several(&[]), several(&[])]);
    check(&left_out, expect![[r#"{"name":"Ada","age":0,"height":1.5,"agreed":false,"colour":"r"}"#]]);
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
        expect![[r#"
            /answers/0 at least 2 characters, not 1
            /answers/1 needed: an e-mail address
            /answers/2 needed: a URI
            /answers/3 needed: a date, e.g. 2026-01-31
            /answers/4 needed: a date and time, e.g. 2026-01-31T08:00:00Z
            /answers/5 needed: a whole number
            /answers/6 needed: a number
            /answers/7 `yes` or `no`
            /answers/8 that is none of the choices
            /answers/9 one answer, not several
            /answers/10 at most 2 choices, not 3
            /answers/11 that is none of the choices"#]],
    );
    check(
        &[one("")],
        expect![[r#"
        /answers one answer a question: 12 needed, 1 given
        /answers/0 `Name` is needed; `deny` gives nothing"#]],
    );
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
    expect![[r#"
        field `x`: type `object` is none that a form has
        field `x`: only lists of choices are taken
        field `x`: `type` is needed
        field `x`: choices must be texts
        field `x`: 1 to 100 choices are taken, not 0
        21 fields are too many; 20 are taken
        `properties` of `requestedSchema` must be an object
        taken"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_page_to_open_is_named_with_its_host_and_only_of_the_web() {
    let read = |url: &str| {
        let params = json!({ "mode": "url", "message": "Log in.", "url": url, "elicitationId": "1" });
        Elicitation::read(&params, "s", &TextSanitizer::as_they_are())
    };
    let Ok(Elicitation { details: ConfirmationDetails::Info { prompt }, .. }) =
        read("https://good.example@evil.example/x")
    else {
        panic!("no page");
    };
    assert!(prompt.contains("on evil.example:"), "{prompt}");
    let Ok(Elicitation { details: ConfirmationDetails::Info { prompt }, .. }) =
        read("https://evil.example/\u{202e}moc.doog\u{200b}")
    else {
        panic!("no page");
    };
    assert!(prompt.contains("https://evil.example/%E2%80%AEmoc.doog%E2%80%8B"), "{prompt}");
    for url in ["file:///etc/passwd", "javascript:alert(1)", "x", "http://"] {
        assert!(read(url).is_err(), "{url}");
    }
}

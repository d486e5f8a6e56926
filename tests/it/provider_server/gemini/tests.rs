//! The judge can fail: each rule is broken once.

use serde_json::{Value, json};

use super::{
    super::{Answer, Asked, Judge as _, KEY},
    Judge,
};

fn asked(body: &str) -> Asked {
    let headers = [("content-type", "application/json"), ("x-goog-api-key", KEY)];
    Asked {
        line: "POST /v1beta/models/m:streamGenerateContent?alt=sse HTTP/1.1".to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        body: body.to_owned(),
    }
}

fn judge() -> Judge {
    let mut judge = Judge::default();
    let parts = r#"[{"text":"hm","thought":true,"thoughtSignature":"eA=="},{"functionCall":{"name":"t","args":{"n":1.0}}}]"#;
    let chunk = format!(r#"{{"candidates":[{{"content":{{"parts":{parts}}}}}]}}"#);
    judge.remember(&Answer::chunks([chunk]).chunks);
    judge
}

/// A request that has everything, verbatim.
const GOOD: &str = r#"{"systemInstruction":{"parts":[{"text":"s"}]},"tools":[{"functionDeclarations":[{"name":"t","description":"d","parametersJsonSchema":{"type":"object"}}]}],"generationConfig":{"temperature":1,"thinkingConfig":{"includeThoughts":true}},"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"eA=="},{"functionCall":{"name":"t","args":{"n":1.0}}}]},{"role":"user","parts":[{"functionResponse":{"name":"t","response":{"output":"o"}}},{"inlineData":{"mimeType":"m","data":""}},{"text":"b"}]}]}"#;

#[test]
fn good_requests_pass_and_each_fault_is_seen() {
    let mut judge_of_good = judge();
    judge_of_good.request(&asked(GOOD));
    assert_eq!(judge_of_good.violations, [""; 0]);

    let faults: &[(&str, &str, &str)] = &[
        (
            r#""role":"user","parts":[{"text":"a"}]"#,
            r#""role":"model","parts":[{"text":"a"}]"#,
            "is not the user's",
        ),
        (r#"{"text":"a"}"#, "", "has no parts"),
        (r#"{"text":"a"}"#, r#"{"text":"a","extra":1}"#, "Unknown name \"extra\" in part"),
        (r#"{"text":"a"}"#, r#"{"thought":true}"#, "not exactly one kind of data"),
        (r#""thoughtSignature":"eA==""#, r#""thoughtSignature":"eQ==""#, "not as the model said it"),
        (r#"{"text":"hm","thought":true,"thoughtSignature":"eA=="},"#, "", "not as the model said it"),
        (r#""n":1.0"#, r#""n":1"#, "not as the model said it"),
        (r#"{"functionResponse":{"name":"t","response":{"output":"o"}}},"#, "", "answers []"),
        (
            r#"{"functionResponse":{"name":"t""#,
            r#"{"functionResponse":{"name":"u""#,
            "and the calls before it are",
        ),
        (
            r#"{"functionResponse":{"name":"t""#,
            r#"{"functionResponse":{"id":"1","name":"t""#,
            "the calls before it are",
        ),
        (r#"{"functionResponse""#, r#"{"text":"x"},{"functionResponse""#, "something before its responses"),
        (r#"{"output":"o"}"#, r#"{"result":"o"}"#, "neither output nor error"),
        (
            r#""parametersJsonSchema":{"type":"object"}"#,
            r#""parametersJsonSchema":{}"#,
            "no schema of an object",
        ),
        (
            r#""functionDeclarations":[{"name":"t""#,
            r#""functionDeclarations":[{"name":"a.b""#,
            "no name for a function",
        ),
        (r#""temperature""#, r#""temp""#, "Unknown name \"temp\" in generationConfig"),
        (r#""systemInstruction""#, r#""system""#, "Unknown name \"system\" in request"),
        (r#""text":"s""#, r#""text":"AIza-test-key-that-must-not-show""#, "the key stands"),
        (r#"{"systemInstruction""#, r#"["systemInstruction""#, "the body is no request"),
    ];
    for (from, to, expected) in faults {
        assert!(GOOD.contains(from), "{from}");
        let mut judge = judge();
        judge.request(&asked(&GOOD.replacen(from, to, 1)));
        assert!(judge.violations.iter().any(|it| it.contains(expected)), "{to}: {:?}", judge.violations);
    }
}

#[test]
fn calls_must_be_answered_and_responses_asked_for() {
    let contents = |edit: fn(&mut Vec<Value>)| {
        let mut body: Value = serde_json::from_str(GOOD).unwrap();
        edit(body["contents"].as_array_mut().unwrap());
        let mut judge = Judge::default();
        judge.request(&asked(&body.to_string()));
        judge.violations.join("\n")
    };
    assert!(contents(|it| it.truncate(2)).contains("is the last and has calls"));
    assert!(contents(|it| it.truncate(2)).contains("the last content is not the user's"));
    assert!(contents(Vec::clear).contains("contents is empty"));
    assert!(contents(|it| drop(it.drain(..2))).contains("the calls before it are []"));
    assert!(contents(|it| it.swap(1, 2)).contains("roles alternate"));
}

#[test]
fn the_envelope_is_judged_too() {
    let faults: &[fn(&mut Asked)] = &[
        |asked| {
            asked.line = format!("POST /v1beta/models/m:streamGenerateContent?alt=sse&key={KEY} HTTP/1.1")
        },
        |asked| asked.line = "POST /v1/models/m:streamGenerateContent?alt=sse HTTP/1.1".to_owned(),
        |asked| asked.headers[1].1 = "other".to_owned(),
        |asked| drop(asked.headers.remove(0)),
    ];
    for fault in faults {
        let mut judge = judge();
        let mut asked =
            asked(&json!({ "contents": [{ "role": "user", "parts": [{ "text": "a" }] }] }).to_string());
        fault(&mut asked);
        judge.request(&asked);
        assert!(!judge.violations.is_empty(), "{}", asked.line);
    }
}

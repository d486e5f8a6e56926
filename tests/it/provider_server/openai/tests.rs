//! The judge can fail: each rule is broken once.

use super::{
    super::{Asked, Judge as _, KEY},
    Judge,
};

const GOOD: &str = r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"t"}]},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"glob","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"grep","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":""},{"role":"tool","tool_call_id":"c2","content":"x"},{"role":"user","content":"y"}],"tools":[{"type":"function","function":{"name":"glob","description":"d","parameters":{"type":"object"}}}]}"#;

fn violations(line: &str, key: Option<&str>, content_type: &str, body: &str) -> Vec<String> {
    let mut headers = vec![("content-type".to_owned(), content_type.to_owned())];
    headers.extend(key.map(|key| ("authorization".to_owned(), format!("Bearer {key}"))));
    let mut judge = Judge::new(true);
    judge.request(&Asked { line: line.to_owned(), headers, body: body.to_owned() });
    judge.violations().clone()
}

fn of_body(body: &str) -> Vec<String> {
    violations("POST /v1/chat/completions HTTP/1.1", Some(KEY), "application/json", body)
}

#[test]
fn a_good_request_is_good_and_each_rule_can_be_broken() {
    assert_eq!(of_body(GOOD), [""; 0]);
    let cases = [
        (r#""model":"m""#, r#""model":1"#, "no model"),
        (r#""stream":true"#, r#""stream":false"#, "no stream"),
        (r#""include_usage":true"#, r#""include_usage":false"#, "no stream"),
        (r#""model":"m""#, r#""model":"m","x":1"#, "unknown field `x`"),
        (r#""model":"m""#, r#""model":"gpt-5-mini","temperature":0"#, "does not take `temperature`"),
        (r#""model":"m""#, r#""model":"o3","top_p":1"#, "does not take `top_p`"),
        (r#"{"role":"system""#, r#"{"role":"root""#, "the role `root`"),
        (r#""text":"t""#, r#""text":"""#, "is none"),
        (r#""content":"y""#, r#""content":"""#, "is none"),
        (r#""content":"y""#, r#""content":[]"#, "is none"),
        (
            r#""content":"y""#,
            r#""content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}}]"#,
            "is none",
        ),
        (r#""tool_call_id":"c1""#, r#""tool_call_id":"c9""#, "the result of no call"),
        (r#"{"role":"tool","tool_call_id":"c2","content":"x"},"#, "", "between calls and their results"),
        (r#""content":"x"}"#, r#""content":[]}"#, "is no text"),
        (r#""id":"c2""#, r#""id":"c1""#, "or another's"),
        (r#""arguments":"{}""#, r#""arguments":"[]""#, "no object in a text"),
        (r#""name":"glob","arguments""#, r#""name":"a.b","arguments""#, "no name of a function"),
        (r#""parameters":{"type":"object"}"#, r#""parameters":{}"#, "no object's"),
        (r#""messages":["#, r#""messages":3,"x":["#, "no messages"),
    ];
    for (from, to, expected) in cases {
        let told = of_body(&GOOD.replacen(from, to, 1));
        assert!(told.iter().any(|it| it.contains(expected)), "{to}: {told:?}");
    }
    assert!(!of_body("{").is_empty());
}

#[test]
fn the_envelope_is_judged_too() {
    let good = ("POST /v1/chat/completions HTTP/1.1", Some(KEY), "application/json");
    let bad = [
        ("POST /chat/completions HTTP/1.1", good.1, good.2),
        (good.0, None, good.2),
        (good.0, Some("other"), good.2),
        (good.0, good.1, "text/plain"),
    ];
    for (line, key, content_type) in bad {
        assert_eq!(violations(line, key, content_type, GOOD).len(), 1, "{line} {key:?} {content_type}");
    }
}

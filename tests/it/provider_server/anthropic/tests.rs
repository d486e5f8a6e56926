//! The judge can fail: each rule is broken once.

use super::{
    super::{Asked, Judge as _, KEY},
    Judge,
};

const GOOD: &str = r#"{"model":"m","max_tokens":4096,"stream":true,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"thinking":{"type":"enabled","budget_tokens":2048},"messages":[{"role":"user","content":[{"type":"text","text":"t"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"t1","name":"glob","input":{}},{"type":"tool_use","id":"t2","name":"grep","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}]},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"x"}]},{"type":"text","text":"y"}]}],"tools":[{"name":"glob","description":"d","input_schema":{"type":"object"}}]}"#;
const LINE: &str = "POST /v1/messages HTTP/1.1";
const HEADERS: [(&str, &str); 3] =
    [("x-api-key", KEY), ("anthropic-version", "2023-06-01"), ("content-type", "application/json")];

fn violations(line: &str, headers: &[(&str, &str)], body: &str) -> Vec<String> {
    let mut judge = Judge::default();
    let event = |delta: &str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
    judge.remember(&[event(r#"{"thinking":"hm"}"#), event(r#"{"signature":"sig"}"#)]);
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    judge.request(&Asked { line: line.to_owned(), headers, body: body.to_owned() });
    judge.violations().clone()
}

#[test]
fn a_good_request_is_good_and_each_rule_can_be_broken() {
    assert_eq!(violations(LINE, &HEADERS, GOOD), [""; 0]);
    let cases = [
        (r#""stream":true"#, r#""stream":false"#, "no stream"),
        (r#""max_tokens":4096,"#, "", "max_tokens is missing"),
        (r#""budget_tokens":2048"#, r#""budget_tokens":1023"#, "refuses to think"),
        (r#""budget_tokens":2048"#, r#""budget_tokens":4096"#, "refuses to think"),
        (r#""stream":true"#, r#""stream":true,"temperature":1"#, "refuses to think"),
        (r#""model":"m""#, r#""model":"claude-sonnet-5-5""#, "refuses to think"),
        (r#"{"type":"enabled","budget_tokens":2048}"#, r#"{"type":"adaptive"}"#, "refuses to think"),
        (r#"{"type":"enabled","budget_tokens":2048}"#, r#"{"type":"disabled"}"#, "refuses to think"),
        (r#""model":"m""#, r#""model":"m","output_config":{"effort":"low"}"#, "this effort"),
        (r#""model":"m""#, r#""model":"claude-opus-5","output_config":{"effort":"less"}"#, "this effort"),
        (r#""model":"m""#, r#""model":"claude-haiku-4-5","temperature":1,"top_p":1"#, "2 sampling"),
        (r#""model":"m""#, r#""model":"claude-opus-4-7","top_p":1"#, "1 sampling"),
        (r#""stream":true"#, r#""stream":true,"x":1"#, "unknown field `x`"),
        (r#""text":"t""#, r#""text":" ""#, "a text is blank"),
        (r#"{"role":"assistant""#, r#"{"role":"user""#, "has the role"),
        (r#""signature":"sig""#, r#""signature":"other""#, "not what was signed"),
        (r#""thinking":"hm""#, r#""thinking":"h m""#, "not what was signed"),
        (r#""id":"t2""#, r#""id":"t1""#, "or another's"),
        (r#""id":"t2""#, r#""id":"t 2""#, "no id of a call"),
        (r#""input":{}"#, r#""input":[]"#, "no object"),
        (r#""tool_use_id":"t1""#, r#""tool_use_id":"t9""#, "the result of no call"),
        (r#""tool_use_id":"t1""#, r#""tool_use_id":"t9""#, "has no results of"),
        (r#"image/png"#, r#"image/bmp"#, "source of a block"),
        (
            r#"[{"type":"tool_result""#,
            r#"[{"type":"text","text":"z"},{"type":"tool_result""#,
            "behind other blocks",
        ),
        (r#""name":"glob","input""#, r#""name":"a.b","input""#, "no name of a tool"),
        (r#""input_schema":{"type":"object"}"#, r#""input_schema":{}"#, "no object's"),
        (r#""messages":["#, r#""messages":3,"x":["#, "no messages"),
    ];
    for (from, to, expected) in cases {
        let told = violations(LINE, &HEADERS, &GOOD.replacen(from, to, 1));
        assert!(told.iter().any(|it| it.contains(expected)), "{to}: {told:?}");
    }
    assert!(!violations(LINE, &HEADERS, "{").is_empty());
}

#[test]
fn the_envelope_is_judged_too() {
    assert_eq!(violations("POST /messages HTTP/1.1", &HEADERS, GOOD).len(), 1);
    for (left_out, _) in HEADERS {
        let headers: Vec<_> = HEADERS.into_iter().filter(|(name, _)| *name != left_out).collect();
        assert_eq!(violations(LINE, &headers, GOOD).len(), 1, "{left_out}");
    }
}

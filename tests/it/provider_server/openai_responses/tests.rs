//! The judge can fail: each rule is broken once.

use super::{
    super::{Asked, Judge as _, KEY},
    Judge,
};

const GOOD: &str = r#"{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"s","max_output_tokens":16,"reasoning":{"effort":"low"},"text":{"format":{"type":"json_schema","name":"reply","schema":{},"strict":false}},"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"t"},{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"auto"}]},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","id":"fc_1","call_id":"c1","name":"glob","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"grep","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":""},{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"x"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"z"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"y"}]}],"tools":[{"type":"function","name":"glob","description":"d","parameters":{"type":"object"},"strict":false}]}"#;
const SAID: [&str; 2] = [
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"glob","arguments":"{}"}}"#,
];
const THOUGHT: &str = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},"#;

fn violations(line: &str, key: Option<&str>, content_type: &str, body: &str) -> Vec<String> {
    let mut headers = vec![("content-type".to_owned(), content_type.to_owned())];
    headers.extend(key.map(|key| ("authorization".to_owned(), format!("Bearer {key}"))));
    let mut judge = Judge::default();
    judge.remember(&SAID.map(str::to_owned));
    judge.request(&Asked { line: line.to_owned(), headers, body: body.to_owned() });
    judge.violations().clone()
}

fn of_body(body: &str) -> Vec<String> {
    violations("POST /v1/responses HTTP/1.1", Some(KEY), "application/json", body)
}

#[test]
fn a_good_request_is_good_and_each_rule_can_be_broken() {
    assert_eq!(of_body(GOOD), [""; 0]);
    let long = format!(r#""call_id":"{}""#, "c".repeat(65));
    let cases = [
        (r#""model":"m""#, r#""model":1"#, "no stream of a model"),
        (r#""stream":true"#, r#""stream":false"#, "no stream of a model"),
        (r#""model":"m""#, r#""model":"m","x":1"#, "unknown field `x`"),
        (r#""store":false"#, r#""store":true"#, "it is kept"),
        (r#""include":["reasoning.encrypted_content"],"#, "", "it is kept"),
        (r#""instructions":"s""#, r#""instructions":"""#, "instructions are empty"),
        (r#""max_output_tokens":16"#, r#""max_output_tokens":15"#, "below the minimum"),
        (r#"{"effort":"low"}"#, r#"{"budget":3}"#, "unknown field `budget`"),
        (r#""format":{"#, r#""verbosity":1,"format":{"#, "unknown field `verbosity`"),
        (r#""type":"json_schema""#, r#""type":"text""#, "the format is no schema"),
        (r#""name":"reply""#, r#""name":"re ply""#, "no name of a function"),
        (r#""role":"user""#, r#""role":"root""#, "has the role"),
        (r#""text":"t""#, r#""text":"""#, "is none"),
        (r#"{"type":"input_text","text":"y"}"#, "", "says nothing"),
        (r#"{"type":"input_text","text":"y"}"#, r#"{"type":"output_text","text":"y"}"#, "is none"),
        (r#"{"type":"output_text","text":"z"}"#, r#"{"type":"input_text","text":"z"}"#, "is none"),
        ("data:image/png", "data:image/bmp", "is none"),
        (r#","detail":"auto""#, "", "is none"),
        (r#""filename":"a.pdf","#, "", "is none"),
        ("data:application/pdf", "data:text/plain", "is none"),
        (r#""encrypted_content":"gAAA""#, r#""encrypted_content":null"#, "cannot be found"),
        (r#""encrypted_content":"gAAA""#, r#""encrypted_content":"gAAB""#, "not what was said"),
        (r#""summary":[],"#, r#""summary": [],"#, "not what was said"),
        (r#""id":"fc_1""#, r#""id":"fc_9""#, "nobody said"),
        (THOUGHT, "", "without its thought"),
        (
            r#"{"type":"message","role":"assistant""#,
            &format!("{THOUGHT}{{\"type\":\"message\",\"role\":\"user\""),
            "led to nothing",
        ),
        (r#""call_id":"c1","output""#, r#""call_id":"c9","output""#, "the result of no call"),
        (
            r#"{"type":"function_call_output","call_id":"c1","output":""},"#,
            "",
            "between calls and their results",
        ),
        (r#""output":"""#, r#""output":[]"#, "is none"),
        (r#""call_id":"c2""#, r#""call_id":"c1""#, "or another's"),
        (r#""call_id":"c2""#, &long, "no id of a call"),
        (r#""name":"grep","arguments":"{}""#, r#""name":"grep","arguments":"[]""#, "no object in a text"),
        (r#""name":"grep""#, r#""name":"a.b""#, "no name of a function"),
        (
            r#"{"type":"message","role":"assistant""#,
            r#"{"type":"speech","role":"assistant""#,
            "there is no `speech`",
        ),
        (r#""parameters":{"type":"object"}"#, r#""parameters":{}"#, "no object's"),
        (r#","strict":false}]}"#, "}]}", "is strict"),
        (r#""input":["#, r#""input":[],"x":["#, "no input"),
    ];
    for (from, to, expected) in cases {
        assert!(GOOD.contains(from), "{from}");
        let told = of_body(&GOOD.replacen(from, to, 1));
        assert!(told.iter().any(|it| it.contains(expected)), "{to}: {told:?}");
    }
    let no_results = GOOD.split(r#","input":["#).next().unwrap().to_owned()
        + r#","input":[{"type":"function_call","call_id":"c2","name":"grep","arguments":"{}"}]}"#;
    assert!(of_body(&no_results).iter().any(|it| it.contains("calls have no results")));
    let no_tools = GOOD.split(r#","tools":["#).next().unwrap().to_owned() + r#","tools":[]}"#;
    assert!(of_body(&no_tools).iter().any(|it| it.contains("list of tools is empty")));
    assert!(!of_body("{").is_empty());
}

#[test]
fn the_envelope_is_judged_too() {
    let good = ("POST /v1/responses HTTP/1.1", Some(KEY), "application/json");
    let bad = [
        ("POST /v1/chat/completions HTTP/1.1", good.1, good.2),
        (good.0, None, good.2),
        (good.0, Some("other"), good.2),
        (good.0, good.1, "text/plain"),
    ];
    for (line, key, content_type) in bad {
        assert_eq!(violations(line, key, content_type, GOOD).len(), 1, "{line} {key:?} {content_type}");
    }
}

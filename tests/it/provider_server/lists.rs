//! Would a provider take this request for the list of its models?

use super::Asked;

/// What one provider documents of it.
pub struct Rules {
    pub path: &'static str,
    /// Parameters that it knows.
    pub query: &'static [&'static str],
    /// Headers that a request has, or must not have.
    pub headers: &'static [(&'static str, Option<&'static str>)],
}

/// What is wrong with a request; `None` = it does not ask for the list.
pub fn judge(asked: &Asked, rules: &Rules) -> Option<Vec<String>> {
    let target = asked.line.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")?;
    let mut violations = Vec::new();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != rules.path {
        violations.push(format!("no method answers `{}`", asked.line));
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !rules.query.contains(&name) || value.is_empty() {
            violations.push(format!("the list knows no parameter `{pair}`"));
        }
    }
    for (name, expected) in rules.headers {
        if asked.header(name) != *expected {
            violations.push(format!("`{name}` is {:?}", asked.header(name)));
        }
    }
    if !asked.body.is_empty() {
        violations.push("the list is asked for with a body".to_owned());
    }
    Some(violations)
}

#[test]
fn each_rule_can_be_broken() {
    const RULES: Rules =
        Rules { path: "/v1/models", query: &["limit"], headers: &[("x-key", Some("k")), ("other", None)] };
    let judged = |line: &str, headers: &[(&str, &str)], body: &str| {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        judge(&Asked { line: line.to_owned(), headers, body: body.to_owned() }, &RULES)
    };
    let key: &[(&str, &str)] = &[("x-key", "k")];
    assert_eq!(judged("GET /v1/models?limit=7 HTTP/1.1", key, ""), Some(Vec::new()));
    assert_eq!(judged("POST /v1/models HTTP/1.1", key, ""), None);
    type Headers<'a> = &'a [(&'a str, &'a str)];
    let bad: &[(&str, Headers<'_>, &str)] = &[
        ("GET /v2/models HTTP/1.1", key, ""),
        ("GET /v1/models?page=7 HTTP/1.1", key, ""),
        ("GET /v1/models?limit= HTTP/1.1", key, ""),
        ("GET /v1/models HTTP/1.1", &[], ""),
        ("GET /v1/models HTTP/1.1", &[("x-key", "k"), ("other", "x")], ""),
        ("GET /v1/models HTTP/1.1", key, "{}"),
    ];
    for (line, headers, body) in bad {
        assert_eq!(judged(line, headers, body).map(|it| it.len()), Some(1), "{line} {headers:?}");
    }
}

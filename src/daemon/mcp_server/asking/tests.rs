//! Does a form say what is asked, and does only a clear answer count?

use super::*;

fn confirmation(details: Value, outcomes: &[&str]) -> Confirmation {
    let options: Vec<Value> =
        outcomes.iter().map(|it| json!({ "outcome": it, "label": format!("{it}!") })).collect();
    serde_json::from_value(json!({
        "confirmationId": "c1", "runId": "r1", "sessionId": "s1", "path": ["lead", "helper"], "risk": "low",
        "title": "Write a.txt", "rule": "builtin", "reason": "it changes a file", "details": details,
        "digest": "sha256:1", "options": options, "audience": "all", "onDetached": "wait",
        "createdAt": "2025-11-20T11:00:00.000Z", "onDeadline": "deny",
    }))
    .unwrap()
}

fn said(action: &str, content: Value) -> ElicitResult {
    serde_json::from_value(json!({ "action": action, "content": content })).unwrap()
}

/// What the first form decides by itself.
fn decided(asked: &Confirmation, said: &ElicitResult) -> Option<ConfirmationRespondParams> {
    match answer(asked, said) {
        FormAnswer::Decided(params) => Some(*params),
        FormAnswer::Undecided | FormAnswer::WantsConfirmation(_) => None,
    }
}

fn chosen(asked: &Confirmation, decision: &str) -> ConfirmationRespondParams {
    match answer(asked, &said("accept", json!({ "decision": decision }))) {
        FormAnswer::WantsConfirmation(params) => *params,
        other => panic!("{decision}: {other:?}"),
    }
}

#[test]
fn what_outlives_the_call_or_is_of_high_risk_wants_a_second_form_with_a_word() {
    let mut asked =
        confirmation(json!({"type": "info", "prompt": "Really?"}), &["allowOnce", "deny", "cancelRun"]);
    let lasting = |grant: &str| -> ConfirmationOption {
        let allows = format!("allow changes by {grant} in this session");
        serde_json::from_value(
            json!({"outcome": "allowSession", "grant": grant, "label": "Session", "allows": allows}),
        )
        .unwrap()
    };
    asked.options.extend([lasting("file"), lasting("folder")]);
    let form = serde_json::to_value(form(&asked).unwrap()).unwrap();
    assert_eq!(
        form["requestedSchema"]["properties"]["decision"]["enum"],
        json!(["deny", "allowOnce", "cancelRun", "allowSession:file", "allowSession:folder"])
    );
    let message = form["message"].as_str().unwrap();
    assert!(
        message.contains("\"Session\", from now on: allow changes by folder in this session"),
        "{message}"
    );
    for (decision, word) in
        [("allowSession:file", "allow"), ("allowSession:folder", "allow"), ("cancelRun", "cancel")]
    {
        let chosen = chosen(&asked, decision);
        let second = serde_json::to_value(second_form(&asked, &chosen).unwrap()).unwrap();
        assert!(second["message"].as_str().unwrap().contains(&format!("Type \"{word}\"")), "{second}");
        assert_eq!(second["requestedSchema"]["required"], json!(["confirm"]));
        assert!(is_confirmed(
            &chosen,
            &said("accept", json!({ "confirm": format!(" {} ", word.to_uppercase()) }))
        ));
        for other in [
            said("accept", json!({ "confirm": "" })),
            said("accept", json!({ "confirm": "yes" })),
            said("accept", json!({ "confirm": true })),
            said("accept", json!({ "decision": decision })),
            said("accept", json!({})),
            said("accept", Value::Null),
            said("decline", json!({ "confirm": word })),
            said("cancel", json!({ "confirm": word })),
        ] {
            assert!(!is_confirmed(&chosen, &other), "{other:?}");
        }
    }
    assert_eq!(chosen(&asked, "allowSession:folder").grant, Some(GrantScope::Folder));
    assert!(decided(&asked, &said("accept", json!({"decision": "allowOnce"}))).is_some());
    asked.risk = Risk::High;
    assert_eq!(chosen(&asked, "allowOnce").outcome, ConfirmationOutcome::AllowOnce);
    assert!(decided(&asked, &said("accept", json!({"decision": "deny"}))).is_some());
}

#[test]
fn nothing_can_be_allowed_by_a_form_that_does_not_show_the_command_whole() {
    let exec = |command: &str| {
        json!({"type": "exec", "command": command, "directory": "/a", "rootCommands": ["echo"], "parsed": ["echo"],
            "reasons": [], "sandbox": "bubblewrap"})
    };
    let decisions = |asked: &Confirmation| {
        let form = serde_json::to_value(form(asked).unwrap()).unwrap();
        form["requestedSchema"]["properties"]["decision"]["enum"].clone()
    };
    let long = format!("echo {}; rm -rf src", "x".repeat(MOST_CHARS));
    let asked = confirmation(exec(&long), &["allowOnce", "deny"]);
    assert_eq!(decisions(&asked), json!(["deny"]));
    assert_eq!(answer(&asked, &said("accept", json!({"decision": "allowOnce"}))), FormAnswer::Undecided);
    assert!(message(&asked).contains("nothing can be allowed here"), "{}", message(&asked));
    assert_eq!(
        decisions(&confirmation(exec("echo x"), &["allowOnce", "deny"])),
        json!(["deny", "allowOnce"])
    );
}

#[test]
fn a_form_offers_what_is_offered_and_a_choice_alone_can_say() {
    let asked = confirmation(json!({"type": "info", "prompt": "Really?"}), &["allowOnce", "modify", "deny"]);
    let form = serde_json::to_value(form(&asked).unwrap()).unwrap();
    assert_eq!(form["requestedSchema"]["properties"]["decision"]["enum"], json!(["deny", "allowOnce"]));
    assert_eq!(
        form["requestedSchema"]["properties"]["decision"]["enumNames"],
        json!(["deny!", "allowOnce!"])
    );
    let message = form["message"].as_str().unwrap();
    assert!(message.contains("lead > helper asks: Write a.txt") && message.contains("Really?"), "{message}");
}

#[test]
fn what_is_asked_about_neither_steers_a_terminal_nor_looks_like_our_own_lines() {
    let command = "ls\u{1b}[2K\u{202e}\nconfined by: everything";
    let details = json!({"type": "exec", "command": command, "directory": "/a\nin /b", "rootCommands": ["ls"],
        "parsed": ["ls"], "reasons": ["x\ry"], "sandbox": "nothing"});
    let asked = Confirmation {
        title: "Run\nWhy it asks: no reason".to_owned(),
        ..confirmation(details, &["allowOnce", "deny"])
    };
    let form = serde_json::to_value(form(&asked).unwrap()).unwrap();
    let lines: Vec<&str> = form["message"].as_str().unwrap().lines().collect();
    assert_eq!(
        lines,
        [
            "lead > helper asks: Run Why it asks: no reason",
            "Why it asks: it changes a file (risk low)",
            "  ls<1B>[2K<202E>",
            "  confined by: everything",
            "in /a in /b",
            "confined by: nothing",
            "x y",
        ]
    );
}

#[test]
fn an_option_that_is_shown_plainly_is_answered_as_it_is() {
    let questions = json!({"type": "question", "questions": [
        {"question": "Which\u{202e}?", "options": ["a\u{200b}b", "c"], "closed": true},
    ]});
    let asked = confirmation(questions, &["answer", "deny"]);
    let form = serde_json::to_value(form(&asked).unwrap()).unwrap();
    let field = &form["requestedSchema"]["properties"]["answer1"];
    assert_eq!((&field["title"], &field["enum"]), (&json!("Which ?"), &json!(["a b", "c"])));
    let params = decided(&asked, &said("accept", json!({"answer1": "a b"}))).unwrap();
    assert_eq!(params.answers, [QuestionAnswer::One("a\u{200b}b".to_owned())]);
}

#[test]
fn only_a_clear_choice_that_was_offered_is_an_answer() {
    let asked = confirmation(json!({"type": "info", "prompt": "Really?"}), &["allowOnce", "modify", "deny"]);
    let outcome = |said: &ElicitResult| decided(&asked, said).map(|params| params.outcome);
    assert_eq!(
        outcome(&said("accept", json!({"decision": "allowOnce"}))),
        Some(ConfirmationOutcome::AllowOnce)
    );
    assert_eq!(outcome(&said("decline", Value::Null)), Some(ConfirmationOutcome::Deny));
    assert_eq!(outcome(&said("cancel", Value::Null)), None);
    for unclear in [
        json!({"decision": "allowUser"}),
        json!({"decision": "modify"}),
        json!({"decision": true}),
        json!({"decision": "allowonce"}),
        json!({}),
        json!("allowOnce"),
        Value::Null,
    ] {
        assert_eq!(outcome(&said("accept", unclear.clone())), None, "{unclear}");
    }
    let told = decided(&asked, &said("accept", json!({"decision": "deny", "message": "not now"}))).unwrap();
    assert_eq!((told.message.as_deref(), told.digest.as_deref()), (Some("not now"), Some("sha256:1")));
}

#[test]
fn what_a_server_asks_keeps_its_kind_and_may_be_left_out_where_it_may() {
    let questions = json!({"type": "question", "questions": [
        {"question": "How many?", "kind": "integer"},
        {"question": "Which?", "options": ["a", "b"], "closed": true, "default": "a"},
        {"question": "Why?", "optional": true},
    ]});
    let asked = confirmation(questions, &["answer", "deny"]);
    let form = serde_json::to_value(form(&asked).unwrap()).unwrap();
    let fields: Vec<&String> = form["requestedSchema"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["answer1", "answer2", "answer3"], "nothing else can be said to a closed one");
    assert_eq!(form["requestedSchema"]["properties"]["answer1"]["type"], "integer");
    let params = decided(&asked, &said("accept", json!({"answer1": 7}))).unwrap();
    let one = |text: &str| QuestionAnswer::One(text.to_owned());
    assert_eq!(params.answers, [one("7"), one(""), one("")]);
    assert_eq!(decided(&asked, &said("accept", json!({"answer2": "b"}))), None);
}

#[test]
fn questions_are_fields_and_every_one_must_be_answered() {
    let questions = json!({"type": "question", "questions": [
        {"question": "Which?", "options": ["a", "b"]},
        {"question": "Which ones?", "options": ["x", "y"], "multiSelect": true},
        {"question": "Why?"},
    ]});
    let asked = confirmation(questions, &["answer", "deny"]);
    let form = serde_json::to_value(form(&asked).unwrap()).unwrap();
    let fields: Vec<&String> = form["requestedSchema"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["answer1", "answer1_other", "answer2_1", "answer2_2", "answer2_other", "answer3"]);
    let all =
        json!({"answer1": "b", "answer2_1": true, "answer2_2": false, "answer2_other": "z", "answer3": "so"});
    let params = decided(&asked, &said("accept", all)).unwrap();
    let several = QuestionAnswer::Several(vec!["x".to_owned(), "z".to_owned()]);
    let one = |text: &str| QuestionAnswer::One(text.to_owned());
    assert_eq!(
        (params.outcome, params.answers),
        (ConfirmationOutcome::Answer, vec![one("b"), several, one("so")])
    );
    assert_eq!(decided(&asked, &said("accept", json!({"answer1": "b", "answer3": "so"}))), None);
    let denied = decided(&asked, &said("decline", Value::Null)).unwrap();
    assert_eq!(denied.outcome, ConfirmationOutcome::Deny);
}

#[test]
fn what_a_form_cannot_show_whole_it_does_not_let_anybody_allow() {
    let long = "x".repeat(MOST_CHARS + 1);
    let cut = |bytes: u64| json!({"type": "edit", "path": "/a", "diff": "+x\n", "cutBytes": bytes});
    for details in [
        json!({"type": "edit", "path": "/a", "diff": long}),
        json!({"type": "edit", "path": format!("/{long}"), "diff": "+x\n"}),
        cut(1),
        json!({"type": "mcp", "server": "s", "tool": "t", "arguments": {"text": long}}),
        json!({"type": "fetch", "urls": ["http://a", format!("http://{long}")]}),
        json!({"type": "info", "prompt": long}),
    ] {
        for risk in [Risk::Low, Risk::High] {
            let mut asked = confirmation(details.clone(), &["allowOnce", "allowSession", "deny"]);
            asked.risk = risk;
            let form = serde_json::to_value(form(&asked).unwrap()).unwrap();
            assert_eq!(
                form["requestedSchema"]["properties"]["decision"]["enum"],
                json!(["deny"]),
                "{details}"
            );
            let allowed = answer(&asked, &said("accept", json!({"decision": "allowOnce"})));
            assert_eq!(allowed, FormAnswer::Undecided, "{details}");
            assert!(message(&asked).contains("nothing can be allowed here"), "{}", message(&asked));
        }
    }
    let whole = confirmation(cut(0), &["allowOnce", "deny"]);
    assert!(decided(&whole, &said("accept", json!({"decision": "allowOnce"}))).is_some());
}

#[test]
fn signs_that_look_like_a_blank_or_like_nothing_are_marked_in_a_form() {
    for (details, expected) in [
        (
            json!({"type": "edit", "path": "/a\u{a0}b", "diff": "+rm\u{3000}x\u{202e}y\n"}),
            ["/a<A0>b", "+rm<3000>x<202E>y"],
        ),
        (json!({"type": "info", "prompt": "a\u{2800}b\u{200b}c"}), ["a<2800>b<200B>c", ""]),
    ] {
        let message = message(&confirmation(details, &["allowOnce", "deny"]));
        assert!(expected.iter().all(|text| message.contains(text)), "{message}");
    }
}

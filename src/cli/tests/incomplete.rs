//! Is a person asked to agree where the daemon's answer leaves out what they would agree to?

use serde_json::{Value, json};

use super::{asking::question, commands::opened, *};
use protocol::ConfirmationOutcome;

/// An answer that says all, and its fields that no person is shown, or that a daemon may leave out.
struct WholeAnswer(&'static str, Value, &'static [&'static str]);

/// A way to agreement: the words, and what the daemon is asked for before the person is.
struct Agreement {
    arguments: &'static [&'static str],
    /// No agent has the name.
    is_no_agent: bool,
    answers: Vec<WholeAnswer>,
}

impl Agreement {
    fn new(arguments: &'static [&'static str], answers: Vec<WholeAnswer>) -> Agreement {
        Agreement { arguments, is_no_agent: false, answers }
    }
}

fn agreements() -> Vec<Agreement> {
    let folder = opened(json!({
        "trusted": false, "memoryFiles": ["/w/AGENTS.md"],
        "memoryImports": [{"path": "/w/style.md", "by": "/w/AGENTS.md"}], "discovery": {"command": "tell"},
        "files": [{
            "path": ".subagentd/settings.json", "kind": "settings", "digest": "sha256:22", "acknowledged": false,
            "effects": ["`bin/tell` is run to tell tools"], "runsUnasked": ["`bin/tell` is run to tell tools"],
        }],
    }));
    let agent = json!({
        "name": "helper", "title": "Helper", "scope": "project", "status": "untrusted", "path": "/w/h.md",
        "digest": "sha256:77", "tools": ["edit_file"], "approval": {"autoApprove": ["low"]}, "prompt": "Help.",
        "definition": {},
    });
    let come = json!({
        "files": [{
            "source": "x", "format": "own", "state": "ok", "name": "helper", "outcome": "written",
            "permissions": {
                "servers": [], "deny": [], "inherits": false, "agents": false, "autoApprove": ["high"],
                "mcpServers": ["mine: sh -c x"],
            },
        }],
        "origin": {"url": "https://example.com/a.git", "digest": "sha256:77"},
    });
    let extension = json!({
        "outcome": "installed", "fileCount": 3,
        "extension": {"id": "e", "name": "acme.tools", "source": "/s/acme", "digest": "sha256:11", "enabled": true},
        "contents": {
            "skills": [{"name": "deploy", "description": "Deploys."}],
            "servers": [{"name": "board", "isProgram": true, "commandOrUrl": "./bin/board --wipe", "variables": []}],
        },
    });
    let skills = opened(json!({"trusted": true, "files": [{
        "path": ".subagentd/skills/deploy", "kind": "skill", "digest": "sha256:33", "acknowledged": false,
        "effects": ["models are told of it"], "runsUnasked": [],
    }]}));
    let skill = json!({
        "skill": {
            "name": "deploy", "description": "Deploys.", "folder": "/w/.subagentd/skills/deploy", "scope": "project",
            "state": "untrusted",
        },
        "body": "Push it.", "files": ["push.sh"], "fileCount": 1,
    });
    let programs = json!({"programs": [{
        "id": "sha256:1", "source": "command", "name": "/h/tell", "changed": true,
        "files": [{"path": "/h/tell", "noted": "sha256:aa", "now": "sha256:bb"}],
    }]});
    let session = json!({
        "session": {"sessionId": SESSION, "roots": ["/w"], "title": "Where is it?"},
        "contexts": [{"contextId": "c1", "messages": 9}],
    });
    let file = json!({"name": "helper", "scope": "user", "path": "/a/helper.md", "digest": "sha256:77"});
    let question = json!({"confirmation": question(json!({"risk": "high"}))});
    vec![
        Agreement::new(&["trust"], vec![WholeAnswer("workspace/open", folder, &["discovery"])]),
        Agreement::new(&["trust", "helper"], vec![WholeAnswer("agents/get", agent, &["scope"])]),
        Agreement {
            is_no_agent: true,
            ..Agreement::new(
                &["trust", "deploy"],
                vec![
                    WholeAnswer("workspace/open", skills, &[]),
                    WholeAnswer("skills/get", skill, &["name", "state", "files"]),
                ],
            )
        },
        // A file that was not there, or is gone, has no digest.
        Agreement::new(
            &["trust", "--programs"],
            vec![WholeAnswer("programs/list", programs, &["noted", "now"])],
        ),
        Agreement::new(
            &["import", "https://example.com/a.git"],
            vec![WholeAnswer("agents/import", come, &["source", "format", "state"])],
        ),
        Agreement::new(
            &["extensions", "install", "/s/acme"],
            vec![WholeAnswer("extension/install", extension, &["id", "enabled", "outcome"])],
        ),
        Agreement::new(
            &["sessions", "delete", SESSION],
            vec![
                WholeAnswer("session/get", session, &["title", "contextId"]),
                WholeAnswer("run/list", json!({"runs": []}), &[]),
            ],
        ),
        Agreement::new(&["delete", "helper"], vec![WholeAnswer("agents/get", file, &["name", "digest"])]),
        Agreement::new(&["approve", QUESTION], vec![WholeAnswer("confirmation/get", question, UNSHOWN)]),
    ]
}

const SESSION: &str = "019aa1b2-c3d4-7001-8000-00000000000a";

const QUESTION: &str = "019aa1b2-c3d4-7001-8000-000000000001";

/// Fields of a question that are not shown, or not those of every question. Of an option without its words less can be chosen.
const UNSHOWN: &[&str] = &[
    "runId",
    "sessionId",
    "toolCallId",
    "kind",
    "oldContent",
    "newContent",
    "audience",
    "onDetached",
    "createdAt",
    "onDeadline",
    "state",
    "outcome",
    "grant",
    "label",
    "allows",
    "remembers",
];

/// The pointers of all that a person is shown.
fn pointers(value: &Value, unshown: &[&str], above: &str, found: &mut Vec<String>) {
    let at = |key: &str| format!("{above}/{key}");
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if !unshown.contains(&key.as_str()) {
                    found.push(at(key));
                }
                // What is remembered of an answer is a rule, which is told in words.
                if key != "remembers" {
                    pointers(value, unshown, &at(key), found);
                }
            }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| pointers(item, unshown, &at(&index.to_string()), found));
        }
        _ => (),
    }
}

fn without(answer: &Value, pointer: &str) -> Value {
    let mut answer = answer.clone();
    let (above, key) = pointer.rsplit_once('/').unwrap();
    answer.pointer_mut(above).unwrap().as_object_mut().unwrap().remove(key).unwrap();
    answer
}

/// Runs it with these answers, after which nothing else is asked for, whatever is pressed.
fn asked(agreement: &Agreement, answers: Vec<(&'static str, Value)>) -> Ran {
    let is_no_agent = agreement.is_no_agent;
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        if is_no_agent {
            let data = json!({"kind": "NOT_FOUND", "retryable": false});
            peer.refuse("agents/get", json!({"code": -31010, "message": "no agent", "data": data}));
        }
        for (method, answer) in answers {
            peer.answer(method, answer);
        }
        peer.wait_for_hangup();
    });
    let press_after = vec![("n declines › ", "n")];
    Command { is_terminal: true, press_after, ..Command::new(agreement.arguments) }.against(vec![script])
}

#[test]
fn what_the_daemon_leaves_out_is_no_nothing() {
    for agreement in agreements() {
        let arguments = agreement.arguments;
        let whole = |count: usize| -> Vec<(&'static str, Value)> {
            agreement.answers.iter().take(count).map(|it| (it.0, it.1.clone())).collect()
        };
        let ran = asked(&agreement, whole(agreement.answers.len()));
        assert!(ran.stderr.contains("n declines › "), "{arguments:?} asks: {}", ran.stderr);
        for (at, WholeAnswer(method, answer, unshown)) in agreement.answers.iter().enumerate() {
            let mut shown = Vec::new();
            pointers(answer, unshown, "", &mut shown);
            assert!(!shown.is_empty(), "{arguments:?}");
            for pointer in shown {
                let mut answers = whole(at);
                answers.push((*method, without(answer, &pointer)));
                let ran = asked(&agreement, answers);
                assert_eq!(ran.exit_code, 1, "{arguments:?} without {pointer}: {}", ran.stderr);
                assert!(
                    !ran.stderr.contains("n declines › "),
                    "{arguments:?} without {pointer}: {}",
                    ran.stderr
                );
                let names_it = ran.stderr.contains("cannot be read") || ran.stderr.contains("does not say");
                assert!(names_it, "{arguments:?} without {pointer}: {}", ran.stderr);
            }
        }
    }
}

/// A daemon that speaks this version of the protocol alone.
fn speaks(version: &str) -> Value {
    let details = json!({"supported": [version]});
    let data = json!({"kind": "UNSUPPORTED_VERSION", "retryable": false, "details": details, "hint": "use one of: 1"});
    json!({"code": -31004, "message": "protocol version 2 is not spoken here", "data": data})
}

#[test]
fn a_daemon_of_another_protocol_is_asked_for_nothing_but_how_it_is() {
    let told = |text: &str| text.replace(['\n', ' '], "");
    for (version, advice) in
        [("1", "end it with `subagent stop`"), ("3", "this `subagent` is the older of the two")]
    {
        let what =
            format!("the running daemon speaks version {version} of the protocol, this `subagent` version 2");
        for arguments in [&["runs"][..], &["doctor"], &["reload"], &["logs"], &["config", "get"], &["trust"]]
        {
            let error = speaks(version);
            let script: DaemonScript = Box::new(move |peer| {
                peer.refuse("initialize", error);
                peer.wait_for_hangup();
            });
            let ran = Command::new(arguments).against(vec![script]);
            assert_eq!(ran.exit_code, 1, "{arguments:?}");
            for text in [&what, advice] {
                assert!(told(&ran.stderr).contains(&told(text)), "{arguments:?}: {}", ran.stderr);
            }
        }
        let error = speaks(version);
        let script: DaemonScript = Box::new(move |peer| {
            peer.refuse("initialize", error);
            peer.answer("daemon/status", json!({"daemon": {"version": env!("CARGO_PKG_VERSION"), "pid": 7}}));
        });
        let ran = Command::new(&["status"]).against(vec![script]);
        assert_eq!(ran.exit_code, 0);
        assert!(ran.stdout.contains("pid 7"), "{}", ran.stdout);
        assert!(told(&ran.stderr).contains(&told(&format!("warning: {what}"))), "{}", ran.stderr);
    }
}

#[test]
fn whoever_is_let_in_nowhere_is_told_why() {
    let error = json!({"code": -31002, "message": "what an agent starts may not talk to the daemon",
        "data": {"kind": "FORBIDDEN", "retryable": false, "details": {}}});
    for arguments in [&["status"][..], &["doctor"], &["runs"]] {
        let error = error.clone();
        let script: DaemonScript = Box::new(move |peer| {
            peer.refuse("initialize", error);
        });
        let ran = Command::new(arguments).against(vec![script]);
        assert_eq!(ran.exit_code, 1, "{arguments:?}");
        assert!(ran.stderr.contains("what an agent starts may not talk to the daemon"), "{}", ran.stderr);
    }
}

#[test]
fn a_question_that_lacks_a_part_can_be_denied_and_not_allowed() {
    let whole = question(json!({}));
    let details = [
        json!({"type": "exec", "command": "ls", "directory": "/w", "rootCommands": [], "parsed": [], "sandbox": "none"}),
        json!({"type": "mcp", "server": "docs", "tool": "find", "arguments": {}}),
        json!({"type": "fetch", "urls": ["https://example.com"]}),
        json!({"type": "info", "prompt": "It does."}),
        json!({"type": "question", "questions": []}),
        json!({"type": "budget", "limit": {}, "used": {"tokens": 1}}),
    ];
    let questions = details.map(|details| question(json!({"details": details})));
    for whole in std::iter::once(whole).chain(questions) {
        let view =
            |question: &Value| crate::paging::view::<crate::question::ConfirmationView>(question).unwrap();
        assert_eq!(view(&whole).bars_consent(), None, "{whole}");
        let mut shown = Vec::new();
        let unshown = [UNSHOWN, &["confirmationId", "rootCommands", "parsed"]].concat();
        pointers(&whole, &unshown, "", &mut shown);
        for pointer in shown {
            let asked = view(&without(&whole, &pointer));
            assert!(asked.bars_consent().is_some(), "{pointer}");
            let choices = asked.choices();
            assert!(!choices.is_empty(), "{pointer}");
            for choice in choices {
                assert!(!choice.outcome.is_consent(), "{pointer}: {:?}", choice.outcome);
            }
            assert!(!asked.offers(ConfirmationOutcome::AllowOnce), "{pointer}");
        }
    }
}

#[test]
fn an_agent_with_errors_cannot_be_trusted() {
    let agent = json!({
        "name": "helper", "title": "Helper", "scope": "project", "status": "invalid", "path": "/w/h.md",
        "digest": "sha256:77", "tools": [], "approval": {"autoApprove": []},
        "problems": [{"path": "/w/h.md", "severity": "error", "code": "BAD_VALUE", "message": "no"}],
    });
    let agreement = Agreement::new(&["trust", "helper"], Vec::new());
    let ran = asked(&agreement, vec![("agents/get", agent)]);
    assert_eq!(ran.exit_code, 1, "{}", ran.stderr);
    for text in ["helper has errors, cannot be started and cannot be trusted", "`subagent validate helper`"] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
}

#[test]
fn the_scope_that_was_asked_for_is_the_one_that_is_deleted() {
    let agreement = Agreement::new(&["delete", "helper", "--scope", "project"], Vec::new());
    let found = |scope: &str| json!({"name": "helper", "scope": scope, "path": "/a/helper.md"});
    let ran = asked(&agreement, vec![("agents/get", found("user"))]);
    assert_eq!(ran.exit_code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("does not say which file of helper"), "{}", ran.stderr);
    assert!(asked(&agreement, vec![("agents/get", found("project"))]).stderr.contains("n declines › "));
}

/// The daemon ended while somebody thought about it: its successor is told who asks, too.
#[test]
fn whoever_said_who_they_are_says_it_to_the_next_daemon_as_well() {
    let first: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let session = json!({"session": {"sessionId": SESSION, "roots": ["/w"]}, "contexts": []});
        peer.answer("session/get", session);
        peer.answer("run/list", json!({"runs": []}));
        peer.hang_up_on("ping");
    });
    let second: DaemonScript = Box::new(|peer| {
        let params = peer.answer("initialize", json!({"daemon": {"version": env!("CARGO_PKG_VERSION")}}));
        assert!(params["clientId"].is_string(), "{params}");
        peer.answer("session/delete", json!({"sessionId": SESSION, "seq": 9, "events": 175}));
    });
    let command = Command {
        is_terminal: true,
        press_after: AGREES.to_vec(),
        ..Command::new(&["sessions", "delete", SESSION])
    };
    let ran = command.against(vec![first, second]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
}

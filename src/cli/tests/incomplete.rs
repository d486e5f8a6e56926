//! Is a person asked to agree where the daemon's answer leaves out what they would agree to?

use serde_json::{Value, json};

use super::*;

/// A way to agreement: the words, what is asked for, and an answer that says all.
fn agreements() -> [(&'static [&'static str], &'static str, Value); 4] {
    let workspace = json!({"workspace": {"roots": ["/w"], "trusted": false, "files": [{
        "path": ".subagentd/settings.json", "kind": "settings", "digest": "sha256:22", "acknowledged": false,
        "effects": ["`bin/tell` is run to tell tools"], "runsUnasked": ["`bin/tell` is run to tell tools"],
    }]}});
    let agent = json!({
        "name": "helper", "title": "Helper", "scope": "project", "status": "untrusted", "path": "/w/h.md",
        "digest": "sha256:77", "tools": ["edit_file"], "approval": {"autoApprove": ["low"]}, "prompt": "Help.",
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
    [
        (&["trust"], "workspace/open", workspace),
        (&["trust", "helper"], "agents/get", agent),
        (&["import", "https://example.com/a.git"], "agents/import", come),
        (&["extensions", "install", "/s/acme"], "extension/install", extension),
    ]
}

/// What a person agrees to, wherever it stands in an answer.
const AGREED_TO: &[&str] = &[
    "files",
    "effects",
    "runsUnasked",
    "approval",
    "autoApprove",
    "permissions",
    "mcpServers",
    "inherits",
    "agents",
    "servers",
    "contents",
    "skills",
    "commandOrUrl",
    "isProgram",
    "variables",
];

/// The pointers of all such fields.
fn pointers(value: &Value, above: &str, found: &mut Vec<String>) {
    let at = |key: &str| format!("{above}/{key}");
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if AGREED_TO.contains(&key.as_str()) {
                    found.push(at(key));
                }
                pointers(value, &at(key), found);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| pointers(item, &at(&index.to_string()), found));
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

fn asked(arguments: &[&str], method: &'static str, answer: Value) -> Ran {
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer(method, answer);
        // Nothing else is asked for, whatever is pressed.
        peer.wait_for_hangup();
    });
    let press_after = vec![("n declines › ", "n")];
    Command { is_terminal: true, press_after, ..Command::new(arguments) }.against(vec![script])
}

#[test]
fn what_the_daemon_leaves_out_is_no_nothing() {
    for (arguments, method, answer) in agreements() {
        let ran = asked(arguments, method, answer.clone());
        assert!(ran.stderr.contains("n declines › "), "{arguments:?} asks: {}", ran.stderr);
        let mut left_out = Vec::new();
        pointers(&answer, "", &mut left_out);
        // A folder that brings nothing along has none.
        left_out.retain(|pointer| pointer != "/workspace/files");
        assert!(!left_out.is_empty(), "{arguments:?}");
        for pointer in left_out {
            let ran = asked(arguments, method, without(&answer, &pointer));
            assert_eq!(ran.exit_code, 1, "{arguments:?} without {pointer}: {}", ran.stderr);
            assert!(!ran.stderr.contains("n declines › "), "{arguments:?} without {pointer}: {}", ran.stderr);
            let names_it = ran.stderr.contains("cannot be read") || ran.stderr.contains("does not say");
            assert!(names_it, "{arguments:?} without {pointer}: {}", ran.stderr);
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

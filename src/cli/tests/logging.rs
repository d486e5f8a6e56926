//! `logs`, shown and followed.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

#[test]
fn logs_are_shown_and_followed() {
    let page = || json!({"lines": ["one", "two\u{1b}[2J"], "last": 7, "missed": 0});
    let newest: DaemonScript = Box::new(move |peer| {
        let params = peer.answer("daemon/logs", page());
        assert_eq!(params, json!({"limit": 2, "waitMs": 0}));
        peer.wait_for_hangup();
    });
    let command = Command { is_terminal: true, ..Command::new(&["logs", "-n", "2"]) };
    check(
        command,
        vec![newest],
        expect![[r#"
        exit 0
        --- stdout
        one
        two^[[2J
        --- stderr
    "#]],
    );

    let following: DaemonScript = Box::new(move |peer| {
        peer.answer("daemon/logs", page());
        let params = peer.answer("daemon/logs", json!({"lines": [], "last": 7, "missed": 0}));
        assert_eq!((&params["after"], params["waitMs"].as_u64() > Some(0)), (&json!(7), true));
        let params = peer.answer("daemon/logs", json!({"lines": ["nine"], "last": 9, "missed": 1}));
        assert_eq!(params["after"], 7);
        peer.hang_up_on("daemon/logs");
    });
    check(
        Command::new(&["logs", "-f"]),
        vec![following],
        expect![[r#"
            exit 69
            --- stdout
            one
            two[2J
            nine
            --- stderr
            note: not kept any more: 1 line between
            error: the daemon closed the connection before it answered
            hint: `subagent status` shows whether it is back
        "#]],
    );

    let json: DaemonScript = Box::new(move |peer| {
        peer.answer("daemon/logs", page());
    });
    let ran = Command::new(&["logs", "--format", "json"]).against(vec![json]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), page());
}

#[test]
fn following_logs_ends_with_ctrl_c() {
    let script: DaemonScript = Box::new(|peer| {
        peer.answer("daemon/logs", json!({"lines": ["one"], "last": 1, "missed": 0}));
        peer.wait_for_hangup();
    });
    let command = Command { interrupt_after_stdout: true, ..Command::new(&["logs", "--follow"]) };
    let ran = command.against(vec![script]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (130, "one\n"));
}

#[test]
fn logs_start_no_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(&["logs"]).run(folder.path());
    assert_eq!((ran.exit_code, ran.stderr.contains("no daemon is running")), (69, true), "{}", ran.stderr);
}

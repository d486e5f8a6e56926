//! `edit` and `delete`: what is written, what never is, and that nothing somebody wrote is lost.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

const TEXT: &str = "---\nname: scout\n---\nYou look.\n";

fn file() -> Value {
    json!({
        "name": "scout", "title": "Scout", "scope": "user", "path": "/a/scout.md", "digest": "sha256:00",
        "text": TEXT, "problems": [],
    })
}

/// One check with this outcome and finding, among those that pass.
fn checked(outcome: &str) -> Value {
    let checks = json!([
        {"check": "front matter is valid YAML", "outcome": "pass"},
        {"check": "every field is known", "outcome": outcome,
         "findings": ["/a/scout.md:2:1: nobody knows `nmae\u{1b}[2J` (did you mean `name`?)"]},
    ]);
    json!({"agents": [{"name": "scout", "checks": checks}], "valid": outcome != "fail"})
}

fn written() -> Value {
    json!({"name": "scout", "scope": "user", "path": "/a/scout.md", "digest": "sha256:01", "seq": 3})
}

fn conflict() -> Value {
    json!({"code": -31013, "message": "the file is another one", "data": {"kind": "CONFLICT", "retryable": false}})
}

/// A text is checked, once the daemon was found to be there; answers the text.
fn checks(peer: &mut ScriptedPeer, outcome: &str) -> Value {
    peer.answer("ping", json!({}));
    let mut params = peer.answer("agents/validate", checked(outcome));
    assert_eq!(params["path"], "/a/scout.md");
    params["text"].take()
}

fn gets(peer: &mut ScriptedPeer) {
    say_hello(peer);
    assert_eq!(peer.answer("agents/get", file())["name"], "scout");
}

fn edit(editor: &str, person: Option<Vec<(&'static str, &'static str)>>) -> Command {
    Command {
        editor: Some(editor.into()),
        is_terminal: person.is_some(),
        stdin: person.is_none().then_some(""),
        press_after: person.unwrap_or_default(),
        ..Command::new(&["edit", "scout"])
    }
}

/// The same, with what is left in its folder by then: the text that was kept.
fn run(command: Command, script: DaemonScript) -> (Ran, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::start(folder.path(), vec![script]);
    let ran = Command { socket: Some(daemon.socket().to_owned()), ..command }.run(folder.path());
    daemon.finish();
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    (ran, entries.map(|path| fs::read_to_string(path).unwrap()).collect())
}

const MORE: &str = "printf more >>";

#[test]
fn what_was_edited_is_checked_and_written_over_just_that_file() {
    let script: DaemonScript = Box::new(|peer| {
        gets(peer);
        assert_eq!(checks(peer, "pass"), json!(format!("{TEXT}more")));
        let mut params = peer.answer("agents/update", written());
        for new in ["idempotencyKey", "workspace"] {
            assert!(params.as_object_mut().unwrap().remove(new).unwrap().is_string());
        }
        let expected =
            json!({"name": "scout", "scope": "user", "text": format!("{TEXT}more"), "digest": "sha256:00"});
        assert_eq!(params, expected);
        peer.wait_for_hangup();
    });
    let (ran, left) = run(edit(MORE, None), script);
    assert_eq!(
        (ran.exit_code, ran.stdout.as_str()),
        (0, "changed scout (user): /a/scout.md\n"),
        "{}",
        ran.stderr
    );
    assert_eq!((ran.stderr.as_str(), left), ("", vec![]));
}

#[test]
fn a_file_that_says_what_it_said_is_not_written() {
    for (format, told) in [("text", "scout says what it said before\n"), ("json", "{")] {
        let script: DaemonScript = Box::new(|peer| {
            gets(peer);
            peer.wait_for_hangup();
        });
        let mut command = edit("true", None);
        command.arguments.extend(["--format".to_owned(), format.to_owned()]);
        let (ran, left) = run(command, script);
        assert_eq!((ran.exit_code, left), (0, vec![]), "{}", ran.stderr);
        assert!(ran.stdout.starts_with(told), "{}", ran.stdout);
    }
}

#[test]
fn an_editor_that_is_missing_or_fails_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(&["edit", "scout"]).run(folder.path());
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with("error: no editor is chosen"), "{}", ran.stderr);
    for editor in ["false", "/nowhere/editor"] {
        let script: DaemonScript = Box::new(|peer| {
            gets(peer);
            peer.wait_for_hangup();
        });
        let (ran, left) = run(edit(editor, None), script);
        assert_eq!((ran.exit_code, left), (1, vec![]), "{editor}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("error: {editor} ended with exit status")), "{}", ran.stderr);
    }
    // What it wrote before it failed is somebody's work.
    let script: DaemonScript = Box::new(|peer| {
        gets(peer);
        peer.wait_for_hangup();
    });
    let (ran, left) = run(edit("f() { printf more >> \"$1\"; false; }; f", None), script);
    assert_eq!((ran.exit_code, left), (1, vec![format!("{TEXT}more")]));
    assert!(ran.stderr.contains("what you wrote is kept in FOLDER/subagent-"), "{}", ran.stderr);
}

#[test]
fn errors_are_shown_with_line_and_fix_and_can_be_mended() {
    let script: DaemonScript = Box::new(|peer| {
        gets(peer);
        checks(peer, "fail");
        assert_eq!(checks(peer, "pass"), json!(format!("{TEXT}moremore")));
        peer.answer("agents/update", written());
        peer.wait_for_hangup();
    });
    // There is no way to save what has errors.
    let keys = vec![("[d]iscard? › ", "s"), ("[d]iscard? › ", "e")];
    let (ran, left) = run(edit(MORE, Some(keys)), script);
    assert_eq!((ran.exit_code, left), (0, vec![]), "{}", ran.stderr);
    let told = "error: /a/scout.md:2:1: nobody knows `nmae^[[2J` (did you mean `name`?)\n";
    assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
}

#[test]
fn warnings_can_be_saved_and_are_where_nobody_is_asked() {
    for person in [Some(vec![("[e]dit again, [s]ave anyway, [d]iscard? › ", "s")]), None] {
        let script: DaemonScript = Box::new(|peer| {
            gets(peer);
            checks(peer, "warn");
            peer.answer("agents/update", written());
            peer.wait_for_hangup();
        });
        let (ran, left) = run(edit(MORE, person), script);
        assert_eq!((ran.exit_code, left), (0, vec![]), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("warning: /a/scout.md:2:1: "), "{}", ran.stderr);
    }
}

/// Nothing was written, and the text is where stderr says.
fn is_kept(ran: &Ran, left: &[String], told: &str) {
    assert_eq!(
        (ran.exit_code, ran.stdout.as_str(), left),
        (1, "", &[format!("{TEXT}more")][..]),
        "{}",
        ran.stderr
    );
    // Where rows break depends on the terminal.
    let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [told, "what you wrote is kept in FOLDER/subagent-"] {
        assert!(words.contains(told), "{told}: {}", ran.stderr);
    }
}

#[test]
fn a_text_that_is_not_written_is_kept() {
    let question = "[e]dit again, [d]iscard? › ";
    for (person, interrupts, told) in [
        (Some(vec![(question, "d")]), vec![], "error: nothing was changed"),
        (Some(vec![(question, "\x04")]), vec![], "error: nothing was changed"),
        (Some(vec![]), vec![question], "error: nothing was changed"),
        (None, vec![], "error: the file has errors; nothing was changed"),
    ] {
        let script: DaemonScript = Box::new(|peer| {
            gets(peer);
            checks(peer, "fail");
            peer.wait_for_hangup();
        });
        let command = Command { interrupt_after: interrupts, ..edit(MORE, person) };
        let (ran, left) = run(command, script);
        is_kept(&ran, &left, told);
    }
    for (is_terminal, format) in [(true, "text"), (false, "text"), (false, "json")] {
        let script: DaemonScript = Box::new(|peer| {
            gets(peer);
            checks(peer, "pass");
            peer.refuse("agents/update", conflict());
            peer.wait_for_hangup();
        });
        let mut command = edit(MORE, is_terminal.then(Vec::new));
        command.arguments.extend(["--format".to_owned(), format.to_owned()]);
        let (ran, left) = run(command, script);
        let told = match format {
            "json" => r#""kind":"CONFLICT""#,
            _ => "error: scout was changed by somebody else meanwhile; nothing was written",
        };
        is_kept(&ran, &left, told);
    }
    // A program is told what is wrong, and never asked.
    let script: DaemonScript = Box::new(|peer| {
        gets(peer);
        checks(peer, "fail");
        peer.wait_for_hangup();
    });
    let mut command = edit(MORE, Some(Vec::new()));
    command.arguments.extend(["--format", "json"].map(str::to_owned));
    let (ran, left) = run(command, script);
    is_kept(&ran, &left, "/a/scout.md:2:1: nobody knows");
    // A daemon that goes away meanwhile.
    let script: DaemonScript = Box::new(|peer| {
        gets(peer);
        peer.answer("ping", json!({}));
        peer.hang_up_on("agents/validate");
    });
    let (ran, left) = run(edit(MORE, None), script);
    assert_eq!((ran.exit_code, left.len()), (69, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("what you wrote is kept in"), "{}", ran.stderr);
}

#[test]
fn what_the_daemon_refuses_can_be_mended_too() {
    let problem =
        json!({"path": "/a/scout.md", "line": 2, "severity": "error", "message": "no", "fix": "yes"});
    let data = json!({"kind": "INVALID_DEFINITION", "retryable": false, "details": {"problems": [problem]}});
    let refused = json!({"code": -31021, "message": "the file has errors", "data": data});
    let script: DaemonScript = Box::new(|peer| {
        gets(peer);
        checks(peer, "pass");
        peer.refuse("agents/update", refused);
        checks(peer, "pass");
        peer.answer("agents/update", written());
        peer.wait_for_hangup();
    });
    let (ran, left) = run(edit(MORE, Some(vec![("[e]dit again, [d]iscard? › ", "e")])), script);
    assert_eq!((ran.exit_code, left), (0, vec![]), "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("error: /a/scout.md:2: no (yes)\nerror: the file has errors\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_cannot_be_edited_says_what_to_do_instead() {
    for (field, value, told) in [
        ("scope", json!("builtin"), "subagent export scout | subagent create --from -"),
        ("text", json!(null), "`subagent show scout`"),
    ] {
        let script: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            let mut file = file();
            file[field] = value;
            peer.answer("agents/get", file);
            peer.wait_for_hangup();
        });
        let (ran, left) = run(edit(MORE, None), script);
        assert_eq!((ran.exit_code, left), (1, vec![]));
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

fn deleted() -> Value {
    json!({
        "name": "scout", "scope": "user", "path": "/a/scout.md", "trash": "/t/scout\u{1b}.md", "cleared": 2,
        "busy": 1, "seq": 3,
    })
}

/// A daemon that is asked to delete just this.
fn deleting(shows: bool, expected: Value) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        if shows {
            peer.answer("agents/get", file());
            peer.answer("ping", json!({}));
        }
        let mut params = peer.answer("agents/delete", deleted());
        for new in ["idempotencyKey", "workspace"] {
            assert!(params.as_object_mut().unwrap().remove(new).unwrap().is_string());
        }
        assert_eq!(params, expected);
        peer.wait_for_hangup();
    })
}

#[test]
fn an_agent_is_deleted_once_somebody_said_so() {
    let expected = json!({"name": "scout", "scope": "user", "contexts": "keep"});
    let command =
        Command { is_terminal: true, press_after: AGREES.to_vec(), ..Command::new(&["delete", "scout"]) };
    check(
        command,
        vec![deleting(true, expected)],
        expect![[r#"
            exit 0
            --- stdout
            deleted scout (user): /a/scout.md
            its file is in the trash: /t/scout^[.md
            its runs and what it remembers stay; an agent of the same name goes on with that (--contexts empties it)
            what it remembered is gone in 2 sessions
            it has runs in 1 session, where it remembers what it did
            --- stderr
            Delete scout (user), /a/scout.md?
            yes
        "#]],
    );
    let arguments = ["delete", "scout", "--scope", "project", "--contexts", "--yes", "--format", "json"];
    let expected = json!({"name": "scout", "scope": "project", "contexts": "delete"});
    let ran =
        Command { stdin: Some(""), ..Command::new(&arguments) }.against(vec![deleting(false, expected)]);
    assert_eq!((ran.exit_code, serde_json::from_str::<Value>(&ran.stdout).unwrap()), (0, deleted()));
}

#[test]
fn nothing_is_deleted_when_nobody_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command { stdin: Some("y\n"), ..Command::new(&["delete", "scout"]) }.run(folder.path());
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("subagent delete scout --yes"), "{}", ran.stderr);
    let declines = vec![("n declines › ", "n")];
    for (scope, press_after, told) in
        [("user", declines, "nothing was changed"), ("builtin", Vec::new(), "is built in")]
    {
        let script: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            let mut file = file();
            file["scope"] = json!(scope);
            peer.answer("agents/get", file);
            peer.wait_for_hangup();
        });
        let command = Command { is_terminal: true, press_after, ..Command::new(&["delete", "scout"]) };
        let ran = command.against(vec![script]);
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""), "{scope}");
        assert!(ran.stderr.contains(told), "{scope}: {}", ran.stderr);
    }
}

//! `import`, `export`, `templates`, and `list` of one place.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

fn imported() -> Value {
    let file = |source: &str, outcome: &str, state: &str, path: Value, problems: Value| {
        json!({"source": source, "format": "claude", "state": state, "name": "scout", "outcome": outcome,
               "path": path, "problems": problems})
    };
    let problem = |severity: &str, line: u32| {
        json!([{"path": "/w/b.md", "line": line, "severity": severity, "code": "BAD_YAML", "message": "odd\u{1b}[2J",
                "fix": "write `x`"}])
    };
    json!({
        "files": [
            file("/w/a.md", "written", "ok", json!("/home/u/scout.md"), json!([])),
            file("/w/b.md", "skipped", "repaired", json!("/home/u/scout.md"), problem("warning", 2)),
            file("/w/c\u{1b}.md", "rejected", "rejected", json!(null), problem("error", 1)),
        ],
        "seq": 3,
    })
}

/// A daemon that is asked to import these paths below its folder; answers what it is told to.
fn importing(answer: Value, expected: Value) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        let mut params = peer.answer("agents/import", answer);
        let fields = params.as_object_mut().unwrap();
        fields.remove("idempotencyKey").unwrap();
        let folder = fields.remove("workspace").unwrap();
        let below = |path: &Value| path.as_str().unwrap().replace(folder.as_str().unwrap(), "FOLDER");
        let paths: Vec<String> = params["paths"].as_array().unwrap().iter().map(below).collect();
        params["paths"] = json!(paths);
        assert_eq!(params, expected);
        peer.wait_for_hangup();
    })
}

#[test]
fn files_are_imported_and_each_is_told_of() {
    let expected = json!({"paths": ["FOLDER/agents", "/w/b.md"], "onConflict": "skip", "dryRun": false});
    check(
        Command { is_terminal: true, ..Command::new(&["import", "agents", "/w/b.md"]) },
        vec![importing(imported(), expected)],
        expect![[r#"
            exit 1
            --- stdout
            FILE       OUTCOME   AGENT  STATE     PATH
            /w/a.md    written   scout  ok        /home/u/scout.md
            /w/b.md    skipped   scout  repaired  /home/u/scout.md
            /w/c^[.md  rejected  scout  rejected  -
            --- stderr
            warning: /w/b.md:2: odd^[[2J (write `x`)
            error: /w/b.md:1: odd^[[2J (write `x`)
            note: 1 file left out, since agents of their names are there; see --on-conflict
        "#]],
    );
    let mut well = imported();
    well["files"].as_array_mut().unwrap().truncate(1);
    let arguments = [
        "import",
        "a.md",
        "--format",
        "gemini",
        "--format",
        "json",
        "--scope",
        "project",
        "--on-conflict",
        "namespace",
        "--dry-run",
    ];
    let expected = json!({
        "paths": ["FOLDER/a.md"], "format": "gemini", "scope": "project", "onConflict": "namespace", "dryRun": true,
    });
    let ran = Command::new(&arguments).against(vec![importing(well.clone(), expected.clone())]);
    assert_eq!((ran.exit_code, serde_json::from_str::<Value>(&ran.stdout).unwrap()), (0, well.clone()));
    let arguments = arguments.map(|argument| if argument == "json" { "gemini" } else { argument });
    let ran = Command::new(&arguments).against(vec![importing(well, expected)]);
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, "note: nothing was written\n"));
    // What could not be read at all.
    let answer =
        json!({"files": [], "problems": [{"path": "/w", "severity": "error", "message": "cannot be read"}]});
    let expected = json!({"paths": ["/w"], "onConflict": "replace", "dryRun": false});
    let ran = Command::new(&["import", "/w", "--on-conflict", "replace"])
        .against(vec![importing(answer, expected)]);
    let told = (ran.exit_code, ran.stdout.as_str(), ran.stderr.as_str());
    assert_eq!(told, (1, "no files\n", "error: /w: cannot be read\n"));
}

const DIGEST: &str = "sha256:5a1c7b0e2d3f4a5968778695a4b3c2d1e0f1e2d3c4b5a69788796a5b4c3d2e1f";
const URL: &str = "https://example.com/agents.git#v1";

/// What came from the URL, as a daemon tells it.
fn come(text: Option<&str>) -> Value {
    json!({
        "files": [{
            "source": "https://example.com/agents.git/scout.md", "format": "own", "state": "ok", "name": "scout\u{1b}",
            "outcome": "written", "path": "/home/u/scout.md", "text": text,
            "permissions": {"tools": ["write_file"], "deny": ["grep"], "inherits": true, "agents": true, "autoApprove": ["high"],
                            "servers": [], "mcpServers": []},
        }],
        "origin": {"url": URL, "digest": DIGEST, "commit": "0123abcd"},
    })
}

/// Answers two requests for the URL, of which the second names what the first one showed; or only the first.
fn bringing(agrees: bool) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        let first = peer.answer("agents/import", come(Some("---\nname: scout\n---\nLook.\u{1b}[2J\n")));
        assert_eq!(
            (&first["url"], &first["dryRun"], first.get("digest"), first.get("paths")),
            (&json!(URL), &json!(true), None, None)
        );
        if agrees {
            let second = peer.answer("agents/import", come(None));
            assert_eq!(
                (&second["url"], &second["dryRun"], &second["digest"]),
                (&json!(URL), &json!(false), &json!(DIGEST))
            );
            assert_ne!(first["idempotencyKey"], second["idempotencyKey"]);
        }
        peer.wait_for_hangup();
    })
}

#[test]
fn what_comes_from_a_url_is_shown_and_asked_about() {
    check(
        Command {
            is_terminal: true,
            press_after: AGREES.to_vec(),
            columns: 200,
            ..Command::new(&["import", URL])
        },
        vec![bringing(true)],
        expect![[r#"
            exit 0
            --- stdout
            FILE                                     OUTCOME  AGENT    STATE  PATH
            https://example.com/agents.git/scout.md  written  scout^[  ok     /home/u/scout.md
            --- stderr
            │ ---
            │ name: scout
            │ ---
            │ Look.^[[2J
            from     │ https://example.com/agents.git#v1
            commit   │ 0123abcd
            digest   │ sha256:5a1c7b0e2d3f4a5968778695a4b3c2d1e0f1e2d3c4b5a69788796a5b4c3d2e1f
            agent    │ scout^[
            would be │ written
            tools    │ write_file, every other tool, every agent, not grep
            approves │ high
            Bring in 1 agent?
            yes
        "#]],
    );
    let command = Command {
        is_terminal: true,
        press_after: vec![("n declines › ", "\r")],
        ..Command::new(&["import", URL])
    };
    let ran = command.against(vec![bringing(false)]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing was changed"), "{}", ran.stderr);
}

#[test]
fn where_nothing_would_come_from_a_url_nobody_is_asked_and_nothing_is_brought_in() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let mut coming = come(Some("---\nname: scout\n---\nLook.\n"));
        coming["files"][0]["outcome"] = json!("skipped");
        assert_eq!(peer.answer("agents/import", coming)["dryRun"], true);
        peer.wait_for_hangup();
    });
    let command = Command { is_terminal: true, columns: 200, ..Command::new(&["import", URL]) };
    let ran = command.against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("skipped") && !ran.stderr.contains("Bring in"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}

#[test]
fn who_names_the_digest_or_only_looks_is_not_asked() {
    let once = |dry_run: bool, digest: Value| -> DaemonScript {
        Box::new(move |peer| {
            say_hello(peer);
            let params = peer.answer("agents/import", come(None));
            let asked = (&params["url"], &params["dryRun"], &params["digest"]);
            assert_eq!(asked, (&json!(URL), &json!(dry_run), &digest));
            peer.wait_for_hangup();
        })
    };
    let terminal = |arguments: &[&'static str]| Command { is_terminal: true, ..Command::new(arguments) };
    let ran = terminal(&["import", URL, "--digest", DIGEST]).against(vec![once(false, json!(DIGEST))]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    let ran = terminal(&["import", URL, "--dry-run"]).against(vec![once(true, json!(null))]);
    let told =
        format!("note: {URL}, commit 0123abcd, is now --digest\n  {DIGEST}\nnote: nothing was written\n");
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, told.as_str()));
    // Where nobody can be asked the daemon decides.
    let ran = Command::new(&["import", URL]).against(vec![once(false, json!(null))]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    let folder = tempfile::tempdir().unwrap();
    for arguments in
        [&["import", URL, "a.md", "--digest", DIGEST][..], &["import", "a.md", "--digest", DIGEST]]
    {
        let ran = Command::new(arguments).run(folder.path());
        assert_eq!(ran.exit_code, 2);
        assert!(ran.stderr.contains("--digest is what one URL must hold"), "{}", ran.stderr);
    }
}

fn exported() -> Value {
    json!({"files": [
        {"name": "scout", "fileName": "scout.md", "text": "---\nname: scout\n---\nLook.\u{1b}[2J\n",
         "lost": ["its triggers", "its limits\u{1b}"]},
        {"name": "reader", "fileName": "reader.md", "text": "Read."},
    ]})
}

/// A daemon that is asked for so many of these files.
fn exporting(count: usize, format: &'static str) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        let mut answer = exported();
        answer["files"].as_array_mut().unwrap().truncate(count);
        let mut params = peer.answer("agents/export", answer);
        assert!(params["workspace"].take().is_string());
        let names = &["scout", "reader"][..count];
        assert_eq!(params, json!({"names": names, "format": format, "workspace": null}));
        peer.wait_for_hangup();
    })
}

#[test]
fn one_agent_goes_to_stdout_and_what_is_lost_to_stderr() {
    let ran = Command::new(&["export", "scout", "--format", "gemini"]).against(vec![exporting(1, "gemini")]);
    assert_eq!((ran.exit_code, json!(ran.stdout)), (0, exported()["files"][0]["text"].clone()));
    let lost = "warning: scout: Gemini CLI has no words for its triggers; its limits^[\n";
    assert_eq!(ran.stderr, lost);
    // A terminal is not steered by a file.
    let command = Command { is_terminal: true, ..Command::new(&["export", "scout"]) };
    let ran = command.against(vec![exporting(1, "own")]);
    assert!(ran.stdout.ends_with("Look.^[[2J\n"), "{}", ran.stdout);
    let arguments = ["export", "scout", "reader", "--format", "opencode", "--format", "json"];
    let ran = Command::new(&arguments).against(vec![exporting(2, "opencode")]);
    assert_eq!((serde_json::from_str::<Value>(&ran.stdout).unwrap(), ran.stderr.as_str()), (exported(), ""));
}

#[test]
fn several_agents_go_into_a_folder_and_replace_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(&["export", "scout", "reader"]).run(folder.path());
    assert_eq!(ran.exit_code, 2);
    assert!(ran.stderr.contains("subagent export scout reader --to DIR"), "{}", ran.stderr);

    let export = |force: &[&'static str]| {
        let daemon = FakeDaemon::start(folder.path(), vec![exporting(2, "claude")]);
        let arguments =
            [&["export", "scout", "reader", "--format", "claude", "--to", "out/deep"], force].concat();
        let command = Command { socket: Some(daemon.socket().to_owned()), ..Command::new(&arguments) };
        let ran = command.run(folder.path());
        daemon.finish();
        ran
    };
    let read = |name: &str| fs::read_to_string(folder.path().join("out/deep").join(name)).unwrap();
    let ran = export(&[]);
    let listed = "FOLDER/out/deep/scout.md\nFOLDER/out/deep/reader.md\n";
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, listed), "{}", ran.stderr);
    assert_eq!((read("reader.md").as_str(), read("scout.md").len()), ("Read.", 30));

    fs::remove_file(folder.path().join("out/deep/scout.md")).unwrap();
    fs::write(folder.path().join("out/deep/reader.md"), "mine, and longer").unwrap();
    let ran = export(&[]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("reader.md is there already; nothing was written"), "{}", ran.stderr);
    assert_eq!(read("reader.md"), "mine, and longer");
    assert!(!folder.path().join("out/deep/scout.md").exists(), "all or nothing");
    assert_eq!((export(&["--force"]).exit_code, read("reader.md").as_str()), (0, "Read."));
}

#[test]
fn no_name_of_a_daemon_leads_out_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["../x.md", "/x.md", "a/x.md", "..", ""] {
        let script: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            peer.answer("agents/export", json!({"files": [{"name": "x", "fileName": name, "text": "x"}]}));
            peer.wait_for_hangup();
        });
        let daemon = FakeDaemon::start(folder.path(), vec![script]);
        let command = Command {
            socket: Some(daemon.socket().to_owned()),
            ..Command::new(&["export", "x", "--to", "out", "--force"])
        };
        let ran = command.run(folder.path());
        daemon.finish();
        assert_eq!(ran.exit_code, 1, "{name}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn templates_are_a_table() {
    let answer = json!({
        "templates": [
            {"name": "blank", "title": "Blank", "text": "---\n"},
            {"name": "mine", "title": "Mine\u{1b}", "description": "For me.", "path": "/t/mine.md", "text": "---\n"},
        ],
        "problems": [{"path": "/t/odd.md", "line": 1, "severity": "error", "message": "no front matter"}],
    });
    check(
        Command { is_terminal: true, ..Command::new(&["templates"]) },
        vec![Box::new(|peer| {
            say_hello(peer);
            assert!(
                peer.answer("agents/templates", answer)["workspace"].is_string(),
                "a project may have some"
            );
            peer.wait_for_hangup();
        })],
        expect![[r#"
            exit 0
            --- stdout
            NAME   TITLE   FROM        ABOUT
            blank  Blank   built in
            mine   Mine^[  /t/mine.md  For me.

            Use one: subagent create NAME --template TEMPLATE
            --- stderr
            error: /t/odd.md:1: no front matter
        "#]],
    );
}

#[test]
fn agents_of_one_place_are_listed_alone() {
    let agent = |name: &str, scope: &str| json!({"name": name, "title": "T", "model": "m", "scope": scope, "status": "ok"});
    let all = [agent("a", "project"), agent("b", "user"), agent("c", "builtin"), agent("d", "user")];
    for (flags, names) in [
        (&[][..], "abcd"),
        (&["--scope", "all"], "abcd"),
        (&["--scope", "project"], "a"),
        (&["--scope", "user"], "bd"),
        (&["--scope", "global"], "bd"),
        (&["--global"], "bd"),
        (&["--scope", "builtin"], "c"),
    ] {
        let list = |more: &[&'static str]| {
            let answer = json!({"agents": all});
            let script: DaemonScript = Box::new(move |peer| {
                say_hello(peer);
                peer.answer("agents/list", answer);
                peer.wait_for_hangup();
            });
            Command::new(&[&["list"], flags, more].concat()).against(vec![script]).stdout
        };
        let printed: Value = serde_json::from_str(&list(&["--format", "json"])).unwrap();
        let listed: String =
            printed["agents"].as_array().unwrap().iter().filter_map(|agent| agent["name"].as_str()).collect();
        assert_eq!(listed, names, "{flags:?}");
        let rows = list(&[]).lines().filter(|line| line.starts_with("  ")).count();
        assert_eq!(rows, names.len(), "{flags:?}");
    }
}

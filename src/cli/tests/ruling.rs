//! `policy`, `undo`, `trust`, and what other commands say about questions, changes and trust.

use expect_test::expect;
use serde_json::{Value, json};

use super::{asking::question, commands::opened, *};

fn rules() -> Value {
    json!({"rules": [
        {"id": "user:shop.toml:3", "tier": "user", "tool": ["run_shell_command"], "commandPrefix": ["git status"],
         "decision": "allow", "priority": 100},
        {"id": "019aa1b2", "tier": "user", "tool": ["edit_file"], "workspace": "/w", "decision": "allow", "priority": 0,
         "accesses": [{"access": "write", "path": "/w/\u{1b}[2Ja.rs"}], "createdBy": "ada-1",
         "createdAt": "2025-11-20T11:04:00.000Z", "fromConfirmation": "q1"},
    ], "problems": [{"path": "/p/x.toml", "line": 3, "message": "no `tol`", "fix": "tool"}]})
}

#[test]
fn rules_are_a_table_with_what_they_are_about() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        assert!(peer.answer("policy/list", rules())["workspace"].is_string());
    });
    check(
        Command::new(&["policy", "list"]),
        vec![script],
        expect![[r#"
            exit 0
            --- stdout
            user:shop.toml:3  user  allow  100  run_shell_command · commands git status
            019aa1b2          user  allow  0    edit_file · only what writes /w/^[[2Ja.rs · in /w  remembered for ada-1 · 2025-11-20 11:04:00Z · question q1 · never used
            --- stderr
            warning: /p/x.toml:3: no `tol` (tool)
        "#]],
    );
}

#[test]
fn on_a_terminal_that_has_no_room_for_a_table_rules_are_read_in_rows() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.answer("policy/list", rules());
    });
    let command = Command { is_terminal: true, columns: 60, ..Command::new(&["policy", "list"]) };
    let ran = command.against(vec![script]);
    assert!(ran.stdout.lines().all(|row| row.chars().count() <= 60), "{}", ran.stdout);
    expect![[r#"
        user:shop.toml:3
          allow run_shell_command · commands git status
          user rule · priority 100
        019aa1b2
          allow edit_file · only what writes /w/^[[2Ja.rs · in /w
          user rule · priority 0 · remembered for ada-1 · 2025-11-20
          11:04:00Z · question q1 · never used
    "#]]
    .assert_eq(&ran.stdout);
}

#[test]
fn a_call_can_be_tried() {
    let answer = json!({
        "decision": "ask", "rule": "builtin:risk=low", "reason": "edits are asked about", "tool": "write_file",
        "kind": "edit", "risk": "low", "description": "a.rs",
        "accesses": [{"access": "write", "path": "/w/a.rs"}, {"access": "read", "path": "/w/b.rs"}],
        "hooks": [
            {"id": "h1", "event": "PreToolUse", "runs": "./one"},
            {"id": "h2", "event": "PreToolUse", "runs": "./two", "denyReason": "/w/two is not there"},
            {"id": "h3", "event": "PermissionRequest", "runs": "./three", "askReason": "/w/three is not there"},
            {"id": "h4", "event": "PostToolUse", "runs": "./four", "skipped": "nobody has acknowledged its file"},
            {"id": "h5", "event": "PostToolUseFailure", "runs": "./five"},
        ],
    });
    let params = json!({
        "tool": "Write", "arguments": {"path": "a.rs", "content": "3 4", "n": 3}, "agent": "scout", "sessionId": "s1",
    });
    for arguments in
        [&["path=a.rs", "content=3 4", "n=3"][..], &[r#"{"path": "a.rs", "content": "3 4", "n": 3}"#]]
    {
        let command =
            [&["policy", "check", "Write", "--agent", "scout", "--session", "s1"], arguments].concat();
        check(
            Command::new(&command),
            vec![answering("policy/check", params.clone(), answer.clone())],
            expect![[r#"
                exit 0
                --- stdout
                ask  write_file a.rs
                because   edits are asked about
                rule      builtin:risk=low
                kind      edit, risk low
                touches   writes /w/a.rs
                          reads /w/b.rs
                hooks     h1 is asked before it is judged: ./one
                          h2 refuses what it guards: /w/two is not there
                          h3 fails, so you are asked: /w/three is not there
                          h4 is passed over: nobody has acknowledged its file
                          h5 is told if it fails: ./five
                --- stderr
            "#]],
        );
    }
    let folder = tempfile::tempdir().unwrap();
    for arguments in [["policy", "check", "x", "{"], ["policy", "check", "x", "y"]] {
        assert_eq!(Command::new(&arguments).run(folder.path()).exit_code, 2, "{arguments:?}");
    }
}

#[test]
fn what_was_undone_is_told_and_what_could_not_be() {
    let answer = json!({
        "sessionId": "s1", "seq": 9,
        "restored": [{"callId": "k2", "path": "/w/a.rs", "undoId": "u2", "forced": true}, {"callId": "k1", "path": "/w/b.rs", "undoId": "u1"},
            {"callId": "k0", "path": "/w/note.txt", "undoId": "u0", "removed": true}, {"callId": "k0", "path": "/w/n", "undoId": "u9", "removed": true, "forced": true},
            {"callId": "k0", "path": "/w/to", "undoId": "u8", "movedBackTo": "/w/from"}],
        "notRestorable": [{"callId": "k3", "tool": "run_shell_command", "reason": "a command's\n effects are unknown"}],
    });
    check(
        Command::new(&["undo", "--to", "k1", "--force", "--session", "s1"]),
        vec![answering("session/undo", json!({"sessionId": "s1", "toCallId": "k1", "force": true}), answer)],
        expect![[r#"
            exit 0
            --- stdout
            restored /w/a.rs, over what somebody had changed since
            restored /w/b.rs
            removed /w/note.txt
            removed /w/n, with what somebody had changed in it since
            moved /w/to back to /w/from
            cannot be undone: run_shell_command (call k3): a command's effects are unknown
            --- stderr
        "#]],
    );
    // Without a session the current one here, without a call the last turn.
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        peer.answer("session/list", json!({"sessions": [{"sessionId": "s7"}]}));
        let nothing = json!({"sessionId": "s7", "restored": [], "notRestorable": []});
        assert_eq!(peer.answer("session/undo", nothing), json!({"sessionId": "s7", "lastTurn": true}));
    });
    assert_eq!(Command::new(&["undo"]).against(vec![script]).stdout, "there is nothing to undo\n");
}

fn workspace(trusted: bool, acknowledged: bool) -> Value {
    opened(json!({"trusted": trusted, "files": [
        {"path": ".subagentd/agents/helper.md", "kind": "agent", "digest": "sha256:0123456789abcdef0123", "acknowledged": acknowledged,
         "effects": [], "runsUnasked": []},
        {"path": ".subagentd/policies/p.toml", "kind": "policy", "digest": "sha256:11", "acknowledged": true,
         "effects": [], "runsUnasked": []},
        {"path": ".subagentd/settings.json", "kind": "settings", "digest": "sha256:22", "acknowledged": true,
         "effects": [], "runsUnasked": []},
    ]}))
}

/// `trust` of the current folder, where `workspace/open` answers this; `typed` is the answer of whoever sits there.
fn trust(
    arguments: &[&str],
    pressed: Option<&[(&'static str, &'static str)]>,
    opened: Value,
    is_trusted: bool,
) -> Ran {
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("workspace/open", opened.clone());
        if is_trusted {
            let params = peer.answer(
                "workspace/trust",
                json!({"workspace": {"roots": ["/w"], "trusted": true}, "seq": 3}),
            );
            let seen = opened["workspace"]["files"].as_array().unwrap().iter();
            let seen: Vec<Value> =
                seen.map(|file| json!({"path": file["path"], "digest": file["digest"]})).collect();
            assert_eq!(
                (&params["trusted"], &params["files"]),
                (&json!(true), &json!(seen)),
                "exactly what was shown"
            );
        }
        peer.wait_for_hangup();
    });
    let arguments: Vec<&str> = [&["trust"], arguments].concat();
    let press_after = pressed.unwrap_or_default().to_vec();
    let command = Command { is_terminal: pressed.is_some(), press_after, ..Command::new(&arguments) };
    command.against(vec![script])
}

#[test]
fn a_workspace_is_trusted_with_what_was_shown_and_only_on_yes() {
    let ran = trust(&[], Some(&AGREES), workspace(false, false), true);
    expect![[r#"
        folder   │ /w
        file     │ .subagentd/policies/p.toml
                 │ acknowledged · sha256:11 · rules: can only make things stricter
        file     │ .subagentd/settings.json
                 │ acknowledged · sha256:22 · settings: what they change stands below
        file     │ .subagentd/agents/helper.md
                 │ not seen yet · sha256:0123456789abcdef · an agent: can be started, with the tools and approvals it names
        3 files in all, 1 not seen yet
        Trust FOLDER, with its 3 files as they are now?
        yes
        FOLDER is trusted, as it is now; a file that changes is asked about again
    "#]]
    .assert_eq(&format!("{}{}", settled(&ran.stderr), ran.stdout));
    let ask = "n declines › ";
    for no in [
        &[(ask, "n")][..],
        &[(ask, "\r")],
        &[("one moment", "\u{4}")],
        // Typed before it could be read, at once as a paste is, or another word.
        &[("one moment", "y"), (ask, "\r")],
        &[(ask, "yes\r"), (ask, "\r")],
        &[(ask, "y"), ("does not › y", "u"), (ask, "\r")],
    ] {
        let ran = trust(&[], Some(no), workspace(false, false), false);
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""), "{no:?}: {}", ran.stderr);
    }
    // In a pipe nobody is asked, so nothing is trusted unless that is said.
    assert_eq!(trust(&[], None, workspace(false, false), false).exit_code, 2);
    assert_eq!(trust(&["--yes"], None, workspace(false, false), true).exit_code, 0);
    // What agents will be told is named too.
    let mut opened = workspace(false, false);
    opened["workspace"]["memoryFiles"] = json!(["/w/AGENTS.md"]);
    let told = trust(&["--yes"], None, opened, true).stderr;
    assert!(told.contains("/w/AGENTS.md") && told.contains("told what these memory files say"), "{told}");
    let mut opened = workspace(false, false);
    opened["workspace"]["memoryFiles"] = json!(["/w/AGENTS.md"]);
    opened["workspace"]["memoryImports"] = json!([{ "path": "/w/docs/style.md", "by": "/w/AGENTS.md" }]);
    let told = trust(&["--yes"], None, opened, true).stderr;
    assert!(told.contains("/w/docs/style.md, which /w/AGENTS.md imports"), "{told}");
    // A file that changed since is asked about again; one that did not is no question.
    let changed = trust(&["."], Some(&AGREES), workspace(true, false), true);
    assert!(changed.stderr.contains("Trust 1 file that you have not acknowledged?"), "{}", changed.stderr);
    // One that is gone is named and asked about, too.
    let mut opened = workspace(true, true);
    opened["workspace"]["gone"] = json!([".claude/settings.json"]);
    let gone = trust(&["."], Some(&AGREES), opened, true);
    assert!(
        gone.stderr.contains(".claude/settings.json\n") && gone.stderr.contains("is gone since it was"),
        "{}",
        gone.stderr
    );
    assert!(gone.stderr.contains("without 1 file?"), "{}", gone.stderr);
    let same = trust(&["."], Some(&[]), workspace(true, true), false);
    assert!(same.stdout.contains("is trusted already"), "{}", same.stdout);
}

/// Folders are for the workspace to name.
#[test]
fn a_file_is_what_the_daemon_reads_it_as_wherever_it_lies() {
    let opened = opened(json!({"trusted": false, "files": [
        {"path": ".claude/agents/skills/evil.md", "kind": "agent", "digest": "sha256:11", "acknowledged": false, "effects": [], "runsUnasked": []},
        {"path": ".claude/skills/pdf", "kind": "skill", "digest": "sha256:22", "acknowledged": false, "changed": true, "effects": [], "runsUnasked": []},
        {"path": "agents/skills/new", "kind": "newer", "digest": "sha256:33", "acknowledged": false, "effects": [], "runsUnasked": []},
    ]}));
    let told = trust(&["--yes"], None, opened, true).stderr;
    for text in [
        "not seen yet · sha256:11 · an agent: can be started",
        "skill    │ .claude/skills/pdf",
        "changed since it was acknowledged · sha256:22 · a skill, with all its files",
        "not seen yet · sha256:33 · read it before you trust it",
        "2 files and 1 skill in all, 3 not seen yet",
    ] {
        assert!(told.contains(text), "{text}: {told}");
    }
}

#[test]
fn what_a_workspace_would_run_is_shown_whole_with_its_mistakes() {
    let long = format!("`bin/tell --{} && evil\u{1b}` is run to tell tools", "x".repeat(200));
    let answer = opened(json!({
        "trusted": false,
        "files": [{"path": ".subagentd/settings.json", "kind": "settings", "digest": "sha256:22", "acknowledged": false,
            "effects": [&long, "`bin/call` runs those tools"], "runsUnasked": []}],
        "problems": [{"path": "/w/.subagentd/settings.json", "line": 1, "column": 9, "severity": "error",
            "code": "BAD_VALUE", "message": "`models.default`: a project may not set this", "fix": "leave it out"}],
        "discovery": {"command": "my/tell", "tools": 0, "warnings": []},
    }));
    let ran = trust(&[], Some(&[("n declines › ", "n")]), answer, false);
    let seen = |text: &str| ran.stderr.find(text).unwrap_or_else(|| panic!("{text}: {}", ran.stderr));
    let asked = seen("Trust FOLDER");
    // Rows break where the terminal ends, and words of the folder stand behind a bar.
    let squeezed = |text: &str| text.replace(['\n', ' ', '│'], "");
    let shown = squeezed(&ran.stderr[..asked]);
    for text in [
        &format!("effect {}", long.replace('\u{1b}', "^[")),
        "effect `bin/call` runs those tools",
        "error /w/.subagentd/settings.json:1:9: `models.default`: a project may not set this (leave it out)",
        "runs my/tell once it is trusted, that (your setting tools.discoveryCommand) is run here to tell tools, unless the \
         folder's own settings name another",
    ] {
        assert!(shown.contains(&squeezed(text)), "{text}: {shown}");
    }
    // In a folder that brings nothing, trust runs something all the same; where it ran already, that is no news.
    let bare = |trusted: bool| {
        opened(json!({"trusted": trusted, "files": [], "discovery": {"command": "my/tell", "tools": 0}}))
    };
    let ran = trust(&[], Some(&[("n declines › ", "n")]), bare(false), false);
    let told = "runs     │ my/tell\nonce it is trusted, that (your setting tools.discoveryCommand) is run here to tell tools\n";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(!trust(&[], Some(&[("n declines › ", "n")]), bare(true), false).stderr.contains("my/tell"));
}

#[test]
fn trust_is_taken_back_from_the_whole_folder() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let params = peer.answer("workspace/trust", json!({"workspace": {"roots": ["/w"]}, "seq": 3}));
        assert_eq!((&params["trusted"], params.get("files")), (&json!(false), None));
    });
    let ran = Command::new(&["trust", "--no"]).against(vec![script]);
    assert!(ran.exit_code == 0 && ran.stdout.contains("trusted no longer"), "{ran:?}");
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["trust", "helper", "--no"][..], &["trust", "no/such"]] {
        assert_eq!(Command::new(arguments).run(folder.path()).exit_code, 2, "{arguments:?}");
    }
}

/// Each with the files that were shown, and nothing of those that are as they were noted.
#[test]
fn programs_that_changed_are_acknowledged_as_they_were_shown() {
    let file = |path: &str, noted: Option<&str>, now: Option<&str>| json!({"path": path, "noted": noted, "now": now});
    let programs = json!({"programs": [
        {"id": "sha256:1", "source": "command", "name": "/h/tell", "changed": true, "files": [
            file("/h/tell", Some("sha256:aa"), Some("sha256:bb")), file("/h/gone", Some("sha256:cc"), None),
            file("/h/same", Some("sha256:dd"), Some("sha256:dd")),
        ]},
        {"id": "sha256:2", "source": "mcpServer", "name": "docs", "workspace": ["/w"], "changed": false, "files": []},
    ]});
    let nothing = json!({"programs": [programs["programs"][1]]});
    for (listed, is_asked) in [(programs, true), (nothing, false)] {
        let script: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            peer.answer("programs/list", listed);
            if is_asked {
                let params = peer.answer("programs/acknowledge", json!({"program": {}, "seq": 3}));
                let seen = json!([
                    {"path": "/h/tell", "digest": "sha256:bb"}, {"path": "/h/same", "digest": "sha256:dd"},
                ]);
                assert_eq!((&params["id"], &params["files"]), (&json!("sha256:1"), &seen));
            }
        });
        let ran = Command::new(&["trust", "--programs", "--yes"]).against(vec![script]);
        assert_eq!(ran.exit_code, 0, "{ran:?}");
        match is_asked {
            true => {
                for text in
                    ["command /h/tell", "changed · sha256:bb · was sha256:aa", "gone, or cannot be read"]
                {
                    assert!(ran.stderr.contains(text), "{text}: {ran:?}");
                }
                assert!(!ran.stderr.contains("/h/same"), "{ran:?}");
                assert!(ran.stdout.contains("may be run as they are now: command /h/tell"), "{ran:?}");
            }
            false => assert!(ran.stdout.contains("nothing changed since it was noted (1 program"), "{ran:?}"),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["trust", "--programs", "--no"][..], &["trust", "--programs", "helper"]] {
        assert_eq!(Command::new(arguments).run(folder.path()).exit_code, 2, "{arguments:?}");
    }
}

/// By a person on a terminal alone: nothing that is given says yes.
#[test]
fn a_folder_is_forgotten_by_a_person_who_saw_what_that_means() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().canonicalize().unwrap().join("dotfiles");
    let path = gone.to_str().unwrap().to_owned();
    let row = |sessions: u64| json!({"folder": path, "lastSessionId": "s1", "sessions": sessions});
    let listed = |folders: Value| json!({"folders": folders});
    let command = |arguments: &[&str]| Command {
        is_terminal: true,
        press_after: AGREES.to_vec(),
        ..Command::new(&[&["trust", "--forget-folder", &path], arguments].concat())
    };
    let known = listed(json!([row(0)]));
    let meant = path.clone();
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("workedFolders/list", known);
        let reply = json!({"folder": meant, "forgotten": true, "stillWithin": ["/h"], "seq": 3});
        assert_eq!(peer.answer("workedFolders/forget", reply), json!({"folder": meant}));
    });
    let ran = command(&[]).against(vec![script]);
    assert_eq!(ran.exit_code, 0, "{ran:?}");
    let seen = settled(&ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        seen.contains("scripts below it that agents may have written will run with your rights"),
        "{seen}"
    );
    assert!(ran.stdout.contains("counts as your own again; but it lies in /h"), "{ran:?}");
    for (folders, expected) in [
        (listed(json!([row(2)])), "2 sessions there have not been deleted"),
        (listed(json!([])), "no agent is known to have worked in"),
    ] {
        let script: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            peer.answer("workedFolders/list", folders);
        });
        let ran = command(&[]).against(vec![script]);
        let seen = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ran.exit_code == 1 && seen.contains(expected), "{ran:?}");
    }
    let refused = [
        Command::new(&["trust", "--forget-folder", &path]),
        command(&["--yes"]),
        command(&["--no"]),
        command(&["--folders"]),
    ];
    for command in refused {
        assert_eq!(command.run(folder.path()).exit_code, 2);
    }
}

#[test]
fn folders_in_which_agents_worked_are_listed_with_their_sessions() {
    let listed = json!({"folders": [
        {"folder": "/h/shop", "lastSessionId": "s2", "lastAt": "2026-11-21T21:15:51.600Z", "sessions": 1},
        {"folder": "/h/dotfiles", "lastSessionId": "s1", "lastAt": "2026-11-20T08:02:11.000Z", "sessions": 0},
        {"folder": "/h/old", "sessions": 0},
    ]});
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer("workedFolders/list", listed);
    });
    let ran = Command::new(&["trust", "--folders"]).against(vec![script]);
    expect![[r#"
        /h/shop      2026-11-21 21:15:51Z  s2
        /h/dotfiles  2026-11-20 08:02:11Z  s1 (deleted)
        /h/old       before that was kept
    "#]]
    .assert_eq(&ran.stdout);
}

#[test]
fn one_agent_is_acknowledged_with_the_digest_that_was_shown() {
    let agent = json!({
        "name": "helper", "title": "Helper", "scope": "project", "status": "untrusted", "path": "/w/h.md",
        "digest": "sha256:77", "tools": ["edit_file"], "approval": {"autoApprove": ["low"]},
        "prompt": "Help.\n\u{1b}[2J? Trust it [y/N] y",
        "definition": {"mcp": {"servers": ["docs", {"mine": {"command": "sh", "args": ["-c", "touch x"]}}]}},
    });
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        assert_eq!(peer.answer("agents/get", agent)["scope"], "project");
        let params = peer.answer("agents/acknowledge", json!({"name": "helper", "seq": 3}));
        assert_eq!((&params["name"], &params["digest"]), (&json!("helper"), &json!("sha256:77")));
    });
    let command =
        Command { is_terminal: true, press_after: AGREES.to_vec(), ..Command::new(&["trust", "helper"]) };
    let ran = command.against(vec![script]);
    expect![[r#"
        │ Help.
        │ ^[[2J? Trust it [y/N] y
        title    │ Helper
        file     │ /w/h.md
        digest   │ sha256:77
        agent    │ helper
        starts   │ {"mine":{"command":"sh","args":["-c","touch x"]}}
        tools    │ edit_file
        approves │ low
        May helper be started, as it is now?
        yes
        helper may be started, as it is now; when its file changes you are asked again
    "#]]
    .assert_eq(&format!("{}{}", settled(&ran.stderr), ran.stdout));
}

#[test]
fn a_run_can_be_shown_with_its_questions_and_changes() {
    let script: DaemonScript = Box::new(|peer| {
        say_hello(peer);
        let data = json!({"kind": "NOT_FOUND", "retryable": false});
        peer.refuse("agents/get", json!({"code": -31010, "message": "no agent", "data": data}));
        let run = "019aa1b2-c3d4-7001-8000-00000000000a";
        peer.answer("run/list", json!({"runs": [{"runId": run}]}));
        assert_eq!(
            peer.answer("run/get", record(json!({"reason": "GOAL", "prompt": "Mend it"})))["runId"],
            run
        );
        let resolution =
            json!({"outcome": "deny", "by": "client", "name": "ada-1", "message": "\u{1b}not there"});
        let asked = [
            question(json!({"state": "resolved", "resolution": resolution})),
            question(json!({"state": "queued"})),
        ];
        let params = peer.answer("confirmation/list", json!({"confirmations": asked}));
        assert_eq!((&params["runId"], &params["resolved"]), (&json!(run), &json!(true)));
        let changed =
            json!({"callId": "k1", "path": "/w/b.rs", "change": "moved", "from": "/w/a.rs", "undoId": "u1"});
        let events = [
            envelope(3, "file.changed", changed),
            envelope(
                4,
                "file.restored",
                json!({"callId": "k1", "path": "/w/b.rs", "undoId": "u1", "movedBackTo": "/w/a.rs"}),
            ),
            envelope(
                4,
                "file.restored",
                json!({"callId": "k1", "path": "/w/new", "undoId": "u2", "removed": true}),
            ),
            envelope(
                5,
                "context.compressed",
                json!({"status": "COMPRESSED", "tokensBefore": 900, "tokensAfter": 80}),
            ),
            envelope(6, "context.cleared", json!({"epoch": 2})),
        ];
        peer.answer("events/list", json!({"events": events, "head": 9}));
    });
    check(
        Command::new(&["show", "019aa1b2"]),
        vec![script],
        expect![[r#"
            exit 0
            --- stdout
            run        r1
            session    s1
            agent      scout, offline
            prompt     Mend it
            state      done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
            started    2025-11-20 11:04:00Z
            ended      2025-11-20 11:04:04Z

            questions
            019aa1b2-c3d4  edit_file, risk low: Edit a.rs
              denied by ada-1: ^[not there
            019aa1b2-c3d4  edit_file, risk low: Edit a.rs
              queued, `subagent approve` or `deny` answers it

            context
            context compressed: COMPRESSED · 900 tokens → 80 tokens
            context cleared

            files
            moved /w/a.rs to /w/b.rs  call k1
            moved /w/b.rs back to /w/a.rs  call k1
            removed /w/new  call k1
            --- stderr
        "#]],
    );
}

#[test]
fn events_about_people_and_files_are_lines() {
    let goal = record(json!({"reason": "GOAL", "result": "done"}));
    let rule = json!({"id": "x", "tier": "user", "tool": ["edit_file"], "decision": "allow"});
    let sent = vec![
        envelope(
            1,
            "file.changed",
            json!({"callId": "k1", "path": "/w/\u{1b}a", "change": "created", "undoId": "u"}),
        ),
        envelope(
            2,
            "file.changed",
            json!({"callId": "k1", "path": "/w/b", "change": "dreamt", "undoId": "u"}),
        ),
        envelope(3, "file.restored", json!({"callId": "k1", "path": "/w/a", "undoId": "u", "forced": true})),
        envelope(
            3,
            "file.restored",
            json!({"callId": "k1", "path": "/w/note.txt", "undoId": "u", "removed": true}),
        ),
        envelope(4, "memory.saved", json!({"callId": "k1", "path": "/m.md", "fact": "it\nrains"})),
        envelope(5, "policy.changed", json!({"added": [rule], "removed": ["y"], "files": ["/p.toml"]})),
        envelope(6, "workspace.trusted", json!({"workspace": "/w", "trusted": false})),
        envelope(
            7,
            "tool.clientCall",
            json!({"callId": "k1", "clientId": "v\u{1b}im", "name": "lint", "redelivered": true}),
        ),
        completed(8, &goal),
    ];
    let ran = Command::new(&["run", "scout", "-p", "q"]).against(vec![control(goal), events(sent)]);
    expect![[r#"
        ± created /w/^[a
        ± dreamt /w/b
        ↶ restored /w/a, over what somebody had changed since
        ✎ kept in /m.md: it rains
        ! from now on allow: edit_file
        ! rule y holds no more
        ! rules were read anew from /p.toml
        ! /w is trusted no longer
        … lint waits for the client v^[im, which is told again
        ■ scout · done · 2 turns · 3 tool calls · 1234 tokens · 4.2 s
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn open_questions_and_typed_results_are_told_by_status_and_runs() {
    let status = json!({
        "daemon": {"name": "subagentd", "version": env!("CARGO_PKG_VERSION"), "pid": 7}, "openConfirmations": 3,
    });
    let script: DaemonScript = Box::new(move |peer| {
        peer.answer("daemon/status", status);
    });
    let told = Command::new(&["status"]).against(vec![script]).stdout;
    assert!(told.contains("waiting   3 open questions: `subagent approvals` lists them"), "{told}");
    let typed = record(json!({"reason": "GOAL", "result": "{\n  \"places\": [\n    \"a.rs:3\"\n  ]\n}"}));
    let params = json!({"active": false, "roots": false, "limit": 20});
    let ran = Command::new(&["runs"]).against(vec![answering("run/list", params, json!({"runs": [typed]}))]);
    assert!(ran.stdout.trim_end().ends_with(r#"{"places":["a.rs:3"]}"#), "{}", ran.stdout);
}

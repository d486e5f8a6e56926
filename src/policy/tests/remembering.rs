//! What an answer "from now on" would write, and that it is never broader than what was answered.

use expect_test::{Expect, expect};

use super::*;

fn answer<'a>(scope: RememberScope, confirmation: &'a protocol::ConfirmationId) -> RememberedAnswer<'a> {
    RememberedAnswer { id: "r1", scope, created_by: Some("Ann"), created_at: None, confirmation }
}

/// The widest of the rules that may be written.
fn remember(policy: &Policy, sketch: &Sketch, scope: RememberScope) -> Option<PolicyRule> {
    remembered(policy, sketch, scope).pop()
}

fn remembered(policy: &Policy, sketch: &Sketch, scope: RememberScope) -> Vec<PolicyRule> {
    policy.remember(&sketch.call(), &answer(scope, &"c1".into()))
}

fn check(sketch: &Sketch, scope: RememberScope, expected: Expect) {
    let rule = remember(&Policy::builtin(), sketch, scope);
    let shown = rule.map_or_else(|| "none".to_owned(), |rule| serde_json::to_string(&rule).unwrap());
    expected.assert_eq(&shown);
}

fn opaque() -> Sketch {
    Sketch {
        tool: "mcp.github.get_issue".into(),
        aliases: vec![],
        kind: ToolKind::Other,
        risk: Risk::Medium,
        accesses: vec![ResourceAccess::Opaque { what: "github".into() }],
        arguments: json!({ "number": 7, "body": "(.*)" }),
        ..edit("/w/a")
    }
}

#[test]
fn the_rule_is_as_narrow_as_the_call() {
    check(
        &edit("/w/a"),
        RememberScope::Session,
        expect![[
            r#"{"id":"r1","tier":"user","tool":["edit_file","write_file"],"kind":"edit","risk":"low","session":"s1","accesses":[{"access":"write","path":"/w/a"}],"decision":"allow","priority":0,"createdBy":"Ann","fromConfirmation":"c1"}"#
        ]],
    );
    check(
        &edit("/w/a"),
        RememberScope::Project,
        expect![[
            r#"{"id":"r1","tier":"user","tool":["edit_file","write_file"],"kind":"edit","risk":"low","workspace":"/w","accesses":[{"access":"write","path":"/w/a"}],"decision":"allow","priority":0,"createdBy":"Ann","fromConfirmation":"c1"}"#
        ]],
    );
    check(
        &edit("/w/a"),
        RememberScope::User,
        expect![[
            r#"{"id":"r1","tier":"user","tool":["edit_file","write_file"],"kind":"edit","risk":"low","accesses":[{"access":"write","path":"/w/a"}],"decision":"allow","priority":0,"createdBy":"Ann","fromConfirmation":"c1"}"#
        ]],
    );
    check(
        &shell("git status -s ; cargo test --lib ; git status"),
        RememberScope::User,
        expect![[
            r#"{"id":"r1","tier":"user","tool":["run_shell_command"],"commandPrefix":["git status","cargo test"],"kind":"execute","risk":"medium","accesses":[{"access":"execute","command":"git status -s ; cargo test --lib ; git status"}],"decision":"allow","priority":0,"createdBy":"Ann","fromConfirmation":"c1"}"#
        ]],
    );
    check(
        &shell("git"),
        RememberScope::Project,
        expect![[
            r#"{"id":"r1","tier":"user","tool":["run_shell_command"],"argsPattern":"\\A\\{\"command\":\"git\"(?:,\"description\":\"(?:[^\"\\\\]|\\\\.)*\")?\\}\\z","kind":"execute","risk":"medium","workspace":"/w","accesses":[{"access":"execute","command":"git"}],"decision":"allow","priority":0,"createdBy":"Ann","fromConfirmation":"c1"}"#
        ]],
    );
    check(
        &opaque(),
        RememberScope::User,
        expect![[
            r#"{"id":"r1","tier":"user","tool":["mcp.github.get_issue"],"argsPattern":"\\A\\{\"body\":\"\\(\\.\\*\\)\",\"number\":7\\}\\z","kind":"other","risk":"medium","accesses":[{"access":"opaque","what":"github"}],"decision":"allow","priority":0,"createdBy":"Ann","fromConfirmation":"c1"}"#
        ]],
    );
}

#[test]
fn what_no_rule_can_mean_is_not_offered() {
    let none = [
        (Sketch { risk: Risk::Critical, ..shell("halt now") }, RememberScope::User),
        (Sketch { accesses: vec![], ..edit("/w/a") }, RememberScope::User),
        (Sketch { session: None, ..edit("/w/a") }, RememberScope::Session),
        (Sketch { roots: vec![], ..edit("/w/a") }, RememberScope::Project),
        (Sketch { roots: vec!["/w".into(), "/v".into()], ..edit("/w/a") }, RememberScope::Project),
        (Sketch { arguments: json!("x".repeat(5_000)), ..opaque() }, RememberScope::User),
        // It runs already.
        (Sketch { risk: Risk::Safe, ..edit("/w/a") }, RememberScope::User),
        (Sketch { mode: ApprovalMode::Yolo, ..edit("/w/a") }, RememberScope::User),
        // It is refused, whatever is remembered.
        (Sketch { mode: ApprovalMode::Plan, ..edit("/w/a") }, RememberScope::User),
    ];
    for (sketch, scope) in none {
        assert_eq!(remember(&Policy::builtin(), &sketch, scope), None, "{sketch:?}");
    }
}

#[test]
fn a_critical_call_is_asked_about_each_time() {
    let asks =
        policy_of(&[(PolicyTier::User, "[[rule]]\ntool = '*'\nrisk = 'critical'\ndecision = 'ask'\n")]);
    let critical = Sketch { risk: Risk::Critical, ..shell("git status") };
    assert_eq!(asks.decide(&critical.call()).verdict, Verdict::Ask);
    for scope in [RememberScope::Session, RememberScope::Project, RememberScope::User] {
        assert_eq!(remember(&asks, &critical, scope), None);
    }
}

#[test]
fn it_is_offered_only_where_it_would_change_the_next_verdict() {
    let rule = |tier, text: &'static str| policy_of(&[(tier, text)]);
    let is_offered = |policy: &Policy| remember(policy, &edit("/w/a"), RememberScope::User).is_some();
    assert!(is_offered(&rule(PolicyTier::User, "[[rule]]\ntool = '*'\ndecision = 'ask'\npriority = 9\n")));
    assert!(is_offered(&rule(PolicyTier::Builtin, "[[rule]]\ntool = '*'\ndecision = 'ask'\n")));
    for tier in [PolicyTier::System, PolicyTier::Project] {
        assert!(!is_offered(&rule(tier, "[[rule]]\ntool = '*'\ndecision = 'ask'\n")), "{tier:?}");
    }
    for tier in [PolicyTier::System, PolicyTier::User, PolicyTier::Project] {
        assert!(!is_offered(&rule(tier, "[[rule]]\ntool = '*'\ndecision = 'deny'\n")), "{tier:?}");
    }
    let broken = read_rules(PolicyTier::User, "[[rule]]\ntool = '*'\ndecision = 'perhaps'\n").0;
    assert!(!is_offered(&Policy::new(broken)));
}

#[test]
fn interpreters_and_bare_roots_are_remembered_by_their_very_arguments() {
    let exact = [
        "bash build.sh",
        "sh -c ls",
        "python script",
        "python3 script",
        "python3.12 script",
        "node server",
        "perl x",
        "ruby x",
        "sudo ls",
        "xargs rm",
        "env make",
        "timeout 5 make",
        "/usr/bin/git status",
        "./git status",
        "FOO=1 make",
        "$GIT status",
        "git",
        "git status ; python x",
    ];
    for command in exact {
        let rule = remember(&Policy::builtin(), &shell(command), RememberScope::Project).unwrap();
        assert_eq!((rule.command_prefix.len(), rule.args_pattern.is_some()), (0, true), "{command}");
        // The same words mean other files elsewhere.
        assert_eq!(remember(&Policy::builtin(), &shell(command), RememberScope::User), None, "{command}");
    }
    for (sketch, why) in [
        (Sketch { commands: None, ..shell("git status") }, "not parsed"),
        (Sketch { commands: Some(vec![]), ..shell("git status") }, "no commands"),
        (Sketch { unread: Some("it is odd"), ..shell("git status") }, "not all of it is known"),
        (shell("git ?x"), "its sub-command is not known"),
        (shell("?x status"), "its name is not known"),
        (shell("git status ; sed ?x"), "one of its commands runs what stands in its words"),
        (Sketch { risk: Risk::High, ..shell("git push --force") }, "high risk stands in options"),
        (
            Sketch {
                accesses: vec![
                    ResourceAccess::Execute { command: "git status".into() },
                    ResourceAccess::Opaque { what: "x".into() },
                ],
                ..shell("git status")
            },
            "someone else decides what is touched",
        ),
    ] {
        let rule = remember(&Policy::builtin(), &sketch, RememberScope::Project).unwrap();
        assert_eq!((rule.command_prefix.len(), rule.args_pattern.is_some()), (0, true), "{why}");
    }
}

/// A command, and how a model describes it.
fn said(command: &str, description: &str) -> Sketch {
    Sketch { arguments: json!({ "command": command, "description": description }), ..shell(command) }
}

#[test]
fn what_it_would_allow_is_said_in_plain_words() {
    let told = |sketch: &Sketch, scope| {
        let rule = remember(&Policy::builtin(), sketch, scope).unwrap();
        format!("{:?}: {}", crate::extent(&rule), crate::allows(&rule))
    };
    let write = |path: &str| ResourceAccess::Write { path: path.into() };
    let in_new_folder =
        Sketch { accesses: vec![write("/w/src/a.txt"), write("/w/src")], ..edit("/w/src/a.txt") };
    expect_test::expect![[r#"
        File: allow edits of /w/a, until this session ends
        File: allow edits of /w/a, from now on, everywhere
        File: allow edits of /w/src/a.txt, for which it makes the folder /w/src, until this session ends
        Call: allow this very command again: python script, from now on in /w
        Words: allow commands like "git status …" and "cargo test …" that stay in the workspace and write no other files, from now on in /w
        Call: allow this very call of mcp.github.get_issue again, from now on, everywhere"#]].assert_eq(
        &[
            told(&edit("/w/a"), RememberScope::Session),
            told(&edit("/w/a"), RememberScope::User),
            told(&in_new_folder, RememberScope::Session),
            told(&said("python script", "harmless"), RememberScope::Project),
            told(&shell("git status ; cargo test"), RememberScope::Project),
            told(&opaque(), RememberScope::User),
        ]
        .join("\n"),
    );
    // What is of high risk is allowed in its place, not everywhere.
    let risky = Sketch { risk: Risk::High, ..edit("/w/a") };
    assert!(remember(&Policy::builtin(), &risky, RememberScope::Project).is_some());
    assert_eq!(remember(&Policy::builtin(), &risky, RememberScope::User), None);
}

#[test]
fn what_it_would_allow_is_said_whole() {
    let told_for =
        |sketch: &Sketch, scope| crate::allows(&remember(&Policy::builtin(), sketch, scope).unwrap());
    let told = |sketch: &Sketch| told_for(sketch, RememberScope::Session);
    let folder = format!("/w/{}/production", "a".repeat(200));
    let path = format!("{folder}/{}", "b  \u{a0}c");
    assert!(told_for(&edit(&path), RememberScope::User).contains(&path), "{}", told(&edit(&path)));
    // Until the session ends it is the folder.
    assert!(told(&edit(&path)).contains(&folder), "{}", told(&edit(&path)));
    let many = Sketch {
        accesses: (0..9).map(|n| ResourceAccess::Write { path: format!("/w/{n}.txt").into() }).collect(),
        ..edit("/w/0.txt")
    };
    assert!(told(&many).contains("/w/8.txt"), "{}", told(&many));
    // Of a long command, which the question shows, no part stands for the whole.
    let long = format!("python {}", "x".repeat(200));
    assert_eq!(told(&shell(&long)), "allow this very command again, until this session ends");
}

/// One remembered answer, and other calls.
#[test]
fn it_allows_the_same_again_and_nothing_else() {
    let allowed = |remembered: &Sketch, scope, next: &Sketch| {
        let rule = remember(&Policy::builtin(), remembered, scope).unwrap();
        let decision = Policy::builtin().with(rule).decide(&next.call());
        decision.verdict == Verdict::Allow && decision.rule == "r1"
    };
    let write = |path: &str| ResourceAccess::Write { path: path.into() };
    let two = Sketch { accesses: vec![write("/w/a"), write("/w/b")], ..edit("/w/a") };
    let same = [
        (
            edit("/w/a"),
            RememberScope::User,
            Sketch { arguments: json!({ "path": "/w/a", "content": "y" }), ..edit("/w/a") },
        ),
        (
            edit("/w/a"),
            RememberScope::User,
            Sketch { agent: "other".into(), session: None, roots: vec![], ..edit("/w/a") },
        ),
        (edit("/w/a"), RememberScope::Session, Sketch { roots: vec![], ..edit("/w/a") }),
        (edit("/w/a"), RememberScope::Project, Sketch { session: Some("s2".into()), ..edit("/w/a") }),
        (two.clone(), RememberScope::User, edit("/w/b")),
        // By whichever of them a model writes, what becomes of the file is the same.
        (edit("/w/a"), RememberScope::User, Sketch { tool: "edit_file".into(), ..edit("/w/a") }),
        (edit("/w/sub/a"), RememberScope::Session, edit("/w/sub/deep/b")),
        // What a model says about a command is no part of it.
        (
            said("python script", "runs it"),
            RememberScope::Project,
            said("python script", "does \"it\" \\ once, \"command\":\"ls\""),
        ),
        (said("python script", "runs it"), RememberScope::Session, shell("python script")),
        (shell("python script"), RememberScope::Session, said("python script", "")),
        (shell("git status"), RememberScope::User, shell("git status -s")),
        (shell("git status ; cargo test"), RememberScope::User, shell("cargo test x")),
        (
            opaque(),
            RememberScope::User,
            Sketch { arguments: json!({ "body": "(.*)", "number": 7 }), ..opaque() },
        ),
    ];
    for (remembered, scope, next) in &same {
        assert!(allowed(remembered, *scope, next), "{scope:?} {remembered:?}\n{next:?}");
    }
    let other = [
        (said("python script", "runs it"), RememberScope::Project, said("python other", "python script")),
        (
            said("python script", "runs it"),
            RememberScope::Project,
            Sketch {
                arguments: json!({ "command": "python script", "description": "runs it", "timeout": 9 }),
                ..shell("python script")
            },
        ),
        (
            said("python script", "runs it"),
            RememberScope::Project,
            Sketch {
                arguments: json!({ "command": "python script", "description": ["x"] }),
                ..shell("python script")
            },
        ),
        (edit("/w/a"), RememberScope::User, edit("/w/b")),
        (edit("/w"), RememberScope::User, edit("/w/b")),
        (edit("/w/sub/a"), RememberScope::User, edit("/w/sub/b")),
        (edit("/w/sub/a"), RememberScope::Session, edit("/w/subway")),
        (edit("/w/sub/a"), RememberScope::Session, edit("/w/sub/../b")),
        (edit("/w/sub/a"), RememberScope::Session, Sketch { risk: Risk::High, ..edit("/w/sub/.git/config") }),
        (edit("/w/a"), RememberScope::User, two),
        (edit("/w/a"), RememberScope::User, Sketch { accesses: vec![], ..edit("/w/a") }),
        (edit("/w/a"), RememberScope::User, Sketch { risk: Risk::High, ..edit("/w/a") }),
        (edit("/w/a"), RememberScope::User, Sketch { kind: ToolKind::Delete, ..edit("/w/a") }),
        (edit("/w/a"), RememberScope::User, Sketch { mode: ApprovalMode::Plan, ..edit("/w/a") }),
        (edit("/w/a"), RememberScope::Session, Sketch { session: Some("s2".into()), ..edit("/w/a") }),
        (edit("/w/a"), RememberScope::Session, Sketch { session: None, ..edit("/w/a") }),
        (edit("/w/a"), RememberScope::Project, Sketch { roots: vec!["/v".into()], ..edit("/w/a") }),
        (
            edit("/w/a"),
            RememberScope::Project,
            Sketch { roots: vec!["/w".into(), "/v".into()], ..edit("/w/a") },
        ),
        (shell("git status"), RememberScope::User, shell("git push")),
        (shell("git status"), RememberScope::User, shell("git status ; rm x")),
        (shell("git status"), RememberScope::User, Sketch { risk: Risk::High, ..shell("git status") }),
        (shell("git status"), RememberScope::User, Sketch { commands: None, ..shell("git status") }),
        (
            // A redirection.
            shell("git status"),
            RememberScope::User,
            Sketch {
                accesses: vec![ResourceAccess::Execute { command: "git status".into() }, write("/w/a")],
                ..shell("git status")
            },
        ),
        (shell("bash x"), RememberScope::Project, shell("bash y")),
        (
            shell("bash x"),
            RememberScope::Project,
            Sketch { arguments: json!({ "command": "bash x", "pty": true }), ..shell("bash x") },
        ),
        (
            opaque(),
            RememberScope::User,
            Sketch { arguments: json!({ "number": 8, "body": "(.*)" }), ..opaque() },
        ),
        (
            opaque(),
            RememberScope::User,
            Sketch { arguments: json!({ "number": 7, "body": "(abc)" }), ..opaque() },
        ),
        (opaque(), RememberScope::User, Sketch { tool: "mcp.github.get-issue".into(), ..opaque() }),
    ];
    for (remembered, scope, next) in &other {
        assert!(!allowed(remembered, *scope, next), "{scope:?} {remembered:?}\n{next:?}");
    }
}

#[test]
fn a_tool_with_the_name_of_a_pattern_or_an_alias_is_only_itself() {
    for name in ["mcp.evil.*", "*", "bash", "Write"] {
        let evil = Sketch { tool: name.into(), aliases: vec![], ..shell("git status") };
        let rule = remember(&Policy::builtin(), &evil, RememberScope::User).unwrap();
        let policy = Policy::builtin().with(rule);
        assert_eq!(policy.decide(&evil.call()).verdict, Verdict::Allow, "{name}");
        for innocent in [shell("git status"), Sketch { tool: "mcp.evil.delete".into(), ..evil.clone() }] {
            assert_eq!(policy.decide(&innocent.call()).verdict, Verdict::Ask, "{name}");
        }
    }
}

#[test]
fn a_remembered_rule_stands_above_asks_and_below_every_deny_of_its_tier() {
    let rule = remember(&Policy::builtin(), &edit("/w/a"), RememberScope::User).unwrap();
    let verdict = |text: &str| {
        policy_of(&[(PolicyTier::User, text)]).with(rule.clone()).decide(&edit("/w/a").call()).verdict
    };
    let ask = "[[rule]]\ntool = '*'\ndecision = 'ask'\npriority = 99\n";
    let deny = "[[rule]]\ntool = '*'\ndecision = 'deny'\npriority = -99\n";
    assert_eq!(verdict(ask), Verdict::Allow);
    assert_eq!(verdict(deny), Verdict::Deny);
    assert_eq!(verdict(&format!("{ask}{deny}")), Verdict::Ask);
}

#[test]
fn an_answer_counts_for_what_is_confined_as_it_was_then() {
    let usual = CommandConfinement::default();
    let confined = |by: &CommandConfinement| Sketch { confinement: Some(by.clone()), ..shell("cargo test") };
    let read_only = CommandConfinement { profile: SandboxProfile::ReadOnly, ..usual.clone() };
    let connected = CommandConfinement { network: true, ..usual.clone() };
    let docker = CommandConfinement { sockets: vec!["/run/docker.sock".into()], ..usual.clone() };
    let free = CommandConfinement::none();
    let all = [&read_only, &usual, &connected, &docker, &free];
    for granted in all {
        let rule = remember(&Policy::builtin(), &confined(granted), RememberScope::User).unwrap();
        assert_eq!(rule.confinement.as_ref(), Some(granted));
        let policy = Policy::new(vec![rule]);
        for later in all {
            let is_allowed = policy.decide(&confined(later).call()).verdict == Verdict::Allow;
            assert_eq!(is_allowed, later.is_within(granted), "{granted:?}, {later:?}");
        }
    }
    // One that is older than this.
    let mut rule = remember(&Policy::builtin(), &shell("cargo test"), RememberScope::User).unwrap();
    rule.confinement = None;
    let policy = Policy::new(vec![rule]);
    for later in all {
        let is_allowed = policy.decide(&confined(later).call()).verdict == Verdict::Allow;
        assert_eq!(is_allowed, later.is_within(&usual), "{later:?}");
    }
}

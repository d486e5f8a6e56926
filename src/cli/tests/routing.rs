//! `route`, and a prompt in the place of a command.

use std::sync::mpsc;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

fn routed() -> Value {
    json!({
        "agent": "bug-hunter",
        "trigger": {"intent": "debug", "keywords": ["bug", "crash\u{1b}[2J"], "regex": "fix.*test", "priority": 10},
        "matched": ["bug"],
        "runnersUp": [
            {"agent": "tester", "trigger": {"regex": "fix.*test", "priority": 8}, "matched": ["fix the test"]},
            {"agent": "writer", "trigger": {"keywords": ["docs"], "priority": 0}, "matched": ["docs"]},
        ],
    })
}

fn asking(answer: Value, prompt: &'static str) -> DaemonScript {
    Box::new(move |peer| {
        say_hello(peer);
        let params = peer.answer("agents/route", answer);
        assert_eq!(params["prompt"], prompt);
        assert!(params["workspace"].is_string() && params["sessionId"].is_null());
        peer.wait_for_hangup();
    })
}

#[test]
fn a_route_says_why_and_who_else_it_might_have_been() {
    check(
        Command::new(&["route", "fix the bug"]),
        vec![asking(routed(), "fix the bug")],
        expect![[r#"
            exit 0
            --- stdout
            agent        bug-hunter
            trigger      debug: bug, crash^[[2J, or /fix.*test/ · priority 10
            matched      bug
            runners-up   tester · /fix.*test/ · priority 8 · matched: fix the test
                         writer · docs · priority 0 · matched: docs
            --- stderr
        "#]],
    );
    let usual = json!({"agent": "generalist"});
    let command = Command { stdin: Some("hello\n"), ..Command::new(&["agents", "route"]) };
    check(
        command,
        vec![asking(usual, "hello")],
        expect![[r#"
            exit 0
            --- stdout
            agent        generalist
            trigger      none fits, so it is the usual agent
            --- stderr
        "#]],
    );
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Command { stdin: Some(" \n"), ..Command::new(&["route"]) }.run(folder.path()).exit_code, 2);
}

/// What `run/start` is asked for by this command line, and what is told of it.
fn say(arguments: &[&str], more: Value) -> (Value, Ran) {
    let (told, asked) = mpsc::channel();
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        let mut started = json!({
            "disposition": "started", "runId": "r1", "sessionId": "s1", "agent": "bug-hunter", "seq": 2,
        });
        for (key, value) in more.as_object().unwrap() {
            started[key] = value.clone();
        }
        told.send(peer.answer("run/start", started)).unwrap();
        peer.answer("run/get", record(json!({"reason": "GOAL", "result": "Mended."})));
        peer.wait_for_hangup();
    });
    let end = events(vec![completed(3, &record(json!({"reason": "GOAL", "result": "Mended."})))]);
    let command = Command { stdin: Some(""), ..Command::new(arguments) };
    let ran = command.against(vec![control, end]);
    (asked.recv().unwrap(), ran)
}

#[test]
fn a_prompt_goes_to_the_agent_whose_trigger_fits_and_it_is_told() {
    let (params, ran) = say(&["Fix the bug", "--model", "m1"], json!({"routed": routed()}));
    assert_eq!(
        (&params["agent"], &params["prompt"], &params["model"]),
        (&json!("auto"), &json!("Fix the bug"), &json!("m1"))
    );
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "Mended.\n"), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("Auto-routing to: bug-hunter (matched: bug)\n"), "{}", ran.stderr);
    let (_, ran) = say(&["run", "auto", "-p", "hello"], json!({"routed": {"agent": "generalist"}}));
    assert!(ran.stderr.starts_with("Auto-routing to: generalist (no trigger fits)\n"), "{}", ran.stderr);
    // Prompts are not routed here, or the agent was named.
    let (params, ran) = say(&["--agent", "scout", "--", "bug"], json!({}));
    assert_eq!((&params["agent"], &params["prompt"]), (&json!("scout"), &json!("bug")));
    assert!(!ran.stderr.contains("Auto-routing"), "{}", ran.stderr);
    let (params, _) = say(&["Fix the bug", "--agent", "scout"], json!({}));
    assert_eq!(params["agent"], "scout");
}

#[test]
fn a_program_is_not_told_in_words() {
    let (_, ran) = say(&["Fix the bug", "--output-format", "json"], json!({"routed": routed()}));
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, ""));
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["result"], "Mended.");
}

#[test]
fn one_word_is_a_command_or_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(&["lst"]).run(folder.path());
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("'lst'") && ran.stderr.contains("'list'"), "{}", ran.stderr);
    let ran = Command::new(&["Fix the bug", "--frobnicate"]).run(folder.path());
    assert_eq!(ran.exit_code, 2);
    assert!(ran.stderr.contains("Usage: subagent \"PROMPT\" [OPTIONS]"), "{}", ran.stderr);
    let help = Command::new(&["--help"]).run(folder.path()).stdout;
    assert!(help.contains("subagent \"Why"), "{help}");
    // A terminal gets it broken between words.
    let command = Command { is_terminal: true, columns: 80, ..Command::new(&["run", "--help"]) };
    let narrow = command.run(folder.path()).stdout;
    assert!(narrow.lines().all(|row| row.chars().count() <= 80), "{narrow}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&narrow), words(&Command::new(&["run", "--help"]).run(folder.path()).stdout));
    // What is used most comes first.
    let order = [
        "  -p, --prompt",
        "      --model",
        "      --continue",
        "Questions:",
        "Limits:",
        "      --max-turns",
        "Seldom needed:",
    ];
    let at = order.map(|text| narrow.find(text).unwrap_or_else(|| panic!("{text}: {narrow}")));
    assert!(at.is_sorted(), "{narrow}");
    let help = Command::new(&["Fix the bug", "--help"]).run(folder.path());
    assert!(help.exit_code == 0 && help.stdout.contains("--agent"), "{help:?}");
    // No word stands for a prompt, not even in what a shell completes.
    assert_eq!(Command::new(&["say", "x"]).run(folder.path()).exit_code, 2);
    let completed = Command::new(&["completions", "bash"]).run(folder.path()).stdout;
    assert!(completed.contains("create edit delete") && !completed.contains(",say)"), "completions");
}

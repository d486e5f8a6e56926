//! `hooks` and `prompt` on a terminal: is a reason told whole, and first that something does not work?

use serde_json::{Value, json};

use super::*;

fn shown(arguments: &[&str], columns: usize, method: &'static str, answer: Value) -> String {
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        peer.answer(method, answer);
    });
    let command = Command { is_terminal: true, columns, ..Command::new(arguments) };
    command.against(vec![script]).stdout
}

/// Without line breaks and the blanks around them.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_hook_that_cannot_work_says_so_beside_its_id() {
    let hook = json!({
        "id": "user/PreToolUse/1c40e2aa", "event": "PreToolUse", "source": "user", "file": "/c/settings.json", "line": 3,
        "type": "command", "runs": "~/guard.sh", "onFailure": "block", "timeoutSeconds": 600.0, "state": "on",
        "fault": {"reason": "/h/guard.sh is not there", "failure": "block"},
        "warning": "`GUARD_MODE` has no value in its command",
    });
    let text = shown(&["hooks", "list"], 60, "hooks/list", json!({ "hooks": [hook] }));
    assert!(text.starts_with("user/PreToolUse/1c40e2aa  on, but fails\n"), "{text}");
    assert!(
        flat(&text).contains("it cannot be asked, and refuses what it guards: /h/guard.sh is not there"),
        "{text}"
    );
    assert!(flat(&text).contains("`GUARD_MODE` has no value in its command"), "{text}");
}

/// Whoever wrote one for another product does not expect it in a sandbox, and learns how it gets out of there.
#[test]
fn a_hook_of_ones_own_that_runs_in_a_sandbox_says_how_it_would_not() {
    let told = "put it into a script of yours outside of all workspaces, such as ~/.config/subagentd/hooks/x.sh, and name that by its full path";
    for (id, confined, is_told) in [("user", true, true), ("user", false, false), ("project", true, false)] {
        let hook = json!({
            "id": format!("{id}/PostToolUse/1c40e2aa"), "event": "PostToolUse", "source": id, "file": "/c/settings.json",
            "type": "command", "runs": "npx prettier .", "onFailure": "continue", "state": "on",
            "confinement": {"confined": confined, "reason": "it is yours"},
        });
        for columns in [40, 100] {
            let text = shown(&["hooks", "list"], columns, "hooks/list", json!({ "hooks": [hook] }));
            assert_eq!(flat(&text).contains(told), is_told, "{id} {confined}: {text}");
            assert!(text.lines().all(|row| row.chars().count() <= columns), "{text}");
        }
        let trial = json!({"wouldFire": true, "outcome": "answered", "confinement": {"confined": confined, "reason": "x"}});
        let hook = format!("{id}/PostToolUse/1c40e2aa");
        let text = shown(&["hooks", "test", &hook], 60, "hooks/test", trial);
        assert_eq!(flat(&text).contains(told), is_told, "{id} {confined}: {text}");
    }
}

#[test]
fn the_reason_why_a_part_is_off_is_never_cut() {
    let import = "/home/ada/shop/docs/of/the/team/missing.md, in /home/ada/shop/AGENTS.md";
    let answer = json!({
        "text": "x", "tokens": 9, "parts": [
            {"name": "memory", "source": "/home/ada/shop/AGENTS.md", "tokens": 9},
            {"name": "import", "source": import, "tokens": 0, "off": "there is no such file"},
            {"name": "hook", "source": "user/SessionStart/1c40e2aa may add text at SessionStart", "tokens": 0},
        ],
    });
    for columns in [40, 60, 100] {
        let text = shown(&["prompt", "lead", "--tokens"], columns, "prompt/render", answer.clone());
        assert!(flat(&text).contains("off: there is no such file"), "{text}");
        assert!(!text.contains('…'), "{text}");
        assert!(text.contains("hook    -"), "{text}");
        assert!(text.lines().all(|row| row.chars().count() <= columns || row.starts_with("about")), "{text}");
    }
}

/// Whoever reads the prompt alone would believe that it is all.
#[test]
fn a_prompt_says_that_hooks_may_add_to_it() {
    let hook = |id: &str| json!({"name": "hook", "source": format!("{id} may add text at SessionStart"), "tokens": 0});
    let told = |parts: Vec<Value>| {
        let answer = json!({ "text": "You look.", "tokens": 9, "parts": parts });
        let script: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            peer.answer("prompt/render", answer);
        });
        let ran = Command::new(&["prompt", "lead"]).against(vec![script]);
        assert_eq!(ran.stdout, "You look.\n");
        ran.stderr
    };
    let one = told(vec![hook("user/SessionStart/1c40e2aa")]);
    assert_eq!(
        one,
        "note: a hook may add text that only it knows: user/SessionStart/1c40e2aa; `subagent prompt lead --tokens` says when\n"
    );
    let many = told((1..=5).map(|n| hook(&format!("user/SessionStart/{n}"))).collect());
    assert!(many.contains("5 hooks may add text that only they know: user/SessionStart/1, user/SessionStart/2, user/SessionStart/3, …;"), "{many}");
    assert_eq!(told(Vec::new()), "");
}

#[test]
fn what_a_hook_says_is_wrapped_between_words() {
    let answer = json!({
        "id": "h", "event": "PreToolUse", "wouldFire": true, "input": {"tool_name": "Bash"}, "durationMs": 3, "exitCode": 2,
        "outcome": "answered", "decision": "deny", "summary": "It blocks the call.",
        "reason": "somebody has to look at this command first, since it reaches servers of customers",
    });
    let text = shown(&["hooks", "test", "h"], 40, "hooks/test", answer);
    // The verdict first, and what led to it behind that.
    let labels: Vec<&str> =
        text.lines().filter_map(|row| row.split(' ').next()).filter(|it| !it.is_empty()).collect();
    assert_eq!(labels, ["means", "decision", "reason", "ended", "told"]);
    assert!(text.lines().all(|row| row.chars().count() <= 40), "{text}");
    assert!(flat(&text).contains("since it reaches servers of customers"), "{text}");
}

//! Files as people publish them load: the shapes of plugins, settings and hook files that were read in public repositories,
//! made anew here with words of our own.

use serde_json::json;

use super::*;
use protocol::ProblemSeverity;

/// What loads of a file of the user's: ids' events, and mistakes.
fn loaded(text: &str) -> (Vec<String>, Vec<String>) {
    let bench = Bench::new();
    std::fs::write(bench.folder.path().join("settings.json"), text).unwrap();
    let read = bench.read(&TrustRecords::default());
    let hooks = read.set.hooks().iter().map(|hook| {
        let state = match hook.state {
            HookState::On => "",
            HookState::NeverFires => " (never fires)",
            HookState::Broken => " (broken)",
            _ => " (?)",
        };
        format!("{} {} {}s{state}", hook.event_name, hook.handler.kind(), hook.timeout.as_secs_f64())
    });
    let problems = read.problems.iter().map(|found| {
        let is_error = if found.severity == ProblemSeverity::Error { "error" } else { "warning" };
        format!(
            "{}: {is_error}: {}{}",
            found.line.unwrap_or(0),
            found.message,
            found.fix.iter().map(|fix| format!(" ({fix})")).collect::<String>()
        )
    });
    (hooks.collect(), problems.collect())
}

/// Each a kind of file that is there by the thousands; none has an error.
const FILES: &[&str] = &[
    // A plugin's: one event, a variable of its own folder.
    r#"{"description":"d","hooks":{"SessionStart":[{"matcher":"startup|resume|clear|compact","hooks":[{"type":"command","command":"\"${CLAUDE_PLUGIN_ROOT}/hooks/run.cmd\" start.sh"}]}]}}"#,
    // Events without `hooks` around them.
    r#"{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"python3 ${CLAUDE_PLUGIN_ROOT}/pre.py","timeout":10}]}],"Stop":[{"matcher":"*","hooks":[{"type":"command","command":"python3 stop.py","timeout":10}]}]}"#,
    // Several hooks in a group, several groups at an event, an event that never fires.
    r#"{"hooks":{"PreToolUse":[{"matcher":"Write|Edit","hooks":[{"type":"command","command":"a","timeout":10}]},{"matcher":"Bash","hooks":[{"type":"command","command":"b"},{"type":"command","command":"c"}]}],"ConfigChange":[{"hooks":[{"type":"command","command":"d"}]}]}}"#,
    // Settings with permissions and other things beside.
    r#"{"$schema":"https://json.schemastore.org/claude-code-settings.json","permissions":{"allow":["Bash(ls:*)"],"deny":[]},"hooks":{"PostToolUse":[{"matcher":"Edit|MultiEdit|Write","hooks":[{"type":"command","command":"jq -r '.tool_input.file_path' | xargs prettier --write || true"}]}]}}"#,
    // A notification without a matcher, one with an empty one.
    r#"{"hooks":{"Notification":[{"hooks":[{"type":"command","command":"notify-send hello"}]}],"Stop":[{"matcher":"","hooks":[{"type":"command","command":"afplay x.aiff"}]}]}}"#,
    // A model is asked.
    r#"{"hooks":{"Stop":[{"hooks":[{"type":"prompt","prompt":"Is everything done? $ARGUMENTS","timeout":30}]}],"SubagentStop":[{"hooks":[{"type":"prompt","prompt":"Done?"}]}]}}"#,
    // An address, with a header.
    r#"{"hooks":{"PostToolUse":[{"matcher":"Bash","hooks":[{"type":"http","url":"http://localhost:8080/h","timeout":30,"headers":{"Authorization":"Bearer $T"},"allowedEnvVars":["T"]}]}]}}"#,
    // A tool of a server.
    r#"{"hooks":{"PreToolUse":[{"matcher":"mcp__memory__.*","hooks":[{"type":"mcp_tool","server":"s","tool":"t","input":{"p":"${tool_input.file_path}"}}]}]}}"#,
    // In the background, with a condition, with words for a spinner, once.
    r#"{"hooks":{"PostToolUse":[{"matcher":"Bash","hooks":[{"type":"command","if":"Bash(git push *)","command":"x","async":true,"statusMessage":"…","once":true}]}]}}"#,
    // Arguments without a shell, and a guard that says what its failure means.
    r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"node","args":["${CLAUDE_PROJECT_DIR}/g.js"],"onFailure":"block"}]}]}}"#,
    // Gemini CLI's: names, milliseconds, one after the other.
    r#"{"hooks":{"BeforeTool":[{"matcher":"write_file|replace","sequential":true,"hooks":[{"name":"n","type":"command","command":"node s.js","description":"d","timeout":5000},{"type":"command","command":"node t.js"}]}],"AfterTool":[{"matcher":"*","hooks":[{"type":"command","command":"v"}]}]}}"#,
    // Codex's.
    r#"{"hooks":{"SessionStart":[{"matcher":"startup|resume","hooks":[{"type":"command","command":"x forward SessionStart # managed","statusMessage":"s"}]}],"PermissionRequest":[{"hooks":[{"type":"command","command":"x","timeout":30}]}],"PreCompact":[{"matcher":"manual|auto","hooks":[{"type":"command","command":"x"}]}]}}"#,
    // Comments and a comma too many.
    "{\n  // mine\n  \"hooks\": { \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"x\" }, ] }, ], },\n}",
];

#[test]
fn shapes_that_are_published_load_without_an_error() {
    for text in FILES {
        let (hooks, problems) = loaded(text);
        assert!(!hooks.is_empty(), "{text}");
        assert!(hooks.iter().all(|hook| !hook.contains("broken")), "{hooks:?} {text}");
        assert!(problems.iter().all(|problem| !problem.contains("error")), "{problems:?} {text}");
    }
}

#[test]
fn units_names_and_usual_times() {
    let (hooks, _) = loaded(FILES[10]);
    assert_eq!(hooks, ["BeforeTool command 5s", "BeforeTool command 60s", "AfterTool command 60s"]);
    let text = json!({ "hooks": {
        "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": "x" }, { "type": "prompt", "prompt": "p" }] }],
        "PreToolUse": [{ "hooks": [{ "type": "command", "command": "x" }, { "type": "agent", "prompt": "p" }] }],
    } });
    let (hooks, _) = loaded(&text.to_string());
    let expected = [
        "UserPromptSubmit command 30s",
        "UserPromptSubmit prompt 30s",
        "PreToolUse command 600s",
        "PreToolUse agent 60s",
    ];
    assert_eq!(
        hooks.iter().collect::<std::collections::BTreeSet<_>>(),
        expected.map(str::to_owned).iter().collect()
    );
}

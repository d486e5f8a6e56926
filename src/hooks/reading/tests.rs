//! What do entries mean that people write, and what is told of mistakes?

use expect_test::{Expect, expect};

use super::*;

/// What is read of the object behind `hooks`, a line each, and what is told of it.
fn check(text: &str, expected: &Expect) {
    let file = Path::new("/u/settings.json");
    let root = DocumentNode::parse(file, text.as_bytes()).unwrap().unwrap();
    let place = ReadingPlace { file, origin: HookOrigin::User, contract: HookContract::Claude, label: "u" };
    let read = read(hooks_of(&root).unwrap(), &place, &mut 0);
    let mut lines = String::new();
    for hook in &read.hooks {
        let Hook { event_name, line, on_failure, state, handler, .. } = hook;
        lines.push_str(&format!("{line} {event_name} {state:?} {on_failure:?} {}\n", handler.shown()));
    }
    for problem in &read.problems {
        let fix = problem.fix.as_ref().map(|fix| format!(" ({fix})")).unwrap_or_default();
        lines.push_str(&format!("{}: {}{fix}\n", problem.line.unwrap_or(0), problem.message));
    }
    expected.assert_eq(&lines);
}

#[test]
fn an_entry_of_a_guard_that_cannot_be_read_stays_as_a_guard_that_fails() {
    check(
        r#"{ "hooks": {
  "PreToolUse": [
    { "matcher": "Bash", "hooks": [ { "type": "comand", "command": "x" } ] },
    { "matcher": "(", "hooks": [ { "type": "command", "command": "x" } ] },
    { "type": "command", "command": "flat" },
    { "hooks": [ { "type": "command" }, { "command": "x" }, { "type": "command", "command": "x", "timeout": -1 } ] },
    { "hooks": [ { "type": "command", "command": "x", "if": "Bash(" } ] },
    { "hooks": [ { "type": "command", "command": "x", "onFailure": "ignore" } ] },
    { "hooks": [ { "type": "http", "url": "ftp://x" } ] },
    { "hooks": [ { "type": "command", "command": "x", "shell": "powershell" } ] },
    7
  ],
  "Stop": [ { "hooks": [ { "type": "command" } ] } ]
} }"#,
        &expect![[r#"
            3 PreToolUse Broken Block it cannot be read: /u/settings.json:3: `PreToolUse`: a hook is of an unknown type `comand`; did you mean `command`?
            4 PreToolUse Broken Block it cannot be read: /u/settings.json:4: `PreToolUse`: `matcher` is no regular expression: unclosed group
            5 PreToolUse Broken Block it cannot be read: /u/settings.json:5: `PreToolUse`: a group has no list `hooks` with what is to be run
            6 PreToolUse Broken Block it cannot be read: /u/settings.json:6: `PreToolUse`: a hook of type `command` has no `command`
            6 PreToolUse Broken Block it cannot be read: /u/settings.json:6: `PreToolUse`: a hook has no `type`
            6 PreToolUse Broken Block it cannot be read: /u/settings.json:6: `PreToolUse`: a hook has a `timeout` that is no number above 0
            7 PreToolUse Broken Block it cannot be read: /u/settings.json:7: `PreToolUse`: a hook has an `if` that has a `(` without a `)` at its end
            8 PreToolUse Broken Block it cannot be read: /u/settings.json:8: `PreToolUse`: a hook has a text for an `onFailure` that is not `continue` or `block`
            9 PreToolUse Broken Block it cannot be read: /u/settings.json:9: `PreToolUse`: a hook has a `url` that is not of http or https
            10 PreToolUse Broken Block it cannot be read: /u/settings.json:10: `PreToolUse`: a hook wants another `shell` than bash: "powershell"
            11 PreToolUse Broken Block it cannot be read: /u/settings.json:11: `PreToolUse`: expected an object with `matcher` and `hooks`, found a number
            13 Stop Broken Continue it cannot be read: /u/settings.json:13: `Stop`: a hook of type `command` has no `command`
            3: `PreToolUse`: a hook is of an unknown type `comand`; did you mean `command`?
            4: `PreToolUse`: `matcher` is no regular expression: unclosed group
            5: `PreToolUse`: a group has no list `hooks` with what is to be run
            6: `PreToolUse`: a hook of type `command` has no `command`
            6: `PreToolUse`: a hook has no `type`
            6: `PreToolUse`: a hook has a `timeout` that is no number above 0
            7: `PreToolUse`: a hook has an `if` that has a `(` without a `)` at its end
            8: `PreToolUse`: a hook has a text for an `onFailure` that is not `continue` or `block`
            9: `PreToolUse`: a hook has a `url` that is not of http or https
            10: `PreToolUse`: a hook wants another `shell` than bash: "powershell"
            11: `PreToolUse`: expected an object with `matcher` and `hooks`, found a number
            13: `Stop`: a hook of type `command` has no `command`
        "#]],
    );
}

#[test]
fn odd_events_and_fields_are_told_and_the_nearest_named() {
    check(
        r#"{ "hooks": {
  "PreToolsUse": [],
  "Breakfast": [],
  "TeammateIdle": [ { "hooks": [ { "type": "command", "command": "x" } ] } ],
  "places": ["claude"],
  "PostToolUse": [ { "hooks": [ { "type": "command", "command": "x", "timout": 3, "statusMessage": "s" } ] } ],
  "UserPromptSubmit": [ { "hooks": [ { "type": "command", "command": "x", "async": true, "if": "Bash(x)" } ] } ],
  "SessionStart": [ { "hooks": [
    { "type": "prompt", "prompt": "p" },
    { "type": "command", "command": "echo 'export A=1' >> \"$CLAUDE_ENV_FILE\"" }
  ] } ]
} }"#,
        &expect![[r#"
            4 TeammateIdle NeverFires Continue x
            6 PostToolUse On Continue x
            7 UserPromptSubmit On Block x
            9 SessionStart Broken Continue it cannot be read: /u/settings.json:9: `SessionStart`: a hook of type `prompt` can stand at prompts, tools and ends only
            10 SessionStart On Continue echo 'export A=1' >> "$CLAUDE_ENV_FILE"
            2: there is no event `PreToolsUse`; its hooks do nothing (did you mean `PreToolUse`?)
            3: there is no event `Breakfast`; its hooks do nothing
            4: `TeammateIdle` is never fired by this daemon; its hooks do nothing
            6: `PostToolUse`: a hook has no field `timout` (did you mean `timeout`?)
            7: `UserPromptSubmit`: a hook that is `async` decides nothing, so it guards nothing
            7: `UserPromptSubmit`: `if` means something at tools only; the hook runs always
            9: `SessionStart`: a hook of type `prompt` can stand at prompts, tools and ends only
            10: `SessionStart`: there is no `CLAUDE_ENV_FILE`; what the hook exports reaches no command (name the variable in `sandbox.environment`, or set it in the command that a `PreToolUse` hook gives back)
        "#]],
    );
}

#[test]
fn ids_stay_when_other_hooks_come_and_differ_between_hooks() {
    let ids = |text: &str| -> Vec<String> {
        let file = Path::new("/u/settings.json");
        let root = DocumentNode::parse(file, text.as_bytes()).unwrap().unwrap();
        let place =
            ReadingPlace { file, origin: HookOrigin::User, contract: HookContract::Claude, label: "u" };
        let read = read(hooks_of(&root).unwrap(), &place, &mut 0);
        read.hooks.iter().map(|hook| hook.id.as_str().to_owned()).collect()
    };
    let one = ids(r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}"#);
    let more = ids(
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"b"},{"type":"command","command":"a"},{"type":"command","command":"a"}]}]}}"#,
    );
    assert_eq!(one[0], more[1]);
    assert_eq!(more.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
    assert!(one[0].starts_with("user/Stop/"), "{one:?}");
}

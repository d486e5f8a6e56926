//! Promises of the settings files, tested on real files.

mod layers;
mod models;

use expect_test::{Expect, expect};

use super::*;
use protocol::{FileProblem, ModelRef, ProblemSeverity};

/// Loads the two texts as system and user file; `None` = no such file.
fn load(system: Option<&str>, user: Option<&str>) -> (DaemonConfig, String) {
    let folder = tempfile::tempdir().unwrap();
    let places =
        ConfigPlaces { system: folder.path().join("system.json"), user: folder.path().join("user.json") };
    for (path, text) in [(&places.system, system), (&places.user, user)] {
        if let Some(text) = text {
            std::fs::write(path, text).unwrap();
        }
    }
    let (config, problems) = DaemonConfig::load(&ConfigSources::files(places));
    let mut told = String::new();
    for problem in problems {
        let file = problem.path.file_name().unwrap().to_str().unwrap().to_owned();
        let severity = if problem.severity == ProblemSeverity::Error { "error" } else { "warning" };
        let shown = FileProblem { path: file.into(), ..problem };
        told.push_str(&format!("{severity} {:?} {shown}\n", shown.code));
    }
    (config, told)
}

fn check_problems(user: &str, expected: Expect) {
    expected.assert_eq(&load(None, Some(user)).1);
}

#[test]
fn without_files_everything_is_default() {
    let (config, problems) = load(None, None);
    assert_eq!((config, problems.as_str()), (DaemonConfig::default(), ""));
}

#[test]
fn the_user_wins_over_the_system_and_every_value_knows_its_origin() {
    let system =
        r#"{"models": {"default": "offline"}, "run": {"maxTurns": 5}, "access": {"allowUids": [7]}}"#;
    let user = r#"{
        // comments and trailing commas are fine
        "run": {"maxTurns": 9, "maxTimeMinutes": 0.5, "maxTokens": 1000, "graceSeconds": 2.5},
        "agents": {"default": "mine"},
        "tools": {"exclude": ["glob", "mcp.github.*"], "output": {"maxChars": 5000}},
        "shutdown": {"graceSeconds": 0}, /* at once */
    }"#;
    let (config, problems) = load(Some(system), Some(user));
    assert_eq!(problems, "");
    assert_eq!(
        config.models.default,
        LayeredSetting { value: Some(ModelRef::from("offline")), origin: SettingLayer::System }
    );
    assert_eq!(
        config.agents.default,
        LayeredSetting { value: AgentName::from("mine"), origin: SettingLayer::User }
    );
    assert_eq!(config.run.max_turns, LayeredSetting { value: 9, origin: SettingLayer::User });
    assert_eq!(config.run.max_time.value, Duration::from_secs(30));
    assert_eq!(config.run.max_tokens.value, Some(1000));
    assert_eq!(config.run.grace.value, Duration::from_millis(2500));
    assert_eq!(config.tools.exclude.value, [ToolName::from("glob"), ToolName::from("mcp.github.*")]);
    assert_eq!(config.tools.output_max_chars, LayeredSetting { value: 5000, origin: SettingLayer::User });
    assert_eq!(config.shutdown.grace.value, Duration::ZERO);
    assert_eq!(config.access.allow_uids, LayeredSetting { value: vec![7], origin: SettingLayer::System });
}

#[test]
fn addresses_that_may_hold_a_token_are_not_shown() {
    for endpoint in [
        "http://127.0.0.1:4318?token=s3cret",
        "http://me:s3cret@127.0.0.1:4318",
        "https://c/#s3cret",
        "ftp://a@s3cret",
    ] {
        let settings = format!("{{\"tracing\": {{\"otlp\": {{\"endpoint\": \"{endpoint}\"}}}}}}");
        let (config, problems) = load(None, Some(&settings));
        assert_eq!(config.tracing.otlp.endpoint.value, None);
        let told = format!("{problems:?}");
        assert!(told.contains("found an address with a user") && !told.contains("s3cret"), "{told}");
    }
}

#[test]
fn mistakes_are_told_at_once_and_cost_only_themselves() {
    let (config, problems) = load(
        None,
        Some(
            r#"{
  "models": {"default": 5},
  "run": {"maxTurns": 0, "maxTimeMinutes": "ten", "maxTokens": null, "graceSeconds": 7},
  "tools": {"exclude": "glob", "output": 3},
  "shutdown": {"graceSeconds": 1e400},
  "access": {"allowUids": [1, -1]},
  "agents": {"default": " "},
  "run": {}
}"#,
        ),
    );
    expect![[r#"
        error WrongType user.json:2:25: `models.default`: expected a model's name, e.g. "gemini/gemini-2.5-pro" or "offline", found 5
        error BadValue user.json:3:23: `run.maxTurns`: expected a whole number of at least 1, found 0
        error WrongType user.json:3:44: `run.maxTimeMinutes`: expected a number of minutes above 0, at most a year, found the text "ten"
        error WrongType user.json:4:24: `tools.exclude`: expected a list of tool names, e.g. ["web_fetch", "mcp.github.*"], found the text "glob"
        error WrongType user.json:4:42: `tools.output`: expected an object, found 3
        error BadValue user.json:5:32: `shutdown.graceSeconds`: expected a number of seconds from 0 to a year, found 1e400
        error BadValue user.json:6:27: `access.allowUids`: expected a list of numeric user ids, e.g. [1000], found a list
        error BadValue user.json:7:25: `agents.default`: expected an agent's name, e.g. "generalist", found the text " "
        error BadValue user.json:8:3: `run` is set twice; the first one counts
    "#]]
    .assert_eq(&problems);
    assert_eq!(
        config.run.grace,
        LayeredSetting { value: Duration::from_secs(7), origin: SettingLayer::User }
    );
    assert_eq!(config.run.max_turns.origin, SettingLayer::Default);
}

#[test]
fn a_bad_pattern_is_told_with_its_place_and_the_others_count() {
    let (config, problems) = load(
        None,
        Some(
            "{\"redaction\": {\"patterns\": [\"cust-[0-9]+\",\n \"(\", \"a*\", 5,\n \"\\\\w{9999}\", \"b\"]}}",
        ),
    );
    expect![[r#"
        error BadValue user.json:2:2: `redaction.patterns`: an element is no regular expression: unclosed group
        error BadValue user.json:2:7: `redaction.patterns`: an element matches the empty text, so it would match everywhere
        error BadValue user.json:2:13: `redaction.patterns`: an element is not a text
        error BadValue user.json:3:2: `redaction.patterns`: an element is too large; use smaller repetitions
    "#]].assert_eq(&problems);
    assert_eq!(config.redaction.patterns.value, ["cust-[0-9]+", "b"]);
    assert_eq!(config.redaction.patterns.origin, SettingLayer::User);
}

#[test]
fn unknown_keys_are_warnings_that_name_the_nearest() {
    check_problems(
        r#"{"run": {"maxTurn": 3}, "tool": {}, "maxTokens": 5, "shutdown": {"maxTurns": 1}, "prices": {}}"#,
        expect![[r#"
            warning UnknownField user.json:1:10: there is no setting `run.maxTurn` in this version; it has no effect (did you mean `run.maxTurns`?)
            warning UnknownField user.json:1:25: there is no setting `tool` in this version; it has no effect (did you mean `tools`?)
            warning UnknownField user.json:1:37: there is no setting `maxTokens` in this version; it has no effect (did you mean `run.maxTokens`?)
            warning UnknownField user.json:1:66: there is no setting `shutdown.maxTurns` in this version; it has no effect (did you mean `run.maxTurns`?)
            warning UnknownField user.json:1:82: there is no setting `prices` in this version; it has no effect (did you mean `models.prices`?)
        "#]],
    );
}

#[test]
fn what_is_no_json_object_is_refused_with_its_place() {
    check_problems(
        "{\"run\": {\n  \"maxTurns\": }\n}",
        expect![[r#"
            error BadJson user.json:2:15: is not JSON with comments: Unexpected close brace (until this file is mended, no prompt and no tool call is accepted, because nobody can tell which hooks it has)
        "#]],
    );
    check_problems(
        "[1]",
        expect![[r#"
            error WrongType user.json:1:1: expected an object with settings, found a list (until this file is mended, no prompt and no tool call is accepted, because nobody can tell which hooks it has)
        "#]],
    );
    check_problems(
        "{'run': 1}",
        expect![[r#"
            error BadJson user.json:1:2: is not JSON with comments: Single-quoted strings are not allowed (until this file is mended, no prompt and no tool call is accepted, because nobody can tell which hooks it has)
        "#]],
    );
    check_problems("", expect![[""]]);
    check_problems("// only a comment\n", expect![[""]]);
    check_problems(
        &"[".repeat(100_000),
        expect![[r#"
            error BadJson user.json:1:513: is not JSON with comments: Maximum nesting depth exceeded (until this file is mended, no prompt and no tool call is accepted, because nobody can tell which hooks it has)
        "#]],
    );
}

#[test]
fn a_broken_file_does_not_stop_the_other() {
    let (config, problems) = load(Some("{"), Some(r#"{"run": {"maxTurns": 2}}"#));
    assert_eq!(config.run.max_turns.value, 2);
    assert_eq!(problems.lines().count(), 1);
}

#[test]
fn every_key_has_its_own_place_in_the_table() {
    for (position, key) in keys::KEYS.iter().enumerate() {
        let before = &keys::KEYS[..position];
        assert!(!before.iter().any(|earlier| earlier.path == key.path), "{} stands twice", key.path);
    }
}

//! Promises of the layers above the files, of reading anew, and of what is told to clients and editors.

use std::ffi::OsString;

use expect_test::{Expect, expect};
use serde_json::{Value as Json, json};

use super::super::{keys::*, *};
use protocol::FileProblem;

/// A user's file, an environment and flags.
struct Bed {
    folder: tempfile::TempDir,
    sources: ConfigSources,
}

impl Bed {
    fn new(user: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let files =
            ConfigPlaces { system: folder.path().join("system.json"), user: folder.path().join("user.json") };
        let environment = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let flags = flags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let bed = Bed { folder, sources: ConfigSources { files, environment, flags } };
        bed.write(user);
        bed
    }

    fn write(&self, user: &str) {
        std::fs::write(&self.sources.files.user, user).unwrap();
    }

    fn told(&self, problems: Vec<FileProblem>) -> String {
        let home = format!("{}/", self.folder.path().display());
        let tell = |it: FileProblem| format!("{:?} {:?} {it}\n", it.severity, it.code).replace(&home, "");
        problems.into_iter().map(tell).collect()
    }

    fn load(&self) -> (DaemonConfig, String) {
        let (config, problems) = DaemonConfig::load(&self.sources);
        (config, self.told(problems))
    }
}

#[test]
fn flags_win_over_the_environment_and_that_over_files() {
    let bed = Bed::new(
        "{\"run\": {\"maxTurns\": 1, \"maxDepth\": 1,\n \"graceSeconds\": 1}}",
        &[
            ("SUBAGENTD_RUN_MAX_TURNS", "2"),
            ("SUBAGENTD_RUN_MAX_DEPTH", "2"),
            ("SUBAGENTD_MODELS_DEFAULT", "gemini/x"),
            ("SUBAGENTD_TOOLS_EXCLUDE", "[\"grep\"]"),
            ("SUBAGENTD_TOOLS_OUTPUT_MAX_CHARS", ""),
            ("SUBAGENTD_PROVIDERS", "{\"p\": {\"kind\": \"gemini\", \"key\": {\"env\": \"P\"}}}"),
            ("SUBAGENTD_SOCKET", "/elsewhere"),
            ("OTHER", "1"),
        ],
        &[("run.maxTurns", "3"), ("run.maxTurns", "4"), ("agents.default", "mine")],
    );
    let (config, problems) = bed.load();
    assert_eq!(problems, "");
    let home = format!("{}/", bed.folder.path().display());
    let lines = config.shown().into_iter().filter(|it| it.origin != SettingLayer::Default).map(|it| {
        format!(
            "{} = {} {:?} {}\n",
            it.key,
            it.value,
            it.origin,
            it.set_at.unwrap().told().replace(&home, "")
        )
    });
    expect![[r#"
        models.default = "gemini/x" Environment $SUBAGENTD_MODELS_DEFAULT
        agents.default = "mine" Flag --set agents.default
        run.maxTurns = 4 Flag --set run.maxTurns
        run.graceSeconds = 1 User user.json:2:18
        run.maxDepth = 2 Environment $SUBAGENTD_RUN_MAX_DEPTH
        tools.exclude = ["grep"] Environment $SUBAGENTD_TOOLS_EXCLUDE
        providers.p = {"kind":"gemini","key":{"env":"P"}} Environment $SUBAGENTD_PROVIDERS
    "#]]
    .assert_eq(&lines.collect::<String>());
}

#[test]
fn mistakes_of_environment_and_flags_are_told_like_those_of_files() {
    let bed = Bed::new(
        "{}",
        &[
            ("SUBAGENTD_RUN_MAX_TURNS", "many"),
            ("SUBAGENTD_RUN_MAX_DEPTH", "17"),
            ("SUBAGENTD_RUN_MAX_TOKENS", "{"),
            ("SUBAGENTD_RUN_MAXTURNS", "3"),
            ("SUBAGENTD_COLOUR", "blue"),
            ("SUBAGENTD_TOOLS_EXCLUDE", "grep"),
            ("SUBAGENTD_REDACTION_PATTERNS", "[\"ok\", \"(\"]"),
            ("SUBAGENTD_MODELS_DEFAULT", "  "),
            ("SUBAGENTD_PROVIDERS", "{\"p\": {\"kind\": \"x\"}}"),
            ("SUBAGENTD_SHUTDOWN_GRACE_SECONDS", " // nothing"),
        ],
        &[("run.maxTurn", "3"), ("run.maxTokens", "none"), ("run", "{}")],
    );
    let (config, problems) = bed.load();
    expect![[r#"
        Warning UnknownField SUBAGENTD_COLOUR: there is no such setting in this version; it has no effect
        Error BadValue SUBAGENTD_MODELS_DEFAULT: `models.default`: expected a model's name, e.g. "gemini/gemini-2.5-pro" or "offline", found the text "  "
        Error BadValue SUBAGENTD_PROVIDERS:1:16: `providers.p.kind`: there is no provider of kind "x"; there are "gemini", "openai", "openai-responses", "anthropic"
        Error BadValue SUBAGENTD_REDACTION_PATTERNS:1:8: `redaction.patterns`: an element is no regular expression: unclosed group
        Warning UnknownField SUBAGENTD_RUN_MAXTURNS: there is no such setting in this version; it has no effect (did you mean `SUBAGENTD_RUN_MAX_TURNS`?)
        Error BadValue SUBAGENTD_RUN_MAX_DEPTH: `run.maxDepth`: expected a whole number from 0 to 16, found 17
        Error BadValue SUBAGENTD_RUN_MAX_TOKENS:1:1: `run.maxTokens`: expected a whole number of at least 1, or null for no limit: Unterminated object
        Error BadValue SUBAGENTD_RUN_MAX_TURNS:1:1: `run.maxTurns`: expected a whole number of at least 1: Unexpected word
        Error BadValue SUBAGENTD_SHUTDOWN_GRACE_SECONDS: `shutdown.graceSeconds`: expected a number of seconds from 0 to a year, found nothing
        Error BadValue SUBAGENTD_TOOLS_EXCLUDE:1:1: `tools.exclude`: expected a list of tool names, e.g. ["web_fetch", "mcp.github.*"]: Unexpected word
        Error UnknownField --set run.maxTurn: there is no setting `run.maxTurn` (did you mean `run.maxTurns`?)
        Error BadValue --set run.maxTokens:1:1: `run.maxTokens`: expected a whole number of at least 1, or null for no limit: Unexpected word
        Error UnknownField --set run: there is no setting `run` (name one of its keys, e.g. `run.maxTurns`)
    "#]].assert_eq(&problems);
    assert_eq!(config.redaction.patterns.value, ["ok"]);
    assert_eq!(config.run.max_turns, DaemonConfig::default().run.max_turns);
}

#[test]
fn a_variable_that_is_no_text_is_told() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bed = Bed::new("{}", &[], &[]);
    bed.sources.environment.push(("SUBAGENTD_RUN_MAX_TURNS".into(), OsString::from_vec(vec![0xff])));
    assert_eq!(bed.load().1, "Error BadValue SUBAGENTD_RUN_MAX_TURNS: `run.maxTurns`: is not UTF-8 text\n");
}

#[test]
fn every_key_has_a_variable_of_its_own() {
    let mut names: Vec<String> = KEYS.iter().map(|key| variable_of(key.path)).collect();
    names.push(variable_of("providers"));
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(names.contains(&"SUBAGENTD_MAX_CONCURRENT_RUNS_SESSION".to_owned()), "{names:?}");
}

const BEFORE: &str = r#"{"run": {"maxTurns": 5, "maxDepth": 2}, "tools": {"exclude": ["grep"]},
    "redaction": {"patterns": ["secret-[0-9]+"]}, "providers": {"p": {"kind": "gemini", "models": ["m"]}}}"#;

/// Reads `after` in place of [`BEFORE`]; answers what changed, what is wrong, and some values.
fn check_reload(after: &str, expected: Expect) {
    let bed = Bed::new(BEFORE, &[], &[]);
    let (before, problems) = bed.load();
    assert_eq!(problems, "");
    bed.write(after);
    let (config, problems) = before.reload(&bed.sources);
    let changes = config.changes_since(&before);
    let shown =
        config.shown_of(&["run".into(), "tools.exclude".into(), "redaction".into(), "providers".into()]);
    let values: Vec<String> = shown
        .unwrap()
        .iter()
        .filter(|it| it.origin != SettingLayer::Default)
        .map(|it| format!("{}={}", it.key, it.value))
        .collect();
    let told = bed.told(problems);
    expected.assert_eq(&format!("{told}changed {:?}\n{}\n", changes.at_once, values.join(" ")));
}

#[test]
fn what_is_mistaken_keeps_its_value_when_read_anew() {
    // One value; its neighbour counts.
    check_reload(
        r#"{"run": {"maxTurns": "x", "maxDepth": 3}, "tools": {"exclude": [7]}, "redaction": {"patterns": ["("]},
            "providers": {"p": {"kind": "gemni"}, "q": {"kind": "gemini"}}}"#,
        expect![[r#"
            Error WrongType user.json:1:22: `run.maxTurns`: expected a whole number of at least 1, found the text "x"
            Error BadValue user.json:1:64: `tools.exclude`: expected a list of tool names, e.g. ["web_fetch", "mcp.github.*"], found a list
            Error BadValue user.json:1:97: `redaction.patterns`: an element is no regular expression: unclosed group
            Error BadValue user.json:2:41: `providers.p.kind`: there is no provider of kind "gemni"; there are "gemini", "openai", "openai-responses", "anthropic"
            changed ["run.maxDepth", "providers.q"]
            run.maxTurns=5 run.maxDepth=3 tools.exclude=["grep"] redaction.patterns=["secret-[0-9]+"] providers.p={"kind":"gemini","models":["m"]} providers.q={"kind":"gemini"}
        "#]],
    );
    // A section, the file, a list of entries.
    check_reload(
        r#"{"run": 5, "providers": []}"#,
        expect![[r#"
        Error WrongType user.json:1:9: `run`: expected an object, found 5
        Error WrongType user.json:1:25: `providers`: expected an object with entries, found a list
        changed ["tools.exclude", "redaction.patterns"]
        run.maxTurns=5 run.maxDepth=2 providers.p={"kind":"gemini","models":["m"]}
    "#]],
    );
    check_reload(
        r#"{"run": {"maxTurns": 6}"#,
        expect![[r#"
            Error BadJson user.json:1:1: is not JSON with comments: Unterminated object (until this file is mended, no prompt and no tool call is accepted, because nobody can tell which hooks it has)
            changed []
            run.maxTurns=5 run.maxDepth=2 tools.exclude=["grep"] redaction.patterns=["secret-[0-9]+"] providers.p={"kind":"gemini","models":["m"]}
        "#]],
    );
    check_reload(
        "[]",
        expect![[r#"
            Error WrongType user.json:1:1: expected an object with settings, found a list (until this file is mended, no prompt and no tool call is accepted, because nobody can tell which hooks it has)
            changed []
            run.maxTurns=5 run.maxDepth=2 tools.exclude=["grep"] redaction.patterns=["secret-[0-9]+"] providers.p={"kind":"gemini","models":["m"]}
        "#]],
    );
    // What is gone is gone.
    check_reload(
        "{}",
        expect![[r#"
        changed ["run.maxTurns", "run.maxDepth", "tools.exclude", "redaction.patterns", "providers.p"]

    "#]],
    );
    check_reload(
        BEFORE,
        expect![[r#"
        changed []
        run.maxTurns=5 run.maxDepth=2 tools.exclude=["grep"] redaction.patterns=["secret-[0-9]+"] providers.p={"kind":"gemini","models":["m"]}
    "#]],
    );
}

#[test]
fn a_file_that_cannot_be_read_keeps_its_values_and_the_environment_still_wins() {
    let bed = Bed::new(BEFORE, &[("SUBAGENTD_RUN_MAX_TURNS", "9")], &[]);
    let (before, _) = bed.load();
    std::fs::remove_file(&bed.sources.files.user).unwrap();
    std::fs::create_dir(&bed.sources.files.user).unwrap();
    let (config, problems) = before.reload(&bed.sources);
    let told =
        format!("Error Unreadable user.json: is not a regular file ({})\n", crate::UNREADABLE_FILE_EFFECT);
    assert_eq!(bed.told(problems), told);
    assert_eq!(config, before);
}

#[test]
fn a_command_that_differs_only_in_what_is_not_shown_is_another_value() {
    let provider = |argument: &str| {
        format!(
            r#"{{"providers": {{"p": {{"kind": "gemini", "key": {{"command": ["pass", "{argument}"]}}}}}}}}"#
        )
    };
    let bed = Bed::new(&provider("one"), &[], &[]);
    let (before, _) = bed.load();
    bed.write(&provider("two"));
    let (config, _) = before.reload(&bed.sources);
    assert_eq!(config.changes_since(&before).at_once, ["providers.p"]);
    let shown = config.shown_of(&["providers.p".into()]).unwrap();
    assert_eq!(shown[0].value, json!({ "kind": "gemini", "key": { "command": ["pass", "…"] } }));
}

#[test]
fn what_counts_only_at_the_start_is_told_apart() {
    let keys = |counts: ChangeTiming| {
        let key = KEYS.iter().find(|key| key.path == "run.maxTurns").unwrap();
        [SettingKey { counts, ..*key }]
    };
    let mut config = DaemonConfig::default();
    config.run.max_turns.value += 1;
    let changes = config.changes_of(&keys(ChangeTiming::AtStart), &DaemonConfig::default());
    assert_eq!((changes.at_once.len(), changes.at_start), (0, vec!["run.maxTurns".to_owned()]));
    let changes = config.changes_of(&keys(ChangeTiming::AtOnce), &DaemonConfig::default());
    assert_eq!((changes.at_once, changes.at_start.len()), (vec!["run.maxTurns".to_owned()], 0));
}

#[test]
fn settings_are_found_by_key_and_section_and_strangers_get_a_suggestion() {
    let config = DaemonConfig::default();
    let found = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        config.shown_of(&names).map(|shown| shown.into_iter().map(|it| it.key).collect::<Vec<_>>())
    };
    assert_eq!(
        found(&["shutdown", "maxConcurrentRuns", "shutdown.graceSeconds"]).unwrap(),
        ["maxConcurrentRuns.session", "maxConcurrentRuns.daemon", "shutdown.graceSeconds"]
    );
    assert_eq!(found(&["providers"]).unwrap(), ["providers"]);
    for (name, nearest) in [
        ("run.maxTurn", Some("run.maxTurns")),
        ("maxTurns", Some("run.maxTurns")),
        ("colour", None),
        ("", None),
    ] {
        assert_eq!(found(&["run", name]).unwrap_err().nearest.as_deref(), nearest, "{name}");
    }
}

/// A settings file that sets one key.
fn file_of(path: &str, value: &Json) -> Json {
    path.rsplit('.').fold(value.clone(), |value, word| json!({ word: value }))
}

fn reader_takes(file: &Json) -> Result<(), String> {
    let (_, problems) = Bed::new(&file.to_string(), &[], &[]).load();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

#[test]
fn reader_and_schema_take_every_default_and_example() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let paths = KEYS.iter().map(|key| key.path).chain(["providers"]);
    for path in paths {
        let words = path.split('.').fold(&schema, |schema, word| &schema["properties"][word]);
        assert!(words["description"].as_str().is_some_and(|it| !it.is_empty()), "{path}");
        let examples = words["examples"].as_array().unwrap_or_else(|| panic!("{path} has no example"));
        for value in words.get("default").into_iter().chain(examples) {
            let file = file_of(path, value);
            assert_eq!(reader_takes(&file), Ok(()), "{path}");
            assert!(validator.is_valid(&file), "{file}");
        }
        // Nobody but the people themselves says which models do what.
        let is_role = ["default", "small", "compression", "auto.fast", "auto.strong"]
            .iter()
            .any(|role| path == format!("models.{role}"));
        assert!(words.get("default").is_some() || is_role, "{path} has no default");
    }
}

#[test]
fn reader_and_schema_agree_on_good_and_bad() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let values = [
        json!(null),
        json!(true),
        json!("x"),
        json!(" "),
        json!(""),
        json!(0),
        json!(1),
        json!(16),
        json!(17),
        json!(-1),
        json!(1.5),
        json!(5.0),
        json!(999),
        json!(1000),
        json!(100_000),
        json!(100_001),
        json!(10_000_000),
        json!(10_000_001),
        json!(527_040),
        json!(527_041),
        json!(31_622_400),
        json!(31_622_401),
        json!([]),
        json!(["x"]),
        json!(["x", 5]),
        json!([" "]),
        json!([1, 2]),
        json!([-1]),
        json!([1.5]),
        json!({}),
        json!({ "x": 1 }),
    ];
    for key in KEYS {
        for value in &values {
            let file = file_of(key.path, value);
            // A reader knows more of regular expressions than a schema: that a blank matches hardly anything is fine.
            assert_eq!(
                reader_takes(&file).is_ok(),
                validator.is_valid(&file),
                "{file}: {:?}",
                reader_takes(&file)
            );
        }
    }
    let entries = [
        json!({}),
        json!([]),
        json!({ "p": {} }),
        json!({ "p": { "kind": "gemini" } }),
        json!({ "p": { "kind": "x" } }),
        json!({ "a/b": { "kind": "gemini" } }),
        json!({ "offline": { "kind": "gemini" } }),
        json!({ "": { "kind": "gemini" } }),
        json!({ "p": { "kind": "gemini", "other": 1 } }),
        json!({ "p": { "kind": "gemini", "baseUrl": "https://x/y" } }),
        json!({ "p": { "kind": "gemini", "baseUrl": "ftp://x" } }),
        json!({ "p": { "kind": "gemini", "baseUrl": "https://" } }),
        json!({ "p": { "kind": "gemini", "baseUrl": "https://u@x" } }),
        json!({ "p": { "kind": "gemini", "baseUrl": "https://x?k=1" } }),
        json!({ "p": { "kind": "gemini", "key": "k" } }),
        json!({ "p": { "kind": "gemini", "key": {} } }),
        json!({ "p": { "kind": "gemini", "key": { "env": "A" } } }),
        json!({ "p": { "kind": "gemini", "key": { "env": "" } } }),
        json!({ "p": { "kind": "gemini", "key": { "env": "A=b" } } }),
        json!({ "p": { "kind": "gemini", "key": { "command": ["", "a"] } } }),
        json!({ "p": { "kind": "gemini", "key": { "env": "A", "file": "/b" } } }),
        json!({ "p": { "kind": "gemini", "key": { "file": "b" } } }),
        json!({ "p": { "kind": "gemini", "key": { "file": "/b" } } }),
        json!({ "p": { "kind": "gemini", "key": { "command": [] } } }),
        json!({ "p": { "kind": "gemini", "key": { "command": ["a", ""] } } }),
        json!({ "p": { "kind": "gemini", "models": ["m"] } }),
        json!({ "p": { "kind": "gemini", "models": "m" } }),
        json!({ "p": { "kind": "gemini", "models": [""] } }),
    ];
    for entry in entries {
        let file = json!({ "providers": entry });
        assert_eq!(
            reader_takes(&file).is_ok(),
            validator.is_valid(&file),
            "{file}: {:?}",
            reader_takes(&file)
        );
    }
    for file in [
        json!({ "$schema": "x" }),
        json!({ "other": 1 }),
        json!({ "run": { "other": 1 } }),
        json!({ "run": 5 }),
        json!([]),
    ] {
        assert_eq!(
            reader_takes(&file).is_ok(),
            validator.is_valid(&file),
            "{file}: {:?}",
            reader_takes(&file)
        );
    }
}

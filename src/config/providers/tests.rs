//! Entries of `providers`, good and mistaken, in real settings files.

use expect_test::{Expect, expect};

use crate::*;

fn load(system: &str, user: &str) -> (DaemonConfig, String) {
    let folder = tempfile::tempdir().unwrap();
    let places =
        ConfigPlaces { system: folder.path().join("system.json"), user: folder.path().join("user.json") };
    std::fs::write(&places.system, system).unwrap();
    std::fs::write(&places.user, user).unwrap();
    let (config, problems) = DaemonConfig::load(&ConfigSources::files(places));
    let told = problems.iter().map(|problem| {
        let place = (problem.line.unwrap_or(0), problem.column.unwrap_or(0));
        let fix = problem.fix.as_deref().map(|fix| format!(" ({fix})")).unwrap_or_default();
        format!("{:?} {place:?} {}{fix}\n", problem.severity, problem.message)
    });
    (config, told.collect())
}

fn check(entries: &str, expected: Expect) {
    let (config, problems) = load("{}", &format!("{{\"providers\": {entries}}}"));
    let mut told = problems;
    for (name, setting) in &config.providers {
        told.push_str(&format!("{name} = {:?}\n", setting.value));
    }
    expected.assert_eq(&told);
}

#[test]
fn entries_say_what_they_are_and_where_their_key_lies() {
    check(
        r#"{
            "a": {"kind": "gemini"},
            "b": {"kind": "gemini", "baseUrl": "http://127.0.0.1:1/x", "key": {"env": "KEY"}, "models": ["g-*", "m"]},
            "c": {"kind": "gemini", "key": {"file": "/k"}},
            "d": {"kind": "gemini", "key": {"command": ["pass", "show", ""]}},
        }"#,
        expect![[r#"
            a = Some(ProviderSettings { kind: Gemini, base_url: None, key: None, models: [], sampling: SamplingSettings { temperature: None, top_p: None, max_output_tokens: None, thinking_budget: None } })
            b = Some(ProviderSettings { kind: Gemini, base_url: Some("http://127.0.0.1:1/x"), key: Some(Env("KEY")), models: ["g-*", "m"], sampling: SamplingSettings { temperature: None, top_p: None, max_output_tokens: None, thinking_budget: None } })
            c = Some(ProviderSettings { kind: Gemini, base_url: None, key: Some(File("/k")), models: [], sampling: SamplingSettings { temperature: None, top_p: None, max_output_tokens: None, thinking_budget: None } })
            d = Some(ProviderSettings { kind: Gemini, base_url: None, key: Some(Command(["pass", "show", ""])), models: [], sampling: SamplingSettings { temperature: None, top_p: None, max_output_tokens: None, thinking_budget: None } })
        "#]],
    );
}

#[test]
fn a_mistake_costs_its_entry_and_all_are_told() {
    check(
        r#"{
"a": {"kind": "gemni", "baseUrl": "ftp://x", "models": "m"},
"b": {"baseUrl": "https://u:pw@x"},
"c": {"kind": "gemini", "key": "AIza-literal"},
"d": {"kind": "gemini", "key": {"file": "relative"}},
"e": {"kind": "gemini", "key": {"env": "A", "file": "/b"}},
"f": {"kind": "gemini", "key": {"command": []}, "kind": "gemini"},
"g": {"kind": "gemini", "baseURL": "https://x", "url": 1},
"h": {"kind": "gemini", "baseUrl": "https://x?key=AIza-literal"},
"i": 7,
"with/slash": {"kind": "gemini"},
"offline": {"kind": "gemini"},
"g": {"kind": "gemini"},
"j": {"kind": "gemini", "key": 5}
}"#,
        expect![[r#"
            Error (2, 15) `providers.a.kind`: there is no provider of kind "gemni"; there are "gemini", "openai", "openai-responses", "anthropic"
            Error (2, 35) `providers.a.baseUrl`: expected a URL that begins with https:// or http://
            Error (2, 56) `providers.a.models`: expected a list of names of models, e.g. ["gemini-*"], found a text
            Error (3, 18) `providers.b.baseUrl`: a URL with a user or password in it is refused; use `key`
            Error (3, 6) `providers.b`: `kind` is missing; there are "gemini", "openai", "openai-responses", "anthropic"
            Error (4, 32) `providers.c.key`: a key itself does not belong into a settings file: say where it lies, with {"env": "NAME"}, {"file": "/absolute/path"} or {"command": ["program", "argument"]}
            Error (5, 32) `providers.d.key`: expected one of {"env": "NAME"}, {"file": "/absolute/path"} or {"command": ["program", "argument"]}
            Error (6, 32) `providers.e.key`: expected one of {"env": "NAME"}, {"file": "/absolute/path"} or {"command": ["program", "argument"]}
            Error (7, 32) `providers.f.key`: expected one of {"env": "NAME"}, {"file": "/absolute/path"} or {"command": ["program", "argument"]}
            Error (7, 57) `providers.f.kind`: is set twice
            Warning (8, 25) there is no setting `providers.g.baseURL` in this version; it has no effect (did you mean `providers.g.baseUrl`?)
            Warning (8, 49) there is no setting `providers.g.url` in this version; it has no effect
            Error (9, 36) `providers.h.baseUrl`: a base URL has no `?` or `#`; a key belongs into `key`
            Error (10, 6) `providers.i`: expected an object with `kind`, found a number
            Error (11, 15) `providers.with/slash`: an entry's name is 1 to 64 letters, digits, `-` or `_`, since models are named `entry/model`
            Error (12, 12) `providers.offline`: `offline` is no name for an entry: it means a model already
            Error (13, 6) `providers.g` is set twice; the first one counts
            Error (14, 32) `providers.j.key`: expected {"env": "NAME"}, {"file": "/absolute/path"} or {"command": ["program", "argument"]}, found a number
            a = None
            b = None
            c = None
            d = None
            e = None
            f = None
            g = Some(ProviderSettings { kind: Gemini, base_url: None, key: None, models: [], sampling: SamplingSettings { temperature: None, top_p: None, max_output_tokens: None, thinking_budget: None } })
            h = None
            i = None
            j = None
        "#]],
    );
}

#[test]
fn the_user_replaces_an_entry_of_the_system() {
    let system = r#"{"providers": {"a": {"kind": "gemini", "models": ["x"]}, "b": {"kind": "gemini"}}}"#;
    let (config, problems) = load(system, r#"{"providers": {"a": {"kind": "gemini", "key": "literal"}}}"#);
    assert_eq!(problems.lines().count(), 1);
    // Not the system's entry either: the user meant another.
    assert_eq!(config.providers["a"], LayeredSetting { value: None, origin: SettingLayer::User });
    assert_eq!(config.providers["b"].origin, SettingLayer::System);
    let (config, problems) = load(system, r#"{"provider": {}, "providers": []}"#);
    assert_eq!(config.providers.len(), 2);
    expect![[r#"
        Warning (1, 2) there is no setting `provider` in this version; it has no effect (did you mean `providers`?)
        Error (1, 31) `providers`: expected an object with entries, found a list
    "#]].assert_eq(&problems);
}

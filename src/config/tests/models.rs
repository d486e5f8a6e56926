//! What settings say about models and about others' agents: good, mistaken, read anew.

use expect_test::expect;
use serde_json::json;

use super::{check_problems, load};
use crate::{ConfigPlaces, ConfigSources, DaemonConfig, LayeredSetting, SettingLayer};
use protocol::{SamplingSettings, TokenPrice, UsdAmount};

fn dollars(dollars: f64) -> UsdAmount {
    UsdAmount::from_dollars(dollars).unwrap()
}

#[test]
fn models_have_roles_aliases_windows_and_prices() {
    let (config, problems) = load(
        None,
        Some(
            r#"{
  "models": {
    "small": "quick", "compression": "a/b", "fallback": ["c/d", "quick"], "auto": {"fast": "quick", "strong": "e"},
    "aliases": {
      "quick": {"model": "gemini/flash", "temperature": 0, "topP": 1, "maxOutputTokens": 9, "thinkingBudget": -1},
      "llama3:8b": {"model": "local/llama3:8b"}
    },
    "contextWindow": {"local/*": 32768, "gemini-2.5-pro": 1},
    "prices": {
      "gpt-5": {"inputPerMillion": 1.25, "cachedInputPerMillion": 0.125, "cacheWritePerMillion": 1.5, "outputPerMillion": 10, "thoughtPerMillion": 11},
      "local/*": {"inputPerMillion": 0, "outputPerMillion": 0.5}
    }
  },
  "compression": {"enabled": false, "threshold": 1},
  "loopDetection": {"calls": false, "text": false, "judge": false},
  "nextSpeakerCheck": true
}"#,
        ),
    );
    assert_eq!(problems, "");
    let models = &config.models;
    assert_eq!(models.small.value, Some("quick".into()));
    assert_eq!(models.compression.value, Some("a/b".into()));
    assert_eq!(models.fallback.value, ["c/d".into(), "quick".into()]);
    assert_eq!(
        (&models.auto.fast.value, &models.auto.strong.value),
        (&Some("quick".into()), &Some("e".into()))
    );
    assert_eq!(models.aliases.value["quick"].model, "gemini/flash".into());
    let sampling = SamplingSettings {
        temperature: Some(0.0),
        top_p: Some(1.0),
        max_output_tokens: Some(9),
        thinking_budget: Some(-1),
    };
    assert_eq!(models.aliases.value["quick"].sampling, sampling);
    assert_eq!(models.aliases.value["llama3:8b"].sampling, SamplingSettings::default());
    assert_eq!(models.context_window.value["local/*"], 32_768);
    let price = TokenPrice {
        input: dollars(1.25),
        cached_input: dollars(0.125),
        cache_write: dollars(1.5),
        output: dollars(10.0),
        thought: dollars(11.0),
    };
    assert_eq!(models.prices.value["gpt-5"], price);
    // What is left out costs what its like costs.
    let price = models.prices.value["local/*"];
    assert_eq!(
        (price.cached_input, price.cache_write, price.thought),
        (UsdAmount::ZERO, UsdAmount::ZERO, dollars(0.5))
    );
    assert!(!config.compression.enabled.value && config.next_speaker_check.value);
    assert_eq!(config.compression.threshold, LayeredSetting { value: 1.0, origin: SettingLayer::User });
    let loops = &config.loop_detection;
    assert!(!loops.calls.value && !loops.text.value && !loops.judge.value);

    let shown = |key: &str| config.shown_of(&[key.to_owned()]).unwrap()[0].value.clone();
    expect![[r#"
        {"llama3:8b":{"model":"local/llama3:8b"},"quick":{"temperature":0.0,"topP":1.0,"maxOutputTokens":9,"thinkingBudget":-1,"model":"gemini/flash"}}
        {"gemini-2.5-pro":1,"local/*":32768}
        {"gpt-5":{"inputPerMillion":1.25,"cachedInputPerMillion":0.125,"cacheWritePerMillion":1.5,"outputPerMillion":10,"thoughtPerMillion":11},"local/*":{"inputPerMillion":0,"cachedInputPerMillion":0,"cacheWritePerMillion":0,"outputPerMillion":0.5,"thoughtPerMillion":0.5}}
    "#]]
    .assert_eq(&format!(
        "{}\n{}\n{}\n",
        shown("models.aliases"),
        shown("models.contextWindow"),
        shown("models.prices")
    ));
}

#[test]
fn mistakes_in_entries_cost_the_entry_and_are_told_with_their_place() {
    check_problems(
        r#"{"models": {
  "aliases": {
    "a": "gemini/flash",
    "b": {"temperature": 1},
    "c": {"model": "b"}, "self": {"model": "self"}, "d": {"model": "auto"},
    "e": {"model": "x/y", "temperature": 3, "topP": "high", "thinkingBudget": -2, "maxOutputTokens": 0},
    "offline": {"model": "x/y"}, "replay:x": {"model": "x/y"}, "a/b": {"model": "x/y"}, "": {"model": "x/y"},
    "f": {"model": "x/y", "temprature": 1}, "f": {"model": "x/z"}, "g": {"model": "x", "model": "y"}
  },
  "contextWindow": {"x": 0, "y": "big", "z z": 5, "w": 1.5},
  "prices": {"x": 1, "y": {"outputPerMillion": 1}, "z": {"inputPerMillion": -1, "outputPerMillion": 1e7}},
  "auto": "fast", "small": 5, "fallback": "x"
},
"compression": {"threshold": 0, "enabled": "yes"}, "loopDetection": {"calls": 1}, "nextSpeakerCheck": null}"#,
        expect![[r#"
            error WrongType user.json:3:10: `models.aliases.a`: expected an object with `model`, found a text
            error BadValue user.json:4:10: `models.aliases.b`: `model` is missing; expected a model's name, e.g. "gemini/gemini-2.5-pro"
            error BadValue user.json:5:20: `models.aliases.c.model`: "b" is an alias itself, and an alias names no other; say the model as `entry/model`
            error BadValue user.json:5:44: `models.aliases.self.model`: "self" is an alias itself, and an alias names no other; say the model as `entry/model`
            error BadValue user.json:5:68: `models.aliases.d.model`: an alias stands for one model; "auto" is none
            error BadValue user.json:6:42: `models.aliases.e.temperature`: expected a number from 0 to 2, found 3
            error WrongType user.json:6:53: `models.aliases.e.topP`: expected a number from 0 to 1, found the text "high"
            error BadValue user.json:6:102: `models.aliases.e.maxOutputTokens`: expected a whole number of at least 1, found 0
            error BadValue user.json:6:79: `models.aliases.e.thinkingBudget`: expected a whole number of tokens, 0 for off or -1 for no limit, found -2
            error BadValue user.json:7:5: `models.aliases.offline`: `offline` is no name for an alias: it means something already
            error BadValue user.json:7:34: `models.aliases.replay:x`: `replay:x` is no name for an alias: it means something already
            error BadValue user.json:7:64: `models.aliases.a/b`: an alias is 1 to 64 letters, digits, `-`, `_`, `.` or `:`
            error BadValue user.json:7:89: `models.aliases.`: an alias is 1 to 64 letters, digits, `-`, `_`, `.` or `:`
            warning UnknownField user.json:8:27: there is no setting `models.aliases.f.temprature` in this version; it has no effect (did you mean `models.aliases.f.temperature`?)
            error BadValue user.json:8:45: `models.aliases.f` is set twice; the first one counts
            error BadValue user.json:8:88: `models.aliases.g.model` is set twice; the first one counts
            error BadValue user.json:10:26: `models.contextWindow.x`: expected a whole number of tokens, at least 1, found 0
            error WrongType user.json:10:34: `models.contextWindow.y`: expected a whole number of tokens, at least 1, found the text "big"
            error BadValue user.json:10:41: `models.contextWindow.z z`: expected `entry/model`, a model's bare id, or a pattern of one of these with `*`, without blanks
            error BadValue user.json:10:56: `models.contextWindow.w`: expected a whole number of tokens, at least 1, found 1.5
            error WrongType user.json:11:19: `models.prices.x`: expected an object with `inputPerMillion` and `outputPerMillion`, found a number
            error BadValue user.json:11:27: `models.prices.y`: `inputPerMillion` is missing; expected a number of US dollars from 0 to 1000000
            error BadValue user.json:11:77: `models.prices.z.inputPerMillion`: expected a number of US dollars from 0 to 1000000, found -1
            error BadValue user.json:11:101: `models.prices.z.outputPerMillion`: expected a number of US dollars from 0 to 1000000, found 1e7
            error WrongType user.json:12:11: `models.auto`: expected an object, found the text "fast"
            error WrongType user.json:12:28: `models.small`: expected a model's name, e.g. "gemini/gemini-2.5-pro" or "offline", found 5
            error WrongType user.json:12:43: `models.fallback`: expected a list of names of models, e.g. ["openai/gpt-5-mini"], found the text "x"
            error BadValue user.json:14:30: `compression.threshold`: expected a number above 0, at most 1, found 0
            error WrongType user.json:14:44: `compression.enabled`: expected true or false, found the text "yes"
            error WrongType user.json:14:79: `loopDetection.calls`: expected true or false, found 1
            error WrongType user.json:14:103: `nextSpeakerCheck`: expected true or false, found null
        "#]],
    );
}

#[test]
fn what_is_good_counts_beside_what_is_not() {
    let (config, _) = load(
        None,
        Some(
            r#"{"models": {
                "aliases": {"a": {"model": "b/c"}, "bad": 1, "f": {"model": "x/y", "temprature": 1}},
                "contextWindow": {"x": 0, "y": 7}
            }}"#,
        ),
    );
    let names: Vec<&String> = config.models.aliases.value.keys().collect();
    assert_eq!(names, ["a", "f"]);
    assert_eq!(config.models.context_window.value.into_iter().collect::<Vec<_>>(), [("y".to_owned(), 7)]);
}

#[test]
fn a_slip_in_entries_keeps_them_as_they_were_when_settings_are_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let places =
        ConfigPlaces { system: folder.path().join("system.json"), user: folder.path().join("user.json") };
    let write = |text: &str| std::fs::write(&places.user, text).unwrap();
    write(r#"{"models": {"contextWindow": {"x": 5, "y": 6}}}"#);
    let sources = ConfigSources::files(places.clone());
    let (before, _) = DaemonConfig::load(&sources);
    write(r#"{"models": {"contextWindow": {"x": 7, "y": "slip"}}}"#);
    let (after, problems) = before.reload(&sources);
    assert_eq!(problems.len(), 1);
    assert_eq!(after.models.context_window.value, before.models.context_window.value);
    // A key that means nothing is no slip: the rest counts.
    write(r#"{"models": {"aliases": {"q": {"model": "x/y", "extra": 1}}}}"#);
    let (after, problems) = before.reload(&sources);
    assert_eq!(problems.len(), 1);
    assert_eq!(after.models.aliases.value.len(), 1);
}

#[test]
fn agents_can_be_overridden() {
    let (config, problems) = load(
        None,
        Some(
            r#"{"agents": {"overrides": {
                "one": {"model": "quick"},
                "two": {
                    "model": {"name": "inherit", "temperature": 0.5},
                    "run": {"maxTurns": 3, "maxTimeMinutes": 0.5, "maxTokens": 9, "graceSeconds": 0, "maxDepth": 0},
                    "tools": {"allow": ["read_file"], "deny": []}
                },
                "three": {"tools": ["glob"]},
                "four": {}
            }}}"#,
        ),
    );
    assert_eq!(problems, "");
    let shown = config.shown_of(&["agents.overrides".to_owned()]).unwrap();
    assert_eq!(
        shown[0].value,
        json!({
            "four": {},
            "one": { "model": { "name": "quick" } },
            "three": { "tools": { "allow": ["glob"] } },
            "two": {
                "model": { "temperature": 0.5, "name": "inherit" },
                "run": { "maxTurns": 3, "maxTimeMinutes": 0.5, "maxTokens": 9, "graceSeconds": 0, "maxDepth": 0 },
                "tools": { "allow": ["read_file"], "deny": [] },
            },
        })
    );
    check_problems(
        r#"{"agents": {"overrides": {
  "Big": {}, "a": 1, "b": {"model": {"name": 5, "temperature": 9}, "run": {"maxTurns": 0, "maxCost": 1}, "colour": "red"},
  "c": {"model": 5, "run": 5}, "d": {"tools": {"allow": [1]}}, "e": {"tools": 5, "run": {"maxDepth": 17}}
}}}"#,
        expect![[r#"
            error BadValue user.json:2:3: `agents.overrides.Big`: an agent's name is 1 to 64 small letters, digits, `.`, `_` or `-`
            error WrongType user.json:2:19: `agents.overrides.a`: expected an object with `enabled`, `model`, `run` or `tools`, found a number
            warning UnknownField user.json:2:106: there is no setting `agents.overrides.b.colour` in this version; it has no effect
            error WrongType user.json:2:46: `agents.overrides.b.model.name`: expected a model's name, or "inherit", found 5
            error BadValue user.json:2:64: `agents.overrides.b.model.temperature`: expected a number from 0 to 2, found 9
            warning UnknownField user.json:2:91: there is no setting `agents.overrides.b.run.maxCost` in this version; it has no effect (did you mean `agents.overrides.b.run.maxCostUsd`?)
            error BadValue user.json:2:88: `agents.overrides.b.run.maxTurns`: expected a whole number of at least 1, found 0
            error WrongType user.json:3:18: `agents.overrides.c.model`: expected a model's name, or an object with `name` and how it samples, found a number
            error BadValue user.json:3:57: `agents.overrides.d.tools.allow`: expected a list of tool names, e.g. ["read_file", "mcp.github.*"], found a list
            error BadValue user.json:3:102: `agents.overrides.e.run.maxDepth`: expected a whole number from 0 to 16, found 17
            error WrongType user.json:3:79: `agents.overrides.e.tools`: expected an object with `allow` and `deny`, found a number
        "#]],
    );
}

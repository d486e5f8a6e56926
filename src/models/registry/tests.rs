//! Names that mean a model, and names that do not.

use std::{collections::BTreeMap, ffi::OsString, io::Write, sync::Arc};

use super::{
    super::{KeyState, offline::OfflineModel},
    ModelRegistry, ResolveError,
};
use config::{
    ConfigPlaces, ConfigSources, DaemonConfig, KeySource, LayeredSetting, ProviderKind, ProviderSettings,
    SettingLayer,
};
use protocol::{SamplingSettings, WindowSource};
use sys::children::ChildProcesses;

fn refusal(name: &str) -> ResolveError {
    match ModelRegistry::new().resolve(&name.into()) {
        Ok(_) => panic!("{name} means a model"),
        Err(error) => error,
    }
}

#[test]
fn an_unknown_model_names_the_ways_out() {
    for name in ["llama-5", "", "Offline", "replay", "gemini/", "gemini/a b", "gemini/ä"] {
        let error = refusal(name);
        assert_eq!(error, ResolveError::NoModel { model: name.to_owned() });
        for way_out in ["GEMINI_API_KEY", "--model offline", "--model replay:FILE", "models.aliases"] {
            assert!(error.hint().contains(way_out), "{way_out}");
        }
    }
    let told = |name| refusal(name).to_string();
    assert_eq!(
        told("opnai/gpt-5"),
        "no model is named `opnai/gpt-5` here: there is no provider entry `opnai`; did you mean `openai`?"
    );
    assert_eq!(told("zzz/x"), "no model is named `zzz/x` here: there is no provider entry `zzz`");
}

#[test]
fn a_bad_recording_is_told_with_file_and_line() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"\n{}\n").unwrap();
    let path = file.path().display();
    let error = refusal(&format!("replay:{path}")).to_string();
    assert!(error.starts_with(&format!("the recording {path} line 2: ")), "{error}");
    let error = refusal("replay+strict:/nowhere/at/all").to_string();
    assert!(error.starts_with("the recording /nowhere/at/all cannot be read: "), "{error}");
}

#[test]
fn given_models_come_first_and_names_are_kept() {
    let models = ModelRegistry::new().with_model("mine", Arc::new(OfflineModel));
    assert_eq!(models.resolve(&"mine".into()).map(|resolved| resolved.name), Ok("mine".to_owned()));
    assert_eq!(models.resolve(&"offline".into()).map(|resolved| resolved.name), Ok("offline".to_owned()));
}

/// One entry: name, base URL, variable of its key, patterns.
type Written = (&'static str, Option<&'static str>, Option<&'static str>, &'static [&'static str]);

fn configured(entries: &[Written], variables: &'static [(&'static str, &'static str)]) -> ModelRegistry {
    let entries = entries.iter().map(|(name, base_url, key, models)| {
        let settings = ProviderSettings {
            base_url: base_url.map(str::to_owned),
            key: key.map(|name| KeySource::Env(name.to_owned())),
            models: models.iter().map(|pattern| (*pattern).to_owned()).collect(),
            ..ProviderSettings::usual(ProviderKind::Gemini)
        };
        ((*name).to_owned(), LayeredSetting { value: Some(settings), origin: SettingLayer::User })
    });
    let lookup =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, it)| OsString::from(it));
    ModelRegistry::configured(&entries.collect(), ChildProcesses::default(), lookup)
}

/// A key, and an address that needs no TLS.
const KEYED: &[(&str, &str)] =
    &[("GEMINI_API_KEY", "AIza"), ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")];

/// The name that a run would have, or why there is none.
fn told(models: &ModelRegistry, name: &str) -> String {
    match models.resolve(&name.into()) {
        Ok(resolved) => resolved.name,
        Err(error) => error.to_string(),
    }
}

#[test]
fn names_find_their_entry_and_become_whole() {
    let models = configured(
        &[("work", None, None, &["gemini-3-*", "gemma"]), ("b", None, None, &["gemma", "tuned/*"])],
        KEYED,
    );
    let cases = [
        ("gemini/gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("gemini/whatever", "gemini/whatever"),
        ("gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("gemini-3-pro", "work/gemini-3-pro"),
        ("work/gemini-2.5-pro", "work/gemini-2.5-pro"),
        // Both name it: the first by name.
        ("gemma", "b/gemma"),
        ("tuned/mine", "b/tuned/mine"),
        ("llama-5", "no model is named `llama-5` here"),
        (
            "gpt-5",
            "there is no key for `openai/gpt-5`: OPENAI_API_KEY is not set in the daemon's environment",
        ),
        // Bare names mean chat completions; the newer API is asked for by its name.
        (
            "openai-responses/gpt-5",
            "there is no key for `openai-responses/gpt-5`: OPENAI_API_KEY is not set in the daemon's environment",
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(told(&models, name), expected);
    }
    let own = configured(&[("gemini", None, None, &["only"])], KEYED);
    assert_eq!(told(&own, "only"), "gemini/only");
    assert_eq!(told(&own, "gemini-2.5-pro"), "no model is named `gemini-2.5-pro` here");
}

#[test]
fn what_keeps_an_entry_from_use_is_told() {
    let none = configured(&[("work", None, Some("WORK_KEY"), &[])], &[]);
    assert_eq!(
        told(&none, "work/m"),
        "there is no key for `work/m`: WORK_KEY is not set in the daemon's environment"
    );
    let Err(error) = none.resolve(&"gemini-2.5-pro".into()) else { panic!("there is a key") };
    for way_out in ["GEMINI_API_KEY", "providers.gemini.key", "--model offline"] {
        assert!(error.hint().contains(way_out), "{}", error.hint());
    }
    let keyed: &[(&str, &str)] = &[("GEMINI_API_KEY", "AIza"), ("GOOGLE_GEMINI_BASE_URL", "ftp://x")];
    assert_eq!(
        told(&configured(&[("a", Some("https://:1"), None, &[])], keyed), "a/m"),
        "the provider `a` cannot be used: `baseUrl` is no URL: empty host"
    );
    assert_eq!(
        told(&configured(&[], keyed), "gemini/m"),
        "the provider `gemini` cannot be used: GOOGLE_GEMINI_BASE_URL is not an http or https URL without user, \
         password, `?` and `#`"
    );
    let mistaken =
        BTreeMap::from([("gemini".to_owned(), LayeredSetting { value: None, origin: SettingLayer::User })]);
    let mistaken = ModelRegistry::configured(&mistaken, ChildProcesses::default(), |_| Some("AIza".into()));
    assert_eq!(
        told(&mistaken, "gemini-2.5-pro"),
        "the provider `gemini` cannot be used: its settings have mistakes"
    );
}

/// With these settings, as a file says them.
fn with_settings(models: ModelRegistry, settings: &str) -> ModelRegistry {
    let folder = tempfile::tempdir().unwrap();
    let places =
        ConfigPlaces { system: folder.path().join("none"), user: folder.path().join("settings.json") };
    std::fs::write(&places.user, format!("{{\"models\": {settings}}}")).unwrap();
    let (config, problems) = DaemonConfig::load(&ConfigSources::files(places));
    assert_eq!(problems, []);
    models.with_settings(&config.models)
}

#[test]
fn an_alias_comes_first_and_brings_its_sampling() {
    let mut models = configured(&[("work", None, None, &["flash"])], KEYED);
    let sampling =
        SamplingSettings { temperature: Some(0.1), top_p: Some(0.5), ..SamplingSettings::default() };
    let entry = ProviderSettings { sampling, ..ProviderSettings::usual(ProviderKind::Gemini) };
    let entries = BTreeMap::from([(
        "sampled".to_owned(),
        LayeredSetting { value: Some(entry), origin: SettingLayer::User },
    )]);
    let told_of = |models: &ModelRegistry, name: &str| {
        let resolved = models.resolve(&name.into()).map_err(|error| error.to_string()).unwrap();
        assert_eq!(models.named(&name.into()).unwrap().sampling, resolved.sampling, "without its key");
        let SamplingSettings { temperature, top_p, .. } = resolved.sampling;
        (resolved.name, temperature, top_p)
    };
    models = with_settings(
        models.reconfigured(&entries),
        r#"{"aliases": {
            "quick": {"model": "sampled/flash", "temperature": 0.9},
            "gemini-2.5-pro": {"model": "gemini/gemini-2.5-flash"},
            "sampled": {"model": "gemini/gemini-3"},
            "bad": {"model": "nobody/x"}
        }}"#,
    );
    assert_eq!(told_of(&models, "quick"), ("sampled/flash".to_owned(), Some(0.9), Some(0.5)));
    assert_eq!(told_of(&models, "sampled/flash"), ("sampled/flash".to_owned(), Some(0.1), Some(0.5)));
    // It shadows a bare id and an entry's name.
    assert_eq!(told_of(&models, "gemini-2.5-pro"), ("gemini/gemini-2.5-flash".to_owned(), None, None));
    assert_eq!(told_of(&models, "sampled"), ("gemini/gemini-3".to_owned(), None, None));
    assert_eq!(
        told(&models, "bad"),
        "no model is named `nobody/x` here: there is no provider entry `nobody`"
    );
    // Other providers leave what is said of names as it is.
    assert_eq!(told(&models.reconfigured(&BTreeMap::new()), "gemini-2.5-pro"), "gemini/gemini-2.5-flash");
}

#[test]
fn windows_and_prices_are_found_by_the_longest_name() {
    let models = with_settings(
        configured(&[("work", None, None, &["flash"])], KEYED),
        r#"{
            "contextWindow": {"work/fl*": 100, "flash": 50, "offline": 7},
            "prices": {"flash": {"inputPerMillion": 1, "outputPerMillion": 2}},
            "aliases": {"quick": {"model": "work/flash"}}
        }"#,
    );
    let known = |name: &str| {
        let resolved = models.resolve(&name.into()).map_err(|error| error.to_string()).unwrap();
        (resolved.window.tokens, resolved.window.from, resolved.price.is_some())
    };
    assert_eq!(known("quick"), (100, WindowSource::Settings, true));
    assert_eq!(known("work/flash-2"), (100, WindowSource::Settings, false));
    assert_eq!(known("gemini/flash"), (50, WindowSource::Settings, true));
    assert_eq!(known("gemini-2.5-pro"), (1_048_576, WindowSource::Table, false));
    assert_eq!(known("gemini/unheard-of"), (128_000, WindowSource::Assumed, false));
    assert_eq!(known("offline"), (7, WindowSource::Settings, false));
}

#[test]
fn a_key_of_the_environment_goes_to_the_provider_or_where_the_environment_points_and_nowhere_else() {
    const KEYS: [(&str, &str); 3] =
        [("GEMINI_API_KEY", "g"), ("OPENAI_API_KEY", "o"), ("ANTHROPIC_API_KEY", "a")];
    const PLACES: [(&str, &str); 3] = [
        ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"),
    ];
    for kind in ProviderKind::ALL {
        let state = |base_url: Option<&str>, variables: &[&[(&str, &str)]]| {
            let settings =
                ProviderSettings { base_url: base_url.map(str::to_owned), ..ProviderSettings::usual(*kind) };
            let entries =
                [("mine".to_owned(), LayeredSetting { value: Some(settings), origin: SettingLayer::User })];
            let variables: Vec<(String, OsString)> =
                variables.concat().into_iter().map(|(name, it)| (name.to_owned(), it.into())).collect();
            let lookup =
                move |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, it)| it.clone());
            let models = ModelRegistry::configured(&entries.into(), ChildProcesses::default(), lookup);
            models.entry("mine").key.unwrap().state
        };
        let own = Some("http://127.0.0.1:2");
        assert_eq!(state(own, &[&KEYS, &PLACES]), KeyState::NotNeeded, "{kind:?}");
        assert_eq!(state(None, &[&KEYS, &PLACES]), KeyState::Found, "{kind:?}");
        assert_eq!(state(None, &[&PLACES]), KeyState::NotNeeded, "{kind:?}");
        assert_eq!(state(None, &[&KEYS]), KeyState::Found, "{kind:?}");
        assert_eq!(state(None, &[]), KeyState::Missing, "{kind:?}");
    }
}

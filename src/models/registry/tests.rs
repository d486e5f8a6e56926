//! Names that mean a model, and names that do not.

use std::{collections::BTreeMap, ffi::OsString, io::Write, sync::Arc};

use super::{super::offline::Offline, Models, ResolveError};
use crate::{
    config::{KeySource, Origin, ProviderKind, ProviderSettings, Setting},
    sys::children::Children,
};

fn refusal(name: &str) -> ResolveError {
    match Models::new().resolve(&name.into()) {
        Ok(_) => panic!("{name} means a model"),
        Err(error) => error,
    }
}

#[test]
fn an_unknown_model_names_the_ways_out() {
    for name in ["llama-5", "", "Offline", "replay", "local/llama", "gemini/", "gemini/a b", "gemini/ä"] {
        let error = refusal(name);
        assert_eq!(error, ResolveError::NoModel { model: name.to_owned() });
        for way_out in ["GEMINI_API_KEY", "--model offline", "--model replay:FILE", "models.default"] {
            assert!(error.hint().contains(way_out), "{way_out}");
        }
    }
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
    let models = Models::new().with_model("mine", Arc::new(Offline));
    assert_eq!(models.resolve(&"mine".into()).map(|resolved| resolved.name), Ok("mine".to_owned()));
    assert_eq!(models.resolve(&"offline".into()).map(|resolved| resolved.name), Ok("offline".to_owned()));
}

/// One entry: name, base URL, variable of its key, patterns.
type Written = (&'static str, Option<&'static str>, Option<&'static str>, &'static [&'static str]);

fn configured(entries: &[Written], variables: &'static [(&'static str, &'static str)]) -> Models {
    let entries = entries.iter().map(|(name, base_url, key, models)| {
        let settings = ProviderSettings {
            kind: ProviderKind::Gemini,
            base_url: base_url.map(str::to_owned),
            key: key.map(|name| KeySource::Env(name.to_owned())),
            models: models.iter().map(|pattern| (*pattern).to_owned()).collect(),
        };
        ((*name).to_owned(), Setting { value: Some(settings), origin: Origin::User })
    });
    let lookup =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, it)| OsString::from(it));
    Models::configured(&entries.collect(), Children::default(), lookup)
}

/// A key, and an address that needs no TLS.
const KEYED: &[(&str, &str)] =
    &[("GEMINI_API_KEY", "AIza"), ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")];

/// The name that a run would have, or why there is none.
fn told(models: &Models, name: &str) -> String {
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
    let mistaken = BTreeMap::from([("gemini".to_owned(), Setting { value: None, origin: Origin::User })]);
    let mistaken = Models::configured(&mistaken, Children::default(), |_| Some("AIza".into()));
    assert_eq!(
        told(&mistaken, "gemini-2.5-pro"),
        "the provider `gemini` cannot be used: its settings have mistakes"
    );
}

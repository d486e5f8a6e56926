//! Which provider serves a model, where does it listen, and with which key? (spec 04, "Providers")

use std::{collections::BTreeMap, sync::Arc};

use reqwest::Url;

use super::{
    gemini,
    http::{self, HttpClients},
    key::{Environment, KeyPlace, NoKey},
    registry::{ResolveError, ResolvedModel},
};
use crate::{
    config::{ProviderKind, ProviderSettings, Setting},
    sys::children::Children,
};

/// A model's id at most; it stands in a URL and in messages.
const MAX_MODEL_CHARS: usize = 200;

/// The entries of the settings, and one for each kind that has a usual key.
#[derive(Clone)]
pub(super) struct Providers {
    entries: Arc<BTreeMap<String, Entry>>,
    environment: Environment,
    children: Children,
    http: HttpClients,
}

struct Entry {
    /// `None` = its settings have mistakes.
    settings: Option<ProviderSettings>,
    /// Nobody named models for it: these do where no entry of the settings does.
    usual_models: Option<&'static str>,
}

impl Default for Providers {
    fn default() -> Providers {
        Providers::new(&BTreeMap::new(), Arc::new(|_| None), Children::default())
    }
}

impl Providers {
    pub(super) fn new(
        configured: &BTreeMap<String, Setting<Option<ProviderSettings>>>,
        environment: Environment,
        children: Children,
    ) -> Providers {
        let entries = Arc::new(entries(configured));
        Providers { entries, environment, children, http: HttpClients::default() }
    }

    /// With other entries; connections that are open stay.
    pub(super) fn reconfigured(
        &self,
        configured: &BTreeMap<String, Setting<Option<ProviderSettings>>>,
    ) -> Providers {
        Providers { entries: Arc::new(entries(configured)), ..self.clone() }
    }

    /// The model of `entry/model` or of a bare name; runs know it as `entry/model`.
    pub(super) fn resolve(&self, name: &str) -> Result<ResolvedModel, ResolveError> {
        let no_model = || ResolveError::NoModel { model: name.to_owned() };
        let (entry_name, model) = self.find(name).ok_or_else(no_model)?;
        let is_id = |letter: char| letter.is_ascii_alphanumeric() || "-_.:@/".contains(letter);
        if model.is_empty() || MAX_MODEL_CHARS < model.len() || !model.chars().all(is_id) {
            return Err(no_model());
        }
        let bad = |problem: String| ResolveError::BadProvider { entry: entry_name.to_owned(), problem };
        let Some(settings) = self.entries.get(entry_name).and_then(|entry| entry.settings.as_ref()) else {
            return Err(bad("its settings have mistakes".to_owned()));
        };
        let full_name = format!("{entry_name}/{model}");
        match settings.kind {
            ProviderKind::Gemini => {
                let base =
                    self.base_url(settings, gemini::BASE_URL_VARIABLE, gemini::BASE_URL).map_err(bad)?;
                let key_place = KeyPlace {
                    entry: entry_name.to_owned(),
                    source: settings.key.clone(),
                    variable: gemini::KEY_VARIABLE,
                    environment: Arc::clone(&self.environment),
                    children: self.children.clone(),
                };
                let key = key_place.read().map_err(|no_key| match no_key {
                    NoKey::Missing(problem) => ResolveError::NoKey {
                        model: full_name.clone(),
                        variable: gemini::KEY_VARIABLE,
                        entry: entry_name.to_owned(),
                        problem,
                    },
                    NoKey::Unusable(problem) => {
                        ResolveError::UnusableKey { model: full_name.clone(), problem }
                    }
                })?;
                let http = self
                    .http
                    .client(&base)
                    .map_err(|error| bad(format!("no connection can be made: {}", http::reason(error))))?;
                let model = gemini::model(http, &base, model, Some(key), key_place);
                Ok(ResolvedModel { name: full_name, model: Arc::new(model) })
            }
        }
    }

    /// The entry of a name, and the model's id there. An entry whose settings name the model comes before one that
    /// serves it usually; of several the first by name.
    fn find<'a>(&'a self, name: &'a str) -> Option<(&'a str, &'a str)> {
        if let Some((entry, model)) = name.split_once('/')
            && let Some((entry, _)) = self.entries.get_key_value(entry)
        {
            return Some((entry, model));
        }
        let names_it = |entry: &Entry| {
            let patterns = entry.settings.iter().flat_map(|settings| &settings.models);
            patterns.into_iter().any(|pattern| matches(pattern, name))
        };
        let is_usual = |entry: &Entry| entry.usual_models.is_some_and(|pattern| matches(pattern, name));
        let named = self.entries.iter().find(|(_, entry)| names_it(entry));
        let found = named.or_else(|| self.entries.iter().find(|(_, entry)| is_usual(entry)));
        found.map(|(entry, _)| (entry.as_str(), name))
    }

    fn base_url(&self, settings: &ProviderSettings, variable: &str, usual: &str) -> Result<Url, String> {
        let from_variable = || (self.environment)(variable).and_then(|value| value.into_string().ok());
        let (place, text) = match (&settings.base_url, from_variable().filter(|text| !text.trim().is_empty()))
        {
            (Some(text), _) => ("`baseUrl`", text.clone()),
            (None, Some(text)) => (variable, text),
            (None, None) => ("its usual address", usual.to_owned()),
        };
        let url = Url::parse(text.trim()).map_err(|error| format!("{place} is no URL: {error}"))?;
        let is_plain = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !is_plain {
            let expected = "an http or https URL without user, password, `?` and `#`";
            return Err(format!("{place} is not {expected}"));
        }
        Ok(url)
    }
}

/// The entries of the settings, and those of the kinds that the settings do not name.
fn entries(configured: &BTreeMap<String, Setting<Option<ProviderSettings>>>) -> BTreeMap<String, Entry> {
    let settings = configured.iter().map(|(name, setting)| (name.clone(), setting.value.clone()));
    let mut settings: BTreeMap<String, Option<ProviderSettings>> = settings.collect();
    for kind in ProviderKind::ALL {
        let implicit = ProviderSettings { kind: *kind, base_url: None, key: None, models: Vec::new() };
        settings.entry(kind.as_str().to_owned()).or_insert(Some(implicit));
    }
    let entries = settings.into_iter().map(|(name, settings)| {
        let has_own = settings.as_ref().is_some_and(|settings| !settings.models.is_empty());
        let usual_models = (name == gemini::PROVIDER && !has_own).then_some(gemini::MODELS);
        (name, Entry { settings, usual_models })
    });
    entries.collect()
}

/// Whether `name` fits `pattern`, in which `*` stands for any letters, or none.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    // The earliest place leaves the most for what follows.
    for piece in pieces {
        let Some(at) = left.find(piece) else { return false };
        left = &left[at + piece.len()..];
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_letters() {
        let cases = [
            ("gemini-*", "gemini-2.5-pro", true),
            ("gemini-*", "gemini-", true),
            ("gemini-*", "my-gemini-2", false),
            ("*", "", true),
            ("*-pro", "gemini-2.5-pro", true),
            ("*-pro", "gemini-2.5-pro-x", false),
            ("a*b*c", "abbcbc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}

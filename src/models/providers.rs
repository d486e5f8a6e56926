//! Which provider serves a model, where does it listen, and with which key? (spec 04, "Providers")

use std::{collections::BTreeMap, sync::Arc};

use reqwest::Url;

use super::{
    Model, anthropic,
    exchange::Place,
    gemini,
    http::{self, HttpClients},
    key::{Environment, KeyPlace, NoKey},
    openai,
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
    usual_models: &'static [&'static str],
}

/// What holds for a kind where the settings say nothing else.
pub(super) struct Usual {
    /// The provider's own.
    pub base_url: &'static str,
    pub base_url_variable: &'static str,
    pub key_variable: &'static str,
    /// Bare names of models that mean the entry of the kind's own name; `*` stands for any letters.
    pub models: &'static [&'static str],
    /// Other servers speak it as well, and many of them want no key.
    pub may_go_without_key: bool,
}

fn usual(kind: ProviderKind) -> Usual {
    match kind {
        ProviderKind::Gemini => gemini::USUAL,
        ProviderKind::OpenAi => openai::USUAL,
        ProviderKind::Anthropic => anthropic::USUAL,
    }
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
        let usual = usual(settings.kind);
        let base = base_url(settings, &usual, &self.environment).map_err(bad)?;
        let key_place = KeyPlace {
            entry: entry_name.to_owned(),
            source: settings.key.clone(),
            variable: usual.key_variable,
            environment: Arc::clone(&self.environment),
            children: self.children.clone(),
        };
        // A server of one's own seldom wants a key, and must not be sent one that is for somebody else's.
        let is_own_server =
            usual.may_go_without_key && settings.key.is_none() && base.as_str() != usual.base_url;
        let key = match key_place.read() {
            _ if is_own_server && key_place.is_usual() => None,
            Ok(key) => Some(key),
            Err(NoKey::Missing(_)) if is_own_server => None,
            Err(NoKey::Missing(problem)) => {
                let (variable, entry) = (usual.key_variable, entry_name.to_owned());
                return Err(ResolveError::NoKey { model: full_name, variable, entry, problem });
            }
            Err(NoKey::Unusable(problem)) => {
                return Err(ResolveError::UnusableKey { model: full_name, problem });
            }
        };
        let http = self
            .http
            .client(&base)
            .map_err(|error| bad(format!("no connection can be made: {}", http::reason(error))))?;
        let place = Place { http, base, key, key_place };
        let model: Arc<dyn Model> = match settings.kind {
            ProviderKind::Gemini => Arc::new(gemini::model(place, model)),
            ProviderKind::OpenAi => Arc::new(openai::model(place, model)),
            ProviderKind::Anthropic => Arc::new(anthropic::model(place, model)),
        };
        Ok(ResolvedModel { name: full_name, model })
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
        let is_usual = |entry: &Entry| entry.usual_models.iter().any(|pattern| matches(pattern, name));
        let named = self.entries.iter().find(|(_, entry)| names_it(entry));
        let found = named.or_else(|| self.entries.iter().find(|(_, entry)| is_usual(entry)));
        found.map(|(entry, _)| (entry.as_str(), name))
    }
}

/// Where an entry's provider listens.
fn base_url(settings: &ProviderSettings, usual: &Usual, environment: &Environment) -> Result<Url, String> {
    let variable = usual.base_url_variable;
    let from_variable = || environment(variable).and_then(|value| value.into_string().ok());
    let (place, text) = match (&settings.base_url, from_variable().filter(|text| !text.trim().is_empty())) {
        (Some(text), _) => ("`baseUrl`", text.clone()),
        (None, Some(text)) => (variable, text),
        (None, None) => ("its usual address", usual.base_url.to_owned()),
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
        let kind = ProviderKind::ALL.iter().find(|kind| kind.as_str() == name);
        let usual_models = kind.filter(|_| !has_own).map_or(&[][..], |kind| usual(*kind).models);
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

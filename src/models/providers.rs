//! Which provider serves a model, where does it listen, and with which key? (spec 04, "Providers")

use std::{collections::BTreeMap, sync::Arc};

use reqwest::{Client, Url};

use super::{
    LanguageModel, anthropic,
    exchange::ProviderConnection,
    gemini,
    http::{self, HttpClients},
    key::{ApiKey, KeyEnvironment, KeyPlace, NoKey},
    listing::ModelLister,
    model_id::is_id,
    openai, openai_responses,
    pattern::matches,
    provider_defaults::ProviderDefaults,
    resolve_error::ResolveError,
};
use config::{LayeredSetting, ProviderKind, ProviderSettings, nearest};
use protocol::SamplingSettings;
use redact::KnownSecrets;
use sys::children::ChildProcesses;

/// The entries of the settings, and one for each kind that has a usual key.
#[derive(Clone)]
pub(super) struct ProviderRegistry {
    entries: Arc<BTreeMap<String, ConfiguredProvider>>,
    environment: KeyEnvironment,
    children: ChildProcesses,
    secrets: KnownSecrets,
    http: HttpClients,
}

struct ConfiguredProvider {
    /// `None` = its settings have mistakes.
    settings: Option<ProviderSettings>,
    /// Nobody named models for it: these do where no entry of the settings does.
    usual_models: &'static [&'static str],
}

/// What is known before a provider is asked anything.
struct ProviderPreparation<'a> {
    settings: &'a ProviderSettings,
    key_place: KeyPlace,
    server: KeyRecipient,
    base: Url,
}

/// An entry of the settings, or one that is there without being named.
pub struct ProviderEntry {
    /// `None` = its settings have mistakes.
    pub kind: Option<ProviderKind>,
    /// `None` = nobody knows.
    pub base_url: Option<String>,
    pub key: Option<EntryKey>,
    /// Asks for its models, or why nobody can.
    pub lister: Result<ModelLister, String>,
}

/// Whether there is a key for an entry; never the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryKey {
    pub state: KeyState,
    /// Where it was looked for.
    pub place: Option<String>,
    pub problem: Option<String>,
}

/// Whether there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    Found,
    /// It is a server of one's own.
    NotNeeded,
    Missing,
    Unusable,
}

/// What is known of a model without its provider.
pub(super) struct ModelIdentity {
    /// `entry/model`: how runs know it.
    pub name: String,
    /// How the provider knows it.
    pub id: String,
    /// What the settings say of it.
    pub sampling: SamplingSettings,
}

/// A model of a provider.
pub(super) struct ProvidedModel {
    /// `entry/model`: how runs know it.
    pub name: String,
    /// How the provider knows it.
    pub id: String,
    pub model: Arc<dyn LanguageModel>,
    /// Of its entry.
    pub sampling: SamplingSettings,
    /// Of a recording that says what fitted the model that was recorded.
    pub window: Option<u64>,
}

/// Variables in which a key of one of these kinds is looked for where nobody names another one.
pub fn usual_key_variables() -> [&'static str; 3] {
    [gemini::USUAL, openai::USUAL, anthropic::USUAL].map(|usual| usual.key_variable)
}

fn usual(kind: ProviderKind) -> ProviderDefaults {
    match kind {
        ProviderKind::Gemini => gemini::USUAL,
        ProviderKind::OpenAi => openai::USUAL,
        ProviderKind::OpenAiResponses => openai_responses::USUAL,
        ProviderKind::Anthropic => anthropic::USUAL,
    }
}

impl Default for ProviderRegistry {
    fn default() -> ProviderRegistry {
        ProviderRegistry::new(&BTreeMap::new(), Arc::new(|_| None), ChildProcesses::default())
    }
}

impl ProviderRegistry {
    pub(super) fn new(
        configured: &BTreeMap<String, LayeredSetting<Option<ProviderSettings>>>,
        environment: KeyEnvironment,
        children: ChildProcesses,
    ) -> ProviderRegistry {
        let entries = Arc::new(entries(configured));
        let (secrets, http) = (KnownSecrets::default(), HttpClients::default());
        ProviderRegistry { entries, environment, children, secrets, http }
    }

    /// With somebody who learns each key that is read.
    pub(super) fn telling_keys(self, secrets: KnownSecrets) -> ProviderRegistry {
        ProviderRegistry { secrets, ..self }
    }

    /// With other entries; connections that are open stay.
    pub(super) fn reconfigured(
        &self,
        configured: &BTreeMap<String, LayeredSetting<Option<ProviderSettings>>>,
    ) -> ProviderRegistry {
        ProviderRegistry { entries: Arc::new(entries(configured)), ..self.clone() }
    }

    /// The model of `entry/model` or of a bare name.
    pub(super) fn resolve(&self, name: &str) -> Result<ProvidedModel, ResolveError> {
        let (entry_name, id) = self.entry_of(name)?;
        let full_name = format!("{entry_name}/{id}");
        let ProviderPreparation { settings, key_place, server, base } = self.approach(entry_name)?;
        let key = match key(&key_place, server) {
            Ok(key) => key,
            Err(NoKey::Missing(problem)) => {
                let variable = key_place.source.is_none().then_some(key_place.variable);
                let entry = entry_name.to_owned();
                return Err(ResolveError::NoKey { model: full_name, variable, entry, problem });
            }
            Err(NoKey::Unusable(problem)) => {
                return Err(ResolveError::UnusableKey { model: full_name, problem });
            }
        };
        let http = self.client(entry_name, &base)?;
        let place = ProviderConnection { http, base, key, key_place };
        let model: Arc<dyn LanguageModel> = match settings.kind {
            ProviderKind::Gemini => Arc::new(gemini::model(place, id)),
            ProviderKind::OpenAi => Arc::new(openai::model(place, id)),
            ProviderKind::OpenAiResponses => Arc::new(openai_responses::model(place, id)),
            ProviderKind::Anthropic => Arc::new(anthropic::model(place, id)),
        };
        Ok(ProvidedModel {
            name: full_name,
            id: id.to_owned(),
            model,
            sampling: settings.sampling,
            window: None,
        })
    }

    /// Every entry, by name.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// What an entry is, and how its provider is asked for its models. Looks for its key.
    pub(super) fn entry(&self, name: &str) -> ProviderEntry {
        let settings = self.entries.get(name).and_then(|entry| entry.settings.as_ref());
        let kind = settings.map(|settings| settings.kind);
        let failed = |error: ResolveError| ProviderEntry {
            kind,
            base_url: None,
            key: None,
            lister: Err(error.to_string()),
        };
        let ProviderPreparation { settings, key_place, server, base } = match self.approach(name) {
            Ok(approach) => approach,
            Err(error) => return failed(error),
        };
        let found = key(&key_place, server);
        let place = Some(key_place.to_string());
        let state = match &found {
            Ok(Some(_)) => EntryKey { state: KeyState::Found, place, problem: None },
            Ok(None) => EntryKey { state: KeyState::NotNeeded, place: None, problem: None },
            Err(NoKey::Missing(problem)) => {
                EntryKey { state: KeyState::Missing, place, problem: Some(problem.clone()) }
            }
            Err(NoKey::Unusable(problem)) => {
                EntryKey { state: KeyState::Unusable, place, problem: Some(problem.clone()) }
            }
        };
        let base_url = Some(base.to_string());
        let lister = match found {
            Err(NoKey::Missing(problem)) => Err(format!("there is no key: {problem}")),
            Err(NoKey::Unusable(problem)) => Err(format!("there is no usable key: {problem}")),
            Ok(key) => self.client(name, &base).map_err(|error| error.to_string()).map(|http| {
                let ProviderDefaults { headers, list, .. } = usual(settings.kind);
                let headers = headers(key.as_ref());
                let place = ProviderConnection { http, base, key, key_place };
                let url = place.url(list.path);
                ModelLister { endpoint: place.endpoint(url, headers), form: list }
            }),
        };
        ProviderEntry { kind, base_url, key: Some(state), lister }
    }

    /// Where an entry's provider is, and where its key would be.
    fn approach(&self, entry_name: &str) -> Result<ProviderPreparation<'_>, ResolveError> {
        let bad = |problem: String| ResolveError::BadProvider { entry: entry_name.to_owned(), problem };
        let Some(settings) = self.entries.get(entry_name).and_then(|entry| entry.settings.as_ref()) else {
            return Err(bad("its settings have mistakes".to_owned()));
        };
        let usual = usual(settings.kind);
        let base = base_url(settings, &usual, &self.environment).map_err(bad)?;
        let key_place = KeyPlace {
            entry: entry_name.to_owned(),
            source: settings.key.clone(),
            variable: usual.key_variable,
            environment: Arc::clone(&self.environment),
            children: self.children.clone(),
            secrets: self.secrets.clone(),
        };
        let is_usual_place = Url::parse(usual.base_url).is_ok_and(|usual| usual == base);
        let server = match (&settings.key, &settings.base_url) {
            _ if is_usual_place => KeyRecipient::Providers,
            (None, Some(_)) => KeyRecipient::Own,
            (None, None) => KeyRecipient::OfEnvironment,
            (Some(_), _) => KeyRecipient::Providers,
        };
        Ok(ProviderPreparation { settings, key_place, server, base })
    }

    fn client(&self, entry_name: &str, base: &Url) -> Result<Client, ResolveError> {
        self.http.client(base).map_err(|error| {
            let problem = format!("no connection can be made: {}", http::reason(error));
            ResolveError::BadProvider { entry: entry_name.to_owned(), problem }
        })
    }

    /// What a model is called, and what its entry says of it. Looks for no key.
    pub(super) fn named(&self, name: &str) -> Result<ModelIdentity, ResolveError> {
        let (entry_name, id) = self.entry_of(name)?;
        let settings = self.entries.get(entry_name).and_then(|entry| entry.settings.as_ref());
        let sampling = settings.map(|settings| settings.sampling).unwrap_or_default();
        Ok(ModelIdentity { name: format!("{entry_name}/{id}"), id: id.to_owned(), sampling })
    }

    fn entry_of<'a>(&'a self, name: &'a str) -> Result<(&'a str, &'a str), ResolveError> {
        let found = self.find(name).filter(|(_, id)| is_id(id));
        found.ok_or_else(|| {
            let model = name.to_owned();
            match name.split_once('/') {
                Some((entry, _)) if !self.entries.contains_key(entry) && is_id(entry) => {
                    let near = nearest(entry, self.names()).map(str::to_owned);
                    ResolveError::NoEntry { model, entry: entry.to_owned(), near }
                }
                _ => ResolveError::NoModel { model },
            }
        })
    }

    /// The entry of a name, and the model's id there. An entry whose settings name the model comes before one that
    /// serves it usually; of several the first by name.
    fn find<'a>(&'a self, name: &'a str) -> Option<(&'a str, &'a str)> {
        if let Some((entry, model)) = name.split_once('/')
            && let Some((entry, _)) = self.entries.get_key_value(entry)
        {
            return Some((entry, model));
        }
        let names_it = |entry: &ConfiguredProvider| {
            let patterns = entry.settings.iter().flat_map(|settings| &settings.models);
            patterns.into_iter().any(|pattern| matches(pattern, name))
        };
        let is_usual =
            |entry: &ConfiguredProvider| entry.usual_models.iter().any(|pattern| matches(pattern, name));
        let named = self.entries.iter().find(|(_, entry)| names_it(entry));
        let found = named.or_else(|| self.entries.iter().find(|(_, entry)| is_usual(entry)));
        found.map(|(entry, _)| (entry.as_str(), name))
    }
}

/// Whom a key that nobody named a place for would go to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyRecipient {
    /// Wants a key: the provider's own, or one for which a key is named.
    Providers,
    /// Its address stands in the environment, and so may its key: they are meant for each other. It may want none.
    OfEnvironment,
    /// Its address stands in the settings: it must not be sent a key that is for somebody else's server.
    Own,
}

/// The entry's key; `None` = none is needed.
fn key(place: &KeyPlace, server: KeyRecipient) -> Result<Option<ApiKey>, NoKey> {
    match place.read() {
        _ if server == KeyRecipient::Own && place.is_usual() => Ok(None),
        Err(NoKey::Missing(_)) if server != KeyRecipient::Providers => Ok(None),
        read => read.map(Some),
    }
}

/// Where an entry's provider listens.
fn base_url(
    settings: &ProviderSettings,
    usual: &ProviderDefaults,
    environment: &KeyEnvironment,
) -> Result<Url, String> {
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
fn entries(
    configured: &BTreeMap<String, LayeredSetting<Option<ProviderSettings>>>,
) -> BTreeMap<String, ConfiguredProvider> {
    let settings = configured.iter().map(|(name, setting)| (name.clone(), setting.value.clone()));
    let mut settings: BTreeMap<String, Option<ProviderSettings>> = settings.collect();
    for kind in ProviderKind::ALL {
        let implicit = ProviderSettings::usual(*kind);
        settings.entry(kind.as_str().to_owned()).or_insert(Some(implicit));
    }
    let entries = settings.into_iter().map(|(name, settings)| {
        let has_own = settings.as_ref().is_some_and(|settings| !settings.models.is_empty());
        let kind = ProviderKind::ALL.iter().find(|kind| kind.as_str() == name);
        let usual_models = kind.filter(|_| !has_own).map_or(&[][..], |kind| usual(*kind).models);
        (name, ConfiguredProvider { settings, usual_models })
    });
    entries.collect()
}

//! Which model does a name mean?

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    LanguageModel,
    dictated::{DICTATED, DictatedModel},
    listing::{ClockReading, ModelList, ModelListCache},
    offline::{OFFLINE, OfflineModel},
    pattern::longest,
    providers::{ModelIdentity, ProvidedModel, ProviderEntry, ProviderRegistry},
    recorder::OpenRecordings,
    replay::{ReplayModel, ReplayOrder},
    resolve_error::ResolveError,
    resolved_model::ResolvedModel,
    window::ContextWindow,
};
use config::{LayeredSetting, ModelAlias, ModelSettings, ProviderSettings};
use protocol::{ModelRef, NamedModel, SamplingSettings, Timestamp, TokenPrice};
use redact::KnownSecrets;
use sys::children::ChildProcesses;

/// The models this daemon can ask, by the names users write.
#[derive(Clone, Default)]
pub struct ModelRegistry {
    given: BTreeMap<String, Arc<dyn LanguageModel>>,
    providers: ProviderRegistry,
    said: Arc<NamedModelSettings>,
    listed: Arc<ModelListCache>,
    recordings: OpenRecordings,
}

/// What the settings say of models by name.
#[derive(Default)]
struct NamedModelSettings {
    aliases: BTreeMap<String, ModelAlias>,
    /// By patterns, in tokens.
    windows: BTreeMap<String, u64>,
    /// By patterns.
    prices: BTreeMap<String, TokenPrice>,
}

impl ModelRegistry {
    /// What to do when no model is configured.
    pub fn no_model_hint() -> String {
        format!("{}, or set `models.default` in the settings to one of these", ResolveError::WAYS)
    }

    /// Without settings and without an environment: for tests, which add what they need.
    pub fn new() -> ModelRegistry {
        ModelRegistry::default()
    }

    /// With the providers of the settings. `variable` looks into the daemon's environment; it is asked each time that
    /// a model is resolved. `children` starts the commands that print keys.
    pub fn configured(
        providers: &BTreeMap<String, LayeredSetting<Option<ProviderSettings>>>,
        children: ChildProcesses,
        variable: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static,
    ) -> ModelRegistry {
        let providers = ProviderRegistry::new(providers, Arc::new(variable), children);
        ModelRegistry { providers, ..ModelRegistry::default() }
    }

    /// With somebody who learns each key that is read, so that it is hidden.
    #[must_use]
    pub fn telling_keys(self, secrets: KnownSecrets) -> ModelRegistry {
        ModelRegistry { providers: self.providers.telling_keys(secrets), ..self }
    }

    /// With what the settings say of models by name.
    #[must_use]
    pub fn with_settings(self, settings: &ModelSettings) -> ModelRegistry {
        let said = NamedModelSettings {
            aliases: settings.aliases.value.clone(),
            windows: settings.context_window.value.clone(),
            prices: settings.prices.value.clone(),
        };
        ModelRegistry { said: Arc::new(said), ..self }
    }

    /// With other providers; what was given stays.
    #[must_use]
    pub fn reconfigured(
        &self,
        providers: &BTreeMap<String, LayeredSetting<Option<ProviderSettings>>>,
    ) -> ModelRegistry {
        // What an entry said may be what another said that had its name.
        let (providers, listed) = (self.providers.reconfigured(providers), Arc::default());
        ModelRegistry { providers, listed, ..self.clone() }
    }

    /// Adds a model that lives in this process, or replaces the one of that name.
    #[must_use]
    pub fn with_model(mut self, name: impl Into<String>, model: Arc<dyn LanguageModel>) -> ModelRegistry {
        self.given.insert(name.into(), model);
        self
    }

    /// The recordings that are being written of what these models say.
    pub fn recordings(&self) -> &OpenRecordings {
        &self.recordings
    }

    /// Finds the model of a name, an alias first. Reads the file of a recording or the place of a key, so it may block for
    /// as long as that takes.
    pub fn resolve(&self, model_ref: &ModelRef) -> Result<ResolvedModel, ResolveError> {
        let alias = self.said.aliases.get(model_ref.as_str());
        let name = alias.map_or(model_ref, |alias| &alias.model).as_str();
        let ProvidedModel { name, id, model, sampling, window } = self.serving(name)?;
        let window = self.window_of(&name, &id, window);
        let price = self.price_of(&name, &id);
        let sampling = alias.map(|alias| alias.sampling).unwrap_or_default().or(sampling);
        Ok(ResolvedModel { name, model, sampling, window, price })
    }

    /// True if the settings say what this name means.
    pub fn is_alias(&self, name: &str) -> bool {
        self.said.aliases.contains_key(name)
    }

    /// The name by which a model is known, the tokens that fit it and how it samples; no key is looked for.
    pub fn named(&self, model_ref: &ModelRef) -> Result<NamedModel, ResolveError> {
        let ModelIdentity { name, id, sampling } = self.identity(model_ref)?;
        let context_window = self.window_of(&name, &id, None).tokens;
        Ok(NamedModel { name, context_window, sampling })
    }

    /// True if it is known what a model costs; the models of the daemon's own cost nothing. No key is looked for.
    pub fn has_known_cost(&self, model_ref: &ModelRef) -> Result<bool, ResolveError> {
        let ModelIdentity { name, id, .. } = self.identity(model_ref)?;
        Ok(matches!(name.as_str(), OFFLINE | DICTATED) || self.price_of(&name, &id).is_some())
    }

    /// What a name means as far as the settings say it.
    fn identity(&self, model_ref: &ModelRef) -> Result<ModelIdentity, ResolveError> {
        let alias = self.said.aliases.get(model_ref.as_str());
        let name = alias.map_or(model_ref, |alias| &alias.model).as_str();
        let is_local = self.given.contains_key(name)
            || matches!(name, OFFLINE | DICTATED)
            || ["replay:", "replay+strict:"].iter().any(|scheme| name.starts_with(scheme));
        let identity = match is_local {
            true => ModelIdentity {
                name: name.to_owned(),
                id: name.to_owned(),
                sampling: SamplingSettings::default(),
            },
            false => self.providers.named(name)?,
        };
        let sampling = alias.map(|alias| alias.sampling).unwrap_or_default().or(identity.sampling);
        Ok(ModelIdentity { sampling, ..identity })
    }

    /// Providers' entries, by name: those of the settings, and those that are there without being named.
    pub fn entries(&self) -> Vec<String> {
        self.providers.names().map(str::to_owned).collect()
    }

    /// One of them. Looks for its key, so it may block for as long as that takes.
    pub fn entry(&self, name: &str) -> ProviderEntry {
        self.providers.entry(name)
    }

    /// Remembers what a provider said of its models at this moment; their windows count from now on.
    pub fn learn(&self, entry: &str, at: ClockReading, list: ModelList) {
        self.listed.keep(entry, at, list);
    }

    /// What a provider said lately.
    pub fn learned(&self, entry: &str, now: Duration) -> Option<(Timestamp, ModelList)> {
        self.listed.fresh(entry, now)
    }

    /// What is known of the window of an entry's model.
    pub fn window(&self, entry: &str, id: &str) -> ContextWindow {
        self.window_of(&format!("{entry}/{id}"), id, None)
    }

    fn price_of(&self, name: &str, id: &str) -> Option<TokenPrice> {
        longest(&self.said.prices, &[name, id]).copied()
    }

    fn window_of(&self, name: &str, id: &str, recorded: Option<u64>) -> ContextWindow {
        /// Of a model that lives in this process: it takes what it gets.
        const OWN: u64 = 1 << 30;
        let is_own = || self.given.contains_key(name).then_some(OWN);
        let listed = name.split_once('/').and_then(|(entry, id)| self.listed.window(entry, id));
        ContextWindow::new(
            longest(&self.said.windows, &[name, id]).copied(),
            listed.or(recorded).or_else(is_own),
            id,
        )
    }

    /// The model of a name that is no alias.
    fn serving(&self, name: &str) -> Result<ProvidedModel, ResolveError> {
        let (model, window): (Arc<dyn LanguageModel>, Option<u64>) = if let Some(model) = self.given.get(name)
        {
            (model.clone(), None)
        } else if name == OFFLINE {
            (Arc::new(OfflineModel), None)
        } else if name == DICTATED {
            (Arc::new(DictatedModel), None)
        } else if let Some(path) = name.strip_prefix("replay:") {
            open_recording(path, ReplayOrder::ByMethod)?
        } else if let Some(path) = name.strip_prefix("replay+strict:") {
            open_recording(path, ReplayOrder::Strict)?
        } else {
            return self.providers.resolve(name);
        };
        let sampling = SamplingSettings::default();
        Ok(ProvidedModel { name: name.to_owned(), id: name.to_owned(), model, sampling, window })
    }
}

/// The recording, and the tokens that fitted the model that was recorded.
fn open_recording(
    path: &str,
    order: ReplayOrder,
) -> Result<(Arc<dyn LanguageModel>, Option<u64>), ResolveError> {
    match ReplayModel::open(Path::new(path), order) {
        Ok(replay) => {
            let window = replay.window();
            Ok((Arc::new(replay), window))
        }
        Err(problem) => {
            Err(ResolveError::BadRecording { path: PathBuf::from(path), problem: problem.to_string() })
        }
    }
}

#[cfg(test)]
mod tests;

//! Which model does a name mean?

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Model,
    dictated::Dictation,
    offline::Offline,
    providers::Providers,
    replay::{Order, Replay},
};
use crate::{
    config::{ProviderSettings, Setting},
    protocol::ModelRef,
    sys::children::Children,
};

/// The name of the model that needs no provider (spec 04, "`offline`").
pub const OFFLINE: &str = "offline";
/// The name of the model behind `tools/call`.
pub const DICTATED: &str = "dictated";

/// The models this daemon can ask, by the names users write.
#[derive(Clone, Default)]
pub struct Models {
    given: BTreeMap<String, Arc<dyn Model>>,
    providers: Providers,
}

/// A model and the name by which runs, logs and clients know it.
#[derive(Clone)]
pub struct ResolvedModel {
    pub name: String,
    pub model: Arc<dyn Model>,
}

/// Why a name means no model; variants by what the asker is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Answered as `NO_MODEL`.
    #[error("no model is named `{model}` here")]
    NoModel { model: String },
    /// The model's provider is known, but there is no key for it.
    #[error("there is no key for `{model}`: {problem}")]
    NoKey { model: String, variable: &'static str, entry: String, problem: String },
    /// There is something in place of a key, and it cannot be taken.
    #[error("there is no usable key for `{model}`: {problem}")]
    UnusableKey { model: String, problem: String },
    /// The provider's entry in the settings is at fault.
    #[error("the provider `{entry}` cannot be used: {problem}")]
    BadProvider { entry: String, problem: String },
    /// The recording itself is at fault.
    #[error("the recording {} {problem}", path.display())]
    BadRecording { path: PathBuf, problem: String },
}

impl ResolveError {
    /// Nothing is wrong with what was asked for; what is missing is in this daemon's surroundings, and may be there at
    /// the next start.
    pub fn is_about_a_key(&self) -> bool {
        matches!(self, ResolveError::NoKey { .. } | ResolveError::UnusableKey { .. })
    }

    /// One line: the ways out.
    pub fn hint(&self) -> String {
        match self {
            ResolveError::NoModel { .. } => Models::NO_MODEL_HINT.to_owned(),
            ResolveError::NoKey { variable, entry, .. } => format!(
                "set {variable} and start the daemon anew (`subagent stop`), or say in the settings where the key is \
                 (`providers.{entry}.key`); `--model offline` needs none"
            ),
            ResolveError::UnusableKey { .. } => "mend what the message names; the next start reads it anew".to_owned(),
            ResolveError::BadProvider { entry, .. } => {
                format!("mend `providers.{entry}` in the settings; `subagent status` tells every mistake in them")
            }
            ResolveError::BadRecording { .. } => {
                "a recording has one JSON object a line: {\"method\": \"generateContentStream\", \"response\": [chunks]}"
                    .to_owned()
            }
        }
    }
}

impl Models {
    /// What to do when no model is configured, or an unknown one is asked for.
    pub const NO_MODEL_HINT: &str = "use `--model gemini/gemini-2.5-flash` with GEMINI_API_KEY set for the daemon, `openai/MODEL` with OPENAI_API_KEY, `anthropic/MODEL` with ANTHROPIC_API_KEY, an \
         entry of `providers` in the settings for a server of your own, `--model offline` (rules, \
         no key needed) or `--model replay:FILE` (a recording), or set `models.default` in the settings to one of these";

    /// Without settings and without an environment: for tests, which add what they need.
    pub fn new() -> Models {
        Models::default()
    }

    /// With the providers of the settings. `variable` looks into the daemon's environment; it is asked each time that
    /// a model is resolved. `children` starts the commands that print keys.
    pub fn configured(
        providers: &BTreeMap<String, Setting<Option<ProviderSettings>>>,
        children: Children,
        variable: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static,
    ) -> Models {
        Models { given: BTreeMap::new(), providers: Providers::new(providers, Arc::new(variable), children) }
    }

    /// With other providers; what was given stays.
    #[must_use]
    pub fn reconfigured(&self, providers: &BTreeMap<String, Setting<Option<ProviderSettings>>>) -> Models {
        Models { given: self.given.clone(), providers: self.providers.reconfigured(providers) }
    }

    /// Adds a model that lives in this process, or replaces the one of that name.
    #[must_use]
    pub fn with_model(mut self, name: impl Into<String>, model: Arc<dyn Model>) -> Models {
        self.given.insert(name.into(), model);
        self
    }

    /// Finds the model of a name. Reads the file of a recording or the place of a key, so it may block for as long as
    /// that takes.
    pub fn resolve(&self, model_ref: &ModelRef) -> Result<ResolvedModel, ResolveError> {
        let name = model_ref.as_str();
        let model: Arc<dyn Model> = if let Some(model) = self.given.get(name) {
            model.clone()
        } else if name == OFFLINE {
            Arc::new(Offline)
        } else if name == DICTATED {
            Arc::new(Dictation)
        } else if let Some(path) = name.strip_prefix("replay:") {
            open_recording(path, Order::ByMethod)?
        } else if let Some(path) = name.strip_prefix("replay+strict:") {
            open_recording(path, Order::Strict)?
        } else {
            return self.providers.resolve(name);
        };
        Ok(ResolvedModel { name: name.to_owned(), model })
    }
}

fn open_recording(path: &str, order: Order) -> Result<Arc<dyn Model>, ResolveError> {
    match Replay::open(Path::new(path), order) {
        Ok(replay) => Ok(Arc::new(replay)),
        Err(problem) => {
            Err(ResolveError::BadRecording { path: PathBuf::from(path), problem: problem.to_string() })
        }
    }
}

#[cfg(test)]
mod tests;

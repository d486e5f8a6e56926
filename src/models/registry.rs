//! Which model does a name mean?

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Model,
    offline::Offline,
    replay::{Order, Replay},
};
use crate::protocol::ModelRef;

/// The name of the model that needs no provider (spec 04, "`offline`").
pub const OFFLINE: &str = "offline";

/// The models this daemon can ask, by the names users write.
#[derive(Clone, Default)]
pub struct Models {
    given: BTreeMap<String, Arc<dyn Model>>,
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
    /// The recording itself is at fault.
    #[error("the recording {} {problem}", path.display())]
    BadRecording { path: PathBuf, problem: String },
}

impl ResolveError {
    /// One line: the ways out.
    pub fn hint(&self) -> &'static str {
        match self {
            ResolveError::NoModel { .. } => Models::NO_MODEL_HINT,
            ResolveError::BadRecording { .. } => {
                "a recording has one JSON object a line: {\"method\": \"generateContentStream\", \"response\": [chunks]}"
            }
        }
    }
}

impl Models {
    /// What to do when no model is configured, or an unknown one is asked for.
    pub const NO_MODEL_HINT: &str = "use `--model offline` (rules, no key needed), `--model replay:FILE` (a recording), or set \
         `models.default` in the settings to one of these; providers with keys are not supported by this version";

    pub fn new() -> Models {
        Models::default()
    }

    /// Adds a model that lives in this process, or replaces the one of that name.
    #[must_use]
    pub fn with_model(mut self, name: impl Into<String>, model: Arc<dyn Model>) -> Models {
        self.given.insert(name.into(), model);
        self
    }

    /// Finds the model of a name. Reads the file of a recording, so it may block for as long as that takes.
    pub fn resolve(&self, model_ref: &ModelRef) -> Result<ResolvedModel, ResolveError> {
        let name = model_ref.as_str();
        let model: Arc<dyn Model> = if let Some(model) = self.given.get(name) {
            model.clone()
        } else if name == OFFLINE {
            Arc::new(Offline)
        } else if let Some(path) = name.strip_prefix("replay:") {
            open_recording(path, Order::ByMethod)?
        } else if let Some(path) = name.strip_prefix("replay+strict:") {
            open_recording(path, Order::Strict)?
        } else {
            return Err(ResolveError::NoModel { model: name.to_owned() });
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

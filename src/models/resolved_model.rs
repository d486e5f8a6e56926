//! What is a model that a name means?

use std::sync::Arc;

use super::{LanguageModel, window::ContextWindow};
use protocol::{NamedModel, SamplingSettings, TokenPrice};

/// A model and the name by which runs, logs and clients know it.
#[derive(Clone)]
pub struct ResolvedModel {
    /// Never an alias.
    pub name: String,
    pub model: Arc<dyn LanguageModel>,
    /// What its alias says of sampling, else what its provider's entry says.
    pub sampling: SamplingSettings,
    pub window: ContextWindow,
    /// `None` = nobody said, so what it costs is not known.
    pub price: Option<TokenPrice>,
}

impl ResolvedModel {
    /// [`protocol::is_served`] of its name.
    pub fn is_served(&self) -> bool {
        protocol::is_served(&self.name)
    }

    /// With what it says of sampling in `first`, and where that is silent as it is.
    #[must_use]
    pub fn sampling_first(self, first: SamplingSettings) -> ResolvedModel {
        ResolvedModel { sampling: first.or(self.sampling), ..self }
    }

    pub fn named(&self) -> NamedModel {
        let context_window = self.window.tokens;
        NamedModel { name: self.name.clone(), context_window, sampling: self.sampling }
    }
}

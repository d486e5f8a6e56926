//! What does a kind of provider have that nobody has to say? (spec 04, "Providers")

use reqwest::header::HeaderMap;

use super::{key::ApiKey, listing::ListForm};

/// What holds for a kind where the settings say nothing else.
pub(super) struct ProviderDefaults {
    /// The provider's own.
    pub base_url: &'static str,
    pub base_url_variable: &'static str,
    pub key_variable: &'static str,
    /// Bare names of models that mean the entry of the kind's own name; `*` stands for any letters.
    pub models: &'static [&'static str],
    /// What every request has.
    pub headers: fn(Option<&ApiKey>) -> HeaderMap,
    pub list: ListForm,
}

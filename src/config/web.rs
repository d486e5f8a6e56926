//! Which engine is the web searched with? The shapes of `tools.webSearch` (spec 05, `web_search`).

use jsonc_parser::ast::Value;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{
    KeySource, LayeredSetting,
    approval::web_address,
    shapes::{SettingShape, ShapeError},
};

/// Who answers searches (`tools.webSearch.backend`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchProvider {
    /// A Gemini model, whose provider searches for it: the small one, or the run's.
    Gemini,
    /// A search engine.
    #[serde(untagged)]
    Backend(SearchBackend),
}

/// A search engine that has an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchBackend {
    /// Brave Search's API.
    Brave,
    /// Tavily's API.
    Tavily,
    /// A SearXNG of one's own, with its JSON format switched on.
    Searxng,
}

impl SearchBackend {
    /// As a settings file says it.
    pub fn as_str(self) -> &'static str {
        match self {
            SearchBackend::Brave => "brave",
            SearchBackend::Tavily => "tavily",
            SearchBackend::Searxng => "searxng",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct WebSearchSettings {
    /// `None` = no agent can search the web.
    pub backend: LayeredSetting<Option<SearchProvider>>,
    /// Of a search engine; `None` = its own, where it has one.
    pub url: LayeredSetting<Option<String>>,
    /// Where the key lies: a variable or a file.
    pub key: LayeredSetting<Option<KeySource>>,
}

/// Where a backend listens. The people choose it who run the daemon, so it may also be in their own network.
pub(super) struct ServerAddress;

impl SettingShape for ServerAddress {
    type Out = String;

    fn read(&self, value: &Value<'_>) -> Result<String, ShapeError> {
        let (url, _, _) = web_address(value)?;
        // Questions are put behind it.
        if url.contains(['?', '#']) { Err(ShapeError::BadValue) } else { Ok(url.to_owned()) }
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": "^\\s*https?://[^/?#@\\s\\\\]+(/[^?#\\s]*)?\\s*$" })
    }

    fn is_text(&self) -> bool {
        true
    }
}

//! Gemini's API: `POST {base}/v1beta/models/{model}:streamGenerateContent?alt=sse` (spec 04, "Providers";
//! <https://ai.google.dev/api/generate-content>).

use reqwest::header::{HeaderMap, HeaderName};

pub(super) use self::{encoding::GeminiDialect, reply::GeminiReply};
use super::{
    MediaSupport,
    exchange::{ProviderConnection, ProviderDialect, ProviderError, RemoteModel},
    key::ApiKey,
    provider_defaults::ProviderDefaults,
};

pub(super) mod complaint;
pub(super) mod count;
mod encoding;
mod list;
mod message;
pub(super) mod reply;

/// The provider's kind, as it stands in [`protocol::ProviderMessage`].
pub(super) const PROVIDER: &str = "gemini";
pub(super) const USUAL: ProviderDefaults = ProviderDefaults {
    base_url: "https://generativelanguage.googleapis.com",
    // The variables that Gemini's own tools know, too.
    base_url_variable: "GOOGLE_GEMINI_BASE_URL",
    key_variable: "GEMINI_API_KEY",
    models: &["gemini-*"],
    headers,
    list: list::FORM,
};

const KEY_HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");

impl ProviderDialect for GeminiDialect {
    type Reply = GeminiReply;

    const NAME: &'static str = "Gemini";

    fn complaint(body: &[u8]) -> Option<ProviderError> {
        complaint::read(body)
    }
}

/// One model, for one run.
pub(super) fn model(place: ProviderConnection, model: &str) -> RemoteModel<GeminiDialect> {
    let url = place.url(&["v1beta", "models", &format!("{model}:streamGenerateContent")]);
    let headers = headers(place.key.as_ref());
    let takes_files = encoding::takes_files(model);
    let media = MediaSupport { audio: takes_files, pdf: takes_files };
    let count_url = place.url(&["v1beta", "models", &format!("{model}:countTokens")]);
    let mut endpoint = place.endpoint(url, headers);
    endpoint.url.set_query(Some("alt=sse"));
    RemoteModel::new(endpoint, GeminiDialect::new(model), media)
        .with_provider_tools(encoding::provider_tools(model))
        .with_counter(count_url, count::read)
}

fn headers(key: Option<&ApiKey>) -> HeaderMap {
    key.into_iter().map(|key| (KEY_HEADER, key.header())).collect()
}

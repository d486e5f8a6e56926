//! Gemini's API: `POST {base}/v1beta/models/{model}:streamGenerateContent?alt=sse` (spec 04, "Providers";
//! <https://ai.google.dev/api/generate-content>).

use reqwest::{
    Client, Url,
    header::{HeaderMap, HeaderName},
};

pub(super) use self::encoding::Gemini;
use super::{
    Media,
    exchange::{Complaint, Dialect, Endpoint, Remote},
    gemini_reply::GeminiReply,
    key::{ApiKey, KeyPlace},
};

pub(super) mod complaint;
mod encoding;
mod message;

/// The provider's kind, as it stands in [`crate::protocol::ProviderMessage`].
pub(super) const PROVIDER: &str = "gemini";
/// Where Google serves it.
pub(super) const BASE_URL: &str = "https://generativelanguage.googleapis.com";
/// The variables that Gemini's own tools know, too.
pub(super) const KEY_VARIABLE: &str = "GEMINI_API_KEY";
pub(super) const BASE_URL_VARIABLE: &str = "GOOGLE_GEMINI_BASE_URL";
/// Bare names of models that mean the entry `gemini`, unless it says otherwise.
pub(super) const MODELS: &str = "gemini-*";

const KEY_HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");

impl Dialect for Gemini {
    type Reply = GeminiReply;

    const NAME: &'static str = "Gemini";

    fn complaint(body: &[u8]) -> Option<Complaint> {
        complaint::read(body)
    }
}

/// One model, for one run. `base` as in the settings: what stands in front of `/v1beta`.
pub(super) fn model(
    http: Client,
    base: &Url,
    model: &str,
    key: Option<ApiKey>,
    key_place: KeyPlace,
) -> Remote<Gemini> {
    let mut url = base.clone();
    // Always a base: it has a host.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["v1beta", "models", &format!("{model}:streamGenerateContent")]);
    }
    url.set_query(Some("alt=sse"));
    let headers: HeaderMap = key.iter().map(|key| (KEY_HEADER, key.header())).collect();
    let takes_files = encoding::takes_files(model);
    let media = Media { audio: takes_files, pdf: takes_files };
    Remote::new(Endpoint { http, url, headers, key, key_place }, Gemini::new(model), media)
}

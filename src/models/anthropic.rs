//! Anthropic's messages: `POST {base}/v1/messages` with `stream: true` (spec 04, "Providers";
//! <https://docs.anthropic.com/en/api/messages>).

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

pub(super) use self::encoding::AnthropicDialect;
use self::reply::MessageReply;
use super::{
    MediaSupport,
    exchange::{ProviderConnection, ProviderDialect, ProviderError, RemoteModel},
    key::ApiKey,
    provider_defaults::ProviderDefaults,
};

mod complaint;
mod count;
mod encoding;
mod generation;
mod list;
mod message;
mod reply;

/// The provider's kind, as it stands in [`protocol::ProviderMessage`].
pub(super) const PROVIDER: &str = "anthropic";

pub(super) const USUAL: ProviderDefaults = ProviderDefaults {
    base_url: "https://api.anthropic.com",
    // The variables that Anthropic's own libraries know, too.
    base_url_variable: "ANTHROPIC_BASE_URL",
    key_variable: "ANTHROPIC_API_KEY",
    models: &["claude-*"],
    headers,
    list: list::FORM,
};

const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");
const VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");
/// The form of requests and events that this speaks (<https://docs.anthropic.com/en/api/versioning>).
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

impl ProviderDialect for AnthropicDialect {
    type Reply = MessageReply;

    const NAME: &'static str = "Anthropic";

    fn complaint(body: &[u8]) -> Option<ProviderError> {
        complaint::read(body)
    }
}

/// One model, for one run.
pub(super) fn model(place: ProviderConnection, model: &str) -> RemoteModel<AnthropicDialect> {
    let headers = headers(place.key.as_ref());
    let media = MediaSupport { audio: false, pdf: true };
    let url = place.url(&["v1", "messages"]);
    let count_url = place.url(&["v1", "messages", "count_tokens"]);
    RemoteModel::new(place.endpoint(url, headers), AnthropicDialect::new(model), media)
        .with_counter(count_url, count::read)
}

fn headers(key: Option<&ApiKey>) -> HeaderMap {
    let mut headers: HeaderMap = key.into_iter().map(|key| (KEY_HEADER, key.header())).collect();
    headers.insert(VERSION_HEADER, VERSION);
    headers
}

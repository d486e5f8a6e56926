//! OpenAI's chat completions: `POST {base}/chat/completions` with `stream: true` (spec 04, "Providers";
//! <https://platform.openai.com/docs/api-reference/chat>). Many other servers speak it: Ollama, llama.cpp, vLLM, LM Studio,
//! OpenRouter.

use reqwest::header::{AUTHORIZATION, HeaderMap};

pub(super) use self::encoding::{ChatCompletionsDialect, effort, thinks};
use self::reply::ChatReply;
use super::{
    MediaSupport,
    exchange::{ProviderConnection, ProviderDialect, ProviderError, RemoteModel},
    key::ApiKey,
    provider_defaults::ProviderDefaults,
};

pub(super) mod complaint;
mod encoding;
mod list;
mod message;
mod reply;

/// The provider's kind, as it stands in [`protocol::ProviderMessage`].
pub(super) const PROVIDER: &str = "openai";

pub(super) const USUAL: ProviderDefaults = ProviderDefaults {
    base_url: "https://api.openai.com/v1",
    // The variables that OpenAI's own libraries know, too.
    base_url_variable: "OPENAI_BASE_URL",
    key_variable: "OPENAI_API_KEY",
    models: &["gpt-*", "chatgpt-*", "o1*", "o3*", "o4*"],
    headers: authorization,
    list: list::FORM,
};

impl ProviderDialect for ChatCompletionsDialect {
    type Reply = ChatReply;

    const NAME: &'static str = "OpenAI";

    fn complaint(body: &[u8]) -> Option<ProviderError> {
        complaint::read(body)
    }
}

/// One model, for one run.
pub(super) fn model(place: ProviderConnection, model: &str) -> RemoteModel<ChatCompletionsDialect> {
    let is_own = is_own(&place);
    // Only OpenAI itself is known to take documents; sound is for models that are made for it.
    let media = MediaSupport { audio: model.contains("audio"), pdf: is_own };
    let url = place.url(&["chat", "completions"]);
    let headers = authorization(place.key.as_ref());
    RemoteModel::new(place.endpoint(url, headers), ChatCompletionsDialect::new(model, is_own, media), media)
}

/// True if it is OpenAI itself that listens there.
pub(super) fn is_own(place: &ProviderConnection) -> bool {
    place.base.host_str() == Some("api.openai.com")
}

pub(super) fn authorization(key: Option<&ApiKey>) -> HeaderMap {
    key.into_iter().map(|key| (AUTHORIZATION, key.bearer())).collect()
}

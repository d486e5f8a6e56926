//! OpenAI's responses: `POST {base}/responses` with `stream: true` (spec 04, "Providers";
//! <https://platform.openai.com/docs/api-reference/responses>). Nothing is kept at the provider: what the model said, its
//! encrypted thoughts too, goes back with each request.

pub(super) use self::encoding::ResponsesDialect;
use self::reply::ItemReply;
use super::{
    MediaSupport,
    exchange::{ProviderConnection, ProviderDialect, ProviderError, RemoteModel},
    openai,
    provider_defaults::ProviderDefaults,
};

mod complaint;
mod encoding;
mod message;
mod reply;
mod wire;

/// The provider's kind, as it stands in [`protocol::ProviderMessage`]. Not that of chat completions: neither reads
/// what the other wrote.
pub(super) const PROVIDER: &str = "openai-responses";

/// As for chat completions, but for the bare names of models: those are taken.
pub(super) const USUAL: ProviderDefaults = ProviderDefaults { models: &[], ..openai::USUAL };

impl ProviderDialect for ResponsesDialect {
    type Reply = ItemReply;

    const NAME: &'static str = "OpenAI";

    fn complaint(body: &[u8]) -> Option<ProviderError> {
        complaint::read(body)
    }
}

/// One model, for one run.
pub(super) fn model(place: ProviderConnection, model: &str) -> RemoteModel<ResponsesDialect> {
    let is_own = openai::is_own(&place);
    // Only OpenAI itself is known to take documents; sound is taken by none of its models here.
    let media = MediaSupport { audio: false, pdf: is_own };
    let url = place.url(&["responses"]);
    let headers = openai::authorization(place.key.as_ref());
    RemoteModel::new(place.endpoint(url, headers), ResponsesDialect::new(model, is_own, media), media)
}

//! OpenAI's responses: `POST {base}/responses` with `stream: true` (spec 04, "Providers";
//! <https://platform.openai.com/docs/api-reference/responses>). Nothing is kept at the provider: what the model said, its
//! encrypted thoughts too, goes back with each request.

pub(super) use self::encoding::Responses;
use self::reply::ItemReply;
use super::{
    Media,
    exchange::{Complaint, Dialect, Place, Remote},
    openai,
    providers::Usual,
};

mod complaint;
mod encoding;
mod message;
mod reply;
mod wire;

/// The provider's kind, as it stands in [`crate::protocol::ProviderMessage`]. Not that of chat completions: neither reads
/// what the other wrote.
pub(super) const PROVIDER: &str = "openai-responses";

/// As for chat completions, but for the bare names of models: those are taken.
pub(super) const USUAL: Usual = Usual { models: &[], ..openai::USUAL };

impl Dialect for Responses {
    type Reply = ItemReply;

    const NAME: &'static str = "OpenAI";

    fn complaint(body: &[u8]) -> Option<Complaint> {
        complaint::read(body)
    }
}

/// One model, for one run.
pub(super) fn model(place: Place, model: &str) -> Remote<Responses> {
    let is_own = openai::is_own(&place);
    // Only OpenAI itself is known to take documents; sound is taken by none of its models here.
    let media = Media { audio: false, pdf: is_own };
    let url = place.url(&["responses"]);
    let headers = openai::authorization(place.key.as_ref());
    Remote::new(place.endpoint(url, headers), Responses::new(model, is_own, media), media)
}

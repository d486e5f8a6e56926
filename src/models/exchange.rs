//! How is a provider asked, whatever it speaks? One request, one stream of events, and every way in which it may fail.
//!
//! What differs between providers is a [`ProviderDialect`]: how messages are written, how events are read, and what a refusal means.
//! Everything else is the same for all, and stands here once.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{
    FutureExt as _, StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use reqwest::{
    Client, Response, Url,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde::de::IgnoredAny;

use self::{counting::TokenCounter, reading::ResponseReader};
use super::{
    LanguageModel, MediaSupport, ModelError, ModelEvent, ModelReply, ModelRequest, ProviderTool,
    encoder::{RequestEncoder, WireFormat},
    key::{ApiKey, KeyPlace},
    tool_names::WireNames,
};
use protocol::Usage;

mod counting;
pub(super) mod failure;
mod reading;

pub(super) use failure::ProviderError;

/// What a provider speaks.
pub(super) trait ProviderDialect: WireFormat {
    /// Gathers the events of one response.
    type Reply: ReplyAssembler;

    /// For people, e.g. `Gemini`.
    const NAME: &'static str;

    /// What the body of a refusal says; `None` = it is not the provider's own.
    fn complaint(body: &[u8]) -> Option<ProviderError>;
}

/// A reply that is put together event by event. What was read before a failure is dropped with it.
pub(super) trait ReplyAssembler: Default + Send + 'static {
    /// Takes the data of one event; answers the deltas in it. An error means that it is not of the provider's form.
    fn push(&mut self, event: &str) -> Result<Vec<ModelEvent>, serde_json::Error>;

    /// What the provider has said so far that it takes; nothing where it has not.
    fn usage(&self) -> Usage;

    /// Bytes of calls' arguments that have come so far.
    fn call_bytes(&self) -> usize;

    /// True if the provider has said why it ended: all that it meant to say is here, and whatever else may come is
    /// not worth waiting for.
    fn is_whole(&self) -> bool;

    /// What went wrong, when the last event said that something did.
    fn take_error(&mut self) -> Option<ProviderError>;

    /// The whole reply, once the stream has ended, or why it is none.
    fn finish(self) -> Result<ModelReply, ModelError>;
}

/// True if the arguments of a call, as far as they came, are those of one that was cut: they are no JSON yet, or have not
/// begun. For the last call of a reply that came to its limit; any other that has none is whole without.
pub(super) fn is_cut(arguments: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(arguments).is_err()
}

/// Where a provider listens, and what lets us in.
pub(super) struct ProviderConnection {
    pub http: Client,
    /// As in the settings: what stands in front of the API's own paths. It has a host.
    pub base: Url,
    pub key: Option<ApiKey>,
    pub key_place: KeyPlace,
}

impl ProviderConnection {
    /// The address of a method. No segment of it can lead elsewhere.
    pub(super) fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        // Always a base, since it has a host.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    pub(super) fn endpoint(self, url: Url, headers: HeaderMap) -> ModelEndpoint {
        let ProviderConnection { http, key, key_place, .. } = self;
        ModelEndpoint { http, url, headers, key, key_place }
    }
}

/// Where one model answers, and how one comes in.
#[derive(Clone)]
pub(super) struct ModelEndpoint {
    pub http: Client,
    /// With the method, and the model where the provider wants it there.
    pub url: Url,
    /// With the key, where there is one.
    pub headers: HeaderMap,
    /// `None` = the server wants none, or nobody gave one.
    pub key: Option<ApiKey>,
    pub key_place: KeyPlace,
}

impl ModelEndpoint {
    /// Text of the provider's without the key: they repeat what they were sent.
    fn hide_key(&self, text: &str) -> String {
        match &self.key {
            Some(key) => key.hide_in(text),
            None => text.to_owned(),
        }
    }
}

/// A model of a provider, for one run: it keeps the run's messages in the provider's form, so that a turn encodes only what
/// is new.
pub(super) struct RemoteModel<D: ProviderDialect> {
    endpoint: Arc<ModelEndpoint>,
    encoder: Mutex<RequestEncoder<D>>,
    media: MediaSupport,
    provider_tools: &'static [ProviderTool],
    /// `None` = the provider does not count.
    counter: Option<TokenCounter>,
}

impl<D: ProviderDialect> RemoteModel<D> {
    pub(super) fn new(endpoint: ModelEndpoint, dialect: D, media: MediaSupport) -> RemoteModel<D> {
        let encoder = RequestEncoder::new(dialect, &endpoint.key_place.entry);
        let endpoint = Arc::new(endpoint);
        RemoteModel { endpoint, encoder: Mutex::new(encoder), media, provider_tools: &[], counter: None }
    }

    /// Its provider counts tokens at this address, for the body that [`WireFormat::count_body`] makes; `read` finds the number in an
    /// answer.
    pub(super) fn with_counter(self, url: Url, read: fn(&[u8]) -> Option<u64>) -> RemoteModel<D> {
        let endpoint = Arc::new(ModelEndpoint { url, ..(*self.endpoint).clone() });
        RemoteModel { counter: Some(TokenCounter { endpoint, read }), ..self }
    }

    /// Its provider does these for it.
    pub(super) fn with_provider_tools(self, provider_tools: &'static [ProviderTool]) -> RemoteModel<D> {
        RemoteModel { provider_tools, ..self }
    }
}

impl<D: ProviderDialect> LanguageModel for RemoteModel<D> {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        // An encoder that panicked keeps at most a message it did not finish, and messages are kept whole.
        let mut encoder = self.encoder.lock().unwrap_or_else(PoisonError::into_inner);
        let (body, names) = encoder.encode(&request);
        drop(encoder);
        let asking = ResponseState::<D>::Asking { endpoint: Arc::clone(&self.endpoint), body, names };
        stream::unfold(asking, ResponseState::next).boxed()
    }

    fn count(
        &self,
        request: ModelRequest,
        _ordinal: u32,
    ) -> Option<BoxFuture<'static, Result<u64, ModelError>>> {
        let counter = self.counter.clone()?;
        let mut encoder = self.encoder.lock().unwrap_or_else(PoisonError::into_inner);
        let body = encoder.encode_count(&request)?;
        drop(encoder);
        Some(counter.count::<D>(body).boxed())
    }

    fn media(&self) -> MediaSupport {
        self.media
    }

    fn has(&self, tool: ProviderTool) -> bool {
        self.provider_tools.contains(&tool)
    }
}

/// Where a response stands. Dropping it drops the request.
enum ResponseState<D: ProviderDialect> {
    Asking { endpoint: Arc<ModelEndpoint>, body: Vec<u8>, names: Arc<WireNames> },
    Reading(Box<ResponseReader<D>>),
    Over,
}

impl<D: ProviderDialect> ResponseState<D> {
    async fn next(self) -> Option<(Result<ModelEvent, ModelError>, ResponseState<D>)> {
        let mut reading = match self {
            ResponseState::Asking { endpoint, body, names } => match ask(endpoint, body, names).await {
                Ok(reading) => Box::new(reading),
                Err(error) => return Some((Err(error), ResponseState::Over)),
            },
            ResponseState::Reading(reading) => reading,
            ResponseState::Over => return None,
        };
        match reading.next().await {
            Ok(event @ ModelEvent::Finished(_)) => Some((Ok(event), ResponseState::Over)),
            Ok(event) => Some((Ok(event), ResponseState::Reading(reading))),
            Err(error) => Some((Err(error), ResponseState::Over)),
        }
    }
}

async fn ask<D: ProviderDialect>(
    endpoint: Arc<ModelEndpoint>,
    body: Vec<u8>,
    names: Arc<WireNames>,
) -> Result<ResponseReader<D>, ModelError> {
    let response = send::<D>(&endpoint, body).await?;
    Ok(ResponseReader::new(endpoint, response, names))
}

/// A response that begins well, or why there is none.
async fn send<D: ProviderDialect>(endpoint: &ModelEndpoint, body: Vec<u8>) -> Result<Response, ModelError> {
    let request = endpoint
        .http
        .post(endpoint.url.clone())
        .headers(endpoint.headers.clone())
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    let response = request.send().await.map_err(|error| failure::unreachable(endpoint, error))?;
    if response.status().is_success() {
        Ok(response)
    } else {
        Err(failure::refusal(endpoint, response, D::complaint).await)
    }
}

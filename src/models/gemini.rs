//! Gemini's API: `POST {base}/v1beta/models/{model}:streamGenerateContent?alt=sse` (spec 04, "Providers";
//! <https://ai.google.dev/api/generate-content>).
//!
//! One [`Gemini`] serves one run: it keeps the run's messages in the provider's form, so that a turn encodes only what
//! is new.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use reqwest::{
    Client, Url,
    header::{CONTENT_TYPE, HeaderName},
};

use self::{encoding::Encoder, reading::Reading};
use super::{
    Media, Model, ModelError, ModelEvent, ModelRequest,
    key::{ApiKey, KeyPlace},
    tool_names::WireNames,
};

mod encoding;
pub(super) mod failure;
mod message;
mod reading;

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

/// One model, for one run.
pub(super) struct Gemini {
    endpoint: Arc<Endpoint>,
    encoder: Mutex<Encoder>,
    /// Whether the model is one that takes sound and documents.
    takes_files: bool,
}

/// Where one model answers, and how it is spoken to.
pub(super) struct Endpoint {
    pub http: Client,
    /// With the model and the method.
    pub url: Url,
    pub key: ApiKey,
    pub key_place: KeyPlace,
}

impl Gemini {
    /// `base` as in the settings: what stands in front of `/v1beta`.
    pub(super) fn new(http: Client, base: &Url, model: &str, key: ApiKey, key_place: KeyPlace) -> Gemini {
        let mut url = base.clone();
        // Always a base: it has a host.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["v1beta", "models", &format!("{model}:streamGenerateContent")]);
        }
        url.set_query(Some("alt=sse"));
        let endpoint = Endpoint { http, url, key, key_place };
        Gemini {
            endpoint: Arc::new(endpoint),
            encoder: Mutex::new(Encoder::new(model)),
            takes_files: encoding::takes_files(model),
        }
    }
}

impl Model for Gemini {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        // An encoder that panicked keeps at most a message it did not finish, and messages are kept whole.
        let mut encoder = self.encoder.lock().unwrap_or_else(PoisonError::into_inner);
        let (body, names) = encoder.encode(&request);
        drop(encoder);
        let asking = State::Asking { endpoint: Arc::clone(&self.endpoint), body, names };
        stream::unfold(asking, State::next).boxed()
    }

    /// <https://ai.google.dev/gemini-api/docs/models>: all models with this name take both, but those that put out
    /// pictures or speech, and what else is served here, promise nothing.
    fn media(&self) -> Media {
        let is_usual = self.takes_files;
        Media { audio: is_usual, pdf: is_usual }
    }
}

/// Where a response stands. Dropping it drops the request.
enum State {
    Asking { endpoint: Arc<Endpoint>, body: Vec<u8>, names: Arc<WireNames> },
    Reading(Box<Reading>),
    Over,
}

impl State {
    async fn next(self) -> Option<(Result<ModelEvent, ModelError>, State)> {
        let mut reading = match self {
            State::Asking { endpoint, body, names } => match ask(endpoint, body, names).await {
                Ok(reading) => Box::new(reading),
                Err(error) => return Some((Err(error), State::Over)),
            },
            State::Reading(reading) => reading,
            State::Over => return None,
        };
        match reading.next().await {
            Ok(event @ ModelEvent::Finished(_)) => Some((Ok(event), State::Over)),
            Ok(event) => Some((Ok(event), State::Reading(reading))),
            Err(error) => Some((Err(error), State::Over)),
        }
    }
}

async fn ask(endpoint: Arc<Endpoint>, body: Vec<u8>, names: Arc<WireNames>) -> Result<Reading, ModelError> {
    let request = endpoint
        .http
        .post(endpoint.url.clone())
        .header(KEY_HEADER, endpoint.key.header())
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    let response = request.send().await.map_err(|error| failure::unreachable(&endpoint, error))?;
    if response.status().is_success() {
        Ok(Reading::new(endpoint, response, names))
    } else {
        Err(failure::refusal(&endpoint, response).await)
    }
}

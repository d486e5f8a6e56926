//! How is a server asked by somebody who signed in to it? The SDK's own client, with a token that is good.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::stream::BoxStream;
use hyper::header::{HeaderName, HeaderValue};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
        StreamableHttpResponseLimits,
    },
};
use sse_stream::Sse;
use tokio::sync::Notify;

use super::OAuthGrant;

type SseEventStream = BoxStream<'static, Result<Sse, SseError>>;
type HttpHeaders = HashMap<HeaderName, HeaderValue>;

/// How the SDK says that a server wants to know who asks, without saying how it finds out.
const UNAUTHORIZED: &str = "HTTP 401";

/// Whether a server wants somebody to sign in, whatever it was asked with.
#[derive(Default)]
pub struct AuthorizationRequired {
    is_told: AtomicBool,
    told: Notify,
}

impl AuthorizationRequired {
    pub fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Acquire)
    }

    /// Completes when it does.
    pub async fn told(&self) {
        while !self.is_told() {
            self.told.notified().await;
        }
    }

    fn tell(&self) {
        self.is_told.store(true, Ordering::Release);
        self.told.notify_one();
    }
}

/// Asks with the token of a grant.
#[derive(Clone)]
pub struct OAuthHttpClient<C> {
    inner: C,
    grant: Arc<OAuthGrant>,
    refusal: Arc<AuthorizationRequired>,
}

impl<C: StreamableHttpClient + Sync> OAuthHttpClient<C> {
    pub fn new(inner: C, grant: Arc<OAuthGrant>, refusal: Arc<AuthorizationRequired>) -> OAuthHttpClient<C> {
        OAuthHttpClient { inner, grant, refusal }
    }

    /// Asks, and once more with another token when the first is refused.
    async fn ask<T, F>(&self, ask: impl Fn(Option<String>) -> F) -> Result<T, StreamableHttpError<C::Error>>
    where
        F: Future<Output = Result<T, StreamableHttpError<C::Error>>>,
    {
        let token = self.grant.token().await;
        let answer = ask(token.clone()).await;
        if !is_unauthorized(&answer) {
            return answer;
        }
        let other = match &token {
            Some(token) => self.grant.other_than(token).await,
            None => None,
        };
        let Some(other) = other else {
            // Whoever is signed in may be let in later: the issuer is away.
            if !self.grant.is_signed_in() {
                self.refusal.tell();
            }
            return answer;
        };
        let answer = ask(Some(other)).await;
        if is_unauthorized(&answer) {
            self.refusal.tell();
        }
        answer
    }
}

fn is_unauthorized<T, E: std::error::Error + Send + Sync + 'static>(
    answer: &Result<T, StreamableHttpError<E>>,
) -> bool {
    match answer {
        Err(StreamableHttpError::AuthRequired(_)) => true,
        Err(StreamableHttpError::UnexpectedServerResponse(text)) => text.starts_with(UNAUTHORIZED),
        _ => false,
    }
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for OAuthHttpClient<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HttpHeaders,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<C::Error>> {
        self.ask(|token| {
            let (uri, message, session_id) = (Arc::clone(&uri), message.clone(), session_id.clone());
            self.inner.post_message(uri, message, session_id, token, headers.clone())
        })
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HttpHeaders,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<C::Error>> {
        self.ask(|token| {
            let (uri, message, session_id) = (Arc::clone(&uri), message.clone(), session_id.clone());
            let headers = headers.clone();
            self.inner.post_message_with_response_limits(uri, message, session_id, token, headers, limits)
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: HttpHeaders,
    ) -> Result<(), StreamableHttpError<C::Error>> {
        self.ask(|token| {
            let (uri, session_id) = (Arc::clone(&uri), Arc::clone(&session_id));
            self.inner.delete_session(uri, session_id, token, headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: HttpHeaders,
    ) -> Result<SseEventStream, StreamableHttpError<C::Error>> {
        self.ask(|token| {
            let (uri, session_id, last) = (Arc::clone(&uri), session_id.clone(), last_event_id.clone());
            self.inner.get_stream(uri, session_id, last, token, headers.clone())
        })
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: HttpHeaders,
        most: usize,
    ) -> Result<SseEventStream, StreamableHttpError<C::Error>> {
        self.ask(|token| {
            let (uri, session_id, last) = (Arc::clone(&uri), session_id.clone(), last_event_id.clone());
            self.inner.get_stream_with_max_sse_event_size(uri, session_id, last, token, headers.clone(), most)
        })
        .await
    }
}

//! What does a response say, event by event, and how does it end?

use std::{collections::VecDeque, sync::Arc, time::Duration};

use reqwest::Response;
use serde::de::IgnoredAny;
use tokio::time::{Instant, timeout_at};

use super::{
    super::{
        ModelError, ModelEvent, ModelReply, ReplyPart,
        sse::{MAX_EVENT_BYTES, SseDecoder, SseError},
        tool_names::WireNames,
    },
    ModelEndpoint, ProviderDialect, ReplyAssembler as _, failure,
};
use protocol::{RunErrorCode, Usage};

/// Bytes of one response at most. There are providers that repeat the whole text in four events after its pieces, and every
/// few words come in an envelope. Nothing of it is held in memory but the text and one event.
const MAX_RESPONSE_BYTES: usize = 6 * MAX_EVENT_BYTES;

/// An open stream counts as finished this long after its finish reason. What may still come, such as the count of
/// tokens, comes at once; a proxy that keeps the connection must not cost the reply, which a silent run would discard.
const AFTER_FINISH: Duration = Duration::from_secs(2);

/// A response that has begun well.
pub(super) struct ResponseReader<D: ProviderDialect> {
    endpoint: Arc<ModelEndpoint>,
    response: Response,
    names: Arc<WireNames>,
    decoder: SseDecoder,
    reply: D::Reply,
    /// Deltas that were read and not yet told.
    ready: VecDeque<ModelEvent>,
    bytes: usize,
    /// Set once the reply is whole: when nobody waits any more for the end of the stream.
    until: Option<Instant>,
    /// There was an event in the stream.
    has_events: bool,
    /// Bytes of calls' arguments that were told.
    call_bytes: usize,
    /// What the provider has said that the response takes.
    usage: Usage,
    /// The connection broke off.
    is_broken: bool,
    /// The reason why there is no reply, once it was told what that has cost.
    failure: Option<ModelError>,
}

impl<D: ProviderDialect> ResponseReader<D> {
    pub(super) fn new(
        endpoint: Arc<ModelEndpoint>,
        response: Response,
        names: Arc<WireNames>,
    ) -> ResponseReader<D> {
        ResponseReader {
            endpoint,
            response,
            names,
            decoder: SseDecoder::default(),
            reply: D::Reply::default(),
            ready: VecDeque::new(),
            bytes: 0,
            until: None,
            has_events: false,
            call_bytes: 0,
            usage: Usage::default(),
            is_broken: false,
            failure: None,
        }
    }

    /// The next delta or sign of life, or the end; nothing may be asked after an end. Not cancel safe: dropping it loses bytes, and
    /// the response with them.
    pub(super) async fn next(&mut self) -> Result<ModelEvent, ModelError> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        match self.read().await {
            // What had been read and not told goes with the failure, but for what it cost.
            Err(error) if self.usage != Usage::default() => {
                self.failure = Some(error);
                Ok(ModelEvent::Usage(self.usage))
            }
            Err(error) if self.is_broken => {
                self.failure = Some(error);
                Ok(ModelEvent::Broken)
            }
            read => read,
        }
    }

    async fn read(&mut self) -> Result<ModelEvent, ModelError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            let chunk = match self.until {
                Some(until) => match timeout_at(until, self.response.chunk()).await {
                    Ok(chunk) => chunk,
                    Err(_elapsed) => return self.end(),
                },
                None => self.response.chunk().await,
            };
            match chunk {
                Ok(Some(bytes)) => {
                    self.take(&bytes)?;
                    if self.ready.is_empty() {
                        return Ok(ModelEvent::Alive);
                    }
                }
                Ok(None) => return self.end(),
                // Whole already: only the connection's end was not as it should be.
                Err(_) if self.reply.is_whole() => return self.end(),
                Err(error) => {
                    self.is_broken = true;
                    return Err(failure::broken(&self.endpoint, error));
                }
            }
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), ModelError> {
        self.bytes += bytes.len();
        if MAX_RESPONSE_BYTES < self.bytes {
            return Err(too_long(&format!("is longer than {MAX_RESPONSE_BYTES} bytes")));
        }
        // Out of the way of what takes its events; it is lost after an error, and then nothing more is read.
        let mut decoder = std::mem::take(&mut self.decoder);
        while let Some(event) = decoder.next(&mut bytes).map_err(|error| self.no_events(error))? {
            self.take_event(event)?;
        }
        self.decoder = decoder;
        Ok(())
    }

    fn take_event(&mut self, event: &str) -> Result<(), ModelError> {
        self.has_events = true;
        match self.reply.push(event) {
            Ok(deltas) => self.ready.extend(deltas),
            Err(error) => {
                let message = format!("the response has an event that is not {}'s: {error}", D::NAME);
                return Err(ModelError::Unusable { message });
            }
        }
        let call_bytes = self.reply.call_bytes();
        if self.call_bytes < call_bytes {
            self.ready.push_back(ModelEvent::Unshown(call_bytes - self.call_bytes));
            self.call_bytes = call_bytes;
        }
        let usage = self.reply.usage();
        if usage != self.usage {
            self.usage = usage;
            self.ready.push_back(ModelEvent::Usage(usage));
        }
        // From the last event on: there are models that give a reason with each one.
        self.until = self.reply.is_whole().then(|| Instant::now() + AFTER_FINISH);
        match self.reply.take_error() {
            Some(error) => Err(failure::in_stream(&self.endpoint, &error)),
            None => Ok(()),
        }
    }

    /// The stream has ended, or nobody waits for its end. What the last event says comes first. A reply that was whole before is
    /// not lost by what stands cut behind it.
    fn end(&mut self) -> Result<ModelEvent, ModelError> {
        let mut decoder = std::mem::take(&mut self.decoder);
        let was_whole = self.reply.is_whole();
        let rest = match decoder.finish() {
            Err(_) if was_whole => None,
            rest => rest.map_err(|error| self.no_events(error))?,
        };
        let is_json = |text: &&str| serde_json::from_str::<IgnoredAny>(text).is_ok();
        if let Some(event) = rest.filter(|event| !was_whole || is_json(event)) {
            self.take_event(event)?;
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
        }
        if !self.has_events {
            let content_type = self.response.headers().get(reqwest::header::CONTENT_TYPE);
            let content_type = content_type.and_then(|it| it.to_str().ok()).unwrap_or("of no type");
            let message = format!("the response has no events; it is {}", failure::short(content_type));
            return Err(ModelError::Unusable { message });
        }
        // Its provider was at work, whatever is missing.
        let mut reply = std::mem::take(&mut self.reply).finish().inspect_err(|_| self.is_broken = true)?;
        self.name_tools(&mut reply);
        if let Some(raw) = &mut reply.raw {
            raw.entry = Some(self.endpoint.key_place.entry.as_str().into());
        }
        Ok(ModelEvent::Finished(reply))
    }

    fn name_tools(&self, reply: &mut ModelReply) {
        for part in &mut reply.parts {
            if let ReplyPart::ToolCall { name, .. } = part {
                *name = self.names.meant_by(name.clone());
            }
        }
    }

    fn no_events(&self, error: SseError) -> ModelError {
        match error {
            SseError::TooLong => too_long(&format!("is no use: {error}")),
            SseError::NotUtf8 => {
                ModelError::Unusable { message: format!("the response is cut or broken: {error}") }
            }
        }
    }
}

/// Asking again would bring the same.
fn too_long(what: &str) -> ModelError {
    ModelError::Final { code: RunErrorCode::ModelFailed, message: format!("the model's response {what}") }
}

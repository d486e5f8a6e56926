//! How is what a model says kept, so that a recording can say it again? (spec 04, "`replay` and recording")
//!
//! A model that wraps another. Each reply is one line, in Gemini's own shape whoever gave it, without secrets. A reply is
//! handed on when its line is on the disk: the recording is never behind the log. So after a crash the last
//! reply of a run may be there twice, once as it was and once as it was asked for again; lines say which reply of their
//! run they are, and `replay` takes the later one. A stream that is given up in its middle leaves no line.

use std::sync::Arc;

use futures_util::{
    FutureExt as _, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};

use self::shape::{FailedReply, ReplyDeltas, ReplyPosition};
use super::{
    LanguageModel, MediaSupport, ModelError, ModelEvent, ModelRequest, ProviderTool, RequestPurpose,
    ResolvedModel,
};
use redact::Redactor;

mod file;
mod shape;
#[cfg(test)]
mod tests;

pub use file::{NotRecordable, OpenRecordings, RecordingWriter};

impl RecordingWriter {
    /// The model, recorded. Secrets are taken out before anything is written.
    pub fn of(&self, model: ResolvedModel, redactor: &Redactor) -> ResolvedModel {
        let (recording, redactor) = (self.clone(), redactor.clone());
        let window = model.window.tokens;
        let recorder = RecordingModel { model: Arc::clone(&model.model), window, recording, redactor };
        ResolvedModel { model: Arc::new(recorder), ..model }
    }
}

struct RecordingModel {
    model: Arc<dyn LanguageModel>,
    /// In tokens: a run that compressed itself does so again when it is played.
    window: u64,
    recording: RecordingWriter,
    redactor: Redactor,
}

/// One reply that is being heard.
struct RecordedStream {
    stream: BoxStream<'static, Result<ModelEvent, ModelError>>,
    recording: RecordingWriter,
    redactor: Redactor,
    purpose: RequestPurpose,
    path: Arc<str>,
    ordinal: u32,
    window: u64,
    heard: ReplyDeltas,
}

impl LanguageModel for RecordingModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let hearing = RecordedStream {
            recording: self.recording.clone(),
            redactor: self.redactor.clone(),
            purpose: request.purpose,
            path: Arc::clone(&request.path),
            ordinal: request.ordinal,
            window: self.window,
            heard: ReplyDeltas::default(),
            stream: self.model.stream(request),
        };
        stream::unfold(hearing, RecordedStream::next).boxed()
    }

    /// What came to nothing leaves no line, and then a recording does not count, either.
    fn count(
        &self,
        request: ModelRequest,
        ordinal: u32,
    ) -> Option<BoxFuture<'static, Result<u64, ModelError>>> {
        let (path, recording) = (Arc::clone(&request.path), self.recording.clone());
        let counting = self.model.count(request, ordinal)?;
        let recorded = async move {
            let tokens = counting.await?;
            recording.append(shape::count_line(&path, ordinal, tokens)).await;
            Ok(tokens)
        };
        Some(recorded.boxed())
    }

    fn media(&self) -> MediaSupport {
        self.model.media()
    }

    fn has(&self, tool: ProviderTool) -> bool {
        self.model.has(tool)
    }
}

impl RecordedStream {
    async fn next(mut self) -> Option<(Result<ModelEvent, ModelError>, RecordedStream)> {
        let event = self.stream.next().await?;
        let response = match &event {
            Ok(ModelEvent::TextDelta(text)) => {
                self.heard.text(text);
                None
            }
            Ok(ModelEvent::ThoughtDelta(text)) => {
                self.heard.thought(text);
                None
            }
            Ok(ModelEvent::Alive | ModelEvent::Unshown(_) | ModelEvent::Usage(_) | ModelEvent::Broken) => {
                None
            }
            Ok(ModelEvent::Grounded(grounding)) => {
                self.heard.grounding(grounding);
                None
            }
            Ok(ModelEvent::Finished(reply)) => {
                let heard = std::mem::take(&mut self.heard);
                Some(shape::response(self.purpose, heard, reply, &self.redactor))
            }
            // A recording passes over it, as the run does that asks again.
            Err(ModelError::Unusable { message }) => {
                Some(shape::failure(self.purpose, FailedReply { message }, &self.redactor))
            }
            // The provider said nothing that could be said again.
            Err(ModelError::Passing { .. } | ModelError::TooLong { .. } | ModelError::Final { .. }) => None,
        };
        if let Some(response) = response {
            let RecordedStream { purpose, ordinal, window, .. } = self;
            let place = ReplyPosition { purpose, path: &self.path, ordinal, window };
            self.recording.append(shape::line(&place, &response)).await;
        }
        Some((event, self))
    }
}

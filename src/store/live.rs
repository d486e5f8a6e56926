//! Texts that are being written: one bounded buffer each, in memory. Deltas are no facts; the durable event
//! that ends a text has the whole.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::tail::{FollowTopic, LogTail};
use protocol::{EventSeq, RunId, SessionId, ToolProgress};

/// Bytes of one text; more fails the item, not the daemon (DESIGN, "Deltas").
pub const MAX_LIVE_BYTES: usize = 16 << 20;

/// The texts that are open. Cheap to clone.
#[derive(Clone)]
pub struct LiveTexts {
    texts: Arc<Mutex<HashMap<String, Arc<LiveText>>>>,
    tail: Arc<LogTail>,
}

impl LiveTexts {
    pub(super) fn new(tail: Arc<LogTail>) -> LiveTexts {
        LiveTexts { texts: Arc::default(), tail }
    }

    /// Opens a text; it is closed when the writer is dropped. `stream` is its name: a model's text has the one that
    /// `model.started` gives it, what a call puts out has the call's id. `after_seq` is the event that announced it.
    pub fn open(&self, session: SessionId, run: RunId, stream: String, after_seq: EventSeq) -> LiveWriter {
        let text = Arc::new(LiveText { session, run, stream, after_seq, buffers: Mutex::default() });
        lock(&self.texts).insert(text.stream.clone(), Arc::clone(&text));
        self.tail.wake_texts(&text.session);
        LiveWriter { text, live: self.clone() }
    }

    /// The text of `stream`, while it is open.
    pub fn get(&self, stream: &str) -> Option<Arc<LiveText>> {
        lock(&self.texts).get(stream).cloned()
    }

    /// Watches the texts of some sessions, of none = of all, those that are opened later too.
    pub fn watch(&self, sessions: &[SessionId]) -> TextWatch {
        let topics = match sessions.is_empty() {
            true => vec![FollowTopic::AllTexts],
            false => sessions.iter().cloned().map(FollowTopic::Texts).collect(),
        };
        let grown = self.tail.register(&topics);
        TextWatch { tail: Arc::clone(&self.tail), topics, grown }
    }

    /// How many texts are open.
    pub fn len(&self) -> usize {
        lock(&self.texts).len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Tells when texts of some sessions grow. What they have become is read from the texts: growth while nobody waits is
/// told once.
pub struct TextWatch {
    tail: Arc<LogTail>,
    topics: Vec<FollowTopic>,
    grown: Arc<Notify>,
}

impl TextWatch {
    /// Waits for growth since the last time. May wake without cause. Cancel safe.
    pub async fn grown(&self) {
        self.grown.notified().await;
    }
}

impl Drop for TextWatch {
    fn drop(&mut self) {
        self.tail.unregister(&self.topics, &self.grown);
    }
}

/// One open text and the thoughts beside it.
pub struct LiveText {
    session: SessionId,
    pub run: RunId,
    pub stream: String,
    pub after_seq: EventSeq,
    buffers: Mutex<LiveTextBuffers>,
}

#[derive(Default)]
struct LiveTextBuffers {
    text: String,
    thought: String,
    /// While set, nobody sees what is added; it waits in `held`.
    is_frozen: bool,
    held: HeldText,
    /// How far whoever writes it is, and how often that was said.
    progress: Option<(u64, ToolProgress)>,
}

#[derive(Default)]
struct HeldText {
    text: String,
    thought: String,
}

impl LiveText {
    /// The text from byte `offset` on; empty when there is no more.
    pub fn text_after(&self, offset: usize) -> String {
        lock(&self.buffers).text.get(offset..).unwrap_or_default().to_owned()
    }

    /// How far whoever writes it is, if that was said again since `seen` times.
    pub fn progress_after(&self, seen: u64) -> Option<(u64, ToolProgress)> {
        lock(&self.buffers).progress.clone().filter(|(count, _)| seen < *count)
    }

    fn freeze(&self) -> (String, String) {
        let mut buffers = lock(&self.buffers);
        buffers.is_frozen = true;
        (buffers.text.clone(), buffers.thought.clone())
    }

    fn thaw(&self) {
        let mut buffers = lock(&self.buffers);
        buffers.is_frozen = false;
        let HeldText { text, thought } = std::mem::take(&mut buffers.held);
        buffers.text.push_str(&text);
        buffers.thought.push_str(&thought);
    }

    /// The thoughts from byte `offset` on.
    pub fn thought_after(&self, offset: usize) -> String {
        lock(&self.buffers).thought.get(offset..).unwrap_or_default().to_owned()
    }
}

/// The one who writes a text. Dropping it closes the text.
pub struct LiveWriter {
    text: Arc<LiveText>,
    live: LiveTexts,
}

/// The text is longer than [`MAX_LIVE_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl LiveWriter {
    /// A handle that can append but does not close the text when it is dropped.
    pub fn appender(&self) -> LiveAppender {
        LiveAppender { text: Arc::clone(&self.text), live: self.live.clone() }
    }

    /// The stream this text was opened for.
    pub fn stream(&self) -> &str {
        &self.text.stream
    }

    /// As [`LiveAppender::freeze`].
    pub fn freeze(&self) -> (String, String) {
        self.text.freeze()
    }

    /// Takes a freeze back: what was added meanwhile is shown.
    pub fn thaw(&self) {
        self.text.thaw();
        self.live.tail.wake_texts(&self.text.session);
    }
}

impl Drop for LiveWriter {
    fn drop(&mut self) {
        lock(&self.live.texts).remove(&self.text.stream);
    }
}

/// Adds to an open text.
#[derive(Clone)]
pub struct LiveAppender {
    text: Arc<LiveText>,
    live: LiveTexts,
}

impl LiveAppender {
    pub fn push_text(&self, more: &str) -> Result<(), TooLong> {
        self.push(more, |buffers| if buffers.is_frozen { &mut buffers.held.text } else { &mut buffers.text })
    }

    pub fn push_thought(&self, more: &str) -> Result<(), TooLong> {
        self.push(
            more,
            |buffers| {
                if buffers.is_frozen { &mut buffers.held.thought } else { &mut buffers.thought }
            },
        )
    }

    /// Makes the text at least `whole`, of which all that is there is the beginning: for a text that is made anew from
    /// what it was made of, by somebody who does not know how far another had come.
    pub fn grow_to(&self, whole: &str) -> Result<(), TooLong> {
        if MAX_LIVE_BYTES < whole.len() {
            return Err(TooLong);
        }
        {
            let mut buffers = lock(&self.text.buffers);
            let have = buffers.text.len() + buffers.held.text.len();
            let Some(more) = whole.get(have..).filter(|more| !more.is_empty()) else { return Ok(()) };
            let buffer = if buffers.is_frozen { &mut buffers.held.text } else { &mut buffers.text };
            buffer.push_str(more);
        }
        self.live.tail.wake_texts(&self.text.session);
        Ok(())
    }

    /// Says how far the work is; of several pieces of news the newest counts.
    pub fn tell_progress(&self, progress: ToolProgress) {
        {
            let mut buffers = lock(&self.text.buffers);
            let count = buffers.progress.as_ref().map_or(0, |(count, _)| *count);
            buffers.progress = Some((count + 1, progress));
        }
        self.live.tail.wake_texts(&self.text.session);
    }

    /// No more is shown from now on; answers text and thoughts as they will stay.
    pub fn freeze(&self) -> (String, String) {
        self.text.freeze()
    }

    fn push(&self, more: &str, pick: fn(&mut LiveTextBuffers) -> &mut String) -> Result<(), TooLong> {
        {
            let mut buffers = lock(&self.text.buffers);
            let buffer = pick(&mut buffers);
            if MAX_LIVE_BYTES < buffer.len() + more.len() {
                return Err(TooLong);
            }
            buffer.push_str(more);
        }
        self.live.tail.wake_texts(&self.text.session);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks, so a poisoned one is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

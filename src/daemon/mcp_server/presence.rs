//! Is the client of a session over HTTP still there? It is while an answer to it is open, and for a while after that: such a client
//! has no connection of its own whose end would say it.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::watch;

use sys::clock::Clock;

/// The time for which a client without an open answer still counts as there: what broke is begun anew within seconds,
/// and a client without a stream of its own asks again while its person reads.
pub(super) const AWAY_AFTER: Duration = Duration::from_secs(60);

/// The presence of one client. A cheap handle.
#[derive(Clone)]
pub(super) struct HttpPresence(Arc<OpenHttpAnswers>);

struct OpenHttpAnswers {
    clock: Arc<dyn Clock>,
    /// The number of answers that are open.
    open: watch::Sender<usize>,
    /// When the last one ended, on the monotonic clock.
    ended_at: Mutex<Duration>,
}

impl HttpPresence {
    pub fn new(clock: Arc<dyn Clock>) -> HttpPresence {
        let ended_at = Mutex::new(clock.monotonic());
        HttpPresence(Arc::new(OpenHttpAnswers { clock, open: watch::Sender::new(0), ended_at }))
    }

    /// An answer begins. It is open until this is dropped.
    pub fn begin(&self) -> OpenAnswer {
        self.0.open.send_modify(|open| *open += 1);
        OpenAnswer(self.clone())
    }

    /// For how long no answer has been open.
    pub fn silence(&self) -> Duration {
        match *self.0.open.borrow() {
            0 => self.0.clock.monotonic().saturating_sub(*self.ended_at()),
            _ => Duration::ZERO,
        }
    }

    /// Completes once no answer was open for [`AWAY_AFTER`]; what it gives changes when the next one begins. Cancel safe.
    pub async fn left(&self) -> watch::Receiver<usize> {
        let mut open = self.0.open.subscribe();
        loop {
            // The sender lives as long as this does.
            let _ = open.wait_for(|open| *open == 0).await;
            let rest = AWAY_AFTER.saturating_sub(self.silence());
            if rest.is_zero() {
                return open;
            }
            tokio::select! {
                () = self.0.clock.sleep(rest) => {}
                _ = open.changed() => {}
            }
        }
    }

    fn ended_at(&self) -> MutexGuard<'_, Duration> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.0.ended_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer to the client that is open.
pub(super) struct OpenAnswer(HttpPresence);

impl Drop for OpenAnswer {
    fn drop(&mut self) {
        *self.0.ended_at() = self.0.0.clock.monotonic();
        self.0.0.open.send_modify(|open| *open -= 1);
    }
}

/// A body that is open until it was sent whole or its client is gone.
pub(super) struct OpenBody<B> {
    pub body: BoxBody<Bytes, B>,
    pub _open: OpenAnswer,
}

impl<B> Body for OpenBody<B> {
    type Data = Bytes;
    type Error = B;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The clients of all sessions over HTTP, by the session's id.
#[derive(Default)]
pub(super) struct HttpPresences(Mutex<HashMap<String, HttpPresence>>);

impl HttpPresences {
    pub fn of(&self, session: &str) -> Option<HttpPresence> {
        self.lock().get(session).cloned()
    }

    /// A session has begun; those that are over are forgotten.
    pub fn keep(&self, session: &str, presence: HttpPresence, is_open: impl Fn(&str) -> bool) {
        let mut by_session = self.lock();
        by_session.retain(|session, _| is_open(session));
        by_session.insert(session.to_owned(), presence);
    }

    /// The session whose client has left for the longest time, among those whose client has left.
    pub fn longest_left(&self) -> Option<String> {
        let by_session = self.lock();
        let left = by_session.iter().map(|(session, presence)| (presence.silence(), session));
        left.filter(|(silence, _)| AWAY_AFTER <= *silence).max().map(|(_, session)| session.clone())
    }

    pub fn forget(&self, session: &str) {
        self.lock().remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HttpPresence>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

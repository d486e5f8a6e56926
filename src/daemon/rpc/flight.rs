//! How much may one client have going on at once, and which of it can still be cancelled?

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::message::WireId;
use protocol::{ErrorKind, MAX_EFFECTS_AT_ONCE, MAX_EFFECTS_PER_SECOND, MAX_IN_FLIGHT, RpcError};

/// Bytes of parameters that requests in flight may hold together; the number of requests alone would allow
/// gigabytes.
const MAX_IN_FLIGHT_BYTES: usize = 64 << 20;

/// Never refused for load (spec 01, "Errors"): who wants to stop something must be heard.
const CONTROL_METHODS: [&str; 9] = [
    "run/cancel",
    "confirmation/respond",
    "session/detach",
    "events/unsubscribe",
    "events/ack",
    "daemon/status",
    "daemon/shutdown",
    "initialize",
    "ping",
];

/// What a connection is let in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionAdmission {
    Everything,
    /// There are too many connections; this one may only look and stop things.
    ControlOnly,
}

/// The requests of one connection that are not answered yet.
#[derive(Clone)]
pub(super) struct ConnectionRequests(Arc<Mutex<ConnectionRequestsState>>);

struct ConnectionRequestsState {
    admission: ConnectionAdmission,
    /// Requests with effects that may begin at once; it fills up with time.
    effects: f64,
    /// When `effects` was reckoned last.
    reckoned: Instant,
    requests: usize,
    bytes: usize,
    /// What a dropped request is told.
    abort_reason: ErrorKind,
    /// Whatever can be cancelled, by its number.
    abortable: HashMap<u64, RequestCancellation>,
    /// Which of them a client means by an id; one that it uses twice names the newer request.
    by_id: HashMap<WireId, u64>,
    /// Numbers the entries, so that an ended request does not remove its namesake.
    numbered: u64,
}

/// How a request is cancelled.
pub(super) enum RequestCancellation {
    /// It only reads, so it is dropped where it stands.
    Dropped(AbortHandle),
    /// It has effects: it is told, and ends if it has none yet and listens ([`super::Api::heeding`]).
    Told(CancellationToken),
}

impl RequestCancellation {
    fn begin(&self) {
        match self {
            RequestCancellation::Dropped(handle) => handle.abort(),
            RequestCancellation::Told(token) => token.cancel(),
        }
    }
}

/// One request's place; given back when dropped.
pub(super) struct RequestSlot {
    flight: ConnectionRequests,
    bytes: usize,
    abortable: Option<(WireId, u64)>,
}

impl ConnectionRequests {
    pub(super) fn new(admission: ConnectionAdmission) -> ConnectionRequests {
        ConnectionRequests(Arc::new(Mutex::new(ConnectionRequestsState {
            admission,
            effects: f64::from(MAX_EFFECTS_AT_ONCE),
            reckoned: Instant::now(),
            requests: 0,
            bytes: 0,
            abort_reason: ErrorKind::RequestCancelled,
            abortable: HashMap::new(),
            by_id: HashMap::new(),
            numbered: 0,
        })))
    }

    /// Takes a place for a request, unless there are too many, or too many with effects in too short a time.
    pub(super) fn admit(
        &self,
        method: &str,
        has_effects: bool,
        bytes: usize,
    ) -> Result<RequestSlot, RpcError> {
        let mut state = self.state();
        if !CONTROL_METHODS.contains(&method) {
            if state.admission == ConnectionAdmission::ControlOnly {
                let error = RpcError::new(ErrorKind::Overloaded, "too many connections are open");
                return Err(
                    error.with_hint("status, cancel and shutdown are answered; for more, close others")
                );
            }
            if state.requests >= MAX_IN_FLIGHT || state.bytes + bytes > MAX_IN_FLIGHT_BYTES {
                let words = "too many requests of this connection are open";
                let error = RpcError::new(ErrorKind::Overloaded, words);
                return Err(error.with_hint("wait for answers before asking more"));
            }
            if has_effects {
                state.take_effect()?;
            }
        }
        state.requests += 1;
        state.bytes += bytes;
        Ok(RequestSlot { flight: self.clone(), bytes, abortable: None })
    }

    /// Cancels a request, if it is still open and has no effect yet.
    pub(super) fn abort(&self, id: &WireId) {
        let state = self.state();
        if let Some(ending) = state.by_id.get(id).and_then(|number| state.abortable.get(number)) {
            ending.begin();
        }
    }

    /// Cancels all that can be.
    pub(super) fn abort_all(&self, reason: ErrorKind) {
        let mut state = self.state();
        state.abort_reason = reason;
        state.abortable.values().for_each(RequestCancellation::begin);
    }

    /// What to tell a request that was aborted.
    pub(super) fn abort_error(&self) -> RpcError {
        let reason = self.state().abort_reason;
        let message = match reason {
            ErrorKind::ShuttingDown => "the daemon is stopping",
            _ => "the request was cancelled; a run that it had begun goes on",
        };
        RpcError::new(reason, message)
    }

    fn state(&self) -> MutexGuard<'_, ConnectionRequestsState> {
        // Nothing in here panics half-way, so a poisoned lock guards whole data.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionRequestsState {
    /// Counts one request with effects, or says when there is room for one again.
    fn take_effect(&mut self) -> Result<(), RpcError> {
        let now = Instant::now();
        let per_second = f64::from(MAX_EFFECTS_PER_SECOND);
        let gained = now.duration_since(self.reckoned).as_secs_f64() * per_second;
        self.effects = (self.effects + gained).min(f64::from(MAX_EFFECTS_AT_ONCE));
        self.reckoned = now;
        if self.effects < 1.0 {
            // Below a second, since less than one is missing.
            let wait = ((1.0 - self.effects) / per_second * 1_000.0).ceil() as u64;
            let words = format!("more than {MAX_EFFECTS_PER_SECOND} requests a second that change something");
            return Err(RpcError::new(ErrorKind::RateLimited, words).with_retry_after(wait));
        }
        self.effects -= 1.0;
        Ok(())
    }
}

impl RequestSlot {
    /// Lets the request be cancelled by its id.
    pub(super) fn abort_by(&mut self, id: WireId, ending: RequestCancellation) {
        let mut state = self.flight.state();
        state.numbered += 1;
        let number = state.numbered;
        state.abortable.insert(number, ending);
        state.by_id.insert(id.clone(), number);
        drop(state);
        self.abortable = Some((id, number));
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        let mut state = self.flight.state();
        state.requests -= 1;
        state.bytes -= self.bytes;
        if let Some((id, number)) = &self.abortable {
            state.abortable.remove(number);
            if state.by_id.get(id) == Some(number) {
                state.by_id.remove(id);
            }
        }
    }
}

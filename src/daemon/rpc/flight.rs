//! How much may one client have going on at once, and which of it can still be cancelled?

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::AbortHandle;

use super::message::WireId;
use crate::protocol::{ErrorKind, MAX_IN_FLIGHT, RpcError};

/// Bytes of parameters that requests in flight may hold together; the number of requests alone would allow
/// gigabytes.
const MAX_IN_FLIGHT_BYTES: usize = 64 << 20;

/// Never refused for load (spec 01, "Errors"): who wants to stop something must be heard.
const CONTROL_METHODS: [&str; 5] =
    ["run/cancel", "session/detach", "daemon/status", "daemon/shutdown", "ping"];

/// The requests of one connection that are not answered yet.
#[derive(Clone)]
pub(super) struct Flight(Arc<Mutex<State>>);

struct State {
    requests: usize,
    bytes: usize,
    /// What a dropped request is told.
    abort_reason: ErrorKind,
    /// By id; an id that a client uses twice names the newer request.
    abortable: HashMap<WireId, (u64, AbortHandle)>,
    /// Numbers the entries, so that an ended request does not remove its namesake.
    numbered: u64,
}

/// One request's place; given back when dropped.
pub(super) struct Slot {
    flight: Flight,
    bytes: usize,
    abortable: Option<(WireId, u64)>,
}

impl Flight {
    pub(super) fn new() -> Flight {
        Flight(Arc::new(Mutex::new(State {
            requests: 0,
            bytes: 0,
            abort_reason: ErrorKind::RequestCancelled,
            abortable: HashMap::new(),
            numbered: 0,
        })))
    }

    /// Takes a place for a request, unless there are too many.
    pub(super) fn admit(&self, method: &str, bytes: usize) -> Result<Slot, RpcError> {
        let mut state = self.state();
        let is_full = state.requests >= MAX_IN_FLIGHT || state.bytes + bytes > MAX_IN_FLIGHT_BYTES;
        if is_full && !CONTROL_METHODS.contains(&method) {
            return Err(RpcError::new(
                ErrorKind::Overloaded,
                "too many requests of this connection are open",
            )
            .with_hint("wait for answers before asking more"));
        }
        state.requests += 1;
        state.bytes += bytes;
        Ok(Slot { flight: self.clone(), bytes, abortable: None })
    }

    /// Cancels a request, if it is still open and has no effect yet.
    pub(super) fn abort(&self, id: &WireId) {
        if let Some((_, handle)) = self.state().abortable.get(id) {
            handle.abort();
        }
    }

    /// Cancels all that can be.
    pub(super) fn abort_all(&self, reason: ErrorKind) {
        let mut state = self.state();
        state.abort_reason = reason;
        state.abortable.values().for_each(|(_, handle)| handle.abort());
    }

    /// What to tell a request that was aborted.
    pub(super) fn abort_error(&self) -> RpcError {
        let reason = self.state().abort_reason;
        let message = match reason {
            ErrorKind::ShuttingDown => "the daemon is stopping",
            _ => "the request was cancelled; it had no effect",
        };
        RpcError::new(reason, message)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way, so a poisoned lock guards whole data.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Lets the request be cancelled by its id.
    pub(super) fn abort_by(&mut self, id: WireId, handle: AbortHandle) {
        let mut state = self.flight.state();
        state.numbered += 1;
        let number = state.numbered;
        state.abortable.insert(id.clone(), (number, handle));
        drop(state);
        self.abortable = Some((id, number));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.flight.state();
        state.requests -= 1;
        state.bytes -= self.bytes;
        if let Some((id, number)) = &self.abortable
            && state.abortable.get(id).is_some_and(|(newest, _)| newest == number)
        {
            state.abortable.remove(id);
        }
    }
}

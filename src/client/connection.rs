//! One connection: requests and their answers, then, if wanted, one subscription.

use std::{io, os::unix::net::UnixStream, path::Path, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};

use super::{
    CallError, ConnectError, ErrorReply, MonotonicStopwatch, place,
    wire::{IncomingMessage, NextLine, RawNotification, SocketLines},
};
use protocol::{MAX_MESSAGE_BYTES, RpcMethod, SubscriptionId};

/// How long an answer may take. The longest wait a method offers is 600 s (`run/wait`); the rest is slack.
pub const CALL_PATIENCE: Duration = Duration::from_secs(630);

/// A connection that asks. Subscribing consumes it: a connection either answers calls or brings events, so a
/// subscriber that reads slowly slows its own socket only, and no answer waits behind unread events.
pub struct RpcClient {
    lines: SocketLines,
    /// Ids of our requests; integers, counted up.
    next_id: i64,
    patience: Duration,
}

impl RpcClient {
    /// Connects to the daemon that listens on `socket`; never starts one.
    pub fn connect(socket: &Path) -> Result<RpcClient, ConnectError> {
        place::check_trustworthy(socket)?;
        let lines =
            UnixStream::connect(socket).and_then(SocketLines::new).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    ConnectError::NobodyListens { socket: socket.to_owned() }
                }
                io::ErrorKind::PermissionDenied => {
                    let why = "we may not connect to it".to_owned();
                    ConnectError::NotOurs { socket: socket.to_owned(), why }
                }
                _ => ConnectError::Unusable { socket: socket.to_owned(), error },
            })?;
        Ok(RpcClient { lines, next_id: 1, patience: CALL_PATIENCE })
    }

    /// The socket itself, for whoever speaks on it in their own way. Nothing may have been asked yet.
    pub fn into_stream(self) -> UnixStream {
        self.lines.into_stream()
    }

    /// Waits at most this long for each answer instead of [`CALL_PATIENCE`].
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> RpcClient {
        self.patience = patience;
        self
    }

    /// Calls a method and waits for its answer. For results without enums: one with a value that only a newer daemon
    /// knows cannot be read so.
    pub fn call<M: RpcMethod>(&mut self, params: &M::Params) -> Result<M::Result, CallError> {
        self.call_as::<M, M::Result>(params)
    }

    /// The same with the caller's own view of the answer, in which enums are [`Open`](protocol::OpenEnum) and
    /// fields may be missing.
    pub fn call_as<M: RpcMethod, A: DeserializeOwned>(&mut self, params: &M::Params) -> Result<A, CallError> {
        // From here on it is the same for all methods.
        let params = to_raw_value(params).map_err(|error| unreadable(M::NAME, error))?;
        let answer = self.call_raw(M::NAME, &&*params)?;
        serde_json::from_str(answer.get()).map_err(|error| unreadable(M::NAME, error))
    }

    /// The same for a method that this client need not know; the answer comes as it was sent.
    pub fn call_raw(&mut self, method: &str, params: &impl Serialize) -> Result<Box<RawValue>, CallError> {
        let (id, is_sent) = self.send(method, params)?;
        let patience = if is_sent { self.patience } else { Duration::from_millis(1) };
        self.wait_for_answer(id, method, patience)
    }

    /// The same with a patience of this call's own. Once `silence` has passed without an answer, `wonders` is called: whoever
    /// waits should learn why.
    pub fn call_slowly(
        &mut self,
        method: &str,
        params: &impl Serialize,
        (patience, silence): (Duration, Duration),
        wonders: &mut dyn FnMut(),
    ) -> Result<Box<RawValue>, CallError> {
        let (id, is_sent) = self.send(method, params)?;
        if !is_sent {
            return self.wait_for_answer(id, method, Duration::from_millis(1));
        }
        let late = match self.wait_for_answer(id, method, silence.min(patience)) {
            Err(late @ CallError::NoAnswer { .. }) => late,
            settled => return settled,
        };
        let Some(left) = patience.checked_sub(silence).filter(|left| !left.is_zero()) else {
            return Err(late);
        };
        wonders();
        match self.wait_for_answer(id, method, left) {
            Err(CallError::NoAnswer { method, .. }) => Err(CallError::NoAnswer { method, waited: patience }),
            settled => settled,
        }
    }

    /// Calls a method whose answer takes as long as a person takes; the answer is looked for in between other things.
    pub fn begin(mut self, method: &'static str, params: &impl Serialize) -> Result<PendingCall, CallError> {
        let (id, _) = self.send(method, params)?;
        Ok(PendingCall { client: self, id, method })
    }

    /// The request's id, and whether it could be sent: a refused connection gets one error before it is closed, so
    /// reading comes even after a failed write.
    fn send(&mut self, method: &str, params: &impl Serialize) -> Result<(i64, bool), CallError> {
        let id = self.next_id;
        self.next_id += 1;
        let request = DaemonRequest { jsonrpc: "2.0", id, method, params };
        let line = serde_json::to_vec(&request).map_err(|error| unreadable(method, error))?;
        if line.len() > MAX_MESSAGE_BYTES {
            return Err(CallError::TooLarge { bytes: line.len(), limit: MAX_MESSAGE_BYTES });
        }
        Ok((id, self.lines.send(line).is_ok()))
    }

    fn wait_for_answer(
        &mut self,
        id: i64,
        method: &str,
        patience: Duration,
    ) -> Result<Box<RawValue>, CallError> {
        let stopwatch = MonotonicStopwatch::start();
        while let Some(left) = stopwatch.left_of(patience) {
            let line = match self.lines.receive(left) {
                NextLine::Line(line) => line,
                NextLine::Quiet => continue,
                NextLine::Closed => return Err(CallError::Closed),
                NextLine::TooLong => return Err(unreadable(method, "it is longer than any answer may be")),
            };
            let incoming = IncomingMessage::parse(&line).map_err(|error| unreadable(method, error))?;
            let answers_us = incoming.id.as_ref().is_some_and(|theirs| theirs.as_i64() == Some(id));
            match incoming {
                // Without an id: about the connection as a whole, e.g. that this peer may not talk.
                IncomingMessage { error: Some(error), id, .. }
                    if answers_us || id.as_ref().is_none_or(|id| id.is_null()) =>
                {
                    return Err(CallError::Refused(Box::new(ErrorReply::read(error))));
                }
                IncomingMessage { result: Some(result), .. } if answers_us => return Ok(result.to_owned()),
                IncomingMessage { .. } if answers_us => return Ok(RawValue::NULL.to_owned()),
                // Signals about the connection, and answers to requests we no longer wait for.
                _ => {}
            }
        }
        Err(CallError::NoAnswer { method: method.to_owned(), waited: patience })
    }

    /// Calls a subscribing method; the connection then brings its events.
    pub fn subscribe<M>(self, params: &M::Params) -> Result<Subscription, CallError>
    where
        M: RpcMethod<Result = SubscriptionId>,
    {
        self.subscribe_raw(M::NAME, params)
    }

    /// The same for a method that this client need not know.
    pub fn subscribe_raw(mut self, method: &str, params: &impl Serialize) -> Result<Subscription, CallError> {
        self.call_raw(method, params)?;
        Ok(Subscription { lines: self.lines })
    }
}

/// A request that was sent, and whose answer may come late.
pub struct PendingCall {
    client: RpcClient,
    id: i64,
    method: &'static str,
}

impl PendingCall {
    /// The answer, if it comes within `wait`; a signal does not end the wait.
    pub fn poll(&mut self, wait: Duration) -> Option<Result<Box<RawValue>, CallError>> {
        match self.client.wait_for_answer(self.id, self.method, wait) {
            Err(CallError::NoAnswer { .. }) => None,
            settled => Some(settled),
        }
    }
}

#[derive(Serialize)]
struct DaemonRequest<'a, P> {
    jsonrpc: &'a str,
    id: i64,
    method: &'a str,
    params: &'a P,
}

fn unreadable(method: &str, error: impl ToString) -> CallError {
    CallError::Unreadable { method: method.to_owned(), error: error.to_string() }
}

/// A connection that brings the events of one subscription. Dropping it ends the subscription.
pub struct Subscription {
    lines: SocketLines,
}

/// What waiting for an event came to.
#[derive(Debug)]
pub enum NextEvent {
    /// One envelope, as it was sent.
    Event(Box<RawValue>),
    /// Nothing within the time, or a signal woke us.
    Quiet,
    /// The daemon is gone, or sends what no client can read.
    Closed,
}

impl Subscription {
    /// Waits at most `wait` for the next event. Returns early, with `Quiet`, when a signal comes.
    pub fn next(&mut self, wait: Duration) -> NextEvent {
        let stopwatch = MonotonicStopwatch::start();
        while let Some(left) = stopwatch.left_of(wait) {
            let line = match self.lines.receive(left) {
                NextLine::Line(line) => line,
                NextLine::Quiet => return NextEvent::Quiet,
                NextLine::Closed | NextLine::TooLong => return NextEvent::Closed,
            };
            let Ok(incoming) = IncomingMessage::parse(&line) else { return NextEvent::Closed };
            let is_event = incoming.method.as_deref() == Some("event");
            let Some(params) = incoming.params.filter(|_| is_event) else { continue };
            // One without a subscription is about the connection, not about what is followed.
            match serde_json::from_str::<RawNotification<'_>>(params.get()) {
                Ok(notification) if notification.subscription.is_some() => {
                    return NextEvent::Event(notification.result.to_owned());
                }
                Ok(_) => {}
                Err(_) => return NextEvent::Closed,
            }
        }
        NextEvent::Quiet
    }
}

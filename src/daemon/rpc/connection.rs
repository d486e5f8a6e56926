//! How does one conversation go, from the first byte to the last?
//!
//! A connection is one task: it reads, lets handlers run side by side, and writes, all as parts of one future.
//! Dropping that future ends everything that belongs to the connection. Reading never waits for a handler or for
//! the writer, so a request to stop something is always heard.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::{
    FutureExt as _, StreamExt as _,
    future::{AbortHandle, Abortable, BoxFuture, join_all},
    stream::FuturesUnordered,
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    api::MethodTable,
    call::{Answer, Desk, LARGE_AT_ONCE},
    caller::{Caller, PeerInfo},
    errors::internal_error,
    flight::{Flight, Slot},
    lines::{LineReader, Opening, Read},
    message::{self, Line, Message, Request, WireId},
    outgoing::{self, Outgoing},
    wire::Wire,
};
use crate::protocol::{ErrorKind, MAX_IN_FLIGHT, MAX_MESSAGE_BYTES, MAX_SUBSCRIPTIONS, RpcError};

/// Messages whose answers are not out yet, refusals included. Only a client that does not read gets here; then
/// we do not read either.
const MAX_UNANSWERED: usize = 2 * MAX_IN_FLIGHT;
/// How long calls with effects go on when the daemon stops or the client is gone.
const DRAIN: Duration = Duration::from_secs(5);
/// How long calls that only read go on when the daemon stops. What takes longer waits for something that may not
/// happen, e.g. `run/wait`, and must not hold up the end.
const READ_DRAIN: Duration = Duration::from_millis(500);
/// How long the last bytes may take.
const FLUSH: Duration = Duration::from_secs(2);

/// Speaks with one client until it hangs up, is cut off, or `stop` is cancelled; then open calls are finished,
/// as far as they have effects or somebody still listens, for at most a few seconds.
pub async fn serve_connection<W: Wire>(
    wire: W,
    peer: PeerInfo,
    table: Arc<MethodTable>,
    stop: CancellationToken,
) {
    let (reader, writer) = wire.split();
    let (outgoing, queue) = outgoing::queue();
    let mut writing = Box::pin(queue.write_to(writer));
    let mut connection = Connection::<W>::new(reader, peer, table, outgoing);
    let end = tokio::select! {
        end = connection.converse(&stop) => end,
        // The client was cut off, or its socket broke.
        _ = &mut writing => End::Lost,
    };
    match end {
        End::Lost => {
            // Nothing can be delivered any more, and nobody may wait for room in the queue.
            drop(writing);
            connection.finish_effects().await;
        }
        End::Done => {
            // With the last sender gone the writer ends when all is written.
            drop(connection);
            // A failure means that the client left before the last byte: nobody is left to tell.
            let _ = timeout(FLUSH, writing).await;
        }
    }
}

enum End {
    /// All that was to be said is said.
    Done,
    /// The client receives nothing more.
    Lost,
}

/// What a finished message leaves: subscriptions that begin.
type Begun = Vec<BoxFuture<'static, ()>>;

struct Connection<W: Wire> {
    lines: LineReader<W::Reader>,
    desk: Arc<Desk>,
    flight: Flight,
    messages: FuturesUnordered<BoxFuture<'static, Begun>>,
    subscriptions: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl<W: Wire> Connection<W> {
    fn new(reader: W::Reader, peer: PeerInfo, table: Arc<MethodTable>, outgoing: Outgoing) -> Connection<W> {
        let caller = Caller::new(peer, Arc::clone(&table.load));
        let subscriptions = Arc::new(Semaphore::new(MAX_SUBSCRIPTIONS));
        Connection {
            lines: LineReader::new(reader),
            desk: Arc::new(Desk {
                table,
                caller,
                outgoing,
                subscriptions,
                turns: Arc::new(Semaphore::new(LARGE_AT_ONCE)),
            }),
            flight: Flight::new(),
            messages: FuturesUnordered::new(),
            subscriptions: FuturesUnordered::new(),
        }
    }

    async fn converse(&mut self, stop: &CancellationToken) -> End {
        let opening = tokio::select! { biased;
            () = stop.cancelled() => return End::Done,
            opening = self.lines.opening() => opening,
        };
        match opening {
            Ok(Opening::Lines) => {}
            Ok(Opening::Nothing) => return End::Done,
            Ok(Opening::Headers) => {
                return self.refuse("this framing is not spoken here; send one JSON value a line").await;
            }
            Ok(Opening::Garbage) => return self.refuse("no JSON: send one JSON value a line").await,
            Err(_) => return End::Lost,
        }
        loop {
            let has_room = self.messages.len() < MAX_UNANSWERED;
            let read = tokio::select! { biased;
                () = stop.cancelled() => return self.stop().await,
                Some(begun) = self.messages.next(), if !self.messages.is_empty() => {
                    self.subscriptions.extend(begun);
                    continue;
                }
                Some(()) = self.subscriptions.next(), if !self.subscriptions.is_empty() => continue,
                read = self.lines.next(), if has_room => read,
            };
            match read {
                Ok(Read::Line(line)) => self.begin(message::parse(&line)),
                Ok(Read::TooLong) => self.begin(Line::One(too_long())),
                Ok(Read::End) => return self.say_the_rest(stop).await,
                Err(_) => return End::Lost,
            }
        }
    }

    /// One error for a client that speaks something else; the connection ends.
    async fn refuse(&mut self, words: &str) -> End {
        let error = RpcError::new(ErrorKind::ParseError, words);
        self.begin(Line::One(Message::Invalid { id: WireId::Null, error }));
        while self.messages.next().await.is_some() {}
        End::Done
    }

    /// The client has sent its last byte. It gets its answers, and its subscriptions go on while it listens.
    async fn say_the_rest(&mut self, stop: &CancellationToken) -> End {
        loop {
            let has_subscriptions = W::OUTLIVES_LAST_BYTE && !self.subscriptions.is_empty();
            if self.messages.is_empty() && !has_subscriptions {
                return End::Done;
            }
            tokio::select! { biased;
                () = stop.cancelled() => return self.stop().await,
                Some(begun) = self.messages.next(), if !self.messages.is_empty() => {
                    self.subscriptions.extend(begun);
                }
                Some(()) = self.subscriptions.next(), if !self.subscriptions.is_empty() => {}
                () = W::gone(self.lines.get_ref()) => return End::Lost,
            }
        }
    }

    /// The daemon stops: calls are finished, those that only wait are told so. A subscription ends here; its
    /// client goes on by cursor when the daemon is back.
    async fn stop(&mut self) -> End {
        if timeout(READ_DRAIN, self.finish_messages()).await.is_err() {
            self.flight.abort_all(ErrorKind::ShuttingDown);
            // Over the time: a handler that does not end holds up nothing any more.
            let _ = timeout(DRAIN, self.finish_messages()).await;
        }
        End::Done
    }

    async fn finish_messages(&mut self) {
        while !self.messages.is_empty() {
            // Subscriptions are driven on, since they may hold the queue's room.
            tokio::select! { biased;
                Some(begun) = self.messages.next() => self.subscriptions.extend(begun),
                Some(()) = self.subscriptions.next(), if !self.subscriptions.is_empty() => {}
            }
        }
    }

    /// Nobody listens: what only reads is dropped, what has effects gets time to complete them.
    async fn finish_effects(mut self) {
        self.subscriptions.clear();
        self.flight.abort_all(ErrorKind::RequestCancelled);
        let mut messages = pin!(self.messages);
        // Over the time: the effects are somebody's who does not end, e.g. a full disk's.
        let _ = timeout(DRAIN, async { while messages.next().await.is_some() {} }).await;
    }

    /// Puts a line's requests to work.
    fn begin(&mut self, line: Line) {
        let desk = Arc::clone(&self.desk);
        let work = match line {
            Line::One(message) => {
                let (answer, slot) = self.admit(message, false);
                async move {
                    let mut answer = answer.await;
                    deliver(&desk.outgoing, answer.response.take(), std::slice::from_mut(&mut answer)).await;
                    drop(slot);
                    answer.subscription.into_iter().collect()
                }
                .boxed()
            }
            Line::Batch(messages) => {
                let admitted = messages.into_iter().map(|message| self.admit(message, true));
                let (answers, slots): (Vec<_>, Vec<_>) = admitted.unzip();
                async move {
                    let mut answers = join_all(answers).await;
                    let responses: Vec<_> =
                        answers.iter_mut().filter_map(|answer| answer.response.take()).collect();
                    deliver(&desk.outgoing, together(&responses), &mut answers).await;
                    drop(slots);
                    Begun::new()
                }
                .boxed()
            }
        };
        self.messages.push(work);
    }

    /// The answer to come, and the place the request takes until that answer is out.
    fn admit(&self, message: Message, in_batch: bool) -> (BoxFuture<'static, Answer>, Option<Slot>) {
        let at_once = |answer: Answer| (std::future::ready(answer).boxed(), None);
        let request = match message {
            Message::Request(request) => request,
            Message::Response => return at_once(Answer::default()),
            Message::Invalid { id, error } => return at_once(Answer::error(Some(&id), &error)),
        };
        if let Some(target) = cancelled_request(&request) {
            self.flight.abort(&target);
            return at_once(Answer::null(request.id.as_ref()));
        }
        let bytes = request.params.as_ref().map_or(0, |params| params.get().len());
        let mut slot = match self.flight.admit(&request.method, bytes) {
            Ok(slot) => slot,
            Err(error) => return at_once(Answer::error(request.id.as_ref(), &error)),
        };
        let desk = Arc::clone(&self.desk);
        if !desk.table.cancellable.contains(request.method.as_str()) {
            return (async move { desk.answer(request, in_batch).await }.boxed(), Some(slot));
        }
        let id = request.id.clone();
        let (handle, registration) = AbortHandle::new_pair();
        slot.abort_by(id.clone().unwrap_or(WireId::Null), handle);
        let answer = Abortable::new(async move { desk.answer(request, in_batch).await }, registration);
        let flight = self.flight.clone();
        let answer =
            async move { answer.await.unwrap_or_else(|_| Answer::error(id.as_ref(), &flight.abort_error())) };
        (answer.boxed(), Some(slot))
    }
}

/// The response first, then what it gave reason to report.
async fn deliver(outgoing: &Outgoing, response: Option<Box<RawValue>>, answers: &mut [Answer]) {
    if let Some(response) = response
        && outgoing.send(response).await.is_err()
    {
        return;
    }
    for answer in answers {
        answer.report_unknown_fields(outgoing).await;
    }
}

/// A batch's responses as one message; nothing when it held notifications only.
fn together(responses: &[Box<RawValue>]) -> Option<Box<RawValue>> {
    if responses.is_empty() {
        return None;
    }
    match to_raw_value(responses) {
        Ok(response) => Some(response),
        Err(error) => Answer::error(Some(&WireId::Null), &internal_error(&error)).response,
    }
}

fn too_long() -> Message {
    let error = format!("a message has at most {MAX_MESSAGE_BYTES} bytes; this one was skipped");
    Message::Invalid { id: WireId::Null, error: RpcError::new(ErrorKind::PayloadTooLarge, error) }
}

/// The request that this message wants cancelled. Both spellings are in use among editors.
fn cancelled_request(request: &Request) -> Option<WireId> {
    #[derive(Deserialize)]
    struct Target {
        id: WireId,
    }
    if !matches!(request.method.as_str(), "$/cancelRequest" | "$/cancel_request") {
        return None;
    }
    let target =
        request.params.as_deref().and_then(|params| serde_json::from_str::<Target>(params.get()).ok());
    // A cancellation of nothing readable cancels nothing.
    Some(target.map_or(WireId::Null, |target| target.id))
}

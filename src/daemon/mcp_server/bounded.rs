//! How much may a client ask at once over lines? So much; one that asks more without taking answers is let go.
//!
//! The SDK reads without end and makes a task of each request. To stop reading instead would keep back the answers to what runs
//! ask, which come the same way.

use std::{
    collections::HashSet,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rmcp::{
    RoleServer,
    model::{ClientNotification, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio_util::sync::CancellationToken;

/// Requests of one session that are not answered: far more than clients have open, and each holds little.
pub(super) const MOST_REQUESTS: usize = 512;

/// Requests that are being worked on, also those that the client took back. A cheap handle.
#[derive(Clone, Default)]
pub(super) struct OngoingRequests(Arc<AtomicUsize>);

/// One of them, until it is dropped.
pub(super) struct OngoingRequest(OngoingRequests);

impl OngoingRequests {
    pub fn begin(&self) -> OngoingRequest {
        self.0.fetch_add(1, Ordering::Relaxed);
        OngoingRequest(self.clone())
    }
}

impl Drop for OngoingRequest {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lines that end when the client asks too much at once.
pub(super) struct BoundedTransport<T> {
    lines: T,
    /// Requests whose answer is not written.
    open: Arc<Mutex<HashSet<RequestId>>>,
    working: OngoingRequests,
    /// Nothing is written any more. Without it what a client does not take would keep its session.
    over: CancellationToken,
}

impl<T> BoundedTransport<T> {
    pub fn new(lines: T, working: OngoingRequests) -> BoundedTransport<T> {
        BoundedTransport { lines, open: Arc::default(), working, over: CancellationToken::new() }
    }

    /// True if there is room for what the client says now.
    fn admits(&self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                let mut open = lock(&self.open);
                open.insert(request.id.clone());
                open.len() <= MOST_REQUESTS && self.working.0.load(Ordering::Relaxed) < MOST_REQUESTS
            }
            JsonRpcMessage::Notification(told) => {
                // Nobody answers what was taken back.
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    lock(&self.open).remove(id);
                }
                true
            }
            _ => true,
        }
    }
}

impl<T: Transport<RoleServer, Error = io::Error>> Transport<RoleServer> for BoundedTransport<T> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (open, over) = (Arc::clone(&self.open), self.over.clone());
        let sending = self.lines.send(item);
        async move {
            let sent = over.run_until_cancelled(sending).await;
            if let Some(id) = answered {
                lock(&open).remove(&id);
            }
            // That the session is over is told once, not of each answer.
            sent.unwrap_or(Ok(()))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.over.is_cancelled() {
            return None;
        }
        let message = self.lines.receive().await?;
        if self.admits(&message) {
            return Some(message);
        }
        tracing::warn!(most = MOST_REQUESTS, "a client of MCP asks too much at once: its session ends");
        self.over.cancel();
        None
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.over.cancel();
        self.lines.close().await
    }
}

fn lock(open: &Mutex<HashSet<RequestId>>) -> MutexGuard<'_, HashSet<RequestId>> {
    // Nothing panics while it holds the lock, so a poisoned one is whole.
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use rmcp::{ErrorData, transport::async_rw::AsyncRwTransport};
    use tokio::io::{AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};

    use super::*;

    type Lines =
        BoundedTransport<AsyncRwTransport<RoleServer, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>>;

    /// The session's side, and the client's.
    fn connected(working: OngoingRequests) -> (Lines, DuplexStream) {
        let (here, there) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(here);
        (BoundedTransport::new(AsyncRwTransport::new_server(reader, writer), working), there)
    }

    async fn ask(client: &mut DuplexStream, ids: impl IntoIterator<Item = usize>) {
        for id in ids {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
            client.write_all(line.as_bytes()).await.unwrap();
        }
    }

    async fn take_back(client: &mut DuplexStream, id: usize) {
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n"
        );
        client.write_all(line.as_bytes()).await.unwrap();
    }

    #[tokio::test]
    async fn who_asks_too_much_at_once_is_let_go() {
        let (mut lines, mut client) = connected(OngoingRequests::default());
        ask(&mut client, 0..=MOST_REQUESTS).await;
        for _ in 0..MOST_REQUESTS {
            assert!(lines.receive().await.is_some());
        }
        assert!(lines.receive().await.is_none());
        // And stays it, whatever is still to be read.
        ask(&mut client, 0..1).await;
        assert!(lines.receive().await.is_none());
    }

    #[tokio::test]
    async fn what_is_answered_or_taken_back_makes_room() {
        let (mut lines, mut client) = connected(OngoingRequests::default());
        ask(&mut client, 0..MOST_REQUESTS).await;
        for _ in 0..MOST_REQUESTS {
            assert!(lines.receive().await.is_some());
        }
        let answer = JsonRpcMessage::error(ErrorData::internal_error("no", None), Some(RequestId::Number(0)));
        lines.send(answer).await.unwrap();
        take_back(&mut client, 1).await;
        ask(&mut client, MOST_REQUESTS..MOST_REQUESTS + 3).await;
        for _ in 0..3 {
            assert!(lines.receive().await.is_some());
        }
        assert!(lines.receive().await.is_none());
    }

    #[tokio::test]
    async fn what_is_taken_back_counts_for_as_long_as_somebody_works_on_it() {
        let working = OngoingRequests::default();
        let (mut lines, mut client) = connected(working.clone());
        let mut works: Vec<OngoingRequest> = (0..MOST_REQUESTS).map(|_| working.begin()).collect();
        works.pop();
        ask(&mut client, 0..1).await;
        assert!(lines.receive().await.is_some());
        works.push(working.begin());
        ask(&mut client, 1..2).await;
        assert!(lines.receive().await.is_none());
    }
}

//! How does a session ask the daemon? By the daemon's own protocol, over a pipe within the process, as a client from outside would.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf},
    sync::{mpsc, oneshot},
};
use tokio_util::sync::CancellationToken;

use super::McpServerContext;
use crate::rpc::{PeerCredentials, internal_error, serve_connection};
use protocol::{Envelope, ErrorKind, RpcError, RpcMethod, SubscriptionId};

/// Bytes in flight in each direction before the writer waits.
const PIPE_BYTES: usize = 64 << 10;
/// Requests that wait to be written; whoever asks more waits with them.
const ASKED_AT_ONCE: usize = 16;
/// Envelopes that wait for whoever follows; the daemon keeps the rest.
const EVENTS_AT_ONCE: usize = 64;

/// A way to ask. Ends with the session.
#[derive(Clone)]
pub(super) struct InProcessClient {
    asks: mpsc::Sender<InProcessRequest>,
}

/// What a subscription brings.
pub(super) struct SubscriptionEvents {
    pub id: SubscriptionId,
    envelopes: mpsc::Receiver<Envelope>,
}

impl SubscriptionEvents {
    /// The next envelope; `None` when the daemon stops or the session is over. Cancel safe.
    pub async fn next(&mut self) -> Option<Envelope> {
        self.envelopes.recv().await
    }

    /// One that is there already.
    pub fn waiting(&mut self) -> Option<Envelope> {
        self.envelopes.try_recv().ok()
    }
}

struct InProcessRequest {
    method: &'static str,
    params: Value,
    answer: oneshot::Sender<Result<Value, RpcError>>,
    /// Where the events of the subscription go that it begins.
    events: Option<mpsc::Sender<Envelope>>,
}

type PendingRequests =
    HashMap<u64, (oneshot::Sender<Result<Value, RpcError>>, Option<mpsc::Sender<Envelope>>)>;

impl InProcessClient {
    /// Connects as whoever is at the other end of the session, until `gone`.
    pub fn open(
        house: &Arc<McpServerContext>,
        peer: PeerCredentials,
        gone: CancellationToken,
    ) -> InProcessClient {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let tasks = &house.reception.tasks;
        tasks.spawn(
            "the connection of a session of MCP",
            serve_connection(theirs, peer, house.reception.clone()),
        );
        let (asks, asked) = mpsc::channel(ASKED_AT_ONCE);
        tasks.spawn("what carries a session of MCP", async move {
            gone.run_until_cancelled(carry(ours, asked)).await
        });
        InProcessClient { asks }
    }

    pub async fn ask<M: RpcMethod>(&self, params: &M::Params) -> Result<M::Result, RpcError> {
        let answer = self.ask_value(M::NAME, json!(params), None).await?;
        serde_json::from_value(answer).map_err(|error| internal_error(&error))
    }

    /// Asks for a subscription.
    pub async fn follow<M: RpcMethod<Result = SubscriptionId>>(
        &self,
        params: &M::Params,
    ) -> Result<SubscriptionEvents, RpcError> {
        let (sender, envelopes) = mpsc::channel(EVENTS_AT_ONCE);
        let id = self.ask_value(M::NAME, json!(params), Some(sender)).await?;
        let id = serde_json::from_value(id).map_err(|error| internal_error(&error))?;
        Ok(SubscriptionEvents { id, envelopes })
    }

    async fn ask_value(
        &self,
        method: &'static str,
        params: Value,
        events: Option<mpsc::Sender<Envelope>>,
    ) -> Result<Value, RpcError> {
        let (answer, answered) = oneshot::channel();
        let ask = InProcessRequest { method, params, answer, events };
        self.asks.send(ask).await.map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}

/// The daemon stops, or the session is over and nobody hears this.
pub(super) fn ended() -> RpcError {
    RpcError::new(ErrorKind::ShuttingDown, "the daemon is stopping")
        .with_hint("what was begun goes on when it is back")
}

/// Carries requests and answers until either side ends; then whoever waits learns it.
async fn carry(stream: DuplexStream, asked: mpsc::Receiver<InProcessRequest>) {
    let (reader, writer) = tokio::io::split(stream);
    let waiting = Mutex::new(PendingRequests::new());
    // Side by side: the daemon may have to write before it reads on.
    let end = tokio::select! {
        end = send(writer, asked, &waiting) => end,
        end = hear(reader, &waiting) => end,
    };
    if let Err(error) = end {
        tracing::debug!(%error, "a session's pipe to the daemon broke");
    }
}

async fn send(
    mut writer: WriteHalf<DuplexStream>,
    mut asked: mpsc::Receiver<InProcessRequest>,
    waiting: &Mutex<PendingRequests>,
) -> io::Result<()> {
    let mut id = 0_u64;
    while let Some(InProcessRequest { method, params, answer, events }) = asked.recv().await {
        id += 1;
        lock(waiting).insert(id, (answer, events));
        let mut line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        line.push('\n');
        writer.write_all(line.as_bytes()).await?;
    }
    Ok(())
}

/// A response or a notification of the daemon.
#[derive(Deserialize)]
struct InProcessMessage {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<RpcError>,
    #[serde(default)]
    params: Option<InProcessNotification>,
}

#[derive(Deserialize)]
struct InProcessNotification {
    #[serde(default)]
    subscription: Option<SubscriptionId>,
    result: Envelope,
}

async fn hear(reader: ReadHalf<DuplexStream>, waiting: &Mutex<PendingRequests>) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    let mut followed: HashMap<SubscriptionId, mpsc::Sender<Envelope>> = HashMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        // The other side is ours, and bounds what it writes.
        if reader.read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        let InProcessMessage { id, result, error, params } = serde_json::from_slice(&line)?;
        if let Some(InProcessNotification { subscription: Some(subscription), result }) = params {
            if let Some(events) = followed.get(&subscription)
                && events.send(result).await.is_err()
            {
                followed.remove(&subscription);
            }
            continue;
        }
        let Some((answer, events)) = id.and_then(|id| lock(waiting).remove(&id)) else { continue };
        let result = match error {
            Some(error) => Err(error),
            None => Ok(result.unwrap_or_default()),
        };
        // Before the first event of it is heard.
        if let (Ok(Value::String(id)), Some(events)) = (&result, events) {
            followed.insert(SubscriptionId::from(id.as_str()), events);
        }
        // Whoever asked may have left.
        let _ = answer.send(result);
    }
}

fn lock(waiting: &Mutex<PendingRequests>) -> MutexGuard<'_, PendingRequests> {
    // Nothing panics while it holds the lock, so a poisoned one is whole.
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

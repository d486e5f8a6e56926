//! How do messages reach a client without a slow one costing memory? One bounded queue and one writer a
//! connection.

use std::{io, sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::timeout,
};

use super::{framing::MessageFraming, subscription::SubscriberGone};

/// Messages that may wait to be written. Enough to fill one write with small ones.
const QUEUED_MESSAGES: usize = 256;
/// Bytes that may wait to be written: what a client that does not read costs. A longer message waits until
/// it is alone.
const QUEUED_BYTES: u32 = 1 << 20;
/// As much as is put into one write.
const WRITE_BYTES: usize = 64 << 10;
/// The write buffer shrinks to this when there is nothing to say, since an idle connection should cost little.
const KEPT_WRITE_BYTES: usize = 4 << 10;
/// A client whose socket takes nothing for this long is cut off (spec 11, "Bounded"); it resumes by cursor.
pub(super) const WRITE_STALL: Duration = Duration::from_secs(30);

struct QueuedMessage {
    json: Box<RawValue>,
    room: OwnedSemaphorePermit,
}

/// Where messages to one client go in.
#[derive(Clone)]
pub(super) struct OutgoingSender {
    queue: mpsc::Sender<QueuedMessage>,
    room: Arc<Semaphore>,
}

impl OutgoingSender {
    /// Waits until there is room. Messages that one task sends stay in order. Cancel safe: a message whose
    /// sending was dropped is not sent.
    pub(super) async fn send(&self, json: Box<RawValue>) -> Result<(), SubscriberGone> {
        let bytes = u32::try_from(json.get().len()).unwrap_or(QUEUED_BYTES).min(QUEUED_BYTES);
        let room = Arc::clone(&self.room).acquire_many_owned(bytes).await.map_err(|_| SubscriberGone)?;
        self.queue.send(QueuedMessage { json, room }).await.map_err(|_| SubscriberGone)
    }
}

/// Where they come out.
pub(super) struct OutgoingReceiver {
    queue: mpsc::Receiver<QueuedMessage>,
}

pub(super) fn queue() -> (OutgoingSender, OutgoingReceiver) {
    let (sender, receiver) = mpsc::channel(QUEUED_MESSAGES);
    let room = Arc::new(Semaphore::new(QUEUED_BYTES as usize));
    (OutgoingSender { queue: sender, room }, OutgoingReceiver { queue: receiver })
}

impl OutgoingReceiver {
    /// The next message, with the room it takes until it is written; `None` when every [`OutgoingSender`] is dropped and
    /// the queue is empty. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<(Box<RawValue>, OwnedSemaphorePermit)> {
        self.queue.recv().await.map(|QueuedMessage { json, room }| (json, room))
    }

    /// The same for what waits already.
    pub(super) fn next_waiting(&mut self) -> Option<(Box<RawValue>, OwnedSemaphorePermit)> {
        self.queue.try_recv().ok().map(|QueuedMessage { json, room }| (json, room))
    }

    /// Writes until every [`OutgoingSender`] is dropped and the queue is empty, or the client does not take it.
    pub(super) async fn write_to(
        mut self,
        mut writer: impl AsyncWrite + Unpin,
        framing: MessageFraming,
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        while let Some(first) = self.queue.recv().await {
            let mut written = vec![push(&mut buffer, first, framing)];
            // What waits already goes along: one system call for many small messages.
            while buffer.len() < WRITE_BYTES
                && let Ok(next) = self.queue.try_recv()
            {
                written.push(push(&mut buffer, next, framing));
            }
            write(&mut writer, &buffer).await?;
            // Room is given back only now, so that it counts what the socket has not taken.
            drop(written);
            buffer.clear();
            buffer.shrink_to(KEPT_WRITE_BYTES);
        }
        writer.shutdown().await
    }
}

fn push(buffer: &mut Vec<u8>, message: QueuedMessage, framing: MessageFraming) -> OwnedSemaphorePermit {
    let json = message.json.get();
    match framing {
        MessageFraming::Lines => {
            buffer.extend_from_slice(json.as_bytes());
            buffer.push(b'\n');
        }
        MessageFraming::Headers => {
            buffer.extend_from_slice(format!("Content-Length: {}\r\n\r\n", json.len()).as_bytes());
            buffer.extend_from_slice(json.as_bytes());
        }
    }
    message.room
}

async fn write(writer: &mut (impl AsyncWrite + Unpin), mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match timeout(WRITE_STALL, writer.write(bytes)).await?? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            taken => bytes = &bytes[taken..],
        }
    }
    timeout(WRITE_STALL, writer.flush()).await?
}

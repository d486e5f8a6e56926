//! Messages as lines of JSON over a pair of pipes, each of bounded length.
//!
//! What is no message is passed over, since programs print there what they should print elsewhere. An answer that is too long
//! ends its call with an error: its sender must not be waited for until the call's time is over.

use std::{io, sync::Arc};

use rmcp::{
    ErrorData, RoleClient,
    model::{NumberOrString, ServerJsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::unix::pipe::{Receiver, Sender},
    sync::Mutex,
};

/// Bytes of one line. An answer has up to 50 MiB of content, and what JSON makes of it is more.
const MAX_LINE: usize = 80 << 20;
/// Bytes of a line that is too long in which its id is looked for.
const LOOKED_AT: usize = 4 << 10;

/// Both directions.
pub struct Lines {
    output: BufReader<Receiver>,
    line: Vec<u8>,
    /// The rest of the line is passed over.
    is_discarding: bool,
    input: Arc<Mutex<Option<Sender>>>,
}

/// What a piece of output came to.
enum Read {
    Whole,
    TooLong,
    More,
    End,
}

impl Lines {
    pub fn new(input: Sender, output: Receiver) -> Lines {
        let input = Arc::new(Mutex::new(Some(input)));
        Lines { output: BufReader::new(output), line: Vec::new(), is_discarding: false, input }
    }

    /// Cancel safe: what was read is kept.
    async fn read(&mut self) -> io::Result<Read> {
        let available = self.output.fill_buf().await?;
        if available.is_empty() {
            return Ok(Read::End);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        if !self.is_discarding {
            self.line.extend_from_slice(&available[..taken]);
        }
        self.output.consume(taken);
        let is_too_long = MAX_LINE < self.line.len();
        self.is_discarding |= is_too_long;
        if is_too_long {
            self.line.truncate(LOOKED_AT);
        }
        Ok(match end {
            None => Read::More,
            Some(_) if self.is_discarding => Read::TooLong,
            Some(_) => Read::Whole,
        })
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut line = serde_json::to_vec(&item).map_err(io::Error::other)?;
            line.push(b'\n');
            // Held across the write, which is what keeps lines whole; nobody else waits for it but other writers.
            let mut input = input.lock().await;
            let gone = || io::Error::new(io::ErrorKind::NotConnected, "it is not listened to any more");
            input.as_mut().ok_or_else(gone)?.write_all(&line).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.read().await {
                Ok(Read::More) => (),
                Ok(Read::Whole) => {
                    let message = message(&self.line);
                    // The memory of one long answer is not kept for the short ones after it.
                    self.line = Vec::new();
                    if message.is_some() {
                        return message;
                    }
                }
                Ok(Read::TooLong) => {
                    let id = id_at_the_beginning(&self.line);
                    (self.is_discarding, self.line) = (false, Vec::new());
                    if let Some(id) = id {
                        let words =
                            format!("its answer is longer than {} MiB, and was not read", MAX_LINE >> 20);
                        let error = ErrorData::internal_error(words, None);
                        return Some(ServerJsonRpcMessage::error(error, Some(id)));
                    }
                }
                Ok(Read::End) => return None,
                Err(error) => {
                    tracing::debug!(%error, "a server cannot be read any more");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        drop(self.input.lock().await.take());
        Ok(())
    }
}

fn message(line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    match serde_json::from_slice(line) {
        Ok(message) => Some(message),
        Err(error) => {
            tracing::debug!(%error, "a server printed what is no message");
            None
        }
    }
}

/// The id of a message of which only the beginning is there; it stands before the result in what servers write.
fn id_at_the_beginning(line: &[u8]) -> Option<NumberOrString> {
    let text = String::from_utf8_lossy(line);
    let before = text.split("\"result\"").next().filter(|before| before.len() < text.len())?;
    let (_, after) = before.split_once("\"id\"")?;
    let value = after.trim_start().strip_prefix(':')?;
    let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
    match values.next()?.ok()? {
        Value::Number(number) => Some(NumberOrString::Number(number.as_i64()?)),
        Value::String(text) => Some(NumberOrString::String(text.into())),
        _ => None,
    }
}

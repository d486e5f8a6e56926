//! Messages as lines of JSON over a pair of pipes, each of bounded length.
//!
//! What is no message is passed over, since programs print there what they should print elsewhere. An answer that is too long
//! ends its call with an error: its sender must not be waited for until the call's time is over. Whoever asks without end and
//! reads no answer is not listened to any more: each of its requests and each answer takes memory until it is read.

use std::{
    collections::HashSet,
    io,
    sync::{self, Arc, MutexGuard, PoisonError},
};

use rmcp::{
    ErrorData, RoleClient,
    model::{JsonRpcMessage, NumberOrString, ServerJsonRpcMessage, ServerNotification},
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
/// Requests of a server that it may have no answer to yet: some wait for people, the others are answered at once.
const MOST_OWED: usize = 64;

/// Both directions.
pub struct JsonLineTransport {
    output: BufReader<Receiver>,
    line: Vec<u8>,
    /// The rest of the line is passed over.
    is_discarding: bool,
    input: Arc<Mutex<Option<Sender>>>,
    owed: OwedAnswers,
}

/// The answers that a server has asked for and not got. A cheap handle.
#[derive(Clone, Default)]
struct OwedAnswers(Arc<sync::Mutex<OwedAnswersState>>);

#[derive(Default)]
struct OwedAnswersState {
    /// By request: nobody has answered it yet.
    awaited: HashSet<NumberOrString>,
    /// Given, and not in the pipe yet. The server may not read.
    on_their_way: usize,
}

/// What becomes of a message of the server's.
enum RequestAdmission {
    Taken,
    /// It asks under an id that is still open: there will be one answer to it.
    Repeated,
    /// It asks too much.
    TooMany,
}

impl OwedAnswers {
    fn hears(&self, message: &RxJsonRpcMessage<RoleClient>) -> RequestAdmission {
        let mut answers = self.lock();
        match message {
            JsonRpcMessage::Request(request) => {
                if answers.awaited.contains(&request.id) {
                    return RequestAdmission::Repeated;
                }
                if MOST_OWED <= answers.awaited.len() + answers.on_their_way {
                    return RequestAdmission::TooMany;
                }
                answers.awaited.insert(request.id.clone());
            }
            // It is not answered any more; if it is all the same, that counts from then on.
            JsonRpcMessage::Notification(told) => {
                if let ServerNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    answers.awaited.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => (),
        }
        RequestAdmission::Taken
    }

    /// To be kept until a message of ours is written; `None` = it is no answer.
    fn says(&self, message: &TxJsonRpcMessage<RoleClient>) -> Option<AnswerInTransit> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let mut answers = self.lock();
        answers.awaited.remove(id?);
        answers.on_their_way += 1;
        drop(answers);
        Some(AnswerInTransit(self.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, OwedAnswersState> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer that is not written yet.
struct AnswerInTransit(OwedAnswers);

impl Drop for AnswerInTransit {
    fn drop(&mut self) {
        self.0.lock().on_their_way -= 1;
    }
}

/// What a piece of output came to.
enum LineReadResult {
    Whole,
    TooLong,
    More,
    End,
}

impl JsonLineTransport {
    pub fn new(input: Sender, output: Receiver) -> JsonLineTransport {
        let input = Arc::new(Mutex::new(Some(input)));
        JsonLineTransport {
            output: BufReader::new(output),
            line: Vec::new(),
            is_discarding: false,
            input,
            owed: OwedAnswers::default(),
        }
    }

    /// Cancel safe: what was read is kept.
    async fn read(&mut self) -> io::Result<LineReadResult> {
        let available = self.output.fill_buf().await?;
        if available.is_empty() {
            return Ok(LineReadResult::End);
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
            None => LineReadResult::More,
            Some(_) if self.is_discarding => LineReadResult::TooLong,
            Some(_) => LineReadResult::Whole,
        })
    }
}

impl Transport<RoleClient> for JsonLineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let input = Arc::clone(&self.input);
        let on_its_way = self.owed.says(&item);
        async move {
            let _until_it_is_written = on_its_way;
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
                Ok(LineReadResult::More) => (),
                Ok(LineReadResult::Whole) => {
                    let message = message(&self.line);
                    // The memory of one long answer is not kept for the short ones after it.
                    self.line = Vec::new();
                    let Some(message) = message else { continue };
                    match self.owed.hears(&message) {
                        RequestAdmission::Taken => return Some(message),
                        RequestAdmission::Repeated => tracing::debug!("a server asks twice under one id"),
                        RequestAdmission::TooMany => {
                            tracing::warn!(
                                "a server has {MOST_OWED} requests without an answer and asks on; it is not listened to any more"
                            );
                            return None;
                        }
                    }
                }
                Ok(LineReadResult::TooLong) => {
                    let id = id_at_the_beginning(&self.line);
                    (self.is_discarding, self.line) = (false, Vec::new());
                    if let Some(id) = id {
                        let words =
                            format!("its answer is longer than {} MiB, and was not read", MAX_LINE >> 20);
                        let error = ErrorData::internal_error(words, None);
                        return Some(ServerJsonRpcMessage::error(error, Some(id)));
                    }
                }
                Ok(LineReadResult::End) => return None,
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

#[cfg(test)]
mod tests {
    use rmcp::model::ClientJsonRpcMessage;
    use tokio::net::unix::pipe;

    use super::*;

    /// With the server's ends: what it reads, and what it prints.
    fn lines() -> (JsonLineTransport, Receiver, Sender) {
        let (input, reads) = pipe::pipe().unwrap();
        let (prints, output) = pipe::pipe().unwrap();
        (JsonLineTransport::new(input, output), reads, prints)
    }

    fn ping(id: usize) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")
    }

    fn taken_back(id: usize) -> String {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n"
        )
    }

    fn answer(id: usize) -> ClientJsonRpcMessage {
        let id = NumberOrString::Number(i64::try_from(id).unwrap());
        ClientJsonRpcMessage::error(ErrorData::internal_error("no", None), Some(id))
    }

    #[tokio::test]
    async fn a_server_that_asks_on_and_reads_nothing_is_not_listened_to_any_more() {
        let (mut lines, _reads, mut prints) = lines();
        let mut unwritten = Vec::new();
        for id in 0..MOST_OWED {
            prints.write_all(ping(id).as_bytes()).await.unwrap();
            assert!(lines.receive().await.is_some(), "{id}");
            // An answer that waits for the server to read counts as none; that the request is taken back then is too late.
            if id % 2 == 0 {
                unwritten.push(lines.send(answer(id)));
                prints.write_all(taken_back(id).as_bytes()).await.unwrap();
                assert!(lines.receive().await.is_some(), "{id}");
            }
        }
        prints.write_all(ping(MOST_OWED).as_bytes()).await.unwrap();
        assert!(lines.receive().await.is_none());
    }

    #[tokio::test]
    async fn what_is_answered_or_taken_back_is_owed_no_more_and_an_open_id_asks_once() {
        let (mut lines, _reads, mut prints) = lines();
        for id in 0..2 * MOST_OWED {
            prints.write_all(ping(id).as_bytes()).await.unwrap();
            assert!(lines.receive().await.is_some(), "{id}");
            if id % 2 == 0 {
                lines.send(answer(id)).await.unwrap();
            } else {
                prints.write_all(taken_back(id).as_bytes()).await.unwrap();
                assert!(lines.receive().await.is_some(), "{id}");
            }
        }
        for id in [7, 7, 7, 8] {
            prints.write_all(ping(id).as_bytes()).await.unwrap();
        }
        for expected in [7, 8] {
            let Some(JsonRpcMessage::Request(request)) = lines.receive().await else { panic!("no request") };
            assert_eq!(request.id, NumberOrString::Number(expected));
        }
    }
}

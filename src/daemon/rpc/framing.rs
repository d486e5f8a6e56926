//! Which bytes are one message? Lines, or bodies after `Content-Length` headers, read without ever holding more than
//! a message may be.

use std::{future::Future, io};

use tokio::io::{AsyncBufReadExt, BufReader};

use super::wire::{RewoundStream, RpcStream};
use protocol::MAX_MESSAGE_BYTES;

/// What is asked from the socket at once. Small, since every idle connection holds one; a long message costs
/// a few more system calls.
const READ_BUFFER_BYTES: usize = 8 << 10;

/// Bytes of the headers before one message. Two short lines are all that is in use.
const MAX_HEADER_BYTES: usize = 4 << 10;

/// One message, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FramedRead {
    /// Never blank, where the framing can tell.
    Message(Vec<u8>),
    /// A message longer than one may be; it is skipped.
    TooLong,
    /// Where the next message begins cannot be told any more.
    Broken(String),
    /// The client sends nothing more, but may still listen.
    End,
    /// The client neither sends nor listens any more.
    Gone,
}

/// Where a client's messages come from.
pub(super) trait InboundMessages: Send {
    /// True if subscriptions go on after the peer has sent its last message.
    const OUTLIVES_LAST_BYTE: bool;

    /// The next message. Cancel safe: what was read so far is kept.
    fn next(&mut self) -> impl Future<Output = io::Result<FramedRead>> + Send;

    /// What its writer leaves when all is written.
    type Written: Send;

    /// Reads what still comes, and forgets it, until the client hangs up. Closing before that would take away from it
    /// what it was sent last (RFC 9112, section 9.6).
    fn linger(self, written: Self::Written) -> impl Future<Output = ()> + Send;

    /// Completes when the peer can no longer receive. Asked only after [`FramedRead::End`]; cancel safe.
    fn gone(&self) -> impl Future<Output = ()> + Send;
}

/// How messages are told apart in a stream of bytes, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageFraming {
    /// One JSON value a line.
    Lines,
    /// The base protocol of LSP: `Content-Length: N`, an empty line, N bytes.
    Headers,
}

pub(super) struct FrameReader<W: RpcStream> {
    reader: BufReader<RewoundStream<W::Reader>>,
    framing: MessageFraming,
    /// The line or body so far.
    message: Vec<u8>,
    /// What is being read is too long already, and not kept.
    is_skipping: bool,
    /// Of [`MessageFraming::Headers`]: bytes of the body that are still to come; `None` within the headers.
    body_left: Option<usize>,
    header: FrameHeader,
}

/// What the headers have said so far.
#[derive(Debug, Default)]
struct FrameHeader {
    length: Option<usize>,
    /// The bytes of all of its lines.
    bytes: usize,
}

impl<W: RpcStream> FrameReader<W> {
    pub(super) fn new(reader: RewoundStream<W::Reader>, framing: MessageFraming) -> FrameReader<W> {
        let reader = BufReader::with_capacity(READ_BUFFER_BYTES, reader);
        let (message, header) = (Vec::new(), FrameHeader::default());
        FrameReader { reader, framing, message, is_skipping: false, body_left: None, header }
    }

    /// The next line that is not blank.
    async fn next_line(&mut self) -> io::Result<FramedRead> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            let is_end = bytes.is_empty();
            let newline = memchr::memchr(b'\n', bytes);
            let part = &bytes[..newline.unwrap_or(bytes.len())];
            if self.message.len() + part.len() > MAX_MESSAGE_BYTES {
                self.is_skipping = true;
                self.message = Vec::new();
            }
            if !self.is_skipping {
                self.message.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(newline.is_some());
            self.reader.consume(consumed);
            // A last line without a newline counts: `printf '{…}' | nc` leaves it out.
            if newline.is_none() && !is_end {
                continue;
            }
            if std::mem::take(&mut self.is_skipping) {
                return Ok(FramedRead::TooLong);
            }
            // The buffer goes with the line, so that a long one is not held while the connection idles.
            let line = std::mem::take(&mut self.message);
            if !line.trim_ascii().is_empty() {
                return Ok(FramedRead::Message(line));
            }
            if is_end {
                return Ok(FramedRead::End);
            }
        }
    }

    /// The next body.
    async fn next_body(&mut self) -> io::Result<FramedRead> {
        loop {
            let Some(left) = self.body_left else {
                match self.next_header().await? {
                    None => continue,
                    Some(read) => return Ok(read),
                }
            };
            if left == 0 {
                self.body_left = None;
                // One that was too long was answered when its length was known.
                if std::mem::take(&mut self.is_skipping) {
                    continue;
                }
                return Ok(FramedRead::Message(std::mem::take(&mut self.message)));
            }
            let bytes = self.reader.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(FramedRead::Broken(format!(
                    "the connection ended {left} bytes before its message did"
                )));
            }
            let part = &bytes[..bytes.len().min(left)];
            if !self.is_skipping {
                self.message.extend_from_slice(part);
            }
            let taken = part.len();
            self.reader.consume(taken);
            self.body_left = Some(left - taken);
        }
    }

    /// Reads one more piece of the headers; answers what ends them otherwise than by a body.
    async fn next_header(&mut self) -> io::Result<Option<FramedRead>> {
        let bytes = self.reader.fill_buf().await?;
        if bytes.is_empty() {
            let is_between = self.header.bytes == 0 && self.message.is_empty();
            let broken =
                || FramedRead::Broken("the connection ended within the headers of a message".to_owned());
            return Ok(Some(if is_between { FramedRead::End } else { broken() }));
        }
        let newline = memchr::memchr(b'\n', bytes);
        let part = &bytes[..newline.unwrap_or(bytes.len())];
        let consumed = part.len() + usize::from(newline.is_some());
        self.header.bytes += consumed;
        if self.header.bytes > MAX_HEADER_BYTES {
            let words = format!("the headers of a message have at most {MAX_HEADER_BYTES} bytes");
            return Ok(Some(FramedRead::Broken(words)));
        }
        self.message.extend_from_slice(part);
        self.reader.consume(consumed);
        if newline.is_none() {
            return Ok(None);
        }
        let line = std::mem::take(&mut self.message);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if !line.is_empty() {
            return Ok(self.header.read(line).err().map(FramedRead::Broken));
        }
        let FrameHeader { length, bytes } = std::mem::take(&mut self.header);
        match length {
            // Blank lines between messages are nothing, as in the other framing.
            None if bytes <= 2 => Ok(None),
            None => Ok(Some(FramedRead::Broken("a message without Content-Length".to_owned()))),
            Some(length) => {
                self.body_left = Some(length);
                self.is_skipping = length > MAX_MESSAGE_BYTES;
                Ok(self.is_skipping.then_some(FramedRead::TooLong))
            }
        }
    }
}

impl FrameHeader {
    /// Takes one line; names are case-insensitive and those other than the length mean nothing here.
    fn read(&mut self, line: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(line);
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let Some((name, value)) = text.split_once(':').filter(|(name, _)| is_name(name)) else {
            return Err(
                "expected `Content-Length: N`; a connection keeps the framing it began with".to_owned()
            );
        };
        if !name.eq_ignore_ascii_case("content-length") {
            return Ok(());
        }
        let value = value.trim();
        // `parse` alone would take a sign.
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let length = value.parse::<usize>().ok().filter(|_| is_number);
        let length = length.ok_or("Content-Length must be a number of bytes")?;
        if self.length.is_some_and(|earlier| earlier != length) {
            return Err("two lengths that differ for one message".to_owned());
        }
        self.length = Some(length);
        Ok(())
    }
}

impl<W: RpcStream> InboundMessages for FrameReader<W> {
    const OUTLIVES_LAST_BYTE: bool = W::OUTLIVES_LAST_BYTE;

    async fn next(&mut self) -> io::Result<FramedRead> {
        match self.framing {
            MessageFraming::Lines => self.next_line().await,
            MessageFraming::Headers => self.next_body().await,
        }
    }

    type Written = ();

    async fn linger(mut self, (): ()) {
        while let Ok(bytes) = self.reader.fill_buf().await
            && !bytes.is_empty()
        {
            let read = bytes.len();
            self.reader.consume(read);
        }
    }

    async fn gone(&self) {
        W::gone(self.reader.get_ref().get_ref()).await;
    }
}

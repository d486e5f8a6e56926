//! The socket between the daemon and a command's warden: wishes go one way, and lines come the other. Several may wait for different lines.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{net::UnixStream, sync::watch};

use sys::warden::{WardenReport, WardenSignal};

/// Bytes of a warden's line: names of processes and numbers.
const MAX_LINE: usize = 64 << 10;

/// The daemon's end.
pub struct WardenControl {
    stream: UnixStream,
    heard: Mutex<HeardLines>,
    /// Counts up whenever something was heard: by whoever reads, for all who wait.
    news: watch::Sender<u64>,
}

/// What the warden said.
#[derive(Default)]
struct HeardLines {
    /// The beginning of a line.
    line: Vec<u8>,
    /// Pauses that were asked for, and answers to them.
    pauses: u64,
    answers: u64,
    /// The last answer.
    is_still: bool,
    /// The last line, or none of those that a warden says.
    report: Option<WardenReport>,
    /// Nothing more comes.
    is_over: bool,
}

impl WardenControl {
    pub fn new(stream: UnixStream) -> WardenControl {
        WardenControl { stream, heard: Mutex::default(), news: watch::Sender::new(0) }
    }

    /// Asks for something. Nobody hears it any more when the command has ended.
    pub fn wish(&self, wish: WardenSignal) {
        let _ended = self.stream.try_write(&[wish.byte()]);
    }

    /// How the command ended; `None` = the warden is gone and did not say. Cancel safe.
    pub async fn report(&self) -> io::Result<Option<WardenReport>> {
        self.until(|heard| heard.is_over.then(|| heard.report.clone())).await
    }

    /// Waits until what was heard has an answer. Whoever finds something to read takes it for all. Cancel safe.
    async fn until<T>(&self, answer: impl Fn(&HeardLines) -> Option<T>) -> io::Result<T> {
        let mut news = self.news.subscribe();
        loop {
            if let Some(answer) = answer(&self.heard()) {
                return Ok(answer);
            }
            tokio::select! {
                readable = self.stream.readable() => {
                    readable?;
                    self.take()?;
                }
                // Its sender lives as long as `self`.
                _heard = news.changed() => (),
            }
        }
    }

    /// Takes what there is to read.
    fn take(&self) -> io::Result<()> {
        let mut piece = [0; 4 << 10];
        let mut heard = self.heard();
        let outcome = loop {
            match self.stream.try_read(&mut piece) {
                Ok(0) => {
                    heard.is_over = true;
                    break Ok(());
                }
                Ok(length) => heard.take(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => break Err(error),
            }
            if heard.is_over {
                break Ok(());
            }
        };
        drop(heard);
        self.news.send_modify(|news| *news += 1);
        outcome
    }

    fn heard(&self) -> MutexGuard<'_, HeardLines> {
        // Nothing panics while it is held.
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsFd for WardenControl {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl HeardLines {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.is_over {
                return;
            }
            if *byte != b'\n' {
                self.line.push(*byte);
                // No warden says so much: it is none any more.
                self.is_over = MAX_LINE < self.line.len();
                continue;
            }
            match serde_json::from_slice(&std::mem::take(&mut self.line)) {
                Ok(WardenReport::Paused(is_still)) => {
                    self.answers += 1;
                    self.is_still = is_still;
                }
                other => {
                    self.report = other.ok();
                    self.is_over = true;
                }
            }
        }
    }
}

/// The reason why a command does not stand still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotPaused {
    #[error("it has ended")]
    Ended,
    #[error("some of its processes could not be stopped")]
    Going,
}

/// Has a command stand still, and go on. A cheap handle, which keeps nothing alive.
#[derive(Clone)]
pub struct CommandPauser(Arc<WardenControl>);

impl CommandPauser {
    pub(super) fn of(control: Arc<WardenControl>) -> CommandPauser {
        CommandPauser(control)
    }

    /// Completes when every process of the command stands still; the warden bounds how long that may take. One caller at a time.
    pub async fn pause(&self) -> Result<(), NotPaused> {
        let asked = {
            let mut heard = self.0.heard();
            heard.pauses += 1;
            heard.pauses
        };
        self.0.wish(WardenSignal::Pause);
        let answered = self.0.until(|heard| match heard {
            heard if asked <= heard.answers => {
                Some(if heard.is_still { Ok(()) } else { Err(NotPaused::Going) })
            }
            heard if heard.is_over => Some(Err(NotPaused::Ended)),
            _ => None,
        });
        answered.await.unwrap_or(Err(NotPaused::Ended))
    }

    /// Completes when all of it has ended.
    pub async fn ended(&self) {
        // An error is an end, too: nobody is there any more who could say otherwise.
        let _ended = self.0.report().await;
    }

    /// Ends it at once, with all that it started.
    pub fn kill(&self) {
        self.0.wish(WardenSignal::Kill);
    }

    /// Has it go on.
    pub fn resume(&self) {
        self.0.wish(WardenSignal::Resume);
    }
}

//! Stays with a command until it has ended: takes what it puts out, shows it, and ends the command when its time is over or
//! nobody wants it any more.

use std::{io, sync::Arc, time::Duration};

use encoding_rs::{Decoder, UTF_8};
use tokio::{io::AsyncReadExt as _, net::unix::pipe::Receiver};
use tokio_util::sync::CancellationToken;

use super::{CallContext, OutputCapture, covers::GIT_YIELDS_AFTER};
use crate::work;
use redact::{Redactor, StreamRedactor};
use sandbox::{CommandHandle, CommandStartError, RunningCommand};
use store::LiveAppender;
use sys::{
    clock::Clock,
    warden::{CommandExit, WardenSignal},
};

/// The least time between two pieces of output that are shown (spec 05, "Scheduler").
const SHOW_PAUSE: Duration = Duration::from_millis(50);

/// How long a command that was asked to end may take. Less than what a stopped run gives its calls, so that what it put
/// out until then is not lost.
const STOP_TIME: Duration = Duration::from_millis(1_500);

/// How long one that was to be ended may take: its warden ends what it can see within a second.
const KILL_TIME: Duration = Duration::from_secs(5);

/// Bytes of output that are shown while a command runs, and which the event of its end has whole. The rest is in its result.
const MAX_SHOWN: usize = 1 << 20;

/// Bytes that are looked through for secrets before the thread is left to others.
const CLEANED_AT_ONCE: usize = 16 << 10;

/// Bytes read at once.
const PIECE: usize = 64 << 10;

/// What ends a command before its own end.
#[derive(Debug, Clone, Copy)]
pub struct CommandBounds {
    /// `None` = it may be silent.
    pub inactivity: Option<Duration>,
    pub timeout: Option<Duration>,
    /// In bytes.
    pub max_output: Option<u64>,
}

/// Why a command was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandCutReason {
    /// The run was stopped, or somebody asked.
    Stopped,
    /// Others waited for it.
    Yielded(Duration),
    Silent(Duration),
    TooLong(Duration),
    TooMuch(u64),
}

/// Who stays with a command.
pub struct CommandSupervision {
    /// Ends the command.
    pub cancel: CancellationToken,
    /// Ends it for others, who waited.
    pub yields: CancellationToken,
    pub clock: Arc<dyn Clock>,
    /// Where its output is shown as it comes; `None` = nobody looks.
    pub output: Option<LiveAppender>,
}

impl CommandSupervision {
    /// As a call wants it.
    pub fn of(cx: &CallContext) -> CommandSupervision {
        CommandSupervision {
            cancel: cx.cancel.clone(),
            yields: CancellationToken::new(),
            clock: Arc::clone(&cx.clock),
            output: cx.output.clone(),
        }
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct FinishedCommand {
    pub ended: CommandExit,
    pub stdout: OutputCapture,
    pub stderr: OutputCapture,
    pub cut: Option<CommandCutReason>,
    pub confined_by: Option<&'static str>,
    pub took: Duration,
    /// Sentences about files that it made and that were put aside.
    pub told: Vec<String>,
}

/// Waits for the end of a command. Dropping this ends it.
pub async fn attend(
    running: RunningCommand,
    bounds: &CommandBounds,
    cx: &CommandSupervision,
    redactor: &Redactor,
) -> Result<FinishedCommand, CommandStartError> {
    let RunningCommand { stdout, stderr, confined_by, hold } = running;
    let begun = cx.clock.monotonic();
    let mut watched = SupervisedCommand {
        stdout: OutputPipe::of(stdout),
        stderr: OutputPipe::of(stderr),
        hold,
        screen: LiveOutput::new(cx.output.clone(), redactor),
        cut: None,
    };
    let ended = watched.until_end(bounds, cx).await?;
    let SupervisedCommand { stdout, stderr, mut hold, screen, cut } = watched;
    screen.finish().await;
    let took = cx.clock.monotonic().saturating_sub(begun);
    let told = work::aside(move || hold.finish()).await;
    Ok(FinishedCommand {
        ended,
        stdout: stdout.capture,
        stderr: stderr.capture,
        cut,
        confined_by,
        took,
        told,
    })
}

struct SupervisedCommand {
    stdout: OutputPipe,
    stderr: OutputPipe,
    hold: CommandHandle,
    screen: LiveOutput,
    cut: Option<CommandCutReason>,
}

/// What there was next.
enum CommandEvent {
    Out(io::Result<usize>),
    Problem(io::Result<usize>),
    Show,
    Cut(CommandCutReason),
    Kill,
    GiveUp,
    Ended(Result<CommandExit, CommandStartError>),
}

impl SupervisedCommand {
    async fn until_end(
        &mut self,
        bounds: &CommandBounds,
        cx: &CommandSupervision,
    ) -> Result<CommandExit, CommandStartError> {
        let clock = &cx.clock;
        let too_long = async {
            match bounds.timeout {
                Some(time) => (clock.sleep(time).await, CommandCutReason::TooLong(time)).1,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(too_long);
        let silence = |time: Option<Duration>| async move {
            match time {
                Some(time) => (clock.sleep(time).await, CommandCutReason::Silent(time)).1,
                None => std::future::pending().await,
            }
        };
        let mut silent = Box::pin(silence(bounds.inactivity));
        let (mut show, mut shown_at) = (None, None);
        let mut kill = None;
        let mut give_up = None;
        let mut ended = None;
        loop {
            if ended.is_some() && self.stdout.is_over && self.stderr.is_over {
                break;
            }
            let is_cut = self.cut.is_some();
            let next = tokio::select! {
                biased;
                () = cx.cancel.cancelled(), if !is_cut => CommandEvent::Cut(CommandCutReason::Stopped),
                () = cx.yields.cancelled(), if !is_cut => {
                    CommandEvent::Cut(CommandCutReason::Yielded(GIT_YIELDS_AFTER))
                }
                () = elapsed(&mut kill) => CommandEvent::Kill,
                () = elapsed(&mut give_up) => CommandEvent::GiveUp,
                () = elapsed(&mut show) => CommandEvent::Show,
                read = self.stdout.read(), if !self.stdout.is_over => CommandEvent::Out(read),
                read = self.stderr.read(), if !self.stderr.is_over => CommandEvent::Problem(read),
                it = self.hold.ended(), if ended.is_none() => CommandEvent::Ended(it),
                cut = &mut too_long, if !is_cut => CommandEvent::Cut(cut),
                cut = &mut silent, if !is_cut => CommandEvent::Cut(cut),
            };
            match next {
                CommandEvent::Out(read) => {
                    self.stdout.take(read, &mut self.screen);
                    silent = Box::pin(silence(bounds.inactivity));
                    // A flood is always ready, and others wait for this thread.
                    tokio::task::yield_now().await;
                }
                CommandEvent::Problem(read) => {
                    self.stderr.take(read, &mut self.screen);
                    silent = Box::pin(silence(bounds.inactivity));
                    tokio::task::yield_now().await;
                }
                CommandEvent::Show => {
                    show = None;
                    self.screen.show().await;
                    shown_at = Some(clock.monotonic());
                }
                CommandEvent::Cut(cut) => {
                    self.cut = Some(cut);
                    self.hold.wish(WardenSignal::Stop);
                    kill = Some(clock.sleep(STOP_TIME));
                }
                CommandEvent::Kill => {
                    kill = None;
                    self.hold.wish(WardenSignal::Kill);
                    give_up = Some(clock.sleep(KILL_TIME));
                }
                CommandEvent::GiveUp => {
                    // Whoever watches over it was stopped, or hangs.
                    self.hold.give_up();
                    return Ok(ended.unwrap_or_default());
                }
                CommandEvent::Ended(end) => {
                    // Nobody is left who could hold the outputs open, so both end as soon as they are read.
                    ended = Some(end?);
                }
            }
            let total = self.stdout.capture.total() + self.stderr.capture.total();
            if let Some(most) = bounds.max_output.filter(|most| *most < total && self.cut.is_none()) {
                self.cut = Some(CommandCutReason::TooMuch(most));
                self.hold.wish(WardenSignal::Kill);
                give_up = Some(clock.sleep(KILL_TIME));
            }
            if show.is_none() && self.screen.has_more() {
                // What comes after a while of nothing is shown at once.
                let since = shown_at.map(|at| clock.monotonic().saturating_sub(at));
                show = Some(clock.sleep(SHOW_PAUSE.saturating_sub(since.unwrap_or(SHOW_PAUSE))));
            }
        }
        ended.ok_or(CommandStartError::NoWarden)
    }
}

async fn elapsed(timer: &mut Option<futures_util::future::BoxFuture<'static, ()>>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

/// One of the outputs.
struct OutputPipe {
    pipe: Receiver,
    piece: Vec<u8>,
    capture: OutputCapture,
    decoder: Decoder,
    is_over: bool,
}

impl OutputPipe {
    fn of(pipe: Receiver) -> OutputPipe {
        OutputPipe {
            pipe,
            piece: vec![0; PIECE],
            capture: OutputCapture::default(),
            decoder: UTF_8.new_decoder_without_bom_handling(),
            is_over: false,
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        self.pipe.read(&mut self.piece).await
    }

    fn take(&mut self, read: io::Result<usize>, screen: &mut LiveOutput) {
        match read {
            Ok(0) | Err(_) => self.is_over = true,
            Ok(length) => {
                let bytes = &self.piece[..length];
                self.capture.push(bytes);
                screen.take(&mut self.decoder, bytes);
            }
        }
    }
}

/// What is shown of the outputs while they come.
struct LiveOutput {
    /// `None` = nobody is shown anything, or there was too much.
    live: Option<LiveAppender>,
    redactor: Option<StreamRedactor>,
    waiting: String,
    shown: usize,
}

impl LiveOutput {
    fn new(live: Option<LiveAppender>, redactor: &Redactor) -> LiveOutput {
        LiveOutput { live, redactor: Some(redactor.stream()), waiting: String::new(), shown: 0 }
    }

    fn take(&mut self, decoder: &mut Decoder, bytes: &[u8]) {
        // More than can be shown tells that there was too much.
        if self.live.is_none() || MAX_SHOWN < self.shown + self.waiting.len() {
            return;
        }
        if let Some(room) = decoder.max_utf8_buffer_length(bytes.len()) {
            self.waiting.reserve(room);
        }
        let _all_fits = decoder.decode_to_string(bytes, &mut self.waiting, false);
    }

    fn has_more(&self) -> bool {
        self.live.is_some() && !self.waiting.is_empty()
    }

    async fn show(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let mut rest = waiting.as_str();
        while let Some(redactor) = self.redactor.as_mut().filter(|_| !rest.is_empty() && self.live.is_some())
        {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(CLEANED_AT_ONCE));
            let clean = redactor.push(piece);
            self.put(&clean);
            rest = behind;
            if !rest.is_empty() {
                tokio::task::yield_now().await;
            }
        }
    }

    async fn finish(mut self) {
        self.show().await;
        if let Some(redactor) = self.redactor.take() {
            let rest = redactor.finish();
            self.put(&rest);
        }
    }

    fn put(&mut self, text: &str) {
        let Some(live) = &self.live else { return };
        let room = MAX_SHOWN.saturating_sub(self.shown);
        if text.len() <= room {
            self.shown += text.len();
            // Its own bound is wider than this one.
            let _fits = live.push_text(text);
            return;
        }
        let _fits = live.push_text(&text[..text.floor_char_boundary(room)]);
        let _fits = live.push_text("\n[… there is more; the call's result has its beginning and its end]\n");
        self.live = None;
    }
}

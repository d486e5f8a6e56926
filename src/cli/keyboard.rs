//! Which keys does whoever sits there press, and how wide is their terminal by now?

use std::{
    io,
    os::fd::AsFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::getpgrp,
    termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetpgrp,
        tcgetwinsize, tcsetattr,
    },
};
use signal_hook::{
    consts::{SIGHUP, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH},
    flag, low_level,
};

/// Bytes taken at a time: more than anybody types between two looks; what a paste has beyond is read at the next.
const READ_BYTES: usize = 4 << 10;

/// Bytes that are set aside at most: more than anybody types before they look up.
const ASIDE_BYTES: usize = 64 << 10;

/// Has the terminal put marks around what is pasted, and take that back.
const PASTES_MARKED: &[u8] = b"\x1b[?2004h";
const PASTES_PLAIN: &[u8] = b"\x1b[?2004l";

/// What waiting for keys came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyWaitResult {
    /// The time is over, a signal came, or there are bytes to read.
    Done,
    /// The command was stopped and goes on (Ctrl-Z, `fg`): keys are not taken any more, and the screen is another's.
    Resumed,
    /// The terminal is gone.
    Gone,
}

/// Keys, as long as something is asked. Ctrl-C is none: it stays the signal that it is everywhere.
pub trait KeyboardInput {
    /// Takes keys one by one from now on, unseen. What was typed before is forgotten: it was not meant for what is
    /// asked now. False when nobody can type here at the moment, e.g. because the command runs in the background.
    fn open(&mut self) -> bool;
    /// The same for texts of any length: what is pasted comes between the marks `ESC [ 200 ~` and `ESC [ 201 ~`.
    fn open_for_text(&mut self) -> bool {
        self.open()
    }
    /// The same where nothing is asked: what was typed before is kept for `typed_before`.
    fn open_for_talk(&mut self) -> bool {
        self.open_for_text()
    }
    /// The same where a person is asked: what was typed before is kept for `typed_before`, and nothing is left for whoever
    /// reads the terminal next.
    fn open_for_question(&mut self) -> bool {
        self.open_for_text()
    }
    /// Keeps what was typed while something was asked and is no answer to it, for the next talk.
    fn set_aside(&mut self, _typed: &str) {}
    /// What was set aside, and what was typed before keys were taken for a talk or a question, if it has not been read;
    /// never waits.
    fn typed_before(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// Whether the command was stopped and goes on since this was asked last: what it showed is out of sight.
    fn was_stopped(&mut self) -> bool {
        false
    }
    /// Waits at most so long for bytes.
    fn wait(&mut self, at_most: Duration) -> KeyWaitResult;
    /// Leaves the terminal as it was.
    fn close(&mut self);
    /// The bytes that came since; never waits. Of a talk no more than up to the end of a line: what is behind it is for
    /// whoever asks next.
    fn read(&mut self) -> Vec<u8>;
    /// How wide the terminal is now; `None` when it is none.
    fn columns(&self) -> Option<usize>;
    /// How high the terminal is now; `None` when it does not say.
    fn rows(&self) -> Option<usize> {
        None
    }
}

/// The terminal of this process.
pub(super) struct TerminalKeyboard<T: AsFd> {
    terminal: T,
    columns: Box<dyn Fn() -> Option<usize>>,
    /// How the terminal was before; `Some` while keys are taken.
    before: Option<Termios>,
    keeps: UnreadKeys,
    /// What was set aside while something was asked.
    aside: Vec<u8>,
    was_stopped: bool,
    marks_pastes: bool,
    /// A stop has put the terminal back; keys are taken again once the command is in the foreground.
    is_suspended: bool,
    /// Signals that end or stop the process do so at once unless the terminal has to be put back first.
    guard: Option<SignalGuard>,
}

/// What becomes of keys that nobody reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnreadKeys {
    /// They are thrown away: what was typed before, and what is left at the end.
    Nothing,
    /// They are set aside.
    Aside,
    /// They stay with the terminal.
    All,
}

/// What is known of signals that end or stop the process.
struct SignalGuard {
    /// The terminal is as it was: a signal does what it always does.
    is_calm: Arc<AtomicBool>,
    has_come: [(i32, Arc<AtomicBool>); 4],
}

impl SignalGuard {
    fn new() -> io::Result<SignalGuard> {
        let is_calm = Arc::new(AtomicBool::new(true));
        let has_come = [SIGTERM, SIGHUP, SIGQUIT, SIGTSTP].map(|signal| (signal, Arc::default()));
        for (signal, flag) in &has_come {
            flag::register_conditional_default(*signal, Arc::clone(&is_calm))?;
            flag::register(*signal, Arc::clone(flag))?;
        }
        // Only so that a wait ends when the terminal gets another size.
        flag::register(SIGWINCH, Arc::default())?;
        Ok(SignalGuard { is_calm, has_come })
    }

    fn take(&self) -> Option<i32> {
        // While all is calm a signal has done already what it does.
        if self.is_calm.load(Ordering::SeqCst) {
            return None;
        }
        let came = self.has_come.iter().find(|(_, flag)| flag.swap(false, Ordering::SeqCst));
        came.map(|(signal, _)| *signal)
    }
}

impl<T: AsFd> TerminalKeyboard<T> {
    pub(super) fn new(terminal: T, columns: Box<dyn Fn() -> Option<usize>>) -> TerminalKeyboard<T> {
        let (before, guard) = (None, None);
        TerminalKeyboard {
            terminal,
            columns,
            before,
            keeps: UnreadKeys::Nothing,
            aside: Vec::new(),
            was_stopped: false,
            marks_pastes: false,
            is_suspended: false,
            guard,
        }
    }

    /// A command in the background would be stopped for touching the terminal.
    fn is_in_background(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group != getpgrp())
    }

    fn set_calm(&self, is_calm: bool) {
        let Some(guard) = &self.guard else { return };
        if !is_calm {
            // What came while all was calm is over.
            guard.has_come.iter().for_each(|(_, flag)| flag.store(false, Ordering::SeqCst));
        }
        guard.is_calm.store(is_calm, Ordering::SeqCst);
    }

    /// Ends or stops as a signal wanted it, once the terminal is as it was. Whether it stopped, and goes on.
    fn heed_signals(&mut self) -> bool {
        let Some(signal) = self.guard.as_ref().and_then(SignalGuard::take) else { return false };
        self.close();
        self.is_suspended = true;
        self.was_stopped = true;
        let _ = low_level::emulate_default_handler(signal);
        true
    }

    /// Whether keys are taken now.
    fn take_keys(&mut self, keeps: UnreadKeys) -> bool {
        if self.before.is_some() || self.is_in_background() {
            return self.before.is_some();
        }
        let Ok(before) = tcgetattr(&self.terminal) else { return false };
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        // Reading answers at once with what there is.
        keys.special_codes[SpecialCodeIndex::VMIN] = 0;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        if self.guard.is_none() {
            // When the system refuses the handlers, signals leave the terminal without echo: worse, but not wrong.
            self.guard = SignalGuard::new().ok();
        }
        self.set_calm(false);
        // `Flush` forgets what was typed ahead in the same step.
        let action = match keeps {
            UnreadKeys::Nothing => OptionalActions::Flush,
            UnreadKeys::Aside | UnreadKeys::All => OptionalActions::Now,
        };
        if tcsetattr(&self.terminal, action, &keys).is_err() {
            self.set_calm(true);
            return false;
        }
        self.before = Some(before);
        self.keeps = keeps;
        self.is_suspended = false;
        true
    }

    fn mark_pastes(&mut self, is_open: bool) -> bool {
        if is_open && !self.marks_pastes {
            // Where it cannot be written to, a paste is keys like all others.
            self.marks_pastes = rustix::io::write(&self.terminal, PASTES_MARKED).is_ok();
        }
        is_open
    }

    /// What lies unread, as far as the system keeps it.
    fn left_unread(&self) -> Vec<u8> {
        let mut bytes = vec![0; 2 * READ_BYTES];
        let mut count = 0;
        while count < bytes.len() {
            match self.read_once(&mut bytes[count..]) {
                0 => break,
                read => count += read,
            }
        }
        bytes.truncate(count);
        bytes
    }

    fn read_once(&self, bytes: &mut [u8]) -> usize {
        match self.before {
            Some(_) if !self.is_in_background() => rustix::io::read(&self.terminal, bytes).unwrap_or(0),
            _ => 0,
        }
    }
}

impl<T: AsFd> KeyboardInput for TerminalKeyboard<T> {
    fn open(&mut self) -> bool {
        self.take_keys(UnreadKeys::Nothing)
    }

    fn open_for_text(&mut self) -> bool {
        let is_open = self.take_keys(UnreadKeys::Nothing);
        self.mark_pastes(is_open)
    }

    fn open_for_talk(&mut self) -> bool {
        let is_open = self.take_keys(UnreadKeys::All);
        self.mark_pastes(is_open)
    }

    fn open_for_question(&mut self) -> bool {
        let is_open = self.take_keys(UnreadKeys::Aside);
        self.mark_pastes(is_open)
    }

    fn set_aside(&mut self, typed: &str) {
        let room = ASIDE_BYTES.saturating_sub(self.aside.len());
        self.aside.extend_from_slice(&typed.as_bytes()[..typed.floor_char_boundary(room)]);
    }

    fn typed_before(&mut self) -> Vec<u8> {
        let mut typed = std::mem::take(&mut self.aside);
        typed.extend(self.left_unread());
        typed
    }

    fn was_stopped(&mut self) -> bool {
        std::mem::take(&mut self.was_stopped)
    }

    fn wait(&mut self, at_most: Duration) -> KeyWaitResult {
        if self.heed_signals() {
            return KeyWaitResult::Resumed;
        }
        let at_most = Timespec::try_from(at_most).ok();
        // What is typed for another command is none of ours.
        if self.is_in_background() {
            let _ = poll(&mut [], at_most.as_ref());
            return KeyWaitResult::Done;
        }
        let mut terminals = [PollFd::new(&self.terminal, PollFlags::IN)];
        let is_gone = poll(&mut terminals, at_most.as_ref()).is_ok()
            && terminals[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        match (self.heed_signals(), is_gone) {
            (true, _) => KeyWaitResult::Resumed,
            (false, true) => KeyWaitResult::Gone,
            (false, false) => KeyWaitResult::Done,
        }
    }

    fn close(&mut self) {
        self.is_suspended = false;
        if std::mem::take(&mut self.marks_pastes) {
            let _ = rustix::io::write(&self.terminal, PASTES_PLAIN);
        }
        if let Some(before) = self.before.take() {
            match self.keeps {
                // Keys pressed for a question that is gone are not for the shell either.
                UnreadKeys::Nothing => {
                    let _ = tcflush(&self.terminal, QueueSelector::IFlush);
                }
                UnreadKeys::Aside => {
                    self.before = Some(before.clone());
                    let left = self.left_unread();
                    self.before = None;
                    self.set_aside(&String::from_utf8_lossy(&left));
                }
                UnreadKeys::All => {}
            }
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &before);
        }
        self.set_calm(true);
    }

    fn read(&mut self) -> Vec<u8> {
        self.heed_signals();
        if self.is_suspended {
            // Whoever asks goes on asking after a stop.
            let is_open = self.take_keys(self.keeps);
            if self.keeps == UnreadKeys::Aside {
                self.mark_pastes(is_open);
            }
        }
        let mut bytes = vec![0; READ_BYTES];
        let mut count = 0;
        if self.keeps == UnreadKeys::All {
            // What stays with the terminal is there for the next text, and forgotten by a question in between.
            while count < READ_BYTES && self.read_once(&mut bytes[count..=count]) == 1 {
                count += 1;
                if matches!(bytes[count - 1], b'\r' | b'\n') {
                    break;
                }
            }
        } else {
            count = self.read_once(&mut bytes);
        }
        bytes.truncate(count);
        bytes
    }

    fn columns(&self) -> Option<usize> {
        (self.columns)()
    }

    fn rows(&self) -> Option<usize> {
        // One that does not know says 0.
        let size = tcgetwinsize(&self.terminal).ok()?;
        Some(usize::from(size.ws_row)).filter(|rows| 0 < *rows)
    }
}

impl<T: AsFd> Drop for TerminalKeyboard<T> {
    fn drop(&mut self) {
        self.close();
    }
}

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
        tcsetattr,
    },
};
use signal_hook::{
    consts::{SIGHUP, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH},
    flag, low_level,
};

/// Bytes taken at a time: more than anybody types between two looks; what a paste has beyond is read at the next.
const READ_BYTES: usize = 4 << 10;

/// Has the terminal put marks around what is pasted, and take that back.
const PASTES_MARKED: &[u8] = b"\x1b[?2004h";
const PASTES_PLAIN: &[u8] = b"\x1b[?2004l";

/// What waiting for keys came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The time is over, a signal came, or there are bytes to read.
    Done,
    /// The command was stopped and goes on (Ctrl-Z, `fg`): keys are not taken any more, and the screen is another's.
    Resumed,
    /// The terminal is gone.
    Gone,
}

/// Keys, as long as something is asked. Ctrl-C is none: it stays the signal that it is everywhere.
pub trait Keyboard {
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
    /// What was typed before keys were taken for a talk, if it has not been read; never waits.
    fn typed_before(&mut self) -> Vec<u8> {
        Vec::new()
    }
    /// Waits at most so long for bytes.
    fn wait(&mut self, at_most: Duration) -> Waited;
    /// Leaves the terminal as it was.
    fn close(&mut self);
    /// The bytes that came since; never waits. Of a talk no more than up to the end of a line: what is behind it is for
    /// whoever asks next.
    fn read(&mut self) -> Vec<u8>;
    /// How wide the terminal is now; `None` when it is none.
    fn columns(&self) -> Option<usize>;
}

/// One key, as far as they are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    Enter,
    Backspace,
    /// Ctrl-U: what was typed is taken back.
    EraseLine,
    Escape,
    /// Ctrl-D
    End,
}

/// Makes keys of bytes. Keys that send several (arrows, Alt) are none of ours and are left out whole: their parts must
/// not count as answers.
#[derive(Default)]
pub(super) struct Keys {
    /// The beginning of a character whose rest has not come.
    pending: Vec<u8>,
}

impl Keys {
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.pending) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // No text at all: nothing of it can be meant.
            Err(_) => {
                self.pending.clear();
                return Vec::new();
            }
        };
        let rest = self.pending.split_off(whole);
        let text = String::from_utf8(std::mem::replace(&mut self.pending, rest)).unwrap_or_default();
        let mut keys = Vec::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            keys.push(match character {
                '\x1b' => match characters.next() {
                    None => Key::Escape,
                    Some('[' | 'O') => {
                        characters.by_ref().find(|character| matches!(character, '@'..='~'));
                        continue;
                    }
                    Some(_) => continue,
                },
                '\n' | '\r' => Key::Enter,
                '\x7f' | '\x08' => Key::Backspace,
                '\x15' => Key::EraseLine,
                '\x04' => Key::End,
                '\t' => Key::Character(' '),
                '\0'..='\x1f' => continue,
                _ => Key::Character(character),
            });
        }
        keys
    }
}

/// The terminal of this process.
pub(super) struct TerminalKeyboard<T: AsFd> {
    terminal: T,
    columns: Box<dyn Fn() -> Option<usize>>,
    /// How the terminal was before; `Some` while keys are taken.
    before: Option<Termios>,
    /// Nothing that is typed is thrown away.
    keeps_typed: bool,
    marks_pastes: bool,
    /// A stop has put the terminal back; keys are taken again once the command is in the foreground.
    is_suspended: bool,
    /// Signals that end or stop the process do so at once unless the terminal has to be put back first.
    guard: Option<Guard>,
}

/// What is known of signals that end or stop the process.
struct Guard {
    /// The terminal is as it was: a signal does what it always does.
    is_calm: Arc<AtomicBool>,
    has_come: [(i32, Arc<AtomicBool>); 4],
}

impl Guard {
    fn new() -> io::Result<Guard> {
        let is_calm = Arc::new(AtomicBool::new(true));
        let has_come = [SIGTERM, SIGHUP, SIGQUIT, SIGTSTP].map(|signal| (signal, Arc::default()));
        for (signal, flag) in &has_come {
            flag::register_conditional_default(*signal, Arc::clone(&is_calm))?;
            flag::register(*signal, Arc::clone(flag))?;
        }
        // Only so that a wait ends when the terminal gets another size.
        flag::register(SIGWINCH, Arc::default())?;
        Ok(Guard { is_calm, has_come })
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
        let (keeps_typed, marks_pastes, is_suspended) = (false, false, false);
        TerminalKeyboard { terminal, columns, before, keeps_typed, marks_pastes, is_suspended, guard }
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
        let Some(signal) = self.guard.as_ref().and_then(Guard::take) else { return false };
        self.close();
        self.is_suspended = true;
        let _ = low_level::emulate_default_handler(signal);
        true
    }

    /// Whether keys are taken now.
    fn take_keys(&mut self, keeps_typed: bool) -> bool {
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
            self.guard = Guard::new().ok();
        }
        self.set_calm(false);
        // `Flush` forgets what was typed ahead in the same step.
        let action = if keeps_typed { OptionalActions::Now } else { OptionalActions::Flush };
        if tcsetattr(&self.terminal, action, &keys).is_err() {
            self.set_calm(true);
            return false;
        }
        self.before = Some(before);
        self.keeps_typed = keeps_typed;
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

    fn read_once(&self, bytes: &mut [u8]) -> usize {
        match self.before {
            Some(_) if !self.is_in_background() => rustix::io::read(&self.terminal, bytes).unwrap_or(0),
            _ => 0,
        }
    }
}

impl<T: AsFd> Keyboard for TerminalKeyboard<T> {
    fn open(&mut self) -> bool {
        self.take_keys(false)
    }

    fn open_for_text(&mut self) -> bool {
        let is_open = self.take_keys(false);
        self.mark_pastes(is_open)
    }

    fn open_for_talk(&mut self) -> bool {
        let is_open = self.take_keys(true);
        self.mark_pastes(is_open)
    }

    fn typed_before(&mut self) -> Vec<u8> {
        // More than the system keeps of it.
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

    fn wait(&mut self, at_most: Duration) -> Waited {
        if self.heed_signals() {
            return Waited::Resumed;
        }
        let at_most = Timespec::try_from(at_most).ok();
        // What is typed for another command is none of ours.
        if self.is_in_background() {
            let _ = poll(&mut [], at_most.as_ref());
            return Waited::Done;
        }
        let mut terminals = [PollFd::new(&self.terminal, PollFlags::IN)];
        let is_gone = poll(&mut terminals, at_most.as_ref()).is_ok()
            && terminals[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        match (self.heed_signals(), is_gone) {
            (true, _) => Waited::Resumed,
            (false, true) => Waited::Gone,
            (false, false) => Waited::Done,
        }
    }

    fn close(&mut self) {
        self.is_suspended = false;
        if std::mem::take(&mut self.marks_pastes) {
            let _ = rustix::io::write(&self.terminal, PASTES_PLAIN);
        }
        if let Some(before) = self.before.take() {
            // Keys pressed for a question that is gone are not for the shell either.
            if !self.keeps_typed {
                let _ = tcflush(&self.terminal, QueueSelector::IFlush);
            }
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &before);
        }
        self.set_calm(true);
    }

    fn read(&mut self) -> Vec<u8> {
        self.heed_signals();
        if self.is_suspended {
            // Whoever asks goes on asking after a stop.
            self.take_keys(self.keeps_typed);
        }
        let mut bytes = vec![0; READ_BYTES];
        let mut count = 0;
        if self.keeps_typed {
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
}

impl<T: AsFd> Drop for TerminalKeyboard<T> {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(parts: &[&[u8]]) -> Vec<Key> {
        let mut keys = Keys::default();
        parts.iter().flat_map(|part| keys.decode(part)).collect()
    }

    #[test]
    fn keys_are_told_apart() {
        let expected = [
            Key::Character('y'),
            Key::Enter,
            Key::Backspace,
            Key::EraseLine,
            Key::End,
            Key::Character('ü'),
            Key::Escape,
        ];
        assert_eq!(keys(&[b"y\r\x7f\x15\x04", "ü".as_bytes(), b"\x1b"]), expected);
    }

    #[test]
    fn a_character_that_comes_in_parts_is_one() {
        let [first, second, third] = "日".as_bytes() else { panic!() };
        assert_eq!(keys(&[&[*first], &[*second], &[*third]]), [Key::Character('日')]);
        assert_eq!(keys(&[b"\xff\xfey", b"n"]), [Key::Character('n')], "no text, no key");
    }

    #[test]
    fn no_part_of_an_arrow_or_of_alt_counts() {
        assert_eq!(keys(&[b"\x1b[A\x1bOPy\x1b[1;5Cn"]), [Key::Character('y'), Key::Character('n')]);
        assert_eq!(keys(&[b"\x1by", b"\x01\x02"]), []);
    }
}

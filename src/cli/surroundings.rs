//! What does a command see of its process? Streams, environment, Ctrl-C; all replaceable, so that tests drive
//! whole commands.

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal, Read, Write},
    os::fd::AsFd,
    path::PathBuf,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use signal_hook::{consts::SIGINT, iterator::Signals};

use super::{
    failure::CommandFailure,
    keyboard::{KeyboardInput, TerminalKeyboard},
    paragraphs, safe_text,
    text_color::TextColor,
};
use protocol::WorkspaceParam;

/// Looks up an environment variable.
pub type EnvironmentLookup = Box<dyn Fn(&str) -> Option<OsString>>;

/// How often Ctrl-C was pressed since the last call. The first call takes it over: until then it ends the
/// process, as everywhere.
pub type InterruptCounter = Box<dyn FnMut() -> u32>;

/// Time since any fixed moment; never jumps back.
pub type MonotonicClock = Box<dyn Fn() -> Duration>;

/// So long a person waits without wondering; nearly every answer is there sooner.
const SILENCE: Duration = Duration::from_secs(3);

/// The process around a command.
pub struct ProcessIo {
    pub stdin: InputStream,
    /// Results, and nothing else.
    pub stdout: OutputWriter,
    /// Progress, questions, errors.
    pub stderr: OutputWriter,
    pub environment: EnvironmentLookup,
    pub working_folder: PathBuf,
    /// Path of the running program; the daemon is looked for beside it.
    pub own_program: Option<PathBuf>,
    pub interrupts: InterruptCounter,
    /// Of whoever sits there, if somebody does.
    pub keyboard: Box<dyn KeyboardInput>,
    /// Which terminal the person sits at, e.g. `pts/3`; `None` when they sit at none.
    pub terminal_name: Option<String>,
    /// Tells what was typed for a question from what was typed before it.
    pub clock: MonotonicClock,
    /// How long the daemon may take to answer before whoever waits is told why.
    pub silence: Duration,
}

impl ProcessIo {
    /// The real ones.
    pub fn of_this_process() -> ProcessIo {
        let (stdout_is_terminal, stderr_is_terminal) =
            (io::stdout().is_terminal(), io::stderr().is_terminal());
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let may_color = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && !is_dumb;
        let columns = env::var("COLUMNS").ok();
        ProcessIo {
            stdin: InputStream { is_terminal: io::stdin().is_terminal(), reader: Box::new(io::stdin()) },
            stdout: OutputWriter {
                is_terminal: stdout_is_terminal,
                has_color: stdout_is_terminal && may_color,
                is_live: stdout_is_terminal && !is_dumb,
                width: stdout_is_terminal.then(|| columns_of(io::stdout(), columns.as_deref())),
                is_for_programs: false,
                writer: Box::new(io::stdout()),
            },
            stderr: OutputWriter {
                is_terminal: stderr_is_terminal,
                has_color: stderr_is_terminal && may_color,
                is_live: stderr_is_terminal && !is_dumb,
                width: stderr_is_terminal.then(|| columns_of(io::stderr(), columns.as_deref())),
                is_for_programs: false,
                writer: Box::new(io::stderr()),
            },
            environment: Box::new(|name| env::var_os(name)),
            // Only commands that need a folder find out that there is none.
            working_folder: env::current_dir().unwrap_or_default(),
            own_program: env::current_exe().ok(),
            interrupts: interrupts_of_this_process(),
            keyboard: Box::new(TerminalKeyboard::new(io::stdin(), Box::new(columns_of_stderr))),
            terminal_name: terminal_of_stderr(),
            clock: clock_of_this_process(),
            silence: SILENCE,
        }
    }
}

/// Goes on while the machine sleeps: what is read after that was not typed just now.
fn clock_of_this_process() -> MonotonicClock {
    Box::new(|| {
        let now = clock_gettime(ClockId::Boottime);
        // Neither is ever negative: it counts from the machine's start.
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(now.tv_nsec).unwrap_or_default())
    })
}

fn terminal_of_stderr() -> Option<String> {
    let name = io::stderr().is_terminal().then(|| std::fs::read_link("/proc/self/fd/2"))?.ok()?;
    Some(name.strip_prefix("/dev").ok()?.to_str()?.to_owned())
}

fn columns_of_stderr() -> Option<usize> {
    io::stderr().is_terminal().then(|| columns_of(io::stderr(), env::var("COLUMNS").ok().as_deref()))
}

impl ProcessIo {
    /// Whether somebody sits there who can be asked: they see what is asked, and can type.
    pub(super) fn has_person(&self) -> bool {
        self.stdin.is_terminal && self.stderr.is_terminal
    }

    /// Where the person stands, as a workspace whose agents count too; `None` when its path cannot be told.
    pub(super) fn workspace(&self) -> Option<WorkspaceParam> {
        self.working_folder.to_str().map(|path| WorkspaceParam::Path(path.to_owned()))
    }
}

/// What a terminal has when nobody says.
const USUAL_COLUMNS: usize = 80;

/// Columns of a terminal: as `COLUMNS` says, else as the terminal does (`TIOCGWINSZ`).
fn columns_of(terminal: impl AsFd, columns: Option<&str>) -> usize {
    let wanted = columns.and_then(|text| text.parse().ok()).filter(|columns| 0 < *columns);
    // One that does not know says 0.
    let own = || rustix::termios::tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col));
    wanted.or_else(own).filter(|columns| 0 < *columns).unwrap_or(USUAL_COLUMNS)
}

fn interrupts_of_this_process() -> InterruptCounter {
    let mut signals: Option<Signals> = None;
    Box::new(move || {
        if signals.is_none() {
            // When the system refuses the handler, Ctrl-C keeps ending the process: worse, but not wrong.
            signals = Signals::new([SIGINT]).ok();
        }
        let pending = signals.as_mut().map_or(0, |signals| signals.pending().count());
        u32::try_from(pending).unwrap_or(u32::MAX)
    })
}

/// Where a command reads from.
pub struct InputStream {
    pub reader: Box<dyn Read>,
    pub is_terminal: bool,
}

/// Where a command writes to.
pub struct OutputWriter {
    pub writer: Box<dyn Write>,
    pub is_terminal: bool,
    /// Colours are wanted (`NO_COLOR`, `TERM=dumb`, `--color`).
    pub has_color: bool,
    /// The cursor can be moved: spinners and streamed text make sense.
    pub is_live: bool,
    /// Columns of the terminal; `None` = no terminal, so nothing is cut.
    pub width: Option<usize>,
    /// Whoever asked reads JSON: words for people are left out, and an error is an object.
    pub is_for_programs: bool,
}

impl OutputWriter {
    /// Writes and flushes. A reader that went away (`| head`) ends the command quietly.
    pub(super) fn write(&mut self, text: &str) -> Result<(), CommandFailure> {
        self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush()).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::BrokenPipe => CommandFailure::PipeClosed,
            _ => CommandFailure::new(format!("cannot write the output: {error}"))
                .or_hint("see that there is room where it goes"),
        })
    }

    /// Writes lines for people; a terminal gets no control characters of others, and no line that is wider than it is.
    pub(super) fn write_text(&mut self, text: &str) -> Result<(), CommandFailure> {
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        match self.is_terminal {
            true => self.write_drawn(&format!("{}{newline}", safe_text::lines(text))),
            false => self.write(&format!("{text}{newline}")),
        }
    }

    /// Writes lines that were drawn for people and are harmless already; on a terminal none is wider than it is.
    pub(super) fn write_drawn(&mut self, text: &str) -> Result<(), CommandFailure> {
        self.write(&paragraphs::filled(text, self.width))
    }

    /// Writes lines that are read by their letters, or copied: as [`write_text`](Self::write_text), but a terminal breaks them
    /// itself.
    pub(super) fn write_exactly(&mut self, text: &str) -> Result<(), CommandFailure> {
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        match self.is_terminal {
            true => self.write(&format!("{}{newline}", safe_text::lines(text))),
            false => self.write(&format!("{text}{newline}")),
        }
    }

    /// Writes one JSON text and a newline; a terminal gets it with every control character escaped.
    pub(super) fn write_json(&mut self, json: &str) -> Result<(), CommandFailure> {
        match self.is_terminal {
            true => self.write(&format!("{}\n", safe_text::json(json))),
            false => self.write(&format!("{json}\n")),
        }
    }

    /// The same for what was read, drawn for a person.
    pub(super) fn write_json_of(&mut self, value: &impl Serialize) -> Result<(), CommandFailure> {
        let json = serde_json::to_string_pretty(value).map_err(|error| {
            CommandFailure::new(format!("the answer cannot be written as JSON: {error}"))
                .or_hint("`subagent rpc METHOD` prints any answer as it is")
        })?;
        self.write_json(&json)
    }

    /// The text in this colour, where colours are wanted.
    pub(super) fn paint(&self, ink: TextColor, text: &str) -> String {
        if self.has_color { ink.paint(text) } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};

    use rustix::{
        pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
        termios::{Winsize, tcsetwinsize},
    };

    use super::*;

    #[test]
    fn the_terminal_says_how_wide_it_is_unless_columns_does() {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let terminal = OpenOptions::new().read(true).write(true).open(path.to_str().unwrap()).unwrap();
        let size = |ws_col| Winsize { ws_row: 24, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size(137)).unwrap();
        assert_eq!(columns_of(&terminal, None), 137);
        assert_eq!(columns_of(&terminal, Some("61")), 61);
        for nonsense in ["", "wide", "0", "-3"] {
            assert_eq!(columns_of(&terminal, Some(nonsense)), 137, "{nonsense}");
        }
        tcsetwinsize(&terminal, size(0)).unwrap();
        assert_eq!(columns_of(&terminal, None), USUAL_COLUMNS);
        assert_eq!(columns_of(File::open("/dev/null").unwrap(), None), USUAL_COLUMNS);
    }
}

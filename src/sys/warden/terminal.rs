//! A terminal for a command that wants one.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::OwnedFd,
};

use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::TerminalSize;

/// The side of a terminal that its screen would be on.
pub struct TerminalScreen {
    side: File,
}

impl TerminalScreen {
    /// A new terminal: its screen, and the side that the command gets.
    pub fn open(size: TerminalSize) -> io::Result<(TerminalScreen, OwnedFd)> {
        let side = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&side)?;
        unlockpt(&side)?;
        let name = ptsname(&side, Vec::new())?;
        let command = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&side, size)?;
        Ok((TerminalScreen { side: File::from(side) }, command))
    }

    /// Puts out all that is written on the terminal, until nobody has its other side. Blocks.
    pub fn show(mut self) {
        let mut out = io::stdout().lock();
        let mut piece = [0; 16 << 10];
        loop {
            match self.side.read(&mut piece) {
                // Closed: Linux says so with an error.
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    if out.write_all(&piece[..length]).and_then(|()| out.flush()).is_err() {
                        break;
                    }
                }
            }
        }
    }
}

//! How does a person type a text at a terminal? The parts that know no terminal: bytes become strokes, strokes a text, a text
//! rows on a screen; and a line as the terminal itself reads it, where the cursor cannot be moved.

pub(super) mod drawing;
pub(super) mod line;
pub(super) mod strokes;

use std::io::Read as _;

use super::{InputStream, OutputWriter, failure::CommandFailure};

/// One line, behind its label; `None` at the end of the input.
pub(super) fn read_plainly(
    label: &str,
    stdin: &mut InputStream,
    stderr: &mut OutputWriter,
) -> Result<Option<String>, CommandFailure> {
    stderr.write(label)?;
    let mut bytes = Vec::new();
    let mut byte = [0];
    loop {
        match stdin.reader.read(&mut byte) {
            Ok(0) if bytes.is_empty() => {
                stderr.write("\n")?;
                return Ok(None);
            }
            Ok(1) if byte != *b"\n" && bytes.len() < line::INPUT_MAX => bytes.push(byte[0]),
            Ok(_) => return Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            // Ctrl-C takes back what the terminal had of the line.
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => bytes.clear(),
            Err(_) => return Ok(None),
        }
    }
}

//! How does a person agree to what cannot be taken back by a key?

use std::io::{BufRead as _, BufReader, Read as _};

use super::{Surroundings, failure::Failure, safe_text};

/// Bytes of an answer that are read: a word.
const ANSWER_BYTES: u64 = 1 << 10;

/// Goes on when the person says yes. The end of the input, a pipe and any other word say no; `how` tells how one says yes.
pub(super) fn confirm(question: &str, how: &str, surroundings: &mut Surroundings) -> Result<(), Failure> {
    // What was typed before it was asked is no answer to it.
    let is_at_hand = surroundings.has_person() && surroundings.keyboard.open();
    surroundings.keyboard.close();
    if !is_at_hand {
        return Err(Failure::usage("nobody can be asked here")
            .or_hint("read what is listed, then give --yes; or run it on a terminal"));
    }
    let text = format!("{} [y/N] ", safe_text::line(question, usize::MAX));
    surroundings.stderr.write(&text)?;
    let mut answer = String::new();
    let read = BufReader::new(surroundings.stdin.reader.by_ref().take(ANSWER_BYTES)).read_line(&mut answer);
    let is_yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    if read.is_ok() && is_yes {
        return Ok(());
    }
    Err(Failure::new("nothing was changed").or_hint(how))
}

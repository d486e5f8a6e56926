//! How does a person agree to what holds longer than a call, or cannot be taken back by a key?

use super::{OutputWriter, ProcessIo, failure::CommandFailure, prompter::FormPrompter, safe_text, width};

/// What sets off the later rows of what is asked.
const MARGIN: &str = "  ";

/// What is asked, in rows that are as wide as the terminal: none begins with words of others.
pub(super) fn rows(question: &str, stderr: &OutputWriter) -> Vec<String> {
    let question = safe_text::exact(question);
    let Some(columns) = stderr.width.filter(|_| stderr.is_terminal) else { return vec![question] };
    let rows = width::wrap_words(&question, columns.saturating_sub(MARGIN.len()).max(1));
    let margin = |at: usize| if at == 0 { "" } else { MARGIN };
    rows.iter().enumerate().map(|(at, row)| format!("{}{row}", margin(at))).collect()
}

/// Goes on when the person agrees: by `y`, and then Enter, pressed once the question has stood there. What was typed before
/// or pasted, the end of the input, a pipe and any other key do not; `how` tells how one agrees.
pub(super) fn confirm(question: &str, how: &str, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    if !surroundings.has_person() {
        return Err(CommandFailure::usage("nobody can be asked here")
            .or_hint("read what is listed, then give --yes; or run it on a terminal"));
    }
    let question = rows(question, &surroundings.stderr).join("\n");
    if FormPrompter::of(surroundings).agrees(&question)? {
        return Ok(());
    }
    Err(CommandFailure::new("nothing was changed").or_hint(how))
}

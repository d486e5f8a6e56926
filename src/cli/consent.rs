//! How does a person agree to what holds longer than a call, or cannot be taken back by a key?

use super::{ProcessIo, failure::CommandFailure, prompter::FormPrompter, safe_text};

/// Goes on when the person agrees: by `y`, and then Enter, pressed once the question has stood there. What was typed before
/// or pasted, the end of the input, a pipe and any other key do not; `how` tells how one agrees.
pub(super) fn confirm(question: &str, how: &str, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    if !surroundings.has_person() {
        return Err(CommandFailure::usage("nobody can be asked here")
            .or_hint("read what is listed, then give --yes; or run it on a terminal"));
    }
    let question = safe_text::line(question, usize::MAX);
    if FormPrompter::of(surroundings).agrees(&question)? {
        return Ok(());
    }
    Err(CommandFailure::new("nothing was changed").or_hint(how))
}

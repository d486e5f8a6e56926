//! `finalReminder`: what must not be forgotten at the end of a long prompt?

use super::PromptFacts;

pub(super) fn text(facts: &PromptFacts) -> String {
    let go_on = match facts.is_interactive {
        true => "Go on until the request is resolved, or until only the person can decide.",
        false => "Go on until the task is done.",
    };
    format!(
        "# Last\n\
         Never assume what a file contains: read it. Never report as done or as verified what is not. {go_on}"
    )
}

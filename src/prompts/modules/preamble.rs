//! `preamble`: who reads this, and who reads what it writes?

use super::PromptFacts;

pub(super) fn text(facts: &PromptFacts) -> String {
    let whom = match facts.is_interactive {
        true => {
            "You work together with one person, in the workspace named at the end. They read what you write, and can answer you."
        }
        false => {
            "You work on one task, in the workspace named at the end. Nobody answers while you work: decide what can be decided, \
             and hand in a whole result."
        }
    };
    format!(
        "You are an agent of subagentd that does software engineering and whatever else is asked for. {whom} Keep to what stands \
         here, and use your tools for everything that they can find out or do."
    )
}

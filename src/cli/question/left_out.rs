//! Which parts of a question did the daemon leave out, so that nobody can allow here what it asks?

use super::{ConfirmationView, Details};
use crate::ids;

impl ConfirmationView {
    /// The parts that every daemon says and this one does not, in words. What is left out is not nothing: it might be what a
    /// person would not allow.
    fn left_out(&self) -> Vec<&'static str> {
        [
            // One about the run itself is of no tool.
            (self.tool_call_id.is_some() && self.tool.is_empty(), "its tool"),
            (self.path.is_empty(), "who asks"),
            (self.risk.is_empty(), "its risk"),
            (self.title.is_empty(), "its title"),
            (self.rule.is_empty() || self.reason.is_none(), "why it is asked"),
            (!Details::are_whole(&self.details), "its details"),
            (self.digest.is_empty(), "its digest"),
            (self.options.is_empty(), "the answers it takes"),
        ]
        .into_iter()
        .filter_map(|(is_left_out, part)| is_left_out.then_some(part))
        .collect()
    }

    /// The reason why it cannot be allowed here, if there is one.
    pub(crate) fn bars_consent(&self) -> Option<String> {
        let left_out = self.left_out();
        (!left_out.is_empty()).then(|| {
            let id = ids::shortest(self.confirmation_id.as_str());
            format!(
                "the daemon's answer does not say all of question {id} ({} missing): here it can only be denied; another client may allow it",
                left_out.join(", ")
            )
        })
    }
}

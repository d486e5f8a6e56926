//! Texts that are said to a run while it works: by whom, and whether its agent was told them.

use super::{super::EventMoment, OpenRun};
use crate::text;

/// The event of which hooks are told about such a text.
const PROMPT: &str = "UserPromptSubmit";

impl OpenRun {
    pub(super) fn steered(&mut self, moment: EventMoment<'_>) {
        let said = moment.facts.text("text").unwrap_or_default();
        if moment.facts.has("turn") {
            return self.unread.steered(said);
        }
        let by = moment.event.head.by.as_deref().map(text::person);
        self.note(moment, &by.map_or_else(|| said.to_owned(), |by| format!("{by}: {said}")));
    }

    /// A hook kept a text from the agent: its firing is named by the run, the event and the text.
    pub(super) fn blocked_steer(&mut self, moment: EventMoment<'_>) {
        let facts = moment.facts;
        let is_block = facts.text("event") == Some(PROMPT) && facts.text("decision") == Some("deny");
        let about = facts.text("firingId").and_then(|id| id.rsplit_once(':'));
        if !is_block || about.is_none_or(|(_, steer)| steer.is_empty()) {
            return;
        }
        let (hook, why) = (facts.word("hookId"), facts.text("reason").map(text::line).unwrap_or_default());
        let why = if why.is_empty() { why } else { format!(": {why}") };
        self.note(moment, &format!("a text was not told to the agent, by the hook {hook}{why}"));
    }
}

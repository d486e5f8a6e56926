//! How is it told which prompts are for an agent?

use serde::Deserialize;

/// A trigger; whatever a daemon does not tell is left out.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ShownTrigger {
    intent: Option<String>,
    keywords: Vec<String>,
    regex: Option<String>,
    priority: i64,
}

impl ShownTrigger {
    /// `debug: bug, crash, or /fix.*test/ · priority 10`
    pub(super) fn describe(&self) -> String {
        let keywords = Some(self.keywords.join(", ")).filter(|keywords| !keywords.is_empty());
        let regex = self.regex.as_ref().map(|regex| format!("/{regex}/"));
        let fits: Vec<String> = keywords.into_iter().chain(regex).collect();
        let intent = self.intent.as_ref().map(|intent| format!("{intent}: ")).unwrap_or_default();
        format!("{intent}{} · priority {}", fits.join(", or "), self.priority)
    }
}

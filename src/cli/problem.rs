//! How is a mistake in a file told?

use std::fmt;

use serde::Deserialize;

use super::{
    OutputWriter, failure::CommandFailure, link::DaemonCallError, message::show_message,
    text_color::TextColor,
};

/// A mistake in a file of settings, rules or agents; whatever a daemon does not tell is left out.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct FileProblemView {
    path: String,
    line: Option<u64>,
    column: Option<u64>,
    severity: String,
    message: String,
    fix: Option<String>,
}

impl FileProblemView {
    /// A severity that is not known counts as the worst.
    pub(super) fn is_error(&self) -> bool {
        self.severity != "warning"
    }

    /// The place, if it is in one of these files.
    pub(super) fn place_in(&self, files: &[String]) -> Option<String> {
        files.contains(&self.path).then(|| self.place())
    }

    /// `/c/settings.json:3:7`
    fn place(&self) -> String {
        let numbers = [self.line, self.column].into_iter().flatten().map(|number| format!(":{number}"));
        self.path.clone() + &numbers.collect::<String>()
    }

    pub(super) fn show(&self, stderr: &mut OutputWriter) {
        let (ink, label) = match self.is_error() {
            true => (TextColor::Red, "error"),
            false => (TextColor::Yellow, "warning"),
        };
        show_message(stderr, ink, label, &self.to_string());
    }
}

/// Shows what is wrong with a file that was not taken, each with its line; then what the daemon says.
pub(super) fn refused(error: DaemonCallError, stderr: &mut OutputWriter) -> CommandFailure {
    let refusal = error.refusal();
    let listed = refusal.and_then(|refusal| refusal.details.as_ref()?.get("problems"));
    let problems: Vec<FileProblemView> =
        listed.and_then(|listed| Vec::deserialize(listed).ok()).unwrap_or_default();
    problems.iter().for_each(|problem| problem.show(stderr));
    let own_hint = refusal.and_then(|refusal| refusal.hint.clone());
    match CommandFailure::from(error) {
        CommandFailure::Told { exit_code, what, error, .. } if !problems.is_empty() => {
            let hint = own_hint.or_else(|| Some("fix what is named; nothing was written".to_owned()));
            CommandFailure::Told { exit_code, what, hint, error }
        }
        other => other,
    }
}

impl fmt::Display for FileProblemView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.message)?;
        self.fix.iter().try_for_each(|fix| write!(f, " ({fix})"))
    }
}

//! How is a mistake in a file told?

use std::fmt;

use serde::Deserialize;

use super::{Output, failure::show_message, screen::Ink};

/// A mistake in a file of settings, rules or agents; whatever a daemon does not tell is left out.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Problem {
    path: String,
    line: Option<u64>,
    column: Option<u64>,
    severity: String,
    message: String,
    fix: Option<String>,
}

impl Problem {
    /// A severity that is not known counts as the worst.
    pub(super) fn is_error(&self) -> bool {
        self.severity != "warning"
    }

    pub(super) fn show(&self, stderr: &mut Output) {
        let (ink, label) = match self.is_error() {
            true => (Ink::Red, "error"),
            false => (Ink::Yellow, "warning"),
        };
        show_message(stderr, ink, label, &self.to_string());
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        write!(f, ": {}", self.message)?;
        self.fix.iter().try_for_each(|fix| write!(f, " ({fix})"))
    }
}

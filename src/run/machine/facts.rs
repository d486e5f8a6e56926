//! Facts of a run that nothing but its events changes.

use std::ops::Deref;

use super::{RunConstants, RunFacts};
use protocol::{EventBody, PrivateEventFields};

/// Facts, and the one way to change them.
///
/// Invariant: they follow from the events that were applied, and from nothing else. Whoever holds them can read them, or apply an
/// event; no other part of the machine gets at what is inside.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LoggedFacts(RunFacts);

impl LoggedFacts {
    /// Facts of a run to which nothing has happened yet.
    pub fn begin(terms: RunConstants) -> LoggedFacts {
        LoggedFacts(RunFacts::begin(terms))
    }

    pub fn apply(&mut self, body: &EventBody, private: &PrivateEventFields) {
        self.0.apply(body, private);
    }
}

impl Deref for LoggedFacts {
    type Target = RunFacts;

    fn deref(&self) -> &RunFacts {
        &self.0
    }
}

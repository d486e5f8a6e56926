//! The rules in force, and their changes: one at a time, so that none is lost.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{policy::Policy, protocol::PolicyRule, sys::current::Current};

/// The policy that every call is judged by, also those of runs that have begun.
pub struct Rules {
    current: Current<Policy>,
    changing: Mutex<()>,
}

impl Rules {
    pub fn new(policy: Policy) -> Rules {
        Rules { current: Current::new(policy), changing: Mutex::default() }
    }

    pub fn get(&self) -> Arc<Policy> {
        self.current.get()
    }

    /// A rule was remembered; the log says so already.
    pub fn remember(&self, rule: PolicyRule) {
        self.change(|policy| policy.with(rule));
    }

    /// What is in force becomes something else, made from what it is.
    pub fn change(&self, change: impl FnOnce(&Policy) -> Policy) {
        // Nothing is half done in here, so a poisoned lock guards nothing broken.
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.current.replace(change(&self.current.get()));
    }
}

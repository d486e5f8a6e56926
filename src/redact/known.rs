//! Secrets that the daemon itself has read: keys of providers, secrets of webhooks, its own tokens. Whoever reads one tells it
//! here, and what is in force learns to hide it before it is used.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// Values that are remembered at most. Keys are changed now and then; who changes one more often than that has no key.
const MOST_SECRETS: usize = 1_000;

/// What was read. A cheap handle.
#[derive(Clone, Default)]
pub struct KnownSecrets(Arc<KnownSecretsState>);

#[derive(Default)]
struct KnownSecretsState {
    /// Names by values: one value may be read in many places.
    secrets: Mutex<BTreeMap<String, String>>,
    hide: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KnownSecrets").field("count", &self.secrets().len()).finish()
    }
}

impl KnownSecrets {
    /// What is called whenever there is a new one, before whoever read it goes on. Only the first counts.
    pub fn hide_by(&self, hide: impl Fn() + Send + Sync + 'static) {
        let _first = self.0.hide.set(Box::new(hide));
    }

    /// A secret was read. `name` says what it is for, and is shown in its place.
    pub fn heard(&self, name: &str, secret: &str) {
        let secret = secret.trim();
        let is_new = {
            let mut secrets = self.secrets();
            let is_new = !secret.is_empty() && !secrets.contains_key(secret) && secrets.len() < MOST_SECRETS;
            if is_new {
                secrets.insert(secret.to_owned(), name.to_owned());
            }
            is_new
        };
        if is_new && let Some(hide) = self.0.hide.get() {
            hide();
        }
    }

    /// Names and values, as a [`super::Redactor`] takes them.
    pub fn all(&self) -> Vec<(String, String)> {
        self.secrets().iter().map(|(secret, name)| (format!("{name}_SECRET"), secret.clone())).collect()
    }

    fn secrets(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        // Nothing panics while it is held.
        self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

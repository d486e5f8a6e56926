//! What does the data of an event say? Read field by field: what is missing or of another shape says nothing.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A JSON object, or what should be one.
#[derive(Clone, Copy)]
pub(super) struct EventFacts<'event>(pub(super) &'event Value);

impl<'event> EventFacts<'event> {
    pub(super) fn value(self, key: &str) -> &'event Value {
        self.0.get(key).unwrap_or(&Value::Null)
    }

    pub(super) fn within(self, key: &str) -> EventFacts<'event> {
        EventFacts(self.value(key))
    }

    pub(super) fn has(self, key: &str) -> bool {
        !self.value(key).is_null()
    }

    pub(super) fn text(self, key: &str) -> Option<&'event str> {
        self.value(key).as_str()
    }

    pub(super) fn owned(self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    /// The text, or nothing.
    pub(super) fn word(self, key: &str) -> String {
        self.text(key).unwrap_or_default().to_owned()
    }

    pub(super) fn count(self, key: &str) -> Option<u64> {
        self.value(key).as_u64()
    }

    pub(super) fn flag(self, key: &str) -> bool {
        self.value(key).as_bool().unwrap_or(false)
    }

    pub(super) fn list(self, key: &str) -> &'event [Value] {
        self.value(key).as_array().map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn read<T: DeserializeOwned>(self, key: &str) -> Option<T> {
        self.0.get(key).and_then(|value| T::deserialize(value).ok())
    }
}

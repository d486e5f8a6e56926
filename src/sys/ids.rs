//! Fresh identifiers.

use uuid::Uuid;

/// A new UUIDv7 as text. Ids made by one process sort by the time they were made.
pub fn fresh<Id: From<String>>() -> Id {
    Id::from(Uuid::now_v7().to_string())
}

//! Fresh identifiers.

use uuid::Uuid;

/// A new UUIDv7 as text. Ids made by one process sort by the time they were made.
pub fn fresh<Id: From<String>>() -> Id {
    Id::from(Uuid::now_v7().to_string())
}

/// A random number from 0 to below 1, for jitter. Not for secrets.
pub fn fraction() -> f64 {
    /// The random bits at the end of a UUIDv7 that are used here.
    const BITS: u32 = 32;
    // Cannot lose bits: the mask keeps 32 of them.
    let random = (Uuid::now_v7().as_u128() & ((1 << BITS) - 1)) as u32;
    f64::from(random) / 2f64.powi(32)
}

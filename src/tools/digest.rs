//! Is this the same content as then?

use sha2::{Digest as _, Sha256};

/// SHA-256 as `sha256:<hex>`, as events and definitions carry it.
pub fn of(bytes: &[u8]) -> String {
    finished(Sha256::new_with_prefix(bytes))
}

/// A digest over several parts, which cannot be confused with other parts that read the same in a row.
pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    finished(hasher)
}

fn finished(hasher: Sha256) -> String {
    use std::fmt::Write as _;
    let mut digest = "sha256:".to_owned();
    for byte in hasher.finalize() {
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

//! What is a request called, so that the daemon knows it again when it comes twice? (Spec 01, "Methods".)

use std::{fs::File, io::Read};

use super::failure::CommandFailure;
use protocol::IdempotencyKey;

/// Bytes of chance in a key: as many as in a random UUID, so that no two requests ever share one.
const CHANCE_BYTES: usize = 16;

/// A key that nobody has used before.
pub(super) fn new_key() -> Result<IdempotencyKey, CommandFailure> {
    Ok(IdempotencyKey(format!("subagent-{}", chance(CHANCE_BYTES)?)))
}

/// So many bytes that nobody can guess, as digits.
pub(super) fn chance(bytes: usize) -> Result<String, CommandFailure> {
    let mut chance = vec![0; bytes];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut chance)).map_err(|error| {
        CommandFailure::new(format!("cannot read /dev/urandom: {error}"))
            .or_hint("see that /dev is there, e.g. in a container")
    })?;
    Ok(chance.iter().map(|byte| format!("{byte:02x}")).collect())
}

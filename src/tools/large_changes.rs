//! When is a large file changed? Not beside many others: preparing a change has its content in memory several times.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a file from which on a change of it waits for others.
pub const LARGE_BYTES: u64 = 1 << 20;
/// Kilobytes of such files that are worked on at once: one of the largest that are changed, or some others.
const AT_ONCE: u32 = 24 << 10;

/// Kilobytes of such files that are held between preparing and making changes: before and after one of the largest.
const HELD: u32 = 40 << 10;

/// The turns of large files that are to be changed, in the order in which they were asked for, and the room for those that wait to be. One a
/// daemon; a cheap handle.
#[derive(Debug, Clone)]
pub struct LargeChangeTurns {
    turns: Arc<Semaphore>,
    room: Arc<Semaphore>,
}

/// The turn of a large file, or the room for one. Given back when it is dropped.
#[derive(Debug)]
pub struct LargeChangeHold(#[expect(dead_code, reason = "it is held, not looked at")] OwnedSemaphorePermit);

impl Default for LargeChangeTurns {
    fn default() -> LargeChangeTurns {
        let of = |kilobytes| Arc::new(Semaphore::new(kilobytes as usize));
        LargeChangeTurns { turns: of(AT_ONCE), room: of(HELD) }
    }
}

impl LargeChangeTurns {
    /// Waits until there is room for a file of so many bytes, which is taken until what this answers is dropped. Whoever has it waits for
    /// no other turn and for nobody: it comes back. Cancel safe. `None` = it is no large file, which waits for nothing.
    pub async fn next(&self, bytes: u64) -> Option<LargeChangeHold> {
        if bytes < LARGE_BYTES {
            return None;
        }
        // Nobody closes it.
        let permit = Arc::clone(&self.turns).acquire_many_owned(kilobytes(bytes).min(AT_ONCE)).await.ok();
        permit.map(LargeChangeHold)
    }

    /// Room for so many bytes while a change waits for its turn or a person; `None` = others have it. Nobody waits for it.
    pub fn hold(&self, bytes: u64) -> Option<LargeChangeHold> {
        let permit = Arc::clone(&self.room).try_acquire_many_owned(kilobytes(bytes)).ok();
        permit.map(LargeChangeHold)
    }
}

fn kilobytes(bytes: u64) -> u32 {
    u32::try_from(bytes >> 10).unwrap_or(u32::MAX)
}

//! When is a long command judged? One after the other, so that the other processors are left to whoever waits.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The turns of long commands that are to be judged. One a daemon.
#[derive(Debug, Clone)]
pub struct JudgingTurns(Arc<Semaphore>);

impl Default for JudgingTurns {
    fn default() -> JudgingTurns {
        JudgingTurns(Arc::new(Semaphore::new(1)))
    }
}

impl JudgingTurns {
    /// Waits for the turn, which lasts until what this answers is dropped. Cancel safe. `None` never comes: nobody closes this.
    pub async fn next(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

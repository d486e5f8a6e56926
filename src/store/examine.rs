//! Is the database whole? SQLite looks at every page of it, beside the readers and for as long as somebody waits.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use sqlx::{ConnectOptions as _, Connection as _};

use super::{EventStore, StoreError};

/// Between looks whether somebody still waits, in steps of SQLite's machine: some microseconds.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

impl EventStore {
    /// What is wrong in the database, the first faults of it; none when it is whole. Takes seconds for a large one.
    /// Cancel safe: dropping it ends the work.
    pub async fn examine(&self) -> Result<Vec<String>, StoreError> {
        // A connection of its own, so that nobody waits for a reader meanwhile.
        let options = self.shared.readers.connect_options().as_ref().clone().read_only(true);
        let mut connection = options.connect().await?;
        let waiting = PendingQueryGuard(Arc::new(AtomicBool::new(true)));
        let somebody_waits = Arc::clone(&waiting.0);
        connection
            .lock_handle()
            .await?
            .set_progress_handler(STEPS_BETWEEN_LOOKS, move || somebody_waits.load(Ordering::Relaxed));
        // No more than can be shown.
        let query = sqlx::query_scalar::<_, String>("pragma integrity_check(5)");
        let said = query.fetch_all(&mut connection).await?;
        connection.close().await?;
        drop(waiting);
        Ok(said.into_iter().filter(|line| line != "ok").collect())
    }
}

/// Somebody waits for an answer, until this is dropped.
struct PendingQueryGuard(Arc<AtomicBool>);

impl Drop for PendingQueryGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

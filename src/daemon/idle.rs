//! A daemon that was started by a client ends when nobody has needed it for a while (spec 01, stdio). A question that
//! waits for a person needs it, also while its run is parked: somebody is told of it, and answers.

use std::{sync::Arc, time::Duration};

use super::{client_connections::ClientConnections, daemon_life::DaemonLife};
use run::RunExecutor;
use store::EventStore;

/// Without connections and runs for this long.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(30);

pub(super) async fn watch(
    life: Arc<DaemonLife>,
    store: EventStore,
    executor: RunExecutor,
    clients: Arc<ClientConnections>,
) {
    let mut idle_since = life.clock.monotonic();
    loop {
        tokio::select! {
            () = life.closing.cancelled() => return,
            () = life.clock.sleep(LOOK) => (),
        }
        let now = life.clock.monotonic();
        let is_needed =
            clients.load.connections() != 0 || executor.live_runs() != 0 || has_questions(&store).await;
        if is_needed {
            idle_since = now;
        } else if IDLE <= now.saturating_sub(idle_since) {
            tracing::info!("nobody needed the daemon for {} minutes; it ends", IDLE.as_secs() / 60);
            life.closing.cancel();
            return;
        }
    }
}

/// True if anything waits for a person. Who cannot tell does not end for it.
async fn has_questions(store: &EventStore) -> bool {
    match store.open_confirmations().await {
        Ok(open) => open != 0,
        Err(error) => {
            tracing::warn!(%error, "whether questions are open cannot be read; the daemon stays");
            true
        }
    }
}

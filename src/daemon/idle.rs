//! A daemon that was started by a client ends when nobody has needed it for a while (spec 01, stdio). A question that
//! waits for a person needs it, also while its run is parked: somebody is told of it, and answers.

use std::{sync::Arc, time::Duration};

use super::state::DaemonContext;

/// Without connections and runs for this long.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(30);

pub(super) async fn watch(state: Arc<DaemonContext>) {
    let mut idle_since = state.life.clock.monotonic();
    loop {
        tokio::select! {
            () = state.life.closing.cancelled() => return,
            () = state.life.clock.sleep(LOOK) => (),
        }
        let now = state.life.clock.monotonic();
        let is_needed = state.clients.load.connections() != 0
            || state.executor.live_runs() != 0
            || has_questions(&state).await;
        if is_needed {
            idle_since = now;
        } else if IDLE <= now.saturating_sub(idle_since) {
            tracing::info!("nobody needed the daemon for {} minutes; it ends", IDLE.as_secs() / 60);
            state.life.closing.cancel();
            return;
        }
    }
}

/// True if anything waits for a person. Who cannot tell does not end for it.
async fn has_questions(state: &DaemonContext) -> bool {
    match state.store.open_confirmations().await {
        Ok(open) => open != 0,
        Err(error) => {
            tracing::warn!(%error, "whether questions are open cannot be read; the daemon stays");
            true
        }
    }
}

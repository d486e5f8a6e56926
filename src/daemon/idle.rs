//! A daemon that was started by a client ends when nobody has needed it for a while (spec 01, stdio).

use std::{sync::Arc, time::Duration};

use super::state::State;

/// Without connections and runs for this long.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(30);

pub(super) async fn watch(state: Arc<State>) {
    let mut idle_since = state.clock.monotonic();
    loop {
        tokio::select! {
            () = state.closing.cancelled() => return,
            () = state.clock.sleep(LOOK) => (),
        }
        let now = state.clock.monotonic();
        let is_needed = state.load.connections() != 0 || state.executor.live_runs() != 0;
        if is_needed {
            idle_since = now;
        } else if IDLE <= now.saturating_sub(idle_since) {
            tracing::info!("nobody needed the daemon for {} minutes; it ends", IDLE.as_secs() / 60);
            state.closing.cancel();
            return;
        }
    }
}

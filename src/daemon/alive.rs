//! A daemon says now and then that it is at work, so that the next one knows how long there was none: runs that wait for people write
//! nothing meanwhile.

use std::{sync::Arc, time::Duration};

use super::state::DaemonContext;

/// The most that a trace takes for time without a daemon, though there was one.
pub(super) const PERIOD: Duration = Duration::from_secs(10);

pub(super) async fn keep_saying(state: Arc<DaemonContext>) {
    loop {
        tokio::select! {
            () = state.life.closing.cancelled() => return,
            () = state.life.clock.sleep(PERIOD) => (),
        }
        // Without runs and commands nobody asks.
        if state.executor.live_runs() != 0 || state.programs.commands.background.running() != 0 {
            state.store.note_alive();
        }
    }
}

//! A daemon says now and then that it is at work, so that the next one knows how long there was none: runs that wait for people write
//! nothing meanwhile.

use std::{sync::Arc, time::Duration};

use super::{daemon_life::DaemonLife, program_runtime::ProgramRuntime};
use run::RunExecutor;
use store::EventStore;

/// The most that a trace takes for time without a daemon, though there was one.
pub(super) const PERIOD: Duration = Duration::from_secs(10);

pub(super) async fn keep_saying(
    life: Arc<DaemonLife>,
    store: EventStore,
    executor: RunExecutor,
    programs: Arc<ProgramRuntime>,
) {
    loop {
        tokio::select! {
            () = life.closing.cancelled() => return,
            () = life.clock.sleep(PERIOD) => (),
        }
        // Without runs and commands nobody asks.
        if executor.live_runs() != 0 || programs.commands.background.running() != 0 {
            store.note_alive();
        }
    }
}

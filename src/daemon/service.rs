//! How is the daemon told to systemd, and what does systemd ask of it? (spec 12, "Service")

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{signal::unix::Signal, sync::Mutex};
use tokio_util::sync::CancellationToken;

use super::{
    Daemon,
    daemon_life::DaemonLife,
    reload::{self, SettingsReloader},
};
use store::EventStore;
use sys::{
    clock::Clock,
    systemd::{self, ServiceNotifier},
};

impl Daemon {
    /// Reads the settings anew at each of these signals, and tells the service manager so.
    pub fn reload_on(&self, hangup: Signal, notifier: Arc<ServiceNotifier>) {
        let (reloader, life) = (Arc::clone(&self.reloader), Arc::clone(&self.services.life));
        let hangup = Arc::new(Mutex::new(hangup));
        let reload = move || {
            let services = (Arc::clone(&life), Arc::clone(&reloader));
            reload_on(Arc::clone(&hangup), services, Arc::clone(&notifier))
        };
        self.tasks.connections.keep(
            "what reads the settings at a signal",
            self.tasks.closing.clone(),
            reload,
        );
    }

    /// Tells the service manager that the daemon is alive, as often as it wants to hear it.
    pub fn keep_alive(&self, notifier: Arc<ServiceNotifier>) {
        let (life, store) = (Arc::clone(&self.services.life), self.services.store.clone());
        let watch = move || watch(Arc::clone(&life), store.clone(), Arc::clone(&notifier));
        self.tasks.connections.keep(
            "what tells systemd that the daemon is alive",
            self.tasks.closing.clone(),
            watch,
        );
    }
}

/// Tells the manager; that it cannot be told is worth a line and changes nothing else.
pub(super) fn tell(notifier: &ServiceNotifier, state: systemd::ServiceState) {
    if let Err(error) = notifier.tell(state) {
        tracing::warn!(?state, %error, "the service manager could not be told");
    }
}

/// Reads the settings anew at each SIGHUP, until the daemon ends.
async fn reload_on(
    hangup: Arc<Mutex<Signal>>,
    (life, reloader): (Arc<DaemonLife>, Arc<SettingsReloader>),
    notifier: Arc<ServiceNotifier>,
) {
    // Nobody else listens to it.
    let mut hangup = hangup.lock().await;
    while let Some(Some(())) = life.closing.run_until_cancelled(hangup.recv()).await {
        tell(&notifier, systemd::ServiceState::Reloading);
        if let Err(error) = reload::reload(&reloader, None).await {
            tracing::error!(error = error.message, "the settings could not be read anew; the old ones count");
        }
        // Also when it failed: the daemon is as it was.
        tell(&notifier, systemd::ServiceState::Ready);
    }
}

/// Says at half of the manager's interval that the daemon is alive, as long as it is: one whose writer hangs is
/// better started anew, which loses nothing.
async fn watch(life: Arc<DaemonLife>, store: EventStore, notifier: Arc<ServiceNotifier>) {
    let Some(interval) = notifier.watchdog() else { return };
    let closing = life.closing.clone();
    let alive = || tell(&notifier, systemd::ServiceState::Alive);
    say_alive(&*life.clock, interval / 2, closing, || store.writer_answers(), alive).await;
}

async fn say_alive<F: Future<Output = bool>>(
    clock: &dyn Clock,
    pause: Duration,
    closing: CancellationToken,
    is_alive: impl Fn() -> F,
    say: impl Fn(),
) {
    loop {
        // The answer may take as long as the pause: the manager's interval is then over.
        let answer = async {
            tokio::select! {
                answer = is_alive() => answer,
                () = clock.sleep(pause) => false,
            }
        };
        match closing.run_until_cancelled(answer).await {
            None => return,
            Some(true) => say(),
            Some(false) => tracing::error!("the database's writer does not answer; systemd is told nothing"),
        }
        if closing.run_until_cancelled(clock.sleep(pause)).await.is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use futures_util::FutureExt as _;

    use super::*;
    use protocol::Timestamp;
    use sys::clock::ManualClock;

    #[test]
    fn only_a_daemon_that_answers_says_that_it_is_alive() {
        let clock = ManualClock::starting_at(Timestamp(0));
        let closing = CancellationToken::new();
        let (said, answers) = (AtomicUsize::new(0), AtomicBool::new(true));
        let is_alive = || async {
            if !answers.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            true
        };
        let say = || {
            said.fetch_add(1, Ordering::Relaxed);
        };
        let pause = Duration::from_secs(1);
        let mut watching = Box::pin(say_alive(&*clock, pause, closing.clone(), is_alive, say));
        let mut look = || {
            let ended = (&mut watching).now_or_never().is_some();
            (said.load(Ordering::Relaxed), ended)
        };
        assert_eq!(look(), (1, false));
        assert_eq!(look(), (1, false), "it was said twice in one pause");
        clock.advance(pause);
        assert_eq!(look(), (2, false));
        answers.store(false, Ordering::Relaxed);
        for _ in 0..5 {
            clock.advance(pause);
            assert_eq!(look(), (2, false), "nobody answered, and all the same it was said");
        }
        answers.store(true, Ordering::Relaxed);
        for _ in 0..2 {
            clock.advance(pause);
            look();
        }
        assert!(2 < look().0, "it answers again, and nothing is said");
        closing.cancel();
        assert!(look().1);
    }
}

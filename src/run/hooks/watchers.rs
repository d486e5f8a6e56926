//! Tells hooks what has happened and nobody changes any more: a context was compressed, a run failed, a session was closed. They are
//! told once at most, beside the run, and what came of it stands in the log of the session.

use std::sync::Arc;

use hooks::HookFacts;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    asking::{FiringName, RunHooks, effects_of},
    scene::HookScene,
    session_log::HookLog,
};
use protocol::{DaemonWarning, EventBody};
use redact::Redactor;
use store::EventStore;
use sys::{clock::Clock, tasks::TaskGroup};

/// Tellings under way at once: a hook that never ends must not pile up.
const MOST_TELLINGS: usize = 64;

/// Tells hooks of what has happened. A cheap handle.
#[derive(Clone)]
pub struct HookWatchers {
    log: HookLog,
    /// Ends hooks that are still told when the daemon stops.
    stop: CancellationToken,
    places: Arc<Semaphore>,
}

/// One thing that has happened.
pub struct WatchedFact {
    pub facts: HookFacts,
    /// Names it among those of its event and run.
    pub about: String,
}

impl WatchedFact {
    pub fn new(facts: HookFacts, about: impl ToString) -> WatchedFact {
        WatchedFact { facts, about: about.to_string() }
    }
}

impl HookWatchers {
    pub(crate) fn new(
        store: EventStore,
        clock: Arc<dyn Clock>,
        (tasks, stop): (TaskGroup, CancellationToken),
    ) -> HookWatchers {
        let log = HookLog { store, clock, tasks };
        HookWatchers { log, stop, places: Arc::new(Semaphore::new(MOST_TELLINGS)) }
    }

    /// The log for what hooks say that no run hears.
    pub(crate) fn log(&self) -> &HookLog {
        &self.log
    }

    /// Has them told, in this order; nobody waits for it. Where no hook matches, nothing is done.
    pub fn tell(&self, hooks: &RunHooks, scene: &HookScene, told: Vec<WatchedFact>, redactor: &Redactor) {
        let matching: Vec<WatchedFact> =
            told.into_iter().filter(|it| hooks.may_match(&it.facts, scene)).collect();
        if matching.is_empty() {
            return;
        }
        // What they say is of the session, since the run may be over.
        let (watchers, hooks, scene) =
            (self.clone(), hooks.clone(), HookScene { news: None, ..scene.clone() });
        let redactor = redactor.clone();
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let message = format!("hooks were not told: {MOST_TELLINGS} tellings of others go on already");
            let warning = vec![DaemonWarning { message }.into()];
            let _counted_by_its_group = self
                .log
                .tasks
                .spawn("a warning about hooks", async move { watchers.write(&scene, warning).await });
            return;
        };
        let _counted_by_its_group = self.log.tasks.spawn("hooks that are told", async move {
            let telling = watchers.tell_now(&hooks, &scene, matching, &redactor);
            if watchers.stop.run_until_cancelled(telling).await.is_none() {
                tracing::info!(session = %scene.session, "hooks that were told something were ended");
            }
            drop(place);
        });
    }

    /// The same, and waits until they have been told.
    pub async fn tell_now(
        &self,
        hooks: &RunHooks,
        scene: &HookScene,
        told: Vec<WatchedFact>,
        redactor: &Redactor,
    ) {
        for WatchedFact { facts, about } in told {
            let id = format!("{}:{}:{about}", scene.subject(), facts.event().as_str());
            let name = FiringName { id, attempt: 1, call: None };
            let Some(asked) = hooks.ask(facts, scene, name, (None, redactor)).await else { continue };
            let effects = effects_of(&asked).unread().redacted(redactor);
            let fired = effects.fired.into_iter().map(EventBody::from);
            let warnings = effects.warnings.into_iter().map(|message| DaemonWarning { message }.into());
            self.write(scene, fired.chain(warnings).collect()).await;
        }
    }

    async fn write(&self, scene: &HookScene, bodies: Vec<EventBody>) {
        self.log.write(&scene.session, scene.agent.as_ref(), bodies).await;
    }
}

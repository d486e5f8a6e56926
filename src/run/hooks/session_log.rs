//! Where is it written what hooks said that no run hears? To the log of their session: the run is over, or it happened to none.

use std::sync::Arc;

use hooks::AsyncHookEnd;

use super::super::machine::LateHook;
use protocol::{AgentName, DaemonWarning, EventBody, EventHead, PrivateEventFields, SessionId};
use redact::Redactor;
use store::{EventStore, NewEvent, StoreError};
use sys::{clock::Clock, tasks::TaskGroup};

/// Writes what hooks said to the logs of sessions. A cheap handle.
#[derive(Clone)]
pub struct HookLog {
    pub(super) store: EventStore,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tasks: TaskGroup,
}

impl HookLog {
    pub(super) async fn write(&self, session: &SessionId, agent: Option<&AgentName>, bodies: Vec<EventBody>) {
        let now = self.clock.now();
        let event = |body| NewEvent {
            at: now,
            session: Some(session.clone()),
            run: None,
            context: None,
            head: EventHead { agent: agent.cloned(), ..EventHead::default() },
            body,
            private: PrivateEventFields::default(),
        };
        let bodies = bodies.into_iter().map(event).collect();
        match self.store.append_within(session, bodies).await {
            // A deletion takes all that was said in it.
            Ok(_) | Err(StoreError::SessionGone) => {}
            // They ran: that it cannot be written down harms nobody, but is to be seen.
            Err(error) => {
                tracing::warn!(%session, %error, "what hooks said of what they were told is not in the log");
            }
        }
    }
}

/// The log of one session, for what asynchronous hooks say too late for their run, or beside any.
pub(super) struct LateHookLog {
    pub log: HookLog,
    pub session: SessionId,
    pub agent: Option<AgentName>,
    pub redactor: Redactor,
}

impl LateHookLog {
    /// Writes down how a hook ended. Nobody waits for it.
    pub fn take(&self, end: AsyncHookEnd) {
        // What it would say to the run nobody reads any more.
        let end = AsyncHookEnd { context: None, rewake: None, ..end };
        let LateHook { mut fired, warnings, .. } = LateHook::of(end, String::new(), &self.redactor);
        fired.added = None;
        let warnings = warnings.into_iter().map(|message| DaemonWarning { message }.into());
        let bodies: Vec<EventBody> = [EventBody::from(fired)].into_iter().chain(warnings).collect();
        let (log, session, agent) = (self.log.clone(), self.session.clone(), self.agent.clone());
        let _counted_by_its_group = self.log.tasks.spawn("what an asynchronous hook said last", async move {
            log.write(&session, agent.as_ref(), bodies).await;
        });
    }
}

//! A hook names a session.

use super::RunExecutor;
use protocol::{EventHead, PrivateEventFields, SessionId, SessionState, SessionUpdated};
use store::{NewEvent, StoreError};

impl RunExecutor {
    /// Gives an open session this title, beside whatever goes on in it.
    pub(super) fn name_session(&self, session: SessionId, title: String) {
        let executor = self.clone();
        let _counted_by_its_group = self.shared.tasks.spawn("a session's title", async move {
            // It is a name: that it is missing harms nobody, but is to be seen.
            if let Err(error) = executor.name_session_now(&session, title).await {
                tracing::warn!(%session, %error, "a hook's title for it could not be written down");
            }
        });
    }

    async fn name_session_now(&self, session: &SessionId, title: String) -> Result<(), StoreError> {
        // Whoever closes it has ended the daemon.
        let Ok(_turn) = self.shared.session_changes.acquire().await else { return Ok(()) };
        let store = &self.shared.store;
        let Some(summary) = store.session(session).await? else { return Ok(()) };
        if summary.state != SessionState::Open || summary.title.as_deref() == Some(title.as_str()) {
            return Ok(());
        }
        let system_append = store.system_append(session).await?;
        let body =
            SessionUpdated { title: Some(title), agent: summary.agent, mode: summary.mode, system_append };
        let updated = NewEvent {
            at: self.shared.clock.now(),
            session: Some(session.clone()),
            run: None,
            context: None,
            head: EventHead::default(),
            body: body.into(),
            private: PrivateEventFields::default(),
        };
        store.append(vec![updated]).await.map(drop)
    }
}

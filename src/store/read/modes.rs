//! Whose word is a session's mode?

use protocol::{EventBody, EventSeq, RuleOrigin, RuleOriginSource, SessionId};

use crate::{EventStore, LogFilter, StoreError};

/// Events that are read at once.
const EVENTS_READ: usize = 200;

/// Events that can set a session's mode.
const TYPES: [&str; 3] = ["session.created", "session.updated", "confirmation.resolved"];

impl EventStore {
    /// The one whose word a session's mode is, as the log has it; `None` when there is no such session.
    pub async fn mode_origin(&self, session: &SessionId) -> Result<Option<RuleOrigin>, StoreError> {
        let types = TYPES.iter().map(|name| (*name).to_owned()).collect();
        let filter = LogFilter { types, ..LogFilter::session(session.clone()) };
        let (mut mode, mut origin, mut read_to) = (None, None, EventSeq(0));
        let head = self.head();
        while read_to < head {
            let page = self.page(&filter, read_to, EVENTS_READ).await?;
            for event in &page.events {
                let (set, source, name) = match event.parse()? {
                    Some(EventBody::SessionCreated(data)) if data.mode_of_settings => {
                        (Some(data.mode), RuleOriginSource::Settings, None)
                    }
                    Some(EventBody::SessionCreated(data)) => {
                        (Some(data.mode), RuleOriginSource::Session, None)
                    }
                    Some(EventBody::SessionUpdated(data)) => {
                        (Some(data.mode), RuleOriginSource::Session, None)
                    }
                    Some(EventBody::ConfirmationResolved(data)) => {
                        (data.resolution.mode, RuleOriginSource::Answer, data.resolution.name)
                    }
                    _ => (None, RuleOriginSource::Session, None),
                };
                // A session gets a title by the same event, and keeps its mode.
                if set.is_none() || set == mode {
                    continue;
                }
                mode = set;
                let is_of_settings = source == RuleOriginSource::Settings;
                let by = name.or(event.by()).filter(|_| !is_of_settings);
                origin = Some(RuleOrigin { source, by, at: Some(event.at).filter(|_| !is_of_settings) });
            }
            read_to = page.searched_to;
        }
        Ok(origin)
    }
}

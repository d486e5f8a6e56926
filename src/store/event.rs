//! An event on its way into the log, in it, and out of it.

use std::fmt::Write as _;

use crate::{
    protocol::{ContextId, EventBody, EventHead, Private, RunId, Seq, SessionId, Timestamp},
    store::StoreError,
};

/// An event that has not happened yet: it becomes true when its append is committed.
#[derive(Debug, Clone)]
pub struct NewEvent {
    pub at: Timestamp,
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    pub context: Option<ContextId>,
    pub head: EventHead,
    pub body: EventBody,
    pub private: Private,
}

/// A committed event, read back whole: what a run's machine folds.
#[derive(Debug, Clone)]
pub struct Event {
    pub seq: Seq,
    pub at: Timestamp,
    pub body: EventBody,
    pub private: Private,
}

/// A committed event as bytes: what subscribers get. The envelope is put together once a subscription, since
/// only `prev` differs.
#[derive(Debug, Clone)]
pub struct Stored {
    pub seq: Seq,
    pub at: Timestamp,
    pub kind: Box<str>,
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    /// A JSON object with the other fields of the envelope.
    pub(super) head: Box<str>,
    /// JSON; byte for byte what clients see.
    pub body: Box<str>,
}

impl Stored {
    /// The envelope as JSON. `prev` is the `seq` that was sent before it on the same subscription.
    pub fn envelope(&self, prev: Option<Seq>) -> String {
        let mut out = String::with_capacity(self.body.len() + self.head.len() + 256);
        let _infallible = write!(out, r#"{{"seq":{}"#, self.seq);
        if let Some(prev) = prev {
            let _infallible = write!(out, r#","prev":{prev}"#);
        }
        // Ids and types are ours: UUIDs and fixed words, which need no escaping.
        let _infallible = write!(out, r#","at":"{}","type":"{}""#, self.at, self.kind);
        if let Some(session) = &self.session {
            let _infallible = write!(out, r#","sessionId":"{session}""#);
        }
        if let Some(run) = &self.run {
            let _infallible = write!(out, r#","runId":"{run}""#);
        }
        let head = self.head.trim_start_matches('{').trim_end_matches('}');
        if !head.is_empty() {
            out.push(',');
            // The object's own braces are cut off; a `}` at the end of its last value cannot be cut, since
            // heads hold scalars and lists only.
            out.push_str(head);
        }
        out.push_str(r#","data":"#);
        out.push_str(&self.body);
        out.push('}');
        out
    }

    /// Bytes in memory, for the ring's bound.
    pub(super) fn weight(&self) -> usize {
        size_of::<Stored>() + self.kind.len() + self.head.len() + self.body.len()
    }

    /// The event's typed body; `None` for a type this version does not know.
    pub fn parse(&self) -> Result<Option<EventBody>, StoreError> {
        EventBody::parse(&self.kind, &self.body)
            .map_err(|error| StoreError::Unreadable { seq: self.seq, message: error.to_string() })
    }
}

/// What the writer works on: the bytes, and the typed body for the projections.
#[derive(Debug, Clone)]
pub(super) struct Encoded {
    pub at: Timestamp,
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    pub context: Option<ContextId>,
    pub head: String,
    pub body: EventBody,
    pub body_json: String,
    pub private: Option<String>,
    /// Active time of the run so far; the projections' only look at `private`.
    pub active_us: u64,
    pub parent_run: Option<RunId>,
}

impl Encoded {
    pub fn new(event: NewEvent) -> serde_json::Result<Encoded> {
        let has_private = event.private.active_us != 0
            || event.private.seed.is_some()
            || event.private.message.is_some()
            || event.private.call.is_some()
            || event.private.completion.is_some();
        Ok(Encoded {
            at: event.at,
            session: event.session,
            run: event.run,
            context: event.context,
            head: serde_json::to_string(&event.head)?,
            body_json: event.body.data_json()?,
            body: event.body,
            private: if has_private { Some(serde_json::to_string(&event.private)?) } else { None },
            active_us: event.private.active_us,
            parent_run: event.head.parent_run_id,
        })
    }

    pub fn stored(&self, seq: Seq) -> Stored {
        Stored {
            seq,
            at: self.at,
            kind: self.body.type_name().into(),
            session: self.session.clone(),
            run: self.run.clone(),
            head: self.head.as_str().into(),
            body: self.body_json.as_str().into(),
        }
    }
}

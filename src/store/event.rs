//! An event on its way into the log, in it, and out of it.

use std::fmt::Write as _;

use crate::StoreError;
use protocol::{
    AgentName, ContextId, Envelope, EventBody, EventHead, EventSeq, PrivateEventFields, RunId, SessionId,
    Timestamp,
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
    pub private: PrivateEventFields,
}

/// A committed event, read back whole: what a run's machine folds.
#[derive(Debug, Clone)]
pub struct CommittedEvent {
    pub seq: EventSeq,
    pub at: Timestamp,
    pub run: Option<RunId>,
    pub body: EventBody,
    pub private: PrivateEventFields,
}

/// A committed event as bytes: what subscribers get. The envelope is put together once a subscription, since
/// only `prev` differs.
#[derive(Debug, Clone)]
pub struct StoredEvent {
    pub seq: EventSeq,
    pub at: Timestamp,
    pub kind: Box<str>,
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    /// The run that called this one.
    pub(super) parent: Option<RunId>,
    /// A JSON object with the other fields of the envelope.
    pub(super) head: Box<str>,
    /// JSON; byte for byte what clients see.
    pub body: Box<str>,
}

impl StoredEvent {
    /// The envelope as JSON. `prev` is the `seq` that was sent before it on the same subscription.
    pub fn envelope(&self, prev: Option<EventSeq>) -> String {
        self.envelope_for(prev, None)
    }

    /// The same for one client. `offered`: of a question, whether this client should put up a dialog for it.
    pub fn envelope_for(&self, prev: Option<EventSeq>, offered: Option<bool>) -> String {
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
        if let Some(offered) = offered {
            let _infallible = write!(out, r#","offered":{offered}"#);
        }
        out.push_str(r#","data":"#);
        out.push_str(&self.body);
        out.push('}');
        out
    }

    /// The envelope as a value, with its time to the microsecond; its JSON has milliseconds.
    pub fn to_envelope(&self) -> Result<Envelope, StoreError> {
        let unreadable =
            |error: serde_json::Error| StoreError::Unreadable { seq: self.seq, message: error.to_string() };
        Ok(Envelope {
            seq: Some(self.seq),
            prev: None,
            at: Some(self.at),
            kind: self.kind.to_string(),
            session_id: self.session.clone(),
            run_id: self.run.clone(),
            head: serde_json::from_str(&self.head).map_err(unreadable)?,
            offered: None,
            data: serde_json::from_str(&self.body).map_err(unreadable)?,
        })
    }

    /// True if both are one event of the log.
    pub(super) fn is_same(&self, other: &StoredEvent) -> bool {
        let fields = |it: &StoredEvent| (it.seq, it.at, it.session.clone(), it.run.clone());
        fields(self) == fields(other)
            && self.kind == other.kind
            && self.head == other.head
            && self.body == other.body
    }

    /// The run that called the event's.
    pub fn parent_run(&self) -> Option<&RunId> {
        self.parent.as_ref()
    }

    /// Bytes in memory, for the ring's bound.
    pub(super) fn weight(&self) -> usize {
        size_of::<StoredEvent>() + self.kind.len() + self.head.len() + self.body.len()
    }

    /// The agent whose run the event is about.
    pub fn agent(&self) -> Result<AgentName, StoreError> {
        let unreadable = |message: String| StoreError::Unreadable { seq: self.seq, message };
        let head: EventHead =
            serde_json::from_str(&self.head).map_err(|error| unreadable(error.to_string()))?;
        head.agent.ok_or_else(|| unreadable("the event names no agent".to_owned()))
    }

    /// The client that an event is attributed to.
    pub fn by(&self) -> Option<String> {
        let head: EventHead = serde_json::from_str(&self.head).ok()?;
        head.by
    }

    /// `<runId>#<turn>`, of what happened in a turn.
    pub fn prompt_id(&self) -> Option<String> {
        let head: EventHead = serde_json::from_str(&self.head).ok()?;
        head.prompt_id
    }

    /// The event's typed body; `None` for a type this version does not know.
    pub fn parse(&self) -> Result<Option<EventBody>, StoreError> {
        EventBody::parse(&self.kind, &self.body)
            .map_err(|error| StoreError::Unreadable { seq: self.seq, message: error.to_string() })
    }
}

/// What the writer works on: the bytes, and the typed body for the projections.
#[derive(Debug, Clone)]
pub(super) struct EncodedEvent {
    pub at: Timestamp,
    pub session: Option<SessionId>,
    pub run: Option<RunId>,
    pub context: Option<ContextId>,
    pub head: String,
    pub body: EventBody,
    pub body_json: String,
    /// Active time of the run so far; the projections' only look at `private`.
    pub active_us: u64,
    pub parent_run: Option<RunId>,
}

impl EncodedEvent {
    /// The event and its row.
    pub fn new(event: NewEvent) -> serde_json::Result<(EncodedEvent, EventRow)> {
        let has_private = event.private.active_us != 0
            || event.private.seed.is_some()
            || event.private.message.is_some()
            || event.private.call.is_some()
            || event.private.completion.is_some()
            || event.private.child_usage.is_some()
            || event.private.compaction.is_some();
        let head = serde_json::to_string(&event.head)?;
        let body_json = event.body.data_json()?;
        let private = if has_private { Some(serde_json::to_string(&event.private)?) } else { None };
        let columns = serde_json::to_string(&(
            event.at.0,
            event.body.type_name(),
            &event.session,
            &event.run,
            &event.context,
            &head,
            &body_json,
            &private,
        ))?;
        let encoded = EncodedEvent {
            at: event.at,
            session: event.session,
            run: event.run,
            context: event.context,
            head,
            body_json,
            body: event.body,
            active_us: event.private.active_us,
            parent_run: event.head.parent_run_id,
        };
        Ok((encoded, EventRow { columns }))
    }

    pub fn stored(&self, seq: EventSeq) -> StoredEvent {
        StoredEvent {
            seq,
            at: self.at,
            kind: self.body.type_name().into(),
            session: self.session.clone(),
            run: self.run.clone(),
            parent: self.parent_run.clone(),
            head: self.head.as_str().into(),
            body: self.body_json.as_str().into(),
        }
    }
}

/// An event's row of the table. Perf: whoever asks makes it, so that the one writer only puts rows together.
pub(super) struct EventRow {
    /// The columns after `seq`, as a JSON array.
    columns: String,
}

impl EventRow {
    /// In bytes.
    pub fn bytes(&self) -> usize {
        self.columns.len()
    }

    /// Adds the row to a JSON array that is being written.
    pub fn push_to(&self, rows: &mut String, seq: EventSeq) {
        let separator = if rows.ends_with('[') { "" } else { "," };
        let columns = self.columns.strip_prefix('[').unwrap_or(&self.columns);
        let _infallible = write!(rows, "{separator}[{seq},{columns}");
    }
}

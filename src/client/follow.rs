//! How does a client see every event of a session once, whatever happens to the connection or the daemon?
//! (Spec 01, "Events" and "Delivery".)

use std::{thread, time::Duration};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    CallError, ConnectError, DaemonDialer, FollowError, MonotonicStopwatch, NextEvent, Subscription,
};
use protocol::{
    AgentName, AttachFrom, Envelope, ErrorKind, EventHead, EventSeq, Initialize, InitializeParams,
    RpcMethod as _, RunId, SessionAttach, SessionAttachParams, SessionId,
};

/// How long a lost daemon is waited for. It stops within its grace time of 10 s and starts within another 10;
/// the rest is for a slow machine.
pub const RECONNECT_BOUND: Duration = Duration::from_secs(60);

/// Whoever keeps the daemon running (systemd, a person) gets this long to start it again before we do.
const START_GRACE: Duration = Duration::from_secs(1);

/// Pause between two attempts to connect: short enough that a restart is hardly seen.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// How long the daemon may take to answer an attachment.
const ATTACH_PATIENCE: Duration = Duration::from_secs(10);

/// Gaps in a row, without one new event between them, after which the daemon is considered broken.
const GAPS_IN_A_ROW: u32 = 3;

/// A session being followed. Owns its connection; remembers the last `seq` and goes on from there.
pub struct SessionFollower<'dialer> {
    dialer: &'dialer DaemonDialer,
    /// Said on every connection, so that the daemon knows who is attached; `None` = somebody who cannot be asked.
    introduction: Option<InitializeParams>,
    session_id: SessionId,
    deltas: bool,
    /// Where to begin as long as no event was seen.
    from: AttachFrom,
    /// Invariant: every durable event up to here was handed out, and none after it.
    last: Option<EventSeq>,
    gaps: u32,
    /// `None` while the connection is lost.
    subscription: Option<Subscription>,
    trouble: Option<ConnectionTrouble>,
}

/// The connection was lost and has brought nothing since, though it may be back.
struct ConnectionTrouble {
    since: MonotonicStopwatch,
    /// What the latest attempt to start a daemon said.
    start_error: Option<ConnectError>,
}

/// What waiting for the next event came to.
#[derive(Debug)]
pub enum FollowStep {
    Event(Box<FollowedEvent>),
    /// Nothing within the time, or a signal woke us.
    Quiet,
    /// The connection is gone; the next steps try to get it back.
    Lost,
    /// It is back, with nothing missed. `started`: by starting a daemon.
    Back {
        started: bool,
    },
}

/// One envelope, read and as it was sent.
#[derive(Debug)]
pub struct FollowedEvent {
    pub envelope: Envelope,
    pub raw: Box<RawValue>,
}

impl<'dialer> SessionFollower<'dialer> {
    /// Attaches to a session of a daemon that is there, as nobody in particular.
    pub fn attach(
        dialer: &'dialer DaemonDialer,
        session_id: SessionId,
        from: AttachFrom,
        deltas: bool,
    ) -> Result<SessionFollower<'dialer>, FollowError> {
        SessionFollower::attach_as(None, dialer, session_id, from, deltas)
    }

    /// The same for a client that says who it is.
    pub fn attach_as(
        introduction: Option<InitializeParams>,
        dialer: &'dialer DaemonDialer,
        session_id: SessionId,
        from: AttachFrom,
        deltas: bool,
    ) -> Result<SessionFollower<'dialer>, FollowError> {
        let last = match from {
            AttachFrom::Seq(seq) => Some(seq),
            AttachFrom::Word(_) => None,
        };
        let (subscription, trouble) = (None, None);
        let mut follow = SessionFollower {
            dialer,
            introduction,
            session_id,
            deltas,
            from,
            last,
            gaps: 0,
            subscription,
            trouble,
        };
        follow.reconnect(RETRY_PAUSE)?;
        Ok(follow)
    }

    /// The session that is followed.
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// Waits about `wait` at most. Each durable event is handed out exactly once, in order; deltas may overlap
    /// after a reconnect, which their offsets show.
    pub fn next(&mut self, wait: Duration) -> Result<FollowStep, FollowError> {
        let Some(subscription) = &mut self.subscription else { return self.reconnect(wait) };
        match subscription.next(wait) {
            NextEvent::Event(raw) => {
                self.trouble = None;
                self.take(raw)
            }
            NextEvent::Quiet => {
                self.trouble = None;
                Ok(FollowStep::Quiet)
            }
            NextEvent::Closed => {
                self.subscription = None;
                if let Some(trouble) = &self.trouble {
                    // It came back only to go again: no hurry, and the bound keeps counting.
                    let waited = trouble.since.elapsed();
                    if waited >= RECONNECT_BOUND {
                        let socket = self.dialer.socket().to_owned();
                        return Err(FollowError::Lost {
                            waited,
                            last: ConnectError::NobodyListens { socket },
                        });
                    }
                    thread::sleep(wait.min(RETRY_PAUSE));
                    return Ok(FollowStep::Quiet);
                }
                Ok(FollowStep::Lost)
            }
        }
    }

    fn take(&mut self, raw: Box<RawValue>) -> Result<FollowStep, FollowError> {
        let envelope = match read_envelope(&raw) {
            Ok(envelope) => envelope,
            Err(error) => {
                let method = "session/attach".to_owned();
                return Err(FollowError::Call(CallError::Unreadable { method, error: error.to_string() }));
            }
        };
        if envelope.kind == "signal.snapshot" {
            // The first event after a snapshot has its `seq` as `prev`.
            self.last = snapshot_seq(&envelope.data).or(self.last);
        }
        let Some(seq) = envelope.seq else { return Ok(event(envelope, raw)) };
        if let Some(last) = self.last {
            if seq <= last {
                return Ok(FollowStep::Quiet);
            }
            if let Some(prev) = envelope.prev.filter(|prev| *prev != last) {
                return self.resubscribe(last, prev);
            }
        }
        self.last = Some(seq);
        self.gaps = 0;
        Ok(event(envelope, raw))
    }

    /// Events are missing: what came is dropped and everything after the last good one is asked for again.
    fn resubscribe(&mut self, last: EventSeq, prev: EventSeq) -> Result<FollowStep, FollowError> {
        self.gaps += 1;
        if self.gaps > GAPS_IN_A_ROW {
            return Err(FollowError::Gap { last, prev });
        }
        self.subscription = None;
        self.reconnect(RETRY_PAUSE)?;
        Ok(FollowStep::Quiet)
    }

    fn reconnect(&mut self, wait: Duration) -> Result<FollowStep, FollowError> {
        let trouble = self.trouble.get_or_insert_with(|| ConnectionTrouble {
            since: MonotonicStopwatch::start(),
            start_error: None,
        });
        let waited = trouble.since.elapsed();
        let mut started = false;
        let mut outcome = self.dialer.connect();
        // A daemon that was told to stop takes its socket away, one that died leaves it: what a person stopped is not
        // started again behind their back.
        let has_died = self.dialer.socket().exists();
        let may_start = self.dialer.starter().is_some() && waited >= START_GRACE && has_died;
        if may_start && matches!(outcome, Err(ConnectError::NobodyListens { .. })) {
            outcome = self.dialer.start();
            started = outcome.is_ok();
        }
        let mut client = match outcome {
            Ok(client) => client.with_patience(ATTACH_PATIENCE),
            Err(error) if waited >= RECONNECT_BOUND => {
                return Err(FollowError::Lost { waited, last: trouble.start_error.take().unwrap_or(error) });
            }
            Err(error) => {
                if !matches!(error, ConnectError::NobodyListens { .. }) {
                    trouble.start_error = Some(error);
                }
                thread::sleep(wait.min(RETRY_PAUSE));
                return Ok(FollowStep::Quiet);
            }
        };
        let from = self.last.map_or(self.from, AttachFrom::Seq);
        let attach = SessionAttachParams::new(self.session_id.clone(), from);
        let params = SessionAttachParams { deltas: self.deltas, ..attach };
        let introduced = match &self.introduction {
            Some(introduction) => client.call_raw(Initialize::NAME, introduction).map(drop),
            None => Ok(()),
        };
        match introduced.and_then(|()| client.subscribe::<SessionAttach>(&params)) {
            Ok(subscription) => {
                self.subscription = Some(subscription);
                Ok(FollowStep::Back { started })
            }
            // It is stopping, or stopped while we asked: its successor is waited for.
            Err(error) if is_passing(&error) && waited < RECONNECT_BOUND => {
                thread::sleep(wait.min(RETRY_PAUSE));
                Ok(FollowStep::Quiet)
            }
            Err(error) => Err(FollowError::Call(error)),
        }
    }
}

fn event(envelope: Envelope, raw: Box<RawValue>) -> FollowStep {
    FollowStep::Event(Box::new(FollowedEvent { envelope, raw }))
}

fn is_passing(error: &CallError) -> bool {
    match error {
        CallError::Closed | CallError::NoAnswer { .. } => true,
        CallError::Refused(refusal) => refusal.retryable || refusal.is(ErrorKind::ShuttingDown),
        CallError::TooLarge { .. } | CallError::Unreadable { .. } => false,
    }
}

fn snapshot_seq(data: &Value) -> Option<EventSeq> {
    data.get("seq").and_then(Value::as_i64).map(EventSeq)
}

/// Reads an envelope. One with a value that only a newer daemon knows keeps what this client needs of it.
fn read_envelope(raw: &RawValue) -> serde_json::Result<Envelope> {
    serde_json::from_str(raw.get()).or_else(|_| {
        let plain: PlainEnvelope = serde_json::from_str(raw.get())?;
        let head = EventHead {
            parent_run_id: plain.parent_run_id,
            agent: plain.agent,
            agent_path: plain.agent_path,
            ..EventHead::default()
        };
        Ok(Envelope {
            seq: plain.seq,
            prev: plain.prev,
            at: serde_json::from_value(plain.at).unwrap_or_default(),
            kind: plain.kind,
            session_id: plain.session_id,
            run_id: plain.run_id,
            head,
            offered: plain.offered,
            data: plain.data,
        })
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainEnvelope {
    #[serde(default)]
    seq: Option<EventSeq>,
    #[serde(default)]
    prev: Option<EventSeq>,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    session_id: Option<SessionId>,
    #[serde(default)]
    run_id: Option<RunId>,
    #[serde(default)]
    parent_run_id: Option<RunId>,
    #[serde(default)]
    agent: Option<AgentName>,
    #[serde(default)]
    agent_path: Vec<AgentName>,
    #[serde(default)]
    offered: Option<bool>,
    #[serde(default)]
    at: Value,
    #[serde(default)]
    data: Value,
}

//! Who is asking? What a handler knows of the connection a request came on.

use std::{
    any::Any,
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use protocol::{ClientId, ClientInfo, ConnectionTransport, SubscriptionId, UnknownField};

/// Unknown fields that a connection remembers having reported. A client that invents more hears nothing of
/// them; it has a defect that the first ones tell as well.
const REMEMBERED_UNKNOWN_FIELDS: usize = 256;

/// How much is open, over all connections. One per daemon, for `daemon/status` and the idle shutdown.
#[derive(Debug, Default)]
pub struct ConnectionLoad {
    connections: AtomicUsize,
    subscriptions: AtomicUsize,
    /// Numbers connections, so that logs can tell them apart.
    numbered: AtomicU64,
}

impl ConnectionLoad {
    pub fn new() -> Arc<ConnectionLoad> {
        Arc::default()
    }

    /// Connections that are open now.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Subscriptions that are open now, on all connections.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.load(Ordering::Relaxed)
    }
}

/// The process at the other end, as the kernel names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCredentials {
    pub uid: u32,
    /// Missing where the system does not say.
    pub pid: Option<i32>,
}

/// What a client said of itself in `initialize`.
#[derive(Debug, Clone, PartialEq)]
pub struct IntroducedClient {
    pub client: ClientInfo,
    pub client_id: ClientId,
    /// Unknown parameter fields are errors.
    pub strict: bool,
}

/// The connection a request came on. Cheap to clone; outlives the connection harmlessly.
#[derive(Clone)]
pub struct RpcCaller(Arc<CallerConnection>);

struct CallerConnection {
    number: u64,
    peer: PeerCredentials,
    /// It counts as a connection; a request by HTTP is part of one.
    is_counted: bool,
    load: Arc<ConnectionLoad>,
    said: Mutex<CallerState>,
}

#[derive(Default)]
struct CallerState {
    introduction: Option<IntroducedClient>,
    transport: ConnectionTransport,
    /// The header `traceparent` of a request by HTTP.
    traceparent: Option<String>,
    /// What others keep here, to be dropped when the connection ends.
    kept: Vec<Box<dyn Any + Send + Sync>>,
    subscriptions: HashMap<SubscriptionId, CancellationToken>,
    /// Method and pointer of the unknown fields that were reported.
    unknown_fields: HashSet<(String, String)>,
}

impl RpcCaller {
    pub(super) fn new(peer: PeerCredentials, load: Arc<ConnectionLoad>) -> RpcCaller {
        load.connections.fetch_add(1, Ordering::Relaxed);
        let number = load.numbered.fetch_add(1, Ordering::Relaxed) + 1;
        RpcCaller(Arc::new(CallerConnection { number, peer, is_counted: true, load, said: Mutex::default() }))
    }

    /// Who asks by one request that stands alone: what it says of itself ends with it.
    pub(super) fn passing(
        peer: PeerCredentials,
        load: &Arc<ConnectionLoad>,
        transport: ConnectionTransport,
    ) -> RpcCaller {
        let number = load.numbered.fetch_add(1, Ordering::Relaxed) + 1;
        let said = Mutex::new(CallerState { transport, ..CallerState::default() });
        RpcCaller(Arc::new(CallerConnection {
            number,
            peer,
            is_counted: false,
            load: Arc::clone(load),
            said,
        }))
    }

    /// Notes which span the client says it is in.
    pub(super) fn note_traceparent(&self, traceparent: Option<String>) {
        self.said().traceparent = traceparent;
    }

    /// The span that the client says it is in, as it wrote it; by HTTP alone.
    pub fn traceparent(&self) -> Option<String> {
        self.said().traceparent.clone()
    }

    /// Counts from 1 since the daemon's start.
    pub fn connection(&self) -> u64 {
        self.0.number
    }

    pub fn peer(&self) -> PeerCredentials {
        self.0.peer
    }

    /// How the client's messages are framed.
    pub fn transport(&self) -> ConnectionTransport {
        self.said().transport
    }

    /// Notes how the client's messages turned out to be framed. Lines, until something else is said.
    pub fn speaks(&self, transport: ConnectionTransport) {
        self.said().transport = transport;
    }

    /// Holds something until the connection ends, and drops it then. For what happens once a connection: nothing is
    /// taken out before.
    pub fn keep(&self, kept: impl Send + Sync + 'static) {
        self.said().kept.push(Box::new(kept));
    }

    /// As [`RpcCaller::keep`], of what is kept once a connection: nothing is made when there is one of its type.
    pub fn keep_once<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) {
        let mut said = self.said();
        // Through the box: a box is itself something that can be asked for its type.
        if !said.kept.iter().any(|kept| (**kept).is::<T>()) {
            said.kept.push(Box::new(make()));
        }
    }

    /// Keeps what the client said of itself. The last word counts.
    pub fn introduce(&self, client: ClientInfo, client_id: ClientId, strict: bool) {
        self.said().introduction = Some(IntroducedClient { client, client_id, strict });
    }

    /// `None` for a client that said no `initialize`, e.g. a script.
    pub fn introduction(&self) -> Option<IntroducedClient> {
        self.said().introduction.clone()
    }

    pub(super) fn is_strict(&self) -> bool {
        self.said().introduction.as_ref().is_some_and(|introduction| introduction.strict)
    }

    /// Subscriptions of this connection.
    pub fn subscriptions(&self) -> usize {
        self.said().subscriptions.len()
    }

    /// True if this subscription is one of this connection.
    pub fn holds(&self, subscription: &SubscriptionId) -> bool {
        self.said().subscriptions.contains_key(subscription)
    }

    /// Ends one subscription of this connection; nothing more is sent on it. False when there is none of this
    /// name here.
    pub fn detach(&self, subscription: &SubscriptionId) -> bool {
        let ended = self.forget(subscription);
        if let Some(ended) = &ended {
            ended.cancel();
        }
        ended.is_some()
    }

    /// A subscription has ended by itself; what was sent on it is still delivered.
    pub(super) fn forget(&self, subscription: &SubscriptionId) -> Option<CancellationToken> {
        let ended = self.said().subscriptions.remove(subscription)?;
        self.0.load.subscriptions.fetch_sub(1, Ordering::Relaxed);
        Some(ended)
    }

    pub(super) fn attach(&self, subscription: SubscriptionId, ended: CancellationToken) {
        self.0.load.subscriptions.fetch_add(1, Ordering::Relaxed);
        self.said().subscriptions.insert(subscription, ended);
    }

    /// True the first time a field is met on this connection.
    pub(super) fn is_news(&self, field: &UnknownField) -> bool {
        let mut said = self.said();
        said.unknown_fields.len() < REMEMBERED_UNKNOWN_FIELDS
            && said.unknown_fields.insert((field.method.clone(), field.field.clone()))
    }

    fn said(&self) -> MutexGuard<'_, CallerState> {
        // Nothing in here panics half-way, so a poisoned lock guards whole data.
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallerConnection {
    fn drop(&mut self) {
        if self.is_counted {
            self.load.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// One request on its way through jsonrpsee: travels in the extensions, and brings back what the transport does
/// after the response.
#[derive(Clone)]
pub(super) struct RpcRequestContext {
    pub(super) caller: RpcCaller,
    /// Cancelled when nobody wants the request any more.
    pub(super) given_up: CancellationToken,
    aftermath: Arc<Mutex<RequestAftermath>>,
}

/// What a request leaves behind beside its response.
#[derive(Default)]
pub(super) struct RequestAftermath {
    /// To be reported, since the client gave fields that nobody knows.
    pub(super) unknown_fields: Vec<UnknownField>,
    /// A subscription's handler, to be driven for as long as the subscription lives.
    pub(super) subscription: Option<RunningSubscription>,
}

/// A subscription's handler at work.
pub(super) struct RunningSubscription {
    pub(super) work: BoxFuture<'static, ()>,
    /// Cancelled by [`RpcCaller::detach`].
    pub(super) ended: CancellationToken,
}

impl RpcRequestContext {
    pub(super) fn new(caller: RpcCaller, given_up: CancellationToken) -> RpcRequestContext {
        RpcRequestContext { caller, given_up, aftermath: Arc::default() }
    }

    pub(super) fn report(&self, unknown_fields: Vec<UnknownField>) {
        self.aftermath().unknown_fields.extend(unknown_fields);
    }

    pub(super) fn follow_up(&self, running: RunningSubscription) {
        self.aftermath().subscription = Some(running);
    }

    pub(super) fn take(&self) -> RequestAftermath {
        std::mem::take(&mut *self.aftermath())
    }

    fn aftermath(&self) -> MutexGuard<'_, RequestAftermath> {
        self.aftermath.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Who is there? Clients that introduced themselves, what each is attached to, and who is told when that changes.
//!
//! Besides, the desk learns here who could be asked, and is woken whenever that may have changed.
//!
//! In memory only: presence is no fact about a run. Nothing here waits for a client. Who is told takes the state as it
//! is then, so of several changes a slow one sees the last.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;

use super::rpc::RpcCaller;
use protocol::{
    AttachRole, ClientAttachment, ClientCapabilities, ClientId, ClientInfo, ClientSummary,
    ClientUpdateParams, ConfirmationCapability, ConnectionTransport, Presence, PresenceSignal,
    SessionAttachParams, SessionId, SubscriptionId, Timestamp,
};
use tools::ClientToolRegistry;

/// Clients that one `signal.presence` shows: more than a person looks at, and small beside a snapshot.
const SHOWN: usize = 32;

/// What a client is attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttachScope {
    Every,
    One(SessionId),
}

impl AttachScope {
    /// As `session/attach` names it.
    pub fn named(session: SessionId) -> AttachScope {
        if session.as_str() == SessionAttachParams::EVERY_SESSION {
            AttachScope::Every
        } else {
            AttachScope::One(session)
        }
    }

    /// The session, for what is about one.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            AttachScope::Every => None,
            AttachScope::One(session) => Some(session),
        }
    }

    fn name(&self) -> SessionId {
        self.session().cloned().unwrap_or_else(|| SessionAttachParams::EVERY_SESSION.into())
    }

    /// True if there is a session that both are about.
    fn meets(&self, other: &AttachScope) -> bool {
        *self == AttachScope::Every || *other == AttachScope::Every || self == other
    }
}

/// The clients of one daemon.
#[derive(Default)]
pub(super) struct ConnectedClients {
    /// By the connection's number, so that the oldest is the first.
    connections: Mutex<BTreeMap<u64, ClientConnection>>,
    /// Wakes the desk: who could be asked may be another one now.
    changed: Notify,
    /// Counts those changes, so that nobody has to look who saw the last one.
    edition: AtomicU64,
}

/// What decides whether a client is asked a question. Only of those that said who they are.
#[derive(Debug, Clone)]
pub(super) struct ConfirmationCandidate {
    pub connection: u64,
    pub client: ClientId,
    /// `None` = it cannot put a question to anybody.
    pub confirmations: Option<ConfirmationCapability>,
    pub presence: Presence,
    /// What it is attached to, and as what.
    pub seats: Vec<(AttachScope, AttachRole)>,
}

/// One connection. Bounded by how many there may be, and by the subscriptions of each.
struct ClientConnection {
    said: Option<ClientIntroduction>,
    attached: BTreeMap<SubscriptionId, SessionAttachment>,
    transport: ConnectionTransport,
    uid: u32,
    connected_at: Timestamp,
}

/// What it said of itself.
pub(super) struct ClientIntroduction {
    pub client_id: ClientId,
    pub client: ClientInfo,
    pub capabilities: ClientCapabilities,
    pub presence: Presence,
}

struct SessionAttachment {
    scope: AttachScope,
    role: AttachRole,
    /// Who else is there.
    news: Arc<ChangeFlag>,
    /// What is asked of whom, and who reads it.
    questions: Arc<ChangeFlag>,
    /// The client was away since that was looked at.
    has_returned: Arc<AtomicBool>,
}

/// That something changed since it was last looked at.
#[derive(Default)]
struct ChangeFlag {
    is_any: AtomicBool,
    came: Notify,
}

impl ChangeFlag {
    fn tell(&self) {
        self.is_any.store(true, Ordering::Relaxed);
        self.came.notify_one();
    }
}

impl ConnectedClients {
    /// Keeps what a client said of itself, in place of what it said before. The first time answers what must be kept
    /// for as long as the connection lives.
    pub fn introduce(
        self: &Arc<Self>,
        caller: &RpcCaller,
        introduced: ClientIntroduction,
        now: Timestamp,
    ) -> Option<impl Send + Sync + 'static> {
        let number = caller.connection();
        let mut connections = self.lock();
        let connection = connections.entry(number).or_insert_with(|| ClientConnection::new(caller, now));
        let before = connection.said.replace(introduced);
        let scopes = connection.scopes();
        self.stir();
        connection.tell_of_questions();
        tell(&connections, number, &scopes);
        before.is_none().then(|| IntroductionGuard { clients: Arc::clone(self), number })
    }

    /// What a client says of itself from now on; `None` when it never introduced itself.
    pub fn update(
        &self,
        caller: &RpcCaller,
        params: ClientUpdateParams,
    ) -> Option<(ClientCapabilities, Presence)> {
        let number = caller.connection();
        let mut connections = self.lock();
        let connection = connections.get_mut(&number)?;
        let said = connection.said.as_mut()?;
        let ClientUpdateParams { capabilities, presence } = params;
        let before = (said.capabilities.clone(), said.presence);
        if let Some(capabilities) = capabilities {
            said.capabilities = capabilities.unwrap_or_default();
        }
        said.presence = presence.unwrap_or(said.presence);
        let after = (said.capabilities.clone(), said.presence);
        if before != after {
            let scopes = connection.scopes();
            self.stir();
            if before.1 == Presence::Away {
                connection.attached.values().for_each(|it| it.has_returned.store(true, Ordering::Release));
            }
            connection.tell_of_questions();
            tell(&connections, number, &scopes);
        }
        Some(after)
    }

    /// Notes that a subscription of this client is attached, until the answer is dropped.
    pub fn attach(
        self: &Arc<Self>,
        caller: &RpcCaller,
        subscription: SubscriptionId,
        (scope, role): (AttachScope, AttachRole),
        now: Timestamp,
    ) -> AttachmentGuard {
        let number = caller.connection();
        let (news, questions) = (Arc::new(ChangeFlag::default()), Arc::new(ChangeFlag::default()));
        let mut connections = self.lock();
        let connection = connections.entry(number).or_insert_with(|| ClientConnection::new(caller, now));
        let has_returned = Arc::new(AtomicBool::new(false));
        let attachment = SessionAttachment {
            scope: scope.clone(),
            role,
            news: Arc::clone(&news),
            questions: Arc::clone(&questions),
            has_returned: Arc::clone(&has_returned),
        };
        connection.attached.insert(subscription.clone(), attachment);
        // With its other attachments it may be asked more than before, and with this one of what was asked before.
        self.stir();
        connection.tell_of_questions();
        tell(&connections, number, std::slice::from_ref(&scope));
        AttachmentGuard {
            clients: Arc::clone(self),
            number,
            subscription,
            scope,
            news,
            questions,
            has_returned,
        }
    }

    /// How often who could be asked has changed.
    pub fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    /// All that are attached and said who they are, and the edition that this is at least.
    pub fn candidates(&self) -> (Vec<ConfirmationCandidate>, u64) {
        // Before the look: what changes meanwhile makes it an older one.
        let edition = self.edition();
        let connections = self.lock();
        let candidate = |(number, connection): (&u64, &ClientConnection)| {
            let said = connection.said.as_ref().filter(|_| !connection.attached.is_empty())?;
            let seats = connection.attached.values().map(|it| (it.scope.clone(), it.role)).collect();
            Some(ConfirmationCandidate {
                connection: *number,
                client: said.client_id.clone(),
                confirmations: said.capabilities.confirmations.clone(),
                presence: said.presence,
                seats,
            })
        };
        (connections.iter().filter_map(candidate).collect(), edition)
    }

    /// Before anybody is told to look, so that nobody looks at what was before.
    fn stir(&self) {
        self.edition.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_one();
    }

    /// As what a connection is attached to a session: as somebody who can be asked, if by any of its attachments; `None`
    /// when it is not.
    pub fn role(&self, connection: u64, session: &SessionId) -> Option<AttachRole> {
        let connections = self.lock();
        let place = AttachScope::One(session.clone());
        let there = connections.get(&connection)?.attached.values().filter(|it| it.scope.meets(&place));
        there.map(|it| it.role).reduce(|one, other| match (one, other) {
            (AttachRole::Observe, AttachRole::Observe) => AttachRole::Observe,
            _ => AttachRole::Control,
        })
    }

    /// Says if anybody is attached to this very session.
    pub fn is_attached_to(&self, session: &SessionId) -> bool {
        let connections = self.lock();
        let mut attachments = connections.values().flat_map(|connection| connection.attached.values());
        attachments.any(|it| it.scope.session() == Some(session))
    }

    /// True if a connection is attached, and by no attachment as somebody who can be asked.
    pub fn only_looks_on(&self, connection: u64) -> bool {
        let connections = self.lock();
        let Some(connection) = connections.get(&connection) else { return false };
        let mut attached = connection.attached.values();
        !connection.attached.is_empty() && attached.all(|it| it.role == AttachRole::Observe)
    }

    /// True if a connection may lend tools to a session, or to one that is still to be opened: it does not only look on at it.
    pub fn may_lend(&self, connection: u64, session: Option<&SessionId>) -> bool {
        match session {
            Some(session) => self.role(connection, session) != Some(AttachRole::Observe),
            None => !self.only_looks_on(connection),
        }
    }

    /// Nobody yet. Calls of lent tools wait for those alone that may lend.
    pub fn deciding_who_lends(lenders: &ClientToolRegistry) -> Arc<ConnectedClients> {
        let clients = Arc::<ConnectedClients>::default();
        let deciding = Arc::clone(&clients);
        lenders.lend_only(Box::new(move |connection, session| deciding.may_lend(connection, Some(session))));
        clients
    }

    /// Has those look who are attached to something that `scope` is about: others are asked, or somebody reads a question.
    pub fn tell_of_questions(&self, scope: &AttachScope) {
        let connections = self.lock();
        let attachments = connections.values().flat_map(|connection| connection.attached.values());
        attachments.filter(|it| it.scope.meets(scope)).for_each(|it| it.questions.tell());
    }

    /// Waits until who could be asked may be another one. For the desk alone: there is one permit. Cancel safe.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Has the desk look.
    pub fn wake_desk(&self) {
        self.changed.notify_one();
    }

    /// Everybody after the connection of number `after`, at most `limit`; and whether there are more.
    pub fn list(&self, after: u64, limit: usize) -> (Vec<ClientSummary>, bool) {
        let connections = self.lock();
        let mut rest = connections.range(after.saturating_add(1)..);
        let listed =
            rest.by_ref().take(limit).map(|(number, it)| it.summary(*number, &AttachScope::Every)).collect();
        (listed, rest.next().is_some())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, ClientConnection>> {
        // Nothing in here panics half-way, so a poisoned lock guards whole data.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientConnection {
    fn new(caller: &RpcCaller, now: Timestamp) -> ClientConnection {
        let (transport, uid) = (caller.transport(), caller.peer().uid);
        ClientConnection { said: None, attached: BTreeMap::new(), transport, uid, connected_at: now }
    }

    fn scopes(&self) -> Vec<AttachScope> {
        self.attached.values().map(|attachment| attachment.scope.clone()).collect()
    }

    fn tell_of_questions(&self) {
        self.attached.values().for_each(|attachment| attachment.questions.tell());
    }

    /// As those see it whom `scope` concerns.
    fn summary(&self, number: u64, scope: &AttachScope) -> ClientSummary {
        let attached = self.attached.iter().filter(|(_, attachment)| attachment.scope.meets(scope));
        let said = self.said.as_ref();
        ClientSummary {
            connection: number,
            client_id: said.map(|said| said.client_id.clone()),
            client: said.map(|said| said.client.clone()),
            presence: said.map(|said| said.presence),
            capabilities: said.map(|said| said.capabilities.clone()).unwrap_or_default(),
            attached: attached
                .map(|(subscription, SessionAttachment { scope, role, .. })| ClientAttachment {
                    subscription: subscription.clone(),
                    session_id: scope.name(),
                    role: *role,
                })
                .collect(),
            transport: self.transport,
            uid: self.uid,
            connected_at: self.connected_at,
        }
    }
}

/// Wakes those whom a change of `scopes` concerns, but for the connection that made it.
fn tell(connections: &BTreeMap<u64, ClientConnection>, but: u64, scopes: &[AttachScope]) {
    let others = connections.iter().filter(|(number, _)| **number != but);
    for attachment in others.flat_map(|(_, connection)| connection.attached.values()) {
        if scopes.iter().any(|scope| scope.meets(&attachment.scope)) {
            attachment.news.tell();
        }
    }
}

/// Forgets what a client said when its connection ends.
struct IntroductionGuard {
    clients: Arc<ConnectedClients>,
    number: u64,
}

impl Drop for IntroductionGuard {
    fn drop(&mut self) {
        let mut connections = self.clients.lock();
        if let Some(connection) = connections.get_mut(&self.number) {
            connection.said = None;
            if connection.attached.is_empty() {
                connections.remove(&self.number);
            }
        }
        self.clients.stir();
    }
}

/// One subscription's place among those who are attached. Dropping it detaches.
pub(super) struct AttachmentGuard {
    clients: Arc<ConnectedClients>,
    number: u64,
    subscription: SubscriptionId,
    scope: AttachScope,
    news: Arc<ChangeFlag>,
    questions: Arc<ChangeFlag>,
    has_returned: Arc<AtomicBool>,
}

impl AttachmentGuard {
    pub fn connection(&self) -> u64 {
        self.number
    }

    pub fn scope(&self) -> &AttachScope {
        &self.scope
    }

    /// True if what is asked of whom, or who reads it, may have changed since this was asked last.
    pub fn takes_news_of_questions(&self) -> bool {
        self.questions.is_any.swap(false, Ordering::Relaxed)
    }

    /// True if the client was away since this was asked last, however shortly: it is told again what waits for it.
    pub fn takes_return(&self) -> bool {
        self.has_returned.swap(false, Ordering::AcqRel)
    }

    /// Not all of it could be told.
    pub fn has_more_news_of_questions(&self) {
        self.questions.tell();
    }

    /// Waits until it may have. Cancel safe.
    pub async fn questions_changed(&self) {
        if !self.questions.is_any.load(Ordering::Relaxed) {
            self.questions.came.notified().await;
        }
    }

    /// Who is there, when that changed since the last time.
    pub fn news(&self) -> Option<PresenceSignal> {
        if !self.news.is_any.swap(false, Ordering::Relaxed) {
            return None;
        }
        let connections = self.clients.lock();
        let is_there = |connection: &ClientConnection| {
            connection.attached.values().any(|attachment| attachment.scope.meets(&self.scope))
        };
        let mut there = connections.iter().filter(|(_, connection)| is_there(connection));
        let shown = there.by_ref().take(SHOWN).map(|(number, it)| it.summary(*number, &self.scope));
        let clients: Vec<ClientSummary> = shown.collect();
        let total = clients.len() + there.count();
        Some(PresenceSignal { clients, total: u64::try_from(total).unwrap_or(u64::MAX) })
    }

    /// True if something changed since [`AttachmentGuard::news`] was asked last.
    pub fn has_news(&self) -> bool {
        self.news.is_any.load(Ordering::Relaxed)
    }

    /// Waits until there may be news. Cancel safe.
    pub async fn changed(&self) {
        self.news.came.notified().await;
    }
}

impl Drop for AttachmentGuard {
    fn drop(&mut self) {
        let mut connections = self.clients.lock();
        let Some(connection) = connections.get_mut(&self.number) else { return };
        connection.attached.remove(&self.subscription);
        if connection.said.is_none() && connection.attached.is_empty() {
            connections.remove(&self.number);
        }
        tell(&connections, self.number, std::slice::from_ref(&self.scope));
        self.clients.stir();
    }
}

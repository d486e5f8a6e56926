//! Who is connected, and what is remembered of each client's requests and of how far it has read?

use std::sync::Arc;

use super::{
    clients::ConnectedClients, delivery_receipts::DeliveryReceipts, once::IdempotencyKeys,
    open_sessions::OpenSessions, rpc::ConnectionLoad, subscription_places::SubscriptionPlaces,
};

/// The clients of this daemon.
pub(super) struct ClientConnections {
    pub connected: Arc<ConnectedClients>,
    pub load: Arc<ConnectionLoad>,
    /// Requests that have an effect once, however often they come.
    pub once: IdempotencyKeys,
    /// The sessions in which clients work.
    pub open_sessions: OpenSessions,
    pub receipts: Arc<DeliveryReceipts>,
    /// The places up to which subscriptions were sent the log.
    pub places: Arc<SubscriptionPlaces>,
}

impl ClientConnections {
    /// Before anybody connects.
    pub fn new(connected: Arc<ConnectedClients>, once: IdempotencyKeys) -> ClientConnections {
        ClientConnections {
            connected,
            load: ConnectionLoad::new(),
            once,
            open_sessions: OpenSessions::default(),
            receipts: Arc::default(),
            places: Arc::default(),
        }
    }
}

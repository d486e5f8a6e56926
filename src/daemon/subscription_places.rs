//! How far behind the log are those who follow it?

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use crate::rpc::RpcCaller;
use protocol::{EventSeq, SubscriptionId};

/// The name of those who did not say who they are.
const ANONYMOUS: &str = "anonymous";

/// The subscriptions of a daemon, with how far each was sent the log. Bounded by how many subscriptions there may be.
#[derive(Default)]
pub(crate) struct SubscriptionPlaces {
    open: Mutex<HashMap<SubscriptionId, SubscriptionPlace>>,
}

struct SubscriptionPlace {
    client: String,
    sent: Arc<AtomicI64>,
}

impl SubscriptionPlaces {
    /// Keeps the place of a subscription that begins after `from`, until the answer is dropped.
    pub(super) fn open(
        self: &Arc<Self>,
        caller: &RpcCaller,
        subscription: SubscriptionId,
        from: EventSeq,
    ) -> OpenPlace {
        let client = caller.introduction().map(|it| it.client_id.to_string());
        let client = client.unwrap_or_else(|| ANONYMOUS.to_owned());
        let sent = Arc::new(AtomicI64::new(from.0));
        let place = SubscriptionPlace { client, sent: Arc::clone(&sent) };
        self.lock().insert(subscription.clone(), place);
        OpenPlace { places: Arc::clone(self), subscription, sent }
    }

    /// Events that the slowest subscription of each client has not been sent.
    pub fn lags(&self, head: EventSeq) -> BTreeMap<String, u64> {
        let mut lags: BTreeMap<String, u64> = BTreeMap::new();
        for place in self.lock().values() {
            let lag = head.0.saturating_sub(place.sent.load(Ordering::Relaxed));
            let slowest = lags.entry(place.client.clone()).or_default();
            *slowest = (*slowest).max(u64::try_from(lag).unwrap_or_default());
        }
        lags
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SubscriptionId, SubscriptionPlace>> {
        // Nothing in here panics half-way, so a poisoned lock guards a whole map.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a subscription that is open.
pub(super) struct OpenPlace {
    places: Arc<SubscriptionPlaces>,
    subscription: SubscriptionId,
    sent: Arc<AtomicI64>,
}

impl OpenPlace {
    /// Everything up to here was sent, or is not wanted.
    pub fn reaches(&self, seq: EventSeq) {
        self.sent.fetch_max(seq.0, Ordering::Relaxed);
    }
}

impl Drop for OpenPlace {
    fn drop(&mut self) {
        self.places.lock().remove(&self.subscription);
    }
}

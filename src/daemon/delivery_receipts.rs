//! What may a client acknowledge? What it was told on each subscription that has a consumer.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use protocol::{EventSeq, SubscriptionId};

/// The subscriptions of a daemon that have a consumer. Bounded by how many subscriptions there may be.
#[derive(Default)]
pub(crate) struct DeliveryReceipts {
    open: Mutex<HashMap<SubscriptionId, Arc<DeliveryReceipt>>>,
}

/// How far one subscription's client was told.
pub(crate) struct DeliveryReceipt {
    pub consumer: String,
    told: AtomicI64,
}

impl DeliveryReceipts {
    /// Of a subscription that begins after `from`, until the answer is dropped.
    pub(super) fn open(
        self: &Arc<Self>,
        subscription: SubscriptionId,
        consumer: String,
        from: EventSeq,
    ) -> OpenReceipt {
        let receipt = Arc::new(DeliveryReceipt { consumer, told: AtomicI64::new(from.0) });
        self.lock().insert(subscription.clone(), Arc::clone(&receipt));
        OpenReceipt { receipts: Arc::clone(self), subscription, receipt }
    }

    /// `None` of a subscription that has ended, or that has no consumer.
    pub fn get(&self, subscription: &SubscriptionId) -> Option<Arc<DeliveryReceipt>> {
        self.lock().get(subscription).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SubscriptionId, Arc<DeliveryReceipt>>> {
        // Nothing in here panics half-way, so a poisoned lock guards a whole map.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeliveryReceipt {
    /// The furthest place the client was told of.
    pub fn told(&self) -> EventSeq {
        EventSeq(self.told.load(Ordering::Relaxed))
    }
}

/// A receipt that is being written.
pub(super) struct OpenReceipt {
    receipts: Arc<DeliveryReceipts>,
    subscription: SubscriptionId,
    receipt: Arc<DeliveryReceipt>,
}

impl OpenReceipt {
    /// Noted before it is sent: the client may answer faster than we get on.
    pub fn tells(&self, seq: EventSeq) {
        self.receipt.told.fetch_max(seq.0, Ordering::Relaxed);
    }
}

impl Drop for OpenReceipt {
    fn drop(&mut self) {
        self.receipts.lock().remove(&self.subscription);
    }
}

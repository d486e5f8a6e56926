//! How does a handler feed a subscription? It may refuse first; once it accepts, the response is on its way
//! before the first notification.

use std::sync::{Arc, Mutex, PoisonError};

use jsonrpsee::{
    PendingSubscriptionSink, SubscriptionSink, core::traits::IdProvider,
    types::SubscriptionId as WireSubscriptionId,
};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::caller::RpcCaller;
use protocol::{ErrorKind, RpcError, SubscriptionId};
use sys::ids;

/// The method name of every notification.
pub(super) const NOTIFICATION: &str = "event";

/// The client is gone, or has ended this subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriberGone;

impl std::fmt::Display for SubscriberGone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the client is gone or has ended the subscription")
    }
}

/// So that a handler may end with `?`; nobody is left to read the error.
impl From<SubscriberGone> for RpcError {
    fn from(gone: SubscriberGone) -> RpcError {
        RpcError::new(ErrorKind::Gone, gone.to_string())
    }
}

/// A subscription that its handler has not accepted yet. Returning an error instead refuses it.
#[must_use = "the client waits until the subscription is accepted or refused"]
pub struct PendingSubscription {
    pub(super) pending: PendingSink,
    pub(super) caller: RpcCaller,
    pub(super) ended: CancellationToken,
}

/// Shared by the feed and by whoever must answer when the handler did not.
pub(super) type PendingSink = Arc<Mutex<Option<PendingSubscriptionSink>>>;

pub(super) fn take(pending: &PendingSink) -> Option<PendingSubscriptionSink> {
    pending.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl PendingSubscription {
    /// Answers the request with the subscription's id. What is sent from here on follows that answer.
    pub async fn accept(self) -> Result<NotificationSink, SubscriberGone> {
        let pending = take(&self.pending).ok_or(SubscriberGone)?;
        let id = SubscriptionId::from(match pending.subscription_id() {
            WireSubscriptionId::Str(text) => text.into_owned(),
            WireSubscriptionId::Num(number) => number.to_string(),
        });
        // Known before the client can name it, so that a `session/detach` right after the answer finds it.
        self.caller.attach(id.clone(), self.ended.clone());
        let attached = SubscriptionGuard { caller: self.caller, id };
        let inner = pending.accept().await.map_err(|_| SubscriberGone)?;
        Ok(NotificationSink { inner, ended: self.ended, attached })
    }
}

/// Where a subscription's notifications go in. Dropping it ends the subscription.
pub struct NotificationSink {
    inner: SubscriptionSink,
    ended: CancellationToken,
    attached: SubscriptionGuard,
}

impl NotificationSink {
    pub fn id(&self) -> &SubscriptionId {
        &self.attached.id
    }

    /// Sends one envelope. Waits while the client reads slowly: the caller holds what comes next in the log,
    /// not in memory. Cancel safe: dropped before it is done, nothing was sent.
    pub async fn send(&self, envelope: Box<RawValue>) -> Result<(), SubscriberGone> {
        if self.ended.is_cancelled() {
            return Err(SubscriberGone);
        }
        self.inner.send(envelope).await.map_err(|_| SubscriberGone)
    }

    /// Completes when the client is gone or has ended the subscription. A handler need not watch this: it is
    /// dropped then.
    pub async fn closed(&self) {
        tokio::select! {
            () = self.inner.closed() => {}
            () = self.ended.cancelled() => {}
        }
    }
}

/// Forgets the subscription when it ends.
struct SubscriptionGuard {
    caller: RpcCaller,
    id: SubscriptionId,
}

impl Drop for SubscriptionGuard {
    fn drop(&mut self) {
        self.caller.forget(&self.id);
    }
}

/// Names subscriptions like everything else of ours.
#[derive(Debug)]
pub(super) struct SubscriptionIds;

impl IdProvider for SubscriptionIds {
    fn next_id(&self) -> WireSubscriptionId<'static> {
        WireSubscriptionId::Str(ids::fresh::<String>().into())
    }
}

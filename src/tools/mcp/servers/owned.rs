//! The servers that one run has for itself: they end with it, whatever becomes of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use super::{House, Server, Servers, lock};

/// A cheap handle on a run's own servers. With the last one they end.
#[derive(Clone, Default)]
pub struct Owned(Arc<Inner>);

#[derive(Default)]
struct Inner {
    servers: BTreeMap<String, Arc<Server>>,
    house: Weak<House>,
}

impl Owned {
    pub(super) fn of(servers: &Servers, own: BTreeMap<String, Arc<Server>>) -> Owned {
        if own.is_empty() {
            return Owned::default();
        }
        lock(&servers.0.owned).extend(own.values().cloned());
        Owned(Arc::new(Inner { servers: own, house: Arc::downgrade(&servers.0) }))
    }

    pub fn server(&self, name: &str) -> Option<Arc<Server>> {
        self.0.servers.get(name).cloned()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.servers.values().for_each(|server| server.end());
        if let Some(house) = self.house.upgrade() {
            lock(&house.owned).retain(|it| !self.servers.values().any(|own| Arc::ptr_eq(own, it)));
        }
    }
}

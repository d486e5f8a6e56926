//! The servers that one run has for itself: they end with it, whatever becomes of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use super::{McpHub, McpHubInner, McpServerInstance, lock};

/// A cheap handle on a run's own servers. With the last one they end.
#[derive(Clone, Default)]
pub struct RunServers(Arc<RunServersInner>);

#[derive(Default)]
struct RunServersInner {
    servers: BTreeMap<String, Arc<McpServerInstance>>,
    house: Weak<McpHubInner>,
}

impl RunServers {
    pub(super) fn of(servers: &McpHub, own: BTreeMap<String, Arc<McpServerInstance>>) -> RunServers {
        if own.is_empty() {
            return RunServers::default();
        }
        lock(&servers.0.owned).extend(own.values().cloned());
        RunServers(Arc::new(RunServersInner { servers: own, house: Arc::downgrade(&servers.0) }))
    }

    pub fn server(&self, name: &str) -> Option<Arc<McpServerInstance>> {
        self.0.servers.get(name).cloned()
    }
}

impl Drop for RunServersInner {
    fn drop(&mut self) {
        self.servers.values().for_each(|server| server.end());
        if let Some(house) = self.house.upgrade() {
            lock(&house.owned).retain(|it| !self.servers.values().any(|own| Arc::ptr_eq(own, it)));
        }
    }
}

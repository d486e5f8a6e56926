//! Which servers are left in a folder in which no agent works any more?

use std::{path::Path, sync::Arc, time::Duration};

use futures_util::future::join_all;

use super::{super::server::McpServerInstance, McpHub, lock};

/// How long servers are waited for that were told to end.
const END_TIME: Duration = Duration::from_secs(5);

impl McpHub {
    /// Ends the servers that nobody uses and whose workspace has this folder in it or around it; completes when they have ended, within 5 s.
    pub async fn end_unused_in(&self, folder: &Path) {
        let shared: Vec<Arc<McpServerInstance>> = {
            let workspaces = lock(&self.0.workspaces);
            workspaces.values().flat_map(|it| it.known.values()).cloned().collect()
        };
        let owned: Vec<Arc<McpServerInstance>> = lock(&self.0.owned).clone();
        let is_there = |root: &String| Path::new(root).starts_with(folder) || folder.starts_with(root);
        let all = shared.into_iter().chain(owned);
        let meant: Vec<_> = all.filter(|it| it.has_no_lease() && it.roots.iter().any(is_there)).collect();
        meant.iter().for_each(|server| server.end());
        let ended = join_all(meant.iter().map(|server| server.ended()));
        tokio::select! {
            _all = ended => (),
            // Somebody may have begun one anew: then it is in use.
            () = self.0.clock.sleep(END_TIME) => (),
        }
    }
}

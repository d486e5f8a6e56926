//! What changed that nobody was told of yet?

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use super::{AgentFileCache, CacheReader, lock};
use crate::catalog::{AgentCatalog, CatalogPart};
use protocol::{AgentName, AgentScope, ChangedAgent};
use trust::TrustRecords;

/// What changed in the user's places, or in those of a workspace.
pub struct AgentFileChanges {
    /// The folders of the workspace; none of the user's own places.
    pub roots: Vec<PathBuf>,
    pub added: Vec<ChangedAgent>,
    pub changed: Vec<ChangedAgent>,
    /// As they were.
    pub removed: Vec<ChangedAgent>,
    parts: Vec<CatalogPart>,
}

impl AgentFileCache {
    /// What changed of the user's agents and of each workspace that is in use, since it was told last or was asked for
    /// first. Blocks on the file system.
    ///
    /// What people trust is told otherwise: both sides are seen as they trust now.
    pub fn untold(&self, trust: &Arc<TrustRecords>) -> Vec<AgentFileChanges> {
        let mut workspaces: Vec<Vec<PathBuf>> = lock(&self.rooms).catalogs.keys().cloned().collect();
        workspaces.sort();
        workspaces.into_iter().filter_map(|roots| self.untold_of(roots, trust)).collect()
    }

    fn untold_of(&self, roots: Vec<PathBuf>, trust: &Arc<TrustRecords>) -> Option<AgentFileChanges> {
        let (now, parts) = self.look(&roots, trust, CacheReader::Follower);
        let told = lock(&self.rooms).catalogs.get(&roots)?.told.clone();
        if told == parts {
            return None;
        }
        let before = AgentCatalog::assemble(&told, trust, &self.switches.get().disabled);
        let is_own = |scope: AgentScope| (scope == AgentScope::Project) != roots.is_empty();
        let (mut before, now) = (agents(&before, is_own), agents(&now, is_own));
        let (mut added, mut changed) = (Vec::new(), Vec::new());
        for (key, agent) in now {
            match before.remove(&key) {
                None => added.push(agent),
                Some(old) if old != agent => changed.push(agent),
                Some(_) => (),
            }
        }
        let removed: Vec<ChangedAgent> = before.into_values().collect();
        let is_any = !(added.is_empty() && changed.is_empty() && removed.is_empty());
        let changes = AgentFileChanges { roots, added, changed, removed, parts };
        if !is_any {
            self.were_told(&changes);
        }
        is_any.then_some(changes)
    }

    /// Those who follow the log know of them.
    pub fn were_told(&self, changes: &AgentFileChanges) {
        if let Some(kept) = lock(&self.rooms).catalogs.get_mut(&changes.roots) {
            kept.told.clone_from(&changes.parts);
        }
    }
}

type ChangedAgentKey = (AgentName, Option<PathBuf>);

fn agents(
    catalog: &AgentCatalog,
    is_own: impl Fn(AgentScope) -> bool,
) -> BTreeMap<ChangedAgentKey, ChangedAgent> {
    let own = catalog.agents().filter(|agent| is_own(agent.scope));
    own.map(|agent| ((agent.name.clone(), agent.path.clone()), agent)).collect()
}

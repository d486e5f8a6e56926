//! Which client lends which tools now?

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::protocol::{ClientId, LentTool, SessionId, ToolName};

/// Sets of tools that one connection lends, one for each session and one for all: more is a client gone wild.
const MOST_SETS: usize = 256;

/// A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct Lenders(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    lent: Mutex<Lent>,
    /// Counts the changes, for whoever waits for a client.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Lent {
    sets: BTreeMap<(ClientId, Option<SessionId>), Set>,
    /// Of the next set.
    generation: u64,
}

#[derive(Debug)]
struct Set {
    connection: u64,
    /// The same for as long as its client was never away.
    generation: u64,
    /// The newest is the first of its name.
    lent_at: u64,
    tools: Vec<LentTool>,
}

/// How a tool stands with its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is lent. The number changes when its client was away in between.
    Lent { generation: u64 },
    /// The client is there and lends it no more.
    Withdrawn,
    /// The client is away, or never was here.
    Away,
}

/// One connection lends to so many sessions that no more are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a connection lends tools to {MOST_SETS} sessions at most")]
pub struct TooMuchLent;

impl Lenders {
    /// From now on a client lends just these to a session, or to all; by this connection.
    pub fn lend(
        &self,
        client: &ClientId,
        session: Option<&SessionId>,
        connection: u64,
        tools: Vec<LentTool>,
    ) -> Result<(), TooMuchLent> {
        let key = (client.clone(), session.cloned());
        {
            let mut lent = self.lock();
            let n_sets = lent.sets.values().filter(|set| set.connection == connection).count();
            if !lent.sets.contains_key(&key) && MOST_SETS <= n_sets {
                return Err(TooMuchLent);
            }
            lent.generation += 1;
            let lent_at = lent.generation;
            // By another connection of a client that is there: nothing was missed.
            let generation = lent.sets.get(&key).map_or(lent_at, |before| before.generation);
            lent.sets.insert(key, Set { connection, generation, lent_at, tools });
        }
        self.tell();
        Ok(())
    }

    /// The connection has ended, and with it what was lent by it.
    pub fn leave(&self, connection: u64) {
        self.lock().sets.retain(|_, set| set.connection != connection);
        self.tell();
    }

    /// What the runs of a session may be given, by name: what is lent to that session before what is lent to all, the
    /// newest before older ones. `None` = a session that is still to be opened.
    pub fn tools_for(&self, session: Option<&SessionId>) -> Vec<LentTool> {
        let lent = self.lock();
        let mut sets: Vec<(bool, u64, &Set)> = lent
            .sets
            .iter()
            .filter(|((_, of), _)| of.is_none() || of.as_ref() == session)
            .map(|((_, of), set)| (of.is_some(), set.lent_at, set))
            .collect();
        sets.sort_by_key(|(is_own, lent_at, _)| (*is_own, *lent_at));
        let mut by_name: BTreeMap<ToolName, LentTool> = BTreeMap::new();
        for tool in sets.iter().flat_map(|(_, _, set)| &set.tools) {
            by_name.insert(tool.declaration.name.clone(), tool.clone());
        }
        by_name.into_values().collect()
    }

    /// How a tool stands that was lent once.
    pub fn standing(&self, tool: &LentTool) -> Standing {
        let lent = self.lock();
        let Some(set) = lent.sets.get(&(tool.client.clone(), tool.session.clone())) else {
            return Standing::Away;
        };
        match set.tools.iter().any(|it| it.declaration.name == tool.declaration.name) {
            true => Standing::Lent { generation: set.generation },
            false => Standing::Withdrawn,
        }
    }

    /// Changes whenever a standing may have.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// After the change, so that nobody is woken to see what was before.
    fn tell(&self) {
        self.0.changed.send_modify(|edition| *edition += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Lent> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.0.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

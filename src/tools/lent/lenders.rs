//! Which client lends which tools now?

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use tokio::sync::watch;

use protocol::{ClientId, RegisteredClientTool, SessionId, ToolName};

/// Sets of tools that one connection lends, one for each session and one for all: more is a client gone wild.
const MOST_SETS: usize = 256;

/// Tools that one session may be given, of all clients together: each is declared with every request.
const MOST_TOOLS: usize = 500;

/// Bytes of their descriptions and parameters: each run keeps them with its first event.
const MOST_BYTES: usize = 1 << 20;

/// A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct ClientToolRegistry(Arc<ClientToolRegistryInner>);

/// Answers whether a connection may lend tools to a session: it does not only look on at it.
pub type MayLend = Box<dyn Fn(u64, &SessionId) -> bool + Send + Sync>;

#[derive(Default)]
struct ClientToolRegistryInner {
    lent: Mutex<RegisteredToolSets>,
    /// Asked with nothing locked. Nobody has said it = all may.
    may_lend: OnceLock<MayLend>,
    /// Counts the changes, for whoever waits for a client.
    changed: watch::Sender<u64>,
}

impl fmt::Debug for ClientToolRegistryInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientToolRegistryInner").field("lent", &self.lent).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct RegisteredToolSets {
    /// Of connections of one client the newest counts; when it goes, the one before it is in force again. None is empty.
    sets: BTreeMap<(ClientId, Option<SessionId>), Vec<ClientToolSet>>,
    /// Of the next set.
    generation: u64,
}

#[derive(Debug)]
struct ClientToolSet {
    connection: u64,
    /// The same for as long as its client was never away.
    generation: u64,
    /// The newest is the first of its name.
    lent_at: u64,
    tools: Vec<RegisteredClientTool>,
    size: ToolSetSize,
}

/// How a tool stands with its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientToolState {
    /// It is lent. The number changes when its client was away in between.
    Lent { generation: u64 },
    /// The client is there and lends it no more.
    Withdrawn,
    /// The client is away, or never was here.
    Away,
}

/// So much is lent that no more is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ToolRegistrationError {
    #[error("a connection lends tools to {MOST_SETS} sessions at most")]
    Sessions,
    #[error(
        "a session is given {MOST_TOOLS} lent tools at most, with descriptions and parameters of {} KiB in all; with these it \
         would be given {tools} of {} KiB by all clients together", MOST_BYTES >> 10, bytes.div_ceil(1024)
    )]
    Tools { tools: usize, bytes: usize },
}

impl ClientToolRegistry {
    /// From now on a client lends just these to a session, or to all; by this connection.
    pub fn lend(
        &self,
        client: &ClientId,
        session: Option<&SessionId>,
        connection: u64,
        tools: Vec<RegisteredClientTool>,
    ) -> Result<(), ToolRegistrationError> {
        let key = (client.clone(), session.cloned());
        let size = ToolSetSize::of(&tools);
        {
            let mut lent = self.lock();
            let of_connection = |set: &&ClientToolSet| set.connection == connection;
            let n_sets = lent.sets.values().flatten().filter(of_connection).count();
            let is_there = lent.sets.get(&key).is_some_and(|sets| sets.iter().any(|set| of_connection(&set)));
            if !is_there && MOST_SETS <= n_sets {
                return Err(ToolRegistrationError::Sessions);
            }
            lent.leaves_room(&key, size)?;
            lent.generation += 1;
            let lent_at = lent.generation;
            let sets = lent.sets.entry(key).or_default();
            // By another connection of a client that is there: nothing was missed.
            let generation = sets.last().map_or(lent_at, |before| before.generation);
            sets.retain(|set| !of_connection(&set));
            sets.push(ClientToolSet { connection, generation, lent_at, tools, size });
        }
        self.tell();
        Ok(())
    }

    /// The connection has ended, and with it what was lent by it.
    pub fn leave(&self, connection: u64) {
        self.lock().sets.retain(|_, sets| {
            sets.retain(|set| set.connection != connection);
            !sets.is_empty()
        });
        self.tell();
    }

    /// What the runs of a session may be given, by name: what is lent to that session before what is lent to all, the
    /// newest before older ones. `None` = a session that is still to be opened. What is lent by a connection that `may_lend`
    /// says no to is left out.
    pub fn tools_for(
        &self,
        session: Option<&SessionId>,
        may_lend: &dyn Fn(u64) -> bool,
    ) -> Vec<RegisteredClientTool> {
        let lent = self.lock();
        let mut sets: Vec<(bool, u64, &ClientToolSet)> = lent
            .sets
            .iter()
            .filter(|((_, of), _)| of.is_none() || of.as_ref() == session)
            .filter_map(|((_, of), sets)| {
                let set = sets.iter().rev().find(|set| may_lend(set.connection))?;
                Some((of.is_some(), set.lent_at, set))
            })
            .collect();
        sets.sort_by_key(|(is_own, lent_at, _)| (*is_own, *lent_at));
        let mut by_name: BTreeMap<ToolName, RegisteredClientTool> = BTreeMap::new();
        for tool in sets.iter().flat_map(|(_, _, set)| &set.tools) {
            by_name.insert(tool.declaration.name.clone(), tool.clone());
        }
        by_name.into_values().collect()
    }

    /// From now on calls of a session wait only for connections of which this says that they may lend to it. The first one counts.
    pub fn lend_only(&self, may_lend: MayLend) {
        let _first = self.0.may_lend.set(may_lend);
    }

    /// The state of a tool that was lent once; with calls of this session, if it is about one.
    pub fn state(&self, tool: &RegisteredClientTool, session: Option<&SessionId>) -> ClientToolState {
        let lends = |connection: u64| match (self.0.may_lend.get(), session) {
            (Some(may_lend), Some(session)) => may_lend(connection, session),
            _ => true,
        };
        let key = (tool.client.clone(), tool.session.clone());
        let connections: Vec<u64> =
            self.lock().sets.get(&key).into_iter().flatten().map(|set| set.connection).collect();
        let barred: Vec<u64> = connections.into_iter().filter(|connection| !lends(*connection)).collect();
        let lent = self.lock();
        let sets = lent.sets.get(&key).map(Vec::as_slice).unwrap_or_default();
        let Some(set) = sets.iter().rev().find(|set| !barred.contains(&set.connection)) else {
            return if sets.is_empty() { ClientToolState::Away } else { ClientToolState::Withdrawn };
        };
        match set.tools.iter().any(|it| it.declaration.name == tool.declaration.name) {
            true => ClientToolState::Lent { generation: set.generation },
            false => ClientToolState::Withdrawn,
        }
    }

    /// Whoever waits for a client looks again: what a connection may do has changed.
    pub fn look_again(&self) {
        self.tell();
    }

    /// Changes whenever a state may have.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// After the change, so that nobody is woken to see what was before.
    fn tell(&self) {
        self.0.changed.send_modify(|edition| *edition += 1);
    }

    fn lock(&self) -> MutexGuard<'_, RegisteredToolSets> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.0.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RegisteredToolSets {
    /// Whether what each session is given stays within bounds when so much is lent under the key, in place of what is.
    fn leaves_room(
        &self,
        key: &(ClientId, Option<SessionId>),
        size: ToolSetSize,
    ) -> Result<(), ToolRegistrationError> {
        let (mut to_all, mut by_session) =
            (ToolSetSize::default(), BTreeMap::<&SessionId, ToolSetSize>::new());
        let others = self.sets.iter().filter(|(other, _)| *other != key);
        let others = others.filter_map(|((_, session), sets)| Some((session.as_ref(), sets.last()?.size)));
        for (session, size) in others.chain([(key.1.as_ref(), size)]) {
            match session {
                None => to_all += size,
                Some(session) => *by_session.entry(session).or_default() += size,
            }
        }
        for own in by_session.into_values().chain([ToolSetSize::default()]) {
            let mut given = to_all;
            given += own;
            let ToolSetSize { tools, bytes } = given;
            if MOST_TOOLS < tools || MOST_BYTES < bytes {
                return Err(ToolRegistrationError::Tools { tools, bytes });
            }
        }
        Ok(())
    }
}

/// How much some tools are.
#[derive(Debug, Clone, Copy, Default)]
struct ToolSetSize {
    tools: usize,
    bytes: usize,
}

impl ToolSetSize {
    fn of(tools: &[RegisteredClientTool]) -> ToolSetSize {
        let bytes = |tool: &RegisteredClientTool| {
            tool.declaration.description.len() + tool.declaration.parameters.to_string().len()
        };
        ToolSetSize { tools: tools.len(), bytes: tools.iter().map(bytes).sum() }
    }
}

impl std::ops::AddAssign for ToolSetSize {
    fn add_assign(&mut self, other: ToolSetSize) {
        self.tools += other.tools;
        self.bytes += other.bytes;
    }
}

//! One server of one workspace: whether it is there, who uses it, and the task that keeps it.
//!
//! The task begins when somebody needs the server and ends when nobody has for long, when somebody says so, or when trying
//! again is of no use. Whoever needs the server waits on its [`ServerState`], which the task alone changes while it lives.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::{connecting::StderrCapture, connection::McpConnection, origin::ServerOrigin, rules::ServerRules};
use crate::{CommandRuntime, ProgramLog};
use project::ProjectReader;
use protocol::{ExtensionRef, McpServerConfig, McpTool};
use sys::{clock::Clock, tasks::TaskGroup};

mod noted;
mod pinned;
mod supervisor;
mod unchanged;

pub(super) use noted::{comparisons, program_name};

/// Calls whose times are kept of each tool.
const KEPT_TIMES: usize = 256;
/// Tools whose calls are counted: what is called by a name that is none does not count.
const COUNTED_TOOLS: usize = 2_000;

/// Whether it is there.
#[derive(Clone)]
pub enum ServerState {
    /// Nobody has needed it, or not for long.
    Idle,
    Connecting,
    Ready(Arc<ReadyServer>),
    /// It is tried again at that moment, by the clock that never jumps.
    Backoff {
        error: String,
        until: Duration,
    },
    /// It is not tried again by itself.
    Failed {
        error: String,
    },
}

/// What there is to use.
pub struct ReadyServer {
    pub connection: McpConnection,
    pub tools: Arc<[McpTool]>,
    pub warnings: Vec<String>,
    pub pid: Option<i32>,
    /// In its own words.
    pub server: Option<String>,
}

/// How often one tool was called.
#[derive(Debug, Clone, Default)]
pub struct ToolCallTally {
    pub calls: u64,
    pub errors: u64,
    /// In milliseconds, the last ones.
    pub times: VecDeque<u64>,
}

/// What is known of it beside its state.
#[derive(Debug, Clone, Default)]
pub struct ServerRecord {
    pub last_error: Option<String>,
    pub restarts: u64,
    /// By canonical name.
    pub tallies: BTreeMap<String, ToolCallTally>,
}

/// Who uses it.
struct ServerLeases {
    now: usize,
    /// When the last one ended, by the clock that never jumps.
    last: Duration,
    /// Ends the task that keeps it; `None` = there is none.
    keeper: Option<CancellationToken>,
}

pub struct McpServerInstance {
    pub name: String,
    pub origin: ServerOrigin,
    /// Canonical.
    pub roots: Vec<String>,
    pub entry: McpServerConfig,
    pub digest: String,
    state: watch::Sender<ServerState>,
    /// It is tried again at once.
    again: Notify,
    /// Whether it may still be run is looked at.
    look: Notify,
    uses: Mutex<ServerLeases>,
    record: Mutex<ServerRecord>,
    complaints: StderrCapture,
    unchanged: Mutex<unchanged::UnchangedFiles>,
}

/// What a server's task works with.
pub trait McpHost: Send + Sync + 'static {
    fn commands(&self) -> &CommandRuntime;
    fn projects(&self) -> &ProjectReader;
    /// The log's word on the files that servers of the user's own may be started with.
    fn program_log(&self) -> &ProgramLog;
    fn clock(&self) -> &Arc<dyn Clock>;
    fn tasks(&self) -> &TaskGroup;
    /// The daemon's own end.
    fn stop(&self) -> &CancellationToken;
    fn rules(&self) -> Arc<ServerRules>;
    /// The reason why the programs of an extension may not run by now, of which it is known by this digest. Blocks on the file system.
    fn extension_fault(&self, extension: &ExtensionRef, digest: &str) -> Option<String>;
    /// It stands otherwise than before, or has other tools.
    fn changed(&self, server: &McpServerInstance, tools: bool);
}

/// Keeps a server from being stopped for want of use.
pub struct ServerLease {
    server: Arc<McpServerInstance>,
    clock: Arc<dyn Clock>,
}

impl Drop for ServerLease {
    fn drop(&mut self) {
        let mut uses = self.server.uses();
        uses.now -= 1;
        uses.last = self.clock.monotonic();
    }
}

impl McpServerInstance {
    pub fn new(
        (name, origin): (&str, ServerOrigin),
        roots: &[String],
        entry: McpServerConfig,
        digest: String,
    ) -> McpServerInstance {
        McpServerInstance {
            name: name.to_owned(),
            origin,
            roots: roots.to_vec(),
            entry,
            digest,
            state: watch::Sender::new(ServerState::Idle),
            again: Notify::new(),
            look: Notify::new(),
            uses: Mutex::new(ServerLeases { now: 0, last: Duration::ZERO, keeper: None }),
            record: Mutex::default(),
            complaints: StderrCapture::default(),
            unchanged: Mutex::default(),
        }
    }

    pub fn state(&self) -> ServerState {
        self.state.borrow().clone()
    }

    pub fn record(&self) -> ServerRecord {
        lock(&self.record).clone()
    }

    /// The last that its program printed on standard error.
    pub fn complaints(&self) -> String {
        self.complaints.tail()
    }

    /// Begins to keep it, unless somebody does already.
    pub fn begin(self: &Arc<Self>, host: &Arc<dyn McpHost>) {
        let token = {
            let mut uses = self.uses();
            if uses.keeper.is_some() || host.stop().is_cancelled() {
                return;
            }
            uses.last = host.clock().monotonic();
            let token = host.stop().child_token();
            uses.keeper = Some(token.clone());
            self.state.send_replace(ServerState::Connecting);
            token
        };
        let (server, host) = (Arc::clone(self), Arc::clone(host));
        host.changed(self, false);
        let tasks = host.tasks().clone();
        tasks.clone().spawn(supervisor::TASK, async move {
            let keeping = Arc::clone(&server).keep(&host, token);
            // Nobody keeps it any more, and who waits for it must learn that.
            if let Err(panicked) = tasks.caught(supervisor::TASK, keeping).await {
                server.lost_keeper(&host, panicked.to_string());
            }
        });
    }

    /// Stops keeping it. Calls that are under way end with an error.
    pub fn end(&self) {
        if let Some(keeper) = &self.uses().keeper {
            keeper.cancel();
        }
    }

    /// True if nobody uses it at this moment.
    pub fn has_no_lease(&self) -> bool {
        self.uses().now == 0
    }

    /// Has it begun anew if what it is started with may not be run any more.
    pub fn look_again(&self) {
        self.look.notify_one();
    }

    /// Completes when nobody keeps it.
    pub async fn ended(&self) {
        let mut states = self.state.subscribe();
        // Its sender lives as long as `self`.
        let _there = states.wait_for(|it| matches!(it, ServerState::Idle | ServerState::Failed { .. })).await;
    }

    /// Has it tried again at once, if it waits to be.
    pub fn hurry_if_waiting(&self) {
        if let ServerState::Backoff { .. } = self.state() {
            self.again.notify_one();
        }
    }

    /// Ends the connection and opens another one, if it is kept.
    pub fn restart(&self) {
        if let ServerState::Ready(_) | ServerState::Backoff { .. } = self.state() {
            self.again.notify_one();
        }
    }

    /// What there is to use, once it is known; it is begun if nobody did. Cancel safe.
    pub async fn ready(
        self: &Arc<Self>,
        host: &Arc<dyn McpHost>,
    ) -> Result<(Arc<ReadyServer>, ServerLease), String> {
        /// A server that goes just now for want of use is begun anew; more often it was somebody's wish.
        const TRIES: usize = 3;
        let in_use = self.enter(host);
        for _ in 0..TRIES {
            self.begin(host);
            let mut states = self.state.subscribe();
            let is_known = |it: &ServerState| !matches!(it, ServerState::Connecting);
            // Its sender lives as long as `self`.
            let Ok(state) = states.wait_for(is_known).await.map(|it| it.clone()) else { break };
            return match state {
                ServerState::Ready(ready) => Ok((ready, in_use)),
                ServerState::Backoff { error, until } => {
                    let wait = until.saturating_sub(host.clock().monotonic()).as_secs_f64().ceil();
                    Err(format!("{error} (it is tried again within {wait} s)"))
                }
                ServerState::Failed { error } => Err(error),
                ServerState::Idle | ServerState::Connecting => continue,
            };
        }
        Err("it was stopped".to_owned())
    }

    fn enter(self: &Arc<Self>, host: &Arc<dyn McpHost>) -> ServerLease {
        self.uses().now += 1;
        ServerLease { server: Arc::clone(self), clock: Arc::clone(host.clock()) }
    }

    /// Notes how a call of one of its tools went.
    pub fn count(&self, tool: &str, took: Duration, failed: bool) {
        let mut record = lock(&self.record);
        if COUNTED_TOOLS <= record.tallies.len() && !record.tallies.contains_key(tool) {
            return;
        }
        let tally = record.tallies.entry(tool.to_owned()).or_default();
        tally.calls += 1;
        tally.errors += u64::from(failed);
        if KEPT_TIMES <= tally.times.len() {
            tally.times.pop_front();
        }
        tally.times.push_back(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    }

    fn uses(&self) -> MutexGuard<'_, ServerLeases> {
        lock(&self.uses)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks, so a poisoned one is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

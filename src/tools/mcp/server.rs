//! One server of one workspace: whether it is there, who uses it, and the task that keeps it.
//!
//! The task begins when somebody needs the server and ends when nobody has for long, when somebody says so, or when trying
//! again is of no use. Whoever needs the server waits on its [`Standing`], which the task alone changes while it lives.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connection::Connection,
    launch::Ground,
    listing::Listing,
    opening::{Complaints, Open, Opener, Unopened},
    rules::ServerRules,
};
use crate::{
    protocol::{McpServer, McpTool},
    sys::clock::Clock,
    tools::Commands,
};

/// The first pause before a server is tried again; each next one is twice as long (spec 07).
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A server that was well for so long begins with the first pause again (spec 07).
const HEALTHY_TIME: Duration = Duration::from_secs(60);
/// A server is asked whether it is there so often (spec 07).
const PING_PAUSE: Duration = Duration::from_secs(60);
/// Servers tell several times in a row that their tools changed; they are listed once.
const SETTLING: Duration = Duration::from_millis(200);
/// Calls whose times are kept of each tool.
const KEPT_TIMES: usize = 256;
/// Tools whose calls are counted: what is called by a name that is none does not count.
const COUNTED_TOOLS: usize = 2_000;

/// Whether it is there.
#[derive(Clone)]
pub enum Standing {
    /// Nobody has needed it, or not for long.
    Idle,
    Connecting,
    Ready(Arc<Ready>),
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
pub struct Ready {
    pub connection: Connection,
    pub tools: Arc<[McpTool]>,
    pub warnings: Vec<String>,
    pub pid: Option<i32>,
    /// In its own words.
    pub server: Option<String>,
}

/// How often one tool was called.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub calls: u64,
    pub errors: u64,
    /// In milliseconds, the last ones.
    pub times: VecDeque<u64>,
}

/// What is known of it beside its standing.
#[derive(Debug, Clone, Default)]
pub struct Record {
    pub last_error: Option<String>,
    pub restarts: u64,
    /// By canonical name.
    pub tallies: BTreeMap<String, Tally>,
}

/// Who uses it.
struct Uses {
    now: usize,
    /// When the last one ended, by the clock that never jumps.
    last: Duration,
    /// Ends the task that keeps it; `None` = there is none.
    keeper: Option<CancellationToken>,
}

pub struct Server {
    pub name: String,
    /// Canonical.
    pub roots: Vec<String>,
    pub entry: McpServer,
    pub digest: String,
    standing: watch::Sender<Standing>,
    /// It is tried again at once.
    again: Notify,
    uses: Mutex<Uses>,
    record: Mutex<Record>,
    complaints: Complaints,
}

/// What a server's task works with.
pub trait Household: Send + Sync + 'static {
    fn commands(&self) -> &Commands;
    fn clock(&self) -> &Arc<dyn Clock>;
    fn tasks(&self) -> &TaskTracker;
    /// The daemon's own end.
    fn stop(&self) -> &CancellationToken;
    fn rules(&self) -> Arc<ServerRules>;
    /// It stands otherwise than before, or has other tools.
    fn changed(&self, server: &Server, tools: bool);
}

/// Keeps a server from being stopped for want of use.
pub struct Use {
    server: Arc<Server>,
    clock: Arc<dyn Clock>,
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut uses = self.server.uses();
        uses.now -= 1;
        uses.last = self.clock.monotonic();
    }
}

impl Server {
    pub fn new(name: &str, roots: &[String], entry: McpServer, digest: String) -> Server {
        Server {
            name: name.to_owned(),
            roots: roots.to_vec(),
            entry,
            digest,
            standing: watch::Sender::new(Standing::Idle),
            again: Notify::new(),
            uses: Mutex::new(Uses { now: 0, last: Duration::ZERO, keeper: None }),
            record: Mutex::default(),
            complaints: Complaints::default(),
        }
    }

    pub fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    pub fn record(&self) -> Record {
        lock(&self.record).clone()
    }

    /// The last that its program printed on standard error.
    pub fn complaints(&self) -> String {
        self.complaints.tail()
    }

    /// Begins to keep it, unless somebody does already.
    pub fn begin(self: &Arc<Self>, household: &Arc<dyn Household>) {
        let token = {
            let mut uses = self.uses();
            if uses.keeper.is_some() || household.stop().is_cancelled() {
                return;
            }
            uses.last = household.clock().monotonic();
            let token = household.stop().child_token();
            uses.keeper = Some(token.clone());
            self.standing.send_replace(Standing::Connecting);
            token
        };
        let (server, keeping) = (Arc::clone(self), Arc::clone(household));
        household.changed(self, false);
        household.tasks().spawn(async move { server.keep(&keeping, token).await });
    }

    /// Stops keeping it. Calls that are under way end with an error.
    pub fn end(&self) {
        if let Some(keeper) = &self.uses().keeper {
            keeper.cancel();
        }
    }

    /// Completes when nobody keeps it.
    pub async fn ended(&self) {
        let mut standings = self.standing.subscribe();
        // Its sender lives as long as `self`.
        let _there = standings.wait_for(|it| matches!(it, Standing::Idle | Standing::Failed { .. })).await;
    }

    /// Has it tried again at once, if it waits to be.
    pub fn hurry_if_waiting(&self) {
        if let Standing::Backoff { .. } = self.standing() {
            self.again.notify_one();
        }
    }

    /// Ends the connection and opens another one, if it is kept.
    pub fn restart(&self) {
        if let Standing::Ready(_) | Standing::Backoff { .. } = self.standing() {
            self.again.notify_one();
        }
    }

    /// What there is to use, once it is known; it is begun if nobody did. Cancel safe.
    pub async fn ready(
        self: &Arc<Self>,
        household: &Arc<dyn Household>,
    ) -> Result<(Arc<Ready>, Use), String> {
        /// A server that goes just now for want of use is begun anew; more often it was somebody's wish.
        const TRIES: usize = 3;
        let in_use = self.enter(household);
        for _ in 0..TRIES {
            self.begin(household);
            let mut standings = self.standing.subscribe();
            let is_known = |it: &Standing| !matches!(it, Standing::Connecting);
            // Its sender lives as long as `self`.
            let Ok(standing) = standings.wait_for(is_known).await.map(|it| it.clone()) else { break };
            return match standing {
                Standing::Ready(ready) => Ok((ready, in_use)),
                Standing::Backoff { error, until } => {
                    let wait = until.saturating_sub(household.clock().monotonic()).as_secs_f64().ceil();
                    Err(format!("{error} (it is tried again within {wait} s)"))
                }
                Standing::Failed { error } => Err(error),
                Standing::Idle | Standing::Connecting => continue,
            };
        }
        Err("it was stopped".to_owned())
    }

    fn enter(self: &Arc<Self>, household: &Arc<dyn Household>) -> Use {
        self.uses().now += 1;
        Use { server: Arc::clone(self), clock: Arc::clone(household.clock()) }
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

    fn uses(&self) -> MutexGuard<'_, Uses> {
        lock(&self.uses)
    }

    async fn keep(self: Arc<Self>, household: &Arc<dyn Household>, token: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        loop {
            let rules = household.rules();
            let ground = Ground {
                commands: household.commands(),
                rules: &rules.commands,
                redactor: &rules.redactor,
                roots: &self.roots,
            };
            let opener = Opener {
                name: &self.name,
                entry: &self.entry,
                ground,
                clock: household.clock(),
                tasks: household.tasks(),
                stop: &token,
                complaints: &self.complaints,
            };
            let begun = household.clock().monotonic();
            let end = match opener.open().await {
                Ok(open) => self.attend(open, &opener, household, &token).await,
                Err(Unopened::Wrong(error)) => return self.left(household, Some(error)),
                Err(Unopened::Away(error)) => End::Lost(error),
            };
            let error = match end {
                End::Unwanted => return self.left(household, None),
                End::Again => {
                    lock(&self.record).restarts += 1;
                    self.stand(household, Standing::Connecting);
                    pause = FIRST_PAUSE;
                    continue;
                }
                End::Lost(error) if token.is_cancelled() => {
                    lock(&self.record).last_error = Some(rules.redactor.owned(error));
                    return self.left(household, None);
                }
                End::Lost(error) => rules.redactor.owned(error),
            };
            tracing::warn!(server = self.name, error, "an MCP server is away");
            if HEALTHY_TIME <= household.clock().monotonic().saturating_sub(begun) {
                pause = FIRST_PAUSE;
            }
            lock(&self.record).last_error = Some(error.clone());
            let until = household.clock().monotonic() + pause;
            self.stand(household, Standing::Backoff { error: error.clone(), until });
            tokio::select! {
                () = token.cancelled() => return self.left(household, None),
                () = household.clock().sleep(pause) => (),
                () = self.again.notified() => (),
            }
            if self.is_unused(household, &rules) {
                return self.left(household, Some(error));
            }
            pause = LONGEST_PAUSE.min(pause * 2);
            lock(&self.record).restarts += 1;
            self.stand(household, Standing::Connecting);
        }
    }

    async fn attend(
        &self,
        open: Open,
        opener: &Opener<'_>,
        household: &Arc<dyn Household>,
        token: &CancellationToken,
    ) -> End {
        let mut open = open;
        let (connection, ears, clock) = (open.connection.clone(), open.ears.clone(), household.clock());
        let (pid, server) = (open.pid, open.server.take());
        let ready = |Listing { tools, warnings }: Listing| {
            let (connection, tools) = (connection.clone(), tools.into());
            Standing::Ready(Arc::new(Ready { connection, tools, warnings, pid, server: server.clone() }))
        };
        self.stand(household, ready(std::mem::take(&mut open.listing)));
        household.changed(self, true);
        let mut ping = clock.sleep(PING_PAUSE);
        let (closed, mut ending) = open.attended();
        let mut closed = pin!(closed);
        let end = loop {
            let idle = match self.idle_in(household) {
                Some(idle) => clock.sleep(idle),
                None => Box::pin(std::future::pending()),
            };
            tokio::select! {
                biased;
                () = token.cancelled() => break End::Unwanted,
                ended = ending.program_ended() => {
                    // Its last words may still be in the pipe.
                    break End::Lost(match ended {
                        Some(ended) => opener.how(&ended),
                        None => "its program ended".to_owned(),
                    });
                }
                () = &mut closed => break self.lost(&mut ending, opener, clock).await,
                () = self.again.notified() => break End::Again,
                () = ears.tools_changed() => {
                    clock.sleep(SETTLING).await;
                    match opener.list(&connection).await {
                        Ok(listing) => {
                            self.stand(household, ready(listing));
                            household.changed(self, true);
                        }
                        Err(error) => tracing::warn!(server = self.name, %error, "its tools could not be listed again"),
                    }
                }
                () = &mut ping => {
                    if let Err(error) = connection.ping(token).await {
                        break End::Lost(format!("it does not answer any more: {error}"));
                    }
                    ping = clock.sleep(PING_PAUSE);
                }
                () = idle => {
                    if self.is_left_unused(household, &household.rules()) {
                        break End::Unwanted;
                    }
                }
            }
        };
        if let End::Unwanted = end {
            // Before it goes: who needs it from now on waits for the next one.
            self.standing.send_replace(Standing::Connecting);
        }
        ending.end(closed, clock).await;
        end
    }

    /// The connection has ended: because the program did, or without it.
    async fn lost(
        &self,
        ending: &mut super::opening::Ending,
        opener: &Opener<'_>,
        clock: &Arc<dyn Clock>,
    ) -> End {
        /// How long the end of a program is waited for that has closed its output.
        const END_TIME: Duration = Duration::from_secs(1);
        tokio::select! {
            biased;
            ended = ending.program_ended() => End::Lost(match ended {
                Some(ended) => opener.how(&ended),
                None => "its program ended".to_owned(),
            }),
            () = clock.sleep(END_TIME) => End::Lost("it closed the connection".to_owned()),
        }
    }

    fn stand(&self, household: &Arc<dyn Household>, standing: Standing) {
        self.standing.send_replace(standing);
        household.changed(self, false);
    }

    /// Nobody keeps it any more, because of an error or because nobody wants it.
    fn left(&self, household: &Arc<dyn Household>, error: Option<String>) {
        let standing = match error {
            Some(error) => {
                let error = household.rules().redactor.owned(error);
                lock(&self.record).last_error = Some(error.clone());
                Standing::Failed { error }
            }
            None => Standing::Idle,
        };
        {
            // Whoever begins it anew sees both or neither.
            let mut uses = self.uses();
            uses.keeper = None;
            self.standing.send_replace(standing);
        }
        household.changed(self, false);
    }

    /// When it will have been unused for so long that it is stopped; `None` = never.
    fn idle_in(&self, household: &Arc<dyn Household>) -> Option<Duration> {
        let timeout = household.rules().idle_timeout?;
        let uses = self.uses();
        let now = household.clock().monotonic();
        if 0 < uses.now { Some(timeout) } else { Some((uses.last + timeout).saturating_sub(now)) }
    }

    /// Whether it is to go for want of use. Whoever enters after this sees that it is going.
    fn is_left_unused(&self, household: &Arc<dyn Household>, rules: &ServerRules) -> bool {
        let Some(timeout) = rules.idle_timeout.filter(|_| !self.entry.auto_start) else { return false };
        let uses = self.uses();
        let since = household.clock().monotonic().saturating_sub(uses.last);
        let is_left = uses.now == 0 && timeout <= since;
        if is_left {
            self.standing.send_replace(Standing::Connecting);
        }
        is_left
    }

    fn is_unused(&self, household: &Arc<dyn Household>, rules: &ServerRules) -> bool {
        let Some(timeout) = rules.idle_timeout else { return false };
        let uses = self.uses();
        let since = household.clock().monotonic().saturating_sub(uses.last);
        uses.now == 0 && timeout <= since && !self.entry.auto_start
    }
}

/// Why a connection is not attended any more.
enum End {
    /// Somebody stopped it, or nobody used it.
    Unwanted,
    /// Somebody wants it restarted.
    Again,
    Lost(String),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks, so a poisoned one is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

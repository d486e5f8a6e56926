//! The task that keeps a server: opens a connection, stays with it, and tries again when it is lost.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{McpHost, McpServerInstance, ReadyServer, ServerState, lock};
use crate::mcp::origin::ServerOrigin;
use crate::mcp::{
    connecting::{CONNECT_TIME, McpConnectError, McpConnectionCloser, McpConnector, OpenMcpConnection},
    launch::LaunchContext,
    listing::McpToolListing,
    rules::ServerRules,
};
use sys::clock::Clock;

/// For the log.
pub const TASK: &str = "what keeps an MCP server";
/// The first pause before a server is tried again; each next one is twice as long (spec 07).
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A server that was well for so long begins with the first pause again (spec 07).
const HEALTHY_TIME: Duration = Duration::from_secs(60);
/// A server is asked whether it is there so often (spec 07).
const PING_PAUSE: Duration = Duration::from_secs(60);
/// Servers tell several times in a row that their tools changed; they are listed once. Each next time the pause is twice as
/// long, so that one which tells it for ever costs little.
const SETTLING: Duration = Duration::from_millis(200);
/// The longest one.
const LONGEST_SETTLING: Duration = Duration::from_secs(60);
/// A server that said nothing of its tools for so long begins with the first pause again.
const QUIET_TIME: Duration = Duration::from_secs(60);
/// How long the end of a program is waited for that has closed its output.
const END_TIME: Duration = Duration::from_secs(1);

/// Why a connection is not attended any more.
enum ConnectionEnd {
    /// Somebody stopped it, or nobody used it.
    Unwanted,
    /// Somebody wants it restarted.
    Again,
    /// What it is started with may not be run any more.
    Refused(String),
    Lost(String),
}

/// When tools are listed again that a server said have changed.
#[derive(Default)]
struct ToolRelisting {
    /// `None` = there is no need to.
    due: Option<BoxFuture<'static, ()>>,
    pause: Duration,
    /// When they were listed again last, by the clock that never jumps.
    last: Option<Duration>,
}

impl ToolRelisting {
    fn is_wanted(&self) -> bool {
        self.due.is_some()
    }

    /// The server said that they changed.
    fn wanted(&mut self, clock: &Arc<dyn Clock>) {
        let since = self.last.map(|last| clock.monotonic().saturating_sub(last));
        self.pause = match since {
            Some(since) if since < QUIET_TIME => LONGEST_SETTLING.min(self.pause * 2),
            Some(_) | None => SETTLING,
        };
        self.due = Some(clock.sleep(self.pause));
    }

    /// Completes when they are to be listed. Cancel safe.
    async fn wait(&mut self) {
        match &mut self.due {
            Some(due) => due.await,
            None => std::future::pending().await,
        }
    }

    fn done(&mut self, clock: &Arc<dyn Clock>) {
        (self.due, self.last) = (None, Some(clock.monotonic()));
    }
}

impl McpServerInstance {
    pub(super) async fn keep(self: Arc<Self>, host: &Arc<dyn McpHost>, token: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        loop {
            let rules = host.rules();
            let commands = rules.commands.clone().for_agent(self.origin.sandbox());
            let ground = LaunchContext {
                name: &self.name,
                commands: host.commands(),
                rules: &commands,
                in_workspace: self.may_run_in_workspace(host),
                extension: match &self.origin {
                    ServerOrigin::Extension(origin) => Some(origin),
                    _ => None,
                },
                redactor: &rules.redactor,
                roots: &self.roots,
            };
            let connector = McpConnector {
                name: &self.name,
                entry: &self.entry,
                ground,
                clock: host.clock(),
                tasks: host.tasks(),
                stop: &token,
                complaints: &self.complaints,
                seen_below_temporary: OnceLock::new(),
                sign_ins: &rules.sign_ins,
            };
            // Until it is connected: by then it has read what it is started with.
            let unchanged = self.unchanged(host).await;
            if unchanged.is_ok()
                && let Some(why) = self.refused(host).await
            {
                return self.left(host, Some(why));
            }
            let begun = host.clock().monotonic();
            let connected = async {
                let unchanged = unchanged.map_err(McpConnectError::Away)?;
                let open = connector.open().await?;
                drop(unchanged);
                Ok::<ConnectionEnd, McpConnectError>(self.attend(open, &connector, host, &token).await)
            };
            let end = match host.tasks().caught(TASK, connected).await {
                Ok(Ok(end)) => end,
                Ok(Err(McpConnectError::Wrong(error))) => return self.left(host, Some(error)),
                Ok(Err(McpConnectError::Away(error))) => ConnectionEnd::Lost(error),
                // The connection is gone with what panicked; another one may do better.
                Err(panicked) => ConnectionEnd::Lost(panicked.to_string()),
            };
            let error = match end {
                ConnectionEnd::Unwanted => return self.left(host, None),
                ConnectionEnd::Refused(why) => return self.left(host, Some(why)),
                ConnectionEnd::Again => {
                    lock(&self.record).restarts += 1;
                    self.stand(host, ServerState::Connecting);
                    pause = FIRST_PAUSE;
                    continue;
                }
                ConnectionEnd::Lost(error) if token.is_cancelled() => {
                    lock(&self.record).last_error = Some(host.rules().redactor.owned(error));
                    return self.left(host, None);
                }
                ConnectionEnd::Lost(error) => host.rules().redactor.owned(error),
            };
            tracing::warn!(server = self.name, error, "an MCP server is away");
            if HEALTHY_TIME <= host.clock().monotonic().saturating_sub(begun) {
                pause = FIRST_PAUSE;
            }
            lock(&self.record).last_error = Some(error.clone());
            let until = host.clock().monotonic() + pause;
            self.stand(host, ServerState::Backoff { error: error.clone(), until });
            tokio::select! {
                () = token.cancelled() => return self.left(host, None),
                () = host.clock().sleep(pause) => (),
                () = self.again.notified() => (),
            }
            if self.is_unused(host, &rules) {
                return self.left(host, Some(error));
            }
            pause = LONGEST_PAUSE.min(pause * 2);
            lock(&self.record).restarts += 1;
            self.stand(host, ServerState::Connecting);
        }
    }

    async fn attend(
        &self,
        open: OpenMcpConnection,
        connector: &McpConnector<'_>,
        host: &Arc<dyn McpHost>,
        token: &CancellationToken,
    ) -> ConnectionEnd {
        let mut open = open;
        let (connection, ears, clock) = (open.connection.clone(), open.ears.clone(), host.clock());
        let (pid, server, refusal) = (open.pid, open.server.take(), Arc::clone(&open.refusal));
        let ready = |McpToolListing { tools, warnings }: McpToolListing| {
            let (connection, tools) = (connection.clone(), tools.into());
            ServerState::Ready(Arc::new(ReadyServer {
                connection,
                tools,
                warnings,
                pid,
                server: server.clone(),
            }))
        };
        self.stand(host, ready(std::mem::take(&mut open.listing)));
        host.changed(self, true);
        let (mut ping, mut relisting) = (clock.sleep(PING_PAUSE), ToolRelisting::default());
        let (closed, mut ending) = open.attended();
        let end = loop {
            let idle = match self.idle_in(host) {
                Some(idle) => clock.sleep(idle),
                None => Box::pin(std::future::pending()),
            };
            tokio::select! {
                biased;
                () = token.cancelled() => break ConnectionEnd::Unwanted,
                ended = ending.program_ended() => {
                    break ConnectionEnd::Lost(match ended {
                        Some(ended) => connector.how(&ended).await,
                        None => "its program ended".to_owned(),
                    });
                }
                () = closed.clone() => break self.lost(&mut ending, connector, clock).await,
                () = self.again.notified() => break ConnectionEnd::Again,
                () = self.look.notified() => {
                    if let Some(why) = self.refused(host).await {
                        break ConnectionEnd::Refused(why);
                    }
                }
                () = refusal.told() => break ConnectionEnd::Lost("the server refused the access token (HTTP 401): sign in again with `subagent mcp login`".to_owned()),
                () = &mut ping => {
                    if let Err(error) = connection.ping(token).await {
                        break ConnectionEnd::Lost(format!("it does not answer any more: {error}"));
                    }
                    ping = clock.sleep(PING_PAUSE);
                }
                () = idle => {
                    if self.is_left_unused(host, &host.rules()) {
                        break ConnectionEnd::Unwanted;
                    }
                }
                // After what the server has no say in: it may tell this for ever.
                () = ears.tools_changed(), if !relisting.is_wanted() => relisting.wanted(clock),
                () = relisting.wait() => {
                    ears.forget_tools_changed();
                    let listed = tokio::select! {
                        listed = connector.list(&connection) => listed.map_err(|error| error.to_string()),
                        () = clock.sleep(CONNECT_TIME) => Err("it took too long".to_owned()),
                    };
                    relisting.done(clock);
                    match listed {
                        Ok(listing) => self.relisted(host, listing, &ready),
                        Err(error) => tracing::warn!(server = self.name, error, "its tools could not be listed again"),
                    }
                }
            }
        };
        if let ConnectionEnd::Unwanted = end {
            // Before it goes: who needs it from now on waits for the next one.
            self.state.send_replace(ServerState::Connecting);
        }
        ending.end(closed, clock).await;
        end
    }

    /// Its tools were listed again. Nobody is told what they know.
    fn relisted(
        &self,
        host: &Arc<dyn McpHost>,
        listing: McpToolListing,
        ready: &impl Fn(McpToolListing) -> ServerState,
    ) {
        let (has_other_tools, has_other_warnings) = match &*self.state.borrow() {
            ServerState::Ready(now) => (*now.tools != *listing.tools, now.warnings != listing.warnings),
            _ => (true, true),
        };
        if has_other_tools || has_other_warnings {
            self.stand(host, ready(listing));
        }
        if has_other_tools {
            host.changed(self, true);
        }
    }

    /// The connection has ended: because the program did, or without it.
    async fn lost(
        &self,
        ending: &mut McpConnectionCloser,
        connector: &McpConnector<'_>,
        clock: &Arc<dyn Clock>,
    ) -> ConnectionEnd {
        tokio::select! {
            biased;
            ended = ending.program_ended() => ConnectionEnd::Lost(match ended {
                Some(ended) => connector.how(&ended).await,
                None => "its program ended".to_owned(),
            }),
            () = clock.sleep(END_TIME) => ConnectionEnd::Lost("it closed the connection".to_owned()),
        }
    }

    fn stand(&self, host: &Arc<dyn McpHost>, state: ServerState) {
        self.state.send_replace(state);
        host.changed(self, false);
    }

    /// Nobody keeps it any more, because of an error or because nobody wants it.
    fn left(&self, host: &Arc<dyn McpHost>, error: Option<String>) {
        let state = match error {
            Some(error) => {
                let error = host.rules().redactor.owned(error);
                lock(&self.record).last_error = Some(error.clone());
                ServerState::Failed { error }
            }
            None => ServerState::Idle,
        };
        {
            // Whoever begins it anew sees both or neither.
            let mut uses = self.uses();
            uses.keeper = None;
            self.state.send_replace(state);
        }
        host.changed(self, false);
    }

    /// The task that kept it is gone by a defect. It is begun anew when somebody needs it.
    pub(super) fn lost_keeper(&self, host: &Arc<dyn McpHost>, error: String) {
        lock(&self.record).last_error = Some(error.clone());
        {
            let mut uses = self.uses();
            uses.keeper = None;
            self.state.send_replace(ServerState::Failed { error });
        }
        host.changed(self, false);
    }

    /// When it will have been unused for so long that it is stopped; `None` = never.
    fn idle_in(&self, host: &Arc<dyn McpHost>) -> Option<Duration> {
        // One that stays anyway would be looked after without a pause from then on.
        let timeout = host.rules().idle_timeout.filter(|_| !self.entry.auto_start)?;
        let uses = self.uses();
        let now = host.clock().monotonic();
        if 0 < uses.now { Some(timeout) } else { Some((uses.last + timeout).saturating_sub(now)) }
    }

    /// Whether it is to go for want of use. Whoever enters after this sees that it is going.
    fn is_left_unused(&self, host: &Arc<dyn McpHost>, rules: &ServerRules) -> bool {
        let Some(timeout) = rules.idle_timeout.filter(|_| !self.entry.auto_start) else { return false };
        let uses = self.uses();
        let since = host.clock().monotonic().saturating_sub(uses.last);
        let is_left = uses.now == 0 && timeout <= since;
        if is_left {
            self.state.send_replace(ServerState::Connecting);
        }
        is_left
    }

    fn is_unused(&self, host: &Arc<dyn McpHost>, rules: &ServerRules) -> bool {
        let Some(timeout) = rules.idle_timeout else { return false };
        let uses = self.uses();
        let since = host.clock().monotonic().saturating_sub(uses.last);
        uses.now == 0 && timeout <= since && !self.entry.auto_start
    }
}

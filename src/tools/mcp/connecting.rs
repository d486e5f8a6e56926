//! How does a connection to a server come about, and what is there to know when it is there?

use std::{
    future::pending,
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use futures_util::FutureExt as _;
use rmcp::{
    RoleClient,
    service::{RunningService, RunningServiceCancellationToken, serve_client},
    transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig},
};
use tokio::{io::AsyncReadExt as _, net::unix::pipe::Receiver, sync::watch};
use tokio_util::sync::CancellationToken;

use super::{
    auth::{AuthorizationRequired, OAuthHttpClient, OAuthSessions},
    connection::{McpClientHandler, McpConnection, McpListKind, McpRequestError},
    keys::heard_in_header,
    launch::{self, LaunchContext, McpServerProcess},
    lines::JsonLineTransport,
    listing::{self, McpToolListing},
};
use crate::{TemporaryFolder, commands::OutputCapture};
use models::patient_client;
use protocol::{McpServerConfig, McpTransport};
use sandbox::CommandHandle;
use sys::{clock::Clock, tasks::TaskGroup, warden::CommandExit};

/// How long a server may take until it has listed its tools (spec 07).
pub const CONNECT_TIME: Duration = Duration::from_secs(30);
/// How long a program may take to end when it is not spoken to any more.
const LEAVE_TIME: Duration = Duration::from_secs(2);
/// How long the end of a program is waited for that has closed its output.
const END_TIME: Duration = Duration::from_secs(1);
/// Bytes kept of what a program prints on standard error: its end.
const KEPT_COMPLAINTS: usize = 16 << 10;
/// Words of programs that complain of files that are not there: shells, the system, Python, Node.
const MISSING_WORDS: [&str; 6] =
    ["No such file", "not found", "No module named", "annot find", "ENOENT", "can't open"];
/// Bytes of an answer over HTTP, as of a line.
const MAX_ANSWER: usize = 80 << 20;

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpConnectError {
    /// It is the same with the next try: the entry is wrong, or the environment lacks something.
    Wrong(String),
    /// The server may be there later.
    Away(String),
}

/// The last that a program printed on standard error. A cheap handle.
#[derive(Clone)]
pub struct StderrCapture {
    kept: Arc<Mutex<OutputCapture>>,
    /// Pipes that are being read.
    pipes: watch::Sender<usize>,
}

impl Default for StderrCapture {
    fn default() -> StderrCapture {
        let kept = Arc::new(Mutex::new(OutputCapture::of(0, KEPT_COMPLAINTS)));
        StderrCapture { kept, pipes: watch::Sender::new(0) }
    }
}

/// A pipe that is being read.
struct StderrPipe(watch::Sender<usize>);

impl Drop for StderrPipe {
    fn drop(&mut self) {
        self.0.send_modify(|pipes| *pipes -= 1);
    }
}

impl StderrCapture {
    /// The last that was printed, without what comes before.
    pub fn tail(&self) -> String {
        let capture = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let from = capture.total().saturating_sub(KEPT_COMPLAINTS as u64);
        let (_, bytes) = capture.from(from, KEPT_COMPLAINTS);
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    /// Its last line that says something.
    fn last_line(&self) -> Option<String> {
        let tail = self.tail();
        let line = tail.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(line.trim().chars().take(300).collect())
    }

    /// Takes whatever comes, so that a program never waits for somebody to read it.
    fn take(&self, mut pipe: Receiver) -> impl Future<Output = ()> + use<> {
        // From now on, not from when the task has its turn.
        self.pipes.send_modify(|pipes| *pipes += 1);
        let (kept, reading) = (Arc::clone(&self.kept), StderrPipe(self.pipes.clone()));
        async move {
            let _reading = reading;
            let mut piece = vec![0; 16 << 10];
            while let Ok(length @ 1..) = pipe.read(&mut piece).await {
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(&piece[..length]);
            }
        }
    }

    /// Completes when all that was printed has been read. Cancel safe.
    async fn are_read(&self) {
        // Its sender is at hand.
        let mut pipes = self.pipes.subscribe();
        let _read = pipes.wait_for(|pipes| *pipes == 0).await;
    }
}

/// What it takes to open connections.
pub struct McpConnector<'a> {
    pub name: &'a str,
    pub entry: &'a McpServerConfig,
    pub ground: LaunchContext<'a>,
    pub clock: &'a Arc<dyn Clock>,
    pub tasks: &'a TaskGroup,
    /// Nobody wants it any more.
    pub stop: &'a CancellationToken,
    pub complaints: &'a StderrCapture,
    /// All that the program sees below `/tmp`, once it was started and if that is not all that there is.
    pub seen_below_temporary: OnceLock<Vec<PathBuf>>,
    pub sign_ins: &'a OAuthSessions,
}

/// An open connection, with its server's program if it has one. Dropping it ends both.
pub struct OpenMcpConnection {
    pub connection: McpConnection,
    pub ears: McpClientHandler,
    pub listing: McpToolListing,
    /// Of the program, or of what watches over it.
    pub pid: Option<i32>,
    /// In the server's own words: its name and version.
    pub server: Option<String>,
    /// Whether it wants somebody to sign in. Told of servers over HTTP alone.
    pub refusal: Arc<AuthorizationRequired>,
    service: RunningService<RoleClient, McpClientHandler>,
    program: Option<McpProgram>,
}

struct McpProgram {
    hold: CommandHandle,
    _folder: TemporaryFolder,
}

impl McpConnector<'_> {
    /// Opens a connection and lists the tools, within [`CONNECT_TIME`].
    pub async fn open(&self) -> Result<OpenMcpConnection, McpConnectError> {
        tokio::select! {
            biased;
            open = self.opening() => open,
            () = self.stop.cancelled() => Err(McpConnectError::Away("it is not wanted any more".to_owned())),
            () = self.clock.sleep(CONNECT_TIME) => {
                let said = self.complaints.last_line().map(|line| format!("; it said: {line}")).unwrap_or_default();
                let seconds = CONNECT_TIME.as_secs();
                Err(McpConnectError::Away(format!("it was not ready within {seconds} s{said}")))
            }
        }
    }

    async fn opening(&self) -> Result<OpenMcpConnection, McpConnectError> {
        let ears = McpClientHandler::new(self.ground.roots);
        let refusal = Arc::<AuthorizationRequired>::default();
        let (service, program) = match &self.entry.transport {
            McpTransport::Stdio { .. } => self.with_program(ears.clone()).await?,
            McpTransport::Http { .. } => (self.over_http(ears.clone(), &refusal).await?, None),
        };
        let connection = McpConnection::new(service.peer().clone(), ears.clone(), Arc::clone(self.clock));
        let server = service.peer_info().and_then(|info| {
            let told = serde_json::to_value(&info.server_info).ok()?;
            let word =
                |name: &str| told.get(name)?.as_str().map(|it| it.chars().take(100).collect::<String>());
            Some(format!("{} {}", word("name")?, word("version")?))
        });
        if let (Some(pinned), Some(server)) =
            (self.entry.pin.as_ref().and_then(|it| it.version.as_ref()), &server)
            && server.rsplit(' ').next() != Some(pinned)
        {
            let why = format!("its pin says version {pinned}, and it is {server} by its own words");
            return Err(McpConnectError::Wrong(why));
        }
        let mut open = OpenMcpConnection {
            connection,
            ears,
            listing: McpToolListing::default(),
            pid: program.as_ref().and_then(|program| program.hold.pid()),
            server,
            refusal,
            service,
            program,
        };
        let listing = self.list(&open.connection).await;
        if open.refusal.is_told() {
            return Err(self.wants_sign_in());
        }
        open.listing = listing
            .map_err(|error| McpConnectError::Away(format!("its tools could not be listed: {error}")))?;
        Ok(open)
    }

    /// The tools that the entry leaves.
    pub async fn list(&self, connection: &McpConnection) -> Result<McpToolListing, McpRequestError> {
        match connection.list(McpListKind::Tools, self.stop).await {
            Ok(listed) => {
                let mut listing = listing::read(self.name, self.entry, &listed);
                listing.hide(self.ground.redactor);
                Ok(listing)
            }
            // Whoever has none may not know the question.
            Err(McpRequestError::Refused(_)) => Ok(McpToolListing::default()),
            Err(error) => Err(error),
        }
    }

    async fn with_program(
        &self,
        ears: McpClientHandler,
    ) -> Result<(RunningService<RoleClient, McpClientHandler>, Option<McpProgram>), McpConnectError> {
        let launched = launch::launch(self.entry, &self.ground).await;
        let McpServerProcess { input, output, complaints, mut hold, folder, seen_below_temporary } =
            launched.map_err(McpConnectError::Wrong)?;
        // It is started once by each connector.
        drop(self.seen_below_temporary.set(seen_below_temporary));
        self.tasks.spawn("what reads an MCP server's errors", self.complaints.take(complaints));
        match serve_client(ears, JsonLineTransport::new(input, output)).await {
            Ok(service) => Ok((service, Some(McpProgram { hold, _folder: folder }))),
            Err(error) => {
                let ended = tokio::select! {
                    ended = hold.ended() => Some(ended.map_err(|error| McpConnectError::Away(error.to_string()))?),
                    () = self.clock.sleep(END_TIME) => None,
                };
                Err(McpConnectError::Away(match ended {
                    Some(ended) => self.how(&ended).await,
                    None => format!("it does not speak the protocol: {}", shortened(&error.to_string())),
                }))
            }
        }
    }

    /// How a program ended, in words.
    pub async fn how(&self, ended: &CommandExit) -> String {
        // Its last words may still be in the pipe; they are soon read, unless somebody else holds it open.
        tokio::select! {
            () = self.complaints.are_read() => (),
            () = self.clock.sleep(END_TIME) => (),
        }
        let how = match (ended.code, ended.signal) {
            (Some(code), _) => format!("its program ended with code {code}"),
            (None, Some(signal)) => format!("its program was ended by signal {signal}"),
            (None, None) => "its program ended".to_owned(),
        };
        let line = self.complaints.last_line();
        let is_about_missing =
            matches!(ended.code, Some(126 | 127)) || line.as_deref().is_some_and(misses_something);
        let seen = self.seen_below_temporary.get().filter(|seen| is_about_missing && !seen.is_empty());
        let said = line.map(|line| format!("; it said: {line}")).unwrap_or_default();
        format!("{how}{said}{}", seen.map(|seen| sees_only(seen)).unwrap_or_default())
    }

    /// Nobody but a person can help, so it is not tried again by itself.
    fn wants_sign_in(&self) -> McpConnectError {
        McpConnectError::Wrong(format!("it wants you to sign in: subagent mcp login {}", self.name))
    }

    async fn over_http(
        &self,
        ears: McpClientHandler,
        refusal: &Arc<AuthorizationRequired>,
    ) -> Result<RunningService<RoleClient, McpClientHandler>, McpConnectError> {
        let environment = self.ground.commands.environment();
        let (url, headers) = launch::headers(self.entry, environment).map_err(McpConnectError::Wrong)?;
        for (name, value) in &headers {
            heard_in_header(self.ground.commands.secrets(), self.name, name, value);
        }
        let client = patient_client(&url)
            .ok_or_else(|| McpConnectError::Wrong("its `url` is no address of the web".to_owned()))?
            .map_err(|_| McpConnectError::Away("there is no way to the network".to_owned()))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .max_sse_event_size(MAX_ANSWER)
            .max_json_response_size(MAX_ANSWER);
        // Who says in the entry who they are means it.
        let is_named = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        for (name, value) in headers {
            let (Ok(key), Ok(value)) = (name.parse(), value.parse()) else {
                return Err(McpConnectError::Wrong(format!("its header `{name}` is none that can be sent")));
            };
            config.custom_headers.insert(key, value);
        }
        let service = match is_named {
            true => serve_client(ears, StreamableHttpClientTransport::with_client(client, config)).await,
            false => {
                let client = OAuthHttpClient::new(client, self.sign_ins.grant(&url), Arc::clone(refusal));
                serve_client(ears, StreamableHttpClientTransport::with_client(client, config)).await
            }
        };
        service.map_err(|error| match refusal.is_told() {
            true => self.wants_sign_in(),
            false => McpConnectError::Away(shortened(&error.to_string())),
        })
    }
}

/// True where a program complains that something is not there.
fn misses_something(line: &str) -> bool {
    MISSING_WORDS.iter().any(|words| line.contains(words))
}

/// The hint for a program that misses what lies below `/tmp`.
fn sees_only(seen: &[PathBuf]) -> String {
    let seen = seen.iter().map(|path| path.to_string_lossy());
    let seen = seen.collect::<Vec<_>>().join(" and ");
    format!(
        ". It lies below /tmp, of which the sandbox shows it only {seen}: put what it needs there, name it in the entry (`args`, \
         `cwd`, `PYTHONPATH` in `env`), or move it out of /tmp"
    )
}

/// Ends a connection that is attended.
pub struct McpConnectionCloser {
    token: RunningServiceCancellationToken,
    program: Option<McpProgram>,
}

impl OpenMcpConnection {
    /// The first completes when the connection has ended; who has seen that already may wait for a clone of it.
    pub fn attended(self) -> (impl Future<Output = ()> + Clone + Send, McpConnectionCloser) {
        let token = self.service.cancellation_token();
        let service = self.service;
        let closed = async move { drop(service.waiting().await) }.shared();
        (closed, McpConnectionCloser { token, program: self.program })
    }
}

impl McpConnectionCloser {
    /// Completes when the program has ended; never without one.
    pub async fn program_ended(&mut self) -> Option<CommandExit> {
        match &mut self.program {
            Some(program) => program.hold.ended().await.ok(),
            None => pending().await,
        }
    }

    /// Lets the program read its end, gives it a little time, and ends what is left. `closed` is the connection's own end.
    pub async fn end(self, closed: impl Future<Output = ()>, clock: &Arc<dyn Clock>) {
        let McpConnectionCloser { token, program } = self;
        token.cancel();
        let mut leave_time = clock.sleep(LEAVE_TIME);
        let leaving = async {
            closed.await;
            if let Some(McpProgram { hold, .. }) = &mut { program } {
                drop(hold.ended().await);
            }
        };
        let leaving = pin!(leaving);
        tokio::select! {
            () = leaving => (),
            () = &mut leave_time => (),
        }
    }
}

fn shortened(text: &str) -> String {
    /// Characters of a failure in the words of the other side.
    const LONGEST: usize = 300;
    let mut letters = text.chars();
    let short: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() { format!("{short}…") } else { short }
}

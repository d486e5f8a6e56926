//! How does a command get at the daemon: which socket, may one be started, what if it goes away in between?

use std::{cell::RefCell, path::PathBuf, thread, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    ConnectionArguments, OutputWriter, ProcessIo,
    failure::CommandFailure,
    message::show_message,
    person::{self, OWN_VERSION},
    text_color::TextColor,
};
use client::{
    self, CallError, ConnectError, DaemonDialer, DaemonStarter, ErrorReply, MonotonicStopwatch, PendingCall,
    RECONNECT_BOUND, RpcClient,
};
use protocol::{
    AgentsImport, DaemonReload, ErrorKind, ExtensionInstall, Initialize, InitializeParams, McpConnect,
    McpRestart, NoParams, Ping, PolicyCheck, RpcMethod, RunStart, ToolsList, WorkspaceOpen, WorkspaceTrust,
};

/// How long an answer may take: what a command asks is answered at once, and Ctrl-C is
/// heard only between two questions.
const ANSWER_PATIENCE: Duration = Duration::from_secs(15);

/// The same where a command of the workspace may have to tell tools first: that one gets 30 s, and the rest is the daemon's
/// own time.
const DISCOVERY_PATIENCE: Duration = Duration::from_secs(45);

/// The same where something may have to be fetched first, for which the daemon takes 120 s.
const FETCHING_PATIENCE: Duration = Duration::from_secs(150);

/// What may wait for such a command.
const MAY_DISCOVER: [&str; 6] = [
    DaemonReload::NAME,
    PolicyCheck::NAME,
    RunStart::NAME,
    ToolsList::NAME,
    WorkspaceOpen::NAME,
    WorkspaceTrust::NAME,
];

/// Pause between two attempts to ask again.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Times that whoever introduces themselves tries again when the daemon ends just then: the kernel takes connections for one that was
/// killed until all of it is gone.
const INTRODUCTION_RETRIES: u32 = 5;

/// Whoever keeps the daemon running gets this long to start it again before we do.
const START_GRACE: Duration = Duration::from_secs(1);

/// What is read of the answer to `initialize`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeReply {
    daemon: InitializeReplyDaemon,
    #[serde(default)]
    client_id: Option<String>,
}

#[derive(Deserialize)]
struct InitializeReplyDaemon {
    #[serde(default)]
    version: String,
}

/// A daemon of another version is worth a word.
pub(super) fn note_version(version: &str, stderr: &mut OutputWriter) {
    if version != OWN_VERSION {
        let text = format!("the daemon is version {version}, this is {OWN_VERSION}; `subagent stop` ends it");
        show_message(stderr, TextColor::Yellow, "note", &text);
    }
}

/// How long the answer to a method may take.
pub(super) fn patience(method: &str) -> Duration {
    match method {
        AgentsImport::NAME | ExtensionInstall::NAME => FETCHING_PATIENCE,
        McpConnect::NAME | McpRestart::NAME => DISCOVERY_PATIENCE,
        _ if MAY_DISCOVER.contains(&method) => DISCOVERY_PATIENCE,
        _ => ANSWER_PATIENCE,
    }
}

fn say_why_it_takes_long(method: &str, stderr: &mut OutputWriter) {
    let text = match method {
        AgentsImport::NAME | ExtensionInstall::NAME => "waiting for the daemon; fetching may take 2 minutes",
        McpConnect::NAME | McpRestart::NAME => "waiting for the server, which has 30 s to begin",
        _ => "waiting for the daemon; the workspace's tools.discoveryCommand may take 30 s",
    };
    show_message(stderr, TextColor::Dim, "note", text);
}

/// A command's way to the daemon: how to dial, and the connection it asks on.
pub(super) struct DaemonLink {
    dialer: DaemonDialer,
    control: Option<RpcClient>,
    /// Said on every connection of a person who can be asked; `None` as long as there is none.
    introduction: Option<InitializeParams>,
    /// The same of one who only says who asks, and is nobody who can be asked: followers do not say it.
    named: Option<InitializeParams>,
    /// The id that the daemon gave or took at the last introduction.
    known_as: Option<String>,
    /// After which whoever waits is told why.
    silence: Duration,
}

impl DaemonLink {
    /// Decides where to connect and whether a daemon may be started; does not connect yet.
    pub(super) fn new(
        reach: &ConnectionArguments,
        surroundings: &ProcessIo,
    ) -> Result<DaemonLink, CommandFailure> {
        let environment = &*surroundings.environment;
        let from_environment = environment("SUBAGENTD_SOCKET").filter(|value| !value.is_empty());
        // Whoever names a socket there runs a daemon of their own, with settings we do not know.
        let may_start = !reach.no_spawn && from_environment.is_none();
        let socket = match reach.socket.clone().or(from_environment.map(PathBuf::from)) {
            Some(socket) => surroundings.working_folder.join(socket),
            None => client::default_socket(environment).map_err(|error| {
                CommandFailure::unavailable(format!("cannot find the daemon's socket: {error}"))
                    .or_hint("set XDG_RUNTIME_DIR, or name the socket with --socket PATH")
            })?,
        };
        let starter = client::state_folder(environment)
            .filter(|_| may_start)
            .map(|state_folder| DaemonStarter::beside(surroundings.own_program.as_deref(), &state_folder));
        Ok(DaemonLink {
            dialer: DaemonDialer::new(socket, starter),
            control: None,
            introduction: None,
            named: None,
            known_as: None,
            silence: surroundings.silence,
        })
    }

    pub(super) fn dialer(&self) -> &DaemonDialer {
        &self.dialer
    }

    /// Connects, starting a daemon when none listens and that is allowed; says so.
    pub(super) fn dial(&self, stderr: &mut OutputWriter) -> Result<RpcClient, CommandFailure> {
        match self.dialer.connect() {
            Err(ConnectError::NobodyListens { .. }) if let Some(starter) = self.dialer.starter() => {
                let program = starter.program.display();
                let socket = self.dialer.socket().display();
                let text = format!("no daemon listens on {socket}; starting {program}");
                show_message(stderr, TextColor::Dim, "note", &text);
                Ok(self.dialer.start()?)
            }
            other => Ok(other?),
        }
    }

    /// Dials and introduces itself; a daemon of another version is worth a word.
    pub(super) fn open(&mut self, stderr: &mut OutputWriter) -> Result<(), CommandFailure> {
        self.introduce(&person::nobody(), stderr)
    }

    /// The same as somebody who can be asked. Each connection says so from now on, so that what one claims and answers is
    /// the same client's, whichever connection it comes by.
    pub(super) fn open_as(
        &mut self,
        introduction: InitializeParams,
        stderr: &mut OutputWriter,
    ) -> Result<(), CommandFailure> {
        self.introduce(&introduction, stderr)?;
        self.introduction = Some(introduction);
        Ok(())
    }

    /// Dials as nobody who can be asked, but says who asks: the log has it with what is asked for.
    pub(super) fn open_named(
        &mut self,
        introduction: InitializeParams,
        stderr: &mut OutputWriter,
    ) -> Result<(), CommandFailure> {
        self.introduce(&introduction, stderr)?;
        self.named = Some(introduction);
        Ok(())
    }

    /// Sees that there is a daemon, as every command does when it begins: this one may have been open for days.
    pub(super) fn reach(&mut self, stderr: &mut OutputWriter) -> Result<(), CommandFailure> {
        match self.ask_value::<Ping>(&NoParams {}) {
            Ok(_) => Ok(()),
            Err(error) if error.is_passing() => match (self.introduction.clone(), self.named.clone()) {
                (Some(introduction), _) => self.open_as(introduction, stderr),
                (None, Some(introduction)) => self.open_named(introduction, stderr),
                (None, None) => self.open(stderr),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn introduce(
        &mut self,
        introduction: &InitializeParams,
        stderr: &mut OutputWriter,
    ) -> Result<(), CommandFailure> {
        let mut tries = 0;
        let (client, hello) = loop {
            let mut client = self.dial(stderr)?.with_patience(ANSWER_PATIENCE);
            match client.call_as::<Initialize, InitializeReply>(introduction) {
                Ok(hello) => break (client, hello),
                // A daemon that was just killed still took the connection; who introduces themselves may do so again.
                Err(CallError::Closed) if tries < INTRODUCTION_RETRIES => {
                    tries += 1;
                    thread::sleep(RETRY_PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        };
        note_version(&hello.daemon.version, stderr);
        self.known_as = hello.client_id;
        self.control = Some(client);
        Ok(())
    }

    /// The id by which others are told of what is answered here, if something can be.
    pub(super) fn me(&self) -> Option<String> {
        Some(self.introduction.as_ref()?.client_id.as_ref()?.as_str().to_owned())
    }

    /// The id that what was begun on the connection that introduced us is known by.
    pub(super) fn known_as(&self) -> Option<&str> {
        self.known_as.as_deref()
    }

    /// What we said of ourselves, if we can be asked.
    pub(super) fn introduction(&self) -> Option<&InitializeParams> {
        self.introduction.as_ref()
    }

    /// Asks once, on the open connection or a new one; starts nothing. The answer comes as it was sent: it is printed as it
    /// is, or read through a view in which enums are open ([`view`](super::paging::view)).
    pub(super) fn ask_value<M: RpcMethod>(&mut self, params: &M::Params) -> Result<Value, DaemonCallError> {
        let params = written(M::NAME, params).map_err(DaemonCallError::Call)?;
        let answer = self.ask_raw(M::NAME, &params, &mut || ())?;
        read(M::NAME, &answer).map_err(DaemonCallError::Call)
    }

    /// The same for what may have to wait for a command of the workspace; says so when it does.
    pub(super) fn ask_slowly<M: RpcMethod>(
        &mut self,
        params: &M::Params,
        stderr: &mut OutputWriter,
    ) -> Result<Value, DaemonCallError> {
        let params = written(M::NAME, params).map_err(DaemonCallError::Call)?;
        let answer = self.ask_raw(M::NAME, &params, &mut || say_why_it_takes_long(M::NAME, stderr))?;
        read(M::NAME, &answer).map_err(DaemonCallError::Call)
    }

    /// The same over a connection of the command's own, which need not be introduced.
    pub(super) fn ask_over<M: RpcMethod>(
        &self,
        client: &mut RpcClient,
        params: &M::Params,
        stderr: &mut OutputWriter,
    ) -> Result<Value, CallError> {
        let times = (patience(M::NAME), self.silence);
        let params = written(M::NAME, params)?;
        let answer =
            client.call_slowly(M::NAME, &&*params, times, &mut || say_why_it_takes_long(M::NAME, stderr))?;
        read(M::NAME, &answer)
    }

    /// Asks for what may take as long as a person takes. What is asked meanwhile goes by another connection.
    pub(super) fn begin<M: RpcMethod>(&mut self, params: &M::Params) -> Result<PendingCall, DaemonCallError> {
        let client = match self.control.take() {
            Some(client) => client,
            None => self.connect_anew()?,
        };
        client
            .begin(M::NAME, &written(M::NAME, params).map_err(DaemonCallError::Call)?)
            .map_err(DaemonCallError::Call)
    }

    /// `wonders` is called when the answer is long in coming, of methods of which that is to be expected.
    fn ask_raw(
        &mut self,
        method: &str,
        params: &RawValue,
        wonders: &mut dyn FnMut(),
    ) -> Result<Box<RawValue>, DaemonCallError> {
        let mut client = match self.control.take() {
            Some(client) => client,
            None => self.connect_anew()?,
        };
        let outcome = match patience(method) {
            ANSWER_PATIENCE => client.call_raw(method, &params),
            patience => client.call_slowly(method, &params, (patience, self.silence), wonders),
        };
        // A connection that failed once is not asked again.
        if matches!(outcome, Ok(_) | Err(CallError::Refused(_))) {
            self.control = Some(client);
        }
        outcome.map_err(DaemonCallError::Call)
    }

    fn connect_anew(&self) -> Result<RpcClient, DaemonCallError> {
        let mut client =
            self.dialer.connect().map_err(DaemonCallError::Connect)?.with_patience(ANSWER_PATIENCE);
        if let Some(introduction) = self.introduction.as_ref().or(self.named.as_ref()) {
            client.call_raw(Initialize::NAME, introduction).map_err(DaemonCallError::Call)?;
        }
        Ok(client)
    }

    /// Asks until there is an answer, also across a restart of the daemon, and tells why there is none. Asking twice must
    /// do no harm: a read, or an answer to a question, of which the daemon takes one.
    pub(super) fn ask_patiently<M: RpcMethod>(
        &mut self,
        params: &M::Params,
        gives_up: &mut dyn FnMut() -> bool,
    ) -> Result<Value, DaemonCallError> {
        let repeats = &mut |error: &DaemonCallError| error.is_passing() && !gives_up();
        let params = written(M::NAME, params).map_err(DaemonCallError::Call)?;
        let answer = self.repeat(M::NAME, &params, &mut || (), repeats)?;
        read(M::NAME, &answer).map_err(DaemonCallError::Call)
    }

    /// Asks until there is an answer, also across a restart of the daemon. For reads only: asking twice must do
    /// no harm. `gives_up` is asked between the attempts.
    pub(super) fn ask_until_answered(
        &mut self,
        method: &str,
        params: &impl Serialize,
        gives_up: &mut dyn FnMut() -> bool,
    ) -> Result<Box<RawValue>, CommandFailure> {
        let params = written(method, params).map_err(DaemonCallError::Call)?;
        Ok(self.repeat(method, &params, &mut || (), &mut |error| error.is_passing() && !gives_up())?)
    }

    /// Asks for an effect that `params` name with an `idempotencyKey`. When the answer gets lost, whether there was an
    /// effect is unknown, so the same request goes to whichever daemon is there next: it answers what was done the
    /// first time, or does it now. `gives_up` is asked between the attempts.
    pub(super) fn ask_for_effect<M: RpcMethod>(
        &mut self,
        params: &M::Params,
        stderr: &mut OutputWriter,
        gives_up: &mut dyn FnMut() -> bool,
    ) -> Result<Value, DaemonCallError> {
        let params = written(M::NAME, params).map_err(DaemonCallError::Call)?;
        self.have_effect(M::NAME, &params, stderr, gives_up)
    }

    /// The same for every method: one piece of the program, not one for each.
    fn have_effect(
        &mut self,
        method: &str,
        params: &RawValue,
        stderr: &mut OutputWriter,
        gives_up: &mut dyn FnMut() -> bool,
    ) -> Result<Value, DaemonCallError> {
        let mut was_lost = false;
        let stderr = RefCell::new(stderr);
        let wonders = &mut || say_why_it_takes_long(method, &mut stderr.borrow_mut());
        let answer = self.repeat(method, params, wonders, &mut |error| {
            // The first request may be refused by a daemon that stops; a repeated one waits for its successor.
            let may_repeat = error.is_lost() || (was_lost && error.is_shutting_down());
            if !may_repeat {
                return false;
            }
            if !std::mem::replace(&mut was_lost, true) {
                let text = "the daemon's answer got lost; asking again";
                show_message(&mut stderr.borrow_mut(), TextColor::Yellow, "note", text);
            }
            !gives_up()
        })?;
        read(method, &answer).map_err(DaemonCallError::Call)
    }

    /// Asks again as long as `repeats` says so after a failure, [`RECONNECT_BOUND`] at most.
    fn repeat(
        &mut self,
        method: &str,
        params: &RawValue,
        wonders: &mut dyn FnMut(),
        repeats: &mut dyn FnMut(&DaemonCallError) -> bool,
    ) -> Result<Box<RawValue>, DaemonCallError> {
        let stopwatch = MonotonicStopwatch::start();
        loop {
            let error = match self.ask_raw(method, params, wonders) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if stopwatch.elapsed() >= RECONNECT_BOUND || !repeats(&error) {
                return Err(error);
            }
            let nobody_listens =
                matches!(error, DaemonCallError::Connect(ConnectError::NobodyListens { .. }));
            // As when following: a daemon that was told to stop takes its socket away and is not started again behind
            // the back of whoever stopped it.
            let has_died = nobody_listens && self.dialer.socket().exists();
            if has_died && self.dialer.starter().is_some() && stopwatch.elapsed() >= START_GRACE {
                // A start that fails is tried again: its predecessor may still hold the lock.
                // The next attempt connects to it.
                drop(self.dialer.start());
            }
            thread::sleep(RETRY_PAUSE);
        }
    }
}

fn read(method: &str, answer: &RawValue) -> Result<Value, CallError> {
    serde_json::from_str(answer.get())
        .map_err(|error| CallError::Unreadable { method: method.into(), error: error.to_string() })
}

/// Parameters as they are sent. Everything behind this is the same for all methods, and the companion small.
fn written(method: &str, params: &impl Serialize) -> Result<Box<RawValue>, CallError> {
    serde_json::value::to_raw_value(params)
        .map_err(|error| CallError::Unreadable { method: method.into(), error: error.to_string() })
}

/// Asking failed before or after there was a connection.
#[derive(Debug)]
pub(super) enum DaemonCallError {
    Connect(ConnectError),
    Call(CallError),
}

impl DaemonCallError {
    /// Whether the same question may be answered in a moment.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            DaemonCallError::Connect(error) => matches!(error, ConnectError::NobodyListens { .. }),
            DaemonCallError::Call(CallError::Refused(refusal)) => refusal.retryable,
            DaemonCallError::Call(CallError::Closed | CallError::NoAnswer { .. }) => true,
            DaemonCallError::Call(CallError::TooLarge { .. } | CallError::Unreadable { .. }) => false,
        }
    }

    /// Whether it is unknown what became of the question, because no answer came.
    fn is_lost(&self) -> bool {
        match self {
            DaemonCallError::Connect(error) => matches!(error, ConnectError::NobodyListens { .. }),
            DaemonCallError::Call(error) => matches!(error, CallError::Closed | CallError::NoAnswer { .. }),
        }
    }

    fn is_shutting_down(&self) -> bool {
        self.is_refusal(ErrorKind::ShuttingDown)
    }

    /// Whether the daemon refused for this reason.
    pub(super) fn is_refusal(&self, kind: ErrorKind) -> bool {
        self.refusal().is_some_and(|refusal| refusal.is(kind))
    }

    /// What the daemon said when it refused.
    pub(super) fn refusal(&self) -> Option<&ErrorReply> {
        match self {
            DaemonCallError::Call(CallError::Refused(refusal)) => Some(refusal),
            DaemonCallError::Call(_) | DaemonCallError::Connect(_) => None,
        }
    }
}

impl From<DaemonCallError> for CommandFailure {
    fn from(error: DaemonCallError) -> CommandFailure {
        match error {
            DaemonCallError::Connect(error) => error.into(),
            DaemonCallError::Call(error) => error.into(),
        }
    }
}

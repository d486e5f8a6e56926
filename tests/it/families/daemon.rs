//! A daemon with tools that tell what they did, as a process that can be killed.

use std::{env, fs::OpenOptions, io::Write as _, path::Path, process::Stdio, time::Duration};

use serde_json::{Value, json};
use subagentd::{
    agents::AgentPlaces,
    config::{ConfigSources, DaemonConfig, DaemonPlaces},
    daemon::{Daemon, DaemonDependencies, DaemonSettings, rpc},
    models::ModelRegistry,
    redact::Redactor,
    rules::RulePlaces,
    sandbox::Sandbox,
    sys::{children::ChildProcesses, clock::SystemClock},
    tools::{OwnFiles, ToolRegistry},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::unix::pipe,
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

use super::{Effects, tools};
use crate::{process::Home, support::STUCK};

/// Set for a process that is to be a daemon.
const ROLE: &str = "SUBAGENTD_TEST_DAEMON";
/// The name of [`serve_as_daemon`] among the tests.
const NAME: &str = "families::daemon::serve_as_daemon";
/// Where a home keeps what the tools did.
const EFFECTS: &str = "effects.log";

/// How long a thread is kept that has nothing to do: short, so that whoever counts threads need not wait long.
const KEEP_THREADS: Duration = Duration::from_millis(100);

/// Not a test: where the processes that [`ProbeDaemon::start`] starts become daemons. Among the tests of the suite it
/// has nothing to do.
#[test]
fn serve_as_daemon() {
    if let Some(effects) = env::var_os(ROLE) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_keep_alive(KEEP_THREADS)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(serve(Path::new(&effects)));
    }
}

/// Until it is killed, or its input ends.
async fn serve(effects: &Path) {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).with_target(false).init();
    let uid = rustix::process::geteuid().as_raw();
    let places = DaemonPlaces::from_env(&|name| env::var_os(name), uid).unwrap();
    let (config, problems) = DaemonConfig::load(&ConfigSources::files(places.settings()));
    assert!(problems.is_empty(), "{problems:?}");
    let listener = rpc::bind(&places.socket).await.unwrap();
    let settings = DaemonSettings {
        own_files: OwnFiles::new(&places.config_dir, &places.state_dir, []),
        state_dir: places.state_dir,
        data_dir: places.data_dir,
        agents: AgentPlaces::of_user(places.config_dir.join("agents")),
        skills: subagentd::skills::SkillPlaces::default(),
        rules: RulePlaces::default(),
        config,
        problems,
        redactor: Redactor::none(),
        sources: ConfigSources::default(),
    };
    let effects = OpenOptions::new().create(true).append(true).open(effects).unwrap();
    let tools = ToolRegistry::with(tools::all(effects));
    let edges = DaemonDependencies {
        clock: SystemClock::new(),
        models: ModelRegistry::new(),
        tools,
        children: ChildProcesses::default(),
        sandbox: Sandbox::none(),
        outside: subagentd::web::WebTransport::system(),
    };
    let daemon = Daemon::boot(settings, edges).await.unwrap();
    daemon.listen(listener);
    say("ready");
    let stdin = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").unwrap();
    let mut questions = BufReader::new(stdin).lines();
    while questions.next_line().await.unwrap().is_some() {
        let census = daemon.census();
        let (slots, waiting, contexts) = census.holdings;
        say(&json!({
            "runs": census.live_runs, "connections": census.connections, "tasks": census.tasks,
            "openTexts": census.open_texts, "slots": slots, "waiting": waiting, "contexts": contexts,
        })
        .to_string());
    }
    assert!(daemon.stop().await, "something was left");
}

/// A line of its own, whatever the harness wrote before.
fn say(line: &str) {
    let mut stdout = std::io::stdout();
    write!(stdout, "\n{line}\n").unwrap();
    stdout.flush().unwrap();
}

/// A daemon process with the tools `mutate` and `look`. It ends with its owner.
pub struct ProbeDaemon {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl ProbeDaemon {
    /// A daemon on this home's places that is ready.
    pub async fn start(home: &Home) -> ProbeDaemon {
        let log = OpenOptions::new().create(true).append(true).open(home.path("daemon.log")).unwrap();
        let mut command = home.command(env::current_exe().unwrap());
        command.args(["--exact", NAME, "--nocapture", "--test-threads=1"]);
        command.env(ROLE, home.path(EFFECTS));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut daemon = ProbeDaemon { child, stdin, lines };
        daemon.line(|line| line == "ready").await.unwrap_or_else(|| panic!("{}", home.daemon_log()));
        daemon
    }

    /// The next line that is one of ours; `None` when there is none.
    async fn line(&mut self, is_ours: impl Fn(&str) -> bool) -> Option<String> {
        loop {
            let line = timeout(STUCK, self.lines.next_line()).await.expect("the daemon says nothing");
            match line.unwrap() {
                Some(line) if is_ours(&line) => return Some(line),
                Some(_) => (),
                None => return None,
            }
        }
    }

    /// What lives in it now.
    pub async fn census(&mut self) -> Value {
        self.stdin.write_all(b"census\n").await.unwrap();
        let line = self.line(|line| line.starts_with('{')).await.expect("the daemon is gone");
        serde_json::from_str(&line).unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// SIGKILL, without a warning.
    pub async fn kill(mut self) {
        self.child.start_kill().unwrap();
        timeout(STUCK, self.child.wait()).await.expect("a process does not end").unwrap();
    }

    /// A stop that must be clean.
    pub async fn stop(self) {
        let ProbeDaemon { mut child, stdin, mut lines } = self;
        drop(stdin);
        // The harness's last words: with nobody to read them it would fail.
        while timeout(STUCK, lines.next_line()).await.expect("a process does not end").unwrap().is_some() {}
        let status = timeout(STUCK, child.wait()).await.expect("a process does not end").unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Effects {
    /// What the tools of this home's daemons did so far.
    pub fn of(home: &Home) -> Effects {
        Effects::read(&std::fs::read_to_string(home.path(EFFECTS)).unwrap_or_default())
    }
}

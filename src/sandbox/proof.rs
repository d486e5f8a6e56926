//! What does the sandbox of this system keep from a command? Found out by trying.

use std::{
    io::{self, Read as _},
    net::{TcpListener, UdpSocket},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{io::AsyncReadExt as _, time::timeout};

use super::{
    CommandEnvironment, CommandLaunch, CommandStartError, NamedCommandParts, Sandbox, SandboxMechanism,
    SandboxRules, hidden::TEMPORARY,
};
use sys::{
    programs,
    warden::{
        AttemptOutcome, CommandExit, LEAST_LANDLOCK, OWN_PROGRAM, SandboxAttempt, TRIALS, WardenSignal,
        landlock_version,
    },
};

/// Time for a trial: a sandbox that takes longer is none to work in.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes that trials put out at most.
const MAX_TOLD: u64 = 64 << 10;

/// What the sandbox was seen to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxProof {
    pub mechanism: SandboxMechanism,
    pub trials: Vec<SandboxTrial>,
}

/// One thing that was tried from inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxTrial {
    /// E.g. `write outside the workspace`.
    pub what: &'static str,
    /// How it was refused; `None` = it was possible.
    pub refused: Option<String>,
}

/// What is there to be confined with.
pub(super) async fn find(sandbox: &Sandbox) -> SandboxMechanism {
    let instead = match programs::of_system("bwrap", std::env::var_os("PATH").as_deref()) {
        None => "bubblewrap is not installed among the system's programs".to_owned(),
        Some(program) => {
            let mechanism = SandboxMechanism::Bubblewrap { program };
            match works(sandbox, &mechanism).await {
                Ok(()) => return mechanism,
                Err(why) => format!("bubblewrap does not work here: {why}"),
            }
        }
    };
    let version = landlock_version();
    if version < LEAST_LANDLOCK {
        return SandboxMechanism::Nothing(format!("{instead}; the kernel has no Landlock"));
    }
    let mechanism = SandboxMechanism::Landlock { version, instead: instead.clone() };
    match works(sandbox, &mechanism).await {
        Ok(()) => mechanism,
        Err(why) => SandboxMechanism::Nothing(format!("{instead}; Landlock does not work here: {why}")),
    }
}

async fn works(sandbox: &Sandbox, mechanism: &SandboxMechanism) -> Result<(), String> {
    let mut environment = usual_environment();
    // Here the folder for what is temporary is the real one, in which nothing may be made or removed to show what is on the `PATH`. What
    // is tried lies where every system has it, too.
    let is_elsewhere = |folder: &&str| !TEMPORARY.iter().any(|place| Path::new(folder).starts_with(place));
    let path: Option<Vec<String>> = environment.get("PATH").map(|path| {
        path.split(':').filter(is_elsewhere).chain(["/usr/bin", "/bin"]).map(str::to_owned).collect()
    });
    if let Some(path) = path {
        environment.set("PATH", &path.join(":"));
    }
    let launch = CommandLaunch {
        words: vec!["true".to_owned()],
        named: NamedCommandParts::default(),
        directory: PathBuf::from("/"),
        environment,
        roots: Vec::new(),
        known_roots: Vec::new(),
        temporary: std::env::temp_dir(),
        readable: Vec::new(),
        own_data: None,
        read_only: Vec::new(),
        stays: Vec::new(),
        sockets: Vec::new(),
        rules: SandboxRules::default(),
        terminal: None,
        input: Vec::new(),
    };
    match tried(sandbox, launch, mechanism).await {
        Ok((CommandExit { code: Some(0), .. }, _)) => Ok(()),
        Ok((ended, said)) => Err(format!("`true` ended with {:?}; {}", ended.code, said.trim())),
        Err(problem) => Err(problem),
    }
}

/// Runs a command to its end. Answers what it said on either output.
async fn tried(
    sandbox: &Sandbox,
    launch: CommandLaunch,
    mechanism: &SandboxMechanism,
) -> Result<(CommandExit, String), String> {
    let mut running = sandbox
        .start_with(launch, Some(mechanism))
        .await
        .map_err(|error: CommandStartError| error.to_string())?;
    let (mut out, mut problem) = (String::new(), String::new());
    let told = async {
        let ended = running.hold.ended().await;
        // To the end of both: whoever holds one open has outlived the command.
        let stdout = (&mut running.stdout).take(MAX_TOLD).read_to_string(&mut out).await;
        let stderr = (&mut running.stderr).take(MAX_TOLD).read_to_string(&mut problem).await;
        (ended, stdout.and(stderr))
    };
    match timeout(PATIENCE, told).await {
        Ok((Ok(ended), Ok(_))) => Ok((ended, out + &problem)),
        Ok((Err(error), _)) => Err(format!("{error} {}", problem.trim())),
        Ok((_, Err(error))) => Err(error.to_string()),
        Err(_) => {
            running.hold.wish(WardenSignal::Kill);
            Err(format!("something of it was there after {} s", PATIENCE.as_secs()))
        }
    }
}

/// Places that are tried from inside.
#[derive(Debug, Clone)]
pub struct SandboxTrialPlaces {
    /// A folder that is made the workspace; whatever is put there is taken away.
    pub workspace: PathBuf,
    /// A folder that can be written from outside the sandbox, and is none of the workspace's.
    pub outside: PathBuf,
    /// The daemon's socket, if it has one.
    pub socket: Option<PathBuf>,
    /// The daemon's database or another file of its state.
    pub state: PathBuf,
    pub temporary: PathBuf,
}

impl Sandbox {
    /// Tries from inside what must not be possible.
    pub async fn prove(&self, places: &SandboxTrialPlaces) -> Result<SandboxProof, String> {
        let mechanism = self.mechanism().await.clone();
        if let SandboxMechanism::Nothing(_) = &mechanism {
            return Ok(SandboxProof { mechanism, trials: Vec::new() });
        }
        let told = |error: io::Error| format!("nothing can be listened on to be tried: {error}");
        let tcp = TcpListener::bind(("127.0.0.1", 0)).map_err(told)?;
        let udp = UdpSocket::bind(("127.0.0.1", 0)).map_err(told)?;
        tcp.set_nonblocking(true).and(udp.set_nonblocking(true)).map_err(told)?;
        let (tcp_address, udp_address) = (tcp.local_addr().map_err(told)?, udp.local_addr().map_err(told)?);
        let mut tries = vec![
            ("write outside the workspace", SandboxAttempt::Write(places.outside.join(".subagentd-trial"))),
            (
                "write outside by a link",
                SandboxAttempt::WriteThroughLink {
                    link: places.workspace.join(".subagentd-trial-link"),
                    target: places.outside.join(".subagentd-trial-target"),
                },
            ),
            ("read the daemon's state", SandboxAttempt::Read(places.state.clone())),
            ("change who may read it", SandboxAttempt::ChangeMode(places.state.clone())),
            ("change who may read what is outside", SandboxAttempt::ChangeModeOpened(places.outside.clone())),
            ("change when it was written", SandboxAttempt::ChangeTimes(places.outside.clone())),
            (
                "change the kernel's settings",
                SandboxAttempt::Open(PathBuf::from("/proc/sys/kernel/core_pattern")),
            ),
            ("fill memory that nothing counts", SandboxAttempt::UncountedMemory),
            ("call the kernel by its second numbers", SandboxAttempt::SecondNumber),
            ("connect by TCP", SandboxAttempt::ConnectTcp(tcp_address)),
            ("send by UDP", SandboxAttempt::SendUdp(udp_address)),
            ("send to any socket by one of a pair", SandboxAttempt::PairOfSenders),
            ("signal the daemon", SandboxAttempt::Signal(std::process::id())),
            ("change the daemon's limits", SandboxAttempt::Limit(std::process::id())),
            ("leave a process behind", SandboxAttempt::Outlive),
        ];
        for secret in self.hidden().present().into_iter().filter(|path| holds_anything(path)) {
            tries.push(("read what is hidden", SandboxAttempt::Read(secret)));
        }
        tries.extend(
            places.socket.iter().map(|socket| {
                ("connect to the daemon's socket", SandboxAttempt::ConnectSocket(socket.clone()))
            }),
        );
        let attempts: Vec<&SandboxAttempt> = tries.iter().map(|(_, attempt)| attempt).collect();
        let attempts = serde_json::to_string(&attempts).map_err(|error| error.to_string())?;
        let launch = CommandLaunch {
            words: vec![OWN_PROGRAM.to_owned(), TRIALS.to_owned(), attempts],
            named: NamedCommandParts::default(),
            directory: places.workspace.clone(),
            environment: usual_environment(),
            roots: vec![places.workspace.clone()],
            known_roots: Vec::new(),
            temporary: places.temporary.clone(),
            readable: Vec::new(),
            own_data: None,
            read_only: Vec::new(),
            stays: Vec::new(),
            sockets: Vec::new(),
            rules: SandboxRules::default(),
            terminal: None,
            input: Vec::new(),
        };
        let (ended, said) = tried(self, launch, &mechanism).await?;
        let mut lines = said.lines().map_while(|line| serde_json::from_str::<AttemptOutcome>(line).ok());
        let mut trials = Vec::with_capacity(tries.len());
        for (what, attempt) in tries {
            let Some(AttemptOutcome { refused }) = lines.next() else {
                return Err(format!("the trials ended early ({:?}): {}", ended.code, said.trim()));
            };
            let refused = match attempt {
                // What counts is whether anything came.
                SandboxAttempt::ConnectTcp(_) if tcp.accept().is_err() => refused.or_else(unheard),
                SandboxAttempt::SendUdp(_) if udp.recv(&mut [0; 64]).is_err() => refused.or_else(unheard),
                // Standard output has ended, so nobody had it any more.
                SandboxAttempt::Outlive => Some(format!("ended with the command: {}", ended.left.join(", "))),
                _ => refused,
            };
            trials.push(SandboxTrial { what, refused });
        }
        Ok(SandboxProof { mechanism, trials })
    }
}

fn unheard() -> Option<String> {
    Some("nothing arrived".to_owned())
}

/// True if its being read could be told from its being hidden.
fn holds_anything(path: &Path) -> bool {
    match path.is_dir() {
        true => std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()),
        false => {
            std::fs::File::open(path).is_ok_and(|mut file| file.read(&mut [0]).is_ok_and(|read| 0 < read))
        }
    }
}

fn usual_environment() -> CommandEnvironment {
    let all: Vec<_> = std::env::vars_os().collect();
    CommandEnvironment::of(&all, &[], &redact::Redactor::none())
}

//! What a confined command cannot do, on this very kernel: each by trying.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::{Path, PathBuf},
    process::Command,
};

use subagentd::{
    protocol::SandboxProfile,
    sandbox::{
        CommandEnvironment, CommandLaunch, HiddenPlaces, NamedCommandParts, RunningCommand, Sandbox,
        SandboxMechanism, SandboxProof, SandboxRules, SandboxTrialPlaces,
    },
    sys::warden::{CommandExit, CommandLimit, CommandLimits, WardenSignal},
};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;

use crate::built;

/// This daemon's own program, which is a warden when it is told to be.
pub fn warden() -> PathBuf {
    PathBuf::from(built::daemon())
}

/// A home with secrets, a daemon's state and socket, a workspace beside them, and one sandbox.
struct Ground {
    folder: TempDir,
    sandbox: Sandbox,
    _socket: UnixListener,
}

impl Ground {
    fn new(mechanism: SandboxMechanism) -> Ground {
        // Not in `/tmp`, of which a command sees another one: what is hidden must be hidden by name.
        let folder = tempfile::Builder::new().prefix("sandbox-").tempdir_in(built::apart()).unwrap();
        let at = folder.path();
        for name in ["home/.ssh", "home/work", "state", "temporary", "workspace/sub"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        fs::write(at.join("home/.ssh/id"), "a key").unwrap();
        fs::write(at.join("home/.netrc"), "a password").unwrap();
        fs::write(at.join("state/subagentd.db"), "what everybody was asked").unwrap();
        fs::write(at.join("home/notes"), "anybody may read this").unwrap();
        let socket = at.join("state/socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let hidden = HiddenPlaces::new(Some(&at.join("home")), [at.join("state")]);
        Ground { sandbox: Sandbox::with(warden(), hidden, mechanism), folder, _socket: listener }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn places(&self) -> SandboxTrialPlaces {
        SandboxTrialPlaces {
            workspace: self.path("workspace"),
            outside: self.path("home/work"),
            socket: Some(self.path("state/socket")),
            state: self.path("state/subagentd.db"),
            temporary: self.path("temporary"),
        }
    }

    fn launch(&self, script: &str) -> CommandLaunch {
        let variables: Vec<_> = std::env::vars_os().collect();
        CommandLaunch {
            words: ["bash", "-c", script].map(str::to_owned).to_vec(),
            named: NamedCommandParts::default(),
            directory: self.path("workspace"),
            environment: CommandEnvironment::of(&variables, &[], &subagentd::redact::Redactor::none()),
            roots: vec![self.path("workspace")],
            temporary: self.path("temporary"),
            readable: Vec::new(),
            own_data: None,
            known_roots: Vec::new(),
            read_only: Vec::new(),
            stays: Vec::new(),
            sockets: Vec::new(),
            rules: SandboxRules::default(),
            terminal: None,
            input: Vec::new(),
        }
    }

    async fn run(&self, launch: CommandLaunch) -> (CommandExit, String) {
        let mut running = self.sandbox.start(launch).await.unwrap();
        let said = all_of(&mut running).await;
        (running.hold.ended().await.unwrap(), said)
    }

    async fn bash(&self, script: &str) -> (CommandExit, String) {
        self.run(self.launch(script)).await
    }
}

pub async fn all_of(running: &mut RunningCommand) -> String {
    let (mut out, mut problems) = (String::new(), String::new());
    let (stdout, stderr) = (&mut running.stdout, &mut running.stderr);
    let (read, other) = tokio::join!(stdout.read_to_string(&mut out), stderr.read_to_string(&mut problems));
    read.and(other).unwrap();
    out + &problems
}

/// What this machine has. Both are tried where both are there; one at least must be.
pub fn mechanisms() -> Vec<SandboxMechanism> {
    let mut found = Vec::new();
    found.extend(built::bubblewrap().map(|program| SandboxMechanism::Bubblewrap { program }));
    let version = subagentd::sys::warden::landlock_version();
    if version != 0 {
        found.push(SandboxMechanism::Landlock { version, instead: "it is tried".to_owned() });
    }
    assert!(!found.is_empty(), "this test needs bubblewrap, or a kernel with Landlock");
    found
}

#[tokio::test]
async fn each_way_out_is_refused() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let SandboxProof { trials, .. } = ground.sandbox.prove(&ground.places()).await.unwrap();
        let possible: Vec<_> = trials.iter().filter(|trial| trial.refused.is_none()).collect();
        assert!(possible.is_empty(), "{mechanism:?} lets through {possible:?}");
        // The state's folder, the secrets' folder and file, under each mount that shows them; and the others.
        let of_hidden = trials.iter().filter(|trial| trial.what == "read what is hidden").count();
        assert!(3 <= of_hidden, "{trials:#?}");
        assert_eq!(trials.len() - of_hidden, 16, "{trials:#?}");
        assert_eq!(fs::read_dir(ground.path("home/work")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn without_a_sandbox_the_same_trials_succeed() {
    // So that the trials are known to be able to fail.
    let ground = Ground::new(SandboxMechanism::Nothing("it is left out".to_owned()));
    let (ended, said) = ground
        .bash(&format!(
            "cat {}/.ssh/id; echo x > {}/x",
            ground.path("home").display(),
            ground.path("home/work").display()
        ))
        .await;
    assert_eq!(ended.code, Some(0), "{said}");
    assert_eq!(said, "a key");
    assert!(ground.path("home/work/x").exists());
}

#[tokio::test]
async fn the_workspace_and_the_temporary_folder_can_be_written() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let script = format!(
            "echo 1 > sub/made && echo 2 > $TMPDIR/kept && cat {}",
            ground.path("home/notes").display()
        );
        let (ended, said) = ground.bash(&script).await;
        assert_eq!((ended.code, said.as_str()), (Some(0), "anybody may read this"), "{mechanism:?}");
        assert_eq!(fs::read_to_string(ground.path("workspace/sub/made")).unwrap(), "1\n");
        assert_eq!(fs::read_to_string(ground.path("temporary/kept")).unwrap(), "2\n");
    }
}

#[tokio::test]
async fn a_command_reads_what_it_is_given_and_cannot_keep_anything_there() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        // More than a pipe or a socket takes at once.
        let input = "line\n".repeat(1 << 20).into_bytes();
        let script = "wc -l; { echo more >&0; } 2>/dev/null && echo kept; truncate -s 1G /proc/self/fd/0 2>/dev/null && echo grown; true";
        let (ended, said) = ground.run(CommandLaunch { input, ..ground.launch(script) }).await;
        assert_eq!((ended.code, said.trim()), (Some(0), "1048576"), "{mechanism:?}");
        let (_, said) = ground.bash("wc -c").await;
        assert_eq!(said.trim(), "0", "{mechanism:?}: nothing was given");
    }
}

#[tokio::test]
async fn what_is_too_long_for_a_warden_is_refused_before_it_is_sent() {
    let ground = Ground::new(mechanisms().remove(0));
    let input = vec![0; subagentd::sys::warden::MAX_INPUT + 1];
    let refused =
        ground.sandbox.start(CommandLaunch { input, ..ground.launch("true") }).await.map(drop).unwrap_err();
    expect_test::expect!["the order cannot be written: the command or its input is too long"]
        .assert_eq(&refused.to_string());
}

#[tokio::test]
async fn a_workspace_that_holds_secrets_shows_none() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let home = ground.path("home");
        let launch = CommandLaunch {
            roots: vec![home.clone()],
            directory: home.join("work"),
            ..ground.launch("echo made > here; cat ../.ssh/id ../.netrc; echo x > ../.ssh/authorized_keys")
        };
        let (ended, said) = ground.run(launch).await;
        assert_ne!(ended.code, Some(0), "{mechanism:?}: {said}");
        assert!(!said.contains("a key") && !said.contains("a password"), "{mechanism:?}: {said}");
        assert!(!home.join(".ssh/authorized_keys").exists());
        assert!(home.join("work/here").exists());
    }
}

#[tokio::test]
async fn who_may_only_read_writes_nothing() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let rules = SandboxRules { profile: SandboxProfile::ReadOnly, ..SandboxRules::default() };
        let launch = CommandLaunch { rules, ..ground.launch("echo x > sub/made; echo y > $TMPDIR/kept; ls") };
        let (_, said) = ground.run(launch).await;
        assert!(said.contains("sub") && said.contains("made"), "{mechanism:?}: {said}");
        assert!(!ground.path("workspace/sub/made").exists());
        assert!(ground.path("temporary/kept").exists());
    }
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    for mechanism in mechanisms().into_iter().chain([SandboxMechanism::Nothing("it is left out".to_owned())])
    {
        let ground = Ground::new(mechanism.clone());
        // In the background, in a session of its own, and twice forked so that its parent is gone. All hold the output open.
        let script = "sleep 1001 & setsid sleep 1002 & (setsid sleep 1003 & exit) ; trap '' TERM; exit 3";
        let (ended, _) = ground.bash(script).await;
        assert_eq!(ended.code, Some(3), "{mechanism:?}");
        // One may not have become what it is going to be.
        assert_eq!(ended.left.len(), 3, "{mechanism:?}: {:?}", ended.left);
    }
}

#[tokio::test]
async fn a_command_that_ignores_being_asked_is_ended() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let mut running = ground
            .sandbox
            .start(ground.launch("trap '' TERM; echo ready; while :; do sleep 1000; done"))
            .await
            .unwrap();
        let mut ready = [0; 6];
        running.stdout.read_exact(&mut ready).await.unwrap();
        running.hold.wish(WardenSignal::Stop);
        running.hold.wish(WardenSignal::Kill);
        let ended = running.hold.ended().await.unwrap();
        assert_eq!((ended.code, ended.signal), (None, Some(9)), "{mechanism:?}");
    }
}

#[tokio::test]
async fn who_lets_go_of_a_command_ends_it() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let mut running =
            ground.sandbox.start(ground.launch("setsid sleep 1000 & echo ready; sleep 1000")).await.unwrap();
        let mut ready = [0; 6];
        running.stdout.read_exact(&mut ready).await.unwrap();
        let RunningCommand { mut stdout, hold, .. } = running;
        drop(hold);
        // It ends when nobody is left who could write to it.
        assert_eq!(stdout.read(&mut [0]).await.unwrap(), 0, "{mechanism:?}");
    }
}

#[tokio::test]
async fn limits_end_what_goes_over_them() {
    let cases = [
        (
            CommandLimits { memory_bytes: Some(64 << 20), ..CommandLimits::default() },
            "x=$(head -c 300000000 /dev/zero | tr '\\0' x); sleep 1000",
            CommandLimit::Memory,
        ),
        (
            CommandLimits { cpu_seconds: Some(1), ..CommandLimits::default() },
            "while :; do (:); done",
            CommandLimit::Cpu,
        ),
        (
            CommandLimits { processes: Some(20), ..CommandLimits::default() },
            "for i in $(seq 50); do sleep 1000 & done; wait",
            CommandLimit::Processes,
        ),
    ];
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        for (limits, script, over) in cases {
            let rules = SandboxRules { limits, ..SandboxRules::default() };
            let (ended, said) = ground.run(CommandLaunch { rules, ..ground.launch(script) }).await;
            assert_eq!(ended.over, Some(over), "{mechanism:?}, {script}: {ended:?} {said}");
        }
        let limits = CommandLimits { open_files: Some(10), ..CommandLimits::default() };
        let rules = SandboxRules { limits, ..SandboxRules::default() };
        let (_, said) = ground.run(CommandLaunch { rules, ..ground.launch("ulimit -n") }).await;
        assert_eq!(said, "10\n");
    }
}

#[tokio::test]
async fn what_cannot_be_run_says_why() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let problem = |launch: CommandLaunch| async {
            ground.sandbox.start(launch).await.unwrap().hold.ended().await.unwrap_err().to_string()
        };
        let words = vec!["no-such-shell".to_owned()];
        assert_eq!(
            problem(CommandLaunch { words, ..ground.launch("") }).await,
            "there is no program `no-such-shell`"
        );
        let directory = ground.path("workspace/gone");
        let told = format!("the folder {} is not there", directory.display());
        assert_eq!(problem(CommandLaunch { directory, ..ground.launch("") }).await, told);
    }
}

#[tokio::test]
async fn a_terminal_is_one() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let terminal = Some(subagentd::sys::warden::TerminalSize { columns: 101, rows: 33 });
        let script = "test -t 0 && test -t 1 && test -t 2 && stty size && echo x > /dev/tty";
        let (ended, said) = ground.run(CommandLaunch { terminal, ..ground.launch(script) }).await;
        assert_eq!((ended.code, said.as_str()), (Some(0), "33 101\r\nx\r\n"), "{mechanism:?}");
    }
}

#[tokio::test]
async fn the_environment_has_no_secrets() {
    let ground = Ground::new(mechanisms().remove(0));
    let (_, said) = ground.bash("env; cat /proc/$PPID/environ").await;
    for line in said.lines() {
        let name = line.split('=').next().unwrap();
        let is_usual = [
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "LANG",
            "LANGUAGE",
            "TZ",
            "PAGER",
            "TERM",
            "TMPDIR",
            "PWD",
            "SHLVL",
            "_",
            "SUBAGENTD",
            "XDG_CACHE_HOME",
            "NO_COLOR",
            "COLORTERM",
            "EDITOR",
        ]
        .contains(&name)
            || name.starts_with("LC_")
            || name.starts_with("GIT_");
        assert!(is_usual || line.starts_with("cat: "), "{line}");
    }
}

#[tokio::test]
async fn programs_on_the_path_are_found_below_tmp_and_nothing_else_there_is() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = folder.path().join("tools/speak");
    fs::create_dir(program.parent().unwrap()).unwrap();
    fs::write(&program, "#!/bin/sh\necho spoken\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("beside"), "of somebody else").unwrap();
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let mut launch = ground.launch(&format!("speak; cat {}/beside", folder.path().display()));
        let path = launch.environment.get("PATH").unwrap().to_owned();
        let tools = program.parent().unwrap().display();
        launch.environment.set("PATH", &format!("{tools}:/tmp:{path}"));
        let (_, said) = ground.run(launch).await;
        assert!(said.starts_with("spoken\n"), "{mechanism:?}: {said}");
        let is_seen = said.contains("of somebody else");
        assert_eq!(
            is_seen,
            !matches!(mechanism, SandboxMechanism::Bubblewrap { .. }),
            "{mechanism:?}: {said}"
        );
    }
}

#[tokio::test]
async fn a_workspace_below_tmp_is_there_and_so_is_what_the_daemon_is_made_of() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let place = folder.path().canonicalize().unwrap();
    let (workspace, program) = (place.join("workspace"), place.join("built/subagentd"));
    for made in [&workspace, program.parent().unwrap()] {
        fs::create_dir(made).unwrap();
    }
    if fs::hard_link(warden(), &program).is_err() {
        built::copy(warden(), &program);
    }
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let sandbox = Sandbox::with(program.clone(), HiddenPlaces::default(), mechanism.clone());
        let ground = Ground { sandbox, ..ground };
        let launch = CommandLaunch {
            directory: workspace.clone(),
            roots: vec![workspace.clone()],
            ..ground.launch("pwd; echo made > here; cat here")
        };
        let (ended, said) = ground.run(launch).await;
        let expected = format!("{}\nmade\n", workspace.display());
        assert_eq!((ended.code, said), (Some(0), expected), "{mechanism:?}");
        assert_eq!(fs::read_to_string(workspace.join("here")).unwrap(), "made\n", "{mechanism:?}");
        fs::remove_file(workspace.join("here")).unwrap();
    }
}

#[tokio::test]
async fn what_settings_name_below_tmp_is_read_where_it_lies_and_shows_no_secret() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let site = folder.path().canonicalize().unwrap().join("site");
    fs::create_dir_all(site.join("keys")).unwrap();
    for name in ["main.sh", "part", "keys/key", "token"] {
        fs::write(site.join(name), format!("[{name}]")).unwrap();
    }
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let hidden = HiddenPlaces::new(None, ["keys", "token"].map(|name| site.join(name)));
        let ground = Ground { sandbox: Sandbox::with(warden(), hidden, mechanism.clone()), ..ground };
        let mut launch = ground.launch(&format!(
            "cd {}; cat main.sh part keys/key token; echo x > part; cat part",
            site.display()
        ));
        launch.named.words = vec!["sh".to_owned(), site.join("main.sh").to_str().unwrap().to_owned()];
        let (_, said) = ground.run(launch).await;
        assert!(said.starts_with("[main.sh][part]"), "{mechanism:?}: {said}");
        assert!(!said.contains("[keys/key]") && !said.contains("[token]"), "{mechanism:?}: {said}");
        assert_eq!(fs::read_to_string(site.join("part")).unwrap(), "[part]", "{mechanism:?}: {said}");
    }
}

#[tokio::test]
async fn what_lies_in_memory_is_not_written() {
    for mechanism in mechanisms() {
        let ground = Ground::new(mechanism.clone());
        let (_, said) =
            ground.bash("echo x > /dev/made; echo y > /dev/shm/made; chmod 777 /etc 2>&1; echo done").await;
        assert!(said.contains("done\n") && !Path::new("/dev/made").exists(), "{mechanism:?}: {said}");
        if matches!(mechanism, SandboxMechanism::Bubblewrap { .. }) {
            assert_eq!(fs::read_to_string(ground.path("temporary/made")).unwrap(), "y\n");
        }
    }
}

/// Commands are started on a thread that ends when there is nothing more to start.
#[test]
fn a_command_outlives_the_thread_that_started_it() {
    for mechanism in mechanisms() {
        let keep_alive = std::time::Duration::from_millis(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .thread_keep_alive(keep_alive)
            .build()
            .unwrap();
        let ended = runtime.block_on(async {
            let ground = Ground::new(mechanism.clone());
            assert!(Command::new("mkfifo").arg(ground.path("workspace/gate")).status().unwrap().success());
            let mut running =
                ground.sandbox.start(ground.launch("echo ready; read x < gate; exit 7")).await.unwrap();
            running.stdout.read_exact(&mut [0; 6]).await.unwrap();
            let threads = || {
                fs::read_dir("/proc/self/task")
                    .unwrap()
                    .flatten()
                    .filter(|task| {
                        fs::read_to_string(task.path().join("comm"))
                            .is_ok_and(|name| name.starts_with("tokio-rt"))
                    })
                    .count()
            };
            // Of other tests, too; so it is waited for a while, and what counts is how the command ends.
            for _ in 0..1_000 {
                if threads() == 0 {
                    break;
                }
                tokio::time::timeout(keep_alive, std::future::pending::<()>()).await.unwrap_err();
            }
            fs::write(ground.path("workspace/gate"), "go\n").unwrap();
            running.hold.ended().await.unwrap()
        });
        assert_eq!(ended.code, Some(7), "{mechanism:?}");
    }
}

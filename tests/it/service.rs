//! Is the real daemon a good service: on a socket that was passed to it, and heard by whoever manages it?

use std::{
    fs,
    net::TcpListener,
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _, unix::net::UnixListener},
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::json;
use tokio::{net::UnixDatagram, process::Command, time::timeout};

use crate::{
    built,
    process::{Ended, Home, Served, Wire, output},
    support::STUCK,
};

/// Makes descriptor 3 of what is its standard input, as systemd would, and becomes the daemon.
const PASS: &str = r#"LISTEN_PID=$$; export LISTEN_PID; exec "$0" "$@" 3<&0 </dev/null"#;

/// Hears what the daemon tells its manager.
struct Manager {
    socket: UnixDatagram,
    place: PathBuf,
}

impl Manager {
    fn new(home: &Home) -> Manager {
        let place = home.path("notify");
        Manager { socket: UnixDatagram::bind(&place).unwrap(), place }
    }

    async fn hear(&self) -> String {
        let mut bytes = [0; 1024];
        let heard = timeout(STUCK, self.socket.recv(&mut bytes)).await.expect("nothing is said").unwrap();
        String::from_utf8(bytes[..heard].to_vec()).unwrap()
    }

    /// The next word that is not "alive".
    async fn hear_news(&self) -> String {
        loop {
            let heard = self.hear().await;
            if heard != "WATCHDOG=1\n" {
                return heard;
            }
        }
    }
}

/// The socket where clients look, made by somebody else.
fn usual_socket(home: &Home) -> UnixListener {
    fs::create_dir_all(home.socket().parent().unwrap()).unwrap();
    UnixListener::bind(home.socket()).unwrap()
}

fn passing(home: &Home, socket: impl Into<OwnedFd>) -> Command {
    let mut command = home.command("sh");
    command
        .args(["-c", PASS, built::daemon()])
        .env("LISTEN_FDS", "1")
        .env("LISTEN_FDNAMES", "subagentd.socket")
        .stdin(Stdio::from(socket.into()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

async fn start(home: &Home, listener: &UnixListener, manager: &Manager) -> Served {
    let mut command = passing(home, listener.try_clone().unwrap());
    let log = fs::OpenOptions::new().create(true).append(true).open(home.path("daemon.log")).unwrap();
    command
        .env("NOTIFY_SOCKET", &manager.place)
        .env("WATCHDOG_USEC", "200000")
        .stdout(Stdio::null())
        .stderr(log);
    let served = Served::of(command.spawn().unwrap());
    assert_eq!(manager.hear_news().await, "READY=1\n", "{}", home.daemon_log());
    served
}

#[tokio::test]
async fn a_passed_socket_is_served_outlives_the_daemon_and_the_next_one_answers_who_waited() {
    let home = Home::new();
    let manager = Manager::new(&home);
    let listener = usual_socket(&home);
    // Before there is a daemon: systemd starts it because of this.
    let mut early = home.connect().await;
    let asked = early.send("ping", json!({})).await.unwrap();
    let served = start(&home, &listener, &manager).await;
    assert!(early.answer(asked).await.unwrap()["result"]["at"].is_string());

    // What it starts must not hold on to the socket.
    let flags = fs::read_to_string(format!("/proc/{}/fdinfo/3", served.pid().as_raw_nonzero())).unwrap();
    let flags = flags.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
    assert_ne!(flags & 0o2_000_000, 0, "the socket is inherited");

    served.stop().await;
    assert_eq!(manager.hear_news().await, "STOPPING=1\n");
    assert!(home.socket().exists(), "the socket is not the daemon's to remove");
    let mut waiting = home.connect().await;
    let asked = waiting.send("ping", json!({})).await.unwrap();
    let served = start(&home, &listener, &manager).await;
    assert!(waiting.answer(asked).await.unwrap()["result"]["at"].is_string());
    served.stop().await;
}

#[tokio::test]
async fn the_manager_hears_that_the_daemon_is_alive_and_when_it_reads_its_settings_anew() {
    let home = Home::new();
    let manager = Manager::new(&home);
    let listener = usual_socket(&home);
    let served = start(&home, &listener, &manager).await;
    while manager.hear().await != "WATCHDOG=1\n" {}
    while manager.hear().await != "WATCHDOG=1\n" {}

    fs::write(home.path("config/subagentd/settings.json"), r#"{"run": {"maxTurns": 3}}"#).unwrap();
    served.hang_up();
    let reloading = manager.hear_news().await;
    let usec = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect("it says when");
    assert!(usec.trim().parse::<u64>().unwrap() > 0, "{reloading}");
    assert_eq!(manager.hear_news().await, "READY=1\n");
    let mut wire = home.connect().await;
    let shown = wire.call("config/get", json!({ "keys": ["run.maxTurns"] })).await.unwrap();
    assert_eq!(shown["settings"][0]["value"], 3);
    served.stop().await;
    assert_eq!(manager.hear_news().await, "STOPPING=1\n");
}

#[tokio::test]
async fn the_companion_stops_a_daemon_without_waking_the_next() {
    let home = Home::new();
    let manager = Manager::new(&home);
    let listener = usual_socket(&home);
    let served = start(&home, &listener, &manager).await;
    let stopped = output(&mut home.companion(&["stop"])).await;
    assert_eq!((stopped.code, &*stopped.stdout), (Some(0), "stopped\n"), "{}", stopped.stderr);
    // Nobody knocked meanwhile: systemd would have started a daemon.
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().err().map(|error| error.kind()), Some(std::io::ErrorKind::WouldBlock));
    drop(served);
}

#[tokio::test]
async fn what_cannot_be_listened_on_is_refused_in_words() {
    let home = Home::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let Ended { code, stderr, .. } = output(&mut passing(&home, tcp)).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("a TCP socket was passed") && stderr.contains("(subagentd.socket)"), "{stderr}");

    let file = fs::File::open(home.path("config/subagentd/agents/reader.md")).unwrap();
    let Ended { code, stderr, .. } = output(&mut passing(&home, file)).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("descriptor 3") && stderr.contains("LISTEN_FDS"), "{stderr}");

    let listener = usual_socket(&home);
    let Ended { code, stderr, .. } = output(passing(&home, listener).env("NOTIFY_SOCKET", "vsock:2:1")).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("NOTIFY_SOCKET"), "{stderr}");
}

/// A folder with a `systemctl` that writes down what it is told.
fn pretended_manager(home: &Home) -> PathBuf {
    let folder = home.path("pretended");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("systemctl");
    // `is-active` fails: nothing is running.
    let script = "#!/bin/sh\necho \"$*\" >>\"$HOME/told\"\ncase \"$*\" in *is-active*) exit 3 ;; esac\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

async fn install(home: &Home, arguments: &[&str]) -> (Ended, String) {
    let mut path = pretended_manager(home).into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/install");
    let mut command = home.command(script);
    command.args(arguments).env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = output(&mut command).await;
    let told = fs::read_to_string(home.path("told")).unwrap_or_default();
    let _none = fs::remove_file(home.path("told"));
    (ended, told)
}

#[tokio::test]
async fn installing_is_one_command_that_can_be_repeated_and_undone() {
    let home = Home::new();
    let folder = Path::new(built::daemon()).parent().unwrap().to_str().unwrap();
    let installed = ["config/systemd/user/subagentd.service", "config/systemd/user/subagentd.socket"]
        .into_iter()
        .chain([".local/bin/subagentd", ".local/bin/subagent"]);
    let installed: Vec<PathBuf> = installed.map(|place| home.path(place)).collect();
    for _ in 0..2 {
        let (ended, told) = install(&home, &["--from", folder]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(
            told,
            "--user is-active --quiet subagentd.socket\n--user daemon-reload\n--user enable subagentd.service\n\
             --user enable --now subagentd.socket\n--user try-restart subagentd.service\n"
        );
        for place in &installed {
            assert!(place.is_file(), "{}", place.display());
        }
    }
    // The unit starts what was installed.
    let unit = fs::read_to_string(&installed[0]).unwrap();
    assert!(unit.contains("\nExecStart=%h/.local/bin/subagentd\n"), "{unit}");
    let version = output(home.command(&installed[2]).arg("--version").stdout(Stdio::piped())).await;
    assert_eq!(version.code, Some(0));

    fs::write(home.path("config/subagentd/settings.json"), "{}").unwrap();
    let (ended, told) = install(&home, &["--uninstall"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(told, "--user disable --now subagentd.socket subagentd.service\n--user daemon-reload\n");
    for place in &installed {
        assert!(!place.exists(), "{}", place.display());
    }
    assert!(home.path("config/subagentd/settings.json").exists());

    let (ended, told) = install(&home, &["--from", "/nowhere"]).await;
    assert_eq!((ended.code, &*told), (Some(1), ""), "{}", ended.stderr);
    assert_eq!(install(&home, &["--now"]).await.0.code, Some(2));
}

#[tokio::test]
async fn installing_stops_a_daemon_that_a_client_started() {
    let home = Home::new();
    let served = home.start().await;
    assert!(Wire::connect(&home.socket()).await.is_ok());
    let folder = Path::new(built::daemon()).parent().unwrap().to_str().unwrap();
    let (ended, _) = install(&home, &["--from", folder]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(Wire::connect(&home.socket()).await.is_err(), "it still holds the database");
    drop(served);
}

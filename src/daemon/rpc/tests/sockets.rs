//! Real sockets: the file, the peers, half-closed connections, and the end of the daemon.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use tokio::net::{
    UnixStream,
    unix::{OwnedReadHalf, OwnedWriteHalf},
};

use super::*;
use crate::rpc::{AllowedPeers, BindError, UnixAcceptor, bind};
use sys::{children::ChildProcesses, current::HotSwap};

/// A daemon's listener in a folder of its own.
struct Daemon {
    bed: Arc<Bed>,
    table: Arc<MethodTable>,
    stop: CancellationToken,
    serving: JoinSet<()>,
    socket: PathBuf,
    _folder: TempDir,
}

impl Daemon {
    async fn start(peers: AllowedPeers) -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("run/subagentd.sock");
        let listener = bind(&socket).await.unwrap();
        let (bed, stop) = (Bed::new(), CancellationToken::new());
        let table = table(&bed);
        let mut serving = JoinSet::new();
        let door = UnixAcceptor::new(listener.into(), peers);
        serving.spawn(door.serve(reception(&table, &stop), stop.clone()));
        Daemon { bed, table, stop, serving, socket, _folder: folder }
    }

    async fn connect(&self) -> Client<OwnedReadHalf, OwnedWriteHalf> {
        let (reader, writer) = UnixStream::connect(&self.socket).await.unwrap().into_split();
        Client { reader: BufReader::new(reader), writer: Some(writer), connection: JoinSet::new() }
    }

    async fn end(mut self) {
        self.stop.cancel();
        self.serving.join_next().await.unwrap().unwrap();
        assert_eq!((self.table.load.connections(), self.table.load.subscriptions()), (0, 0));
        assert!(!self.socket.exists());
    }
}

fn everybody() -> AllowedPeers {
    AllowedPeers::owner_and(Arc::new(HotSwap::new(Vec::new())), ChildProcesses::default())
}

fn private_folder() -> TempDir {
    tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o700)).tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn the_socket_is_the_owners_alone() {
    let daemon = Daemon::start(everybody()).await;
    assert_eq!((mode(&daemon.socket), mode(daemon.socket.parent().unwrap())), (0o600, 0o700));
    daemon.connect().await.assert_alive().await;
    daemon.end().await;
}

#[tokio::test]
async fn a_second_daemon_is_told_of_the_first_and_a_dead_ones_socket_is_replaced() {
    let daemon = Daemon::start(everybody()).await;
    let error = bind(&daemon.socket).await.unwrap_err();
    assert!(matches!(error, BindError::AlreadyRunning { .. }), "{error}");
    daemon.connect().await.assert_alive().await;

    let stale = daemon.socket.with_file_name("stale.sock");
    drop(bind(&stale).await.unwrap());
    assert!(stale.exists());
    drop(bind(&stale).await.unwrap());
    daemon.end().await;
}

/// The variable that makes a process of this test listen on its standard input and end.
const LISTEN_AND_END: &str = "SUBAGENTD_TESTS_LISTEN_AND_END";

#[tokio::test]
async fn socket_that_a_dying_daemon_handed_to_its_child_is_waited_for_and_replaced() {
    if std::env::var_os(LISTEN_AND_END).is_some() {
        return rustix::net::listen(std::io::stdin(), 8).unwrap();
    }
    let folder = private_folder();
    let path = folder.path().join("d.sock");
    let held =
        rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&held, &rustix::net::SocketAddrUnix::new(&path).unwrap()).unwrap();
    // What listened has ended; the socket is still open here, as in a child that is about to become another program.
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "rpc::tests::sockets::socket_that_a_dying_daemon_handed_to_its_child_is_waited_for_and_replaced",
        ])
        .env(LISTEN_AND_END, "1")
        .stdin(held.try_clone().unwrap())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    drop(UnixStream::connect(&path).await.expect("the held socket accepts"));

    let mut binding = std::pin::pin!(bind(&path));
    for _ in 0..20 {
        assert!(
            futures_util::poll!(&mut binding).is_pending(),
            "it took or gave up a socket that is still held"
        );
        tokio::task::yield_now().await;
    }
    drop(held);
    drop(binding.await.unwrap());
}

#[tokio::test]
async fn two_daemons_that_start_at_once_do_not_both_get_the_socket() {
    for _ in 0..20 {
        let folder = private_folder();
        let socket = folder.path().join("d.sock");
        drop(bind(&socket).await.unwrap());
        let (one, other) = tokio::join!(bind(&socket), bind(&socket));
        assert_eq!(usize::from(one.is_ok()) + usize::from(other.is_ok()), 1);
    }
}

#[tokio::test]
async fn an_unsafe_place_is_refused_with_the_reason() {
    let folder = private_folder();
    let check = async |socket: &Path, reason: &str| {
        let error = bind(socket).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    let open = folder.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o750)).unwrap();
    check(&open.join("d.sock"), "is open to others (mode 0750)").await;

    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).unwrap();
    check(&link.join("d.sock"), "is no directory").await;

    let file = folder.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    check(&file, "is no socket").await;
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");

    check(&folder.path().join("x".repeat(200)), "cannot bind").await;
}

#[tokio::test]
async fn a_foreign_user_gets_one_error_and_the_end() {
    let me = everybody().owner;
    let also = Arc::new(HotSwap::new(Vec::new()));
    let daemon = Daemon::start(AllowedPeers {
        owner: me + 1,
        also: Arc::clone(&also),
        children: ChildProcesses::default(),
    })
    .await;
    let mut client = daemon.connect().await;
    assert_eq!(kind(&client.receive().await), "FORBIDDEN");
    assert_eq!(client.receive().await, Value::Null);

    // Who may connect is asked each time anew.
    also.replace(vec![me]);
    daemon.connect().await.assert_alive().await;
    daemon.end().await;
}

#[tokio::test]
async fn a_half_closed_connection_gets_its_answers_and_its_events() {
    let daemon = Daemon::start(everybody()).await;
    let mut client = daemon.connect().await;
    daemon.bed.events.store(0, Ordering::Relaxed);
    client.request(1, "session/attach", json!({ "sessionId": "silent" })).await;
    client.request(2, "run/wait", json!({ "runId": "r", "timeoutMs": 1 })).await;
    client.stop_writing().await;
    assert_eq!(client.receive().await["id"], 1);
    until(&daemon.bed.begun, |begun| *begun == 1).await;
    daemon.bed.gate.add_permits(1);
    assert_eq!(client.receive().await["id"], 2);
    assert_eq!(*daemon.bed.attached.borrow(), 1);
    drop(client);
    until(&daemon.bed.attached, |attached| *attached == 0).await;
    daemon.end().await;
}

#[tokio::test]
async fn a_script_that_asks_and_hangs_up_ends_its_connection() {
    let daemon = Daemon::start(everybody()).await;
    let mut client = daemon.connect().await;
    client.request(1, "ping", json!({})).await;
    client.stop_writing().await;
    assert_eq!(client.receive().await["id"], 1);
    assert_eq!(client.receive().await, Value::Null);
    daemon.end().await;
}

#[tokio::test]
async fn what_has_no_effect_yet_ends_for_a_client_that_has_gone() {
    let daemon = Daemon::start(everybody()).await;
    let mut client = daemon.connect().await;
    client.request(1, "agents/import", json!({})).await;
    until(&daemon.bed.begun, |begun| *begun == 1).await;
    drop(client);
    until(&daemon.bed.effects, |effects| *effects == 1).await;
    daemon.end().await;
}

#[tokio::test]
async fn effects_are_completed_for_a_client_that_has_gone() {
    let daemon = Daemon::start(everybody()).await;
    let mut client = daemon.connect().await;
    client.request(1, "run/start", json!({ "workspace": "/", "agent": "a" })).await;
    until(&daemon.bed.begun, |begun| *begun == 1).await;
    drop(client);
    daemon.bed.gate.add_permits(1);
    until(&daemon.bed.effects, |effects| *effects == 1).await;
    daemon.end().await;
}

#[tokio::test]
async fn a_stopping_daemon_finishes_what_it_was_asked() {
    let daemon = Daemon::start(everybody()).await;
    let mut client = daemon.connect().await;
    client.request(1, "run/start", json!({ "workspace": "/", "agent": "a" })).await;
    client.request(2, "session/attach", json!({ "sessionId": "endless" })).await;
    until(&daemon.bed.begun, |begun| *begun == 1).await;
    daemon.stop.cancel();
    daemon.bed.gate.add_permits(1);
    let mut answered = false;
    loop {
        let message = client.receive().await;
        if message.is_null() {
            break;
        }
        answered |= message["id"] == 1 && message["result"]["disposition"] == "started";
    }
    assert!(answered);
    daemon.end().await;
}

#[tokio::test]
async fn a_stopping_daemon_does_not_wait_for_those_who_wait() {
    let daemon = Daemon::start(everybody()).await;
    let mut client = daemon.connect().await;
    client.request(1, "run/wait", json!({ "runId": "r", "timeoutMs": 600_000 })).await;
    until(&daemon.bed.begun, |begun| *begun == 1).await;
    daemon.stop.cancel();
    assert_eq!(kind(&client.receive().await), "SHUTTING_DOWN");
    assert_eq!(client.receive().await, Value::Null);
    daemon.end().await;
}

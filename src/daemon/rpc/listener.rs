//! Who may connect, and where? The socket file, its folder, and the peers that are let in (spec 11, "Who may
//! talk to it").

use std::{
    fs::{self, DirBuilder, File, Permissions},
    future::Future,
    io,
    net::SocketAddr,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
    process::geteuid,
};
use tokio::{
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    caller::PeerCredentials,
    connection::serve_guest,
    context::{OriginCheck, PeerOrigin, RpcPeer, ServerContext},
    errors::error_response,
    flight::ConnectionAdmission,
    message::WireId,
    tcp_gate::TcpGate,
    wire::RpcStream,
};
use protocol::{ErrorKind, RpcError};
use sys::{
    children::{BarredPeer, ChildProcesses},
    current::HotSwap,
    key_file::KeyFileError,
    tasks::TaskGroup,
};

mod refusing;
mod stale;

use refusing::{refusal_of, refuse};
use stale::remove_stale;

/// Connections that may be open at once; more are told so and closed. Below the usual limit of open files with
/// room for databases and tools.
const MAX_CONNECTIONS: usize = 4_096;
/// More of them, who are let in only to see what is wrong and to stop it: control is never refused for load (spec 01,
/// "Errors").
const FOR_CONTROL: usize = 64;
/// Connections over TCP that may be open at once. Few, since they are open before they have shown a token: they must
/// not take the room of the Unix socket.
const MAX_TCP_CONNECTIONS: usize = 256;
/// How long accepting rests when the system has no more files to give.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(100);

/// The reason why there is no socket to listen on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Connect to that one instead.
    #[error("another daemon listens on {socket} already")]
    AlreadyRunning { socket: PathBuf },
    /// Somebody else could put their own socket in place of ours.
    #[error("{directory} {problem}; the socket's folder must be a directory of this user with mode 0700")]
    UnsafeDirectory { directory: PathBuf, problem: String },
    #[error("{path} exists and is no socket; it was left alone")]
    NotASocket { path: PathBuf },
    /// The token would cross the network in the clear.
    #[error(
        "{address} is no loopback address; listening for other machines needs TLS, which this version lacks"
    )]
    NotLoopback { address: SocketAddr },
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Token(#[from] KeyFileError),
    #[error("cannot {action} {path}: {source}")]
    System { action: &'static str, path: PathBuf, source: io::Error },
}

/// A socket that clients connect to.
pub struct SocketListener {
    socket: UnixListener,
    /// Whoever made the file removes it.
    is_ours: bool,
}

impl From<UnixListener> for SocketListener {
    fn from(socket: UnixListener) -> SocketListener {
        SocketListener { socket, is_ours: true }
    }
}

impl SocketListener {
    /// One that was passed to this process: its file stays when the daemon ends, so that whoever listens on can start
    /// the next one.
    pub fn passed(socket: UnixListener) -> SocketListener {
        SocketListener { socket, is_ours: false }
    }
}

/// Which users may talk to the daemon.
#[derive(Clone)]
pub struct AllowedPeers {
    pub owner: u32,
    /// `access.allowUids`, as it is at the moment of connecting.
    pub also: Arc<HotSwap<Vec<u32>>>,
    /// What the daemon started, which has its owner's uid and may not talk to it.
    pub children: ChildProcesses,
}

impl AllowedPeers {
    /// The user the daemon runs as, and the listed ones.
    pub fn owner_and(also: Arc<HotSwap<Vec<u32>>>, children: ChildProcesses) -> AllowedPeers {
        AllowedPeers { owner: geteuid().as_raw(), also, children }
    }

    pub fn admits(&self, uid: u32) -> bool {
        uid == self.owner || self.also.get().contains(&uid)
    }
}

/// Listens on a socket file: folder 0700, file 0600. A socket that nobody answers on is replaced.
pub async fn bind(socket: &Path) -> Result<UnixListener, BindError> {
    let fail = |action| move |source| BindError::System { action, path: socket.to_owned(), source };
    let directory = match socket.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(fail("make the folder of"))?;
    check_directory(directory)?;
    // Two daemons that start at once must not both find a stale socket and replace each other's. The lock is
    // given back when this returns, with the winner listening.
    let lock = File::open(directory).map_err(fail("open the folder of"))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(BindError::AlreadyRunning { socket: socket.to_owned() }),
        Err(error) => return Err(fail("lock the folder of")(error.into())),
    }
    remove_stale(socket).await?;
    let listener = UnixListener::bind(socket).map_err(fail("bind"))?;
    // Between the two lines only the folder's mode protects the socket, which is why it is checked.
    fs::set_permissions(socket, Permissions::from_mode(0o600)).map_err(fail("protect"))?;
    Ok(listener)
}

fn check_directory(directory: &Path) -> Result<(), BindError> {
    let of_us = |problem: String| BindError::UnsafeDirectory { directory: directory.to_owned(), problem };
    let fail = |source| BindError::System { action: "look at", path: directory.to_owned(), source };
    // Not following links: a link could be turned elsewhere later.
    let metadata = fs::symlink_metadata(directory).map_err(fail)?;
    let mode = metadata.mode() & 0o777;
    if !metadata.is_dir() {
        Err(of_us("is no directory".to_owned()))
    } else if metadata.uid() != geteuid().as_raw() {
        Err(of_us(format!("belongs to user {}", metadata.uid())))
    } else if mode & 0o077 != 0 {
        Err(of_us(format!("is open to others (mode {mode:04o})")))
    } else {
        Ok(())
    }
}

/// Accepts connections until `closing` is cancelled, closes the door, and waits until each connection has ended,
/// which the reception's `stop` makes them. Nothing that happens to one connection ends another, or the door.
async fn serve<D: ConnectionAcceptor>(door: D, reception: ServerContext, closing: CancellationToken) {
    let connections = reception.tasks.beside();
    loop {
        let accepted = tokio::select! { biased;
            () = closing.cancelled() => break,
            accepted = door.accept() => accepted,
        };
        match accepted {
            Ok(wire) => {
                let admitting = async { admit(&door, wire, &reception, &connections) };
                // Whoever it was about is gone with it, and has been told by the end of the connection.
                let _told = reception.tasks.caught("what lets connections in", admitting).await;
            }
            Err(error) => {
                // Mostly a lack of file descriptors: those who are connected go on, and free some.
                tracing::warn!(%error, "cannot accept connections");
                let _ = closing.run_until_cancelled(sleep(ACCEPT_BACK_OFF)).await;
            }
        }
    }
    door.close();
    connections.close();
    connections.wait().await;
}

/// Begins to serve a connection, or to tell why it is not.
fn admit<D: ConnectionAcceptor>(door: &D, wire: D::Wire, reception: &ServerContext, connections: &TaskGroup) {
    let admission = match connections.len() {
        open if open < D::MAX_CONNECTIONS => Ok(ConnectionAdmission::Everything),
        open if open < D::MAX_CONNECTIONS + FOR_CONTROL => Ok(ConnectionAdmission::ControlOnly),
        _ => Err(RpcError::new(ErrorKind::Overloaded, "too many connections are open")),
    };
    match admission.and_then(|admission| door.admit(&wire, admission)) {
        Ok(guest) => {
            let background = door.background(&wire, guest.peer);
            let receiving = receive::<D>(wire, guest, background, reception.clone());
            connections.spawn("a connection", receiving);
        }
        Err(error) => {
            let refusing = refuse(wire, D::refusal(&error), reception.stop.clone());
            connections.spawn("a connection that is refused", refusing);
        }
    }
}

/// Lets a guest in whose background allows it. Nothing is read from them before that is known, and nobody else waits.
async fn receive<D: ConnectionAcceptor>(
    wire: D::Wire,
    guest: RpcPeer,
    background: Option<OriginCheck>,
    reception: ServerContext,
) {
    let looked = match background {
        Some(background) => tokio::task::spawn_blocking(background).await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot tell who connects");
            Err(RpcError::new(ErrorKind::Forbidden, "it could not be told who you are"))
        }),
        None => Ok(()),
    };
    match looked {
        Ok(()) => serve_guest(wire, guest, reception).await,
        Err(error) => refuse(wire, D::refusal(&error), reception.stop).await,
    }
}

/// Where connections come in.
trait ConnectionAcceptor: Send + Sync + 'static {
    type Wire: RpcStream;

    /// How many may be open at once.
    const MAX_CONNECTIONS: usize;

    /// What a refused client reads before the end.
    fn refusal(error: &RpcError) -> String;

    /// The next connection. Cancel safe.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Wire>> + Send;

    /// Who it is, or why they may not talk to us.
    fn admit(&self, wire: &Self::Wire, admission: ConnectionAdmission) -> Result<RpcPeer, RpcError>;

    /// What is to be looked at before anything is read from a guest.
    fn background(&self, wire: &Self::Wire, peer: PeerCredentials) -> Option<OriginCheck>;

    /// Nobody comes in any more.
    fn close(self);
}

/// The Unix socket: the kernel says who comes.
pub struct UnixAcceptor {
    listener: SocketListener,
    peers: AllowedPeers,
}

impl UnixAcceptor {
    pub fn new(listener: SocketListener, peers: AllowedPeers) -> UnixAcceptor {
        UnixAcceptor { listener, peers }
    }

    /// Where the socket lies, if it has a file.
    pub fn path(&self) -> Option<PathBuf> {
        self.listener.socket.local_addr().ok()?.as_pathname().map(Path::to_owned)
    }

    /// Serves whoever comes in until `closing` is cancelled, and completes when the last connection has ended.
    pub async fn serve(self, reception: ServerContext, closing: CancellationToken) {
        serve(self, reception, closing).await;
    }
}

impl ConnectionAcceptor for UnixAcceptor {
    type Wire = UnixStream;

    const MAX_CONNECTIONS: usize = MAX_CONNECTIONS;

    fn refusal(error: &RpcError) -> String {
        format!("{}\n", error_response(&WireId::Null, error).get())
    }

    async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.socket.accept().await.map(|(stream, _)| stream)
    }

    fn admit(&self, wire: &UnixStream, admission: ConnectionAdmission) -> Result<RpcPeer, RpcError> {
        let credentials = wire.peer_cred().map_err(|error| {
            tracing::warn!(%error, "cannot tell who connects");
            RpcError::new(ErrorKind::Forbidden, "the system does not say who you are")
        })?;
        if !self.peers.admits(credentials.uid()) {
            tracing::warn!(uid = credentials.uid(), pid = credentials.pid(), "refused a connection");
            let error = format!("user {} may not talk to this daemon", credentials.uid());
            return Err(RpcError::new(ErrorKind::Forbidden, error)
                .with_hint("its owner can add the user to the setting `access.allowUids`"));
        }
        let peer = PeerCredentials { uid: credentials.uid(), pid: credentials.pid() };
        Ok(RpcPeer { peer, admission, gate: None, origin: None })
    }

    /// An agent must never be able to answer its own question. A client that is gone before it was looked at is refused as
    /// well, since nobody can say any more what it was; who waits for an answer is not gone.
    fn background(&self, _: &UnixStream, peer: PeerCredentials) -> Option<OriginCheck> {
        // Elsewhere descent says nothing.
        let children = Some(self.peers.children.clone()).filter(ChildProcesses::is_alone)?;
        Some(Box::new(move || children.admits(peer.pid).map_err(|barred| refusal_of(&barred))))
    }

    fn close(self) {
        // While we still listen, so that it cannot be a successor's socket.
        if self.listener.is_ours
            && let Ok(address) = self.listener.socket.local_addr()
            && let Some(path) = address.as_pathname()
            && let Err(error) = fs::remove_file(path)
        {
            tracing::warn!(%error, path = %path.display(), "cannot remove the socket");
        }
    }
}

/// TCP on this machine: every request shows who it is.
pub struct TcpAcceptor {
    listener: TcpListener,
    gate: Arc<TcpGate>,
    /// What this daemon has started; `None` = it was not told.
    children: Option<ChildProcesses>,
}

impl TcpAcceptor {
    /// Listens on a loopback address; port 0 takes any that is free. Requests must show the token in `token_file`, which
    /// is made when it is missing.
    pub async fn bind(address: SocketAddr, token_file: &Path) -> Result<TcpAcceptor, BindError> {
        if !address.ip().is_loopback() {
            return Err(BindError::NotLoopback { address });
        }
        let fail = |source| BindError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(fail)?;
        let gate = TcpGate::open(token_file, listener.local_addr().map_err(fail)?)?;
        Ok(TcpAcceptor { listener, gate: Arc::new(gate), children: None })
    }

    /// Lets nobody in whom these started.
    #[must_use]
    pub fn closed_to(self, children: ChildProcesses) -> TcpAcceptor {
        TcpAcceptor { children: Some(children), ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.gate.address()
    }

    /// Serves whoever comes in until `closing` is cancelled, and completes when the last connection has ended.
    pub async fn serve(self, reception: ServerContext, closing: CancellationToken) {
        serve(self, reception, closing).await;
    }
}

impl ConnectionAcceptor for TcpAcceptor {
    type Wire = TcpStream;

    const MAX_CONNECTIONS: usize = MAX_TCP_CONNECTIONS;

    fn refusal(error: &RpcError) -> String {
        let body = error_response(&WireId::Null, error);
        let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json";
        format!("{head}\r\nContent-Length: {}\r\n\r\n{}", body.get().len(), body.get())
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        let (stream, _) = self.listener.accept().await?;
        // Answers are whole messages: waiting for more to send only delays them.
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn admit(&self, wire: &TcpStream, admission: ConnectionAdmission) -> Result<RpcPeer, RpcError> {
        // The token is the owner's.
        let peer = PeerCredentials { uid: geteuid().as_raw(), pid: None };
        Ok(RpcPeer { peer, admission, gate: Some(Arc::clone(&self.gate)), origin: self.origin(wire) })
    }

    /// It is looked at once a token is shown.
    fn background(&self, _: &TcpStream, _: PeerCredentials) -> Option<OriginCheck> {
        None
    }

    fn close(self) {}
}

impl TcpAcceptor {
    /// Which process opened a connection of TCP can only be searched for, and it may have handed it on by then. What keeps
    /// agents out beside this is the token, whose file they cannot read.
    fn origin(&self, wire: &TcpStream) -> Option<Arc<PeerOrigin>> {
        let children = self.children.clone().filter(ChildProcesses::is_alone)?;
        let ends = wire.peer_addr().and_then(|client| Ok((client, wire.local_addr()?)));
        Some(PeerOrigin::new(Box::new(move || {
            let (client, server) = ends.map_err(|_| refusal_of(&BarredPeer::Unnamed))?;
            children.admits_from(client, server).map_err(|barred| refusal_of(&barred))
        })))
    }
}

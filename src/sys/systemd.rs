//! What does systemd tell a service, and how is it told how the service is? (sd_listen_fds(3), sd_notify(3))

use std::{
    ffi::OsString,
    fs, io,
    net::TcpListener,
    os::{
        fd::{AsFd as _, FromRawFd as _, OwnedFd, RawFd},
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram, UnixListener},
        },
    },
    process,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::{
    io::{FdFlags, fcntl_setfd},
    net::{AddressFamily, SocketType, sockopt},
    time::{ClockId, clock_gettime},
};

/// The first descriptor that is passed.
const FIRST_FD: RawFd = 3;
/// Sockets passed at most; a unit that passes more is not ours.
const MOST_PASSED: RawFd = 16;

/// A look into the environment.
pub type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A listening socket that was passed to this process.
#[derive(Debug)]
pub struct PassedSocket {
    /// `FileDescriptorName=` of the unit; empty when it says none.
    pub name: String,
    pub socket: ListeningSocket,
}

#[derive(Debug)]
pub enum ListeningSocket {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// What was passed cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("the descriptor {fd} that was passed to this process (LISTEN_FDS) {problem}")]
pub struct PassedError {
    pub fd: RawFd,
    pub problem: String,
}

/// The sockets that were passed to this process. The first call takes them, further ones get none. They are not
/// inherited by what this process starts.
pub fn passed_sockets(variable: VariableLookup<'_>) -> Result<Vec<PassedSocket>, PassedError> {
    static TAKEN: AtomicBool = AtomicBool::new(false);

    let number = |name: &str| variable(name)?.to_str()?.trim().parse::<u32>().ok();
    // Meant for another process: ours was started by the one it was meant for.
    if number("LISTEN_PID") != Some(process::id()) {
        return Ok(Vec::new());
    }
    let count = number("LISTEN_FDS").and_then(|count| RawFd::try_from(count).ok()).unwrap_or(0);
    if count == 0 || TAKEN.swap(true, Ordering::AcqRel) {
        return Ok(Vec::new());
    }
    if MOST_PASSED < count {
        let problem = format!("is one of {count}, which are too many");
        return Err(PassedError { fd: FIRST_FD, problem });
    }
    let names = variable("LISTEN_FDNAMES").and_then(|names| names.into_string().ok()).unwrap_or_default();
    let mut names = names.split(':');
    let mut passed = Vec::new();
    for fd in FIRST_FD..FIRST_FD + count {
        let name = names.next().unwrap_or_default().to_owned();
        let socket = take(fd).map_err(|problem| PassedError { fd, problem })?;
        passed.push(PassedSocket { name, socket });
    }
    Ok(passed)
}

fn take(fd: RawFd) -> Result<ListeningSocket, String> {
    if fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_err() {
        return Err("is not open".to_owned());
    }
    // Safety: the descriptor is open, and by the protocol it is this process's own: `LISTEN_PID` is our id, so nobody
    // in it has opened it, and `TAKEN` lets nobody take it twice.
    #[allow(unsafe_code, reason = "there is no other way to own what was inherited")]
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let cannot = |error: rustix::io::Errno| format!("cannot be used: {error}");
    let is_stream = sockopt::socket_type(&fd).map_err(cannot)? == SocketType::STREAM;
    if !is_stream || !sockopt::socket_acceptconn(&fd).map_err(cannot)? {
        return Err("is no stream socket that listens (`ListenStream=` of the unit)".to_owned());
    }
    let family = sockopt::socket_domain(&fd).map_err(cannot)?;
    fcntl_setfd(fd.as_fd(), FdFlags::CLOEXEC).map_err(cannot)?;
    match family {
        AddressFamily::UNIX => Ok(ListeningSocket::Unix(UnixListener::from(fd))),
        AddressFamily::INET | AddressFamily::INET6 => Ok(ListeningSocket::Tcp(TcpListener::from(fd))),
        other => Err(format!("is a socket of a family that is not served ({other:?})")),
    }
}

/// How the service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceState {
    Ready,
    Reloading,
    Stopping,
    /// Still alive; expected every [`ServiceNotifier::watchdog`].
    Alive,
}

/// Tells the service manager how the service is. Without one it tells nobody.
pub struct ServiceNotifier {
    to: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

impl ServiceNotifier {
    /// As the environment says. An error means that somebody wants to be told and cannot be.
    pub fn from_env(variable: VariableLookup<'_>) -> io::Result<ServiceNotifier> {
        let Some(place) = variable("NOTIFY_SOCKET").filter(|place| !place.is_empty()) else {
            return Ok(ServiceNotifier { to: None, watchdog: None });
        };
        let bytes = place.as_bytes();
        let address = match bytes.split_first() {
            Some((b'@', name)) => SocketAddr::from_abstract_name(name)?,
            Some((b'/', _)) => SocketAddr::from_pathname(&place)?,
            _ => return Err(io::Error::new(io::ErrorKind::Unsupported, "NOTIFY_SOCKET is no Unix socket")),
        };
        let socket = UnixDatagram::unbound()?;
        // Whoever does not read must not hold up the daemon.
        socket.set_nonblocking(true)?;
        Ok(ServiceNotifier { to: Some((socket, address)), watchdog: watchdog(variable) })
    }

    /// How often the manager wants to hear that the service is alive.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    pub fn tell(&self, state: ServiceState) -> io::Result<()> {
        let Some((socket, address)) = &self.to else { return Ok(()) };
        let message = match state {
            ServiceState::Ready => "READY=1\n".to_owned(),
            ServiceState::Stopping => "STOPPING=1\n".to_owned(),
            ServiceState::Alive => "WATCHDOG=1\n".to_owned(),
            ServiceState::Reloading => {
                let now = clock_gettime(ClockId::Monotonic);
                let usec = now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1_000);
                format!("RELOADING=1\nMONOTONIC_USEC={usec}\n")
            }
        };
        socket.send_to_addr(message.as_bytes(), address).map(|_| ())
    }
}

fn watchdog(variable: VariableLookup<'_>) -> Option<Duration> {
    let number = |name: &str| variable(name)?.to_str()?.trim().parse::<u64>().ok();
    // Without an id every process of the service is meant.
    let is_ours = variable("WATCHDOG_PID").is_none() || number("WATCHDOG_PID") == Some(process::id().into());
    let usec = number("WATCHDOG_USEC").filter(|usec| is_ours && *usec != 0)?;
    Some(Duration::from_micros(usec))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment<'e>(pairs: &'e [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + 'e {
        |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
    }

    #[test]
    fn sockets_of_another_process_are_left_alone() {
        let other = (process::id() + 1).to_string();
        for pairs in [
            &[][..],
            &[("LISTEN_FDS", "1")],
            &[("LISTEN_PID", &other), ("LISTEN_FDS", "1")],
            &[("LISTEN_PID", "me"), ("LISTEN_FDS", "1")],
        ] {
            assert!(passed_sockets(&environment(pairs)).unwrap().is_empty(), "{pairs:?}");
        }
    }

    #[test]
    fn the_manager_is_told_in_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("notify");
        let manager = UnixDatagram::bind(&place).unwrap();
        manager.set_nonblocking(true).unwrap();
        let pid = process::id().to_string();
        let pairs =
            [("NOTIFY_SOCKET", place.to_str().unwrap()), ("WATCHDOG_USEC", "1500"), ("WATCHDOG_PID", &pid)];
        let notifier = ServiceNotifier::from_env(&environment(&pairs)).unwrap();
        assert_eq!(notifier.watchdog(), Some(Duration::from_micros(1_500)));
        let heard = |state: ServiceState| {
            notifier.tell(state).unwrap();
            let mut bytes = [0; 200];
            let length = manager.recv(&mut bytes).unwrap();
            String::from_utf8(bytes[..length].to_vec()).unwrap()
        };
        assert_eq!(heard(ServiceState::Ready), "READY=1\n");
        assert_eq!(heard(ServiceState::Alive), "WATCHDOG=1\n");
        assert_eq!(heard(ServiceState::Stopping), "STOPPING=1\n");
        let reloading = heard(ServiceState::Reloading);
        let usec = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().trim();
        assert!(usec.parse::<u64>().unwrap() > 0, "{reloading}");
    }

    #[test]
    fn an_abstract_name_is_a_place_too_and_a_word_is_none() {
        let name = format!("subagentd-test-{}", process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        manager.set_nonblocking(true).unwrap();
        let place = format!("@{name}");
        let pairs = [("NOTIFY_SOCKET", place.as_str())];
        let notifier = ServiceNotifier::from_env(&environment(&pairs)).unwrap();
        notifier.tell(ServiceState::Ready).unwrap();
        assert_eq!(manager.recv(&mut [0; 20]).unwrap(), "READY=1\n".len());
        assert!(ServiceNotifier::from_env(&environment(&[("NOTIFY_SOCKET", "vsock:2:1234")])).is_err());
    }

    #[test]
    fn a_watchdog_of_another_process_is_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("notify");
        let place = place.to_str().unwrap();
        let other = (process::id() + 1).to_string();
        let cases: [&[(&str, &str)]; 4] = [
            &[("NOTIFY_SOCKET", place), ("WATCHDOG_USEC", "1"), ("WATCHDOG_PID", &other)],
            &[("NOTIFY_SOCKET", place), ("WATCHDOG_USEC", "0")],
            &[("NOTIFY_SOCKET", place), ("WATCHDOG_USEC", "soon")],
            &[("WATCHDOG_USEC", "1")],
        ];
        for pairs in cases {
            assert_eq!(ServiceNotifier::from_env(&environment(pairs)).unwrap().watchdog(), None, "{pairs:?}");
        }
        let nobody = ServiceNotifier::from_env(&environment(&[])).unwrap();
        nobody.tell(ServiceState::Ready).unwrap();
    }
}

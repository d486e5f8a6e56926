//! Does the other end of a TCP connection on this machine belong to what an agent started? The kernel names the socket, and
//! the processes below this one say which sockets they have.

use std::{fs, io, net::SocketAddr, path::Path};

use super::{
    BarredPeer, ChildProcesses,
    descent::{self, ProcessAncestry},
    own_number,
    table::{self, PROC},
};

/// Bytes of the system's list of connections: some hundred thousand of them.
const MOST_TABLE_BYTES: u64 = 64 << 20;

impl ChildProcesses {
    /// Whether who connects from this address may talk to the daemon. A socket that no process has any more is not let in,
    /// since nobody can say whose it was. Blocks for reads of `/proc`.
    ///
    /// A process that does not show what it has (`PR_SET_DUMPABLE`) may have it. One that gives its connection to somebody else
    /// is not seen: what keeps it out then is the token, which a sandbox hides.
    pub fn admits_from(&self, client: SocketAddr, server: SocketAddr) -> Result<(), BarredPeer> {
        if !self.is_alone() {
            return Ok(());
        }
        let proc = Path::new(PROC);
        let socket = socket_of(proc, client, server).ok_or(BarredPeer::Unnamed)?;
        let name = format!("socket:[{socket}]");
        let processes = fs::read_dir(proc).into_iter().flatten().flatten();
        for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
            // Wardens do not show what they have, and have no connection.
            if pid == own_number() || !may_have_file(proc, pid, &name) || self.is_warden(pid) {
                continue;
            }
            // The same rules as for one that connects by the Unix socket.
            match descent::look(proc, pid, own_number()) {
                Ok(found) if found.ancestry == ProcessAncestry::Stranger && !found.is_in_our_service => {}
                // One that has gone since has nothing; whose the socket is, the others tell.
                Err(_) if !proc.join(pid.to_string()).exists() => {}
                _ => self.admits(Some(pid))?,
            }
        }
        Ok(())
    }
}

/// True if a process has a file open, or does not let itself be looked at. One that has gone has nothing.
fn may_have_file(proc: &Path, pid: i32, name: &str) -> bool {
    let files = match fs::read_dir(proc.join(pid.to_string()).join("fd")) {
        Ok(files) => files,
        Err(error) => return error.kind() == io::ErrorKind::PermissionDenied,
    };
    files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|target| target.as_os_str() == name)
}

/// The number of the socket at the client's end; `None` when there is none that a process has.
fn socket_of(proc: &Path, client: SocketAddr, server: SocketAddr) -> Option<u64> {
    let list = if client.is_ipv4() { "net/tcp" } else { "net/tcp6" };
    let bytes = table::read_bounded(&proc.join(list), MOST_TABLE_BYTES).ok()?;
    let (client, server) = (written(client), written(server));
    let text = String::from_utf8_lossy(&bytes);
    text.lines().find_map(|line| {
        // proc_pid_net(5): number, local address, remote address, state, …, inode.
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = fields.get(1) == Some(&client.as_str()) && fields.get(2) == Some(&server.as_str());
        is_it.then(|| fields.get(9)?.parse().ok()).flatten().filter(|socket| *socket != 0)
    })
}

/// As the kernel writes it: the address in words of the machine's own order, the port.
fn written(address: SocketAddr) -> String {
    let words: Vec<u8> = match address {
        SocketAddr::V4(v4) => v4.ip().octets().to_vec(),
        SocketAddr::V6(v6) => v6.ip().octets().to_vec(),
    };
    let words = words.chunks_exact(4).map(|word| {
        let word = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
        format!("{word:08X}")
    });
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_other_end_of_a_connection_is_found_while_somebody_has_it() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_server, peer) = listener.accept().unwrap();
            let proc = Path::new(PROC);
            let found = socket_of(proc, peer, listener.local_addr().unwrap()).unwrap();
            assert!(may_have_file(proc, own_number(), &format!("socket:[{found}]")));
            drop(client);
            let gone = socket_of(proc, peer, listener.local_addr().unwrap());
            assert_eq!(gone, None, "a socket that nobody has was found");
        }
    }
}

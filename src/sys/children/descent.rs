//! Does a process descend from another, and does it lie in the same service? Read from `/proc`, which changes meanwhile.

use std::{io, path::Path};

use super::{
    BarredPeer,
    table::{self, ProcessEntry},
};

/// Generations that are looked at. People's processes have a dozen; who hides behind more is not let in.
const MOST_GENERATIONS: usize = 256;
/// How often the looks are repeated when parents end meanwhile.
const TRIES: usize = 8;
/// Nobody's path is that long.
const MOST_CGROUP_BYTES: u64 = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessAncestry {
    /// Descends from somebody else.
    Stranger,
    /// Descends from the process, or is it: by which of its children.
    Below { child: Option<ProcessEntry> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DescentReport {
    pub ancestry: ProcessAncestry,
    /// The ancestor lies in a service of the daemon's own, and the process in it or below it.
    pub is_in_our_service: bool,
}

/// Looks where a process comes from.
pub(super) fn look(proc: &Path, peer: i32, ancestor: i32) -> Result<DescentReport, BarredPeer> {
    let unknown = |problem: String| BarredPeer::Unknown { peer, problem };
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => unknown("it has ended, or cannot be seen".to_owned()),
        kind => unknown(kind.to_string()),
    };
    for _ in 0..TRIES {
        let lineage = match lineage(proc, peer, ancestor) {
            Ok(lineage) => lineage,
            // A parent ended, and the child has another one by now.
            Err(BrokenLineage::Parent) => continue,
            Err(BrokenLineage::Peer(error)) => return Err(gone(error)),
            Err(BrokenLineage::TooLong) => {
                return Err(unknown(format!("it has more than {MOST_GENERATIONS} ancestors")));
            }
        };
        let is_in_our_service = is_in_our_service(proc, peer).map_err(gone)?;
        // Numbers become others'. A process that still has the same parent had it all the time, so what was read of that
        // parent in between was that parent's.
        if self::lineage(proc, peer, ancestor).is_ok_and(|again| again == lineage) {
            return Ok(DescentReport { ancestry: ancestry(&lineage, ancestor), is_in_our_service });
        }
    }
    Err(unknown("its ancestors change too fast".to_owned()))
}

fn ancestry(lineage: &[ProcessEntry], ancestor: i32) -> ProcessAncestry {
    match lineage.iter().position(|entry| entry.pid == ancestor) {
        Some(at) => ProcessAncestry::Below { child: at.checked_sub(1).map(|child| lineage[child]) },
        None => ProcessAncestry::Stranger,
    }
}

/// The reason why there is no lineage.
enum BrokenLineage {
    Peer(io::Error),
    Parent,
    TooLong,
}

/// The process, its parent and so on, up to the ancestor or to somebody without a parent.
fn lineage(proc: &Path, peer: i32, ancestor: i32) -> Result<Vec<ProcessEntry>, BrokenLineage> {
    let mut lineage = vec![ProcessEntry::read(proc, peer).map_err(BrokenLineage::Peer)?];
    while let Some(last) = lineage.last()
        && last.pid != ancestor
        && last.parent != 0
    {
        if lineage.len() == MOST_GENERATIONS {
            return Err(BrokenLineage::TooLong);
        }
        let parent = last.parent;
        lineage.push(ProcessEntry::read(proc, parent).map_err(|_| BrokenLineage::Parent)?);
    }
    Ok(lineage)
}

/// Whether this process lies in a service of its own, and the other one in it or below it.
fn is_in_our_service(proc: &Path, peer: i32) -> io::Result<bool> {
    let ours = match cgroup(&proc.join("self")) {
        // The kernel was built without.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        ours => ours?,
    };
    let Some(ours) = ours.filter(|path| is_own_service(path)) else { return Ok(false) };
    let theirs = cgroup(&proc.join(peer.to_string()))?;
    Ok(theirs.is_some_and(|theirs| match theirs.strip_prefix(&ours) {
        Some(below) => below.is_empty() || below.starts_with('/'),
        None => false,
    }))
}

/// Where nobody made a service of the daemon its cgroup is shared with its clients, and says nothing.
fn is_own_service(path: &str) -> bool {
    let unit = path.rsplit('/').next().unwrap_or_default();
    unit.ends_with(".service") && unit.contains("subagentd")
}

/// The path of a process in the unified hierarchy (cgroups(7)); `None` where there is none.
fn cgroup(process: &Path) -> io::Result<Option<String>> {
    let bytes = table::read_bounded(&process.join("cgroup"), MOST_CGROUP_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A pretended `/proc`, in which process 100 is the daemon.
    struct Proc(tempfile::TempDir);

    const DAEMON: i32 = 100;

    impl Proc {
        fn new(processes: &[(i32, i32)]) -> Proc {
            let proc = Proc(tempfile::tempdir().unwrap());
            for (pid, parent) in processes {
                proc.write(*pid, *parent, 7);
                proc.cgroup(&pid.to_string(), "/user.slice/shell.scope");
            }
            proc.cgroup("self", "/user.slice/shell.scope");
            proc
        }

        fn write(&self, pid: i32, parent: i32, started: u64) {
            let folder = self.0.path().join(pid.to_string());
            fs::create_dir_all(&folder).unwrap();
            let line =
                format!("{pid} (x) S {parent} 1 1 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 1 0 {started} 1");
            fs::write(folder.join("stat"), line).unwrap();
        }

        fn cgroup(&self, process: &str, path: &str) {
            let folder = self.0.path().join(process);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cgroup"), format!("5:devices:/x\n0::{path}\n")).unwrap();
        }

        fn look(&self, peer: i32) -> Result<DescentReport, BarredPeer> {
            look(self.0.path(), peer, DAEMON)
        }
    }

    fn below(child: Option<i32>) -> ProcessAncestry {
        ProcessAncestry::Below { child: child.map(|pid| ProcessEntry { pid, parent: DAEMON, started: 7 }) }
    }

    #[test]
    fn whoever_descends_is_found_by_the_child_they_descend_from() {
        let proc =
            Proc::new(&[(1, 0), (DAEMON, 1), (200, DAEMON), (201, 200), (202, 201), (300, 1), (301, 300)]);
        let cases = [
            (202, below(Some(200))),
            (200, below(Some(200))),
            (DAEMON, below(None)),
            (301, ProcessAncestry::Stranger),
            (1, ProcessAncestry::Stranger),
        ];
        for (peer, ancestry) in cases {
            let found = proc.look(peer);
            assert_eq!(found, Ok(DescentReport { ancestry, is_in_our_service: false }), "{peer}");
        }
    }

    #[test]
    fn who_cannot_be_told_is_told_apart_from_a_stranger() {
        let deep: Vec<(i32, i32)> = (1_000..2_000).map(|pid| (pid, pid - 1)).collect();
        let proc = Proc::new(&deep);
        proc.write(999, 0, 7);
        let check = |peer: i32, words: &str| {
            let barred = proc.look(peer).unwrap_err();
            assert!(
                matches!(&barred, BarredPeer::Unknown { problem, .. } if problem.contains(words)),
                "{barred:?}"
            );
        };
        check(1_999, "more than 256 ancestors");
        check(7, "it has ended");
        // In a circle, which the system never shows but for an instant.
        proc.write(50, 51, 7);
        proc.write(51, 50, 7);
        check(50, "more than 256 ancestors");
        // Its parent is never there.
        proc.write(60, 61, 7);
        check(60, "change too fast");
        fs::write(proc.0.path().join("60/stat"), "60 (x").unwrap();
        check(60, "invalid");
        assert!(proc.look(1_200).is_ok());
    }

    #[test]
    fn whoever_lies_in_the_daemons_service_is_found() {
        let proc = Proc::new(&[(1, 0), (DAEMON, 1), (300, 1)]);
        let service = "/user.slice/app.slice/subagentd@work.service";
        let cases = [
            (service, service.to_owned(), true),
            (service, format!("{service}/tools/7"), true),
            (service, format!("{service}s"), false),
            (service, "/user.slice/app.slice".to_owned(), false),
            // Of its own is only what is named like it: elsewhere its clients lie beside it.
            ("/user.slice/session-3.scope", "/user.slice/session-3.scope".to_owned(), false),
            ("/system.slice/ssh.service", "/system.slice/ssh.service".to_owned(), false),
            ("/", "/".to_owned(), false),
        ];
        for (ours, theirs, is_in_our_service) in cases {
            proc.cgroup("self", ours);
            proc.cgroup("300", &theirs);
            let found = proc.look(300);
            assert_eq!(
                found,
                Ok(DescentReport { ancestry: ProcessAncestry::Stranger, is_in_our_service }),
                "{ours} {theirs}"
            );
        }
        proc.cgroup("self", service);
        fs::remove_file(proc.0.path().join("300/cgroup")).unwrap();
        assert!(
            matches!(proc.look(300), Err(BarredPeer::Unknown { .. })),
            "what cannot be read lets nobody in"
        );
    }
}

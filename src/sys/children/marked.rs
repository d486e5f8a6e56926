//! Was this process started, by whatever way, by what a daemon had started? Then it must not become a daemon: whoever
//! started it would be the parent of who is asked, and could answer for a person.

use std::path::Path;

use super::{MARK, own_number, table};
use crate::warden;

/// Generations that are looked at. People's processes have a dozen; who hides behind more is not let in.
const MOST_GENERATIONS: usize = 256;

/// Of an environment. The marks are among the first variables, unless somebody put others there.
const MOST_BYTES: u64 = 1 << 20;

/// This process or the ancestor that has a daemon's mark: the variable of everything that a daemon starts, `marker`, which each
/// command of an agent has, or the arguments of a warden, which nobody can look into.
pub fn started_by_a_daemon(marker: &str) -> Option<i32> {
    let proc = Path::new(table::PROC);
    let mut pid = own_number();
    for _ in 0..MOST_GENERATIONS {
        if is_marked(proc, pid, marker) {
            return Some(pid);
        }
        match table::ProcessEntry::read(proc, pid) {
            Ok(entry) if entry.parent != 0 => pid = entry.parent,
            // There is nobody above, or nobody who could be seen.
            _ => return None,
        }
    }
    Some(pid)
}

fn is_marked(proc: &Path, pid: i32, marker: &str) -> bool {
    let environment = table::environment(proc, pid, MOST_BYTES).unwrap_or_default();
    let mut variables =
        environment.split(|byte| *byte == 0).map(|variable| variable.split(|byte| *byte == b'='));
    let has_mark = variables.any(|mut parts| {
        parts.next().is_some_and(|name| name == MARK.as_bytes() || name == marker.as_bytes())
    });
    let words =
        table::read_bounded(&proc.join(pid.to_string()).join("cmdline"), MOST_BYTES).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0).skip(1);
    has_mark || words.next() == Some(warden::ARGUMENT.as_bytes()) && words.next() == Some(b"".as_slice())
}

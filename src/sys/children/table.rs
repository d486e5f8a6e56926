//! What does `/proc` say of one process, and who are the children of another? (proc(5))

use std::{fs, io, path::Path};

/// Where the system keeps it.
pub(super) const PROC: &str = "/proc";

/// A line of `stat` is far shorter.
const MOST_STAT_BYTES: u64 = 4 << 10;

/// A process as it is at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessEntry {
    pub pid: i32,
    /// 0 for one that has none here: the first one, and what came from another container.
    pub parent: i32,
    /// In clock ticks since the system's start. With the number it names one process.
    pub started: u64,
}

impl ProcessEntry {
    /// An error of the kind `NotFound` means that there is no such process.
    pub(super) fn read(proc: &Path, pid: i32) -> io::Result<ProcessEntry> {
        let text = read_bounded(&proc.join(pid.to_string()).join("stat"), MOST_STAT_BYTES)?;
        parse(pid, &text)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its `stat` cannot be read"))
    }
}

/// The name in parentheses is the process's own to choose, parentheses and blanks included, so what follows it is found
/// from the end.
fn parse(pid: i32, text: &[u8]) -> Option<ProcessEntry> {
    let after_name = text.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&text[after_name..]).ok()?.split_ascii_whitespace();
    // Fields 4 and 22 of the line; the first one here is field 3.
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(22 - 4 - 1)?.parse().ok()?;
    Some(ProcessEntry { pid, parent, started })
}

/// The first bytes of what a process was given for an environment; `None` while a program is being executed in it, which
/// has none yet. Who cannot be asked says nothing.
pub(super) fn environment(proc: &Path, pid: i32, most: u64) -> Option<Vec<u8>> {
    let folder = proc.join(pid.to_string());
    match read_bounded(&folder.join("environ"), most) {
        Ok(bytes) if bytes.is_empty() => {
            let stat = read_bounded(&folder.join("stat"), MOST_STAT_BYTES).unwrap_or_default();
            (!is_being_executed(&stat)).then_some(bytes)
        }
        read => Some(read.unwrap_or_default()),
    }
}

/// Field 51, where the environment ends in memory, is 0 until the system has laid it there. Whoever is started without
/// one has an address there too, and nobody can take it away (`PR_SET_MM_MAP` refuses 0).
fn is_being_executed(stat: &[u8]) -> bool {
    let after_name = stat.iter().rposition(|byte| *byte == b')').map_or(stat.len(), |at| at + 1);
    let mut fields = stat[after_name..].split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    fields.nth(51 - 3).is_some_and(|field| field == b"0")
}

/// The first bytes of a file of `/proc`.
pub(super) fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    use io::Read as _;
    let mut bytes = Vec::new();
    match fs::File::open(path)?.take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        // The process ended between opening and reading.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            Err(io::ErrorKind::NotFound.into())
        }
        Err(error) => Err(error),
    }
}

/// The children of a process: by its list, which the kernel may be built without, else by looking at every process there
/// is. One that is born or ends meanwhile may be missing.
pub(super) fn children_of(proc: &Path, parent: i32) -> io::Result<Vec<i32>> {
    match listed_children(proc, parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => searched_children(proc, parent),
        listed => listed,
    }
}

fn listed_children(proc: &Path, parent: i32) -> io::Result<Vec<i32>> {
    let tasks = proc.join(parent.to_string()).join("task");
    let mut children = Vec::new();
    for task in fs::read_dir(tasks)? {
        let task = task?.path();
        let text = match fs::read_to_string(task.join("children")) {
            Ok(text) => text,
            // A thread that has ended has none; its children are another's now.
            Err(_) if !task.exists() => continue,
            Err(error) => return Err(error),
        };
        children.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Ok(children)
}

fn searched_children(proc: &Path, parent: i32) -> io::Result<Vec<i32>> {
    let processes = fs::read_dir(proc)?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // Who cannot be looked at is gone, or another user's.
    let entries = processes.filter_map(|pid| ProcessEntry::read(proc, pid).ok());
    Ok(entries.filter(|entry| entry.parent == parent).map(|entry| entry.pid).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pid: i32, name: &str, parent: i32, started: u64) -> String {
        let between = "1 1 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 1 0";
        format!("{pid} ({name}) S {parent} {between} {started} 1000 10 18446744073709551615\n")
    }

    #[test]
    fn a_name_cannot_pretend_to_be_other_fields() {
        for name in ["sh", ") S 1 (", "a b) R 77 1 1", "\u{ff}"] {
            let entry = parse(9, line(9, name, 5, 4_321).as_bytes());
            assert_eq!(entry, Some(ProcessEntry { pid: 9, parent: 5, started: 4_321 }), "{name}");
        }
        for cut in ["", "9 (sh", "9 (sh) S", "9 (sh) S 5 1 1"] {
            assert_eq!(parse(9, cut.as_bytes()), None, "{cut}");
        }
    }

    #[test]
    fn this_process_is_what_the_system_says() {
        let own = std::process::id().cast_signed();
        let entry = ProcessEntry::read(Path::new(PROC), own).unwrap();
        assert_eq!(entry.parent, std::os::unix::process::parent_id().cast_signed());
        let parents = children_of(Path::new(PROC), entry.parent).unwrap();
        assert!(parents.contains(&own), "{parents:?}");
        assert_eq!(
            ProcessEntry::read(Path::new(PROC), i32::MAX).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn a_program_that_is_being_executed_has_no_environment_yet_and_one_without_has_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("9")).unwrap();
        let asked = |environ: &str, environment_end: &str| {
            let stat = format!(
                "{} {} {environment_end} 0\n",
                line(9, ") S 1 (", 5, 1).trim_end(),
                "1 ".repeat(25).trim_end()
            );
            fs::write(folder.path().join("9/stat"), stat).unwrap();
            fs::write(folder.path().join("9/environ"), environ).unwrap();
            environment(folder.path(), 9, 2)
        };
        assert_eq!(asked("", "0"), None);
        assert_eq!(asked("", "140736"), Some(Vec::new()));
        assert_eq!(asked("A=1", "140736"), Some(b"A=".to_vec()));
        assert_eq!(environment(folder.path(), 10, 2), Some(Vec::new()), "there is no such process");

        // The fields are where this system has them.
        let own = read_bounded(Path::new("/proc/self/stat"), MOST_STAT_BYTES).unwrap();
        assert!(!is_being_executed(&own));
        let mut sleeper = std::process::Command::new("sleep").arg("60").env_clear().spawn().unwrap();
        let asked_for = |pid: u32| environment(Path::new(PROC), pid.cast_signed(), 9);
        while asked_for(sleeper.id()).is_none_or(|it| !it.is_empty()) {
            std::thread::yield_now();
        }
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }

    /// Both kinds of kernels.
    #[test]
    fn children_are_listed_where_there_is_a_list_and_searched_where_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        for (pid, parent) in [(1, 0), (50, 1), (51, 50), (52, 50), (53, 52)] {
            fs::create_dir_all(proc.join(format!("{pid}/task/{pid}"))).unwrap();
            fs::write(proc.join(format!("{pid}/stat")), line(pid, "x", parent, 1)).unwrap();
        }
        fs::create_dir(proc.join("self")).unwrap();
        let mut searched = children_of(proc, 50).unwrap();
        searched.sort_unstable();
        assert_eq!(searched, [51, 52]);
        // Each thread has its own; only what is listed counts then.
        fs::create_dir(proc.join("50/task/60")).unwrap();
        fs::write(proc.join("50/task/50/children"), "52 ").unwrap();
        fs::write(proc.join("50/task/60/children"), "70 71 ").unwrap();
        let mut listed = children_of(proc, 50).unwrap();
        listed.sort_unstable();
        assert_eq!(listed, [52, 70, 71]);
    }
}

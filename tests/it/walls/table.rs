//! The manual's table of what the sandbox keeps from a command: each cell is tried, and none is without a trial.

use std::{
    io,
    net::TcpListener,
    process::{Child, Stdio},
};

use super::*;

/// What a cell says, by how it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    No,
    Yes,
    /// Yes, but not into whom it sees.
    Outwardly,
    WhereItMayWrite,
    WithTheNetwork,
    NamedOnes,
    WithTheSession,
}

const BEGINNINGS: &[(&str, Says)] = &[
    ("no", Says::No),
    ("yes, but not their contents", Says::Outwardly),
    ("yes", Says::Yes),
    ("where it may write", Says::WhereItMayWrite),
    ("with `sandbox.network`", Says::WithTheNetwork),
    ("those in `sandbox.sockets`", Says::NamedOnes),
    ("with the session", Says::WithTheSession),
];

/// What is tried for a row, and what was seen.
type Trial = for<'a> fn(&'a Stand) -> Says;

/// By how a row's question begins.
const TRIALS: &[(&str, Trial)] = &[
    ("write outside the workspace and `$TMPDIR`", writes),
    ("read keys, passwords and what is the daemon's own", reads),
    ("create files that the daemon would read", makes),
    ("see names, sizes and times of what is hidden", sees_sizes),
    ("change modes and times of files", changes_modes),
    ("change owners and extended attributes", changes_attributes),
    ("see other processes", sees_processes),
    ("signal or trace processes that it has not started", signals),
    ("reach the network, and programs on this machine by it", connects),
    ("connect to a socket that has a file", connects_to_files),
    ("share memory", shares_memory),
    ("gain rights", gains_rights),
    ("start a daemon, answer a question, outlive its call", outlives),
];

/// A house with every place in it that is hidden, and how commands run in it.
struct Stand {
    house: House,
    runtime: tokio::runtime::Runtime,
    profile: SandboxProfile,
}

impl Stand {
    /// The columns of the table.
    fn of(column: &str, lay: impl FnOnce(&Path)) -> Option<Stand> {
        let is_it = |it: &SandboxMechanism| it.name() == column || column == "`full`";
        let mechanism = mechanisms().into_iter().find(is_it)?;
        let profile = if column == "`full`" { SandboxProfile::Full } else { SandboxProfile::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let house = House::new(&mechanism, lay);
        fs::create_dir(house.folder.path().join("outside")).unwrap();
        Some(Stand { house, runtime, profile })
    }

    fn outside(&self) -> PathBuf {
        self.house.folder.path().join("outside")
    }

    fn launch(&self, script: &str) -> CommandLaunch {
        CommandLaunch {
            rules: self.rules(),
            ..self.house.launch(&format!("exec 2>/dev/null; {script}; echo over"))
        }
    }

    fn rules(&self) -> SandboxRules {
        SandboxRules { profile: self.profile, ..SandboxRules::default() }
    }

    /// What it said before it was over.
    fn run(&self, launch: CommandLaunch) -> (CommandExit, String) {
        let (ended, said) = self.runtime.block_on(self.house.run(launch));
        let told = said.strip_suffix("over\n").unwrap_or_else(|| panic!("{said:?}, {ended:?}"));
        (ended, told.to_owned())
    }

    fn bash(&self, script: &str) -> String {
        self.run(self.launch(script)).1
    }
}

/// The rows of the table: what is asked, and each column's answer.
fn table() -> Vec<(String, Vec<(String, String)>)> {
    let manual = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md")).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    let mut lines = manual.lines().skip_while(|line| !line.starts_with("| can a command … |"));
    let columns = cells(lines.next().expect("the manual has the table"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells);
    rows.map(|row| {
        assert_eq!(row.len(), columns.len(), "{row:?}");
        let answers = columns.iter().cloned().zip(row.clone()).skip(1);
        (row[0].clone(), answers.collect())
    })
    .collect()
}

#[test]
fn each_cell_of_the_table_is_so() {
    let rows = table();
    for (question, _) in TRIALS {
        assert_eq!(rows.iter().filter(|(row, _)| row.starts_with(question)).count(), 1, "{question}");
    }
    for (row, answers) in rows {
        let trial = TRIALS.iter().find(|(question, _)| row.starts_with(question));
        let (_, trial) = trial.unwrap_or_else(|| panic!("nothing tries the row `{row}`"));
        assert_eq!(answers.len(), 3, "{row}");
        for (column, answer) in answers {
            let says = BEGINNINGS.iter().find(|(begins, _)| answer.starts_with(begins));
            let (_, says) = says.unwrap_or_else(|| panic!("`{row}`, {column}: what does `{answer}` say?"));
            let lay = |home: &Path| match row.starts_with("create files") {
                // What is missing there.
                true => fs::create_dir_all(home.join(".config")).unwrap(),
                false => own().iter().chain(&people_hide()).for_each(|name| make(&home.join(name))),
            };
            let Some(stand) = Stand::of(&column, lay) else {
                eprintln!("left out, since there is none here: {column}");
                continue;
            };
            assert_eq!(trial(&stand), *says, "`{row}`, {column}: {answer}");
        }
    }
}

fn no_or_yes(is_possible: bool) -> Says {
    if is_possible { Says::Yes } else { Says::No }
}

fn writes(stand: &Stand) -> Says {
    let outside = stand.outside().join("made");
    stand.bash(&format!("echo x > here; echo x > $TMPDIR/here; echo x > {}", outside.display()));
    assert!(stand.house.home().join("work/here").exists());
    if stand.profile != SandboxProfile::Full {
        fs::remove_file(stand.house.home().join("work/here")).unwrap();
        let rules = SandboxRules { profile: SandboxProfile::ReadOnly, ..SandboxRules::default() };
        let script = format!(
            "echo x > here; echo x > {}; echo x > $TMPDIR/there && cat $TMPDIR/there",
            outside.display()
        );
        let (_, said) = stand.run(CommandLaunch { rules, ..stand.launch(&script) });
        assert_eq!(said, "x\n", "$TMPDIR is writable");
        assert!(!stand.house.home().join("work/here").exists(), "`readOnly` has no workspace to write");
    }
    no_or_yes(outside.exists())
}

fn reads(stand: &Stand) -> Says {
    let home = stand.house.home();
    symlink(home.join(".ssh"), home.join("work/link")).unwrap();
    let names: Vec<String> = own().into_iter().chain(people_hide()).collect();
    let count = |script: &str| stand.bash(script).matches("THE-SECRET").count();
    let found = count(&format!("grep -rhs THE-SECRET {}; grep -rhs THE-SECRET link/", home.display()));
    assert!(found == 0 || names.len() <= found, "all or none: {found}");
    no_or_yes(found != 0)
}

fn makes(stand: &Stand) -> Says {
    let home = stand.house.home();
    let each = own().into_iter().map(|name| attack(&home, &name).replace("exec 2>/dev/null\n", "(") + ")\n");
    stand.bash(&each.collect::<String>());
    let made = own().iter().filter(|name| found(&home.join(name)).contains("MINE")).count();
    no_or_yes(made != 0)
}

fn sees_sizes(stand: &Stand) -> Says {
    let secret = stand.house.home().join(".ssh/kept");
    no_or_yes(stand.bash(&format!("stat -c %s {}", secret.display())) == "10\n")
}

/// What may be done to a file of the workspace, and to one outside.
fn where_it_may_write(inside: bool, outside: bool) -> Says {
    match (inside, outside) {
        (true, true) => Says::Yes,
        (true, false) => Says::WhereItMayWrite,
        (false, false) => Says::No,
        (false, true) => panic!("outside alone"),
    }
}

fn changes_modes(stand: &Stand) -> Says {
    let files = [stand.house.home().join("work/file"), stand.outside().join("file")];
    let is_changed = |path: &PathBuf| {
        fs::write(path, "x").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        let before = facts(path);
        stand.bash(&format!("chmod 600 {0}; touch -d @1000000 {0}", path.display()));
        let (mode, .., written) = facts(path);
        let are_changed = [mode != before.0, written == 1_000_000];
        assert_eq!(are_changed[0], are_changed[1], "modes and times go together");
        are_changed[0]
    };
    let [inside, outside] = [is_changed(&files[0]), is_changed(&files[1])];
    where_it_may_write(inside, outside)
}

fn changes_attributes(stand: &Stand) -> Says {
    let is_changed = |path: &Path| {
        fs::write(path, "x").unwrap();
        // setxattr, and then what there is.
        let script = "my ($at, $n, $v, $got) = ($ARGV[0], 'user.walls', 'mine', ' ' x 9); \
                      syscall(188, $at, $n, $v, 4, 0); print syscall(191, $at, $n, $got, 9) == 4 ? 'set' : 'unset'";
        let said = stand.bash(
            &format!("perl -e \"$SCRIPT\" {}", path.display())
                .replace("\"$SCRIPT\"", &format!("'{}'", script.replace('\'', "\""))),
        );
        if rustix::process::geteuid().is_root() {
            let before = fs::metadata(path).unwrap().gid();
            stand.bash(&format!("chgrp 12345 {}", path.display()));
            let is_given = fs::metadata(path).unwrap().gid() != before;
            // A sandbox has none of root's rights.
            assert_eq!(is_given, stand.profile == SandboxProfile::Full);
        }
        said == "set"
    };
    let inside = is_changed(&stand.house.home().join("work/file"));
    where_it_may_write(inside, is_changed(&stand.outside().join("file")))
}

/// A process that the command has not started.
struct Other(Child);

impl Other {
    fn start() -> Other {
        let mut command = Command::new("sleep");
        Other(command.arg("1000").env("SECRET_OF_OTHER", "THE-SECRET").stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).unwrap();
    }
}

fn sees_processes(stand: &Stand) -> Says {
    let other = Other::start();
    let script = |pid: u32| {
        format!(
            "if test -d /proc/{pid}; then grep -qs sleep /proc/{pid}/comm || grep -qs . /proc/{pid}/comm && echo seen; \
             cat /proc/{pid}/environ | tr '\\0' '\\n' | grep SECRET; readlink /proc/{pid}/cwd; fi"
        )
    };
    let (of_other, of_daemon) = (stand.bash(&script(other.0.id())), stand.bash(&script(std::process::id())));
    match (of_other.as_str(), of_daemon.as_str()) {
        ("", "") => Says::No,
        ("seen\n", "seen\n") => Says::Outwardly,
        ("seen\nSECRET_OF_OTHER=THE-SECRET\n", _) => Says::Yes,
        said => panic!("{said:?}"),
    }
}

fn signals(stand: &Stand) -> Says {
    let other = Other::start();
    let script = |pid: u32| {
        format!(
            "kill -0 {pid} && echo signalled; \
             perl -e 'my $l = pack(\"QQ\", 0, 0); exit(syscall(302, {pid}, 4, $l, 0) ? 1 : 0)' && echo limited; \
             perl -e 'exit(syscall(101, 16, {pid}, 0, 0) ? 1 : 0)' && echo traced"
        )
    };
    let said = stand.bash(&script(other.0.id())) + &stand.bash(&script(std::process::id()));
    // What it has started, it can.
    let own = stand.bash("sleep 1000 & kill $! && echo signalled");
    assert_eq!(own, "signalled\n");
    match said.is_empty() {
        true => Says::No,
        false => panic!("{said}"),
    }
}

fn connects(stand: &Stand) -> Says {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    let reaches = |network: bool| {
        let rules = SandboxRules { network, ..stand.rules() };
        let (_, said) = stand.run(CommandLaunch { rules, ..stand.launch(&script) });
        let has_come = listener.accept().is_ok();
        assert_eq!(said == "reached\n", has_come);
        has_come
    };
    match (reaches(false), reaches(true)) {
        (false, false) => Says::No,
        (false, true) => Says::WithTheNetwork,
        (true, _) => Says::Yes,
    }
}

fn connects_to_files(stand: &Stand) -> Says {
    let place = stand.outside().join("agent.sock");
    let listener = UnixListener::bind(&place).unwrap();
    let name = format!("walls-table-{}-{:?}", std::process::id(), stand.profile);
    let nameless = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    for listener in [&listener, &nameless] {
        listener.set_nonblocking(true).unwrap();
    }
    let mailbox = stand.outside().join("mail.sock");
    let receiver = UnixDatagram::bind(&mailbox).unwrap();
    receiver.set_nonblocking(true).unwrap();
    let is_quiet = |listener: &UnixListener| matches!(listener.accept(), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
    let script = format!(
        "perl -MSocket -e 'for my $path (\"{}\", \"\\0{name}\") {{ socket(my $s, AF_UNIX, SOCK_STREAM, 0) or next; \
         connect($s, pack_sockaddr_un($path)) }} \
         socketpair(my $here, my $there, AF_UNIX, SOCK_DGRAM, 0) or exit; \
         send($here, \"x\", 0, pack_sockaddr_un(\"{}\"))'",
        place.display(),
        mailbox.display()
    );
    let mut reached = Vec::new();
    for sockets in [vec![], vec![place.clone()]] {
        stand.run(CommandLaunch { sockets, ..stand.launch(&script) });
        let named = !is_quiet(&listener);
        let abstractly = !is_quiet(&nameless);
        // Names without a file cannot be named.
        assert_eq!(abstractly, stand.profile == SandboxProfile::Full);
        // No connection is asked for here, so no setting lets it through.
        assert_eq!(receiver.recv(&mut [0; 9]).is_ok(), stand.profile == SandboxProfile::Full);
        reached.push(named);
    }
    match reached.as_slice() {
        [false, false] => Says::No,
        [false, true] => Says::NamedOnes,
        _ => Says::Yes,
    }
}

fn shares_memory(stand: &Stand) -> Says {
    let place = Path::new("/dev/shm").join(format!("walls-table-{}", std::process::id()));
    fs::write(&place, "theirs\n").unwrap();
    let at = place.display();
    let said = stand
        .bash(&format!("cat {at}; echo mine > {at} && echo written; echo own > {at}-own && cat {at}-own"));
    let left = fs::read_to_string(&place).unwrap();
    let again = stand.bash(&format!("cat {at}-own"));
    fs::remove_file(&place).unwrap();
    let _not_there = fs::remove_file(format!("{at}-own"));
    match (said.as_str(), left.as_str(), again.as_str()) {
        ("", "theirs\n", "") => Says::No,
        ("written\nown\n", "theirs\n", "own\n") => Says::WithTheSession,
        ("theirs\nwritten\nown\n", "mine\n", "own\n") => Says::Yes,
        all => panic!("{all:?}"),
    }
}

fn gains_rights(stand: &Stand) -> Says {
    let said = stand.bash("grep -E 'NoNewPrivs|CapEff' /proc/self/status");
    if stand.profile != SandboxProfile::Full {
        assert!(said.contains("CapEff:\t0000000000000000"), "{said}");
    }
    no_or_yes(!said.contains("NoNewPrivs:\t1"))
}

/// That nothing of it answers a question is tried with a daemon, see `self_approval`.
fn outlives(stand: &Stand) -> Says {
    let mark = format!("10{}", std::process::id());
    fs::write(
        stand.house.home().join("work/lasts.sh"),
        format!("echo begun >> {}/work/begun; exec sleep {mark}\n", stand.house.home().display()),
    )
    .unwrap();
    let script = "touch begun; setsid sh lasts.sh & (setsid sh lasts.sh &); env -i PATH=\"$PATH\" setsid sh lasts.sh & \
                  until test \"$(wc -l < begun)\" = 3; do :; done";
    let (ended, _) = stand.run(stand.launch(script));
    assert_eq!(ended.left.len(), 3, "{ended:?}");
    let is_it = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line == format!("sleep\0{mark}\0").as_bytes()
    };
    let outlived = fs::read_dir("/proc").unwrap().flatten().any(is_it);
    let run = stand.house.folder.path().join("temporary");
    let (daemon, _folder) = built::seen_in_sandbox(built::daemon());
    let script = format!(
        "exec 2>&1; {} --socket $TMPDIR/own.sock --state-dir $TMPDIR/state; echo $?",
        daemon.display()
    );
    let said = stand.bash(&script);
    assert!(said.contains("was started by an agent") && said.ends_with("1\n"), "{said}");
    assert!(!run.join("own.sock").exists());
    no_or_yes(outlived)
}

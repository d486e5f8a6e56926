//! What is kept from a command stays kept from it, whatever the command renames, makes, links or waits for; and by
//! whichever other path it may be reached.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, symlink},
        net::{SocketAddr, UnixDatagram, UnixListener},
    },
    path::{Path, PathBuf},
    process::Command,
};

use std::os::linux::net::SocketAddrExt as _;

use subagentd::{
    config::{ConfigPlaces, DaemonPlaces},
    daemon::{GuardedBy, credentials_of_agents, own_files},
    protocol::SandboxProfile,
    rules::RulePlaces,
    sandbox::{
        CommandEnvironment, CommandLaunch, HiddenPlaces, NamedCommandParts, Sandbox, SandboxMechanism,
        SandboxRules, secrets,
    },
    sys::{
        named_files::NamedFileLists,
        warden::{CommandExit, TerminalSize},
    },
};
use tempfile::TempDir;

use crate::{
    built,
    sandbox::{all_of, mechanisms, warden},
};

mod above;
mod beside;
mod brought;
mod further;
mod kept;
mod killed;
mod linked;
mod of_system;
mod races;
mod readable;
mod replaced;
mod repositories;
mod run_by_others;
mod table;

/// A home that is the workspace, with everything in it that a daemon reads or keeps, and that people hide.
struct House {
    folder: TempDir,
    sandbox: Sandbox,
}

/// A home without anything in it, as a user's variables would name it and the folders below it.
fn places(home: &Path) -> DaemonPlaces {
    let variables = [
        ("HOME", home.to_owned()),
        ("XDG_CONFIG_HOME", home.join("xdg/config")),
        ("XDG_STATE_HOME", home.join("xdg/state")),
        ("XDG_RUNTIME_DIR", home.join("xdg/run")),
    ];
    let variable =
        |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, at)| at.clone().into_os_string());
    DaemonPlaces::from_env(&variable, 0).unwrap()
}

/// What is the daemon's own or read by it, below the home, as the product lists it for itself. What the product guards elsewhere
/// is the system's.
fn own() -> Vec<String> {
    let home = Path::new("/the-home");
    let (places, socket) = (places(home), home.join("elsewhere/own.sock"));
    let settings = ConfigPlaces { user: home.join("elsewhere/settings.json"), ..places.settings() };
    let rules = RulePlaces {
        system: "/etc/subagentd/policies".into(),
        user: places.config_dir.join("policies"),
        home: home.to_owned(),
    };
    let by = GuardedBy {
        rules: &rules,
        places: &places,
        settings: &settings,
        socket: Some(&socket),
        state_dir: &places.state_dir,
        home: Some(home),
        program: None,
    };
    let guarded = own_files(&by);
    let (own, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        guarded.fixed().iter().partition(|path| path.starts_with(home));
    let is_systems = |path: &&PathBuf| path.starts_with("/etc/subagentd");
    assert!(others.iter().all(is_systems), "these are tried by nothing here: {others:?}");
    below(home, own.into_iter().cloned())
}

/// What people hide, as the product lists it.
fn people_hide() -> Vec<String> {
    let home = Path::new("/the-home");
    below(home, secrets(home).chain(credentials_of_agents(home)))
}

fn below(home: &Path, paths: impl Iterator<Item = PathBuf>) -> Vec<String> {
    let mut names: Vec<String> =
        paths.map(|path| path.strip_prefix(home).unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names.dedup();
    assert!(10 < names.len(), "{names:?}");
    names
}

/// How a place is when the command begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Present,
    Missing,
    /// The folder above it is missing, too.
    AllMissing,
    /// It is a link to something else of the home.
    Link,
    /// The same, and there is nothing behind it.
    BrokenLink,
    /// The folder above it is a link to another one of the home.
    BehindLink,
    /// The same, and there is nothing behind it.
    BehindBrokenLink,
}

const STATES: &[State] = &[
    State::Present,
    State::Missing,
    State::AllMissing,
    State::Link,
    State::BrokenLink,
    State::BehindLink,
    State::BehindBrokenLink,
];

impl House {
    /// Not in `/tmp`, of which a command sees another one.
    fn new(mechanism: &SandboxMechanism, lay: impl FnOnce(&Path)) -> House {
        let folder = tempfile::Builder::new().prefix("walls-").tempdir_in(built::apart()).unwrap();
        fs::create_dir_all(folder.path().join("home/work")).unwrap();
        fs::create_dir_all(folder.path().join("temporary")).unwrap();
        let home = folder.path().join("home");
        lay(&home);
        let hidden = HiddenPlaces::new(Some(&home), own().iter().map(|name| home.join(name)));
        // As the settings' secrets are told.
        let secrets = credentials_of_agents(&home).collect();
        hidden.named().replace(NamedFileLists { secrets, ..NamedFileLists::default() });
        drop(hidden.look());
        House { sandbox: Sandbox::with(warden(), hidden, mechanism.clone()), folder }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn launch(&self, script: &str) -> CommandLaunch {
        let variables: Vec<_> = std::env::vars_os().collect();
        CommandLaunch {
            words: ["bash", "-c", script].map(str::to_owned).to_vec(),
            directory: self.home().join("work"),
            environment: CommandEnvironment::of(&variables, &[], &subagentd::redact::Redactor::none()),
            roots: vec![self.home()],
            temporary: self.folder.path().join("temporary"),
            named: NamedCommandParts::default(),
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
        let ended = running.hold.ended().await.unwrap_or_else(|error| panic!("{error}: {said}"));
        (ended, said)
    }

    async fn bash(&self, script: &str) -> String {
        self.run(self.launch(script)).await.1
    }
}

/// How names of files end, of which the place is none that holds others.
const FILES: &[&str] = &[
    ".json",
    ".toml",
    ".yml",
    ".yaml",
    ".sock",
    ".cnf",
    ".env",
    "rc",
    "history",
    "credentials",
    "pgpass",
    "token",
    ".encrypted",
    ".authinfo",
];

/// Puts a secret there.
fn make(place: &Path) {
    let is_file = FILES.iter().any(|end| place.to_str().unwrap().ends_with(end));
    let (folder, file) = match is_file {
        true => (place.parent().unwrap(), place.to_owned()),
        false => (place, place.join("kept")),
    };
    fs::create_dir_all(folder).unwrap();
    fs::write(file, "THE-SECRET").unwrap();
}

/// Lays the place like this; `false` = it cannot be like this.
fn lay(home: &Path, name: &str, state: State) -> bool {
    let place = home.join(name);
    let above = place.parent().unwrap();
    match state {
        State::Present => make(&place),
        State::Missing => fs::create_dir_all(above).unwrap(),
        State::AllMissing if above == home => return false,
        State::AllMissing => {}
        State::Link | State::BrokenLink => {
            let real = home.join("dotfiles/real").join(place.file_name().unwrap());
            if state == State::Link {
                make(&real);
            }
            fs::create_dir_all(above).unwrap();
            symlink(real, &place).unwrap();
        }
        State::BehindLink | State::BehindBrokenLink if above == home => return false,
        State::BehindLink | State::BehindBrokenLink => {
            let real = home.join("dotfiles").join(above.file_name().unwrap());
            if state == State::BehindLink {
                make(&real.join(place.file_name().unwrap()));
            }
            fs::create_dir_all(above.parent().unwrap()).unwrap();
            symlink(real, above).unwrap();
        }
    }
    true
}

/// What a command tries: to move what it finds on the way, to make what is not there, and to put its own in the place.
fn attack(home: &Path, name: &str) -> String {
    let at = home.display();
    let mut script = String::from("exec 2>/dev/null\n");
    let parts: Vec<&str> = name.split('/').collect();
    for count in (1..=parts.len()).rev() {
        let part = parts[..count].join("/");
        script.push_str(&format!("mv -T '{at}/{part}' '{at}/moved-{count}'\n"));
        // Around what a folder shows.
        script.push_str(&format!("perl -e 'rename \"{at}/{part}\", \"{at}/renamed-{count}\"'\n"));
    }
    script.push_str(&format!("rm -f '{at}/{}' '{at}/dotfiles'\n", parts[0]));
    script.push_str(&format!("mkdir -p \"$(dirname '{at}/{name}')\"\n"));
    script.push_str(&format!(
        "echo MINE > '{at}/{name}' || {{ mkdir -p '{at}/{name}'; echo MINE > '{at}/{name}/made'; }}\n"
    ));
    script.push_str("echo over\n");
    script
}

/// Reads whatever there is by any name.
fn look(home: &Path) -> String {
    format!(
        "grep -rhs -e THE-SECRET -e MINE '{}' \"$TMPDIR\" 2>/dev/null; echo over",
        home.parent().unwrap_or(home).display()
    )
}

/// What stands at a place, as the daemon would find it.
fn found(place: &Path) -> String {
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let inside: String = entries.map(|entry| read(&entry.path())).collect();
    read(place) + &inside
}

/// Each place in each state.
fn each(names: &[String], states: &[State]) -> Vec<(String, State)> {
    names.iter().flat_map(|name| states.iter().map(|state| (name.clone(), *state))).collect()
}

async fn each_stays(mechanism: &SandboxMechanism, cases: Vec<(String, State)>) {
    for (name, state) in cases {
        let mut is_laid = false;
        let house = House::new(mechanism, |home| is_laid = lay(home, &name, state));
        if !is_laid {
            continue;
        }
        let home = house.home();
        let before = found(&home.join(&name));
        let said = house.bash(&attack(&home, &name)).await;
        assert_eq!(said, "over\n", "{mechanism:?}, {name}, {state:?}");
        let said = house.bash(&look(&home)).await;
        assert_eq!(said, "over\n", "{mechanism:?}, {name}, {state:?}");
        assert_eq!(found(&home.join(&name)), before, "{mechanism:?}, {name}, {state:?}");
        assert!(!before.contains("MINE"));
        // The rest of the home is as it was for a command.
        let said = house.bash("echo made > here && cat here").await;
        assert_eq!(said, "made\n", "{mechanism:?}, {name}, {state:?}");
    }
}

#[tokio::test]
async fn each_place_that_the_daemon_reads_stays_what_it_is() {
    for mechanism in mechanisms() {
        each_stays(&mechanism, each(&own(), STATES)).await;
    }
}

#[tokio::test]
async fn each_secret_stays_hidden() {
    for mechanism in mechanisms() {
        each_stays(&mechanism, each(&people_hide(), &[State::Present])).await;
        // A link to one may go, and what it led to is hidden all the same. They are all looked up alike.
        let some: Vec<String> = people_hide().into_iter().step_by(4).collect();
        for (name, state) in each(&some, &[State::Link, State::BehindLink]) {
            let mut is_laid = false;
            let house = House::new(&mechanism, |home| is_laid = lay(home, &name, state));
            if !is_laid {
                continue;
            }
            let said =
                house.bash(&attack(&house.home(), &name)).await + &house.bash(&look(&house.home())).await;
            assert!(!said.contains("THE-SECRET"), "{mechanism:?}, {name}, {state:?}: {said}");
        }
    }
}

#[tokio::test]
async fn what_links_in_a_secret_folder_lead_to_is_hidden() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |home| {
            make(&home.join("sync/id.json"));
            make(&home.join("sync/more"));
            make(&home.join(".ssh"));
            symlink("../sync/id.json", home.join(".ssh/id")).unwrap();
            symlink("../sync/more", home.join(".ssh/more")).unwrap();
            fs::write(home.join("sync/other"), "SEEN").unwrap();
        });
        let home = house.home();
        assert_eq!(house.bash(&look(&home)).await, "over\n", "{mechanism:?}");
        assert_eq!(house.bash(&format!("cat {}/sync/other", home.display())).await, "SEEN", "{mechanism:?}");
    }
}

#[tokio::test]
async fn what_was_moved_by_others_is_hidden_where_it_is_now() {
    for mechanism in mechanisms() {
        for name in own().iter().chain(&people_hide()) {
            let house = House::new(&mechanism, |home| assert!(lay(home, name, State::Present)));
            let home = house.home();
            let first = home.join(name.split('/').next().unwrap());
            fs::rename(&first, home.join("renamed")).unwrap();
            // The sandbox knows it from before, and whoever makes another one in its place gets that hidden, too.
            assert_eq!(house.bash(&look(&home)).await, "over\n", "{mechanism:?}, {name}");
        }
    }
}

#[tokio::test]
async fn a_workspace_above_below_or_instead_of_the_state_shows_nothing_of_it() {
    let name = ".local/state/subagentd";
    assert!(own().iter().any(|own| own == name));
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |home| {
            for own in own() {
                make(&home.join(own));
            }
            fs::create_dir_all(home.join(name).join("work")).unwrap();
        });
        let state = house.home().join(name);
        let script =
            format!("grep -rhs THE-SECRET {}; ls; echo x > made; echo over", house.folder.path().display());
        let script = script.as_str();
        let above = [house.home(), house.home().join(".local"), house.home().join(".local/state")];
        for root in above {
            let launch = CommandLaunch { roots: vec![root.clone()], directory: root, ..house.launch(script) };
            let (_, said) = house.run(launch).await;
            assert!(said.contains("over\n") && !said.contains("THE-SECRET"), "{mechanism:?}: {said}");
        }
        for root in [state.clone(), state.join("work")] {
            let launch = CommandLaunch { roots: vec![root.clone()], directory: root, ..house.launch(script) };
            let mut running = house.sandbox.start(launch).await.unwrap();
            let said = all_of(&mut running).await;
            let ended = running.hold.ended().await;
            assert!(!said.contains("THE-SECRET"), "{mechanism:?}: {said} {ended:?}");
        }
        assert!(!state.join("made").exists() && !state.join("work/made").exists(), "{mechanism:?}");
        assert_eq!(fs::read_to_string(state.join("kept")).unwrap(), "THE-SECRET");
    }
}

/// Says to a test that it has mounts of its own.
const MOUNTED: &str = "SUBAGENTD_TEST_MOUNTED";

#[test]
fn what_is_mounted_twice_is_hidden_twice() {
    if std::env::var_os(MOUNTED).is_none() {
        // As another user it takes a user's namespace.
        let flags = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
        let output = Command::new("unshare")
            .args([flags, "--propagation", "private"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "walls::what_is_mounted_twice_is_hidden_twice", "--nocapture"])
            .env(MOUNTED, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let bind = |from: &Path, to: &Path| {
        fs::create_dir_all(to).unwrap();
        let status = Command::new("mount").arg("--bind").args([from, to]).status().unwrap();
        assert!(status.success());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let all: Vec<String> = own().into_iter().chain(people_hide()).collect();
    let states = mechanisms().into_iter().flat_map(|it| [(it.clone(), true), (it, false)]);
    // All of them at once would be more mounts than anybody has, and than bubblewrap takes.
    let parts = states.flat_map(|(mechanism, is_present)| {
        all.chunks(30).map(move |part| (mechanism.clone(), is_present, part))
    });
    for (mechanism, is_present, part) in parts {
        let laid = |name: &str| is_present || !own().iter().any(|own| own == name);
        let house = House::new(&mechanism, |home| {
            for name in part {
                match laid(name) {
                    true => make(&home.join(name)),
                    false => fs::create_dir_all(home.join(name).parent().unwrap()).unwrap(),
                }
            }
            fs::create_dir_all(home.join("other")).unwrap();
        });
        let (home, base) = (house.home(), house.folder.path().to_owned());
        // Beside the workspace, in it, and a part of it alone: what holds each place, and the place.
        let mut points = vec![base.join("again"), home.join("other/home")];
        bind(&home, &points[0]);
        bind(&home, &points[1]);
        for (at, name) in part.iter().enumerate() {
            let place = home.join(name);
            let above =
                [place.parent().unwrap(), &place].into_iter().filter(|it| it.is_dir() && **it != home);
            for (which, shown) in above.enumerate() {
                let point = home.join(format!("other/{at}-{which}"));
                bind(shown, &point);
                points.push(point);
            }
        }
        let places = part.iter().enumerate().map(|(at, name)| {
            let last = name.rsplit('/').next().unwrap();
            format!("../../again/{name} ../other/home/{name} ../other/{at}-0/{last} ../other/{at}-0 ../other/{at}-1 ")
        });
        let script = format!(
            "exec 2>/dev/null; grep -rhs THE-SECRET .. ../../again /proc/self/cwd/..; \
             for place in {}; do echo MINE > $place; mkdir -p $place && echo MINE > $place/made; mv $place ../moved; done; \
             grep -rhs THE-SECRET ..; echo over",
            places.collect::<String>()
        );
        let said = runtime.block_on(house.bash(&script));
        assert_eq!(said, "over\n", "{mechanism:?}, present: {is_present}");
        for name in part {
            let found = found(&home.join(name));
            assert!(!found.contains("MINE"), "{mechanism:?}, {name}");
            assert_eq!(found.contains("THE-SECRET"), laid(name), "{mechanism:?}, {name}");
        }
        for point in points.iter().rev() {
            assert!(Command::new("umount").arg(point).status().unwrap().success());
        }
    }
}

#[tokio::test]
async fn the_warden_is_the_program_that_was_opened() {
    for mechanism in mechanisms() {
        let folder = tempfile::Builder::new().prefix("walls-").tempdir_in(built::apart()).unwrap();
        let work = folder.path().join("work");
        fs::create_dir_all(folder.path().join("temporary")).unwrap();
        fs::create_dir_all(&work).unwrap();
        let own = work.join("subagentd");
        built::copy(warden(), &own);
        let house =
            House { sandbox: Sandbox::with(own.clone(), HiddenPlaces::default(), mechanism.clone()), folder };
        let mark = house.folder.path().join("ran-outside");
        let evil = format!("#!/bin/sh\necho ran >> {}\n", mark.display());
        fs::write(work.join("new"), evil).unwrap();
        fs::set_permissions(work.join("new"), fs::Permissions::from_mode(0o755)).unwrap();
        let launch = |script: &str| CommandLaunch {
            directory: work.clone(),
            roots: vec![work.clone()],
            ..house.launch(script)
        };
        let (_, said) = house.run(launch("mv -f new subagentd; echo replaced")).await;
        assert_eq!(said, "replaced\n");
        // More often than wardens were started before.
        for _ in 0..3 {
            let (_, said) = house.run(launch("echo confined")).await;
            assert_eq!(said, "confined\n", "{mechanism:?}");
        }
        assert!(!mark.exists(), "{mechanism:?}");
        assert!(fs::read_to_string(&own).unwrap().starts_with("#!/bin/sh"));
    }
}

#[tokio::test]
async fn sockets_lead_nowhere_but_pairs() {
    for mechanism in mechanisms() {
        for network in [false, true] {
            let house = House::new(&mechanism, |_| ());
            let place = house.home().join("agent.sock");
            let listener = UnixListener::bind(&place).unwrap();
            // One of its own: a socket of an earlier round may be open for a moment more.
            let name = format!("walls-{}", place.display());
            let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
            let nameless = UnixListener::bind_addr(&abstract_name).unwrap();
            for listener in [&listener, &nameless] {
                listener.set_nonblocking(true).unwrap();
            }
            let mailbox = house.home().join("mail.sock");
            let receiver = UnixDatagram::bind(&mailbox).unwrap();
            receiver.set_nonblocking(true).unwrap();
            let script = format!(
                "perl -MSocket -e 'for my $kind (SOCK_STREAM, 5) {{ socketpair(my $a, my $b, AF_UNIX, $kind, 0) or die; print \"pair\\n\" }} \
                 for my $kind (SOCK_DGRAM, SOCK_RAW) {{ socketpair(my $a, my $b, AF_UNIX, $kind, 0) or next; print \"senders\\n\"; \
                 for my $path (\"{1}\", \"\\0{name}\") {{ send($a, \"mail\", 0, pack_sockaddr_un($path)); connect($b, pack_sockaddr_un($path)); syswrite($b, \"mail\") }} }} \
                 for my $path (\"{}\", \"\\0{name}\") {{ for my $kind (SOCK_STREAM, SOCK_DGRAM, 5) {{ \
                 socket(my $s, AF_UNIX, $kind, 0) or next; connect($s, pack_sockaddr_un($path)) and print \"connected\\n\"; }} }}'",
                place.display(),
                mailbox.display()
            );
            let rules = SandboxRules { network, ..SandboxRules::default() };
            let (_, said) = house.run(CommandLaunch { rules, ..house.launch(&script) }).await;
            assert!(receiver.recv(&mut [0; 9]).is_err(), "{mechanism:?}, network {network}: {said}");
            assert_eq!(said, "pair\npair\n", "{mechanism:?}, network {network}");
            assert!(listener.accept().is_err() && nameless.accept().is_err(), "{mechanism:?}");
        }
    }
}

#[tokio::test]
async fn a_socket_that_the_settings_name_is_reached_and_no_other() {
    for mechanism in mechanisms() {
        for network in [false, true] {
            let house = House::new(&mechanism, |_| ());
            let (named, other) = (house.home().join("named.sock"), house.home().join("other.sock"));
            let folder = house.folder.path().join("sockets");
            fs::create_dir(&folder).unwrap();
            let inside = folder.join("inside.sock");
            let listeners = [&named, &inside, &other].map(|place| UnixListener::bind(place).unwrap());
            symlink(&other, house.home().join("work/link.sock")).unwrap();
            symlink(&other, folder.join("link.sock")).unwrap();
            let abstract_name = format!("walls-named-{}-{network}", std::process::id());
            let nameless =
                UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap()).unwrap();
            nameless.set_nonblocking(true).unwrap();
            let script = format!(
                "perl -MSocket -e 'for my $path (@ARGV, \"\\0{abstract_name}\") {{ socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die \"no socket: $!\"; \
                 print connect($s, pack_sockaddr_un($path)) ? \"reached\\n\" : \"refused\\n\"; syswrite($s, \"hello\") if getpeername($s); }} \
                 for my $kind (SOCK_DGRAM, SOCK_RAW) {{ socket(my $s, AF_UNIX, $kind, 0) and print \"made\\n\"; \
                 socketpair(my $a, my $b, AF_UNIX, $kind, 0) and print \"made\\n\" }}' \
                 ../named.sock {} {} link.sock {}",
                inside.display(),
                other.display(),
                folder.join("link.sock").display()
            );
            let rules = SandboxRules { network, ..SandboxRules::default() };
            let sockets = vec![named.clone(), folder.clone()];
            let (_, said) = house.run(CommandLaunch { rules, sockets, ..house.launch(&script) }).await;
            assert_eq!(
                said, "reached\nreached\nrefused\nrefused\nrefused\nrefused\n",
                "{mechanism:?}, {network}"
            );
            for (at, listener) in listeners.iter().enumerate() {
                listener.set_nonblocking(true).unwrap();
                let came = listener.accept().map(|(mut stream, _)| {
                    stream.set_nonblocking(false).unwrap();
                    let mut text = String::new();
                    std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
                    text
                });
                assert_eq!(came.ok().as_deref(), (at < 2).then_some("hello"), "{mechanism:?}, {at}");
            }
            assert!(nameless.accept().is_err());
            // The network, which the same call leads to, is as it was.
            let tcp = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let port = tcp.local_addr().unwrap().port();
            let script =
                format!("exec 2>/dev/null; exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached; echo over");
            let sockets = vec![named];
            let (_, said) = house.run(CommandLaunch { rules, sockets, ..house.launch(&script) }).await;
            assert_eq!(said, if network { "reached\nover\n" } else { "over\n" }, "{mechanism:?}");
        }
    }
}

/// Mode, owner, and when it was written.
fn facts(path: &Path) -> (u32, u32, u32, i64) {
    let it = fs::metadata(path).unwrap();
    (it.mode(), it.uid(), it.gid(), it.mtime())
}

/// Each way to change what is known of a file.
const CHANGES: &str = r#"
my $at = shift;
open(my $file, '<', $at) or die "open: $!";
my $number = fileno($file);
chmod 0777, $at;
chmod 0777, $file;
chmod 0777, "/proc/self/fd/$number";
chown $<, 1, $at;
chown $<, 1, $file;
utime 1, 1, $at;
utime 1, 1, $file;
utime undef, undef, $at;
my ($name, $value) = ("user.walls", "x");
syscall(188, $at, $name, $value, 1, 0);
syscall(190, $number, $name, $value, 1, 0);
syscall(452, -100, $at, 0777, 0);
print "over\n";
"#;

#[tokio::test]
async fn outside_of_what_may_be_written_nothing_changes_of_a_file() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |_| ());
        let outside = house.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let file = outside.join("file");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        symlink(&file, house.home().join("work/link")).unwrap();
        fs::write(house.home().join("work/changes.pl"), CHANGES).unwrap();
        for (name, path) in [("a file", &file), ("a folder", &outside)] {
            let before = facts(path);
            let said = house.bash(&format!("perl changes.pl {}", path.display())).await;
            assert_eq!(said, "over\n", "{mechanism:?}, {name}");
            assert_eq!(facts(path), before, "{mechanism:?}, {name}");
        }
        let before = facts(&file);
        assert_eq!(house.bash("perl changes.pl link").await, "over\n");
        assert_eq!(facts(&file), before, "{mechanism:?}: by a link");
        let attributes = Command::new("perl")
            .args([
                "-e",
                "my ($n, $b) = ('user.walls', ' ' x 100); exit(0 <= syscall(191, $ARGV[0], $n, $b, 100))",
            ])
            .arg(&file)
            .status()
            .unwrap();
        assert!(attributes.success(), "{mechanism:?}: it has an attribute");
    }
}

/// Whoever clones a project has its folders, and one that looks like a repository names programs in its settings.
#[tokio::test]
async fn a_folder_that_looks_like_a_repository_runs_nothing_by_its_settings() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |_| {});
        let work = house.home().join("work");
        let made = std::process::Command::new("git")
            .args(["init", "-q", "--bare", "ex"])
            .current_dir(&work)
            .status();
        assert!(made.unwrap().success());
        let settings =
            "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\nfsmonitor = ./run.sh\n";
        fs::write(work.join("ex/config"), settings).unwrap();
        fs::write(work.join("ex/run.sh"), "#!/bin/sh\ntouch ran ../ran\n").unwrap();
        fs::set_permissions(work.join("ex/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let said = house.bash("git -C ex status; cd ex && git status").await;
        assert!(!work.join("ran").exists() && !work.join("ex/ran").exists(), "{mechanism:?}: {said}");
        assert_eq!(said.matches("safe.bareRepository").count(), 2, "{mechanism:?}: {said}");
        // A repository of its own is none that was committed.
        let said = house.bash("git init -q own && git -C own status --short && echo works").await;
        assert_eq!(said.trim(), "works", "{mechanism:?}");
    }
}

#[tokio::test]
async fn what_may_be_written_changes_as_ever() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |_| ());
        let script = "set -e; echo 'echo ran' > tool; chmod 755 tool; ./tool 2>/dev/null || sh tool; \
                      touch -d @1000000 tool; stat -c '%a %Y' tool; cp -p tool copy; stat -c '%a %Y' copy; \
                      mkdir folder; chmod 700 folder; stat -c %a folder; sed -i s/ran/went/ copy; stat -c %a copy; \
                      ln -s copy link; touch -h -d @2000000 link; stat -c %Y link; perl -e 'open(F, \">\", \"open\"); chmod 0600, *F; utime 5, 5, *F;'; \
                      stat -c '%a %Y' open; touch -d @7 $TMPDIR/kept; stat -c %Y $TMPDIR/kept; (cd folder; touch ../folder/x; chmod 640 x; stat -c %a x); \
                      chown $(id -u) tool; tar cf a.tar tool copy; mkdir out; tar xpf a.tar -C out; stat -c '%a %Y' out/tool; \
                      chmod u+s tool 2>/dev/null || true; cat copy";
        let said = house.bash(script).await;
        assert_eq!(
            said, "ran\n755 1000000\n755 1000000\n700\n755\n2000000\n600 5\n7\n640\n755 1000000\necho went\n",
            "{mechanism:?}"
        );
    }
}

#[tokio::test]
async fn memory_that_has_names_is_the_sessions_own() {
    let place = Path::new("/dev/shm").join(format!("walls-{}", std::process::id()));
    fs::write(&place, "mine").unwrap();
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |_| ());
        let at = place.display();
        let said = house
            .bash(&format!("cat {at} 2>/dev/null; echo changed 2>/dev/null > {at}; echo x 2>/dev/null > {at}-left; echo over"))
            .await;
        assert!(said.ends_with("over\n") && !said.contains("mine"), "{mechanism:?}: {said}");
        assert_eq!(fs::read_to_string(&place).unwrap(), "mine", "{mechanism:?}");
        assert!(
            !place.with_file_name(format!("walls-{}-left", std::process::id())).exists(),
            "{mechanism:?}"
        );
    }
    fs::remove_file(place).unwrap();
}

#[tokio::test]
async fn who_is_not_confined_does_not_reach_the_daemon_either() {
    let house = House::new(&mechanisms()[0], |_| ());
    let rules = SandboxRules { profile: SandboxProfile::Full, ..SandboxRules::default() };
    let daemon = std::process::id();
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let threads: Vec<String> = threads.map(|it| it.file_name().into_string().unwrap()).collect();
    let script = format!(
        "exec 2>/dev/null; for pid in {daemon} $PPID {}; do kill -0 $pid && echo signalled; \
         perl -e 'exit(syscall(302, $ARGV[0] + 0, 4, 0, 0))' $pid && echo limited; \
         perl -e 'my $l = pack(\"QQ\", 0, 0); exit(syscall(302, $ARGV[0] + 0, 4, $l, 0))' $pid && echo limited; \
         dd if=/proc/$pid/mem of=/dev/null bs=1 count=0 status=none && echo seen; done; \
         sleep 1000 & kill $! && wait $!; echo $?",
        threads.join(" ")
    );
    let (_, said) = house.run(CommandLaunch { rules, ..house.launch(&script) }).await;
    assert_eq!(said, "143\n");
    // It is what it was otherwise: the terminal, sockets, files.
    let place = house.folder.path().join("full.sock");
    let _listener = UnixListener::bind(&place).unwrap();
    let script = format!(
        "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => \"{}\") and print \"reached\\n\"'; echo x > {}/made",
        place.display(),
        house.folder.path().display()
    );
    let terminal = Some(TerminalSize { columns: 80, rows: 24 });
    let (_, said) = house.run(CommandLaunch { rules, terminal, ..house.launch(&script) }).await;
    assert_eq!(said, "reached\r\n");
    assert!(house.folder.path().join("made").exists());
}

#[tokio::test]
async fn no_link_of_an_earlier_command_is_followed_when_a_view_is_made() {
    let Some(mechanism) =
        mechanisms().into_iter().find(|it| matches!(it, SandboxMechanism::Bubblewrap { .. }))
    else {
        return;
    };
    let folder = tempfile::Builder::new().prefix("walls-").tempdir_in("/tmp").unwrap();
    for name in ["above/home/work", "victim", "temporary"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let house = House { sandbox: Sandbox::with(warden(), HiddenPlaces::default(), mechanism), folder };
    let work = house.folder.path().join("above/home/work");
    let victim = house.folder.path().join("victim");
    let launch = |script: &str| CommandLaunch {
        directory: work.clone(),
        roots: vec![work.clone()],
        ..house.launch(script)
    };
    let way = house.folder.path().display();
    let script = format!(
        "for folder in {way}/above/home {way}/above {way}; do mv $folder /tmp/old-$$-${{folder##*/}} 2>/dev/null && \
         ln -s /oldroot{} $folder; done; echo over",
        victim.display()
    );
    assert_eq!(house.run(launch(&script)).await.1, "over\n");
    // Left by a command that had another workspace.
    let left = house.folder.path().join("temporary").join(way.to_string().trim_start_matches("/tmp/"));
    fs::remove_dir_all(&left).unwrap();
    symlink(format!("/oldroot{}", victim.display()), &left).unwrap();
    let (_, said) = house.run(launch("echo made > here; cat here; pwd")).await;
    assert_eq!(said, format!("made\n{}\n", work.display()));
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
    assert!(work.join("here").exists());
}

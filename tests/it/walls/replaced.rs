//! What is hidden stays hidden from a command that goes on, when somebody outside puts another file or folder in its place, or makes
//! one that was not there: programs refresh tokens by renaming a new file over the old one.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::*;

/// Puts what is laid into the place of what is there.
fn replace(place: &Path) {
    let beside = |end: &str| PathBuf::from(format!("{}.{end}", place.display()));
    let (new, old) = (beside("new"), beside("old"));
    let is_folder = place.is_dir();
    match is_folder {
        true => {
            fs::create_dir(&new).unwrap();
            fs::write(new.join("kept"), "THE-SECRET").unwrap();
            fs::rename(place, old).unwrap();
        }
        false => fs::write(&new, "THE-SECRET").unwrap(),
    }
    fs::rename(new, place).unwrap();
}

/// What a command reads that was begun before `change`, and looks about after it.
async fn read_after(house: &House, change: impl FnOnce(&Path)) -> String {
    let home = house.home();
    let script = format!(
        "echo begun; until [ -e go ]; do sleep 0.01; done; {}; echo mine > new && cat new /proc/self/comm <(echo pipe) /dev/null",
        look(&home)
    );
    let roots = vec![home.join("work")];
    let mut running = house.sandbox.start(CommandLaunch { roots, ..house.launch(&script) }).await.unwrap();
    let mut lines = BufReader::new(&mut running.stdout);
    let mut said = String::new();
    lines.read_line(&mut said).await.unwrap();
    assert_eq!(said, "begun\n");
    change(&home);
    fs::write(home.join("work/go"), "").unwrap();
    lines.read_to_string(&mut said).await.unwrap();
    running.hold.ended().await.unwrap();
    said
}

#[tokio::test]
async fn what_takes_the_place_of_something_hidden_is_hidden_from_commands_that_run() {
    let all: Vec<String> = own().into_iter().chain(people_hide()).collect();
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |home| all.iter().for_each(|name| make(&home.join(name))));
        let said = read_after(&house, |home| all.iter().for_each(|name| replace(&home.join(name)))).await;
        assert_eq!(said, "begun\nover\nmine\ncat\npipe\n", "{mechanism:?}");
    }
}

/// A folder that is readable by permission, an active skill's say, lies where commands write.
#[tokio::test]
async fn what_is_readable_in_the_workspace_is_not_something_hidden_by_a_link() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |home| {
            make(&home.join(".ssh"));
            fs::create_dir_all(home.join("work/skill")).unwrap();
            fs::write(home.join("work/skill/file"), "told\n").unwrap();
        });
        let work = house.home().join("work");
        let script = "cat skill/file; cat skill/kept ../.ssh/kept 2>/dev/null; echo over";
        let launch = || CommandLaunch {
            roots: vec![work.clone()],
            readable: vec![work.join("skill")],
            read_only: vec![work.join("skill")].into_iter().filter(|it| !it.is_symlink()).collect(),
            ..house.launch(script)
        };
        assert_eq!(house.run(launch()).await.1, "told\nover\n", "{mechanism:?}");
        fs::remove_dir_all(work.join("skill")).unwrap();
        symlink(house.home().join(".ssh"), work.join("skill")).unwrap();
        let (_, said) = house.run(launch()).await;
        assert!(!said.contains("THE-SECRET") && said.contains("over\n"), "{mechanism:?}: {said}");
    }
}

/// A workspace can be written: what the settings name there is reached by its own name alone.
#[tokio::test]
async fn a_socket_in_the_workspace_is_not_another_one_by_a_link() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |home| fs::create_dir_all(home.join("work/run")).unwrap());
        let (work, own) = (house.home().join("work"), house.home().join("own.sock"));
        let _listening =
            [UnixListener::bind(&own).unwrap(), UnixListener::bind(work.join("real.sock")).unwrap()];
        symlink(&own, work.join("link.sock")).unwrap();
        fs::hard_link(&own, work.join("run/hard.sock")).unwrap();
        symlink(&own, work.join("run/soft.sock")).unwrap();
        let connect = "for at in real.sock link.sock run/hard.sock run/soft.sock; do perl -MSocket -e \
            'socket(my $it, AF_UNIX, SOCK_STREAM, 0); print connect($it, sockaddr_un($ARGV[0])) ? \"in \" : \"out \"' $at; done";
        let sockets = ["real.sock", "link.sock", "run"].map(|name| work.join(name)).to_vec();
        let launch = CommandLaunch { roots: vec![work.clone()], sockets, ..house.launch(connect) };
        assert_eq!(house.run(launch).await.1, "in out out out ", "{mechanism:?}");
    }
}

#[tokio::test]
async fn a_secret_that_is_made_while_a_command_runs_is_hidden_from_it() {
    let all = people_hide();
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |_| {});
        let said = read_after(&house, |home| all.iter().for_each(|name| make(&home.join(name)))).await;
        assert_eq!(said, "begun\nover\nmine\ncat\npipe\n", "{mechanism:?}");
    }
}

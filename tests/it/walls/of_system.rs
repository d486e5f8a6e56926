//! The keys of the system itself are read by no command and no tool, also where root runs the daemon: the one list counts for both.

use subagentd::sandbox::secrets_of_system;

use super::*;

#[tokio::test]
async fn keys_of_the_system_are_read_by_nobody_that_an_agent_runs() {
    let places: Vec<PathBuf> = secrets_of_system().collect();
    assert_eq!(places.is_empty(), !rustix::process::geteuid().is_root(), "others do not read them anyway");
    for mechanism in mechanisms() {
        let folder = tempfile::Builder::new().prefix("walls-").tempdir_in(built::apart()).unwrap();
        fs::create_dir_all(folder.path().join("home/work")).unwrap();
        fs::create_dir_all(folder.path().join("temporary")).unwrap();
        let hidden = HiddenPlaces::with_secrets(places.clone(), []);
        let house = House { folder, sandbox: Sandbox::with(warden(), hidden, mechanism.clone()) };
        let all = ["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/ssl/private", "/var/spool/cron"];
        let script = format!(
            "for p in {}; do if [ -d $p ]; then ls -A $p; else head -c 1 $p; fi; done 2>/dev/null; grep -c . /etc/passwd >&2",
            all.join(" ")
        );
        let said = house.bash(&script).await;
        let is_number = said.trim().parse::<u32>().is_ok();
        assert!(is_number, "{mechanism:?} shows more than how many users there are: {said}");
    }
    // What file tools do not read.
    let home = Path::new("/the-home");
    let (places, rules) = (
        super::places(home),
        RulePlaces {
            system: "/etc/subagentd/policies".into(),
            user: home.join("policies"),
            home: home.to_owned(),
        },
    );
    let by = GuardedBy {
        rules: &rules,
        settings: &places.settings(),
        places: &places,
        socket: None,
        state_dir: &places.state_dir,
        home: Some(home),
        program: None,
    };
    let shadow = Path::new("/etc/shadow");
    let is_closed = own_files(&by).hidden().present.iter().any(|place| place == shadow);
    assert_eq!(is_closed, rustix::process::geteuid().is_root() && shadow.exists());
}

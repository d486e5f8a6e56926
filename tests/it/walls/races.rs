//! A command that goes on exchanges what it may write for a link, again and again, while the next command is given its view.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use subagentd::sys::guarded::FileIdentity;

use super::*;

/// Commands that are started meanwhile, for each case and mechanism.
const TRIALS: usize = 60;

/// Exchanges two paths until it is dropped.
struct Exchanging {
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<u64>>,
}

impl Exchanging {
    fn begin(one: PathBuf, other: PathBuf) -> Exchanging {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let exchange = move || {
            let mut count = 0;
            while !over.load(Ordering::Relaxed) {
                if renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_ok() {
                    count += 1;
                }
            }
            count
        };
        Exchanging { is_over, thread: Some(thread::spawn(exchange)) }
    }
}

impl Drop for Exchanging {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let count = self.thread.take().unwrap().join().unwrap();
        assert!(TRIALS as u64 <= count, "it exchanged {count} times");
    }
}

/// What it put out, if it was run.
async fn tried(house: &House, launch: CommandLaunch) -> Option<String> {
    let mut running = house.sandbox.start(launch).await.ok()?;
    let said = all_of(&mut running).await;
    running.hold.ended().await.ok().map(|_| said)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_that_becomes_a_link_meanwhile_leads_nowhere() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |home| {
            fs::create_dir_all(home.join("work/inner")).unwrap();
            symlink("../../../outside", home.join("work/link")).unwrap();
        });
        let outside = house.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "precious").unwrap();
        let root = house.home().join("work/inner");
        let known_roots = vec![(root.clone(), FileIdentity::of(&root).unwrap())];
        let mut count = 0;
        {
            let _exchanging = Exchanging::begin(root.clone(), house.home().join("work/link"));
            for _ in 0..TRIALS {
                let launch = CommandLaunch {
                    roots: vec![root.clone()],
                    known_roots: known_roots.clone(),
                    directory: PathBuf::from("/"),
                    ..house
                        .launch(&format!("exec 2>/dev/null; echo over > {}/file; echo ran", root.display()))
                };
                count += usize::from(tried(&house, launch).await.is_some());
                let found = fs::read_to_string(outside.join("file")).unwrap();
                assert_eq!(found, "precious", "{mechanism:?}");
            }
        }
        assert!(count < TRIALS, "{mechanism:?}: it was a folder each time");
        // A file of it that was changed by then lies in it.
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_frozen_and_becomes_a_link_meanwhile_shows_nothing() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |home| {
            fs::create_dir_all(home.join("work/.git/hooks")).unwrap();
            fs::write(home.join("work/.git/config"), "[core]\n").unwrap();
            for secret in [".ssh", ".aws"] {
                make(&home.join(secret));
            }
            symlink("../../.ssh/kept", home.join("work/.git/link")).unwrap();
            symlink("../../.aws", home.join("work/.git/folder")).unwrap();
        });
        let (home, git) = (house.home(), house.home().join("work/.git"));
        let (mut count, all) =
            (0, format!("exec 2>/dev/null; grep -rhs THE-SECRET {} ; echo over", home.display()));
        {
            let _one = Exchanging::begin(git.join("config"), git.join("link"));
            let _other = Exchanging::begin(git.join("hooks"), git.join("folder"));
            for _ in 0..TRIALS {
                let launch = CommandLaunch {
                    read_only: vec![git.join("config"), git.join("hooks")],
                    ..house.launch(&all)
                };
                if let Some(said) = tried(&house, launch).await {
                    assert_eq!(said, "over\n", "{mechanism:?}");
                    count += 1;
                }
            }
        }
        println!("{}: {count} of {TRIALS} were run", mechanism.name());
    }
}

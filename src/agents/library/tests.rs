//! What is read, and when; on real folders, and with the system's own notices.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use super::*;
use crate::{AgentFileStamp, AgentLookup, library::reading::in_one_state};
use protocol::{AgentName, AgentStatus};

mod following;

/// A user's folder `user` and a workspace `w`, and who reads them.
struct Ground {
    base: tempfile::TempDir,
    library: AgentFileCache,
    trust: Arc<TrustRecords>,
}

impl Ground {
    /// Every change is told.
    fn new() -> Ground {
        Ground::with(AgentFileCache::new)
    }

    /// In each way in which changes are noticed.
    fn both() -> [Ground; 2] {
        [Ground::new(), Ground::with(AgentFileCache::unwatched)]
    }

    fn with(library: impl Fn(AgentPlaces, PlaceSwitches) -> AgentFileCache) -> Ground {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("w")).unwrap();
        let places = AgentPlaces::of_user(base.path().join("user"));
        Ground { library: library(places, PlaceSwitches::default()), base, trust: Arc::default() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.base.path().join(path)
    }

    fn write(&self, path: &str, text: &str) -> &Ground {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
        self
    }

    fn agent(&self, path: &str, name: &str) -> &Ground {
        self.write(path, &agent(name))
    }

    fn catalog(&self) -> Arc<AgentCatalog> {
        self.library.catalog(&[self.path("w")], &self.trust)
    }

    /// Names of the agents that were found, but for the built-in ones, and how they are.
    fn names(&self) -> Vec<String> {
        let of_files = self.catalog().list(true, true).into_iter().filter(|agent| agent.path.is_some());
        let shown = |status| match status {
            AgentStatus::Ok => "",
            AgentStatus::Untrusted => "?",
            AgentStatus::Invalid => "!",
            AgentStatus::Hidden => "-",
            AgentStatus::Disabled => "0",
            AgentStatus::NotReady => "~",
            AgentStatus::Unresolved => "=",
        };
        of_files.map(|agent| format!("{}{}", agent.name, shown(agent.status))).collect()
    }

    /// How many files are read while it is done.
    fn reads(&self, look: impl FnOnce()) -> u64 {
        let before = self.library.files_read();
        look();
        self.library.files_read() - before
    }
}

fn agent(name: &str) -> String {
    format!("---\nkind: agent\nname: {name}\ndescription: d\n---\nDo it.\n")
}

/// Saves as careful editors do.
fn save(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, path).unwrap();
}

#[test]
fn only_what_changed_is_read_again() {
    let ground = Ground::new();
    for number in 0..100 {
        ground.agent(&format!("user/{}/{number:03}.md", number % 3), &format!("a{number:03}"));
    }
    assert_eq!(ground.reads(|| assert_eq!(ground.names().len(), 100)), 100);
    let first = ground.catalog();
    assert_eq!(ground.reads(|| assert!(Arc::ptr_eq(&first, &ground.catalog()))), 0);

    ground.agent("user/0/000.md", "other");
    assert_eq!(ground.reads(|| assert_eq!(ground.names()[99], "other")), 1);
    save(&ground.path("user/1/001.md"), &agent("another"));
    assert_eq!(ground.reads(|| assert_eq!(ground.names()[98], "another")), 1);
    // The same bytes are the same agent.
    let before = ground.catalog();
    ground.agent("user/0/000.md", "other");
    assert_eq!(ground.reads(|| assert!(Arc::ptr_eq(&before, &ground.catalog()))), 1);
    // What is in another place is another file, and the rest is what it was.
    fs::rename(ground.path("user/2"), ground.path("user/two")).unwrap();
    assert_eq!(ground.reads(|| assert_eq!(ground.names().len(), 100)), 33);
    fs::remove_file(ground.path("user/1/001.md")).unwrap();
    assert_eq!(ground.reads(|| assert_eq!(ground.names().len(), 99)), 0);
    let workspace = ground.path("w");
    ground.library.forget(&[workspace]);
    assert_eq!(ground.reads(|| assert_eq!(ground.names().len(), 99)), 99);
}

#[test]
fn an_answer_is_never_older_than_its_question() {
    for ground in Ground::both() {
        // As long as the one before, and within one leap of the system's clock.
        for number in 0..200 {
            ground.agent("user/a.md", &format!("a{number:03}"));
            assert_eq!(ground.names(), [format!("a{number:03}")]);
        }
        for number in 0..100 {
            save(&ground.path("user/a.md"), &agent(&format!("b{number:03}")));
            assert_eq!(ground.names(), [format!("b{number:03}")]);
        }
    }
}

#[test]
fn folders_come_and_go() {
    for ground in Ground::both() {
        assert_eq!(ground.names(), [""; 0]);
        ground.agent("user/a.md", "a");
        assert_eq!(ground.names(), ["a"]);
        ground.agent("w/.claude/agents/b.md", "b");
        assert_eq!(ground.names(), ["a", "b?"]);
        ground.agent("user/deep/er/c.md", "c");
        assert_eq!(ground.names(), ["a", "b?", "c"]);
        fs::rename(ground.path("user/deep"), ground.path("elsewhere")).unwrap();
        ground.agent("elsewhere/er/d.md", "d");
        assert_eq!(ground.names(), ["a", "b?"]);
        fs::remove_dir_all(ground.path("user")).unwrap();
        assert_eq!(ground.names(), ["b?"]);
        ground.agent("user/e.md", "e");
        assert_eq!(ground.names(), ["b?", "e"]);
        // Nothing happens to the folders of agents themselves.
        fs::rename(ground.path("w"), ground.path("old")).unwrap();
        assert_eq!(ground.names(), ["e"]);
        ground.agent("w/.claude/agents/f.md", "f");
        assert_eq!(ground.names(), ["e", "f?"]);
        fs::rename(ground.path("w"), ground.path("new")).unwrap();
        fs::rename(ground.path("old"), ground.path("w")).unwrap();
        assert_eq!(ground.names(), ["b?", "e"]);
    }
}

#[test]
fn what_links_lead_to_is_live() {
    for ground in Ground::both() {
        ground.agent("far/a.md", "a").agent("far/b.md", "b").agent("folder/c.md", "c");
        fs::create_dir(ground.path("user")).unwrap();
        symlink(ground.path("far/a.md"), ground.path("user/link.md")).unwrap();
        symlink(ground.path("folder"), ground.path("user/folder")).unwrap();
        symlink(ground.path("nowhere"), ground.path("user/later")).unwrap();
        fs::hard_link(ground.path("far/b.md"), ground.path("user/second.md")).unwrap();
        assert_eq!(ground.names(), ["a", "b", "c"]);
        ground.agent("far/a.md", "x").agent("far/b.md", "y").agent("folder/c.md", "z");
        assert_eq!(ground.names(), ["x", "y", "z"]);
        ground.agent("nowhere/l.md", "late");
        assert_eq!(ground.names(), ["late", "x", "y", "z"]);
        // The link stays, and what it leads to is another one.
        fs::rename(ground.path("folder"), ground.path("away")).unwrap();
        ground.agent("folder/c.md", "other");
        assert_eq!(ground.names(), ["late", "other", "x", "y"]);
    }
}

#[test]
fn what_may_not_be_read_is_told_and_read_once_it_may() {
    let ground = Ground::new();
    ground.agent("user/in/a.md", "a").agent("user/b.md", "b");
    fs::set_permissions(ground.base.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let allow = |path: &str, mode| {
        fs::set_permissions(ground.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    let look = || {
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                // The system lets root read anything, so this thread becomes nobody.
                if rustix::process::geteuid().is_root() {
                    let nobody = rustix::process::Uid::from_raw(65_534);
                    rustix::thread::set_thread_uid(nobody).unwrap();
                }
                let told = ground.catalog().problems().len();
                (ground.names(), told)
            });
            looking.join().unwrap()
        })
    };
    allow("user/in", 0o700);
    allow("user/b.md", 0o600);
    allow("user", 0o755);
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        assert_eq!(look(), (vec!["b!".to_owned()], 1));
    }
    allow("user/in", 0o755);
    allow("user/b.md", 0o644);
    assert_eq!(look(), (vec!["a".to_owned(), "b".to_owned()], 0));
    if is_root {
        allow("user", 0o700);
        assert_eq!(look(), (Vec::new(), 1));
        allow("user", 0o755);
        assert_eq!(look(), (vec!["a".to_owned(), "b".to_owned()], 0));
    }
}

#[test]
fn when_more_happens_than_the_system_keeps_all_is_looked_at() {
    let ground = Ground::new();
    ground.agent("user/a.md", "a").agent("w/.subagentd/agents/p.md", "p");
    assert_eq!(ground.names(), ["a", "p?"]);
    let most: usize =
        fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    // Two that follow each other are never the same, so each is kept; it takes at least two to make a file and remove it.
    for _ in 0..=most / 2 {
        fs::write(ground.path("user/x.txt"), "").unwrap();
        fs::remove_file(ground.path("user/x.txt")).unwrap();
    }
    ground.agent("user/a.md", "b");
    save(&ground.path("w/.subagentd/agents/p.md"), &agent("q"));
    assert_eq!(ground.names(), ["b", "q?"]);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.md");
    let write = |text: &str| fs::write(&path, text).unwrap();
    write("one");
    let met = AgentFileStamp::of(&path).unwrap();
    let mut times = 0;
    let read = in_one_state(&path, met, || {
        times += 1;
        let text = fs::read_to_string(&path).unwrap();
        if times == 1 {
            save(&path, "another");
        }
        text
    });
    let (text, stamp) = read.unwrap();
    assert_eq!((text.as_str(), times, stamp), ("another", 2, AgentFileStamp::of(&path)));

    let mut times = 0;
    let endless = in_one_state(&path, met, || {
        times += 1;
        write(&"x".repeat(times));
    });
    assert!(endless.is_none() && times < 10);
    let gone = in_one_state(&path, met, || fs::remove_file(&path).is_ok());
    assert_eq!(gone, Some((false, None)), "it is read once more, and is not there");
}

#[test]
fn ten_thousand_files_are_read_and_no_more() {
    let ground = Ground::new();
    for number in 0..10_001 {
        ground.agent(&format!("user/{number:05}.md"), &format!("a{number:05}"));
    }
    let catalog = ground.catalog();
    assert_eq!((catalog.list(false, false).len(), ground.library.files_read()), (10_000 + 3, 10_000));
    assert_eq!(catalog.problems().len(), 1);
    let found = catalog.find(&AgentName::from("codebase_investigator"));
    assert!(matches!(found, AgentLookup::Ready { .. }));
    assert_eq!(catalog.callable().count(), 10_000 + 3);
    let second = catalog.list(true, true).into_iter().nth(1).unwrap();
    assert!(catalog.definition(&second.name, second.path.as_deref()).is_some());
    assert_eq!(ground.reads(|| drop(ground.catalog())), 0);
}

#[test]
fn no_bytes_harm_a_neighbour() {
    let ground = Ground::new();
    ground.agent("user/good.md", "good");
    for (name, bytes) in [
        ("nul.md", &b"\0\0\0\0"[..]),
        ("random.md", &[0xFF, 0xFE, 0x00, 0xD8, 0x80, 0x0A][..]),
        ("elf.md", &b"\x7FELF\x02\x01\x01\0---\nkind: agent\n---\n"[..]),
        ("empty.md", b""),
    ] {
        fs::write(ground.path("user").join(name), bytes).unwrap();
    }
    assert_eq!(ground.names(), ["elf!", "empty!", "good", "nul!", "random!"]);
}

#[test]
fn the_workspaces_that_were_asked_for_last_are_kept() {
    let ground = Ground::new();
    let roots: Vec<PathBuf> = (0..70).map(|number| ground.path(&format!("many/{number}"))).collect();
    for (number, root) in roots.iter().enumerate() {
        ground.agent(&format!("many/{number}/.opencode/agent/own.md"), &format!("own{number}"));
        let listed = ground.library.catalog(std::slice::from_ref(root), &ground.trust).list(true, true);
        assert!(listed.iter().any(|agent| agent.name.as_str() == format!("own{number}")), "{listed:?}");
    }
    let look = |number: usize| drop(ground.library.catalog(&roots[number..=number], &ground.trust));
    assert_eq!(ground.reads(|| look(69)), 0);
    assert_eq!(ground.reads(|| look(10)), 0);
    assert_eq!(ground.reads(|| look(0)), 1, "it was the one that nobody asked for longest");
    let rooms = lock(&ground.library.rooms);
    assert_eq!((rooms.folders.len(), rooms.catalogs.len()), (MOST_WORKSPACES + 1, MOST_WORKSPACES + 1));
}

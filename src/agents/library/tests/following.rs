//! What those who follow the log are told.

use super::*;
use config::DaemonConfig;
use protocol::{TrustedFile, WorkspaceTrusted};

impl Ground {
    /// What is untold, and is told now: `+` came, `~` changed, `-` went.
    fn told(&self) -> String {
        let mut told = String::new();
        for changes in self.library.untold(&self.trust) {
            let lists = [("+", &changes.added), ("~", &changes.changed), ("-", &changes.removed)];
            for (sign, agents) in lists {
                agents.iter().for_each(|agent| told.push_str(&format!("{sign}{} ", agent.name)));
            }
            let roots = changes.roots.iter().map(|root| root.strip_prefix(self.base.path()).unwrap());
            told.push_str(&format!("in {:?}; ", roots.collect::<Vec<_>>()));
            self.library.were_told(&changes);
        }
        told
    }
}

#[test]
fn changes_are_told_once_and_nothing_else_is() {
    let ground = Ground::new();
    ground.agent("user/a.md", "a").agent("w/.gemini/agents/p.md", "p");
    assert_eq!(ground.told(), "", "nobody asked yet");
    ground.library.catalog(&[], &ground.trust);
    ground.catalog();
    assert_eq!(ground.told(), "");
    ground.agent("user/a.md", "a").write("user/x.txt", "no agent");
    assert_eq!(ground.told(), "", "it says what it said");

    ground.write("user/a.md", &agent("a").replace("Do it", "Do more")).agent("user/b.md", "b");
    assert_eq!(ground.told(), "+b ~a in []; ");
    assert_eq!(ground.told(), "");
    ground.write("w/.gemini/agents/p.md", "broken");
    fs::remove_file(ground.path("user/b.md")).unwrap();
    // Somebody met it before it was told.
    ground.catalog();
    assert_eq!(ground.told(), "-b in []; ~p in [\"w\"]; ");
    // A name that is another is another agent.
    ground.agent("user/a.md", "z");
    assert_eq!(ground.told(), "+z -a in []; ");
    // There and back.
    ground.agent("user/c.md", "c");
    ground.catalog();
    fs::remove_file(ground.path("user/c.md")).unwrap();
    assert_eq!(ground.told(), "");
}

#[test]
fn what_hides_another_changes_it() {
    let ground = Ground::new();
    ground.agent("user/generalist.md", "x");
    ground.library.catalog(&[], &ground.trust);
    ground.agent("user/generalist.md", "generalist");
    // The built-in one is hidden now.
    assert_eq!(ground.told(), "+generalist ~generalist -x in []; ");
}

#[test]
fn trust_is_told_otherwise() {
    let mut ground = Ground::new();
    ground.agent("w/.claude/agents/p.md", "p");
    assert_eq!(ground.names(), ["p?"]);
    let digest = trust::digest(&fs::read(ground.path("w/.claude/agents/p.md")).unwrap());
    let workspace = trust::canonical(&ground.path("w")).unwrap();
    let files = vec![TrustedFile { path: ".claude/agents/p.md".to_owned(), digest }];
    let mut trust = TrustRecords::default();
    trust.take(&WorkspaceTrusted { workspace, trusted: true, files, files_only: false });
    ground.trust = Arc::new(trust);
    assert_eq!((ground.names(), ground.told()), (vec!["p".to_owned()], String::new()));
    // Edited, it asks again.
    ground.write("w/.claude/agents/p.md", &agent("p").replace("Do it", "Do evil"));
    assert_eq!((ground.names(), ground.told()), (vec!["p?".to_owned()], "~p in [\"w\"]; ".to_owned()));
}

#[test]
fn places_that_are_switched_off_are_left() {
    let ground = Ground::new();
    ground.agent("user/a.md", "a").agent("w/.claude/agents/p.md", "p");
    ground.library.catalog(&[], &ground.trust);
    assert_eq!(ground.names(), ["a", "p?"]);
    let mut places = DaemonConfig::default().agents.places;
    places.user.own.value = false;
    places.project.claude.value = false;
    ground.library.switch(PlaceSwitches::of(&places));
    assert_eq!((ground.names(), ground.told().as_str()), (Vec::new(), "-a in []; -p in [\"w\"]; "));
    places.built_in.value = false;
    ground.library.switch(PlaceSwitches::of(&places));
    assert!(ground.catalog().list(true, true).is_empty());
    ground.library.switch(PlaceSwitches::default());
    ground.agent("user/b.md", "b");
    assert_eq!(ground.names(), ["a", "b", "p?"]);
}

#[tokio::test]
async fn whoever_waits_is_woken() {
    let ground = Ground::new();
    ground.catalog();
    let alarm = ground.library.alarm().unwrap().unwrap();
    // The folder is not there yet.
    ground.agent("user/a.md", "a");
    alarm.rings().await.unwrap();
    assert!(ground.library.take_notices());
    assert_eq!(ground.names(), ["a"]);
    ground.agent("user/a.md", "b");
    // Somebody else took what the system told, and met a change.
    assert_eq!(ground.names(), ["b"]);
    ground.library.met_changes().await;
    assert!(ground.library.silent().is_empty());
    assert!(!Ground::with(AgentFileCache::unwatched).catalog().list(true, true).is_empty());
}

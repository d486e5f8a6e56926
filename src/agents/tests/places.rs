//! Every place, and which goes before which.

use std::{path::PathBuf, sync::Arc};

use super::*;
use config::{AgentPlaceSettings, DaemonConfig};
use protocol::{AgentSummary, TrustedFile, WorkspaceTrusted};

type Switch = fn(&mut AgentPlaceSettings) -> &mut bool;

/// Folders in the order of precedence, as spec 02 has it, and what switches each off.
const PLACES: [(&str, Switch); 10] = [
    ("w/.subagentd/agents", |it| &mut it.project.own.value),
    ("w/.gemini/agents", |it| &mut it.project.gemini.value),
    ("w/.claude/agents", |it| &mut it.project.claude.value),
    ("w/.opencode/agent", |it| &mut it.project.opencode.value),
    ("w/.opencode/agents", |it| &mut it.project.opencode.value),
    ("config/subagentd/agents", |it| &mut it.user.own.value),
    ("home/.gemini/agents", |it| &mut it.user.gemini.value),
    ("home/.claude/agents", |it| &mut it.user.claude.value),
    ("config/opencode/agent", |it| &mut it.user.opencode.value),
    ("config/opencode/agents", |it| &mut it.user.opencode.value),
];

/// A file that is an agent for every product.
const GENERALIST: &str = "---\nkind: agent\nname: generalist\ndescription: d\n---\nDo it.\n";

struct Ground {
    base: tempfile::TempDir,
}

impl Ground {
    fn new() -> Ground {
        let base = tempfile::tempdir().unwrap();
        for (folder, _) in PLACES {
            fs::create_dir_all(base.path().join(folder)).unwrap();
            fs::write(base.path().join(folder).join("g.md"), GENERALIST).unwrap();
        }
        Ground { base }
    }

    fn library(&self, settings: &AgentPlaceSettings) -> AgentFileCache {
        let (home, config) = (self.base.path().join("home"), self.base.path().join("config"));
        let places = AgentPlaces::of_user(config.join("subagentd/agents"));
        let places = places.with_products(Some(&home), Some(&config));
        AgentFileCache::unwatched(places, PlaceSwitches::of(settings))
    }

    /// Every file of the workspace is acknowledged.
    fn trust(&self) -> Arc<TrustRecords> {
        let workspace = trust::canonical(&self.base.path().join("w")).unwrap();
        let of_project = PLACES.iter().filter_map(|(folder, _)| folder.strip_prefix("w/"));
        let digest = trust::digest(GENERALIST.as_bytes());
        let files = of_project
            .map(|folder| TrustedFile { path: format!("{folder}/g.md"), digest: digest.clone() })
            .collect();
        let mut trust = TrustRecords::default();
        trust.take(&WorkspaceTrusted { workspace, trusted: true, files, files_only: false });
        Arc::new(trust)
    }

    fn roots(&self) -> [PathBuf; 1] {
        [self.base.path().join("w")]
    }

    /// Where the files of the name lie, the one that counts first.
    fn folders(&self, listed: Vec<AgentSummary>) -> Vec<String> {
        let folder = |path: PathBuf| {
            path.strip_prefix(self.base.path()).unwrap().parent().unwrap().display().to_string()
        };
        let of_name = listed.into_iter().filter(|agent| agent.name.as_str() == "generalist");
        of_name.map(|agent| agent.path.map_or_else(|| "built in".to_owned(), folder)).collect()
    }
}

#[test]
fn each_place_goes_before_the_next() {
    let ground = Ground::new();
    let library = ground.library(&DaemonConfig::default().agents.places);
    let trust = ground.trust();
    let mut expected: Vec<&str> = PLACES.iter().map(|(folder, _)| *folder).chain(["built in"]).collect();
    while !expected.is_empty() {
        let listed = library.catalog(&ground.roots(), &trust).list(true, true);
        let hidden = listed.iter().filter(|agent| agent.status == AgentStatus::Hidden).count();
        assert_eq!(
            (ground.folders(listed), hidden),
            (expected.iter().map(ToString::to_string).collect(), expected.len() - 1)
        );
        let first = ground.base.path().join(expected.remove(0)).join("g.md");
        if first.exists() {
            fs::remove_file(first).unwrap();
        }
    }
}

#[test]
fn only_two_of_one_place_are_a_slip() {
    let ground = Ground::new();
    let library = ground.library(&DaemonConfig::default().agents.places);
    let listed = library.catalog(&ground.roots(), &ground.trust()).list(true, true);
    let warned: Vec<_> = listed
        .iter()
        .filter(|agent| agent.problems.iter().any(|it| it.message.contains("is taken by")))
        .map(|agent| agent.path.clone().unwrap().strip_prefix(ground.base.path()).unwrap().to_owned())
        .collect();
    let second = ["w/.opencode/agents/g.md", "config/opencode/agents/g.md"].map(PathBuf::from);
    assert_eq!(warned, second);
}

#[test]
fn each_place_can_be_switched_off() {
    let ground = Ground::new();
    for (_, switch) in PLACES {
        let mut settings = DaemonConfig::default().agents.places;
        *switch(&mut settings) = false;
        let is_on = |other: Switch| *other(&mut settings.clone());
        let expected: Vec<&str> = PLACES
            .iter()
            .filter(|(_, other)| is_on(*other))
            .map(|(folder, _)| *folder)
            .chain(["built in"])
            .collect();
        assert!(expected.len() < 11);
        let library = ground.library(&settings);
        let listed = library.catalog(&ground.roots(), &ground.trust()).list(true, true);
        assert_eq!(ground.folders(listed), expected);
    }
    let mut settings = DaemonConfig::default().agents.places;
    settings.built_in.value = false;
    let listed = ground.library(&settings).catalog(&ground.roots(), &ground.trust()).list(true, true);
    assert_eq!(ground.folders(listed).len(), PLACES.len());
}

#[test]
fn what_a_workspace_brings_along_is_inert_in_every_format() {
    let ground = Ground::new();
    let library = ground.library(&DaemonConfig::default().agents.places);
    let catalog = library.catalog(&ground.roots(), &Arc::new(TrustRecords::default()));
    let AgentLookup::Ready { scope, .. } = catalog.find(&AgentName::from("generalist")) else {
        panic!("the user's")
    };
    assert_eq!(scope, AgentScope::User);
    let brought: Vec<&str> = catalog.of_project().map(|agent| agent.path).collect();
    let expected =
        PLACES.iter().filter_map(|(folder, _)| Some(format!("{}/g.md", folder.strip_prefix("w/")?)));
    assert_eq!(brought, expected.collect::<Vec<_>>());
    assert_eq!(catalog.callable().count(), 3);
}

#[test]
fn whose_workspace_is_their_home_brings_none_of_their_own_along() {
    let ground = Ground::new();
    let library = ground.library(&DaemonConfig::default().agents.places);
    let catalog = library.catalog(&[ground.base.path().join("home")], &Arc::new(TrustRecords::default()));
    assert_eq!(catalog.of_project().count(), 0);
    assert!(ground.folders(catalog.list(true, true)).contains(&"home/.claude/agents".to_owned()));
}

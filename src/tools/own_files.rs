//! Which files are the daemon's own, and how dangerous is it to change a file? (spec 11, "Who may talk to it")

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use super::{
    ArtifactFolder, OutputStore, UndoStore, autorun,
    large_changes::LargeChangeTurns,
    repositories::is_repository,
    workspace::{PROJECT_CONFIG, Workspace},
};
use protocol::Risk;
use shell::AutorunPlace;
use sys::{
    guarded::{FileIdentity, GuardKind, GuardedPlaces, GuardedPlacesView},
    named_files::NamedFiles,
    source_places::{SourcePlaces, SourcePlacesView},
};

/// The system's settings and policies.
const SYSTEM_CONFIG: &str = "/etc/subagentd";

/// Where the files of the daemon lie that its tools must know of.
#[derive(Debug, Clone)]
pub struct OwnFiles {
    /// Settings, agents and policies of the user; and the user's memory file.
    config_dir: PathBuf,
    /// Files and folders whose change is `critical`.
    guarded: Vec<PathBuf>,
    /// The same, wherever they are.
    places: GuardedPlaces,
    /// What no tool reads: the state folder, and people's keys.
    closed: GuardedPlaces,
    /// The database, tokens and keys: what everybody asked and was answered.
    state_dir: PathBuf,
    /// What the settings name.
    named: NamedFiles,
    /// What settings, rules and agents are read from.
    sources: SourcePlaces,
    artifacts: ArtifactFolder,
    undo: UndoStore,
    outputs: OutputStore,
    changes: LargeChangeTurns,
}

impl OwnFiles {
    /// `more`: what else a tool must not change unasked, e.g. the socket and its folder.
    pub fn new(config_dir: &Path, state_dir: &Path, more: impl IntoIterator<Item = PathBuf>) -> OwnFiles {
        let mut guarded = vec![config_dir.to_owned(), state_dir.to_owned(), PathBuf::from(SYSTEM_CONFIG)];
        guarded.extend(more);
        let artifacts = ArtifactFolder::new(state_dir);
        let always = |path: &PathBuf| (path.clone(), GuardKind::Always);
        let places = GuardedPlaces::new(guarded.iter().map(always));
        let closed = GuardedPlaces::new([(state_dir.to_owned(), GuardKind::Always)]);
        OwnFiles {
            config_dir: config_dir.to_owned(),
            guarded,
            places,
            closed,
            state_dir: state_dir.to_owned(),
            named: NamedFiles::default(),
            sources: SourcePlaces::default(),
            undo: UndoStore::new(artifacts.clone()),
            outputs: OutputStore::new(artifacts.clone()),
            changes: LargeChangeTurns::default(),
            artifacts,
        }
    }

    /// With what no tool reads either, as no command does.
    #[must_use]
    pub fn with_secrets(self, secrets: impl IntoIterator<Item = PathBuf>) -> OwnFiles {
        let closed = self.closed.and(secrets.into_iter().map(|path| (path, GuardKind::Secret)));
        OwnFiles { closed, ..self }
    }

    /// The same with a folder of the daemon's own that no tool reads.
    #[must_use]
    pub fn hiding(mut self, folder: PathBuf) -> OwnFiles {
        self.closed = self.closed.and([(folder.clone(), GuardKind::Always)]);
        self.places = self.places.and([(folder.clone(), GuardKind::Always)]);
        self.guarded.push(folder);
        self
    }

    /// With what the settings name, as it is swapped when they are read.
    #[must_use]
    pub fn naming(self, named: NamedFiles) -> OwnFiles {
        OwnFiles { named, ..self }
    }

    /// With what the daemon goes by: settings, rules, agents and templates, wherever links there lead.
    #[must_use]
    pub fn reading(self, sources: SourcePlaces) -> OwnFiles {
        OwnFiles { sources, ..self }
    }

    /// What the daemon goes by.
    pub fn sources(&self) -> &SourcePlaces {
        &self.sources
    }

    /// The turns of large files that are to be changed.
    pub fn changes(&self) -> &LargeChangeTurns {
        &self.changes
    }

    /// Files and folders whose change is critical, wherever they lie.
    pub fn fixed(&self) -> &[PathBuf] {
        &self.guarded
    }

    /// The same with what the settings name, and where all of it is at this moment. Blocks for a moment.
    pub fn guarded(&self) -> GuardedFiles {
        let named: Vec<PathBuf> = self.named.programs().into_iter().chain(self.named.secrets()).collect();
        let look = self.places.look_with(named.iter().map(|path| (path.clone(), GuardKind::Always)));
        let sources = self.sources.look();
        let ids = look.ids.into_iter().chain(sources.places.ids.iter().copied()).collect();
        let mut paths: Vec<PathBuf> = self.guarded.iter().cloned().chain(named).collect();
        for found in [look.present, look.missing, look.links] {
            paths.extend(found);
        }
        for found in [&sources.places.present, &sources.places.missing, &sources.places.links] {
            paths.extend(found.iter().cloned());
        }
        let mut known = HashSet::new();
        paths.retain(|path| known.insert(path.clone()));
        GuardedFiles { paths, ids, sources }
    }

    /// What no tool reads, not even where it lies in a workspace.
    pub fn secret(&self) -> Vec<PathBuf> {
        std::iter::once(self.state_dir.clone()).chain(self.named.secrets()).collect()
    }

    /// The workspace without what no tool reads. Blocks for a moment.
    pub fn close(&self, workspace: Workspace) -> Workspace {
        workspace.closed_to(self.hidden())
    }

    /// Places that no tool reads, wherever they are at this moment. Blocks for a moment.
    pub fn hidden(&self) -> GuardedPlacesView {
        let named = self.named.secrets().into_iter().map(|path| (path, GuardKind::Present));
        self.closed.look_with(named)
    }

    /// Everything that is kept beside the log.
    pub fn artifacts(&self) -> &ArtifactFolder {
        &self.artifacts
    }

    /// Where outputs are kept that are too long for a model.
    pub fn outputs(&self) -> &OutputStore {
        &self.outputs
    }

    /// Where what calls change is kept.
    pub fn undo(&self) -> &UndoStore {
        &self.undo
    }

    /// The folder of the user's memory file.
    pub fn memory_folder(&self) -> &Path {
        &self.config_dir
    }

    /// How dangerous it is to change the file at an absolute path without links; `None` = no more than the tool is.
    pub fn risk(&self, workspace: &Workspace, path: &Path) -> Option<Risk> {
        if self.guarded().holds(path) {
            return Some(Risk::Critical);
        }
        if OwnFiles::is_automatic(workspace, path)
            || self.beside_programs(workspace).iter().any(|place| has_prefix(path, &place.path))
            || self.absent().iter().any(|place| has_prefix(path, place) || has_prefix(place, path))
        {
            return Some(Risk::High);
        }
        let below = workspace.roots().find_map(|root| path.strip_prefix(root).ok()).unwrap_or(path);
        let is_project_config = |name: &std::ffi::OsStr| same_name(&name.to_string_lossy(), PROJECT_CONFIG);
        // Also a root that lies within such a folder.
        let is_own = below.iter().chain(path.iter()).any(is_project_config);
        is_own.then_some(Risk::High)
    }

    /// Places that other programs run by themselves although their names do not say so, for whoever judges commands. Blocks for a bounded
    /// search.
    pub fn autorun_places(&self, workspace: &Workspace) -> Vec<AutorunPlace> {
        let mut places = autorun::autorun_places_below(workspace);
        places.extend(self.beside_programs(workspace));
        let why = "programs take what is made there for the person's own keys and settings";
        let is_within = |path: &PathBuf| workspace.roots().any(|root| path.starts_with(root));
        places.extend(self.absent().into_iter().filter(is_within).map(|path| AutorunPlace { path, why }));
        places
    }

    /// Places that no tool reads while they are there, and that are not there: who makes one is taken for the person by what reads it
    /// (`credential_process`, `exec`, `credHelpers`).
    fn absent(&self) -> Vec<PathBuf> {
        self.hidden().absent
    }

    /// The folders around programs that the settings name. One that holds the whole workspace would make each of its files one.
    fn beside_programs(&self, workspace: &Workspace) -> Vec<AutorunPlace> {
        let why =
            "a program that the settings name, which runs outside of the sandbox, loads what lies beside it";
        let holds_root = |folder: &PathBuf| workspace.roots().any(|root| root.starts_with(folder));
        let folders = self.named.folders().into_iter().filter(|folder| !holds_root(folder));
        folders.map(|path| AutorunPlace { path, why }).collect()
    }

    /// Whether other programs run by themselves what lies there.
    fn is_automatic(workspace: &Workspace, path: &Path) -> bool {
        let roots = workspace.roots().filter(|root| path.starts_with(root));
        let Some(root) = roots.min_by_key(|root| root.as_os_str().len()) else { return false };
        let is_of_repository =
            || path.ancestors().skip(1).take_while(|folder| folder.starts_with(root)).any(is_repository);
        let leads_there = || {
            let places = autorun::autorun_places(workspace);
            let around = autorun::autorun_places_around(workspace, path);
            places.iter().chain(&around).any(|place| has_prefix(path, &place.path))
        };
        let home = std::env::home_dir().map(|home| home.canonicalize().unwrap_or(home));
        let is_at_home = || home.is_some_and(|home| shell::automatic_at_home(path, root, &home).is_some());
        shell::automatic(path, root).is_some() || is_at_home() || is_of_repository() || leads_there()
    }
}

/// What nobody but the owner may change, at one moment.
#[derive(Debug, Clone)]
pub struct GuardedFiles {
    /// As they are named, and where they are.
    pub paths: Vec<PathBuf>,
    ids: HashSet<FileIdentity>,
    sources: SourcePlacesView,
}

impl GuardedFiles {
    /// Whether a path is guarded or below what is: by its name, by where that leads or is by now, or as another name of the
    /// same folder, where it is mounted twice or a file system does not tell case apart.
    fn holds(&self, path: &Path) -> bool {
        // A file itself is not compared: replacing one of its names leaves the others as they are.
        self.paths.iter().any(|place| has_prefix(path, place))
            || path
                .ancestors()
                .skip(1)
                .any(|above| FileIdentity::of(above).is_some_and(|id| self.ids.contains(&id)))
    }

    /// The path, or of another name of a file that the daemon reads, the name by which it does: who writes into the one
    /// writes into the other.
    pub fn read_as(&self, path: PathBuf) -> PathBuf {
        self.sources.read_as(path)
    }

    /// True if a file of this number, on whichever disk, may be one that [`GuardedFiles::read_as`] names otherwise.
    pub fn may_be_read_as_other(&self, inode: u64) -> bool {
        self.sources.may_share(inode)
    }
}

/// As `starts_with`, but for case: to be too careful on file systems that tell it apart harms little.
fn has_prefix(path: &Path, prefix: &Path) -> bool {
    let mut parts = path.iter();
    prefix.iter().all(|wanted| {
        parts.next().is_some_and(|part| same_name(&part.to_string_lossy(), &wanted.to_string_lossy()))
    })
}

/// Whether a file system that folds case may take one name for the other.
fn same_name(a: &str, b: &str) -> bool {
    a == b || a.to_uppercase() == b.to_uppercase()
}

#[cfg(test)]
mod repositories_above;

#[cfg(test)]
mod tests {
    use std::fs;

    use sys::named_files::NamedFileLists;

    use super::*;

    /// Where every file of the table lies, of whatever spelling, and what is like one and is none.
    #[test]
    fn files_that_other_programs_run_are_high() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), "[core]\n\thooksPath = tools/checks\n").unwrap();
        let own = OwnFiles::new(&root.join("none/config"), &root.join("none/state"), []);
        let workspace = Workspace::open(std::slice::from_ref(&root)).unwrap();
        let risk = |path: &str| own.risk(&workspace, &root.join(path));
        for row in shell::AUTOMATIC {
            assert!(!row.why.is_empty() && !row.source.is_empty(), "{row:?}");
            let path = row.path.replace('*', "x");
            for path in [path.clone(), format!("a/b/{path}"), format!("{path}/below")] {
                assert_eq!(risk(&path), Some(Risk::High), "{path}: {row:?}");
            }
            if row.path != "HEAD" {
                assert_eq!(risk(&path.to_uppercase()), Some(Risk::High), "{path}");
            }
        }
        assert_eq!(risk("tools/checks/pre-commit"), Some(Risk::High));
        // A repository is one whatever it is called, and is none for what lies beside it.
        for part in ["dotfiles/objects", "dotfiles/refs", "venv/lib/site-packages"] {
            fs::create_dir_all(root.join(part)).unwrap();
        }
        assert_eq!(risk("dotfiles/config"), None, "others have folders of these names");
        fs::write(root.join("dotfiles/HEAD"), "ref: refs/heads/main\n").unwrap();
        for path in ["config", "hooks/post-commit", "info/attributes", "objects/info/alternates"] {
            assert_eq!(risk(&format!("dotfiles/{path}")), Some(Risk::High), "{path}");
        }
        assert_eq!(risk("venv/lib/site-packages/x.pth"), Some(Risk::High));
        assert_eq!(risk("weights.pth"), None, "others have the same end");
        own.named.replace(NamedFileLists {
            folders: vec![root.join("bin"), root.clone()],
            ..NamedFileLists::default()
        });
        assert_eq!((risk("bin/json.py"), risk("src/json.py")), (Some(Risk::High), None));
        assert_eq!(risk(".git"), Some(Risk::High), "a file of that name leads git elsewhere");
        for path in
            ["src/main.rs", "vscode/x", "x.envrc", ".gitignore", ".github/x", "head", "tools/x", "Makefile"]
        {
            assert_eq!(risk(path), None, "{path}");
        }
    }
}

//! Which extensions are installed, and is each still what was installed?

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{ExtensionFolders, ExtensionPackage, PackageFault, contents::PackageContents};
use protocol::{ExtensionRef, InstalledExtension};
use skills::{ExtensionSkills, PinnedSkill};
use sys::current::HotSwap;

/// The extensions that are installed. A cheap handle; what was read is looked at again with each question.
#[derive(Clone)]
pub struct ExtensionLibrary(Arc<ExtensionLibraryInner>);

struct ExtensionLibraryInner {
    folders: ExtensionFolders,
    /// The records by name, as the log has them.
    installed: HotSwap<BTreeMap<String, InstalledExtension>>,
    read: Mutex<HashMap<String, ReadFolder>>,
    /// The names of those that were another one when somebody looked last.
    changed: Mutex<BTreeSet<String>>,
    has_changes: Notify,
}

/// An extension's folder as it was when it was read.
struct ReadFolder {
    contents: PackageContents,
    outcome: FolderOutcome,
}

type FolderOutcome = Result<(String, Arc<ExtensionPackage>), PackageFault>;

/// The state of an extension: does what it brings along count?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtensionState {
    Enabled,
    /// A person switched it off.
    Disabled,
    /// It is not what was installed; the reason is the end of a sentence that begins with it.
    Changed(String),
}

/// An extension that is installed, as it is now.
#[derive(Debug, Clone)]
pub struct KnownExtension {
    pub installed: InstalledExtension,
    pub state: ExtensionState,
    /// Its folder.
    pub root: PathBuf,
    /// The folder for what its programs write, which need not be there.
    pub data: PathBuf,
    /// The things that it brings along, of one that is what was installed.
    pub package: Option<Arc<ExtensionPackage>>,
}

impl KnownExtension {
    pub fn reference(&self) -> ExtensionRef {
        self.installed.reference()
    }

    pub fn is_enabled(&self) -> bool {
        self.state == ExtensionState::Enabled
    }
}

impl ExtensionLibrary {
    pub fn new(folders: ExtensionFolders, installed: Vec<InstalledExtension>) -> ExtensionLibrary {
        let installed = installed.into_iter().map(|it| (it.name.clone(), it)).collect();
        let (installed, read, changed) = (HotSwap::new(installed), Mutex::default(), Mutex::default());
        let has_changes = Notify::new();
        ExtensionLibrary(Arc::new(ExtensionLibraryInner { folders, installed, read, changed, has_changes }))
    }

    /// Completes when somebody found that one is not what was installed any more, or is so again.
    pub async fn changes(&self) {
        self.0.has_changes.notified().await;
    }

    pub fn folders(&self) -> &ExtensionFolders {
        &self.0.folders
    }

    /// The record of an extension.
    pub fn record(&self, name: &str) -> Option<InstalledExtension> {
        self.0.installed.get().get(name).cloned()
    }

    /// The names of all.
    pub fn names(&self) -> Vec<String> {
        self.0.installed.get().keys().cloned().collect()
    }

    /// Takes note of what the log was told: a record, or that there is none of this name any more. Whoever calls it sees to it that nobody
    /// else does meanwhile.
    pub fn note(&self, name: &str, record: Option<InstalledExtension>) {
        let mut installed = (*self.0.installed.get()).clone();
        match record {
            Some(record) => installed.insert(name.to_owned(), record),
            None => installed.remove(name),
        };
        self.0.installed.replace(installed);
        self.read().remove(name);
    }

    /// All of them, in the order of precedence. Blocks on the file system.
    pub fn all(&self) -> Vec<KnownExtension> {
        self.records().into_iter().map(|record| self.known(record)).collect()
    }

    /// The records, first the one that was installed first: a later one takes no name from it, whatever it is called. Ids tell the order of
    /// first installation, and stay over updates.
    fn records(&self) -> Vec<InstalledExtension> {
        let mut records: Vec<InstalledExtension> = self.0.installed.get().values().cloned().collect();
        records.sort_by(|one, other| one.id.cmp(&other.id));
        records
    }

    /// One of them. Blocks on the file system.
    pub fn get(&self, name: &str) -> Option<KnownExtension> {
        self.record(name).map(|record| self.known(record))
    }

    /// The skills of those that are enabled. Blocks on the file system.
    pub fn skills(&self) -> Vec<ExtensionSkills> {
        let enabled = self.records().into_iter().filter(|it| it.enabled).map(|it| self.known(it));
        let skills = enabled.filter(KnownExtension::is_enabled).filter_map(|known| {
            let pin = |skill: &super::PackagedSkill| PinnedSkill {
                folder: known.root.join(&skill.folder),
                digest: skill.digest.clone(),
            };
            let skills = known.package.as_ref()?.skills.iter().map(pin).collect();
            Some(ExtensionSkills { extension: known.reference(), skills })
        });
        skills.collect()
    }

    /// The reason why the programs of one may not run by now, that are of an extension with this digest: the end of a sentence that begins
    /// with the extension. Blocks on the file system.
    pub fn fault(&self, name: &str, digest: &str) -> Option<String> {
        let Some(known) = self.get(name) else { return Some("is not installed any more".to_owned()) };
        match known.state {
            ExtensionState::Changed(why) => Some(why),
            ExtensionState::Disabled => Some("is disabled".to_owned()),
            ExtensionState::Enabled => {
                (known.installed.digest != digest).then(|| "is another version by now".to_owned())
            }
        }
    }

    fn known(&self, installed: InstalledExtension) -> KnownExtension {
        let folders = &self.0.folders;
        // Its path has no links, so that whatever is read lies there.
        let root = folders.root(&installed.name);
        let root = root.canonicalize().unwrap_or(root);
        let (package, changed) = match self.look(&installed.name, &root) {
            Ok((digest, package)) if digest == installed.digest => (Some(package), None),
            Ok(_) => (None, Some("is not what was installed: its files changed".to_owned())),
            Err(fault) => (None, Some(format!("is not what was installed: it {fault}"))),
        };
        let state = match changed {
            Some(why) => ExtensionState::Changed(why),
            None if installed.enabled => ExtensionState::Enabled,
            None => ExtensionState::Disabled,
        };
        let is_changed = matches!(state, ExtensionState::Changed(_));
        {
            // Nothing panics while it is held.
            let mut changed = self.0.changed.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = match is_changed {
                true => changed.insert(installed.name.clone()),
                false => changed.remove(&installed.name),
            };
            if is_new {
                self.0.has_changes.notify_one();
            }
        }
        // Beside the extensions, wherever links on the way there lead.
        let base = root.parent().and_then(|plugins| plugins.parent());
        let data =
            base.map_or_else(|| folders.data(&installed.name), |base| folders.data_in(base, &installed.name));
        KnownExtension { state, root, data, package, installed }
    }

    fn look(&self, name: &str, root: &std::path::Path) -> FolderOutcome {
        let contents = PackageContents::of(root)?;
        if let Some(known) = self.read().get(name)
            && known.contents == contents
        {
            return known.outcome.clone();
        }
        let outcome = contents.digest(root).and_then(|digest| {
            let package = ExtensionPackage::read(root)?;
            Ok((digest, Arc::new(package)))
        });
        // What changed meanwhile is read anew by the next one who asks.
        let is_lasting = contents.is_settled() && PackageContents::of(root).as_ref() == Ok(&contents);
        if is_lasting {
            let outcome = outcome.clone();
            self.read().insert(name.to_owned(), ReadFolder { contents, outcome });
        }
        outcome
    }

    fn read(&self) -> MutexGuard<'_, HashMap<String, ReadFolder>> {
        // Nothing panics while it is held.
        self.0.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

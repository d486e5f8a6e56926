//! Where do extensions lie, and how does one come, go or become another without a moment in which half of it is there?
//!
//! What is to come is copied beside the others first, and then changes places with what was there in one step. Before that step a
//! mark is left which the next start looks for: of a name that is marked, what is put in its place is what the log says, and the
//! rest is taken away. Nothing else that lies there is ever touched: it may belong to another daemon.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, RenameFlags, fsync, renameat_with, syncfs};

use super::{
    ExtensionPackage, PackageFault,
    contents::{PackageContents, unmade},
};
use protocol::InstalledExtension;
use sys::{ids, regular_file::open_folder};

/// Below the folder of the daemon's data: a folder for each extension, by its name.
const PLUGINS: &str = "plugins";
/// The same for what their programs write.
const DATA: &str = "plugin-data";
/// Below the first: what comes or goes. No extension's name begins with a dot.
const STAGED: &str = ".staged";
/// The end of a mark's name, which begins with an extension's.
const MARK: &str = ".changing";

/// The places of extensions.
#[derive(Debug, Clone)]
pub struct ExtensionFolders {
    plugins: PathBuf,
    data: PathBuf,
    /// The folder of what comes or goes for this daemon.
    staged: PathBuf,
    /// Removes a folder with all that is in it, whoever made that.
    remove_tree: fn(&Path) -> io::Result<()>,
}

/// An extension that was copied and read, and is not in its place. Dropping it takes the copy away.
#[derive(Debug)]
pub struct StagedExtension {
    pub package: ExtensionPackage,
    /// The digest over path, mode and bytes of all its files.
    pub digest: String,
    /// The number of its files.
    pub files: usize,
    folder: PathBuf,
    remove_tree: fn(&Path) -> io::Result<()>,
}

impl Drop for StagedExtension {
    fn drop(&mut self) {
        removed((self.remove_tree)(&self.folder), &self.folder);
    }
}

/// An extension that was put into its place, until that is settled.
#[must_use]
#[derive(Debug)]
pub struct PlacedExtension {
    staged: StagedExtension,
    place: PathBuf,
    mark: PathBuf,
    /// Another one stood there, and is where the copy was.
    replaces: bool,
}

impl ExtensionFolders {
    /// The places below `base`, which need not be there. `owner`: of which log they are, so that two daemons do not touch what the other
    /// one is about.
    pub fn new(base: &Path, owner: &str, remove_tree: fn(&Path) -> io::Result<()>) -> ExtensionFolders {
        let plugins = base.join(PLUGINS);
        let staged = plugins.join(STAGED).join(owner);
        ExtensionFolders { staged, data: base.join(DATA), plugins, remove_tree }
    }

    /// The folders that hold extensions, and what their programs write, and may load again: no agent writes there, below the folder of the
    /// daemon's data.
    pub fn kept_in(base: &Path) -> [PathBuf; 2] {
        [base.join(PLUGINS), base.join(DATA)]
    }

    /// The folder of an extension, which need not be there.
    pub fn root(&self, name: &str) -> PathBuf {
        self.plugins.join(name)
    }

    /// The folder for what an extension's programs write, which need not be there.
    pub fn data(&self, name: &str) -> PathBuf {
        self.data.join(name)
    }

    /// The same below a folder that holds both.
    pub(super) fn data_in(&self, base: &Path, name: &str) -> PathBuf {
        base.join(DATA).join(name)
    }

    /// Copies a folder and reads the copy. Blocks on the file system.
    pub fn stage(&self, source: &Path) -> Result<StagedExtension, PackageFault> {
        let unread = |error: io::Error| PackageFault::Unreadable(format!("cannot be read: {error}"));
        let source = fs::canonicalize(source).map_err(unread)?;
        if !source.is_dir() {
            return Err(PackageFault::Refused("is no folder".to_owned()));
        }
        if self.plugins.starts_with(&source) || source.starts_with(&self.plugins) {
            return Err(PackageFault::Refused("lies where extensions are kept, or around that".to_owned()));
        }
        let contents = PackageContents::of_source(&source)?;
        let folder = self.staged.join(ids::fresh::<String>());
        make(&folder).map_err(|error| unmade(&error))?;
        // From here on it is taken away, whatever happens.
        let empty = CopyInProgress { folder: folder.clone(), remove_tree: self.remove_tree };
        // Without links on its way, as all that is read of it.
        let folder = fs::canonicalize(&folder).map_err(|error| unmade(&error))?;
        let left_out = contents.copy(&source, &folder)?;
        let contents = PackageContents::of(&folder)?;
        let digest = contents.digest(&folder)?;
        let mut package = ExtensionPackage::read(&folder)?;
        package.notes.splice(0..0, left_out);
        std::mem::forget(empty);
        let (files, remove_tree) = (contents.files.len(), self.remove_tree);
        Ok(StagedExtension { package, digest, files, folder, remove_tree })
    }

    /// Answers whether something lies in the place of an extension.
    pub fn is_taken(&self, name: &str) -> bool {
        fs::symlink_metadata(self.root(name)).is_ok()
    }

    /// Puts a copy into its place, in one step; what stood there is kept until it is settled. Blocks on the file system.
    pub fn place(&self, staged: StagedExtension) -> io::Result<PlacedExtension> {
        let name = &staged.package.manifest.name;
        let place = self.root(name);
        // On the disk before its name is: a power cut leaves no empty files behind.
        syncfs(open_folder(&staged.folder)?)?;
        let mark = self.mark(name)?;
        let replaces = self.is_taken(name);
        let flags = if replaces { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        if let Err(error) = renameat_with(CWD, &staged.folder, CWD, &place, flags) {
            fs::remove_file(&mark)?;
            return Err(error.into());
        }
        // It is done; that a power cut could undo it is told, and no reason to fail.
        if let Err(error) = open_folder(&self.plugins).and_then(|plugins| Ok(fsync(plugins)?)) {
            tracing::warn!(%error, place = %place.display(), "the place of an extension cannot be synchronised");
        }
        Ok(PlacedExtension { staged, place, mark, replaces })
    }

    /// Marks a name as one that is about to change.
    fn mark(&self, name: &str) -> io::Result<PathBuf> {
        make(&self.staged)?;
        let mark = self.staged.join(format!("{name}{MARK}"));
        fs::write(&mark, b"")?;
        fsync(open_folder(&self.staged)?)?;
        Ok(mark)
    }

    /// Announces that an extension goes, before the log is told so. Blocks on the file system.
    pub fn announce_removal(&self, name: &str) -> io::Result<()> {
        self.mark(name).map(drop)
    }

    /// Has a name that was marked be as the log says: `digest` is that of the extension, `None` = there is none. Blocks on the file
    /// system.
    pub fn settle(&self, name: &str, digest: Option<&str>) {
        let (place, data) = (self.root(name), self.data(name));
        match digest {
            None => {
                for folder in [place, data] {
                    if fs::symlink_metadata(&folder).is_ok() {
                        removed((self.remove_tree)(&folder), &folder);
                    }
                }
            }
            Some(digest) if digest_of(&place).as_deref() != Some(digest) => {
                let staged = fs::read_dir(&self.staged).into_iter().flatten().flatten().map(|it| it.path());
                if let Some(folder) = staged.into_iter().find(|it| digest_of(it).as_deref() == Some(digest)) {
                    let flags =
                        if self.is_taken(name) { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
                    if let Err(error) = renameat_with(CWD, &folder, CWD, &place, flags) {
                        tracing::warn!(%error, place = %place.display(), "an extension cannot be put back into its place");
                        return;
                    }
                }
            }
            Some(_) => {}
        }
        let mark = self.staged.join(format!("{name}{MARK}"));
        if let Err(error) = fs::remove_file(&mark)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, mark = %mark.display(), "a mark of an extension cannot be taken away");
        }
    }

    /// Settles what a daemon left that was killed in the middle, by what the log says is installed. Blocks on the file system.
    pub fn recover<'a>(&self, installed: impl Iterator<Item = &'a InstalledExtension> + Clone) {
        let names = fs::read_dir(&self.staged)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(MARK).map(str::to_owned));
        for name in names.collect::<Vec<_>>() {
            let record = installed.clone().find(|it| it.name == name);
            self.settle(&name, record.map(|it| it.digest.as_str()));
        }
        // Whatever is still there belongs to nobody.
        if fs::symlink_metadata(&self.staged).is_ok() {
            removed((self.remove_tree)(&self.staged), &self.staged);
        }
    }
}

/// The folder of a copy that is being made.
struct CopyInProgress {
    folder: PathBuf,
    remove_tree: fn(&Path) -> io::Result<()>,
}

impl Drop for CopyInProgress {
    fn drop(&mut self) {
        removed((self.remove_tree)(&self.folder), &self.folder);
    }
}

impl PlacedExtension {
    /// The log says that it is installed: what stood there before, which is now where the copy was, is taken away. Blocks on the file system.
    pub fn settle(self) {
        if let Err(error) = fs::remove_file(&self.mark) {
            tracing::warn!(%error, mark = %self.mark.display(), "a mark of an extension cannot be taken away");
        }
    }

    /// The log could not be told: what stood there before does again. Blocks on the file system.
    pub fn take_back(self) {
        let flags = if self.replaces { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        match renameat_with(CWD, &self.place, CWD, &self.staged.folder, flags) {
            Ok(()) => {
                if let Err(error) = fs::remove_file(&self.mark) {
                    tracing::warn!(%error, mark = %self.mark.display(), "a mark of an extension cannot be taken away");
                }
            }
            // The next start settles it.
            Err(error) => {
                tracing::warn!(%error, place = %self.place.display(), "an extension cannot be taken back");
                std::mem::forget(self.staged);
            }
        }
    }
}

fn digest_of(folder: &Path) -> Option<String> {
    PackageContents::of(folder).and_then(|contents| contents.digest(folder)).ok()
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn removed(done: io::Result<()>, folder: &Path) {
    if let Err(error) = done
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, folder = %folder.display(), "what is left of an extension cannot be taken away");
    }
}

//! All files of a repository, written where nobody else has a hand in it. Like everything that is fetched, nothing of it is run.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink},
    path::{Path, PathBuf},
};

use tokio::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

use super::{
    FetchFolder, Stopped, UrlFetcher,
    git::{BareRepository, GitTreeEntry},
    refusal::{of_git, refused, too_large},
    source_url::RemoteRepository,
};
use crate::wire_errors::internal;
use protocol::RpcError;

/// The filter by which what is too large for an extension stays with its server.
const FILTER: &str = "--filter=blob:limit=128m";
/// Bytes of objects that are held in memory at once.
const BATCH: u64 = 16 << 20;

/// A repository's files in a folder. [`FetchedTree::empty`] takes them away.
pub struct FetchedTree<'a> {
    _turn: MutexGuard<'a, ()>,
    folder: FetchFolder,
    pub commit: String,
}

impl<'a> FetchedTree<'a> {
    /// Fetches the commit that is asked for, with not more than `most` files and bytes.
    pub async fn fetch(
        state: &'a UrlFetcher,
        (repository, shown): (&RemoteRepository, &str),
        most: (usize, u64),
        given_up: &CancellationToken,
    ) -> Result<FetchedTree<'a>, RpcError> {
        let stopped = Stopped { state, given_up, shown };
        let (turn, folder) = stopped.turn().await?;
        match stopped.or(write_tree(state, (repository, shown), most, &folder)).await {
            Ok(commit) => Ok(FetchedTree { _turn: turn, folder, commit }),
            Err(error) => {
                folder.empty().await;
                Err(error)
            }
        }
    }

    /// The folder of the files.
    pub fn path(&self) -> PathBuf {
        files_in(&self.folder)
    }

    pub async fn empty(self) {
        self.folder.empty().await;
    }
}

fn files_in(folder: &FetchFolder) -> PathBuf {
    folder.path.join("tree")
}

/// Answers the commit.
async fn write_tree(
    state: &UrlFetcher,
    (repository, shown): (&RemoteRepository, &str),
    (most_files, most_bytes): (usize, u64),
    folder: &FetchFolder,
) -> Result<String, RpcError> {
    let failed = |error| of_git(error, repository, shown);
    let place = folder.path.join("repository");
    let (git, commit) = BareRepository::fetch(state, place, repository, FILTER).await.map_err(failed)?;
    let entries = git.entries().await.map_err(failed)?;
    if most_files < entries.len() {
        return Err(too_large(shown, &format!("has more than {most_files} files")));
    }
    let mut wanted: Vec<(PathBuf, GitTreeEntry)> = Vec::new();
    for entry in entries {
        // Another repository is not fetched.
        if !entry.is_file() && !entry.is_link() {
            continue;
        }
        let path = path_of(&entry).ok_or_else(|| {
            refused("badPath", shown, "has a file of a name that cannot be one here".to_owned())
        })?;
        wanted.push((path, entry));
    }
    // Links last, so that nothing is written through one.
    wanted.sort_by_key(|(_, entry)| entry.is_link());
    let objects: Vec<&str> = wanted.iter().map(|(_, entry)| entry.object.as_str()).collect();
    let sizes = git.sizes(&objects).await.map_err(failed)?;
    let mut whole = 0_u64;
    let mut sized: Vec<(PathBuf, GitTreeEntry, u64)> = Vec::new();
    for ((path, entry), size) in wanted.into_iter().zip(sizes) {
        whole = whole.saturating_add(size.unwrap_or(u64::MAX));
        if most_bytes < whole {
            return Err(too_large(shown, &format!("has more than {} MiB", most_bytes >> 20)));
        }
        sized.push((path, entry, size.unwrap_or_default()));
    }
    let root = files_in(folder);
    let mut rest = sized.into_iter().peekable();
    while rest.peek().is_some() {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(next) = rest.next_if(|(_, _, size)| batch.is_empty() || bytes + size <= BATCH) {
            bytes += next.2;
            batch.push(next);
        }
        let objects: Vec<(&str, u64)> =
            batch.iter().map(|(_, it, size)| (it.object.as_str(), *size)).collect();
        let contents = git.contents(&objects).await.map_err(failed)?;
        let root = root.clone();
        let writing = tokio::task::spawn_blocking(move || {
            DirBuilder::new().recursive(true).mode(0o700).create(&root)?;
            batch
                .iter()
                .zip(contents)
                .try_for_each(|((path, entry, _), bytes)| write(&root, path, entry, &bytes))
        });
        match writing.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if error.kind() == io::ErrorKind::StorageFull => {
                return Err(of_git(error.into(), repository, shown));
            }
            Ok(Err(error)) => return Err(refused("badPath", shown, format!("cannot be written: {error}"))),
            Err(error) => return Err(internal("what was fetched could not be written", &error)),
        }
    }
    Ok(commit)
}

/// A path below the top that means one file and nothing else.
fn path_of(entry: &GitTreeEntry) -> Option<PathBuf> {
    let path = std::str::from_utf8(&entry.path).ok()?;
    let is_name = |name: &str| {
        !matches!(name, "" | "." | "..") && !name.eq_ignore_ascii_case(".git") && !name.contains('\0')
    };
    path.split('/').all(is_name).then(|| PathBuf::from(path))
}

fn write(root: &Path, path: &Path, entry: &GitTreeEntry, bytes: &[u8]) -> io::Result<()> {
    let path = root.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if entry.is_link() {
        let target = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        return symlink(target, &path);
    }
    let mode = if entry.mode == "100755" { 0o700 } else { 0o600 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(bytes)
}

//! Does git fetch from where no agent's command writes?
//!
//! Only remotes count that the repository's own settings name, which commands do not write. A path in the workspace, or one that is another
//! folder in the sandbox, is one in which an agent may have made what comes from there.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{
    RepositoryAround,
    named::{normal, repositories_of_root},
    settings::{is_local, settings_in},
};
use crate::git_settings::LONGEST_CONFIG;
use sys::regular_file;

/// Folders that are the session's own in the sandbox.
const OF_SESSIONS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];
/// Folders in which a path leads each process elsewhere.
const OF_PROCESSES: &[&str] = &["/proc", "/dev"];
/// The remote from which git fetches where nothing names one; if there is no such remote, it is a path.
const USUAL_REMOTE: &str = "origin";
/// The file in which git notes what it fetched: gitrepository-layout(5).
const FETCH_HEAD: &str = "FETCH_HEAD";

/// True if git, begun in this folder, which is one of the `roots`, fetches from remotes of these names, or from any if there are none, and none
/// of them lies where agents' commands write. Blocks.
pub fn fetches_from_elsewhere(roots: &[PathBuf], folder: &Path, names: &[String]) -> bool {
    let Some(repository) = RepositoryAround::all(folder).into_iter().next() else { return false };
    let mut known = roots.iter().flat_map(|root| repositories_of_root(root));
    let (is_root, is_known) =
        (roots.iter().any(|root| root == folder), known.any(|it| it.folder == repository.folder));
    // Another name of it would be written at other times.
    let is_plain = fs::symlink_metadata(repository.folder.join(FETCH_HEAD))
        .map_or(true, |found| found.is_file() && found.nlink() == 1);
    let remotes = remotes_of(&repository).filter(|it| !it.is_empty() && is_root && is_known && is_plain);
    let Some(remotes) = remotes else { return false };
    let top = repository.tops.first().map_or(folder, PathBuf::as_path);
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|it| it == name);
    names.iter().all(|name| !name.is_empty() && remotes.iter().any(|(it, _)| it == name))
        && remotes
            .iter()
            .filter(|(name, _)| is_wanted(name))
            .all(|(_, address)| is_elsewhere(address, top, roots))
}

/// The second and nanosecond at which git had fetched all that it did in the repository of a root, by the time that nobody sets.
pub fn fetched_at(root: &Path) -> Option<(i64, i64)> {
    let repository = RepositoryAround::all(root).into_iter().next()?;
    let found = fs::symlink_metadata(repository.folder.join(FETCH_HEAD)).ok()?;
    (found.is_file() && found.nlink() == 1).then(|| (found.ctime(), found.ctime_nsec()))
}

/// Names and addresses; of an address from which git fetches where none is named, without a name. `None` = nobody can tell them.
fn remotes_of(repository: &RepositoryAround) -> Option<BTreeSet<(String, String)>> {
    let (mut remotes, mut of_branches) = (BTreeSet::new(), BTreeSet::new());
    for file in repository.settings() {
        if fs::symlink_metadata(&file).is_err() {
            continue;
        }
        let text = regular_file::read_bounded(&file, LONGEST_CONFIG).ok()??;
        for (key, value) in settings_in(&String::from_utf8_lossy(&text))? {
            let remote = key.strip_prefix("remote.").and_then(|it| it.strip_suffix(".url"));
            remotes.extend(remote.map(|name| (name.to_owned(), value.clone())));
            if key.starts_with("branch.") && key.ends_with(".remote") {
                of_branches.insert(value.clone());
            }
            // A name may stand for others, and an address for a path.
            let stands_for = key.strip_prefix("url.").and_then(|it| it.strip_suffix(".insteadof"));
            if stands_for.is_some_and(is_local) || key.starts_with("include") || key.starts_with("remotes.") {
                return None;
            }
        }
    }
    // `.` is the repository itself, from which nothing comes that was not there.
    if fs::symlink_metadata(repository.tops.first()?.join(USUAL_REMOTE)).is_ok() {
        of_branches.insert(USUAL_REMOTE.to_owned());
    }
    let is_address = |it: &String| it != "." && !remotes.iter().any(|(name, _)| name == it);
    let of_branches: Vec<String> = of_branches.into_iter().filter(is_address).collect();
    remotes.extend(of_branches.into_iter().map(|address| (String::new(), address)));
    Some(remotes)
}

/// True of an address at another machine, or of a repository in which no agent's command writes. Blocks for a look.
pub fn is_elsewhere(address: &str, top: &Path, roots: &[PathBuf]) -> bool {
    // A program of that name fetches, or the letters are not those that git reads.
    if address.contains("::") || address.contains(['"', '\\']) {
        return false;
    }
    if !is_local(address) {
        return true;
    }
    let named = normal(&top.join(address.strip_prefix("file://").unwrap_or(address)));
    let Ok(real) = named.canonicalize() else { return false };
    // A link in the workspace leads elsewhere as soon as an agent wants it to.
    [&named, &real].into_iter().all(|path| {
        let is_written = |folder: &Path| path.starts_with(folder) || folder.starts_with(path);
        !roots.iter().any(|root| is_written(root))
            && !OF_SESSIONS.iter().chain(OF_PROCESSES).any(|folder| is_written(Path::new(folder)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_counts_where_the_settings_name_it_and_it_lies_where_no_command_writes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        [root.join(".git/objects"), root.join(".git/refs"), root.join("sub")]
            .iter()
            .for_each(|folder| fs::create_dir_all(folder).unwrap());
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let roots = std::slice::from_ref(&root);
        let fetches = |config: &str, names: &[&str]| {
            fs::write(root.join(".git/config"), config).unwrap();
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            fetches_from_elsewhere(roots, &root, &names)
        };
        let of = |address: &str| format!("[remote \"origin\"]\n\turl = {address}\n");
        for address in ["https://example.org/x", "git@example.org:a/b", "ssh://h/x", "/usr", "file:///usr"] {
            assert!(fetches(&of(address), &[]) && fetches(&of(address), &["origin"]), "{address}");
            assert!(
                !fetches(&of(address), &["sub"]) && !fetches(&of(address), &["origin", "sub"]),
                "{address}"
            );
        }
        for address in [
            "./sub",
            "sub",
            ".",
            "..",
            "file:///tmp",
            "/tmp",
            "/",
            "ext::x",
            "missing",
            "\\x:y",
            "/proc/self/cwd/usr",
            "file:///usr/../proc/self/root/usr",
            "/dev/fd/3",
        ] {
            assert!(!fetches(&of(address), &["origin"]), "{address}");
        }
        let far = of("https://example.org/x");
        let two = format!("{far}[remote \"near\"]\n\turl = ./sub\n");
        assert!(fetches(&two, &["origin"]) && !fetches(&two, &[]) && !fetches(&two, &["near"]));
        for (branches, is_elsewhere) in [
            ("[branch \"main\"]\n\tremote = origin\n[branch \"x\"]\n\tremote = .\n", true),
            ("[branch \"x\"]\n\tremote = https://example.org/y\n\tmerge = refs/heads/sub\n", true),
            ("[branch \"main\"]\n\tremote = ./sub\n", false),
            ("[branch \"main\"]\n\tremote = sub\n", false),
            ("[branch \"main\"]\n\tremote = origin\n\tremote = /tmp\n", false),
        ] {
            let all = format!("{far}{branches}");
            assert_eq!(fetches(&all, &[]), is_elsewhere, "{branches}");
            assert!(fetches(&all, &["origin"]) && !fetches(&all, &[""]), "{branches}");
        }
        for more in [
            "[remotes]\n\torigin = ./sub\n",
            "[url \"./sub\"]\n\tinsteadOf = https://example.org/\n",
            "[include]\n\tpath = x\n",
            "[core\n",
        ] {
            assert!(!fetches(&format!("{far}{more}"), &["origin"]), "{more}");
        }
        assert!(!fetches("", &[]));
        let other = "[remote \"far\"]\n\turl = https://example.org/x\n";
        assert!(fetches(other, &[]));
        std::os::unix::fs::symlink("/usr", root.join("link")).unwrap();
        assert!(!fetches(&of("link"), &[]), "an agent leads it elsewhere");
        fs::create_dir(root.join("origin")).unwrap();
        assert!(
            !fetches(other, &[]) && fetches(other, &["far"]) && fetches(&far, &[]),
            "a path without a remote"
        );
        assert!(fetches(&far, &[]));
        fs::write(root.join("log"), "").unwrap();
        fs::hard_link(root.join("log"), root.join(".git/FETCH_HEAD")).unwrap();
        assert!(!fetches(&far, &[]), "another name of it");
        assert!(!fetches_from_elsewhere(roots, &root.join("sub"), &[]));
    }
}

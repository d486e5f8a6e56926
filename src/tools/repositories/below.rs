//! Which git repositories lie below folders: nested ones, submodules, linked worktrees, bare ones?
//!
//! Each command waits for the answer, so the search goes a few folders deep and ends after so many entries, the nearest first.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::known::KnownRepositories;

use sys::regular_file;

/// Bytes of a `.git` that is a file: a path.
const LONGEST_POINTER: u64 = 8 << 10;
/// Deepest folder below a root that is looked into.
const DEEPEST: usize = 5;
/// Entries that are looked at in all. Perf: 4,000 of them take some 5 ms.
const MOST_ENTRIES: usize = 4_000;
/// The same of the first search of a daemon, whose finds are remembered.
const MOST_ENTRIES_AT_FIRST: usize = 60_000;
/// Repositories that a search finds at most beside those that are known: what is kept of each is a few mounts, and a command waits for each
/// of them.
const MOST_REPOSITORIES: usize = 24;
/// The same of the first search of a daemon.
const MOST_REPOSITORIES_AT_FIRST: usize = 200;
/// Repositories that are kept part by part; of more each is kept as a whole.
const MOST_KEPT: usize = 2 * MOST_REPOSITORIES;
/// Folders of which others' programs make thousands, and in which nobody asks git for anything.
const NOT_ENTERED: &[&str] = &["node_modules", "target", "__pycache__", ".venv", "venv"];

/// Below some folders.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RepositoriesBelow {
    pub repositories: Vec<RepositoryBelow>,
    /// Files called `.git` that say where the repository of a folder is (gitrepository-layout(5)).
    pub pointers: Vec<PathBuf>,
    /// Folders of repositories of which there are too many to keep single parts of them.
    pub whole: Vec<PathBuf>,
}

/// A repository, or what one keeps for a linked worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryBelow {
    /// The folder with `config`, `hooks` and so on; without links.
    pub folder: PathBuf,
    /// The folder that its working tree may be.
    pub base: PathBuf,
    /// It has no settings of its own, and says in `commondir` where they are.
    pub is_of_worktree: bool,
}

impl RepositoriesBelow {
    /// Searches below `roots`. A nested one that came to be after `since` is left out. Blocks on the file system.
    /// `known`: what earlier searches found, which is looked at first, whatever came in between.
    pub fn find(
        roots: &[PathBuf],
        since: Option<SystemTime>,
        known: &KnownRepositories,
    ) -> RepositoriesBelow {
        let mut search = RepositorySearch { roots, since, ..RepositorySearch::default() };
        (search.most_entries, search.most_repositories) = match known.is_first_search(roots) {
            true => (MOST_ENTRIES_AT_FIRST, MOST_REPOSITORIES_AT_FIRST),
            false => (MOST_ENTRIES, MOST_REPOSITORIES),
        };
        let is_first = search.most_entries == MOST_ENTRIES_AT_FIRST;
        for base in roots.iter().chain(&known.below(roots)) {
            search.named(base, 0);
        }
        search.most_repositories += search.found.repositories.len();
        search.pending.extend(roots.iter().map(|root| (root.clone(), 0)));
        while let Some((folder, depth)) = search.pending.pop_front() {
            if search.is_at_end() {
                search.is_cut = true;
                break;
            }
            search.enter(&folder, depth);
        }
        if search.is_cut && is_first {
            let roots: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
            known.tell(format!(
                "not all of {} could be searched for repositories below it, since there are more than {MOST_ENTRIES_AT_FIRST} \
                 files or {MOST_REPOSITORIES_AT_FIRST} repositories: commands of agents are not kept from the settings and hooks of \
                 those that were not found; open a smaller folder as workspace",
                roots.join(", ")
            ));
        }
        let RepositorySearch { mut found, .. } = search;
        found.pointers.sort();
        found.pointers.dedup();
        known.remember(roots, found.repositories.iter().map(|it| it.base.clone()));
        // Those that were known first stand first.
        let more = found.repositories.split_off(found.repositories.len().min(MOST_KEPT));
        found.whole.extend(more.into_iter().map(|it| it.folder));
        found
    }
}

/// True where git would take a folder for a repository by what it holds, also where its `HEAD` is not there at this moment: who can
/// take that away can put it back.
pub fn is_repository(folder: &Path) -> bool {
    let is = |name: &str, kind: fn(&fs::Metadata) -> bool| {
        fs::metadata(folder.join(name)).is_ok_and(|found| kind(&found))
    };
    let is_named_so = is("objects", fs::Metadata::is_dir) && is("refs", fs::Metadata::is_dir);
    is_named_so && (is("HEAD", fs::Metadata::is_file) || is("config", fs::Metadata::is_file))
}

#[derive(Default)]
struct RepositorySearch<'a> {
    roots: &'a [PathBuf],
    since: Option<SystemTime>,
    found: RepositoriesBelow,
    pending: VecDeque<(PathBuf, usize)>,
    entries: usize,
    most_entries: usize,
    most_repositories: usize,
    /// Something was not entered.
    is_cut: bool,
}

impl RepositorySearch<'_> {
    fn is_at_end(&self) -> bool {
        self.most_entries <= self.entries || self.most_repositories <= self.found.repositories.len()
    }

    fn enter(&mut self, folder: &Path, depth: usize) {
        // By name, before anything is listed: whoever fills the folder does not hide it.
        if self.named(folder, depth) || depth >= DEEPEST {
            return;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.entries += 1;
            if self.most_entries < self.entries {
                self.is_cut = true;
                break;
            }
            let name = entry.file_name();
            let is_entered = name.to_str().is_some_and(|name| name != ".git" && !NOT_ENTERED.contains(&name));
            if is_entered && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.pending.push_back((entry.path(), depth + 1));
            }
        }
    }

    /// Takes in the repository that a folder has or is; true if it is one itself.
    fn named(&mut self, folder: &Path, depth: usize) -> bool {
        let git = folder.join(".git");
        if let Ok(found) = fs::symlink_metadata(&git) {
            self.git(folder, &git, found.file_type());
        }
        let is_repository = is_repository(folder);
        if is_repository && self.is_old(folder, folder) {
            self.repository(folder, folder, depth);
        }
        is_repository
    }

    /// Takes in what is called `.git` in a folder.
    fn git(&mut self, folder: &Path, path: &Path, kind: fs::FileType) {
        if !self.is_old(folder, path) {
            return;
        }
        let real = if kind.is_file() {
            self.found.pointers.push(path.to_owned());
            let Ok(Some(bytes)) = regular_file::read_bounded(path, LONGEST_POINTER) else { return };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some(to) = text.strip_prefix("gitdir:") else { return };
            folder.join(to.trim()).canonicalize()
        } else {
            path.canonicalize()
        };
        if let Ok(real) = real {
            self.repository(&real, folder, 0);
        }
    }

    /// True of a root always; who made a nested one a moment ago may take it away again. Counted by folders and pointers, which cannot be
    /// put anew while something in them is kept.
    fn is_old(&self, folder: &Path, path: &Path) -> bool {
        let born = || fs::symlink_metadata(path).and_then(|it| it.created());
        let (false, Some(since)) = (self.roots.iter().any(|root| root == folder), self.since) else {
            return true;
        };
        // Where nobody can tell, it is.
        born().map_or(true, |born| born < since)
    }

    fn repository(&mut self, folder: &Path, base: &Path, depth: usize) {
        let is_inside = self.roots.iter().any(|root| folder.starts_with(root));
        let is_known = self.found.repositories.iter().any(|known| known.folder == folder);
        if !is_inside || is_known || !folder.is_dir() {
            return;
        }
        let is_of_worktree = folder.parent().is_some_and(|above| above.ends_with("worktrees"));
        let (folder, base) = (folder.to_owned(), base.to_owned());
        if is_of_worktree {
            self.found.repositories.push(RepositoryBelow { folder, base, is_of_worktree });
            return;
        }
        // Submodules have theirs there, by names that may be paths.
        self.pending.push_back((folder.join("modules"), depth.max(DEEPEST - 2)));
        let worktrees = fs::read_dir(folder.join("worktrees")).into_iter().flatten().flatten();
        let worktrees = worktrees.take(MOST_REPOSITORIES).map(|entry| entry.path());
        let worktrees: Vec<PathBuf> =
            worktrees.filter(|path| path.is_dir() && self.is_old(path, path)).collect();
        self.found.repositories.push(RepositoryBelow { folder, base: base.clone(), is_of_worktree });
        for worktree in worktrees {
            self.repository(&worktree, &base, DEEPEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::workspace_reports::WorkspaceReports;

    fn repository(folder: &Path) {
        for name in ["objects", "refs", "hooks"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("config"), "[core]\n").unwrap();
    }

    #[test]
    fn nested_bare_linked_and_submodules_are_found_and_none_that_is_new_or_far() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for name in [".git", "vendor/x/.git", ".git/modules/lib", "bare.git", "a/b/c/d/e/f/.git"] {
            repository(&at(name));
        }
        for name in ["lib", "wt", ".git/worktrees/wt", "node_modules/y/.git"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("lib/.git"), "gitdir: ../.git/modules/lib\n").unwrap();
        fs::write(at("wt/.git"), format!("gitdir: {}\n", at(".git/worktrees/wt").display())).unwrap();
        fs::write(at(".git/worktrees/wt/commondir"), "../..\n").unwrap();
        let find = |since| {
            RepositoriesBelow::find(std::slice::from_ref(&root), since, &KnownRepositories::default())
        };
        let names = |found: &RepositoriesBelow| {
            let found = found.repositories.iter().map(|it| it.folder.strip_prefix(&root).unwrap().to_owned());
            let mut names: Vec<String> = found.map(|it| it.to_str().unwrap().to_owned()).collect();
            names.sort();
            names
        };
        let found = find(None);
        let all = [".git", ".git/modules/lib", ".git/worktrees/wt", "bare.git", "vendor/x/.git"];
        assert_eq!(names(&found), all);
        assert_eq!(found.repositories.iter().filter(|it| it.is_of_worktree).count(), 1);
        let mut pointers = found.pointers;
        pointers.sort();
        assert_eq!(pointers, [at("lib/.git"), at("wt/.git")]);
        // The root's own is kept whenever it came. Not every file system knows when that was.
        if fs::metadata(&root).is_ok_and(|it| it.created().is_ok()) {
            let old = find(Some(SystemTime::UNIX_EPOCH));
            assert_eq!((names(&old), old.pointers), (vec![".git".to_owned()], Vec::new()));
        }
    }

    #[test]
    fn the_search_ends() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for number in 0..2 * MOST_REPOSITORIES {
            repository(&root.join(format!("r{number}/.git")));
        }
        let known = KnownRepositories::default();
        let find = || RepositoriesBelow::find(std::slice::from_ref(&root), None, &known);
        // All that the first one finds is known from then on, and the rest is kept as a whole.
        let count = 2 * MOST_REPOSITORIES + 5;
        for number in 2 * MOST_REPOSITORIES..count {
            repository(&root.join(format!("r{number}/.git")));
        }
        let found = find();
        assert_eq!((found.repositories.len(), found.whole.len()), (MOST_KEPT, count - MOST_KEPT));
        for number in count..count + 2 * MOST_REPOSITORIES {
            repository(&root.join(format!("r{number}/.git")));
        }
        assert_eq!(find().whole.len(), count + MOST_REPOSITORIES - MOST_KEPT);
    }

    /// An agent says how many there are, and which are the nearest; the daemon may have been started anew since.
    #[test]
    fn what_was_found_before_a_restart_comes_first_and_what_cannot_be_found_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (work, state) = (root.join("work"), root.join("state"));
        let reports = WorkspaceReports::new(&state);
        let find = || {
            let known = KnownRepositories::kept_in(&state, reports.clone());
            RepositoriesBelow::find(std::slice::from_ref(&work), None, &known)
        };
        let persons = work.join("vendor/z/.git");
        repository(&persons);
        assert_eq!(find().repositories.len(), 1);
        for number in 0..MOST_REPOSITORIES_AT_FIRST + 10 {
            repository(&work.join(format!("a{number}/.git")));
        }
        let found = find();
        assert_eq!(found.repositories[0].folder, persons);
        assert!(reports.recent()[0].text.contains("not all of"), "{:?}", reports.recent());
        // As many files as a usual search never sees the end of.
        for number in 0..MOST_ENTRIES + 10 {
            fs::write(work.join(format!("0{number}")), "").unwrap();
        }
        assert_eq!(find().repositories[0].folder, persons);
        fs::write(state.join("known-repositories.json"), "[").unwrap();
        find();
        assert!(reports.recent().iter().any(|report| report.text.contains("cannot be read")));
    }

    /// Whoever fills a folder with files hides nothing that is in it, nor what was found below it before.
    #[test]
    fn no_number_of_files_hides_a_repository_that_was_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let known = KnownRepositories::default();
        for name in [".git", "v/x/.git"] {
            repository(&root.join(name));
        }
        let find = || {
            let found = RepositoriesBelow::find(std::slice::from_ref(&root), None, &known).repositories;
            found.into_iter().map(|it| it.folder).collect::<BTreeSet<PathBuf>>()
        };
        let all: BTreeSet<PathBuf> = [".git", "v/x/.git"].map(|name| root.join(name)).into();
        assert_eq!(find(), all);
        for number in 0..2 * MOST_ENTRIES {
            fs::write(root.join(format!("f{number}")), "").unwrap();
        }
        assert_eq!(find(), all);
        let fresh = RepositoriesBelow::find(std::slice::from_ref(&root), None, &KnownRepositories::default());
        assert!(fresh.repositories.iter().any(|it| it.folder == root.join(".git")));
    }
}

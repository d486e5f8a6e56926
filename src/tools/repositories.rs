//! Where do git repositories of a workspace keep what git runs by itself: their settings and their hooks?
//!
//! Files are read through the workspace's own handles, or as regular files that nobody waits for.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, mkdirat, mknodat},
    io::Errno,
    process::geteuid,
};

use super::{
    git_settings::GitNames,
    links::LinksBelow,
    workspace::{OpenedPath, Workspace},
};
use shell::{AutorunPlace, GIT_CONFIG, GIT_HOOKS};
use sys::guarded::open_without_links;

mod around;
mod below;
mod brought;
mod committed;
mod folder;
mod gitlinks;
mod guard;
mod hooks;
mod known;
mod named;
mod notes;
mod objects;
mod remotes;
mod roots;
mod search_budget;
mod settings;
mod state;

pub use around::RepositoryAround;
pub use below::{RepositoriesBelow, RepositoryBelow, is_repository};
pub use brought::{BroughtObjects, LONGEST_BROUGHT, brought_by_git};
pub use committed::stashed_in;
pub use folder::{folder_at, rename_into, set_mode_in, write_in};
pub use guard::{GuardedSettings, RepositoryGuard, RepositoryGuards, RepositoryNote};
pub use known::KnownRepositories;
pub use named::{GitNamed, normal, repositories_of_root};
use named::{named_by_git, settings_text};
pub use notes::RepositoryNotes;
pub use objects::{FileTime, ObjectTimes};
pub use remotes::{fetched_at, fetches_from_elsewhere, is_elsewhere};
pub use settings::GitValue;
use state::OLD_REMOTES;
pub use state::may_run_something;

/// Bytes of a `.git` that is a file: a path.
const LONGEST_POINTER: u64 = 8 << 10;
/// Folders in which git keeps what it goes on with when somebody tells it to.
const UNDER_WAY: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];

/// Where git keeps the repository that `folder` is in: the next `.git` above, or where that says (gitrepository-layout(5)).
/// Without one, where it would be.
///
/// Above the roots a folder counts when it is this user's own, as git itself demands of one (git-config(1), `safe.directory`).
pub fn repository(workspace: &Workspace, folder: &Path) -> PathBuf {
    for ancestor in folder.ancestors() {
        let git = ancestor.join(".git");
        let Some(place) = workspace.place_at(&git) else {
            match is_own_folder(&git) {
                true => return git,
                false => continue,
            }
        };
        match workspace.open_quietly(&place) {
            Ok(OpenedPath::Folder(_)) => return git,
            // A linked worktree, a submodule.
            Ok(OpenedPath::File { file, .. }) => {
                let mut text = String::new();
                let told = file.take(LONGEST_POINTER).read_to_string(&mut text);
                if let Some(path) = told.ok().and_then(|_| text.strip_prefix("gitdir:")) {
                    let path = ancestor.join(path.trim());
                    return path.canonicalize().unwrap_or(path);
                }
            }
            // A link: git follows it.
            Err(Errno::LOOP | Errno::XDEV) => return git.canonicalize().unwrap_or(git),
            Ok(OpenedPath::Special(_)) | Err(_) => {}
        }
    }
    folder.join(".git")
}

/// Whether this is a folder, no link, of the user that the daemon is.
fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_dir() && it.uid() == geteuid().as_raw())
}

/// The repositories below the roots. Blocks for a bounded search.
pub fn repositories_below(workspace: &Workspace) -> Vec<RepositoryBelow> {
    let roots: Vec<PathBuf> = workspace.roots().map(PathBuf::from).collect();
    RepositoriesBelow::find(&roots, None, &KnownRepositories::default()).repositories
}

/// Those of them that are no folder's `.git`, so that their names do not say what they are: bare ones, and those that a pointer
/// leads to.
pub fn unnamed_repositories(found: &[RepositoryBelow]) -> Vec<AutorunPlace> {
    let folders = found.iter().map(|it| it.folder.clone());
    let unnamed = folders.filter(|folder| !folder.iter().any(|name| name == ".git"));
    unnamed.map(|path| AutorunPlace { path, why: GIT_CONFIG }).collect()
}

/// A command's leave to change repositories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GitLeave {
    pub may_configure: bool,
    /// It may be at another branch afterwards.
    pub may_move_head: bool,
    /// It may change what is left to be done of a rebase that waits.
    pub may_go_on: bool,
    /// It may change what settings name in working trees: git brings that and runs no program, and it is compared afterwards.
    pub may_bring: bool,
}

/// Existing paths without links.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KeptOfRepositories {
    /// They are not written.
    pub read_only: Vec<PathBuf>,
    /// They stay where they are.
    pub stays: Vec<PathBuf>,
}

/// Answers what is kept from commands in these roots, since git runs it by itself or goes by it and no build needs it: of the repositories
/// that were found there, the settings, the hooks and what these lead to, `HEAD`, and what says where
/// they are; unless they have `leave`. What is missing of settings and hooks is made empty where it can be, so that it can be kept.
/// Blocks for a bounded search.
pub fn kept_from_commands(
    roots: &[PathBuf],
    leave: GitLeave,
    found: RepositoriesBelow,
) -> io::Result<KeptOfRepositories> {
    if roots.is_empty() {
        return Ok(KeptOfRepositories::default());
    }
    let workspace = Workspace::open(roots).map_err(|error| io::Error::other(error.to_string()))?;
    let roots: Vec<PathBuf> = workspace.roots().map(PathBuf::from).collect();
    let is_inside = |path: &Path| roots.iter().any(|root| path.starts_with(root) && path != root);
    let mut named = named_by_git(&workspace);
    for AutorunPlace { path, why } in named.places.iter().filter(|place| is_inside(&place.path)) {
        match *why {
            GIT_HOOKS => make(path, FileType::Directory)?,
            GIT_CONFIG => make(path, FileType::RegularFile)?,
            _ => (),
        }
    }
    let folders: Vec<PathBuf> = found.repositories.iter().map(|it| it.folder.clone()).collect();
    let is_brought = |path: &Path| leave.may_bring && !folders.iter().any(|folder| path.starts_with(folder));
    let (mut kept, mut stays) = (found.pointers, Vec::new());
    kept.extend(found.whole);
    for RepositoryBelow { folder, base, is_of_worktree } in found.repositories {
        // A folder of that name alone is none.
        let is_any = ["HEAD", "config", "objects", "commondir"].iter().any(|name| folder.join(name).exists());
        if !is_any {
            continue;
        }
        named.add(&workspace, &RepositoryAround::at(folder.clone(), &base, true));
        kept.extend(["commondir", "gitdir"].map(|name| folder.join(name)));
        stays.extend(["objects", "refs"].map(|name| folder.join(name)));
        // Of old it may be a link to a reference, which commits write.
        let head = folder.join("HEAD");
        if !leave.may_move_head && fs::symlink_metadata(&head).is_ok_and(|it| it.is_file()) {
            kept.push(head);
        }
        if !leave.may_configure {
            let own = ["config", "config.worktree"].map(|name| folder.join(name));
            if !is_of_worktree {
                make(&own[0], FileType::RegularFile)?;
            }
            let text = settings_text(&workspace, &own[0]).unwrap_or_default();
            if GitNames::of(&text).has_worktree_config {
                make(&own[1], FileType::RegularFile)?;
            }
            kept.extend(own);
        }
        if !leave.may_go_on {
            // What is left to be done of a rebase has lines that a shell runs (git-rebase(1), `exec`).
            kept.extend(UNDER_WAY.iter().map(|name| folder.join(name)));
        }
        kept.extend(OLD_REMOTES.map(|name| folder.join(name)));
        if !is_of_worktree {
            make(&folder.join("hooks"), FileType::Directory)?;
        }
        kept.push(folder.join("hooks"));
        kept.extend(LinksBelow::of(&folder.join("hooks")).ends);
    }
    for place in named.places.into_iter().filter(|place| !is_brought(&place.path)) {
        if place.why == GIT_HOOKS {
            kept.extend(LinksBelow::of(&place.path).ends);
        }
        kept.push(place.path);
    }
    // What a link leads to is what is written.
    let real = |paths: Vec<PathBuf>| {
        let mut paths: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
        paths.retain(|path| is_inside(path));
        paths.sort();
        paths.dedup();
        paths
    };
    Ok(KeptOfRepositories { read_only: real(kept), stays: real(stays) })
}

/// Makes an empty file or folder where there is none. No link is followed, so that none of an agent's has anything made elsewhere.
fn make(path: &Path, kind: FileType) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    // Where there is no such folder, there is nothing to be kept in it.
    let Ok(above) = open_without_links(above) else { return Ok(()) };
    let made = match kind {
        FileType::Directory => mkdirat(&above, name, Mode::from_raw_mode(0o777)),
        kind => mknodat(&above, name, kind, Mode::from_raw_mode(0o666), 0),
    };
    match made {
        // It is there, or nobody who is no other user could make one either.
        Ok(()) | Err(Errno::EXIST | Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::NOTDIR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(roots: &[PathBuf]) -> RepositoriesBelow {
        RepositoriesBelow::find(roots, None, &KnownRepositories::default())
    }

    #[test]
    fn files_that_settings_include_are_found_and_what_they_include() {
        let config = "[include] path = a # x\n[includeIf \"gitdir:~/w]/\"]\n\tpath = \"b;c\"\n[core]\n\tpath = d\n[Include]\nPATH=~/e\n";
        assert_eq!(GitNames::of(config).includes, ["a", "b;c", "~/e"]);
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), "[include]\n\tpath = ../one\n").unwrap();
        fs::write(root.join("one"), "[include]\n\tpath = two\n[core]\n\thooksPath = checks\n").unwrap();
        fs::write(root.join("two"), "[include]\n\tpath = one\n").unwrap();
        let found = named_by_git(&Workspace::open(std::slice::from_ref(&root)).unwrap()).places;
        let found: Vec<PathBuf> = found.into_iter().map(|place| place.path).collect();
        assert_eq!(found, ["one", "checks", "two"].map(|name| root.join(name)));
    }

    #[test]
    fn hooks_and_settings_of_the_roots_are_kept_and_missing_hooks_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/objects")).unwrap();
        fs::create_dir(root.join("checks")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(".git/config"), "[core]\n\thooksPath = checks\n").unwrap();
        fs::create_dir(root.join(".git/rebase-merge")).unwrap();
        fs::create_dir(root.join("shared")).unwrap();
        fs::write(root.join("shared/check"), "").unwrap();
        std::os::unix::fs::symlink("../shared/check", root.join("checks/pre-commit")).unwrap();
        let kept = |may_configure, may_move_head| {
            let leave = GitLeave { may_configure, may_move_head, may_go_on: may_configure, may_bring: false };
            let roots = std::slice::from_ref(&root);
            kept_from_commands(roots, leave, found(roots)).unwrap()
        };
        let named = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<PathBuf>>();
        let all = [".git/HEAD", ".git/config", ".git/hooks", ".git/rebase-merge", "checks", "shared/check"];
        assert_eq!(kept(false, false).read_only, named(&all));
        assert_eq!(kept(true, true).read_only, named(&[".git/hooks", "checks", "shared/check"]));
        assert_eq!(kept(true, true).stays, named(&[".git/objects"]));
        let found = named_by_git(&Workspace::open(std::slice::from_ref(&root)).unwrap()).places;
        assert_eq!(found, [AutorunPlace { path: root.join("checks"), why: GIT_HOOKS }]);
    }

    /// Whoever could take `HEAD` away for a moment would have it all.
    #[test]
    fn nested_repositories_and_what_leads_to_them_are_kept_with_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in [".git", ".git/modules/lib", "vendor/.git", "bare"] {
            for part in ["objects", "refs"] {
                fs::create_dir_all(root.join(name).join(part)).unwrap();
            }
            fs::write(root.join(name).join("config"), "[core]\n").unwrap();
        }
        let more = "[include]\n\tpath = ../extra\n[core]\n\thooksPath = .hk\n[extensions]\n\tworktreeConfig = true\n";
        fs::write(root.join(".git/config"), more).unwrap();
        fs::create_dir_all(root.join(".git/worktrees/wt")).unwrap();
        fs::write(root.join(".git/worktrees/wt/commondir"), "../..\n").unwrap();
        fs::create_dir(root.join("lib")).unwrap();
        fs::write(root.join("lib/.git"), "gitdir: ../.git/modules/lib\n").unwrap();
        let roots = std::slice::from_ref(&root);
        let kept = kept_from_commands(roots, GitLeave::default(), found(roots)).unwrap();
        let kept: Vec<&str> =
            kept.read_only.iter().map(|it| it.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        let all = [
            ".git/config",
            ".git/config.worktree",
            ".git/hooks",
            ".git/modules/lib/config",
            ".git/modules/lib/hooks",
            ".git/worktrees/wt/commondir",
            ".hk",
            "bare/config",
            "bare/hooks",
            "extra",
            "lib/.git",
            "vendor/.git/config",
            "vendor/.git/hooks",
        ];
        assert_eq!(kept, all);
        let workspace = Workspace::open(std::slice::from_ref(&root)).unwrap();
        let unnamed = unnamed_repositories(&repositories_below(&workspace));
        assert_eq!(unnamed, [AutorunPlace { path: root.join("bare"), why: GIT_CONFIG }]);
    }

    #[test]
    fn a_folder_without_a_repository_has_nothing_to_keep() {
        let folder = tempfile::tempdir().unwrap();
        let roots = [folder.path().to_owned()];
        let kept = kept_from_commands(&roots, GitLeave::default(), found(&roots)).unwrap();
        assert_eq!(kept, KeptOfRepositories::default());
        assert!(!folder.path().join(".git").exists());
    }
}

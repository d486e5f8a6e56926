//! Further ways to a repository by which git runs something: odd heads, nested folders, remotes of old, the index; and who sees them.

use super::*;

/// Texts of a `HEAD` that git goes by, and no program but an odd one writes.
const ODD_HEADS: [&str; 4] = [
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nx\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaazz",
    "ref:refs/heads/main",
    "ref: refs/heads/main   \n",
];

#[test]
fn what_git_may_take_for_a_head_makes_a_repository() {
    let long = format!("ref: refs/heads/main{}", "\n".repeat(5_000));
    for head in ODD_HEADS.into_iter().chain([long.as_str()]) {
        for at in [".git", ""] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let guard = guarding(&root, GuardedSettings::Covered);
            for name in ["objects", "refs"] {
                fs::create_dir_all(root.join(at).join(name)).unwrap();
            }
            fs::write(root.join(at).join("HEAD"), head).unwrap();
            fs::write(root.join(at).join("config"), "[core]\n\tfsmonitor = x\n").unwrap();
            drop(guard);
            assert!(!root.join(at).join("HEAD").exists(), "{at:?} {head:?}");
        }
    }
}

/// To whoever reads fewer bytes, or takes other signs for blanks, these are none.
#[test]
fn a_head_that_is_not_surely_one_is_put_back() {
    let far = format!("ref:{}refs/heads/main\n", " ".repeat(300));
    for head in ["ref:\x0crefs/heads/main\n", "ref: refs/heads/ma in\n", "", far.as_str()]
        .into_iter()
        .chain(ODD_HEADS)
    {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        repository(&root);
        let guard = guarding(&root, GuardedSettings::Covered);
        fs::write(root.join(".git/HEAD"), head).unwrap();
        drop(guard);
        assert_eq!(fs::read_to_string(root.join(".git/HEAD")).unwrap(), "ref: refs/heads/main\n", "{head:?}");
        // As it was, it stays.
        fs::write(root.join(".git/HEAD"), head).unwrap();
        drop(guarding(&root, GuardedSettings::Covered));
        assert_eq!(fs::read_to_string(root.join(".git/HEAD")).unwrap(), head);
    }
}

#[test]
fn a_nested_folder_has_the_repository_that_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (sub, lib) = (root.join("sub"), root.join("lib"));
    repository(&sub);
    repository(&root);
    fs::create_dir(&lib).unwrap();
    for name in ["objects", "refs"] {
        fs::create_dir_all(root.join(".git/modules/lib").join(name)).unwrap();
    }
    fs::write(root.join(".git/modules/lib/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(lib.join(".git"), "gitdir: ../.git/modules/lib\n").unwrap();
    let guard = guarding(&root, GuardedSettings::Covered);
    fs::rename(sub.join(".git"), sub.join(".old")).unwrap();
    repository(&sub);
    fs::write(sub.join(".git/config"), "[core]\n\tfsmonitor = x\n").unwrap();
    fs::write(lib.join(".git"), "gitdir: ../evil\n").unwrap();
    for mended in guard.watched.mend(false) {
        assert!(mended.done.is_ok(), "{mended:?}");
    }
    drop(guard);
    let names: Vec<_> = fs::read_dir(&sub).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().any(|name| name == ".git"), "{names:?}");
    assert_eq!(fs::read_to_string(sub.join(".git/config")).unwrap(), "[core]\n");
    assert_eq!(fs::read_to_string(lib.join(".git")).unwrap(), "gitdir: ../.git/modules/lib\n");
    // A submodule that git takes away, and a clone that somebody does not want any more.
    let guard = guarding(&root, GuardedSettings::Covered);
    fs::remove_file(lib.join(".git")).unwrap();
    fs::remove_dir_all(&sub).unwrap();
    drop(guard);
    assert!(!lib.join(".git").exists() && !sub.exists());
}

#[test]
fn remotes_of_old_are_put_aside_where_there_were_none() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    fs::create_dir(root.join(".git/branches")).unwrap();
    let guard = guarding(&root, GuardedSettings::Covered);
    fs::create_dir(root.join(".git/remotes")).unwrap();
    fs::write(root.join(".git/remotes/origin"), "URL: /w/evil\n").unwrap();
    drop(guard);
    assert!(!root.join(".git/remotes").exists() && root.join(".git/branches").exists());
    assert!(root.join(".git/remotes.not-by-git-0/origin").exists(), "nothing is lost");
}

/// As where somebody has used up the watches that a user may have.
#[tokio::test]
async fn what_is_not_told_is_looked_at_by_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    let tasks = TaskGroup::new();
    let guard = guarding(&root, GuardedSettings::Covered);
    // A folder that is not there cannot be watched, and nothing is told of what was before.
    fs::rename(root.join(".git"), root.join("moved")).unwrap();
    guard.watch(&tasks);
    while !root.join(".git/config").exists() {
        tokio::task::yield_now().await;
    }
    drop(guard);
}

#[tokio::test]
async fn whoever_sees_it_all_that_go_on_there_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    fs::create_dir(root.join("below")).unwrap();
    let (tasks, guards) = (TaskGroup::new(), RepositoryGuards::default());
    let guard = guarding_beside(&root, GuardedSettings::Covered, &guards);
    let other = guarding_beside(&root.join("below"), GuardedSettings::Covered, &guards);
    let apart = guarding_beside(Path::new("/usr"), GuardedSettings::Covered, &guards);
    guard.watch(&tasks);
    fs::write(root.join(".git/commondir"), "../evil\n").unwrap();
    let is_told = |guard: &RepositoryGuard| guard.watched.ending.lock().unwrap().why.is_some();
    while !is_told(&other) {
        tokio::task::yield_now().await;
    }
    assert!(!is_told(&apart));
    drop(guard);
}

/// `git status` in the working tree asks in each folder that the index names as a repository.
#[test]
fn a_repository_that_the_index_names_runs_nothing() {
    let git = |folder: &Path, words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(git.output().unwrap().status.success(), "{words:?}");
    };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q"]);
    let nest = |name: &str| {
        fs::create_dir(root.join(name)).unwrap();
        git(&root.join(name), &["init", "-q"]);
        git(&root.join(name), &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&root, &["add", name]);
    };
    let evil = "[core]\n\tfsmonitor = x\n";
    let write = |name: &str| fs::write(root.join(name).join(".git/config"), evil).unwrap();
    nest("own");
    write("own");
    // As a submodule is after a clone.
    nest("later");
    fs::remove_dir_all(root.join("later/.git")).unwrap();
    let found = RepositoriesBelow::find(std::slice::from_ref(&root), None, &KnownRepositories::default());
    let guard = || {
        let since = fs::symlink_metadata(root.join("mark")).and_then(|it| it.created()).ok();
        let guards = RepositoryGuards::default();
        RepositoryGuard::over(std::slice::from_ref(&root), &found, GuardedSettings::Covered, since, &guards)
    };
    fs::write(root.join("mark"), "").unwrap();
    // Whether it is the same command that makes it what it is, or the next.
    let first = guard();
    nest("evil");
    write("evil");
    nest("plain");
    drop(first);
    let aside = root.join("evil/.git.not-by-git-0");
    assert!(!root.join("evil/.git").exists() && aside.join("config").exists());
    assert!(!aside.join("HEAD").exists(), "whoever looks into it has git run nothing");
    assert!(root.join("plain/.git").exists() && root.join("own/.git").exists());
    let next = guard();
    next.watched.mend(false);
    write("plain");
    drop(next);
    assert_ne!(fs::read_to_string(root.join("plain/.git/config")).unwrap(), evil);
    let last = guard();
    last.watched.mend(false);
    git(&root.join("later"), &["init", "-q"]);
    write("later");
    drop(last);
    assert!(!root.join("later/.git").exists());
    assert_eq!(fs::read_to_string(root.join("own/.git/config")).unwrap(), evil, "a person's own");
}

#[test]
fn hooks_do_not_become_a_link_and_a_worktree_keeps_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    let worktree = root.join(".git/worktrees/wt");
    fs::create_dir_all(&worktree).unwrap();
    fs::write(worktree.join("HEAD"), "ref: refs/heads/other\n").unwrap();
    fs::write(worktree.join("commondir"), "../..\n").unwrap();
    let guard = guarding(&root, GuardedSettings::Covered);
    fs::remove_dir(root.join(".git/hooks")).unwrap();
    symlink("../evil", root.join(".git/hooks")).unwrap();
    fs::write(worktree.join("commondir"), "../../../evil\n").unwrap();
    drop(guard);
    assert!(fs::symlink_metadata(root.join(".git/hooks")).unwrap().is_dir());
    assert_eq!(fs::read_to_string(worktree.join("commondir")).unwrap(), "../..\n");
}

/// The next command, or a person's `git init`, makes a repository of it.
#[test]
fn what_is_half_a_repository_and_would_run_something_is_put_aside() {
    type Step = fn(&Path);
    let cases: [(&str, Step); 5] = [
        ("settings", |git| fs::write(git.join("config"), "[core]\n\tfsmonitor = x\n").unwrap()),
        ("of a worktree", |git| fs::write(git.join("config.worktree"), "[core]\n\tfsmonitor = x\n").unwrap()),
        ("commondir", |git| fs::write(git.join("commondir"), "../r\n").unwrap()),
        ("a hook", |git| {
            fs::create_dir(git.join("hooks")).unwrap();
            fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\n").unwrap();
        }),
        ("settings elsewhere", |git| {
            fs::write(git.join("../cfg"), "").unwrap();
            symlink("../cfg", git.join("config")).unwrap();
        }),
    ];
    for (name, harm) in cases {
        for was_there in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let git = root.join(".git");
            if was_there {
                fs::create_dir(&git).unwrap();
            }
            let guard = guarding(&root, GuardedSettings::Covered);
            fs::create_dir_all(&git).unwrap();
            harm(&git);
            drop(guard);
            assert!(!git.exists() && root.join(".git.not-by-git-0").is_dir(), "{name} {was_there}");
        }
    }
    // What a person left there, and what git itself writes first.
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let git = root.join(".git");
    fs::create_dir_all(git.join("hooks")).unwrap();
    fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    let guard = guarding(&root, GuardedSettings::Covered);
    fs::write(git.join("hooks/update.sample"), "#!/bin/sh\n").unwrap();
    fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
    drop(guard);
    assert!(git.join("hooks/pre-commit").exists() && git.join("config").exists());
}

#[test]
fn hooks_that_nobody_can_list_are_told_from_none() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    let hooks = root.join(".git/hooks");
    let guard = guarding(&root, GuardedSettings::Written { named: Vec::new(), is_at_once: false });
    fs::write(hooks.join("pre-commit"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(&hooks, fs::Permissions::from_mode(0o111)).unwrap();
    drop(guard);
    assert!(!hooks.join("pre-commit").exists());
}

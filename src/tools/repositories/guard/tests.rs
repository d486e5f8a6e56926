//! What is there after the end of a command that changed what no mount can keep?

use std::{fs, os::unix::fs::symlink};

use super::*;

fn guarding(root: &Path, settings: GuardedSettings) -> RepositoryGuard {
    RepositoryGuard::over(&[root.to_owned()], None, &KnownRepositories::default(), settings)
}

fn repository(root: &Path) {
    for name in ["objects", "refs", "hooks"] {
        fs::create_dir_all(root.join(".git").join(name)).unwrap();
    }
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(root.join(".git/config"), "[core]\n").unwrap();
}

/// What a command did to a repository, and what is there after its end.
#[test]
fn what_no_mount_can_keep_is_put_back_when_the_command_has_ended() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 8] = [
        ("HEAD", |git| fs::rename(git.join("HEAD"), git.join("H2")).unwrap()),
        ("HEAD", |git| fs::write(git.join("HEAD"), "nothing\n").unwrap()),
        ("HEAD", |git| {
            fs::remove_file(git.join("HEAD")).unwrap();
            symlink("../elsewhere", git.join("HEAD")).unwrap();
        }),
        ("HEAD", |git| {
            fs::remove_file(git.join("HEAD")).unwrap();
            fs::create_dir(git.join("HEAD")).unwrap();
        }),
        ("refs", |git| fs::rename(git.join("refs"), git.join("r2")).unwrap()),
        ("objects", |git| fs::rename(git.join("objects"), git.join("o2")).unwrap()),
        ("commondir", |git| fs::write(git.join("commondir"), "../evil\n").unwrap()),
        ("hooks", |git| {
            fs::remove_file(git.join("hooks")).unwrap();
            fs::create_dir(git.join("hooks")).unwrap();
            fs::write(git.join("hooks/post-checkout"), "#!/bin/sh\n").unwrap();
        }),
    ];
    for (number, (name, harm)) in harms.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        repository(&root);
        let git = root.join(".git");
        if name == "hooks" {
            fs::rename(git.join("hooks"), root.join("hk")).unwrap();
            symlink("../hk", git.join("hooks")).unwrap();
        }
        let guard = guarding(&root, GuardedSettings::Covered);
        harm(&git);
        drop(guard);
        let head = fs::read_to_string(git.join("HEAD")).unwrap_or_default();
        assert_eq!(head, "ref: refs/heads/main\n", "{number} {name}");
        assert!(fs::symlink_metadata(git.join("HEAD")).unwrap().is_file(), "{number} {name}");
        assert!(git.join("refs").is_dir() && git.join("objects").is_dir(), "{number} {name}");
        assert!(fs::symlink_metadata(git.join("commondir")).is_err(), "{number} {name}");
        if name == "hooks" {
            assert_eq!(fs::read_link(git.join("hooks")).unwrap(), Path::new("../hk"));
            assert!(git.join("hooks.not-by-git-0/post-checkout").is_file(), "nothing is lost");
        }
    }
}

/// A branch that was changed to, and a link that somebody lays in the folder's place.
#[test]
fn what_git_did_stays_and_nothing_is_made_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    let guard = guarding(&root, GuardedSettings::Covered);
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/other\n").unwrap();
    drop(guard);
    assert_eq!(fs::read_to_string(root.join(".git/HEAD")).unwrap(), "ref: refs/heads/other\n");
    let guard = guarding(&root, GuardedSettings::Covered);
    fs::rename(root.join(".git"), root.join("moved")).unwrap();
    fs::create_dir(root.join("other")).unwrap();
    symlink("other", root.join(".git")).unwrap();
    fs::remove_file(root.join("moved/HEAD")).unwrap();
    drop(guard);
    assert!(root.join("moved/HEAD").is_file() && !root.join("other/HEAD").exists());
}

/// What git itself runs may write settings while git may; of these nothing stays by which git runs something.
#[test]
fn settings_that_no_word_says_are_put_back() {
    let (evil, plain) = ("[core]\n\tfsmonitor = x\n", "[branch \"a\"]\n\tremote = origin\n");
    let written = |named: &[&str]| GuardedSettings::Written {
        named: named.iter().map(|name| (*name).to_owned()).collect(),
    };
    for (settings, text, stays) in
        [(written(&[]), evil, false), (written(&[]), plain, true), (written(&["core.fsmonitor"]), evil, true)]
    {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        repository(&root);
        let guard = guarding(&root, settings);
        fs::write(root.join(".git/config"), format!("[core]\n{text}")).unwrap();
        drop(guard);
        let now = fs::read_to_string(root.join(".git/config")).unwrap();
        assert_eq!(now.contains(text), stays, "{text}: {now}");
    }
}

#[test]
fn a_root_does_not_become_a_repository_by_which_git_runs_something() {
    let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
    let evil = "[core]\n\tfsmonitor = x\n";
    for (at, config, stays) in
        [(".git", plain, true), (".git", evil, false), ("", evil, false), ("", plain, true)]
    {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let guard = guarding(&root, GuardedSettings::Covered);
        for name in ["objects", "refs"] {
            fs::create_dir_all(root.join(at).join(name)).unwrap();
        }
        fs::write(root.join(at).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(at).join("config"), config).unwrap();
        drop(guard);
        assert_eq!(root.join(at).join("HEAD").exists(), stays, "{at:?} {config}");
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let guard = guarding(&root, GuardedSettings::Covered);
    fs::write(root.join(".git"), "gitdir: evil\n").unwrap();
    drop(guard);
    assert!(!root.join(".git").exists());
}

#[tokio::test]
async fn a_command_that_goes_on_has_it_put_back_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    let tasks = TaskGroup::new();
    let guard = guarding(&root, GuardedSettings::Covered);
    guard.watch(&tasks);
    fs::write(root.join(".git/commondir"), "../evil\n").unwrap();
    while root.join(".git/commondir").exists() {
        tokio::task::yield_now().await;
    }
    drop(guard);
}

//! What is there after the end of a command that changed what no mount can keep?

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use super::{super::KnownRepositories, *};

mod beside;
mod exchanged;
mod more_ways;

fn guarding(root: &Path, settings: GuardedSettings) -> RepositoryGuard {
    guarding_beside(root, settings, &RepositoryGuards::default())
}

fn guarding_beside(root: &Path, settings: GuardedSettings, guards: &RepositoryGuards) -> RepositoryGuard {
    let roots = [root.to_owned()];
    let found = RepositoriesBelow::find(&roots, None, &KnownRepositories::default());
    RepositoryGuard::over(&roots, &found, settings, None, guards)
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
    assert!(!root.join("moved").exists() && !root.join("other/HEAD").exists());
    assert_eq!(fs::read_to_string(root.join(".git/HEAD")).unwrap(), "ref: refs/heads/other\n");
    assert_eq!(fs::read_link(root.join(".git.not-by-git-0")).unwrap(), Path::new("other"));
}

/// What a root with a repository of its own becomes, whatever leads to that.
#[test]
fn a_root_has_the_repository_that_it_had() {
    type Step = fn(&Path);
    let evil: Step = |root| {
        repository(root);
        fs::write(root.join(".git/config"), "[core]\n\tfsmonitor = x\n").unwrap();
    };
    let cases: [(&str, Step, Step); 6] = [
        (
            "a link",
            |root| {
                fs::rename(root.join(".git"), root.join("g")).unwrap();
                symlink("g", root.join(".git")).unwrap();
            },
            |root| fs::rename(root.join(".git"), root.join("old")).unwrap(),
        ),
        (
            "a file",
            |root| {
                fs::rename(root.join(".git"), root.join("g")).unwrap();
                fs::write(root.join(".git"), "gitdir: g\n").unwrap();
            },
            |root| fs::remove_file(root.join(".git")).unwrap(),
        ),
        ("a folder", |_| (), |root| fs::rename(root.join(".git"), root.join("old")).unwrap()),
        (
            "settings that are a link",
            |root| {
                fs::rename(root.join(".git/config"), root.join("cfg")).unwrap();
                symlink("../cfg", root.join(".git/config")).unwrap();
            },
            |root| {
                fs::write(root.join("c2"), "[core]\n\tfsmonitor = x\n").unwrap();
                fs::rename(root.join("c2"), root.join(".git/config")).unwrap();
            },
        ),
        (
            "closed parts",
            |_| (),
            |root| {
                fs::set_permissions(root.join(".git/objects"), fs::Permissions::from_mode(0o000)).unwrap();
                fs::set_permissions(root.join(".git/HEAD"), fs::Permissions::from_mode(0o000)).unwrap();
            },
        ),
        (
            "a closed folder",
            |_| (),
            |root| {
                fs::set_permissions(root.join(".git"), fs::Permissions::from_mode(0o000)).unwrap();
            },
        ),
    ];
    for (name, before, harm) in cases {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        repository(&root);
        before(&root);
        let guard = guarding(&root, GuardedSettings::Covered);
        harm(&root);
        if !root.join(".git").exists() {
            evil(&root);
        }
        drop(guard);
        let git = if root.join(".git").is_file() { root.join("g") } else { root.join(".git") };
        let config = fs::read_to_string(git.join("config")).unwrap();
        assert_eq!(config, "[core]\n", "{name}");
        for part in ["", "objects", "HEAD"] {
            let mode = fs::metadata(git.join(part)).unwrap().permissions().mode();
            assert_ne!(mode & 0o400, 0, "{name} {part}");
        }
    }
}

/// It takes two steps, or there are all the names under which something would be put aside.
#[test]
fn what_was_begun_before_does_not_become_a_repository_either() {
    type Step = fn(&Path);
    let bare: Step = |root| {
        for name in ["objects", "refs"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("config"), "[core]\n\tfsmonitor = x\n").unwrap();
        fs::write(root.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    };
    let evil: Step = |root| {
        repository(root);
        fs::write(root.join(".git/config"), "[core]\n\tfsmonitor = x\n").unwrap();
    };
    let names: Step = |root| {
        (0..100).for_each(|number| fs::write(root.join(format!(".git.not-by-git-{number}")), "").unwrap());
    };
    let head: Step = |root| fs::write(root.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let cases: [(&str, Step, Step); 6] = [
        ("an empty .git", |root| fs::create_dir(root.join(".git")).unwrap(), evil),
        ("a HEAD", head, bare),
        ("all names", names, evil),
        (
            "a file that leads nowhere",
            |root| fs::write(root.join(".git"), "gitdir: x\n").unwrap(),
            |root| {
                repository(root.join("y").as_path());
                fs::write(root.join("y/.git/config"), "[core]\n\tfsmonitor = x\n").unwrap();
                fs::rename(root.join("y/.git"), root.join("x")).unwrap();
            },
        ),
        ("a repository", repository, bare),
        ("a repository, by links", repository, |root| {
            fs::create_dir_all(root.join("o")).unwrap();
            fs::create_dir_all(root.join("refs")).unwrap();
            symlink("o", root.join("objects")).unwrap();
            fs::write(root.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }),
    ];
    for (name, before, harm) in cases {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        before(&root);
        let guard = guarding(&root, GuardedSettings::Covered);
        harm(&root);
        drop(guard);
        let is_taken = |at: &Path| at.join("HEAD").is_file() && at.join("objects").exists();
        let has_own = name.starts_with("a repository");
        assert!(!is_taken(&root), "{name}");
        assert_eq!(root.join(".git").exists() && is_taken(&root.join(".git")), has_own, "{name}");
        assert!(!root.join(".git").is_file(), "{name}");
    }
}

/// Where nothing can be mounted, hooks and settings are what they were.
#[test]
fn hooks_that_came_or_changed_are_put_aside_and_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    let hooks = root.join(".git/hooks");
    fs::write(hooks.join("pre-push"), "theirs").unwrap();
    symlink("../../shared", hooks.join("post-merge")).unwrap();
    fs::write(root.join("shared"), "theirs").unwrap();
    symlink("../../shared", hooks.join("post-commit")).unwrap();
    fs::write(hooks.join("update.sample"), "x").unwrap();
    let guard = guarding(&root, GuardedSettings::Written { named: Vec::new(), is_at_once: false });
    fs::write(hooks.join("pre-push"), "evil").unwrap();
    fs::write(hooks.join("pre-commit"), "evil").unwrap();
    fs::remove_file(hooks.join("post-merge")).unwrap();
    fs::write(root.join("shared"), "evil").unwrap();
    drop(guard);
    assert_eq!(fs::read_to_string(root.join("shared")).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(root.join("shared.not-by-git-0")).unwrap(), "evil");
    assert_eq!(fs::read_to_string(hooks.join("pre-push")).unwrap(), "theirs");
    assert_eq!(fs::read_link(hooks.join("post-merge")).unwrap(), Path::new("../../shared"));
    assert!(!hooks.join("pre-commit").exists() && hooks.join("pre-commit.not-by-git-0").is_file());
    assert!(hooks.join("update.sample").is_file());
}

/// A program that fills settings with more than is read hides nothing in them, also where there were none when it began.
#[test]
fn settings_that_came_and_are_too_long_to_be_read_are_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    fs::remove_file(root.join(".git/config")).unwrap();
    let guard = guarding(&root, GuardedSettings::Written { named: Vec::new(), is_at_once: false });
    let evil = format!("{}[core]\n\tfsmonitor = x\n", "# pad\n".repeat(200_000));
    fs::write(root.join(".git/config"), evil).unwrap();
    drop(guard);
    assert!(!root.join(".git/config").exists() && root.join(".git/config.not-by-git-0").is_file());
}

/// The daemon was killed: the next one has what was noted.
#[test]
fn what_was_noted_is_looked_at_again() {
    let evil = "[core]\n\tfsmonitor = x\n";
    for has_any in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        if has_any {
            repository(&root);
        }
        let settings = GuardedSettings::Written { named: Vec::new(), is_at_once: false };
        let notes = RepositoryNotes::new(&root.join("state"));
        // A second program finds the same.
        let guards = [settings.clone(), settings].map(|settings| {
            let mut guard = guarding(&root, settings);
            guard.note_in(&notes).unwrap();
            guard
        });
        assert_eq!(fs::read_dir(root.join("state/repositories")).unwrap().count(), 1);
        // As if nobody had been there at the end.
        std::mem::forget(guards);
        repository(&root);
        fs::write(root.join(".git/config"), format!("[core]\n{evil}")).unwrap();
        let done = RepositoryNote::look_at_left(&RepositoryNotes::new(&root.join("state")));
        assert_eq!(done.len(), 1, "{done:?}");
        assert!(!fs::read_to_string(root.join(".git/config")).unwrap_or_default().contains(evil));
        assert_eq!(fs::read_dir(root.join("state/repositories")).unwrap().count(), 0);
    }
}

/// What git itself runs may write settings while git may; of these nothing stays by which git runs something.
#[test]
fn settings_that_no_word_says_are_put_back() {
    let (evil, plain) = ("[core]\n\tfsmonitor = x\n", "[branch \"a\"]\n\tremote = .\n");
    let written = |named: &[&str]| GuardedSettings::Written {
        named: named.iter().map(|name| (*name).to_owned()).collect(),
        is_at_once: false,
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

//! Where a workspace is a part of a repository that does not begin at its root, what that one has git run in it is as dangerous to
//! change as of one that does.

use std::{fs, os::unix::fs::symlink};

use super::*;

/// Settings as a project has them; paths begin at the top of the working tree.
fn settings(to: &str) -> String {
    format!(
        "[core]\n\thooksPath = {to}checks\n\tfsmonitor = {to}tools/fsm\n\tpager = {to}tools/pager -R\n\teditor = ./{to}tools/edit\n\
         [filter \"x\"]\n\tclean = {to}tools/clean %f\n\tprocess = $PWD/{to}tools/there\n[diff \"x\"]\n\tcommand = {to}tools/diff\n\
         \ttextconv = {to}tools/text\n[merge \"x\"]\n\tdriver = {to}tools/merge %O %A\n[alias]\n\tst = !{to}tools/st\n\
         [credential]\n\thelper = !{to}tools/credential\n[gpg]\n\tprogram = {to}tools/gpg\n[include]\n\tpath = more\n"
    )
}

const PROGRAMS: &[&str] = &[
    "tools/fsm",
    "tools/pager",
    "tools/edit",
    "tools/clean",
    "tools/there",
    "tools/diff",
    "tools/text",
    "tools/merge",
    "tools/st",
    "tools/credential",
    "tools/gpg",
    "tools/hooked",
    "tools/included",
    "checks/pre-commit",
    "checks/new",
    "late/pre-push",
];

/// A repository's own folder, of which settings elsewhere are included.
fn repository(folder: &Path, to: &str) {
    for part in ["objects", "refs", "hooks"] {
        fs::create_dir_all(folder.join(part)).unwrap();
    }
    fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(folder.join("config"), settings(to)).unwrap();
    fs::write(folder.join("more"), format!("[diff]\n\texternal = {to}tools/included\n")).unwrap();
    fs::write(
        folder.join("hooks/post-merge"),
        format!("#!/bin/sh\nexec \"$(git rev-parse --show-toplevel)/{to}tools/hooked\"\n"),
    )
    .unwrap();
}

fn programs(root: &Path) {
    fs::create_dir_all(root.join("tools")).unwrap();
    for name in PROGRAMS.iter().filter(|name| name.starts_with("tools/")) {
        fs::write(root.join(name), "").unwrap();
    }
}

fn check(root: &Path, what: &str) {
    let own = OwnFiles::new(&root.join("none/config"), &root.join("none/state"), []);
    let workspace = Workspace::open(&[root.to_owned()]).unwrap();
    for name in PROGRAMS {
        assert_eq!(own.risk(&workspace, &root.join(name)), Some(Risk::High), "{what}: {name}");
    }
    for name in ["src/main.rs", "tools/other", "check"] {
        assert_eq!(own.risk(&workspace, &root.join(name)), None, "{what}: {name}");
    }
    let places = own.autorun_places(&workspace);
    for name in PROGRAMS {
        let path = root.join(name);
        assert!(places.iter().any(|place| path.starts_with(&place.path)), "{what}: {name}: {places:?}");
    }
}

#[test]
fn what_git_runs_is_high_wherever_its_repository_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    let late = |folder: &Path, to: &str| {
        fs::write(folder.join("config.worktree"), format!("[core]\n\thooksPath = {to}late\n")).unwrap();
    };

    // Some folders below the top, of which one is another repository.
    let top = at.join("top");
    repository(&top.join(".git"), "a/b/");
    late(&top.join(".git"), "a/b/");
    programs(&top.join("a/b"));
    check(&top.join("a/b"), "below the top");
    repository(&top.join("a/.git"), "none/");
    check(&top.join("a/b"), "below another one");

    // A linked worktree, and a folder of one.
    for (name, to, root) in [("linked", "", "linked"), ("deep", "c/", "deep/c")] {
        let main = at.join(format!("main-{name}/.git"));
        repository(&main, to);
        let own = main.join("worktrees/x");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/x\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        late(&own, to);
        programs(&at.join(root));
        fs::write(at.join(name).join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        check(&at.join(root), name);
    }

    // A submodule, whose pointer and settings lead to each other.
    let module = at.join("super/.git/modules/lib");
    repository(&module, "");
    late(&module, "");
    let tree = "[core]\n\tworktree = ../../../lib\n";
    fs::write(module.join("config"), settings("") + tree).unwrap();
    programs(&at.join("super/lib"));
    fs::write(at.join("super/lib/.git"), "gitdir: ../.git/modules/lib\n").unwrap();
    check(&at.join("super/lib"), "a submodule");

    // The folder is a link, and the working tree another one than the folder around it.
    repository(&at.join("kept"), "x/");
    late(&at.join("kept"), "x/");
    let text = settings("x/") + "[core]\n\tworktree = " + at.join("tree").to_str().unwrap() + "\n";
    fs::write(at.join("kept/config"), text).unwrap();
    programs(&at.join("tree/x"));
    symlink(at.join("kept"), at.join("tree/.git")).unwrap();
    check(&at.join("tree/x"), "a link");
}

#[test]
fn a_repository_below_the_root_is_one_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root.join("vendor/x/.git"), "");
    fs::write(root.join("vendor/x/.git/config.worktree"), "[core]\n\thooksPath = late\n").unwrap();
    programs(&root.join("vendor/x"));
    let own = OwnFiles::new(&root.join("none/config"), &root.join("none/state"), []);
    let workspace = Workspace::open(std::slice::from_ref(&root)).unwrap();
    let places = own.autorun_places(&workspace);
    for name in PROGRAMS {
        let path = root.join("vendor/x").join(name);
        assert_eq!(own.risk(&workspace, &path), Some(Risk::High), "{name}");
        assert!(places.iter().any(|place| path.starts_with(&place.path)), "{name}: {places:?}");
    }
    assert_eq!(own.risk(&workspace, &root.join("vendor/x/src/lib.rs")), None);
}

/// Who works in a folder of hooks writes hooks.
#[test]
fn hooks_of_a_root_that_is_the_folder_of_hooks_are_high() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let root = top.join("checks");
    fs::create_dir(&root).unwrap();
    repository(&top.join(".git"), "");
    let own = OwnFiles::new(&top.join("none/config"), &top.join("none/state"), []);
    let workspace = Workspace::open(std::slice::from_ref(&root)).unwrap();
    assert_eq!(own.risk(&workspace, &root.join("pre-commit")), Some(Risk::High));
    assert_eq!(own.risk(&workspace, &root.join("README")), None);
}

/// Nobody is waited for, and nothing is read without an end.
#[test]
fn strange_files_above_the_root_end_the_look() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    let fifo = |path: &Path| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
    let check = |root: &Path| {
        fs::create_dir_all(root).unwrap();
        let own = OwnFiles::new(&at.join("none/config"), &at.join("none/state"), []);
        let workspace = Workspace::open(&[root.to_owned()]).unwrap();
        assert_eq!(own.risk(&workspace, &root.join("checks/pre-commit")), None);
    };
    fs::create_dir_all(at.join("a/.git")).unwrap();
    for name in ["config", "config.worktree", "commondir"] {
        fifo(&at.join("a/.git").join(name));
    }
    check(&at.join("a/b"));
    fs::create_dir(at.join("c")).unwrap();
    fifo(&at.join("c/.git"));
    check(&at.join("c/d"));
    fs::create_dir(at.join("e")).unwrap();
    symlink("/dev/zero", at.join("e/.git")).unwrap();
    check(&at.join("e/f"));
    fs::create_dir_all(at.join("g/.git")).unwrap();
    symlink("/dev/zero", at.join("g/.git/config")).unwrap();
    fs::write(at.join("g/.git/commondir"), "x".repeat(1 << 20)).unwrap();
    check(&at.join("g/h"));
    fs::create_dir(at.join("i")).unwrap();
    symlink(".git", at.join("i/.git")).unwrap();
    check(&at.join("i/j"));
}

//! Objects as git itself writes them, and what somebody put in their place.

use std::{fs::Permissions, os::unix::fs::PermissionsExt as _, process::Command};

use super::*;

fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = git.output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn bytes_of(name: &str) -> Vec<u8> {
    (0..name.len()).step_by(2).map(|at| u8::from_str_radix(&name[at..at + 2], 16).unwrap()).collect()
}

/// Lines that look like nothing else, so that packs have pieces of them.
fn text(of: usize) -> String {
    (0..3_000)
        .map(|line| format!("{} {}\n", line * 7_919 % 1_009, if line == of { "other" } else { "same" }))
        .collect()
}

#[test]
fn all_objects_are_read_by_themselves_and_in_packs() {
    for format in ["sha1", "sha256"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        git(&root, &["init", "-q", "--object-format", format]);
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/empty"), "").unwrap();
        for at in 0..30 {
            fs::write(root.join("long"), text(at)).unwrap();
            fs::write(root.join(format!("sub/{at}")), at.to_string()).unwrap();
            git(&root, &["add", "."]);
            git(&root, &["commit", "-q", "-m", "x"]);
        }
        git(&root, &["tag", "-m", "x", "marked"]);
        let check = |least: usize| {
            let all = git(&root, &["cat-file", "--batch-all-objects", "--batch-check"]);
            assert!(least < all.lines().count(), "{all}");
            let budget = SearchBudget::default();
            let objects = GitObjects::of(root.join(".git/objects"), &budget);
            for line in all.lines() {
                let (name, kind) = line.split_once(' ').unwrap();
                let (read, bytes) =
                    objects.read(&bytes_of(name)).unwrap_or_else(|| panic!("{format}: {line}"));
                assert_eq!(format!("{} {}", read.word(), bytes.len()), kind, "{line}");
                assert!(!objects.times_of(&bytes_of(name)).is_empty(), "{line}");
            }
            assert!(objects.read(&vec![7; bytes_of(&all[..all.find(' ').unwrap()]).len()]).is_none());
        };
        check(120);
        for words in [
            &["repack", "-q", "-a", "-d", "-f", "--depth=40"][..],
            &["-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f"],
            &["-c", "pack.indexVersion=2", "gc", "-q", "--prune=now"],
        ] {
            git(&root, words);
            check(120);
        }
    }
}

#[test]
fn bytes_of_another_name_and_too_many_of_them_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q"]);
    let [one, other] = ["one", "other"].map(|name| {
        fs::write(root.join(name), name).unwrap();
        git(&root, &["hash-object", "-w", name]).trim().to_owned()
    });
    let budget = SearchBudget::default();
    let path = |name: &str| root.join(".git/objects").join(&name[..2]).join(&name[2..]);
    let objects = GitObjects::of(root.join(".git/objects"), &budget);
    assert_eq!(objects.read(&bytes_of(&one)), Some((ObjectKind::Blob, b"one".to_vec())));
    fs::set_permissions(path(&one), Permissions::from_mode(0o644)).unwrap();
    fs::copy(path(&other), path(&one)).unwrap();
    assert_eq!(objects.read(&bytes_of(&one)), None);
    // A pack that has it is not hidden by it.
    fs::remove_file(path(&one)).unwrap();
    git(&root, &["hash-object", "-w", "one"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "x"]);
    git(&root, &["gc", "-q"]);
    fs::create_dir_all(path(&one).parent().unwrap()).unwrap();
    fs::write(path(&one), "no object").unwrap();
    let objects = GitObjects::of(root.join(".git/objects"), &budget);
    assert_eq!(objects.read(&bytes_of(&one)), Some((ObjectKind::Blob, b"one".to_vec())));
    budget.inflated.take(budget.inflated.left() - 2).unwrap();
    assert_eq!(objects.read(&bytes_of(&one)), None, "there are no bytes left");
}

#[test]
fn objects_count_by_the_times_at_which_nobody_else_could_make_them() {
    let at = |second: i64| (second, 0);
    let times = ObjectTimes {
        before: at(10),
        after: Some(at(15)),
        made: vec![(at(2), at(3)), (at(20), at(30))],
        served: vec![(at(5), at(6)), (at(40), (i64::MAX, 0))],
        brought: vec![(at(22), at(24)), (at(12), at(13))],
    };
    let have = (0..50).filter(|second| times.have(at(*second))).collect::<Vec<i64>>();
    let wanted = (0..50).filter(|second| matches!(second, 0..=1 | 4..=9 | 13 | 16..=19 | 23..=24 | 31..=39));
    assert_eq!(have, wanted.collect::<Vec<_>>());
}

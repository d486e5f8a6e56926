//! Where the search begins, and that it finds what lies deep.

use std::process::Command;

use super::*;

fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = git.output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn commit(root: &Path, text: &str) -> Vec<u8> {
    fs::create_dir_all(root.join(".a/b")).unwrap();
    fs::write(root.join(".a/b/c"), text).unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "-q", "--allow-empty", "-m", text]);
    object_named(git(root, &["rev-parse", "HEAD:.a/b/c"]).trim().as_bytes()).unwrap()
}

#[test]
fn a_content_is_found_by_each_way_that_git_names_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    let first = commit(&root, "first");
    git(&root, &["switch", "-q", "-c", "other"]);
    let of_other = commit(&root, "of other");
    git(&root, &["tag", "-m", "x", "marked"]);
    git(&root, &["switch", "-q", "main"]);
    git(&root, &["branch", "-q", "-D", "other"]);
    for at in 0..20 {
        commit(&root, &at.to_string());
    }
    fs::write(root.join(".a/b/c"), "stashed").unwrap();
    let stashed = object_named(git(&root, &["hash-object", ".a/b/c"]).trim().as_bytes()).unwrap();
    git(&root, &["stash", "-q"]);
    let all = ObjectTimes::older_than((i64::MAX, 0));
    let repository = RepositoryAround::all(&root).remove(0);
    let found = |object: &Vec<u8>, path: &str, further: &[Vec<u8>], times: &ObjectTimes| {
        let file = CommittedFile { path: path.into(), object: object.clone(), is_link: false, is_run: false };
        let objects = GitObjects::of(repository.common.join("objects"));
        !committed(&repository, &objects, (vec![file], further), times).is_empty()
    };
    let is_found = |object: &Vec<u8>| found(object, ".a/b/c", &[], &all);
    assert!(is_found(&first), "twenty commits back");
    assert!(is_found(&of_other) && is_found(&stashed));
    let further = stashed_in(std::slice::from_ref(&repository));
    // Nothing but a tag with words of its own names it, and that in a list.
    git(&root, &["reflog", "expire", "--expire=now", "--all"]);
    git(&root, &["pack-refs", "--all"]);
    assert!(is_found(&of_other) && is_found(&first));
    for path in [".a/b", ".a/b/d", ".a/c", "c", ".a/b/c/d"] {
        assert!(!found(&first, path, &[], &all), "{path}");
    }
    assert!(!found(&first, ".a/b/c", &[], &ObjectTimes::older_than((0, 0))), "no commit is older");
    fs::remove_file(root.join(".git/refs/stash")).ok();
    fs::remove_file(root.join(".git/logs/refs/stash")).ok();
    let refs = fs::read_to_string(root.join(".git/packed-refs")).unwrap();
    let refs: Vec<&str> = refs.lines().filter(|line| !line.ends_with("stash")).collect();
    fs::write(root.join(".git/packed-refs"), refs.join("\n")).unwrap();
    assert!(!is_found(&stashed) && found(&stashed, ".a/b/c", &further, &all));
}

#[test]
fn references_and_logs_in_tables_are_read() {
    for format in ["sha1", "sha256"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let made = Command::new("git")
            .args(["init", "-q", "-b", "main", "--ref-format=reftable", "--object-format", format])
            .arg(&root)
            .output()
            .unwrap();
        if !made.status.success() {
            eprintln!("skipped: this git keeps no references in tables");
            return;
        }
        let first = commit(&root, "first");
        git(&root, &["reset", "-q", "--hard", git(&root, &["commit-tree", "-m", "x", "HEAD^{tree}"]).trim()]);
        for at in 0..300 {
            git(&root, &["update-ref", &format!("refs/heads/long/name/{at}"), "HEAD"]);
        }
        let of_log = commit(&root, "of a log");
        git(&root, &["reset", "-q", "--hard", "main@{1}"]);
        let last = commit(&root, "last");
        git(&root, &["tag", "-m", "x", "marked"]);
        git(&root, &["pack-refs", "--all"]);
        let all = git(&root, &["for-each-ref", "--format=%(objectname) %(*objectname)"]);
        let common = root.join(".git");
        let names = in_tables(&common);
        for name in all.split_whitespace() {
            assert!(names.contains(&object_named(name.as_bytes()).unwrap()), "{format}: {name}");
        }
        let times = ObjectTimes::older_than((i64::MAX, 0));
        let repository = RepositoryAround::all(&root).remove(0);
        for object in [first, of_log, last] {
            let file = CommittedFile { path: ".a/b/c".into(), object, is_link: false, is_run: false };
            let objects = GitObjects::of(common.join("objects"));
            assert!(!committed(&repository, &objects, (vec![file], &[]), &times).is_empty(), "{format}");
        }
    }
}

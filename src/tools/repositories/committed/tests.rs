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
        let budget = SearchBudget::default();
        let objects = GitObjects::of(repository.common.join("objects"), &budget);
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
        let names = in_tables(&common, &SearchBudget::default());
        for name in all.split_whitespace() {
            assert!(names.contains(&object_named(name.as_bytes()).unwrap()), "{format}: {name}");
        }
        let times = ObjectTimes::older_than((i64::MAX, 0));
        let repository = RepositoryAround::all(&root).remove(0);
        for object in [first, of_log, last] {
            let file = CommittedFile { path: ".a/b/c".into(), object, is_link: false, is_run: false };
            let budget = SearchBudget::default();
            let objects = GitObjects::of(common.join("objects"), &budget);
            assert!(!committed(&repository, &objects, (vec![file], &[]), &times).is_empty(), "{format}");
        }
    }
}

/// A table of one reference and blocks of its log, each with so many records of two names.
fn table(block_size: u8, blocks: usize, records: usize) -> Vec<u8> {
    let header = [b"REFT\x01\0\0".as_slice(), &[block_size], &[0; 16]].concat();
    let length = |length: usize| (length as u32).to_be_bytes()[1..].to_vec();
    // No letter of the last name again, one letter more, and of its kind one object.
    let reference = [b"\0\x09a\0".as_slice(), &[7; 20]].concat();
    let of_references = header.len() + 4 + reference.len() + 2;
    let mut table = [&header, b"r".as_slice(), &length(of_references), &reference, &[0; 2]].concat();
    let logs_at = table.len() as u64;
    let record = [b"\0\x01".as_slice(), &[7; 40], &[0; 6]].concat();
    let log = [record.repeat(records), vec![0; 2]].concat();
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &log).unwrap();
    let block = [b"g".to_vec(), length(log.len()), packed.finish().unwrap()].concat();
    table.extend(block.repeat(blocks));
    // Else the bytes behind the last block could be another one.
    table.extend([0; 8]);
    let footer = [&header, [0; 24].as_slice(), &logs_at.to_be_bytes(), &[0; 12]].concat();
    [table, footer].concat()
}

/// The number of names that are kept of what is stashed in a repository with these files.
fn names_of(files: &[(&str, &[u8])]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    for (name, bytes) in files {
        let path = root.join(".git").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    stashed_in(&RepositoryAround::all(&root)).len()
}

const WITH_TABLES: (&str, &[u8]) = ("config", b"[extensions]\n\trefStorage = reftable\n");

#[test]
fn tables_are_read_where_the_settings_say_that_there_are_some() {
    let table = table(0, 2, 3);
    assert_eq!(names_of(&[WITH_TABLES, ("reftable/x", &table)]), 1 + 2 * 2 * 3);
    assert_eq!(names_of(&[("reftable/x", &table)]), 0);
}

/// Who may write a table writes as many names into little.
#[test]
fn names_of_tables_and_files_are_kept_up_to_a_number() {
    let table = table(0, 20, 50_000);
    assert!(table.len() < 1 << 20, "{}", table.len());
    let hundred = [WITH_TABLES, ("reftable/x", &table), ("reftable/y", &table)];
    assert_eq!(names_of(&hundred), 99_999, "one that has no second one is not kept either");
    let many = b"1234567890123456789012345678901234567890\n".repeat(200_000);
    assert_eq!(names_of(&[("refs/stash", &many), ("logs/refs/stash", &many)]), 100_000);
}

#[test]
fn a_block_that_reaches_into_the_next_one_ends_its_table() {
    for (block_size, names) in [(60, 1), (54, 1), (53, 0), (1, 0)] {
        assert_eq!(names_of(&[WITH_TABLES, ("reftable/x", &table(block_size, 0, 0))]), names, "{block_size}");
    }
}

#[test]
fn a_commit_counts_whose_parents_are_more_than_a_search_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    let object = commit(&root, "x");
    let tree = git(&root, &["rev-parse", "HEAD^{tree}"]);
    let parents = "parent 1234567890123456789012345678901234567890\n".repeat(100_001);
    fs::write(
        root.join("c"),
        format!("tree {tree}{parents}author a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n"),
    )
    .unwrap();
    let name = git(&root, &["hash-object", "-t", "commit", "-w", "--literally", "c"]);
    fs::write(root.join(".git/HEAD"), name).unwrap();
    fs::remove_dir_all(root.join(".git/refs")).unwrap();
    fs::remove_dir_all(root.join(".git/logs")).unwrap();
    let repository = RepositoryAround::all(&root).into_iter().next();
    let repository = repository.unwrap_or_else(|| RepositoryAround::at(root.join(".git"), &root, true));
    let budget = SearchBudget::default();
    let objects = GitObjects::of(root.join(".git/objects"), &budget);
    let file = CommittedFile { path: ".a/b/c".into(), object, is_link: false, is_run: false };
    let times = ObjectTimes::older_than((i64::MAX, 0));
    assert_eq!(committed(&repository, &objects, (vec![file.clone()], &[]), &times), [file]);
    assert_eq!(budget.names.left(), 0);
}

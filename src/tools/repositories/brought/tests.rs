//! Files that git itself brought, and others.

use std::{os::unix::fs::symlink, process::Command};

use super::*;
use sys::clock;

const LATER: (i64, i64) = (i64::MAX, 0);

fn git(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = git.output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn only_bytes_that_git_has_at_the_path_in_an_object_from_before_are_brought() {
    for format in ["sha1", "sha256"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let roots = std::slice::from_ref(&root);
        git(&root, &["init", "-q", "--object-format", format]);
        let names = [".envrc", ".vscode/tasks.json", "made"];
        fs::create_dir(root.join(".vscode")).unwrap();
        names.iter().for_each(|name| fs::write(root.join(name), name).unwrap());
        symlink(".envrc", root.join(".link")).unwrap();
        let files: Vec<PathBuf> =
            names.iter().chain(&[".link", "missing"]).map(|name| root.join(name)).collect();
        let brought = |since| {
            let times = ObjectTimes::older_than(since);
            let found = brought_by_git(roots, &files, BroughtObjects::of_index(&times)).into_iter();
            let found = found.map(|(file, _)| file);
            let names = found.map(|file| file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            names.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        assert!(brought(LATER).is_empty(), "the index has none");
        git(&root, &["add", ".envrc", ".vscode", ".link"]);
        assert!(brought(LATER).is_empty(), "no commit has them");
        git(&root, &["commit", "-q", "-m", "x"]);
        let all = [".envrc", ".link", ".vscode/tasks.json"];
        assert_eq!(brought(LATER), all, "{format}");
        assert!(brought((0, 0)).is_empty(), "the objects are newer than that");
        git(&root, &["gc", "-q"]);
        assert!(fs::read_dir(root.join(".git/objects/pack")).unwrap().count() > 1);
        assert_eq!(brought(LATER), all, "{format}, packed");
        assert!(brought((0, 0)).is_empty());
        // What lies behind a link may be another repository's.
        let (pack, elsewhere) = (root.join(".git/objects/pack"), root.join("elsewhere"));
        fs::rename(&pack, &elsewhere).unwrap();
        symlink(&elsewhere, &pack).unwrap();
        assert!(brought(LATER).is_empty(), "{format}, a link");
        fs::remove_file(&pack).unwrap();
        fs::rename(&elsewhere, &pack).unwrap();
        // Other bytes, another mode, another end of a link.
        fs::write(root.join(".envrc"), "evil").unwrap();
        fs::set_permissions(root.join(".vscode/tasks.json"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(root.join(".link")).unwrap();
        symlink("evil", root.join(".link")).unwrap();
        assert!(brought(LATER).is_empty(), "{format}");
        // A repository that is nobody's but a command's.
        git(&root.join(".vscode"), &["init", "-q", "--object-format", format]);
        git(&root.join(".vscode"), &["add", "."]);
        assert!(brought(LATER).is_empty(), "{format}");
    }
}

/// The object of the text `of-docs`.
const OF_DOCS: &str = "3d0150dff415364bda5dce0340afdba5687703a5";

/// A script has git write what it likes, but the object of a file says nothing of the path.
#[test]
fn an_object_from_before_counts_where_a_commit_from_before_has_it_and_at_no_other_path() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let roots = std::slice::from_ref(&root);
    git(&root, &["init", "-q"]);
    let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
    ["of-docs", ".envrc"].iter().for_each(|name| write(name, name));
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "first"]);
    write(".envrc", "second");
    git(&root, &["commit", "-q", "-a", "-m", "second"]);
    let made = clock::file_time();
    while clock::file_time() == made {
        std::thread::yield_now();
    }
    let times = ObjectTimes::older_than(clock::file_time());
    let is_brought = |others: bool| {
        let objects = BroughtObjects { others, ..BroughtObjects::of_index(&times) };
        !brought_by_git(roots, &[root.join(".envrc")], objects).is_empty()
    };
    assert!(is_brought(false));
    // Of an older commit.
    git(&root, &["checkout", "-q", "HEAD~1", "--", ".envrc"]);
    assert!(is_brought(false));
    // The same object at another path, by the index and by a commit of a script.
    write(".envrc", "of-docs");
    // Whoever adds it makes its object new.
    git(&root, &["update-index", "--cacheinfo", &format!("100644,{OF_DOCS},.envrc")]);
    assert!(!is_brought(false) && !is_brought(true));
    git(&root, &["commit", "-q", "-m", "evil"]);
    assert!(!is_brought(false) && !is_brought(true));
    git(&root, &["checkout", "-q", "HEAD~1", "--", "."]);
    assert!(is_brought(false), "behind a commit of a script");
    fs::set_permissions(root.join(".envrc"), fs::Permissions::from_mode(0o755)).unwrap();
    git(&root, &["update-index", "--chmod=+x", ".envrc"]);
    assert!(!is_brought(false), "no commit has one that is run");
}

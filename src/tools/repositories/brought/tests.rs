//! Files that git itself brought, and others.

use std::{os::unix::fs::symlink, process::Command};

use super::*;

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
        let all = [".envrc", ".link", ".vscode/tasks.json"];
        assert_eq!(brought(LATER), all, "{format}");
        assert!(brought((0, 0)).is_empty(), "the objects are newer than that");
        git(&root, &["commit", "-q", "-m", "x"]);
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

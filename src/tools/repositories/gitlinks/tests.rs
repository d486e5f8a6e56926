//! Indexes that git itself wrote.

use std::{fs, path::Path, process::Command};

use super::{super::folder::folder_at, *};

fn git(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = git.output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn gitlinks_are_found_in_each_form_of_an_index() {
    for (format, version) in [("sha1", "2"), ("sha1", "4"), ("sha256", "2"), ("sha256", "4")] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        git(&root, &["init", "-q", "--object-format", format]);
        for name in ["a/one", "a/other", "z"] {
            fs::create_dir_all(root.join(name)).unwrap();
            fs::write(root.join(name).join("file"), name).unwrap();
        }
        git(&root, &["add", "."]);
        git(&root, &["update-index", "--index-version", version]);
        let links = || gitlinks(&folder_at(&root.join(".git")).unwrap());
        assert_eq!(links(), Vec::<PathBuf>::new(), "{format} {version}");
        for name in ["a/oneself", "sub"] {
            let nested = root.join(name);
            fs::create_dir_all(&nested).unwrap();
            git(&nested, &["init", "-q", "--object-format", format]);
            git(&nested, &["commit", "-q", "--allow-empty", "-m", "x"]);
            git(&root, &["add", name]);
        }
        assert_eq!(links(), ["a/oneself", "sub"].map(PathBuf::from), "{format} {version}");
    }
}

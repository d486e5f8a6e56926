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

#[test]
fn a_split_index_has_what_git_lists() {
    for (format, version) in [("sha1", "2"), ("sha1", "4"), ("sha256", "2"), ("sha256", "4")] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        git(&root, &["init", "-q", "--object-format", format]);
        git(&root, &["config", "splitIndex.maxPercentChange", "100"]);
        let name = |number: usize| format!("{:03}/f", number * 7 % 300);
        let put = |number: usize, text: &str| {
            let path = root.join(name(number));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        (0..200).for_each(|number| put(number, "first"));
        git(&root, &["add", "."]);
        let wanted: Vec<PathBuf> = (0..300).map(|number| PathBuf::from(name(number))).collect();
        let check = |what: &str| {
            let listed = Command::new("git").arg("-C").arg(&root).args(["ls-files", "-s"]).output().unwrap();
            let listed: String = String::from_utf8(listed.stdout).unwrap();
            let found = index_entries(&folder_at(&root.join(".git")).unwrap(), &wanted);
            let line = |(path, entry): (&PathBuf, &IndexEntry)| {
                let object: String = entry.object.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{:06o} {object} 0\t{}\n", entry.mode, path.display())
            };
            assert_eq!(found.iter().map(line).collect::<String>(), listed, "{format} {version} {what}");
        };
        git(&root, &["update-index", "--index-version", version]);
        git(&root, &["update-index", "--split-index"]);
        check("split");
        assert!(
            fs::read_dir(root.join(".git"))
                .unwrap()
                .flatten()
                .any(|it| { it.file_name().to_string_lossy().starts_with("sharedindex.") })
        );
        // Runs of the same bits, single ones, and both.
        for (what, changed, gone) in
            [("some", 3..9, 20..22), ("many", 0..140, 141..180), ("few", 199..200, 0..1)]
        {
            changed.for_each(|number| put(number, what));
            gone.for_each(|number| fs::remove_file(root.join(name(number))).unwrap_or_default());
            put(200 + what.len(), "new");
            git(&root, &["add", "-A"]);
            check(what);
        }
        git(&root, &["rm", "-rq", "--cached", "."]);
        check("empty");
        git(&root, &["add", "-A"]);
        check("again");
        git(&root, &["update-index", "--no-split-index"]);
        check("one");
    }
}

#[test]
fn an_index_whose_shared_part_is_missing_or_torn_names_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q"]);
    fs::write(root.join("f"), "x").unwrap();
    git(&root, &["add", "."]);
    git(&root, &["update-index", "--split-index"]);
    let named = || index_entries(&folder_at(&root.join(".git")).unwrap(), &[PathBuf::from("f")]).len();
    assert_eq!(named(), 1);
    let shared = fs::read_dir(root.join(".git")).unwrap().flatten().map(|it| it.path());
    let shared: Vec<PathBuf> = shared
        .filter(|it| it.file_name().is_some_and(|it| it.to_string_lossy().starts_with("shared")))
        .collect();
    let bytes = fs::read(&shared[0]).unwrap();
    fs::write(&shared[0], &bytes[..bytes.len() - 3]).unwrap();
    assert_eq!(named(), 0);
    fs::remove_file(&shared[0]).unwrap();
    assert_eq!(named(), 0);
}

//! What commands make and change in a home.

use std::os::unix::fs::symlink;

use super::{
    super::{AutorunGuard, AutorunGuards, WritesTold, further::FurtherPlaces},
    *,
};
use crate::workspace_reports::WorkspaceReports;

fn put(home: &Path, name: &str, text: &str) {
    let path = home.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn guarded(home: &Path, named: &[&str], has_mounts: bool) -> (AutorunGuard, Vec<PathBuf>) {
    let hidden = [".config/own", ".local/share/own", ".own"].map(|name| home.join(name));
    let roots = [home.to_owned(), home.join(".trees/one")];
    let dotted = DottedEntries::of(home, hidden.iter().map(PathBuf::as_path), &roots, has_mounts);
    let further = FurtherPlaces { dotted, ..FurtherPlaces::default() };
    let told =
        WritesTold { named: named.iter().map(|name| home.join(name)).collect(), ..WritesTold::default() };
    let records = (WorkspaceReports::default(), &AutorunGuards::default(), Path::new(""));
    AutorunGuard::over(&roots[..1], further, told, has_mounts, records).unwrap()
}

/// Start files of programs that no list has: some of those that were found by trying.
const UNLISTED: &[&str] = &[
    ".a-product-of-tomorrow/run",
    ".codeium/windsurf/mcp_config.json",
    ".config/Claude/claude_desktop_config.json",
    ".config/a-product-of-tomorrow/run",
    ".config/polybar/config",
    ".eslintrc.js",
    ".jupyter/jupyter_server_config.py",
    ".local/share/a-product/plugin.so",
    ".node_modules/x.js",
    ".rustup/toolchains/x/bin/rustc",
    ".sbt/1.0/plugins.sbt",
    ".zsh/a.zsh",
    ".pylintrc",
];

#[test]
fn whatever_comes_below_a_name_with_a_dot_is_put_aside_but_for_what_programs_write_by_themselves() {
    for has_mounts in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let (mut guard, _) = guarded(&home, &[".named/x"], has_mounts);
        UNLISTED.iter().for_each(|name| put(&home, name, "evil"));
        symlink("plain", home.join(".linked")).unwrap();
        let stay = [
            ".cache/x/y",
            ".cargo/registry/x",
            ".bash_history",
            ".local/share/Trash/files/x",
            ".npm/_cacache/x",
            ".gitignore",
            ".sbt/boot/x",
            ".trees/one/src/main.rs",
            ".named/x",
            "plain/.x",
            // What is hidden is the daemon's, or a person's.
            ".config/own/settings.json",
            ".own",
            ".local/share/own/x",
        ];
        stay.iter().for_each(|name| put(&home, name, "made"));
        let done = guard.finish();
        UNLISTED.iter().for_each(|name| assert!(!home.join(name).exists(), "{name}: {done:?}"));
        assert!(fs::symlink_metadata(home.join(".linked")).is_err(), "{done:?}");
        stay.iter().for_each(|name| assert!(home.join(name).exists(), "{name}: {done:?}"));
        // What lies aside is nothing that came.
        assert!(guarded(&home, &[], has_mounts).0.finish().is_empty());
    }
}

#[test]
fn what_was_there_is_mounted_or_left_and_what_words_name_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let there = [
        ".product/run",
        ".config/other/x",
        ".config/product/run",
        ".local/share/product/x",
        ".startrc",
        ".cache/x",
        ".config/own/settings.json",
        "plain/x",
        ".gitignore",
    ];
    there.iter().for_each(|name| put(&home, name, "a person's"));
    symlink("plain", home.join(".linked")).unwrap();
    let covered = |named: &[&str]| {
        let covered = guarded(&home, named, true).1;
        let below = covered.iter().map(|path| path.strip_prefix(&home).unwrap().to_str().unwrap().to_owned());
        below.collect::<Vec<_>>()
    };
    assert_eq!(covered(&[]), [".config", ".local/share/product", ".product", ".startrc"]);
    assert_eq!(covered(&[""]), covered(&[]), "whoever names the home says nothing of what is in it");
    let named = covered(&[".config/product/run", ".startrc"]);
    assert_eq!(named, [".config/other", ".local/share/product", ".product"]);
    let (mut guard, _) = guarded(&home, &[".config/product/run"], true);
    put(&home, ".config/product/run", "named");
    put(&home, ".config/product/other", "evil");
    let done = guard.finish();
    assert!(
        home.join(".config/product/run").exists() && !home.join(".config/product/other").exists(),
        "{done:?}"
    );
    assert!(home.join(".config/other/x").exists() && home.join(".product/run").exists(), "{done:?}");
    // Without mounts a file is compared, and of a folder that was there only what lists have.
    let (mut guard, covered) = guarded(&home, &[], false);
    assert!(covered.is_empty());
    put(&home, ".startrc", "evil");
    put(&home, ".product/state", "a person's program wrote it");
    put(&home, ".local/share/new/x", "evil");
    fs::remove_file(home.join(".linked")).unwrap();
    symlink("elsewhere", home.join(".linked")).unwrap();
    let done = guard.finish();
    assert_eq!(fs::read_to_string(home.join(".startrc")).unwrap(), "a person's", "{done:?}");
    assert_eq!(fs::read_link(home.join(".linked")).unwrap(), Path::new("plain"), "{done:?}");
    assert!(!home.join(".local/share/new").exists() && home.join(".product/state").exists(), "{done:?}");
}

//! What becomes of places that no row names while commands go on.

use std::os::unix::fs::symlink;

use super::*;
use crate::{
    autorun::{AutorunGuard, AutorunGuards, WritesTold},
    workspace_reports::WorkspaceReports,
};

const NO_HOME: (&[PathBuf], bool) = (&[], false);

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn at_home(home: &Path, path: Option<&OsStr>) -> FurtherPlaces {
    let secrets: Vec<PathBuf> = sandbox::secrets(home).collect();
    let secrets = with_ends(secrets.iter().map(PathBuf::as_path));
    FurtherPlaces { places: of_home(home, path), secrets, ..FurtherPlaces::default() }
}

fn guarded(root: &Path, further: FurtherPlaces, has_covers: bool) -> (AutorunGuard, Vec<PathBuf>) {
    let records = (WorkspaceReports::default(), &AutorunGuards::default(), Path::new(""));
    AutorunGuard::over(&[root.to_owned()], further, WritesTold::default(), has_covers, records).unwrap()
}

#[test]
fn what_a_home_is_missing_is_put_aside_when_it_comes_and_folders_without_files_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let path = ["bin", "opt/x/bin"].map(|name| home.join(name).display().to_string()).join(":");
    put(&home.join(".aws/credentials"), "a person's");
    let (mut guard, _) = guarded(&home, at_home(&home, Some(OsStr::new(&path))), false);
    let come = [
        ".cargo/config.toml",
        ".ccache/ccache.conf",
        ".cache/gitstatus/gitstatusd-linux-x86_64",
        ".local/share/dbus-1/services/x.service",
        ".config/mpv/scripts/x.lua",
        "bin/python3",
        "opt/x/bin/ls",
    ];
    come.iter().for_each(|name| put(&home.join(name), "evil"));
    // Under another name they would be hidden from nobody, whoever made them.
    let keys = [".ssh/config", ".netrc", ".config/gh/hosts.yml", ".kube/config", ".mozilla/firefox/x"];
    keys.iter().for_each(|name| put(&home.join(name), "a key"));
    let stay = [".kube/cache/x", ".cargo/registry/x", ".docker/buildx/x", ".bash_history", ".aws/sso/x"];
    stay.iter().for_each(|name| put(&home.join(name), "made"));
    // As the daemon makes it, to hide it.
    fs::create_dir_all(home.join(".agents/skills")).unwrap();
    let done = guard.finish();
    come.iter().for_each(|name| assert!(!home.join(name).exists(), "{name}: {done:?}"));
    stay.iter().chain(&keys).for_each(|name| assert!(home.join(name).exists(), "{name}: {done:?}"));
    assert!(home.join(".agents/skills").exists() && home.join(".not-run/bin.not-run-0/python3").exists());
    assert!(done.last().unwrap().starts_with("7 more files"), "{done:?}");
    assert!(
        done.iter().any(|done| done.contains("`.config/gh` came to be") && done.contains("was left there"))
    );
    // Hidden where they are there, so no mount is to show them again.
    let covered = guarded(&home, at_home(&home, Some(OsStr::new(&path))), true).1;
    assert!(!covered.iter().any(|path| path.starts_with(home.join(".aws"))), "{covered:?}");
}

#[test]
fn a_link_by_which_such_a_place_comes_is_put_aside_and_one_of_a_persons_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    put(&home.join("dotfiles/config/x"), "a person's");
    symlink("dotfiles/config", home.join(".config")).unwrap();
    let (mut guard, _) = guarded(&home, at_home(&home, None), false);
    put(&home.join("plain/config.toml"), "evil");
    symlink("plain", home.join(".cargo")).unwrap();
    put(&home.join(".config/mpv/scripts/x.lua"), "evil");
    let done = guard.finish();
    assert!(home.join(".config/x").exists() && !home.join(".cargo").exists(), "{done:?}");
    assert_eq!(fs::read_link(home.join(".not-run/.cargo.not-run-0")).unwrap(), Path::new("plain"));
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(done.iter().any(|done| done.contains("`.config/mpv`") && done.contains("a link leads there")));
}

#[test]
fn what_links_in_kept_folders_lead_to_is_kept_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    put(&root.join("conf/tasks.json"), "a person's");
    put(&root.join("shared/s/SKILL.md"), "a person's");
    put(&root.join(".vscode/settings.json"), "{}");
    put(&root.join(".claude/settings.json"), "{}");
    symlink("../conf/tasks.json", root.join(".vscode/tasks.json")).unwrap();
    symlink("../shared", root.join(".claude/skills")).unwrap();
    let further = further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
    let (mut guard, _) = guarded(&root, further, false);
    put(&root.join("conf/tasks.json"), "evil");
    put(&root.join("shared/new/SKILL.md"), "evil");
    put(&root.join("conf/other.json"), "made");
    let done = guard.finish();
    assert_eq!(fs::read_to_string(root.join("conf/tasks.json")).unwrap(), "a person's", "{done:?}");
    assert!(!root.join("shared/new/SKILL.md").exists() && root.join("conf/other.json").exists(), "{done:?}");
}

#[test]
fn the_end_of_a_link_on_the_way_stays_and_a_folder_that_cannot_be_listed_hides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    put(&root.join("cfg/mise/config.toml"), "a person's");
    put(&root.join("other/mise/config.toml"), "evil");
    symlink("cfg", root.join(".config")).unwrap();
    let further = || further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
    let (mut guard, _) = guarded(&root, further(), true);
    fs::remove_file(root.join(".config")).unwrap();
    symlink("other", root.join(".config")).unwrap();
    let done = guard.finish();
    assert_eq!(fs::read_link(root.join(".config")).unwrap(), Path::new("cfg"), "{done:?}");
    // Deep folders without files, made before, switch nothing off.
    fs::create_dir_all(root.join(".vscode/a/b/c/d/e/f/g")).unwrap();
    let (mut guard, _) = guarded(&root, further(), false);
    put(&root.join(".vscode/tasks.json"), "evil");
    put(&root.join(".claude/agents/y.not-run-0.md"), "evil");
    put(&root.join(".husky/pre-commit"), "evil");
    let mode = |name: &str, mode: u32| {
        fs::set_permissions(root.join(name), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    mode(".husky", 0o311);
    mode("", 0o311);
    let done = guard.finish();
    for name in [".vscode/tasks.json", ".claude/agents/y.not-run-0.md", ".husky/pre-commit"] {
        assert!(!root.join(name).exists(), "{name}: {done:?}");
    }
}

#[test]
fn a_name_of_a_folder_frees_nothing_that_settings_name_in_it_and_keys_of_any_kind_keep_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
    put(&root.join(".git/config"), "[core]\n\tfsmonitor = tools/fsm.sh\n");
    put(&root.join(".git/worktrees/w/HEAD"), "ref: refs/heads/w\n");
    put(&root.join("tools/fsm.sh"), "# a person's\n");
    let key = root.join(".claude/.credentials.json");
    let further =
        further_places(std::slice::from_ref(&root), &[], std::iter::once(key.as_path()), NO_HOME).unwrap();
    let told = WritesTold { named: vec![root.join("tools")], ..WritesTold::default() };
    let records = (WorkspaceReports::default(), &AutorunGuards::default(), Path::new(""));
    let (mut guard, _) =
        AutorunGuard::over(std::slice::from_ref(&root), further, told, false, records).unwrap();
    put(&root.join("tools/fsm.sh"), "# evil\n");
    put(&root.join(".git/worktrees/w/config.worktree"), "[core]\n\tfsmonitor = ./evil\n");
    put(&root.join(".git/worktrees/w").join(REBASE_TODO), "exec ./evil\n");
    put(&key, "a person's");
    let done = guard.finish();
    assert_eq!(fs::read_to_string(root.join("tools/fsm.sh")).unwrap(), "# a person's\n", "{done:?}");
    assert!(!root.join(".git/worktrees/w/config.worktree").exists(), "{done:?}");
    assert!(!root.join(".git/worktrees/w").join(REBASE_TODO).exists(), "{done:?}");
    assert!(key.exists(), "{done:?}");
}

#[test]
fn what_an_envrc_has_evaluated_is_what_it_was_but_for_what_nix_writes_itself() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    put(
        &root.join(".envrc"),
        "use flake\nsource_env_if_exists env/more.sh\n. ./env/plain\nsource_env \"$X/y\"\n",
    );
    let names = ["flake.nix", "env/more.sh", "env/plain"];
    names.iter().for_each(|name| put(&root.join(name), "a person's"));
    let further = further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
    let (mut guard, _) = guarded(&root, further, false);
    names.iter().chain(&["flake.lock", "env/other"]).for_each(|name| put(&root.join(name), "evil"));
    let done = guard.finish();
    for name in names {
        assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "a person's", "{name}: {done:?}");
    }
    assert!(root.join("flake.lock").exists() && root.join("env/other").exists(), "{done:?}");
}

#[test]
fn hooks_included_settings_and_programs_that_git_names_are_what_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let settings = "[core]\n\thooksPath = .tools/hooks\n\tfsmonitor = tools/fsm.sh\n[include]\n\tpath = ../conf/inc\n\
                    [filter \"q\"]\n\tclean = ./tools/filter.sh %f\n\
                    [alias]\n\tb = !make build && cat out/text\n\tst = status\n\tr = !./run\n\tp = log -- out/text\n\
                    [diff \"q\"]\n\ttextconv = out/tool\n";
    let named = [".tools/hooks/pre-commit", "tools/fsm.sh", "tools/filter.sh", "conf/inc", "run"];
    put(&root.join(".git/config"), settings);
    put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
    named.iter().for_each(|name| put(&root.join(name), "# a person's\n"));
    let products = ["build", "make", "status", "out/text", "out/tool"];
    products.iter().for_each(|name| put(&root.join(name), "old\0"));
    let further = further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
    let (mut guard, _) = guarded(&root, further.clone(), false);
    named.iter().for_each(|name| put(&root.join(name), "# evil\n"));
    put(&root.join(".tools/hooks/post-commit"), "# evil\n");
    put(&root.join("tools/other.sh"), "# made\n");
    // What builds make, although words of the settings are named so.
    products.iter().for_each(|name| put(&root.join(name), "new\0"));
    let done = guard.finish();
    // Five, and one more.
    assert_eq!(done.len(), 6, "{done:?}");
    for name in products {
        assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "new\0", "{name}: {done:?}");
    }
    for name in named {
        assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "# a person's\n", "{name}: {done:?}");
    }
    assert!(!root.join(".tools/hooks/post-commit").exists() && root.join("tools/other.sh").exists());
    let covered = guarded(&root, further, true).1;
    let mut expected =
        ["tools/fsm.sh", "tools/filter.sh", "conf/inc", ".tools/hooks", "run"].map(|name| root.join(name));
    expected.sort();
    assert_eq!(covered, expected);
}

/// A person may begin and go on with a rebase meanwhile, so only lines that run something and were not there count.
#[test]
fn a_rebase_that_a_command_made_up_runs_nothing_and_one_of_a_persons_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let todo = root.join(".git").join(REBASE_TODO);
    put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
    let guard = |has_covers| {
        let further = further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
        guarded(&root, further, has_covers)
    };
    let is_left = |before: Option<&str>, after: &str| {
        match before {
            Some(before) => put(&todo, before),
            None => drop(fs::remove_file(&todo)),
        }
        let (mut guard, covered) = guard(true);
        assert!(!covered.contains(&todo), "git puts others in its place");
        put(&todo, after);
        let done = guard.finish();
        assert_eq!(done.is_empty(), fs::read_to_string(&todo).unwrap_or_default() == after, "{done:?}");
        done.is_empty()
    };
    assert!(is_left(None, "pick 1 a\nedit 2 x\n"));
    assert!(!is_left(None, "pick 1 a\n\texec touch x\n"));
    assert!(!is_left(None, "x touch x\n"));
    assert!(is_left(Some("pick 1 a\nexec make\npick 2 b\nexec make\n"), "pick 2 b\nexec make\n"));
    assert!(!is_left(Some("pick 1 a\nexec make\n"), "exec touch x\n"));
    for (name, own, foreign) in [
        ("rebase-merge/strategy", "ort\n", "../../ev\n"),
        ("sequencer/opts", "[options]\n\tstrategy = ort\n", "[options]\n\tstrategy = ../../ev\n"),
    ] {
        let path = root.join(".git").join(name);
        for text in [own, foreign] {
            let (mut guard, _) = guard(false);
            put(&path, text);
            let done = guard.finish();
            assert_eq!(fs::read_to_string(&path).unwrap(), own, "{name}: {done:?}");
        }
    }
}

#[test]
fn where_a_kept_name_leads_that_is_a_link_itself_is_kept_also_where_nothing_is_yet() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let names = ["tools/vscode/tasks.json", "real/zed/tasks.json", "conf/pc.yaml", "githooks/pre-commit"];
    names.iter().for_each(|name| put(&root.join(name), "a person's"));
    put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
    for folder in [".git/objects", ".git/refs", "other/zed", "conf/hooks"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for (to, name) in [
        ("tools/vscode", ".vscode"),
        ("dot/zed", ".zed"),
        ("real", "dot"),
        ("conf/pc.yaml", ".pre-commit-config.yaml"),
        ("conf/envrc", ".envrc"),
        ("../githooks", ".git/hooks"),
        ("../conf/hooks/post-merge", "githooks/post-merge"),
    ] {
        symlink(to, root.join(name)).unwrap();
    }
    let further = further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
    let (mut guard, _) = guarded(&root, further, false);
    names.iter().for_each(|name| put(&root.join(name), "evil"));
    let planted = ["tools/vscode/launch.json", "githooks/pre-push", "conf/hooks/post-merge", "conf/envrc"];
    planted.iter().for_each(|name| put(&root.join(name), "evil"));
    put(&root.join("conf/other"), "made");
    fs::remove_file(root.join("dot")).unwrap();
    symlink("other", root.join("dot")).unwrap();
    let done = guard.finish();
    for name in names {
        assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "a person's", "{name}: {done:?}");
    }
    planted.iter().for_each(|name| assert!(!root.join(name).exists(), "{name}: {done:?}"));
    assert_eq!(fs::read_link(root.join("dot")).unwrap(), Path::new("real"), "{done:?}");
    assert!(root.join("conf/other").exists(), "{done:?}");
}

#[test]
fn a_link_on_the_way_to_what_settings_name_leads_where_it_led() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
    put(&root.join(".git/config"), "[core]\n\tfsmonitor = tools/fsm.sh\n\thooksPath = hooks/h\n");
    ["objects", "refs"].iter().for_each(|name| fs::create_dir(root.join(".git").join(name)).unwrap());
    for (folder, text) in [("real", "a person's"), ("evil", "evil")] {
        put(&root.join(folder).join("fsm.sh"), text);
        put(&root.join(folder).join("h/pre-commit"), text);
    }
    let names = ["tools", "hooks"];
    names.iter().for_each(|name| symlink("real", root.join(name)).unwrap());
    for has_covers in [false, true] {
        let further = further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
        let (mut guard, covered) = guarded(&root, further, has_covers);
        assert!(!covered.contains(&root.join("real")), "{covered:?}");
        for name in names {
            fs::remove_file(root.join(name)).unwrap();
            symlink("evil", root.join(name)).unwrap();
        }
        let done = guard.finish();
        for name in names {
            assert_eq!(fs::read_link(root.join(name)).unwrap(), Path::new("real"), "{name}: {done:?}");
        }
    }
}

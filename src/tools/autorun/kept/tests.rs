//! What becomes of such files while commands go on.

use super::{super::further::REBASE_TODO, *};

fn guarded(root: &Path, told: WritesTold, has_covers: bool) -> (AutorunGuard, Vec<PathBuf>) {
    beside(root, told, has_covers, &AutorunGuards::default())
}

fn beside(
    root: &Path,
    told: WritesTold,
    has_covers: bool,
    guards: &AutorunGuards,
) -> (AutorunGuard, Vec<PathBuf>) {
    let records = (WorkspaceReports::default(), guards, Path::new(""));
    AutorunGuard::over(&[root.to_owned()], FurtherPlaces::default(), told, has_covers, records).unwrap()
}

fn put(root: &Path, name: &str, text: &str) {
    fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
    fs::write(root.join(name), text).unwrap();
}

fn read(root: &Path, name: &str) -> String {
    fs::read_to_string(root.join(name)).unwrap_or_default()
}

/// Every row that is kept: what comes is put aside, and what is changed is what it was; of the others nothing is touched.
#[test]
fn what_a_command_makes_of_each_row_that_no_build_writes_is_not_run() {
    for row in AUTOMATIC {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let name = row.path.replace('*', "x");
        let (mut guard, _) = guarded(&root, WritesTold::default(), false);
        put(&root, &name, "evil");
        let done = guard.finish();
        assert_eq!(root.join(&name).exists(), !row.is_kept, "{name}: {done:?}");
        assert_eq!(done.len(), usize::from(row.is_kept), "{name}: {done:?}");
        if !row.is_kept {
            continue;
        }
        put(&root, &name, "a person's");
        let (mut guard, _) = guarded(&root, WritesTold::default(), false);
        fs::remove_file(root.join(&name)).unwrap();
        put(&root, &name, "evil");
        let done = guard.finish();
        assert_eq!(read(&root, &name), "a person's", "{done:?}");
        assert_eq!(guarded(&root, WritesTold::default(), true).1, [root.join(&name)]);
    }
}

/// Mounts keep what is there from a server; what comes at a call is put aside at its end.
#[test]
fn of_a_server_what_is_there_is_covered_and_what_comes_at_a_call_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    put(&root, ".vscode/settings.json", "{}");
    put(&root, "src/main.rs", "");
    let covered = AutorunGuard::covers(std::slice::from_ref(&root), FurtherPlaces::default());
    assert_eq!(covered, [root.join(".vscode")]);
    let told = WritesTold { is_of_server: true, ..WritesTold::default() };
    let (mut guard, _) = guarded(&root, told, false);
    for name in [".envrc", ".vscode/settings.json", "src/main.rs"] {
        put(&root, name, "evil");
    }
    assert_eq!(guard.finish().len(), 2);
    assert!(!root.join(".envrc").exists());
    assert_eq!(read(&root, ".vscode/settings.json"), "{}");
    assert_eq!(read(&root, "src/main.rs"), "evil");
}

#[test]
fn folders_links_what_is_named_and_what_goes_on_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    put(&root, ".vscode/settings.json", "{}");
    put(&root, ".vscode/big.json", &"x".repeat(300_000));
    put(&root, ".husky/pre-commit", "true");
    put(&root, "shared/mcp.json", "{}");
    std::os::unix::fs::symlink("shared/mcp.json", root.join(".mcp.json")).unwrap();
    let (guard, covered) = guarded(&root, WritesTold::default(), true);
    drop(guard);
    assert_eq!(covered, [".husky/pre-commit", "shared/mcp.json", ".vscode"].map(|name| root.join(name)));
    let (mut guard, covered) = guarded(&root, WritesTold::default(), false);
    assert!(covered.is_empty());
    put(&root, ".vscode/tasks.json", "evil");
    put(&root, ".vscode/big.json", "evil");
    put(&root, ".husky/_/h", "made by its runner");
    put(&root, ".husky/pre-push", "evil");
    fs::remove_file(root.join(".mcp.json")).unwrap();
    put(&root, ".mcp.json", "evil");
    // The same again is no change.
    put(&root, ".vscode/settings.json", "{}");
    let done = guard.finish();
    assert_eq!(done.len(), 4, "{done:?}");
    assert!(!root.join(".vscode/tasks.json").exists() && !root.join(".husky/pre-push").exists());
    assert!(root.join(".husky/_/h").exists());
    assert_eq!(fs::read_link(root.join(".mcp.json")).unwrap(), Path::new("shared/mcp.json"));
    assert_eq!(read(&root, ".not-run/.vscode--big.json.not-run-0"), "evil");
    assert!(done.iter().any(|done| done.contains("was not kept")), "{done:?}");
    assert!(guard.finish().is_empty());
    let named = WritesTold { named: vec![root.join(".envrc"), root.clone()], ..WritesTold::default() };
    let (mut guard, _) = guarded(&root, named, false);
    put(&root, ".envrc", "use flake");
    put(&root, ".autoenv", "evil");
    assert_eq!(guard.finish().len(), 1);
    assert!(root.join(".envrc").exists(), "whoever allowed it was told");
}

/// A log in the folder of a product's settings is a usual place for one; who names it has not named the settings.
#[test]
fn what_words_name_within_a_folder_frees_nothing_else_of_it() {
    for was_there in [false, true] {
        for has_covers in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            if was_there {
                put(&root, ".claude/settings.json", "a person's");
            }
            let told = WritesTold { named: vec![root.join(".claude/hooks.log")], ..WritesTold::default() };
            let (mut guard, covered) = guarded(&root, told, has_covers);
            assert!(covered.is_empty(), "what is named can be written: {covered:?}");
            put(&root, ".claude/hooks.log", "one");
            put(&root, ".claude/settings.json", "evil");
            put(&root, ".claude/agents/x.md", "evil");
            assert_eq!(guard.finish().len(), 2, "{was_there} {has_covers}");
            assert_eq!(read(&root, ".claude/hooks.log"), "one");
            assert!(!root.join(".claude/agents/x.md").exists());
            assert_eq!(root.join(".claude/settings.json").exists(), was_there);
            assert!(!was_there || read(&root, ".claude/settings.json") == "a person's");
        }
    }
}

/// A hook makes the folder for its log, and runs the workspace's code beside it.
#[test]
fn a_hook_that_makes_or_clears_a_folder_has_not_named_what_is_in_it() {
    for was_there in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        if was_there {
            put(&root, ".claude/settings.json", "a person's");
        }
        let named = vec![root.join(".claude")];
        let told = WritesTold { named, keeps_data: true, ..WritesTold::default() };
        let (mut guard, _) = guarded(&root, told, false);
        put(&root, ".claude/logs/a.jsonl", "{}");
        put(&root, ".claude/settings.json", "evil");
        assert_eq!(guard.finish().len(), 1, "{was_there}");
        assert!(!was_there || read(&root, ".claude/settings.json") == "a person's");
        assert_eq!(root.join(".claude/settings.json").exists(), was_there);
    }
}

/// What one has planted is no person's for the next, in whatever order they end.
#[test]
fn what_one_command_planted_is_put_aside_although_another_began_since() {
    for first_ends_first in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        put(&root, ".exrc", "a person's");
        put(&root, ".vscode/settings.json", "a person's");
        let guards = AutorunGuards::default();
        let plain = || beside(&root, WritesTold::default(), false, &guards).0;
        let mut first = plain();
        for name in [".exrc", ".envrc", ".vscode/tasks.json", ".vscode/settings.json", ".zed/tasks.json"] {
            put(&root, name, "evil");
        }
        let mut second = plain();
        if first_ends_first {
            assert_eq!(first.finish().len(), 5);
            assert!(second.finish().is_empty());
        } else {
            // What was so when it began is left to the other's end; what is its own is not.
            put(&root, ".autoenv", "evil");
            let done = second.finish();
            assert!(done.len() == 1 && done[0].contains("`.autoenv`"), "{done:?}");
            assert_eq!(read(&root, ".envrc"), "evil");
            assert_eq!(first.finish().len(), 5);
        }
        for name in [".envrc", ".vscode/tasks.json", ".zed/tasks.json"] {
            assert!(!root.join(name).exists(), "{name}");
        }
        assert_eq!(read(&root, ".exrc"), "a person's");
        assert_eq!(read(&root, ".vscode/settings.json"), "a person's");
        // Whoever plants the same again when the other has ended does so alone.
        let (mut first, planted) = (plain(), "evil, too");
        put(&root, ".envrc", planted);
        let mut second = plain();
        assert_eq!(first.finish().len(), 1);
        put(&root, ".envrc", planted);
        assert_eq!(second.finish().len(), 1);
        assert!(!root.join(".envrc").exists());
        // One that begins when they are over takes what is there for what was there.
        put(&root, ".envrc", "a person's");
        assert!(plain().finish().is_empty());
    }
}

#[test]
fn what_somebody_writes_who_may_stays_while_a_command_goes_on_beside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    put(&root, ".exrc", "a person's");
    let guards = AutorunGuards::default();
    let mut goes_on = beside(&root, WritesTold::default(), false, &guards).0;
    // By words that were allowed.
    let told = WritesTold { named: vec![root.join(".envrc")], ..WritesTold::default() };
    let mut named = beside(&root, told, false, &guards).0;
    put(&root, ".envrc", "use flake");
    assert!(named.finish().is_empty());
    // The same while the other one still goes on.
    let told = WritesTold { named: vec![root.join(".autoenv")], ..WritesTold::default() };
    let mut named = beside(&root, told, false, &guards).0;
    put(&root, ".autoenv", "allowed");
    assert!(beside(&root, WritesTold::default(), false, &guards).0.finish().is_empty());
    let mut ends_first = beside(&root, WritesTold::default(), false, &guards).0;
    assert!(ends_first.finish().is_empty());
    assert!(named.finish().is_empty());
    assert_eq!(read(&root, ".autoenv"), "allowed");
    // By a tool; of the second it is another text that is there.
    for (name, written) in [(".zed/tasks.json", "{}"), (".nvim.lua", "asked for")] {
        put(&root, name, "{}");
        guards.allow(&root.join(name), Some(&crate::digest::of(written.as_bytes())));
    }
    put(&root, ".vscode/tasks.json", "evil");
    let done = goes_on.finish();
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(!root.join(".vscode/tasks.json").exists() && !root.join(".nvim.lua").exists(), "{done:?}");
    assert!(root.join(".zed/tasks.json").exists());
    assert_eq!((read(&root, ".envrc"), read(&root, ".exrc")), ("use flake".into(), "a person's".into()));
}

fn git(root: &Path, words: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(root).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = git.output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Whatever else comes while git alone goes on is a command's beside it, also what that stages.
#[test]
fn only_what_git_has_from_before_is_allowed_while_it_goes_on_beside_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    put(&root, ".exrc", "a person's");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "first"]);
    git(&root, &["checkout", "-q", "-b", "other"]);
    put(&root, ".exrc", "of a commit");
    put(&root, ".vscode/settings.json", "of a commit");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "second"]);
    git(&root, &["checkout", "-q", "main"]);
    // The clock of files is coarse: what is made from here on is newer.
    let made = sys::clock::file_time();
    while sys::clock::file_time() == made {
        std::thread::yield_now();
    }
    let guards = AutorunGuards::default();
    let mut goes_on = beside(&root, WritesTold::default(), false, &guards).0;
    let brings = GitBrings { is_plain: true, fetches: false, puts_back: false };
    let told = WritesTold { git: Some(brings), ..WritesTold::default() };
    let mut of_git = beside(&root, told, false, &guards).0;
    git(&root, &["checkout", "-q", "other"]);
    let planted = [".envrc", ".vscode/tasks.json", ".mcp.json"];
    planted.iter().for_each(|name| put(&root, name, "evil"));
    git(&root, &["add", ".mcp.json"]);
    let mut done = of_git.finish();
    done.extend(goes_on.finish());
    planted.iter().for_each(|name| assert!(!root.join(name).exists(), "{name}: {done:?}"));
    assert_eq!(read(&root, ".exrc"), "of a commit", "{done:?}");
    assert_eq!(read(&root, ".vscode/settings.json"), "of a commit", "{done:?}");
}

/// Five are told to the agent, all to the person.
#[test]
fn the_person_is_told_the_name_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let state = tempfile::tempdir().unwrap();
    let reports = WorkspaceReports::new(state.path());
    let records = (reports.clone(), &AutorunGuards::default(), Path::new(""));
    let roots = std::slice::from_ref(&root);
    let further = FurtherPlaces::default();
    let (mut guard, _) = AutorunGuard::over(roots, further, WritesTold::default(), false, records).unwrap();
    let names =
        [".autoenv", ".envrc", ".exrc", ".mcp.json", ".nvim.lua", ".vscode/tasks.json", ".zed/tasks.json"];
    names.iter().for_each(|name| put(&root, name, "evil"));
    let done = guard.finish();
    assert_eq!(done.len(), 6, "{done:?}");
    assert!(done[5].starts_with("2 more files"), "{done:?}");
    let all: String = reports.recent().into_iter().map(|report| report.text).collect();
    names.iter().for_each(|name| {
        assert!(
            all.contains(&format!("`{}`", name.split('/').next().unwrap())) || all.contains(name),
            "{name}: {all}"
        )
    });
}

#[test]
fn what_lies_among_many_files_is_put_aside_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (mut guard, _) = guarded(&root, WritesTold::default(), false);
    // A folder is listed in no order, so some of them come behind all that are looked at.
    (0..40_000).for_each(|number| put(&root, &format!("{number}"), ""));
    let names = [".envrc", ".mcp.json", ".vscode/tasks.json", "lefthook.yml", ".husky/pre-commit"];
    names.iter().for_each(|name| put(&root, name, "evil"));
    let done = guard.finish();
    names.iter().for_each(|name| assert!(!root.join(name).exists(), "{name}: {done:?}"));
}

/// Whoever reads a whole folder does not go by names, so none is a reason to leave something there.
#[test]
fn what_lies_aside_is_nowhere_where_a_program_reads_all_and_no_name_pretends_to_lie_aside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    put(&root, ".claude/agents/mine.md", "a person's");
    // As an earlier version left it.
    put(&root, ".claude/agents/old.md.not-run-0", "put aside before");
    let (mut guard, _) = guarded(&root, WritesTold::default(), false);
    let names =
        [".claude/agents/x.md", ".claude/agents/y.not-run-0", ".husky/pre-commit.not-run-1", ".bashrc.d/z"];
    names.iter().for_each(|name| put(&root, name, "evil"));
    let done = guard.finish();
    names.iter().for_each(|name| assert!(!root.join(name).exists(), "{name}: {done:?}"));
    assert_eq!(fs::read_dir(root.join(".claude/agents")).unwrap().count(), 2, "{done:?}");
    assert_eq!(read(&root, ".not-run/.claude--agents--x.md.not-run-0"), "evil", "{done:?}");
    assert!(done.iter().any(|it| it.contains("lies as `.not-run/.claude--agents--x.md.not-run-0` now")));
}

/// A mount keeps a name, and a file may have two.
#[test]
fn what_is_written_by_another_name_of_a_file_that_a_mount_keeps_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let kept = [".envrc", ".vscode/deep/tasks.json", ".git/config"];
    let other = |name: &str| format!("backup/{name}");
    for name in kept.iter().chain(&[".mcp.json", ".exrc"]) {
        put(&root, name, "a person's");
        fs::create_dir_all(root.join(other(name)).parent().unwrap()).unwrap();
        fs::hard_link(root.join(name), root.join(other(name))).unwrap();
    }
    let guards = AutorunGuards::default();
    let begin = |named: &[&str]| {
        let further = FurtherPlaces { mounted: vec![root.join(".git/config")], ..FurtherPlaces::default() };
        let told =
            WritesTold { named: named.iter().map(|name| root.join(name)).collect(), ..WritesTold::default() };
        AutorunGuard::over(
            std::slice::from_ref(&root),
            further,
            told,
            true,
            (WorkspaceReports::default(), &guards, Path::new("")),
        )
        .unwrap()
        .0
    };
    let mut first = begin(&[".exrc"]);
    for name in kept.iter().chain(&[".exrc"]) {
        // In place, as whoever opens it writes.
        put(&root, &other(name), "evil");
    }
    // A person's editor puts another file in its place.
    put(&root, "new", "a person's, too");
    fs::rename(root.join("new"), root.join(".mcp.json")).unwrap();
    let mut second = begin(&[]);
    let done = first.finish();
    assert_eq!(done.len(), 3, "{done:?}");
    for name in kept {
        assert_eq!(read(&root, name), "a person's", "{name}: {done:?}");
        assert_eq!(read(&root, &other(name)), "evil", "{name}: {done:?}");
    }
    assert_eq!(read(&root, ".mcp.json"), "a person's, too");
    assert_eq!(read(&root, ".exrc"), "evil", "whoever allowed it was told");
    // The second one began when it was evil, and does not bring that back.
    let done = second.finish();
    kept.iter().for_each(|name| assert_eq!(read(&root, name), "a person's", "{name}: {done:?}"));
    // Another name that comes or goes is no change, and what a tool writes stays.
    fs::hard_link(root.join(".envrc"), root.join("h")).unwrap();
    let mut third = begin(&[]);
    put(&root, ".envrc", "asked for");
    guards.allow(&root.join(".envrc"), Some(&crate::digest::of(b"asked for")));
    fs::remove_file(root.join("h")).unwrap();
    assert!(third.finish().is_empty());
    assert_eq!(read(&root, ".envrc"), "asked for");
}

/// One command makes a link that harms nobody, the next one writes where it leads.
#[test]
fn a_link_that_a_command_of_the_session_made_is_put_aside_and_a_persons_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    let root = root.canonicalize().unwrap();
    let session = folder.path().join("session");
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
    put(&root, "persons/x.json", "a person's");
    fs::create_dir_all(root.join(".git")).unwrap();
    link("../persons", ".github");
    fs::remove_file(root.join(".github")).unwrap();
    fs::create_dir(root.join(".github")).unwrap();
    link("../persons", ".github/hooks");
    // The clock of files is coarse: what is made from here on is newer.
    let made = sys::clock::file_time();
    while sys::clock::file_time() == made {
        std::thread::yield_now();
    }
    fs::create_dir(&session).unwrap();
    let begin = || {
        let further = FurtherPlaces {
            places: vec![shell::AutorunPlace { path: root.join(".git").join(REBASE_TODO), why: "git" }],
            ..FurtherPlaces::default()
        };
        let records = (WorkspaceReports::default(), &AutorunGuards::default(), session.as_path());
        AutorunGuard::over(std::slice::from_ref(&root), further, WritesTold::default(), false, records)
            .unwrap()
            .0
    };
    let mut first = begin();
    fs::create_dir(root.join("rb")).unwrap();
    fs::create_dir(root.join("hk")).unwrap();
    link("../rb", ".git/rebase-merge");
    link("hk", ".husky");
    first.finish();
    let mut second = begin();
    put(&root, "rb/git-rebase-todo", "exec evil\n");
    put(&root, "hk/pre-commit", "evil");
    put(&root, "hk/pre-push", "evil");
    put(&root, "persons/y.json", "evil");
    let done = second.finish();
    for name in [".git/rebase-merge", ".husky"] {
        assert!(fs::symlink_metadata(root.join(name)).is_err(), "{name}: {done:?}");
        assert!(done.iter().any(|done| done.contains(&format!("`{name}` came to be"))), "{name}: {done:?}");
    }
    assert_eq!(read(&root, "rb/git-rebase-todo"), "exec evil\n", "what it leads to stays");
    assert!(fs::symlink_metadata(root.join(".github/hooks")).is_ok(), "{done:?}");
}

/// A mount goes with the file over which it lies, also in what another command sees.
#[test]
fn what_a_command_writes_where_git_took_its_mounts_away_is_put_aside_but_for_what_git_has() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    let names = [".envrc", ".exrc", ".vscode/tasks.json", ".zed/tasks.json", ".nvim.lua"];
    names.iter().for_each(|name| put(&root, name, "a person's"));
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "first"]);
    // The clock of files is coarse: what is made from here on is newer.
    let made = sys::clock::file_time();
    while sys::clock::file_time() == made {
        std::thread::yield_now();
    }
    let guards = AutorunGuards::default();
    let again = |name: &str, text: &str| {
        fs::remove_file(root.join(name)).unwrap();
        if let Some(folder) = Path::new(name).parent().filter(|it| !it.as_os_str().is_empty()) {
            fs::remove_dir(root.join(folder)).unwrap();
        }
        put(&root, name, text);
    };
    let mut alone = beside(&root, WritesTold::default(), true, &guards).0;
    again(".exrc", "a person's, too");
    assert!(alone.finish().is_empty(), "no git went on beside it");
    put(&root, ".exrc", "a person's");
    let mut goes_on = beside(&root, WritesTold::default(), true, &guards).0;
    guards.git_begins();
    for name in [".envrc", ".vscode/tasks.json"] {
        again(name, "evil");
    }
    again(".exrc", "a person's");
    again(".nvim.lua", "wanted");
    guards.allow(&root.join(".nvim.lua"), Some(&crate::digest::of(b"wanted")));
    put(&root, ".zed/tasks.json", "behind its mount");
    let done = goes_on.finish();
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(!root.join(".envrc").exists() && !root.join(".vscode/tasks.json").exists(), "{done:?}");
    let kept = [".exrc", ".nvim.lua", ".zed/tasks.json"].map(|name| read(&root, name));
    assert_eq!(kept, ["a person's", "wanted", "behind its mount"], "{done:?}");
}

//! Files at kept places that git brings while a line of it goes on, and others that come meanwhile.

use std::{
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::Command,
};

use super::{
    super::{super::further::FurtherPlaces, AutorunGuards, WritesTold},
    *,
};
use crate::workspace_reports::WorkspaceReports;

fn git(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = git.output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn commit(root: &Path) {
    git(root, &["add", "-f", "-A"]);
    git(root, &["commit", "-q", "-m", "x"]);
}

/// The clock of files is coarse: what is made from here on is newer.
fn tick() {
    let made = sys::clock::file_time();
    while sys::clock::file_time() == made {
        std::thread::yield_now();
    }
}

fn guard(root: &Path, brings: Option<GitBrings>, guards: &AutorunGuards) -> AutorunGuard {
    let told = WritesTold { git: brings, ..WritesTold::default() };
    // Without it, the session is as old as the command.
    let session = root.join(".git/session");
    let records = (WorkspaceReports::default(), guards, session.as_path());
    let roots = [root.to_owned()];
    AutorunGuard::over(&roots, FurtherPlaces::default(), told, false, records).unwrap().0
}

const OLD: GitBrings = GitBrings { is_plain: false, fetches: false, puts_back: false };
const NEW: GitBrings = GitBrings { is_plain: true, fetches: false, puts_back: false };
const FETCHED: GitBrings = GitBrings { is_plain: true, fetches: true, puts_back: false };
const BACK: GitBrings = GitBrings { is_plain: false, fetches: false, puts_back: true };

/// The names that are there at the end of a line of git, of those that `work` wrote since it began in a repository.
fn left(brings: Option<GitBrings>, is_beside: bool, work: impl Fn(&Path), names: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    put(&root, ".vscode/settings.json", "of main");
    put(&root, "large", &"x".repeat(300 << 10));
    put(&root, "hook", "of a commit");
    commit(&root);
    git(&root, &["switch", "-q", "-c", "other"]);
    for name in [".envrc", ".vscode/tasks.json", ".claude/settings.json", ".husky/pre-commit"] {
        put(&root, name, "of other");
    }
    put(&root, ".vscode/large.json", &"y".repeat(300 << 10));
    fs::set_permissions(root.join(".husky/pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("of-other", root.join(".exrc")).unwrap();
    put(&root, ".gitattributes", ".nvim.lua text eol=crlf\n");
    put(&root, ".nvim.lua", "of\nother\n");
    commit(&root);
    git(&root, &["switch", "-q", "main"]);
    put(&root, ".envrc", "of a stash");
    git(&root, &["stash", "-q", "-u"]);
    tick();
    let guards = AutorunGuards::default();
    let mut beside = is_beside.then(|| guard(&root, None, &guards));
    let mut alone = guard(&root, brings, &guards);
    tick();
    work(&root);
    alone.finish();
    beside.iter_mut().for_each(|beside| drop(beside.finish()));
    let is_there = |name: &&&str| fs::symlink_metadata(root.join(name)).is_ok();
    names.iter().filter(is_there).map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_git_checks_out_is_left_whatever_it_is_and_nothing_else() {
    let other = [
        ".envrc",
        ".vscode/tasks.json",
        ".vscode/large.json",
        ".claude/settings.json",
        ".husky/pre-commit",
        ".exrc",
        ".nvim.lua",
    ];
    let switch = |root: &Path| {
        git(root, &["switch", "-q", "other"]);
        put(root, ".mcp.json", "evil");
        put(root, ".claude/agents/x.md", "evil");
    };
    let mut all = other.to_vec();
    all.extend([".mcp.json", ".claude/agents/x.md"]);
    for (brings, is_beside) in [(OLD, false), (NEW, false), (BACK, false), (OLD, true), (NEW, true)] {
        assert_eq!(left(Some(brings), is_beside, switch, &all), other, "{brings:?}, {is_beside}");
    }
    assert!(left(None, false, switch, &all).is_empty(), "git that brings nothing counts as a script");
}

#[test]
fn what_a_program_puts_into_the_index_counts_only_where_git_runs_none_and_nobody_else_goes_on() {
    let staged = |root: &Path| {
        put(root, ".envrc", "evil");
        put(root, ".vscode/settings.json", "evil");
        git(root, &["add", "-f", "."]);
    };
    assert!(left(Some(OLD), false, staged, &[".envrc"]).is_empty());
    assert!(left(Some(BACK), false, staged, &[".envrc"]).is_empty());
    assert!(left(Some(NEW), true, staged, &[".envrc"]).is_empty());
    // As a fetch or a merge brings it.
    assert_eq!(left(Some(NEW), false, staged, &[".envrc"]), [".envrc"]);
    let elsewhere = |root: &Path| {
        git(root, &["init", "-q", ".claude"]);
        put(root, ".claude/settings.json", "evil");
        commit(&root.join(".claude"));
    };
    assert!(left(Some(NEW), false, elsewhere, &[".claude/settings.json"]).is_empty(), "another repository");
    let waits = |root: &Path| {
        put(root, ".vscode/settings.json", "mine");
        git(root, &["commit", "-q", "-a", "-m", "x"]);
        git(root, &["switch", "-q", "--detach", "HEAD~1"]);
        put(root, ".envrc", "<<<<<<<\nmine\n>>>>>>>\n");
    };
    assert!(left(Some(NEW), false, waits, &[".envrc"]).is_empty(), "in no object");
}

#[test]
fn what_a_stash_holds_is_put_back_by_its_bytes_and_is_run_by_nobody() {
    let stashed = |root: &Path| {
        git(root, &["stash", "pop", "-q"]);
        put(root, ".mcp.json", "evil");
        // Commits have these at other paths.
        put(root, ".claude/settings.json", "of a commit");
        put(root, ".husky/pre-commit", "of a stash");
        fs::set_permissions(root.join(".husky/pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("of a stash", root.join(".exrc")).unwrap();
    };
    let names = [".envrc", ".mcp.json", ".claude/settings.json", ".husky/pre-commit", ".exrc"];
    assert_eq!(left(Some(BACK), false, stashed, &names), [".envrc"]);
    assert!(left(Some(OLD), false, stashed, &names).is_empty());
    assert!(left(Some(NEW), false, stashed, &names).is_empty());
}

/// A repository at `main`, with a script's branch `evil`, and the guards of a daemon that ran the script.
fn with_evil_branch() -> (tempfile::TempDir, PathBuf, AutorunGuards) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    put(&root, ".vscode/settings.json", "of main");
    commit(&root);
    tick();
    let guards = AutorunGuards::default();
    fs::create_dir(root.join(".git/session")).unwrap();
    let script = guard(&root, None, &guards);
    tick();
    git(&root, &["switch", "-q", "-c", "evil"]);
    put(&root, ".envrc", "evil");
    put(&root, ".vscode/settings.json", "evil");
    commit(&root);
    git(&root, &["switch", "-q", "main"]);
    tick();
    drop(script);
    tick();
    (folder, root, guards)
}

fn does(root: &Path, brings: GitBrings, guards: &AutorunGuards, words: &[&str]) -> Vec<String> {
    let mut line = guard(root, Some(brings), guards);
    tick();
    git(root, words);
    tick();
    line.finish()
}

#[test]
fn what_a_script_made_is_not_brought_by_a_later_line_of_git() {
    for (brings, words) in [
        (NEW, &["switch", "-q", "evil"][..]),
        (NEW, &["merge", "-q", "--no-edit", "evil"]),
        (NEW, &["reset", "-q", "--hard", "evil"]),
        (FETCHED, &["reset", "-q", "--hard", "evil"]),
        (BACK, &["restore", "--source=evil", "."]),
        (GitBrings { puts_back: true, ..NEW }, &["restore", "--source=evil", "."]),
    ] {
        let (_folder, root, guards) = with_evil_branch();
        let done = does(&root, brings, &guards, words);
        assert!(!root.join(".envrc").exists(), "{words:?}: {done:?}");
        assert_eq!(fs::read_to_string(root.join(".vscode/settings.json")).unwrap(), "of main", "{words:?}");
        assert_eq!(done.len(), 2, "{words:?}: {done:?}");
    }
}

#[test]
fn what_a_person_made_while_no_agents_program_ran_is_brought() {
    let (_folder, root, guards) = with_evil_branch();
    git(&root, &["switch", "-q", "-c", "mine"]);
    put(&root, ".envrc", "mine");
    commit(&root);
    git(&root, &["switch", "-q", "main"]);
    tick();
    assert!(does(&root, NEW, &guards, &["switch", "-q", "mine"]).is_empty());
    assert_eq!(fs::read_to_string(root.join(".envrc")).unwrap(), "mine");
    // It comes back by what stood there, also where all objects are new.
    let script = guard(&root, None, &guards);
    tick();
    git(&root, &["gc", "-q", "--prune=now"]);
    drop(script);
    assert!(does(&root, NEW, &guards, &["switch", "-q", "main"]).is_empty());
    assert!(does(&root, NEW, &guards, &["switch", "-q", "mine"]).is_empty());
    // A server may have made what came while it went on.
    let server = guards.program_begins(std::slice::from_ref(&root), super::super::AgentProgram::Server);
    tick();
    git(&root, &["switch", "-q", "-c", "served"]);
    put(&root, ".envrc", "served");
    commit(&root);
    git(&root, &["switch", "-q", "mine"]);
    tick();
    drop(server);
    tick();
    assert_eq!(does(&root, NEW, &guards, &["switch", "-q", "served"]).len(), 1);
}

#[test]
fn what_git_fetched_from_elsewhere_is_brought_then_and_later_and_what_came_in_one_line_with_it_is_not() {
    let (_folder, root, guards) = with_evil_branch();
    let origin = tempfile::tempdir().unwrap();
    git(&root, &["clone", "-q", "--no-hardlinks", ".", origin.path().to_str().unwrap()]);
    git(origin.path(), &["switch", "-q", "main"]);
    put(origin.path(), ".envrc", "fetched");
    put(origin.path(), ".exrc", "fetched");
    commit(origin.path());
    git(&root, &["remote", "add", "origin", origin.path().to_str().unwrap()]);
    tick();
    assert!(does(&root, FETCHED, &guards, &["fetch", "-q", "origin"]).is_empty());
    let done = does(&root, NEW, &guards, &["merge", "-q", "--no-edit", "origin/main"]);
    assert_eq!(fs::read_to_string(root.join(".envrc")).unwrap(), "fetched", "{done:?}");
    put(origin.path(), ".exrc", "later");
    commit(origin.path());
    let pull = ["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"];
    let done = does(&root, FETCHED, &guards, &pull);
    assert_eq!(fs::read_to_string(root.join(".exrc")).unwrap(), "later", "{done:?}");
    let done = does(&root, FETCHED, &guards, &["switch", "-q", "evil"]);
    assert_eq!(done.len(), 2, "{done:?}");
}

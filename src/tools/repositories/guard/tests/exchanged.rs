//! Another folder in the place of a repository: whoever holds the one that was there looks at the wrong one.

use std::process::Command;

use super::*;

const EVIL: &str = "[core]\n\tfsmonitor = x\n";
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tworktree = ../../../sm\n";

/// A workspace with a repository of a submodule, and one in a folder.
struct Exchange {
    root: PathBuf,
    _folder: tempfile::TempDir,
}

impl Exchange {
    fn begin() -> Exchange {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        repository(&root);
        repository(&root.join("n"));
        fs::create_dir(root.join(".git/modules")).unwrap();
        repository(&root.join("made"));
        fs::rename(root.join("made/.git"), root.join(".git/modules/sm")).unwrap();
        fs::write(root.join(".git/modules/sm/config"), CONFIG).unwrap();
        fs::create_dir_all(root.join(".git/worktrees/wt")).unwrap();
        for (name, text) in [("HEAD", "ref: refs/heads/b\n"), ("commondir", "../..\n")] {
            fs::write(root.join(".git/worktrees/wt").join(name), text).unwrap();
        }
        fs::create_dir(root.join("sm")).unwrap();
        fs::write(root.join("sm/.git"), "gitdir: ../.git/modules/sm\n").unwrap();
        Exchange { root, _folder: folder }
    }

    fn guarding(&self) -> RepositoryGuard {
        guarding(&self.root, GuardedSettings::Written { named: Vec::new(), is_at_once: false })
    }

    /// Runs the lines in the workspace.
    fn run(&self, script: &str) {
        let done = Command::new("sh").args(["-euc", script]).current_dir(&self.root).status().unwrap();
        assert!(done.success(), "{script}");
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }
}

#[test]
fn settings_and_hooks_of_a_folder_in_the_place_of_a_repository_are_compared_with_those_before() {
    let evil = "printf '[core]\\n\\tfsmonitor = x\\n'";
    let scripts = [
        // All that was there is gone, or lies elsewhere.
        (
            ".git/modules/sm",
            format!(
                "mv .git/modules/sm x; cp -r x .git/modules/sm; {evil} >> .git/modules/sm/config; rm -r x"
            ),
        ),
        (
            ".git/modules/sm",
            format!("mv .git/modules/sm x; cp -r x .git/modules/sm; {evil} >> .git/modules/sm/config"),
        ),
        (
            ".git/modules/sm",
            format!("mv .git/modules x; cp -r x .git/modules; {evil} >> .git/modules/sm/config; rm -r x"),
        ),
        (
            ".git/modules/sm",
            "mv .git/modules/sm x; cp -r x .git/modules/sm; echo y > .git/modules/sm/hooks/post-checkout"
                .to_owned(),
        ),
        (
            ".git/modules/sm",
            format!("mv .git/modules x; cp -r x y; {evil} >> y/sm/config; ln -s ../y .git/modules"),
        ),
        (
            ".git/modules/sm",
            "mv .git/modules x; cp -r x .git/modules; echo ../../n/.git > .git/modules/sm/commondir"
                .to_owned(),
        ),
        ("n/.git", format!("mv n x; cp -r x n; {evil} >> n/.git/config; rm -r x")),
        ("n/.git", format!("mv n/.git x; cp -r x n/.git; {evil} >> n/.git/config; rm -r x")),
        (
            ".git/modules/sm",
            "mv .git/modules/sm x; cp -r x .git/modules/sm; mkdir .git/modules/sm/remotes".to_owned(),
        ),
        (
            ".git/worktrees/wt",
            "mv .git/worktrees/wt x; cp -r x .git/worktrees/wt; echo ../../../n/.git > .git/worktrees/wt/commondir"
                .to_owned(),
        ),
    ];
    for (at, script) in scripts {
        let exchange = Exchange::begin();
        let guard = exchange.guarding();
        exchange.run(&script);
        let mended = guard.watched.mend(true);
        assert!(mended.iter().any(|it| it.is_attack && it.done.is_ok()), "{script}: {mended:?}");
        let text = exchange.text(&format!("{at}/config"));
        assert!(!text.contains("fsmonitor"), "{script}: {text}");
        assert!(!exchange.root.join(at).join("hooks/post-checkout").exists(), "{script}");
        assert!(!exchange.root.join(at).join("commondir").exists(), "{script}");
        let told: String = mended.iter().map(words).collect();
        assert!(told.contains(at) || told.contains(".git/modules`"), "{script}: {told}");
    }
}

/// Whoever clones anew, or takes a submodule away and back, does nothing of that.
#[test]
fn a_folder_in_the_place_of_a_repository_stays_by_which_git_runs_nothing_new() {
    let scripts = [
        "rm -r n; mkdir -p n/.git/objects n/.git/refs; echo 'ref: refs/heads/x' > n/.git/HEAD; printf '[core]\\n\\tbare = false\\n' > n/.git/config",
        "mv .git/modules/sm x; cp -r x .git/modules/sm; printf '[branch \"a\"]\\n\\tremote = .\\n' >> .git/modules/sm/config",
    ];
    for script in scripts {
        let exchange = Exchange::begin();
        let guard = exchange.guarding();
        exchange.run(script);
        drop(guard);
        assert!(exchange.text(".git/modules/sm/config").starts_with(CONFIG), "{script}");
        assert!(exchange.root.join("n/.git/HEAD").exists(), "{script}");
        let aside =
            Command::new("find").arg(&exchange.root).args(["-name", "*.not-by-git-*"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&aside.stdout), "", "{script}");
    }
}

/// The daemon was killed, and the next one finds another folder than was noted.
#[test]
fn what_was_exchanged_is_looked_at_again() {
    let exchange = Exchange::begin();
    let notes = RepositoryNotes::new(&exchange.root.join("state"));
    let mut guard = exchange.guarding();
    guard.note_in(&notes).unwrap();
    std::mem::forget(guard);
    exchange.run("mv .git/modules/sm x; cp -r x .git/modules/sm; rm -r x");
    let config = exchange.root.join(".git/modules/sm/config");
    fs::write(&config, format!("{CONFIG}{EVIL}")).unwrap();
    let done = RepositoryNote::look_at_left(&RepositoryNotes::new(&exchange.root.join("state")));
    assert_eq!(done.len(), 1, "{done:?}");
    assert_eq!(exchange.text(".git/modules/sm/config"), CONFIG);
}

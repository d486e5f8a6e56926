//! What a script makes of git's objects is put aside whichever line of git brings it, also content of a person at another path, and what a person
//! committed, stashed or let an agent write comes back.

use super::*;

/// Lines of git alone that bring the script's branch, its stash or its index.
const BRINGING: &[&str] = &[
    "git switch -q evil",
    "git merge -q evil",
    "git reset -q --hard evil",
    "git rebase -q evil",
    "git cherry-pick evil",
    "git stash pop",
    "git restore --source=evil .",
    "git pull -q ./evil.git evil",
    "git pull -q evil.bundle evil",
    "git fetch -q evil.bundle evil && git merge -q FETCH_HEAD",
    "git stash -q -u; git fetch -q; git switch -q evil",
];

/// The beginning of a script that makes a branch and a stash of the object `$b`, and bundles them.
const MAKES: &str = "export GIT_INDEX_FILE=$PWD/.git/of-script\ngit read-tree HEAD\n\
                     for f in .envrc .vscode/tasks.json; do git update-index --add --cacheinfo 100644,$b,$f; done\n\
                     t=$(git write-tree); c=$(git commit-tree -p HEAD -m e $t); git update-ref refs/heads/evil $c\n\
                     i=$(git commit-tree -p HEAD -m i HEAD^{tree}); git stash store -m s $(git commit-tree -p HEAD -p $i -m w $t)\n\
                     unset GIT_INDEX_FILE; git clone -q --bare --no-hardlinks . evil.git; git bundle create -q evil.bundle evil\n";

/// A repository of a person, with a script of theirs beside an `.envrc`.
fn repository(work: &Path) {
    git(work, &["init", "-q", "-b", "main"]);
    for (key, value) in [("user.name", "x"), ("user.email", "x@example.com")] {
        git(work, &["config", key, value]);
    }
    commit(
        work,
        &[
            (".gitignore", "/evil.*\n/make.sh\n/made\n.not-run\n"),
            ("docs/script", "of docs\n"),
            (".envrc", "a person's\n"),
        ],
    );
}

/// Runs a script and then each of these lines in a repository of its own with these settings of a person, and sees that nothing of the script's
/// is at a kept place.
async fn is_put_aside(script: &str, lines: &[&str], settings: &[(&str, &str)]) {
    for mechanism in mechanisms() {
        for line in lines {
            let all = commands(&["sh make.sh", line]);
            let mut house = house_of(&all).file("make.sh", script);
            let work = house.work();
            repository(&work);
            settings.iter().for_each(|(key, value)| git(&work, &["config", key, value]));
            let ends = run(&mut house, &mechanism, &all).await;
            assert!(ends.iter().take(2).all(|end| end.contains("over")), "{mechanism:?}: {line}: {ends:#?}");
            let envrc = fs::read_to_string(work.join(".envrc")).unwrap();
            assert_eq!(envrc, "a person's\n", "{mechanism:?}: {line}: {ends:#?}");
            assert!(!work.join(".vscode/tasks.json").exists(), "{mechanism:?}: {line}: {ends:#?}");
        }
    }
}

#[tokio::test]
async fn what_a_script_made_in_git_is_put_aside_whichever_line_of_git_brings_it() {
    is_put_aside(&format!("b=$(echo evil | git hash-object -w --stdin); {MAKES}"), BRINGING, &[]).await;
}

/// A setting may have git fetch from a path in the workspace where a line names none, or the name of a remote.
#[tokio::test]
async fn what_a_script_made_in_a_repository_that_settings_name_is_not_fetched_from_elsewhere() {
    let script = format!("b=$(echo evil | git hash-object -w --stdin); {MAKES}");
    // As if it was never there but in the other one.
    let script = format!(
        "{script}git -C evil.git symbolic-ref HEAD refs/heads/evil; git update-ref -d refs/heads/evil\n\
         git stash drop -q; git gc -q --prune=now\n"
    );
    let branch: &[_] = &[("branch.main.remote", "./evil.git"), ("branch.main.merge", "refs/heads/evil")];
    let group: &[_] = &[("remotes.origin", "./evil.git ./evil.git")];
    for (settings, lines) in [
        (branch, &["git pull -q", "git fetch -q && git merge -q FETCH_HEAD"][..]),
        (group, &["git fetch -q origin && git merge -q FETCH_HEAD"]),
    ] {
        let settings = [settings, &[("remote.origin.url", "https://example.org/x")]].concat();
        is_put_aside(&script, lines, &settings).await;
    }
}

/// A script sets the time at which a file was written, and git ends before it fetches anything.
#[tokio::test]
async fn a_script_makes_no_fetch_by_the_time_of_what_git_notes_of_it() {
    let fetched = "echo > .git/FETCH_HEAD; touch -d 2090-01-01 .git/FETCH_HEAD; echo x >> docs/script\n";
    for mechanism in mechanisms() {
        let all =
            commands(&["sh fetched.sh", "git pull -q --rebase; true", "sh make.sh", "git switch -q evil"]);
        let make = format!("git checkout -q .; b=$(echo evil | git hash-object -w --stdin); {MAKES}");
        let mut house = house_of(&all).file("make.sh", &make).file("fetched.sh", fetched);
        let work = house.work();
        repository(&work);
        for (key, value) in [
            ("remote.origin.url", "https://example.org/x"),
            ("branch.main.remote", "origin"),
            ("branch.main.merge", "refs/heads/main"),
        ] {
            git(&work, &["config", key, value]);
        }
        let ends = run(&mut house, &mechanism, &all).await;
        assert!(ends.iter().take(4).all(|end| end.contains("over")), "{mechanism:?}: {ends:#?}");
        let envrc = fs::read_to_string(work.join(".envrc")).unwrap();
        assert_eq!(envrc, "a person's\n", "{mechanism:?}: {ends:#?}");
    }
}

/// Another session of the same daemon has run the script.
#[tokio::test]
async fn what_git_merges_of_what_a_script_made_in_another_session_is_put_aside() {
    let make = "export GIT_INDEX_FILE=$PWD/.git/of-script; for b in p q; do git read-tree HEAD\n\
                case $b in p) (echo evil; cat .envrc);; q) (cat .envrc; echo evil);; esac > made\n\
                git update-index --add --cacheinfo 100644,$(git hash-object -w made),.envrc\n\
                git update-ref refs/heads/$b $(git commit-tree -p HEAD -m $b $(git write-tree)); done\n";
    for mechanism in mechanisms() {
        for line in ["git switch -q p && git merge -q --no-edit q", "git switch -q p && git rebase -q q"] {
            let (first, then) = (commands(&["sh make.sh"]), commands(&[line]));
            let script = Script::new(replies_of(&first));
            let mut house =
                support::House::new().script(&script).agent("writer", AGENT).file("make.sh", make);
            let work = house.work();
            repository(&work);
            let lines = "1\n2\n3\n4\n5\n";
            commit(&work, &[(".envrc", lines)]);
            let ends = run_sessions(&mut house, &mechanism, Some(&script), &[&first, &then]).await;
            assert!(
                ends.iter().flatten().filter(|end| end.contains("over")).count() == 2,
                "{line}: {ends:#?}"
            );
            let envrc = fs::read_to_string(work.join(".envrc")).unwrap();
            assert_eq!(envrc, lines, "{mechanism:?}: {line}: {ends:#?}");
        }
    }
}

/// The object is a person's, but no commit of theirs has it at such a path.
#[tokio::test]
async fn what_a_person_committed_at_another_path_is_put_aside_whichever_line_of_git_brings_it() {
    is_put_aside(&format!("b=$(git rev-parse HEAD:docs/script); {MAKES}"), BRINGING, &[]).await;
    let index = "b=$(git rev-parse HEAD:docs/script)\n\
                 for f in .envrc .vscode/tasks.json; do git update-index --add --cacheinfo 100644,$b,$f; done\n";
    let lines = [
        "git restore .",
        "git checkout -q -- .",
        "git checkout -q .",
        "git restore -q --worktree .",
        "git stash -q; git stash pop -q",
    ];
    is_put_aside(index, &lines, &[]).await;
}

/// Branches, tags and a stash of a person from before are theirs at any time.
#[tokio::test]
async fn what_a_person_committed_or_stashed_comes_back_after_scripts() {
    for mechanism in mechanisms() {
        let all = commands(&[
            "sh make.sh",
            "git stash pop -q",
            "sh make.sh",
            "git stash -q -u",
            "git switch -q old",
            "git checkout -q first",
            "git switch -q evil",
            "git switch -q main",
            "git restore --source=main~2 .envrc",
            "git checkout -q -- .",
            "git revert --no-edit HEAD",
        ]);
        // A commit of the script's that changes nothing of these, upon the person's.
        let script = "echo x > made; git branch -q -f evil $(git commit-tree -p HEAD -m e HEAD^{tree})\n";
        let mut house = house_of(&all).file("make.sh", script);
        let work = house.work();
        repository(&work);
        git(&work, &["tag", "-m", "x", "first"]);
        commit(&work, &[(".envrc", "second\n")]);
        git(&work, &["switch", "-q", "-c", "old"]);
        commit(&work, &[(".envrc", "of old\n"), (".mcp.json", "{}\n")]);
        git(&work, &["switch", "-q", "main"]);
        for text in ["third\n", "fourth\n"] {
            commit(&work, &[(".envrc", text)]);
        }
        put(&work, ".envrc", "stashed\n");
        put(&work, ".vscode/tasks.json", "stashed\n");
        git(&work, &["stash", "-q", "-u"]);
        git(&work, &["gc", "-q"]);
        let ends = run(&mut house, &mechanism, &all).await;
        for (command, end) in all.iter().zip(&ends) {
            assert!(end.contains("over"), "{mechanism:?}: {command}: {end}");
            assert!(!end.contains("not-run"), "{mechanism:?}: {command}: {end}");
        }
        assert_eq!(fs::read_to_string(work.join(".envrc")).unwrap(), "third\n", "{mechanism:?}");
    }
}

/// A person was asked about each write of the agent's, so a line of git brings it back.
#[tokio::test]
async fn what_a_person_let_an_agent_write_comes_back_after_scripts() {
    for mechanism in mechanisms() {
        let all = commands(&[
            "echo wanted > .envrc",
            "sh script.sh",
            "git stash -q",
            "git stash pop -q",
            "git add .envrc && git commit -q -m x",
            "git switch -q other",
            "sh gc.sh",
            "git switch -q main",
        ]);
        let mut house =
            house_of(&all).file("script.sh", "echo x >> made\n").file("gc.sh", "git gc -q --prune=now\n");
        let work = house.work();
        git(&work, &["init", "-q", "-b", "main"]);
        for (key, value) in [("user.name", "x"), ("user.email", "x@example.com")] {
            git(&work, &["config", key, value]);
        }
        commit(&work, &[(".gitignore", "/made\n"), (".envrc", "of main\n"), (".exrc", "of main\n")]);
        git(&work, &["switch", "-q", "-c", "other"]);
        commit(&work, &[(".exrc", "of other\n")]);
        git(&work, &["switch", "-q", "main"]);
        let ends = run(&mut house, &mechanism, &all).await;
        for (command, end) in all.iter().zip(&ends) {
            assert!(end.contains("over"), "{mechanism:?}: {command}: {end}");
            assert!(!end.contains("not-run"), "{mechanism:?}: {command}: {end}");
        }
        assert_eq!(fs::read_to_string(work.join(".envrc")).unwrap(), "wanted\n", "{mechanism:?}");
    }
}

//! Files that git itself brings are left as they are and told to nobody, and what a program plants that git runs is put aside, whatever it has
//! written into the index.

use serde_json::{Value, json};

use crate::support::{self, Reply, Script, confined_by};

use super::*;

mod of_scripts;

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

/// Files that other programs run, as repositories have them.
const BROUGHT: &[&str] = &[
    ".envrc",
    ".exrc",
    ".vscode/settings.json",
    ".vscode/tasks.json",
    ".husky/pre-commit",
    ".github/workflows/build.yml",
    "Makefile",
    "package.json",
];

fn git(work: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]);
    let output = git.arg("-C").arg(work).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

fn put(work: &Path, name: &str, text: &str) {
    let path = work.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn commit(work: &Path, files: &[(&str, &str)]) {
    files.iter().for_each(|(name, text)| put(work, name, text));
    git(work, &["add", "-A"]);
    git(work, &["commit", "-q", "-m", "x"]);
}

/// A repository elsewhere, whose branch `other` has other such files than `main`, and to which `more` adds some.
fn elsewhere(from: &Path) {
    fs::create_dir_all(from).unwrap();
    git(from, &["init", "-q", "-b", "main"]);
    BROUGHT.iter().for_each(|name| put(from, name, "of main\n"));
    let lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    commit(from, &[("lefthook.yml", lines), (".gitattributes", ".nvim.lua text eol=crlf\n")]);
    git(from, &["switch", "-q", "-c", "more"]);
    commit(from, &[(".zed/tasks.json", "of more\n"), ("lefthook.yml", &lines.replace('9', "of more"))]);
    git(from, &["switch", "-q", "-c", "other", "main"]);
    fs::remove_file(from.join(".husky/pre-commit")).unwrap();
    commit(
        from,
        &[
            (".envrc", "of other\n"),
            (".mcp.json", "of other\n"),
            (".claude/settings.json", "of other\n"),
            (".vscode/tasks.json", "of other\n"),
            (".nvim.lua", "of other\nwith two lines\n"),
        ],
    );
    git(from, &["switch", "-q", "main"]);
}

/// Runs these commands one after the other in the workspace. Answers the ends of the calls, in words.
async fn run(house: &mut support::House, mechanism: &SandboxMechanism, commands: &[String]) -> Vec<String> {
    run_sessions(house, mechanism, None, &[commands]).await.remove(0)
}

/// The same in one session after the other of one daemon, by a script that says them one after the other.
async fn run_sessions(
    house: &mut support::House,
    mechanism: &SandboxMechanism,
    script: Option<&Script>,
    sessions: &[&[String]],
) -> Vec<Vec<String>> {
    house.sandbox = confined_by(house.dir.path(), mechanism.clone());
    let running = house.boot().await;
    let mut client = running.client();
    let approval = json!({ "autoApprove": ["low", "medium", "high"], "headless": true });
    let mut all = Vec::new();
    for commands in sessions {
        if let Some(script) = script {
            script.replace(replies_of(commands));
        }
        let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
        client.ended(&run).await;
        let log: Vec<Value> = running.log().await;
        let of_run = log.iter().filter(|event| event["activity"] == "TOOL_CALL_END");
        let of_run = of_run.filter(|event| event.to_string().contains(&run));
        let ends: Vec<String> = of_run.map(Value::to_string).collect();
        assert_eq!(ends.len(), commands.len() + 1, "{ends:#?}");
        all.push(ends);
    }
    drop(client);
    running.stop().await;
    all
}

fn house_of(commands: &[String]) -> support::House {
    support::House::new().script(&Script::new(replies_of(commands))).agent("writer", AGENT)
}

fn replies_of(commands: &[String]) -> Vec<Reply> {
    let call = |command: &String| Reply::calls(&[("run_shell_command", json!({ "command": command }))]);
    commands.iter().map(call).chain([Reply::done("done")]).collect()
}

/// The commands with a word at their ends that says that they did what they were to.
fn commands(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| format!("{text} && echo over")).collect()
}

/// A working tree below the test's folder whose `origin` is another folder in it, and whose `.exrc` a person has changed.
fn clone_of(from: &Path, work: &Path) {
    // Commands see nothing else of the test's folder.
    git(work, &["init", "-q", "-b", "main"]);
    git(work, &["remote", "add", "origin", from.to_str().unwrap()]);
    git(work, &["fetch", "-q"]);
    git(work, &["reset", "-q", "--hard", "origin/main"]);
    git(work, &["branch", "-q", "-u", "origin/main"]);
    for (key, value) in [("user.name", "x"), ("user.email", "x@example.com")] {
        git(work, &["config", key, value]);
    }
    put(work, ".exrc", "a person's\n");
    let lines = fs::read_to_string(from.join("lefthook.yml")).unwrap().replace('1', "of main");
    commit(from, &[("mise.toml", "of a later commit\n"), ("lefthook.yml", &lines)]);
}

/// Runs these lines in such a working tree, after `prepare`, and sees that each did its work and nothing was told or put aside.
async fn brings_quietly(mechanism: &SandboxMechanism, lines: &[&str], prepare: impl Fn(&Path)) {
    let all = commands(lines);
    let mut house = house_of(&all);
    let (work, from) = (house.work(), house.work().join("from"));
    elsewhere(&from);
    clone_of(&from, &work);
    prepare(&work);
    let ends = run(&mut house, mechanism, &all).await;
    for (command, end) in all.iter().zip(&ends) {
        assert!(end.contains("over"), "{mechanism:?}: {command}: {end}");
        let is_told = ["came to be", "was changed", "not-run", "put aside"].iter().any(|it| end.contains(it));
        assert!(!is_told, "{mechanism:?}: {command}: {end}");
    }
    assert!(!work.join(".not-run").exists(), "{mechanism:?}");
    assert_eq!(fs::read_to_string(work.join(".zed/tasks.json")).unwrap(), "of more\n", "{mechanism:?}");
}

#[tokio::test]
async fn daily_work_with_git_brings_files_that_programs_run_and_nothing_is_told() {
    let lines = [
        "git stash -q",
        "git stash pop -q",
        "git restore .exrc",
        "git switch -q other",
        "git checkout -q main",
        "git checkout -q other -- .mcp.json .nvim.lua",
        "git reset -q --hard HEAD",
        "git pull -q",
        "git merge -q --no-edit origin/more",
        "git reset -q --hard HEAD~1",
        "git cherry-pick origin/more",
        "git reset -q --hard HEAD~1",
        "git restore --source=origin/other .vscode .envrc",
        "git stash -q; git stash pop -q; git restore .",
        "git switch -q -c mine origin/other",
        "git rebase -q main",
        "git checkout -q main",
        "git worktree add -q wt other",
        "git clone -q ./from again",
        "git revert --no-edit HEAD",
        "git -C . switch -q --detach origin/more",
    ];
    for mechanism in mechanisms() {
        brings_quietly(&mechanism, &lines, |_| ()).await;
    }
}

#[tokio::test]
async fn settings_by_which_git_runs_nothing_to_bring_files_and_a_split_index_change_nothing() {
    let lines = [
        "git pull -q --ff-only && git rev-parse --short HEAD && ls",
        "git switch -q other 2>&1 | sed -n 1,5p",
        "git checkout -q -",
        "git -C . merge -q --no-edit origin/more",
        "git reset -q --hard HEAD~1",
        "git cherry-pick -x origin/more",
    ];
    for mechanism in mechanisms() {
        brings_quietly(&mechanism, &lines, |work| {
            for (key, value) in [
                ("core.editor", "./edit"),
                ("core.pager", "./page"),
                ("core.untrackedCache", "true"),
                ("core.splitIndex", "true"),
                ("splitIndex.maxPercentChange", "100"),
                ("merge.tool", "mine"),
                ("mergetool.mine.cmd", "./merge $LOCAL"),
                ("rerere.enabled", "true"),
                ("maintenance.auto", "false"),
                ("credential.helper", "cache"),
                ("gpg.format", "ssh"),
                ("url.git@example.org:.insteadOf", "https://example.org/"),
                ("filter.lfs.required", "true"),
                ("extensions.worktreeConfig", "true"),
            ] {
                git(work, &["config", key, value]);
            }
            git(work, &["checkout", "-q", "--", ".exrc"]);
            git(work, &["update-index", "--split-index"]);
            // Nobody is asked for words of a commit where there is no terminal.
            put(work, ".git/hooks/pre-push", "#!/bin/sh\nexit 1\n");
        })
        .await;
    }
}

/// An entry of the index that such a program wrote is its own doing.
#[tokio::test]
async fn a_program_that_git_runs_gains_nothing_by_the_index() {
    let plant = "#!/bin/sh\ncd \"$(git rev-parse --show-toplevel)\"\n[ -d ../work ] && cd ../work; unset GIT_DIR GIT_INDEX_FILE\n\
                 for f in .envrc .mcp.json .vscode/tasks.json .claude/settings.json; do\n\
                 mkdir -p $(dirname $f); echo evil > $f; git add -f $f; done\ntouch ran\n";
    for mechanism in mechanisms() {
        let all = commands(&[
            "sh make.sh >/dev/null 2>&1",
            "git -C sub checkout -q b",
            "git --no-pager -C sub checkout -q main",
            "cd sub && git stash -q; git switch -q b",
            "git push -q ./sub HEAD:refs/heads/n; git switch -q other",
            "git switch -q main",
        ]);
        let make = "git init -q -b main sub; cd sub; git config user.name x; git config user.email x@y; cp ../plant hook; chmod 755 hook\n\
                    echo 1 > f; git add f; git commit -q -m x; git branch b\n\
                    for h in post-checkout post-receive reference-transaction; do cp hook .git/hooks/$h; done\ngit config core.fsmonitor ./hook\n";
        let mut house = house_of(&all).file("make.sh", make).file("plant", plant);
        let work = house.work();
        git(&work, &["init", "-q", "-b", "main"]);
        commit(&work, &[(".exrc", "of main\n")]);
        git(&work, &["switch", "-q", "-c", "other"]);
        commit(&work, &[("mise.toml", "of other\n")]);
        git(&work, &["switch", "-q", "main"]);
        // The person's own hook runs a script of the project.
        put(&work, ".git/hooks/post-checkout", "#!/bin/sh\nsh ./plant\n");
        fs::set_permissions(work.join(".git/hooks/post-checkout"), fs::Permissions::from_mode(0o755))
            .unwrap();
        let ends = run(&mut house, &mechanism, &all).await;
        assert!(work.join("ran").exists(), "{mechanism:?}: {ends:#?}");
        for name in [".envrc", ".mcp.json", ".vscode/tasks.json", ".claude/settings.json"] {
            assert!(!work.join(name).exists(), "{mechanism:?}, {name}: {ends:#?}");
        }
        assert!(ends.iter().all(|end| !end.contains("`mise.toml`")), "{mechanism:?}: {ends:#?}");
    }
}

/// direnv asks nobody about an `.envrc` that it knows, so what that reads must not change while git has taken it away.
#[tokio::test]
async fn a_file_that_direnv_evaluates_does_not_come_back_over_what_a_script_changed_meanwhile() {
    for mechanism in mechanisms() {
        let all = commands(&[
            "git switch -q bare",
            "git switch -q main",
            "git switch -q bare",
            "sh change.sh",
            "git switch -q main",
            "git checkout -q -- tools && git switch -q bare",
            "git switch -q main",
        ]);
        let change = "echo evil >> tools/env.sh; echo new > tools/other.sh\n";
        let mut house = house_of(&all).file("change.sh", change);
        let work = house.work();
        git(&work, &["init", "-q", "-b", "main"]);
        put(&work, "tools/env.sh", "of main\n");
        commit(&work, &[(".gitignore", "change.sh\n.not-run\n")]);
        git(&work, &["branch", "bare"]);
        commit(&work, &[(".envrc", "source tools/env.sh\ndotenv_if_exists\n")]);
        let ends = run(&mut house, &mechanism, &all).await;
        for (at, (command, end)) in all.iter().zip(&ends).enumerate() {
            let is_told = end.contains("`.envrc` came to be by git, and reads `tools/env.sh`, changed since");
            assert_eq!(is_told, at == 4, "{mechanism:?}, {command}: {end}");
            assert!(end.contains("over"), "{mechanism:?}, {command}: {end}");
        }
        // Once git has put back what it reads, it comes.
        assert!(work.join(".envrc").exists(), "{mechanism:?}: {ends:#?}");
    }
}

/// Husky keeps hooks in the working tree, where branches have others.
#[tokio::test]
async fn git_brings_hooks_of_the_working_tree_and_a_script_changes_none() {
    for mechanism in mechanisms() {
        let all = commands(&[
            "git switch -q other",
            "git switch -q main",
            "git sparse-checkout set .husky",
            "git sparse-checkout disable",
            "sh change.sh",
            "git switch -q other",
        ]);
        let change = "exec 2>/dev/null; echo evil > .husky/pre-commit; echo evil > .husky/post-merge; true\n";
        let mut house = house_of(&all).file("change.sh", change);
        let work = house.work();
        git(&work, &["init", "-q", "-b", "main"]);
        commit(&work, &[(".gitignore", "_\n.not-run\n"), (".husky/pre-commit", "of main\n")]);
        git(&work, &["switch", "-q", "-c", "other"]);
        commit(&work, &[(".husky/pre-commit", "of other\n"), (".husky/pre-push", "of other\n")]);
        git(&work, &["switch", "-q", "main"]);
        put(&work, ".husky/_/pre-commit", "#!/bin/sh\n");
        git(&work, &["config", "core.hooksPath", ".husky/_"]);
        let ends = run(&mut house, &mechanism, &all).await;
        for (command, end) in all.iter().zip(&ends) {
            assert!(end.contains("over"), "{mechanism:?}: {command}: {end}");
            let may_be_told = command.contains("change.sh");
            assert!(may_be_told || !end.contains("not-run"), "{mechanism:?}: {command}: {end}");
        }
        assert_eq!(
            fs::read_to_string(work.join(".husky/pre-commit")).unwrap(),
            "of other\n",
            "{mechanism:?}"
        );
        assert!(work.join(".husky/pre-push").exists(), "{mechanism:?}: {ends:#?}");
        assert!(!work.join(".husky/post-merge").exists(), "{mechanism:?}: {ends:#?}");
    }
}

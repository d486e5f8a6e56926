//! What does the real daemon run outside of every sandbox, and who could have written it?

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{
    built,
    process::{Home, output, text},
    recording::Recording,
};

const RUNNER: &str = "---\nkind: agent\nname: runner\ndescription: Runs.\ncompletion: tool\n\
                      tools: [run_shell_command, read_file]\n---\nRun.\n";
const ALLOW: &str = "[[rule]]\ntool = [\"run_shell_command\", \"read_file\"]\ndecision = \"allow\"\n";

/// A home whose agent may run commands.
fn home() -> Home {
    let home = Home::new();
    fs::write(home.path("config/subagentd/agents/runner.md"), RUNNER).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    fs::write(home.path("config/subagentd/policies/shell.toml"), ALLOW).unwrap();
    home
}

/// The programs of this system without bubblewrap.
fn without_bubblewrap() -> tempfile::TempDir {
    let programs = tempfile::tempdir().unwrap();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|it| it.file_name() != "bwrap") {
            // The first of a name is the one that is found.
            let _there = symlink(entry.path(), programs.path().join(entry.file_name()));
        }
    }
    programs
}

/// Has the agent make these calls, one a turn; how each ended.
async fn run(home: &Home, workspace: &Path, calls: Vec<Value>) -> Vec<Value> {
    let mut turns: Vec<Vec<Value>> =
        calls.into_iter().map(|call| vec![json!({ "functionCall": call })]).collect();
    turns.push(vec![json!({ "functionCall": { "name": "complete_task", "args": { "result": "tried" } } })]);
    let model = Recording::write_parts(home, "tries", turns);
    let mut wire = home.connect().await;
    let start = json!({ "workspace": workspace, "agent": "runner", "model": model, "prompt": "try" });
    let started = wire.call("run/start", start).await.unwrap();
    let run = text(&started, "runId").to_owned();
    wire.ended(&run).await.unwrap();
    let listed = wire
        .call("events/list", json!({ "filter": { "runIds": [run] }, "from": 0, "limit": 1000 }))
        .await
        .unwrap();
    let events = listed["events"].as_array().unwrap().iter();
    let is_end =
        |event: &&Value| event["activity"] == "TOOL_CALL_END" && event["data"]["name"] != "complete_task";
    events.filter(is_end).map(|event| event["data"].clone()).collect()
}

fn shell(command: &str) -> Value {
    json!({ "name": "run_shell_command", "args": { "command": command } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_that_an_agent_could_have_written_is_not_run() {
    if !built::has_bubblewrap("whose bubblewrap is run") {
        return;
    }
    let home = home();
    let bin = home.work().join("bin");
    fs::create_dir(&bin).unwrap();
    let mark = home.path("ran-outside");
    fs::write(bin.join("bwrap"), format!("#!/bin/sh\necho ran >> {}\n", mark.display())).unwrap();
    fs::set_permissions(bin.join("bwrap"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let served = home.start_told(&[("PATH", &path)], &[]).await;
    let ends = run(&home, &home.work(), vec![shell("echo confined")]).await;
    assert_eq!(ends[0]["result"]["data"]["sandbox"], "bubblewrap", "{ends:?}");
    assert!(!mark.exists());
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_starts_becomes_no_daemon() {
    let home = Home::new();
    let mut plainly = home.daemon(&home.path("other.sock"), &home.path("other"));
    let mut below = home.command("sh");
    below.args(["-c", "env -i HOME=\"$HOME\" \"$@\"; exit $?", "sh", built::daemon()]);
    below.arg("--socket").arg(home.path("other.sock")).arg("--state-dir").arg(home.path("other"));
    below.stdout(Stdio::piped()).stderr(Stdio::piped());
    for command in [&mut plainly, &mut below] {
        let ended = output(command.env("SUBAGENTD", "1")).await;
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("was started by an agent"), "{}", ended.stderr);
    }
    assert!(!home.path("other.sock").exists() && !home.path("other").exists());
}

fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn gather(folder: &Path, into: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => gather(&path, into),
                path => drop(into.insert(path.display().to_string(), fs::read(&path).unwrap_or_default())),
            }
        }
    }
    let mut found = BTreeMap::new();
    gather(folder, &mut found);
    found
}

/// Makes whatever a daemon of this home would read, by its own variables and without them; moves it; reads it.
const ATTACK: &str = r#"
for place in "$HOME/.config/subagentd" "$HOME/config/subagentd"; do
  mkdir -p $place/policies $place/agents
  echo '[[rule]]' > $place/policies/made.toml; echo '{}' > $place/settings.json; echo x > $place/agents/made.md
done
for place in .claude/agents .gemini/agents .config/opencode/agent config/opencode/agents; do
  mkdir -p $HOME/$place; echo x > $HOME/$place/made.md
done
cd "$HOME"; mv config config2; mv state state2; mv .config config3; mv .claude claude2
cat state*/subagentd/token config*/subagentd/policies/*
for folder in state2 config2; do mkdir -p ${folder%2}; done
echo over
"#;

async fn a_daemon_in_its_workspace_is_safe(variables: &[(&str, &str)], mechanism: &str) {
    let home = home();
    // The daemon's own folders are there, all others are not, and the home itself is the workspace.
    let at = home.path("");
    fs::create_dir_all(home.path(".claude")).unwrap();
    fs::write(home.work().join("attack.sh"), ATTACK).unwrap();
    let served = home.start_told(variables, &["--listen", "127.0.0.1:0"]).await;
    let token = fs::read_to_string(home.state_dir().join("token")).unwrap();
    let before = files_of(&home.path("config"));
    let read = |path: &str| json!({ "name": "read_file", "args": { "path": path } });
    let calls = vec![
        shell("bash work/attack.sh 2>/dev/null"),
        read("state2/subagentd/token"),
        read("state/subagentd/token"),
        shell("cat state*/subagentd/token; echo over"),
    ];
    let ends = run(&home, &at, calls).await;
    let told = format!("{ends:?}");
    assert_eq!(ends.len(), 4, "{told}");
    assert_eq!(ends[0]["result"]["data"]["sandbox"], mechanism, "{told}");
    assert!(ends[0].to_string().contains("over"), "{told}");
    assert!(!told.contains(token.trim()) && !told.contains("decision = "), "{told}");
    assert_eq!(files_of(&home.path("config")), before, "{mechanism}");
    for place in [".config", ".claude", ".gemini", "config/opencode"] {
        assert_eq!(files_of(&home.path(place)), BTreeMap::new(), "{mechanism}, {place}");
    }
    assert!(home.state_dir().join("subagentd.db").exists(), "{mechanism}");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_daemon_reads_is_kept_from_commands_in_a_view_of_their_own() {
    if !built::has_bubblewrap("what a view keeps from commands of what a daemon reads") {
        return;
    }
    a_daemon_in_its_workspace_is_safe(&[], "bubblewrap").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_daemon_reads_is_kept_from_commands_without_bubblewrap() {
    let programs = without_bubblewrap();
    a_daemon_in_its_workspace_is_safe(&[("PATH", programs.path().to_str().unwrap())], "Landlock").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_daemon_left_is_taken_away_and_what_sessions_have_stays() {
    let home = home();
    let served = home.start().await;
    run(&home, &home.work(), vec![shell("echo kept > $TMPDIR/kept")]).await;
    served.kill().await;
    let artifacts = home.state_dir().join("artifacts");
    let sessions: Vec<_> = fs::read_dir(&artifacts).unwrap().map(|it| it.unwrap().path()).collect();
    let [session] = sessions.as_slice() else { panic!("{sessions:?}") };
    // Of a server that was killed with its daemon, of another start that did not get to it, and of a session whose removal was
    // committed.
    let left = ["temporary/mcp-x/deep", "temporary-left-y/mcp-z", "artifacts/0193-gone/tmp/deep"];
    for folder in left {
        fs::create_dir_all(home.state_dir().join(folder)).unwrap();
        fs::write(home.state_dir().join(folder).join("file"), "left").unwrap();
    }
    let served = home.start().await;
    let mut wire = home.connect().await;
    let is_left = || {
        let entries = fs::read_dir(home.state_dir()).unwrap().flatten().map(|entry| entry.file_name());
        let mut names = entries.map(|name| name.into_string().unwrap());
        names.any(|name| name.starts_with("temporary")) || artifacts.join("0193-gone").exists()
    };
    let gone = async {
        while is_left() {
            wire.call("ping", json!({})).await.unwrap();
        }
    };
    let is_gone = tokio::time::timeout(crate::support::STUCK, gone).await;
    assert!(is_gone.is_ok(), "{}", home.daemon_log());
    assert_eq!(fs::read_to_string(session.join("tmp/kept")).unwrap(), "kept\n");
    served.stop().await;
}

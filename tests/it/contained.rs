//! What would spoil the machine it is tried on, and systems that lack something: the real programs in a container of their
//! own, from the start of the daemon to its end.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{
    built,
    process::{Ended, Home, output},
    recording::Recording,
};

const RUNNER: &str = "---\nkind: agent\nname: runner\ndescription: Runs.\ncompletion: tool\n\
                      tools: [run_shell_command]\n---\nRun.\n";
const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

/// Starts a daemon, has it run an agent, asks it whether it is well, and looks what is left of the agent's commands.
const SESSION: &str = r#"
"$DAEMON" --ready-fd 3 3> ready 2> daemon.log &
until grep -q ready ready; do kill -0 $! || exit 90; sleep 0.05; done
"$SUBAGENT" --no-spawn run runner -p go --model "$MODEL" --headless || exit 91
"$SUBAGENT" --no-spawn rpc daemon/status '{}' > status.json || exit 92
"$SUBAGENT" --no-spawn rpc daemon/doctor '{}' > doctor.json
"$SUBAGENT" --no-spawn rpc events/list '{"filter": {}, "from": 0, "limit": 1000}' > events.json || exit 93
cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\0' '\n' > left
"$SUBAGENT" --no-spawn rpc daemon/shutdown '{}' > /dev/null || exit 94
wait
"#;

/// A home whose agent runs one command.
fn home(command: &str, settings: &Value) -> (Home, String) {
    let home = Home::new();
    fs::write(home.path("config/subagentd/agents/runner.md"), RUNNER).unwrap();
    fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    fs::write(home.path("config/subagentd/policies/all.toml"), ALLOW).unwrap();
    fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
    let call = |name: &str, args: Value| vec![json!({ "functionCall": { "name": name, "args": args } })];
    let turns = vec![
        call("run_shell_command", json!({ "command": command })),
        call("complete_task", json!({ "result": "done" })),
    ];
    let model = Recording::write_parts(&home, "runs", turns);
    (home, model)
}

/// In a container that sees its own processes only, which end with it.
async fn contained(home: &Home, model: &str, path: Option<&str>, filter: Option<&Path>) -> Ended {
    let mut command = home.command("bash");
    let begin = filter.map(|filter| format!("exec 9< {}; ", filter.display())).unwrap_or_default();
    command.args(["-c", &format!("{begin}exec bwrap \"$@\""), "bwrap"]);
    command.args(["--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/", "--proc", "/proc"]);
    command.args(filter.iter().flat_map(|_| ["--seccomp", "9"]));
    command.args(path.iter().flat_map(|path| ["--setenv", "PATH", path]));
    command.args(["bash", "-c", SESSION]);
    command.env("DAEMON", built::daemon()).env("SUBAGENT", built::companion());
    command.env("MODEL", model).stdout(Stdio::piped()).stderr(Stdio::piped());
    output(&mut command).await
}

fn read(home: &Home, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(home.work().join(name)).unwrap()).unwrap()
}

/// The end of the call of the command.
fn end(home: &Home) -> Value {
    let events = read(home, "events.json");
    let events = events["events"].as_array().unwrap();
    events.iter().find(|event| event["activity"] == "TOOL_CALL_END").unwrap()["data"].clone()
}

/// The programs of this system without bubblewrap.
fn without_bubblewrap() -> tempfile::TempDir {
    let programs = tempfile::tempdir().unwrap();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|it| it.file_name() != "bwrap") {
            // The first of a name is the one that is found.
            let _there = std::os::unix::fs::symlink(entry.path(), programs.path().join(entry.file_name()));
        }
    }
    programs
}

#[tokio::test]
async fn a_fork_bomb_ends_and_the_daemon_goes_on() {
    if !built::has_bubblewrap("a fork bomb, which is tried in a container") {
        return;
    }
    let settings = json!({ "sandbox": { "limits": { "processes": 100 } } });
    let programs = without_bubblewrap();
    for (path, sandbox) in [(None, "bubblewrap"), (programs.path().to_str(), "Landlock")] {
        // From a file, so that nobody sees what it is before it runs.
        let (home, model) = home("bash ./build.sh", &settings);
        fs::write(
            home.work().join("build.sh"),
            "grows() { sleep 0.2; grows | grows & }; grows; wait; sleep 1000\n",
        )
        .unwrap();
        let ended = contained(&home, &model, path, None).await;
        assert_eq!((ended.code, &*ended.stdout), (Some(0), "done\n"), "{sandbox}: {}", ended.stderr);
        let end = end(&home);
        assert_eq!(end["error"]["type"], "EXECUTION_FAILED", "{sandbox}: {end}");
        let said = end["error"]["message"].as_str().unwrap();
        assert!(said.contains("processes") && said.contains("sandbox.limits.processes"), "{sandbox}: {said}");
        let confined_by = end["result"]["data"]["sandbox"].as_str();
        assert!(confined_by.is_some_and(|it| it.starts_with(sandbox)), "{end}");
        let left = fs::read_to_string(home.work().join("left")).unwrap();
        assert!(left.contains("subagentd") && !left.contains("build.sh"), "{sandbox}: {left}");
    }
}

/// Each of its processes starts another one, in a session of its own, and ends: whoever looks for them finds those that were.
const CHAIN: &str = r#"use POSIX;
for (1..400) { next if fork; POSIX::setsid(); while (1) { my $next = fork; exit if !defined $next || $next; POSIX::setsid(); } }
"#;

#[tokio::test]
async fn a_chain_of_sessions_ends_with_its_call() {
    if !built::has_bubblewrap("a chain of sessions, which is tried in a container") {
        return;
    }
    let programs = without_bubblewrap();
    // In a view of its own it fills the system's table of processes before it is ended, which takes long.
    for (path, sandbox) in [(programs.path().to_str(), "Landlock")] {
        let (home, model) = home("perl chain.pl", &json!({}));
        fs::write(home.work().join("chain.pl"), CHAIN).unwrap();
        let ended = contained(&home, &model, path, None).await;
        assert_eq!((ended.code, &*ended.stdout), (Some(0), "done\n"), "{sandbox}: {}", ended.stderr);
        let end = end(&home);
        let confined_by = end["result"]["data"]["sandbox"].as_str();
        assert!(confined_by.is_some_and(|it| it.starts_with(sandbox)), "{end}");
        let left = fs::read_to_string(home.work().join("left")).unwrap();
        assert!(left.contains("subagentd") && !left.contains("chain.pl"), "{sandbox}: {left}");
    }
}

/// A filter for system calls (seccomp(2)) by which a kernel seems to have no Landlock.
fn no_landlock(home: &Home) -> PathBuf {
    const CREATE_RULESET: u32 = 444;
    let steps: [(u16, u8, u8, u32); 4] = [
        (0x20, 0, 0, 0),                // its number
        (0x15, 0, 1, CREATE_RULESET),   // is this one
        (0x06, 0, 0, 0x0005_0000 | 38), // ENOSYS
        (0x06, 0, 0, 0x7fff_0000),
    ];
    let bytes = steps.iter().flat_map(|(code, jt, jf, k)| {
        let [c0, c1] = code.to_ne_bytes();
        [c0, c1, *jt, *jf].into_iter().chain(k.to_ne_bytes())
    });
    let path = home.path("filter");
    fs::write(&path, bytes.collect::<Vec<u8>>()).unwrap();
    path
}

#[tokio::test]
async fn a_system_with_neither_bubblewrap_nor_landlock_says_so_and_refuses_where_it_must() {
    if !built::has_bubblewrap("a system without Landlock, which is a container") {
        return;
    }
    let programs = without_bubblewrap();
    for is_required in [false, true] {
        let (home, model) = home("echo ran > ran", &json!({ "sandbox": { "required": is_required } }));
        let filter = no_landlock(&home);
        let ended = contained(&home, &model, programs.path().to_str(), Some(&filter)).await;
        assert_eq!((ended.code, &*ended.stdout), (Some(0), "done\n"), "{}", ended.stderr);
        let doctor = read(&home, "doctor.json").to_string();
        assert!(doctor.contains("the kernel has no Landlock"), "{doctor}");
        assert!(read(&home, "status.json").to_string().contains("the kernel has no Landlock"));
        let end = end(&home);
        assert_eq!(home.work().join("ran").exists(), !is_required, "{end}");
        match is_required {
            true => {
                assert_eq!(end["error"]["type"], "SANDBOX_DENIED", "{end}");
                let said = end["error"]["message"].as_str().unwrap();
                assert!(said.contains("no Landlock") && said.contains("sandbox.required"), "{said}");
            }
            false => assert!(end["error"].is_null() && end["result"]["data"]["sandbox"].is_null(), "{end}"),
        }
    }
}

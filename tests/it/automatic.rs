//! Files that other programs run by themselves: nobody writes one unasked, and no command that was let in as a harmless one
//! writes those of git (spec 11, "Files that other programs run by themselves").

use std::{collections::BTreeMap, fs, process::Command};

use serde_json::{Value, json};
use subagentd::{sandbox::SandboxMechanism, shell::AUTOMATIC};

use crate::support::{House, MECHANISM, Reply, Running, Script};

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

/// What calls came to: by the path they were about, or the command.
async fn ends(running: &Running, run: &str) -> BTreeMap<String, Value> {
    let log = running.log().await;
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    let mut ends = BTreeMap::new();
    for event in log.iter().filter(|event| event["runId"] == run) {
        let data = &event["data"];
        let Some(call) = data["callId"].as_str() else { continue };
        let arguments = &data["arguments"];
        if let Some(name) = arguments["path"].as_str().or_else(|| arguments["command"].as_str()) {
            named.insert(call.to_owned(), name.to_owned());
        }
        if event["activity"] == "TOOL_CALL_END"
            && let Some(name) = named.get(call)
        {
            ends.insert(name.clone(), data.clone());
        }
    }
    ends
}

#[tokio::test]
async fn no_mode_and_no_consent_to_less_writes_what_others_run() {
    let paths: Vec<String> = AUTOMATIC.iter().map(|row| row.path.replace('*', "x")).collect();
    let mut replies: Vec<Reply> = Vec::new();
    for paths in paths.chunks(8) {
        let calls: Vec<(&str, Value)> =
            paths.iter().map(|path| ("write_file", json!({ "path": path, "content": "x" }))).collect();
        replies.push(Reply::calls(&calls));
    }
    replies.push(Reply::calls(&[("write_file", json!({ "path": "plain", "content": "x" }))]));
    replies.push(Reply::done("done"));
    let house = House::new().script(&Script::new(replies)).agent("writer", AGENT);
    let running = house.boot().await;
    let mut client = running.client();
    let approval = json!({ "mode": "autoEdit", "autoApprove": ["low", "medium"], "headless": true });
    let more = json!({ "approval": approval, "limits": { "maxTurns": 100 } });
    let (run, _) = client.start(&running, "writer", more).await;
    client.ended(&run).await;
    let ends = ends(&running, &run).await;
    for path in &paths {
        assert_eq!(ends[path]["error"]["type"], "NO_CLIENT", "{path}: {}", ends[path]);
        assert!(!house.work().join(path).exists(), "{path}");
    }
    assert_eq!(ends["plain"]["to"], "success", "{}", ends["plain"]);
    drop(client);
    running.stop().await;
}

/// What a script does is not read, so it is the sandbox that keeps git's files; and git alone may change its own settings.
#[tokio::test]
async fn a_script_changes_neither_hooks_nor_settings_of_the_repository() {
    let script = "cd \"$(dirname \"$0\")\"\n\
                  echo 'x' >> .git/config; echo x > .git/hooks/pre-commit; echo x > checks/pre-commit\n\
                  mv .git/config .git/c; mv .git/hooks .git/h; mv .git .g; rm -rf .git/hooks checks; ln -sfn /tmp .git/hooks\n\
                  cp plain .git/config.new && mv .git/config.new .git/config; echo done\n";
    let commands = ["bash script.sh", "git config user.name Ann && git add plain && git status", "git log"];
    let mut replies: Vec<Reply> = commands
        .iter()
        .map(|command| Reply::calls(&[("run_shell_command", json!({ "command": command }))]))
        .collect();
    replies.push(Reply::done("done"));
    let house = House::new()
        .script(&Script::new(replies))
        .agent("writer", AGENT)
        .file("script.sh", script)
        .file("plain", "plain\n")
        .file("checks/pre-push", "#!/bin/sh\n");
    let git = |arguments: &[&str]| {
        assert!(Command::new("git").arg("-C").arg(house.work()).args(arguments).status().unwrap().success());
    };
    git(&["init", "-q", "--template="]);
    git(&["config", "core.hooksPath", "checks"]);
    let config = house.work().join(".git/config");
    let before = fs::read_to_string(&config).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let approval = json!({ "autoApprove": ["low", "medium"], "headless": true });
    let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
    client.ended(&run).await;
    let ends = ends(&running, &run).await;
    for command in commands {
        assert!(ends.contains_key(command), "{ends:?}");
    }
    match &*MECHANISM {
        SandboxMechanism::Bubblewrap { .. } => {
            let after = fs::read_to_string(&config).unwrap();
            assert!(ends[commands[0]].to_string().contains("done"), "{ends:?}");
            assert!(after.starts_with(before.trim_end()), "{after}");
            assert!(after.contains("name = Ann"), "{after}; {}", ends[commands[1]]);
            assert_eq!(fs::read_dir(house.work().join(".git/hooks")).unwrap().count(), 0);
            assert!(house.work().join("checks/pre-push").exists());
            assert!(!house.work().join("checks/pre-commit").exists());
        }
        // It cannot take back what it allowed; the documents say so.
        SandboxMechanism::Landlock { .. } | SandboxMechanism::Nothing(_) => {}
    }
    drop(client);
    running.stop().await;
}

/// With git's old settings their cover falls off for whatever goes on beside it, which could write the new ones.
#[tokio::test]
async fn git_changes_no_settings_while_another_command_goes_on() {
    let server = "until [ -e over ]; do echo evil >> .git/config; sleep 0.01; done";
    let sets = ["git config user.name Ann", "git config user.name Ben"];
    let mut replies = vec![
        Reply::calls(&[("run_shell_command", json!({ "command": server, "background": true }))]),
        Reply::calls(&[("run_shell_command", json!({ "command": sets[0] }))]),
        Reply::calls(&[("run_shell_command", json!({ "command": "git commit -q --allow-empty -m first" }))]),
        Reply::calls(&[("kill_shell", json!({ "id": "1" }))]),
        Reply::calls(&[("run_shell_command", json!({ "command": sets[1] }))]),
    ];
    replies.push(Reply::done("done"));
    let house = House::new().script(&Script::new(replies)).agent("writer", AGENT);
    let git = |arguments: &[&str]| {
        assert!(Command::new("git").arg("-C").arg(house.work()).args(arguments).status().unwrap().success());
    };
    git(&["init", "-q", "--template="]);
    git(&["config", "user.name", "nobody"]);
    git(&["config", "user.email", "nobody@example.com"]);
    let running = house.boot().await;
    let mut client = running.client();
    let approval = json!({ "autoApprove": ["low", "medium", "high"], "headless": true });
    let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
    client.ended(&run).await;
    let ends = ends(&running, &run).await;
    let after = fs::read_to_string(house.work().join(".git/config")).unwrap();
    if let SandboxMechanism::Bubblewrap { .. } = &*MECHANISM {
        let first = ends[sets[0]].to_string();
        assert!(first.contains("because another command goes on in this workspace"), "{ends:?}");
        assert!(ends["git commit -q --allow-empty -m first"]["to"] == "success", "{ends:?}");
        assert!(after.contains("name = Ben") && !after.contains("evil"), "{after}; {ends:?}");
    }
    drop(client);
    running.stop().await;
}

/// Whatever git would be led to by what lies below the root: nested repositories, submodules, linked worktrees, files and folders
/// that settings name and that are missing; and `HEAD` may be taken away meanwhile.
#[tokio::test]
async fn no_script_writes_what_git_obeys_below_the_root() {
    let first = "cd \"$(dirname \"$0\")\"\nmv .git/HEAD .git/H; mv vendor/x/.git/HEAD vendor/x/.git/H\n";
    let second = "cd \"$(dirname \"$0\")\"\n\
        for config in .git vendor/x/.git .git/modules/lib bare; do echo evil >> $config/config; echo evil > n; mv n $config/config;\n\
        echo evil > $config/hooks/post-checkout; mv $config/hooks $config/h; mkdir $config/hooks; echo evil > $config/hooks/post-checkout; done\n\
        mv .git g; mv vendor v; mv vendor/x vendor/y; mv bare b; mv .git/modules .git/m\n\
        echo evil > lib/.git; rm lib/.git; echo evil > lib/.git; mv lib l\n\
        echo evil > .git/worktrees/wt/commondir; rm .git/worktrees/wt/commondir; echo evil > .git/worktrees/wt/commondir\n\
        echo evil > extra; echo evil > n; mv n extra; echo evil > .git/config.worktree; echo evil > n; mv n .git/config.worktree\n\
        mkdir checks; echo evil > checks/pre-commit; mv .git/H .git/HEAD; mv vendor/x/.git/H vendor/x/.git/HEAD\n\
        git init -q new && git -C new config user.name x && echo tried\n";
    let commands = ["bash first.sh", "bash second.sh", "rm -rf new && git add plain && git status --short"];
    let mut replies: Vec<Reply> = commands
        .iter()
        .map(|command| Reply::calls(&[("run_shell_command", json!({ "command": command }))]))
        .collect();
    replies.push(Reply::done("done"));
    let house = House::new()
        .script(&Script::new(replies))
        .agent("writer", AGENT)
        .file("first.sh", first)
        .file("second.sh", second)
        .file("plain", "plain\n")
        .file("lib/.git", "gitdir: ../.git/modules/lib\n")
        .file("wt/plain", "x\n");
    let git = |arguments: &[&str]| {
        assert!(Command::new("git").arg("-C").arg(house.work()).args(arguments).status().unwrap().success());
    };
    for arguments in [&["."][..], &["vendor/x"], &["--bare", ".git/modules/lib"], &["--bare", "bare"]] {
        git(&[&["init", "-q", "--template="], arguments].concat());
    }
    git(&["config", "core.hooksPath", "checks"]);
    git(&["config", "include.path", "../extra"]);
    git(&["config", "extensions.worktreeConfig", "true"]);
    let worktree = house.work().join(".git/worktrees/wt");
    fs::create_dir_all(&worktree).unwrap();
    fs::write(worktree.join("commondir"), "../..\n").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let approval = json!({ "autoApprove": ["low", "medium", "high"], "headless": true });
    let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
    client.ended(&run).await;
    let ends = ends(&running, &run).await;
    if let SandboxMechanism::Bubblewrap { .. } = &*MECHANISM {
        assert!(ends[commands[1]].to_string().contains("tried"), "{ends:?}");
        let output = Command::new("grep").args(["-rl", "^evil"]).arg(house.work()).output().unwrap();
        let evil = String::from_utf8(output.stdout).unwrap();
        let mut evil: Vec<&str> = evil.lines().filter(|path| !path.ends_with("/n")).collect();
        evil.retain(|path| !path.ends_with(".sh"));
        assert!(evil.is_empty(), "{evil:?}");
        assert!(house.work().join("lib/.git").is_file() && house.work().join("vendor/x/.git/HEAD").exists());
        // What a command made, the next one may take away; and git works.
        assert!(ends[commands[2]].to_string().contains("A  plain"), "{}", ends[commands[2]]);
        assert!(!house.work().join("new").exists());
    }
    drop(client);
    running.stop().await;
}

//! The repository that git takes for a folder of the workspace is the one that it took before a command of an agent, and the person's
//! own `git status` runs nothing of the command's, under each mechanism.

use rustix::process::{Signal, kill_process};
use serde_json::json;
use tokio::time::timeout;

use crate::{
    process::Home,
    support::{self, Reply, STUCK, Script, confined_by},
};

use super::*;

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

/// Settings by which git runs something of a command's, in a shell's quotes.
const EVIL: &str = "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = \"touch %s; false\"\\n' \"$PWD\" \"$PWD/../ran\"";

/// One of `$1`, by which git runs something of a command's.
const MAKE: &str =
    "make() { mkdir -p $1/objects $1/refs; echo 'ref: refs/heads/main' > $1/HEAD; evil > $1/config; }";

fn scripts(script: &str) -> String {
    format!("exec 2>/dev/null\nevil() {{ {EVIL}; }}\n{MAKE}\n{script}\necho over\n")
}

fn git(work: &Path, arguments: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]).arg("-C").arg(work).args(arguments);
    git.output().unwrap().status.success()
}

struct Case {
    name: &'static str,
    /// Run by a person beforehand; `None` = there is no repository.
    before: Option<&'static str>,
    /// One command each.
    scripts: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "HEAD is none, and the folder one",
        before: Some("true"),
        scripts: &["printf '\\nref: refs/heads/main\\n' > .git/H; mv .git/H .git/HEAD; make ."],
    },
    Case {
        name: "another .git",
        before: Some("true"),
        scripts: &["mv .git .old; make .git", "mv .git .old; make .git"],
    },
    Case {
        name: "settings that are a link",
        before: Some("mv .git/config cfg; ln -s ../cfg .git/config"),
        scripts: &["(cat cfg; evil) > .git/c; mv .git/c .git/config"],
    },
    Case {
        name: ".git is a link",
        before: Some("mv .git g; ln -s g .git"),
        scripts: &["mv .git .old; make .git"],
    },
    Case {
        name: "a hook that is a link",
        before: Some(
            "mkdir h; echo '#!/bin/sh' > h/x; chmod 755 h/x; ln -s ../../h/x .git/hooks/post-index-change",
        ),
        scripts: &["printf '#!/bin/sh\\ntouch ../ran\\n' > h/x"],
    },
    Case {
        name: "commondir",
        before: Some("true"),
        scripts: &["make c; mkdir c/refs/heads; rm c/HEAD; echo ../c > .git/commondir"],
    },
    Case { name: "a new one", before: None, scripts: &["make .git"] },
    Case { name: "a new one in two steps", before: None, scripts: &["mkdir .git", "make .git"] },
    Case {
        name: "settings first",
        before: None,
        scripts: &[
            "mkdir .git; evil > .git/config",
            "true",
            "mkdir -p .git/objects .git/refs/heads; echo 'ref: refs/heads/main' > .git/HEAD",
        ],
    },
    Case {
        name: "a hook first",
        before: None,
        scripts: &[
            "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch ../ran\\n' > .git/hooks/post-index-change; chmod 755 .git/hooks/*",
            "mkdir -p .git/objects .git/refs/heads; echo 'ref: refs/heads/main' > .git/HEAD",
        ],
    },
    Case {
        name: "commondir first",
        before: None,
        scripts: &[
            "make r; mkdir .git; echo ../r > .git/commondir",
            "echo 'ref: refs/heads/main' > .git/HEAD",
        ],
    },
    Case {
        name: "settings of a worktree first",
        before: None,
        scripts: &[
            "mkdir .git; printf '[extensions]\\n\\tworktreeConfig = true\\n[core]\\n\\trepositoryformatversion = 1\\n' > .git/config; \
             evil > .git/config.worktree",
            "mkdir -p .git/objects .git/refs/heads; echo 'ref: refs/heads/main' > .git/HEAD",
        ],
    },
    Case {
        name: "settings that are a link first",
        before: None,
        scripts: &[
            "mkdir .git; echo > cfg; ln -s ../cfg .git/config",
            "mkdir -p .git/objects .git/refs/heads; echo 'ref: refs/heads/main' > .git/HEAD",
            "evil > cfg",
        ],
    },
    Case { name: "one that nobody can list", before: None, scripts: &["make .git; chmod 111 .git"] },
    Case {
        name: "all names aside are there",
        before: None,
        scripts: &["for n in {0..99}; do echo > .git.not-by-git-$n; done; make .git"],
    },
    Case { name: "HEAD first", before: None, scripts: &["echo 'ref: refs/heads/main' > HEAD", "make ."] },
    Case {
        name: "HEAD last",
        before: None,
        scripts: &["make .; rm HEAD", "echo 'ref: refs/heads/main' > HEAD"],
    },
];

#[tokio::test]
async fn what_a_command_makes_of_repositories_runs_nothing_for_the_person() {
    for mechanism in mechanisms() {
        for case in CASES {
            let mut house = support::House::new().agent("writer", AGENT);
            let mut replies = Vec::new();
            for (number, script) in case.scripts.iter().enumerate() {
                house = house.file(&format!("s{number}.sh"), scripts(script));
                let command = json!({ "command": format!("bash s{number}.sh") });
                replies.push(Reply::calls(&[("run_shell_command", command)]));
            }
            replies.push(Reply::done("done"));
            let mut house = house.script(&Script::new(replies));
            house.sandbox = confined_by(house.dir.path(), mechanism.clone());
            let work = house.work();
            if let Some(before) = case.before {
                assert!(git(&work, &["init", "-q", "-b", "main"]));
                assert!(git(&work, &["commit", "-q", "--allow-empty", "-m", "first"]));
                assert!(
                    Command::new("sh").args(["-c", before]).current_dir(&work).status().unwrap().success()
                );
            }
            let running = house.boot().await;
            let mut client = running.client();
            let approval = json!({ "autoApprove": ["low", "medium"], "headless": true });
            let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
            client.ended(&run).await;
            drop(client);
            // Who makes one there keeps settings that are there.
            if case.name == "settings first" {
                git(&work, &["init", "-q"]);
            }
            // As a prompt and an editor do at any time; and the daemon's end changes nothing about it.
            for _ in 0..2 {
                let is_one = git(&work, &["status"]) && git(&work, &["add", "-A"]);
                assert!(!work.with_file_name("ran").exists(), "{mechanism:?}, {}", case.name);
                assert!(is_one || case.before.is_none(), "{mechanism:?}, {}", case.name);
            }
            running.stop().await;
            git(&work, &["status"]);
            assert!(!work.with_file_name("ran").exists(), "{mechanism:?}, {}", case.name);
        }
    }
}

/// Who breaks a repository again and again does not win by going on.
#[tokio::test]
async fn a_command_that_breaks_a_repository_is_ended_at_once_and_told_why() {
    let calls = ["echo x > .git/commondir", "mkdir objects refs; echo 'ref: refs/heads/main' > HEAD"];
    for mechanism in mechanisms() {
        for call in calls {
            let script = format!("{call}; sleep 600");
            let replies = [
                Reply::calls(&[("run_shell_command", json!({ "command": "bash s.sh" }))]),
                Reply::done("done"),
            ];
            let mut house = support::House::new()
                .agent("writer", AGENT)
                .file("s.sh", script)
                .script(&Script::new(replies));
            house.sandbox = confined_by(house.dir.path(), mechanism.clone());
            assert!(git(&house.work(), &["init", "-q"]));
            let running = house.boot().await;
            let mut client = running.client();
            let approval = json!({ "autoApprove": ["low", "medium"], "headless": true });
            let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
            client.ended(&run).await;
            let log = running.log().await;
            let end = log.iter().find(|event| event["activity"] == "TOOL_CALL_END").unwrap().to_string();
            assert!(end.contains("SANDBOX_DENIED") && end.contains("it was ended"), "{mechanism:?}: {end}");
            assert!(!house.work().join(".git/commondir").exists(), "{mechanism:?}");
            assert!(!house.work().join("HEAD").exists(), "{mechanism:?}");
            drop(client);
            running.stop().await;
        }
    }
}

/// git alone goes where it likes, also with what shows less of what it says; a script is told what to do.
#[tokio::test]
async fn git_alone_goes_to_another_branch_and_a_script_does_not() {
    let commands =
        ["git switch -q -c one 2>&1 | tail -n 3", "bash s.sh", "git commit -q --allow-empty -m x; git log"];
    let mut replies: Vec<Reply> = commands
        .iter()
        .map(|command| Reply::calls(&[("run_shell_command", json!({ "command": command }))]))
        .collect();
    replies.push(Reply::done("done"));
    let house = support::House::new()
        .agent("writer", AGENT)
        .file("s.sh", "git switch -c two && git commit -q --allow-empty -m x")
        .script(&Script::new(replies));
    let work = house.work();
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["commit", "-q", "--allow-empty", "-m", "first"],
        &["config", "user.name", "x"],
        &["config", "user.email", "x@example.com"],
    ] {
        assert!(git(&work, arguments));
    }
    let running = house.boot().await;
    let mut client = running.client();
    let approval = json!({ "autoApprove": ["low", "medium"], "headless": true });
    let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
    client.ended(&run).await;
    let log = running.log().await;
    let ends: Vec<String> = log
        .iter()
        .filter(|event| event["activity"] == "TOOL_CALL_END")
        .map(|event| event.to_string())
        .collect();
    let head = fs::read_to_string(work.join(".git/HEAD")).unwrap();
    match &*support::MECHANISM {
        SandboxMechanism::Bubblewrap { .. } => {
            assert_eq!(head, "ref: refs/heads/one\n", "{ends:?}");
            assert!(ends[1].contains("git could not go to another branch"), "{}", ends[1]);
        }
        _ => assert_eq!(head, "ref: refs/heads/two\n", "{ends:?}"),
    }
    assert!(ends[2].contains("commit "), "{}", ends[2]);
    drop(client);
    running.stop().await;
}

/// The command ends with the daemon, and the next daemon makes up for the look that nobody took.
#[tokio::test]
async fn a_daemon_that_was_killed_has_its_next_one_look() {
    let home = Home::new();
    let work = home.work();
    let script = "echo > begun; until [ -e go ]; do :; done; make .git; echo > made; until false; do :; done";
    fs::write(work.join("s.sh"), scripts(script)).unwrap();
    let rules = home.path("config/subagentd/policies");
    fs::create_dir_all(&rules).unwrap();
    fs::write(rules.join("all.toml"), "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n").unwrap();
    let served = home.start().await;
    let words = ["tools", "call", "run_shell_command", "--args", "command=bash s.sh"];
    let mut calling = home.companion(&words).spawn().unwrap();
    let made = async |name: &str| {
        let made = async {
            while !work.join(name).exists() {
                tokio::task::yield_now().await;
            }
        };
        timeout(STUCK, made).await.unwrap();
    };
    made("begun").await;
    // It sees nothing of what comes.
    kill_process(served.pid(), Signal::STOP).unwrap();
    fs::write(work.join("go"), "").unwrap();
    made("made").await;
    assert!(work.join(".git/config").exists());
    served.kill().await;
    let _ended = calling.wait().await;
    let served = home.start().await;
    assert!(!work.join(".git").exists(), "{}", home.daemon_log());
    assert!(home.daemon_log().contains("the daemon ended while programs of agents went on"));
    served.stop().await;
    assert_eq!(fs::read_dir(home.state_dir().join("repositories")).unwrap().count(), 0);
}

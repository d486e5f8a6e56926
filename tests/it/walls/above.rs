//! Where the workspace is a folder of a repository that begins above it, or a linked worktree, what a script writes there is none of what
//! that repository has git run for the person.

use serde_json::json;

use crate::support::{self, Reply, Script, confined_by};

use super::*;

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

/// It also tries what is not there yet.
const SCRIPT: &str = "exec 2>/dev/null\n\
    hook() { printf '#!/bin/sh\\ntouch %s\\n' \"$PWD/../ran\"; }\n\
    mkdir -p checks; mv checks c; mkdir checks; hook > checks/pre-commit; chmod 755 checks/pre-commit\n\
    printf '[core]\\n\\tfsmonitor = touch %s\\n' \"$PWD/../ran\" > n; mv n more; cat n >> more; echo over\n";

fn git(folder: &Path, arguments: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]).arg("-C").arg(folder).args(arguments);
    git.output().unwrap().status.success()
}

async fn check(is_worktree: bool) {
    for mechanism in mechanisms().into_iter().filter(|it| matches!(it, SandboxMechanism::Bubblewrap { .. })) {
        let replies = [
            Reply::calls(&[("run_shell_command", json!({ "command": "bash s.sh" }))]),
            Reply::calls(&[("write_file", json!({ "path": "checks/pre-push", "content": "x" }))]),
            Reply::done("done"),
        ];
        let mut house = support::House::new()
            .agent("writer", AGENT)
            .file("s.sh", SCRIPT)
            .file("checks/old", "")
            .script(&Script::new(replies));
        house.sandbox = confined_by(house.dir.path(), mechanism.clone());
        let work = house.work();
        let above = house.dir.path();
        let (top, to) = match is_worktree {
            true => {
                let main = above.join("main");
                fs::create_dir(&main).unwrap();
                assert!(git(&main, &["init", "-q", "--template=", "-b", "main"]));
                assert!(git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]));
                assert!(git(&main, &["worktree", "add", "-q", "../linked"]));
                let pointer = fs::read_to_string(above.join("linked/.git")).unwrap();
                fs::write(work.join(".git"), pointer).unwrap();
                fs::write(main.join(".git/worktrees/linked/gitdir"), work.join(".git").to_str().unwrap())
                    .unwrap();
                (work.clone(), "")
            }
            false => {
                assert!(git(above, &["init", "-q", "--template=", "-b", "main"]));
                (above.to_owned(), "work/")
            }
        };
        assert!(git(&top, &["config", "core.hooksPath", &format!("{to}checks")]));
        assert!(git(&top, &["config", "include.path", work.join("more").to_str().unwrap()]));
        let running = house.boot().await;
        let mut client = running.client();
        let approval = json!({ "autoApprove": ["low", "medium"], "headless": true });
        let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
        client.ended(&run).await;
        let log = running.log().await;
        let ends = log.iter().filter(|event| event["activity"] == "TOOL_CALL_END");
        let ends: Vec<String> = ends.map(|event| event.to_string()).collect();
        assert!(ends[0].contains("over"), "{}", ends[0]);
        assert!(ends[1].contains("NO_CLIENT"), "{}", ends[1]);
        assert!(git(&top, &["commit", "-q", "--allow-empty", "-m", "of the person"]), "{ends:?}");
        assert!(git(&top, &["status"]), "{ends:?}");
        assert!(!above.join("ran").exists(), "{ends:?}");
        assert!(work.join("checks/old").exists(), "{ends:?}");
        drop(client);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_repository_that_begins_above_the_workspace_runs_nothing_of_a_script() {
    check(false).await;
}

#[tokio::test]
async fn a_linked_worktree_runs_nothing_of_a_script() {
    check(true).await;
}

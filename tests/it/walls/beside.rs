//! Commands that overlap: what one of them planted is not brought back by another, what a person allowed stays, and nobody is ended for what
//! another one did.

use serde_json::{Value, json};

use crate::support::{self, Reply, Script, confined_by};

use super::*;

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

/// Has a script wait for something in bounded time.
fn until(test: &str) -> String {
    format!("n=0; until {test} || [ $n = 1000 ]; do n=$((n+1)); sleep 0.02; done")
}

struct Overlap {
    house: support::House,
    log: Vec<Value>,
}

impl Overlap {
    /// Runs these commands one after the other, those in the background beside the others, in a repository with these scripts.
    async fn of(
        mechanism: &SandboxMechanism,
        scripts: &[(&str, String)],
        commands: &[(&str, bool)],
    ) -> Overlap {
        let call = |(command, background): &(&str, bool)| {
            Reply::calls(&[("run_shell_command", json!({ "command": command, "background": background }))])
        };
        let replies: Vec<Reply> = commands.iter().map(call).chain([Reply::done("done")]).collect();
        let mut house = support::House::new().script(&Script::new(replies)).agent("writer", AGENT);
        for (name, text) in scripts {
            house = house.file(name, text);
        }
        house.sandbox = confined_by(house.dir.path(), mechanism.clone());
        git(&house.work(), &["init", "-q", "-b", "main"]);
        let running = house.boot().await;
        let mut client = running.client();
        let approval = json!({ "autoApprove": ["low", "medium", "high"], "headless": true });
        let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
        client.ended(&run).await;
        let log = running.log().await;
        drop(client);
        running.stop().await;
        Overlap { house, log }
    }

    /// The ends of the calls, in words.
    fn ends(&self) -> String {
        let ends = self.log.iter().filter(|event| event["activity"] == "TOOL_CALL_END");
        ends.map(|event| event["data"].to_string()).collect::<Vec<_>>().join("\n")
    }
}

fn git(work: &Path, arguments: &[&str]) -> std::process::Output {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]).arg("-C").arg(work);
    git.args(arguments).output().unwrap()
}

#[tokio::test]
async fn a_hook_that_one_command_planted_does_not_come_back_with_the_end_of_another() {
    for mechanism in mechanisms() {
        let plants = format!(
            "exec 2>/dev/null\nprintf '#!/bin/sh\\ntouch ../ran\\n' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit\n\
             touch planted\n{}\n",
            until("[ -e go ]")
        );
        let inner = format!("{}\n", until("[ -e planted ]"));
        let outer = format!("touch go\n{}\necho over\n", until("[ ! -e .git/hooks/pre-commit ]"));
        let scripts = [("p.sh", plants), ("i.sh", inner), ("o.sh", outer)];
        let commands = [("bash p.sh", true), ("bash i.sh", false), ("bash o.sh", false)];
        let overlap = Overlap::of(&mechanism, &scripts, &commands).await;
        let work = overlap.house.work();
        assert!(overlap.ends().contains("over"), "{mechanism:?}: {}", overlap.ends());
        assert!(!work.join(".git/hooks/pre-commit").exists(), "{mechanism:?}");
        git(&work, &["commit", "-q", "--allow-empty", "-m", "first"]);
        assert!(!work.join("../ran").exists(), "{mechanism:?}: the person's git ran it");
    }
}

/// Only where both may go on beside each other: with mounts the second waits for the first.
#[tokio::test]
async fn a_setting_that_was_allowed_stays_and_ends_nobody_beside_it() {
    for mechanism in mechanisms() {
        if matches!(mechanism, SandboxMechanism::Bubblewrap { .. }) {
            continue;
        }
        let sets =
            format!("git config alias.x '!echo y'; touch set; {}; touch first-over", until("[ -e go ]"));
        let waits = format!("{}\n", until("[ -e set ]"));
        let lasts = format!("touch go\n{}\n", until("[ -e first-over ]"));
        let scripts = [("w.sh", waits), ("l.sh", lasts)];
        let commands = [
            (sets.as_str(), true),
            ("bash w.sh", false),
            ("git config user.name z", false),
            ("bash l.sh", false),
        ];
        let overlap = Overlap::of(&mechanism, &scripts, &commands).await;
        let config = fs::read_to_string(overlap.house.work().join(".git/config")).unwrap();
        assert!(
            config.contains("x = !echo y") && config.contains("name = z"),
            "{config}\n{}",
            overlap.ends()
        );
        assert!(!overlap.ends().contains("it was ended"), "{}", overlap.ends());
        assert!(overlap.house.work().join("first-over").exists(), "{}", overlap.ends());
    }
}

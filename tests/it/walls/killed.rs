//! What a command planted where other programs run it is put aside although the daemon was killed while the command went on.

use serde_json::json;
use tokio::time::timeout;

use crate::{process::Home, support::STUCK};

use super::*;

const SCRIPT: &str = "echo evil > .envrc; echo evil > .mcp.json; mkdir -p .vscode .husky; echo evil > .vscode/tasks.json\n\
    echo evil > .husky/pre-commit; echo > plain; echo > made; until false; do :; done\n";

/// The command ends with the daemon, and the next daemon makes up for the look that nobody took.
#[tokio::test]
async fn a_daemon_that_was_killed_has_its_next_one_put_aside_what_a_command_planted() {
    let home = Home::new();
    let work = home.work();
    fs::write(work.join("s.sh"), SCRIPT).unwrap();
    fs::write(work.join(".pre-commit-config.yaml"), "a person's\n").unwrap();
    let rules = home.path("config/subagentd/policies");
    fs::create_dir_all(&rules).unwrap();
    fs::write(rules.join("all.toml"), "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n").unwrap();
    let served = home.start().await;
    let words = ["tools", "call", "run_shell_command", "--args", "command=bash s.sh"];
    let mut calling = home.companion(&words).spawn().unwrap();
    let made = async {
        while !work.join("made").exists() {
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, made).await.unwrap();
    let notes = home.state_dir().join("autorun");
    served.kill().await;
    let _ended = calling.wait().await;
    let served = home.start().await;
    for name in [".envrc", ".mcp.json", ".vscode/tasks.json", ".husky/pre-commit"] {
        assert!(!work.join(name).exists(), "{name}: {}", home.daemon_log());
        let aside = format!(".not-run/{}.not-run-0", name.replace('/', "--"));
        assert_eq!(fs::read_to_string(work.join(aside)).unwrap(), "evil\n");
    }
    assert!(work.join("plain").exists());
    assert_eq!(fs::read_to_string(work.join(".pre-commit-config.yaml")).unwrap(), "a person's\n");
    let mut wire = home.connect().await;
    let doctor = wire.call("daemon/doctor", json!({})).await.unwrap().to_string();
    assert!(doctor.contains("the daemon was killed while a command of an agent went on"), "{doctor}");
    assert!(doctor.contains("`.envrc` came to be"), "{doctor}");
    served.stop().await;
    assert_eq!(fs::read_dir(notes).unwrap().count(), 0);
}

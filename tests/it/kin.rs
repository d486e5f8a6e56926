//! Who may talk to the real daemon: its owner's own programs, and nobody else whom it started? (Spec 11, "Who may talk to
//! it".)

use std::{fs, path::Path, process::Stdio};

use serde_json::json;
use tokio::time::timeout;

use crate::{
    built,
    process::{Home, Served, text},
    recording::Recording,
    support::STUCK,
};

const WRITER: &str = "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: [write_file]\n---\nWrite.\n";

/// Answers with the token, and leaves somebody in a session of their own who asks when it is gone.
const TOLD: &str = r#"
token=$(sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
sh -c 'setsid sh -c "$2" "$0" "$1" & echo' "$1" "$$" "$2"
"$1" --no-spawn approve --token "$token" >"$HOME/answered" 2>&1
"#;
const LEFT: &str = r#"
while [ -e /proc/$1 ]; do :; done
"$0" --no-spawn status >"$HOME/left.new" 2>&1
echo "exit $?" >>"$HOME/left.new"
mv "$HOME/left.new" "$HOME/left"
"#;

/// Waits for a file that is moved to its place.
async fn appeared(path: &Path) -> String {
    let appearing = async {
        loop {
            match fs::read_to_string(path) {
                Ok(text) => return text,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    timeout(STUCK, appearing).await.unwrap_or_else(|_| panic!("{} never appears", path.display()))
}

fn assert_refused(home: &Home, said: &str) {
    assert!(said.contains("what an agent starts may not talk to the daemon"), "{said}");
    assert!(said.ends_with("exit 1\n"), "{said}");
    assert!(home.daemon_log().contains("refused a connection"), "{}", home.daemon_log());
}

#[tokio::test]
async fn the_command_that_tells_a_person_may_answer_and_what_it_leaves_behind_may_not() {
    let home = Home::new();
    fs::write(home.path("config/subagentd/agents/writer.md"), WRITER).unwrap();
    let script = home.path("tell.sh");
    fs::write(&script, TOLD).unwrap();
    let words = ["sh", script.to_str().unwrap(), built::companion(), LEFT];
    let settings = json!({ "approval": { "notifyAfterMs": 0, "notifyCommand": words } });
    fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
    let write = json!({ "name": "write_file", "args": { "path": "a.txt", "content": "a" } });
    let done = json!({ "name": "complete_task", "args": { "result": "written" } });
    let turns = [write, done].map(|call| vec![json!({ "functionCall": call })]);
    let model = Recording::write_parts(&home, "writes", turns.to_vec());
    let served = home.start().await;
    let mut wire = home.connect().await;
    let asked = json!({ "agent": "writer", "prompt": "write", "workspace": home.work(), "model": model });
    let started = wire.call("run/start", asked).await.unwrap();
    let run = wire.ended(text(&started, "runId")).await.unwrap();
    let answered = fs::read_to_string(home.path("answered")).unwrap_or_default();
    assert_eq!(run["reason"], "GOAL", "{run} {answered}");
    assert_eq!(fs::read_to_string(home.work().join("a.txt")).unwrap(), "a");
    assert_refused(&home, &appeared(&home.path("left")).await);
    // Others come and go as before.
    home.connect().await.call("ping", json!({})).await.unwrap();
    served.stop().await;
}

#[tokio::test]
async fn who_is_below_the_daemon_for_another_reason_is_refused_too() {
    let home = Home::new();
    let script = r#"
until [ -S "$3" ]; do :; done
until "$2" --no-spawn status >"$HOME/left.new" 2>&1; [ $? -ne 69 ]; do :; done
"#;
    let script = format!(
        "({script}\n echo \"exit $(\"$2\" --no-spawn status >/dev/null 2>&1; echo $?)\" >>\"$HOME/left.new\"; \
         mv \"$HOME/left.new\" \"$HOME/left\"; exec sleep 60) & exec \"$1\" --socket \"$3\" --state-dir \"$4\""
    );
    let mut command = home.command("sh");
    let log = fs::File::create(home.path("daemon.log")).unwrap();
    command.args(["-c", &script, "sh", built::daemon(), built::companion()]);
    command.arg(home.socket()).arg(home.state_dir()).stdout(Stdio::null()).stderr(log);
    // So that all of it ends with the test.
    command.process_group(0);
    let served = Served::of(command.spawn().unwrap());
    let group = served.pid();
    let said = appeared(&home.path("left")).await;
    assert_refused(&home, &said);
    home.connect().await.call("ping", json!({})).await.unwrap();
    served.stop().await;
    // The daemon did not start it, so it goes on.
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
}

//! What somebody who uses the companion for the first time asks: why did it end, what did I ask, what did the agent that
//! was called do, which file is wrong, and is there really nothing? (Spec 12.)

use serde_json::Value;

use crate::{
    companion_runs::Place,
    process::text,
    support::{Cast, House, Reply, Script},
};

const ASKER: &str = "---\nkind: agent\nname: asker\ndescription: Asks.\ncompletion: tool\ntools: [probe]\n\
                     query: \"Look it up, please: ${prompt}\"\n---\nYou look.\n";

async fn place(replies: impl Into<Vec<Reply>>) -> Place {
    let script = Script::new(replies);
    Place::boot(&House::new().script(&script).agent("asker", ASKER), script).await
}

impl Place {
    /// `run asker -p PROMPT --detach`; answers the run's id.
    async fn ask(&self, prompt: &str, more: &[&str]) -> String {
        let workspace = self.running.work().to_str().unwrap();
        let place: &[&str] = if more.contains(&"--session") { &[] } else { &["--workspace", workspace] };
        let run = ["run", "asker", "-p", prompt, "--model", "script", "--detach"];
        self.told(&[&run, place, more].concat()).await.trim_end().to_owned()
    }
}

#[tokio::test]
async fn why_a_run_was_cancelled_is_told_wherever_it_is_shown() {
    let place = place([Reply::Hangs]).await;
    let run = place.ask("Where?", &[]).await;
    place.script.asked().await;
    place.told(&["cancel", &run, "--reason", "took a wrong turn"]).await;
    let waited = place.subagent(&["wait", &run]).await;
    assert_eq!(waited.code, Some(130));
    assert!(waited.stderr.contains("ABORTED: cancelled: took a wrong turn"), "{}", waited.stderr);
    let listed = place.told(&["runs"]).await;
    assert!(listed.contains("cancelled: took a wrong turn"), "{listed}");
    let record: Value = place.json(&["runs"]).await["runs"][0].clone();
    assert_eq!(text(&record, "message"), "cancelled: took a wrong turn");
    // Whoever comes later is told as well.
    let attached = place.subagent(&["attach", &run]).await;
    assert!(attached.stderr.contains("took a wrong turn"), "{}", attached.stderr);
    place.running.stop().await;
}

#[tokio::test]
async fn lists_show_what_was_typed_not_what_the_agent_made_of_it() {
    let place = place([Reply::Hangs]).await;
    let first = place.ask("Where?", &[]).await;
    place.script.asked().await;
    let session = text(&place.json(&["runs"]).await["runs"][0], "sessionId").to_owned();
    let second = place.ask("And why?", &["--session", &session]).await;
    let queue = place.told(&["queue", "list"]).await;
    assert!(queue.contains("And why?") && !queue.contains("please"), "{queue}");
    let runs = place.told(&["runs"]).await;
    assert!(runs.contains("Where?") && runs.contains("And why?") && !runs.contains("please"), "{runs}");
    for run in [second, first] {
        place.told(&["cancel", &run]).await;
        place.subagent(&["wait", &run]).await;
    }
    place.running.stop().await;
}

#[tokio::test]
async fn whoever_interrupts_is_told_whom() {
    let place = place([Reply::Hangs]).await;
    let first = place.ask("Where?", &[]).await;
    place.script.asked().await;
    let session = text(&place.json(&["runs"]).await["runs"][0], "sessionId").to_owned();
    place.script.replace([Reply::done("here")]);
    let run = ["run", "asker", "-p", "No, why?", "--model", "script", "--session", &session];
    let second = place.subagent(&[&run[..], &["--if-busy", "interrupt"]].concat()).await;
    assert_eq!((second.code, &*second.stdout), (Some(0), "here\n"), "{}", second.stderr);
    assert!(second.stderr.contains(&format!("cancelling run {first} of asker")), "{}", second.stderr);
    let waited = place.subagent(&["wait", &first]).await;
    assert!(waited.stderr.contains("interrupted by a newer request"), "{}", waited.stderr);
    place.running.stop().await;
}

#[tokio::test]
async fn the_history_of_an_agent_that_was_called_can_be_read() {
    let call = Reply::calls(&[("worker", serde_json::json!({ "prompt": "dig here" }))]);
    let cast =
        Cast::new([("lead", vec![call, Reply::done("dug")]), ("lead/worker", vec![Reply::done("found")])]);
    let agent = |name: &str, tools: &str| {
        format!(
            "---\nkind: agent\nname: {name}\ndescription: Digs.\ncompletion: tool\ntools: [{tools}]\n---\nDig.\n"
        )
    };
    let house = House::new()
        .model("script", &cast)
        .agent("lead", &agent("lead", "worker"))
        .agent("worker", &agent("worker", "probe"));
    let place = Place::boot(&house, Script::new([])).await;
    let workspace = place.running.work().to_str().unwrap();
    let run = ["run", "lead", "-p", "dig", "--model", "script", "--workspace", workspace];
    assert_eq!(place.told(&run).await, "dug\n");
    let runs = place.json(&["runs"]).await["runs"].clone();
    let worker = runs.as_array().unwrap().iter().find(|run| run["agent"] == "worker").unwrap();
    let (id, session) = (text(worker, "runId"), text(worker, "sessionId"));
    let history = place.told(&["sessions", "history", session, "--run", id]).await;
    assert!(history.contains("dig here") && history.contains("found"), "{history}");
    assert!(!history.contains("dug"), "the caller's history is another: {history}");
    let own = place.told(&["sessions", "history", session]).await;
    assert!(own.contains("dug"), "{own}");
    let both = place.subagent(&["sessions", "history", session, "--run", id, "--agent", "lead"]).await;
    assert_eq!(both.code, Some(2), "{}", both.stderr);
    place.running.stop().await;
}

#[tokio::test]
async fn a_file_that_is_checked_keeps_its_name() {
    let place = place([Reply::Hangs]).await;
    std::fs::write(place.home.work().join("draft.md"), "---\nrun: { maxTurns: many }\n---\nx\n").unwrap();
    let checked = place.subagent(&["validate", "draft.md"]).await;
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    assert!(
        checked.stdout.contains("draft.md:2:") && !checked.stdout.contains("agent.md"),
        "{}",
        checked.stdout
    );
    place.running.stop().await;
}

#[tokio::test]
async fn an_agent_that_wants_more_than_the_settings_give_is_told_so() {
    let agent = |name: &str, sandbox: &str| {
        format!(
            "---\nkind: agent\nname: {name}\ndescription: Runs.\nsandbox: {sandbox}\n\
             tools: [run_shell_command]\n---\nRun.\n"
        )
    };
    let script = Script::new([]);
    let house =
        House::new().agent("wide", &agent("wide", "full")).agent("close", &agent("close", "readOnly"));
    let place = Place::boot(&house.script(&script), script).await;
    let shown = place.told(&["show", "close"]).await;
    assert!(shown.contains("\nsandbox      readOnly; the settings may confine"), "{shown}");
    let checked = place.told(&["validate", "wide"]).await;
    let warning = "`sandbox: full` opens nothing: the setting `sandbox.profile` is `workspaceWrite`";
    assert!(checked.contains(warning), "{checked}");
    let checked = place.told(&["validate", "close"]).await;
    assert!(checked.contains(" 0 warned, 0 failed"), "{checked}");
    place.running.stop().await;
}

/// A real command that fails, as the companion tells of it: the words of daemon and companion must fit.
#[tokio::test]
async fn a_command_that_fails_is_seen_to_fail_wherever_it_is_shown() {
    let runner = "---\nkind: agent\nname: runner\ndescription: Runs.\ncompletion: tool\nsandbox: readOnly\n\
                  tools: [run_shell_command]\n---\nRun.\n";
    let command =
        |command: &str| Reply::calls(&[("run_shell_command", serde_json::json!({ "command": command }))]);
    let script = Script::new([
        command("echo begun; echo 'it is broken' >&2; exit 3"),
        command("kill -9 $$"),
        command("touch inside; echo 'Exit code: 4'"),
        Reply::done("ran"),
    ]);
    let house = House::new().script(&script).agent("runner", runner);
    let house = house.rules("all", "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n");
    let place = Place::boot(&house, script).await;
    let workspace = place.running.work().to_str().unwrap();
    let ran =
        place.subagent(&["run", "runner", "-p", "go", "--model", "script", "--workspace", workspace]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let session = text(&place.json(&["runs"]).await["runs"][0], "sessionId").to_owned();
    let history = place.told(&["sessions", "history", &session]).await;
    for shown in [&ran.stderr, &history] {
        for line in ["· exit code 3", "· signal 9 (KILL)", "\n    begun\n    it is broken\n"] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        assert_eq!(shown.matches("✗ run_shell_command").count(), 2, "{shown}");
        assert_eq!(shown.matches("\n    ! the sandbox may have refused").count(), 1, "{shown}");
    }
    for (command, code) in [("exit 3", 1), ("echo well", 0)] {
        let given = format!("command={command}");
        let words = ["tools", "call", "run_shell_command", "--workspace", workspace, "--args", &given];
        let called = place.subagent(&words).await;
        assert_eq!(called.code, Some(code), "{command}: {}", called.stderr);
    }
    place.running.stop().await;
}

#[tokio::test]
async fn a_session_that_never_was_is_no_empty_one() {
    let place = place([Reply::Hangs]).await;
    for arguments in [
        &["runs", "--session", "nope"][..],
        &["queue", "list", "--session", "nope"],
        &["sessions", "show", "nope"],
        &["sessions", "history", "nope"],
    ] {
        let ended = place.subagent(arguments).await;
        assert_eq!((ended.code, &*ended.stdout), (Some(1), ""), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("there is no session nope\nhint: "), "{arguments:?}: {}", ended.stderr);
    }
    place.running.stop().await;
}

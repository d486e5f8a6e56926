//! Do the companion's commands about runs, sessions and agents do with a real daemon what they say? (Spec 12.)
//!
//! The daemon is in this process, so that a scripted model decides how long a run lives; the companion is the real
//! program on its real socket.

use std::path::PathBuf;

use serde_json::{Value, json};
use subagentd::protocol::{Risk, ToolKind};
use tokio::time::timeout;

use crate::{
    probe::Probe,
    process::{Ended, Home, output, text},
    support::{House, Reply, Running, STUCK, Script},
};

const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file, probe]\n---\nYou read.\n";

/// The exit code of `wait` when the time is over.
const TIMED_OUT: i32 = 124;

/// A daemon with the agent `reader`, and the companion beside it.
pub struct Place {
    pub running: Running,
    pub home: Home,
    socket: PathBuf,
    pub script: Script,
}

impl Place {
    pub async fn with(replies: impl Into<Vec<Reply>>) -> Place {
        let script = Script::new(replies);
        Place::boot(&House::new().script(&script).agent("reader", READER), script).await
    }

    pub async fn boot(house: &House, script: Script) -> Place {
        let running = house.boot().await;
        let socket = running.listen().await;
        Place { running, home: Home::new(), socket, script }
    }

    pub async fn subagent(&self, arguments: &[&str]) -> Ended {
        let socket = self.socket.to_str().unwrap();
        output(&mut self.home.companion(&[&["--socket", socket, "--no-spawn"], arguments].concat())).await
    }

    /// The same for a command that must succeed; answers what it printed.
    pub async fn told(&self, arguments: &[&str]) -> String {
        let ended = self.subagent(arguments).await;
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended.stdout
    }

    pub async fn json(&self, arguments: &[&str]) -> Value {
        let printed = self.told(&[arguments, &["--format", "json"]].concat()).await;
        serde_json::from_str(&printed).unwrap()
    }

    /// `run reader -p PROMPT` in the workspace, or in a session when `more` names one.
    pub async fn run(&self, prompt: &str, more: &[&str]) -> Ended {
        let workspace = self.running.work().to_str().unwrap();
        let place: &[&str] = if more.contains(&"--session") { &[] } else { &["--workspace", workspace] };
        let run = ["run", "reader", "-p", prompt, "--model", "script"];
        self.subagent(&[&run, place, more].concat()).await
    }

    /// Starts a run that goes on by itself; answers its id.
    pub async fn detach(&self, prompt: &str, more: &[&str]) -> String {
        let ended = self.run(prompt, &[&["--detach"], more].concat()).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout.trim_end().to_owned()
    }
}

/// What the model was told when it was asked last.
fn last_request(script: &Script) -> String {
    let requests = script.requests();
    requests.last().unwrap().messages.iter().map(|message| message.text() + "\n").collect()
}

#[tokio::test]
async fn a_second_run_in_a_session_remembers_the_first() {
    let place = Place::with([Reply::done("blue")]).await;
    let first = place.run("Which colour has the sky?", &[]).await;
    assert_eq!((first.code, &*first.stdout), (Some(0), "blue\n"), "{}", first.stderr);
    let listed = place.json(&["sessions"]).await;
    let session = text(&listed["sessions"][0], "sessionId").to_owned();

    let second = place.run("And why?", &["--session", &session]).await;
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    let records = place.json(&["runs"]).await["runs"].clone();
    assert_eq!(text(&records[0], "sessionId"), session);
    let told = last_request(&place.script);
    assert!(told.contains("Which colour has the sky?") && told.contains("And why?"), "{told}");

    // The first run's events are not shown again, and its end is not taken for the second's.
    assert_eq!(second.stderr.matches('▶').count(), 1, "{}", second.stderr);

    // In a pipe a run has a session of its own, and --continue takes the one that was active last.
    let third = place.run("Which colour has grass?", &["--output-format", "json"]).await;
    let third: Value = serde_json::from_str(&third.stdout).unwrap();
    assert_ne!(text(&third, "sessionId"), session);
    assert!(!last_request(&place.script).contains("sky"), "a new session remembers an old one");
    let fourth = place.run("And why is that?", &["--continue"]).await;
    assert!(fourth.stderr.contains("continuing session"), "{}", fourth.stderr);
    assert!(last_request(&place.script).contains("Which colour has grass?"));

    let history = place.told(&["sessions", "history", &session]).await;
    assert!(history.contains("Which colour has the sky?") && history.contains("And why?"), "{history}");
    let shown = place.json(&["sessions", "show", &session]).await;
    assert_eq!(shown["contexts"].as_array().unwrap().len(), 1, "{shown}");
    place.running.stop().await;
}

#[tokio::test]
async fn runs_and_sessions_are_listed_closed_and_deleted() {
    let place = Place::with([Reply::done("done")]).await;
    let nothing = place.run("Go on", &["--continue"]).await;
    assert_eq!((nothing.code, &*nothing.stdout), (Some(1), ""), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("no open session"), "{}", nothing.stderr);
    assert_eq!(place.told(&["runs"]).await, "no runs\n");

    let run = place.detach("Read", &[]).await;
    let waited = place.subagent(&["wait", &run]).await;
    assert_eq!((waited.code, &*waited.stdout), (Some(0), "done\n"), "{}", waited.stderr);
    let listed = place.json(&["runs"]).await;
    assert_eq!(text(&listed["runs"][0], "runId"), run);
    let session = text(&listed["runs"][0], "sessionId").to_owned();
    let table = place.told(&["runs", "--session", &session]).await;
    assert!(table.starts_with(&run[..13]) && table.contains("GOAL"), "{table}");
    assert_eq!(place.told(&["runs", "--active"]).await, "no runs\n");

    // The beginning of an id that no other shares is enough.
    let closed = place.told(&["sessions", "close", &session[..30]]).await;
    assert_eq!(closed, format!("closed session {session}\n"));
    let again = place.told(&["sessions", "close", &session]).await;
    assert_eq!(again, format!("session {session} was closed before\n"));
    assert_eq!(place.told(&["sessions", "--open"]).await, "no sessions\n");
    let refused = place.run("Go on", &["--session", &session]).await;
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);

    let unasked = place.subagent(&["sessions", "delete", &session]).await;
    assert_eq!((unasked.code, &*unasked.stdout), (Some(2), ""), "{}", unasked.stderr);
    let deleted = place.told(&["sessions", "delete", &session, "--yes"]).await;
    assert!(deleted.starts_with(&format!("deleted session {session} with its ")), "{deleted}");
    assert_eq!(place.told(&["sessions"]).await, "no sessions\n");
    place.running.stop().await;
}

#[tokio::test]
async fn a_run_is_waited_for_and_cancelled() {
    let place = Place::with([Reply::Hangs]).await;
    let run = place.detach("Hang", &[]).await;
    place.script.asked().await;
    assert!(place.told(&["runs", "--active"]).await.starts_with(&run[..13]));
    let late = place.subagent(&["wait", &run, "--timeout", "0.001"]).await;
    assert_eq!((late.code, &*late.stdout), (Some(TIMED_OUT), ""), "{}", late.stderr);

    let told = place.told(&["cancel", &run, "--reason", "enough"]).await;
    assert!(told.starts_with("cancel") && told.contains(&run), "{told}");
    let waited = place.subagent(&["wait", &run]).await;
    assert_eq!(waited.code, Some(130), "{}", waited.stderr);
    let again = place.told(&["cancel", &run]).await;
    assert_eq!(again, format!("run {run} of reader had ended before: ABORTED\n"));
    let steered = place.subagent(&["steer", &run, "wake up"]).await;
    assert_eq!((steered.code, &*steered.stdout), (Some(1), ""), "{}", steered.stderr);
    place.running.stop().await;
}

#[tokio::test]
async fn what_is_said_to_a_run_reaches_its_model() {
    let (probe, handle, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let script = Script::new([Reply::calls(&[("probe", json!({ "do": "wait" }))]), Reply::done("left")]);
    let house = House::new().script(&script).agent("reader", READER).tool(probe);
    let place = Place::boot(&house, script).await;
    let run = place.detach("Look", &[]).await;
    timeout(STUCK, began.recv()).await.expect("the call does not begin").unwrap();
    let told = place.told(&["steer", &run, "look left"]).await;
    assert!(told.contains(&run), "{told}");
    handle.release.add_permits(1);
    let waited = place.subagent(&["wait", &run]).await;
    assert_eq!((waited.code, &*waited.stdout), (Some(0), "left\n"), "{}", waited.stderr);
    assert!(last_request(&place.script).contains("look left"));
    // Whoever reads the run later is told of it too.
    let filter = json!({ "filter": { "runId": run, "types": ["run.steered"] } }).to_string();
    let events: Value = serde_json::from_str(&place.told(&["rpc", "events/list", &filter]).await).unwrap();
    assert_eq!(events["events"].as_array().unwrap().len(), 2, "kept, then read: {events}");
    place.running.stop().await;
}

#[tokio::test]
async fn a_busy_agent_lets_runs_wait_in_a_queue() {
    let place = Place::with([Reply::Hangs]).await;
    let first = place.detach("One", &[]).await;
    place.script.asked().await;
    let session = text(&place.json(&["runs"]).await["runs"][0], "sessionId").to_owned();
    let refused = place.run("No", &["--session", &session, "--if-busy", "reject"]).await;
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);

    let second = place.detach("Two", &["--session", &session]).await;
    let third = place.detach("Three", &["--session", &session]).await;
    let order = |queue: Value| -> Vec<String> {
        queue["queue"].as_array().unwrap().iter().map(|run| text(run, "runId").to_owned()).collect()
    };
    assert_eq!(order(place.json(&["queue", "list"]).await), [second.clone(), third.clone()]);
    place.told(&["queue", "promote", &third]).await;
    assert_eq!(order(place.json(&["queue", "list"]).await), [third.clone(), second.clone()]);
    place.told(&["queue", "remove", &third]).await;
    let removed = place.subagent(&["wait", &third]).await;
    assert_eq!(removed.code, Some(130), "{}", removed.stderr);

    // The second waits in the foreground as well: it ends when it has had its turn.
    place.script.replace([Reply::done("second")]);
    place.told(&["cancel", &first]).await;
    let waited = place.subagent(&["wait", &second]).await;
    assert_eq!((waited.code, &*waited.stdout), (Some(0), "second\n"), "{}", waited.stderr);
    assert_eq!(place.told(&["queue", "list"]).await, "no run waits for its turn in a context\n");
    place.running.stop().await;
}

#[tokio::test]
async fn a_run_that_had_to_wait_is_followed_to_its_own_end() {
    let place = Place::with([Reply::Hangs]).await;
    let first = place.detach("One", &[]).await;
    place.script.asked().await;
    let session = text(&place.json(&["runs"]).await["runs"][0], "sessionId").to_owned();
    place.script.replace([Reply::done("second")]);
    let in_session = ["--session", &*session];
    let waits = place.run("Two", &in_session);
    let cancels = async {
        // Once it waits, the one before it is taken away.
        let mut client = place.running.client();
        let filter = json!({ "sessionId": session, "types": ["run.queued"] });
        let params = json!({ "filter": filter, "waitMs": 60_000 });
        let queued = timeout(STUCK, client.call("events/list", params)).await.unwrap();
        assert_eq!(queued["events"][0]["data"]["for"], "context", "{queued}");
        place.told(&["cancel", &first]).await
    };
    let (waited, _) = tokio::join!(waits, cancels);
    assert_eq!((waited.code, &*waited.stdout), (Some(0), "second\n"), "{}", waited.stderr);
    assert!(waited.stderr.contains("queued: reader has a run"), "{}", waited.stderr);
    place.running.stop().await;
}

#[tokio::test]
async fn agents_are_shown_and_checked() {
    let script = Script::new([Reply::done("x")]);
    let broken = "---\nkind: agent\nname: broken\nrun: { maxTurns: many }\n---\nx\n";
    let reader = READER.replace(", probe", "");
    let house = House::new().script(&script).agent("reader", &reader).agent("broken", broken);
    let place = Place::boot(&house, script).await;

    let shown = place.told(&["show", "reader"]).await;
    assert!(
        shown.starts_with("reader  ") && shown.contains("read_file") && shown.contains("You read."),
        "{shown}"
    );
    assert_eq!(place.told(&["agents", "show", "reader"]).await, shown);
    let missing = place.subagent(&["show", "raeder"]).await;
    assert_eq!((missing.code, &*missing.stdout), (Some(1), ""), "{}", missing.stderr);

    let valid = place.told(&["validate", "reader"]).await;
    assert!(valid.contains("pass") && valid.trim_end().ends_with("0 failed"), "{valid}");
    let invalid = place.subagent(&["validate", "broken"]).await;
    assert_eq!(invalid.code, Some(1), "{}", invalid.stderr);
    assert!(invalid.stdout.contains("fail") && invalid.stdout.contains("maxTurns"), "{}", invalid.stdout);
    let all = place.subagent(&["validate", "--all"]).await;
    assert_eq!(all.code, Some(1), "{}", all.stderr);
    assert!(all.stdout.contains("1 invalid"), "{}", all.stdout);

    // A file that lies nowhere yet is checked by its text.
    std::fs::write(place.home.work().join("draft.md"), reader.replace("name: reader", "name: draft"))
        .unwrap();
    let draft = place.told(&["validate", "draft.md"]).await;
    assert!(draft.starts_with("draft"), "{draft}");
    std::fs::write(place.home.work().join("draft.md"), "no front matter\n").unwrap();
    assert_eq!(place.subagent(&["validate", "draft.md"]).await.code, Some(1));
    place.running.stop().await;
}

/// Only the real program keeps a log: it is what it would print.
#[tokio::test]
async fn the_daemons_log_is_shown() {
    let home = Home::new();
    let absent = output(&mut home.companion(&["logs"])).await;
    assert_eq!((absent.code, &*absent.stdout), (Some(69), ""), "{}", absent.stderr);
    assert!(home.daemon_pid().is_none(), "`logs` started a daemon");

    let served = home.start().await;
    let kept = output(&mut home.companion(&["logs", "-n", "1000", "--format", "json"])).await;
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    let kept: Value = serde_json::from_str(&kept.stdout).unwrap();
    let lines: Vec<&str> =
        kept["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(!lines.is_empty(), "the daemon says when it starts to listen: {kept}");
    let printed = output(&mut home.companion(&["logs", "-n", "1000"])).await;
    assert!(printed.stdout.starts_with(&lines.join("\n")), "{}", printed.stdout);
    let newest = output(&mut home.companion(&["logs", "-n", "1"])).await;
    assert_eq!(newest.stdout.lines().count(), 1, "{}", newest.stdout);
    served.stop().await;
}

const WRITER: &str = "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: [write_file]\n---\nYou write.\n";

#[tokio::test]
async fn where_nobody_will_come_a_run_is_denied_or_ends_as_was_said() {
    let writes = Reply::calls(&[("write_file", json!({ "path": "a.txt", "content": "a" }))]);
    let script = Script::new([writes, Reply::done("went on")]);
    let place = Place::boot(&House::new().script(&script).agent("writer", WRITER), script).await;
    let workspace = place.running.work().to_str().unwrap().to_owned();
    let run = ["run", "writer", "-p", "Write", "--model", "script", "--workspace", &workspace, "--headless"];
    let denied = place.subagent(&run).await;
    assert_eq!((denied.code, &*denied.stdout), (Some(0), "went on\n"), "{}", denied.stderr);
    let told = format!("{:?}", place.script.requests().last().unwrap().messages);
    assert!(told.contains("NO_CLIENT") && told.contains("nobody is there to ask"), "{told}");
    let failed = place.subagent(&[&run[..], &["--on-detached", "fail"]].concat()).await;
    assert_eq!(failed.code, Some(9), "{}", failed.stderr);
    assert!(failed.stderr.contains("UNATTENDED"), "{}", failed.stderr);
    assert!(!place.running.work().join("a.txt").exists());
    place.running.stop().await;
}

//! What does not go by the book: runs that are cancelled or left, terminals that change, daemons that die.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use subagentd::protocol::{Risk, ToolKind};

use super::{PROMPT, Place};
use crate::{
    probe::Probe,
    process::{Home, text},
    support::{House, Reply, Running, Script},
    terminal::{INTERRUPT, Terminal},
};

/// Has a tool that does not end when it is told to.
const STUBBORN: &str =
    "---\nkind: agent\nname: chatter\ndescription: Talks.\ntools: [probe]\n---\nYou talk.\n";

/// A daemon in this process, whose model does what the test says.
struct Scripted {
    running: Running,
    home: Home,
    script: Script,
    socket: String,
}

impl Scripted {
    async fn with(replies: impl Into<Vec<Reply>>) -> Scripted {
        let script = Script::new(replies);
        let running = House::new().script(&script).agent("chatter", super::CHATTER).boot().await;
        let socket = running.listen().await.to_str().unwrap().to_owned();
        Scripted { running, home: Home::new(), script, socket }
    }

    fn talk(&self) -> Terminal {
        let workspace = self.running.work().to_str().unwrap();
        let talk =
            ["--socket", &self.socket, "--no-spawn", "run", "chatter", "--interactive", "--model", "script"];
        Terminal::open(&self.home, 100, &[&talk[..], &["--workspace", workspace]].concat())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_once_cancels_the_run_and_the_conversation_goes_on() {
    let place = Scripted::with([Reply::Hangs]).await;
    let mut terminal = place.talk();
    terminal.sees(PROMPT).await;
    terminal.enters("one");
    place.script.asked().await;
    terminal.types(INTERRUPT);
    terminal.sees("cancelling the run").await;
    terminal.sees("ABORTED").await;
    terminal.sees(PROMPT).await;
    place.script.replace([Reply::says("Here I am again.")]);
    terminal.enters("two");
    terminal.sees("Here I am again.").await;
    terminal.sees(PROMPT).await;
    terminal.types("\x04");
    assert_eq!(terminal.ended().await, Some(0));
    place.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_twice_leaves_the_run_and_the_next_prompt_waits_for_its_turn() {
    let script = Script::new([Reply::calls(&[("probe", json!({ "do": "ignoreCancel" }))])]);
    let (house, clock) = House::new().script(&script).agent("chatter", STUBBORN).manual_clock();
    let (probe, _, mut began) = Probe::new("probe", ToolKind::Read, Risk::Safe);
    let running = house.tool(probe).boot().await;
    let socket = running.listen().await.to_str().unwrap().to_owned();
    let place = Scripted { running, home: Home::new(), script, socket };
    let mut terminal = place.talk();
    terminal.sees(PROMPT).await;
    terminal.enters("one");
    began.recv().await.unwrap();
    terminal.types(INTERRUPT);
    terminal.sees("cancelling the run").await;
    // Its tool gets two seconds, which pass when the test says so.
    terminal.types(INTERRUPT);
    terminal.sees("left the run to end by itself; `subagent attach ").await;
    terminal.sees(PROMPT).await;
    place.script.replace([Reply::says("My turn.")]);
    terminal.enters("two");
    terminal.sees("queued: chatter has a run in this session that is not over").await;
    clock.advance(Duration::from_secs(3));
    terminal.sees("My turn.").await;
    terminal.sees(PROMPT).await;
    terminal.types("\x04");
    assert_eq!(terminal.ended().await, Some(0));
    place.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_that_changes_its_size_keeps_what_is_shown_and_typed() {
    let (streams, chunks) = Reply::streams();
    let place = Scripted::with([streams]).await;
    let mut terminal = place.talk();
    terminal.sees(PROMPT).await;
    terminal.types("a question that takes more than one row of a narrow terminal");
    terminal.sees("narrow terminal").await;
    terminal.resize(30);
    // Drawn again in rows that fit.
    terminal.sees("chatter › a question that tak\r\n  es more than one row of a n\r\n").await;
    terminal.types("\r");
    place.script.asked().await;
    chunks.send("first ".into()).await.unwrap();
    terminal.sees("first ").await;
    terminal.resize(60);
    chunks.send("second".into()).await.unwrap();
    terminal.sees("second").await;
    drop(chunks);
    terminal.sees("■").await;
    terminal.sees(PROMPT).await;
    terminal.types("another that fits into one row of sixty\x1b[D\x1b[D");
    terminal.sees("another that fits into one row of sixty").await;
    terminal.types("\x15\x0b\x04");
    assert_eq!(terminal.ended().await, Some(0));
    place.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_models_say_does_not_steer_the_terminal() {
    let place = Scripted::with([Reply::says("red \x1b[31m and \x1b]0;title\x07 gone\x1b[2J")]).await;
    let mut terminal = place.talk();
    terminal.sees(PROMPT).await;
    terminal.enters("Be rude");
    terminal.sees("red ^[[31m and ^[]0;title^G gone^[[2J").await;
    terminal.sees(PROMPT).await;
    terminal.enters("/context");
    terminal.sees("red ^[[31m and").await;
    terminal.sees(PROMPT).await;
    terminal.types("\x04");
    assert_eq!(terminal.ended().await, Some(0));
    assert!(!terminal.seen.contains("\x1b[31m and"), "{}", terminal.seen);
    place.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_that_was_stopped_gives_the_terminal_back_and_goes_on() {
    let place = Scripted::with([Reply::says("Yes.")]).await;
    let mut terminal = place.talk();
    terminal.sees(PROMPT).await;
    terminal.types("half");
    terminal.sees("half").await;
    // Ctrl-Z
    terminal.types("\x1a");
    terminal.sees("\x1b[?2004l").await;
    while !terminal.is_as_it_was() {
        tokio::task::yield_now().await;
    }
    terminal.signal(Signal::CONT);
    terminal.sees("chatter › half").await;
    terminal.enters(" done");
    terminal.sees("Yes.").await;
    terminal.sees(PROMPT).await;
    terminal.types("\x04");
    assert_eq!(terminal.ended().await, Some(0));
    place.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_dies_between_two_prompts_is_there_again_for_the_second() {
    let place = Place::new().await;
    let model = place.says("chat", "Yes.");
    let mut terminal = place.talk(&model, &[]);
    terminal.sees(PROMPT).await;
    terminal.enters("before");
    terminal.sees("Yes.").await;
    terminal.sees(PROMPT).await;
    let Place { home, served } = place;
    served.kill().await;
    // Nobody has started it again, so the next prompt does.
    terminal.enters("after");
    terminal.sees("no daemon listens on").await;
    terminal.sees("Yes.").await;
    terminal.sees(PROMPT).await;
    // Nor has anybody the second time.
    assert!(home.kill_daemon());
    while home.daemon_pid().is_some() {
        tokio::task::yield_now().await;
    }
    terminal.enters("once more");
    terminal.sees("Yes.").await;
    terminal.sees(PROMPT).await;
    terminal.types("\x04");
    assert_eq!(terminal.ended().await, Some(0));
    // Only now is there nobody who would start one, too.
    assert!(home.kill_daemon());
    // What it held is closed one by one: its lock may be free while its socket still listens.
    while home.daemon_pid().is_some() || std::os::unix::net::UnixStream::connect(home.socket()).is_ok() {
        tokio::task::yield_now().await;
    }
    let served = home.start().await;
    let place = Place { home, served };
    assert_eq!(place.prompts("chatter").await, ["before", "after", "once more"]);
    let mut wire = place.home.connect().await;
    let runs = wire.call("run/list", serde_json::json!({})).await.unwrap();
    let runs = runs["runs"].as_array().unwrap();
    assert!(runs.iter().all(|run| text(run, "sessionId") == text(&runs[0], "sessionId")), "one conversation");
    drop(wire);
    place.served.stop().await;
}

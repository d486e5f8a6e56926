//! A conversation in the terminal: the real companion on a real terminal, with a real daemon (spec 12).

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    process::{Home, Served, text},
    recording::{Recording, reply, save},
    terminal::{INTERRUPT, Terminal},
};

mod disturbed;

const CHATTER: &str =
    "---\nkind: agent\nname: chatter\ndescription: Talks.\ntools: [read_file]\n---\nYou talk.\n";

const WRITER: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ntools: [write_file]\n---\nYou write.\n";

/// What stands before what is typed.
const PROMPT: &str = "chatter › ";

/// A daemon, and recordings of what its models say.
struct Place {
    home: Home,
    served: Served,
}

impl Place {
    async fn new() -> Place {
        let home = Home::new();
        for (name, text) in [("chatter", CHATTER), ("writer", WRITER)] {
            fs::write(home.path(&format!("config/subagentd/agents/{name}.md")), text).unwrap();
        }
        let served = home.start().await;
        Place { home, served }
    }

    /// A model that says this.
    fn says(&self, name: &str, said: &str) -> String {
        Recording::write_parts(&self.home, name, vec![vec![json!({ "text": said })]])
    }

    fn talk(&self, model: &str, more: &[&str]) -> Terminal {
        let talk = ["run", "chatter", "--interactive", "--model", model];
        Terminal::open(&self.home, 100, &[&talk, more].concat())
    }

    /// What every context of the only session was told, by agent.
    async fn prompts(&self, agent: &str) -> Vec<String> {
        let mut wire = self.home.connect().await;
        let sessions = wire.call("session/list", json!({})).await.unwrap();
        let session = text(&sessions["sessions"][0], "sessionId");
        let params = json!({ "sessionId": session, "agent": agent });
        let history = wire.call("session/history", params).await.unwrap();
        let messages = history["messages"].as_array().unwrap().iter();
        let is_user = |message: &&Value| message["role"] == "user";
        messages.filter(is_user).map(|message| text(&message["parts"][0], "text").to_owned()).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_remembers_and_every_command_does_what_it_says() {
    let place = Place::new().await;
    let (first, second) =
        (place.says("first", "The sky is blue."), place.says("second", "Because of the air."));
    let mut terminal = place.talk(&first, &[]);
    terminal.sees("talking with chatter in a new session").await;
    terminal.sees(PROMPT).await;
    terminal.enters("/context");
    terminal.sees("nothing has been said to chatter").await;
    terminal.sees(PROMPT).await;
    terminal.enters("Which colour has the sky?");
    terminal.sees("The sky is blue.").await;
    terminal.sees("■").await;
    terminal.sees(PROMPT).await;

    terminal.enters(&format!("/model {second}"));
    terminal.sees("the next runs of this conversation use replay:").await;
    terminal.sees(PROMPT).await;
    terminal.enters("And why?");
    terminal.sees("Because of the air.").await;
    terminal.sees(PROMPT).await;
    assert_eq!(place.prompts("chatter").await, ["Which colour has the sky?", "And why?"]);

    for (typed, shown) in [
        ("/context", &["messages     4", "you: Which colour has the sky?", "Because of the air."][..]),
        ("context", &["history      never shortened or cleared"]),
        ("/model", &["second.jsonl, in this conversation"]),
        ("/tools", &["TOOL", "read_file"]),
        ("/agents", &["codebase-investigator", "talking with chatter"]),
        ("/cost", &["chatter", "total"]),
        ("/help", &["/compact", "Alt-Enter"]),
        ("/contxt", &["there is no command `/contxt`; nothing was sent", "did you mean `/context`?"]),
        ("/clear all", &["takes nothing behind it"]),
        ("/undo", &["there is nothing to undo"]),
        ("/agents nobody", &["error: ", "hint: "]),
        ("/compact", &["chatter: "]),
        ("/clear", &["chatter: the context begins anew"]),
        ("/context", &["of which it remembers 0"]),
    ] {
        terminal.enters(typed);
        for text in shown {
            terminal.sees(text).await;
        }
        terminal.sees(PROMPT).await;
    }

    // Another agent has a context of its own in the same session.
    terminal.enters("/agents writer");
    terminal.sees("talking with writer, which has a context of its own").await;
    terminal.sees("writer › ").await;
    terminal.enters("Hello");
    terminal.sees("Because of the air.").await;
    terminal.sees("writer › ").await;
    assert_eq!(place.prompts("writer").await, ["Hello"]);
    terminal.enters("exit");
    assert_eq!(terminal.ended().await, Some(0));
    place.served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_of_several_lines_are_one_prompt_and_the_next_start_finds_them_again() {
    let place = Place::new().await;
    let model = place.says("chat", "Yes.");
    let mut terminal = place.talk(&model, &["-p", "first of all"]);
    // Typed before there is a prompt: it is neither lost nor sent.
    terminal.types("ahead\r/clear\r");
    terminal.sees("chatter › first of all").await;
    terminal.sees("Yes.").await;
    terminal.sees("chatter › ahead").await;
    terminal.sees("/clear").await;
    assert_eq!(place.prompts("chatter").await, ["first of all"]);
    terminal.types("\r");
    terminal.sees("Yes.").await;
    terminal.sees(PROMPT).await;
    // Alt-Enter, a backslash, and a paste whose lines are not sent one by one.
    terminal.types("one\x1b\rtwo\\\r\x1b[200~three\rfour\r\x1b[201~");
    terminal.enters("five");
    terminal.sees("Yes.").await;
    terminal.sees(PROMPT).await;
    terminal.enters(" a secret");
    terminal.sees("Yes.").await;
    terminal.sees(PROMPT).await;
    terminal.types("\x04");
    assert_eq!(terminal.ended().await, Some(0));
    let expected = ["first of all", "ahead\n/clear", "one\ntwo\nthree\nfour\nfive", "a secret"];
    assert_eq!(place.prompts("chatter").await, expected);

    // Without --new it goes on where it was; Up passes over what began with a blank.
    let mut terminal = place.talk(&model, &[]);
    terminal.sees("continuing session").await;
    terminal.sees("it remembers 8 messages").await;
    terminal.sees(PROMPT).await;
    terminal.types("\x1b[A");
    terminal.sees("five").await;
    terminal.types(&"\x1b[A".repeat(7));
    terminal.sees("first of all").await;
    terminal.types("\x15/ag\t");
    terminal.sees("/agents ").await;
    terminal.types("wr\t\r");
    terminal.sees("talking with writer").await;
    terminal.sees("writer › ").await;
    terminal.types("/c\t");
    terminal.sees("/clear  /compact  /context  /cost").await;
    terminal.types("\x15");
    terminal.enters("/quit");
    assert_eq!(terminal.ended().await, Some(0));
    place.served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_asked_in_place_and_undo_names_the_file_before_it_asks() {
    let place = Place::new().await;
    let note = json!({ "name": "write_file", "args": { "path": "note.txt", "content": "hello\n" } });
    let lines =
        [reply(vec![json!({ "functionCall": note })], 1), reply(vec![json!({ "text": "Written." })], 1)];
    let model = save(&place.home, "writing", &lines);
    let talk = ["run", "writer", "--interactive", "--model", &model];
    let mut terminal = Terminal::open(&place.home, 100, &talk);
    terminal.sees("writer › ").await;
    terminal.enters("Write a note");
    terminal.sees("? more › ").await;
    terminal.types("y");
    terminal.sees("Written.").await;
    terminal.sees("writer › ").await;
    let file = place.home.work().join("note.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "hello\n");

    // What lets more run without asking stands at the prompt, and one key leaves it; what was typed stays.
    terminal.enters("/mode autoEdit");
    terminal.sees("edits of low risk run without asking in this session (mode autoEdit)").await;
    terminal.sees("writer (autoEdit) › ").await;
    terminal.types("half a\x1b[Z");
    terminal.sees("what is not safe is asked about (mode default)").await;
    terminal.sees("writer › half a").await;
    terminal.types("\x15");
    terminal.enters("/mode wild");
    terminal.sees("there is no such mode; nothing was changed").await;
    terminal.sees("writer › ").await;

    terminal.enters("/undo");
    terminal.sees("note.txt (created)").await;
    terminal.sees("n declines › ").await;
    terminal.types("n");
    terminal.sees("nothing was undone").await;
    assert!(file.exists());
    terminal.sees("writer › ").await;
    // What was typed before it was asked is no answer to it.
    terminal.types("/undo\ry\r");
    terminal.sees("n declines › ").await;
    terminal.types("n");
    terminal.sees("nothing was undone").await;
    assert!(file.exists());
    terminal.sees("writer › ").await;
    terminal.enters("/undo");
    terminal.sees("n declines › ").await;
    terminal.types("y");
    terminal.sees("does not › y").await;
    terminal.confirms().await;
    terminal.sees("removed ").await;
    assert!(!file.exists());
    terminal.sees("writer › ").await;
    terminal.enters("/undo");
    terminal.sees("there is nothing to undo").await;
    terminal.sees("writer › ").await;
    terminal.types("\x04");
    assert_eq!(terminal.ended().await, Some(0));
    place.served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_at_the_input_takes_back_what_was_typed_and_tells_how_to_leave() {
    let place = Place::new().await;
    let model = place.says("chat", "Yes.");
    let mut terminal = place.talk(&model, &[]);
    terminal.sees(PROMPT).await;
    terminal.types("nonsense");
    terminal.sees("nonsense").await;
    terminal.types(INTERRUPT);
    terminal.sees("^C").await;
    terminal.sees(PROMPT).await;
    terminal.types(INTERRUPT);
    terminal.sees("/exit or Ctrl-D leaves").await;
    terminal.sees(PROMPT).await;
    terminal.enters("sense");
    terminal.sees("Yes.").await;
    terminal.sees(PROMPT).await;
    assert_eq!(place.prompts("chatter").await, ["sense"]);
    // Whatever ends it, the terminal is as it was.
    terminal.types("half a word");
    terminal.sees("half a word").await;
    assert!(!terminal.is_as_it_was());
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.ended().await, None);
    assert!(terminal.seen.contains("\x1b[?2004h"), "pastes are marked");
    terminal.sees("\x1b[?2004l").await;
    place.served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_or_beside_what_does_not_fit_it_says_what_to_do() {
    let home = Home::new();
    let cases: [(&[&str], &str); 4] = [
        (&["--detach"], "--interactive does not go with --detach"),
        (&["--output-format", "json"], "--interactive does not go with --output-format"),
        (&["--headless"], "--interactive does not go with --headless"),
        (&["--record", "x.jsonl"], "--interactive does not go with --record"),
    ];
    for (more, expected) in cases {
        let run = ["run", "reader", "--interactive"];
        let mut terminal = Terminal::open(&home, 100, &[&run, more].concat());
        terminal.sees(expected).await;
        assert_eq!(terminal.ended().await, Some(2));
    }
    let ended = crate::process::output(&mut home.companion(&["run", "reader", "--interactive"])).await;
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
    assert!(
        ended.stderr.contains("needs a terminal") && ended.stderr.contains("-p PROMPT"),
        "{}",
        ended.stderr
    );
    assert!(home.daemon_pid().is_none(), "a daemon was started for nothing");
}

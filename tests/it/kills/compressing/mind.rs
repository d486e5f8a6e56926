//! The model behind the provider: what it is asked, what it says, and where it hangs. What it says follows from what it is
//! shown, since nobody knows what a daemon that was killed asks next.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::context::shown;
use crate::provider_server::{Answer, Asked, ProviderServer, Said, Wire, call};

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Turn,
    /// For a snapshot of the older part.
    Summary,
    /// For a better snapshot.
    SecondLook,
}

/// Where an answer stops, and nothing more comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hang {
    AtOnce(Kind),
    Halfway(Kind),
    /// At once, in the first turn after a second look.
    Afterwards,
    Never,
}

/// A request of one daemon.
pub struct Request {
    pub kind: Kind,
    /// As [`shown`] tells them, without the system's.
    pub messages: Vec<String>,
}

/// The requests of one daemon, oldest first.
pub type Requests = Arc<Mutex<Vec<Request>>>;

/// One model for all daemons of a test.
#[derive(Default)]
pub struct Mind {
    /// No two answers cost the same: the n-th has n tokens.
    answers: AtomicU64,
    /// Reads no more, and hands in its result.
    pub has_enough: AtomicBool,
}

/// A request came; true when it hangs.
pub type Came = mpsc::UnboundedReceiver<(Kind, bool)>;

impl Mind {
    /// A provider for one daemon.
    pub async fn serve(self: &Arc<Mind>, hang: Hang) -> (ProviderServer, Requests, Came) {
        let (mind, requests) = (Arc::clone(self), Requests::default());
        let (tell, came) = mpsc::unbounded_channel();
        let kept = Arc::clone(&requests);
        let mut was_looked_at = false;
        let think = move |asked: &Asked| {
            let body: Value = serde_json::from_str(&asked.body).unwrap();
            let messages: Vec<&Value> =
                body["messages"].as_array().unwrap().iter().filter(|it| it["role"] != "system").collect();
            let kind = kind_of(messages[messages.len() - 1]);
            let n = mind.answers.fetch_add(1, Ordering::Relaxed) + 1;
            let said = match kind {
                Kind::Turn => mind.turn(messages[messages.len() - 1]),
                Kind::Summary => snapshot(&format!("summary {n}")),
                Kind::SecondLook => snapshot(&format!("improved summary {n}")),
            };
            let answer = answer(&said, asked.body.len() as u64 / 4, n);
            let (hangs, bytes) = match hang {
                Hang::AtOnce(at) => (at == kind, 0),
                Hang::Halfway(at) => (at == kind, answer.bytes() / 2),
                Hang::Afterwards => (kind == Kind::Turn && was_looked_at, 0),
                Hang::Never => (false, 0),
            };
            was_looked_at |= kind == Kind::SecondLook;
            let messages = messages.into_iter().map(shown).collect();
            kept.lock().unwrap().push(Request { kind, messages });
            // Nobody waits for it any more once the daemon is killed.
            let _over = tell.send((kind, hangs));
            if hangs { answer.first_bytes(bytes).then_stall() } else { answer }
        };
        (ProviderServer::openai_thinking(think).await, requests, came)
    }

    /// One who talks says much; one who works reads one file after the other.
    fn turn(&self, last: &Value) -> Said {
        let text = last["content"].as_str().unwrap_or_default();
        if last["role"] == "user" && text.starts_with("prompt") {
            let words: String = (0..350).map(|n| format!("word{n} ")).collect();
            return Said { text: format!("answer to {text}: {words}"), ..Said::default() };
        }
        let call = match self.has_enough.load(Ordering::Relaxed) {
            true => call("call_done", "complete_task", &json!({ "result": "finished" })),
            false => {
                let read = number_in(text).unwrap_or(0);
                call("call_read", "read_file", &json!({ "path": format!("{}.txt", read + 1) }))
            }
        };
        Said { calls: vec![call], ..Said::default() }
    }
}

/// What the file of this number says.
pub fn file(number: u64) -> String {
    let words: String = (0..280).map(|n| format!("of{number}word{n} ")).collect();
    format!("number={number}; {words}\n")
}

/// Of the file that a text shows.
pub fn number_in(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("number=")?;
    rest.split_once(';')?.0.parse().ok()
}

fn kind_of(last: &Value) -> Kind {
    let text = last["content"].as_str().unwrap_or_default();
    match () {
        () if text.contains(" snapshot to check begins>>") => Kind::SecondLook,
        () if text.contains(" history begins>>") => Kind::Summary,
        () => Kind::Turn,
    }
}

fn snapshot(goal: &str) -> Said {
    let text = format!(
        "I think about it.\n<state_snapshot>\n<overall_goal>{goal}</overall_goal>\n<key_knowledge>k</key_knowledge>\n\
         <file_system_state>READ: 1.txt</file_system_state>\n<recent_actions>r</recent_actions>\n\
         <current_plan>1. [IN PROGRESS] read</current_plan>\n</state_snapshot>"
    );
    Said { text, ..Said::default() }
}

/// With counts of tokens that are about right, so that contexts grow as they do elsewhere.
fn answer(said: &Said, prompt: u64, output: u64) -> Answer {
    let usage = json!({ "choices": [], "usage": {
        "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
    } })
    .to_string();
    let events = Wire::OpenAi.events(said).into_iter();
    Answer::chunks(events.map(|event| if event.contains("\"usage\":") { usage.clone() } else { event }))
}

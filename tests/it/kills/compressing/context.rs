//! Which context must a model be shown? Told from the log and from the history that people read, by the words of spec 04
//! alone: all that was said, or a snapshot, its acknowledgement and the kept part; nothing in between.

use serde_json::Value;

use super::mind::{Kind, Request};
use crate::process::text;

/// Letters around a snapshot in the message that shows it, at most: more would be something left of what it stands for.
const PREAMBLE_MAX: usize = 300;

/// A message of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    Said(String),
    Snapshot(String),
    Acknowledgement,
}

/// A message of a request.
pub fn shown(message: &Value) -> String {
    let content = message["content"].as_str().unwrap_or_default();
    match text(message, "role") {
        "assistant" => {
            let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
                let arguments: Value = serde_json::from_str(text(&call["function"], "arguments")).unwrap();
                told_call(&call["id"], &call["function"]["name"], &arguments)
            });
            format!("model: {content}{}", calls.collect::<String>())
        }
        "tool" => format!("result of {}: {content}", message["tool_call_id"]),
        role => format!("{role}: {content}"),
    }
}

/// A message of the history, as [`shown`] tells it. Runs here make one call at a time.
pub fn told(message: &Value) -> String {
    let mut line = format!("{}: ", text(message, "role"));
    for part in message["parts"].as_array().unwrap() {
        match text(part, "type") {
            "toolCall" => line.push_str(&told_call(&part["callId"], &part["name"], &part["arguments"])),
            "toolResult" => {
                let texts = part["parts"].as_array().unwrap().iter().map(|part| text(part, "text"));
                let texts: Vec<&str> = texts.collect();
                line = format!("result of {}: {}", part["callId"], texts.join("\n"));
            }
            _ => line.push_str(text(part, "text")),
        }
    }
    line
}

fn told_call(id: &Value, name: &Value, arguments: &Value) -> String {
    format!(" [{id} {name} {arguments}]")
}

/// A turn in which the model was asked, as often as it took.
struct Ask<'a> {
    turn: (&'a str, &'a Value),
    times: usize,
    is_answered: bool,
    context: Vec<Line>,
}

/// What the log makes of a context.
pub struct Expected<'a> {
    asks: Vec<Ask<'a>>,
    /// Compressions that count.
    pub epoch: u64,
    /// Of the last prompt, or of what it became.
    pub tokens: u64,
    pub violations: Vec<String>,
}

impl<'a> Expected<'a> {
    /// `history` is whole.
    pub fn read(log: &'a [Value], history: &[Value]) -> Expected<'a> {
        let mut expected = Expected { asks: Vec::new(), epoch: 0, tokens: 0, violations: Vec::new() };
        let mut history = history.iter().peekable();
        let mut context: Vec<Line> = Vec::new();
        let mut completed = Vec::new();
        for event in log {
            let (seq, data) = (event["seq"].as_i64(), &event["data"]);
            while let Some(message) = history.next_if(|message| message["seq"].as_i64() <= seq) {
                context.push(Line::Said(told(message)));
            }
            match text(event, "type") {
                "model.started" => expected.ask(event, &context),
                "model.completed" => {
                    expected.tokens = data["usage"]["promptTokens"].as_u64().unwrap();
                    if let Some(ask) = expected.asks.last_mut() {
                        ask.is_answered = true;
                    }
                }
                "sideCall.completed" => completed.push(data),
                "context.compressed" => {
                    let told = std::mem::take(&mut completed);
                    context = expected.compress(event, &told, &context);
                }
                _ => (),
            }
        }
        expected
    }

    fn ask(&mut self, event: &'a Value, context: &[Line]) {
        let turn = (text(event, "runId"), &event["turn"]);
        match self.asks.last_mut() {
            Some(ask) if ask.turn == turn => {
                ask.times += 1;
                if ask.context != context {
                    self.violations.push(format!("turn {turn:?} is asked again with another context"));
                }
            }
            _ => {
                let context = context.to_vec();
                self.asks.push(Ask { turn, times: 1, is_answered: false, context });
            }
        }
    }

    /// Spec 04, "Compression", 3 and 5. Every compression here takes a summary and a second look. Before these may stand what
    /// a daemon was told that did not live to make something of it: it was charged for, and is asked again.
    fn compress(&mut self, event: &Value, completed: &[&Value], old: &[Line]) -> Vec<Line> {
        let data = &event["data"];
        if data["status"] != "COMPRESSED" {
            self.violations.push(format!("a compression came to nothing: {event}"));
            return old.to_vec();
        }
        let [.., _, last] = completed else {
            self.violations.push(format!("{event} has {} answers before it, not two", completed.len()));
            return old.to_vec();
        };
        self.epoch += 1;
        self.tokens = data["tokensAfter"].as_u64().unwrap();
        let count = |key: &str| usize::try_from(data[key].as_u64().unwrap()).unwrap();
        if (data["epoch"].as_u64(), count("messagesBefore")) != (Some(self.epoch), old.len()) {
            let (epoch, n) = (self.epoch, old.len());
            self.violations.push(format!("{event} makes epoch {epoch} of {n} messages"));
        }
        let answer = text(last, "text");
        let snapshot = answer[answer.find("<state_snapshot>").unwrap()..].to_owned();
        let mut new = vec![Line::Snapshot(snapshot), Line::Acknowledgement];
        let kept = count("messagesAfter") - new.len();
        let is_user = |line: &Line| matches!(line, Line::Said(text) if text.starts_with("user: "));
        match old.len().checked_sub(kept) {
            Some(from) if kept == 0 || is_user(&old[from]) => new.extend_from_slice(&old[from..]),
            // The request stands in front of a part that begins with the model's.
            Some(from) => {
                let request = old[..=from].iter().rfind(|line| is_user(line));
                new.extend(request.cloned());
                new.extend_from_slice(&old[from + 1..]);
            }
            None => self.violations.push(format!("{event} keeps {kept} of {}", old.len())),
        }
        new
    }

    /// What was asked, daemon after daemon, is what the log said would be asked: each context old or new, never in between.
    pub fn check(&mut self, requests: &[&Request]) {
        let mut left = requests.iter().filter(|it| it.kind == Kind::Turn).peekable();
        let mut before: &[Line] = &[];
        for ask in &self.asks {
            let mut times = 0;
            while times < ask.times
                && left.next_if(|it| difference(&ask.context, &it.messages).is_none()).is_some()
            {
                times += 1;
            }
            if ask.is_answered && times == 0 {
                let shown = left.peek().map(|it| &it.messages[..]);
                self.violations.push(unlike(ask, before, shown));
                return;
            }
            before = &ask.context;
        }
        if let Some(request) = left.next() {
            let last = self.asks.last().and_then(|ask| difference(&ask.context, &request.messages));
            self.violations.push(format!("a request that the log does not know; from the last: {last:?}"));
        }
    }
}

fn unlike(ask: &Ask, before: &[Line], shown: Option<&[String]>) -> String {
    let turn = ask.turn;
    let Some(shown) = shown else { return format!("turn {turn:?} was answered and never asked") };
    let difference = difference(&ask.context, shown);
    let first = shown.iter().take(3).map(|line| line.chars().take(60).collect::<String>());
    let first: Vec<String> = first.collect();
    format!(
        "turn {turn:?} was asked with something else; {} messages instead of {} (the turn before: {}), {difference:?}, and \
         begins {first:?}",
        shown.len(),
        ask.context.len(),
        before.len(),
    )
}

fn difference(expected: &[Line], shown: &[String]) -> Option<String> {
    let is_alike = |(expected, shown): (&Line, &String)| match expected {
        Line::Said(text) => text == shown,
        Line::Snapshot(snapshot) => {
            shown.starts_with("user: ")
                && shown.ends_with(snapshot.as_str())
                && shown.len() <= snapshot.len() + PREAMBLE_MAX
        }
        Line::Acknowledgement => shown.starts_with("model: ") && shown.len() <= PREAMBLE_MAX,
    };
    let at = (0..expected.len().max(shown.len()))
        .find(|at| !expected.get(*at).zip(shown.get(*at)).is_some_and(is_alike))?;
    let short = |text: String| text.chars().take(120).collect::<String>();
    let expected = short(format!("{:?}", expected.get(at)));
    Some(format!("at {at} {}, expected {expected}", short(format!("{:?}", shown.get(at)))))
}

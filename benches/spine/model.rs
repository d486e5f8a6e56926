//! A model that takes no time, and remembers when it was asked.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde_json::{Value, json};
use subagentd::{
    models::{LanguageModel, ModelError, ModelEvent, ModelReply, ModelRequest, ReplyPart},
    protocol::{FinishReason, Usage},
};
use tokio::{sync::Semaphore, task::yield_now};

use crate::ground::now;

/// Files that there are to be read.
pub const FILES: usize = 61;

/// What the model says in one turn.
pub enum Reply {
    Calls(Vec<(&'static str, Value)>),
    /// Text in this many deltas once the gate is open, others getting a turn after each; then the end.
    Text(usize),
    /// A text at once, and calls.
    Says(String, Vec<(&'static str, Value)>),
}

impl Reply {
    pub fn done() -> Reply {
        Reply::Calls(vec![("complete_task", json!({ "result": "done" }))])
    }

    /// Reads of so many files; of other ones than the reply before, or else the run would be found to go in circles.
    pub fn reads(asked: &ModelRequest, files: usize) -> Reply {
        let first = asked.ordinal as usize;
        let read = |n| ("read_file", json!({ "path": format!("{}.txt", (first + n) % FILES) }));
        Reply::Calls((0..files).map(read).collect())
    }
}

/// The text of a reply of so many deltas.
pub fn text_of(deltas: usize) -> String {
    (0..deltas).map(delta).collect()
}

/// One delta's text: as long as a few tokens, and no two alike, or else the run would be found to babble.
fn delta(n: usize) -> String {
    format!("a few words {n} ")
}

#[derive(Clone)]
pub struct Zero {
    shared: Arc<Shared>,
}

struct Shared {
    script: Box<dyn Fn(&ModelRequest) -> Reply + Send + Sync>,
    times: Mutex<Times>,
    gate: Semaphore,
}

/// One request.
pub struct Asked {
    pub at: Duration,
    /// Of the run that asked, within its tree.
    pub path: Arc<str>,
}

#[derive(Default)]
struct Times {
    asked: Vec<Asked>,
    wrote: Duration,
}

impl Zero {
    /// The script is a function of the request, e.g. of the reply's ordinal in its run.
    pub fn new(script: impl Fn(&ModelRequest) -> Reply + Send + Sync + 'static) -> Zero {
        let script = Box::new(script);
        Zero { shared: Arc::new(Shared { script, times: Mutex::default(), gate: Semaphore::new(0) }) }
    }

    /// What it was asked, since this was asked last.
    pub fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.shared.times().asked)
    }

    /// When the first delta of the newest text was written.
    pub fn wrote(&self) -> Duration {
        self.shared.times().wrote
    }

    /// Lets one text out.
    pub fn open_gate(&self) {
        self.shared.gate.add_permits(1);
    }
}

impl Shared {
    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LanguageModel for Zero {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.shared.times().asked.push(Asked { at: now(), path: Arc::clone(&request.path) });
        match (self.shared.script)(&request) {
            Reply::Calls(calls) => {
                let parts = calls.into_iter().map(|(name, arguments)| call(name, arguments));
                stream::iter([Ok(finished(parts.collect()))]).boxed()
            }
            Reply::Says(text, calls) => {
                let said = Ok(ModelEvent::TextDelta(text.clone()));
                let calls = calls.into_iter().map(|(name, arguments)| call(name, arguments));
                let parts = std::iter::once(ReplyPart::Text(text)).chain(calls);
                stream::iter([said, Ok(finished(parts.collect()))]).boxed()
            }
            Reply::Text(deltas) => {
                let shared = Arc::clone(&self.shared);
                let event = move |n| {
                    let shared = Arc::clone(&shared);
                    async move { Some((Ok(shared.nth(n, deltas).await?), n + 1)) }
                };
                stream::unfold(0, event).boxed()
            }
        }
    }
}

impl Shared {
    /// The stream's event number `n`, of a text of so many deltas.
    async fn nth(&self, n: usize, deltas: usize) -> Option<ModelEvent> {
        if n == 0 {
            self.gate.acquire().await.ok()?.forget();
            self.times().wrote = now();
        } else {
            yield_now().await;
        }
        if n < deltas {
            return Some(ModelEvent::TextDelta(delta(n)));
        }
        let parts =
            vec![ReplyPart::Text(text_of(deltas)), call("complete_task", json!({ "result": "done" }))];
        (n == deltas).then(|| finished(parts))
    }
}

fn call(name: &str, arguments: Value) -> ReplyPart {
    ReplyPart::ToolCall { provider_call_id: None, name: name.into(), arguments, signature: None }
}

fn finished(parts: Vec<ReplyPart>) -> ModelEvent {
    ModelEvent::Finished(ModelReply { parts, raw: None, usage: Usage::default(), reason: FinishReason::Stop })
}

//! Questions of the daemon's own to models, beside the turns (spec 04): one at a time, each ends as one input for the
//! machine, whatever becomes of it. Nobody waits for a person here, and nothing that goes wrong ends a run.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    alternates::Alternates,
    machine::{Advice, Consult, ConsultedModel, Input},
    think::plausible,
};
use crate::{
    models::{ModelError, ModelEvent, ModelReply, ModelRequest, Purpose, ReplyPart},
    protocol::{Consultation, FinishReason, Message, RunCare, Sampling, Spent, Usage},
    redact::Redactor,
    sys::{clock::Clock, ids},
};

mod compress;
mod small;

pub(super) use compress::{Compressing, Measure};

/// Tries of one question when a model fails in passing.
const MAX_TRIES: u32 = 3;
/// The wait before the second try; it doubles.
const BACKOFF: Duration = Duration::from_secs(1);
/// Of a model's answer this much is kept: more than any snapshot has.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// What every question needs.
pub(super) struct Consulting {
    pub consult: Consult,
    pub care: RunCare,
    pub alternates: Arc<Alternates>,
    pub clock: Arc<dyn Clock>,
    pub redactor: Redactor,
    pub counter: Counter,
    /// What the run's model reads, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// Set for a compression.
    pub compressing: Option<Compressing>,
    /// Where each call of a compression, which may take many, is told at once: what it cost counts whatever becomes of the
    /// rest.
    pub news: mpsc::Sender<Input>,
}

/// Which reply a question gets from a recording: questions are counted apart from turns.
pub(super) struct Counter {
    /// Of the run, so far.
    pub consulted: u32,
    /// Its turns' replies.
    pub replies: u32,
    pub path: Arc<str>,
}

/// A question being asked, and the calls of models that it took so far.
struct Asking<'a> {
    with: &'a Consulting,
    /// Those that were not told yet.
    calls: Vec<ConsultedModel>,
    /// Whatever came of them: of some a recording has a line although nothing could be made of the answer.
    n_asked: u32,
    spent: Spent,
}

/// One question to a model.
struct Question {
    system: String,
    messages: Vec<Arc<Message>>,
    schema: Option<Value>,
    /// For the whole of it, other tries included.
    deadline: Duration,
}

impl Consulting {
    /// Becomes what the machine is told.
    pub async fn run(self) -> Input {
        let mut asking = Asking { with: &self, calls: Vec::new(), n_asked: 0, spent: Spent::default() };
        let advice = match self.consult.about {
            Consultation::Compression => asking.compress().await,
            Consultation::LoopCheck => asking.check_loop().await,
            Consultation::NextSpeaker => asking.next_speaker().await,
            Consultation::Routing => asking.route().await,
        };
        let calls = std::mem::take(&mut asking.calls);
        Input::Consulted { consult: self.consult, calls, advice: Box::new(advice) }
    }
}

impl Asking<'_> {
    /// What the model answers, without secrets, or why it does not.
    async fn ask(&mut self, model: &str, question: Question) -> Result<String, String> {
        let deadline = question.deadline;
        let asked = self.with.ask(model, question, self.n_asked);
        let answered = tokio::select! {
            biased;
            answered = asked => answered,
            () = self.with.clock.sleep(deadline) => Err(format!("no answer within {} s", deadline.as_secs())),
        };
        let redactor = &self.with.redactor;
        let (usage, text, error) = match answered {
            Ok(reply) => {
                let usage = plausible(reply.usage);
                match answer(reply) {
                    Ok(text) => (usage, redactor.owned(text), None),
                    Err(why) => (usage, String::new(), Some(redactor.owned(why))),
                }
            }
            Err(why) => (Usage::default(), String::new(), Some(redactor.owned(why))),
        };
        let price = self.with.alternates.known(model).and_then(|known| known.price);
        let cost = price.map(|price| price.cost(&usage));
        let (told, why) = (text.clone(), error.clone());
        self.n_asked += 1;
        self.spent += Spent::of(usage, cost);
        let call = ConsultedModel { model: model.to_owned(), usage, cost, text: told, error: why };
        match self.with.compressing {
            Some(_) => {
                let told = Input::ConsultedModel { consult: self.with.consult, call: Box::new(call) };
                // Nobody hears it any more when the driver has ended.
                let _gone = self.with.news.send(told).await;
            }
            None => self.calls.push(call),
        }
        error.map_or(Ok(text), Err)
    }
}

impl Consulting {
    async fn ask(&self, model: &str, question: Question, n_asked: u32) -> Result<ModelReply, String> {
        let Counter { consulted, replies, path } = &self.counter;
        let ordinal = consulted + n_asked;
        let request = ModelRequest {
            purpose: Purpose::Utility,
            system: question.system.into(),
            messages: question.messages,
            tools: Arc::default(),
            sampling: Sampling::default(),
            schema: question.schema.map(Arc::new),
            ordinal,
            others: *replies,
            path: Arc::clone(path),
            tree_ordinal: ordinal,
            room: None,
        };
        let (mut n, mut backoff) = (0, BACKOFF);
        loop {
            n += 1;
            let (message, wait) = match self.reply(model, request.clone()).await {
                Ok(reply) => return Ok(reply),
                Err(ModelError::Passing { message, retry_after_ms }) => {
                    let hint = Duration::from_millis(retry_after_ms.unwrap_or(0));
                    (message, hint.max(backoff.mul_f64(ids::fraction())))
                }
                Err(ModelError::Unusable { message }) => (message, Duration::ZERO),
                Err(error @ (ModelError::Final { .. } | ModelError::TooLong { .. })) => {
                    return Err(error.to_string());
                }
            };
            if MAX_TRIES <= n {
                return Err(format!("{message} (after {n} tries)"));
            }
            self.clock.sleep(wait).await;
            backoff *= 2;
        }
    }

    async fn reply(&self, model: &str, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let mut stream = self.alternates.stream_apart(model, request).await;
        while let Some(event) = stream.next().await {
            if let ModelEvent::Finished(reply) = event? {
                return Ok(reply);
            }
        }
        Err(ModelError::Unusable { message: "the model's stream ended without a finish reason".to_owned() })
    }
}

fn answer(reply: ModelReply) -> Result<String, String> {
    match reply.reason {
        FinishReason::Refused { words } => return Err(format!("the model refused to answer: {words}")),
        FinishReason::Length => return Err("the answer was cut off by the output limit".to_owned()),
        FinishReason::Stop => (),
    }
    let mut text = String::new();
    for part in reply.parts {
        if let ReplyPart::Text(more) = part {
            text.push_str(&more);
        }
    }
    match text.len() {
        0 => Err("the answer is empty".to_owned()),
        n if MAX_ANSWER_BYTES < n => Err(format!("the answer is longer than {MAX_ANSWER_BYTES} bytes")),
        _ => Ok(text),
    }
}

/// What nothing came of.
fn nothing(message: impl Into<String>) -> Advice {
    Advice::Nothing { message: message.into() }
}

//! What does a client see that reconnects from its last `seq` whenever the daemon dies?

use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::{
    laws::{self, Attached, Deltas},
    process::{Gone, Wire, text},
};

/// A client of one session that stays until its run has ended.
pub struct Watcher {
    pub socket: PathBuf,
    pub session: String,
    pub run: String,
    pub deltas: bool,
    /// Attaches first with a snapshot instead of from the session's start.
    pub from_now: bool,
    /// Counts the daemons that became ready.
    pub daemons: watch::Receiver<u32>,
    pub tell: mpsc::Sender<Sighting>,
    /// What was received, subscription by subscription.
    pub subscriptions: Vec<(Attached, Vec<Value>)>,
}

/// One event that reached a client.
pub struct Sighting {
    pub run: String,
    pub seq: i64,
    pub kind: String,
    /// Of `tool.state`: the state.
    pub to: Option<String>,
}

impl Watcher {
    pub async fn stay(mut self) -> Watcher {
        loop {
            let daemon = *self.daemons.borrow_and_update();
            if self.subscribe().await.is_ok() {
                return self;
            }
            self.daemons.wait_for(|newest| *newest > daemon).await.expect("the test is over before the run");
        }
    }

    /// Until the run has ended.
    async fn subscribe(&mut self) -> Result<(), Gone> {
        let mut wire = Wire::connect(&self.socket).await?;
        let (attached, from) = match self.last() {
            Some(last) => (Attached::After(last), json!(last)),
            None if self.from_now => (Attached::Now, json!("now")),
            None => (Attached::After(0), json!("start")),
        };
        let params = json!({ "sessionId": self.session, "from": from, "deltas": self.deltas });
        wire.call("session/attach", params).await?;
        self.subscriptions.push((attached, Vec::new()));
        loop {
            let envelope = wire.event().await?;
            let is_end = self.ends(&envelope);
            let sighting = Sighting {
                run: self.run.clone(),
                seq: envelope["seq"].as_i64().unwrap_or(0),
                kind: text(&envelope, "type").to_owned(),
                to: envelope["data"]["to"].as_str().map(str::to_owned),
            };
            self.subscriptions.last_mut().unwrap().1.push(envelope);
            // Nobody listens any more once the kills are over.
            let _over = self.tell.send(sighting).await;
            if is_end {
                return Ok(());
            }
        }
    }

    /// The end itself, or a snapshot that shows it.
    fn ends(&self, envelope: &Value) -> bool {
        match text(envelope, "type") {
            "run.completed" => envelope["runId"] == self.run.as_str(),
            "signal.snapshot" => {
                let runs = envelope["data"]["runs"].as_array().unwrap();
                runs.iter().any(|run| run["runId"] == self.run.as_str() && run["state"] == "ended")
            }
            _ => false,
        }
    }

    /// Where to go on: the newest `seq`, or the snapshot's.
    fn last(&self) -> Option<i64> {
        self.envelopes().rev().find_map(cursor)
    }

    /// Where the first snapshot or cursor stood.
    fn first(&self) -> i64 {
        if self.from_now { self.envelopes().find_map(cursor).unwrap_or(0) } else { 0 }
    }

    fn envelopes(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.subscriptions.iter().flat_map(|(_, envelopes)| envelopes)
    }

    /// What of this breaks the laws of delivery; `log` is the session's.
    pub fn violations(&self, log: &[Value]) -> Vec<String> {
        let deltas = if self.deltas { Deltas::Some } else { Deltas::Off };
        let mut violations = Vec::new();
        for (attached, envelopes) in &self.subscriptions {
            violations
                .extend(laws::check_subscription(*attached, deltas, envelopes).err().unwrap_or_default());
        }
        let received: Vec<Value> = self.envelopes().cloned().collect();
        violations.extend(laws::check_delivery(log, self.first(), &received).err().unwrap_or_default());
        let who = format!("{} of run {}, deltas {}", self.session, self.run, self.deltas);
        violations.into_iter().map(|sentence| format!("a client of session {who}: {sentence}")).collect()
    }
}

fn cursor(envelope: &Value) -> Option<i64> {
    let snapshot = (envelope["type"] == "signal.snapshot").then(|| envelope["data"]["seq"].as_i64());
    envelope["seq"].as_i64().or(snapshot.flatten())
}

//! Where does each run stand, by what the log says up to some event?

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::process::text;

/// What only says that a run is there, or begins anew: no progress (spec 11, promise 6).
const STANDING: &[&str] = &[
    "run.resumed",
    "run.queued",
    "run.steered",
    "run.parked",
    "model.retrying",
    "model.started",
    "turn.started",
];

/// All runs of which an event was seen.
#[derive(Default)]
pub struct Ledger {
    pub runs: BTreeMap<String, Standing>,
    /// Whether a call changes things, by what its `scheduled` said.
    mutates: HashMap<String, bool>,
}

/// One run.
#[derive(Default)]
pub struct Standing {
    pub session: String,
    pub is_root: bool,
    pub has_begun: bool,
    pub is_over: bool,
    /// The newest event that took it further, and that said that it waits.
    got_further: i64,
    queued: i64,
    /// Calls that execute.
    pub open: BTreeMap<String, Open>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    Mutating,
    ReadOnly,
    /// A run answers it.
    Child,
}

impl Ledger {
    pub fn take(&mut self, event: &Value) {
        let Some(run) = event["runId"].as_str() else { return };
        let (kind, data) = (text(event, "type"), &event["data"]);
        let seq = event["seq"].as_i64().unwrap();
        let standing = self.runs.entry(run.to_owned()).or_default();
        standing.session = text(event, "sessionId").to_owned();
        standing.is_root = event["parentRunId"].is_null();
        if !STANDING.contains(&kind) {
            standing.got_further = seq;
        }
        match kind {
            "run.queued" => standing.queued = seq,
            "run.started" => standing.has_begun = true,
            "run.completed" => standing.is_over = true,
            "tool.state" => {
                let call = text(data, "callId").to_owned();
                if let Some(kind) = data["details"]["kind"].as_str() {
                    self.mutates.insert(call.clone(), kind == "edit");
                }
                match (text(data, "to"), self.mutates.get(&call)) {
                    ("executing", _) if data["childRunId"].is_string() => {
                        standing.open.insert(call, Open::Child);
                    }
                    ("executing", Some(true)) => drop(standing.open.insert(call, Open::Mutating)),
                    ("executing", Some(false)) => drop(standing.open.insert(call, Open::ReadOnly)),
                    ("success" | "error" | "cancelled", _) => drop(standing.open.remove(&call)),
                    _ => (),
                }
            }
            _ => (),
        }
    }

    /// As of this `seq`.
    pub fn at(log: &[Value], seq: i64) -> Ledger {
        let mut ledger = Ledger::default();
        for event in log.iter().take_while(|event| event["seq"].as_i64() <= Some(seq)) {
            ledger.take(event);
        }
        ledger
    }

    pub fn live(&self) -> impl Iterator<Item = (&String, &Standing)> {
        self.runs.iter().filter(|(_, run)| !run.is_over)
    }

    pub fn has_open(&self, kind: Open) -> bool {
        self.live().any(|(_, run)| run.open.values().any(|open| *open == kind))
    }
}

impl Standing {
    /// Whether a daemon that dies now has driven the run since this `seq` without its getting further.
    pub fn owes_progress(&self, since: i64) -> bool {
        let only_waits = !self.open.is_empty() && self.open.values().all(|open| *open == Open::Child);
        let is_still = self.got_further <= since && self.queued <= since;
        self.has_begun && !self.is_over && is_still && !only_waits
    }
}

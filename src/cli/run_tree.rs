//! Which events of a session belong to one run and the runs below it?

use std::collections::BTreeSet;

use serde_json::Value;

use protocol::{Envelope, RunId, RunState};

/// A run with the runs below it, as far as events have told of them.
pub(super) struct RunTree {
    root: RunId,
    /// The root, and those below it that live.
    members: BTreeSet<RunId>,
}

impl RunTree {
    pub(super) fn below(root: RunId) -> RunTree {
        RunTree { members: BTreeSet::from([root.clone()]), root }
    }

    /// Whether the event is about one of these runs, or about no run; a snapshot is cut down to them.
    pub(super) fn takes(&mut self, envelope: &mut Envelope) -> bool {
        if envelope.kind == "signal.snapshot" {
            self.cut(&mut envelope.data);
            return true;
        }
        let Some(run_id) = &envelope.run_id else { return true };
        let parent = envelope.head.parent_run_id.as_ref();
        if parent.is_some_and(|parent| self.members.contains(parent)) {
            self.members.insert(run_id.clone());
        }
        let is_member = self.members.contains(run_id);
        // Nothing of a run comes after its end, so a long tree does not pile up here.
        if envelope.kind == "run.completed" && *run_id != self.root {
            self.members.remove(run_id);
        }
        is_member
    }

    fn cut(&mut self, snapshot: &mut Value) {
        let runs = list(snapshot, "runs");
        // Parents need not stand before their children.
        loop {
            let known = self.members.len();
            for run in runs {
                let parent = id(run, "parentRunId");
                if parent.is_some_and(|parent| self.members.contains(&parent)) {
                    self.members.extend(id(run, "runId"));
                }
            }
            if self.members.len() == known {
                break;
            }
        }
        for key in ["runs", "openItems", "openCalls", "openConfirmations", "queue"] {
            if let Some(entries) = snapshot.get_mut(key).and_then(Value::as_array_mut) {
                entries
                    .retain(|entry| id(entry, "runId").is_some_and(|run_id| self.members.contains(&run_id)));
            }
        }
    }
}

/// The runs of a snapshot that have not ended. Read leniently: a state that only a newer daemon knows is not an end.
pub(super) fn live_runs(snapshot: &Value) -> BTreeSet<RunId> {
    let is_live = |run: &&Value| run.get("state").and_then(Value::as_str) != Some(RunState::Ended.as_str());
    let runs = list(snapshot, "runs");
    runs.iter().filter(is_live).filter_map(|run| id(run, "runId")).collect()
}

/// The newest run of a snapshot that nobody called as a tool.
pub(super) fn newest_root(snapshot: &Value) -> Option<RunId> {
    let runs = list(snapshot, "runs");
    let is_root = |run: &&Value| run.get("parentRunId").is_none();
    runs.iter().filter(is_root).filter_map(|run| id(run, "runId")).max()
}

fn list<'snapshot>(snapshot: &'snapshot Value, key: &str) -> &'snapshot [Value] {
    snapshot.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn id(entry: &Value, key: &str) -> Option<RunId> {
    entry.get(key).and_then(Value::as_str).map(RunId::from)
}

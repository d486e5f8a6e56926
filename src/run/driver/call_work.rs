//! What carries out the calls of a run, which no log may keep?

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::super::gate::PreparedWork;
use protocol::{CallId, ToolCall};

/// Calls as they were prepared and as the model wrote them. Only in memory.
#[derive(Default)]
pub(super) struct CallWork {
    /// Calls that were judged and wait for permission to run.
    prepared: HashMap<CallId, PreparedWork>,
    /// Arguments that held secrets, until the turn is over.
    secret_arguments: HashMap<CallId, Value>,
}

impl CallWork {
    pub fn keep(&mut self, call: CallId, work: PreparedWork) {
        self.prepared.insert(call, work);
    }

    pub fn take(&mut self, call: &CallId) -> Option<PreparedWork> {
        self.prepared.remove(call)
    }

    /// `None` = another process prepared the call, or it runs.
    pub fn prepared(&self, call: &CallId) -> Option<&PreparedWork> {
        self.prepared.get(call)
    }

    /// The call means these arguments from now on, which the log may not have.
    pub fn mean(&mut self, call: CallId, arguments: Value) {
        self.secret_arguments.insert(call, arguments);
    }

    /// A call as the model wrote it, also where the log does not keep that.
    pub fn meant(&self, call: &Arc<ToolCall>) -> Arc<ToolCall> {
        match self.secret_arguments.get(&call.call_id) {
            Some(arguments) => {
                Arc::new(ToolCall { arguments: arguments.clone(), redacted: false, ..(**call).clone() })
            }
            None => Arc::clone(call),
        }
    }

    pub fn end_turn(&mut self) {
        self.secret_arguments.clear();
    }
}

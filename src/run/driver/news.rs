//! How do tasks beside a run tell its machine something while they go on?

use tokio::sync::mpsc;

use super::super::machine::MachineInput;
use protocol::CallId;

/// The ways in for what tasks tell before they end.
pub(super) struct NewsChannels {
    /// News of the runs that answer calls, of hooks and of questions to models.
    inputs: (mpsc::Sender<MachineInput>, mpsc::Receiver<MachineInput>),
    /// Calls of which their clients are to be told again.
    retold: (mpsc::Sender<CallId>, mpsc::Receiver<CallId>),
}

impl NewsChannels {
    /// So many wait to be taken in; whoever has more waits.
    pub fn new(waiting: usize) -> NewsChannels {
        NewsChannels { inputs: mpsc::channel(waiting), retold: mpsc::channel(waiting) }
    }

    pub fn way_in(&self) -> mpsc::Sender<MachineInput> {
        self.inputs.0.clone()
    }

    pub fn way_in_for_retold(&self) -> mpsc::Sender<CallId> {
        self.retold.0.clone()
    }

    /// Cancel safe.
    pub async fn next(&mut self) -> Option<MachineInput> {
        tokio::select! {
            biased;
            Some(input) = self.inputs.1.recv() => Some(input),
            Some(call) = self.retold.1.recv() => Some(MachineInput::ClientBack { call }),
            else => None,
        }
    }

    /// News that have come; clients that are back wait for the next step.
    pub fn try_next(&mut self) -> Option<MachineInput> {
        self.inputs.1.try_recv().ok()
    }
}

//! Tools that clients lend (spec 01, `tools/register`).
//!
//! Who lends what now is [`ClientToolRegistry`], in memory only: it ends with the connections. A call of such a tool waits for its
//! client and does nothing else; what it waits for is decided by the run's machine, when the client's answer comes in. So
//! this module never knows runs, and not how a client is told.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::Tool;
use protocol::{CallId, RegisteredClientTool};

mod call;
mod lenders;
#[cfg(test)]
mod tests;

pub use lenders::{ClientToolRegistry, ClientToolState, ToolRegistrationError};

/// The tool, ready to be called. `None` when its parameters are no schema, which was checked when it was lent.
pub fn tool(lent: &RegisteredClientTool, lenders: &ClientToolRegistry) -> Option<Arc<dyn Tool>> {
    call::ClientTool::tool(lent.clone(), lenders.clone())
}

/// How a call has its client told of it again.
#[derive(Debug, Clone, Default)]
pub struct CallRedelivery {
    run: Option<mpsc::Sender<CallId>>,
    /// The client was told by another process.
    is_taken_up: bool,
}

impl CallRedelivery {
    /// Whoever reads `run` has the client told. `is_taken_up`: the call was begun before a restart.
    pub fn new(run: mpsc::Sender<CallId>, is_taken_up: bool) -> CallRedelivery {
        CallRedelivery { run: Some(run), is_taken_up }
    }

    pub fn is_taken_up(&self) -> bool {
        self.is_taken_up
    }

    /// Waits while too many wait to be told again.
    pub async fn tell(&self, call: &CallId) {
        if let Some(run) = &self.run {
            // Nobody reads it any more when the run's driver has ended, and then nobody waits for the call either.
            let _gone = run.send(call.clone()).await;
        }
    }
}

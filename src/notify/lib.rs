//! How is a person told who is not attached? A command of theirs, or a web address of theirs (spec 06, "Routing", 5).
//!
//! What is told is bytes to this module: it knows how to bring them there within bounds, and how to sign them.

use std::{sync::Arc, time::Duration};

use sys::clock::Clock;

mod command;
mod signature;
mod webhook;

pub use command::run;
pub use signature::{hex, hmac_sha256};
pub use webhook::{SIGNATURE_HEADER, TIMESTAMP_HEADER, WebhookTarget, direct_client, request_problem};

#[cfg(test)]
mod tests;

/// The reason why somebody was not told. None of it has a secret or a part of what was to be told in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    #[error("the command `{program}` (setting approval.notifyCommand) {problem}")]
    Command { program: String, problem: String },
    #[error("{host} (setting approval.webhook.url) {problem}")]
    Webhook { host: String, problem: String },
}

/// What `work` comes to, unless it takes longer than `most`.
async fn within<T>(clock: &Arc<dyn Clock>, most: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! { biased;
        done = work => Some(done),
        () = clock.sleep(most) => None,
    }
}

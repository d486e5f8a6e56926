//! Who is asked, and what becomes of a question that nobody answers (spec 06, "Routing").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ClientId;

/// Who may be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Audience {
    /// Everybody who is attached and can show it.
    #[default]
    All,
    /// Whoever started the run; everybody after so long.
    InitiatorFirst { grace_ms: u64 },
    /// These alone.
    Clients(Vec<ClientId>),
}

/// What becomes of a question while nobody can be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnDetached {
    /// It waits, and finds the next client that attaches.
    #[default]
    Wait,
    /// It is denied (`NO_CLIENT`), and the model is told why.
    Deny,
    /// The run ends `UNATTENDED`.
    Fail,
    /// The run is parked until it is answered or unparked.
    Park,
}

/// What becomes of a question whose time is over. Nothing is ever allowed by time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnDeadline {
    #[default]
    Deny,
    CancelRun,
    Park,
}

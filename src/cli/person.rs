//! As whom does a command introduce itself to the daemon: as somebody who can be asked, or as nobody?

use super::{Surroundings, failure::Failure, key};
use crate::protocol::{
    ClientCapabilities, ClientInfo, ClientKind, ConfirmationCapability, InitializeParams, PROTOCOL_VERSIONS,
    Presence,
};

pub(super) const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The types of questions that can be shown and answered here. Those whose details have no drawing of their own are shown
/// as they come, field by field, and are allowed or denied like the others.
const KINDS: [&str; 9] = ["edit", "info", "question", "exec", "mcp", "fetch", "agent", "plan", "budget"];

/// Bytes of chance in a client's id: as many as keep two commands apart that run at the same time.
const CHANCE_BYTES: usize = 4;

/// Letters of a user's name in a client's id.
const USER_CHARACTERS: usize = 32;

/// A command that asks the daemon and is never asked itself.
pub(super) fn nobody() -> InitializeParams {
    InitializeParams {
        protocol_version: PROTOCOL_VERSIONS[0].to_owned(),
        client: ClientInfo { name: "subagent".into(), version: OWN_VERSION.into(), kind: ClientKind::Cli },
        client_id: None,
        capabilities: ClientCapabilities::default(),
        presence: Presence::default(),
        strict: false,
    }
}

/// Whoever sits at this terminal. The id says who it is to others (`ada-3fa91c02`), and is this command's own.
pub(super) fn somebody(surroundings: &Surroundings) -> Result<InitializeParams, Failure> {
    let user = (surroundings.environment)("USER").unwrap_or_default();
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.');
    let user: String = user.to_string_lossy().chars().filter(is_plain).take(USER_CHARACTERS).collect();
    let user = if user.is_empty() { "subagent" } else { &user };
    let client_id = format!("{user}-{}", key::chance(CHANCE_BYTES)?);
    let kinds = Some(KINDS.map(str::to_owned).to_vec());
    let confirmations = Some(ConfirmationCapability { kinds });
    let capabilities = ClientCapabilities { confirmations, ..ClientCapabilities::default() };
    Ok(InitializeParams { client_id: Some(client_id.into()), capabilities, ..nobody() })
}

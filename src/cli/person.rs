//! As whom does a command introduce itself to the daemon: as somebody who can be asked, or as nobody?

use super::{ProcessIo, failure::CommandFailure, key};
use protocol::{
    ClientCapabilities, ClientId, ClientInfo, ClientKind, ConfirmationCapability, InitializeParams,
    PROTOCOL_VERSIONS, Presence,
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

/// Whoever answers by a command of its own and is not asked here.
pub(super) fn answering(surroundings: &ProcessIo) -> Result<InitializeParams, CommandFailure> {
    Ok(InitializeParams { client_id: Some(id(surroundings)?), ..nobody() })
}

/// Who it is to others, and where (`ada@pts/3-3fa91c02`); this command's own.
fn id(surroundings: &ProcessIo) -> Result<ClientId, CommandFailure> {
    // What starts commands by the clock names the user in the second alone.
    let named = |variable| (surroundings.environment)(variable).filter(|name| !name.is_empty());
    let user = named("USER").or_else(|| named("LOGNAME")).unwrap_or_default();
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.');
    let user: String = user.to_string_lossy().chars().filter(is_plain).take(USER_CHARACTERS).collect();
    let user = if user.is_empty() { "subagent" } else { &user };
    let place = surroundings.terminal_name.as_deref().map(|name| format!("@{name}")).unwrap_or_default();
    Ok(format!("{user}{place}-{}", key::chance(CHANCE_BYTES)?).into())
}

/// Who a client id says it was, for `me`: oneself, here or in another terminal, or somebody else.
pub(super) fn told(id: &str, me: Option<&str>) -> String {
    if me == Some(id) {
        return "you".to_owned();
    }
    let whole = |id: &str| {
        let (who, chance) = id.rsplit_once('-')?;
        let is_chance =
            chance.len() == 2 * CHANCE_BYTES && chance.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (user, place) = who.split_once('@').unwrap_or((who, ""));
        is_chance.then(|| (user.to_owned(), place.to_owned()))
    };
    match (whole(id), me.and_then(whole)) {
        (Some((user, place)), Some((own, _))) if user == own && !place.is_empty() => {
            format!("you in another terminal ({place})")
        }
        (Some((user, place)), _) if !place.is_empty() => format!("{user} ({place})"),
        (Some((user, _)), Some((own, _))) if user == own => "you elsewhere".to_owned(),
        (Some((user, _)), _) => user,
        (None, _) => id.to_owned(),
    }
}

/// Whoever sits at this terminal and can be asked.
pub(super) fn somebody(surroundings: &ProcessIo) -> Result<InitializeParams, CommandFailure> {
    let kinds = Some(KINDS.map(str::to_owned).to_vec());
    let confirmations = Some(ConfirmationCapability { kinds });
    let capabilities = ClientCapabilities { confirmations, ..ClientCapabilities::default() };
    Ok(InitializeParams { client_id: Some(id(surroundings)?), capabilities, ..nobody() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_told_by_name_and_place() {
        let me = Some("ada@pts/1-0123abcd");
        for (id, me, expected) in [
            ("ada@pts/1-0123abcd", me, "you"),
            ("ada@pts/3-3fa91c02", me, "you in another terminal (pts/3)"),
            ("ada-3fa91c02", me, "you elsewhere"),
            ("eve@pts/3-3fa91c02", me, "eve (pts/3)"),
            ("ada@pts/3-3fa91c02", None, "ada (pts/3)"),
            ("ada-3fa91c02", None, "ada"),
            ("bob-1", me, "bob-1"),
            ("token", me, "token"),
        ] {
            assert_eq!(told(id, me), expected, "{id} to {me:?}");
        }
    }
}

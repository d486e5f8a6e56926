//! What becomes of changes of a call's arguments that do not count? They are none, and the records of their hooks say what was wanted.

use serde_json::Value;

use super::{HookId, HookVerdict};
use protocol::{DroppedChange, HookDecision, HookFired};
use redact::Redactor;

/// Bytes of the arguments that such a record has.
const MOST_BYTES: usize = 1 << 10;

/// Arguments that a hook wanted for a call.
pub(super) struct WantedArguments {
    pub hook: HookId,
    /// The round in which it was asked.
    pub round: u32,
    pub input: Value,
    pub fate: ChangeFate,
}

/// The outcome of a wanted change, as long as nothing denies the call.
pub(super) enum ChangeFate {
    Counts,
    /// The change of this hook counts in its place.
    Outdone(HookId),
    /// It cannot be; a clause says why.
    Refused(String),
    /// It makes of the call what that is already.
    IsNone,
}

/// Says of each change of arguments whether it counted, when all hooks have answered.
pub(super) fn drop_changes(
    verdict: &HookVerdict,
    records: &mut [HookFired],
    mut wanted: Vec<WantedArguments>,
    redactor: &Redactor,
) {
    for record in records.iter_mut().filter(|record| record.changed) {
        let is_its = |it: &WantedArguments| it.hook.as_str() == record.hook_id && it.round == record.round;
        let Some(at) = wanted.iter().position(is_its) else { continue };
        let WantedArguments { input, fate, .. } = wanted.remove(at);
        let why = match fate {
            ChangeFate::Refused(why) => why,
            ChangeFate::IsNone => {
                record.changed = false;
                continue;
            }
            _ if verdict.stop.is_some() => "the run was stopped".to_owned(),
            _ if verdict.decision == Some(HookDecision::Deny) => "the call was denied".to_owned(),
            ChangeFate::Outdone(other) => format!("that of the hook {other} counted"),
            ChangeFate::Counts => continue,
        };
        record.changed = false;
        record.dropped_change =
            Some(DroppedChange { input: shown(input, redactor), reason: redactor.owned(why) });
    }
}

/// The beginning of the arguments, without secrets: of half a secret nobody can tell that it is one.
fn shown(mut input: Value, redactor: &Redactor) -> String {
    redactor.value(&mut input);
    let text = input.to_string();
    match MOST_BYTES < text.len() {
        false => text,
        true => format!("{}…", &text[..text.floor_char_boundary(MOST_BYTES)]),
    }
}

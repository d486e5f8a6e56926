//! What becomes of changes of a call's arguments that do not count? They are none, and the records of their hooks say what was wanted.

use serde_json::Value;

use super::{HookId, HookVerdict};
use protocol::{DroppedChange, HookDecision, HookFired};
use redact::Redactor;

/// Bytes of the arguments that such a record has.
const MOST_BYTES: usize = 1 << 10;

/// The reason why the change that was checked last cannot be: its hook, and the words.
pub(super) struct RefusedChange {
    pub hook: HookId,
    pub why: String,
}

/// Says of each change of arguments whether it counted, when all hooks have answered.
pub(super) fn drop_changes(
    verdict: &mut HookVerdict,
    records: &mut [HookFired],
    refused: Option<&RefusedChange>,
    redactor: &Redactor,
) {
    let mut proposed = std::mem::take(&mut verdict.proposed);
    let counts = verdict.updated_input.is_some() && verdict.stop.is_none();
    let winners: Vec<(u32, String)> = records
        .iter()
        .filter(|record| record.changed)
        .map(|record| (record.round, record.hook_id.clone()))
        .collect();
    let last = winners.last().cloned();
    for record in records.iter_mut().filter(|record| record.changed) {
        let Some(at) = proposed.iter().position(|(hook, _)| hook.as_str() == record.hook_id) else {
            continue;
        };
        let (hook, input) = proposed.remove(at);
        let winner = winners.iter().rfind(|(round, _)| *round == record.round).map(|(_, hook)| hook);
        let why = match refused.filter(|refused| refused.hook == hook) {
            Some(refused) if last.as_ref() == Some(&(record.round, record.hook_id.clone())) => {
                refused.why.clone()
            }
            _ if verdict.stop.is_some() => "the run was stopped".to_owned(),
            _ if verdict.decision == Some(HookDecision::Deny) => "the call was denied".to_owned(),
            _ => match winner.filter(|winner| **winner != record.hook_id) {
                Some(winner) => format!("that of the hook {winner} counted"),
                None if counts => continue,
                None => "the call was not changed".to_owned(),
            },
        };
        record.changed = false;
        record.dropped_change =
            Some(DroppedChange { input: shown(input, redactor), why: redactor.owned(why) });
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

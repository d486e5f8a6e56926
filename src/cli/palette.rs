//! Which colour has a word about how something stands? By meaning, the same in every table.

use super::text_color::TextColor;

/// The colour of a state, reason, status or outcome, as it stands on the wire; a word that only a newer daemon knows
/// has none.
pub(super) fn ink(word: &str) -> Option<TextColor> {
    match word {
        // At work.
        "running" | "claimed" | "connecting" => Some(TextColor::Cyan),
        // As it should be.
        "GOAL" | "ok" | "open" | "pass" | "allow" | "safe" | "low" | "written" | "replaced" | "ready"
        | "on" => Some(TextColor::Green),
        // Somebody should look, or something has to happen first.
        "queued" | "waiting" | "parked" | "offered" | "ABORTED" | "UNATTENDED" | "untrusted" | "notReady"
        | "unresolved" | "blocked" | "backoff" | "warn" | "warning" | "ask" | "medium" | "repaired"
        | "skipped" => Some(TextColor::Yellow),
        // It does not do what it is there for.
        "changed" | "broken" => Some(TextColor::Red),
        // It failed, or may do harm.
        "ERROR"
        | "MAX_TURNS"
        | "TIMEOUT"
        | "ERROR_NO_COMPLETE_TASK_CALL"
        | "BUDGET"
        | "GUARDRAIL"
        | "LOOP_DETECTED"
        | "invalid"
        | "fail"
        | "failed"
        | "rejected"
        | "deny"
        | "high"
        | "critical" => Some(TextColor::Red),
        // Over, or not in use.
        "ended" | "closed" | "idle" | "hidden" | "disabled" | "resolved" | "unchanged" | "off"
        | "neverFires" => Some(TextColor::Dim),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use protocol::{
        AgentFileState, AgentStatus, CheckOutcome, CheckState, ConfirmationState, HookStanding,
        ImportOutcome, McpState, Risk, RunEndReason, RunState, SessionState, Verdict,
    };

    /// Every value of an enum of a schema.
    fn values<T: schemars::JsonSchema>() -> Vec<String> {
        let schema = schemars::schema_for!(T).to_value();
        let variants = schema["oneOf"].as_array().cloned().unwrap_or_else(|| vec![schema.clone()]);
        let of = |variant: &serde_json::Value| {
            let listed =
                variant["enum"].as_array().cloned().unwrap_or_else(|| vec![variant["const"].clone()]);
            listed.into_iter().filter(|value| *value != json!(null)).collect::<Vec<_>>()
        };
        variants.iter().flat_map(of).filter_map(|value| Some(value.as_str()?.to_owned())).collect()
    }

    #[test]
    fn every_word_we_know_has_a_colour_and_no_other() {
        let words = [
            values::<RunState>(),
            values::<RunEndReason>(),
            values::<SessionState>(),
            values::<AgentStatus>(),
            values::<CheckOutcome>(),
            values::<CheckState>(),
            values::<ConfirmationState>(),
            values::<McpState>(),
            values::<Risk>(),
            values::<Verdict>(),
            values::<AgentFileState>(),
            values::<ImportOutcome>(),
            values::<HookStanding>(),
        ];
        assert_eq!(words.iter().map(Vec::len).collect::<Vec<_>>(), [5, 10, 2, 7, 3, 3, 4, 8, 5, 3, 3, 5, 6]);
        let plain: Vec<String> = words.into_iter().flatten().filter(|word| ink(word).is_none()).collect();
        assert_eq!(plain, [] as [String; 0]);
        assert!(ink("dreaming").is_none());
    }
}

//! Who let a call run, or did not, in the last column of its row?

use protocol::CallDecision;

use super::{
    EDIT_DROPPED, EDITED, LAST_TURN, MODIFY, STALE, decider, of_version, origin, overruled, unguarded, waited,
};
use crate::text::person;

/// A decision, in the pieces that its words are made of.
struct DecisionWords {
    /// `yes`, `no`
    word: String,
    /// `, in this session`
    how: String,
    /// ` (version 2 of the question)`
    version: String,
    /// `, with a change by ada (pts/3)`, where that was refused after it
    changed: String,
    /// The rule or the person.
    by: String,
    waited: String,
    beyond: String,
}

/// `yes: builtin:risk=safe`, `no: user:mine.toml:1`, `yes: cli-ada, 2.6 s`
pub fn decided(decision: &CallDecision) -> String {
    let DecisionWords { word, how, version, changed, by, waited, beyond } = words(decision);
    format!("{word}{how}{version}{changed}: {by}{waited}{beyond}")
}

/// The same where there is little room, so that who it was comes first: `yes (v2): ada (pts/3), with a change, 2.6 s`.
pub fn decided_briefly(decision: &CallDecision) -> String {
    let DecisionWords { word, how, changed, by, waited, beyond, .. } = words(decision);
    let version = decision.version.map(|version| format!(" (v{version})")).unwrap_or_default();
    // That nobody was asked this time stands where a narrow column still has it.
    let by = by
        .strip_prefix("remembered from ")
        .map_or_else(|| by.clone(), |whose| format!("remembered: {whose}"));
    format!("{word}{version}: {by}{how}{changed}{waited}{beyond}")
}

fn words(decision: &CallDecision) -> DecisionWords {
    let (word, how) = match decision.outcome.as_str() {
        "allow" | "allowOnce" => ("yes", ""),
        "allowSession" => ("yes", ", in this session"),
        "allowProject" => ("yes", ", in this project"),
        "allowUser" => ("yes", ", always"),
        MODIFY => ("yes", ", with a change"),
        STALE => ("asked again", ", as what it would touch had changed"),
        EDIT_DROPPED => ("asked again", ", as nothing came of the change"),
        "deny" => ("no", ""),
        "cancelRun" => ("no", ", and the run was cancelled"),
        "answer" => ("answered", ""),
        other => (other, ""),
    };
    let changed = overruled(decision).filter(|_| decision.source == "hook");
    let changed = changed.map(|who| format!(", with a change by {who}"));
    let said = decision.message.as_deref().and_then(|said| said.strip_prefix("refused by "));
    let by = match (decision.source.as_str(), &decision.rule) {
        // With the words of the rule, where it has some.
        ("policy", Some(rule)) => {
            said.filter(|said| said.starts_with(rule.as_str())).unwrap_or(rule).to_owned()
        }
        ("agent", _) => "the agent's definition".to_owned(),
        ("grace", _) => LAST_TURN.to_owned(),
        ("client", _) => person(decider(decision)),
        // Nobody was asked, or the run was over before somebody answered: with the words for why.
        ("system" | "deadline" | "hook", _) => decision
            .message
            .clone()
            .filter(|said| !said.is_empty())
            .unwrap_or_else(|| decider(decision).to_owned()),
        _ => decider(decision).to_owned(),
    };
    let by = origin(decision).map_or(by, |(origin, rule)| format!("{rule}{origin}"));
    let over = decision.message.as_deref().filter(|_| decision.outcome == EDITED);
    let over = over.map(|why| format!("{}: {why}", unguarded(decision))).unwrap_or_default();
    let beyond = decision.allows.as_ref().map(|allows| format!("; from now on: {allows}"));
    DecisionWords {
        word: word.to_owned(),
        how: how.to_owned(),
        version: of_version(decision),
        changed: changed.unwrap_or_default(),
        by,
        waited: waited(decision).map(|waited| format!(", {waited}")).unwrap_or_default(),
        beyond: format!("{over}{}", beyond.unwrap_or_default()),
    }
}

//! What does an agent's file ask for that this version cannot carry out? Run without it, an agent would be freer than its file
//! says, or forget, so it is not started. Files of other products are read for the same: what one of them has brought along must
//! not get lost on the way.

use super::{
    field_names::{camel_case, is_restricting},
    findings::FileFindings,
    yaml::{YamlContent, YamlNode},
};
use config::nearest;
use protocol::FileProblemCode::{UnknownField, Unsupported};

/// Fields of ours that this version does not act on, then those of other products, and what an agent would do without each that
/// its file does not say. `None`: nothing is loosened or lost, but what it asks for is not there.
const FIELDS: &[(&str, Option<&str>)] = &[
    ("handoffs", Some("it would keep what it is to hand over")),
    ("guardrails", Some("nothing would check what they check")),
    ("memory", Some("it would keep nothing")),
    ("graph", Some("its steps would not be taken")),
    ("isolation", Some("it would change your own files, not copies of them")),
];

/// The field that a key means, however it is spelled: whoever wrote `guard-rail` must not run without it.
pub(super) fn named(key: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace(['_', '-'], "").trim_end_matches('s').to_lowercase();
    FIELDS.iter().map(|(field, _)| *field).find(|field| plain(field) == plain(key))
}

/// The part of `memory` that is carried out: whether the agent is told what memory files say.
pub(super) const INCLUDE: &str = "include";

/// True if a field says no more than what is carried out.
fn is_carried_out(field: &str, node: &YamlNode) -> bool {
    let YamlContent::Map(entries) = &node.content else { return false };
    field == "memory" && entries.iter().all(|(key, node)| key.text == INCLUDE || node.says_nothing())
}

/// True if this entry says more than is carried out.
pub(super) fn is_left_out(key: &str, node: &YamlNode) -> bool {
    named(key).is_some_and(|field| !is_carried_out(field, node))
}

/// The fields that say something and are not carried out, each told. One that is empty, `false` or `null` asks for nothing.
pub(super) fn read(root: &YamlNode, findings: &mut FileFindings) -> Vec<String> {
    let YamlContent::Map(entries) = &root.content else { return Vec::new() };
    let mut unsupported: Vec<String> = Vec::new();
    for (key, node) in entries {
        let Some(field) = named(&key.text) else { continue };
        if node.says_nothing() || is_carried_out(field, node) {
            continue;
        }
        let written = &key.text;
        match FIELDS.iter().find_map(|(known, without)| without.filter(|_| *known == field)) {
            Some(without) => findings.warning(
                Some(key.mark),
                Unsupported,
                format!(
                    "`{written}` cannot be carried out in this version, so the agent is not started: {without}"
                ),
                Some(format!("take `{written}` out if the agent is meant to run without it")),
            ),
            None => {
                let message = format!("`{written}` has no effect in this version");
                findings.warning(Some(key.mark), UnknownField, message, None);
            }
        }
        if !unsupported.iter().any(|known| known == field) {
            unsupported.push(field.to_owned());
        }
    }
    unsupported
}

/// In a key of ours that nobody knows: what somebody writes who wants an agent to be held to more than it is. Compared without
/// `_`, `-` and capitals; the words are those of other products, and what misspelled ones of ours have in them.
const NARROWING_PARTS: &[&str] = &[
    "allowed",
    "confirm",
    "deny",
    "denied",
    "disallow",
    "exclude",
    "forbid",
    "guard",
    "interrupt",
    "permission",
    "readonly",
    "restrict",
];
const NARROWING_WORDS: &[&str] = &[
    "approvalmode",
    "approvals",
    "ask",
    "budget",
    "mode",
    "network",
    "policies",
    "policy",
    "require",
    "rules",
];

/// A map of a file of ours, in which keys that nobody knows may have meant to narrow the agent.
pub(super) struct NarrowingSection {
    /// Every field that it has.
    pub fields: Vec<&'static str>,
    /// Those among them without which, misspelled, the agent would be freer than its file says.
    pub narrowing: Vec<&'static str>,
}

impl NarrowingSection {
    /// The field that a misspelled key means, if it narrows.
    fn misspelled(&self, key: &str) -> Option<&'static str> {
        nearest(key, self.fields.iter().copied()).filter(|meant| self.narrowing.contains(meant))
    }
}

/// Fields of other products that bound how long an agent works.
const FOREIGN_LIMITS: &[&str] = &["maxTurns", "maxSteps", "steps", "timeoutMins"];

/// Keys of another product's file that no table knows, but that are nearly one of its fields that take something away, such as
/// `disalowedTools`, or say that they do, as `deniedTools` does. That product ignores them as well, but whoever wrote one meant the agent
/// to be held to it.
pub(super) fn read_misspelled(root: &YamlNode, known: &[&str], findings: &mut FileFindings) -> Vec<String> {
    let YamlContent::Map(entries) = &root.content else { return Vec::new() };
    let mut unheld = Vec::new();
    for (key, node) in entries {
        if known.contains(&camel_case(&key.text).as_str())
            || named(&key.text).is_some()
            || node.says_nothing()
        {
            continue;
        }
        let word = plain(&key.text);
        let meant = nearest(&key.text, known.iter().copied());
        let restricting = meant.filter(|meant| is_restricting(meant) || FOREIGN_LIMITS.contains(meant));
        if restricting.is_none() && !NARROWING_PARTS.iter().any(|part| word.contains(part)) {
            continue;
        }
        let nearly = restricting.map(|meant| format!(", but nearly `{meant}`")).unwrap_or_default();
        findings.warning(
            Some(key.mark),
            Unsupported,
            format!(
                "`{}` is not a field{nearly}; without it the agent would be freer, so it is not started",
                key.text
            ),
            Some(match restricting {
                Some(meant) => format!("write `{meant}`, or remove the field"),
                None => "remove the field, or write one that this product has".to_owned(),
            }),
        );
        unheld.push(key.text.clone());
    }
    unheld
}

/// Unknown fields of our own files that would narrow the agent, each told: at the top, or in a field that has fields. By their path.
pub(super) fn read_narrowing(
    root: &YamlNode,
    section: impl Fn(&str) -> Option<NarrowingSection>,
    findings: &mut FileFindings,
) -> Vec<String> {
    let mut unheld = Vec::new();
    if let Some(section) = section("") {
        read_narrowing_below("", root, &section, findings, &mut unheld);
    }
    let YamlContent::Map(entries) = &root.content else { return unheld };
    for (key, node) in entries {
        let field = camel_case(&key.text);
        if let Some(section) = section(&field) {
            read_narrowing_below(&field, node, &section, findings, &mut unheld);
        }
    }
    unheld
}

/// A key without what people spell in several ways.
fn plain(key: &str) -> String {
    key.replace(['_', '-'], "").to_lowercase()
}

fn read_narrowing_below(
    path: &str,
    node: &YamlNode,
    section: &NarrowingSection,
    findings: &mut FileFindings,
    unheld: &mut Vec<String>,
) {
    let YamlContent::Map(entries) = &node.content else { return };
    for (key, node) in entries {
        let word = plain(&key.text);
        // As the reader takes them: one that is wrong in its capitals alone is not read.
        let is_known = section.fields.contains(&camel_case(&key.text).as_str())
            || (path.is_empty() && named(&key.text).is_some());
        // A limit that is misspelled is none.
        let is_narrowing = NARROWING_PARTS.iter().any(|part| word.contains(part))
            || NARROWING_WORDS.contains(&word.as_str())
            || word.starts_with("max");
        // Who sends nothing says so by `enabled: false` or an empty list.
        let says_nothing = if path == "tracing" { node.is_null() } else { node.says_nothing() };
        if is_known || says_nothing {
            continue;
        }
        let meant = section.misspelled(&key.text);
        if !is_narrowing && meant.is_none() {
            continue;
        }
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let written = below(&key.text);
        let fix = match meant {
            Some(meant) => format!("write `{}`, or remove the field", below(meant)),
            None => {
                "narrow the agent by `tools.deny`, `approval.rules`, `sandbox` or `run`, or remove the field"
                    .to_owned()
            }
        };
        findings.warning(
            Some(key.mark),
            Unsupported,
            format!("`{written}` is not a field of an agent's file; without it the agent would be freer, so it is not started"),
            Some(fix),
        );
        unheld.push(written);
    }
}

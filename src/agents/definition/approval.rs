//! The field `approval`: which calls of an agent need no person where no rule speaks (spec 02, 06).

use serde_json::{Map, Value, json};

use super::{
    field_row::{FieldLoss, FieldNarrowing, FieldRow, map_schema, read_section, section, written_section},
    shapes::{or_null, word_schema},
    tools::canonical,
};
use crate::{
    fields::KnownFields,
    findings::FileFindings,
    narrow::is_understood,
    yaml::{YamlContent, YamlNode},
};
use protocol::{
    AgentDefinition, AgentToolRule,
    FileProblemCode::{BadValue, WrongType},
    Risk, Verdict,
};

pub(super) const APPROVAL: FieldRow<AgentDefinition> = section!(
    "approval", APPROVAL_FIELDS, "Which calls run without a question, and which ask or are denied.",
    example: "approval: { autoApprove: [low] }", narrowing: FieldNarrowing::Narrows
);

const APPROVAL_FIELDS: &[FieldRow<AgentDefinition>] = &[
    FieldRow {
        name: "autoApprove",
        meaning: || {
            String::from(
                "Risks of calls that run without asking where no rule speaks. Of a project's agent it counts once a person \
                 has acknowledged the file.",
            )
        },
        schema: || json!({ "type": ["array", "null"], "items": word_schema(RISKS) }),
        example: "approval: { autoApprove: [low, medium] }",
        read: |fields, agent, findings| agent.auto_approve = auto_approve(fields, findings),
        write: |agent| (!agent.auto_approve.is_empty()).then(|| json!(agent.auto_approve)),
        loss: Some(FieldLoss::of("`approval.autoApprove`")),
        claim: |agent| {
            let risks: Vec<&str> = agent.auto_approve.iter().map(|risk| risk.as_str()).collect();
            (!risks.is_empty()).then(|| {
                format!(
                    "`approval.autoApprove`: its calls of risk {} run without a question",
                    risks.join(", ")
                )
            })
        },
        ..FieldRow::BLANK
    },
    FieldRow {
        name: "rules",
        meaning: || {
            String::from(
                "Stricter than the rules in force, by tool: `ask`, `deny`, or a map from calls to verdicts, of which the last \
                 match counts: `{\"*\": ask, \"git status *\": allow}`. `allow` only cancels an `ask` or `deny` of this same field.",
            )
        },
        schema: || {
            let verdict = word_schema(VERDICTS);
            let cases = json!({ "type": "object", "additionalProperties": verdict });
            json!({ "type": ["object", "null"], "additionalProperties": { "anyOf": [verdict, cases] } })
        },
        example: "approval: { rules: { run_shell_command: { \"*\": ask, \"git status *\": allow } } }",
        read: |fields, agent, findings| agent.narrowings.extend(rules(fields, findings)),
        write: |agent| written_rules(&agent.narrowings),
        ..FieldRow::BLANK
    },
];

/// A tool's words in their order; of those about the same calls the last counts anyway.
fn written_rules(narrowings: &[AgentToolRule]) -> Option<Value> {
    let mut rules: Map<String, Value> = Map::new();
    for AgentToolRule { tool, about, decision } in narrowings {
        let cases = rules.entry(tool.as_str()).or_insert_with(|| json!({}));
        if let Some(cases) = cases.as_object_mut() {
            let about = about.as_deref().unwrap_or("*");
            cases.shift_remove(about);
            cases.insert(about.to_owned(), verdict_word(*decision).into());
        }
    }
    (!rules.is_empty()).then(|| rules.into())
}

/// The word of a verdict in a file.
pub(in super::super) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

/// What a rule of an agent's own file may say.
pub(in super::super) const VERDICTS: &[(&str, Verdict)] =
    &[("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)];

/// What may be approved beforehand. `critical` may not: only a rule that says so allows that.
const RISKS: &[(&str, Risk)] =
    &[("safe", Risk::Safe), ("low", Risk::Low), ("medium", Risk::Medium), ("high", Risk::High)];

/// By tool: a verdict about all its calls, or one by which calls, of which the last that fits counts.
fn rules(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Vec<AgentToolRule> {
    let Some(node) = fields.get("rules") else { return Vec::new() };
    let path = fields.path("rules");
    let YamlContent::Map(tools) = &node.content else {
        findings.expected(node, &path, WrongType, "a map of tools, each with `allow`, `ask` or `deny`");
        return Vec::new();
    };
    let mut rules = Vec::new();
    for (key, value) in tools {
        let tool = canonical(&key.text.as_str().into());
        let path = format!("{path}.{}", key.text);
        let YamlContent::Map(cases) = &value.content else {
            let decision = verdict(value, &path, findings);
            rules.extend(decision.map(|decision| AgentToolRule { tool, about: None, decision }));
            continue;
        };
        for (pattern, value) in cases {
            let path = format!("{path}.{}", pattern.text);
            let about = Some(pattern.text.trim()).filter(|about| *about != "*");
            if about.is_some_and(|about| !is_understood(tool.as_str(), about)) {
                let message = format!("`{path}`: it is not known which calls are meant");
                let fix =
                    "write `*` for all, of `run_shell_command` the beginning of commands, `git status *`";
                findings.error_with_fix(Some(pattern.mark), BadValue, message, fix);
            } else if let Some(decision) = verdict(value, &path, findings) {
                rules.push(AgentToolRule { tool: tool.clone(), about: about.map(str::to_owned), decision });
            }
        }
    }
    rules
}

/// `allow`, `ask` or `deny`.
pub(in super::super) fn verdict(node: &YamlNode, path: &str, findings: &mut FileFindings) -> Option<Verdict> {
    let found = node.as_raw_text().and_then(|text| VERDICTS.iter().find(|(word, _)| *word == text));
    if found.is_none() {
        let code = if node.as_raw_text().is_some() { BadValue } else { WrongType };
        findings.expected(node, path, code, "`allow`, `ask` or `deny`");
    }
    found.map(|(_, verdict)| *verdict)
}

/// From the least on, each once. What is mistaken approves nothing.
fn auto_approve(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Vec<Risk> {
    const EXPECTED: &str = "a list of `safe`, `low`, `medium` and `high`";
    let Some(node) = fields.get("autoApprove") else { return Vec::new() };
    let path = fields.path("autoApprove");
    let YamlContent::List(nodes) = &node.content else {
        findings.expected(node, &path, WrongType, EXPECTED);
        return Vec::new();
    };
    let mut risks = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let path = format!("{path}[{number}]");
        let word = node.as_raw_text();
        match word.and_then(|word| RISKS.iter().find(|(known, _)| *known == word)) {
            Some((_, risk)) => risks.push(*risk),
            None if word == Some("critical") => {
                let message =
                    format!("`{path}`: `critical` is never approved beforehand; only a rule allows it");
                findings.error(Some(node.mark), BadValue, message);
            }
            None => {
                let code = if word.is_some() { BadValue } else { WrongType };
                findings.expected(node, &path, code, "`safe`, `low`, `medium` or `high`");
            }
        }
    }
    risks.sort_unstable();
    risks.dedup();
    risks
}

//! The field `approval`: which calls of an agent need no person where no rule speaks (spec 02, 06).

use super::{
    super::{
        fields::KnownFields,
        findings::FileFindings,
        narrow::is_understood,
        yaml::{YamlContent, YamlNode},
    },
    tools::canonical,
};
use protocol::{
    AgentToolRule,
    FileProblemCode::{BadValue, WrongType},
    Risk, Verdict,
};

pub(super) const APPROVAL_FIELDS: &[&str] = &["autoApprove", "rules"];

/// What a rule of an agent's own file may say.
pub(in super::super) const VERDICTS: &[(&str, Verdict)] =
    &[("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)];

/// What may be approved beforehand. `critical` may not: only a rule that says so allows that.
pub(super) const RISKS: &[(&str, Risk)] =
    &[("safe", Risk::Safe), ("low", Risk::Low), ("medium", Risk::Medium), ("high", Risk::High)];

/// What the field says.
#[derive(Default)]
pub(super) struct ApprovalField {
    /// From the least on, each once. What is mistaken approves nothing.
    pub auto_approve: Vec<Risk>,
    /// In the order of the file.
    pub rules: Vec<AgentToolRule>,
}

pub(super) fn read(fields: &KnownFields<'_>, findings: &mut FileFindings) -> ApprovalField {
    let Some(node) = fields.get("approval") else { return ApprovalField::default() };
    let Some(fields) = KnownFields::open(node, "approval", APPROVAL_FIELDS, findings) else {
        return ApprovalField::default();
    };
    ApprovalField { auto_approve: auto_approve(&fields, findings), rules: rules(&fields, findings) }
}

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

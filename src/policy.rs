//! May this call run? Answers from the rules and the call alone (spec 06, "Policy").
//!
//! Pure: no clock, no files, no waiting. It judges what a call would touch and how dangerous it is, never the
//! raw arguments. Today the built-in defaults speak alone; the tiers of system, user and project stand above
//! them, join their opinions by [`Decision::stricter`], and never change what a caller sees.

use std::path::PathBuf;

use serde_json::Value;

use crate::protocol::{
    Access, AgentName, ApprovalMode, ConfirmationId, PolicyRule, Risk, SessionId, Timestamp, ToolKind,
    ToolName, Verdict,
};

/// What the policy looks at.
#[derive(Debug, Clone, Copy)]
pub struct PolicyCall<'a> {
    /// The tool's canonical name.
    pub tool: &'a ToolName,
    /// Other names that mean the tool; a rule may name it by any of them.
    pub aliases: &'a [&'a str],
    /// The agent whose run asks.
    pub agent: &'a AgentName,
    pub kind: ToolKind,
    /// The call's own risk, which may differ from its tool's.
    pub risk: Risk,
    /// All that the prepared call says it would touch.
    pub accesses: &'a [Access],
    /// As prepared: names and values as the tool understood them.
    pub arguments: &'a Value,
    /// Every command of a shell call, as words; `None` when there is no shell in it, or nobody could parse it.
    pub commands: Option<&'a [Vec<String>]>,
    /// The session's.
    pub mode: ApprovalMode,
    /// Risks whose default ask is dropped, by the agent's definition and by whoever started the run.
    pub auto_approve: &'a [Risk],
    pub session: Option<&'a SessionId>,
    /// The workspace's folders: absolute, symlinks resolved.
    pub roots: &'a [PathBuf],
}

/// For how long and where an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Session,
    Project,
    User,
}

/// A person's answer that is to be remembered.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Of the new rule.
    pub id: &'a str,
    pub scope: Scope,
    pub created_by: Option<&'a str>,
    pub created_at: Option<Timestamp>,
    pub confirmation: &'a ConfirmationId,
}

/// A verdict, the rule that reached it, and why, in words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// Names the rule, e.g. `builtin:risk=medium`.
    pub rule: String,
    pub reason: String,
}

impl Decision {
    /// The stricter of two opinions; at a tie this one stays, so that the first to speak is named.
    #[must_use]
    pub fn stricter(self, other: Decision) -> Decision {
        if other.verdict > self.verdict { other } else { self }
    }
}

/// The rules in force.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Policy {}

impl Policy {
    /// The built-in rules alone.
    pub fn builtin() -> Policy {
        Policy {}
    }

    pub fn with(&self, _rule: PolicyRule) -> Policy {
        self.clone()
    }

    pub fn remember(&self, _call: &PolicyCall<'_>, _answer: &Answer<'_>) -> Option<PolicyRule> {
        None
    }

    /// Judges one call. An opinion can only be overruled by a stricter one.
    pub fn decide(&self, call: &PolicyCall<'_>) -> Decision {
        let by_risk = default_by_risk(call);
        match opinion_on_accesses(call) {
            Some(opinion) => by_risk.stricter(opinion),
            None => by_risk,
        }
    }
}

/// The default of spec 06: safe calls run, critical ones do not, all others need a person.
fn default_by_risk(call: &PolicyCall<'_>) -> Decision {
    let (verdict, risk, reason) = match call.risk {
        Risk::Safe => (Verdict::Allow, "safe", "safe calls may run"),
        Risk::Low => (Verdict::Ask, "low", "calls of low risk need a person's consent"),
        Risk::Medium => (Verdict::Ask, "medium", "calls of medium risk need a person's consent"),
        Risk::High => (Verdict::Ask, "high", "calls of high risk need a person's consent"),
        Risk::Critical => (Verdict::Deny, "critical", "critical calls need a rule that names them"),
    };
    Decision { verdict, rule: format!("builtin:risk={risk}"), reason: format!("`{}`: {reason}", call.tool) }
}

/// A call that says nothing about what it touches cannot be trusted to touch nothing:
/// a tool that only computes says so with [`Access::Nothing`].
fn opinion_on_accesses(call: &PolicyCall<'_>) -> Option<Decision> {
    call.accesses.is_empty().then(|| Decision {
        verdict: Verdict::Ask,
        rule: "builtin:no-accesses".to_owned(),
        reason: format!("`{}` does not say what it would touch", call.tool),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn every_access() -> Vec<Access> {
        vec![
            Access::Nothing,
            Access::Read { path: "/w/a".into() },
            Access::Write { path: "/w/a".into() },
            Access::Execute { command: "ls".into() },
            Access::Fetch { url: "https://example.org".into() },
            Access::Opaque { what: "server".into() },
        ]
    }

    const EVERY_RISK: [Risk; 5] = [Risk::Safe, Risk::Low, Risk::Medium, Risk::High, Risk::Critical];

    const EVERY_KIND: [ToolKind; 9] = [
        ToolKind::Read,
        ToolKind::Edit,
        ToolKind::Delete,
        ToolKind::Move,
        ToolKind::Search,
        ToolKind::Execute,
        ToolKind::Think,
        ToolKind::Fetch,
        ToolKind::Other,
    ];

    fn decide(kind: ToolKind, risk: Risk, accesses: &[Access]) -> Decision {
        let (tool, agent) = (ToolName::from("the_tool"), AgentName::from("the-agent"));
        Policy::builtin().decide(&PolicyCall {
            tool: &tool,
            agent: &agent,
            kind,
            risk,
            accesses,
            aliases: &[],
            arguments: &Value::Null,
            commands: None,
            mode: ApprovalMode::Default,
            auto_approve: &[],
            session: None,
            roots: &[],
        })
    }

    #[test]
    fn the_builtin_table() {
        let check = |risk, accesses: &[Access], expected: Expect| {
            let decision = decide(ToolKind::Read, risk, accesses);
            expected.assert_eq(&format!("{:?} · {} · {}", decision.verdict, decision.rule, decision.reason));
        };
        let nothing = [Access::Nothing];
        let read = [Access::Read { path: "/w".into() }];
        let execute = [Access::Execute { command: "halt".into() }];
        check(Risk::Safe, &nothing, expect!["Allow · builtin:risk=safe · `the_tool`: safe calls may run"]);
        check(Risk::Safe, &read, expect!["Allow · builtin:risk=safe · `the_tool`: safe calls may run"]);
        check(
            Risk::Safe,
            &[],
            expect!["Ask · builtin:no-accesses · `the_tool` does not say what it would touch"],
        );
        check(
            Risk::Low,
            &read,
            expect!["Ask · builtin:risk=low · `the_tool`: calls of low risk need a person's consent"],
        );
        check(
            Risk::Medium,
            &execute,
            expect!["Ask · builtin:risk=medium · `the_tool`: calls of medium risk need a person's consent"],
        );
        check(
            Risk::Medium,
            &[],
            expect!["Ask · builtin:risk=medium · `the_tool`: calls of medium risk need a person's consent"],
        );
        check(
            Risk::High,
            &execute,
            expect!["Ask · builtin:risk=high · `the_tool`: calls of high risk need a person's consent"],
        );
        check(
            Risk::Critical,
            &execute,
            expect!["Deny · builtin:risk=critical · `the_tool`: critical calls need a rule that names them"],
        );
        check(
            Risk::Critical,
            &[],
            expect!["Deny · builtin:risk=critical · `the_tool`: critical calls need a rule that names them"],
        );
    }

    #[test]
    fn one_more_access_never_loosens() {
        for kind in EVERY_KIND {
            for risk in EVERY_RISK {
                for first in every_access() {
                    let before = decide(kind, risk, std::slice::from_ref(&first)).verdict;
                    for second in every_access() {
                        let after = decide(kind, risk, &[first.clone(), second.clone()]).verdict;
                        assert!(after >= before, "{kind:?} {risk:?}: {second:?} beside {first:?} loosens");
                    }
                }
            }
        }
    }

    #[test]
    fn more_risk_never_loosens() {
        for accesses in [vec![], every_access()] {
            for pair in EVERY_RISK.windows(2) {
                let verdict = |risk| decide(ToolKind::Other, risk, &accesses).verdict;
                assert!(verdict(pair[1]) >= verdict(pair[0]), "{pair:?}");
            }
        }
    }

    #[test]
    fn opinions_combine_to_the_strictest_whatever_their_order() {
        let opinion = |verdict, rule: &str| Decision { verdict, rule: rule.into(), reason: String::new() };
        for first in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            for second in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
                let joined = opinion(first, "first").stricter(opinion(second, "second"));
                assert_eq!(joined.verdict, first.max(second));
                assert_eq!(joined.rule, if second > first { "second" } else { "first" });
            }
        }
    }
}

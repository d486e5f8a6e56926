//! May this call run? Answers from the rules and the call alone (spec 06, "Policy").
//!
//! Pure: no clock, no disk, no waiting. It judges what a call would touch, how dangerous it is and what the rules say of
//! it; it never knows what a tool does. Stricter wins: whatever is missing, mistaken or not understood asks or refuses.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

use protocol::{
    AgentName, ApprovalMode, CommandConfinement, PolicyRule, PolicyTier, ResourceAccess, Risk, SessionId,
    ShellCommand, ToolKind, ToolName, Verdict,
};

mod canonical;
mod default;
mod file;
mod granting;
mod names;
mod pattern;
mod reading;
mod remember;
mod rule;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

pub use default::AUTO_APPROVE;
pub use file::{RuleFile, parse, unread};
pub use reading::ReadingSubject;
pub use remember::{RememberScope, RememberedAnswer};
pub use words::{ALLOWS_EDITS, allows, extent};

use rule::CompiledRule;
use verdict::RuleMemo;

/// What the policy looks at.
#[derive(Debug, Clone, Copy)]
pub struct PolicyCall<'a> {
    /// The tool's canonical name.
    pub tool: &'a ToolName,
    /// Other names that mean the tool; a rule may name it by any of them.
    pub aliases: &'a [&'a str],
    /// The agent whose run asks.
    pub agent: &'a AgentName,
    /// The agents that lead to this run by their calls, from the root run's on: what rules forbid them, or ask of them, they do not get
    /// by calling another one. Its own may be among them.
    pub callers: &'a [AgentName],
    pub kind: ToolKind,
    /// The call's own risk, which may differ from its tool's.
    pub risk: Risk,
    /// All that the prepared call says it would touch.
    pub accesses: &'a [ResourceAccess],
    /// As prepared: names and values as the tool understood them.
    pub arguments: &'a Value,
    /// Every command of a shell call that was found; `None` when there is no shell in it, or nothing could be read.
    pub commands: Option<&'a [ShellCommand]>,
    /// The reason why nobody can tell what a shell call would run, beside its commands. Such a call asks, unless a rule of system or
    /// user is about the whole tool.
    pub unread: Option<&'a str>,
    /// How closely it would be confined, of a call that starts a command.
    pub confinement: Option<&'a CommandConfinement>,
    /// The session's.
    pub mode: ApprovalMode,
    /// Risks whose default ask is dropped, by the agent's definition and by whoever started the run.
    pub auto_approve: &'a [Risk],
    pub session: Option<&'a SessionId>,
    /// The workspace's folders: absolute, symlinks resolved.
    pub roots: &'a [PathBuf],
}

/// A verdict, the rule that reached it, and why, in words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    pub verdict: Verdict,
    /// Names the rule, e.g. `builtin:risk=medium`, `user:shop.toml:3` or `mode:plan`.
    pub rule: String,
    pub reason: String,
    /// No rule spoke: it is the default of the call's risk, or what the session's mode or `autoApprove` made of it.
    pub is_default: bool,
    /// Who spoke. Defaults and modes are built in.
    pub tier: PolicyTier,
}

impl PolicyDecision {
    /// The stricter of two opinions. At a tie this one stays, so that the first to speak is named; but a rule is named
    /// before a default, since nothing else lifts it.
    #[must_use]
    pub fn stricter(self, other: PolicyDecision) -> PolicyDecision {
        let is_named_first = other.verdict == self.verdict && self.is_default && !other.is_default;
        if other.verdict > self.verdict || is_named_first { other } else { self }
    }
}

/// The rules in force. Cheap to clone; a change makes a new one.
#[derive(Debug, Clone)]
pub struct Policy {
    rules: Arc<[Arc<CompiledRule>]>,
    /// What was found out about these rules; it changes no verdict.
    known: Arc<RuleMemo>,
}

impl Policy {
    /// The defaults alone.
    pub fn builtin() -> Policy {
        Policy::new(Vec::new())
    }

    /// These rules, in this order: of rules that say the same, the first is named. A condition of a rule that cannot be
    /// used, e.g. an expression that does not compile, makes an `allow` match nothing and anything else match as if the
    /// condition were not there.
    pub fn new(rules: Vec<PolicyRule>) -> Policy {
        Policy::of(rules.into_iter().map(|rule| Arc::new(CompiledRule::new(rule))).collect())
    }

    /// One more rule; one of the same id is replaced.
    #[must_use]
    pub fn with(&self, rule: PolicyRule) -> Policy {
        let others = self.rules.iter().filter(|other| other.said.id != rule.id).cloned();
        Policy::of(others.chain([Arc::new(CompiledRule::new(rule.clone()))]).collect())
    }

    /// Without the rule of this id.
    #[must_use]
    pub fn without(&self, id: &str) -> Policy {
        Policy::of(self.rules.iter().filter(|rule| rule.said.id != id).cloned().collect())
    }

    fn of(rules: Arc<[Arc<CompiledRule>]>) -> Policy {
        Policy { rules, known: Arc::default() }
    }

    /// All rules, in order; the defaults are none.
    pub fn rules(&self) -> impl Iterator<Item = &PolicyRule> {
        self.rules.iter().map(|rule| &rule.said)
    }

    /// Judges one call.
    pub fn decide(&self, call: &PolicyCall<'_>) -> PolicyDecision {
        verdict::decide(&self.rules, &self.known, call)
    }

    /// The rules of which an answer "allow this from now on" would write one, from one that is as narrow as the call to the
    /// widest. Only such as would change the next verdict on this very call.
    ///
    /// A rule may repeat the call's arguments. A caller that may not keep those must not keep the rule.
    pub fn remember(&self, call: &PolicyCall<'_>, answer: &RememberedAnswer<'_>) -> Vec<PolicyRule> {
        if self.decide(call).verdict != Verdict::Ask {
            return Vec::new();
        }
        let mut rules = remember::rules(call, answer);
        rules.retain(|rule| self.with(rule.clone()).decide(call).verdict == Verdict::Allow);
        rules
    }
}

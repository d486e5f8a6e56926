//! How does a rule of the policy read, in a table and before an answer would write it?

use serde::Deserialize;
use serde_json::Value;

use super::ids;
use protocol::Timestamp;

/// A rule, with open tiers, decisions, kinds and risks.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RuleView {
    pub(super) id: String,
    pub(super) tier: String,
    tool: Vec<String>,
    agent: Option<String>,
    command_prefix: Vec<String>,
    args_pattern: Option<String>,
    kind: Option<String>,
    risk: Option<String>,
    modes: Vec<String>,
    workspace: Option<String>,
    session: Option<String>,
    accesses: Vec<Value>,
    pub(super) decision: String,
    pub(super) priority: i64,
    pub(super) message: Option<String>,
    pub(super) created_by: Option<String>,
    pub(super) created_at: Option<Timestamp>,
    pub(super) from_confirmation: Option<String>,
    /// What it allows, in plain words.
    allows: Option<String>,
    pub(super) last_used_at: Option<Timestamp>,
}

impl RuleView {
    /// What it is good for: in plain words where the daemon says them.
    pub(super) fn about(&self) -> String {
        self.allows.clone().unwrap_or_else(|| self.matches())
    }

    /// Which calls it is about: `edit_file · writes /w/a.rs · in /w`. Nothing that narrows it is left out, since this is
    /// what a person reads before it is written.
    pub(super) fn matches(&self) -> String {
        let mut parts = vec![if self.tool.is_empty() { "any tool".into() } else { self.tool.join(", ") }];
        parts.extend(self.agent.iter().map(|agent| format!("agent {agent}")));
        parts.extend(list("commands ", &self.command_prefix));
        parts.extend(self.args_pattern.iter().map(|pattern| format!("arguments match {pattern}")));
        parts.extend(self.kind.iter().map(|kind| format!("kind {kind}")));
        parts.extend(self.risk.iter().map(|risk| format!("risk {risk}")));
        parts.extend(list("mode ", &self.modes));
        let accesses: Vec<String> = self.accesses.iter().map(traces::access_said).collect();
        parts.extend(list("only what ", &accesses));
        parts.extend(self.workspace.iter().map(|workspace| format!("in {workspace}")));
        parts.extend(self.session.iter().map(|session| format!("in session {}", ids::shortest(session))));
        parts.join(" · ")
    }
}

fn list(label: &str, entries: &[String]) -> Option<String> {
    (!entries.is_empty()).then(|| format!("{label}{}", entries.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_narrows_a_rule_is_said() {
        let rule: RuleView = serde_json::from_value(json!({
            "id": "x", "tier": "user", "tool": ["edit_file", "mcp.*"], "agent": "scout",
            "commandPrefix": ["git status"], "argsPattern": "\"a\"", "kind": "edit", "risk": "low",
            "modes": ["plan"], "workspace": "/w", "session": "019aa1b2-c3d4-7001-8000-000000000001",
            "accesses": [{"access": "write", "path": "/w/a"}, {"access": "dream", "of": 1}],
            "decision": "allow",
        }))
        .unwrap();
        assert_eq!(
            rule.matches(),
            "edit_file, mcp.* · agent scout · commands git status · arguments match \"a\" · kind edit · risk low · \
             mode plan · only what writes /w/a, {\"access\":\"dream\",\"of\":1} · in /w · in session 019aa1b2-c3d4"
        );
        assert_eq!(RuleView::default().matches(), "any tool");
    }
}

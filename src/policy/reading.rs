//! May an agent read this without a call of its own that anybody judges?
//!
//! What stands in a file, or on a page, reaches a model by other ways than the tool that reads it: a memory file imports it, an error quotes
//! it, a page leads on to another. Whoever tells it so asks here, in the same words.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Policy, PolicyCall, PolicyDecision};
use protocol::{AgentName, ApprovalMode, ResourceAccess, Risk, SessionId, ToolKind, ToolName, Verdict};

/// The agent that would read something, and the tool by which it would, as rules see them.
#[derive(Debug, Clone)]
pub struct ReadingSubject {
    /// The tool's canonical name.
    pub tool: ToolName,
    /// Other names that mean the tool.
    pub aliases: Vec<&'static str>,
    pub agent: AgentName,
    /// The agents that lead to its run by their calls.
    pub callers: Vec<AgentName>,
    pub kind: ToolKind,
    pub risk: Risk,
    pub mode: ApprovalMode,
    pub auto_approve: Vec<Risk>,
    /// Missing where no answer that was given for a session counts.
    pub session: Option<SessionId>,
    /// The workspace's folders: absolute, symlinks resolved.
    pub roots: Vec<PathBuf>,
}

impl ReadingSubject {
    /// Judges a call of the tool that touches only this. `arguments`: those of such a call.
    pub fn decide(&self, policy: &Policy, access: ResourceAccess, arguments: &Value) -> PolicyDecision {
        policy.decide(&PolicyCall {
            tool: &self.tool,
            aliases: &self.aliases,
            agent: &self.agent,
            callers: &self.callers,
            kind: self.kind,
            risk: self.risk,
            accesses: &[access],
            arguments,
            commands: None,
            unread: None,
            confinement: None,
            mode: self.mode,
            auto_approve: &self.auto_approve,
            session: self.session.as_ref(),
            roots: &self.roots,
        })
    }

    /// True if the agent may read a file and nobody is asked. `shown`: the path as an agent writes it.
    pub fn may_read_file(&self, policy: &Policy, path: &Path, shown: &str) -> bool {
        let access = ResourceAccess::Read { path: path.to_owned() };
        self.decide(policy, access, &json!({ "path": shown })).verdict == Verdict::Allow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RuleFile, parse};
    use protocol::PolicyTier;

    /// Who may read `plan.md` under one rule: its agent, one that this one calls, and another one.
    fn may_read(rule: &str) -> [bool; 3] {
        let (tier, path) = (PolicyTier::User, Path::new("/u/rules.toml"));
        let file = RuleFile { tier, path, name: "rules.toml", home: Path::new("/home/me") };
        let (rules, problems) = parse(&format!("[[rule]]\n{rule}"), &file);
        assert_eq!(problems, [], "{rule}");
        let policy = Policy::new(rules);
        [("kept", &[][..]), ("kid", &["kept"][..]), ("other", &[][..])].map(|(agent, callers)| {
            let subject = ReadingSubject {
                tool: ToolName::from("read_file"),
                aliases: vec!["Read"],
                agent: agent.into(),
                callers: callers.iter().map(|&caller| caller.into()).collect(),
                kind: ToolKind::Read,
                risk: Risk::Safe,
                mode: ApprovalMode::Default,
                auto_approve: Vec::new(),
                session: None,
                roots: vec!["/w".into()],
            };
            subject.may_read_file(&policy, Path::new("/w/plan.md"), "plan.md")
        })
    }

    #[test]
    fn what_rules_deny_or_ask_about_is_not_read_unasked() {
        assert_eq!(may_read("tool = \"write_file\"\ndecision = \"deny\""), [true, true, true]);
        assert_eq!(may_read("tool = \"Read\"\ndecision = \"ask\""), [false, false, false]);
        let of_agent = "tool = \"read_file\"\nagent = \"kept\"\nargsPattern = 'plan'\ndecision = \"deny\"";
        assert_eq!(may_read(of_agent), [false, false, true]);
    }
}

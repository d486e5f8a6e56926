//! Promises of the policy: what it says of which call, and that nothing is looser than its strictest speaker.

mod defaults;
mod files;
mod oracle;
mod random;
mod remembering;
mod verdicts;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use protocol::{CommandReach, CommandWord, FileProblem, SandboxProfile, ShellCommand};

/// A call, owned.
#[derive(Debug, Clone)]
struct Sketch {
    tool: ToolName,
    aliases: Vec<&'static str>,
    agent: AgentName,
    callers: Vec<AgentName>,
    kind: ToolKind,
    risk: Risk,
    accesses: Vec<ResourceAccess>,
    arguments: Value,
    commands: Option<Vec<ShellCommand>>,
    unread: Option<&'static str>,
    confinement: Option<CommandConfinement>,
    mode: ApprovalMode,
    auto_approve: Vec<Risk>,
    session: Option<SessionId>,
    roots: Vec<PathBuf>,
}

impl Sketch {
    fn call(&self) -> PolicyCall<'_> {
        PolicyCall {
            tool: &self.tool,
            aliases: &self.aliases,
            agent: &self.agent,
            callers: &self.callers,
            kind: self.kind,
            risk: self.risk,
            accesses: &self.accesses,
            arguments: &self.arguments,
            commands: self.commands.as_deref(),
            unread: self.unread,
            confinement: self.confinement.as_ref(),
            mode: self.mode,
            auto_approve: &self.auto_approve,
            session: self.session.as_ref(),
            roots: &self.roots,
        }
    }
}

/// `write_file` below `/w`, of risk `low`.
fn edit(path: &str) -> Sketch {
    Sketch {
        tool: "write_file".into(),
        aliases: vec!["Write"],
        agent: "fixer".into(),
        callers: vec![],
        kind: ToolKind::Edit,
        risk: Risk::Low,
        accesses: vec![ResourceAccess::Write { path: path.into() }],
        arguments: json!({ "path": path, "content": "x" }),
        commands: None,
        unread: None,
        confinement: None,
        mode: ApprovalMode::Default,
        auto_approve: vec![],
        session: Some("s1".into()),
        roots: vec!["/w".into()],
    }
}

/// Words parted by blanks, of a command that stays in the workspace; one that begins with `?` is not known.
fn command(text: &str) -> ShellCommand {
    let word = |word: &str| match word.strip_prefix('?') {
        Some(_) => CommandWord::Unknown(word.to_owned()),
        None => CommandWord::Known(word.to_owned()),
    };
    ShellCommand { words: text.split_whitespace().map(word).collect(), reach: CommandReach::Workspace }
}

/// `run_shell_command` of risk `medium`, parsed: commands parted by ` ; `.
fn shell(command: &str) -> Sketch {
    Sketch {
        tool: "run_shell_command".into(),
        aliases: vec!["bash"],
        kind: ToolKind::Execute,
        risk: Risk::Medium,
        accesses: vec![ResourceAccess::Execute { command: command.into() }],
        arguments: json!({ "command": command }),
        commands: Some(command.split(" ; ").map(self::command).collect()),
        ..edit("/w/a")
    }
}

fn read_rules(tier: PolicyTier, text: &str) -> (Vec<PolicyRule>, Vec<FileProblem>) {
    let path = Path::new("rules.toml");
    parse(text, &RuleFile { tier, path, name: "rules.toml", home: Path::new("/home/me") })
}

/// The rules of some files without mistakes.
fn policy_of(files: &[(PolicyTier, &str)]) -> Policy {
    let mut rules = Vec::new();
    for (tier, text) in files {
        let (read, problems) = read_rules(*tier, text);
        let is_mistake = |problem: &FileProblem| problem.severity == protocol::ProblemSeverity::Error;
        assert!(!problems.iter().any(is_mistake), "{problems:?}");
        rules.extend(read);
    }
    Policy::new(rules)
}

fn told(decision: &PolicyDecision) -> String {
    let PolicyDecision { verdict, rule, reason, is_default, tier } = decision;
    let by = if *is_default { "default" } else { "rule" };
    format!("{verdict:?} · {rule} · {reason} · {by} · {tier:?}")
}

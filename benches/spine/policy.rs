//! How long does it take to judge one call against many rules?

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;
use serde_json::{Value, json};
use subagentd::{
    policy::{Policy, PolicyCall},
    protocol::{
        AgentName, ApprovalMode, CommandReach, CommandWord, PolicyRule, ResourceAccess, Risk, ShellCommand,
        ToolKind, ToolName, Verdict,
    },
};

use crate::{
    ground::{now, since},
    table::{Row, Table, least, listed},
};

const RULES: usize = 1_000;
/// Calls of one repetition.
const CALLS: u32 = counted!(2_000, 10);
const REPEATS: usize = counted!(5, 1);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    row(table, "judging a call, 1,000 rules of many kinds", mixed_rule)?;
    row(table, "judging a call, 1,000 rules by arguments of its tool", rule_by_arguments)?;
    row(table, "judging a call, 1,000 remembered answers for its tool", remembered_rule)
}

fn row(table: &mut Table, name: &str, rule: fn(usize) -> Value) -> anyhow::Result<()> {
    let rules: Result<Vec<PolicyRule>, _> = (0..RULES).map(rule).map(serde_json::from_value).collect();
    let policy = Policy::new(rules?);
    let case = Case::new();
    // The very last rule speaks.
    let is_last = |rule: &str| rule.ends_with(&format!("-{}", RULES - 1));
    let decision = policy.decide(&case.call());
    ensure!(decision.verdict == Verdict::Allow && is_last(&decision.rule), "{decision:?}");
    let mut figures = Vec::new();
    for _ in 0..REPEATS {
        let began = now();
        for _ in 0..CALLS {
            std::hint::black_box(policy.decide(std::hint::black_box(&case.call())));
        }
        figures.push(micros(since(began) / CALLS));
    }
    table.row(Row {
        name,
        figure: least(&figures),
        bound: 50.0,
        unit: "us",
        is_rate: false,
        baseline: None,
        note: listed(&figures),
    });
    Ok(())
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000_000.0
}

/// A shell call as a gate puts it.
struct Case {
    tool: ToolName,
    agent: AgentName,
    accesses: Vec<ResourceAccess>,
    arguments: Value,
    commands: Vec<ShellCommand>,
    roots: Vec<PathBuf>,
}

impl Case {
    fn new() -> Case {
        let command = "cargo test --lib";
        Case {
            tool: "run_shell_command".into(),
            agent: "fixer".into(),
            accesses: vec![ResourceAccess::Execute { command: command.to_owned() }],
            arguments: json!({ "command": command, "description": "Runs the tests", "directory": "/w/shop" }),
            commands: vec![ShellCommand {
                words: command.split(' ').map(|word| CommandWord::Known(word.to_owned())).collect(),
                reach: CommandReach::Workspace,
            }],
            roots: vec!["/w/shop".into()],
        }
    }

    fn call(&self) -> PolicyCall<'_> {
        PolicyCall {
            tool: &self.tool,
            aliases: &["bash", "shell", "Bash", "ShellTool"],
            agent: &self.agent,
            callers: &[],
            kind: ToolKind::Execute,
            risk: Risk::Medium,
            accesses: &self.accesses,
            arguments: &self.arguments,
            commands: Some(&self.commands),
            unread: None,
            confinement: None,
            mode: ApprovalMode::Default,
            auto_approve: &[],
            session: None,
            roots: &self.roots,
        }
    }
}

/// The last one is about every call.
fn mixed_rule(at: usize) -> Value {
    let mut rule = json!({ "id": format!("rule-{at}"), "tier": "user", "tool": ["*"], "decision": "allow" });
    if at + 1 == RULES {
        rule["priority"] = json!(9);
        return rule;
    }
    let conditions = match at % 8 {
        0 => json!({ "tool": [format!("tool_{at}"), "write_file"] }),
        1 => json!({ "tool": [format!("mcp.server{at}.*")] }),
        2 => json!({ "tool": ["run_*"], "commandPrefix": [format!("make target{at}")] }),
        3 => {
            json!({ "tool": ["run_shell_command"], "argsPattern": format!("\"directory\":\"/w/{at}/[a-z]+\"") })
        }
        4 => json!({ "tool": ["bash"], "agent": format!("agent-{at}") }),
        5 => json!({ "workspace": format!("/srv/{at}"), "decision": "deny" }),
        6 => json!({ "kind": "edit", "risk": "low" }),
        _ => {
            json!({ "tool": ["*shell*"], "commandPrefix": ["git push", format!("rm {at}")], "decision": "deny" })
        }
    };
    for (key, value) in conditions.as_object().into_iter().flatten() {
        rule[key] = value.clone();
    }
    rule
}

/// Each expression has to look at the arguments.
fn rule_by_arguments(at: usize) -> Value {
    let pattern =
        if at + 1 == RULES { "cargo (test|check)".to_owned() } else { format!("\"path\":\"/w/{at}/") };
    json!({
        "id": format!("rule-{at}"), "tier": "user", "tool": ["run_shell_command"], "decision": "allow",
        "argsPattern": pattern,
    })
}

/// What many answers leave behind.
fn remembered_rule(at: usize) -> Value {
    let command = if at + 1 == RULES { "cargo test".to_owned() } else { format!("make target{at}") };
    json!({
        "id": format!("rule-{at}"), "tier": "user", "tool": ["run_shell_command"], "decision": "allow",
        "kind": "execute", "risk": "medium", "commandPrefix": [command], "fromConfirmation": format!("c{at}"),
        "accesses": [{ "access": "execute", "command": format!("{command} --all") }],
    })
}

//! Does a wrapper ever loosen a verdict, and is a list as strict as its strictest command? Under random rules.

use std::path::PathBuf;

use serde_json::json;
use subagentd::{
    policy::{Policy, PolicyCall},
    protocol::{AgentName, ApprovalMode, PolicyRule, ResourceAccess, Risk, ToolKind, ToolName, Verdict},
};

use super::{
    generator::{Dice, seed, simple, wrapped},
    scene::{WORKSPACE, judged},
};

const TRIALS: usize = 400;

const PREFIXES: &[&str] = &[
    "git",
    "git status",
    "git push",
    "rm",
    "rm x",
    "make",
    "ls",
    "cargo test",
    "bash",
    "env",
    "sudo",
    "echo",
    "xargs",
    "timeout",
    "tee",
    "kill",
    "cat",
    "npm",
];

/// Of prefixes and of nothing else: what a rule says of one risk it says of no other.
fn rules(dice: &mut Dice) -> Vec<PolicyRule> {
    let rule = |at: usize, dice: &mut Dice| {
        let mut rule = json!({
            "id": format!("r{at}"), "tier": dice.pick(&["user", "user", "system", "project"]), "tool": ["*"],
            "decision": dice.pick(&["allow", "allow", "allow", "ask", "deny"]), "priority": dice.below(3),
        });
        if dice.below(8) > 0 {
            rule["commandPrefix"] = json!([dice.pick(PREFIXES), dice.pick(PREFIXES)]);
        }
        serde_json::from_value(rule).unwrap()
    };
    (0..dice.below(8)).map(|at| rule(at, dice)).collect()
}

fn verdict(policy: &Policy, text: &str, mode: ApprovalMode, auto_approve: &[Risk]) -> Verdict {
    let reading = judged(text);
    let mut accesses = vec![ResourceAccess::Execute { command: text.to_owned() }];
    accesses.extend(reading.accesses);
    let decision = policy.decide(&PolicyCall {
        tool: &ToolName::from("run_shell_command"),
        aliases: &["bash"],
        agent: &AgentName::from("a"),
        callers: &[],
        kind: ToolKind::Execute,
        risk: reading.risk,
        accesses: &accesses,
        arguments: &json!({ "command": text }),
        commands: Some(&reading.commands),
        unread: reading.unknown.as_deref(),
        confinement: None,
        mode,
        auto_approve,
        session: None,
        roots: &[PathBuf::from(WORKSPACE)],
    });
    decision.verdict
}

#[test]
fn a_wrapper_never_loosens_a_verdict() {
    let seed = seed();
    let mut dice = Dice::new(seed);
    for _ in 0..TRIALS {
        let policy = Policy::new(rules(&mut dice));
        let mode = dice.pick(&[
            ApprovalMode::Default,
            ApprovalMode::AutoEdit,
            ApprovalMode::Yolo,
            ApprovalMode::Plan,
        ]);
        let auto_approve: &[Risk] =
            dice.pick(&[&[][..], &[Risk::Medium][..], &[Risk::Medium, Risk::High][..]]);
        let plain = simple(&mut dice);
        let once = wrapped(&mut dice, &plain);
        let twice = wrapped(&mut dice, &once);
        let of = |text: &str| verdict(&policy, text, mode, auto_approve);
        let verdicts = [of(&plain), of(&once), of(&twice)];
        let shown: Vec<&PolicyRule> = policy.rules().collect();
        assert!(
            verdicts.is_sorted(),
            "SUBAGENTD_SEED={seed}\n{verdicts:?}\n{plain}\n{once}\n{twice}\n{shown:#?}"
        );
    }
}

#[test]
fn a_list_is_as_strict_as_its_strictest_command() {
    let seed = seed();
    let mut dice = Dice::new(seed);
    for _ in 0..TRIALS {
        let policy = Policy::new(rules(&mut dice));
        let (one, other) = (simple(&mut dice), simple(&mut dice));
        let joiner = dice.pick(&[";", "\n", "\n&&", "\n||", "\n|", "\n&"]);
        // A comment ends with its line.
        let joined = match joiner {
            ";" | "\n" => format!("{{ {one}\n}}{joiner}{{ {other}\n}}"),
            _ => format!("{{ {one}\n}} {} {{ {other}\n}}", joiner.trim_start()),
        };
        let of = |text: &str| verdict(&policy, text, ApprovalMode::Default, &[]);
        let shown: Vec<&PolicyRule> = policy.rules().collect();
        assert_eq!(of(&joined), of(&one).max(of(&other)), "SUBAGENTD_SEED={seed}\n{joined}\n{shown:#?}");
        // Where more than the rules speaks, the risk of all of it counts for each.
        let yolo = |text: &str| verdict(&policy, text, ApprovalMode::Yolo, &[Risk::Medium]);
        assert!(yolo(&joined) >= yolo(&one).max(yolo(&other)), "SUBAGENTD_SEED={seed}\n{joined}\n{shown:#?}");
    }
}

//! Is any verdict looser than its strictest speaker? Random rules, modes, grants and calls, against the oracle.
//!
//! A failure prints its seed; `SUBAGENTD_SEED` sets it, `SUBAGENTD_TRIALS=full` tries many more.

use std::hash::{BuildHasher as _, RandomState};

use super::*;

/// An expression that does not compile.
pub(super) const BROKEN: &str = "(";

/// Sets of rules, in the suite and with `SUBAGENTD_TRIALS=full`; each judges [`CALLS`] calls.
const TRIALS: (u64, u64) = (4_000, 100_000);
const CALLS: usize = 8;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// Once in `n` one of them.
    fn maybe<T: Clone>(&mut self, n: usize, of: &[T]) -> Option<T> {
        self.once_in(n).then(|| self.pick(of))
    }

    fn some<T: Clone>(&mut self, most: usize, of: &[T]) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| self.pick(of)).collect()
    }
}

const RISKS: &[Risk] = &[Risk::Safe, Risk::Low, Risk::Low, Risk::Medium, Risk::High, Risk::Critical];
const KINDS: &[ToolKind] = &[ToolKind::Edit, ToolKind::Edit, ToolKind::Execute, ToolKind::Other];
const MODES: &[ApprovalMode] =
    &[ApprovalMode::Plan, ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo];
const TIERS: &[PolicyTier] =
    &[PolicyTier::System, PolicyTier::User, PolicyTier::User, PolicyTier::Project, PolicyTier::Builtin];
const TOOLS: &[&str] = &["edit", "shell", "mcp.s.t"];
const PATTERNS: &[&str] = &["*", "*", "edit", "shell", "e*", "mcp.s.*", "mcp.*", "bash", "b*"];
const PREFIXES: &[&str] = &["git", "git status", "rm"];
const COMMANDS: &[&str] = &["git status", "git push", "rm x", "gitx", "git ?x", "?x status", "git status ?x"];
const FOLDERS: &[&str] = &["/w", "/w/a", "/v"];

fn accesses() -> Vec<ResourceAccess> {
    vec![
        ResourceAccess::Write { path: "/w/a".into() },
        ResourceAccess::Write { path: "/w/b".into() },
        ResourceAccess::Read { path: "/v/a".into() },
        ResourceAccess::Execute { command: "git status".into() },
        ResourceAccess::Opaque { what: "s".into() },
        ResourceAccess::Nothing,
    ]
}

fn confinements() -> [CommandConfinement; 4] {
    let usual = CommandConfinement::default;
    [
        usual(),
        CommandConfinement { profile: SandboxProfile::ReadOnly, ..usual() },
        CommandConfinement { network: true, ..usual() },
        CommandConfinement::none(),
    ]
}

fn call(dice: &mut Dice) -> Sketch {
    let commands = dice.once_in(2).then(|| dice.some(3, COMMANDS).into_iter().map(command).collect());
    let tool = dice.pick(TOOLS);
    Sketch {
        tool: tool.into(),
        aliases: if tool == "shell" { vec!["bash"] } else { vec![] },
        agent: dice.pick(&["a", "b"]).into(),
        callers: vec![],
        kind: dice.pick(KINDS),
        risk: dice.pick(RISKS),
        accesses: dice.some(2, &accesses()),
        arguments: json!({ "path": dice.pick(&["one", "two"]) }),
        commands,
        unread: dice.maybe(4, &["it is odd"]),
        confinement: dice.maybe(2, &confinements()),
        mode: dice.pick(MODES),
        auto_approve: dice.some(1, RISKS),
        session: dice.maybe(2, &["s1", "s2"]).map(SessionId::from),
        roots: dice.some(2, FOLDERS).into_iter().map(PathBuf::from).collect(),
    }
}

/// A call that differs from another one in little.
fn sibling(dice: &mut Dice, of: Sketch) -> Sketch {
    let other = call(dice);
    match dice.below(11) {
        0 => Sketch { tool: other.tool, aliases: other.aliases, ..of },
        1 => Sketch { agent: other.agent, ..of },
        2 => Sketch { kind: other.kind, ..of },
        3 => Sketch { risk: other.risk, ..of },
        4 => Sketch { accesses: other.accesses, ..of },
        5 => Sketch { arguments: other.arguments, ..of },
        6 => Sketch { commands: other.commands, unread: other.unread, ..of },
        7 => Sketch { confinement: other.confinement, ..of },
        8 => Sketch { mode: other.mode, auto_approve: other.auto_approve, ..of },
        9 => Sketch { session: other.session, ..of },
        _ => Sketch { roots: other.roots, ..of },
    }
}

/// Few conditions, so that several rules speak about a call.
fn rule(dice: &mut Dice, at: usize) -> PolicyRule {
    let mut rule = file_rule(dice, format!("r{at}"));
    if dice.once_in(4) {
        rule.decision = Verdict::Allow;
        rule.tier = dice.pick(&[PolicyTier::User, PolicyTier::User, PolicyTier::System]);
        rule.tool = vec![dice.pick(TOOLS).to_owned()];
        rule.from_confirmation = Some("c".into());
        rule.accesses = dice.some(4, &accesses());
        rule.confinement = dice.maybe(2, &confinements());
        // An answer writes whole kinds of commands.
        if !rule.command_prefix.is_empty() {
            rule.command_prefix = vec!["git status".to_owned()];
        }
    } else if dice.once_in(10) {
        rule.mistaken = true;
        rule.decision = dice.pick(&[Verdict::Ask, Verdict::Deny]);
    }
    rule
}

fn file_rule(dice: &mut Dice, id: String) -> PolicyRule {
    PolicyRule {
        id,
        tier: dice.pick(TIERS),
        tool: vec![dice.pick(PATTERNS).to_owned()],
        agent: dice.maybe(8, &["a".to_owned()]),
        command_prefix: if dice.once_in(3) {
            (0..=dice.below(2)).map(|_| dice.pick(PREFIXES).to_owned()).collect()
        } else {
            vec![]
        },
        args_pattern: dice.maybe(10, &["\"path\":\"one".to_owned(), BROKEN.to_owned()]),
        kind: dice.maybe(8, KINDS),
        risk: dice.maybe(4, &[Risk::Critical, Risk::Critical, Risk::Low, Risk::Medium]),
        modes: if dice.once_in(8) { dice.some(2, MODES) } else { vec![] },
        workspace: dice.maybe(8, FOLDERS).map(str::to_owned),
        session: dice.maybe(8, &["s1"]).map(SessionId::from),
        accesses: vec![],
        recursive: false,
        confinement: None,
        decision: dice.pick(&[Verdict::Allow, Verdict::Allow, Verdict::Ask, Verdict::Deny]),
        priority: dice.pick(&[-1, 0, 0, 1]),
        message: None,
        created_by: None,
        created_at: None,
        from_confirmation: None,
        mistaken: false,
    }
}

fn shown(rules: &[PolicyRule]) -> String {
    rules.iter().map(|rule| serde_json::to_string(rule).unwrap() + "\n").collect()
}

fn trials(of: impl Fn(&mut Dice, &str)) {
    let is_full = std::env::var("SUBAGENTD_TRIALS").is_ok_and(|trials| trials == "full");
    let given = std::env::var("SUBAGENTD_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let mut seeds = Dice(given.unwrap_or_else(|| RandomState::new().hash_one("seed")));
    let trials = if is_full { TRIALS.1 } else { TRIALS.0 };
    for _ in 0..if given.is_some() { 1 } else { trials } {
        let seed = given.unwrap_or_else(|| seeds.roll());
        of(&mut Dice(seed), &format!("SUBAGENTD_SEED={seed}"));
    }
}

#[test]
fn nothing_is_looser_than_its_strictest_speaker() {
    trials(|dice, seed| {
        let most = dice.pick(&[2, 4, 8, 16]);
        let mut rules: Vec<PolicyRule> = (0..dice.below(most)).map(|at| rule(dice, at)).collect();
        if dice.once_in(4) {
            // A crowd in one tier, so that priorities and grants meet.
            let tier = dice.pick(TIERS);
            for rule in &mut rules {
                let tool = TOOLS.iter().chain(&["*"]).map(|tool| (*tool).to_owned()).collect();
                *rule = PolicyRule { tier, tool, accesses: vec![], ..rule.clone() };
            }
        }
        let policy = Policy::new(rules.clone());
        let mut sketch = call(dice);
        for _ in 0..CALLS {
            // What is known of calls of one kind must not be taken for what is true of another's.
            sketch = if dice.once_in(2) { call(dice) } else { sibling(dice, sketch) };
            let (decision, expected) =
                (policy.decide(&sketch.call()), oracle::verdict(&rules, &sketch.call()));
            assert_eq!(decision.verdict, expected, "{seed}\n{decision:?}\n{sketch:?}\n{}", shown(&rules));
            let speaks = |rule: &&PolicyRule| rule.id == decision.rule;
            let is_named = decision.is_default
                || ["mode:plan", "builtin:no-accesses", "builtin:unread-command"]
                    .contains(&decision.rule.as_str())
                || rules.iter().find(speaks).is_some_and(|rule| rule.decision >= decision.verdict);
            assert!(is_named, "{seed}: nobody said so: {decision:?}\n{sketch:?}\n{}", shown(&rules));
        }
    });
}

/// What a person's answer would write changes this call's verdict from ask to allow, and loosens nothing that is not
/// the same tool touching the same.
#[test]
fn no_answer_opens_more_than_was_asked() {
    trials(|dice, seed| {
        let rules: Vec<PolicyRule> = (0..dice.below(4)).map(|at| rule(dice, at)).collect();
        let policy = Policy::new(rules);
        let asked = call(dice);
        let confirmation = "c".into();
        let scope = dice.pick(&[RememberScope::Session, RememberScope::Project, RememberScope::User]);
        let answer = RememberedAnswer {
            id: "new",
            scope,
            created_by: None,
            created_at: None,
            confirmation: &confirmation,
        };
        let offered = policy.remember(&asked.call(), &answer);
        if offered.is_empty() {
            return;
        }
        let new = dice.pick(&offered);
        let next = policy.with(new.clone());
        assert_eq!(policy.decide(&asked.call()).verdict, Verdict::Ask, "{seed}");
        assert_eq!(next.decide(&asked.call()).verdict, Verdict::Allow, "{seed}");
        for _ in 0..CALLS {
            let other = call(dice);
            let is_opened = next.decide(&other.call()).verdict < policy.decide(&other.call()).verdict;
            let touches_the_same = other.accesses.iter().all(|access| {
                let is_command =
                    matches!(access, ResourceAccess::Execute { .. }) && !new.command_prefix.is_empty();
                is_command || asked.accesses.contains(access)
            });
            let is_the_same = other.tool == asked.tool && other.risk <= asked.risk && touches_the_same;
            assert!(!is_opened || is_the_same, "{seed}\n{new:?}\n{asked:?}\n{other:?}");
        }
    });
}

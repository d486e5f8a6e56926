//! No set of answers is looser than policy alone, whatever hooks print and however they end.

use std::{path::Path, sync::Arc};

use serde_json::json;

use super::*;
use crate::{
    answer::{HandlerEnd, read},
    combining::{HeardHook, VerdictBuilder},
};
use protocol::{HookDecision, HookOutcome, Verdict};

/// Sets of answers that are tried.
const TRIALS: usize = 20_000;

/// Numbers that are the same in each run of the test.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap()
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        let at = self.roll(of.len());
        of[at].clone()
    }
}

/// What hooks print: consent in every spelling, nonsense, refusals.
const PRINTED: &[&str] = &[
    "",
    "ok",
    "{}",
    r#"{"decision":"approve"}"#,
    r#"{"decision":"allow"}"#,
    r#"{"decision":"block","reason":"no"}"#,
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#,
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}"#,
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#,
    r#"{"hookSpecificOutput":{"permissionDecision":"defer"}}"#,
    r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"true"}}}"#,
    r#"{"continue":true,"decision":"approve"}"#,
    r#"{"continue":false}"#,
    r#"{"decision":7}"#,
    r#"{"decision":"block""#,
    "noise\n{\"decision\":\"block\"}",
    r#"{"proceed":true}"#,
    r#"{"ok":true}"#,
    "\u{0}\u{1}",
];

/// What policy's verdict becomes, as a run applies it: hooks first, then policy, the stricter counts.
fn together(hooks: Option<HookDecision>, policy: Verdict) -> Verdict {
    let of_hooks = match hooks {
        None | Some(HookDecision::Allow) => Verdict::Allow,
        Some(HookDecision::Ask) => Verdict::Ask,
        Some(HookDecision::Deny) => Verdict::Deny,
    };
    of_hooks.max(policy)
}

#[test]
fn no_random_set_of_answers_is_looser_than_policy() {
    let bench = Bench::new();
    bench.user(&json!({ "PreToolUse": [{ "hooks": [{ "type": "command", "command": "true" }] }] }));
    let read_hooks = bench.read(&TrustRecords::default());
    let pattern = Hook::clone(&read_hooks.set.hooks()[0]);
    let firing = firing(bash("rm x"));
    let mut dice = Dice(42);
    let failures =
        [None, None, Some(HookOutcome::TimedOut), Some(HookOutcome::NotStarted), Some(HookOutcome::Invalid)];
    let origins = [HookOrigin::System, HookOrigin::User, HookOrigin::Project { root: bench.root() }];
    let policies = [
        HookFailurePolicy::Block,
        HookFailurePolicy::Block,
        HookFailurePolicy::Continue,
        HookFailurePolicy::Ask,
    ];
    for trial in 0..TRIALS {
        let mut builder = VerdictBuilder::new(&firing, Path::new("/w"));
        let (mut least, mut printed_all) = (None, Vec::new());
        for at in 0..dice.roll(5) {
            let (printed, code, failure) =
                (dice.pick(PRINTED), dice.pick(&[0, 0, 0, 1, 2, 127]), dice.pick(&failures));
            let on_failure = dice.pick(&policies);
            let hook = Hook {
                id: HookId(format!("h{at}").into()),
                origin: dice.pick(&origins),
                contract: dice.pick(&[HookContract::Claude, HookContract::Codex, HookContract::Gemini]),
                on_failure,
                ..pattern.clone()
            };
            let end = HandlerEnd {
                exit_code: Some(code),
                stdout: printed.to_owned(),
                failure: failure.map(|how| (how, "failed".to_owned())),
                ..HandlerEnd::default()
            };
            let answer = read(&end, firing.facts.event(), hook.contract, false);
            // By the plain words of the specification, without the code that is tried.
            let is_failure = failure.is_some() || !matches!(code, 0 | 2);
            let must = match (code, is_failure, on_failure) {
                (2, false, _) => Some(HookDecision::Deny),
                (_, true, HookFailurePolicy::Block) => Some(HookDecision::Deny),
                (_, true, HookFailurePolicy::Ask) => Some(HookDecision::Ask),
                _ => None,
            };
            let says_deny =
                printed.contains(r#""deny""#) || printed == r#"{"decision":"block","reason":"no"}"#;
            let must = must.max(says_deny.then_some(HookDecision::Deny));
            least = least.max(must);
            printed_all.push((printed, code, failure, on_failure));
            builder.take(HeardHook { hook: Arc::new(hook), answer, page: None });
        }
        let verdict = builder.finish();
        assert!(least <= verdict.decision, "trial {trial}: {printed_all:?} came to {:?}", verdict.decision);
        for policy in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            assert!(policy <= together(verdict.decision, policy), "trial {trial}");
        }
    }
}

//! What holds where no rule speaks.

use expect_test::{Expect, expect};

use super::*;

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

const EVERY_MODE: [ApprovalMode; 4] =
    [ApprovalMode::Plan, ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo];

fn every_access() -> Vec<ResourceAccess> {
    vec![
        ResourceAccess::Nothing,
        ResourceAccess::Read { path: "/w/a".into() },
        ResourceAccess::Write { path: "/w/a".into() },
        ResourceAccess::Execute { command: "ls".into() },
        ResourceAccess::Fetch { url: "https://example.org".into() },
        ResourceAccess::Opaque { what: "server".into() },
    ]
}

fn decide(sketch: &Sketch) -> PolicyDecision {
    Policy::builtin().decide(&sketch.call())
}

#[test]
fn the_table_by_risk() {
    let check = |risk, accesses: &[ResourceAccess], expected: Expect| {
        expected.assert_eq(&told(&decide(&Sketch { risk, accesses: accesses.into(), ..edit("/w/a") })));
    };
    let nothing = [ResourceAccess::Nothing];
    check(
        Risk::Safe,
        &nothing,
        expect!["Allow · builtin:risk=safe · `write_file`: safe calls may run · default · Builtin"],
    );
    check(
        Risk::Safe,
        &[],
        expect![
            "Ask · builtin:no-accesses · `write_file`: it does not say what it would touch · rule · Builtin"
        ],
    );
    check(
        Risk::Low,
        &nothing,
        expect![
            "Ask · builtin:risk=low · `write_file`: calls of low risk need a person's consent · default · Builtin"
        ],
    );
    check(
        Risk::Medium,
        &nothing,
        expect![
            "Ask · builtin:risk=medium · `write_file`: calls of medium risk need a person's consent · default · Builtin"
        ],
    );
    check(
        Risk::Medium,
        &[],
        expect![
            "Ask · builtin:no-accesses · `write_file`: it does not say what it would touch · rule · Builtin"
        ],
    );
    check(
        Risk::High,
        &nothing,
        expect![
            "Ask · builtin:risk=high · `write_file`: calls of high risk need a person's consent · default · Builtin"
        ],
    );
    check(
        Risk::Critical,
        &nothing,
        expect![
            "Deny · builtin:risk=critical · `write_file`: critical calls need a rule that names them · default · Builtin"
        ],
    );
    check(
        Risk::Critical,
        &[],
        expect![
            "Deny · builtin:risk=critical · `write_file`: critical calls need a rule that names them · default · Builtin"
        ],
    );
}

#[test]
fn modes_and_auto_approve_lift_defaults_alone() {
    let check = |mode, auto_approve: &[Risk], sketch: Sketch, expected: Expect| {
        let sketch = Sketch { mode, auto_approve: auto_approve.into(), ..sketch };
        expected.assert_eq(&told(&decide(&sketch)));
    };
    let critical = || Sketch { risk: Risk::Critical, ..shell("halt") };
    check(
        ApprovalMode::Yolo,
        &[],
        shell("make"),
        expect![
            "Allow · mode:yolo · `run_shell_command`: in this mode everything but critical calls runs · default · Builtin"
        ],
    );
    check(
        ApprovalMode::Yolo,
        &[Risk::Critical],
        critical(),
        expect![
            "Deny · builtin:risk=critical · `run_shell_command`: critical calls need a rule that names them · default · Builtin"
        ],
    );
    check(
        ApprovalMode::Yolo,
        &[],
        Sketch { accesses: vec![], ..shell("make") },
        expect![
            "Ask · builtin:no-accesses · `run_shell_command`: it does not say what it would touch · rule · Builtin"
        ],
    );
    check(
        ApprovalMode::AutoEdit,
        &[],
        edit("/w/a"),
        expect![
            "Allow · mode:autoEdit · `write_file`: in this mode edits of low risk inside the workspace run · default · Builtin"
        ],
    );
    check(
        ApprovalMode::AutoEdit,
        &[],
        shell("make"),
        expect![
            "Ask · builtin:risk=medium · `run_shell_command`: calls of medium risk need a person's consent · default · Builtin"
        ],
    );
    check(
        ApprovalMode::AutoEdit,
        &[Risk::Medium],
        shell("make"),
        expect![
            "Allow · autoApprove:medium · `run_shell_command`: calls of medium risk were approved when the run was started · default · Builtin"
        ],
    );
    check(
        ApprovalMode::Default,
        &[Risk::Low],
        edit("/elsewhere"),
        expect![
            "Allow · autoApprove:low · `write_file`: calls of low risk were approved when the run was started · default · Builtin"
        ],
    );
    check(
        ApprovalMode::Default,
        &[Risk::High],
        edit("/w/a"),
        expect![
            "Ask · builtin:risk=low · `write_file`: calls of low risk need a person's consent · default · Builtin"
        ],
    );
    check(
        ApprovalMode::Plan,
        &[Risk::Low],
        edit("/w/a"),
        expect!["Deny · mode:plan · `write_file`: while planning only safe calls run · rule · Builtin"],
    );
    check(
        ApprovalMode::Plan,
        &[],
        Sketch { risk: Risk::Safe, ..edit("/w/a") },
        expect!["Allow · builtin:risk=safe · `write_file`: safe calls may run · default · Builtin"],
    );
}

#[test]
fn auto_edit_is_for_small_edits_inside_the_workspace() {
    let write = |path: &str| ResourceAccess::Write { path: path.into() };
    let read = |path: &str| ResourceAccess::Read { path: path.into() };
    let runs =
        |sketch: Sketch| decide(&Sketch { mode: ApprovalMode::AutoEdit, ..sketch }).verdict == Verdict::Allow;
    let touching = |accesses: Vec<ResourceAccess>| Sketch { accesses, ..edit("/w/a") };
    assert!(runs(edit("/w/a")));
    assert!(runs(touching(vec![read("/w/deep/b"), write("/w")])));
    assert!(runs(Sketch { roots: vec!["/other".into(), "/w".into()], ..edit("/w/a") }));
    let asks = [
        edit("/wide/a"),
        edit("/w/../etc/passwd"),
        edit("w/a"),
        touching(vec![write("/w/a"), write("/etc/passwd")]),
        touching(vec![write("/w/a"), read("/etc/passwd")]),
        touching(vec![write("/w/a"), ResourceAccess::Execute { command: "make".into() }]),
        touching(vec![write("/w/a"), ResourceAccess::Opaque { what: "server".into() }]),
        touching(vec![ResourceAccess::Nothing]),
        touching(vec![]),
        Sketch { risk: Risk::Medium, ..edit("/w/a") },
        Sketch { risk: Risk::High, ..edit("/w/a") },
        Sketch { kind: ToolKind::Delete, ..edit("/w/a") },
        Sketch { kind: ToolKind::Move, ..edit("/w/a") },
        Sketch { kind: ToolKind::Execute, ..edit("/w/a") },
        Sketch { roots: vec![], ..edit("/w/a") },
        Sketch { roots: vec!["".into()], ..edit("/w/a") },
        Sketch { roots: vec!["/w/../w".into()], ..edit("/w/../w/a") },
    ];
    for sketch in asks {
        assert!(!runs(sketch.clone()), "{sketch:?}");
    }
}

#[test]
fn one_more_access_never_loosens() {
    for mode in EVERY_MODE {
        for kind in EVERY_KIND {
            for risk in EVERY_RISK {
                let verdict = |accesses: &[ResourceAccess]| {
                    decide(&Sketch { mode, kind, risk, accesses: accesses.into(), ..edit("/w/a") }).verdict
                };
                for first in every_access() {
                    let before = verdict(std::slice::from_ref(&first));
                    for second in every_access() {
                        let after = verdict(&[first.clone(), second.clone()]);
                        assert!(
                            after >= before,
                            "{mode:?} {kind:?} {risk:?}: {second:?} beside {first:?} loosens"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn more_risk_never_loosens() {
    for mode in EVERY_MODE {
        for accesses in [vec![], every_access(), vec![ResourceAccess::Write { path: "/w/a".into() }]] {
            for pair in EVERY_RISK.windows(2) {
                let verdict =
                    |risk| decide(&Sketch { mode, risk, accesses: accesses.clone(), ..edit("/w/a") }).verdict;
                assert!(verdict(pair[1]) >= verdict(pair[0]), "{mode:?} {pair:?}");
            }
        }
    }
}

#[test]
fn opinions_combine_to_the_strictest_whatever_their_order() {
    let opinion = |verdict, rule: &str, is_default| PolicyDecision {
        verdict,
        rule: rule.into(),
        reason: String::new(),
        is_default,
        tier: PolicyTier::Builtin,
    };
    for first in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
        for second in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            for is_default in [false, true] {
                let joined = opinion(first, "first", is_default).stricter(opinion(second, "second", false));
                assert_eq!(joined.verdict, first.max(second));
                let is_second_named = second > first || (second == first && is_default);
                assert_eq!(joined.rule, if is_second_named { "second" } else { "first" });
            }
        }
    }
}

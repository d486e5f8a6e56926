//! What holds where no rule speaks, and what do the session's mode and `autoApprove` make of it?

use std::path::PathBuf;

use super::{PolicyCall, PolicyDecision, rule::is_plain};
use protocol::{ApprovalMode, PolicyTier, ResourceAccess, Risk, ToolKind, Verdict};

/// The default of spec 06: safe calls run, critical ones do not, all others need a person.
pub(super) fn by_risk(call: &PolicyCall<'_>) -> PolicyDecision {
    let risk = word(call.risk);
    let (verdict, reason) = match call.risk {
        Risk::Safe => (Verdict::Allow, "safe calls may run".to_owned()),
        Risk::Critical => (Verdict::Deny, "critical calls need a rule that names them".to_owned()),
        Risk::Low | Risk::Medium | Risk::High => {
            (Verdict::Ask, format!("calls of {risk} risk need a person's consent"))
        }
    };
    default(call, verdict, format!("builtin:risk={risk}"), &reason)
}

/// The names of what `autoApprove` made of an ask begin so.
pub const AUTO_APPROVE: &str = "autoApprove:";

/// The default, or the permission that the mode, then `autoApprove`, made of its ask. What is critical does not ask, so it
/// is not lifted; and no rule's ask comes here.
pub(super) fn lifted(call: &PolicyCall<'_>) -> PolicyDecision {
    let by_risk = by_risk(call);
    if by_risk.verdict != Verdict::Ask {
        return by_risk;
    }
    let risk = word(call.risk);
    match call.mode {
        ApprovalMode::Yolo => default(
            call,
            Verdict::Allow,
            "mode:yolo".to_owned(),
            "in this mode everything but critical calls runs",
        ),
        ApprovalMode::AutoEdit if is_small_edit_inside(call) => {
            let reason = "in this mode edits of low risk inside the workspace run";
            default(call, Verdict::Allow, "mode:autoEdit".to_owned(), reason)
        }
        _ if call.auto_approve.contains(&call.risk) => {
            let reason = format!("calls of {risk} risk were approved when the run was started");
            default(call, Verdict::Allow, format!("{AUTO_APPROVE}{risk}"), &reason)
        }
        ApprovalMode::Plan | ApprovalMode::Default | ApprovalMode::AutoEdit => by_risk,
    }
}

/// A call that says nothing about what it touches cannot be trusted to touch nothing: a tool that only computes says so
/// with [`ResourceAccess::Nothing`]. A rule, so no mode lifts it.
pub(super) fn no_accesses(call: &PolicyCall<'_>) -> Option<PolicyDecision> {
    call.accesses.is_empty().then(|| PolicyDecision {
        is_default: false,
        ..default(call, Verdict::Ask, "builtin:no-accesses".to_owned(), "it does not say what it would touch")
    })
}

/// A shell call that nobody can tell the commands of (spec 06, "what can't be parsed asks"). A rule, so no mode lifts it.
pub(super) fn unread(call: &PolicyCall<'_>) -> Option<PolicyDecision> {
    let why = call.unread?;
    let reason = format!("nobody can tell what it would run: {why}");
    let decision = default(call, Verdict::Ask, "builtin:unread-command".to_owned(), &reason);
    Some(PolicyDecision { is_default: false, ..decision })
}

/// In mode `plan` what is not safe is refused, whatever rules allow.
pub(super) fn plan_refusal(call: &PolicyCall<'_>) -> Option<PolicyDecision> {
    let is_refused = call.mode == ApprovalMode::Plan && call.risk != Risk::Safe;
    is_refused.then(|| PolicyDecision {
        is_default: false,
        ..default(call, Verdict::Deny, "mode:plan".to_owned(), "while planning only safe calls run")
    })
}

/// Nothing but files below the workspace's roots. Symlinks were resolved when the call was prepared.
fn is_small_edit_inside(call: &PolicyCall<'_>) -> bool {
    let is_inside = |path: &PathBuf| {
        is_plain(path) && call.roots.iter().any(|root| is_plain(root) && path.starts_with(root))
    };
    let is_file_inside = |access: &ResourceAccess| match access {
        ResourceAccess::Read { path } | ResourceAccess::Write { path } => is_inside(path),
        ResourceAccess::Execute { .. }
        | ResourceAccess::Fetch { .. }
        | ResourceAccess::Opaque { .. }
        | ResourceAccess::Nothing => false,
    };
    call.kind == ToolKind::Edit
        && call.risk == Risk::Low
        && !call.accesses.is_empty()
        && call.accesses.iter().all(is_file_inside)
}

fn default(call: &PolicyCall<'_>, verdict: Verdict, rule: String, reason: &str) -> PolicyDecision {
    let reason = format!("`{}`: {reason}", call.tool);
    PolicyDecision { verdict, rule, reason, is_default: true, tier: PolicyTier::Builtin }
}

/// As it stands in files and on the wire.
pub(super) fn word(risk: Risk) -> &'static str {
    match risk {
        Risk::Safe => "safe",
        Risk::Low => "low",
        Risk::Medium => "medium",
        Risk::High => "high",
        Risk::Critical => "critical",
    }
}

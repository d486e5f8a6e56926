//! Why did hooks decide so? In one sentence, for models and people.

use hooks::HookVerdict;

/// Says who decided, and why. What no single hook decided says that itself.
pub(crate) fn said(verdict: &HookVerdict, what: &str) -> String {
    let hook = verdict.decided_by.as_ref().map(|hook| format!("the hook {hook}"));
    let reason = verdict.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if let (None, Some(reason)) = (&hook, reason) {
        return reason.to_owned();
    }
    let hook = hook.unwrap_or_else(|| "a hook".to_owned());
    match reason {
        Some(reason) => match reason.strip_prefix(&hook).and_then(|rest| rest.strip_prefix(' ')) {
            // It names itself: why it failed, say.
            Some(rest) => format!("{hook} {what}: it {rest}"),
            None => format!("{hook} {what}: {reason}"),
        },
        None => format!("{hook} {what} and did not say why; do not repeat it unasked"),
    }
}

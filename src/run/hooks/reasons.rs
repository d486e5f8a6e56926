//! Why did hooks decide so? In one sentence, for models and people.

use hooks::HookVerdict;

/// Says who decided, and why. What no single hook decided says that itself, and so does a file of hooks that cannot be read.
pub(crate) fn said(verdict: &HookVerdict, what: &str) -> String {
    let hook = verdict.decided_by.as_ref().map(|hook| format!("the hook {hook}"));
    let reason = verdict.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    if let (None, Some(reason)) = (hook.as_ref().filter(|_| !verdict.is_of_unreadable_file), reason) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_named_and_no_hook() {
        let verdict = |is_of_unreadable_file| {
            let mut verdict = HookVerdict::default();
            verdict.decided_by = Some("user#UserPromptSubmit".into());
            verdict.reason = Some("/c/settings.json:1:1: is not JSON".to_owned());
            verdict.is_of_unreadable_file = is_of_unreadable_file;
            verdict
        };
        assert_eq!(said(&verdict(true), "says"), "/c/settings.json:1:1: is not JSON");
        assert_eq!(
            said(&verdict(false), "says"),
            "the hook user#UserPromptSubmit says: /c/settings.json:1:1: is not JSON"
        );
    }
}

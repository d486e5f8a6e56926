//! How is a hook asked about a call that reads several pages, where its contract knows one address a call? Once for each.

use std::sync::Arc;

use crate::{Hook, HookContract, HookFacts, HookFiring, tool_names::pages_of};

/// Everything that a hook is asked about an event: what happened, or each page of a call that reads several. A guard by `url` so sees
/// every address.
pub(super) fn page_by_page(hook: &Hook, firing: &Arc<HookFiring>) -> Vec<Arc<HookFiring>> {
    let is_before =
        matches!(firing.facts, HookFacts::PreToolUse { .. } | HookFacts::PermissionRequest { .. });
    let call = firing.facts.call().filter(|_| is_before && hook.contract != HookContract::Gemini);
    let pages = call.map(pages_of).unwrap_or_default();
    if pages.len() < 2 {
        return vec![Arc::clone(firing)];
    }
    let is_meant = |page: &&String| hook.condition.as_ref().is_none_or(|it| it.may_mean_page(page));
    let mut meant: Vec<String> = pages.iter().filter(is_meant).cloned().collect();
    if meant.is_empty() {
        // Its `if` means the call, and it cannot be told by which page.
        meant = pages;
    }
    let about =
        |page| HookFiring { facts: firing.facts.clone().about_page(page), ..HookFiring::clone(firing) };
    meant.into_iter().map(|page| Arc::new(about(page))).collect()
}

//! Which guards stand for those that nobody can read? They fail whatever they are asked.

use std::{path::Path, time::Duration};

use super::{
    Hook, HookFailurePolicy, HookHandler, HookId, HookMatcher, HookOrigin, HookState, ReadingPlace,
    WorkspaceReach, digest, event,
};
use protocol::{FileProblem, HookEventName};

/// Everything that an unreadable file may have guarded.
const GUARDS: &[HookEventName] = &[
    HookEventName::UserPromptSubmit,
    HookEventName::UserPromptExpansion,
    HookEventName::PreToolUse,
    HookEventName::PermissionRequest,
    HookEventName::BeforeHandoff,
    HookEventName::Elicitation,
    HookEventName::ElicitationResult,
];

/// A guard of these events that fails, for this reason.
pub(super) fn failing_guard(
    place: &ReadingPlace<'_>,
    events: &'static [HookEventName],
    matcher: HookMatcher,
    mistake: String,
) -> Hook {
    let event = events.first().copied().unwrap_or(HookEventName::PreToolUse);
    // Whoever disables it in one project has looked at that one alone.
    let of = match &place.origin {
        HookOrigin::Project { root } => format!("@{}", &digest(root.as_bytes())["sha256:".len()..][..8]),
        _ => String::new(),
    };
    let id = format!("{}{of}#{}", place.label, event.as_str());
    Hook {
        id: HookId(id.into()),
        event_name: event.as_str().to_owned(),
        events,
        contract: place.contract,
        matcher,
        condition: None,
        handler: HookHandler::Unreadable { mistake },
        on_failure: event::usual_failure(event),
        timeout: Duration::ZERO,
        is_async: false,
        async_rewake: false,
        sequence: None,
        origin: place.origin.clone(),
        file: place.file.to_owned(),
        line: 0,
        programs: Vec::new(),
        reach: WorkspaceReach::Nothing,
        state: HookState::Broken,
    }
}

pub(super) fn changed_reason(file: &Path, what: &str) -> String {
    format!("{} {what}; look with `subagent trust`", file.display())
}

/// A guard of all that a file may guard in which nobody can tell which hooks there are.
pub(super) fn guard_of_unreadable(place: &ReadingPlace<'_>, problem: &FileProblem) -> Hook {
    let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
    let mistake = format!("{}{line}: {}", place.file.display(), problem.message);
    let hook = failing_guard(place, GUARDS, HookMatcher::everything(), mistake);
    Hook { line: problem.line.unwrap_or(0), ..hook }
}

/// True of a hook whose word counts, and that may keep something from happening.
pub(super) fn guards_now(hook: &Hook) -> bool {
    let is_guard =
        hook.on_failure != HookFailurePolicy::Continue || hook.events.iter().any(|it| event::is_guard(*it));
    is_guard && !matches!(hook.state, HookState::Off | HookState::Untrusted | HookState::NeverFires)
}

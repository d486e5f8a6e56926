//! Which guards stand for those that nobody can read? They fail whatever they are asked.

use std::{collections::BTreeSet, path::Path, time::Duration};

use super::{
    Hook, HookFailurePolicy, HookHandler, HookId, HookMatcher, HookOrigin, HookState, ReadingPlace,
    WorkspaceReach, digest, event,
};
use protocol::{FileProblem, HookEventName};

/// Everything that an unreadable file may have guarded. The last two end a run that is at work.
const GUARDS: &[HookEventName] = &[
    HookEventName::UserPromptSubmit,
    HookEventName::UserPromptExpansion,
    HookEventName::PreToolUse,
    HookEventName::PermissionRequest,
    HookEventName::BeforeHandoff,
    HookEventName::Elicitation,
    HookEventName::ElicitationResult,
    HookEventName::BeforeAgent,
    HookEventName::BeforeModel,
    HookEventName::AfterModel,
];

/// The events that fail. Where it is known that a file kept no model from anything, a slip while somebody writes it ends no run.
fn failing_events(known: Option<&BTreeSet<HookEventName>>) -> &'static [HookEventName] {
    let (_, without_after_model) = GUARDS.split_last().unwrap_or((&HookEventName::AfterModel, GUARDS));
    let (_, without_models) =
        without_after_model.split_last().unwrap_or((&HookEventName::BeforeModel, GUARDS));
    match known {
        Some(known) if known.contains(&HookEventName::AfterModel) => GUARDS,
        Some(known) if known.contains(&HookEventName::BeforeModel) => without_after_model,
        Some(_) => without_models,
        None => GUARDS,
    }
}

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

/// A guard of all that a file may guard in which nobody can tell which hooks there are. `known`: what it guarded when it could be read last.
pub(super) fn guard_of_unreadable(
    place: &ReadingPlace<'_>,
    problem: &FileProblem,
    known: Option<&BTreeSet<HookEventName>>,
) -> Hook {
    let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
    let mistake = format!("{}{line}: {}", place.file.display(), problem.message);
    let hook = failing_guard(place, failing_events(known), HookMatcher::everything(), mistake);
    Hook { line: problem.line.unwrap_or(0), ..hook }
}

/// True of a hook whose word counts, and that may keep something from happening.
pub(super) fn guards_now(hook: &Hook) -> bool {
    let is_guard =
        hook.on_failure != HookFailurePolicy::Continue || hook.events.iter().any(|it| event::is_guard(*it));
    is_guard && !matches!(hook.state, HookState::Off | HookState::Untrusted | HookState::NeverFires)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_that_guards_may_have_been_guarded() {
        let stands_in: BTreeSet<HookEventName> = GUARDS.iter().copied().collect();
        let guards = HookEventName::ALL.iter().copied().filter(|it| event::is_guard(*it));
        assert_eq!(stands_in, guards.collect());
        let models = [HookEventName::BeforeModel, HookEventName::AfterModel];
        let failing = |known: &[HookEventName]| {
            let known = known.iter().copied().collect();
            models.map(|event| failing_events(Some(&known)).contains(&event))
        };
        assert_eq!(failing(&[]), [false, false]);
        assert_eq!(failing(&models[..1]), [true, false]);
        assert_eq!(failing(&models[1..]), [true, true]);
        assert!(models.iter().all(|event| failing_events(None).contains(event)));
    }
}

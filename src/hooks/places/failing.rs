//! Which guards stand for those that nobody can read? They fail whatever they are asked.

use std::{collections::BTreeSet, path::Path, time::Duration};

use super::{
    Hook, HookCondition, HookFailurePolicy, HookHandler, HookId, HookMatcher, HookOrigin, HookState,
    ReadingPlace, WorkspaceReach, digest, event,
};
use config::UNREADABLE_FILE_EFFECT;
use protocol::{FileProblem, HookEventName};
use trust::guard_mark;

/// Everything that an unreadable file may have guarded, or kept from models. What stands behind [`N_GUARDS`] ends a run that is at work, or
/// takes something from it.
const WITHHELD: &[HookEventName] = &[
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
    HookEventName::PostToolUse,
    HookEventName::PostToolUseFailure,
];

/// The first of them, which fail whatever the file guarded before.
const N_GUARDS: usize = 8;

/// The events at which a hook takes something out of a result, or withholds it.
const RESULTS: &[HookEventName] = &[HookEventName::PostToolUse, HookEventName::PostToolUseFailure];

/// Everything that a file of the person's own guarded when it could be read last.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct GuardedByFile {
    events: BTreeSet<HookEventName>,
    /// The results that its hooks were shown before a model read them.
    results: Vec<ShownResults>,
}

/// Results that one hook was shown.
#[derive(Debug, Clone)]
struct ShownResults {
    events: &'static [HookEventName],
    matcher: HookMatcher,
    condition: Option<HookCondition>,
}

impl ShownResults {
    fn is_same_as(&self, other: &ShownResults) -> bool {
        let texts = |it: &ShownResults| it.condition.as_ref().map(|it| it.text().to_owned());
        self.events == other.events && self.matcher == other.matcher && texts(self) == texts(other)
    }
}

impl GuardedByFile {
    /// The same of the hooks of one file.
    pub fn of<'a>(hooks: impl Iterator<Item = &'a Hook>) -> GuardedByFile {
        let mut guarded = GuardedByFile::default();
        for hook in hooks.filter(|hook| counts_now(hook)) {
            if guards(hook) {
                guarded.events.extend(hook.events);
            }
            let shown = ShownResults {
                events: hook.events,
                matcher: hook.matcher.clone(),
                condition: hook.condition.clone(),
            };
            let is_shown = !hook.is_async && hook.events.iter().any(|event| RESULTS.contains(event));
            if is_shown && !guarded.results.iter().any(|known| known.is_same_as(&shown)) {
                guarded.results.push(shown);
            }
        }
        guarded
    }

    /// True if nothing is open without its hooks.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.results.is_empty()
    }
}

/// The events that fail. Where it is known that a file kept no model from anything, a slip while somebody writes it ends no run.
fn failing_events(known: Option<&BTreeSet<HookEventName>>) -> &'static [HookEventName] {
    let n_failing = match known {
        Some(known) if known.contains(&HookEventName::AfterModel) => N_GUARDS + 2,
        Some(known) if known.contains(&HookEventName::BeforeModel) => N_GUARDS + 1,
        Some(_) => N_GUARDS,
        None => WITHHELD.len(),
    };
    WITHHELD.get(..n_failing).unwrap_or(WITHHELD)
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
        handler: HookHandler::Unreadable { mistake, of_file: false },
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

/// Makes hooks rest, and those that guard fail, until a person has looked.
pub(super) fn changed(reason: String) -> impl Fn(&mut Hook) {
    move |hook| {
        if hook.state != HookState::NeverFires {
            hook.state = HookState::Changed { reason: reason.clone() };
        }
    }
}

/// The marks of what a hook guards, to be kept with an acknowledgement.
pub(super) fn guards_of(hook: &Hook) -> impl Iterator<Item = String> {
    let matcher = hook.matcher.text().filter(|text| !text.trim().is_empty());
    hook.events.iter().map(move |event| guard_mark(event.as_str(), matcher))
}

/// Guards of all that a file may guard in which nobody can tell which hooks there are. `known`: what it guarded when it could be read last.
/// A result that a hook of it would have been shown is withheld.
pub(super) fn guards_of_unreadable(
    place: &ReadingPlace<'_>,
    problem: &FileProblem,
    known: Option<&GuardedByFile>,
) -> Vec<Hook> {
    let of_file = place.origin.is_own();
    let mut mistake = FileProblem { fix: None, ..problem.clone() }.to_string();
    if let (true, Some(fix)) = (of_file, with_effect(place, problem.clone(), true).fix) {
        mistake.push_str(&format!("; {fix}"));
    }
    let events = failing_events(known.map(|known| &known.events));
    let guard = failing_guard(place, events, HookMatcher::everything(), mistake.clone());
    let of_results = known.into_iter().flat_map(|known| &known.results).map(|shown| Hook {
        condition: shown.condition.clone(),
        on_failure: HookFailurePolicy::Block,
        ..failing_guard(place, shown.events, shown.matcher.clone(), mistake.clone())
    });
    let all = std::iter::once(guard).chain(of_results);
    all.map(|hook| Hook {
        line: problem.line.unwrap_or(0),
        handler: HookHandler::Unreadable { mistake: mistake.clone(), of_file },
        ..hook
    })
    .collect()
}

/// The problem of an unreadable file, with what comes of it.
pub(super) fn with_effect(place: &ReadingPlace<'_>, problem: FileProblem, fails: bool) -> FileProblem {
    let fix = match problem.fix {
        fix if !fails || !place.origin.is_own() => fix,
        Some(fix) => Some(format!("{fix}; {UNREADABLE_FILE_EFFECT}")),
        None => Some(UNREADABLE_FILE_EFFECT.to_owned()),
    };
    FileProblem { fix, ..problem }
}

/// True of a hook that may keep something from happening.
fn guards(hook: &Hook) -> bool {
    hook.on_failure != HookFailurePolicy::Continue || hook.events.iter().any(|it| event::is_guard(*it))
}

/// True of a hook whose word counts.
fn counts_now(hook: &Hook) -> bool {
    !matches!(hook.state, HookState::Off | HookState::Untrusted | HookState::NeverFires)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_that_guards_may_have_been_guarded() {
        let stands_in: BTreeSet<HookEventName> = WITHHELD.iter().copied().collect();
        let guards = HookEventName::ALL.iter().copied().filter(|it| event::is_guard(*it));
        assert_eq!(stands_in, guards.chain(RESULTS.iter().copied()).collect());
        assert!(WITHHELD.ends_with(RESULTS));
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

//! Which event does a name mean, whose contract counts under it, and what does a failure there mean?

use protocol::HookEventName;

use HookContract::{Claude, Gemini};
use HookEventName as Event;

/// The product whose way of asking and answering a hook was written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookContract {
    Claude,
    Codex,
    Gemini,
}

/// The meaning of a failure of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookFailurePolicy {
    /// It is told as a warning.
    Continue,
    /// Blocks what it guards.
    Block,
    /// A person is asked: no hook may answer in their place.
    Ask,
}

/// The meaning of a name in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventMeaning {
    /// It is fired at these; under it counts this contract.
    Fired(&'static [Event], HookContract),
    /// Others fire it, and this daemon never does.
    NeverFired,
}

/// Names beside those of [`HookEventName`], which are Gemini CLI's. The rest of its names are names of ours, too, and mean
/// Claude Code's contract.
const OTHER_NAMES: &[(&str, &[Event])] = &[
    ("BeforeTool", &[Event::PreToolUse]),
    ("AfterTool", &[Event::PostToolUse, Event::PostToolUseFailure]),
    ("PreCompress", &[Event::PreCompact]),
    ("ToolNotification", &[Event::Notification]),
    ("BeforeAgent", &[Event::BeforeAgent]),
    ("AfterAgent", &[Event::AfterAgent]),
    ("BeforeModel", &[Event::BeforeModel]),
    ("AfterModel", &[Event::AfterModel]),
    ("BeforeToolSelection", &[Event::BeforeToolSelection]),
    ("BeforeHandoff", &[Event::BeforeHandoff]),
];

/// Events of Claude Code that have no counterpart here.
const NEVER_FIRED: &[&str] = &[
    "Setup",
    "PreModelSwitch",
    "PostModelSwitch",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

/// Events that no run of this version fires.
const NOT_FIRED_YET: &[Event] = &[Event::BeforeHandoff];

/// True if runs of this version fire it.
pub(super) fn is_fired(event: Event) -> bool {
    !NOT_FIRED_YET.contains(&event)
}

/// The meaning of a name; else the known name that is nearest to it.
pub(super) fn meaning(name: &str) -> Result<EventMeaning, Option<&'static str>> {
    if let Some((_, events)) = OTHER_NAMES.iter().find(|(other, _)| *other == name) {
        return Ok(EventMeaning::Fired(events, Gemini));
    }
    if let Some(event) = Event::ALL.iter().find(|event| event.as_str() == name) {
        return Ok(EventMeaning::Fired(std::slice::from_ref(event), Claude));
    }
    if NEVER_FIRED.contains(&name) {
        return Ok(EventMeaning::NeverFired);
    }
    let names = Event::ALL.iter().map(|event| event.as_str());
    let others = OTHER_NAMES.iter().map(|(other, _)| *other).chain(NEVER_FIRED.iter().copied());
    Err(sys::nearest::nearest(name, names.chain(others)))
}

/// The events that a name means in files of one product: Codex has no event of its own for calls that failed.
pub(super) fn of_contract(events: &'static [Event], contract: HookContract) -> &'static [Event] {
    match (contract, events) {
        (HookContract::Codex, [Event::PostToolUse]) => &[Event::PostToolUse, Event::PostToolUseFailure],
        _ => events,
    }
}

/// The name of an event in a product's own words.
pub(super) fn name_in(contract: HookContract, event: Event) -> &'static str {
    match (contract, event) {
        (HookContract::Codex, Event::PostToolUseFailure) => Event::PostToolUse.as_str(),
        _ => event.as_str(),
    }
}

/// True if a text is the name of any event.
pub(super) fn is_known(name: &str) -> bool {
    meaning(name).is_ok()
}

/// The meaning of a failure where the hook itself does not say.
pub(super) fn usual_failure(event: Event) -> HookFailurePolicy {
    match event {
        Event::UserPromptSubmit
        | Event::UserPromptExpansion
        | Event::PreToolUse
        | Event::BeforeAgent
        | Event::BeforeHandoff
        | Event::BeforeModel
        | Event::AfterModel => HookFailurePolicy::Block,
        Event::PermissionRequest | Event::Elicitation | Event::ElicitationResult => HookFailurePolicy::Ask,
        Event::SessionStart
        | Event::PermissionDenied
        | Event::PostToolUse
        | Event::PostToolUseFailure
        | Event::PostToolBatch
        | Event::Stop
        | Event::StopFailure
        | Event::SubagentStart
        | Event::SubagentStop
        | Event::PreCompact
        | Event::PostCompact
        | Event::SessionEnd
        | Event::InstructionsLoaded
        | Event::Notification
        | Event::AfterAgent
        | Event::BeforeToolSelection => HookFailurePolicy::Continue,
    }
}

/// True if a hook of this event guards something: where it cannot be asked, nothing goes ahead by itself.
pub(super) fn is_guard(event: Event) -> bool {
    usual_failure(event) != HookFailurePolicy::Continue
}

/// Everything that hooks of it say changes what happens: an answer that comes later is of no use.
pub(super) fn decides(event: Event) -> bool {
    !matches!(
        event,
        Event::SessionStart
            | Event::SessionEnd
            | Event::StopFailure
            | Event::PostCompact
            | Event::InstructionsLoaded
            | Event::Notification
            | Event::SubagentStart
            | Event::BeforeToolSelection
    )
}

/// True if it is about one tool call, so that an `if` means something.
pub(super) fn is_of_tool(event: Event) -> bool {
    matches!(
        event,
        Event::PreToolUse
            | Event::PermissionRequest
            | Event::PermissionDenied
            | Event::PostToolUse
            | Event::PostToolUseFailure
    )
}

/// Events at which a model may be asked instead of a program.
pub(super) fn may_ask_models(event: Event) -> bool {
    is_of_tool(event)
        || matches!(
            event,
            Event::UserPromptSubmit
                | Event::UserPromptExpansion
                | Event::PostToolBatch
                | Event::Stop
                | Event::SubagentStop
                | Event::BeforeAgent
                | Event::AfterAgent
        )
}

/// Text on the standard output that is no JSON is for the model there.
pub(super) fn takes_text(event: Event) -> bool {
    matches!(
        event,
        Event::SessionStart | Event::UserPromptSubmit | Event::UserPromptExpansion | Event::BeforeAgent
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_products_mean_an_event_and_a_slip_is_told_the_nearest() {
        for event in Event::ALL {
            assert!(is_known(event.as_str()), "{event:?}");
        }
        let fired = |name| match meaning(name) {
            Ok(EventMeaning::Fired(events, contract)) => (events.to_vec(), contract),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(fired("PreToolUse"), (vec![Event::PreToolUse], Claude));
        assert_eq!(fired("BeforeTool"), (vec![Event::PreToolUse], Gemini));
        assert_eq!(fired("AfterTool"), (vec![Event::PostToolUse, Event::PostToolUseFailure], Gemini));
        assert_eq!(fired("SessionStart"), (vec![Event::SessionStart], Claude));
        assert_eq!(meaning("TeammateIdle"), Ok(EventMeaning::NeverFired));
        assert_eq!(meaning("PreToolsUse"), Err(Some("PreToolUse")));
        assert_eq!(meaning("before_tool"), Err(Some("BeforeTool")));
        assert_eq!(meaning("Breakfast"), Err(None));
    }
}

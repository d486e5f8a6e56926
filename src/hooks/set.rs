//! All hooks that hold at a moment, as one value.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use super::{
    Hook, HookFacts, HookFailurePolicy, HookFiring, HookHandler, HookId, HookState, HookedCall,
    condition::CalledWithin, matcher,
};
use protocol::{AgentName, HookEventName};

/// The hooks of a workspace, or of an agent in it. Immutable: a change of a file makes another one.
#[derive(Debug, Clone, Default)]
pub struct HookSet {
    hooks: Arc<[Arc<Hook>]>,
    /// The workspace's folders; relative paths begin in the first one.
    roots: Arc<[PathBuf]>,
    home: PathBuf,
}

impl HookSet {
    /// `hooks` in the order of their origins, those of one place in the order of its text.
    pub(super) fn new(hooks: Vec<Hook>, roots: &[String], home: PathBuf) -> HookSet {
        let roots = roots.iter().map(PathBuf::from).collect();
        HookSet { hooks: hooks.into_iter().map(Arc::new).collect(), roots, home }
    }

    /// All of them, those that are off too, in the order in which their answers are merged.
    pub fn hooks(&self) -> &[Arc<Hook>] {
        &self.hooks
    }

    /// The hook of this id.
    pub fn get(&self, id: &HookId) -> Option<&Arc<Hook>> {
        self.hooks.iter().find(|hook| hook.id == *id)
    }

    /// The hook of an id as it stands on the wire.
    pub fn named(&self, id: &str) -> Option<&Arc<Hook>> {
        self.hooks.iter().find(|hook| hook.id.as_str() == id)
    }

    /// The hooks that guard nothing and rest until a person has looked, each with the reason.
    pub fn resting(&self) -> impl Iterator<Item = (&Arc<Hook>, &str)> {
        let rests =
            |hook: &&Arc<Hook>| !hook.events.is_empty() && hook.on_failure == HookFailurePolicy::Continue;
        self.hooks.iter().filter(rests).filter_map(|hook| match (&hook.state, &hook.handler) {
            (HookState::Changed { reason }, _) => Some((hook, reason.as_str())),
            (HookState::Broken, HookHandler::Unreadable { mistake, .. }) => Some((hook, mistake.as_str())),
            _ => None,
        })
    }

    /// The place where relative paths of calls begin: the first root.
    pub(super) fn root(&self) -> &Path {
        self.roots.first().map_or(Path::new(""), PathBuf::as_path)
    }

    // Perf: all that a run without hooks pays at an event.
    /// True if any hook may take part at this event, whatever it is about.
    pub fn has_any(&self, event: HookEventName) -> bool {
        self.hooks.iter().any(|hook| hook.takes_part(event))
    }

    /// True if some hook that may take part at an event is about one of these built-in tools, whatever else it goes by.
    pub fn may_hear(&self, event: HookEventName, tools: &[&str]) -> bool {
        let is_about = |hook: &Hook| {
            tools.iter().any(|tool| {
                let (call_id, tool, arguments) = ("".into(), (*tool).into(), Value::Null);
                let call = HookedCall {
                    call_id,
                    tool,
                    mcp: None,
                    answered_by: None,
                    arguments,
                    page: None,
                    accesses: Vec::new(),
                };
                hook.matcher.matches(&HookFacts::PreToolUse { call })
            })
        };
        self.hooks.iter().any(|hook| hook.takes_part(event) && is_about(hook))
    }

    /// The hooks that what happened fires, identical ones once: those that are on and match, and guards that fail.
    pub fn matching(&self, firing: &HookFiring) -> Vec<Arc<Hook>> {
        let event = firing.facts.event();
        let mut matching: Vec<Arc<Hook>> = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.takes_part(event) && self.is_about(hook, firing)) {
            if !matching.iter().any(|other| other.is_same_as(hook)) {
                matching.push(Arc::clone(hook));
            }
        }
        matching
    }

    /// The hooks that what happened is about, identical ones once, also those that a run would not ask since nobody acknowledged them, or
    /// since they rest; not what a person switched off.
    pub fn concerned(&self, firing: &HookFiring) -> Vec<Arc<Hook>> {
        let event = firing.facts.event();
        let mut concerned: Vec<Arc<Hook>> = Vec::new();
        for hook in
            self.hooks.iter().filter(|hook| hook.events.contains(&event) && self.is_about(hook, firing))
        {
            let counts = match hook.state {
                HookState::On | HookState::Changed { .. } | HookState::Broken => true,
                // Other products' files of the person's own are only listed.
                HookState::Untrusted => !hook.origin.is_own(),
                HookState::Off | HookState::NeverFires => false,
            };
            if counts && !concerned.iter().any(|other| other.is_same_as(hook)) {
                concerned.push(Arc::clone(hook));
            }
        }
        concerned
    }

    /// True if what happens to a tool call is decided by a hook: one that is waited for.
    pub fn may_decide(&self, facts: &HookFacts) -> bool {
        let decides = |hook: &Hook| {
            !hook.is_async && hook.takes_part(facts.event()) && self.is_about_facts(hook, facts, None)
        };
        self.hooks.iter().any(|hook| decides(hook))
    }

    /// The reason why what happened does not fire this hook, or one that is the same; `None` = it does.
    pub(super) fn unfired(&self, hook: &Hook, firing: &HookFiring) -> Option<UnfiredHook> {
        if !hook.takes_part(firing.facts.event()) {
            return Some(UnfiredHook::TakesNoPart);
        }
        if !self.is_matched(hook, &firing.facts, firing.agent.as_ref()) {
            return Some(UnfiredHook::Matcher);
        }
        (!self.is_this_call(hook, &firing.facts)).then_some(UnfiredHook::Condition)
    }

    fn is_about(&self, hook: &Hook, firing: &HookFiring) -> bool {
        self.is_about_facts(hook, &firing.facts, firing.agent.as_ref())
    }

    fn is_about_facts(&self, hook: &Hook, facts: &HookFacts, agent: Option<&AgentName>) -> bool {
        self.is_matched(hook, facts, agent) && self.is_this_call(hook, facts)
    }

    fn is_matched(&self, hook: &Hook, facts: &HookFacts, agent: Option<&AgentName>) -> bool {
        match matcher::is_about_agent(facts) {
            true => hook.matcher.matches_agent(agent.map(AgentName::as_str)),
            false => hook.matcher.matches(facts),
        }
    }

    fn is_this_call(&self, hook: &Hook, facts: &HookFacts) -> bool {
        match (&hook.condition, facts.call()) {
            (Some(condition), Some(call)) => {
                condition.matches(call, &CalledWithin { roots: &self.roots, home: &self.home })
            }
            _ => true,
        }
    }
}

/// The reason why something does not fire a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnfiredHook {
    /// Its state or its event keeps it from that.
    TakesNoPart,
    /// Its `matcher` means something else.
    Matcher,
    /// Its `if` means another call.
    Condition,
}

//! Which hooks look as if they did something, and never fire? Whoever wrote one believes that it guards.

use serde_json::Value;

use super::{
    AgentHooks, Hook, HookFacts, HookOrigin, HookPlaces, HookPlacesRead, HookState, HookedCall, event,
    places::read_hooks, tool_names,
};
use protocol::{AgentName, BUILTIN_TOOLS, CallId, FileProblem, FileProblemCode, ProblemSeverity, ToolName};
use trust::TrustRecords;

/// Everything that a call may be of beside the built-in tools.
#[derive(Debug, Clone, Default)]
pub struct KnownTools {
    /// Agents, which answer calls of their names.
    pub agents: Vec<AgentName>,
    /// Tools from elsewhere.
    pub tools: Vec<ToolName>,
}

impl KnownTools {
    /// Calls of all of them, without arguments.
    fn calls(&self) -> impl Iterator<Item = HookedCall> {
        let call = |tool: &str, answered_by: Option<&AgentName>| HookedCall {
            call_id: CallId::from("any"),
            tool: tool.into(),
            mcp: None,
            answered_by: answered_by.cloned(),
            arguments: Value::Null,
        };
        let built_in = BUILTIN_TOOLS.iter().map(move |tool| call(tool, None));
        let others = self.tools.iter().map(move |tool| call(tool.as_str(), None));
        let answered = self.agents.iter().map(move |agent| call(agent.as_str(), Some(agent)));
        built_in.chain(others).chain(answered)
    }
}

impl HookPlacesRead {
    /// A warning of each hook that never fires: its event is none, or its `matcher` or `if` means no tool.
    pub fn idle(&self, known: &KnownTools) -> Vec<FileProblem> {
        let counts = |hook: &&std::sync::Arc<Hook>| match hook.state {
            HookState::On => true,
            // What a person is asked to acknowledge.
            HookState::Untrusted => hook.origin != HookOrigin::User,
            _ => false,
        };
        let hooks = self.set.hooks().iter().filter(counts);
        self.misspelt.iter().cloned().chain(hooks.filter_map(|hook| hook.idle(known))).collect()
    }

    /// Everything that is wrong with what was read, once each.
    pub fn all_problems(&self, known: &KnownTools) -> Vec<FileProblem> {
        let mut all = self.problems.clone();
        let more: Vec<FileProblem> = self.idle(known).into_iter().filter(|it| !all.contains(it)).collect();
        all.extend(more);
        all
    }
}

/// Everything that is wrong with the hooks of one agent's file: what keeps one of them from doing what it says, and the rest.
pub fn problems_of_agent(agent: &AgentHooks, known: &KnownTools) -> (Vec<FileProblem>, Vec<FileProblem>) {
    let agent = AgentHooks { is_trusted: true, ..agent.clone() };
    let read = read_hooks(&HookPlaces::default(), &[agent], &TrustRecords::default());
    let idle = read.idle(known);
    let is_grave = |it: &FileProblem| it.severity == ProblemSeverity::Error || idle.contains(it);
    read.all_problems(known).into_iter().partition(is_grave)
}

impl Hook {
    /// A warning if it is about tools, and about none that is there.
    fn idle(&self, known: &KnownTools) -> Option<FileProblem> {
        let is_of_tools = !self.events.is_empty() && self.events.iter().all(|it| event::is_of_tool(*it));
        if !is_of_tools {
            return None;
        }
        // Which tools a server has, it says when it is asked.
        let may_be_a_servers = |text: &str| text.to_lowercase().contains("mcp");
        let matches = |call: HookedCall| self.matcher.matches(&HookFacts::PreToolUse { call });
        let named = match (self.matcher.text(), &self.condition) {
            (Some(matcher), _) if !may_be_a_servers(matcher) && !known.calls().any(matches) => {
                ("matcher", matcher.to_owned())
            }
            (_, Some(condition))
                if !may_be_a_servers(condition.text())
                    && !known.calls().any(|call| condition.is_of_tool(&call)) =>
            {
                ("if", condition.text().to_owned())
            }
            _ => return None,
        };
        let (field, text) = named;
        let word = text.split('(').next().unwrap_or_default().trim();
        let fix = match sys::nearest::nearest(word, tool_names::known()) {
            _ if field == "matcher" && text.contains('(') => {
                Some(format!("`{text}` is a rule: write it as `if`, in the hook itself"))
            }
            nearest => nearest.map(|nearest| format!("did you mean `{nearest}`?")),
        };
        Some(FileProblem {
            path: self.file.clone(),
            line: (self.line != 0).then_some(self.line),
            column: None,
            severity: ProblemSeverity::Warning,
            code: FileProblemCode::BadValue,
            message: format!(
                "`{field}: {text}` of `{}` means no tool, so the hook never fires",
                self.event_name
            ),
            fix,
        })
    }
}

//! Which hooks look as if they did something, and never fire? Whoever wrote one believes that it guards.

use serde_json::Value;

use super::{
    AgentHooks, Hook, HookFacts, HookOrigin, HookPlaces, HookPlacesRead, HookState, HookedCall,
    condition::is_named, event, places::read_hooks, tool_names,
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
            mcp: of_server(tool).map(|(server, own)| (server.to_owned(), own.to_owned())),
            answered_by: answered_by.cloned(),
            arguments: Value::Null,
            accesses: Vec::new(),
            page: None,
        };
        let built_in = BUILTIN_TOOLS.iter().map(move |tool| call(tool, None));
        let others = self.tools.iter().map(move |tool| call(tool.as_str(), None));
        let answered = self.agents.iter().map(move |agent| call(agent.as_str(), Some(agent)));
        built_in.chain(others).chain(answered)
    }

    /// True if a text may mean tools of a server, which says only when it is asked which ones it has. One whose tools are here has said so.
    fn may_be_a_servers(&self, text: &str) -> bool {
        if !text.to_lowercase().contains("mcp") {
            return false;
        }
        let named = text.trim().trim_start_matches('^').strip_prefix("mcp__");
        let server = named.map(|rest| rest.split("__").next().unwrap_or(rest));
        let has_said = |server: &str| {
            let mut tools = self.tools.iter();
            tools.any(|tool| of_server(tool.as_str()).is_some_and(|(of, _)| of == server))
        };
        server.is_none_or(|server| !has_said(server))
    }
}

impl HookPlacesRead {
    /// A warning of each hook that never fires: its event is none, or its `matcher` or `if` means no tool.
    pub fn idle(&self, known: &KnownTools) -> Vec<FileProblem> {
        let hooks = self.set.hooks().iter().filter(|hook| counts(hook));
        self.misspelt.iter().cloned().chain(hooks.filter_map(|hook| hook.idle(known))).collect()
    }

    /// A warning of each name in a `matcher` beside others that means no tool: for what was meant by it, the hook never fires.
    pub fn half_idle(&self, known: &KnownTools) -> Vec<FileProblem> {
        let hooks = self.set.hooks().iter().filter(|hook| counts(hook));
        hooks.flat_map(|hook| hook.half_idle(known)).collect()
    }

    /// Everything that is wrong with what was read, once each.
    pub fn all_problems(&self, known: &KnownTools) -> Vec<FileProblem> {
        let mut all = self.problems.clone();
        for found in self.idle(known).into_iter().chain(self.half_idle(known)) {
            if !all.contains(&found) {
                all.push(found);
            }
        }
        all
    }
}

/// True of a hook that a person relies on, or is asked to acknowledge.
fn counts(hook: &Hook) -> bool {
    match hook.state {
        // It is asked again as soon as somebody has looked at it.
        HookState::On | HookState::Changed { .. } => true,
        HookState::Untrusted => hook.origin != HookOrigin::User,
        _ => false,
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
        if !self.is_of_tools() {
            return None;
        }
        let matches = |call: HookedCall| self.matcher.matches(&HookFacts::PreToolUse { call });
        let named = match (self.matcher.text(), &self.condition) {
            (Some(matcher), _) if !known.may_be_a_servers(matcher) && !known.calls().any(matches) => {
                ("matcher", matcher.to_owned())
            }
            (_, Some(condition))
                if !known.may_be_a_servers(condition.text())
                    && !known.calls().any(|call| condition.is_of_tool(&call)) =>
            {
                ("if", condition.text().to_owned())
            }
            _ => return None,
        };
        let (field, text) = named;
        let word = text.split('(').next().unwrap_or_default().trim();
        let of_servers: Vec<String> = known
            .calls()
            .filter(|call| call.mcp.is_some())
            .filter_map(|call| tool_names::names(&call).into_iter().next())
            .collect();
        let mut all: Vec<&str> = tool_names::known().collect();
        all.extend(of_servers.iter().map(String::as_str));
        let fix = match sys::nearest::nearest(word, all) {
            _ if field == "matcher" && text.contains('(') => {
                Some(format!("`{text}` is a rule: write it as `if`, in the hook itself"))
            }
            nearest => nearest.map(|nearest| format!("did you mean `{nearest}`?")),
        };
        let message =
            format!("`{field}: {text}` of `{}` means no tool, so the hook never fires", self.event_name);
        Some(self.warning(message, fix))
    }

    /// A warning of each name of its matcher that means no tool, if another one of them does.
    fn half_idle(&self, known: &KnownTools) -> Vec<FileProblem> {
        let names = self.matcher.names();
        if !self.is_of_tools() || names.len() < 2 || self.idle(known).is_some() {
            return Vec::new();
        }
        let calls: Vec<Vec<String>> = known.calls().map(|call| tool_names::names(&call)).collect();
        let is_none = |name: &&String| {
            let is_known = calls.iter().flatten().any(|known| is_named(name, known));
            !is_known && !tool_names::is_elsewhere(name) && !known.may_be_a_servers(name)
        };
        let told = |name: &String| {
            let message = format!(
                "`{name}` in `matcher: {}` of `{}` means no tool, so the hook does not fire for it",
                self.matcher.text().unwrap_or_default(),
                self.event_name
            );
            let mut all: Vec<&str> = tool_names::known().collect();
            all.extend(known.tools.iter().map(ToolName::as_str));
            all.extend(known.agents.iter().map(AgentName::as_str));
            let nearest = sys::nearest::nearest(name, all);
            self.warning(message, nearest.map(|nearest| format!("did you mean `{nearest}`?")))
        };
        names.iter().filter(is_none).map(told).collect()
    }

    fn is_of_tools(&self) -> bool {
        !self.events.is_empty() && self.events.iter().all(|it| event::is_of_tool(*it))
    }

    fn warning(&self, message: String, fix: Option<String>) -> FileProblem {
        FileProblem {
            path: self.file.clone(),
            line: (self.line != 0).then_some(self.line),
            column: None,
            severity: ProblemSeverity::Warning,
            code: FileProblemCode::BadValue,
            message,
            fix,
        }
    }
}

/// The server of a tool from one, and the tool's own name there.
fn of_server(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix("mcp.")?.split_once('.')
}

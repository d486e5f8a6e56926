//! Is a hook about this tool, source, trigger, agent, server or error?

use std::fmt;

use regex_automata::{meta, util::syntax};

use super::{HookFacts, condition::is_named, tool_names};

/// Larger automata are slips like `\w{1000}`; each firing would pay for them.
const MOST_AUTOMATON_BYTES: usize = 1024 * 1024;

/// Longest matcher, in bytes.
const MOST_TEXT_BYTES: usize = 10 * 1024;

/// A `matcher`, ready to be compared.
#[derive(Clone)]
pub struct HookMatcher {
    text: Option<String>,
    meaning: MatcherMeaning,
}

#[derive(Clone)]
enum MatcherMeaning {
    Everything,
    /// One of these names.
    Names(Vec<String>),
    /// An expression that need not match the whole; its time grows with the text and no faster.
    Expression(Box<meta::Regex>),
}

impl HookMatcher {
    /// One that matches everything.
    pub(super) fn everything() -> HookMatcher {
        HookMatcher { text: None, meaning: MatcherMeaning::Everything }
    }

    /// Reads a matcher; why it is none, to be read after its name.
    pub(super) fn read(text: &str) -> Result<HookMatcher, String> {
        let of = |meaning| Ok(HookMatcher { text: Some(text.to_owned()), meaning });
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed == "*" {
            return of(MatcherMeaning::Everything);
        }
        let is_plain =
            |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | ',' | '|' | ' ');
        if trimmed.chars().all(is_plain) {
            let names = trimmed.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return of(MatcherMeaning::Names(names.map(str::to_owned).collect()));
        }
        if MOST_TEXT_BYTES < text.len() {
            return Err(format!("is longer than {MOST_TEXT_BYTES} bytes"));
        }
        regex_syntax::parse(trimmed).map_err(|error| match error {
            regex_syntax::Error::Parse(error) => format!("is no regular expression: {}", error.kind()),
            regex_syntax::Error::Translate(error) => format!("is no regular expression: {}", error.kind()),
            _ => "is no regular expression".to_owned(),
        })?;
        let limits = meta::Config::new().nfa_size_limit(Some(MOST_AUTOMATON_BYTES));
        let built = meta::Regex::builder().configure(limits).syntax(syntax::Config::new()).build(trimmed);
        let expression = built.map_err(|_| "is too large; use smaller repetitions".to_owned())?;
        of(MatcherMeaning::Expression(Box::new(expression)))
    }

    /// The same as it was written.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The names that it says, where it says names.
    pub(super) fn names(&self) -> &[String] {
        match &self.meaning {
            MatcherMeaning::Names(names) => names,
            MatcherMeaning::Everything | MatcherMeaning::Expression(_) => &[],
        }
    }

    /// True if it is about what happened. An event that has nothing to compare is always meant.
    pub(super) fn matches(&self, facts: &HookFacts) -> bool {
        if let MatcherMeaning::Everything = self.meaning {
            return true;
        }
        let targets = targets(facts);
        targets.is_empty() || targets.iter().any(|target| self.matches_name(target))
    }

    fn matches_name(&self, name: &str) -> bool {
        match &self.meaning {
            MatcherMeaning::Everything => true,
            MatcherMeaning::Names(names) => names.iter().any(|wanted| is_named(wanted, name)),
            MatcherMeaning::Expression(expression) => expression.is_match(name),
        }
    }
}

/// The expression is what it was made of.
impl PartialEq for HookMatcher {
    fn eq(&self, other: &HookMatcher) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for HookMatcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("HookMatcher").field(&self.text).finish()
    }
}

/// Everything that a matcher is compared with.
fn targets(facts: &HookFacts) -> Vec<String> {
    if let Some(call) = facts.call() {
        return tool_names::names(call);
    }
    match facts {
        HookFacts::SessionStart { source, .. } => vec![(*source).to_owned()],
        HookFacts::SessionEnd { reason } => vec![reason.clone()],
        HookFacts::UserPromptExpansion { name, .. } => vec![name.clone()],
        HookFacts::StopFailure { error, .. } => vec![error.clone()],
        HookFacts::PreCompact { trigger, .. } | HookFacts::PostCompact { trigger, .. } => {
            vec![(*trigger).to_owned()]
        }
        HookFacts::Elicitation { server, .. } | HookFacts::ElicitationResult { server, .. } => {
            vec![server.clone()]
        }
        HookFacts::InstructionsLoaded { reason, .. } => vec![reason.clone()],
        HookFacts::Notification { kind, .. } => vec![kind.clone()],
        HookFacts::BeforeHandoff { target, .. } => vec![target.as_str().to_owned()],
        _ => Vec::new(),
    }
}

/// The agent's name, where a matcher is compared with it.
pub(super) fn is_about_agent(facts: &HookFacts) -> bool {
    matches!(facts, HookFacts::SubagentStart | HookFacts::SubagentStop { .. })
}

impl HookMatcher {
    /// Only of an event that is about an agent.
    pub(super) fn matches_agent(&self, agent: Option<&str>) -> bool {
        agent.is_none_or(|agent| self.matches_name(agent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{CallId, ToolName};

    use crate::HookedCall;

    fn facts(tool: &str) -> HookFacts {
        let call = HookedCall {
            call_id: CallId::from("c"),
            tool: ToolName::from(tool),
            mcp: None,
            answered_by: None,
            arguments: serde_json::json!({}),
            accesses: Vec::new(),
            page: None,
        };
        HookFacts::PreToolUse { call }
    }

    #[test]
    fn a_plain_matcher_names_tools_and_any_other_is_an_expression() {
        for (matcher, tool, expected) in [
            ("", "grep", true),
            ("*", "grep", true),
            ("Bash", "run_shell_command", true),
            ("run_shell_command", "run_shell_command", true),
            ("shell", "run_shell_command", true),
            ("Bas", "run_shell_command", false),
            ("bash", "run_shell_command", true),
            ("Edit|Write", "write_file", true),
            ("Edit, Write", "edit_file", true),
            ("Edit | MultiEdit | Write", "read_file", false),
            ("MultiEdit", "edit_file", true),
            ("replace", "edit_file", true),
            ("Edit.*", "edit_file", true),
            ("^Ed", "edit_file", true),
            ("^Ed$", "edit_file", false),
            (".*", "anything", true),
            ("mcp__.*", "run_shell_command", false),
        ] {
            let read = HookMatcher::read(matcher).unwrap();
            assert_eq!(read.matches(&facts(tool)), expected, "{matcher} {tool}");
        }
        let server = HookMatcher::read("mcp__memory__.*").unwrap();
        let HookFacts::PreToolUse { mut call } = facts("mcp.memory.add") else { unreachable!() };
        call.mcp = Some(("memory".to_owned(), "add".to_owned()));
        for (matcher, expected) in [
            ("mcp__memory", true),
            ("Bash|mcp__memory", true),
            ("mcp__memory__add", true),
            ("mcp__mem", false),
            ("mcp__memory__ad", false),
        ] {
            let matches =
                HookMatcher::read(matcher).unwrap().matches(&HookFacts::PreToolUse { call: call.clone() });
            assert_eq!(matches, expected, "{matcher}");
        }
        assert!(server.matches(&HookFacts::PreToolUse { call }));
    }

    #[test]
    fn an_expression_that_cannot_be_linear_is_refused_with_its_reason() {
        for text in
            ["(", "a(?=b)", r"(.)\1", &format!("^{}", "x".repeat(20_000)), r"\w{1000}\w{1000}\w{1000}!"]
        {
            assert!(HookMatcher::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn events_with_nothing_to_compare_are_always_meant() {
        let matcher = HookMatcher::read("Bash").unwrap();
        assert!(matcher.matches(&HookFacts::Stop { is_going_on: false, last_message: None }));
        let start = |source| HookFacts::SessionStart { source, session_title: None };
        let matcher = HookMatcher::read("startup|clear").unwrap();
        assert!(matcher.matches(&start("startup")) && !matcher.matches(&start("compact")));
    }
}

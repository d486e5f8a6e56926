//! What does one table of a rule file say, key by key?

use std::path::{Path, PathBuf};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    BadValue, FileProblemCode, MissingField, PolicyRule, PolicyTier, Risk, RuleProblems, TooLarge, Verdict,
    WrongType,
};
use crate::{
    pattern::{ArgsPattern, UnusablePattern},
    rule::{is_plain, words},
};
use protocol::{ApprovalMode, SessionId, ToolKind};

/// What may stand in a rule.
pub(super) const KEYS: &[&str] = &[
    "tool",
    "agent",
    "commandPrefix",
    "argsPattern",
    "kind",
    "risk",
    "modes",
    "workspace",
    "session",
    "decision",
    "priority",
    "message",
];

const KINDS: &[(&str, ToolKind)] = &[
    ("read", ToolKind::Read),
    ("edit", ToolKind::Edit),
    ("delete", ToolKind::Delete),
    ("move", ToolKind::Move),
    ("search", ToolKind::Search),
    ("execute", ToolKind::Execute),
    ("think", ToolKind::Think),
    ("fetch", ToolKind::Fetch),
    ("other", ToolKind::Other),
];

const RISKS: &[(&str, Risk)] = &[
    ("safe", Risk::Safe),
    ("low", Risk::Low),
    ("medium", Risk::Medium),
    ("high", Risk::High),
    ("critical", Risk::Critical),
];

const MODES: &[(&str, ApprovalMode)] = &[
    ("plan", ApprovalMode::Plan),
    ("default", ApprovalMode::Default),
    ("autoEdit", ApprovalMode::AutoEdit),
    ("yolo", ApprovalMode::Yolo),
];

const DECISIONS: &[(&str, Verdict)] =
    &[("allow", Verdict::Allow), ("deny", Verdict::Deny), ("ask", Verdict::Ask)];

/// A rule as far as it could be read: what is missing here was not given, or was mistaken.
pub(super) struct RuleDraft {
    tool: Option<Vec<String>>,
    decision: Option<Verdict>,
    /// The conditions and the rest; its `tool` and `decision` are not used.
    rule: PolicyRule,
    pub is_mistaken: bool,
    pub pattern_bytes: usize,
}

/// What the file gives to each of its rules.
pub(super) struct RuleFileLimits<'a> {
    /// What `~` means.
    pub home: &'a Path,
    /// What expressions may still occupy; the last one may exceed it.
    pub room: usize,
}

impl RuleDraft {
    /// `start` is where the table begins.
    pub fn read(
        table: &DeTable<'_>,
        start: usize,
        limits: &RuleFileLimits<'_>,
        problems: &mut RuleProblems<'_>,
    ) -> RuleDraft {
        let rule = stand_in(PolicyTier::Builtin, String::new());
        let mut draft = RuleDraft { tool: None, decision: None, rule, is_mistaken: false, pattern_bytes: 0 };
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if KEYS.contains(&name) {
                let field = RuleField { key: name, value };
                draft.is_mistaken |= draft.take(&field, limits, problems).is_none();
            } else {
                problems.unknown_key(key.span().start, name, KEYS, "in a rule");
                draft.is_mistaken = true;
            }
        }
        for (key, fix) in [("tool", "tool = \"…\""), ("decision", "decision = \"ask\"")] {
            if !table.contains_key(key) {
                let message = format!("`{key}` is missing");
                problems.error_with_fix(start, MissingField, message, format!("add `{fix}`"));
                draft.is_mistaken = true;
            }
        }
        draft
    }

    /// Takes one key. `None` after an error.
    fn take(
        &mut self,
        field: &RuleField<'_, '_>,
        limits: &RuleFileLimits<'_>,
        problems: &mut RuleProblems<'_>,
    ) -> Option<()> {
        let rule = &mut self.rule;
        match field.key {
            "tool" => {
                self.tool = Some(
                    field.texts("a tool's name, a pattern such as \"mcp.github.*\", or a list", problems)?,
                )
            }
            "agent" => rule.agent = Some(field.text("an agent's name", problems)?.to_owned()),
            "commandPrefix" => {
                let prefixes =
                    field.texts("the beginning of a command, e.g. \"git status\", or a list", problems)?;
                rule.command_prefix = prefixes.iter().map(|prefix| words(prefix).join(" ")).collect();
            }
            "argsPattern" => {
                let text = field.text("a regular expression", problems)?;
                if limits.room == 0 {
                    let message = "the expressions before it are too large together; use smaller repetitions";
                    field.mistake(TooLarge, message, problems);
                    return None;
                }
                match ArgsPattern::new(text) {
                    Ok(pattern) => self.pattern_bytes = pattern.size_bytes(),
                    Err(UnusablePattern { reason, size_bytes }) => {
                        self.pattern_bytes = size_bytes;
                        field.mistake(BadValue, &format!("the pattern {reason}"), problems);
                        return None;
                    }
                }
                rule.args_pattern = Some(text.to_owned());
            }
            "kind" => rule.kind = Some(field.word(KINDS, problems)?),
            "risk" => rule.risk = Some(field.word(RISKS, problems)?),
            "modes" => rule.modes = field.words(MODES, problems)?,
            "workspace" => rule.workspace = Some(field.folder(limits.home, problems)?),
            "session" => rule.session = Some(SessionId::from(field.text("a session's id", problems)?)),
            "decision" => self.decision = Some(field.word(DECISIONS, problems)?),
            "priority" => rule.priority = field.whole(problems)?,
            "message" => rule.message = Some(field.text("a text", problems)?.to_owned()),
            // Unreachable: only keys of `KEYS` come here. Losing one would make a rule broader, so it is a mistake.
            _ => return None,
        }
        Some(())
    }

    pub fn names_tools(&self) -> bool {
        self.tool.is_some()
    }

    /// The rule as it was written.
    pub fn into_rule(self, tier: PolicyTier, id: String) -> Option<PolicyRule> {
        let (Some(tool), Some(decision)) = (self.tool.clone(), self.decision) else {
            return self.into_stand_in(tier, id);
        };
        Some(PolicyRule { id, tier, tool, decision, mistaken: false, ..self.rule })
    }

    /// What stands for it when it is mistaken. `None` if it can only have meant to allow.
    pub fn into_stand_in(self, tier: PolicyTier, id: String) -> Option<PolicyRule> {
        let decision = match (self.decision, &self.tool) {
            (Some(Verdict::Allow), _) => return None,
            (Some(Verdict::Deny), Some(_)) => Verdict::Deny,
            // To forbid everything because a name is mistyped would leave nothing to work with.
            (Some(Verdict::Deny), None) | (Some(Verdict::Ask) | None, _) => Verdict::Ask,
        };
        let tool = self.tool.unwrap_or_else(|| self.rule.tool.clone());
        Some(PolicyRule { id, tier, tool, decision, ..self.rule })
    }
}

/// A rule without any condition that asks.
pub(super) fn stand_in(tier: PolicyTier, id: String) -> PolicyRule {
    PolicyRule {
        id,
        tier,
        tool: vec!["*".to_owned()],
        agent: None,
        command_prefix: Vec::new(),
        args_pattern: None,
        kind: None,
        risk: None,
        modes: Vec::new(),
        workspace: None,
        session: None,
        accesses: Vec::new(),
        recursive: false,
        confinement: None,
        decision: Verdict::Ask,
        priority: 0,
        message: None,
        created_by: None,
        created_at: None,
        from_confirmation: None,
        mistaken: true,
    }
}

/// One key and its value. Each reader returns `None` after an error.
struct RuleField<'a, 'i> {
    key: &'a str,
    value: &'a Spanned<DeValue<'i>>,
}

impl RuleField<'_, '_> {
    /// A text that says something.
    fn text(&self, expected: &str, problems: &mut RuleProblems<'_>) -> Option<&str> {
        self.text_of(self.value, expected, problems)
    }

    /// One text or several; an empty list would be no condition at all.
    fn texts(&self, expected: &str, problems: &mut RuleProblems<'_>) -> Option<Vec<String>> {
        let texts: Vec<Option<&str>> = match self.value.get_ref() {
            DeValue::Array(elements) if elements.is_empty() => {
                self.expected(self.value, BadValue, expected, problems);
                return None;
            }
            DeValue::Array(elements) => {
                elements.iter().map(|element| self.text_of(element, expected, problems)).collect()
            }
            _ => vec![self.text(expected, problems)],
        };
        texts.into_iter().map(|text| text.map(str::to_owned)).collect()
    }

    fn word<T: Copy>(&self, choices: &[(&str, T)], problems: &mut RuleProblems<'_>) -> Option<T> {
        self.word_of(self.value, choices, problems)
    }

    fn words<T: Copy>(&self, choices: &[(&str, T)], problems: &mut RuleProblems<'_>) -> Option<Vec<T>> {
        match self.value.get_ref() {
            DeValue::Array(elements) if elements.is_empty() => {
                self.expected(
                    self.value,
                    BadValue,
                    &format!("at least one of {}", listed(choices)),
                    problems,
                );
                None
            }
            DeValue::Array(elements) => {
                let words: Vec<Option<T>> =
                    elements.iter().map(|element| self.word_of(element, choices, problems)).collect();
                words.into_iter().collect()
            }
            _ => Some(vec![self.word(choices, problems)?]),
        }
    }

    fn whole(&self, problems: &mut RuleProblems<'_>) -> Option<i64> {
        if let DeValue::Integer(integer) = self.value.get_ref()
            && let Ok(whole) = i64::from_str_radix(integer.as_str(), integer.radix())
        {
            return Some(whole);
        }
        self.expected(self.value, WrongType, "a whole number", problems);
        None
    }

    /// An absolute folder; `~` is the home.
    fn folder(&self, home: &Path, problems: &mut RuleProblems<'_>) -> Option<String> {
        let expected = "an absolute path, or one that begins with `~/`, without `..`";
        let text = self.text(expected, problems)?;
        let below_home = text.strip_prefix("~/").map(|rest| rest.trim_start_matches('/'));
        let path = match (text, below_home) {
            ("~", _) => home.to_owned(),
            (_, Some(rest)) => home.join(rest),
            _ => PathBuf::from(text),
        };
        // Made anew of its parts, since people end folders with `/` or not.
        let path: PathBuf = path.components().collect();
        match path.to_str() {
            Some(folder) if is_plain(&path) => Some(folder.to_owned()),
            _ => {
                self.expected(self.value, BadValue, expected, problems);
                None
            }
        }
    }

    fn text_of<'v>(
        &self,
        value: &'v Spanned<DeValue<'_>>,
        expected: &str,
        problems: &mut RuleProblems<'_>,
    ) -> Option<&'v str> {
        let text = value.get_ref().as_str();
        if text.is_none_or(|text| text.trim().is_empty()) {
            let code = if text.is_some() { BadValue } else { WrongType };
            self.expected(value, code, expected, problems);
            return None;
        }
        text
    }

    fn word_of<T: Copy>(
        &self,
        value: &Spanned<DeValue<'_>>,
        choices: &[(&str, T)],
        problems: &mut RuleProblems<'_>,
    ) -> Option<T> {
        let text = value.get_ref().as_str();
        let chosen = text.and_then(|text| choices.iter().find(|(word, _)| *word == text));
        if chosen.is_none() {
            let code = if text.is_some() { BadValue } else { WrongType };
            self.expected(value, code, &listed(choices), problems);
        }
        chosen.map(|(_, choice)| *choice)
    }

    fn expected(
        &self,
        value: &Spanned<DeValue<'_>>,
        code: FileProblemCode,
        expected: &str,
        problems: &mut RuleProblems<'_>,
    ) {
        problems.expected(value, self.key, code, expected);
    }

    fn mistake(&self, code: FileProblemCode, message: &str, problems: &mut RuleProblems<'_>) {
        problems.error(Some(self.value.span().start), code, format!("`{}`: {message}", self.key));
    }
}

/// `a`, `b` or `c`.
fn listed<T>(choices: &[(&str, T)]) -> String {
    let quoted: Vec<String> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

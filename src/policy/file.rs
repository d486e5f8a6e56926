//! Which rules stand in this file, and what is wrong with it?
//!
//! All mistakes are told at once, with line and column, and the file's other rules count. A mistake never opens
//! anything: a mistaken `allow` is left out, and for every other mistaken rule stands one that says at least what it may
//! have meant ([`PolicyRule::mistaken`]):
//! - it keeps the conditions that could be read and loses the others, so it is about more calls, never fewer;
//! - a `deny` whose tools could be read still denies; what may have meant anything else asks;
//! - when parts of the file cannot be understood as rules at all, everything of the tier that is not safe asks.

use std::path::Path;

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use protocol::{
    FileProblem,
    FileProblemCode::{self, BadToml, BadValue, MissingField, TooLarge, UnknownField, WrongType},
    PolicyRule, PolicyTier, ProblemSeverity, Risk, Verdict,
};
use sys::{
    mark::{TextPosition, problem},
    nearest::nearest,
};

mod condition;
mod problems;

use condition::{KEYS, RuleDraft, RuleFileLimits};
use problems::RuleProblems;

/// The one key of a rule file.
const RULE: &str = "rule";

/// Most rules of one file: each costs every call a comparison.
const MOST_RULES: usize = 10_000;

/// What all expressions of one file may occupy together, before they are used.
const MOST_PATTERN_BYTES: usize = 16 * 1024 * 1024;

/// A rule file, apart from its text.
#[derive(Debug, Clone, Copy)]
pub struct RuleFile<'a> {
    pub tier: PolicyTier,
    /// For problems.
    pub path: &'a Path,
    /// For the ids of its rules, e.g. `shop.toml`.
    pub name: &'a str,
    /// What `~` means in it.
    pub home: &'a Path,
}

/// Reads a rule file. What is returned is to be used even when there are problems: it is then stricter than the file.
///
/// The caller bounds the text's length, and asks for everything ([`unread`]) when there is no text to read.
pub fn parse(text: &str, file: &RuleFile<'_>) -> (Vec<PolicyRule>, Vec<FileProblem>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reading = RuleFileReader::new(text, file);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let offset = error.span().map_or(0, |span| span.start);
        reading.problems.error(Some(offset), BadToml, format!("is not TOML: {}", error.message()));
    }
    if !errors.is_empty() {
        // What was recovered may lack anything, so further mistakes in it may be none of the author's.
        reading.problems.close();
        (reading.is_toml, reading.is_understood) = (false, false);
    }
    reading.read(document.get_ref());
    reading.finish()
}

/// The rules that stand for a file that is there and cannot be read: everything that is not safe asks.
pub fn unread(file: &RuleFile<'_>) -> Vec<PolicyRule> {
    let of_risk = |risk: Risk| {
        let name = super::default::word(risk);
        PolicyRule {
            risk: Some(risk),
            ..condition::stand_in(file.tier, format!("{}:unread:{name}", source(file)))
        }
    };
    [Risk::Low, Risk::Medium, Risk::High, Risk::Critical].map(of_risk).into()
}

fn source(file: &RuleFile<'_>) -> String {
    let tier = match file.tier {
        PolicyTier::System => "system",
        PolicyTier::User => "user",
        PolicyTier::Project => "project",
        PolicyTier::Definition => "definition",
        PolicyTier::Builtin => "builtin",
    };
    format!("{tier}:{}", file.name)
}

/// What was found so far.
struct RuleFileReader<'a> {
    file: &'a RuleFile<'a>,
    rules: Vec<PolicyRule>,
    problems: RuleProblems<'a>,
    /// False: what stands in it was recovered.
    is_toml: bool,
    /// False: some of it may have meant anything.
    is_understood: bool,
    n_read: usize,
    pattern_bytes: usize,
}

impl<'a> RuleFileReader<'a> {
    fn new(text: &'a str, file: &'a RuleFile<'a>) -> RuleFileReader<'a> {
        let problems = RuleProblems::of(file.path, text);
        RuleFileReader {
            file,
            rules: Vec::new(),
            problems,
            is_toml: true,
            is_understood: true,
            n_read: 0,
            pattern_bytes: 0,
        }
    }

    fn read(&mut self, document: &DeTable<'_>) {
        let mut loose = DeTable::new();
        for (key, value) in document {
            let name = key.get_ref().as_ref();
            let start = key.span().start;
            match value.get_ref() {
                _ if name != RULE && KEYS.contains(&name) => {
                    let message = format!("`{name}` stands outside of a rule: write `[[rule]]` above it");
                    self.problems.error(Some(start), WrongType, message);
                    loose.insert(key.clone(), value.clone());
                }
                _ if name != RULE => self.read_stranger(key, value),
                DeValue::Array(elements) => elements.iter().for_each(|element| self.read_element(element)),
                DeValue::Table(table) => {
                    let message = "`rule` is a table: write `[[rule]]` before each rule";
                    self.problems.error(Some(start), WrongType, message.to_owned());
                    self.read_rule(table, start, false);
                }
                _ => {
                    let expected = "a rule; write `[[rule]]` on a line of its own before each";
                    self.problems.expected(value, RULE, WrongType, expected);
                    self.is_understood = false;
                }
            }
        }
        if let Some(start) = loose.keys().map(|key| key.span().start).min() {
            self.read_rule(&loose, start, false);
        }
    }

    /// What stands under an unknown name may have been meant as rules.
    fn read_stranger(&mut self, key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) {
        self.problems.unknown_key(key.span().start, key.get_ref(), &[RULE], "in a file of rules");
        // Every rule has these.
        let looks_like_rule = |table: &DeTable<'_>| {
            table.keys().any(|key| nearest(key.get_ref(), ["tool", "decision"]).is_some())
        };
        let elements = match value.get_ref() {
            DeValue::Array(elements) => elements.iter().collect(),
            _ => vec![value],
        };
        for element in elements {
            if let DeValue::Table(table) = element.get_ref()
                && looks_like_rule(table)
            {
                self.read_rule(table, element.span().start, false);
            }
        }
    }

    fn read_element(&mut self, element: &Spanned<DeValue<'_>>) {
        match element.get_ref() {
            DeValue::Table(table) => self.read_rule(table, element.span().start, self.is_toml),
            _ => {
                self.problems.expected(element, RULE, WrongType, "a table with `tool` and `decision`");
                self.is_understood = false;
            }
        }
    }

    fn read_rule(&mut self, table: &DeTable<'_>, start: usize, is_sound: bool) {
        self.n_read += 1;
        if self.n_read > MOST_RULES {
            if self.n_read == MOST_RULES + 1 {
                let message = format!("has more than {MOST_RULES} rules; from here on none is read");
                self.problems.error(Some(start), TooLarge, message);
            }
            self.is_understood = false;
            return;
        }
        let mark = self.problems.mark(start);
        let room = MOST_PATTERN_BYTES.saturating_sub(self.pattern_bytes);
        let draft =
            RuleDraft::read(table, start, &RuleFileLimits { home: self.file.home, room }, &mut self.problems);
        if !self.is_toml && !draft.names_tools() {
            // Perhaps no rule at all; what it may have been about asks anyway.
            return;
        }
        self.pattern_bytes += draft.pattern_bytes;
        let id = self.id(mark);
        let rule = if is_sound && !draft.is_mistaken {
            draft.into_rule(self.file.tier, id)
        } else {
            draft.into_stand_in(self.file.tier, id)
        };
        if let Some(consequence) = consequence(rule.as_ref()) {
            self.problems.warning(start, BadValue, consequence.to_owned());
        }
        let Some(rule) = rule else { return };
        if rule.decision == Verdict::Allow && rule.tier == PolicyTier::Project {
            let message = "this `allow` has no effect: a project's rules can only make things stricter";
            self.problems.warning(start, BadValue, message.to_owned());
        }
        self.rules.push(rule);
    }

    /// Its place: the line, and where a line has several rules the column too.
    fn id(&self, mark: TextPosition) -> String {
        let of_line = format!("{}:{}", source(self.file), mark.line);
        // Those of one line follow each other.
        let is_taken = self.rules.last().is_some_and(|rule| {
            rule.id == of_line || rule.id.strip_prefix(&of_line).is_some_and(|rest| rest.starts_with(':'))
        });
        if is_taken { format!("{of_line}:{}", mark.column) } else { of_line }
    }

    fn finish(mut self) -> (Vec<PolicyRule>, Vec<FileProblem>) {
        if !self.is_understood {
            self.rules.extend(unread(self.file));
            let message = "until this is mended, every call that is not safe needs a person's consent";
            self.problems.of_whole_file(BadValue, message.to_owned());
        }
        (self.rules, self.problems.into_told())
    }
}

/// What a mistake in a rule leads to; `None` when there is no mistake.
fn consequence(rule: Option<&PolicyRule>) -> Option<&'static str> {
    match rule {
        None => Some("this rule has a mistake and is left out: it allows nothing"),
        Some(rule) if !rule.mistaken => None,
        Some(rule) if rule.decision == Verdict::Deny => {
            Some("this rule has a mistake: until it is mended, all that it may be about is refused")
        }
        Some(_) => Some(
            "this rule has a mistake: until it is mended, all that it may be about needs a person's consent",
        ),
    }
}

//! Which settings are there, what may they hold, and where do they go? One line of the table each.

use std::time::Duration;

use jsonc_parser::{ast::Value, common::Ranged};
use regex_automata::nfa::thompson;

use super::{Config, Origin, Setting};
use crate::protocol::{AgentName, ModelRef, ToolName};

/// Longest time a setting may name: a year. Longer ones are slips, and sums with them could overflow.
const LONGEST_SECONDS: f64 = 366.0 * 24.0 * 3600.0;

/// Smallest budget for a tool's output: head, tail and the note between them must fit.
const LEAST_OUTPUT_CHARS: u64 = 1_000;

/// Largest budget for a tool's output: ten million characters are more than any model reads.
const MOST_OUTPUT_CHARS: u64 = 10_000_000;

/// Levels of agents that call agents: more is a loop, not a plan.
const MOST_DEPTH: u64 = 16;

/// Runs at work at once: beyond, memory for their contexts is the limit, not a number.
const MOST_RUNS: u64 = 100_000;

/// Largest automaton of a pattern, which every text will be read with; larger ones are slips like `\w{1000}`.
const MOST_PATTERN_BYTES: usize = 2 * 1024 * 1024;

/// One setting.
pub(super) struct Key {
    /// With dots, e.g. `run.maxTurns`.
    pub path: &'static str,
    /// What it must hold, for the message when it does not.
    pub expected: &'static str,
    pub set: Set,
}

/// Puts a value into the configuration, or says why not.
type Set = fn(&mut Config, &Value<'_>, Origin) -> Result<(), Refusal>;

/// Why a value is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    WrongType,
    BadValue,
    /// Some elements of a list; the others were taken.
    BadElements(Vec<BadElement>),
}

/// What is wrong with an element, and the byte where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadElement {
    pub offset: usize,
    pub reason: String,
}

pub(super) const KEYS: &[Key] = &[
    Key {
        path: "models.default",
        expected: "a model's name, e.g. \"gemini/gemini-2.5-pro\" or \"offline\"",
        set: |config, value, origin| {
            config.models.default = Setting { value: Some(ModelRef::from(word(value)?)), origin };
            Ok(())
        },
    },
    Key {
        path: "agents.default",
        expected: "an agent's name, e.g. \"generalist\"",
        set: |config, value, origin| {
            config.agents.default = Setting { value: AgentName::from(word(value)?), origin };
            Ok(())
        },
    },
    Key {
        path: "run.maxTurns",
        expected: "a whole number of at least 1",
        set: |config, value, origin| {
            let turns = u32::try_from(whole(value, 1, u32::MAX.into())?).map_err(|_| Refusal::BadValue)?;
            config.run.max_turns = Setting { value: turns, origin };
            Ok(())
        },
    },
    Key {
        path: "run.maxTimeMinutes",
        expected: "a number of minutes above 0, at most a year",
        set: |config, value, origin| {
            let time = seconds(value, 60.0)?;
            if time.is_zero() {
                return Err(Refusal::BadValue);
            }
            config.run.max_time = Setting { value: time, origin };
            Ok(())
        },
    },
    Key {
        path: "run.maxTokens",
        expected: "a whole number of at least 1, or null for no limit",
        set: |config, value, origin| {
            let tokens = match value {
                Value::NullKeyword(_) => None,
                _ => Some(whole(value, 1, u64::MAX)?),
            };
            config.run.max_tokens = Setting { value: tokens, origin };
            Ok(())
        },
    },
    Key {
        path: "run.graceSeconds",
        expected: "a number of seconds from 0 to a year",
        set: |config, value, origin| {
            config.run.grace = Setting { value: seconds(value, 1.0)?, origin };
            Ok(())
        },
    },
    Key {
        path: "run.maxDepth",
        expected: "a whole number from 0 to 16",
        set: |config, value, origin| {
            let depth = u32::try_from(whole(value, 0, MOST_DEPTH)?).map_err(|_| Refusal::BadValue)?;
            config.run.max_depth = Setting { value: depth, origin };
            Ok(())
        },
    },
    Key {
        path: "maxConcurrentRuns.session",
        expected: "a whole number from 1 to 100000",
        set: |config, value, origin| {
            config.max_concurrent_runs.session = Setting { value: runs(value)?, origin };
            Ok(())
        },
    },
    Key {
        path: "maxConcurrentRuns.daemon",
        expected: "a whole number from 1 to 100000",
        set: |config, value, origin| {
            config.max_concurrent_runs.daemon = Setting { value: runs(value)?, origin };
            Ok(())
        },
    },
    Key {
        path: "tools.exclude",
        expected: "a list of tool names, e.g. [\"web_fetch\", \"mcp.github.*\"]",
        set: |config, value, origin| {
            let names = list(value, |element| word(element).map(ToolName::from))?;
            config.tools.exclude = Setting { value: names, origin };
            Ok(())
        },
    },
    Key {
        path: "tools.output.maxChars",
        expected: "a whole number from 1000 to 10000000",
        set: |config, value, origin| {
            let most = whole(value, LEAST_OUTPUT_CHARS, MOST_OUTPUT_CHARS)?;
            let most = usize::try_from(most).map_err(|_| Refusal::BadValue)?;
            config.tools.output_max_chars = Setting { value: most, origin };
            Ok(())
        },
    },
    Key {
        path: "shutdown.graceSeconds",
        expected: "a number of seconds from 0 to a year",
        set: |config, value, origin| {
            config.shutdown.grace = Setting { value: seconds(value, 1.0)?, origin };
            Ok(())
        },
    },
    Key {
        path: "access.allowUids",
        expected: "a list of numeric user ids, e.g. [1000]",
        set: |config, value, origin| {
            let uid = |element: &Value<'_>| {
                u32::try_from(whole(element, 0, u32::MAX.into())?).map_err(|_| Refusal::BadValue)
            };
            config.access.allow_uids = Setting { value: list(value, uid)?, origin };
            Ok(())
        },
    },
    Key {
        path: "redaction.patterns",
        expected: "a list of regular expressions, e.g. [\"cust-[0-9]{6}\"]",
        set: |config, value, origin| {
            let elements = &value.as_array().ok_or(Refusal::WrongType)?.elements;
            let mut patterns = Vec::new();
            let mut bad = Vec::new();
            for element in elements {
                match pattern(element) {
                    Ok(pattern) => patterns.push(pattern),
                    Err(reason) => bad.push(BadElement { offset: element.range().start, reason }),
                }
            }
            // One slip must not show what the other patterns hide.
            config.redaction.patterns = Setting { value: patterns, origin };
            if bad.is_empty() { Ok(()) } else { Err(Refusal::BadElements(bad)) }
        },
    },
];

/// A regular expression that can be searched for in linear time, or what is wrong with it.
fn pattern(value: &Value<'_>) -> Result<String, String> {
    let text = value.as_string_lit().ok_or("is not a text")?.value.as_ref();
    let parsed = regex_syntax::parse(text).map_err(|error| match error {
        regex_syntax::Error::Parse(error) => format!("is no regular expression: {}", error.kind()),
        regex_syntax::Error::Translate(error) => format!("is no regular expression: {}", error.kind()),
        _ => "is no regular expression".to_owned(),
    })?;
    if parsed.properties().minimum_len() == Some(0) {
        return Err("matches the empty text, so it would match everywhere".to_owned());
    }
    let limit = thompson::Config::new().nfa_size_limit(Some(MOST_PATTERN_BYTES));
    let built = thompson::Compiler::new().configure(limit).build(text);
    built.map(|_| text.to_owned()).map_err(|_| "is too large; use smaller repetitions".to_owned())
}

fn word<'a>(value: &'a Value<'_>) -> Result<&'a str, Refusal> {
    let text = value.as_string_lit().ok_or(Refusal::WrongType)?.value.as_ref();
    if text.trim().is_empty() { Err(Refusal::BadValue) } else { Ok(text.trim()) }
}

fn whole(value: &Value<'_>, least: u64, most: u64) -> Result<u64, Refusal> {
    let digits = value.as_number_lit().ok_or(Refusal::WrongType)?.value;
    match digits.parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(Refusal::BadValue),
    }
}

fn runs(value: &Value<'_>) -> Result<usize, Refusal> {
    usize::try_from(whole(value, 1, MOST_RUNS)?).map_err(|_| Refusal::BadValue)
}

fn seconds(value: &Value<'_>, unit: f64) -> Result<Duration, Refusal> {
    let digits = value.as_number_lit().ok_or(Refusal::WrongType)?.value;
    let seconds = digits.parse::<f64>().map_err(|_| Refusal::BadValue)? * unit;
    if !(0.0..=LONGEST_SECONDS).contains(&seconds) {
        return Err(Refusal::BadValue);
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| Refusal::BadValue)
}

fn list<T>(value: &Value<'_>, read: impl Fn(&Value<'_>) -> Result<T, Refusal>) -> Result<Vec<T>, Refusal> {
    value.as_array().ok_or(Refusal::WrongType)?.elements.iter().map(read).collect()
}

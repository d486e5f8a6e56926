//! Which regular expressions may a rule use, and how are they matched?

use regex_automata::{meta, util::syntax};

/// Larger automata are slips like `\w{1000}`; every call that the rule could be about pays for them.
const MOST_AUTOMATON_BYTES: usize = 1024 * 1024;

/// Longest expression, in bytes: what is parsed of a class can be thousands of times as long as its name.
const MOST_TEXT_BYTES: usize = 10 * 1024;

/// The reason why an expression cannot be used, and what finding out cost.
#[derive(Debug)]
pub(super) struct UnusablePattern {
    /// Continues the sentence "the pattern …".
    pub reason: String,
    /// As of [`ArgsPattern::size_bytes`].
    pub size_bytes: usize,
}

/// An expression over the canonical JSON of a call's arguments.
#[derive(Debug)]
pub(super) struct ArgsPattern(meta::Regex);

impl ArgsPattern {
    /// The syntax is that of the `regex` crate: no look-around, no back-references, so matching is linear.
    pub fn new(text: &str) -> Result<ArgsPattern, UnusablePattern> {
        let unusable = |reason: String| UnusablePattern { reason, size_bytes: 0 };
        if text.len() > MOST_TEXT_BYTES {
            return Err(unusable(format!("is longer than {MOST_TEXT_BYTES} bytes")));
        }
        let parsed = regex_syntax::parse(text).map_err(|error| match error {
            regex_syntax::Error::Parse(error) => {
                unusable(format!("is no regular expression: {}", error.kind()))
            }
            regex_syntax::Error::Translate(error) => {
                unusable(format!("is no regular expression: {}", error.kind()))
            }
            _ => unusable("is no regular expression".to_owned()),
        })?;
        if parsed.properties().minimum_len() == Some(0) && parsed.properties().look_set().is_empty() {
            return Err(unusable("matches the empty text, so it would match everywhere".to_owned()));
        }
        let limits = meta::Config::new().nfa_size_limit(Some(MOST_AUTOMATON_BYTES));
        let built = meta::Regex::builder().configure(limits).syntax(syntax::Config::new()).build(text);
        built.map(ArgsPattern).map_err(|_| UnusablePattern {
            reason: "is too large; use smaller repetitions".to_owned(),
            size_bytes: MOST_AUTOMATON_BYTES,
        })
    }

    /// An expression that matches this text and no other.
    pub fn exactly(text: &str) -> String {
        format!(r"\A{}\z", regex_syntax::escape(text))
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// What it occupies before it is used.
    pub fn size_bytes(&self) -> usize {
        self.0.memory_usage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_means_this_text_and_no_other() {
        let text = "{\"a\":\".*(\\\\n) $^\n\",\"b\":\"é x#\"}";
        let pattern = ArgsPattern::new(&ArgsPattern::exactly(text)).unwrap();
        assert!(pattern.is_match(text));
        for other in [format!("{text}\n"), format!(" {text}"), text.replace('.', "x"), text.replace('\n', "")]
        {
            assert!(!pattern.is_match(&other), "{other}");
        }
    }
}

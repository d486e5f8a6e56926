//! How much of what a person is asked about do marks hide, and could something that acts be among it?
//!
//! A shape of a secret is a guess about text that an agent wrote. It may hide a part of a word from whoever decides; it may not
//! hide how a command is put together.

use serde_json::Value;

use super::{Redactor, marks, scan::OutputPiece};
use protocol::ConfirmationDetails;

/// Places in these details, as people see them, where a mark stands for something. What an agent asks a person is no consent,
/// so it is not counted.
pub fn hidden_places(details: &ConfirmationDetails) -> usize {
    let mut places = 0;
    let mut look = |text: &str| places += marks(text).count();
    match details {
        ConfirmationDetails::Edit { path, diff, .. } => {
            look(path);
            look(diff);
        }
        ConfirmationDetails::Exec { command, directory, .. } => {
            look(command);
            look(directory);
        }
        ConfirmationDetails::Mcp { tool, arguments, .. } => {
            look(tool);
            each_text(arguments, &mut look);
        }
        ConfirmationDetails::Fetch { urls, prompt } => {
            urls.iter().chain(prompt).for_each(|text| look(text));
        }
        ConfirmationDetails::Info { prompt } => look(prompt),
        ConfirmationDetails::Question { .. } | ConfirmationDetails::Budget { .. } => {}
    }
    places
}

impl Redactor {
    /// True if marks would hide something that a shell acts on: a blank, the end of a line, an operator, a quote.
    pub fn hides_syntax(&self, command: &str) -> bool {
        self.hidden(command).iter().any(|hidden| !hidden.chars().all(is_of_a_word))
    }

    /// The stretches that marks stand for.
    fn hidden<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut hidden = Vec::new();
        let mut told = 0;
        for piece in self.pieces(text) {
            if let OutputPiece::Plain { start, end } = piece {
                hidden.push(&text[told..start]);
                told = end;
            }
        }
        hidden.push(&text[told..]);
        hidden.retain(|stretch| !stretch.is_empty());
        hidden
    }
}

/// Every text and name in a value.
fn each_text(value: &Value, look: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => look(text),
        Value::Array(values) => values.iter().for_each(|value| each_text(value, look)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            look(name);
            each_text(value, look);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a shell takes for a part of a word, whatever stands beside it.
fn is_of_a_word(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '.' | '_' | '-' | '+' | '/' | '=' | ':' | '@' | '%' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RedactorParts;

    fn redactor() -> Redactor {
        let environment = std::iter::once(("MY_TOKEN".to_owned(), "correct-horse-battery".to_owned()));
        Redactor::new(RedactorParts { environment, patterns: Vec::new() })
    }

    #[test]
    fn what_is_hidden_is_counted() {
        let fetch = |url: &str| {
            let details = ConfirmationDetails::Fetch { urls: vec![url.to_owned()], prompt: None };
            hidden_places(&redactor().confirmation_details(details))
        };
        assert_eq!(fetch("https://example.com/a"), 0);
        assert_eq!(fetch("https://ada:secret-word@example.com/"), 1);
        let key = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "A".repeat(64));
        let details = ConfirmationDetails::Info { prompt: format!("a\n{key}\nb correct-horse-battery") };
        assert_eq!(hidden_places(&redactor().confirmation_details(details)), 2);
        let details = ConfirmationDetails::Mcp {
            server: "s".to_owned(),
            tool: "t".to_owned(),
            arguments: serde_json::json!({"a": ["correct-horse-battery"]}),
        };
        assert_eq!(hidden_places(&redactor().confirmation_details(details)), 1);
    }

    #[test]
    fn a_secret_within_a_word_hides_no_syntax_and_one_across_words_does() {
        for plain in [
            "curl https://ada:secret-word@example.com/",
            "curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789'",
            "echo correct-horse-battery",
            "git status",
        ] {
            assert!(!redactor().hides_syntax(plain), "{plain}");
        }
        for acting in [
            "git fetch http://ci:t0ken&&make&&:@git.example.com",
            "echo http://a:b;make;:@x",
            "echo http://a:b;{touch,pwned};:@x",
            "echo http://a:b$(make):@x",
            "echo \"-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA\"\ntouch pwned\necho \"-----END PRIVATE KEY-----\"",
        ] {
            assert!(redactor().hides_syntax(acting), "{acting}");
        }
    }
}

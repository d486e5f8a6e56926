//! Of which words is a command made that stands in a setting as one text?
//!
//! Split like a shell would (POSIX, "Quoting") and run without one: quotes and `\` keep blanks together, and nothing else
//! means anything. `$`, `*`, `|` and the like are letters.

use jsonc_parser::ast::Value;
use serde_json::{Value as Json, json};

use super::shapes::{SettingShape, ShapeError};

/// The reason why a text is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadCommand {
    #[error("a quote is not closed")]
    OpenQuote,
    #[error("it ends with a `\\`")]
    OpenEscape,
    #[error("there is no program in it")]
    Empty,
    #[error("it has a NUL character")]
    Nul,
}

/// The program and its arguments.
pub fn command_words(text: &str) -> Result<Vec<String>, BadCommand> {
    let mut words = Vec::new();
    // `None` between words: a word may be empty, as `''` is.
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\0' => return Err(BadCommand::Nul),
            '\'' => single_quoted(&mut letters, word.get_or_insert_default())?,
            '"' => double_quoted(&mut letters, word.get_or_insert_default())?,
            '\\' => match letters.next() {
                None => return Err(BadCommand::OpenEscape),
                // A line that goes on.
                Some('\n') => {}
                Some(next) => word.get_or_insert_default().push(next),
            },
            blank if blank.is_whitespace() => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err(BadCommand::Empty),
    }
}

fn single_quoted(letters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), BadCommand> {
    for letter in letters {
        match letter {
            '\'' => return Ok(()),
            '\0' => return Err(BadCommand::Nul),
            letter => word.push(letter),
        }
    }
    Err(BadCommand::OpenQuote)
}

fn double_quoted(letters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), BadCommand> {
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Ok(()),
            '\0' => return Err(BadCommand::Nul),
            '\\' => match letters.next() {
                None => return Err(BadCommand::OpenQuote),
                Some('\n') => {}
                Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                // Before other letters it stands for itself.
                Some(next) => word.extend(['\\', next]),
            },
            letter => word.push(letter),
        }
    }
    Err(BadCommand::OpenQuote)
}

/// A command: a text of which words can be made.
pub(super) struct CommandLine;

impl SettingShape for CommandLine {
    type Out = String;

    fn read(&self, value: &Value<'_>) -> Result<String, ShapeError> {
        let text = value.as_string_lit().ok_or(ShapeError::WrongType)?.value.trim();
        command_words(text).map(|_| text.to_owned()).map_err(|_| ShapeError::BadValue)
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": "\\S" })
    }

    fn is_text(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them_and_nothing_else_happens() {
        let good: &[(&str, &[&str])] = &[
            ("tools list", &["tools", "list"]),
            ("  tools\t\n list ", &["tools", "list"]),
            ("'./my tools' --json", &["./my tools", "--json"]),
            (r#"a "b c"d'e f'g"#, &["a", "b cde fg"]),
            (r#"a '' """#, &["a", "", ""]),
            (r"a\ b \'c\' \\", &["a b", "'c'", "\\"]),
            (r#"a "\"\\\$\` \n" '\'"#, &["a", "\"\\$` \\n", "\\"]),
            ("a \\\n b", &["a", "b"]),
            (
                "a $HOME *.rs | b > c # d ; e && f",
                &["a", "$HOME", "*.rs", "|", "b", ">", "c", "#", "d", ";", "e", "&&", "f"],
            ),
        ];
        for (text, expected) in good {
            let words = command_words(text).unwrap();
            assert_eq!(words, *expected, "{text}");
        }
        for (text, expected) in [
            ("a 'b", BadCommand::OpenQuote),
            ("a \"b", BadCommand::OpenQuote),
            ("a \"b\\", BadCommand::OpenQuote),
            ("a \\", BadCommand::OpenEscape),
            (" \n", BadCommand::Empty),
            ("'' a", BadCommand::Empty),
            ("a '\0'", BadCommand::Nul),
            ("a \0", BadCommand::Nul),
        ] {
            assert_eq!(command_words(text), Err(expected), "{text}");
        }
    }
}

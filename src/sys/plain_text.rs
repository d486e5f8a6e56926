//! The commands of a text for a shell whose every sign a shell reads in one way, and the place at which a text is no such one.
//!
//! Read are words with quotes, variables and `$(…)` within double quotes, redirections to files, and commands behind each other (`;`, `&&`,
//! `||`, `|`, `&`). Not read are patterns, braces, backslashes without quotes, functions, subshells, here-documents, and values in words without
//! quotes, which a shell splits (bash(1), EXPANSION). Assignments, tests and words like `if` are read as commands of their names, which nobody
//! takes for known: what they would change is not followed.

use std::{iter::Peekable, str::Chars};

/// The place of a value in a word: anything may stand there, and an agent may have chosen it.
pub const DATA: char = '\0';
/// The same of a value that stands in the environment: nobody but its person has chosen it.
pub const OWN_VALUE: char = '\u{2}';

/// Beginnings of the names of variables with what an agent does.
const OF_EVENTS: &[&str] = &[
    "CLAUDE",
    "GEMINI",
    "CODEX",
    "SUBAGENT",
    "HOOK",
    "TOOL",
    "ARG",
    "INPUT",
    "FILE",
    "BASH",
    "REPLY",
    "_",
    "OLDPWD",
    "DIRSTACK",
    "PIPESTATUS",
];
/// Longest text that is read.
const MOST_BYTES: usize = 16 * 1024;
/// Letters of a text that is not read, for a person.
const MOST_SHOWN: usize = 200;
/// Commands within `$(…)` within others that are read.
const DEEPEST: usize = 8;
/// Letters that mean something to a shell where no quotes hide them.
const SPECIAL: &[char] = &['*', '?', '{', '}', '(', ')', '`', '~', '!', '[', ']', '\\', '^'];

/// The commands of a text, those within `$(…)` among them.
#[derive(Debug, Default)]
pub struct PlainScript {
    pub commands: Vec<PlainCommand>,
}

/// One simple command.
#[derive(Debug, Default)]
pub struct PlainCommand {
    pub words: Vec<PlainWord>,
    /// Files that it reads from or writes to by a redirection.
    pub files: Vec<PlainRedirection>,
}

/// A file that a command reads from, or writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainRedirection {
    pub file: PlainWord,
    /// `<`; otherwise it is written.
    pub is_read: bool,
}

/// A word, known variables filled in, each other value as [`DATA`] or [`OWN_VALUE`].
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PlainWord {
    pub text: String,
}

/// The value of a variable by its name, where it is known.
pub type KnownVariable<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl PlainWord {
    /// The text of a word without a value of which nobody knows what it is.
    pub fn literal(&self) -> Option<&str> {
        (!self.text.contains([DATA, OWN_VALUE])).then_some(self.text.as_str())
    }

    /// The text of a word that nobody but its person has chosen.
    pub fn of_person(&self) -> Option<&str> {
        (!self.text.contains(DATA)).then_some(self.text.as_str())
    }
}

impl PlainCommand {
    /// Its words for a person.
    pub fn shown(&self) -> String {
        let words = self.words.iter().map(|word| word.text.clone());
        let files =
            self.files.iter().map(|it| format!("{} {}", if it.is_read { '<' } else { '>' }, it.file.text));
        let shown: Vec<String> = words.chain(files).collect();
        shown.join(" ").replace([DATA, OWN_VALUE], "$…")
    }
}

impl PlainScript {
    /// Reads a text; otherwise the part of it that is not read.
    pub fn read(text: &str, known: &KnownVariable<'_>) -> Result<PlainScript, String> {
        // Blanks of a shell are these three; whatever else looks like one, or like nothing, it takes for a letter.
        let is_odd = |letter: char| {
            !matches!(letter, ' ' | '\t' | '\n') && (letter.is_whitespace() || letter.is_control())
        };
        if MOST_BYTES < text.len() || text.contains(is_odd) {
            let beginning: String = text.chars().take(MOST_SHOWN).collect();
            return Err(beginning);
        }
        let mut reader =
            TextReader { letters: text.chars().peekable(), known, commands: Vec::new(), depth: 0 };
        match reader.list(false) {
            Some(()) => Ok(PlainScript { commands: reader.commands }),
            None => {
                let left = reader.letters.count();
                Err(around(text, text.chars().count().saturating_sub(left)))
            }
        }
    }
}

/// The line of a text in which this letter stands.
fn around(text: &str, letter: usize) -> String {
    let at = text.char_indices().nth(letter.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[begin..].lines().next().unwrap_or_default().trim();
    if line.is_empty() { text.trim().to_owned() } else { line.to_owned() }
}

struct TextReader<'a> {
    letters: Peekable<Chars<'a>>,
    known: &'a KnownVariable<'a>,
    commands: Vec<PlainCommand>,
    /// `$(…)` around the place that is read.
    depth: usize,
}

/// The thing that stands where a word was looked for.
enum Next {
    Word(PlainWord),
    /// The command is over.
    End,
    /// A `)`, or the end of the text.
    Close,
}

impl TextReader<'_> {
    /// Reads commands up to the end, or up to the `)` that ends them.
    fn list(&mut self, is_within: bool) -> Option<()> {
        loop {
            let mut command = PlainCommand::default();
            let is_last = loop {
                match self.next(&mut command)? {
                    Next::Word(word) => command.words.push(word),
                    Next::End => break false,
                    Next::Close => break true,
                }
            };
            if !command.words.is_empty() || !command.files.is_empty() {
                self.commands.push(command);
            }
            if is_last {
                let is_closed = self.letters.next().is_some();
                return (is_closed == is_within).then_some(());
            }
        }
    }

    /// The next word of a command; redirections before it are taken in.
    fn next(&mut self, command: &mut PlainCommand) -> Option<Next> {
        loop {
            while self.letters.next_if(|letter| matches!(letter, ' ' | '\t')).is_some() {}
            let Some(letter) = self.letters.peek().copied() else { return Some(Next::Close) };
            match letter {
                ')' => return Some(Next::Close),
                '#' => while self.letters.next_if(|letter| *letter != '\n').is_some() {},
                ';' | '\n' => {
                    self.letters.next();
                    return (self.letters.peek() != Some(&';')).then_some(Next::End);
                }
                '|' => {
                    self.letters.next();
                    let _or = self.letters.next_if_eq(&'|');
                    return (self.letters.peek() != Some(&'&')).then_some(Next::End);
                }
                '&' => {
                    self.letters.next();
                    // Not every shell takes `&>` for one sign.
                    (self.letters.peek() != Some(&'>')).then_some(())?;
                    let _and = self.letters.next_if_eq(&'&');
                    return Some(Next::End);
                }
                '<' | '>' => {
                    self.letters.next();
                    self.redirected(command, letter == '<')?;
                }
                _ => {
                    // The number of a file: digits without quotes.
                    let mut ahead = self.letters.clone();
                    while ahead.next_if(char::is_ascii_digit).is_some() {}
                    let is_number = letter.is_ascii_digit() && matches!(ahead.peek(), Some('<' | '>'));
                    if !is_number {
                        return self.word().map(Next::Word);
                    }
                    self.letters = ahead;
                }
            }
        }
    }

    /// The file behind a `<` or `>`.
    fn redirected(&mut self, command: &mut PlainCommand, is_read: bool) -> Option<()> {
        if !is_read {
            let _appends = self.letters.next_if_eq(&'>');
            if self.letters.next_if_eq(&'&').is_some() {
                let number = self.word()?;
                return matches!(number.text.as_str(), "1" | "2" | "-").then_some(());
            }
        }
        while self.letters.next_if(|letter| matches!(letter, ' ' | '\t')).is_some() {}
        match self.letters.peek() {
            None | Some('<' | '>' | '&' | '|' | '(' | ')' | ';' | '\n' | '#') => None,
            Some(_) => {
                let file = self.word()?;
                command.files.push(PlainRedirection { file, is_read });
                Some(())
            }
        }
    }

    fn word(&mut self) -> Option<PlainWord> {
        let mut word = String::new();
        let mut is_begun = false;
        while let Some(letter) = self.letters.peek().copied() {
            if letter.is_whitespace() || ";|&<>)".contains(letter) {
                break;
            }
            self.letters.next();
            match letter {
                '\'' => loop {
                    match self.letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                },
                '"' => self.quoted(&mut word)?,
                '$' => {
                    let value = self.value(false)?;
                    // Split it would be at blanks, and a pattern in it be searched.
                    if value.is_empty()
                        || value.contains(|it: char| it.is_whitespace() || SPECIAL.contains(&it))
                    {
                        return None;
                    }
                    word.push_str(&value);
                }
                '~' if !is_begun => {
                    let is_end = |it: &char| it.is_whitespace() || ";|&<>)/".contains(*it);
                    let is_home = self.letters.peek().is_none_or(is_end);
                    word.push_str(&(self.known)("HOME").filter(|_| is_home)?);
                }
                letter if SPECIAL.contains(&letter) => return None,
                letter => word.push(letter),
            }
            is_begun = true;
        }
        // Where nothing of a word was read, nothing ever would be.
        is_begun.then_some(PlainWord { text: word })
    }

    /// The rest of a text in double quotes.
    fn quoted(&mut self, word: &mut String) -> Option<()> {
        loop {
            match self.letters.next()? {
                '"' => return Some(()),
                '`' => return None,
                '$' => {
                    let value = self.value(true)?;
                    word.push_str(&value);
                }
                '\\' => match self.letters.next()? {
                    '\n' => return None,
                    letter if "$`\"\\".contains(letter) => word.push(letter),
                    letter => word.extend(['\\', letter]),
                },
                letter => word.push(letter),
            }
        }
    }

    /// The value behind a `$`. `is_quoted`: in double quotes, where no shell splits it.
    fn value(&mut self, is_quoted: bool) -> Option<String> {
        match self.letters.peek().copied() {
            Some('(') if is_quoted => {
                self.letters.next();
                // `$((`
                if self.letters.peek() == Some(&'(') {
                    return None;
                }
                self.depth += 1;
                (self.depth <= DEEPEST).then_some(())?;
                self.list(true)?;
                self.depth -= 1;
                Some(DATA.to_string())
            }
            Some('{') => {
                self.letters.next();
                let name = self.name();
                (self.letters.next() == Some('}')).then_some(())?;
                self.named(&name, is_quoted)
            }
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => {
                let name = self.name();
                self.named(&name, is_quoted)
            }
            Some(letter) if letter.is_ascii_digit() && is_quoted => {
                self.letters.next();
                Some(DATA.to_string())
            }
            // A `$` that stands for itself, e.g. at the end of a pattern of `grep`.
            Some('"' | ' ') if is_quoted => Some("$".to_owned()),
            _ => None,
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(letter) = self.letters.next_if(|it| it.is_ascii_alphanumeric() || *it == '_') {
            name.push(letter);
        }
        name
    }

    /// The value of a variable. One that is not known stands only where no shell splits it.
    fn named(&mut self, name: &str, is_quoted: bool) -> Option<String> {
        if name.is_empty() {
            return None;
        }
        if let Some(value) = (self.known)(name) {
            return Some(value);
        }
        let is_of_agent =
            OF_EVENTS.iter().any(|it| name.starts_with(it)) || name.chars().any(|it| it.is_ascii_lowercase());
        let value = if is_of_agent { DATA } else { OWN_VALUE };
        is_quoted.then(|| value.to_string())
    }
}

//! The commands of a text whose every sign is one that a shell reads in one way, and the place at which a text is no such one.
//!
//! Read are words with quotes, variables and `$(…)` within double quotes, assignments, redirections to files, and commands behind
//! each other (`;`, `&&`, `||`, `|`, `&`, `if`). Not read are patterns, braces, loops, functions, subshells, and values in words without
//! quotes, which a shell splits (bash(1), EXPANSION).

use std::{collections::BTreeMap, iter::Peekable, str::Chars};

/// The place of a value in a word: anything may stand there, and an agent may have chosen it.
pub(super) const DATA: char = '\0';
/// The same of a value that stands in the environment: nobody but its person has chosen it.
pub(super) const OWN_VALUE: char = '\u{2}';

/// Beginnings of the names of variables with what an agent does.
const OF_EVENTS: &[&str] =
    &["CLAUDE", "GEMINI", "CODEX", "SUBAGENT", "HOOK", "TOOL", "ARG", "INPUT", "FILE", "BASH", "REPLY"];

/// Words of the shell before those of a command.
const KEYWORDS: &[&str] = &["if", "then", "else", "elif", "fi", "!"];
/// Longest text that is read.
const MOST_BYTES: usize = 16 * 1024;
/// Letters of a text that is not read, for a person.
const MOST_SHOWN: usize = 200;
/// Commands within `$(…)` within others that are read.
const DEEPEST: usize = 8;
/// Letters that mean something to a shell where no quotes hide them.
const SPECIAL: &[char] = &['*', '?', '{', '}', '(', ')', '`', '~', '!', '[', ']'];

/// The commands of a text, those within `$(…)` among them.
#[derive(Debug, Default)]
pub(super) struct PlainScript {
    pub commands: Vec<PlainCommand>,
}

/// One simple command.
#[derive(Debug, Default)]
pub(super) struct PlainCommand {
    /// Variables that it sets, for itself or from then on.
    pub assignments: Vec<(String, PlainWord)>,
    pub words: Vec<PlainWord>,
    /// Files that it reads from or writes to, with their names.
    pub files: Vec<PlainWord>,
}

/// A word, known variables filled in, each other value as [`DATA`].
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct PlainWord {
    pub text: String,
}

/// The value of a variable by its name, where it is known.
type KnownVariable<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl PlainWord {
    /// True of a word without a value of which nobody knows what it is.
    pub fn is_literal(&self) -> bool {
        !self.text.contains([DATA, OWN_VALUE])
    }

    /// The text of a word that nobody but the hook's person has chosen.
    pub fn of_person(&self) -> Option<&str> {
        (!self.text.contains(DATA)).then_some(self.text.as_str())
    }

    /// The text of such a word.
    pub fn literal(&self) -> Option<&str> {
        self.is_literal().then_some(self.text.as_str())
    }
}

impl PlainCommand {
    /// Its words for a person.
    pub fn shown(&self) -> String {
        let assignments = self.assignments.iter().map(|(name, value)| format!("{name}={}", value.text));
        let words = self.words.iter().map(|word| word.text.clone());
        let files = self.files.iter().map(|file| format!("> {}", file.text));
        let shown: Vec<String> = assignments.chain(words).chain(files).collect();
        shown.join(" ").replace([DATA, OWN_VALUE], "$…")
    }

    /// True of `export` with nothing but assignments behind it.
    pub fn exports(&self) -> bool {
        matches!(&self.words[..], [word] if word.text == "export")
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.assignments.is_empty() && self.files.is_empty()
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
        let mut reader = TextReader {
            letters: text.chars().peekable(),
            known,
            commands: Vec::new(),
            assigned: BTreeMap::new(),
            depth: 0,
        };
        match reader.list(false) {
            Some(()) => Ok(PlainScript { commands: reader.commands }),
            None => {
                let left = reader.letters.count();
                let n_read = text.chars().count().saturating_sub(left);
                Err(around(text, n_read))
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
    /// Variables that the text has set by now, with their values where these are known.
    assigned: BTreeMap<String, Option<String>>,
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
                    Next::Word(word) => self.add(word, &mut command),
                    Next::End => break false,
                    Next::Close => break true,
                }
            };
            if !command.is_empty() {
                self.commands.push(command);
            }
            if is_last {
                let is_closed = self.letters.next().is_some();
                return (is_closed == is_within).then_some(());
            }
        }
    }

    fn add(&mut self, word: PlainWord, command: &mut PlainCommand) {
        let is_first = command.words.is_empty();
        if is_first && command.assignments.is_empty() && KEYWORDS.contains(&word.text.as_str()) {
            return;
        }
        let may_assign = is_first || command.exports();
        match word.text.split_once('=').filter(|(name, _)| may_assign && is_name(name)) {
            Some((name, value)) => {
                let value = PlainWord { text: value.to_owned() };
                self.assigned.insert(name.to_owned(), value.literal().map(str::to_owned));
                command.assignments.push((name.to_owned(), value));
            }
            None => command.words.push(word),
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
                    if self.letters.next_if_eq(&'>').is_some() {
                        self.redirected(command, false)?;
                        continue;
                    }
                    let _and = self.letters.next_if_eq(&'&');
                    return Some(Next::End);
                }
                '<' | '>' => {
                    self.letters.next();
                    self.redirected(command, letter == '<')?;
                }
                _ => {
                    let word = self.word(command.words.is_empty() || command.exports())?;
                    let is_number = !word.text.is_empty() && word.text.chars().all(|it| it.is_ascii_digit());
                    let is_of_file = is_number && matches!(self.letters.peek(), Some('<' | '>'));
                    if !is_of_file {
                        return Some(Next::Word(word));
                    }
                }
            }
        }
    }

    /// The file behind a `<` or `>`.
    fn redirected(&mut self, command: &mut PlainCommand, is_read: bool) -> Option<()> {
        if !is_read {
            let _appends = self.letters.next_if_eq(&'>');
            if self.letters.next_if_eq(&'&').is_some() {
                let number = self.word(false)?;
                return matches!(number.text.as_str(), "1" | "2" | "-").then_some(());
            }
        }
        while self.letters.next_if(|letter| matches!(letter, ' ' | '\t')).is_some() {}
        match self.letters.peek() {
            None | Some('<' | '>' | '&' | '|' | '(' | ')' | ';' | '\n') => None,
            Some(_) => {
                let file = self.word(false)?;
                command.files.push(file);
                Some(())
            }
        }
    }

    /// Reads a word. `may_assign`: no other word stands before it in its command.
    fn word(&mut self, may_assign: bool) -> Option<PlainWord> {
        let mut word = String::new();
        // A shell splits what is no value of an assignment.
        let mut is_value = false;
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
                '$' => match self.value(is_value)? {
                    (value, true) => word.push_str(&value),
                    // Split it would be at blanks, and a pattern in it be searched.
                    (value, false) if value.contains([' ', '\t', '*', '?', '[']) => return None,
                    (value, false) => word.push_str(&value),
                },
                '\\' => match self.letters.next()? {
                    '\n' => {}
                    letter => word.push(letter),
                },
                '~' if word.is_empty() || is_value && word.ends_with('=') => {
                    let is_home =
                        self.letters.peek().is_none_or(|it| it.is_whitespace() || ";|&<>)/".contains(*it));
                    word.push_str(&(self.known)("HOME").filter(|_| is_home)?);
                }
                '!' if word.is_empty() && self.letters.peek().is_some_and(|it| it.is_whitespace()) => {
                    word.push('!')
                }
                '[' | ']' if word.is_empty() && self.letters.peek() == Some(&letter) => {
                    self.letters.next();
                    word.extend([letter, letter]);
                    // It is a word of its own.
                    let is_end = |next: &char| next.is_whitespace() || ";|&".contains(*next);
                    self.letters.peek().is_none_or(is_end).then_some(())?;
                }
                '[' | ']'
                    if word.is_empty()
                        && self
                            .letters
                            .peek()
                            .is_none_or(|it| it.is_whitespace() || ";|&)".contains(*it)) =>
                {
                    word.push(letter);
                }
                '=' => {
                    is_value |= may_assign && is_name(&word);
                    word.push('=');
                }
                letter if SPECIAL.contains(&letter) => return None,
                letter => word.push(letter),
            }
        }
        Some(PlainWord { text: word })
    }

    /// The rest of a text in double quotes.
    fn quoted(&mut self, word: &mut String) -> Option<()> {
        loop {
            match self.letters.next()? {
                '"' => return Some(()),
                '`' => return None,
                '$' => {
                    let (value, _) = self.value(true)?;
                    word.push_str(&value);
                }
                '\\' => match self.letters.next()? {
                    '\n' => {}
                    letter if "$`\"\\".contains(letter) => word.push(letter),
                    letter => word.extend(['\\', letter]),
                },
                letter => word.push(letter),
            }
        }
    }

    /// The value behind a `$`, and whether no shell splits it.
    fn value(&mut self, is_whole: bool) -> Option<(String, bool)> {
        let data = || DATA.to_string();
        match self.letters.peek().copied() {
            Some('(') if is_whole => {
                self.letters.next();
                // `$((`
                if self.letters.peek() == Some(&'(') {
                    return None;
                }
                self.depth += 1;
                (self.depth <= DEEPEST).then_some(())?;
                self.list(true)?;
                self.depth -= 1;
                Some((data(), true))
            }
            Some('{') => {
                self.letters.next();
                let name = self.name();
                match self.letters.next().filter(|_| !name.is_empty())? {
                    '}' => self.named(&name, is_whole),
                    // `${X:-none}`, `${X##*/}`: a text or a pattern in which nothing more is filled in.
                    sign @ (':' | '-' | '+' | '#' | '%') if is_whole => {
                        // Behind a `:` alone stand numbers, with which a shell reckons.
                        let is_text = sign != ':' || self.letters.next_if(|it| "-+".contains(*it)).is_some();
                        let is_plain = |it: &char| it.is_alphanumeric() || "-+#%*./ _".contains(*it);
                        while self.letters.next_if(is_plain).is_some() {}
                        (is_text && self.letters.next() == Some('}')).then(|| (data(), true))
                    }
                    _ => None,
                }
            }
            Some('?' | '#' | '$' | '!') => {
                self.letters.next();
                Some(("0".to_owned(), true))
            }
            Some(letter) if letter.is_ascii_digit() && is_whole => {
                self.letters.next();
                Some((data(), true))
            }
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => {
                let name = self.name();
                self.named(&name, is_whole)
            }
            // A `$` that stands for itself, e.g. at the end of a pattern of `grep`.
            Some('"' | ' ') | None if is_whole => Some(("$".to_owned(), true)),
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

    fn named(&self, name: &str, is_whole: bool) -> Option<(String, bool)> {
        let value = match self.assigned.get(name) {
            Some(value) => value.clone(),
            None => (self.known)(name),
        };
        match value {
            Some(value) => Some((value, is_whole)),
            None if is_whole => {
                let is_set = self.assigned.contains_key(name);
                let is_of_agent = is_set || OF_EVENTS.iter().any(|it| name.starts_with(it));
                let value = if is_of_agent || name.chars().any(|it| it.is_ascii_lowercase()) {
                    DATA
                } else {
                    OWN_VALUE
                };
                Some((value.to_string(), true))
            }
            None => None,
        }
    }
}

/// True of the name of a variable.
fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

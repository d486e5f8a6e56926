//! What does a word become when it is expanded? As many values as its braces make, each known or not.

mod braces;

use std::path::Path;

use super::syntax::{
    CommandJoiner, CommandNode, RedirectOperator, ScriptItem, ShellPipeline, ShellScript, ShellWord,
    SimpleCommand, WordPiece,
};
use braces::{BraceExpansion, has_unclear_braces};

/// One word of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct WordValue {
    letters: Vec<Letter>,
    /// For people: as written.
    raw: String,
    /// What it is, without quotes, where all of it is known.
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letter {
    Plain(char),
    Quoted(char),
    /// Any letters.
    Unknown,
    /// Any letters, the first of which is no `-`.
    Found,
    /// Any letters, and any number of words.
    Splitting,
}

/// What is known of the shell's own variables.
pub(super) struct ShellVariables<'a> {
    pub home: Option<&'a Path>,
    pub directory: Option<&'a Path>,
    /// `cat` is the program: no function has its name.
    pub has_own_cat: bool,
}

impl WordValue {
    fn new(letters: Vec<Letter>, raw: &str) -> WordValue {
        let text = letters.iter().map(|letter| match letter {
            Letter::Plain(letter) | Letter::Quoted(letter) => Some(*letter),
            Letter::Unknown | Letter::Found | Letter::Splitting => None,
        });
        WordValue { text: text.collect(), letters, raw: raw.to_owned() }
    }

    /// Just these letters.
    pub fn literal(text: &str) -> WordValue {
        WordValue::new(text.chars().map(Letter::Quoted).collect(), text)
    }

    /// Nobody knows, and it may be several words.
    pub fn unknown(raw: &str) -> WordValue {
        WordValue::new(vec![Letter::Splitting], raw)
    }

    /// This one with every `marker` replaced by something unknown; itself when there is none.
    pub fn replacing(&self, marker: &str) -> WordValue {
        self.with(marker, Letter::Unknown)
    }

    /// The same, by something that is no option.
    pub fn finding(&self, marker: &str) -> WordValue {
        self.with(marker, Letter::Found)
    }

    fn with(&self, marker: &str, instead: Letter) -> WordValue {
        match &self.text {
            Some(text) if !marker.is_empty() && text.contains(marker) => {
                let mut letters = Vec::new();
                for (at, part) in text.split(marker).enumerate() {
                    if at > 0 {
                        letters.push(instead);
                    }
                    letters.extend(part.chars().map(Letter::Quoted));
                }
                WordValue::new(letters, text)
            }
            _ => self.clone(),
        }
    }

    pub fn known(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Letters that it takes to look at it.
    pub fn weight(&self) -> usize {
        self.letters.len()
    }

    pub fn is(&self, text: &str) -> bool {
        self.known() == Some(text)
    }

    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The known letters it begins with.
    pub fn lead(&self) -> String {
        self.letters.iter().map_while(|letter| letter.known()).collect()
    }

    /// Its known letters: what it is when everything unknown in it is empty.
    pub fn hollow(&self) -> String {
        self.letters.iter().filter_map(|letter| letter.known()).collect()
    }

    /// True if it may become no word, or several.
    pub fn may_split(&self) -> bool {
        self.letters.contains(&Letter::Splitting)
    }

    /// True if it may become another number of words than one: it is split, or a pattern that finds files.
    pub fn may_be_many(&self) -> bool {
        self.may_split() || self.is_pattern()
    }

    /// True if it may be an option, as far as can be told.
    pub fn may_be_option(&self) -> bool {
        let may_begin = match self.letters.first() {
            Some(Letter::Found) => false,
            Some(Letter::Unknown | Letter::Splitting) | None => true,
            Some(first) => first.known() == Some('-'),
        };
        self.known().is_none() && (self.may_split() || may_begin)
    }

    /// True if it is a pattern that finds a file whose name looks like an option, where there is one.
    pub fn may_find_option(&self) -> bool {
        self.is_pattern()
            && match self.letters.first() {
                Some(Letter::Plain(first)) => matches!(first, '*' | '?' | '[' | '-'),
                Some(Letter::Quoted(first)) => *first == '-',
                Some(Letter::Unknown | Letter::Found | Letter::Splitting) | None => false,
            }
    }

    /// True if it is a pattern that files are found by.
    pub fn is_pattern(&self) -> bool {
        let plain = |wanted: char| self.letters.contains(&Letter::Plain(wanted));
        plain('*') || plain('?') || (plain('[') && plain(']'))
    }

    /// Its text with each letter that is part of a pattern marked.
    pub fn pattern(&self) -> Vec<(char, bool)> {
        let letters = self.letters.iter().filter_map(|letter| match letter {
            Letter::Plain(letter) => Some((*letter, matches!(letter, '*' | '?' | '['))),
            Letter::Quoted(letter) => Some((*letter, false)),
            Letter::Unknown | Letter::Found | Letter::Splitting => None,
        });
        letters.collect()
    }

    /// From this letter on, e.g. behind a `=`.
    pub fn after(&self, count: usize) -> WordValue {
        let rest = self.letters.iter().skip(count).copied().collect();
        let mut value = WordValue::new(rest, &self.raw);
        if let Some(text) = &value.text {
            value.raw = text.clone();
        }
        value
    }

    /// A text that is a pattern where it has the signs of one.
    pub fn pattern_of(text: &str) -> WordValue {
        WordValue::new(text.chars().map(Letter::Plain).collect(), text)
    }

    /// The name behind its last `/`; `None` = that is not known, or no name.
    pub fn last_name(&self) -> Option<WordValue> {
        let is_slash = |letter: &Letter| letter.known() == Some('/');
        let end = self.letters.iter().rposition(|letter| !is_slash(letter))? + 1;
        let start = self.letters[..end].iter().rposition(is_slash).map_or(0, |at| at + 1);
        let name = WordValue::new(self.letters[start..end].to_vec(), &self.raw);
        name.known().is_some_and(|text| !matches!(text, "." | "..")).then_some(name)
    }

    /// It as a folder, with the other below it.
    pub fn joined(&self, below: &WordValue) -> WordValue {
        let letters = self.letters.iter().chain([&Letter::Quoted('/')]).chain(&below.letters);
        WordValue::new(letters.copied().collect(), &below.raw)
    }

    pub fn word(&self) -> protocol::CommandWord {
        match &self.text {
            Some(text) => protocol::CommandWord::Known(text.clone()),
            None => protocol::CommandWord::Unknown(self.raw.clone()),
        }
    }
}

impl Letter {
    fn known(self) -> Option<char> {
        match self {
            Letter::Plain(letter) | Letter::Quoted(letter) => Some(letter),
            Letter::Unknown | Letter::Found | Letter::Splitting => None,
        }
    }
}

/// The values of a word among a command's words.
pub(super) fn values(word: &ShellWord, known: &ShellVariables<'_>) -> Vec<WordValue> {
    let letters = letters(word, known);
    let mut expanded = BraceExpansion::default();
    if has_unclear_braces(word, &letters) || !expanded.take(&letters, 0) {
        return vec![WordValue::unknown(&word.raw)];
    }
    // An alternative of nothing is no word; quotes without anything between are one.
    let has_quotes = word.pieces.iter().any(|piece| matches!(piece, WordPiece::Quoted(_)));
    let words = expanded.values.into_iter().filter(|letters| has_quotes || !letters.is_empty());
    words.map(|letters| WordValue::new(tilde(letters, known), &word.raw)).collect()
}

/// True if braces make other words of it than stand there.
fn has_braces(word: &ShellWord, known: &ShellVariables<'_>) -> bool {
    let letters = letters(word, known);
    let mut expanded = BraceExpansion::default();
    !expanded.take(&letters, 0) || expanded.values != [letters]
}

/// True if another shell than bash may make something else of it: braces, `~` in the middle of a word, `~+` and `~-`.
pub(super) fn is_of_bash(word: &ShellWord, known: &ShellVariables<'_>) -> bool {
    let letters = letters(word, known);
    let is =
        |at: usize, signs: &[char]| signs.iter().any(|sign| letters.get(at) == Some(&Letter::Plain(*sign)));
    let has_tilde = (1..letters.len()).any(|at| is(at, &['~']) && is(at - 1, &['=', ':']));
    has_tilde || (is(0, &['~']) && is(1, &['+', '-'])) || has_braces(word, known)
}

/// The one value of a word that no braces count in: the target of a redirection, what is assigned.
pub(super) fn value(word: &ShellWord, known: &ShellVariables<'_>) -> WordValue {
    WordValue::new(tilde(letters(word, known), known), &word.raw)
}

fn letters(word: &ShellWord, known: &ShellVariables<'_>) -> Vec<Letter> {
    let mut letters = Vec::new();
    for piece in &word.pieces {
        letters_of(piece, known, &mut letters);
    }
    letters
}

fn letters_of(piece: &WordPiece, known: &ShellVariables<'_>, letters: &mut Vec<Letter>) {
    let unknown = |quoted: bool| if quoted { Letter::Unknown } else { Letter::Splitting };
    match piece {
        WordPiece::Plain(text) => letters.extend(text.chars().map(Letter::Plain)),
        WordPiece::Quoted(text) => letters.extend(text.chars().map(Letter::Quoted)),
        WordPiece::Variable { name, quoted } => {
            let path = match name.as_str() {
                "HOME" => known.home,
                "PWD" => known.directory,
                _ => None,
            };
            let path = path.and_then(Path::to_str);
            // Without quotes, blanks part it and patterns count.
            let is_whole = |path: &&str| *quoted || !path.contains([' ', '\t', '\n', '*', '?', '[', '\\']);
            match path.filter(is_whole) {
                Some(path) => letters.extend(path.chars().map(Letter::Quoted)),
                None => letters.push(unknown(*quoted && name != "@")),
            }
        }
        // `"${list[@]}"` is many words.
        WordPiece::Expansion { .. } => letters.push(Letter::Splitting),
        WordPiece::Substitution { script, quoted } => {
            match document(script).filter(|_| *quoted && known.has_own_cat) {
                Some(text) => letters.extend(text.chars().map(Letter::Quoted)),
                None => letters.push(unknown(*quoted)),
            }
        }
        WordPiece::Process(_) | WordPiece::Arithmetic(_) => letters.push(Letter::Unknown),
        WordPiece::Document(text) => match text.get() {
            Some(pieces) => pieces.iter().for_each(|piece| letters_of(piece, known, letters)),
            None => letters.push(Letter::Unknown),
        },
    }
}

/// The text of `cat <<'END' …`, where nothing in it has to be expanded: in quotes it is what stands there but for line ends
/// behind it. So messages of several lines are written.
fn document(script: &ShellScript) -> Option<String> {
    let [ScriptItem { pipeline: ShellPipeline { time: None, stages }, joiner: CommandJoiner::Then }] =
        script.items.as_slice()
    else {
        return None;
    };
    let [CommandNode::Simple(SimpleCommand { assignments, words, redirects })] = stages.as_slice() else {
        return None;
    };
    let ([], [cat], [redirect]) = (assignments.as_slice(), words.as_slice(), redirects.as_slice()) else {
        return None;
    };
    let is_input =
        redirect.operator == RedirectOperator::Document && redirect.fd.as_deref().is_none_or(|fd| fd == "0");
    if !is_input || cat.plain() != Some("cat") {
        return None;
    }
    let [WordPiece::Document(text)] = redirect.target.pieces.as_slice() else { return None };
    let mut whole = String::new();
    for piece in text.get()? {
        let (WordPiece::Plain(text) | WordPiece::Quoted(text)) = piece else { return None };
        whole.push_str(text);
    }
    Some(whole.trim_end_matches('\n').to_owned())
}

/// `~` at the beginning, and behind `name=`.
fn tilde(letters: Vec<Letter>, known: &ShellVariables<'_>) -> Vec<Letter> {
    let mut begins = vec![0];
    let name = letters.iter().take_while(|letter| match letter {
        Letter::Plain(letter) => letter.is_ascii_alphanumeric() || *letter == '_',
        _ => false,
    });
    let equals = name.count();
    let begins_name = matches!(letters.first(), Some(Letter::Plain(first)) if !first.is_ascii_digit());
    if begins_name && equals > 0 && letters.get(equals) == Some(&Letter::Plain('=')) {
        begins.extend(
            (equals + 1..=letters.len())
                .filter(|at| *at == equals + 1 || letters[at - 1] == Letter::Plain(':')),
        );
    }
    let mut result = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        if letters[at] != Letter::Plain('~') || !begins.contains(&at) {
            result.push(letters[at]);
            at += 1;
            continue;
        }
        let is_end = |letter: &Letter| matches!(letter, Letter::Plain('/' | ':'));
        let length = letters[at..].iter().position(is_end).unwrap_or(letters.len() - at);
        let name: Option<String> = letters[at + 1..at + length]
            .iter()
            .map(|letter| match letter {
                Letter::Plain(letter) => Some(*letter),
                _ => None,
            })
            .collect();
        let path = match name.as_deref() {
            Some("") => known.home,
            Some("+") => known.directory,
            // A quoted letter among them makes it no `~`.
            None => {
                result.push(letters[at]);
                at += 1;
                continue;
            }
            Some(_) => None,
        };
        match path.and_then(Path::to_str) {
            Some(path) => result.extend(path.chars().map(Letter::Quoted)),
            None => result.push(Letter::Unknown),
        }
        at += length;
    }
    result
}

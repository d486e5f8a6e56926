//! What does a word become when it is expanded? As many values as its braces make, each known or not.

use std::path::Path;

use super::syntax::{
    CommandJoiner, CommandNode, RedirectOperator, ScriptItem, ShellPipeline, ShellScript, ShellWord,
    SimpleCommand, WordPiece,
};

/// Values that the braces of one word may make. More are one that is not known.
const MOST_VALUES: usize = 256;
/// Letters that the braces of one word may make on the way to its values.
const MOST_LETTERS: usize = 1 << 18;
/// Numbers that `{1..9}` may count.
const MOST_COUNTED: i64 = 100;

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
            Letter::Unknown | Letter::Splitting => None,
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
        match &self.text {
            Some(text) if !marker.is_empty() && text.contains(marker) => {
                let mut letters = Vec::new();
                for (at, part) in text.split(marker).enumerate() {
                    if at > 0 {
                        letters.push(Letter::Unknown);
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

    /// Whether it may become no word, or several.
    pub fn may_split(&self) -> bool {
        self.letters.contains(&Letter::Splitting)
    }

    /// Whether it may be an option, as far as can be told.
    pub fn may_be_option(&self) -> bool {
        self.known().is_none() && (self.may_split() || self.lead().is_empty() || self.lead().starts_with('-'))
    }

    /// Whether it is a pattern that files are found by.
    pub fn is_pattern(&self) -> bool {
        let plain = |wanted: char| self.letters.contains(&Letter::Plain(wanted));
        plain('*') || plain('?') || (plain('[') && plain(']'))
    }

    /// Its text with each letter that is part of a pattern marked.
    pub fn pattern(&self) -> Vec<(char, bool)> {
        let letters = self.letters.iter().filter_map(|letter| match letter {
            Letter::Plain(letter) => Some((*letter, matches!(letter, '*' | '?' | '['))),
            Letter::Quoted(letter) => Some((*letter, false)),
            Letter::Unknown | Letter::Splitting => None,
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
            Letter::Unknown | Letter::Splitting => None,
        }
    }
}

/// The values of a word among a command's words.
pub(super) fn values(word: &ShellWord, known: &ShellVariables<'_>) -> Vec<WordValue> {
    let letters = letters(word, known);
    let mut expanded = BraceExpansion::default();
    if !expanded.take(&letters, 0) {
        return vec![WordValue::unknown(&word.raw)];
    }
    // An alternative of nothing is no word; quotes without anything between are one.
    let has_quotes = word.pieces.iter().any(|piece| matches!(piece, WordPiece::Quoted(_)));
    let words = expanded.values.into_iter().filter(|letters| has_quotes || !letters.is_empty());
    words.map(|letters| WordValue::new(tilde(letters, known), &word.raw)).collect()
}

/// Whether braces make other words of it than stand there.
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
    if equals > 0 && letters.get(equals) == Some(&Letter::Plain('=')) {
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

/// The words that `{a,b}` and `{1..3}` make of one.
#[derive(Default)]
struct BraceExpansion {
    values: Vec<Vec<Letter>>,
    /// Letters that were looked at for them.
    looked_at: usize,
}

impl BraceExpansion {
    /// False when there would be too many.
    fn take(&mut self, letters: &[Letter], depth: usize) -> bool {
        self.looked_at += letters.len();
        if depth > MOST_VALUES || self.values.len() >= MOST_VALUES {
            return false;
        }
        if depth > 0 && self.looked_at > MOST_LETTERS {
            return false;
        }
        // Perf: what has no `..` counts nothing, however many braces stand around it.
        let is_dots = |pair: &[Letter]| pair == [Letter::Plain('.'), Letter::Plain('.')];
        let dots: Vec<usize> =
            (0..letters.len().saturating_sub(1)).filter(|at| is_dots(&letters[*at..at + 2])).collect();
        for BracePair { open, close, commas } in brace_pairs(letters) {
            let (before, inside, after) =
                (&letters[..open], &letters[open + 1..close], &letters[close + 1..]);
            let alternatives: Vec<Vec<Letter>> = if commas.is_empty() {
                let first = dots.partition_point(|at| *at <= open);
                if dots.get(first).is_none_or(|at| close <= at + 1) {
                    continue;
                }
                match counted(inside) {
                    BraceSequence::These(these) => these,
                    BraceSequence::Unclear => vec![vec![Letter::Splitting]],
                    BraceSequence::Nothing => continue,
                }
            } else {
                let mut parts = Vec::new();
                let mut begin = open + 1;
                for comma in commas.iter().copied().chain([close]) {
                    parts.push(letters[begin..comma].to_vec());
                    begin = comma + 1;
                }
                parts
            };
            for alternative in alternatives {
                let whole: Vec<Letter> = before.iter().chain(&alternative).chain(after).copied().collect();
                if !self.take(&whole, depth + 1) {
                    return false;
                }
            }
            return true;
        }
        self.values.push(letters.to_vec());
        true
    }
}

/// Braces that belong together, and the commas between that are their own.
struct BracePair {
    open: usize,
    close: usize,
    commas: Vec<usize>,
}

/// The pairs of a word in the order in which they open. Braces that are not closed are only letters.
fn brace_pairs(letters: &[Letter]) -> Vec<BracePair> {
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut pairs = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        match letter {
            Letter::Plain('{') => open.push((at, Vec::new())),
            Letter::Plain('}') => {
                pairs.extend(open.pop().map(|(open, commas)| BracePair { open, close: at, commas }));
            }
            Letter::Plain(',') => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            _ => {}
        }
    }
    pairs.sort_unstable_by_key(|pair| pair.open);
    pairs
}

enum BraceSequence {
    These(Vec<Vec<Letter>>),
    /// It counts something that is not read.
    Unclear,
    Nothing,
}

fn counted(inside: &[Letter]) -> BraceSequence {
    let text: Option<String> = inside
        .iter()
        .map(|letter| match letter {
            Letter::Plain(letter) => Some(*letter),
            _ => None,
        })
        .collect();
    let Some(text) = text.filter(|text| text.contains("..")) else {
        let dots = inside.windows(2).any(|pair| pair == [Letter::Plain('.'), Letter::Plain('.')]);
        return if dots { BraceSequence::Unclear } else { BraceSequence::Nothing };
    };
    let is_padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
    match text.split("..").collect::<Vec<_>>().as_slice() {
        [from, to] if !is_padded(from) && !is_padded(to) => match (from.parse::<i64>(), to.parse::<i64>()) {
            (Ok(from), Ok(to)) if from.abs_diff(to) < MOST_COUNTED as u64 => {
                let numbers: Vec<i64> =
                    if from <= to { (from..=to).collect() } else { (to..=from).rev().collect() };
                let these =
                    numbers.iter().map(|number| number.to_string().chars().map(Letter::Plain).collect());
                BraceSequence::These(these.collect())
            }
            _ => BraceSequence::Unclear,
        },
        _ => BraceSequence::Unclear,
    }
}

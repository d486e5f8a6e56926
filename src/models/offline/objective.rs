//! What is asked for? The telling words of an objective, as terms that can be searched for and recognized.

use super::words;

/// More words than this make a question vague rather than precise; the weakest are left out.
const MAX_WORD_TERMS: usize = 10;
/// Longer ones are pasted text, not names.
const MAX_IDENTIFIER_BYTES: usize = 100;
/// Neighbouring words that may form one name, such as `window size` → `window_size`.
const MAX_PAIR_TERMS: usize = 5;

const WEAK_WEIGHT: f64 = 0.35;
const WORD_WEIGHT: f64 = 1.0;
const IDENTIFIER_WEIGHT: f64 = 2.0;
/// A word inside an identifier; the identifier itself says more.
const IDENTIFIER_PART_WEIGHT: f64 = 0.5;
const PAIR_WEIGHT: f64 = 0.8;
/// A line with another word for the same thing is worth less than one with the word itself.
const SYNONYM_STRENGTH: f64 = 0.6;

/// What the user wants to know.
#[derive(Debug, Clone)]
pub(super) struct SearchObjective {
    pub(super) text: String,
    pub(super) terms: Vec<SearchTerm>,
    /// Files and folders the user named.
    pub(super) paths: Vec<String>,
}

/// One thing to look for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SearchTerm {
    /// As the user wrote it.
    pub(super) label: String,
    /// Regular expression, to be matched case-sensitively (it says itself where case does not matter).
    pub(super) pattern: String,
    pub(super) weight: f64,
    meaning: TermMeaning,
}

#[derive(Debug, Clone, PartialEq)]
enum TermMeaning {
    Word {
        key: String,
        synonyms: Vec<String>,
    },
    Pair(String, String),
    /// Lower case.
    Literal(String),
}

/// A line of code, or a path, as the words it consists of.
#[derive(Debug, Clone)]
pub(super) struct StemmedPhrase {
    keys: Vec<String>,
    lower: String,
}

impl StemmedPhrase {
    pub(super) fn new(text: &str) -> StemmedPhrase {
        let keys = words::split(text).iter().map(|word| words::stem(word)).collect();
        StemmedPhrase { keys, lower: text.to_lowercase() }
    }
}

impl SearchTerm {
    fn word(label: &str, key: String, weight: f64) -> SearchTerm {
        let synonyms = words::synonyms(&key);
        let patterns: Vec<String> =
            std::iter::once(&key).chain(&synonyms).map(|key| pattern_of_key(key)).collect();
        let meaning = TermMeaning::Word { key, synonyms };
        SearchTerm { label: label.to_owned(), pattern: patterns.join("|"), weight, meaning }
    }

    fn pair(first: &SearchTerm, second: &SearchTerm) -> Option<SearchTerm> {
        let (TermMeaning::Word { key: first_key, .. }, TermMeaning::Word { key: second_key, .. }) =
            (&first.meaning, &second.meaning)
        else {
            return None;
        };
        let pattern = format!(r"(?i:{}\w*?[-_ ]?{})", escape(first_key), escape(second_key));
        let label = format!("{} {}", first.label, second.label);
        let weight = PAIR_WEIGHT * first.weight.min(second.weight).sqrt();
        Some(SearchTerm {
            label,
            pattern,
            weight,
            meaning: TermMeaning::Pair(first_key.clone(), second_key.clone()),
        })
    }

    fn literal(label: &str, weight: f64) -> SearchTerm {
        let meaning = TermMeaning::Literal(label.to_lowercase());
        SearchTerm { label: label.to_owned(), pattern: format!("(?i:{})", escape(label)), weight, meaning }
    }

    /// How clearly the phrase says this term: 0 = not at all, 1 = in the user's own word.
    pub(super) fn strength(&self, phrase: &StemmedPhrase) -> f64 {
        match &self.meaning {
            TermMeaning::Word { key, synonyms } => {
                let says = |wanted: &str| phrase.keys.iter().any(|found| words::same_key(wanted, found));
                if says(key) {
                    1.0
                } else if synonyms.iter().any(|synonym| says(synonym)) {
                    SYNONYM_STRENGTH
                } else {
                    0.0
                }
            }
            TermMeaning::Pair(first, second) => {
                let joined = format!("{first}{second}");
                let side_by_side = phrase
                    .keys
                    .windows(2)
                    .any(|pair| words::same_key(first, &pair[0]) && words::same_key(second, &pair[1]));
                let as_one = phrase.keys.iter().any(|found| words::same_key(&joined, found));
                f64::from(u8::from(side_by_side || as_one))
            }
            TermMeaning::Literal(literal) => f64::from(u8::from(phrase.lower.contains(literal.as_str()))),
        }
    }

    pub(super) fn is_pair(&self) -> bool {
        matches!(self.meaning, TermMeaning::Pair(..))
    }

    /// Verbs and nouns that stand in every program.
    pub(super) fn is_weak(&self) -> bool {
        self.weight < IDENTIFIER_PART_WEIGHT
    }
}

impl SearchObjective {
    pub(super) fn new(text: &str) -> SearchObjective {
        let mut reading = ObjectiveParser::default();
        for token in tokens(text) {
            reading.take(&token);
        }
        let (terms, paths) = reading.finish();
        SearchObjective { text: text.trim().to_owned(), terms, paths }
    }
}

/// The state of reading an objective from left to right.
#[derive(Default)]
struct ObjectiveParser {
    words: Vec<SearchTerm>,
    pairs: Vec<SearchTerm>,
    paths: Vec<String>,
    /// The word just before, if nothing stands between.
    previous: Option<SearchTerm>,
}

impl ObjectiveParser {
    fn take(&mut self, token: &Token) {
        match token {
            Token::Break => self.previous = None,
            Token::Quoted(text) if text.contains(char::is_whitespace) => {
                self.previous = None;
                for token in tokens(text) {
                    self.take(&token);
                }
            }
            Token::Quoted(text) | Token::Plain(text) if is_path(text) => {
                self.previous = None;
                self.paths.push(text.trim_matches('/').to_owned());
                for word in words::split(text.rsplit_once('.').map_or(text.as_str(), |(stem, _)| stem)) {
                    self.take_word(&word, IDENTIFIER_PART_WEIGHT);
                }
                self.previous = None;
            }
            Token::Quoted(text) => self.take_identifier(text),
            Token::Plain(text) if is_identifier(text) => self.take_identifier(text),
            Token::Plain(text) => match protocol_version(text) {
                Some(names) => self.take_protocol(text, &names),
                None => {
                    for compound in text.split(['/', '\'', '’']) {
                        self.take_compound(compound);
                    }
                }
            },
        }
    }

    fn take_identifier(&mut self, text: &str) {
        self.previous = None;
        for name in
            text.split("::").flat_map(|name| name.split(['(', ')', '<', '>', '!', '&', '=', '{', '}']))
        {
            let name = name.trim();
            if name.len() < 2 || name.len() > MAX_IDENTIFIER_BYTES || self.knows(name) {
                continue;
            }
            let parts = words::split(name);
            if parts.len() == 1 && name.chars().all(|character| character.is_alphanumeric()) {
                self.take_word(name, IDENTIFIER_WEIGHT);
                self.previous = None;
                continue;
            }
            self.words.push(SearchTerm::literal(name, IDENTIFIER_WEIGHT));
            for part in parts {
                self.take_word(&part, IDENTIFIER_PART_WEIGHT);
            }
            self.previous = None;
        }
    }

    /// `HTTP/2` is `http2` or `h2` in programs.
    fn take_protocol(&mut self, label: &str, names: &[String; 2]) {
        self.previous = None;
        if self.knows(label) {
            return;
        }
        let pattern = format!("{}|{}", pattern_of_key(&names[0]), pattern_of_key(&names[1]));
        let meaning = TermMeaning::Word { key: names[0].clone(), synonyms: vec![names[1].clone()] };
        self.words.push(SearchTerm { label: label.to_owned(), pattern, weight: WORD_WEIGHT, meaning });
    }

    /// In `back-off` even `off` tells something, though only beside `back`.
    fn take_compound(&mut self, compound: &str) {
        let is_compound = compound.contains('-');
        for word in compound.split('-') {
            let lower = word.to_lowercase();
            if is_compound && lower.len() > 1 && words::is_stop_word(&lower) {
                self.pair_with_previous(SearchTerm::word(&lower, words::stem(&lower), WORD_WEIGHT));
            } else {
                self.take_word(word, WORD_WEIGHT);
            }
        }
    }

    fn take_word(&mut self, word: &str, weight: f64) {
        let lower = word.to_lowercase();
        if words::is_stop_word(&lower) || lower.len() > MAX_IDENTIFIER_BYTES {
            self.previous = None;
            return;
        }
        let weight = if words::is_weak_word(&lower) { weight * WEAK_WEIGHT } else { weight };
        let term = SearchTerm::word(&lower, words::stem(&lower), weight);
        self.pair_with_previous(term.clone());
        match self.words.iter_mut().find(|known| known.meaning == term.meaning) {
            Some(known) => known.weight = known.weight.max(weight),
            None => self.words.push(term),
        }
    }

    fn pair_with_previous(&mut self, term: SearchTerm) {
        let Some(previous) = self.previous.replace(term.clone()) else { return };
        if let Some(pair) = SearchTerm::pair(&previous, &term)
            && !self.pairs.contains(&pair)
        {
            self.pairs.push(pair);
        }
    }

    fn knows(&self, label: &str) -> bool {
        self.words.iter().any(|term| term.label == label)
    }

    fn finish(mut self) -> (Vec<SearchTerm>, Vec<String>) {
        keep_weightiest(&mut self.words, MAX_WORD_TERMS);
        keep_weightiest(&mut self.pairs, MAX_PAIR_TERMS);
        self.words.append(&mut self.pairs);
        (self.words, self.paths)
    }
}

/// Keeps the order of the text.
fn keep_weightiest(terms: &mut Vec<SearchTerm>, count: usize) {
    while terms.len() > count {
        let lightest =
            (0..terms.len()).rev().min_by(|&one, &other| terms[one].weight.total_cmp(&terms[other].weight));
        let Some(lightest) = lightest else { return };
        terms.remove(lightest);
    }
}

enum Token {
    Plain(String),
    Quoted(String),
    /// Punctuation: what stands on both sides of it does not belong together.
    Break,
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let closing = match character {
            '`' | '"' => Some(character),
            '“' => Some('”'),
            _ => None,
        };
        let after = &rest[character.len_utf8()..];
        if let Some((quoted, behind)) = closing.and_then(|closing| after.split_once(closing)) {
            tokens.push(Token::Quoted(quoted.to_owned()));
            rest = behind;
        } else if character.is_whitespace() || closing.is_some() {
            rest = after;
        } else {
            let end = rest.find(|character: char| character.is_whitespace() || "`\"“".contains(character));
            let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
            let plain = word
                .trim_matches(|character: char| !character.is_alphanumeric() && !"_/!".contains(character));
            let plain = plain.trim_end_matches('!');
            if !plain.is_empty() {
                tokens.push(Token::Plain(plain.to_owned()));
            }
            if word.ends_with([',', '.', ';', ':', '?', '!', ')']) {
                tokens.push(Token::Break);
            }
            rest = behind;
        }
    }
    tokens
}

fn is_identifier(text: &str) -> bool {
    let has_inner_capital =
        text.chars().skip(1).any(char::is_uppercase) && text.chars().any(char::is_lowercase);
    let is_word = text.chars().all(|character| character.is_alphanumeric());
    text.contains('_') || text.contains("::") || text.ends_with("()") || (has_inner_capital && is_word)
}

fn is_path(text: &str) -> bool {
    const MAX_EXTENSION: usize = 5;
    let has_extension = text.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=MAX_EXTENSION).contains(&extension.len())
            && extension.chars().all(|character| character.is_ascii_lowercase() || character.is_ascii_digit())
            && !extension.chars().all(|character| character.is_ascii_digit())
            && stem.chars().all(|character| character.is_alphanumeric() || "_-./".contains(character))
    });
    has_extension || text.matches('/').count() >= 2 || (text.len() > 1 && text.ends_with('/'))
}

/// `HTTP/1.1` → `http1`, `h1`.
fn protocol_version(text: &str) -> Option<[String; 2]> {
    let (name, version) = text.split_once('/')?;
    let major = version.split('.').next()?;
    let is_protocol = name.len() > 1 && name.chars().all(|character| character.is_ascii_uppercase());
    let is_number = !major.is_empty() && major.chars().all(|character| character.is_ascii_digit());
    let name = name.to_lowercase();
    (is_protocol && is_number).then(|| [format!("{name}{major}"), format!("{}{major}", &name[..1])])
}

/// Long keys are found anywhere in any case; short ones only where a word begins.
fn pattern_of_key(key: &str) -> String {
    const ANYWHERE_LENGTH: usize = 4;
    if let Some(beginning) = key.strip_suffix('y')
        && key.len() >= ANYWHERE_LENGTH
    {
        return format!("(?i:{}(?:y|i))", escape(beginning));
    }
    let key_pattern = escape(key);
    if key.chars().count() >= ANYWHERE_LENGTH {
        return format!("(?i:{key_pattern})");
    }
    let mut characters = key.chars();
    let capitalized: String =
        characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect();
    format!(r"(?:\b|_){key_pattern}|{}|{}", escape(&capitalized), escape(&key.to_uppercase()))
}

/// The text as a regular expression that matches just it.
pub(super) fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::SearchObjective;

    fn labels(text: &str) -> Vec<String> {
        SearchObjective::new(text).terms.into_iter().map(|term| term.label).collect()
    }

    #[test]
    fn stop_words_are_left_out_and_neighbours_paired() {
        assert_eq!(
            labels("Where is the retry back-off computed?"),
            ["retry", "back", "computed", "retry back", "back off", "off computed"]
        );
    }

    #[test]
    fn identifiers_quotes_paths_and_protocols_are_kept_whole() {
        let objective = SearchObjective::new("Does `Foo::parse_line` in src/net/codec.rs speak HTTP/2?");
        let labels: Vec<&str> = objective.terms.iter().map(|term| term.label.as_str()).collect();
        assert!(labels.contains(&"parse_line"), "{labels:?}");
        assert!(labels.contains(&"HTTP/2"), "{labels:?}");
        assert_eq!(objective.paths, ["src/net/codec.rs"]);
    }
}

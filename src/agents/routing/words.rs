//! Which keywords stand in a prompt, and what counts as standing there? (spec 02, "Auto-routing")
//!
//! Prompt and keywords are written in one plain form in which all spellings of a text are the same, and in which the end
//! of a word is a character of its own. So a keyword stands in a prompt where one of the places at which a word begins
//! goes on with it, and those places are sorted once: to look for a keyword costs a few comparisons, however long
//! the prompt is and whatever stands in it.

use unicode_normalization::{
    UnicodeNormalization,
    char::{canonical_combining_class, is_combining_mark},
};

/// Longest keyword in its plain form, in bytes. What is written with 200 characters needs more only when it is made for
/// it, by signs that stand for whole sentences. Bounds what sorting the places of a hostile prompt costs.
const LONGEST_PLAIN: usize = 1024;

/// Keywords of so many letters must be whole words (spec 02).
const MOST_LETTERS_OF_SHORT: usize = 2;

/// Stands behind each word; neither prompts nor keywords can have it themselves.
const WORD_END: char = '\u{1}';

const DOT_ABOVE: char = '\u{307}';

/// Where letters and digits belong to scripts that are written without blanks, so that no word is seen to begin. Signs
/// that stand between them are none of them. A test compares this with Unicode's tables.
const WITHOUT_BLANKS: &[(char, char)] = &[
    // Thai, Lao.
    ('\u{e00}', '\u{eff}'),
    // Myanmar.
    ('\u{1000}', '\u{109f}'),
    // Khmer.
    ('\u{1780}', '\u{17ff}'),
    // Signs of repetition and numbers of Han and Kana; Hiragana, Katakana.
    ('\u{3005}', '\u{3007}'),
    ('\u{3021}', '\u{303c}'),
    ('\u{3041}', '\u{30ff}'),
    ('\u{31f0}', '\u{31ff}'),
    // Han.
    ('\u{3400}', '\u{9fff}'),
    // Myanmar.
    ('\u{a9e0}', '\u{a9ff}'),
    ('\u{aa60}', '\u{aa7f}'),
    // Han.
    ('\u{f900}', '\u{faff}'),
    // Myanmar.
    ('\u{116d0}', '\u{116ff}'),
    // Han's repetition, Kana, Han.
    ('\u{16fe3}', '\u{16fe3}'),
    ('\u{16ff0}', '\u{16fff}'),
    ('\u{1aff0}', '\u{1b16f}'),
    ('\u{20000}', '\u{3ffff}'),
];

/// What a keyword says, in the plain form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TriggerKeyword(String);

/// The reason why a text is no keyword. Continues the sentence "the keyword …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadKeyword {
    #[error("says nothing")]
    Empty,
    #[error("is too long")]
    TooLong,
}

impl TriggerKeyword {
    pub fn new(text: &str) -> Result<TriggerKeyword, BadKeyword> {
        let PlainText { mut text, letters, .. } = PlainText::of(text);
        if text.is_empty() {
            return Err(BadKeyword::Empty);
        }
        if text.len() > LONGEST_PLAIN {
            return Err(BadKeyword::TooLong);
        }
        if letters > MOST_LETTERS_OF_SHORT && text.ends_with(WORD_END) {
            text.pop();
        }
        Ok(TriggerKeyword(text))
    }
}

/// A prompt in which keywords are looked for.
pub(super) struct KeywordIndex {
    text: String,
    /// Where a word begins, or a sign stands: ordered by how the text goes on there, as far as a keyword reaches.
    starts: Vec<u32>,
}

impl KeywordIndex {
    /// Invariant: the prompt is short enough for its places to be counted in 32 bits; see `PROMPT_BYTES`.
    pub fn of(prompt: &str) -> KeywordIndex {
        let PlainText { text, mut starts, .. } = PlainText::of(prompt);
        starts.sort_unstable_by(|one, other| reach(&text, *one).cmp(reach(&text, *other)));
        KeywordIndex { text, starts }
    }

    pub fn hold(&self, keyword: &TriggerKeyword) -> bool {
        let keyword = keyword.0.as_bytes();
        let first = self.starts.partition_point(|start| reach(&self.text, *start) < keyword);
        self.starts.get(first).is_some_and(|start| reach(&self.text, *start).starts_with(keyword))
    }
}

fn reach(text: &str, start: u32) -> &[u8] {
    let rest = &text.as_bytes()[start as usize..];
    &rest[..rest.len().min(LONGEST_PLAIN)]
}

/// A text in the plain form.
#[derive(Default)]
struct PlainText {
    text: String,
    starts: Vec<u32>,
    /// How many letters and digits there are.
    letters: usize,
}

impl PlainText {
    fn of(text: &str) -> PlainText {
        let characters = folded(text);
        let mut plain = PlainText::default();
        let (mut before, mut letters_of_word) = (CharacterClass::Sign, 0);
        let mut is_after_apostrophe = false;
        let mut rest = characters.as_slice();
        while let [base, after @ ..] = rest {
            let n_marks = after.iter().take_while(|mark| is_combining_mark(**mark)).count();
            let (marks, after) = after.split_at(n_marks);
            rest = after;
            if *base == ' ' {
                // One blank stands for any run of them, and none for those at the ends.
                if !plain.text.is_empty() && !plain.text.ends_with(' ') {
                    plain.text.push(' ');
                }
                before = CharacterClass::Sign;
                continue;
            }
            let sort = CharacterClass::of(*base);
            let goes_on = sort == CharacterClass::Spaced && before == CharacterClass::Spaced;
            if !goes_on {
                letters_of_word = 0;
                is_after_apostrophe = ends_in_apostrophe(&plain.text);
                plain.starts.push(u32::try_from(plain.text.len()).unwrap_or(u32::MAX));
            }
            let letters = if sort == CharacterClass::Sign { 0 } else { letters_in(*base) };
            (plain.letters, letters_of_word) = (plain.letters + letters, letters_of_word + letters);
            plain.push(*base, marks);
            if sort == CharacterClass::Spaced && ends_word(letters_of_word, is_after_apostrophe, after) {
                plain.text.push(WORD_END);
            }
            before = sort;
        }
        plain.text.truncate(plain.text.trim_end_matches(' ').len());
        plain
    }

    /// A letter with an accent is another letter, so what makes it one stands before it: `x` does not begin `x̂`.
    fn push(&mut self, base: char, marks: &[char]) {
        let (accents, others): (Vec<char>, Vec<char>) = marks.iter().partition(|mark| is_accent(**mark));
        self.text.extend(accents);
        self.text.push(base);
        self.text.extend(others);
    }
}

/// How a character takes part in words.
#[derive(Clone, Copy, PartialEq)]
enum CharacterClass {
    /// Of words with blanks between them.
    Spaced,
    /// Of a script without blanks: each may begin a word, and ends that of its neighbours.
    Unspaced,
    Sign,
}

impl CharacterClass {
    fn of(character: char) -> CharacterClass {
        let is_letter = character.is_alphanumeric() || character == '_';
        match is_letter {
            true if is_without_blanks(character) => CharacterClass::Unspaced,
            true => CharacterClass::Spaced,
            false => CharacterClass::Sign,
        }
    }
}

fn is_without_blanks(character: char) -> bool {
    let after = WITHOUT_BLANKS.partition_point(|(first, _)| *first <= character);
    after.checked_sub(1).is_some_and(|range| character <= WITHOUT_BLANKS[range].1)
}

/// True if a letter and an apostrophe stand at the end.
fn ends_in_apostrophe(plain: &str) -> bool {
    let before = plain.strip_suffix('\'').map(|before| before.trim_end_matches(WORD_END));
    before.and_then(|before| before.chars().next_back()).is_some_and(char::is_alphanumeric)
}

/// True if a word of so many letters ends before this. One letter is no word of its own in `c'est`, `I'd`, `C++`, `c#`.
fn ends_word(letters: usize, is_after_apostrophe: bool, after: &[char]) -> bool {
    let is_letter = |character: &char| CharacterClass::of(*character) == CharacterClass::Spaced;
    match after {
        [next, ..] if is_letter(next) => false,
        _ if letters > 1 => true,
        ['\'', next, ..] if is_letter(next) => false,
        ['+' | '#', ..] => false,
        _ => !is_after_apostrophe,
    }
}

/// A Korean syllable is one character of two or three letters.
fn letters_in(character: char) -> usize {
    match character {
        '가'..='힣' if (u32::from(character) - u32::from('가')).is_multiple_of(28) => 2,
        '가'..='힣' => 3,
        _ => 1,
    }
}

/// True if a mark makes another letter of the one before it, unlike vowels that are written as marks. By combining
/// classes: 1 is drawn through the letter, 7 and 8 change its sound, from 100 on it stands around the letter.
fn is_accent(mark: char) -> bool {
    matches!(canonical_combining_class(mark), 1 | 7 | 8 | 100..)
}

/// The text without what does not matter: case, ways to write the same character, kinds of blanks and of apostrophes.
///
/// Case is folded by Unicode's full mappings (`ß` is `ss`); beyond them all four Turkish `i` are one, since a text
/// does not say which language it is in. Compatible characters are one, too (`ｂｕｇ` is `bug`).
fn folded(text: &str) -> Vec<char> {
    let mut folded = Vec::with_capacity(text.len());
    for character in text.nfkd().filter(|character| !is_invisible(*character)) {
        if character.is_ascii() {
            folded.push(character.to_ascii_lowercase());
        } else if character != DOT_ABOVE || folded.last() != Some(&'i') {
            let upper = character.to_lowercase().flat_map(char::to_uppercase);
            folded.extend(upper.flat_map(char::to_lowercase));
        }
    }
    folded.into_iter().nfkc().map(plain_sign).collect()
}

/// What a text editor puts there by itself.
fn plain_sign(character: char) -> char {
    match character {
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => '\'',
        '\u{2010}' | '\u{2011}' => '-',
        _ if character.is_whitespace() || character.is_control() => ' ',
        _ => character,
    }
}

/// Characters that are not seen and mean nothing here: where a line may be broken, how the next one is drawn.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;

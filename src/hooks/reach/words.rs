//! The words of a command as a shell splits them.

use super::{
    spelled::{ansi_quoted, braces_expanded},
    word::{HookWord, Quoting},
};

/// The words of each simple command of a text, of commands within it, too.
pub(super) fn commands(text: &str) -> Vec<Vec<HookWord>> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), HookWord::default());
    let mut is_word = false;
    let mut quoting = Quoting::None;
    let mut letters = text.chars().peekable();
    // Patterns of `case` end with a `)` that nothing opened.
    let has_arms = text.contains("esac");
    let mut depth = 0_usize;
    let end_word = |word: &mut HookWord, words: &mut Vec<HookWord>, is_word: &mut bool| {
        if std::mem::take(is_word) {
            words.extend(braces_expanded(std::mem::take(word)));
        }
    };
    while let Some(letter) = letters.next() {
        let begins_other = letter == '`' || letter == '$' && letters.peek() == Some(&'(');
        match (quoting, letter) {
            (Quoting::Single, '\'') | (Quoting::Double, '"') => quoting = Quoting::None,
            (Quoting::None, '\'') => (quoting, is_word) = (Quoting::Single, true),
            (Quoting::None, '"') => (quoting, is_word) = (Quoting::Double, true),
            // What its escapes mean is what counts, and a translated text is one in quotes.
            (Quoting::None, '$') if letters.next_if_eq(&'\'').is_some() => {
                let text = ansi_quoted(&mut letters);
                word.letters.extend(text.chars().map(|letter| (letter, Quoting::Single)));
                is_word = true;
            }
            (Quoting::None, '$') if letters.peek() == Some(&'"') => {}
            (Quoting::None, '~') if !is_word && matches!(letters.peek(), Some('+' | '-')) => {
                let name = if letters.next() == Some('+') { "$PWD" } else { "$OLDPWD" };
                word.letters.extend(name.chars().map(|letter| (letter, quoting)));
                is_word = true;
            }
            (Quoting::Double, '\\') if !letters.peek().is_some_and(|next| "$`\"\\\n".contains(*next)) => {
                word.letters.push(('\\', Quoting::Single));
            }
            (Quoting::None, '\\') | (Quoting::Double, '\\') => {
                if let Some(next) = letters.next().filter(|next| *next != '\n') {
                    word.letters.push((next, Quoting::Single));
                    is_word = true;
                }
            }
            (Quoting::None, '#') if !is_word => while letters.next_if(|letter| *letter != '\n').is_some() {},
            // What it puts out is nobody's to tell, so the word keeps its text; what it runs is read as a command of its own.
            (Quoting::None | Quoting::Double, _) if begins_other => {
                let inner = inner(letter, &mut letters);
                word.letters.push(('$', quoting));
                word.letters.extend(format!("({inner})").chars().map(|letter| (letter, Quoting::Double)));
                is_word = true;
                all.extend(commands(&inner));
            }
            // `&> FILE`
            (Quoting::None, '&') if letters.peek() == Some(&'>') => {}
            (Quoting::None, ')') if has_arms && depth == 0 => {
                end_word(&mut word, &mut words, &mut is_word);
                if words.first().is_some_and(|first| first.text() == "case") {
                    all.push(std::mem::take(&mut words));
                }
                words.clear();
            }
            (Quoting::None, ';' | '|' | '&' | '(' | ')' | '\n') => {
                match letter {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                end_word(&mut word, &mut words, &mut is_word);
                all.push(std::mem::take(&mut words));
            }
            (Quoting::None, '<' | '>') => {
                // `2>` is no word.
                if word.letters.iter().all(|(letter, _)| letter.is_ascii_digit()) {
                    (word, is_word) = (HookWord::default(), false);
                }
                end_word(&mut word, &mut words, &mut is_word);
                while letters.next_if(|next| "<>&|".contains(*next)).is_some() {}
                word.is_target = letters.peek() != Some(&'(');
            }
            (Quoting::None, letter) if letter.is_whitespace() => {
                end_word(&mut word, &mut words, &mut is_word)
            }
            (_, letter) => {
                word.letters.push((letter, quoting));
                is_word = true;
            }
        }
    }
    end_word(&mut word, &mut words, &mut is_word);
    all.push(words);
    all.retain(|words| !words.is_empty());
    all
}

/// The text of a command within a text, up to its end.
fn inner(begin: char, letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    if begin == '`' {
        while let Some(letter) = letters.next().filter(|letter| *letter != '`') {
            text.push(letter);
        }
        return text;
    }
    let _opening = letters.next();
    let mut depth = 1;
    for letter in letters.by_ref() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => (),
        }
        if depth == 0 {
            break;
        }
        text.push(letter);
    }
    text
}

//! The spellings by which a shell, or a program that has one run commands, comes to other words than those that stand there.

use std::iter::Peekable;

use super::word::{HookWord, Quoting};

/// Words that one with braces may become. What becomes more counts as a pattern.
const MOST_WORDS: usize = 64;
/// Programs that have a shell run what stands behind a `!` in their words.
const WITH_SHELL_ESCAPE: &[&str] =
    &["vi", "vim", "nvim", "view", "vimdiff", "ex", "ed", "red", "less", "more", "dc", "ftp", "sftp", "mail"];

/// The text of `$'…'`, whose opening was read before (bash(1), QUOTING).
pub(super) fn ansi_quoted(letters: &mut Peekable<impl Iterator<Item = char>>) -> String {
    let mut raw = String::new();
    while let Some(letter) = letters.next().filter(|letter| *letter != '\'') {
        raw.push(letter);
        if letter == '\\' {
            raw.extend(letters.next());
        }
    }
    unescaped(&raw)
}

/// A text with its escapes as `printf` and `$'…'` read them.
pub(super) fn unescaped(text: &str) -> String {
    let mut letters = text.chars().peekable();
    let mut read = String::new();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            read.push(letter);
            continue;
        }
        let Some(escape) = letters.next() else { break };
        match escape {
            'n' | 'r' => read.push('\n'),
            't' | 'v' | 'f' => read.push(' '),
            'a' | 'b' | 'e' | 'E' => {}
            'x' => read.extend(number(&mut letters, 16, 2)),
            'u' => read.extend(number(&mut letters, 16, 4)),
            'U' => read.extend(number(&mut letters, 16, 8)),
            '0' => read.extend(number(&mut letters, 8, 3)),
            digit if digit.is_digit(8) => {
                let mut all = std::iter::once(digit)
                    .chain(std::iter::from_fn(|| letters.next_if(|letter| letter.is_digit(8))));
                let digits: String = all.by_ref().take(3).collect();
                read.extend(u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32));
            }
            other => read.push(other),
        }
    }
    read
}

fn number(letters: &mut Peekable<impl Iterator<Item = char>>, radix: u32, most: usize) -> Option<char> {
    let mut value = None;
    for _ in 0..most {
        let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(radix)) else { break };
        letters.next();
        value = Some(value.unwrap_or(0) * radix + digit);
    }
    value.and_then(char::from_u32)
}

/// The words that a word with braces becomes (bash(1), Brace Expansion); one without stays. Of `{1..9}`, and of what becomes too many, a
/// pattern.
pub(super) fn braces_expanded(word: HookWord) -> Vec<HookWord> {
    let (mut done, mut open) = (Vec::new(), vec![word]);
    while let Some(mut word) = open.pop() {
        let Some(FirstBraces { begin, parts, end }) = first_braces(&word.letters) else {
            done.push(word);
            continue;
        };
        let is_much = MOST_WORDS < done.len() + open.len() + parts.len();
        if is_much || parts.len() == 1 {
            word.letters.splice(begin..end, [('*', Quoting::None)]);
            open.push(word);
            continue;
        }
        for (from, to) in parts.into_iter().rev() {
            let mut letters = word.letters[..begin].to_vec();
            letters.extend_from_slice(&word.letters[from..to]);
            letters.extend_from_slice(&word.letters[end..]);
            open.push(HookWord { letters, is_target: word.is_target });
        }
    }
    done
}

/// Braces that are expanded, by places in a word.
struct FirstBraces {
    begin: usize,
    /// Each from its first letter to behind its last. A sequence is one.
    parts: Vec<(usize, usize)>,
    /// Behind the closing one.
    end: usize,
}

fn first_braces(letters: &[(char, Quoting)]) -> Option<FirstBraces> {
    let is = |at: usize, wanted: char| letters[at] == (wanted, Quoting::None);
    let begins = |at: &usize| is(*at, '{') && (*at == 0 || letters[*at - 1].0 != '$');
    (0..letters.len()).filter(begins).find_map(|begin| {
        let (mut depth, mut parts, mut from) = (0_usize, Vec::new(), begin + 1);
        for at in begin..letters.len() {
            if is(at, '{') {
                depth += 1;
            } else if is(at, ',') && depth == 1 {
                parts.push((from, at));
                from = at + 1;
            } else if is(at, '}') {
                depth -= 1;
                if depth == 0 {
                    let text: String = letters[from..at].iter().map(|(letter, _)| letter).collect();
                    let is_expanded = !parts.is_empty() || text.contains("..");
                    parts.push((from, at));
                    return is_expanded.then_some(FirstBraces { begin, parts, end: at + 1 });
                }
            }
        }
        None
    })
}

/// Commands that a program has a shell run, since they stand behind a `!` in its words; `given`: those behind its name.
pub(super) fn shell_escapes<'a>(program: &str, given: &[&'a str]) -> Vec<&'a str> {
    // An alias of git's is a command of the shell's only where it begins with one (git-config(1), `alias.*`).
    let before = if program == "git" { "=!" } else { "!" };
    if program != "git" && !WITH_SHELL_ESCAPE.contains(&program) {
        return Vec::new();
    }
    let escape = |word: &&'a str| word.split_once(before).map(|(_, command)| command);
    given.iter().filter_map(escape).filter(|command| !command.trim().is_empty()).collect()
}

/// The text that `printf` or `echo` puts out with these words, as far as they tell.
pub(super) fn printed(words: &[HookWord]) -> Option<String> {
    let (program, given) = words.split_first()?;
    let text = given.iter().map(HookWord::text).collect::<Vec<_>>().join("\n");
    matches!(program.text().as_str(), "printf" | "echo").then(|| unescaped(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_braces_becomes_those_of_bash() {
        let expanded = |text: &str| -> Vec<String> {
            let letters = text.chars().map(|letter| (letter, Quoting::None)).collect();
            braces_expanded(HookWord { letters, is_target: false }).iter().map(HookWord::text).collect()
        };
        for (word, words) in [
            ("b{i,}n/x", &["bin/x", "bn/x"][..]),
            ("{bin/x,}", &["bin/x", ""]),
            ("{a,b}{c,d}", &["ac", "ad", "bc", "bd"]),
            ("a{b,c{d,e}}", &["ab", "acd", "ace"]),
            ("x{1..3}", &["x*"]),
            ("{}", &["{}"]),
            ("{a}", &["{a}"]),
            ("${a,b}", &["${a,b}"]),
            ("{a,b", &["{a,b"]),
        ] {
            assert_eq!(expanded(word), words, "{word}");
        }
        assert!(expanded(&"{a,b}".repeat(20)).len() <= MOST_WORDS * 2);
    }

    #[test]
    fn escapes_are_read_as_by_bash() {
        for (text, read) in [
            (r"b\x69n/guard", "bin/guard"),
            (r"b\151n", "bin"),
            (r"\u0062in", "bin"),
            (r"a\nb\tc", "a\nb c"),
            (r"it\'s\\", "it's\\"),
        ] {
            assert_eq!(unescaped(text), read);
        }
    }
}

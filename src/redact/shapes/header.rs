//! Secrets that stand behind a name: `Authorization: Bearer …`, `aws_secret_access_key = …`.

use super::{
    DigitRule, NeedsMoreText, ShapeMatch, TextWindow, is_alphanumeric, is_base64, is_base64url, is_blank,
    is_token, judge_run,
};

/// Blanks between a name and its value at most; more are a table.
const MOST_BLANKS: usize = 16;

/// Backslashes before a quote at most: JSON within JSON within JSON.
const MOST_BACKSLASHES: usize = 8;

/// Letters of a scheme at most; the longest registered has 17.
const LONGEST_SCHEME: usize = 24;

/// Shorter words behind a scheme are prose.
const LEAST_CREDENTIALS: usize = 8;

/// A run of lower-case letters alone is a word up to here.
const LONGEST_WORD: usize = 32;

/// Without the header's name it takes more to be a token.
const LEAST_BEARER: usize = 16;

/// Schemes whose credentials need not look random to be taken for some.
const SCHEMES: &[&str] = &["apikey", "basic", "bearer", "token"];

/// `Authorization: Bearer …` in any writing: header, JSON, code.
pub(super) fn authorization(
    window: &TextWindow<'_>,
    start: usize,
    after: usize,
) -> Result<ShapeMatch, NeedsMoreText> {
    let nothing = ShapeMatch::Nothing { looked_to: start };
    let Some(value) = value_behind(window, after)? else { return Ok(nothing) };
    let word = window.run(value, LONGEST_SCHEME, is_alphanumeric)?;
    let blank = window.run(word, MOST_BLANKS, is_blank)?;
    let has_scheme = word > value && blank > word;
    let is_known =
        has_scheme && SCHEMES.iter().any(|known| window.text[value..word].eq_ignore_ascii_case(known));
    let from = if has_scheme { blank } else { value };
    let digit = if is_known { DigitRule::Free } else { DigitRule::Needed };
    match judge_run(window, from, from, is_token, LEAST_CREDENTIALS, digit)? {
        ShapeMatch::Secret { .. } if is_word(window, from)? => Ok(nothing),
        ShapeMatch::Nothing { .. } => Ok(nothing),
        secret => Ok(secret),
    }
}

fn is_word(window: &TextWindow<'_>, from: usize) -> Result<bool, NeedsMoreText> {
    let end = window.run(from, LONGEST_WORD, |byte| byte.is_ascii_lowercase())?;
    Ok(end - from < LONGEST_WORD && !window.byte(end)?.is_some_and(|byte| is_token(byte) && byte != b'.'))
}

/// `Bearer …` alone.
pub(super) fn bearer(
    window: &TextWindow<'_>,
    start: usize,
    after: usize,
) -> Result<ShapeMatch, NeedsMoreText> {
    let from = window.run(after, MOST_BLANKS, is_blank)?;
    match judge_run(window, from, from, is_token, LEAST_BEARER, DigitRule::Needed)? {
        ShapeMatch::Nothing { .. } => Ok(ShapeMatch::Nothing { looked_to: start }),
        secret => Ok(secret),
    }
}

/// A name, `=` or `:`, and a value of at least this length; only the value is secret.
pub(super) fn assigned(
    window: &TextWindow<'_>,
    start: usize,
    after: usize,
    least: usize,
    digit: DigitRule,
) -> Result<ShapeMatch, NeedsMoreText> {
    let nothing = ShapeMatch::Nothing { looked_to: start };
    let Some(value) = value_behind(window, after)? else { return Ok(nothing) };
    let class = |byte| is_base64(byte) || is_base64url(byte);
    match judge_run(window, value, value, class, least, digit)? {
        ShapeMatch::Nothing { .. } => Ok(nothing),
        secret => Ok(secret),
    }
}

/// The same of a value that nobody would have written by hand: names like these are given names, calls and fields in any program.
pub(super) fn assigned_at_random(
    window: &TextWindow<'_>,
    start: usize,
    after: usize,
    least: usize,
) -> Result<ShapeMatch, NeedsMoreText> {
    let nothing = ShapeMatch::Nothing { looked_to: start };
    match assigned(window, start, after, least, DigitRule::Needed)? {
        ShapeMatch::Secret { start: value, end, growth } => {
            let end_of_sample = window.run(value, SAMPLE, |byte| is_base64(byte) || is_base64url(byte))?;
            let is_random = looks_random(&window.bytes()[value..end_of_sample]);
            Ok(if is_random { ShapeMatch::Secret { start: value, end, growth } } else { nothing })
        }
        ShapeMatch::Nothing { .. } => Ok(nothing),
    }
}

/// Bytes of a value that are looked at.
const SAMPLE: usize = 64;

/// Letters of a value that is longer than names of programs are.
const LONG_VALUE: usize = 40;

/// True if small letters, capitals and digits follow each other as they do in no name: in keys they change at every second or third place, in
/// `getAccessTokenOfProviderV2` only where a word begins. A long value need not change as often: one key in fifty would be taken for a name.
fn looks_random(value: &[u8]) -> bool {
    let (mut letters, mut stretches, mut numbers, mut last) = (0, 0, 0, ' ');
    for byte in value {
        let now = match byte {
            b'a'..=b'z' => 'a',
            b'A'..=b'Z' => 'A',
            b'0'..=b'9' => '0',
            _ => ' ',
        };
        letters += usize::from(now != ' ');
        // A word with a capital is one.
        let is_within = now == last || (last, now) == ('A', 'a');
        stretches += usize::from(now != ' ' && !is_within);
        numbers += usize::from(now == '0' && !is_within);
        last = now;
    }
    // Words between `_` and `-` are of one case.
    let has = |kind: fn(&u8) -> bool| value.iter().any(kind);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    let longest = if is_mixed && LONG_VALUE <= value.len() { 45 } else { 33 };
    // A name has no more than one number.
    10 * letters < longest * stretches || 2 <= numbers && 10 * letters < 50 * stretches
}

/// Where the value begins that is given to the name which ends at `after`.
fn value_behind(window: &TextWindow<'_>, after: usize) -> Result<Option<usize>, NeedsMoreText> {
    let mut at = behind_quote(window, after)?;
    at = window.run(at, MOST_BLANKS, is_blank)?;
    let separator = at;
    // `:`, `=`, `=>`, `:=`, `==`
    at = window.run(at, 2, |byte| matches!(byte, b':' | b'=' | b'>'))?;
    if at == separator {
        return Ok(None);
    }
    at = window.run(at, MOST_BLANKS, is_blank)?;
    behind_quote(window, at).map(Some)
}

/// Behind the quote at `at`, if there is one, however it is escaped.
fn behind_quote(window: &TextWindow<'_>, at: usize) -> Result<usize, NeedsMoreText> {
    let quote = window.run(at, MOST_BACKSLASHES, |byte| byte == b'\\')?;
    let is_quote = matches!(window.byte(quote)?, Some(b'"' | b'\'' | b'`'));
    Ok(if is_quote { quote + 1 } else { at })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes like those that a maker of keys takes, the same each time.
    fn keys(length: usize, count: usize) -> impl Iterator<Item = Vec<u8>> {
        let letters: Vec<u8> = (b'a'..=b'z').chain(b'A'..=b'Z').chain(b'0'..=b'9').collect();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut roll = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize
        };
        (0..count).map(move |_| (0..length).map(|_| letters[roll() % letters.len()]).collect())
    }

    #[test]
    fn keys_are_told_from_names() {
        for (length, most_missed) in [(43, 10), (64, 2), (32, 200), (24, 500)] {
            let missed = keys(length, 10_000).filter(|key| !looks_random(key)).count();
            assert!(missed <= most_missed, "{missed} of 10,000 keys of {length} letters");
        }
        for name in [
            "getAccessTokenOfProviderV2",
            "useInfiniteScrollWithIntersectionObserver2",
            "AbstractSingletonProxyFactoryBeanDefinitionRegistry2",
            "process_env_my_access_key_of_the_second_provider_2",
            "your-client-secret-from-the-portal-goes-here-2024",
        ] {
            assert!(!looks_random(name.as_bytes()), "{name}");
        }
    }
}

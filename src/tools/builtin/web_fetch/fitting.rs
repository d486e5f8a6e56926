//! How much of a page is shown, without half a secret at its end?

use redact::{MOST_HELD_BYTES, Redactor};
use web::{PageContent, WebPage};

/// Bytes that are looked at at once, between looks at whether anybody still waits.
const PIECE_BYTES: usize = 64 * 1024;
/// Characters of a title: it is a line.
const MOST_TITLE_CHARS: usize = 300;

/// The page without secrets, and not longer than so many characters. `is_unwanted` is asked often, and what is then returned
/// is not used. Takes time that depends on `most_chars`, not on the page.
pub(super) fn fitted(
    page: WebPage,
    most_chars: usize,
    redactor: &Redactor,
    is_unwanted: &dyn Fn() -> bool,
) -> WebPage {
    let WebPage { content, .. } = page;
    let content = match content {
        PageContent::Text { title, text, encoding, is_cut } => {
            let title = title.map(|title| beginning(&title, MOST_TITLE_CHARS, redactor, is_unwanted).0);
            let (text, is_whole) = beginning(&text, most_chars, redactor, is_unwanted);
            PageContent::Text { title, text, encoding, is_cut: is_cut || !is_whole }
        }
        PageContent::Other => PageContent::Other,
    };
    WebPage { content, ..page }
}

/// How the text begins that is without secrets, and whether that is all of it.
///
/// What a stream has put out is what stands in the whole text without its secrets: of a secret that has begun it holds all
/// back. So the rest of the text need not be looked at, and no secret is cut in two.
fn beginning(
    text: &str,
    most_chars: usize,
    redactor: &Redactor,
    is_unwanted: &dyn Fn() -> bool,
) -> (String, bool) {
    // Characters have up to four bytes. A text of hidden things alone is not searched to its end for others.
    let most_bytes = most_chars.saturating_mul(4).saturating_add(2 * MOST_HELD_BYTES);
    let mut left = &text[..text.floor_char_boundary(most_bytes)];
    let is_all = left.len() == text.len();
    let mut stream = redactor.stream();
    let (mut shown, mut n_chars) = (String::new(), 0);
    while !left.is_empty() && n_chars <= most_chars && !is_unwanted() {
        let (piece, after) = left.split_at(left.floor_char_boundary(PIECE_BYTES));
        let more = stream.push(piece);
        n_chars += more.chars().count();
        shown.push_str(&more);
        left = after;
    }
    let is_read = is_all && left.is_empty();
    if is_read {
        shown.push_str(&stream.finish());
    }
    match shown.char_indices().nth(most_chars) {
        Some((end, _)) => {
            shown.truncate(end);
            (shown, false)
        }
        None => (shown, is_read),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use redact::{RedactionPattern, RedactorParts};

    const SECRET: &str = "hunter2-correct-horse-battery-staple";

    fn redactor() -> Redactor {
        let environment = [("DB_PASSWORD".to_owned(), SECRET.to_owned())].into_iter();
        let patterns = vec![RedactionPattern::new("code-[0-9]{4,40}").unwrap()];
        Redactor::new(RedactorParts { environment, patterns })
    }

    fn begins(text: &str, most_chars: usize) -> (String, bool) {
        beginning(text, most_chars, &redactor(), &|| false)
    }

    #[test]
    fn a_text_is_cut_as_if_all_of_it_had_been_looked_at() {
        let texts = [
            "short".to_owned(),
            format!("{}{SECRET} and {SECRET}", "x".repeat(90)),
            format!("{} code-{} end", "x".repeat(90), "1".repeat(40)),
            format!("-----BEGIN RSA PRIVATE KEY-----\n{}", "MIIE".repeat(5_000)),
            "日本語 ".repeat(50_000),
        ];
        for text in texts {
            let whole = redactor().text(&text).into_owned();
            for most in [0, 1, 80, 91, 95, 100, 110, 120, 130, 150, 200_000, 500_000] {
                let expected: String = whole.chars().take(most).collect();
                let (shown, is_whole) = begins(&text, most);
                assert_eq!((shown.as_str(), is_whole), (expected.as_str(), expected == whole), "{most}");
            }
        }
    }

    /// Wherever the cut is, what is before it is no part of a secret.
    #[test]
    fn no_part_of_a_secret_is_left_at_the_cut() {
        for secret in [SECRET, "code-1234567890"] {
            let text = format!("{}{secret}{}", "x".repeat(50), " y".repeat(400_000));
            for most in 45..90 {
                let (shown, _) = begins(&text, most);
                assert!(!shown.contains(&secret[..6]), "{most}: {shown}");
            }
        }
    }

    #[test]
    fn the_rest_of_a_large_page_is_not_looked_at() {
        let text = "word ".repeat(2_000_000);
        let asked = Cell::new(0);
        let count = || {
            asked.set(asked.get() + 1);
            false
        };
        let (shown, is_whole) = beginning(&text, 200_000, &redactor(), &count);
        assert_eq!((shown.len(), is_whole), (200_000, false));
        assert!(asked.get() <= 200_000 / PIECE_BYTES + 2, "{} pieces", asked.get());
        // All of it hidden: it ends, too.
        let hidden = format!("-----BEGIN RSA PRIVATE KEY-----\n{}", "MIIE".repeat(2_000_000));
        asked.set(0);
        let (shown, is_whole) = beginning(&hidden, 1_000, &redactor(), &count);
        assert!(
            !is_whole && asked.get() <= (4_000 + 2 * MOST_HELD_BYTES) / PIECE_BYTES + 2,
            "{}",
            asked.get()
        );
        assert!(!shown.contains("MIIE"), "{shown}");
    }

    #[test]
    fn nothing_is_looked_at_for_nobody() {
        let (shown, _) = beginning(&"word ".repeat(2_000_000), 200_000, &redactor(), &|| true);
        assert_eq!(shown, "");
    }
}

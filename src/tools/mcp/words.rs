//! How are the words of a server shown to people? Without secrets, without what would steer a terminal or turn a line round, and
//! not at any length.

use std::sync::Arc;

/// Makes a server's words fit to be shown. A cheap handle.
#[derive(Clone)]
pub struct TextSanitizer(Arc<dyn Fn(String) -> String + Send + Sync>);

impl TextSanitizer {
    /// `redact` hides secrets, which is done before anything is cut: a part of one is not found any more.
    pub fn new(redact: impl Fn(String) -> String + Send + Sync + 'static) -> TextSanitizer {
        TextSanitizer(Arc::new(redact))
    }

    #[cfg(test)]
    pub fn as_they_are() -> TextSanitizer {
        TextSanitizer(Arc::new(|text| text))
    }

    /// With its line ends.
    pub fn text(&self, text: &str, longest: usize) -> String {
        cut(&self.plain(text), longest)
    }

    /// In one line.
    pub fn line(&self, text: &str, longest: usize) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        cut(&self.plain(&words.join(" ")), longest)
    }

    /// Uncut.
    pub fn whole(&self, text: &str) -> String {
        (self.0)(text.to_owned())
    }

    fn plain(&self, text: &str) -> String {
        plain(&self.whole(text)).replace('\t', " ").trim().to_owned()
    }
}

/// Text with its line ends and tabs, without what steers a terminal, turns a line round or is not seen: spaces stand for that.
pub fn plain(text: &str) -> String {
    let plain = |letter: char| match letter {
        '\n' | '\t' => letter,
        _ if letter.is_control() || turns(letter) => ' ',
        _ => letter,
    };
    text.chars().map(plain).collect()
}

/// Whether a letter makes those around it run the other way, ends a line unasked, or is not seen.
fn turns(letter: char) -> bool {
    matches!(
        letter,
        '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

fn cut(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let short: String = text.chars().take(longest).collect();
    format!("{short}… (cut; {count} characters in all)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shown_plainly_and_not_at_any_length() {
        let words = TextSanitizer::as_they_are();
        assert_eq!(words.line("  a\n\tb\u{1b}[31mred\u{202e}x ", 100), "a b [31mred x");
        assert_eq!(words.text("a\nb\r\u{7}", 100), "a\nb");
        assert_eq!(words.line("abcdef", 3), "abc… (cut; 6 characters in all)");
        assert_eq!(plain("a\n\tb\u{1b}c\u{2067}d\u{2028}e"), "a\n\tb c d e");
        let hiding = TextSanitizer(Arc::new(|text| text.replace("hunter2", "[secret]")));
        assert_eq!(hiding.line("is hunter2 it", 5), "is [s… (cut; 14 characters in all)");
    }
}

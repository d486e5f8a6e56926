//! Which addresses stand in a text?

/// Signs that end a sentence or a bracket rather than an address.
const AFTER: &[char] = &['.', ',', ';', ':', '!', '?', '\'', '*', '_', '…', '。', '、', '，'];

/// Every address of the web in a text, as it stands there.
pub fn addresses_in(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = next_start(rest) {
        let from = &rest[start..];
        let is_end =
            |letter: char| letter.is_whitespace() || letter.is_control() || "<>\"`|\\^{}".contains(letter);
        let end = from.find(is_end).unwrap_or(from.len());
        let url = trimmed(&from[..end]);
        if url.contains("://") && !url.ends_with("://") {
            found.push(url);
        }
        rest = &from[end..];
    }
    found
}

/// Where the next one begins.
fn next_start(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let places = ["http://", "https://"].iter().filter_map(|scheme| lower.find(scheme));
    places.min()
}

/// Without the signs that belong to the sentence around it.
fn trimmed(url: &str) -> &str {
    let mut url = url;
    loop {
        let shorter = url.trim_end_matches(AFTER);
        let shorter = match shorter.chars().last() {
            Some(')') if shorter.matches('(').count() < shorter.matches(')').count() => {
                &shorter[..shorter.len() - 1]
            }
            Some(']') if shorter.matches('[').count() < shorter.matches(']').count() => {
                &shorter[..shorter.len() - 1]
            }
            _ => shorter,
        };
        if shorter.len() == url.len() {
            return url;
        }
        url = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_sentences() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("no address, only http: and https://", &[]),
            ("Read https://a.example/x.", &["https://a.example/x"]),
            (
                "Read HTTPS://A.example/x, then http://b.example!",
                &["HTTPS://A.example/x", "http://b.example"],
            ),
            ("(see https://a.example/x_(y))", &["https://a.example/x_(y)"]),
            ("[docs](https://a.example/x)", &["https://a.example/x"]),
            ("<https://a.example/?q=1&r=2>", &["https://a.example/?q=1&r=2"]),
            ("\"http://a.example\" `http://b.example`", &["http://a.example", "http://b.example"]),
            ("http://[::1]/x", &["http://[::1]/x"]),
            ("http://a.example/1http://b.example/", &["http://a.example/1http://b.example/"]),
            ("http://user:pass@a.example/", &["http://user:pass@a.example/"]),
            ("file:///etc/passwd ftp://a.example", &[]),
            ("**https://a.example/x**", &["https://a.example/x"]),
            ("Ä https://ä.example/ö ü", &["https://ä.example/ö"]),
        ];
        for (text, expected) in cases {
            assert_eq!(addresses_in(text), *expected, "{text}");
        }
    }
}

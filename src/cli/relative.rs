//! How is a path told to somebody who knows in which folder the session works?

/// The text with each word that is a path below one of these folders told from there on.
pub(super) fn relative(text: &str, roots: &[String]) -> String {
    let below = |word: &str| {
        let inner = |root: &String| word.strip_prefix(root.as_str())?.strip_prefix('/').map(str::to_owned);
        roots.iter().filter(|root| !root.is_empty()).find_map(inner).filter(|inner| !inner.is_empty())
    };
    let words = text.split(' ').map(|word| below(word).unwrap_or_else(|| word.to_owned()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_paths_below_a_folder_lose_it() {
        let roots = ["/w".to_owned(), String::new()];
        for (text, expected) in [
            ("created /w/src/a.rs", "created src/a.rs"),
            ("edits of /w/a.rs, from now on in /w", "edits of a.rs, from now on in /w"),
            ("created /wide/a.rs in /x/w/b.rs and /w/", "created /wide/a.rs in /x/w/b.rs and /w/"),
        ] {
            assert_eq!(relative(text, &roots), expected);
        }
        assert_eq!(relative("created /w/a.rs", &[]), "created /w/a.rs");
    }
}

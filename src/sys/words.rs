//! How is a command written for people that is made of words, so that nobody takes one word for two?

/// The words with blanks between them, each quoted where a shell would want it.
pub fn written<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    words.into_iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// One word, quoted where a shell would want it.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@%+=,".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_a_shell_reads_them() {
        assert_eq!(written(["bash", "-c", "a b", "", "it's"]), r"bash -c 'a b' '' 'it'\''s'");
        assert_eq!(written(["npx", "@scope/server", "--port=80"]), "npx @scope/server --port=80");
    }
}

//! What does a Rust file say, once comments and texts are out of it? Just enough of the language's grammar for
//! the tidy tests: words with their lines.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// One file below the package's root.
pub struct SourceFile {
    /// From the package's root, e.g. `src/run/gate.rs`.
    pub path: String,
    pub text: String,
}

/// A word, `::`, or one other character, and the line it stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub line: usize,
    pub text: &'a str,
}

/// Where this package lies.
pub fn package_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every `.rs` file in `folder`, sorted by path; none when there is no such folder.
pub fn rust_files(folder: &str) -> Vec<SourceFile> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = vec![package_root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(package_root()).unwrap().to_str().unwrap().to_owned();
                files.push(SourceFile { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The same text with comments and the insides of literals blanked out; every line keeps its number.
pub fn strip(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let is_in_word = code.chars().next_back().is_some_and(is_of_word);
        let (length, is_code) = match blank_length(rest, is_in_word) {
            Some(length) => (length, false),
            None => (next.len_utf8(), true),
        };
        let (taken, left) = rest.split_at(length);
        match is_code {
            true => code.push_str(taken),
            false => code.extend(taken.chars().map(|ch| if ch == '\n' { ch } else { ' ' })),
        }
        rest = left;
    }
    code
}

/// How long the comment or literal is that begins here, if one does.
fn blank_length(rest: &str, is_in_word: bool) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment_length(rest));
    }
    // `b"…"`, `r#"…"#` and their like; `r#word` is a word.
    let prefix = match rest.find(|ch: char| !matches!(ch, 'b' | 'c' | 'r')) {
        Some(length @ 0..=2) if !is_in_word => length,
        _ => 0,
    };
    let after_prefix = &rest[prefix..];
    if rest[..prefix].ends_with('r') {
        let hashes = after_prefix.len() - after_prefix.trim_start_matches('#').len();
        let opening = prefix + hashes + 1;
        if !after_prefix[hashes..].starts_with('"') {
            return None;
        }
        let closing = format!("\"{}", "#".repeat(hashes));
        let end = rest[opening..].find(&closing).map(|at| opening + at + closing.len());
        return Some(end.unwrap_or(rest.len()));
    }
    if after_prefix.starts_with('"') {
        return Some(prefix + quoted_length(after_prefix, '"'));
    }
    // A quote begins a character when one character or an escape and a quote follow, else a lifetime.
    let mut chars = after_prefix.strip_prefix('\'')?.chars();
    let is_character = match chars.next()? {
        '\\' => true,
        '\'' => false,
        _ => chars.next() == Some('\''),
    };
    is_character.then(|| prefix + quoted_length(after_prefix, '\''))
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, ch) in rest.char_indices().skip(1) {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if ch == quote => return at + 1,
            _ => (),
        }
    }
    rest.len()
}

/// Takes stripped code apart.
pub fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (index, text) in code.lines().enumerate() {
        let line = index + 1;
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let word = rest.find(|ch| !is_of_word(ch)).unwrap_or(rest.len());
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => rest.chars().next().map_or(1, char::len_utf8),
                _ => word,
            };
            tokens.push(Token { line, text: &rest[..length] });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

fn is_of_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}

/// Whether `tokens` go on with these texts at `at`.
pub fn reads(tokens: &[Token], at: usize, texts: &[&str]) -> bool {
    tokens
        .get(at..at + texts.len())
        .is_some_and(|found| found.iter().map(|token| token.text).eq(texts.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_strip(text: &str, expected: &str) {
        let words =
            |code: &str| tokens(code).iter().map(|token| token.text.to_owned()).collect::<Vec<_>>().join(" ");
        let code = strip(text);
        assert_eq!(words(&code), expected, "{text}");
        assert_eq!(code.matches('\n').count(), text.matches('\n').count(), "{text}");
    }

    #[test]
    fn comments_and_literals_are_blank() {
        for (text, expected) in [
            ("a // b\nc", "a c"),
            ("/// b\n//! c\nd", "d"),
            ("a /* b /* c */ d */ e", "a e"),
            ("a /* b", "a"),
            ("/*/ a */ b", "b"),
            (r#"a("b", c)"#, "a ( , c )"),
            (r#"a("\"b\\", c)"#, "a ( , c )"),
            (r##"a(r"\", b)"##, "a ( , b )"),
            (r####"a(r##"b "# c"##, d)"####, "a ( , d )"),
            (r###"a(br#"b""#, c"d", b"e", cr"f", b'g')"###, "a ( , , , , )"),
            ("\"a // b\" c // \"\nd", "c d"),
            ("\"a\nb\" c", "c"),
            ("r#type = 1", "r # type = 1"),
            ("bar\"x\"", "bar"),
            ("a('b', '\\'', '\"', '\\u{1F600}', '/', 'ä') // c", "a ( , , , , , )"),
            (
                "fn a<'b, 'c: 'static>(d: &'b str) { 'e: loop { break 'e } }",
                "fn a < ' b , ' c : ' static > ( d : & ' b str ) { ' e : loop { break ' e } }",
            ),
            ("impl<'a> X<'a> {} // '", "impl < ' a > X < ' a > { }"),
            ("f('a', b'\\'', 'c')", "f ( , , )"),
            ("", ""),
        ] {
            check_strip(text, expected);
        }
    }

    #[test]
    fn tokens_know_their_line() {
        let code = strip("a::b /*\n*/ c");
        let found: Vec<(usize, &str)> = tokens(&code).iter().map(|token| (token.line, token.text)).collect();
        assert_eq!(found, [(1, "a"), (1, "::"), (1, "b"), (2, "c")]);
    }
}

//! What is a line of code: a definition, a comment, an import, the beginning of tests? By its first words only, in
//! the manner of many languages at once.

/// Words that introduce a name.
const DEFINING_WORDS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "union",
    "type",
    "const",
    "static",
    "mod",
    "macro_rules!",
    "class",
    "def",
    "function",
    "func",
    "interface",
    "impl",
    "module",
    "namespace",
    "object",
    "record",
    "macro",
];

/// Words that may stand before those.
const MODIFIERS: &[&str] = &[
    "pub",
    "default",
    "async",
    "unsafe",
    "extern",
    "export",
    "public",
    "private",
    "protected",
    "internal",
    "abstract",
    "final",
    "override",
    "inline",
    "virtual",
    "declare",
    "sealed",
    "open",
    "data",
    "\"C\"",
];

/// Finds lines that define something; goes with [`definition`].
pub(super) const DEFINITION_PATTERN: &str = r#"^\s*(?:(?:pub(?:\([^)]*\))?|default|async|unsafe|extern(?: "C")?|export|public|private|protected|internal|abstract|final|override|inline|virtual|static|const)\s+)*(?:fn|struct|enum|trait|union|type|const|static|mod|macro_rules!|class|def|function|func|interface|impl)\b"#;

/// Finds the line after which there are only tests.
pub(super) const TESTS_PATTERN: &str = r"^\s*#\[cfg\((?:all\()?test";

/// Finds definitions whose name has the pattern in it.
pub(super) fn definition_pattern(name_pattern: &str) -> String {
    format!(
        r"\b(?:fn|struct|enum|trait|union|type|const|static|mod|macro_rules!|class|def|function|func|interface)\s+\w*(?:{name_pattern})"
    )
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceDefinition<'a> {
    pub(super) keyword: &'a str,
    pub(super) name: &'a str,
}

/// What the line defines, if it begins a definition.
pub(super) fn definition(line: &str) -> Option<SourceDefinition<'_>> {
    let mut rest = line.trim_start();
    loop {
        let (word, behind) = rest.split_once(char::is_whitespace)?;
        let bare = word.split(['(', '<']).next().unwrap_or(word);
        if bare == "impl" {
            return Some(SourceDefinition { keyword: "impl", name: implementing_type(rest) });
        }
        if DEFINING_WORDS.contains(&word) {
            let behind = behind.trim_start();
            let next_word = behind.split_whitespace().next().unwrap_or_default();
            // `const fn`, `static mut`, `enum class`: the next word says what it is.
            if DEFINING_WORDS.contains(&next_word) {
                rest = behind;
                continue;
            }
            let name = behind.strip_prefix("mut ").unwrap_or(behind);
            let end = name.find(|character: char| !character.is_alphanumeric() && character != '_');
            let name = &name[..end.unwrap_or(name.len())];
            return (!name.is_empty()).then_some(SourceDefinition { keyword: word, name });
        }
        if !MODIFIERS.contains(&bare) {
            return None;
        }
        rest = behind.trim_start();
    }
}

/// `impl<T> Display for Wrapper<T> {` → `Wrapper`.
fn implementing_type(line: &str) -> &str {
    let subject = match line.split_once(" for ") {
        Some((_, subject)) => subject,
        None => match line.strip_prefix("impl<").and_then(|generic| generic.split_once("> ")) {
            Some((_, subject)) => subject,
            None => line.trim_start_matches("impl").trim_start(),
        },
    };
    let subject = subject.trim_start_matches(['&', ' ']);
    let end = subject.find(|character: char| !character.is_alphanumeric() && !"_:".contains(character));
    let path = &subject[..end.unwrap_or(subject.len())];
    path.rsplit("::").next().unwrap_or(path)
}

pub(super) fn is_module_comment(line: &str) -> bool {
    line.trim_start().starts_with("//!")
}

pub(super) fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "/*", "* ", "*/", "# ", "\"\"\"", "--"].iter().any(|sign| line.starts_with(sign))
}

pub(super) fn is_attribute(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[") || line.starts_with('@')
}

/// Imports name what others define.
pub(super) fn is_import(line: &str) -> bool {
    let line = line.trim_start();
    [
        "use ",
        "pub use ",
        "pub(crate) use ",
        "import ",
        "from ",
        "#include",
        "extern crate ",
        "mod ",
        "pub mod ",
    ]
    .iter()
    .any(|sign| line.starts_with(sign) && (!sign.contains("mod") || line.trim_end().ends_with(';')))
}

pub(super) fn begins_tests(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[cfg(test)]") || line.starts_with("mod tests {") || line.starts_with("mod test {")
}

#[cfg(test)]
mod tests {
    use super::definition;

    #[test]
    fn definitions_name_what_they_define() {
        let cases = [
            ("pub(crate) async fn run(&self) {", Some(("fn", "run"))),
            ("    const fn zero() -> u8 {", Some(("fn", "zero"))),
            ("pub const MAX_DELAY: u64 = 30;", Some(("const", "MAX_DELAY"))),
            ("impl<T: Clone> fmt::Display for Wrapper<T> {", Some(("impl", "Wrapper"))),
            ("impl<'a> Parser<'a> {", Some(("impl", "Parser"))),
            ("macro_rules! ids {", Some(("macro_rules!", "ids"))),
            ("def back_off(attempt):", Some(("def", "back_off"))),
            ("export class Router {", Some(("class", "Router"))),
            ("let structure = fn_pointer;", None),
            ("return value", None),
        ];
        for (line, expected) in cases {
            let found = definition(line).map(|definition| (definition.keyword, definition.name));
            assert_eq!(found, expected, "{line}");
        }
    }
}

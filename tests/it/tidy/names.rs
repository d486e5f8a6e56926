//! Can a newcomer search for a type by its name, and guess what it is? (`src/GLOSSARY.md`)

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::{
    assert_none, is_test,
    source::{SourceFile, Token, package_root, strip, tokens},
    sources,
};

/// Doc comments of the library that may begin with a piece of a sentence instead of saying what the thing is. Lower it when you have
/// mended some; never the other way.
const FRAGMENTS: usize = 3_353;

/// How such a piece begins.
const FRAGMENT_WORDS: &[&str] = &[
    "As", "By", "For", "How", "In", "Of", "So", "Their", "Those", "What", "When", "Where", "Whether",
    "Which", "Who", "Whose", "Why", "With",
];

/// A type that a file declares outside of everything else.
struct DeclaredType {
    name: String,
    place: String,
    is_public: bool,
}

#[test]
fn no_two_types_share_a_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for declared in declared_types() {
        places.entry(declared.name).or_default().push(declared.place);
    }
    let shared = places.iter().filter(|(_, places)| 1 < places.len());
    let violations: Vec<String> = shared
        .map(|(name, places)| {
            format!("`{name}` is the name of {} types: {}", places.len(), places.join(", "))
        })
        .collect();
    assert_none(&violations);
}

#[test]
fn public_types_of_one_word_stand_in_the_glossary() {
    let glossary = fs::read_to_string(package_root().join("src/GLOSSARY.md")).unwrap();
    let words: BTreeSet<String> = glossary_words(&glossary);
    let is_unknown = |declared: &DeclaredType| {
        declared.is_public && is_one_word(&declared.name) && !words.contains(&declared.name.to_lowercase())
    };
    let unknown = declared_types().into_iter().filter(is_unknown);
    let violations: Vec<String> = unknown
        .map(|declared| {
            format!(
                "{}: `{}` stands not in src/GLOSSARY.md; say which one it is",
                declared.place, declared.name
            )
        })
        .collect();
    assert_none(&violations);
}

#[test]
fn doc_comments_say_what_a_thing_is() {
    let count: usize = library_files().iter().map(|file| fragments(&file.text)).sum();
    assert!(
        count <= FRAGMENTS,
        "{count} doc comments begin with {FRAGMENT_WORDS:?}, and FRAGMENTS allows {FRAGMENTS}: begin with what the thing is"
    );
}

fn library_files() -> Vec<SourceFile> {
    sources().into_iter().filter(|file| !is_test(file)).collect()
}

fn declared_types() -> Vec<DeclaredType> {
    let mut declared = Vec::new();
    for file in library_files() {
        let code = strip(&file.text);
        let types = types_of(&tokens(&code));
        declared.extend(types.into_iter().map(|(name, line, is_public)| DeclaredType {
            name,
            place: format!("{}:{line}", file.path),
            is_public,
        }));
    }
    assert!(!declared.is_empty());
    declared
}

/// Types outside of every brace: name, line, and whether everybody sees them.
fn types_of(tokens: &[Token]) -> Vec<(String, usize, bool)> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            "struct" | "enum" | "trait" | "type" if depth == 0 => {
                let is_public = at.checked_sub(1).is_some_and(|before| tokens[before].text == "pub");
                found.extend(tokens.get(at + 1).map(|name| (name.text.to_owned(), name.line, is_public)));
            }
            _ => (),
        }
    }
    found
}

fn is_one_word(name: &str) -> bool {
    name.chars().filter(|ch| ch.is_uppercase()).count() <= 1
}

/// The first cells of its tables.
fn glossary_words(glossary: &str) -> BTreeSet<String> {
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(" | ").next())
        .flat_map(|cell| cell.split(", "))
        .map(|word| word.trim().to_lowercase())
        .collect()
}

/// Doc comments whose first word begins no sentence about a thing.
fn fragments(text: &str) -> usize {
    let mut was_doc = false;
    let mut count = 0;
    for line in text.lines().map(str::trim) {
        let doc = line.strip_prefix("/// ");
        if !was_doc && let Some(doc) = doc {
            let first = doc.split(|ch: char| !ch.is_alphabetic()).next().unwrap_or_default();
            count += usize::from(FRAGMENT_WORDS.contains(&first));
        }
        was_doc = line.starts_with("///");
    }
    count
}

#[test]
fn names_are_found_as_they_are_declared() {
    let found = |code: &str| {
        let code = strip(code);
        types_of(&tokens(&code)).into_iter().map(|(name, _, is_public)| (name, is_public)).collect::<Vec<_>>()
    };
    let expected = [("A", true), ("B", false), ("C", false), ("D", true)]
        .map(|(name, is_public)| (name.to_owned(), is_public));
    assert_eq!(
        found(
            "pub struct A; pub(crate) enum B { X } trait C {} fn f() { struct No; } pub type D = u8; impl X { type No = u8; } // struct No"
        ),
        expected
    );
    assert!(is_one_word("Clock") && is_one_word("Id") && !is_one_word("RunId"));
    assert_eq!(
        fragments(
            "/// What it is.\n/// Who asks.\nx\n/// A thing.\n/// Who.\ny\n/// Who.\n//// Why\n    /// Why so.\n"
        ),
        2
    );
    assert_eq!(
        glossary_words("| word | meaning |\n|---|---|\n| run | One. |\n| tool call, call | Two. |\n").len(),
        4
    );
}

//! The plain form makes spellings the same, and only those.

use std::collections::BTreeMap;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, HirKind};

use super::*;

fn class(text: &str) -> ClassUnicode {
    match regex_syntax::parse(text).unwrap().into_kind() {
        HirKind::Class(regex_syntax::hir::Class::Unicode(class)) => class,
        other => panic!("{other:?}"),
    }
}

fn plain(text: &str) -> String {
    folded(text).into_iter().collect()
}

/// Letters, marks and numbers, but for the many of Han and Korean that are alike.
fn characters() -> impl Iterator<Item = char> {
    let all = '\0'..='\u{1ffff}';
    all.filter(|character| !matches!(character, '\u{3400}'..='\u{9fff}' | '\u{ac80}'..='\u{d7a3}'))
        .filter(|character| character.is_alphanumeric() || is_combining_mark(*character))
}

#[test]
fn scripts_without_blanks_are_those_of_unicode() {
    let scripts = "Han Hira Kana Thai Laoo Khmr Mymr".split(' ').map(|name| format!(r"\p{{scx={name}}}"));
    let theirs = class(&format!("[{}]", scripts.collect::<String>()));
    // As the plain form has them. Other numbers belong to no script, whoever invented them.
    let letters = class(r"[\p{Alphabetic}\p{Nd}]");
    let all = letters.iter().flat_map(|range| range.start()..=range.end());
    for character in all.filter(|character| plain(&character.to_string()) == character.to_string()) {
        let is_theirs = theirs.iter().any(|range| (range.start()..=range.end()).contains(&character));
        assert_eq!(
            CharacterClass::of(character) == CharacterClass::Unspaced,
            is_theirs,
            "{:x}",
            u32::from(character)
        );
    }
}

/// Beyond what `char` offers: letters that Unicode's tables call the same but for case.
#[test]
fn all_cases_of_a_letter_are_the_same() {
    for character in characters() {
        let mut same = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
        same.case_fold_simple();
        let first = plain(&character.to_string());
        for other in same.iter().flat_map(|range| range.start()..=range.end()) {
            assert_eq!(plain(&other.to_string()), first, "{character:?} {other:?}");
        }
        for other in [character.to_uppercase().to_string(), character.to_lowercase().to_string()] {
            assert_eq!(plain(&other), first, "{character:?} {other:?}");
        }
    }
}

#[test]
fn all_ways_to_compose_a_character_are_the_same() {
    for character in characters() {
        let first = plain(&character.to_string());
        assert_eq!(plain(&character.nfd().collect::<String>()), first, "{character:?}");
        assert_eq!(plain(&character.nfc().collect::<String>()), first, "{character:?}");
        assert_eq!(plain(&character.nfkd().collect::<String>()), first, "{character:?}");
    }
}

/// Letters that are told apart stay apart, but for what the plain form says it makes the same.
#[test]
fn other_letters_are_other_letters() {
    let mut groups: BTreeMap<String, String> = BTreeMap::new();
    for character in
        ('\0'..='\u{5ff}').filter(|character| character.is_lowercase() && character.nfkd().eq([*character]))
    {
        groups.entry(plain(&character.to_string())).or_default().push(character);
    }
    let groups: Vec<String> = groups.into_values().filter(|group| group.chars().count() > 1).collect();
    assert_eq!(groups, ["iı", "\u{345}ι", "ςσ"]);
}

//! Which modules beside each other know one another in a circle? Of such modules none can be read, tested or moved alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    slice,
};

use super::{
    assert_none, crates, is_test, is_within, place,
    source::{Token, reads, rust_files, strip, tokens},
};

/// A path of words, from the root of a crate.
type WordPath = Vec<String>;

/// What one file says about others of its crate.
#[derive(Default)]
struct ModuleNames {
    /// What `use` brings in, by the name that it has there.
    imports: BTreeMap<String, WordPath>,
    /// Every path that is named.
    paths: Vec<WordPath>,
}

#[test]
fn modules_beside_each_other_form_no_circles() {
    let violations: Vec<String> = crates()
        .iter()
        .flat_map(|name| circles(&modules_of(name), name))
        .map(|(place, size)| {
            format!("{place}: {size} modules form a circle; move what two of them share below both")
        })
        .collect();
    assert_none(&violations);
}

/// The modules of a crate by their path, tests left out.
fn modules_of(name: &str) -> BTreeMap<WordPath, ModuleNames> {
    let mut files = rust_files("src");
    files.retain(|file| is_within(place(file), name) && !is_test(file));
    let paths: BTreeSet<WordPath> = files.iter().map(|file| module_path(place(file))).collect();
    files
        .iter()
        .map(|file| (module_path(place(file)), names(&file.text, &module_path(place(file)), &paths)))
        .collect()
}

/// Without the crate: the folder of a crate is its root.
fn module_path(place: &str) -> WordPath {
    place.split('/').skip(1).map(str::to_owned).collect()
}

fn names(text: &str, here: &WordPath, modules: &BTreeSet<WordPath>) -> ModuleNames {
    let code = strip(text);
    let tokens = tokens(&code);
    let mut names = ModuleNames::default();
    let mut at = 0;
    while at < tokens.len() {
        // Tests within a file are the last thing there.
        if reads(&tokens, at, &["cfg", "(", "test", ")", "]", "mod"]) && reads(&tokens, at + 7, &["{"]) {
            break;
        }
        // A type's `+ use<'a>` imports nothing.
        if tokens[at].text == "use" && !reads(&tokens, at + 1, &["<"]) {
            let mut paths = Vec::new();
            at = use_tree(&tokens, at + 1, &[], &mut paths);
            for (path, name) in paths {
                if let Some(path) = absolute(&path, here, modules) {
                    names.imports.insert(name, path.clone());
                    names.paths.push(path);
                }
            }
        } else if ["crate", "self", "super"].contains(&tokens[at].text) && reads(&tokens, at + 1, &["::"]) {
            let mut path = vec![tokens[at].text.to_owned()];
            while reads(&tokens, at + 1, &["::"]) && tokens.get(at + 2).is_some_and(is_word) {
                path.push(tokens[at + 2].text.to_owned());
                at += 2;
            }
            names.paths.extend(absolute(&path, here, modules));
        }
        at += 1;
    }
    names
}

fn is_word(token: &Token) -> bool {
    token.text.starts_with(|ch: char| ch.is_alphabetic() || ch == '_')
}

/// Reads what follows `use` from `at` on, up to where this branch ends: each path with the name that it gets.
fn use_tree(
    tokens: &[Token],
    mut at: usize,
    before: &[String],
    found: &mut Vec<(WordPath, String)>,
) -> usize {
    let mut path = before.to_vec();
    while let Some(token) = tokens.get(at) {
        match token.text {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| !["}", ";"].contains(&token.text)) {
                    at = use_tree(tokens, at, &path, found);
                    at += usize::from(reads(tokens, at, &[","]));
                }
                return at + 1;
            }
            "as" => {
                let name = tokens.get(at + 1).map_or_else(String::new, |token| token.text.to_owned());
                found.push((path, name));
                return at + 2;
            }
            "self" if !path.is_empty() && path.last().is_some_and(|last| last != "super") => at += 1,
            _ if is_word(token) => {
                path.push(token.text.to_owned());
                at += 1;
            }
            "," | ";" | "}" => break,
            _ => at += 1,
        }
    }
    let name = path.last().cloned().unwrap_or_default();
    found.push((path, name));
    at
}

/// From the crate's root, where it begins in this crate.
fn absolute(path: &[String], here: &WordPath, modules: &BTreeSet<WordPath>) -> Option<WordPath> {
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([here, &path[1..]].concat()),
        "super" => {
            let supers = path.iter().take_while(|word| *word == "super").count();
            let above = here.len().checked_sub(supers)?;
            Some([&here[..above], &path[supers..]].concat())
        }
        first => {
            let child = [here.as_slice(), &[first.to_owned()]].concat();
            modules.contains(&child).then(|| [here, path].concat())
        }
    }
}

/// The module in which what a path names is defined, found through what others import and hand on.
fn defining(path: &[String], modules: &BTreeMap<WordPath, ModuleNames>, depth: usize) -> WordPath {
    let mut module = WordPath::new();
    for (at, word) in path.iter().enumerate() {
        let below = [module.as_slice(), slice::from_ref(word)].concat();
        if modules.contains_key(&below) {
            module = below;
            continue;
        }
        let imported = modules.get(&module).and_then(|names| names.imports.get(word));
        return match imported {
            Some(imported) if depth < 8 && imported != path => {
                defining(&[imported, &path[at + 1..]].concat(), modules, depth + 1)
            }
            _ => module,
        };
    }
    module
}

/// Each circle by the folder it lies in (numbered, where there are several), with its number of modules.
fn circles(modules: &BTreeMap<WordPath, ModuleNames>, crate_name: &str) -> Vec<(String, usize)> {
    let mut knows: BTreeMap<WordPath, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (here, names) in modules {
        for path in &names.paths {
            let there = defining(path, modules, 0);
            let shared = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (here.get(shared), there.get(shared)) {
                let beside = knows.entry(here[..shared].to_vec()).or_default();
                beside.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    let mut found = Vec::new();
    for (folder, beside) in knows {
        let place = [vec![crate_name.to_owned()], folder].concat().join("/");
        let mut rest: BTreeSet<&String> = beside.keys().collect();
        let mut number = 0;
        while let Some(first) = rest.pop_first() {
            let reached = reachable(first, &beside);
            let circle: BTreeSet<&String> =
                reached.iter().copied().filter(|other| reachable(other, &beside).contains(first)).collect();
            rest.retain(|other| !circle.contains(other));
            if 1 < circle.len() {
                number += 1;
                let name = if number == 1 { place.clone() } else { format!("{place} {number}") };
                found.push((name, circle.len()));
            }
        }
    }
    found
}

/// What `first` knows, directly or through others; itself only if one of them knows it.
fn reachable<'a>(first: &'a String, knows: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&String> = knows.get(first).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(knows.get(module).into_iter().flatten());
        }
    }
    reached
}

#[test]
fn circles_are_seen_through_what_doors_hand_on() {
    let module = |path: &str, text: &str, all: &BTreeSet<WordPath>| {
        let path: WordPath = path.split('/').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        (path.clone(), names(text, &path, all))
    };
    let check = |files: &[(&str, &str)], expected: &[(&str, usize)]| {
        let all: BTreeSet<WordPath> =
            files.iter().map(|(path, _)| module(path, "", &BTreeSet::new()).0).collect();
        let modules: BTreeMap<WordPath, ModuleNames> =
            files.iter().map(|(path, text)| module(path, text, &all)).collect();
        let found = circles(&modules, "x");
        let found: Vec<(&str, usize)> = found.iter().map(|(place, size)| (place.as_str(), *size)).collect();
        assert_eq!(found, expected, "{files:?}");
    };
    check(
        &[("", "mod a; mod b;"), ("a", "use super::b::B;"), ("b", "use crate::a::{A, other};")],
        &[("x", 2)],
    );
    check(&[("", "mod a; mod b;"), ("a", "use super::b::B;"), ("b", "// use super::a::A;")], &[]);
    // A child and its door know each other in every house.
    check(&[("", "mod a;"), ("a", "use b::B; mod b;"), ("a/b", "use super::A;")], &[]);
    // The door hands `A` on: who names it there knows `a`.
    check(
        &[
            ("", "pub use a::A; mod a; mod b;"),
            ("a", "fn f() { crate::b::g() }"),
            ("b", "use crate::A as B;"),
        ],
        &[("x", 2)],
    );
    check(
        &[
            ("", ""),
            ("d", "mod a; mod b; mod c;"),
            ("d/a", "super::b::f()"),
            ("d/b", "use super::c;"),
            ("d/c", "use super::a::{self, A};"),
        ],
        &[("x/d", 3)],
    );
    check(&[("", ""), ("a", "use crate::b::B;"), ("b", "#[cfg(test)]\nmod tests { use crate::a::A; }")], &[]);
}

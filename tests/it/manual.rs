//! README.md and docs/: do their links lead somewhere, is the README still a page that somebody reads, do the examples work,
//! and is what they list all that there is?

mod examples;
mod reference;

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

/// A page that people read, by its path in the repository.
pub struct Page {
    pub file: String,
    pub text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(file: String) -> Page {
    let text = fs::read_to_string(root().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    Page { file, text }
}

/// The README and every chapter of the manual.
pub fn pages() -> Vec<Page> {
    let chapters = fs::read_dir(root().join("docs")).unwrap();
    let mut files: Vec<String> = chapters
        .map(|entry| format!("docs/{}", entry.unwrap().file_name().into_string().unwrap()))
        .filter(|file| file.ends_with(".md"))
        .collect();
    files.sort();
    [vec!["README.md".to_owned()], files].concat().into_iter().map(page).collect()
}

/// What stands between fences that name this language, in order.
pub fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(opened)) if opened == language => open = Some(String::new()),
            // One of another language, whose own end opens nothing.
            (None, _) => {}
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(example), None) => *example += &format!("{line}\n"),
        }
    }
    blocks
}

/// The lines of a page that are no example, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_example = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_example ^= is_fence;
        !is_fence && !is_example
    })
}

/// What stands between backticks outside of examples; in one line each, also if the text breaks it.
fn quotes(page: &Page) -> Vec<String> {
    let lines: Vec<&str> = prose(&page.text).map(|(_, line)| line).collect();
    let text = lines.join("\n");
    let parts: Vec<&str> = text.split('`').collect();
    assert!(parts.len() % 2 == 1, "{}: a backtick is missing", page.file);
    // A bar is escaped in a table.
    parts.into_iter().skip(1).step_by(2).map(|it| it.replace('\n', " ").replace("\\|", "|")).collect()
}

/// What a heading is called in links: small letters, digits and hyphens.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
            kept.map(|it| if it == ' ' { '-' } else { it }).collect()
        })
        .collect()
}

/// The targets of `[text](target)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// `docs/../src` is `src`.
fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(normalized.pop(), "{}", path.display()),
            other => normalized.push(other),
        }
    }
    normalized
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    let mut followed = 0;
    let contributing = page("CONTRIBUTING.md".to_owned());
    for Page { file, text } in pages().into_iter().chain([contributing]) {
        for (number, line) in prose(&text) {
            for link in links(line).filter(|link| !link.contains("://")) {
                followed += 1;
                let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
                let folder = Path::new(&file).parent().unwrap();
                let target =
                    if path.is_empty() { PathBuf::from(&file) } else { normalized(&folder.join(path)) };
                let Ok(text) = fs::read_to_string(root().join(&target)) else {
                    broken.push(format!("{file}:{number}: there is no {}", target.display()));
                    continue;
                };
                if !anchor.is_empty() && !anchors(&text).contains(anchor) {
                    broken.push(format!("{file}:{number}: {} has no heading #{anchor}", target.display()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(followed > 20, "{followed} links");
}

/// Somebody who looks for a chapter looks into one of these.
#[test]
fn the_readme_and_the_contents_name_every_chapter() {
    let pages = pages();
    let (readme, chapters) = pages.split_first().unwrap();
    let contents = chapters.iter().find(|page| page.file == "docs/README.md").unwrap();
    for chapter in chapters.iter().filter(|page| page.file != contents.file) {
        let name = chapter.file.strip_prefix("docs/").unwrap();
        assert!(readme.text.contains(&format!("](docs/{name})")), "README.md does not lead to {name}");
        assert!(contents.text.contains(&format!("]({name})")), "docs/README.md does not lead to {name}");
    }
}

/// It is for the first ten minutes; what comes later belongs into docs/.
#[test]
fn the_readme_stays_short() {
    let readme = page("README.md".to_owned());
    let lines = readme.text.lines().count();
    assert!(lines <= 200, "README.md has {lines} lines");
}

/// Whoever follows it opens the files that it names.
#[test]
fn every_file_that_contributing_names_is_there() {
    let page = page("CONTRIBUTING.md".to_owned());
    let is_path = |text: &String| {
        let is_letter = |it: char| it.is_ascii_alphanumeric() || "/._-".contains(it);
        text.contains('/') && text.chars().all(is_letter) && !text.contains("NAME")
    };
    let named: Vec<String> = quotes(&page).into_iter().filter(is_path).collect();
    let missing: Vec<&String> = named.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty() && named.len() > 20, "{missing:?} of {named:?}");
}

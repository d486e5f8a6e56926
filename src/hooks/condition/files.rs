//! Is a path one that a pattern of files means, and may one lie below it?

use std::path::{Component, Path, PathBuf};

use super::{CalledWithin, WildcardPattern};
use sys::guarded::ResolvedPath;

/// One pattern: `src/**`, `.env`, `~/x`, `//etc/**`.
#[derive(Debug, Clone)]
pub(super) struct FilePattern {
    expression: WildcardPattern,
    place: FilePlace,
    /// A name alone, which means files of it in any folder.
    is_anywhere: bool,
    /// It begins with `**/`, which means any folder, also one outside of all roots.
    is_in_any_folder: bool,
    /// It begins with one `/`: people who know no other way mean the whole path.
    may_be_absolute: bool,
    /// The names on the way; `None` = any number of any names.
    names: Vec<Option<WildcardPattern>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilePlace {
    /// Compared with the whole path.
    Absolute,
    /// Compared with the path below the home.
    Home,
    /// Compared with the path below each root.
    Root,
}

/// The first root, as files of settings write it in commands.
const PROJECT: &[&str] = &["$CLAUDE_PROJECT_DIR/", "${CLAUDE_PROJECT_DIR}/"];

impl FilePattern {
    /// `//x` is absolute, `~/x` lies in the home, `/x`, `./x` and `x/y` below the root, `x` anywhere below it. `None` = it is not one
    /// pattern: a list, the contrary of one, or one with a variable.
    pub(super) fn read(about: &str) -> Result<Option<FilePattern>, String> {
        let of_project = PROJECT.iter().find_map(|project| about.strip_prefix(project));
        let may_be_absolute = about.starts_with('/') && !about.starts_with("//");
        let about = of_project.map_or_else(|| about.to_owned(), |below| format!("/{below}"));
        let leads_up = || Path::new(&about).components().any(|part| part == Component::ParentDir);
        let has_signs = about.starts_with(['!', '^']) || about.contains(['$', '|', '\\']);
        let is_foreign = || super::is_quoted(&about) || super::names_field(&about) || about.starts_with('(');
        if has_signs || is_list(&about) || is_foreign() || leads_up() {
            return Ok(None);
        }
        // A folder is written with and without its last slash.
        let about = match about.trim_end_matches('/') {
            "" => about.as_str(),
            trimmed => trimmed,
        };
        let mut anywhere = false;
        // Whatever is there.
        let about = match about {
            "." | "./" | "/" => "./**",
            "~" => "~/**",
            "//" => "//**",
            other => other,
        };
        let (place, text) = match (about.strip_prefix("//"), about.strip_prefix("~/")) {
            (Some(rest), _) => (FilePlace::Absolute, format!("/{rest}")),
            (_, Some(rest)) => (FilePlace::Home, rest.to_owned()),
            _ => {
                let text = about.strip_prefix("./").or_else(|| about.strip_prefix('/')).unwrap_or(about);
                let is_anywhere = text == about && !text.contains('/');
                anywhere = is_anywhere;
                (FilePlace::Root, if is_anywhere { format!("**/{text}") } else { text.to_owned() })
            }
        };
        // What names a folder means all of it.
        let expression = WildcardPattern::of(&format!("(?s)^{}(/.*)?$", expression_of(&text)))?;
        let names = text.split('/').filter(|name| !matches!(*name, "" | "."));
        // Braces may have folders in them.
        let names = names.map(|name| match name.contains("**") || name.contains(['{', '}']) {
            true => Ok(None),
            false => WildcardPattern::of(&format!("(?s)^{}$", expression_of(name))).map(Some),
        });
        let names = names.collect::<Result<_, _>>()?;
        let is_in_any_folder = about.starts_with("**/");
        Ok(Some(FilePattern {
            expression,
            place,
            is_anywhere: anywhere,
            is_in_any_folder,
            may_be_absolute,
            names,
        }))
    }

    /// True if the pattern means this path, as it is written or as it leads.
    pub(super) fn matches(&self, path: &Path, within: &CalledWithin<'_>) -> bool {
        let is_match = |path: &Path| self.expression.0.is_match(path.to_string_lossy().as_bytes());
        self.is_met(path, within, &is_match)
    }

    /// True if the pattern may mean something below this folder.
    pub(super) fn may_lie_below(&self, folder: &Path, within: &CalledWithin<'_>) -> bool {
        let holds = |folder: &Path| self.leads_through(folder);
        // The place where the pattern begins may lie below the folder itself.
        let is_above = match self.place {
            FilePlace::Absolute => false,
            FilePlace::Home => spellings(within.home).any(|home| home.starts_with(folder)),
            FilePlace::Root => {
                within.roots.iter().any(|root| spellings(root).any(|root| root.starts_with(folder)))
            }
        };
        is_above || self.is_met(folder, within, &holds)
    }

    /// True if the names of the pattern go by way of this path, which stands below the place where the pattern begins.
    fn leads_through(&self, path: &Path) -> bool {
        let mut names = self.names.iter();
        for part in path.components().filter(|part| matches!(part, Component::Normal(_))) {
            match names.next() {
                // What names a folder means all of it.
                None | Some(None) => return true,
                Some(Some(name)) => {
                    if !name.0.is_match(part.as_os_str().to_string_lossy().as_bytes()) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn is_met(&self, path: &Path, within: &CalledWithin<'_>, is_match: &dyn Fn(&Path) -> bool) -> bool {
        let written = plain(&within.first().join(path));
        // A path with `..` may lead anywhere.
        if written.components().any(|part| part == Component::ParentDir) {
            return true;
        }
        let led_to = Some(ResolvedPath::to(&written).end);
        let is_below = |path: &Path, base: &Path| path.strip_prefix(base).is_ok_and(is_match);
        [Some(written), led_to].into_iter().flatten().any(|path| match self.place {
            FilePlace::Absolute => is_match(&path),
            FilePlace::Home => spellings(within.home).any(|base| is_below(&path, &base)),
            // Another root has files of the same names.
            FilePlace::Root if self.is_anywhere => is_match(path.strip_prefix("/").unwrap_or(&path)),
            FilePlace::Root => {
                let roots: Vec<PathBuf> = within.roots.iter().flat_map(|root| spellings(root)).collect();
                let is_elsewhere = || !roots.iter().any(|root| path.starts_with(root));
                roots.iter().any(|root| is_below(&path, root))
                    || self.may_be_absolute && is_below(&path, Path::new("/"))
                    || self.is_in_any_folder && is_elsewhere() && is_below(&path, Path::new("/"))
            }
        })
    }
}

/// A folder as it is written, and without links.
fn spellings(folder: &Path) -> impl Iterator<Item = PathBuf> {
    [Some(folder.to_owned()), folder.canonicalize().ok()].into_iter().flatten()
}

/// True if commas stand in a pattern that are no part of braces or brackets, or blanks between patterns.
fn is_list(text: &str) -> bool {
    let mut depth = 0_i32;
    text.chars().any(|letter| {
        depth += match letter {
            '{' | '[' => 1,
            '}' | ']' => -1,
            _ => 0,
        };
        letter == ',' && depth <= 0
    }) || {
        // A name may have a blank in it, but hardly two patterns.
        let parts: Vec<&str> = text.split_whitespace().collect();
        1 < parts.len() && parts.iter().all(|part| part.contains('*'))
    }
}

/// A path by its text alone: without `.` and doubled slashes.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// A pattern of files as a regular expression. Brackets and braces are read both ways: as letters of a name, `[id].tsx`, and as what
/// editors and `.gitignore` mean by them, `*.[tj]s` and `*.{ts,tsx}`.
fn expression_of(text: &str) -> String {
    let as_letters = expression_of_letters(text);
    match text.contains(['[', '{']).then(|| expression_of_sets(text)).flatten() {
        Some(as_sets) => format!("(?:{as_letters}|{as_sets})"),
        None => as_letters,
    }
}

/// The pattern with its sets and alternatives; `None` = they are none.
fn expression_of_sets(text: &str) -> Option<String> {
    let mut expression = String::new();
    let (mut rest, mut open_braces) = (text, 0_u32);
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        rest = match letter {
            '{' => {
                open_braces += 1;
                expression.push_str("(?:");
                after
            }
            '}' if 0 < open_braces => {
                open_braces -= 1;
                expression.push(')');
                after
            }
            ',' if 0 < open_braces => {
                expression.push('|');
                after
            }
            '[' => {
                let is_negated = after.starts_with(['!', '^']);
                let letters = if is_negated { &after[1..] } else { after };
                // One that begins with `]` has it among its letters.
                let end = letters.char_indices().skip(1).find(|(_, letter)| *letter == ']')?.0;
                expression.push_str(if is_negated { "[^/" } else { "[" });
                for letter in letters[..end].chars() {
                    match letter {
                        '-' => expression.push('-'),
                        _ => expression.push_str(&regex_syntax::escape(&letter.to_string())),
                    }
                }
                expression.push(']');
                &letters[end + 1..]
            }
            _ => {
                let end = after.find(['[', '{', '}', ',']).map_or(rest.len(), |end| letter.len_utf8() + end);
                expression.push_str(&expression_of_letters(&rest[..end]));
                &rest[end..]
            }
        };
    }
    (open_braces == 0 && WildcardPattern::of(&expression).is_ok()).then_some(expression)
}

fn expression_of_letters(text: &str) -> String {
    let mut expression = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("**/") {
            expression.push_str("(.*/)?");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("**") {
            expression.push_str(".*");
            rest = after;
        } else if let Some(after) = rest.strip_prefix('*') {
            expression.push_str("[^/]*");
            rest = after;
        } else if let Some(after) = rest.strip_prefix('?') {
            expression.push_str("[^/]");
            rest = after;
        } else {
            let end = rest.find(['*', '?']).unwrap_or(rest.len());
            expression.push_str(&regex_syntax::escape(&rest[..end]));
            rest = &rest[end..];
        }
    }
    expression
}

//! Which rules do the files of one folder hold, and what stands for those that cannot be read?

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use super::file_name;
use config::{decode, problem, read_bounded, reason};
use policy::{self, RuleFile};
use protocol::{
    FileProblem,
    FileProblemCode::{BadValue, TooLarge, UnknownField, Unreadable},
    PolicyRule, PolicyTier, ProblemSeverity,
};
use trust::digest;

/// Largest rule file; larger ones are slips.
const LARGEST_FILE: u64 = 1024 * 1024;

/// Rule files of one folder. Each of their rules costs every call a comparison.
const MOST_FILES: usize = 256;

/// Entries looked at in one folder: more is no folder of rules.
const MOST_ENTRIES: usize = 10_000;

/// A rule file, or a folder of them that could not be read whole.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleFileContents {
    pub path: PathBuf,
    /// Of its bytes; `None` when they could not be had.
    pub digest: Option<String>,
    /// To be used also when there are problems: they are then stricter than the file.
    pub rules: Vec<PolicyRule>,
    pub problems: Vec<FileProblem>,
}

/// Reads `*.toml` of a folder, by name. A folder that does not exist holds nothing. What else lies there is told: a rule
/// file with a slip in its name would hold for nobody. Blocks on the file system.
pub fn read_folder(folder: &Path, tier: PolicyTier, home: &Path) -> Vec<RuleFileContents> {
    let unread = |path: &Path, problem: FileProblem| {
        let file = RuleFile { tier, path, name: &file_name(path), home };
        RuleFileContents {
            path: path.to_owned(),
            digest: None,
            rules: policy::unread(&file),
            problems: vec![problem],
        }
    };
    let entries = match list(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.is_symlink() => return Vec::new(),
        Err(error) => return vec![unread(folder, problem(folder, None, Unreadable, reason(&error)))],
    };
    let (mut paths, is_whole) = entries;
    paths.sort();
    let (rule_files, others): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.into_iter().partition(|path| is_rule_file(path));
    let mut files: Vec<RuleFileContents> = Vec::new();
    for path in rule_files.iter().take(MOST_FILES) {
        files.push(match read_bounded(path, LARGEST_FILE) {
            Ok(Some(bytes)) => read(path, &bytes, tier, home).unwrap_or_else(|problem| RuleFileContents {
                digest: Some(digest(&bytes)),
                ..unread(path, problem)
            }),
            Ok(None) => {
                unread(path, problem(path, None, Unreadable, "is a link that leads nowhere, or is gone"))
            }
            Err(problem) => unread(path, problem),
        });
    }
    if MOST_FILES < rule_files.len() || !is_whole {
        let message =
            format!("holds more than {MOST_FILES} rule files, or {MOST_ENTRIES} files; the rest is not read");
        files.push(unread(folder, problem(folder, None, TooLarge, message)));
    }
    let strangers: Vec<FileProblem> = others.iter().take(MOST_FILES).map(|path| stranger(path)).collect();
    if !strangers.is_empty() {
        files.push(RuleFileContents {
            path: folder.join("*"),
            digest: None,
            rules: Vec::new(),
            problems: strangers,
        });
    }
    files
}

fn read(path: &Path, bytes: &[u8], tier: PolicyTier, home: &Path) -> Result<RuleFileContents, FileProblem> {
    let text = decode(path, bytes)?;
    let (mut rules, mut problems) =
        policy::parse(text, &RuleFile { tier, path, name: &file_name(path), home });
    for rule in &mut rules {
        problems.extend(locate(rule, path));
    }
    Ok(RuleFileContents { path: path.to_owned(), digest: Some(digest(bytes)), rules, problems })
}

/// Workspaces are known by where they really are, so a rule's must be as well; else one that restricts would hold for
/// nothing, and nobody would know.
fn locate(rule: &mut PolicyRule, file: &Path) -> Option<FileProblem> {
    let workspace = rule.workspace.as_mut()?;
    match fs::canonicalize(&*workspace).map(PathBuf::into_os_string).map(OsString::into_string) {
        Ok(Ok(canonical)) => {
            *workspace = canonical;
            None
        }
        Ok(Err(_)) | Err(_) => {
            let message = format!(
                "the rule {} is about a folder that is not there, or cannot be looked at: {workspace}",
                rule.id
            );
            let fix = Some("fix the path; `subagent reload` reads the rules again".to_owned());
            let severity = ProblemSeverity::Warning;
            Some(FileProblem { severity, fix, ..problem(file, None, BadValue, message) })
        }
    }
}

/// The folder's entries but hidden ones, which editors leave behind, and whether these are all.
fn list(folder: &Path) -> io::Result<(Vec<PathBuf>, bool)> {
    let mut paths = Vec::new();
    for (number, entry) in fs::read_dir(folder)?.enumerate() {
        if number == MOST_ENTRIES {
            return Ok((paths, false));
        }
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    Ok((paths, true))
}

fn is_rule_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

fn stranger(path: &Path) -> FileProblem {
    let message = "is not read: rule files lie in this folder itself and end in `.toml`";
    FileProblem { severity: ProblemSeverity::Warning, ..problem(path, None, UnknownField, message) }
}

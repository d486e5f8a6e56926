//! Which files do the patterns of a call mean?

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use globset::{GlobMatcher, GlobSet};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::ReadManyFilesArguments;
use crate::{
    builtin::patterns,
    parameters::refusal,
    walk::{self, EntryKind, WalkRequest, WalkResult, WalkedFile, walk},
    workspace::{IgnoreRules, Workspace, WorkspacePath},
};
use protocol::{ResourceAccess, SchemaViolation, ToolError, ToolErrorType};
use redact::Redactor;

/// Something that was asked for and is not in the result.
pub struct SkippedFile {
    pub(super) what: String,
    pub(super) why: String,
}

impl SkippedFile {
    pub fn new(what: String, why: String) -> SkippedFile {
        SkippedFile { what, why }
    }
}

/// What makes a text a pattern rather than a path.
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

/// The files that a call asks for.
pub struct FileSelection {
    includes: Vec<IncludeEntry>,
    left_out: GlobSet,
    is_recursive: bool,
    respects_git: bool,
}

/// One entry of `include`.
struct IncludeEntry {
    /// As it was written.
    text: String,
    /// The file or folder that a path names, or the folder that a pattern begins in.
    start: WorkspacePath,
    /// Matches paths below `start`; `None` = all files.
    matcher: Option<GlobMatcher>,
    /// The pattern below `start`, as it was written.
    below: String,
    /// Words of the pattern's last part: `png` of `*.{png,jpg}`.
    words: Vec<String>,
}

/// What the patterns meant.
#[derive(Default)]
pub struct SelectedFiles {
    /// Each once, in the order of the patterns, then of the paths.
    pub files: Vec<SelectedFile>,
    /// What was named and is no file to read.
    pub missed: Vec<SkippedFile>,
    /// How complete the search was.
    pub notes: Vec<String>,
}

/// A file to read.
pub struct SelectedFile {
    pub place: WorkspacePath,
    /// Its name or its ending was asked for, so an image is wanted as one.
    pub is_named: bool,
}

impl FileSelection {
    /// Reads every pattern; the error tells what is wrong with each of them.
    pub fn new(
        arguments: &ReadManyFilesArguments,
        workspace: &Workspace,
    ) -> Result<FileSelection, ToolError> {
        let mut errors = Vec::new();
        let mut includes = Vec::new();
        for (index, text) in arguments.include.iter().enumerate() {
            match IncludeEntry::new(text, &format!("/include/{index}"), workspace) {
                Ok(include) => includes.push(include),
                Err(error) => errors.push(error),
            }
        }
        let roots: Vec<&Path> = workspace.roots().collect();
        let left_out = match patterns::left_out(&arguments.exclude, &roots, "/exclude") {
            Ok(left_out) => left_out,
            Err(bad) => {
                errors.extend(bad);
                GlobSet::empty()
            }
        };
        if let Some(first) = errors.first() {
            let is_bad = |error: &&ToolError| error.kind == ToolErrorType::InvalidToolParams;
            let kind = errors.iter().find(is_bad).unwrap_or(first).kind;
            let messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
            return Err(ToolError { kind, message: messages.join("\n") });
        }
        Ok(FileSelection {
            includes,
            left_out,
            is_recursive: arguments.recursive.unwrap_or(true),
            respects_git: arguments.respect_git_ignore.unwrap_or(true),
        })
    }

    /// Where the patterns begin.
    pub fn starts(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.includes.iter().map(|include| &include.start)
    }

    /// The patterns with the folders that they begin in resolved, for rules.
    pub fn resolved(&self, workspace: &Workspace) -> Vec<String> {
        let resolved = |include: &IncludeEntry| {
            let (start, below) = (workspace.shown(&include.start), &include.below);
            match start.as_str() {
                _ if below.is_empty() => start,
                "." => below.clone(),
                folder => format!("{}/{below}", folder.trim_end_matches('/')),
            }
        };
        self.includes.iter().map(resolved).collect()
    }

    /// Everything the patterns can reach, without what lies below something else of it.
    pub fn accesses(&self, workspace: &Workspace) -> Vec<ResourceAccess> {
        let mut paths: Vec<PathBuf> = self.starts().map(|start| workspace.access_path(start)).collect();
        // By components, so that a folder comes right before what lies below it.
        paths.sort();
        let mut outermost: Vec<PathBuf> = Vec::new();
        for path in paths {
            if !outermost.last().is_some_and(|folder| path.starts_with(folder)) {
                outermost.push(path);
            }
        }
        outermost.into_iter().map(|path| ResourceAccess::Read { path }).collect()
    }

    /// Looks the files up. A stop makes it return early with whatever it has.
    pub fn select(
        &self,
        workspace: &Workspace,
        redactor: &Redactor,
        stop: &CancellationToken,
    ) -> SelectedFiles {
        let mut selected = SelectedFiles::default();
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        // Patterns often begin in the same folder.
        let mut walks: BTreeMap<PathBuf, Result<WalkResult, Errno>> = BTreeMap::new();
        for include in &self.includes {
            if stop.is_cancelled() {
                break;
            }
            let folder = workspace.absolute(&include.start);
            let walk = walks.entry(folder).or_insert_with(|| self.walk(workspace, &include.start, stop));
            let walk = match walk {
                Ok(walk) => walk,
                Err(errno) => {
                    let why = workspace.failure(&include.start, *errno).message;
                    selected.missed.push(SkippedFile::new(patterns::shown(&include.text, redactor), why));
                    continue;
                }
            };
            let mut matches_any = false;
            for found in walk.files.iter().filter(|found| include.matches(&found.place)) {
                if self.left_out.is_match(found.place.relative()) {
                    continue;
                }
                matches_any = true;
                let path = workspace.absolute(&found.place);
                let is_named = include.names(found.place.relative());
                if let Some(&index) = known.get(&path) {
                    selected.files[index].is_named |= is_named;
                } else if found.is_link {
                    let why = "a link; what it leads to can be read by its own path".to_owned();
                    selected.missed.push(SkippedFile::new(workspace.shown(&found.place), why));
                } else {
                    known.insert(path, selected.files.len());
                    selected.files.push(SelectedFile { place: found.place.clone(), is_named });
                }
            }
            if !matches_any {
                selected
                    .missed
                    .push(SkippedFile::new(patterns::shown(&include.text, redactor), include.why_nothing()));
            }
        }
        let cut = walks.values().flatten().find_map(|walk| walk.cut);
        selected.notes.extend(cut.map(|cut| format!("[{cut}; begin a pattern further down]")));
        let unreadable: usize = walks.values().flatten().map(|walk| walk.unreadable).sum();
        if unreadable != 0 {
            selected.notes.push(format!("[{unreadable} folders cannot be read]"));
        }
        selected
    }

    fn walk(
        &self,
        workspace: &Workspace,
        start: &WorkspacePath,
        stop: &CancellationToken,
    ) -> Result<WalkResult, Errno> {
        if self.is_recursive || !workspace.facts(start)?.is_folder {
            return walk(&WalkRequest { workspace, start, respects_git: self.respects_git, stop });
        }
        let above = IgnoreRules::above(workspace, start, self.respects_git);
        let listing = walk::list(workspace, start, &above)?;
        let is_file = |kind| matches!(kind, EntryKind::File | EntryKind::Link);
        let entries = listing.entries.iter().filter(|entry| !entry.is_ignored && is_file(entry.kind));
        let found = entries.map(|entry| WalkedFile {
            place: start.child(&entry.name),
            is_link: entry.kind == EntryKind::Link,
        });
        let cut = listing.is_cut.then_some(walk::WalkLimit::Entries);
        let rules_left_out = listing.rules.left_out();
        Ok(WalkResult { files: found.collect(), cut, unreadable: 0, rules_left_out })
    }
}

impl IncludeEntry {
    /// `text` is a path when it has no wildcards, or when there is something of exactly that name.
    fn new(text: &str, pointer: &str, workspace: &Workspace) -> Result<IncludeEntry, ToolError> {
        let named = workspace.resolve(text);
        let is_pattern = text.contains(WILDCARDS);
        match named {
            Ok(start) if !is_pattern || workspace.facts(&start).is_ok() => {
                return Ok(IncludeEntry {
                    text: text.to_owned(),
                    start,
                    matcher: None,
                    below: String::new(),
                    words: Vec::new(),
                });
            }
            Err(error) if !is_pattern => return Err(at(pointer, error)),
            _ => (),
        }
        if text.starts_with('!') {
            return Err(violation(pointer, "what begins with `!` belongs into `exclude`, without the `!`"));
        }
        let (folder, below) = split(text);
        if below.split('/').any(|part| part == "..") {
            return Err(violation(pointer, "`..` cannot stand behind a wildcard"));
        }
        let start = workspace.resolve(folder).map_err(|error| at(pointer, error))?;
        let last = below.rsplit('/').next().unwrap_or_default().to_lowercase();
        let words = last.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        Ok(IncludeEntry {
            text: text.to_owned(),
            start,
            matcher: Some(patterns::path(below, false, pointer)?),
            below: below.to_owned(),
            words: words.map(str::to_owned).collect(),
        })
    }

    fn matches(&self, place: &WorkspacePath) -> bool {
        let path = place.relative().strip_prefix(self.start.relative()).unwrap_or(place.relative());
        self.matcher.as_ref().is_none_or(|matcher| matcher.is_match(path))
    }

    /// Whether the file or its ending was named, not only a folder or all files.
    fn names(&self, path: &Path) -> bool {
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
        match &self.matcher {
            None => path == self.start.relative(),
            Some(_) => ending.is_some_and(|ending| self.words.contains(&ending)),
        }
    }

    fn why_nothing(&self) -> String {
        match &self.matcher {
            None => "no file in this folder".to_owned(),
            Some(_) if !self.text.contains('/') => {
                "no file matches; with `**/` before it, it means all folders".to_owned()
            }
            Some(_) => "no file matches".to_owned(),
        }
    }
}

/// The folder that a pattern begins in, and the pattern below it.
fn split(pattern: &str) -> (&str, &str) {
    let plain = &pattern[..pattern.find(WILDCARDS).unwrap_or(pattern.len())];
    match plain.rfind('/') {
        None => (".", pattern),
        Some(0) => ("/", &pattern[1..]),
        Some(end) => (&pattern[..end], &pattern[end + 1..]),
    }
}

fn violation(pointer: &str, message: &str) -> ToolError {
    refusal(&[SchemaViolation { pointer: pointer.to_owned(), message: message.to_owned() }])
}

fn at(pointer: &str, error: ToolError) -> ToolError {
    ToolError { message: format!("{pointer}: {}", error.message), ..error }
}

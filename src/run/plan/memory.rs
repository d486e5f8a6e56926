//! Which memory files does a workspace's run read, and through which door?

use std::{
    fs,
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::memory_imports::{ImportRules, UserMemoryReader};
use crate::resources::RunResources;
use memory::{
    CollectedMemory, IGNORED, MANY_NAMES, MemoryRead, MemoryReader, MemoryRules, ProjectMemory,
    UserFileReader, UserMemory, collect, is_named_as_text, project_folders, repository_top,
};
use project::Project;
use protocol::ToolErrorType;
use sys::lexical::lexical;
use tools::{IgnoreRules, MemoryTarget, OpenedPath, Workspace, WorkspacePath};

/// Entries of a folder among which further names of a file are looked for.
const MOST_BESIDE: usize = 10_000;
/// The system's folder.
const SYSTEM: &str = "/etc/subagentd";

/// Reads memory files below a workspace's roots: through the door of the file tools, which follows no link out of them and opens
/// regular files alone.
///
/// The ground may be more than the roots: the whole repository around them, of which memory files are told that lie above a root. What lies
/// below a root, where agents write, reaches no further than that root.
pub(crate) struct WorkspaceMemoryReader<'a> {
    pub workspace: &'a Workspace,
    /// Folders below which agents write.
    pub roots: Vec<PathBuf>,
    /// The files that may be imported.
    pub imports: &'a ImportRules,
}

impl WorkspaceMemoryReader<'_> {
    /// The root that a path lies in, the innermost.
    fn root_of(&self, path: &Path) -> Option<&PathBuf> {
        self.roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len())
    }

    /// True if it, or a folder that it lies in, is named by ignore rules, or belongs to git.
    fn is_ignored(&self, place: &WorkspacePath) -> bool {
        let Some(mut at) = self.workspace.place_at(self.workspace.root_of(place)) else { return true };
        let mut parts = place.relative().iter().peekable();
        while let Some(part) = parts.next() {
            at = at.child(part);
            let rules = IgnoreRules::above(self.workspace, &at, true);
            if rules.hides(&self.workspace.absolute(&at), parts.peek().is_some()) {
                return true;
            }
        }
        false
    }

    /// True if a name beside a memory file is one by which an agent may not read it. Two names of texts are usual, `AGENTS.md` and `CLAUDE.md`.
    fn is_kept_name(&self, name: &Path) -> bool {
        if is_named_as_text(name) {
            return false;
        }
        let place = name.to_str().and_then(|text| self.workspace.resolve(text).ok());
        place.is_none_or(|place| self.is_ignored(&place)) || self.imports.refusal(name, name).is_some()
    }

    fn opened(&self, path: &Path, within: Option<&Path>, is_import: bool, most_bytes: u64) -> MemoryRead {
        let Some(text) = path.to_str() else { return MemoryRead::Outside };
        let place = match self.workspace.resolve(text) {
            Ok(place) => place,
            Err(_) => return MemoryRead::Outside,
        };
        // A link leads where it leads.
        let real = self.workspace.absolute(&place);
        if within.is_some_and(|folder| !real.starts_with(folder)) {
            return MemoryRead::Outside;
        }
        // A memory file that leads elsewhere tells what lies there, as an import does, and so does one that a setting calls `.env`.
        let written = lexical(path);
        let is_import = is_import || real != written || !is_named_as_text(&real);
        if is_import && !is_named_as_text(&real) && self.is_ignored(&place) {
            return MemoryRead::Refused(IGNORED.to_owned());
        }
        let (file, size) = match self.workspace.open_place(&place) {
            Ok(OpenedPath::File { file, size }) => (file, size),
            // What is no file is no memory file.
            Ok(OpenedPath::Folder(_)) => return MemoryRead::Missing,
            Ok(OpenedPath::Special(what)) => {
                return MemoryRead::Refused(format!("is not a regular file but {what}"));
            }
            Err(error) if error.kind == ToolErrorType::FileNotFound => return MemoryRead::Missing,
            Err(error) => return MemoryRead::Refused(format!("cannot be read: {}", error.message)),
        };
        // Only of a file that is there: most words that begin like an import name none.
        if let Some(why) = is_import.then(|| self.imports.refusal(&real, &written)).flatten() {
            return MemoryRead::Refused(why.to_owned());
        }
        match file.metadata() {
            Ok(found) if 1 < found.nlink() => {
                let names = names_beside(&real, &found);
                let is_elsewhere = u64::try_from(names.len()).is_ok_and(|n| n < found.nlink());
                if is_import || is_elsewhere || names.iter().any(|name| self.is_kept_name(name)) {
                    return MemoryRead::Refused(MANY_NAMES.to_owned());
                }
            }
            Ok(_) => {}
            Err(error) => return MemoryRead::Refused(config::reason(&error)),
        }
        let mut bytes = Vec::new();
        match file.take(most_bytes).read_to_end(&mut bytes) {
            Ok(_) => MemoryRead::File { bytes, size, canonical: self.workspace.absolute(&place) },
            Err(error) => MemoryRead::Refused(config::reason(&error)),
        }
    }
}

/// The names of a file in the folder in which this one lies.
fn names_beside(path: &Path, found: &fs::Metadata) -> Vec<PathBuf> {
    let is_same = |entry: &fs::DirEntry| {
        entry.metadata().is_ok_and(|it| (it.dev(), it.ino()) == (found.dev(), found.ino()))
    };
    let beside = path.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    beside.take(MOST_BESIDE).filter(is_same).map(|entry| entry.path()).collect()
}

impl MemoryReader for WorkspaceMemoryReader<'_> {
    fn read(&self, path: &Path, most_bytes: u64) -> MemoryRead {
        self.opened(path, self.root_of(path).map(PathBuf::as_path), false, most_bytes)
    }

    fn import(&self, path: &Path, within: Option<&Path>, most_bytes: u64) -> MemoryRead {
        self.opened(path, within.or_else(|| self.root_of(path).map(PathBuf::as_path)), true, most_bytes)
    }

    fn reach_of(&self, path: &Path, canonical: &Path) -> Option<PathBuf> {
        self.root_of(canonical).or_else(|| self.root_of(path)).cloned()
    }

    fn home(&self) -> Option<&Path> {
        None
    }
}

/// The files that count as memory files in a workspace.
pub(crate) fn memory_rules(project: &Project, supplies: &RunResources) -> MemoryRules {
    MemoryRules { project_names: project.settings.memory_files.clone(), ..supplies.defaults.memory.clone() }
}

/// Every memory file that is there for a workspace with these roots. Blocks on the file system.
pub(crate) fn memory(project: &Project, supplies: &RunResources, imports: &ImportRules) -> CollectedMemory {
    let home = std::env::home_dir();
    let folders = vec![PathBuf::from(SYSTEM), supplies.own_files.memory_folder().to_owned()];
    let hidden = supplies.own_files.hidden();
    let files = UserFileReader { home: home.clone(), folders: folders.clone(), hidden };
    let user = UserMemoryReader { files, imports };
    let mut rules = memory_rules(project, supplies);
    rules.user_files.iter_mut().for_each(|path| *path = at_home(path));
    let user = UserMemory { reader: &user, folders };
    // Roots have no links, and a home that is one would be nowhere above them.
    let home = home.map(|home| home.canonicalize().unwrap_or(home));
    // A root that cannot be opened is told by whoever works in it.
    let opened: Vec<(Workspace, Vec<PathBuf>)> = project
        .roots
        .iter()
        .filter_map(|root| {
            let top = repository_top(Path::new(root), home.as_deref());
            let workspace = Workspace::open(std::slice::from_ref(&top)).ok()?;
            Some((supplies.own_files.close(workspace), project_folders(&top, Path::new(root))))
        })
        .collect();
    let roots: Vec<PathBuf> = project.roots.iter().map(PathBuf::from).collect();
    let readers: Vec<WorkspaceMemoryReader<'_>> = opened
        .iter()
        .map(|(workspace, _)| WorkspaceMemoryReader { workspace, roots: roots.clone(), imports })
        .collect();
    let projects: Vec<ProjectMemory<'_>> = readers
        .iter()
        .zip(&opened)
        .map(|(reader, (_, folders))| ProjectMemory {
            reader,
            folders: folders.clone(),
            is_trusted: project.is_trusted,
        })
        .collect();
    collect(&rules, &user, &projects)
}

/// A path of the settings, in which `~/` is the home.
pub(super) fn at_home(path: &Path) -> std::path::PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}

/// The files into which facts are written.
pub(crate) fn memory_target(project: &Arc<Project>, supplies: &Arc<RunResources>) -> MemoryTarget {
    let rules = memory_rules(project, supplies);
    let (of, with) = (Arc::clone(project), Arc::clone(supplies));
    MemoryTarget {
        project_names: rules.names_in_project().into(),
        user_names: rules.names.into(),
        is_trusted: project.is_trusted,
        standing: Some(Arc::new(move |path| {
            let files = memory(&of, &with, &ImportRules::of_anybody(&of, &with)).files;
            files.into_iter().find(|file| file.path == path).map(|file| file.state)
        })),
    }
}

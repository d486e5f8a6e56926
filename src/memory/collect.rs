//! Which memory files count in a workspace, in which order, and what becomes of the others?

use std::path::{Path, PathBuf};

use super::{
    expand::{ImportExpander, MemoryImport, ReadText},
    read::MemoryReader,
};

/// Bytes of all files together (spec 08, "Bad input").
pub const MOST_MEMORY_BYTES: usize = 256 << 10;
/// Bytes that the imports of one ground add: with them one file still has room.
const MOST_IMPORTED: usize = 128 << 10;
/// Before the extension of a file that only one person has.
const LOCAL: &str = "local";

/// The files that count as memory files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRules {
    /// File names; in one folder the first that is there counts.
    pub names: Vec<String>,
    /// The names that a workspace says in their place, for its own folders.
    pub project_names: Option<Vec<String>>,
    /// Every one of them counts.
    pub all_of_folder: bool,
    /// Further files of the user.
    pub user_files: Vec<PathBuf>,
}

impl Default for MemoryRules {
    fn default() -> MemoryRules {
        let names = ["AGENTS.md", "GEMINI.md", "CLAUDE.md"].map(str::to_owned).into();
        MemoryRules { names, project_names: None, all_of_folder: false, user_files: Vec::new() }
    }
}

impl MemoryRules {
    /// Names of memory files in a workspace.
    pub fn names_in_project(&self) -> &[String] {
        self.project_names.as_deref().unwrap_or(&self.names)
    }
}

/// The system's and the user's files, which are read whatever the workspace is.
pub struct UserMemory<'a> {
    pub reader: &'a dyn MemoryReader,
    /// The system's folder, then the user's.
    pub folders: Vec<PathBuf>,
}

/// The files of a workspace.
pub struct ProjectMemory<'a> {
    pub reader: &'a dyn MemoryReader,
    /// The farthest first.
    pub folders: Vec<PathBuf>,
    pub is_trusted: bool,
}

/// The memory files that were found, the farthest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectedMemory {
    pub files: Vec<MemoryFile>,
    /// Everything that those that are told import, or name as if they did.
    pub imports: Vec<MemoryImport>,
    pub warnings: Vec<String>,
}

/// A memory file that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFile {
    pub path: PathBuf,
    pub is_of_project: bool,
    pub state: MemoryFileState,
    /// Its text with what it imports; empty unless it is used.
    pub text: String,
    /// On the disk.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryFileState {
    Used,
    /// Another one of its folder counts.
    Shadowed {
        by: PathBuf,
    },
    /// Nobody has trusted its workspace.
    Untrusted,
    /// It is not read, and why.
    Skipped(String),
    /// There was no room.
    Dropped,
    /// It lies in a sub-folder: a run is told of it with its first call that comes there.
    Below,
}

impl CollectedMemory {
    pub fn used(&self) -> impl Iterator<Item = &MemoryFile> {
        self.files.iter().filter(|file| file.state == MemoryFileState::Used)
    }

    fn take_from(&mut self, expander: &mut ImportExpander<'_>) {
        self.warnings.append(&mut expander.warnings);
        self.imports.append(&mut expander.imports);
    }

    /// The nearest have room before the others.
    fn fit(&mut self) {
        let mut room = MOST_MEMORY_BYTES;
        let mut dropped = Vec::new();
        for file in self.files.iter_mut().rev().filter(|file| file.state == MemoryFileState::Used) {
            match room.checked_sub(file.text.len()).filter(|_| dropped.is_empty()) {
                Some(left) => room = left,
                None => {
                    dropped.push(format!(
                        "{} is left out: memory files are longer than {} KiB in all",
                        file.path.display(),
                        MOST_MEMORY_BYTES >> 10
                    ));
                    file.state = MemoryFileState::Dropped;
                    file.text = String::new();
                }
            }
        }
        self.warnings.extend(dropped.into_iter().rev());
    }
}

/// Everything that is there. Blocks on the file system.
pub fn collect(
    rules: &MemoryRules,
    user: &UserMemory<'_>,
    projects: &[ProjectMemory<'_>],
) -> CollectedMemory {
    let mut memory = CollectedMemory::default();
    let mut expander = ImportExpander::new(user.reader, MOST_IMPORTED);
    for folder in &user.folders {
        take_folder(rules, folder, (&mut expander, false, true), &mut memory);
    }
    for path in &rules.user_files {
        take_file(path, (&mut expander, false, true), &mut memory);
    }
    memory.take_from(&mut expander);
    for ProjectMemory { reader, folders, is_trusted } in projects {
        let mut expander = ImportExpander::new(*reader, MOST_IMPORTED);
        for folder in folders {
            take_folder(rules, folder, (&mut expander, true, *is_trusted), &mut memory);
        }
        memory.take_from(&mut expander);
    }
    memory.fit();
    memory
}

/// The files of one folder of a trusted workspace. Blocks on the file system.
pub fn of_folder(rules: &MemoryRules, reader: &dyn MemoryReader, folder: &Path) -> CollectedMemory {
    let mut memory = CollectedMemory::default();
    let mut expander = ImportExpander::new(reader, MOST_IMPORTED);
    take_folder(rules, folder, (&mut expander, true, true), &mut memory);
    memory.take_from(&mut expander);
    memory.fit();
    memory
}

/// The way to read a folder: by whom, whether it is a project's, and whether it counts.
type FolderReading<'a, 'b> = (&'a mut ImportExpander<'b>, bool, bool);

fn take_folder(
    rules: &MemoryRules,
    folder: &Path,
    (expander, is_of_project, counts): FolderReading<'_, '_>,
    memory: &mut CollectedMemory,
) {
    let mut first: Option<PathBuf> = None;
    let names = if is_of_project { rules.names_in_project() } else { &rules.names };
    for name in names {
        let path = folder.join(name);
        if let Some(by) = first.clone().filter(|_| !rules.all_of_folder) {
            for path in [path, local_of(folder, name)] {
                // What is wrong with it is nobody's trouble.
                if let Some(bytes) = expander.size(&path) {
                    let (state, text) = (MemoryFileState::Shadowed { by: by.clone() }, String::new());
                    memory.files.push(MemoryFile { path, is_of_project, state, text, bytes });
                }
            }
            continue;
        }
        if !take_file(&path, (expander, is_of_project, counts), memory) {
            continue;
        }
        first.get_or_insert(path);
        take_file(&local_of(folder, name), (expander, is_of_project, counts), memory);
    }
}

/// The file beside one of this name that its author keeps out of git.
fn local_of(folder: &Path, name: &str) -> PathBuf {
    let name = Path::new(name);
    let stem = name.file_stem().unwrap_or_default().to_string_lossy();
    let ending = name.extension().map_or_else(String::new, |it| format!(".{}", it.to_string_lossy()));
    folder.join(format!("{stem}.{LOCAL}{ending}"))
}

/// Takes one file, and answers if it is there. One that says the same as another says nothing.
fn take_file(
    path: &Path,
    (expander, is_of_project, counts): FolderReading<'_, '_>,
    memory: &mut CollectedMemory,
) -> bool {
    // As texts: comparing by components costs as much as reading, with hundreds of files.
    if memory.files.iter().any(|file| file.path.as_os_str() == path.as_os_str()) {
        return true;
    }
    if !counts {
        // It is not even read.
        let Some(bytes) = expander.size(path) else { return false };
        let (state, text) = (MemoryFileState::Untrusted, String::new());
        memory.files.push(MemoryFile { path: path.to_owned(), is_of_project, state, text, bytes });
        return true;
    }
    let why = match expander.read(path) {
        ReadText::Missing => return false,
        ReadText::Outside => "leads out of the repository".to_owned(),
        ReadText::Skipped(why) => why,
        ReadText::Text { text, size, .. } => {
            let is_same = |other: &&MemoryFile| !text.trim().is_empty() && other.text == text;
            let same = memory.used().find(is_same).map(|other| other.path.clone());
            let (state, text) = match same {
                Some(by) => (MemoryFileState::Shadowed { by }, String::new()),
                None => (MemoryFileState::Used, text),
            };
            memory.files.push(MemoryFile { path: path.to_owned(), is_of_project, state, text, bytes: size });
            return true;
        }
    };
    memory.warnings.push(format!("{} {why}: it is not told", path.display()));
    let (state, text) = (MemoryFileState::Skipped(why), String::new());
    memory.files.push(MemoryFile { path: path.to_owned(), is_of_project, state, text, bytes: 0 });
    true
}

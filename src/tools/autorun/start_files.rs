//! What do the start files and settings of a home name: files that they read on, programs that they run, folders in which they look for such?
//!
//! No grammar is read. Each word of such a file that is a path below the home counts, whatever its line says of it.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use self::names::{FileKind, NameInFile, NamedPath, NamesInFile};
use super::{
    git_programs::is_text,
    settings_files::{SETTINGS_FILES, SETTINGS_FOLDERS},
};
use shell::AutorunPlace;
use sys::{guarded::ResolvedPath, regular_file};

/// Files of a home that are read at each login, with each shell, or by a program that everybody starts.
const START_FILES: &[&str] = &[
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".bashrc",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".config/fish/config.fish",
    ".pam_environment",
    ".inputrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".vimrc",
    ".vim/vimrc",
    ".config/nvim/init.vim",
    ".config/nvim/init.lua",
    ".emacs",
    ".emacs.d/init.el",
    ".config/emacs/init.el",
    ".tmux.conf",
    ".config/tmux/tmux.conf",
    ".screenrc",
    ".gitconfig",
    ".config/git/config",
    ".ssh/config",
];

/// Folders of a home of which each file is one, with the ends of their names.
const START_FOLDERS: &[(&str, &str)] = &[
    (".config/environment.d", ".conf"),
    (".config/fish/conf.d", ".fish"),
    (".bashrc.d", ""),
    (".config/systemd/user", ".service"),
    (".config/autostart", ".desktop"),
];

/// Files of one kind, folders of which each file is one, and the kind.
type FileTable = (&'static [&'static str], &'static [(&'static str, &'static str)], FileKind);

const TABLES: [FileTable; 2] =
    [(START_FILES, START_FOLDERS, FileKind::Start), (SETTINGS_FILES, SETTINGS_FOLDERS, FileKind::Settings)];

/// Files of such a folder that are read.
const MOST_FILES: usize = 64;

/// Files that are read in all, those among them that others name. What the ones beyond would name is not known, so their whole
/// folders count.
const MOST_READ: usize = 200;

/// Bytes of one that are read.
const MOST_BYTES: u64 = 64 * 1024;

/// Files that name files that name files: as often as that is followed.
const DEEPEST: usize = 2;

/// Places that are found. A start file that names more is no longer one that somebody wrote.
const MOST_PLACES: usize = 2_000;

/// Parts of names of files in which shells and editors keep what was typed.
const HISTORIES: &[&str] = &["hist", "viminfo"];

/// Folders of one file below which words of it are looked up.
const MOST_APART: usize = 16;

const NAMED: &str = "a start file or a program's settings in the home name it, so it is read or run at a login or by a program that is started often";

/// Finds what the start files of this home name that lies below it, links in it followed. Blocks for a bounded look.
pub(super) fn named(home: &Path) -> Vec<AutorunPlace> {
    let mut places: Vec<PathBuf> = StartFiles::of(home).places.into_iter().collect();
    places.sort();
    places.into_iter().map(|path| AutorunPlace { path, why: NAMED }).collect()
}

/// The ones among them that are kept from commands: text files that are there. Folders are where somebody works, and what is no text is what
/// builds make. Below a name with a dot in front, what a line only gives a name is left out, as shells and editors keep their histories in
/// such files; and so is what is `hidden` from commands, which no mount may show. With them the folders that lines about the `PATH` name, in
/// which shells find programs. Blocks for a bounded look.
pub(super) fn named_texts(home: &Path, hidden: &[PathBuf]) -> (Vec<AutorunPlace>, Vec<PathBuf>) {
    let reading = StartFiles::of(home);
    let is_dotted = |path: &Path| {
        let below = path.strip_prefix(home).ok().and_then(|below| below.iter().next());
        below.is_none_or(|first| first.as_encoded_bytes().starts_with(b"."))
    };
    let is_history = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        HISTORIES.iter().any(|part| name.contains(part))
    };
    let is_run = |path: &PathBuf| {
        let is_program = || fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
        !is_dotted(path) || !is_history(path) && (reading.used.contains(path) || is_program())
    };
    let mut places: Vec<PathBuf> = reading.places.iter().filter(|path| is_run(path)).cloned().collect();
    let is_hidden = |path: &Path| hidden.iter().any(|hidden| path.starts_with(hidden));
    places.retain(|path| !is_hidden(path) && path.is_file() && is_text(path));
    places.sort();
    let texts = places.into_iter().map(|path| AutorunPlace { path, why: NAMED }).collect();
    (texts, reading.program_folders)
}

struct StartFiles<'a> {
    home: &'a Path,
    places: HashSet<PathBuf>,
    /// The ones among them that stand in a line which does more than give them a name.
    used: HashSet<PathBuf>,
    /// As lines about the `PATH` name them.
    program_folders: Vec<PathBuf>,
    read: HashSet<PathBuf>,
    most_read: usize,
    most_places: usize,
    left: VecDeque<UnreadFile>,
    /// Found by patterns, and named by those: an agent may have written them, so they are read last, within bounds of their own.
    found: VecDeque<UnreadFile>,
}

struct UnreadFile {
    path: PathBuf,
    /// The number of files by which it is named.
    depth: usize,
    kind: FileKind,
    /// A pattern found it, or a file that one found names it.
    is_found: bool,
}

/// The start files and settings of a home that are there, by the paths in the lists. Blocks for some two hundred looks at the file system.
pub(super) fn listed_files(home: &Path) -> Vec<PathBuf> {
    TABLES.into_iter().flat_map(|(files, folders, _)| files_of(home, files, folders)).collect()
}

fn files_of(home: &Path, files: &[&str], folders: &[(&str, &str)]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = files.iter().map(|file| home.join(file)).collect();
    for (folder, end) in folders {
        let entries = fs::read_dir(home.join(folder)).into_iter().flatten().flatten().take(MOST_FILES);
        let is_meant = |path: &PathBuf| path.to_string_lossy().ends_with(end);
        paths.extend(entries.map(|entry| entry.path()).filter(is_meant));
    }
    // Perf: most of them are not there.
    paths.retain(|path| fs::metadata(path).is_ok());
    paths
}

impl<'a> StartFiles<'a> {
    fn of(home: &'a Path) -> StartFiles<'a> {
        let mut reading = StartFiles {
            home,
            places: HashSet::new(),
            used: HashSet::new(),
            program_folders: Vec::new(),
            read: HashSet::new(),
            most_read: 0,
            most_places: 0,
            left: VecDeque::new(),
            found: VecDeque::new(),
        };
        let mut variables = HashMap::new();
        for (files, folders, kind) in TABLES {
            let paths = files_of(home, files, folders);
            let unread = |path| UnreadFile { path, depth: 0, kind, is_found: false };
            reading.left.extend(paths.into_iter().map(unread));
            for _ in 0..=DEEPEST {
                reading.most_read = reading.read.len() + MOST_READ;
                reading.most_places = reading.places.len() + MOST_PLACES;
                while let Some(file) = reading.left.pop_front() {
                    reading.read(&file, &mut variables);
                }
                reading.left.append(&mut reading.found);
            }
        }
        reading
    }

    fn read(&mut self, file: &UnreadFile, variables: &mut HashMap<String, String>) {
        let UnreadFile { path: file, depth, kind, is_found } = file;
        let (depth, kind, is_found) = (*depth, *kind, *is_found);
        let end = ResolvedPath::to(file).end;
        if !self.read.insert(end.clone()) {
            return;
        }
        if self.most_read < self.read.len() {
            if depth > 0 && kind == FileKind::Start {
                self.places.extend(end.parent().filter(|folder| *folder != self.home).map(Path::to_owned));
            }
            return;
        }
        let names = match kind {
            FileKind::Start => {
                let Some(text) = regular_file::read_bounded(file, MOST_BYTES).ok().flatten() else { return };
                Arc::new(NamesInFile::of(&String::from_utf8_lossy(&text), kind, self.home, variables))
            }
            FileKind::Settings => {
                let Some(names) = names::of_settings(file, self.home) else { return };
                names
            }
        };
        for NameInFile { named, is_used, is_of_folders, is_of_programs, is_guess } in &names.names {
            if let NamedPath::One(path) = named {
                if *is_guess && !path.is_file() {
                    continue;
                }
                if *is_used && self.places.len() < self.most_places {
                    self.used.insert(ResolvedPath::to(path).end);
                }
                if *is_of_programs && self.program_folders.len() < MOST_FILES && !path.is_file() {
                    self.program_folders.push(path.clone());
                }
            }
            self.take(named.clone(), *is_of_folders, (depth, kind, is_found));
        }
        if depth == 0 && !names.scripts.is_empty() {
            self.take_apart(&names);
        }
    }

    /// Takes what words mean below folders that stand beside them, as in `"--directory", "~/x", "run", "server.py"`.
    fn take_apart(&mut self, names: &NamesInFile) {
        let folders = names.names.iter().filter_map(|it| match &it.named {
            NamedPath::One(path) if path.is_dir() => Some(path),
            _ => None,
        });
        for folder in folders.take(MOST_APART) {
            for path in names.scripts.iter().map(|script| folder.join(script)) {
                if path.is_file() {
                    self.used.insert(ResolvedPath::to(&path).end);
                    self.take(NamedPath::One(path), false, (0, FileKind::Settings, false));
                }
            }
        }
    }

    fn take(
        &mut self,
        named: NamedPath,
        is_of_folders: bool,
        (depth, kind, is_found): (usize, FileKind, bool),
    ) {
        if self.most_places <= self.places.len() {
            return;
        }
        let (path, is_pattern) = match named {
            NamedPath::One(path) => (path, false),
            NamedPath::Below(path) => (path, true),
        };
        let found = fs::metadata(&path).ok();
        let is_folder = found.as_ref().is_some_and(fs::Metadata::is_dir);
        if kind == FileKind::Settings && (is_folder || is_pattern) {
            return;
        }
        // A folder alone is where somebody works, unless the line says that something is looked for there.
        if is_folder && !is_pattern && !is_of_folders {
            return;
        }
        let ResolvedPath { end, links, .. } = ResolvedPath::to(&path);
        self.places.extend(links.into_iter().chain([end.clone()]).filter(|place| place != self.home));
        if DEEPEST <= depth {
            return;
        }
        if is_pattern {
            let entries = fs::read_dir(&end).into_iter().flatten().flatten().take(MOST_FILES);
            let unread = |path| UnreadFile { path, depth: depth + 1, kind, is_found: true };
            self.found.extend(entries.map(|entry| unread(entry.path())));
        } else if found.is_some_and(|found| found.is_file()) {
            let file = UnreadFile { path: end, depth: depth + 1, kind, is_found };
            if is_found { self.found.push_back(file) } else { self.left.push_back(file) }
        }
    }
}

mod names;
#[cfg(test)]
mod tests;

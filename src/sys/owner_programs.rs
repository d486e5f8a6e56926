//! The programs that the owner's settings name, as they were when the settings were read (spec 11, "What runs outside cannot be
//! written from inside").
//!
//! Such a program runs as the owner, outside of every sandbox, and may talk to the daemon. Who can write its file is the
//! owner, then; and an agent can where it lies in a workspace. So each is looked up once, its files are noted by their digests,
//! and one that has become another since is not run: since the settings were read, and since it was first run or a person
//! acknowledged it, which outlasts the daemon ([`ProgramRecord`]; whoever keeps them tells them). What its files load in their turn
//! is not looked at: the folders around them are told, to be kept from agents, and it runs with what only root can change before
//! it on its ways to look for more.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::process::geteuid;
use sha2::{Digest as _, Sha256};

use super::{first_line::whole_first_line, programs, regular_file, worked_folders::WorkedFolders};

mod astray;
mod key_reads;
mod leading;
mod readers;
mod scripts;
mod tellers;
mod values;

pub use key_reads::files_read;
pub use scripts::{OwnerScript, interpreter_of, names_on_first_line};

/// Largest file of which a digest is made: each use reads it again. A larger program must lie where only root writes.
const LARGEST: u64 = 512 << 20;
/// Files that the words of one program lead to, at most; more are not run, since nobody could tell whether they changed.
const MOST_FILES: usize = 32;

/// The programs that settings name. A cheap handle; all clones know the same.
#[derive(Debug, Clone, Default)]
pub struct OwnerPrograms(Arc<Mutex<OwnerProgramsState>>);

#[derive(Debug, Default)]
struct OwnerProgramsState {
    /// By the words of the settings.
    programs: LookedUpPrograms,
    /// The files that they may be run with, by the id of each.
    records: BTreeMap<String, ProgramFiles>,
    /// The folders in which an agent could have written the files of a script.
    worked: WorkedFolders,
    /// The reasons why programs were not run that lead to what agents can put there, since the settings were read.
    astray: BTreeMap<Vec<String>, String>,
    /// Commands that print keys, by their words.
    of_keys: BTreeSet<Vec<String>>,
    /// The digests of files of scripts, which are looked at each time that one is run.
    digests: scripts::KnownDigests,
}

type LookedUpPrograms = BTreeMap<Vec<String>, Result<OwnerProgram, String>>;
/// Digests (`sha256:<hex>`) by absolute paths without links.
pub type ProgramFiles = BTreeMap<PathBuf, String>;

/// The files that a program was first run with, or that a person acknowledged last: those that others than root can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramRecord {
    /// Made of the words of the settings: other words are another program.
    pub id: String,
    /// The first of the words, or what a script is.
    pub name: String,
    pub files: ProgramFiles,
}

/// A program as it was noted and as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramComparison {
    pub now: ProgramRecord,
    /// `None` = it was never noted.
    pub noted: Option<ProgramFiles>,
    /// The reason for not running it.
    pub refused: Option<String>,
}

/// Programs as they were just looked up, of which nobody makes use yet.
#[derive(Debug, Default)]
pub struct OwnerProgramsLookup {
    programs: LookedUpPrograms,
    of_keys: BTreeSet<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnerProgram {
    /// Absolute, without links.
    path: PathBuf,
    files: Vec<NotedFile>,
    /// From which it may load what nobody names, and which somebody else than root could change.
    folders: BTreeSet<PathBuf>,
    /// Files that were found changed, until the settings are read anew or a person acknowledges them.
    changed: BTreeSet<PathBuf>,
    /// It is a text that a shell runs, and this is known of it.
    script: Option<OwnerScript>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct NotedFile {
    path: PathBuf,
    /// `None` = only root can change it, and this daemon is not root's.
    digest: Option<[u8; 32]>,
    /// True if anybody but root could change it.
    is_open: bool,
}

impl OwnerProgramsLookup {
    /// Looks the programs up. Blocks on the file system.
    pub fn of(programs: impl IntoIterator<Item = Vec<String>>) -> OwnerProgramsLookup {
        let noted = programs.into_iter().filter(|words| !words.is_empty());
        let programs = noted.map(|words| (words.clone(), OwnerProgram::look_up(&words))).collect();
        OwnerProgramsLookup { programs, of_keys: BTreeSet::new() }
    }

    /// Has those with these words count as commands that print keys: what they read is sent to a provider.
    pub fn with_keys(self, of_keys: impl IntoIterator<Item = Vec<String>>) -> OwnerProgramsLookup {
        OwnerProgramsLookup { of_keys: of_keys.into_iter().collect(), ..self }
    }

    /// The records of those that can be run.
    pub fn records(&self) -> Vec<ProgramRecord> {
        let found = self.programs.iter().filter_map(|(words, program)| Some((words, program.as_ref().ok()?)));
        found.map(|(words, program)| program.record(words)).collect()
    }
}

impl OwnerPrograms {
    /// Remembers with which files a program may be run, in place of what was remembered of it before.
    pub fn remember(&self, id: String, files: ProgramFiles) {
        self.known().records.insert(id, files);
    }

    /// Takes what was looked up, in place of what was noted before. Of programs that are remembered, other files than those count as
    /// changed; programs of which nothing is remembered are not run.
    pub fn replace(&self, lookup: OwnerProgramsLookup) {
        let mut known = self.known();
        let programs = lookup.programs.into_iter().map(|(words, program)| {
            let record = known.records.get(&id_of(&words));
            let program = program.and_then(|program| program.held_to(record, &known.worked));
            (words, program)
        });
        let programs = programs.collect();
        known.programs = programs;
        known.of_keys = lookup.of_keys;
        known.astray.clear();
    }

    /// A command that runs just what was noted; the error is the end of a sentence about the program. One that no settings named
    /// when they were read is noted now. Blocks on the file system.
    pub fn command(&self, words: &[String]) -> Result<Command, String> {
        let known = self.known().programs.get(words).cloned();
        let program = known.unwrap_or_else(|| {
            let program = OwnerProgram::look_up(words);
            let mut known = self.known();
            let program = match known.records.get(&id_of(words)) {
                Some(record) => program.and_then(|program| program.held_to(Some(record), &known.worked)),
                None => program,
            };
            known.programs.insert(words.to_vec(), program.clone());
            program
        })?;
        if let Some(why) = self.led_astray(words, &program) {
            self.known().astray.insert(words.to_vec(), why.clone());
            return Err(why);
        }
        // Once is enough: what is put back for a moment is no better.
        let is_changed = |file: &&NotedFile| program.changed.contains(&file.path) || !file.is_as_noted();
        if let Some(file) = program.files.iter().find(is_changed) {
            let is_new = match self.known().programs.get_mut(words) {
                Some(Ok(program)) => program.changed.insert(file.path.clone()),
                _ => false,
            };
            if is_new {
                tracing::error!(
                    file = %file.path.display(),
                    "a program that the settings name was changed after they were read; it is not run"
                );
            }
            return Err(changed(&file.path));
        }
        let mut command = Command::new(&program.path);
        // Programs with several names do what they are called.
        command.arg0(&words[0]).args(&words[1..]);
        // What it looks up by name, as `env` does, and what Python loads unasked from the home and from beside a script.
        // Nothing lies there that it would take for what it is to do.
        command.current_dir("/");
        command.env("PATH", programs::path_of_system(std::env::var_os("PATH").as_deref()));
        command.envs([("PYTHONNOUSERSITE", "1"), ("PYTHONSAFEPATH", "1")]);
        Ok(command)
    }

    /// Files that are not what they were noted as. Blocks on the file system.
    pub fn changed(&self) -> Vec<PathBuf> {
        let programs = self.known().programs.clone();
        for (words, program) in programs.iter().filter_map(|(words, it)| Some((words, it.as_ref().ok()?))) {
            let worked = self.known().worked.clone();
            let other = program.files.iter().filter(|file| !file.is_as_noted());
            let other = other.map(|file| file.path.clone()).filter(|file| program.is_held(file, &worked));
            let other: Vec<PathBuf> = other.collect();
            if let Some(Ok(program)) = self.known().programs.get_mut(words) {
                program.changed.extend(other);
            }
        }
        self.found_changed()
    }

    /// Files that were found changed so far; looks at none.
    pub fn found_changed(&self) -> Vec<PathBuf> {
        let known = self.known();
        let changed = known.programs.values().flatten().flat_map(|program| program.changed.iter().cloned());
        changed.collect::<BTreeSet<PathBuf>>().into_iter().collect()
    }

    /// Each program as it was noted and as it is. Blocks on the file system.
    pub fn compared(&self) -> Vec<ProgramComparison> {
        drop(self.changed());
        let (programs, records) = {
            let known = self.known();
            (known.programs.clone(), known.records.clone())
        };
        let compared = programs.iter().map(|(words, program)| {
            let (id, now) = (
                id_of(words),
                program.as_ref().map_or_else(|_| OwnerProgram::look_up(words), |program| program.anew(words)),
            );
            let refused = match (program, &now) {
                (Ok(program), Ok(_)) => {
                    let is_text = program.script.is_some();
                    let astray = (!is_text).then(|| self.led_astray(words, program)).flatten();
                    astray.or_else(|| program.changed.first().map(|file| changed(file)))
                }
                (Err(why), _) | (_, Err(why)) => Some(why.clone()),
            };
            let noted = records.get(&id).cloned();
            let nothing = || ProgramRecord { id, name: words[0].clone(), files: ProgramFiles::new() };
            let now = now.map_or_else(|_| nothing(), |now| now.record(words));
            ProgramComparison { now, noted, refused }
        });
        compared.collect()
    }

    /// The files that somebody else than root could change: to be kept from agents.
    pub fn open_files(&self) -> Vec<PathBuf> {
        let known = self.known();
        let files = known.programs.values().flatten().flat_map(|program| &program.files);
        files.filter(|file| file.is_open).map(|file| file.path.clone()).collect()
    }

    /// The folders that those files lie in, where somebody else than root could put something there, and those that a Python keeps
    /// for itself around such: to be kept from agents.
    pub fn open_folders(&self) -> Vec<PathBuf> {
        let known = self.known();
        let folders = known.programs.values().flatten().flat_map(|program| program.folders.iter().cloned());
        folders.collect::<BTreeSet<PathBuf>>().into_iter().collect()
    }

    fn known(&self) -> MutexGuard<'_, OwnerProgramsState> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is wrong with a program of which this file was changed, as the end of a sentence.
fn changed(file: &Path) -> String {
    format!(
        "is not run: {} is another file than when it was noted; if you changed it, acknowledge it: `subagent trust --programs`",
        file.display()
    )
}

impl OwnerProgram {
    fn look_up(words: &[String]) -> Result<OwnerProgram, String> {
        let name = words.first().map(String::as_str).unwrap_or_default();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = executable(name, &path).ok_or_else(|| "cannot be run: entity not found".to_owned())?;
        let path = found.canonicalize().map_err(|error| format!("cannot be run: {}", error.kind()))?;
        let (mut files, mut names) = (BTreeSet::new(), BTreeSet::from([found]));
        add_with_interpreters(path.clone(), &mut files, &mut names);
        let is_interpreter = is_interpreter(&path) || is_interpreter(Path::new(name));
        for file in words[1..].iter().flat_map(|word| named_files(word, is_interpreter)) {
            add_with_interpreters(file, &mut files, &mut names);
        }
        if MOST_FILES < files.len() {
            return Err(format!("is not run: its words name more than {MOST_FILES} files"));
        }
        let folders = names.iter().chain(&files).flat_map(|file| folders_around(file)).collect();
        let is_ours_alone = |path: &Path| !geteuid().is_root() && is_roots(path);
        let files = files.into_iter().map(|path| {
            let digest = match is_ours_alone(&path) {
                true => None,
                false => Some(digest_of(&path).ok_or_else(|| {
                    format!("is not run: {} cannot be read, or is too large to be noted", path.display())
                })?),
            };
            Ok(NotedFile { is_open: is_open(&path), path, digest })
        });
        let files = files.collect::<Result<_, String>>()?;
        Ok(OwnerProgram { path, files, folders, changed: BTreeSet::new(), script: None })
    }

    /// Looks it up once more.
    fn anew(&self, words: &[String]) -> Result<OwnerProgram, String> {
        self.script.as_ref().map_or_else(
            || OwnerProgram::look_up(words),
            |script| OwnerProgram::of_script(script, &digest_of),
        )
    }

    fn record(&self, words: &[String]) -> ProgramRecord {
        let open = self.files.iter().filter(|file| file.is_open);
        let files = open.filter_map(|file| Some((file.path.clone(), text_of(&file.digest?))));
        let name = self.script.as_ref().map_or_else(|| words[0].clone(), |script| script.name.clone());
        ProgramRecord { id: id_of(words), name, files: files.collect() }
    }

    /// The program, with those of its files as changed that are not what was remembered.
    fn held_to(
        mut self,
        record: Option<&ProgramFiles>,
        worked: &WorkedFolders,
    ) -> Result<OwnerProgram, String> {
        let Some(record) = record else {
            return Err("is not run: which files it has could not be noted in the log".to_owned());
        };
        let is_other = |file: &&NotedFile| {
            file.is_open
                && self.is_held(&file.path, worked)
                && file.digest.map(|digest| text_of(&digest)).as_ref() != record.get(&file.path)
        };
        self.changed = self.files.iter().filter(is_other).map(|file| file.path.clone()).collect();
        for file in &self.changed {
            tracing::error!(
                file = %file.display(),
                "a program that the settings name is another one than when it was noted; it is not run"
            );
        }
        Ok(self)
    }
}

/// Names a program by its words.
fn id_of(words: &[String]) -> String {
    let mut hasher = Sha256::new();
    for word in words {
        hasher.update((word.len() as u64).to_le_bytes());
        hasher.update(word);
    }
    text_of(&hasher.finalize().into())
}

fn text_of(digest: &[u8; 32]) -> String {
    let hex = digest.iter().map(|byte| format!("{byte:02x}"));
    std::iter::once("sha256:".to_owned()).chain(hex).collect()
}

impl NotedFile {
    fn is_as_noted(&self) -> bool {
        match &self.digest {
            Some(digest) => digest_of(&self.path).as_ref() == Some(digest),
            None => is_roots(&self.path),
        }
    }
}

/// The file that a name means: a path, or the first of that name in the folders of `path`. Absolute, by whatever links.
fn executable(name: &str, path: &OsStr) -> Option<PathBuf> {
    let is_executable = |file: &PathBuf| {
        fs::metadata(file).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    match name.contains('/') {
        true => std::path::absolute(name).ok().filter(is_executable),
        false => {
            let absolute = std::env::split_paths(path).filter(|folder| folder.is_absolute());
            absolute.map(|folder| folder.join(name)).find(is_executable)
        }
    }
}

/// The folder that a file lies in by this name, and the one that a Python by this name takes its packages from
/// (https://docs.python.org/3/library/venv.html); those in which somebody else than root could put something. Never a home: it is
/// everything that its owner has.
fn folders_around(file: &Path) -> Vec<PathBuf> {
    let folder = file.parent().into_iter();
    let environment = file.parent().and_then(Path::parent).filter(|it| it.join("pyvenv.cfg").is_file());
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let real = folder.chain(environment).filter_map(|folder| folder.canonicalize().ok());
    real.filter(|folder| is_open(folder) && !home.iter().any(|home| home.starts_with(folder))).collect()
}

/// True where anybody but root could change it; for a daemon of root's, also where it is not the system's.
fn is_open(path: &Path) -> bool {
    !is_roots(path) || (geteuid().is_root() && !programs::is_roots_alone(path))
}

/// Programs that run a file that they are given, whatever its mode.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "ksh", "python", "node", "bun", "deno", "perl", "ruby", "php",
    "lua", "env",
];

fn is_interpreter(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    INTERPRETERS.contains(&name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.'))
}

/// Existing files that a word names and that are run: by the interpreter that the words are for, or since they are programs.
/// Others may be what the program writes, a log say. Looked at are all of the word, the value of an option, and what stands in
/// a script.
fn named_files(word: &str, is_for_interpreter: bool) -> Vec<PathBuf> {
    let pieces = word.split(|letter: char| letter.is_whitespace() || "=:,;|&()<>'\"`".contains(letter));
    let texts = std::iter::once(word).chain(pieces).filter(|text| text.contains('/'));
    let resolved = texts.filter_map(|text| {
        let home = std::env::home_dir();
        let below = text.strip_prefix("~/").or_else(|| text.strip_prefix("$HOME/"));
        let path = match (below.or_else(|| text.strip_prefix("${HOME}/")), home) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(text),
        };
        let mut path = path.canonicalize().ok()?;
        if is_for_interpreter && text == word && path.is_dir() {
            // Python runs a folder by what it has of this name.
            path.push("__main__.py");
        }
        let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let is_program = metadata.permissions().mode() & 0o111 != 0 || !first_line(&path).is_empty();
        (is_program || (is_for_interpreter && text == word)).then_some(path)
    });
    resolved.collect()
}

/// A script is run by what its first line names, and that perhaps by another (execve(2)).
///
/// `names`: by which they are found, which lead to more than what links of that name do.
fn add_with_interpreters(path: PathBuf, files: &mut BTreeSet<PathBuf>, names: &mut BTreeSet<PathBuf>) {
    // As it will be when it runs.
    let system = programs::path_of_system(std::env::var_os("PATH").as_deref());
    let mut next = Some(path);
    while let Some(path) = next {
        if MOST_FILES < files.len() || !files.insert(path.clone()) {
            return;
        }
        next = None;
        for name in first_line(&path) {
            let Some(named) = executable(&name, &system) else { continue };
            let Ok(found) = named.canonicalize() else { continue };
            names.insert(named);
            if found.file_name().is_some_and(|name| name == "env") {
                files.insert(found);
                continue;
            }
            next = Some(found);
            break;
        }
    }
}

/// The program that a script names, and the words behind it, of which `env` takes the next program.
fn first_line(path: &Path) -> Vec<String> {
    let line = whole_first_line(path).unwrap_or_default();
    line.split_whitespace().filter(|word| !word.starts_with('-')).map(str::to_owned).collect()
}

/// True if nobody but root can change the file, or put another in its place.
fn is_roots(path: &Path) -> bool {
    path.ancestors().all(|part| {
        fs::symlink_metadata(part)
            .is_ok_and(|it| it.uid() == 0 && (it.mode() & 0o022 == 0 || it.is_symlink()))
    })
}

fn digest_of(path: &Path) -> Option<[u8; 32]> {
    let bytes = regular_file::read_bounded(path, LARGEST).ok()??;
    Some(Sha256::digest(&bytes).into())
}

#[cfg(test)]
mod tests;

//! The programs that the owner's settings name, as they were when the settings were read (spec 11, "What runs outside cannot be
//! written from inside").
//!
//! Such a program runs as the owner, outside of every sandbox, and may talk to the daemon. Who can write its file is the
//! owner, then; and an agent can where it lies in a workspace. So each is looked up once, its files are noted by their digests,
//! and one that has become another since is not run. What its files load in their turn is not looked at: the folders around them are
//! told, to be kept from agents, and it runs with what only root can change before it on its ways to look for more.

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

use super::{programs, regular_file};

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
    programs: BTreeMap<Vec<String>, Result<OwnerProgram, String>>,
    /// Files that were found changed, until the settings are read anew.
    changed: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnerProgram {
    /// Absolute, without links.
    path: PathBuf,
    files: Vec<NotedFile>,
    /// From which it may load what nobody names, and which somebody else than root could change.
    folders: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct NotedFile {
    path: PathBuf,
    /// `None` = only root can change it, and this daemon is not root's.
    digest: Option<[u8; 32]>,
    /// Whether anybody but root could change it.
    is_open: bool,
}

impl OwnerPrograms {
    /// Looks the programs up and notes their files, in place of what was noted before. Blocks on the file system.
    pub fn note(&self, programs: impl IntoIterator<Item = Vec<String>>) {
        let noted = programs.into_iter().filter(|words| !words.is_empty());
        let noted = noted.map(|words| {
            let program = OwnerProgram::look_up(&words);
            (words, program)
        });
        let programs = noted.collect();
        *self.known() = OwnerProgramsState { programs, changed: BTreeSet::new() };
    }

    /// A command that runs just what was noted; the error is the end of a sentence about the program. One that was never noted
    /// is noted now. Blocks on the file system.
    pub fn command(&self, words: &[String]) -> Result<Command, String> {
        let known = self.known().programs.get(words).cloned();
        let program = known.unwrap_or_else(|| {
            let program = OwnerProgram::look_up(words);
            self.known().programs.insert(words.to_vec(), program.clone());
            program
        })?;
        // Once is enough: what is put back for a moment is no better.
        let before = program.files.iter().find(|file| self.known().changed.contains(&file.path));
        if let Some(file) = before.or_else(|| program.files.iter().find(|file| !file.is_as_noted())) {
            let is_new = self.known().changed.insert(file.path.clone());
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
        command.env("PATH", programs::path_of_system(std::env::var_os("PATH").as_deref()));
        command.envs([("PYTHONNOUSERSITE", "1"), ("PYTHONSAFEPATH", "1")]);
        Ok(command)
    }

    /// Files that are not what they were noted as. Blocks on the file system.
    pub fn changed(&self) -> Vec<PathBuf> {
        let programs: Vec<OwnerProgram> = self.known().programs.values().flatten().cloned().collect();
        let other = programs.iter().flat_map(|program| &program.files).filter(|file| !file.is_as_noted());
        let other: Vec<PathBuf> = other.map(|file| file.path.clone()).collect();
        let mut known = self.known();
        known.changed.extend(other);
        known.changed.iter().cloned().collect()
    }

    /// Files that were found changed so far; looks at none.
    pub fn found_changed(&self) -> Vec<PathBuf> {
        self.known().changed.iter().cloned().collect()
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
        "is not run: {} is another file than when the settings were read; if you changed it, `subagent reload` notes it anew",
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
        Ok(OwnerProgram { path, files: files.collect::<Result<_, String>>()?, folders })
    }
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
    use std::io::Read as _;
    let mut beginning = Vec::new();
    // As much as the kernel looks at.
    let read = regular_file::open(path).and_then(|file| file.take(256).read_to_end(&mut beginning));
    let text = String::from_utf8_lossy(&beginning);
    match (read, text.strip_prefix("#!")) {
        (Ok(_), Some(rest)) => {
            let line = rest.lines().next().unwrap_or_default();
            line.split_whitespace().filter(|word| !word.starts_with('-')).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether nobody but root can change the file, or put another in its place.
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
mod tests {
    use super::*;

    fn script(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The program, what interprets it, and files that its words name: of each, one that was changed is not run, not even when
    /// it is put back, until the settings are read anew.
    #[test]
    fn a_program_is_run_as_it_was_noted_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let text = |name: &str| path(name).to_str().unwrap().to_owned();
        script(&path("shell"), "#!/bin/sh\nexec /bin/sh \"$@\"\n");
        script(&path("tell"), &format!("#!{}\n", text("shell")));
        fs::write(path("data"), "#!/bin/sh\n").unwrap();
        fs::write(path("more"), "#!/bin/sh\n").unwrap();
        let words = [text("tell"), text("data"), format!("--file={}", text("more")), "word".to_owned()];
        let programs = OwnerPrograms::default();
        for name in ["shell", "tell", "data", "more"] {
            programs.note([words.to_vec()]);
            assert!(programs.open_files().contains(&path(name).canonicalize().unwrap()), "{name}");
            let command = programs.command(&words).unwrap();
            assert_eq!(command.get_program(), path("tell").canonicalize().unwrap());
            let before = fs::read(path(name)).unwrap();
            fs::write(path(name), "#!/bin/sh\nchanged\n").unwrap();
            let refused = programs.command(&words).unwrap_err();
            assert!(refused.contains(name) && refused.contains("reload"), "{refused}");
            fs::write(path(name), before).unwrap();
            assert!(programs.command(&words).is_err(), "{name} was put back");
            assert_eq!(programs.found_changed(), [path(name).canonicalize().unwrap()]);
        }
        programs.note([words.to_vec()]);
        assert!(programs.command(&words).is_ok() && programs.changed().is_empty());
    }

    #[test]
    fn what_an_interpreter_runs_is_noted_and_what_a_program_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).canonicalize().unwrap();
        fs::write(folder.path().join("code"), "print(1)\n").unwrap();
        fs::write(folder.path().join("log"), "x\n").unwrap();
        let programs = OwnerPrograms::default();
        let script = format!("cat >> {}", path("log").display());
        programs.note([
            vec!["bash".to_owned(), path("code").display().to_string()],
            vec!["sh".to_owned(), "-c".to_owned(), script],
        ]);
        assert_eq!(programs.open_files(), [path("code")]);
    }

    /// Nobody writes to what Python and others load from beside a script, or around what the program is called; and the programs
    /// that it looks up by name are the system's.
    #[test]
    fn what_a_program_loads_unasked_is_roots_or_kept() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        for name in ["tools", "app", "venv/bin", "venv/lib"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        script(&at.join("tools/tell"), &format!("#!{}\n", at.join("venv/bin/python").display()));
        fs::write(at.join("app/__main__.py"), "print(1)\n").unwrap();
        fs::write(at.join("venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        std::os::unix::fs::symlink("/bin/sh", at.join("venv/bin/python")).unwrap();
        let programs = OwnerPrograms::default();
        let text = |name: &str| at.join(name).to_str().unwrap().to_owned();
        let tell = [text("tools/tell")];
        programs.note([tell.to_vec(), vec![text("venv/bin/python"), text("app")]]);
        let folders = ["app", "tools", "venv", "venv/bin"].map(|name| at.join(name));
        assert_eq!(programs.open_folders(), folders);
        let command = programs.command(&tell).unwrap();
        let variables: BTreeMap<_, _> =
            command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?))).collect();
        assert_eq!(variables["PYTHONNOUSERSITE"], "1");
        assert_eq!(variables["PYTHONSAFEPATH"], "1");
        let path: Vec<PathBuf> = std::env::split_paths(variables["PATH"]).collect();
        assert!(!path.is_empty() && path.iter().all(|folder| programs::is_roots_alone(folder)), "{path:?}");
    }

    #[test]
    fn a_program_is_looked_up_once() {
        let folder = tempfile::tempdir().unwrap();
        let programs = OwnerPrograms::default();
        let words = [folder.path().join("late").to_str().unwrap().to_owned()];
        programs.note([words.to_vec()]);
        script(&folder.path().join("late"), "#!/bin/sh\n");
        assert!(programs.command(&words).is_err(), "it came after the settings were read");
        let sh = ["sh".to_owned()];
        assert_eq!(
            programs.command(&sh).unwrap().get_program(),
            Path::new("/bin/sh").canonicalize().unwrap()
        );
    }
}

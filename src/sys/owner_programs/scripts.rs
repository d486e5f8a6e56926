//! Texts that a shell runs for the owner outside of a sandbox: hooks of their own settings.
//!
//! Nobody is asked when the owner changes such a file where no agent works. One that lies in a folder in which agents work, or have
//! worked, may be an agent's: it is run as it was noted, or not at all.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsStr,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::process::geteuid;

use super::{
    MOST_FILES, NotedFile, OwnerProgram, OwnerPrograms, OwnerProgramsLookup, ProgramFiles,
    add_with_interpreters, changed, digest_of, first_line, folders_around, id_of, is_open, is_roots,
};
use crate::{own_ground::OwnGround, worked_folders::WorkedFolders};

/// Endings of files that programs run, whatever their modes.
const SCRIPT_ENDS: &[&str] = &[
    "awk", "bash", "cjs", "cts", "ex", "exs", "fish", "groovy", "jar", "jl", "js", "jsx", "ksh", "lua",
    "mjs", "mts", "php", "pl", "pm", "ps1", "py", "pyw", "pyz", "r", "rb", "sed", "sh", "swift", "tcl", "ts",
    "tsx", "zsh",
];

/// Below it lie programs that packages bring along.
const PACKAGES: &str = "node_modules";

/// A text that a shell runs, with the files that it may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerScript {
    /// The same as the settings have it: another text is another program.
    pub words: Vec<String>,
    /// The name that people are shown.
    pub name: String,
    /// Absolute; those that are there and may be run by their modes, ends or first lines are its files.
    pub named: Vec<PathBuf>,
    /// Absolute; those that are there are its files: it is known that they are run.
    pub run: Vec<PathBuf>,
}

/// The digests of files that were read before. Which file it is and when it was last changed is the kernel's word, which nobody who
/// writes the file can set back. A cheap handle.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownDigests(Arc<Mutex<HashMap<PathBuf, (DigestStamp, FileDigest)>>>);

type DigestStamp = (u64, u64, u64, i64, i64);
type FileDigest = [u8; 32];

impl KnownDigests {
    /// Files whose digests are kept; where there are more, all are forgotten.
    const MOST: usize = 256;
    /// A file that was changed later than this is read again: its stamp may not tell the next change.
    const SETTLED_SECONDS: i64 = 2;

    fn of(&self, path: &Path) -> Option<FileDigest> {
        let stamp =
            fs::metadata(path).ok().map(|it| (it.dev(), it.ino(), it.size(), it.ctime(), it.ctime_nsec()))?;
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied();
        if let Some((_, digest)) = known.filter(|(known, _)| *known == stamp) {
            return Some(digest);
        }
        let digest = digest_of(path)?;
        let (now, _) = crate::clock::file_time();
        if stamp.3 + KnownDigests::SETTLED_SECONDS < now {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if KnownDigests::MOST <= all.len() {
                all.clear();
            }
            all.insert(path.to_owned(), (stamp, digest));
        }
        Some(digest)
    }
}

/// The file that a script names on its first line as what runs it, if it is one.
pub fn interpreter_of(path: &Path) -> Option<PathBuf> {
    first_line(path).first().map(PathBuf::from).filter(|named| named.is_absolute())
}

/// The names on the first line of a script that are looked up in the `PATH`, as `env` does with the next one.
pub fn names_on_first_line(path: &Path) -> Vec<String> {
    first_line(path).into_iter().filter(|word| !word.contains('/')).collect()
}

impl OwnerProgramsLookup {
    /// Looks these up as well. Blocks on the file system.
    pub fn add_scripts(&mut self, scripts: impl IntoIterator<Item = OwnerScript>) {
        for script in scripts {
            let program = OwnerProgram::of_script(&script, &digest_of);
            // Those of which nothing can be changed are none that anybody has to know of.
            if program.as_ref().is_ok_and(|program| !program.files.iter().any(|file| file.is_open)) {
                continue;
            }
            self.programs.insert(script.words, program);
        }
    }
}

impl OwnerProgramsLookup {
    /// The records that the log does not have like this: of programs that were never noted, and of scripts that the owner changed
    /// where no agent works.
    pub fn unnoted(
        &self,
        noted: impl Fn(&str) -> Option<super::ProgramFiles>,
        worked: &WorkedFolders,
    ) -> Vec<super::ProgramRecord> {
        let found = self.programs.iter().filter_map(|(words, program)| Some((words, program.as_ref().ok()?)));
        let is_unnoted = |program: &OwnerProgram, record: &super::ProgramRecord| match noted(&record.id) {
            None => true,
            Some(files) => {
                let is_held = |(path, digest): (&PathBuf, &String)| {
                    files.get(path) != Some(digest) && program.is_held(path, worked)
                };
                files != record.files && program.script.is_some() && !record.files.iter().any(is_held)
            }
        };
        let records = found.map(|(words, program)| (program, program.record(words)));
        records.filter(|(program, record)| is_unnoted(program, record)).map(|(_, record)| record).collect()
    }
}

impl OwnerPrograms {
    /// Goes by these folders from now on.
    pub fn heed(&self, worked: WorkedFolders) {
        self.known().worked = worked;
    }

    /// The folders in which agents work, or have worked.
    pub fn worked_folders(&self) -> WorkedFolders {
        self.known().worked.clone()
    }

    /// The reason why a script must not be run, as the end of a sentence. Files in `apart` are held to what a person trusted in the workspace
    /// that asks. A script that no settings had when they were read is noted now. Blocks on the file system.
    pub fn refused_script(&self, script: &OwnerScript, apart: &[PathBuf]) -> Option<String> {
        let digests = self.known().digests.clone();
        let now = match OwnerProgram::of_script(script, &|path| digests.of(path)) {
            Ok(now) => now,
            Err(why) => return Some(why),
        };
        let mut known = self.known();
        let worked = known.worked.clone();
        let is_apart = |file: &NotedFile| apart.contains(&file.path);
        let Some(before) = known.programs.get_mut(&script.words) else {
            let record = known.records.get(&id_of(&script.words)).cloned();
            let held = match &record {
                Some(record) => now.held_to(Some(record), &worked),
                // What was not there then, an agent may have made since.
                None => now.held_to(Some(&ProgramFiles::new()), &worked),
            };
            let why = held.as_ref().err().cloned().or_else(|| {
                let held = held.as_ref().ok()?;
                let files = held.files.iter().filter(|file| !is_apart(file));
                files
                    .map(|file| &file.path)
                    .find(|file| held.changed.contains(*file))
                    .map(|file| changed(file))
            });
            known.programs.insert(script.words.clone(), held);
            return why;
        };
        let before = match before {
            Ok(before) => before,
            Err(why) => return Some(why.clone()),
        };
        let mut refused = None;
        for file in now.files.into_iter().filter(|file| file.is_open) {
            let noted = before.files.iter_mut().find(|noted| noted.path == file.path);
            let is_same = noted.as_ref().is_some_and(|noted| noted.digest == file.digest)
                && !before.changed.contains(&file.path);
            if is_same || is_apart(&file) {
                continue;
            }
            if is_of_agents(&file.path, &worked) {
                refused.get_or_insert_with(|| changed(&file.path));
                if before.changed.insert(file.path.clone()) {
                    tracing::error!(
                        file = %file.path.display(),
                        "a file that a hook of the settings runs lies where agents work and was changed; it is not run"
                    );
                }
                continue;
            }
            // The owner's own work.
            match noted {
                Some(noted) => *noted = file,
                None => before.files.push(file),
            }
        }
        refused
    }
}

fn is_of_agents(file: &Path, worked: &WorkedFolders) -> bool {
    OwnGround::of_process(worked, std::env::home_dir().as_deref()).is_of_agents(file)
}

impl OwnerProgram {
    /// True of a file that may be an agent's work when it is not what was noted.
    pub(super) fn is_held(&self, file: &Path, worked: &WorkedFolders) -> bool {
        self.script.is_none() || is_of_agents(file, worked)
    }

    pub(super) fn of_script(
        script: &OwnerScript,
        digest: &dyn Fn(&Path) -> Option<FileDigest>,
    ) -> Result<OwnerProgram, String> {
        let mut files = BTreeSet::new();
        let mut names = BTreeSet::new();
        let run = script.run.iter().map(|file| (file, true));
        for (named, is_known) in script.named.iter().map(|file| (file, false)).chain(run) {
            let Ok(path) = named.canonicalize() else { continue };
            let is_run = fs::metadata(&path).is_ok_and(|found| {
                let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
                found.is_file()
                    && (is_known
                        || found.permissions().mode() & 0o111 != 0
                        || SCRIPT_ENDS.iter().any(|known| known.eq_ignore_ascii_case(end))
                        || !first_line(&path).is_empty())
            });
            if is_run {
                add_with_interpreters(path, &mut files, &mut names);
                names.insert(named.clone());
            }
        }
        if MOST_FILES < files.len() {
            return Err(format!("is not run: its words name more than {MOST_FILES} files"));
        }
        let of_packages = |file: &&PathBuf| file.iter().any(|name| name == OsStr::new(PACKAGES));
        let all = names.iter().chain(&files).filter(|file| !of_packages(file));
        let folders = all.flat_map(|file| folders_around(file)).collect();
        let is_ours_alone = |path: &Path| !geteuid().is_root() && is_roots(path);
        let files = files.into_iter().map(|path| {
            let digest = match is_ours_alone(&path) {
                true => None,
                false => Some(digest(&path).ok_or_else(|| {
                    format!("is not run: {} cannot be read, or is too large to be noted", path.display())
                })?),
            };
            Ok(NotedFile { is_open: is_open(&path), path, digest })
        });
        let files = files.collect::<Result<_, String>>()?;
        Ok(OwnerProgram {
            path: PathBuf::new(),
            files,
            folders,
            changed: BTreeSet::new(),
            script: Some(script.clone()),
        })
    }
}

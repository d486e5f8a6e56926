//! Which paths does one start file, or one file of settings, name?
//!
//! What settings name is kept in mind as long as the file stays what it is: they are looked at for each command, and seldom change.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use sys::{clock::file_time, regular_file};

use super::{MOST_BYTES, MOST_PLACES};

/// Signs of lines that name a folder in which something looks for what it runs.
const OF_FOLDERS: &[&str] = &["path", "rtp", "zdotdir", "run-parts", "includedir", "plugin", "templatedir"];

/// Folders in which no workspace lies.
const OF_SYSTEM: &[&str] =
    &["/bin", "/dev", "/etc", "/lib", "/nix", "/proc", "/run", "/sbin", "/sys", "/usr"];

/// Words of programming languages for the home, behind which a path is put together: `os.getenv("HOME") .. "/x"`.
const OF_HOME: &[&str] = &["HOME", "home_dir", "homedir", "Dir.home"];

/// Ends of names of files that are run.
const SCRIPT_ENDS: &[&str] =
    &[".bash", ".cjs", ".js", ".lua", ".mjs", ".pl", ".py", ".rb", ".sh", ".ts", ".zsh"];

/// Words of one file that are looked up below folders.
const MOST_SCRIPTS: usize = 16;

/// Files of settings that are kept in mind.
const MOST_KNOWN: usize = 512;

/// Seconds: a file that changed within them is read anew. The clock of file systems has coarse ticks, and within one nobody could tell a change.
const SETTLED: i64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A shell or an editor reads it line by line.
    Start,
    /// Settings, and what these name: folders and patterns in them say where somebody works.
    Settings,
}

/// Something that a line names: a path, or all that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NamedPath {
    One(PathBuf),
    /// All in this folder.
    Below(PathBuf),
}

/// A path that a line names.
#[derive(Debug)]
pub(super) struct NameInFile {
    pub named: NamedPath,
    /// The line does more than give it a name.
    pub is_used: bool,
    /// The line names a folder in which something looks for what it runs.
    pub is_of_folders: bool,
    /// The line says where shells find programs.
    pub is_of_programs: bool,
    /// Put together of words: it counts if it is there.
    pub is_guess: bool,
}

/// Everything that one file names.
#[derive(Debug, Default)]
pub(super) struct NamesInFile {
    pub names: Vec<NameInFile>,
    /// Relative names of scripts; of settings alone.
    pub scripts: Vec<String>,
}

/// What tells two states of a file apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SettingsFileState(u64, u64, u64, (i64, i64), (i64, i64));

struct KnownNames {
    state: SettingsFileState,
    home: PathBuf,
    names: Arc<NamesInFile>,
}

/// By absolute paths. Nothing follows from it but how often files are read, so one for the whole process is enough.
static KNOWN: LazyLock<Mutex<HashMap<PathBuf, KnownNames>>> = LazyLock::new(Mutex::default);

/// The names in a file of settings; `None` = it cannot be read, or is too large.
pub(super) fn of_settings(file: &Path, home: &Path) -> Option<Arc<NamesInFile>> {
    let found = fs::metadata(file).ok().filter(|found| found.is_file() && found.len() <= MOST_BYTES)?;
    let state = SettingsFileState(
        found.dev(),
        found.ino(),
        found.len(),
        (found.mtime(), found.mtime_nsec()),
        (found.ctime(), found.ctime_nsec()),
    );
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(it) = known().get(file).filter(|it| it.state == state && it.home == home) {
        return Some(Arc::clone(&it.names));
    }
    let text = regular_file::read_bounded(file, MOST_BYTES).ok().flatten()?;
    let text = String::from_utf8_lossy(&text);
    // Variables of other files are none of its own.
    let names = Arc::new(NamesInFile::of(&text, FileKind::Settings, home, &mut HashMap::new()));
    if SETTLED < file_time().0 - found.ctime() {
        let mut known = known();
        if MOST_KNOWN <= known.len() {
            known.clear();
        }
        let home = home.to_owned();
        known.insert(file.to_owned(), KnownNames { state, home, names: Arc::clone(&names) });
    }
    Some(names)
}

impl NamesInFile {
    pub fn of(
        text: &str,
        kind: FileKind,
        home: &Path,
        variables: &mut HashMap<String, String>,
    ) -> NamesInFile {
        let is_start = kind == FileKind::Start;
        let mut found = NamesInFile::default();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            // Perf: most lines of settings name no path.
            if !is_start && !line.contains(['/', '~', '.']) {
                continue;
            }
            line.split(';').for_each(|part| note_assignment(part.trim(), variables));
            let is_of_programs = is_start && is_of_programs(line);
            let names_folders = || {
                let small = line.to_ascii_lowercase();
                OF_FOLDERS.iter().any(|sign| small.contains(sign))
            };
            let is_of_folders = is_start && names_folders();
            let is_used = !is_assignment(line);
            let name =
                |named, is_guess| NameInFile { named, is_used, is_of_folders, is_of_programs, is_guess };
            found.names.extend(named_in(line, home, variables).into_iter().map(|named| name(named, false)));
            found.names.extend(guessed_in(line, home).map(|path| name(NamedPath::One(path), true)));
            if !is_start {
                let scripts = parts(line).filter(|word| {
                    !word.starts_with(['/', '~', '$', '-', '.', '@'])
                        && SCRIPT_ENDS.iter().any(|end| word.ends_with(end))
                });
                found.scripts.extend(scripts.map(str::to_owned));
            }
        }
        found.scripts.truncate(MOST_SCRIPTS);
        found.names.truncate(MOST_PLACES);
        found
    }
}

/// True of a line that says where shells find programs: of `PATH`, of zsh's `path`, and of functions that are called so (`fish_add_path`,
/// `pathmunge`).
fn is_of_programs(line: &str) -> bool {
    let names = line.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let is_function = || {
        let first = line.split_whitespace().next().unwrap_or_default();
        !first.contains(['=', '/', '+']) && first.to_ascii_lowercase().contains("path")
    };
    names.into_iter().any(|name| matches!(name, "PATH" | "path" | "fish_user_paths")) || is_function()
}

/// True of a line that is `NAME=value` and no more.
fn is_assignment(line: &str) -> bool {
    let words = ["export ", "typeset ", "declare "];
    let line = words.iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line).trim();
    line.split_once('=').is_some_and(|(name, value)| {
        name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && !value.contains([' ', '\t', ';', '&', '|', '(', '`'])
    })
}

/// `NAME=value`, also behind `export` and in the words of other programs: what stands for `$NAME` from then on.
fn note_assignment(line: &str, variables: &mut HashMap<String, String>) {
    let line =
        ["export ", "set -gx ", "set -x "].iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
    let Some((name, value)) = line.split_once('=').or_else(|| line.split_once(' ')) else { return };
    let is_name =
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let value = value.trim().trim_matches(['"', '\'']);
    // `PATH="$HOME/x:$PATH"` leads nobody knows where.
    let is_of_itself = || value.contains(&format!("${name}")) || value.contains(&format!("${{{name}"));
    if is_name && !value.contains(char::is_whitespace) && !is_of_itself() && variables.len() < MOST_PLACES {
        variables.insert(name.to_owned(), value.to_owned());
    }
}

/// The paths below the home that a line names.
fn named_in(line: &str, home: &Path, variables: &HashMap<String, String>) -> Vec<NamedPath> {
    let named = parts(line).filter(|part| part.contains('/') || part.starts_with(['~', '$']));
    named.filter_map(|part| path(part, home, variables)).collect()
}

/// The paths that a line may put together of the home and of what stands in it.
fn guessed_in(line: &str, home: &Path) -> impl Iterator<Item = PathBuf> {
    let is_of_home = OF_HOME.iter().any(|word| line.contains(word));
    let behind = parts(line).filter(move |part| is_of_home && part.starts_with('/'));
    behind.map(|part| home.join(&part[1..]))
}

fn parts(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| letter.is_whitespace() || ":;='\"()[]<>,&|`!".contains(letter))
}

fn path(part: &str, home: &Path, variables: &HashMap<String, String>) -> Option<NamedPath> {
    let whole = Path::new(&expanded(part, home, variables)?).to_owned();
    let elsewhere = || whole.is_absolute() && !OF_SYSTEM.iter().any(|folder| whole.starts_with(folder));
    let home = if whole.starts_with(home) { home } else { Path::new("/") };
    let below = whole.strip_prefix(home).ok().filter(|_| home != Path::new("/") || elsewhere())?;
    let mut folder = home.to_owned();
    for component in below.components() {
        let Component::Normal(name) = component else { return None };
        let is_open = name.to_string_lossy().contains(['*', '?', '{', '$', '%']);
        if is_open {
            // Of the home itself nothing is said by this.
            return (folder != home).then_some(NamedPath::Below(folder));
        }
        folder.push(name);
    }
    (folder != home).then_some(NamedPath::One(folder))
}

/// A word with what its first letters stand for. Variables that nobody knows stay, as a pattern would.
fn expanded(part: &str, home: &Path, variables: &HashMap<String, String>) -> Option<String> {
    let home = home.to_str()?;
    let mut whole = part.to_owned();
    // A value may begin with another variable.
    for _ in 0..4 {
        if let Some(rest) = whole.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            whole = format!("{home}{rest}");
        }
        for own in ["${HOME}", "$HOME", "@{HOME}", "%h"] {
            if let Some(rest) =
                whole.strip_prefix(own).filter(|rest| rest.is_empty() || rest.starts_with('/'))
            {
                whole = format!("{home}{rest}");
            }
        }
        let Some(rest) = whole.strip_prefix('$') else { break };
        let (name, rest) = match rest.strip_prefix('{') {
            Some(inner) => inner.split_once('}')?,
            None => rest.split_at(
                rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
                    .unwrap_or(rest.len()),
            ),
        };
        // `${NAME:-…}` was parted at its colon.
        let value = variables.get(name)?;
        whole = format!("{value}{rest}");
    }
    Some(whole)
}

//! Which files of a workspace do its commands run? Trust in a command is trust in them as they were.
//!
//! A command is trusted by its words; but a word that names a file of the workspace means whatever stands in that file,
//! which an agent may write. So such a file counts like a settings file: as somebody acknowledged it, and not otherwise.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use super::{AcknowledgementState, TrustRecords, below, digest};
use config::{command_words, expand, read_bounded};
use folders::NamedFolders;
use protocol::{DiscoveryCommands, McpTransport, ProgramDigest};
use sys::{
    guarded::ResolvedPath,
    owner_programs::{interpreter_of, names_on_first_line},
    programs::folders_of_person,
};

mod folders;

/// Largest file that is run; larger ones nobody has read, and each run's start would read them again.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A folder that is none, in which no name means a file.
const NOWHERE: &str = "/dev/null";

/// Pieces of one word that are looked at.
const MOST_PIECES: usize = 64;

/// Names of one server that are looked up.
const MOST_NAMES: usize = 256;

/// Programs that run what a file in their folder says, and those files.
const RUNNERS: &[(&[&str], &[&str])] = &[
    (&["npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx"], &["package.json", ".npmrc", "bunfig.toml"]),
    (&["deno"], &["deno.json", "deno.jsonc", "package.json"]),
    (&["uv", "uvx", "poetry", "pipenv", "hatch", "pdm"], &["pyproject.toml", "uv.toml", "Pipfile"]),
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["cargo"], &["Cargo.toml", ".cargo/config.toml"]),
    (&["go"], &["go.mod"]),
    (&["bundle", "rake"], &["Gemfile", "Rakefile"]),
    (&["docker", "docker-compose", "podman"], &["compose.yaml", "docker-compose.yml", "Dockerfile"]),
];

/// The ones of these files that say all of what is run.
const WHOLE: &[&str] =
    &["GNUmakefile", "makefile", "Makefile", "justfile", "Justfile", ".justfile", "Rakefile"];

/// A file of the workspace that one of its commands names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectProgram {
    pub root: String,
    /// Below the root.
    pub path: String,
    /// `None` = it cannot be read, so nobody can acknowledge it.
    pub digest: Option<String>,
    pub consent: AcknowledgementState,
    /// It is run at each call, not only to tell tools.
    pub is_for_calls: bool,
}

impl ProjectProgram {
    /// As a run keeps it for its calls; `None` = none of them runs it.
    pub fn acknowledged(&self) -> Option<ProgramDigest> {
        let digest =
            self.digest.clone().filter(|_| self.is_for_calls && self.consent == AcknowledgementState::Now)?;
        Some(ProgramDigest { path: Path::new(&self.root).join(&self.path), digest })
    }
}

/// The files of workspaces that a server is started with.
#[derive(Debug, Default)]
pub struct ServerPrograms {
    pub programs: Vec<ProjectProgram>,
    /// Links of workspaces on the way to them, or out of there: another one leads to another program.
    pub links: Vec<PathBuf>,
    /// Places to which names lead that are looked up in the `PATH`: of its command, and of words and first lines that may name one.
    pub places: Vec<PathBuf>,
    /// Folders in which is looked for what it runs, and in which none of the programs lies. Without links.
    pub unknown_folders: Vec<PathBuf>,
}

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerOwner {
    /// All that it is started with in its workspace is acknowledged.
    Project,
    /// It is nobody's but the user's, so whatever its names lead to is noted.
    Person,
}

/// The files that the words of these commands lead to, each once. `roots` are canonical; commands run in the first. Blocks
/// on the file system.
pub(super) fn named_by(
    roots: &[String],
    commands: &DiscoveryCommands,
    trust: &TrustRecords,
) -> Vec<ProjectProgram> {
    let Some(directory) = roots.first() else { return Vec::new() };
    let mut named = ProgramCollector { roots, trust, found: ServerPrograms::default() };
    for (command, is_for_calls) in [(&commands.discovery, false), (&commands.call, true)] {
        let words = command.as_deref().and_then(|command| command_words(command).ok()).unwrap_or_default();
        words.iter().for_each(|word| named.add(Path::new(directory), word, is_for_calls));
    }
    named.found.programs
}

/// The files that what starts a server leads to: its command, arguments and variables. `base`: from which its `cwd` counts; without
/// one it runs in a folder of its own, and only whole paths lead anywhere. Blocks on the file system.
pub(super) fn of_server(
    owner: ServerOwner,
    (roots, base): (&[String], Option<&str>),
    transport: &McpTransport,
    environment: &[(OsString, OsString)],
    trust: &TrustRecords,
) -> ServerPrograms {
    let McpTransport::Stdio { command, args, env, cwd } = transport else { return ServerPrograms::default() };
    // What cannot be filled in is not started.
    let fill = |text: &String| expand(text, environment).unwrap_or_else(|_| text.clone());
    let directory = Path::new(base.unwrap_or(NOWHERE)).join(cwd.as_ref().map(fill).unwrap_or_default());
    let home = environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    let mut named = ProgramCollector { roots, trust, found: ServerPrograms::default() };
    let program = fill(command);
    let words: Vec<String> = args.iter().map(fill).collect();
    for word in std::iter::once(program.clone()).chain(words.clone()).chain(env.values().map(fill)) {
        named.add(&directory, &word, true);
        // A script in one word, a list of folders, an option with its value.
        let pieces = word.split(|letter: char| letter.is_whitespace() || ":,;|&()<>'\"`".contains(letter));
        pieces.filter(|piece| *piece != word).take(MOST_PIECES).for_each(|piece| {
            named.add(&directory, piece, true);
            // As a shell reads it.
            let homes = ["~/", "$HOME/", "${HOME}/"].into_iter();
            let below = homes.filter_map(|home| piece.rsplit('=').next()?.strip_prefix(home)).next();
            if let (Some(below), Some(home)) = (below, &home) {
                named.add(home, below, true);
            }
            if let Some(value) = piece.strip_prefix("-r").or_else(|| piece.strip_prefix("-f")) {
                named.add(&directory, value, true);
            }
        });
    }
    let path = match env.get("PATH") {
        Some(path) => Some(OsString::from(fill(path))),
        None => environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()),
    };
    // The folders of programs are kept from agents; what a link in them leads to need not be.
    let folders = folders_of_person(path.as_deref(), home.as_deref());
    let found: Vec<PathBuf> = match owner {
        ServerOwner::Person => {
            let values = env.iter().filter(|(name, _)| *name != "PATH").map(|(_, value)| fill(value));
            let texts: Vec<String> =
                std::iter::once(program.clone()).chain(words.clone()).chain(values).collect();
            named.found.places = by_name(&texts, &directory, path.as_deref());
            named.found.places.clone()
        }
        ServerOwner::Project if program.contains('/') => Vec::new(),
        ServerOwner::Project => folders
            .iter()
            .map(|folder| folder.join(&program))
            .find(|path| path.is_file())
            .into_iter()
            .collect(),
    };
    let led_to = found.iter().cloned().chain(found.iter().filter_map(|found| interpreter_of(found)));
    for file in led_to.filter_map(|file| file.canonicalize().ok()) {
        if !folders.iter().any(|folder| file.starts_with(folder)) {
            named.add(Path::new(NOWHERE), &file.to_string_lossy(), true);
        }
    }
    let all_words: Vec<String> = std::iter::once(program.clone()).chain(words.iter().cloned()).collect();
    let variables = env.iter().map(|(name, value)| (name.clone(), fill(value))).collect();
    let folders = NamedFolders::of(&all_words, &variables, &directory, home.as_deref());
    let unsaid = folders.add_files(&all_words, &mut named);
    let runner = Path::new(&program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // Which file says what is run, where the words do not.
    let (_, reads) = RUNNERS.iter().find(|(runners, _)| runners.contains(&runner)).unwrap_or(&(&[], &[]));
    reads.iter().for_each(|file| named.add(&directory, file, true));
    let mut modules = words.iter().zip(words.iter().skip(1)).filter(|(option, _)| *option == "-m");
    if let Some((_, module)) = modules.next() {
        files_of_module(module).iter().for_each(|file| named.add(&directory, file, true));
    }
    for folder in words.iter().filter(|word| directory.join(word).is_dir()) {
        if matches!(runner, "node" | "bun" | "deno") {
            for file in ["package.json", "index.js", "index.mjs", "index.cjs"] {
                named.add(&directory.join(folder), file, true);
            }
        }
    }
    named.found.unknown_folders = folders.unknown(&named.found.programs, &unsaid);
    named.found
}

/// The files of a module of Python's, below the folder that it is found in.
fn files_of_module(module: &str) -> Vec<String> {
    let path = module.replace('.', "/");
    let packages = path.match_indices('/').map(|(at, _)| format!("{}/__init__.py", &path[..at]));
    let own = ["{}.py", "{}/__init__.py", "{}/__main__.py"].map(|form| form.replace("{}", &path));
    packages.chain(own).collect()
}

/// Finds the programs that a `PATH` leads to by names in these words, and by those on the first lines of files that they name. A folder
/// in front of another one with the same name counts alone.
fn by_name(words: &[String], directory: &Path, path: Option<&OsStr>) -> Vec<PathBuf> {
    let folders: Vec<PathBuf> = path.into_iter().flat_map(std::env::split_paths).collect();
    let folders: Vec<PathBuf> =
        folders.iter().filter(|it| it.is_absolute()).filter_map(|it| it.canonicalize().ok()).collect();
    let mut names: Vec<String> = Vec::new();
    for word in words {
        let pieces = word.split(|letter: char| letter.is_whitespace() || "=:,;|&()<>'\"`".contains(letter));
        for piece in std::iter::once(word.as_str()).chain(pieces.take(MOST_PIECES)) {
            match piece.contains('/') {
                true => names.extend(names_on_first_line(&directory.join(piece))),
                false => names.push(piece.to_owned()),
            }
        }
    }
    let mut places = Vec::new();
    let mut at = 0;
    while at < names.len().min(MOST_NAMES) {
        let name = &names[at];
        let is_name = !name.is_empty() && !name.starts_with('-') && !name.starts_with('.');
        let found = folders.iter().filter(|_| is_name).map(|folder| folder.join(name));
        let place = found.into_iter().find(|place| is_executable(place));
        if let Some(place) = place.filter(|place| !places.contains(place)) {
            // A script there may be run by another one.
            names.extend(names_on_first_line(&place));
            places.push(place);
        }
        at += 1;
    }
    places
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

struct ProgramCollector<'a> {
    roots: &'a [String],
    trust: &'a TrustRecords,
    found: ServerPrograms,
}

impl ProgramCollector<'_> {
    /// The file of the workspace that a word means in this folder, if it means one.
    fn add(&mut self, directory: &Path, word: &str, is_for_calls: bool) {
        // Also of `--file=NAME`.
        let names = [Some(word), word.split_once('=').map(|(_, name)| name)];
        for name in names.into_iter().flatten().filter(|name| !name.is_empty()) {
            let way = ResolvedPath::to(&directory.join(name));
            let is_inside = |path: &PathBuf| self.roots.iter().any(|root| path.starts_with(root));
            let links = way.links.into_iter().filter(is_inside);
            self.found.links.extend(links);
            let Ok(file) = directory.join(name).canonicalize() else { continue };
            let mut roots = self.roots.iter();
            let Some(root) = roots.find(|root| file.starts_with(root)).filter(|_| file.is_file()) else {
                continue;
            };
            let path = below(root, &file);
            let known =
                self.found.programs.iter_mut().find(|known| known.root == *root && known.path == path);
            if let Some(known) = known {
                known.is_for_calls |= is_for_calls;
                continue;
            }
            let digest = current_digest(&file);
            // No file has this digest, so it only says whether any was acknowledged.
            let consent = self.trust.consent(root, &path, digest.as_deref().unwrap_or(""));
            self.found.programs.push(ProjectProgram {
                root: root.clone(),
                path,
                digest,
                consent,
                is_for_calls,
            });
        }
    }
}

/// The digest of a place of which it does not count what is there.
pub fn digest_of_place(path: &Path) -> String {
    digest(path.as_os_str().as_encoded_bytes())
}

/// The digest of a program that is found by its name: of a large one by what tells its versions apart, which nobody but the system
/// sets.
pub(super) fn digest_by_name(file: &Path) -> Option<String> {
    let found = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    if found.len() <= LARGEST {
        return current_digest(file);
    }
    let stamp = (found.dev(), found.ino(), found.size(), found.ctime(), found.ctime_nsec());
    Some(digest(format!("{stamp:?}").as_bytes()))
}

fn current_digest(file: &Path) -> Option<String> {
    Some(digest(&read_bounded(file, LARGEST).ok()??))
}

/// The first of these files that is not what it was. Blocks on the file system.
pub fn changed(programs: &[ProgramDigest]) -> Option<PathBuf> {
    let is_changed =
        |program: &&ProgramDigest| current_digest(&program.path).as_ref() != Some(&program.digest);
    programs.iter().find(is_changed).map(|program| program.path.clone())
}

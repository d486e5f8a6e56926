//! Which folders do the words and variables of a server name, and in which of them is looked for what it runs?
//!
//! A folder that a program is only given to work on, as a server for files is, is none in which anything is looked for. Programs are told
//! apart by tables: those that run what lies in a folder, and those that run a package of which the other words are arguments.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{ProgramCollector, ProjectProgram, RUNNERS, WHOLE, files_of_module};
use sys::word_paths::{absolute, pieces};

/// Folders of one server that are looked at, and how often one is followed that is named from within another.
const MOST_FOLDERS: usize = 32;
const DEEPEST: usize = 2;

/// Pieces of words that are looked at.
const MOST_PIECES: usize = 256;

/// Shells: all that their words name may be gone to.
const SHELLS: &[&str] = &["ash", "bash", "csh", "dash", "fish", "ksh", "nu", "pwsh", "sh", "tcsh", "zsh"];

/// Programs that start the one which their other words name.
const WRAPPERS: &[&str] =
    &["chrt", "doas", "env", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "time", "timeout"];

/// Programs that run a file, a folder or a package: what stands behind that are its arguments.
const RUN_ONE: &[&str] = &[
    "bun",
    "bunx",
    "deno",
    "elixir",
    "java",
    "julia",
    "lua",
    "luajit",
    "node",
    "nodejs",
    "npx",
    "osascript",
    "perl",
    "php",
    "pipx",
    "pnpx",
    "pypy",
    "python",
    "R",
    "Rscript",
    "ruby",
    "ts-node",
    "tsx",
    "uv",
    "uvx",
];

/// Programs that run what their folder has, with options also behind the name of it.
const RUN_FOLDER: &[&str] = &[
    "air",
    "bazel",
    "bundle",
    "cabal",
    "cargo",
    "cmake",
    "composer",
    "concurrently",
    "conda",
    "dart",
    "devbox",
    "direnv",
    "doit",
    "dotnet",
    "entr",
    "fastmcp",
    "flutter",
    "git",
    "gmake",
    "go",
    "gradle",
    "hatch",
    "invoke",
    "just",
    "lein",
    "make",
    "mamba",
    "meson",
    "micromamba",
    "mise",
    "mix",
    "mvn",
    "ninja",
    "nix",
    "nodemon",
    "nox",
    "npm",
    "npm-run-all",
    "nx",
    "pdm",
    "pipenv",
    "pixi",
    "pnpm",
    "poe",
    "poetry",
    "rake",
    "reflex",
    "rye",
    "sbt",
    "stack",
    "swift",
    "task",
    "tox",
    "turbo",
    "watchexec",
    "watchman-make",
    "wireit",
    "yarn",
];

/// Words of these programs that are commands of theirs.
const COMMANDS: &[&str] = &["dlx", "exec", "run", "run-script", "serve", "start", "tool", "x"];

/// Options without a value.
const FLAGS: &[&str] = &[
    "--frozen",
    "--isolated",
    "--locked",
    "--native-tls",
    "--no-cache",
    "--no-install",
    "--no-project",
    "--no-sync",
    "--offline",
    "--prefer-offline",
    "--quiet",
    "--refresh",
    "--silent",
    "--verbose",
    "--yes",
    "-B",
    "-E",
    "-O",
    "-P",
    "-S",
    "-q",
    "-s",
    "-u",
    "-v",
    "-w",
    "-y",
];

/// Options with code, a module or a line of words as their value.
const CODE: &[&str] =
    &["--call", "--eval", "--module", "--print", "--split-string", "-S", "-c", "-e", "-m", "-p"];

/// Variables by which programs find what they load, and their beginnings.
const VARIABLES: &[&str] = &[
    "BASH_ENV",
    "BUNDLE_GEMFILE",
    "CARGO_HOME",
    "CLASSPATH",
    "DOTNET_STARTUP_HOOKS",
    "ENV",
    "GEM_HOME",
    "GEM_PATH",
    "GOFLAGS",
    "GOPATH",
    "GOWORK",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LUA_CPATH",
    "LUA_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "R_LIBS",
    "R_LIBS_USER",
    "R_PROFILE",
    "VIRTUAL_ENV",
];
const VARIABLES_OF: &[&str] = &["JULIA_", "LD_", "NPM_CONFIG_", "PIP_", "PIXI_", "POETRY_", "UV_"];

/// The folders of one server that are there.
#[derive(Debug, Default)]
pub(super) struct NamedFolders {
    /// From any of them a relative word may mean a file.
    pub all: Vec<PathBuf>,
    /// The ones among them in which is looked for what is run.
    pub searched: Vec<PathBuf>,
}

impl NamedFolders {
    /// `words`: with the program; `directory`: in which it is started. Blocks on the file system.
    pub fn of(
        words: &[String],
        variables: &BTreeMap<String, String>,
        directory: &Path,
        home: Option<&Path>,
    ) -> NamedFolders {
        let mut searching = SearchedWords::default();
        searching.read(words);
        let of_code = |name: &str| {
            let name = name.to_ascii_uppercase();
            VARIABLES.contains(&name.as_str()) || VARIABLES_OF.iter().any(|start| name.starts_with(start))
        };
        let values = variables.iter().filter(|(name, _)| of_code(name)).map(|(_, value)| value.as_str());
        searching.texts.extend(values);
        let assigned = searching.assigned.iter().filter(|(name, _)| of_code(name)).map(|(_, value)| *value);
        searching.texts.extend(assigned);
        let mut searched = folders(&searching.texts, directory, home);
        if searching.looks_around {
            // Where it is started, and where a list of what it runs lies.
            let named = searching.texts.iter().flat_map(|text| pieces(text)).take(MOST_PIECES);
            let lists =
                named.filter_map(|piece| absolute(piece, home).or_else(|| Some(directory.join(piece))));
            let around = lists
                .filter(|path| path.is_file() && is_list(path))
                .filter_map(|list| list.parent().map(Path::to_owned));
            let around: Vec<PathBuf> = around.chain([directory.to_owned()]).collect();
            searched.extend(around.into_iter().filter(|folder| folder.is_dir()));
        }
        let texts: Vec<&str> = words.iter().chain(variables.values()).map(String::as_str).collect();
        NamedFolders { all: folders(&texts, directory, home), searched }
    }

    /// Adds the files that relative words mean in these folders. Answers those of them that do not say what is run: a name that may be one of
    /// a package, and lists of what a package has.
    pub fn add_files(&self, words: &[String], named: &mut ProgramCollector<'_>) -> Vec<PathBuf> {
        let mut names: Vec<&str> = words.iter().flat_map(|word| pieces(word)).take(MOST_PIECES).collect();
        names.dedup();
        let modules =
            names.windows(2).filter(|pair| pair[0] == "-m").flat_map(|pair| files_of_module(pair[1]));
        let modules: Vec<String> = modules.chain(["__main__.py".to_owned()]).collect();
        let runners =
            RUNNERS.iter().filter(|(runners, _)| names.iter().any(|it| runners.contains(&base_name(it))));
        let lists: Vec<&str> = runners.flat_map(|(_, lists)| lists.iter().copied()).collect();
        names.retain(|name| !name.is_empty() && !name.starts_with(['/', '~', '$', '-']));
        let mut unsaid = Vec::new();
        for folder in &self.all {
            let mut add = |name: &str, says: bool| {
                let path = folder.join(name);
                if fs::symlink_metadata(&path).is_ok() {
                    named.add(folder, name, true);
                    unsaid.extend(path.canonicalize().ok().filter(|_| !says));
                }
            };
            names.iter().for_each(|name| add(name, name.contains(['.', '/'])));
            modules.iter().for_each(|name| add(name, true));
            lists.iter().for_each(|name| add(name, WHOLE.contains(name)));
        }
        unsaid
    }

    /// The folders in which is looked for what is run and of which no file is known that says it. Without links.
    pub fn unknown(&self, programs: &[ProjectProgram], unsaid: &[PathBuf]) -> Vec<PathBuf> {
        let says = |path: &PathBuf| !unsaid.contains(path) && !is_list(path);
        let files = programs.iter().map(|it| Path::new(&it.root).join(&it.path));
        let files: Vec<PathBuf> = files.filter(says).collect();
        let folders = self.searched.iter().filter_map(|folder| folder.canonicalize().ok());
        let mut unknown: Vec<PathBuf> =
            folders.filter(|folder| !files.iter().any(|file| file.starts_with(folder))).collect();
        unknown.sort();
        unknown.dedup();
        unknown
    }
}

/// True of a list of what a folder has, by its name: it does not say what is run.
fn is_list(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    READ.contains(&end) || end.ends_with("proj") || end == "kts" || end == "gradle" || end == "ninja"
}

/// Ends of names of files that are read, not run.
const READ: &[&str] = &[
    "cfg", "conf", "db", "env", "ini", "json", "jsonc", "lock", "log", "md", "toml", "txt", "xml", "yaml",
    "yml",
];

/// The folders that these texts name, also from within each other.
fn folders(texts: &[&str], directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for depth in 0..=DEEPEST {
        let bases: Vec<PathBuf> = match depth {
            0 => vec![directory.to_owned()],
            _ => found.clone(),
        };
        let mut also = Vec::new();
        for piece in texts.iter().flat_map(|text| [*text].into_iter().chain(pieces(text))).take(MOST_PIECES) {
            if piece.is_empty() {
                continue;
            }
            match absolute(piece, home) {
                Some(path) if depth == 0 => also.push(path),
                Some(_) => {}
                None => also.extend(bases.iter().map(|base| base.join(piece))),
            }
        }
        for folder in also {
            if found.len() < MOST_FOLDERS && folder.is_dir() && !found.contains(&folder) {
                found.push(folder);
            }
        }
    }
    found
}

/// The words, and parts of them, that name where something is looked for.
#[derive(Default)]
struct SearchedWords<'a> {
    texts: Vec<&'a str>,
    /// `NAME=value` in front of a program.
    assigned: Vec<(&'a str, &'a str)>,
    /// The program takes what it runs from the folder that it is started in, or that a list lies in.
    looks_around: bool,
}

impl<'a> SearchedWords<'a> {
    fn read(&mut self, words: &'a [String]) {
        let Some((program, words)) = words.split_first() else { return };
        let name = base_name(program);
        if SHELLS.contains(&name) {
            self.texts.extend(words.iter().map(String::as_str));
        } else if WRAPPERS.contains(&name) {
            self.wrapped(words);
        } else if RUN_ONE.contains(&name) {
            self.looks_around |= ["npx", "uv", "bun", "deno"].contains(&name);
            self.run_by(words, false);
        } else if RUN_FOLDER.contains(&name) {
            self.looks_around = true;
            self.run_by(words, true);
        }
    }

    fn wrapped(&mut self, words: &'a [String]) {
        for (at, word) in words.iter().enumerate() {
            if let Some((name, value)) = word.split_once('=').filter(|_| !word.starts_with('-')) {
                self.assigned.push((name, value));
            } else if is_known(word) || word.contains('/') && Path::new(word).is_file() {
                return self.read(&words[at..]);
            } else {
                // An option, its value, or a line that is parted again.
                self.texts.push(word);
            }
        }
    }

    /// `goes_on`: options count behind what is run, too.
    fn run_by(&mut self, words: &'a [String], goes_on: bool) {
        let mut option: Option<&str> = None;
        let mut is_behind = false;
        for (at, word) in words.iter().enumerate() {
            if word == "--" {
                if is_behind {
                    return;
                }
                continue;
            }
            if word.starts_with('-') {
                self.texts.push(word);
                option = Some(word)
                    .filter(|it| !it.contains('=') && !FLAGS.contains(&it.as_str()))
                    .map(|it| it.as_str());
                continue;
            }
            let of = option.take();
            if of.is_none() && (is_behind || COMMANDS.contains(&word.as_str())) {
                continue;
            }
            self.texts.push(word);
            match of {
                Some(of) if CODE.contains(&of) && !goes_on => return,
                Some(_) => {}
                // `uv run python -m x`
                None if is_known(word) => return self.read(&words[at..]),
                None if goes_on => is_behind = true,
                None => return,
            }
        }
    }
}

fn is_known(program: &str) -> bool {
    let name = base_name(program);
    [SHELLS, WRAPPERS, RUN_ONE, RUN_FOLDER].iter().any(|table| table.contains(&name))
}

/// `python3.12` is `python`.
fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.')
}

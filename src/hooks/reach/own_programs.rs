//! Which files lie outside of what agents write, and which programs among them are a person's own?

use std::{
    ffi::OsStr,
    iter,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

use crate::command_words::with_folders;

use super::{DATA, OWN_VALUE, PlainWord, filled};

/// Variables with the folder of a person's own hooks. Its beginning here, as nobody but the person knows the path.
pub(super) const OWN_FOLDERS: &[&str] = &["CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"];
/// The beginning of a path in such a folder.
const OWN_FOLDER: &str = "/\u{1}";
/// Variables whose value is known.
const KNOWN: &[&str] = &["HOME", "PWD", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"];
/// Folders whose names lead elsewhere for each process, or to no file at all.
const NO_FOLDERS: &[&str] = &["/proc", "/dev", "/sys"];
/// Files of them that only take or tell.
const DEVICES: &[&str] = &["/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty"];
/// Folders of programs that are installed by their names. What lies in another one, and is named by its path, is a person's own.
const INSTALLED: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr",
    "/snap",
    "/nix",
    "/opt/homebrew",
    "/opt/local",
    "/home/linuxbrew",
    "/var/lib/flatpak",
    "/opt",
];
/// Folders of the home with a dot in front in which people keep scripts.
const DOTTED_OF_PERSON: &[&str] = &[
    ".agents",
    ".bin",
    ".claude",
    ".codex",
    ".config",
    ".cursor",
    ".dotfiles",
    ".gemini",
    ".hooks",
    ".scripts",
];
/// Names of folders in which installed programs lie.
const FOR_PROGRAMS: &[&str] = &["bin", "sbin", ".bin", "shims", "Scripts", "exe"];
/// The same anywhere.
const INSTALLED_IN: &[&str] = &[
    "shims",
    "node_modules",
    ".venv",
    "venv",
    "venvs",
    ".virtualenvs",
    "site-packages",
    "vendor",
    "conda",
    "miniforge3",
    "mambaforge",
    "Scripts",
    ".composer",
    ".gem",
    ".cabal",
    ".pub-cache",
    ".dotnet",
    ".luarocks",
    ".foundry",
    ".elan",
    ".ghcup",
    ".opam",
    ".mix",
    ".krew",
    "flutter",
    "Library",
];
/// Interpreters beside which installed programs lie.
const BESIDE: &[&str] = &["python", "python3", "node", "ruby", "php", "perl", "dart", "java", "go"];
/// Programs that take settings, plugins or code from the folder that they are started in, wherever they are installed.
const OF_FOLDER: &[&str] = &[
    "npx",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "bunx",
    "deno",
    "uv",
    "uvx",
    "pip",
    "pip3",
    "pipx",
    "poetry",
    "git",
    "hg",
    "make",
    "gmake",
    "just",
    "task",
    "rake",
    "cargo",
    "gradle",
    "mvn",
    "go",
    "gofmt",
    "rustfmt",
    "prettier",
    "eslint",
    "stylelint",
    "biome",
    "tsc",
    "tsx",
    "ts-node",
    "jest",
    "vitest",
    "mypy",
    "pylint",
    "flake8",
    "ruff",
    "black",
    "isort",
    "pyright",
    "pytest",
    "tox",
    "nox",
    "pre-commit",
    "rubocop",
    "bundle",
    "rspec",
    "phpstan",
    "phpunit",
    "php-cs-fixer",
    "composer",
    "hlint",
    "stylua",
    "luacheck",
    "clang-format",
    "clang-tidy",
    "shellcheck",
    "shfmt",
    "terraform",
    "docker",
    "docker-compose",
    "podman",
    "gh",
    "mise",
    "asdf",
    "nix",
    "lake",
    "forge",
    "swiftlint",
    "lein",
    "sbt",
    "mill",
    "clojure",
    "clj",
    "bats",
    "repo",
    "git-clang-format",
    "run-clang-tidy",
    "gradlew",
    "mvnw",
    "git-secrets",
    "cpplint",
    "cpplint.py",
    "yapf",
    "autopep8",
];
/// Programs that shims lead to: they look in the folder for the version that they start
/// (https://rust-lang.github.io/rustup/overrides.html, https://asdf-vm.com/manage/configuration.html, https://mise.jdx.dev/dev-tools/shims.html).
const VERSION_MANAGERS: &[&str] = &[
    "rustup",
    "rustup-init",
    "mise",
    "rtx",
    "asdf",
    "volta-shim",
    "proto",
    "proto-shim",
    "aqua-proxy",
    "pyenv",
    "rbenv",
    "nodenv",
    "jenv",
    "goenv",
    "hermit",
];
/// Shims that choose among the versions that their person installed, by a name alone (pyenv since 2.3.3, CVE-2022-35861).
const OF_NAMES: &[&str] = &[".pyenv/shims", ".rbenv/shims", ".nodenv/shims"];
/// Interpreters that load nothing from the folder that they are started in when they are given a script that lies elsewhere.
///
/// - A shell reads no other file there (bash(1), INVOCATION).
/// - Python is told to load nothing from there (`PYTHONSAFEPATH`), and Perl's `@INC` has no `.` (perl5260delta).
/// - Ruby's `$LOAD_PATH` has no `.` (since 1.9.2), and Node looks from a script's own folder (https://nodejs.org/api/modules.html).
///
/// Not so Bun (`bunfig.toml`, `.env`), Deno (`deno.json`), tsx and ts-node (`tsconfig.json`), PHP (`include_path` begins with `.`), Lua
/// (`./?.lua`), R (`.Rprofile`) and uv (`uv.toml`, `.python-version`).
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "python", "pypy", "node", "perl", "ruby"];

/// Ends of names of files to which something is only added.
const ENDS_OF_LOGS: &[&str] = &["log", "jsonl", "txt", "csv", "tsv", "out", "md"];
/// Ends of names of files that are run or obeyed.
pub(super) const ENDS_OF_CODE: &[&str] = &[
    "sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "pm", "lua", "vim", "toml",
    "yaml", "yml", "json", "ini", "conf", "cfg", "desktop", "service", "timer", "el",
];

/// Options of shells that change neither what they read nor from where.
const SHELL_OPTIONS: &[&str] = &["-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "-p"];
/// The same of other interpreters.
const INTERPRETER_OPTIONS: &[(&str, &[&str])] = &[
    ("python", &["-u", "-B", "-I", "-P", "-s", "-OO", "-O"]),
    ("node", &["--no-warnings", "--no-deprecation", "--experimental-strip-types"]),
    ("perl", &["-w"]),
    ("ruby", &["-w"]),
];

/// The roots, the home, and where programs are found by their names.
pub(super) struct OwnPlaces<'a> {
    pub roots: &'a [String],
    pub first: &'a str,
    pub home: &'a Path,
    pub program_folders: &'a [PathBuf],
    /// The values of [`OWN_FOLDERS`]; `None` = nobody knows the environment yet.
    pub own_folder: Option<&'a OwnFolder<'a>>,
}

/// The value of a variable that names the folder of a hook's own; `None` = it has none.
pub(super) type OwnFolder<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl OwnPlaces<'_> {
    /// The value of a variable, where it is known.
    pub fn variable(&self, name: &str) -> Option<String> {
        if OWN_FOLDERS.contains(&name) {
            return match self.own_folder {
                None => Some(format!("{OWN_FOLDER}{name}")),
                // Without a value it leads nobody knows where.
                Some(value) => {
                    Some(value(name).filter(|it| it.starts_with('/')).unwrap_or_else(|| DATA.to_string()))
                }
            };
        }
        KNOWN.contains(&name).then(|| filled(&format!("${name}"), self.first, self.home))
    }

    /// True of a path below a root.
    pub fn is_within_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path != Path::new(root) && path.starts_with(root))
    }

    /// True of the folder that a hook is started in.
    pub fn is_first_root(&self, folder: &str) -> bool {
        folder == self.first
    }

    /// A word that no shell reads: the daemon fills in some folders alone. Another `$` stays, and leads nobody knows where.
    pub fn word(&self, text: &str) -> PlainWord {
        let text = with_folders(text, |name| {
            let is_home = matches!(name, "HOME" | "PWD" | "PROJECT_DIR");
            self.variable(name).filter(|_| !is_home)
        });
        PlainWord { text: if text.contains('$') { DATA.to_string() } else { text } }
    }

    /// True of a path that surely leads to what no agent writes: an absolute one, through no link into the workspace.
    pub fn is_own_path(&self, text: &str) -> bool {
        if DEVICES.contains(&text) {
            return true;
        }
        let path = Path::new(text);
        let is_plain = text.starts_with('/')
            && !text.contains([DATA, OWN_VALUE])
            && !path.components().any(|part| part == Component::ParentDir);
        let is_outside = |path: &Path| {
            !self.roots.iter().any(|root| path.starts_with(root))
                && !NO_FOLDERS.iter().any(|folder| path.starts_with(folder))
        };
        if !is_plain || !is_outside(path) {
            return false;
        }
        // Without `/` behind the variable it is a name beside the folder, or anywhere.
        if text.starts_with(OWN_FOLDER) {
            return is_in_own_folder(path);
        }
        // What is not there yet is made where its folder leads; a link that leads nowhere may lead anywhere.
        let there = path.ancestors().find(|it| it.symlink_metadata().is_ok());
        there.and_then(|it| it.canonicalize().ok()).is_some_and(|real| is_outside(&real))
    }

    /// True of a script of a person's own. `is_given`: an interpreter is given it, so that its first line says nothing. Of a file that is not
    /// there nobody can tell more than where it would lie.
    pub fn is_own_script(&self, text: &str, is_given: bool) -> bool {
        if !self.is_own_path(text) || DEVICES.contains(&text) {
            return false;
        }
        let path = Path::new(text);
        if is_in_own_folder(path) {
            return true;
        }
        let Ok(real) = path.canonicalize() else { return !self.is_installed(path) };
        // What hooks write is never executable, and has no such end.
        let is_code = |path: &Path| {
            path.extension().and_then(OsStr::to_str).is_some_and(|end| ENDS_OF_CODE.contains(&end))
                || is_program(path)
        };
        let is_persons = real.is_file() && !self.is_installed(path) && !self.is_installed(&real);
        // Perl and Ruby read the options of a first line also where they are given the script (perlrun(1)).
        let has_known = || self.first_line_is_known(&real);
        let has_none = || sys::first_line::whole_first_line(&real).is_none();
        is_persons && if is_given { is_code(&real) && (has_none() || has_known()) } else { has_known() }
    }

    /// The path without links, `.` and double `/`, as far as it is there.
    pub fn real(&self, text: &str) -> PathBuf {
        let path: PathBuf = Path::new(text).components().collect();
        let there = path.ancestors().find_map(|there| Some((there.canonicalize().ok()?, there)));
        there.map_or_else(
            || path.clone(),
            |(real, there)| match path.strip_prefix(there) {
                Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
                _ => real,
            },
        )
    }

    /// True of a file of a person's own that something may be written to: one that nobody runs or obeys.
    pub fn is_own_target(&self, text: &str) -> bool {
        if DEVICES.contains(&text) {
            return true;
        }
        let path = Path::new(text);
        let (name, end) =
            (path.file_name().and_then(OsStr::to_str), path.extension().and_then(OsStr::to_str));
        let is_start_file = name.is_some_and(|name| name.starts_with('.'))
            && !end.is_some_and(|end| ENDS_OF_LOGS.contains(&end));
        let is_run = || is_program(path) || sys::first_line::whole_first_line(path).is_some();
        self.is_own_path(text)
            && !is_start_file
            && !end.is_some_and(|end| ENDS_OF_CODE.contains(&end))
            && !is_run()
    }

    /// The name of a program that is found by it, or that lies where programs are installed, unless it starts another by what the
    /// folder says.
    pub fn installed_name<'word>(&self, text: &'word str) -> Option<&'word str> {
        let name = text.rsplit('/').next().filter(|name| !name.is_empty())?;
        if Path::new(text).iter().any(|name| name == "shims" || name == ".volta" || name == "node_modules") {
            return None;
        }
        let is_by_name = !text.contains('/');
        let is_installed = is_by_name || self.is_own_path(text) && self.is_installed(Path::new(text));
        (is_installed && !self.is_version_shim(text)).then_some(name)
    }

    /// The interpreter of this name, with the numbers of its version or without.
    pub fn interpreter(name: &str) -> Option<&'static str> {
        let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        INTERPRETERS.iter().copied().find(|it| *it == bare)
    }

    /// True of a place in which programs lie that somebody installed, and not one that a person wrote.
    fn is_installed(&self, path: &Path) -> bool {
        let below_home = path.strip_prefix(self.home).ok();
        let first = below_home.and_then(|below| below.iter().next()).and_then(OsStr::to_str);
        // A folder with a dot is some program's own.
        let is_of_program =
            first.is_some_and(|first| first.starts_with('.') && !DOTTED_OF_PERSON.contains(&first));
        let folder = path.parent();
        let is_for_programs =
            folder.and_then(Path::file_name).is_some_and(|name| FOR_PROGRAMS.iter().any(|it| name == *it));
        let is_own_bin = folder.is_some_and(|folder| folder == self.home.join("bin"));
        is_of_program
            || is_for_programs && !is_own_bin
            || INSTALLED.iter().any(|folder| path.starts_with(folder))
            || path.iter().any(|name| INSTALLED_IN.iter().any(|it| name == *it))
            || path.file_name().is_some_and(|name| OF_FOLDER.iter().any(|it| name == *it))
            || folder.is_some_and(|folder| BESIDE.iter().any(|it| is_program(&folder.join(it))))
    }

    /// True of a script whose first line names an interpreter that loads nothing from where it is started. The kernel hands all behind the
    /// interpreter's path on as one word, `env` looks its word up (execve(2), env(1)).
    fn first_line_is_known(&self, path: &Path) -> bool {
        let Some(line) = sys::first_line::whole_first_line(path) else { return false };
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (program, option) = match words.as_slice() {
            ["/usr/bin/env" | "/bin/env", name] => (*name, None),
            [path] => (*path, None),
            [path, option] => (*path, Some(*option)),
            _ => return false,
        };
        let interpreter = self.installed_name(program).and_then(OwnPlaces::interpreter);
        let is_found = program.starts_with('/') || words.len() == 2;
        interpreter.is_some_and(|it| is_found && option.is_none_or(|option| is_plain_option(it, option)))
    }

    /// True if a program is one that starts another by what the folder says.
    fn is_version_shim(&self, program: &str) -> bool {
        let named = program.contains('/').then(|| PathBuf::from(program));
        let by_name = self.program_folders.iter().map(|folder| folder.join(program));
        let mut files: Box<dyn Iterator<Item = PathBuf>> = match named {
            Some(file) => Box::new(iter::once(file)),
            None => Box::new(by_name),
        };
        let Some(found) = files.find(|file| file.is_file()) else { return false };
        let is_of_shims = found.parent().is_some_and(|folder| {
            let is_of_names = OF_NAMES.iter().any(|it| folder.ends_with(it));
            !is_of_names && (folder.ends_with("shims") || folder.ends_with(".volta/bin"))
        });
        let real = found.canonicalize().unwrap_or(found);
        let is_manager = real.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            VERSION_MANAGERS.contains(&&*name) && !program.ends_with(&*name)
        });
        is_of_shims || is_manager
    }
}

/// True of a path below such a folder, whose own is not known yet.
fn is_in_own_folder(path: &Path) -> bool {
    OWN_FOLDERS.iter().any(|name| path.starts_with(format!("{OWN_FOLDER}{name}")))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.mode() & 0o111 != 0)
}

/// True of an option by which an interpreter loads nothing.
pub(super) fn is_plain_option(interpreter: &str, option: &str) -> bool {
    // Its options mean other things.
    if interpreter == "fish" {
        return false;
    }
    let options = INTERPRETER_OPTIONS.iter().find(|(name, _)| *name == interpreter);
    let options =
        if interpreter.ends_with("sh") { SHELL_OPTIONS } else { options.map_or(&[][..], |(_, it)| *it) };
    options.contains(&option)
}

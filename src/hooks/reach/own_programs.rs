//! Which files lie outside of what agents write, and which programs among them are a person's own?

use std::{
    iter,
    path::{Component, Path, PathBuf},
};

use super::{
    filled,
    plain_text::{DATA, OWN_VALUE, PlainWord},
};

/// Variables with the folder of a person's own hooks. Its beginning here, as nobody but the person knows the path.
pub(super) const OWN_FOLDERS: &[&str] = &["CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"];
/// The beginning of a path in such a folder.
const OWN_FOLDER: &str = "/\u{1}";
/// Variables whose value is known.
const KNOWN: &[&str] = &["HOME", "PWD", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "PROJECT_DIR"];
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
];
/// The same below the home.
const INSTALLED_AT_HOME: &[&str] = &[
    ".asdf",
    ".bun",
    ".cargo",
    ".deno",
    ".goenv",
    ".jenv",
    ".linuxbrew",
    ".local",
    ".nix-profile",
    ".nodenv",
    ".npm-global",
    ".nvm",
    ".pixi",
    ".poetry",
    ".proto",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".volta",
    "go/bin",
    "miniconda3",
    "anaconda3",
];
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

/// The roots, the home, and where programs are found by their names.
pub(super) struct OwnPlaces<'a> {
    roots: &'a [String],
    first: &'a str,
    home: &'a Path,
    program_folders: &'a [PathBuf],
}

impl<'a> OwnPlaces<'a> {
    /// None without a root.
    pub fn new(roots: &'a [String], home: &'a Path, program_folders: &'a [PathBuf]) -> Option<OwnPlaces<'a>> {
        Some(OwnPlaces { roots, first: roots.first()?, home, program_folders })
    }

    /// The value of a variable, where it is known.
    pub fn variable(&self, name: &str) -> Option<String> {
        if OWN_FOLDERS.contains(&name) {
            return Some(format!("{OWN_FOLDER}{name}"));
        }
        KNOWN.contains(&name).then(|| filled(&format!("${name}"), self.first, self.home))
    }

    /// A word that no shell reads: the daemon fills in the folders alone.
    pub fn word(&self, text: &str) -> PlainWord {
        let mut text = text.to_owned();
        for name in OWN_FOLDERS.iter().chain(KNOWN) {
            let Some(value) = self.variable(name) else { continue };
            text = text.replace(&format!("${{{name}}}"), &value).replace(&format!("${name}"), &value);
        }
        PlainWord { text }
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
        if text.starts_with(OWN_FOLDER) {
            return true;
        }
        // What is not there yet is made where its folder leads; a link that leads nowhere may lead anywhere.
        let there = path.ancestors().find(|it| it.symlink_metadata().is_ok());
        there.and_then(|it| it.canonicalize().ok()).is_some_and(|real| is_outside(&real))
    }

    /// True of a file that a person has made a program of, and that starts no other one by what a folder says.
    pub fn is_own_program(&self, text: &str) -> bool {
        self.is_own_path(text)
            && !self.is_installed(Path::new(text))
            && self.first_line_is_known(Path::new(text))
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

    fn is_installed(&self, path: &Path) -> bool {
        INSTALLED.iter().any(|folder| path.starts_with(folder))
            || INSTALLED_AT_HOME.iter().any(|folder| path.starts_with(self.home.join(folder)))
            || path.iter().any(|name| INSTALLED_IN.iter().any(|it| name == *it))
            || path.file_name().is_some_and(|name| OF_FOLDER.iter().any(|it| name == *it))
            || path.parent().is_some_and(|folder| BESIDE.iter().any(|it| folder.join(it).exists()))
    }

    /// True of a file that no other program is started for, or only an interpreter that loads nothing from where it is started. Of one that
    /// is not there nobody can tell more.
    fn first_line_is_known(&self, path: &Path) -> bool {
        let by_name = sys::owner_programs::names_on_first_line(path);
        // `env`, and what stands behind it.
        let mut names = by_name.iter().filter(|word| !word.starts_with('-') && !word.contains('=')).take(1);
        let by_path = sys::owner_programs::interpreter_of(path).map(|it| it.to_string_lossy().into_owned());
        let Some(interpreter) = names.next().cloned().or(by_path) else { return true };
        self.installed_name(&interpreter).is_some_and(|name| OwnPlaces::interpreter(name).is_some())
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

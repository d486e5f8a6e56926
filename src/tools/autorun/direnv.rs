//! Which files does the `.envrc` of a folder have direnv read, run or evaluate, and in which folders do shells find programs by it?
//!
//! direnv asks a person when `.envrc` itself changes, not when these do. No grammar is read: lines are parted where a command may begin.

use std::{
    collections::HashSet,
    path::{Component, Path, PathBuf},
};

use super::{
    git_programs::is_text,
    program_texts::{linked_in, texts_in},
};
use shell::AutorunPlace;
use sys::{guarded::ResolvedPath, regular_file};

const EVALUATED: &str = "direnv evaluates it in the shell that enters the folder";
const PROGRAMS: &str = "by `.envrc`, the shell that enters the folder finds its programs there";

/// Bytes of a file that is read; it is a few lines.
const MOST_BYTES: u64 = 64 * 1024;
/// Files that are read, and how often one is followed that another names.
const MOST_READ: usize = 32;
const DEEPEST: usize = 2;
/// Folders of programs of which it is looked which names are free in them.
const MOST_FOLDERS: usize = 16;

/// Words behind which a file stands that is read on, or a folder with an `.envrc` (direnv-stdlib(1), and the shell's own).
const READ_ON: &[&str] = &["source_env", "source_env_if_exists", "source", "."];
/// The same of variables; without a word behind it, `.env`.
const READ_VARIABLES: &[&str] = &["dotenv", "dotenv_if_exists"];
/// Words of an `.envrc`, and the files that they have evaluated.
const USED: &[(&str, &[&str])] = &[
    ("flake", &["flake.nix", "flake.lock"]),
    ("nix", &["shell.nix", "default.nix"]),
    ("devenv", &["devenv.nix", "devenv.yaml"]),
];
/// Words before a command that say nothing of it.
const BEFORE: &[&str] = &[
    "if", "then", "elif", "else", "while", "until", "do", "!", "time", "exec", "eval", "command", "builtin",
    "export", "declare", "env", "nohup", "sudo",
];
/// Commands that run none of the files that their words name.
const RUNS_NOTHING: &[&str] = &[
    "[",
    "[[",
    "alias",
    "cat",
    "cd",
    "cp",
    "direnv_version",
    "echo",
    "env_vars_required",
    "grep",
    "has",
    "jq",
    "local",
    "log_error",
    "log_status",
    "ls",
    "mkdir",
    "mv",
    "on_git_branch",
    "printf",
    "read",
    "rm",
    "sed",
    "set",
    "strict_env",
    "path_add",
    "test",
    "touch",
    "unset",
    "unstrict_env",
    "watch_dir",
    "watch_file",
];

/// Programs that run the file which their first word names.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "deno", "fish", "ksh", "node", "perl", "php", "python", "python3", "ruby", "sh",
    "zsh",
];

/// Folders in which package managers and builds make programs, and make them anew.
const BUILT: &[&str] =
    &[".bundle", ".direnv", ".venv", "build", "dist", "node_modules", "target", "vendor", "venv"];

/// Everything that is named so; absolute, links followed.
#[derive(Default)]
pub(super) struct NamedByEnvrc {
    pub files: Vec<PathBuf>,
    /// The ones among them that are read as `.envrc` is.
    pub read_on: Vec<PathBuf>,
    /// Folders in which programs are found.
    pub folders: Vec<PathBuf>,
}

/// The places that the `.envrc` of a folder names, for whoever is asked about a change. Blocks for a bounded look.
pub(super) fn named(root: &Path) -> Vec<AutorunPlace> {
    let NamedByEnvrc { files, folders, .. } = NamedByEnvrc::of(root, [root.join(".envrc")]);
    let files = files.into_iter().map(|path| AutorunPlace { path, why: EVALUATED });
    let linked = folders.iter().flat_map(|folder| linked_in(folder, PROGRAMS)).collect::<Vec<_>>();
    let folders = folders.into_iter().map(|path| AutorunPlace { path, why: PROGRAMS });
    files.chain(folders).chain(linked).collect()
}

/// The ones that are kept from commands: of folders in which programs are found the texts that are there, as what is none is what builds make.
/// Blocks for a bounded look.
pub(super) fn named_texts(root: &Path) -> Vec<AutorunPlace> {
    let NamedByEnvrc { files, mut folders, .. } = NamedByEnvrc::of(root, [root.join(".envrc")]);
    folders.retain(|folder| !is_built(folder, root));
    let files = files.into_iter().map(|path| AutorunPlace { path, why: EVALUATED });
    files.chain(folders.iter().flat_map(|folder| texts_in(folder, PROGRAMS))).collect()
}

/// The folders in which shells find programs by it, each with whether package managers or builds make programs there. Blocks for a bounded
/// look.
pub(super) fn program_folders(root: &Path) -> Vec<(PathBuf, bool)> {
    let folders: HashSet<PathBuf> =
        NamedByEnvrc::of(root, [root.join(".envrc")]).folders.into_iter().take(MOST_FOLDERS).collect();
    folders.into_iter().map(|folder| (folder.clone(), is_built(&folder, root))).collect()
}

/// True of a folder in which package managers or builds make programs, by its name.
pub(super) fn is_built(folder: &Path, root: &Path) -> bool {
    let below = folder.strip_prefix(root).unwrap_or(folder);
    below.iter().any(|name| BUILT.iter().any(|built| name == *built))
}

impl NamedByEnvrc {
    /// The names in these files, and in those that they have read on. Blocks for a bounded look.
    pub fn of(root: &Path, files: impl IntoIterator<Item = PathBuf>) -> NamedByEnvrc {
        let mut found = NamedByEnvrc::default();
        let mut read: HashSet<PathBuf> = HashSet::new();
        let mut pending: Vec<(PathBuf, usize)> = files.into_iter().map(|file| (file, 0)).collect();
        while let Some((file, depth)) = pending.pop() {
            if MOST_READ <= read.len() || !read.insert(file.clone()) {
                continue;
            }
            let Some(text) = regular_file::read_bounded(&file, MOST_BYTES).ok().flatten() else { continue };
            // direnv goes to the folder of a file that it reads on; a shell stays.
            for base in HashSet::from([root, file.parent().unwrap_or(root)]) {
                found.read(&String::from_utf8_lossy(&text), base);
            }
            if depth < DEEPEST {
                pending.extend(found.read_on.drain(..).map(|file| (file, depth + 1)));
            }
        }
        found
    }

    /// Takes what stands in a text that a shell runs in a folder.
    pub fn read(&mut self, text: &str, base: &Path) {
        for (uses, names) in USED {
            if text.contains(uses) {
                self.files.extend(names.iter().map(|name| base.join(name)));
            }
        }
        let text = text.replace("${PWD}", "$PWD");
        for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
            line.split([';', '&', '|', '(', ')', '{', '}', '`'])
                .for_each(|command| self.read_command(command, base));
        }
    }

    fn read_command(&mut self, command: &str, base: &Path) {
        let words = command.split_whitespace().take_while(|word| !word.contains('>'));
        let words = words.map(|word| word.trim_matches(['"', '\'', '<']));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_assignment = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
        for value in words.iter().filter_map(|word| word.strip_prefix("PATH=")) {
            self.folders.extend(value.split(':').filter_map(|part| path(part, base)));
        }
        let mut words = words.into_iter().skip_while(|word| BEFORE.contains(word) || is_assignment(word));
        let Some(first) = words.next() else { return };
        let rest: Vec<&str> = words.collect();
        let mut arguments = rest.iter().filter(|word| !word.starts_with('-')).copied();
        if READ_ON.contains(&first) {
            self.add_read(arguments.next(), base, ".envrc");
        } else if READ_VARIABLES.contains(&first) {
            self.add_read(Some(arguments.next().unwrap_or(".env")), base, ".env");
        } else if first == "use" {
            let used = arguments.next().and_then(|used| USED.iter().find(|(word, _)| *word == used));
            let Some((_, names)) = used else { return };
            let named =
                arguments.next().map(|word| word.trim_start_matches("path:").split('#').next().unwrap_or(""));
            match named.and_then(|named| path(named, base)) {
                Some(folder) if folder.is_dir() => {
                    self.files.extend(names.iter().map(|name| folder.join(name)))
                }
                Some(file) => self.files.push(file),
                None => (),
            }
        } else if first == "PATH_add" || (first == "path_add" && arguments.next() == Some("PATH")) {
            self.folders.extend(arguments.filter_map(|word| path(word, base)));
        } else if first == "load_prefix" {
            let prefix = arguments.next().and_then(|word| path(word, base));
            self.folders.extend(prefix.map(|prefix| prefix.join("bin")));
        } else if !RUNS_NOTHING.contains(&first) {
            let is_run = |word: &&str| word.contains('/');
            self.files.extend(Some(first).filter(is_run).and_then(|word| path(word, base)));
            // Also one that is not there yet; `-m venv` is none.
            let is_no_file = |word: &&str| ["-c", "-e", "-m", "-p"].contains(word);
            let is_interpreter = INTERPRETERS.contains(&first) && !rest.iter().any(is_no_file);
            let script = arguments.next().filter(|word| is_interpreter && word.contains(['.', '/']));
            self.files.extend(script.and_then(|word| path(word, base)));
            let named = rest.iter().filter_map(|word| path(word, base));
            self.files.extend(named.filter(|path| path.is_file() && is_text(path)));
        }
    }

    /// `of_folder`: the file of a folder that is read if the word is one.
    fn add_read(&mut self, word: Option<&str>, base: &Path, of_folder: &str) {
        let Some(path) = word.and_then(|word| path(word, base)) else { return };
        let file = if path.is_dir() { path.join(of_folder) } else { path };
        self.read_on.push(file.clone());
        self.files.push(file);
    }
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The end of the path below a folder that a word is. A path that is put together while it runs is not seen.
pub(super) fn path(word: &str, base: &Path) -> Option<PathBuf> {
    let word = word.trim_matches(['"', '\'']);
    let word = ["$PWD/", "${PWD}/"].iter().find_map(|own| word.strip_prefix(own)).unwrap_or(word);
    if word.is_empty() || word.contains(['$', '~', '`', '*', '?', '=']) {
        return None;
    }
    let is_itself = Path::new(word).components().all(|part| part == Component::CurDir);
    let ResolvedPath { end, .. } = ResolvedPath::to(&base.join(word));
    (!is_itself).then_some(end)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_an_envrc_reads_on_runs_and_has_found_is_named_whatever_stands_around_it() {
        for (text, file) in [
            ("dotenv", ".env"),
            ("dotenv_if_exists", ".env"),
            ("dotenv .env.local", ".env.local"),
            ("[ -f .env.local ] && source .env.local", ".env.local"),
            ("[[ -f x.sh ]] && . ./x.sh", "x.sh"),
            ("if [ -f x.sh ]; then source x.sh; fi", "x.sh"),
            ("set -a; source .env; set +a", ".env"),
            ("if true; then\n  source x.sh\nfi", "x.sh"),
            ("source \"$PWD/x.sh\"", "x.sh"),
            (". \"${PWD}/x.sh\"", "x.sh"),
            ("eval \"$(./tools/env.sh)\"", "tools/env.sh"),
            ("export A=$(tools/env.sh --x)", "tools/env.sh"),
            ("source_env sub", "sub/.envrc"),
            ("source_env_if_exists .envrc.private", ".envrc.private"),
            ("use flake ./nix", "nix/flake.nix"),
            ("use flake path:./nix#shell", "nix/flake.nix"),
            ("use nix nix/shell.nix", "nix/shell.nix"),
            ("use devenv", "devenv.nix"),
            ("strict_env; source x.sh", "x.sh"),
            ("./env.sh", "env.sh"),
            ("bash there.sh", "there.sh"),
            ("bash -eu later.sh", "later.sh"),
            ("python3 later.py", "later.py"),
            ("python3 there.sh > /dev/null", "there.sh"),
            ("PATH_add bin", "bin"),
            ("path_add PATH tools", "tools"),
            ("export PATH=$PWD/bin:$PATH", "bin"),
            ("load_prefix pfx", "pfx/bin"),
            ("source_env sub\n", "sub/deep.sh"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            for name in ["sub", "nix", "bin", "tools"] {
                fs::create_dir(root.join(name)).unwrap();
            }
            fs::write(root.join("there.sh"), "true\n").unwrap();
            fs::write(root.join("sub/.envrc"), "source deep.sh\n").unwrap();
            fs::write(root.join(".envrc"), text).unwrap();
            let found: Vec<PathBuf> = named(&root).into_iter().map(|place| place.path).collect();
            assert!(found.contains(&root.join(file)), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_is_only_looked_at_is_not_named_and_of_folders_of_programs_the_texts_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let text = "watch_file there.toml\npython3 -m venv v.env\nbash -c 'x.y'\ndeno task\n# source x\ncd sub\necho there.toml\nA=there.toml\n[ -f there.toml ] || log_error no\ngo env -w A=b\nPATH_add bin\n";
        fs::write(root.join(".envrc"), text).unwrap();
        fs::write(root.join("there.toml"), "").unwrap();
        fs::create_dir(root.join("bin")).unwrap();
        fs::write(root.join("bin/run"), "#!/bin/sh\n").unwrap();
        fs::write(root.join("bin/built"), "ELF\0").unwrap();
        let below = |places: Vec<AutorunPlace>| -> Vec<PathBuf> {
            places.into_iter().map(|place| place.path.strip_prefix(&root).unwrap().to_owned()).collect()
        };
        assert!(below(named(&root)).iter().all(|path| path == Path::new("bin")), "{:?}", named(&root));
        assert!(
            below(named_texts(&root)).iter().all(|path| path == Path::new("bin/run")),
            "{:?}",
            named_texts(&root)
        );
    }
}

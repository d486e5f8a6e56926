//! What do the start files of a home name: files that they read on, programs that they run, folders in which they look for such?
//!
//! No grammar is read. Each word of such a file that is a path below the home counts, whatever its line says of it.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

use super::git_programs::is_text;
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

/// Signs of lines that name a folder in which something looks for what it runs.
const OF_FOLDERS: &[&str] = &["path", "rtp", "zdotdir", "run-parts", "includedir", "plugin", "templatedir"];

/// Parts of names of files in which shells and editors keep what was typed.
const HISTORIES: &[&str] = &["hist", "viminfo"];

const NAMED: &str = "a start file of the home names it, so it is read or run at a login or by a program that is started often";

/// Finds what the start files of this home name that lies below it, links in it followed. Blocks for a bounded look.
pub(super) fn named(home: &Path) -> Vec<AutorunPlace> {
    let mut places: Vec<PathBuf> = StartFiles::of(home).places.into_iter().collect();
    places.sort();
    places.into_iter().map(|path| AutorunPlace { path, why: NAMED }).collect()
}

/// The ones among them that are kept from commands: text files that are there. Folders are where somebody works, and what is no text is what
/// builds make. Below a name with a dot in front, what a line only gives a name is left out, as shells and editors keep their histories in
/// such files; and so is what is `hidden` from commands, which no mount may show. Blocks for a bounded look.
pub(super) fn named_texts(home: &Path, hidden: &[PathBuf]) -> Vec<AutorunPlace> {
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
    places.into_iter().map(|path| AutorunPlace { path, why: NAMED }).collect()
}

struct StartFiles<'a> {
    home: &'a Path,
    places: HashSet<PathBuf>,
    /// The ones among them that stand in a line which does more than give them a name.
    used: HashSet<PathBuf>,
    read: HashSet<PathBuf>,
    left: VecDeque<(PathBuf, usize)>,
}

/// Something that a line names: a path, or all that a pattern matches.
#[derive(Debug, PartialEq, Eq)]
enum NamedPath {
    One(PathBuf),
    /// All in this folder.
    Below(PathBuf),
}

impl<'a> StartFiles<'a> {
    fn of(home: &'a Path) -> StartFiles<'a> {
        let mut reading = StartFiles {
            home,
            places: HashSet::new(),
            used: HashSet::new(),
            read: HashSet::new(),
            left: VecDeque::new(),
        };
        reading.left.extend(START_FILES.iter().map(|file| (home.join(file), 0)));
        for (folder, end) in START_FOLDERS {
            let entries = fs::read_dir(home.join(folder)).into_iter().flatten().flatten().take(MOST_FILES);
            let is_meant = |path: &PathBuf| path.to_string_lossy().ends_with(end);
            reading.left.extend(entries.map(|entry| entry.path()).filter(is_meant).map(|path| (path, 0)));
        }
        let mut variables = HashMap::new();
        while let Some((file, depth)) = reading.left.pop_front() {
            reading.read(&file, depth, &mut variables);
        }
        reading
    }

    fn read(&mut self, file: &Path, depth: usize, variables: &mut HashMap<String, String>) {
        let end = ResolvedPath::to(file).end;
        if !self.read.insert(end.clone()) {
            return;
        }
        if MOST_READ < self.read.len() {
            if depth > 0 {
                self.places.extend(end.parent().filter(|folder| *folder != self.home).map(Path::to_owned));
            }
            return;
        }
        let Some(text) = regular_file::read_bounded(file, MOST_BYTES).ok().flatten() else { return };
        let text = String::from_utf8_lossy(&text);
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            note_assignment(line, variables);
            let small = line.to_ascii_lowercase();
            let is_of_folders = OF_FOLDERS.iter().any(|sign| small.contains(sign));
            let is_used = !is_assignment(line);
            for named in named_in(line, self.home, variables) {
                if let NamedPath::One(path) = &named
                    && is_used
                    && self.used.len() < MOST_PLACES
                {
                    self.used.insert(ResolvedPath::to(path).end);
                }
                self.take(named, is_of_folders, depth);
            }
        }
    }

    fn take(&mut self, named: NamedPath, is_of_folders: bool, depth: usize) {
        if MOST_PLACES <= self.places.len() {
            return;
        }
        let (path, is_pattern) = match named {
            NamedPath::One(path) => (path, false),
            NamedPath::Below(path) => (path, true),
        };
        let found = fs::metadata(&path).ok();
        let is_folder = found.as_ref().is_some_and(fs::Metadata::is_dir);
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
            self.left.extend(entries.map(|entry| (entry.path(), depth + 1)));
        } else if found.is_some_and(|found| found.is_file()) {
            self.left.push_back((end, depth + 1));
        }
    }
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
    if is_name && !value.contains(char::is_whitespace) && variables.len() < MOST_PLACES {
        variables.insert(name.to_owned(), value.to_owned());
    }
}

/// The paths below the home that a line names.
fn named_in(line: &str, home: &Path, variables: &HashMap<String, String>) -> Vec<NamedPath> {
    let parts = line.split(|letter: char| letter.is_whitespace() || ":;='\"()[]<>,&|`!".contains(letter));
    parts
        .filter(|part| part.contains('/') || part.starts_with(['~', '$']))
        .filter_map(|part| path(part, home, variables))
        .collect()
}

fn path(part: &str, home: &Path, variables: &HashMap<String, String>) -> Option<NamedPath> {
    let whole = expanded(part, home, variables)?;
    let below = Path::new(&whole).strip_prefix(home).ok()?;
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn found(home: &Path) -> Vec<String> {
        let below = |place: AutorunPlace| place.path.strip_prefix(home).unwrap().display().to_string();
        named(home).into_iter().map(below).collect()
    }

    fn write(home: &Path, name: &str, text: &str) {
        fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        fs::write(home.join(name), text).unwrap();
    }

    #[test]
    fn texts_that_start_files_name_are_kept_and_folders_products_and_what_is_missing_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        write(
            &home,
            ".bashrc",
            ". ~/scripts/lib.sh\nexport GOPATH=~/go\nalias x=~/proj/target/x\n. ~/.more\n. ~/missing\n\
             [ -s \"$HOME/.nvm/nvm.sh\" ] && . \"$HOME/.nvm/nvm.sh\"\n. ~/.cache/wal/colors.sh\nHISTFILE=~/.state/sh/log\n\
             export Z_DATA=\"$HOME/.z\"\nhistory -r ~/.typed_history\nBASH_ENV=~/.tool/env\n",
        );
        write(&home, ".ssh/config", "Host x\n  ProxyCommand ~/tools/px.sh\n  IdentityFile ~/.ssh/key\n");
        let names =
            [".cache/wal/colors.sh", ".more", ".nvm/nvm.sh", ".tool/env", "scripts/lib.sh", "tools/px.sh"];
        for name in names.iter().chain(&[".state/sh/log", ".z", ".typed_history", ".ssh/key"]) {
            write(&home, name, "# a person's\n");
        }
        fs::set_permissions(home.join(".tool/env"), fs::Permissions::from_mode(0o755)).unwrap();
        write(&home, "proj/target/x", "ELF\0");
        fs::create_dir(home.join("go")).unwrap();
        let below = |place: AutorunPlace| place.path.strip_prefix(&home).unwrap().display().to_string();
        let found: Vec<String> = named_texts(&home, &[home.join(".ssh")]).into_iter().map(below).collect();
        assert_eq!(found, names);
    }

    #[test]
    fn what_start_files_source_run_or_search_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        write(
            &home,
            ".bashrc",
            "[ -f ~/dot/aliases ] && . ~/dot/aliases\nsource \"$HOME/dot/functions\"\nfor f in ~/dot/rc.d/*.sh; do . \"$f\"; done\n\
             eval \"$(~/sdk/bin/tool env)\"\nexport SDK=$HOME/sdk2\nexport PATH=$PATH:$SDK/bin\nPROMPT_COMMAND=~/prompt/run\n\
             complete -C ~/compl/aws aws\nalias w='cd ~/work'\n# . ~/old\n",
        );
        write(&home, "dot/aliases", "alias ll='~/scripts/ll'\n. ~/dot/more\n");
        write(&home, "dot/more", ". ~/dot/third\n");
        write(&home, "dot/third", ". ~/dot/fourth\n");
        write(&home, "work/x", "");
        write(
            &home,
            ".zshrc",
            "fpath=(~/zfunc $fpath)\nZDOTDIR=~/zd\nexport ZSH=$HOME/omz\nsource $ZSH/omz.sh\n",
        );
        write(&home, "omz/omz.sh", "for f in $ZSH/lib/*.zsh; do source $f; done\n");
        write(&home, ".vimrc", "source ~/vim/x.vim\nset rtp+=~/vimrt\n");
        write(&home, ".tmux.conf", "source-file ~/tmux/x.conf\nrun-shell ~/tmux/y\n");
        write(&home, ".ssh/config", "Include ~/ssh/*.conf\n");
        write(&home, ".config/systemd/user/x.service", "[Service]\nExecStart=/bin/sh %h/svc/run.sh\n");
        write(&home, ".config/autostart/x.desktop", &format!("Exec={}/auto/run.sh\n", home.display()));
        write(&home, ".emacs", "(load \"~/lisp/x.el\")\n");
        write(
            &home,
            ".gitconfig",
            "[alias]\n\tst = !~/git/st\n[core]\n\tpager = ~/git/pager\n[init]\n\ttemplateDir = ~/git/tmpl\n",
        );
        fs::create_dir_all(home.join("vimrt")).unwrap();
        fs::create_dir_all(home.join("git/tmpl/hooks")).unwrap();
        let found = found(&home);
        for wanted in [
            "dot/aliases",
            "dot/functions",
            "dot/rc.d",
            "sdk/bin/tool",
            "sdk2/bin",
            "prompt/run",
            "compl/aws",
            "scripts/ll",
            "dot/more",
            "dot/third",
            "zfunc",
            "zd",
            "omz/omz.sh",
            "omz/lib",
            "vim/x.vim",
            "vimrt",
            "tmux/x.conf",
            "tmux/y",
            "ssh",
            "svc/run.sh",
            "auto/run.sh",
            "lisp/x.el",
            "git/st",
            "git/pager",
            "git/tmpl",
        ] {
            assert!(found.iter().any(|it| it == wanted), "{wanted}: {found:?}");
        }
        for other in ["work", "old", "dot", "", "dot/fourth"] {
            assert!(!found.iter().any(|it| it == other), "{other}: {found:?}");
        }
    }

    #[test]
    fn links_on_the_way_are_found_and_odd_files_end() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        write(&home, ".bashrc", ". ~/near/x\n. $A/y\n. ~/near/x\nA=$B\nB=$A\n. ~/../out\n. ~\n. $HOME/*\n");
        write(&home, "far/x", ". ~/.bashrc\n. ~/near/x\n");
        symlink(home.join("far"), home.join("near")).unwrap();
        assert_eq!(found(&home), [".bashrc", "far/x", "near"]);
    }
}

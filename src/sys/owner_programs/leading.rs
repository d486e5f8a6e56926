//! Do the words of a program lead into a folder in which agents work, other than by the name of a file that is there?
//!
//! A compiled program that is named and there is held to what it was when it was noted. What a folder holds, what a script loads, or a file that
//! nobody has made yet, an agent may put there at any time.

use std::path::{Path, PathBuf};

use crate::{
    lexical::lexical,
    own_ground::OwnGround,
    plain_text::{PlainCommand, PlainScript, PlainWord},
    word_paths::{absolute, pieces},
};

/// Programs that only read what they are given: a key may lie anywhere.
const READERS: &[&str] = &["cat", "head", "gpg", "age", "sops", "base64", "jq", "cut", "tr", "grep"];
/// Options of theirs by which they load what says more than a key does: settings that name programs, libraries of filters.
const LOADING_OPTIONS: &[&str] = &["--homedir", "--options", "--library-path", "-L", "--from-file"];
/// Shells, that take a text of commands behind an option with a `c`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"];
/// Interpreters, of which only a script by its full path is known.
const INTERPRETERS: &[&str] = &["python", "pypy", "node", "nodejs", "perl", "ruby", "php", "lua"];
/// Options by which a shell or an interpreter loads nothing.
const PLAIN_OPTIONS: &[&str] = &["-u", "-e", "-x", "-eu", "-I", "-B", "-s", "-w", "-O", "--no-warnings"];
/// Programs that start another with their words, and nothing else.
const WRAPPERS: &[&str] = &["exec", "env", "nice", "nohup", "setsid", "timeout"];
/// Programs that tell or answer what they are given, and run nothing of it.
const TELLERS: &[&str] = &[
    "echo",
    "printf",
    "notify-send",
    "dunstify",
    "zenity",
    "kdialog",
    "wall",
    "logger",
    "spd-say",
    "espeak",
    "curl",
    "jq",
    "grep",
    "cut",
    "tr",
    "head",
    "tail",
    "cat",
    "wc",
    "true",
    "false",
    "exit",
    "sleep",
    "date",
    "hostname",
    "whoami",
    "basename",
    "dirname",
    "pass",
    "op",
    "bw",
    "secret-tool",
    "security",
    "keyring",
    "vault",
    "aws",
    "gcloud",
    "gpg",
    "age",
    "sops",
    "base64",
];
/// Words of a shell by which other words mean something else, or are commands of their own.
const OF_SHELL: &[&str] = &[
    ".",
    "alias",
    "bg",
    "builtin",
    "case",
    "cd",
    "command",
    "coproc",
    "declare",
    "do",
    "done",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "export",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "if",
    "in",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "then",
    "time",
    "trap",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];
/// Programs that run what other words, or a folder, name.
const RUNNERS: &[&str] = &[
    "awk", "gawk", "mawk", "sed", "find", "fd", "xargs", "parallel", "watch", "ssh", "make", "gmake", "just",
    "task", "npx", "npm", "git", "flock", "script", "su", "sudo", "doas", "runuser", "chroot", "unshare",
    "nsenter", "busybox", "toybox", "entr", "direnv", "mise",
];
/// Folders of programs that are found by their names: there a path says no more than the name.
const OF_SYSTEM: &[&str] = &["/bin", "/sbin", "/usr", "/opt", "/snap", "/nix", "/home/linuxbrew"];
/// Texts within texts that are read.
const DEEPEST: usize = 3;

/// The first of the words' paths, or of the commands in a text among them, by which an agent may decide what is run, as it stands in them. Files in
/// `noted` are held to what they were. Blocks on the file system.
pub(super) fn leading(words: &[String], noted: &[&Path], own: OwnGround<'_>) -> Option<String> {
    let OwnGround { worked, home, .. } = own;
    let folders = worked.all();
    if folders.is_empty() {
        return None;
    }
    let ground = AgentsGround { folders: &folders, noted, home, own };
    let words = words.iter().map(|word| PlainWord { text: word.clone() }).collect();
    let command = PlainCommand { words, files: Vec::new() };
    of_command(&command, &ground, (0, false))
}

/// The same of a command. `is_of_text`: a shell reads it, so that a program's name may be a word of the shell's own.
fn of_command(
    command: &PlainCommand,
    ground: &AgentsGround<'_>,
    (depth, is_of_text): (usize, bool),
) -> Option<String> {
    let unknown = || Some(command.shown());
    let words = behind_wrappers(&command.words);
    let Some((program, given)) = words.split_first() else {
        // A redirection alone, or a wrapper of which nobody knows what it starts.
        return if command.words.is_empty() { ground.named_files(command) } else { unknown() };
    };
    let Some(program) = program.literal().filter(|program| !program.contains('=')) else { return unknown() };
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_path =
        program.starts_with(['/', '~']) && !OF_SYSTEM.iter().any(|it| Path::new(program).starts_with(it));
    let literals: Vec<String> = words.iter().filter_map(|word| word.literal().map(str::to_owned)).collect();
    let named = || ground.named(&literals).or_else(|| ground.named_files(command));
    if is_one_of(name, SHELLS) || is_one_of(name, INTERPRETERS) {
        return match script_or_text(name, given) {
            Some(ScriptOrText::Script) => named(),
            Some(ScriptOrText::Text(text)) => {
                of_text(text, ground, depth).or_else(|| ground.named_files(command))
            }
            None => unknown(),
        };
    }
    if TELLERS.contains(&name) || is_path {
        return named();
    }
    // Of a program by its name nobody knows what it takes for a command; nothing with a shell's signs is one word of its own.
    let is_plain = |word: &PlainWord| {
        word.literal().is_some_and(|text| {
            !text.contains(|it: char| it.is_whitespace() || "'\"`$;|&<>(){}*?[]\\!".contains(it))
                && !is_one_of(text.rsplit('/').next().unwrap_or(text), SHELLS)
                && !is_one_of(text.rsplit('/').next().unwrap_or(text), INTERPRETERS)
        })
    };
    let is_of_shell = is_of_text && (OF_SHELL.contains(&name) || RUNNERS.contains(&name));
    if is_of_shell || (program.contains('/') && !program.starts_with('/')) || !given.iter().all(is_plain) {
        return unknown();
    }
    named()
}

/// What a shell or an interpreter is given to run.
enum ScriptOrText<'a> {
    /// A file by its full path.
    Script,
    Text(&'a str),
}

fn script_or_text<'a>(name: &str, given: &'a [PlainWord]) -> Option<ScriptOrText<'a>> {
    let mut rest = given.iter();
    let mut is_text = false;
    for word in rest.by_ref() {
        let text = word.literal()?;
        match text {
            option if PLAIN_OPTIONS.contains(&option) => {}
            option if is_one_of(name, SHELLS) && option.starts_with('-') && !option.starts_with("--") => {
                is_text |= option.contains('c');
                if !is_text {
                    return None;
                }
            }
            text if is_text && !text.starts_with(['-', '+']) => return Some(ScriptOrText::Text(text)),
            script if !is_text && script.starts_with(['/', '~']) => return Some(ScriptOrText::Script),
            _ => return None,
        }
    }
    None
}

/// The first command of a text by which an agent may decide what is run.
fn of_text(text: &str, ground: &AgentsGround<'_>, depth: usize) -> Option<String> {
    let home = ground.home.map(|home| home.to_string_lossy().into_owned());
    let known = |name: &str| home.clone().filter(|_| name == "HOME");
    let script = match PlainScript::read(text, &known) {
        Ok(script) if depth < DEEPEST => script,
        Ok(_) => return Some(text.to_owned()),
        Err(unread) => return Some(unread),
    };
    script.commands.iter().find_map(|command| of_command(command, ground, (depth + 1, true)))
}

/// The words behind `env A=1`, `timeout 5` and the like; none behind options, which may mean anything.
fn behind_wrappers(words: &[PlainWord]) -> &[PlainWord] {
    let mut rest = words;
    while let Some((first, behind)) = rest.split_first() {
        let name = first.text.rsplit('/').next().unwrap_or_default();
        if !WRAPPERS.contains(&name) {
            return rest;
        }
        let is_skipped = |word: &&PlainWord| {
            let Some(text) = word.literal() else { return false };
            let is_value = name == "env" && text.split_once('=').is_some_and(|(key, _)| is_harmless(key));
            is_value || name == "timeout" && text.starts_with(|it: char| it.is_ascii_digit())
        };
        let skipped = behind.iter().take_while(is_skipped).count();
        rest = &behind[skipped..];
        if rest.first().is_none_or(|next| next.text.starts_with('-') || next.text.contains('=')) {
            return &[];
        }
    }
    rest
}

/// True of a variable by which no program finds another or loads something.
fn is_harmless(name: &str) -> bool {
    matches!(name, "LANG" | "LC_ALL" | "TZ" | "DISPLAY" | "WAYLAND_DISPLAY" | "DBUS_SESSION_BUS_ADDRESS")
        || name.len() == 1
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    names.contains(&name) || names.contains(&bare)
}

/// The folders in which agents work, and the files there that are held to what they were.
struct AgentsGround<'a> {
    folders: &'a [PathBuf],
    noted: &'a [&'a Path],
    home: Option<&'a Path>,
    own: OwnGround<'a>,
}

impl AgentsGround<'_> {
    /// The first part of these words that leads there.
    fn named(&self, words: &[String]) -> Option<String> {
        let AgentsGround { folders, noted, home, own } = self;
        let words: Vec<String> = words.iter().map(|word| word.replace("${HOME}", "$HOME")).collect();
        let pieces: Vec<&str> = words.iter().flat_map(|word| pieces(word)).collect();
        let is_relative = |piece: &&str| piece.contains('/') && !piece.starts_with(['/', '~', '$', '-']);
        let reads =
            words.first().is_some_and(|word| READERS.contains(&word.rsplit('/').next().unwrap_or_default()))
                && !words.iter().any(|word| LOADING_OPTIONS.iter().any(|option| word.starts_with(option)));
        let has_relative = pieces.iter().any(is_relative);
        let leads = |piece: &&&str| {
            let Some(path) = absolute(piece, *home) else { return false };
            let real = real(&path);
            let is_above_of_node = || own.takes_from_agents_above(&path, words.iter().map(String::as_str));
            let is_of_node = path.is_file() && !reads && is_above_of_node();
            let is_within = own.is_of_agents(&path) || is_of_node;
            // From there a relative name may lead into it.
            let is_above = has_relative && folders.iter().any(|folder| folder.starts_with(&real));
            let is_held =
                || reads || noted.contains(&real.as_path()) && !is_of_node && !own.loads_from_agents(&path);
            (is_within || is_above) && !(path.is_file() && is_held())
        };
        pieces.iter().find(leads).map(|piece| (*piece).to_owned())
    }

    /// The first file of a redirection that lies there.
    fn named_files(&self, command: &PlainCommand) -> Option<String> {
        let is_there = |file: &str| !file.starts_with('/') || self.own.is_of_agents(Path::new(file));
        let is_unknown = |file: &&PlainWord| file.literal().is_none_or(is_there);
        command.files.iter().find(is_unknown).map(|_| command.shown())
    }
}

/// The path without links, as far as it is there; a link that leads nowhere is followed by its text.
fn real(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
        if let Ok(found) = there.canonicalize() {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
        if let Ok(target) = there.read_link() {
            let target = there.parent().unwrap_or(Path::new("/")).join(target);
            return lexical(&target.join(rest));
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{beyond_reach::FileOwner, worked_folders::WorkedFolders};

    #[test]
    fn a_folder_of_agents_and_what_is_not_there_yet_lead_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for path in ["dotfiles/lib", "bin", "own"] {
            std::fs::create_dir_all(home.join(path)).unwrap();
        }
        for path in ["dotfiles/notify.sh", "dotfiles/made-later", "bin/notify", "own/key"] {
            std::fs::write(home.join(path), "x").unwrap();
        }
        std::os::unix::fs::symlink(home.join("dotfiles/later"), home.join("own/later")).unwrap();
        std::os::unix::fs::symlink(home.join("dotfiles"), home.join("own/link")).unwrap();
        let worked = WorkedFolders::default();
        let found = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let noted = [home.join("dotfiles/notify.sh")];
            let own = OwnGround::of_process(&worked, Some(&home));
            leading(&words, &noted.each_ref().map(PathBuf::as_path), own)
        };
        let absolute = format!("cd {}/dotfiles && ./notify.sh", home.display());
        let leading = [
            &["sh", "-c", "cd ~/dotfiles && ./notify.sh"][..],
            &["sh", "-c", &absolute],
            &["make", "-s", "-C", "~/dotfiles", "tell"],
            &["make", "-s", "-C~/dotfiles", "tell"],
            &["sh", "-c", "[ -f ~/dotfiles/later.sh ] && sh ~/dotfiles/later.sh"],
            &["env", "PYTHONPATH=~/dotfiles/lib", "python3", "-m", "tell"],
            &["sh", "-c", r#"sh "${HOME}"/dotfiles/notify.sh; dotfiles/x"#],
            &["sh", "-c", r#"sh ~/"dotfiles"/later"#],
            &["sh", "-c", r#"sh "$(dirname ~/x)"/dotfiles/notify.sh"#],
            &["sh", "-c", r#""$DOTFILES/notify.sh""#],
            &["sh", "-c", r#"cd "$DOTFILES" && ./notify.sh"#],
            &["sh", "-c", r#"N=dotfiles; sh "$HOME/$N/notify.sh""#],
            &["sh", "-c", "sh ${HOME:-/root}/dotfiles/notify.sh"],
            &["sh", "-c", "cd ~; cd dotfiles; sh notify.sh"],
            &["sh", "-c", "cd ~ && make -s -C dotfiles tell"],
            &["sh", "-c", "cd && dotfiles/notify.sh"],
            &["sh", "-c", "cd ~/.config && sh -c 'cd ../dotfiles && sh notify.sh'"],
            &["sh", "-c", "sh ~/dot*/notify.sh"],
            &["bash", "-c", "sh ~/{dotfiles,x}/notify.sh"],
            &["sh", "-c", r#"sh ~/dot\files/notify.sh"#],
            &["sh", "-c", r#"find ~ -name notify.sh -exec sh {} \;"#],
            &["sh", "-c", "for f in ~/*/notify.sh; do sh $f; done"],
            &["env", "A=1", "bash", "-ec", "eval x"],
            &["sh", "-c", "if cd; then sh dotfiles/notify.sh; fi"],
            &["sh", "-c", "command cd ~; sh dotfiles/notify.sh"],
            &["bash", "-ce", "cd ~; cd dotfiles; sh notify.sh"],
            &["bash", "-c", "--", "cd; sh dotfiles/notify.sh"],
            &["env", "-S", "sh -c 'cd; sh dotfiles/notify.sh'"],
            &["python3", "-Ic", "x"],
            &["perl", "-le", "x"],
            &["awk", "BEGIN{system(\"x\")}"],
            &["flock", "/tmp/x", "-c", "cd; sh dotfiles/notify.sh"],
            &["timeout", "5", "sh", "-c", "cd; sh dotfiles/notify.sh"],
            &["script", "-qc", "cd; sh dotfiles/notify.sh"],
            &["tmux", "run-shell", "cd; sh dotfiles/notify.sh"],
            &["find", "/h", "-name", "notify.sh", "-exec", "sh", "{}", ";"],
            &["env", "BASH_ENV=x", "bash", "/h/x.sh"],
            &["sh", "-c", "make"],
            &["python3", "-c", "import os; os.system(os.environ['HOME'] + '/dotfiles/notify.sh')"],
            &["bash", "-c", r#"'~/x'; sh "$X""#],
            &["sh", "-c", "echo x >> ~/dotfiles/log"],
            &["sh", "-c", "cd $HOME && dotfiles/notify.sh"],
            &["sh", "-c", r#"cd "${HOME}" && sh dotfiles/notify.sh"#],
            &["~/own/later"],
            &["node", "~/dotfiles/notify.sh"],
            &["env", "GNUPGHOME=/h/dotfiles", "gpg", "-dq", "/h/k.gpg"],
            &["gpg", "--options", "~/dotfiles/made-later", "-dq", "/h/k.gpg"],
            &["nix", "run", "~/dotfiles#tell"],
            &["sh", "-c", "sh ~/dotfiles/made-later"],
            &["make", "-C", "~/own/link"],
            // What a script loads there, nobody has looked at.
            &["~/dotfiles/notify.sh", "x"],
            &["sh", "-c", r#"~/dotfiles/notify.sh "$1""#],
            &["timeout", "5", "bash", "~/dotfiles/notify.sh"],
            &["sh", "-c", r#"sh ~/dotfiles/notify.sh "$(cat)" >> ~/own/log"#],
        ];
        for words in leading {
            assert_eq!(found(words), None, "{words:?}");
        }
        worked.add([home.join("dotfiles")]);
        for words in leading {
            assert!(found(words).is_some(), "{words:?}");
        }
        for words in [
            &["~/bin/notify", "--text", "a/b"][..],
            &["cat", "~/own/key"],
            &["env", "LANG=C", "python3", "-u", "~/bin/notify", "a b"],
            &["zenity", "--info", "--text", "a $b"],
            &["cat", "~/dotfiles/made-later"],
            &["pass", "show", "mail/key"],
            &["sh", "-c", "secret-tool lookup a b | head -n 1"],
            &["sh", "-c", "gopass show -o openai"],
            &["sh", "-c", "printenv OPENAI_API_KEY"],
            &["sh", "-c", "lpass show --password x | tr -d '\\n'"],
            &["sh", "-c", r#"notify-send "Agent" "$(jq -r .title)""#],
            &["bash", "-c", r#"exec ~/bin/notify "$X""#],
        ] {
            assert_eq!(found(words), None, "{words:?}");
        }
    }
    #[test]
    fn programs_of_the_system_lead_nowhere_though_an_agent_once_worked_above_them() {
        let worked = WorkedFolders::default();
        worked.add([PathBuf::from("/")]);
        let found = |user: FileOwner, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            leading(&words, &[], OwnGround { worked: &worked, home: None, user })
        };
        let of_system =
            [&["/bin/sh", "/bin/sh"][..], &["sh", "-c", "logger agent 2>/dev/null"], &["cat", "/etc/passwd"]];
        for words in of_system {
            assert_eq!(found(FileOwner::PERSON, words), None, "{words:?}");
        }
        assert!(found(FileOwner::ROOT, of_system[0]).is_some());
        let own = tempfile::NamedTempFile::new().unwrap();
        for words in
            [&["sh", own.path().to_str().unwrap()][..], &["make", "-C", "/usr"], &["sh", "/usr/none"]]
        {
            assert!(found(FileOwner::PERSON, words).is_some(), "{words:?}");
        }
    }
}

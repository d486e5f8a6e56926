//! Do the words of a program lead into a folder in which agents work, other than by the name of a file that is there?
//!
//! A compiled program that is named and there is held to what it was when it was noted. What a folder holds, what a script loads, or a file that
//! nobody has made yet, an agent may put there at any time.

use std::path::{Path, PathBuf};

use super::{
    readers::{DataReading, OF_SYSTEM, data_reading, is_one_of},
    tellers::{SENDERS, TELLERS},
    values::{is_led_by_value, names_chosen_file},
};
use crate::{
    lexical::lexical,
    own_ground::OwnGround,
    plain_text::{PlainCommand, PlainScript, PlainWord},
    word_paths::{absolute, pieces},
};

/// Shells, that take a text of commands behind an option with a `c`.
pub(super) const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"];
/// Interpreters, of which only a script by its full path is known.
pub(super) const INTERPRETERS: &[&str] = &["python", "pypy", "node", "nodejs", "perl", "ruby", "php", "lua"];
/// Options by which a shell or an interpreter loads nothing.
const PLAIN_OPTIONS: &[&str] = &["-u", "-e", "-x", "-eu", "-I", "-B", "-s", "-w", "-O", "--no-warnings"];
/// Programs that start another with their words, and nothing else.
const WRAPPERS: &[&str] = &["exec", "env", "nice", "nohup", "setsid", "timeout"];
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
/// Texts within texts that are read.
pub(super) const DEEPEST: usize = 3;

/// The thing in the words by which an agent may decide what is run, as it stands in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Led {
    /// A path that leads where agents work.
    Path(String),
    /// A script whose interpreter takes modules from where agents work, above it.
    Modules(String),
    /// A command that reads a file there, and may run what it reads.
    Input(String),
    /// A command that sends what it reads from a file there, or whose text does.
    Sent(String),
    /// A command that writes to a file there.
    Output(String),
    /// A command of which a word begins with what an agent chose, where an `@` has it send the file that is named behind it.
    Chosen(String),
    /// A command, or a part of a text, of which nobody can tell where it leads.
    Unread(String),
}

impl Led {
    /// What is wrong and what helps, as the end of a sentence.
    pub(super) fn why(&self) -> String {
        match self {
            Led::Path(path) => format!(
                "`{path}` in its words leads to a folder in which agents work, or have worked (`subagent trust --folders`), so an agent may \
                 decide what it runs; name a script by its full path, and keep it elsewhere, such as in ~/.config/subagentd"
            ),
            Led::Modules(path) => format!(
                "what runs `{path}` takes modules from every folder above it, and agents work, or have worked, in one of those \
                 (`subagent trust --folders`); use a shell or Python"
            ),
            Led::Input(command) => format!(
                "`{command}` reads a file in a folder in which agents work, or have worked (`subagent trust --folders`), and may run what it \
                 reads; keep that file elsewhere, such as in ~/.config/subagentd"
            ),
            Led::Sent(command) => format!(
                "what `{command}` reads is sent elsewhere, and it reads a file in a folder in which agents work, or have worked \
                 (`subagent trust --folders`), who can have that lead to a key of yours; keep that file elsewhere, such as in \
                 ~/.config/subagentd"
            ),
            Led::Output(command) => format!(
                "`{command}` writes to a file in a folder in which agents work, who can have that lead to another file; write to one \
                 elsewhere, such as in ~/.config/subagentd, or to /dev/null"
            ),
            Led::Chosen(command) => format!(
                "a word of `{command}` has in it what an agent may choose, and may name a file that is sent: use --data-raw or \
                 --form-string, or hand it on by `-d @-`"
            ),
            Led::Unread(text) => format!(
                "nobody can tell where `{text}` in its words leads, so an agent may decide what it runs; put these words into a script, keep \
                 it where no agent works, such as in ~/.config/subagentd, and name it by its full path"
            ),
        }
    }
}

/// The first of the words' paths, or of the commands in a text among them, by which an agent may decide what is run, as it stands in them. Files in
/// `noted` are held to what they were. `is_sent`: what they put out goes to others, as a key does. Blocks on the file system.
pub(super) fn leading(words: &[String], noted: &[&Path], own: OwnGround<'_>, is_sent: bool) -> Option<Led> {
    let OwnGround { worked, home, .. } = own;
    let folders = worked.all();
    if folders.is_empty() {
        return None;
    }
    let ground = AgentsGround { folders: &folders, noted, home, own };
    let words = words.iter().map(|word| PlainWord { text: word.clone() }).collect();
    let command = PlainCommand { words, files: Vec::new() };
    of_command(&command, &ground, CommandPlace { depth: 0, is_sent })
}

/// The place of a command among the texts around it.
#[derive(Debug, Clone, Copy)]
struct CommandPlace {
    /// Texts around it. If there is one, a shell reads it, so that a program's name may be a word of the shell's own.
    depth: usize,
    /// Another command of those texts may send what this one puts out.
    is_sent: bool,
}

/// The same of a command.
fn of_command(command: &PlainCommand, ground: &AgentsGround<'_>, place: CommandPlace) -> Option<Led> {
    let unknown = || Some(Led::Unread(command.shown()));
    let words = behind_wrappers(&command.words);
    let Some((program, given)) = words.split_first() else {
        // A redirection alone, or a wrapper of which nobody knows what it starts.
        return if command.words.is_empty() { ground.named_files(command, false) } else { unknown() };
    };
    let Some(program) = program.literal().filter(|program| !program.contains('=')) else { return unknown() };
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_path =
        program.starts_with(['/', '~']) && !OF_SYSTEM.iter().any(|it| Path::new(program).starts_with(it));
    if is_led_by_value(name, &command.words) {
        return unknown();
    }
    if names_chosen_file(name, given, place.is_sent) {
        return Some(Led::Chosen(command.shown()));
    }
    let literals: Vec<String> = words.iter().filter_map(|word| word.literal().map(str::to_owned)).collect();
    let reading = data_reading(words);
    let reads = reading == Some(DataReading::Here) && !place.is_sent;
    let named = || {
        let found = ground.named(&literals, reads).or_else(|| ground.named_files(command, reads));
        // Whatever lies there, it would only be read.
        let is_data = || {
            reading.is_some()
                && ground.named(&literals, true).is_none()
                && ground.named_files(command, true).is_none()
        };
        found.map(|led| if is_data() { Led::Sent(command.shown()) } else { led })
    };
    if is_one_of(name, SHELLS) || is_one_of(name, INTERPRETERS) {
        return match script_or_text(name, given) {
            Some(ScriptOrText::Script) => named(),
            Some(ScriptOrText::Text(text)) => {
                of_text(text, ground, place).or_else(|| ground.named_files(command, false))
            }
            None => unknown(),
        };
    }
    if TELLERS.contains(&name) || is_path || reading.is_some() {
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
    let is_of_shell = place.depth != 0 && (OF_SHELL.contains(&name) || RUNNERS.contains(&name));
    if is_of_shell || (program.contains('/') && !program.starts_with('/')) || !given.iter().all(is_plain) {
        return unknown();
    }
    named()
}

/// What a shell or an interpreter is given to run.
pub(super) enum ScriptOrText<'a> {
    /// A file by its full path.
    Script,
    Text(&'a str),
}

pub(super) fn script_or_text<'a>(name: &str, given: &'a [PlainWord]) -> Option<ScriptOrText<'a>> {
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
fn of_text(text: &str, ground: &AgentsGround<'_>, place: CommandPlace) -> Option<Led> {
    let home = ground.home.map(|home| home.to_string_lossy().into_owned());
    let known = |name: &str| match name {
        "HOME" => home.clone(),
        "PWD" => Some("/".to_owned()),
        "_" | "OLDPWD" => None,
        name => std::env::var(name).ok().and_then(|value| known_value(name, value)),
    };
    let script = match PlainScript::read(text, &known) {
        Ok(script) if place.depth < DEEPEST => script,
        Ok(_) => return Some(Led::Unread(text.to_owned())),
        Err(unread) => return Some(Led::Unread(unread)),
    };
    // Its commands hand on to one another, by pipes and variables.
    let is_sent = place.is_sent || script.commands.iter().any(may_send);
    let within = CommandPlace { depth: place.depth + 1, is_sent };
    script.commands.iter().find_map(|command| of_command(command, ground, within))
}

/// The value of a variable as far as it is a path. Others stay out: a value may be a key, and what is known is shown.
fn known_value(name: &str, value: String) -> Option<String> {
    let is_address = value.starts_with("https://") || value.starts_with("http://");
    let is_odd = |it: char| it.is_control() || "'\"`$*?[]\\".contains(it);
    match value.starts_with('/') && !value.contains(is_odd) {
        true => Some(value),
        false => is_address.then(|| format!("https://{name}")),
    }
}

/// True of a command of which it is not known that what it is given stays here.
fn may_send(command: &PlainCommand) -> bool {
    let words = behind_wrappers(&command.words);
    let Some(program) = words.first() else { return !command.words.is_empty() };
    let name = program.literal().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    let is_teller = TELLERS.contains(&name) && !SENDERS.contains(&name);
    !is_teller && data_reading(words) != Some(DataReading::Here)
}

/// The words behind `env A=1`, `timeout 5` and the like; none behind options, which may mean anything.
pub(super) fn behind_wrappers(words: &[PlainWord]) -> &[PlainWord] {
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

/// The folders in which agents work, and the files there that are held to what they were.
struct AgentsGround<'a> {
    folders: &'a [PathBuf],
    noted: &'a [&'a Path],
    home: Option<&'a Path>,
    own: OwnGround<'a>,
}

impl AgentsGround<'_> {
    /// The first part of these words that leads there. `reads`: their program only reads what they name.
    fn named(&self, words: &[String], reads: bool) -> Option<Led> {
        let AgentsGround { folders, noted, home, own } = self;
        let words: Vec<String> = words.iter().map(|word| word.replace("${HOME}", "$HOME")).collect();
        // The program itself is run, whatever it does with its words.
        let parts = words.iter().enumerate();
        let parts = parts.flat_map(|(at, word)| pieces(word).map(move |piece| (piece, reads && at != 0)));
        let parts: Vec<(&str, bool)> = parts.collect();
        let is_relative = |piece: &str| piece.contains('/') && !piece.starts_with(['/', '~', '$', '-']);
        let has_relative = parts.iter().any(|(piece, _)| is_relative(piece));
        parts.iter().find_map(|(piece, is_read)| {
            // They are started in `/`.
            let of_root = || is_relative(piece).then(|| lexical(&Path::new("/").join(piece)));
            let path = absolute(piece, *home).or_else(of_root)?;
            let real = real(&path);
            let is_file = path.is_file();
            let is_above_of_node = || own.takes_from_agents_above(&path, words.iter().map(String::as_str));
            let is_of_node = is_file && !is_read && is_above_of_node();
            let is_within = own.is_of_agents(&path);
            // From there a relative name may lead into it.
            let is_above = has_relative && folders.iter().any(|folder| folder.starts_with(&real));
            let is_held = || {
                *is_read || noted.contains(&real.as_path()) && !is_of_node && !own.loads_from_agents(&path)
            };
            let leads = (is_within || is_of_node || is_above) && !(is_file && is_held());
            let led = if is_within || is_above { Led::Path } else { Led::Modules };
            leads.then(|| led((*piece).to_owned()))
        })
    }

    /// The first file of a redirection that lies there. `reads`: the command's program only reads what it is given.
    fn named_files(&self, command: &PlainCommand, reads: bool) -> Option<Led> {
        command.files.iter().find_map(|it| {
            let Some(file) = it.file.literal().map(Path::new).filter(|file| file.is_absolute()) else {
                return Some(Led::Unread(command.shown()));
            };
            let is_data = it.is_read && reads && file.is_file();
            let led = if it.is_read { Led::Input } else { Led::Output };
            (!is_data && self.own.is_of_agents(file)).then(|| led(command.shown()))
        })
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
mod tests;

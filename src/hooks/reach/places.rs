//! Which words of a command lead to a place of the workspace, straight or by way of a variable that the command sets itself?

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{HookWord, filled, fixed_folder, is_below};
use sys::lexical::lexical;

/// Words before the words of a command: the shell's own.
const CONTROL: &[&str] = &["then", "do", "else", "elif", "if", "while", "until", "!", "{", "builtin"];
/// Commands that set variables.
const SETTING: &[&str] = &["export", "declare", "local", "readonly", "typeset", "env", "sudo", "exec"];
/// Texts in a command by which what it prints is a place of a person's own.
const AWAY: &[&str] = &[
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "$HOME",
    "${HOME",
    "~/",
    "brew --prefix",
    "go env",
    "npm root -g",
    "npm prefix -g",
    "which ",
    "command -v ",
];
/// Those of them that print where a program of a name is.
const FINDING: &[&str] = &["which ", "command -v "];
/// Commands whose output is one word, of no agent's.
pub(super) const OF_NOBODY: &[&str] =
    &["date", "whoami", "hostname", "id", "uname", "mktemp", "pwd", "git rev-parse"];
/// Values that are set by way of others before they are used.
const MOST_STEPS: usize = 4;

/// The places of the workspace that the words of one text may mean.
#[derive(Clone)]
pub(super) struct WorkspacePlaces<'a> {
    roots: &'a [String],
    first: &'a str,
    home: &'a Path,
    /// Variables whose value leads below a root.
    names: BTreeSet<String>,
    /// Variables whose value is one word, which may be a folder of the workspace or anything else.
    bare_names: BTreeSet<String>,
    /// Variables of which nobody can tell that their value leads out of the workspace. Those that a text does not set are the person's.
    open_names: BTreeSet<String>,
    /// Variables whose value an agent may choose.
    agents_names: BTreeSet<String>,
    /// Variables that the text sets.
    set_names: BTreeSet<String>,
    /// Functions that the text defines. What stands in them is read as commands of the text.
    functions: BTreeSet<String>,
    /// The text goes to a folder elsewhere before it does anything else.
    starts_elsewhere: bool,
    /// Folders in which programs are found by their names.
    program_folders: &'a [PathBuf],
}

impl<'a> WorkspacePlaces<'a> {
    /// None without a root.
    pub fn new(
        roots: &'a [String],
        home: &'a Path,
        program_folders: &'a [PathBuf],
    ) -> Option<WorkspacePlaces<'a>> {
        let first = roots.first()?;
        Some(WorkspacePlaces {
            roots,
            first,
            home,
            names: BTreeSet::new(),
            bare_names: BTreeSet::new(),
            open_names: BTreeSet::new(),
            agents_names: BTreeSet::new(),
            set_names: BTreeSet::new(),
            functions: BTreeSet::new(),
            starts_elsewhere: false,
            program_folders,
        })
    }

    /// The same with what a text sets.
    pub fn within(&self, text: &str, commands: &[Vec<HookWord>]) -> WorkspacePlaces<'a> {
        let mut places = self.clone();
        for _ in 0..MOST_STEPS {
            let n_before = places.names.len() + places.bare_names.len();
            for words in commands {
                places.note(text, words);
            }
            if places.names.len() + places.bare_names.len() == n_before {
                break;
            }
        }
        let first_words = commands.iter().flat_map(|words| words.iter().take(2)).map(HookWord::text);
        places.functions.extend(first_words.filter(|name| is_function(text, name)));
        places.note_open(commands);
        places.starts_elsewhere |= places.goes_elsewhere(text, commands);
        places
    }

    pub fn program_folders(&self) -> &'a [PathBuf] {
        self.program_folders
    }

    /// True of the name of a function that the text defines.
    pub fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// Keeps which variables may hold anything after these commands.
    fn note_open(&mut self, commands: &[Vec<HookWord>]) {
        let mut set: Vec<(String, String)> = Vec::new();
        for words in commands {
            set.extend(assignments(words));
            let texts: Vec<String> = words.iter().map(HookWord::text).collect();
            // `while IFS= read -r f`
            let is_before = |text: &&str| is_control(text) || assignment(text).is_some();
            let mut texts = texts.iter().map(String::as_str).skip_while(is_before);
            match texts.next() {
                Some("read" | "mapfile" | "readarray" | "getopts" | "printf") => {
                    self.open_names.extend(texts.map(str::to_owned));
                }
                Some("for" | "select") => {
                    let Some(name) = texts.next() else { continue };
                    let values: Vec<&str> = texts.skip(1).collect();
                    // Without a list it goes through what the text was called with.
                    if values.is_empty() {
                        self.open_names.insert(name.to_owned());
                    }
                    set.extend(values.iter().map(|value| (name.to_owned(), (*value).to_owned())));
                }
                _ => {}
            }
        }
        self.agents_names.extend(self.open_names.iter().cloned());
        for _ in 0..=set.len() {
            let before = self.agents_names.len();
            let found = set.iter().filter(|(_, value)| self.is_of_agent(value)).map(|(name, _)| name.clone());
            let found: Vec<String> = found.collect();
            self.agents_names.extend(found);
            if self.agents_names.len() == before {
                break;
            }
        }
        self.set_names.extend(set.iter().map(|(name, _)| name.clone()));
        // One that is set by way of another is as open as that.
        for _ in 0..=set.len() {
            let is_open =
                |(name, value): &&(String, String)| !self.open_names.contains(name) && !self.is_away(value);
            let found: Vec<String> = set.iter().filter(is_open).map(|(name, _)| name.clone()).collect();
            if found.is_empty() {
                break;
            }
            self.open_names.extend(found);
        }
    }

    /// True of a variable that leads where its person wants.
    pub fn is_own(&self, name: &str) -> bool {
        name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
            && !matches!(name, "_" | "OLDPWD")
            && ![&self.names, &self.bare_names, &self.open_names].iter().any(|names| names.contains(name))
    }

    /// True of a variable, or a number or sign in the place of one, whose value an agent may choose.
    pub fn is_agents(&self, name: &str) -> bool {
        let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        !is_name || name == "_" || self.agents_names.contains(name)
    }

    /// True of the text of a value in which something stands that an agent may choose.
    fn is_of_agent(&self, value: &str) -> bool {
        let is_found = value.contains(['*', '?', '`']);
        is_found
            || value.split('$').skip(1).any(|behind| {
                if let Some(inner) = behind.strip_prefix('(') {
                    let inner = inner.trim_start();
                    return !OF_NOBODY.iter().any(|command| inner.starts_with(command)) && !is_away(inner);
                }
                let (name, _) = variable(behind);
                match name {
                    "" => behind.starts_with("{!"),
                    name => self.is_agents(name),
                }
            })
    }

    /// True of a path that surely does not lie in the workspace: an absolute one, or one behind a variable of the person's.
    pub fn is_away(&self, word: &str) -> bool {
        let text = self.filled(word);
        let mut rest = text.as_str();
        let mut is_first = true;
        while !rest.is_empty() {
            let Some(behind) = rest.strip_prefix('$') else {
                let end = rest.find(['$', '`']).unwrap_or(rest.len());
                let (fixed, tail) = rest.split_at(end);
                let is_fixed = if is_first { fixed.starts_with('/') } else { !fixed.contains("..") };
                if !is_fixed || tail.starts_with('`') {
                    return false;
                }
                (rest, is_first) = (tail, false);
                continue;
            };
            if let Some(inner) = behind.strip_prefix('(') {
                let (inner, tail) = split_closed(inner, '(', ')');
                // What it finds in the `PATH` is a program by its name.
                let is_name = is_first && tail.is_empty() && FINDING.iter().any(|it| inner.contains(it));
                if !is_away(inner) || is_name {
                    return false;
                }
                (rest, is_first) = (tail, false);
                continue;
            }
            let (name, tail) = variable(behind);
            let changed = behind.strip_prefix('{').map(|braced| split_closed(braced, '{', '}').0);
            let is_changed_well = match changed.map(|inner| inner.trim_start_matches(name)) {
                None | Some("") => true,
                Some(change) if change.starts_with(['%', '+']) => true,
                Some(change) => {
                    let default =
                        change.strip_prefix(":-").or(change.strip_prefix(":=")).or(change.strip_prefix('-'));
                    default.is_some_and(|default| default.is_empty() || self.is_away(default))
                }
            };
            if !self.is_own(name) || !is_changed_well {
                return false;
            }
            (rest, is_first) = (tail, false);
        }
        // What is empty is no path.
        !is_first && !self.leads(word, true) && !self.leads_by_link(&text)
    }

    /// True of a path in a folder that is a link into the workspace, also of one that is not there yet.
    fn leads_by_link(&self, text: &str) -> bool {
        let there = Path::new(text).ancestors().find_map(|path| path.canonicalize().ok());
        there.is_some_and(|path| is_below(&path, self.roots))
    }

    /// True of a variable alone that the text does not set: its value may be the name of any program.
    pub fn may_be_name(&self, word: &str) -> bool {
        let text = self.filled(word);
        let is_set = |behind: &str| {
            let (name, tail) = variable(behind);
            tail.is_empty() && !self.set_names.contains(name)
        };
        text.strip_prefix('$').is_some_and(|behind| !behind.starts_with('(') && is_set(behind))
    }

    /// True of a word that names a place of the workspace, or of which nobody can tell what it names.
    pub fn may_lead(&self, word: &str) -> bool {
        self.leads(word, false) || word.contains(['$', '`']) && !self.is_away(word)
    }

    /// The path of a word that leads elsewhere, as far as its text tells it.
    pub fn path_of(&self, word: &str) -> PathBuf {
        lexical(Path::new(&self.filled(word)))
    }

    /// All roots, the one in which the text is started, and the home.
    pub fn folders(&self) -> (&'a [String], &'a str, &'a Path) {
        (self.roots, self.first, self.home)
    }

    pub fn is_started_elsewhere(&self) -> bool {
        self.starts_elsewhere
    }

    /// Keeps which variables lead to the workspace after this command.
    fn note(&mut self, text: &str, words: &[HookWord]) {
        let is_found = |word: &HookWord| {
            let folder = fixed_folder(word, self.first, self.home).filter(|_| word.is_pattern());
            !self.starts_elsewhere && folder.is_some_and(|folder| is_below(&folder, self.roots))
        };
        if let [command, name, _, list @ ..] = words
            && matches!(command.text().as_str(), "for" | "select")
            && list.iter().any(is_found)
        {
            self.names.insert(name.text());
        }
        // Whoever says where words end makes several of one.
        let splits = text.contains("IFS=");
        for (name, value) in assignments(words) {
            let is_of_path = |letter: char| letter.is_alphanumeric() || "._-+/${}".contains(letter);
            let mut parts = value.split(|letter: char| !is_of_path(letter));
            if self.leads(&value, false) || splits && parts.any(|part| self.leads(part, false)) {
                self.names.insert(name);
            } else if self.leads(&value, true) {
                self.bare_names.insert(name);
            }
        }
        let texts: Vec<String> = words.iter().map(HookWord::text).collect();
        match texts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["for" | "select", name, "in", list @ ..] if list.iter().any(|it| self.leads(it, false)) => {
                self.names.insert((*name).to_owned());
            }
            // The words that a function is called with have the same names as those that `set` gives.
            [function, given @ ..]
                if (*function == "set" || is_function(text, function))
                    && given.iter().any(|it| self.leads(it, false)) =>
            {
                self.names.extend("123456789@*".chars().map(String::from));
            }
            _ => {}
        }
    }

    /// True if a word leads to a root or below one, be it there or not. `bare`: a name without a slash is a path as well.
    pub fn leads(&self, word: &str, bare: bool) -> bool {
        let text = self.filled(word);
        if let Some(rest) = text.strip_prefix("$(") {
            let (inner, tail) = split_closed(rest, '(', ')');
            return tail.starts_with('/') && !is_away(inner);
        }
        if let Some(rest) = text.strip_prefix('$') {
            let (name, tail) = variable(rest);
            return self.names.contains(name)
                || (bare || tail.starts_with('/')) && self.bare_names.contains(name);
        }
        if text.starts_with('/') {
            return is_below(&lexical(Path::new(&text)), self.roots);
        }
        let is_path = bare || text.contains('/') || matches!(text.as_str(), "." | "..");
        !self.starts_elsewhere
            && is_path
            && is_plain(&text)
            && is_below(&lexical(&Path::new(self.first).join(&text)), self.roots)
    }

    /// True if a word leads out of the workspace for sure.
    pub fn leads_away(&self, word: &str) -> bool {
        let text = self.filled(word);
        let is_elsewhere = text.starts_with('/')
            || ["CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"]
                .iter()
                .any(|name| text.starts_with(&format!("${name}")) || text.starts_with(&format!("${{{name}")));
        is_elsewhere && !self.leads(word, true)
    }

    /// True if a word lies elsewhere, or where nobody can tell.
    pub fn may_lead_away(&self, word: &str) -> bool {
        self.filled(word).starts_with(['/', '$']) && !self.leads(word, true)
    }

    /// A text with the project's folder in the places of all that stands for it.
    fn filled(&self, word: &str) -> String {
        let mut text = word.to_owned();
        // Each round fills in one.
        for _ in 0..MOST_STEPS {
            let found = text.match_indices("$(").find_map(|(at, _)| {
                let (inner, tail) = split_closed(&text[at + 2..], '(', ')');
                is_project(inner).then(|| format!("{}{}{tail}", &text[..at], self.first))
            });
            match found {
                Some(next) => text = next,
                None => break,
            }
        }
        filled(&text, self.first, self.home)
    }

    /// True of `cd ELSEWHERE && …`, without another `cd`.
    fn goes_elsewhere(&self, text: &str, commands: &[Vec<HookWord>]) -> bool {
        let Some(behind) = text.trim_start().strip_prefix("cd ") else { return false };
        let moves = |word: &HookWord| {
            matches!(word.text().as_str(), "cd" | "pushd" | "popd") || word.text().contains("OLDPWD")
        };
        let is_only_one = commands.iter().flatten().filter(|word| moves(word)).count() == 1;
        let end = behind.find(['&', ';', '|', '(', ')', '`', '\n']);
        let is_needed = end.is_some_and(|at| behind[at..].starts_with("&&"));
        let target = commands.iter().find_map(|words| match words.as_slice() {
            [cd, to] if cd.text() == "cd" => Some(to.text()),
            _ => None,
        });
        is_only_one && is_needed && target.is_some_and(|to| self.leads_away(&to))
    }

    /// The places among the entries of a list such as the `PATH`.
    pub fn leads_in_list(&self, list: &str, between: char) -> bool {
        let mut entries = Vec::new();
        let (mut depth, mut entry) = (0_usize, String::new());
        for letter in list.chars() {
            match letter {
                '{' | '(' => depth += 1,
                '}' | ')' => depth = depth.saturating_sub(1),
                _ if letter == between && depth == 0 => {
                    entries.push(std::mem::take(&mut entry));
                    continue;
                }
                _ => {}
            }
            entry.push(letter);
        }
        entries.push(entry);
        entries.iter().any(|entry| {
            // An empty one is the folder that the program is started in.
            let is_here = entry.is_empty() && 1 < entries.len() && between == ':' && !self.starts_elsewhere;
            is_here || self.leads(entry.split('?').next().unwrap_or_default(), true)
        })
    }
}

/// The variables that a command sets, and their values.
pub(super) fn assignments(words: &[HookWord]) -> Vec<(String, String)> {
    let first = words.first().map(HookWord::text).unwrap_or_default();
    let is_setting = SETTING.contains(&first.as_str()) || CONTROL.contains(&first.as_str());
    let all = words.iter().map(|word| assignment(&word.text()));
    if is_setting {
        return all.flatten().collect();
    }
    all.take_while(Option::is_some).flatten().collect()
}

/// The name and the value of `NAME=VALUE`.
pub(super) fn assignment(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

/// True of a word of the shell that stands before a command.
pub(super) fn is_control(text: &str) -> bool {
    CONTROL.contains(&text)
}

/// True if a text defines a function of this name.
fn is_function(text: &str, name: &str) -> bool {
    let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    is_name
        && [format!("{name}()"), format!("{name} ()"), format!("function {name}")]
            .iter()
            .any(|it| text.contains(it))
}

/// True if what this command prints is the folder that it is started in, or the project's.
fn is_project(inner: &str) -> bool {
    let inner = inner.trim();
    inner == "pwd"
        || inner.starts_with("pwd ")
        || ["--show-toplevel", "--show-cdup", "$0", "${0"].iter().any(|it| inner.contains(it))
        || matches!(inner, "realpath ." | "readlink -f .")
}

/// True if what this command prints lies elsewhere, as far as its words tell.
fn is_away(inner: &str) -> bool {
    AWAY.iter().any(|it| inner.contains(it))
        && !["PROJECT_DIR", "$PWD", "${PWD", "git "].iter().any(|it| inner.contains(it))
}

/// True of a text in which nothing but letters of a path stands, and variables.
fn is_plain(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || matches!(letter, '.' | '_'))
        && text.chars().all(|letter| letter.is_alphanumeric() || "._-+/${}".contains(letter))
}

/// The name behind a `$`, and what stands behind the variable.
fn variable(rest: &str) -> (&str, &str) {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if let Some(braced) = rest.strip_prefix('{') {
        let (inner, tail) = split_closed(braced, '{', '}');
        let end = inner.find(|letter: char| !is_of_name(letter)).unwrap_or(inner.len());
        return (&inner[..end], tail);
    }
    let end = match rest.chars().next() {
        Some('@' | '*') => 1,
        _ => rest.find(|letter: char| !is_of_name(letter)).unwrap_or(rest.len()),
    };
    rest.split_at(end)
}

/// The text up to the letter that closes what was opened before it, and what stands behind that.
fn split_closed(text: &str, opening: char, closing: char) -> (&str, &str) {
    let mut depth = 1_usize;
    for (at, letter) in text.char_indices() {
        if letter == opening {
            depth += 1;
        } else if letter == closing {
            depth -= 1;
        }
        if depth == 0 {
            return (&text[..at], &text[at + letter.len_utf8()..]);
        }
    }
    (text, "")
}

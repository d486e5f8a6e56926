//! Could a value run something where the shell computes it as a number?
//!
//! `(( x ))`, `$(( x ))`, `[[ x -eq 1 ]]` and indexes of arrays compute a variable's value, then the values it names, and a
//! value like `a[$(rm x)]` runs what stands in it. So whatever is computed must come from where only numbers come from.

use std::collections::{HashMap, HashSet};

use super::{
    syntax::{ArithmeticText, CommandNode, ShellScript, ShellWord, WordPiece, sets},
    value::WordValue,
};

/// Commands whose output is a number, whatever they read. Called in another way they may say more.
const COUNTING: &[&[&str]] = &[
    &["nproc"],
    &["wc", "-l"],
    &["wc", "-c"],
    &["wc", "-w"],
    &["wc", "-m"],
    &["id", "-u"],
    &["id", "-g"],
    &["date", "+%s"],
    &["date", "+%N"],
    &["date", "+%Y"],
    &["date", "+%H"],
    &["date", "+%u"],
    &["tput", "cols"],
    &["tput", "lines"],
];

/// Variables of which bash computes each value that it gives them, in one of its versions. By trying each one.
const COMPUTED: &[&str] = &[
    "BASHPID",
    "BASH_MONOSECONDS",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "HISTCMD",
    "LINENO",
    "OPTERR",
    "OPTIND",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
];

/// Variables that the shell gives texts to: words, input and parts of what was matched.
const FILLED: &[&str] = &[
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_COMMAND",
    "BASH_EXECUTION_STRING",
    "BASH_REMATCH",
    "BASH_SOURCE",
    "COMP_LINE",
    "COMP_WORDS",
    "DIRSTACK",
    "FUNCNAME",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "PWD",
    "READLINE_LINE",
    "REPLY",
    "_",
];

/// Variables of the shell that are numbers.
const COUNTED: &[&str] = &["#", "?", "$", "!"];

#[derive(Debug, Default)]
pub(super) struct ArithmeticVariables {
    used: HashSet<String>,
    /// Names in texts that give one of them another value while they are computed.
    set: HashSet<String>,
    /// The same in a variable's value.
    setting: HashMap<String, HashSet<String>>,
    /// Variables that must be numbers of open files.
    descriptors: HashSet<String>,
    /// Variables that must not be options.
    options: HashSet<String>,
    /// Variables whose value may be one.
    dashed: HashSet<String>,
    /// Variables whose value may be something else than digits.
    texts: HashSet<String>,
    /// Variables whose value may be anything.
    open: HashSet<String>,
    /// Names that stand in a variable's value.
    named: HashMap<String, HashSet<String>>,
    /// Arrays, wherever the text makes them such.
    arrays: HashSet<String>,
    /// Variables that a builtin gives a value that is not known: of an array bash expands it when it reads `(…)`.
    declared: HashSet<String>,
    /// Programs of [`COUNTING`] that a number comes from.
    counting: HashSet<String>,
    /// Functions of the text.
    functions: HashSet<String>,
    danger: Option<String>,
}

impl ArithmeticVariables {
    /// The reason why something may run where a number is computed.
    ///
    /// `decides`: whether it matters to later commands which value a variable has.
    pub fn danger(&self, decides: impl Fn(&str) -> bool) -> Option<String> {
        if self.danger.is_some() {
            return self.danger.clone();
        }
        if let Some(name) = self.counting.intersection(&self.functions).min() {
            return Some(format!("what `{name}` says is computed as a number, and it is a function here"));
        }
        // The same one is named each time.
        if let Some(name) = self.declared.intersection(&self.arrays).min() {
            return Some(format!(
                "the value of the array `{name}` may be a list, of which bash runs what stands in it"
            ));
        }
        if let Some(name) = self.descriptors.intersection(&self.texts).min() {
            return Some(format!(
                "the value of `{name}` may be a text, which bash expands as the word of `>&`"
            ));
        }
        if let Some(name) = self.options.intersection(&self.dashed).min() {
            return Some(format!("the value of `{name}` may be an option that gives a variable a value"));
        }
        let used = self.used.iter().map(String::as_str);
        let mut todo: Vec<&str> = used.chain(COMPUTED.iter().copied()).collect();
        let mut seen: HashSet<&str> = todo.iter().copied().collect();
        let mut set: HashSet<&str> = self.set.iter().map(String::as_str).collect();
        while let Some(name) = todo.pop() {
            set.extend(self.setting.get(name).into_iter().flatten().map(String::as_str));
            for next in self.named.get(name).into_iter().flatten() {
                if seen.insert(next) {
                    todo.push(next);
                }
            }
        }
        if let Some(name) =
            seen.iter().filter(|name| self.open.contains(**name) || FILLED.contains(name)).min()
        {
            return Some(format!(
                "the value of `{name}` is computed as a number, and may run what stands in it"
            ));
        }
        let decides = set.iter().filter(|name| decides(name)).min();
        decides.map(|name| format!("it computes a value for `{name}`, which decides what runs or where"))
    }

    /// A word that is not known stands where an option would give a variable a value.
    pub fn option(&mut self, value: &WordValue) {
        let name = name_of(value);
        if super::grammar::is_name(name) {
            self.options.insert(name.to_owned());
        } else {
            self.is_dangerous(value.raw());
        }
    }

    /// The variable's value stands where the number of an open file should.
    pub fn descriptor(&mut self, name: &str) {
        self.descriptors.insert(name.to_owned());
    }

    /// The text makes this variable an array, before or behind what gives it a value.
    pub fn array(&mut self, name: &str) {
        self.arrays.insert(name.to_owned());
    }

    /// A builtin gives this variable a value, which it expands once more where it is a list of an array.
    pub fn declared(&mut self, name: &str, value: &WordValue) {
        let lead = value.lead();
        if value.known().is_none() && (lead.is_empty() || lead.starts_with('(')) {
            self.declared.insert(name.to_owned());
        }
        if lead.starts_with('(') && value.hollow().contains(['$', '`', '[', '\\', '<', '>']) {
            self.danger.get_or_insert_with(|| {
                format!("`{name}={}` may be a list, of which bash runs what stands in it", value.raw())
            });
        }
    }

    /// The text gives this name another meaning.
    pub fn function(&mut self, name: &str) {
        self.functions.insert(name.to_owned());
    }

    pub fn computed(&mut self, computed: &ArithmeticText) {
        if let Some(name) = &computed.open_name {
            self.is_dangerous(name);
        }
        self.used.extend(computed.names.iter().cloned());
        if computed.sets {
            self.set.extend(computed.names.iter().cloned());
        }
        computed.pieces.iter().for_each(|piece| self.expanded(piece));
    }

    /// A word that is computed as a number.
    pub fn word(&mut self, word: &ShellWord) {
        self.pieces(&word.pieces);
    }

    /// A text that is computed as a number, or names what is.
    pub fn value(&mut self, value: &WordValue) {
        match value.known() {
            Some(text) => self.text(text),
            None => self.is_dangerous(value.raw()),
        }
    }

    /// A word that should be a number, and may be something else when it is none: `$pid` of `wait $pid`.
    pub fn number(&mut self, value: &WordValue) {
        self.variable(name_of(value));
    }

    fn text(&mut self, text: &str) {
        if text.contains(['$', '`', '<']) && text.contains('[') {
            return self.is_dangerous(text);
        }
        self.used.extend(names(text));
        if sets(text) {
            self.set.extend(names(text));
        }
    }

    fn pieces(&mut self, pieces: &[WordPiece]) {
        // Texts beside each other are one, and so are a name and what is put in beside it.
        let mut text = String::new();
        let mut is_beside = false;
        for piece in pieces {
            if let WordPiece::Plain(more) | WordPiece::Quoted(more) = piece {
                if is_beside && more.starts_with(super::grammar::is_of_name) {
                    self.is_dangerous(more);
                }
                is_beside &= more.is_empty();
                text.push_str(more);
                continue;
            }
            if is_beside || super::grammar::ends_with_name(&text) {
                self.is_dangerous(&text);
            }
            self.text(&std::mem::take(&mut text));
            is_beside = true;
            self.expanded(piece);
        }
        self.text(&text);
    }

    fn expanded(&mut self, piece: &WordPiece) {
        match piece {
            WordPiece::Plain(text) | WordPiece::Quoted(text) => self.text(text),
            WordPiece::Variable { name, .. } => self.variable(name),
            WordPiece::Expansion { name, parts, .. } if !name.is_empty() => {
                self.variable(name);
                // Another value stands for it as a whole. All else makes a text of its own from it.
                let operator = parts.first().map(|part| match part {
                    WordPiece::Plain(text) => text.trim_start_matches(':').chars().next(),
                    _ => None,
                });
                match operator {
                    None => {}
                    Some(Some('-' | '=' | '+' | '?')) => self.pieces(parts),
                    Some(_) => self.is_dangerous(&format!("${{{name}…}}")),
                }
            }
            WordPiece::Expansion { .. } | WordPiece::Arithmetic(_) => {}
            WordPiece::Substitution { script, .. } => match counting(script) {
                Some(name) => drop(self.counting.insert(name.to_owned())),
                None => self.is_dangerous("$(…)"),
            },
            WordPiece::Process(_) | WordPiece::Document(_) => self.is_dangerous("<(…)"),
        }
    }

    fn variable(&mut self, name: &str) {
        if COUNTED.contains(&name) {
            return;
        }
        if super::grammar::is_name(name) {
            self.used.insert(name.to_owned());
        } else {
            self.is_dangerous(&format!("${name}"));
        }
    }

    fn is_dangerous(&mut self, what: &str) {
        self.danger.get_or_insert_with(|| {
            format!("`{what}` is computed as a number, and may run what stands in its value")
        });
    }

    /// `None` when nobody can tell the value.
    pub fn assigned(&mut self, name: &str, value: Option<&WordValue>) {
        let known = value.and_then(WordValue::known);
        if !known.is_some_and(|text| text.chars().all(|digit| digit.is_ascii_digit())) {
            self.texts.insert(name.to_owned());
        }
        if known.is_none_or(|text| text.starts_with('-')) {
            self.dashed.insert(name.to_owned());
        }
        match known {
            Some(text) if !text.contains(['[', '$', '`']) => {
                self.named.entry(name.to_owned()).or_default().extend(names(text));
                if sets(text) {
                    self.setting.entry(name.to_owned()).or_default().extend(names(text));
                }
            }
            _ => {
                self.open.insert(name.to_owned());
            }
        }
    }

    pub fn assigned_word(&mut self, name: &str, word: &ShellWord, value: &WordValue) {
        let is_number = match word.pieces.as_slice() {
            [WordPiece::Arithmetic(_)] => true,
            [WordPiece::Substitution { script, .. }] => match counting(script) {
                Some(program) => {
                    self.counting.insert(program.to_owned());
                    true
                }
                None => false,
            },
            // One of those that are computed is dangerous by itself where it is given anything else.
            [WordPiece::Variable { name, .. }] => {
                COUNTED.contains(&name.as_str()) || COMPUTED.contains(&name.as_str())
            }
            _ => false,
        };
        if !is_number {
            self.assigned(name, Some(value));
        }
    }
}

/// The variable that a word is the value of, where it is no more than that.
fn name_of(value: &WordValue) -> &str {
    let bare = value.raw().trim_matches('"');
    let name = bare.strip_prefix('$').unwrap_or(bare);
    name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name)
}

fn names(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    parts.filter(|part| super::grammar::is_name(part)).map(str::to_owned)
}

/// The program whose output is a number.
fn counting(script: &ShellScript) -> Option<&'static str> {
    let [item] = script.items.as_slice() else { return None };
    let Some(CommandNode::Simple(last)) = item.pipeline.stages.last() else { return None };
    let words: Vec<&str> = last.words.iter().map(ShellWord::plain).collect::<Option<_>>()?;
    let known = COUNTING.iter().find(|known| **known == words.as_slice())?;
    if last.assignments.is_empty() { known.first().copied() } else { None }
}

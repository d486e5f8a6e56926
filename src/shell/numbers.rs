//! Could a value run something where the shell computes it as a number?
//!
//! `(( x ))`, `$(( x ))`, `[[ x -eq 1 ]]` and indexes of arrays compute a variable's value, then the values it names, and a
//! value like `a[$(rm x)]` runs what stands in it. So whatever is computed must come from where only numbers come from.

use std::collections::{HashMap, HashSet};

use super::{
    syntax::{ArithmeticText, CommandNode, ShellScript, ShellWord, WordPiece},
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

/// Variables of the shell that are numbers.
const COUNTED: &[&str] = &["#", "?", "$", "!"];

#[derive(Debug, Default)]
pub(super) struct ArithmeticVariables {
    used: HashSet<String>,
    /// Variables whose value may be anything.
    open: HashSet<String>,
    /// Names that stand in a variable's value.
    named: HashMap<String, HashSet<String>>,
    /// Arrays, wherever the text makes them such.
    arrays: HashSet<String>,
    /// Variables that a builtin gives a value that is not known: of an array bash expands it when it reads `(…)`.
    declared: HashSet<String>,
    danger: Option<String>,
}

impl ArithmeticVariables {
    /// Why something may run where a number is computed.
    pub fn danger(&self) -> Option<String> {
        if self.danger.is_some() {
            return self.danger.clone();
        }
        // The same one is named each time.
        if let Some(name) = self.declared.intersection(&self.arrays).min() {
            return Some(format!(
                "the value of the array `{name}` may be a list, of which bash runs what stands in it"
            ));
        }
        let mut todo: Vec<&String> = self.used.iter().collect();
        let mut seen: HashSet<&String> = todo.iter().copied().collect();
        let mut worst: Option<&String> = None;
        while let Some(name) = todo.pop() {
            if self.open.contains(name) {
                // The same one is named each time.
                worst = Some(worst.map_or(name, |other| other.min(name)));
            }
            for next in self.named.get(name).into_iter().flatten() {
                if seen.insert(next) {
                    todo.push(next);
                }
            }
        }
        worst.map(|name| {
            format!("the value of `{name}` is computed as a number, and may run what stands in it")
        })
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

    pub fn computed(&mut self, computed: &ArithmeticText) {
        self.used.extend(computed.names.iter().cloned());
        self.pieces(&computed.pieces);
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
        let bare = value.raw().trim_matches('"');
        let name = bare.strip_prefix('$').unwrap_or(bare);
        self.variable(name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name));
    }

    fn text(&mut self, text: &str) {
        if text.contains(['$', '`', '<']) && text.contains('[') {
            return self.is_dangerous(text);
        }
        self.used.extend(names(text));
    }

    fn pieces(&mut self, pieces: &[WordPiece]) {
        for piece in pieces {
            match piece {
                WordPiece::Plain(text) | WordPiece::Quoted(text) => self.text(text),
                WordPiece::Variable { name, .. } => self.variable(name),
                WordPiece::Expansion { name, parts, .. } => {
                    if !name.is_empty() {
                        self.variable(name);
                        self.pieces(parts);
                    }
                }
                WordPiece::Substitution { script, .. } => {
                    if !is_counting(script) {
                        self.is_dangerous("$(…)");
                    }
                }
                WordPiece::Arithmetic(_) => {}
                WordPiece::Process(_) | WordPiece::Document(_) => self.is_dangerous("<(…)"),
            }
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
        match value.and_then(WordValue::known) {
            Some(text) if !text.contains(['[', '$', '`']) => {
                self.named.entry(name.to_owned()).or_default().extend(names(text));
            }
            _ => {
                self.open.insert(name.to_owned());
            }
        }
    }

    pub fn assigned_word(&mut self, name: &str, word: &ShellWord, value: &WordValue) {
        let is_number = match word.pieces.as_slice() {
            [WordPiece::Arithmetic(_)] => true,
            [WordPiece::Substitution { script, .. }] => is_counting(script),
            [WordPiece::Variable { name, .. }] => COUNTED.contains(&name.as_str()),
            _ => false,
        };
        if !is_number {
            self.assigned(name, Some(value));
        }
    }
}

fn names(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    parts.filter(|part| super::grammar::is_name(part)).map(str::to_owned)
}

fn is_counting(script: &ShellScript) -> bool {
    let [item] = script.items.as_slice() else { return false };
    let Some(CommandNode::Simple(last)) = item.pipeline.stages.last() else { return false };
    let words: Option<Vec<&str>> = last.words.iter().map(ShellWord::plain).collect();
    let is_plain = last.assignments.is_empty();
    is_plain && words.is_some_and(|words| COUNTING.contains(&words.as_slice()))
}

//! What does a script consist of? The tree that `grammar` makes, with every word's quotes still told apart.

use std::{cell::OnceCell, rc::Rc};

/// Some commands, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    pub items: Vec<Item>,
}

impl Script {
    /// Of one command.
    pub fn of(command: Command) -> Script {
        let pipeline = Pipeline { time: None, stages: vec![command] };
        Script { items: vec![Item { pipeline, joiner: Joiner::Then }] }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Item {
    pub pipeline: Pipeline,
    /// What stands between it and the next.
    pub joiner: Joiner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joiner {
    /// `;` or the end of the line.
    Then,
    And,
    Or,
    Background,
}

#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    /// Begins with the keyword `time`, and with these options.
    pub time: Option<Vec<String>>,
    pub stages: Vec<Command>,
}

#[derive(Debug, Clone)]
pub(super) enum Command {
    Simple(Simple),
    Compound { body: Compound, redirects: Vec<Redirect> },
    Function { name: String, body: Box<Command> },
}

#[derive(Debug, Clone, Default)]
pub(super) struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
}

/// `name=value`, `name+=value`, `name[index]=value`, `name=(values)`.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub name: String,
    /// Of an array's element; its text is computed as a number.
    pub index: Option<Computed>,
    /// In parentheses, of an array.
    pub is_list: bool,
    pub values: Vec<Word>,
    /// As written.
    pub raw: String,
}

#[derive(Debug, Clone)]
pub(super) enum Compound {
    Subshell(Script),
    Group(Script),
    /// Conditions and branches in the order they stand in.
    If(Vec<Script>),
    While {
        head: Script,
        body: Script,
    },
    /// `for` and `select` over words.
    Each {
        name: String,
        words: Option<Vec<Word>>,
        body: Script,
    },
    /// `for (( ; ; ))`
    Count {
        head: Computed,
        body: Script,
    },
    Case {
        subject: Word,
        arms: Vec<(Vec<Word>, Script)>,
    },
    /// `[[ … ]]`: its words, operators among them.
    Test(Vec<Word>),
    /// `(( … ))`
    Computed(Computed),
    Coprocess(Box<Command>),
}

#[derive(Debug, Clone)]
pub(super) struct Redirect {
    pub operator: Operator,
    pub fd: Option<String>,
    pub target: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `<`
    In,
    /// `>`, `>>`, `>|`
    Out,
    /// `<>`
    Both,
    /// `&>`, `&>>`
    OutAndErrors,
    /// `>&`
    OutLike,
    /// `<&`
    InLike,
    /// `<<`; the target is the text.
    Document,
    /// `<<<`
    Text,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Word {
    /// As written.
    pub raw: String,
    pub pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// Letters without quotes: patterns, braces and `~` mean something here.
    Plain(String),
    Quoted(String),
    /// `$name`, `${name}`
    Variable {
        name: String,
        quoted: bool,
    },
    /// `${name…}` with more in the braces; its words run nothing but their own substitutions.
    Expansion {
        /// Empty where only its length counts.
        name: String,
        parts: Vec<Piece>,
        used: Computed,
        /// `${name=…}` gives it a value.
        sets: bool,
    },
    /// `$( … )` and backticks.
    Substitution {
        script: Script,
        quoted: bool,
    },
    /// `<( … )`, `>( … )`
    Process(Script),
    /// `$(( … ))`
    Arithmetic(Computed),
    /// The text of a here-document; it is put in at the line's end.
    Document(Rc<OnceCell<Vec<Piece>>>),
}

impl Word {
    /// The letters of a word that nothing is quoted in and nothing has to be expanded for.
    pub fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Plain(text)] => Some(text),
            _ => None,
        }
    }
}

/// A text that the shell computes as a number. The value of each variable in it is computed as well, and may run commands.
#[derive(Debug, Clone, Default)]
pub(super) struct Computed {
    /// Variables whose values are computed.
    pub names: Vec<String>,
    /// Expansions in it.
    pub pieces: Vec<Piece>,
}

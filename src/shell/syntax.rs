//! What does a script consist of? The tree that `grammar` makes, with every word's quotes still told apart.

use std::{cell::OnceCell, rc::Rc};

/// Some commands, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellScript {
    pub items: Vec<ScriptItem>,
}

impl ShellScript {
    /// Of one command.
    pub fn of(command: CommandNode) -> ShellScript {
        let pipeline = ShellPipeline { time: None, stages: vec![command] };
        ShellScript { items: vec![ScriptItem { pipeline, joiner: CommandJoiner::Then }] }
    }
}

#[derive(Debug, Clone)]
pub(super) struct ScriptItem {
    pub pipeline: ShellPipeline,
    /// What stands between it and the next.
    pub joiner: CommandJoiner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandJoiner {
    /// `;` or the end of the line.
    Then,
    And,
    Or,
    Background,
}

#[derive(Debug, Clone)]
pub(super) struct ShellPipeline {
    /// Begins with the keyword `time`, and with these options.
    pub time: Option<Vec<String>>,
    pub stages: Vec<CommandNode>,
}

#[derive(Debug, Clone)]
pub(super) enum CommandNode {
    Simple(SimpleCommand),
    Compound { body: CompoundCommand, redirects: Vec<ShellRedirect> },
    Function { name: String, body: Box<CommandNode> },
}

#[derive(Debug, Clone, Default)]
pub(super) struct SimpleCommand {
    pub assignments: Vec<ShellAssignment>,
    pub words: Vec<ShellWord>,
    pub redirects: Vec<ShellRedirect>,
}

/// `name=value`, `name+=value`, `name[index]=value`, `name=(values)`.
#[derive(Debug, Clone)]
pub(super) struct ShellAssignment {
    pub name: String,
    /// Of an array's element; its text is computed as a number.
    pub index: Option<ArithmeticText>,
    /// In parentheses, of an array.
    pub is_list: bool,
    pub values: Vec<ShellWord>,
    /// As written.
    pub raw: String,
}

impl ShellAssignment {
    /// `name+=value`
    pub fn appends(&self) -> bool {
        let behind = self.raw.strip_prefix(&self.name).unwrap_or_default();
        let sign =
            if self.index.is_some() { behind.find("]+=") } else { behind.find("+=").filter(|at| *at == 0) };
        sign.is_some()
    }
}

#[derive(Debug, Clone)]
pub(super) enum CompoundCommand {
    Subshell(ShellScript),
    Group(ShellScript),
    /// Conditions and branches in the order they stand in.
    If(Vec<ShellScript>),
    While {
        head: ShellScript,
        body: ShellScript,
    },
    /// `for` and `select` over words.
    Each {
        name: String,
        words: Option<Vec<ShellWord>>,
        body: ShellScript,
    },
    /// `for (( ; ; ))`
    Count {
        head: ArithmeticText,
        body: ShellScript,
    },
    Case {
        subject: ShellWord,
        arms: Vec<(Vec<ShellWord>, ShellScript)>,
    },
    /// `[[ … ]]`: its words, operators among them.
    Test(Vec<ShellWord>),
    /// `(( … ))`
    Computed(ArithmeticText),
    Coprocess {
        /// The variable for the numbers of its ends, where one is named.
        name: Option<String>,
        command: Box<CommandNode>,
    },
}

#[derive(Debug, Clone)]
pub(super) struct ShellRedirect {
    pub operator: RedirectOperator,
    pub fd: Option<String>,
    pub target: ShellWord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectOperator {
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
pub(super) struct ShellWord {
    /// As written.
    pub raw: String,
    pub pieces: Vec<WordPiece>,
}

#[derive(Debug, Clone)]
pub(super) enum WordPiece {
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
        parts: Vec<WordPiece>,
        used: ArithmeticText,
        /// `${name=…}` gives it a value.
        sets: bool,
    },
    /// `$( … )` and backticks.
    Substitution {
        script: ShellScript,
        quoted: bool,
    },
    /// `<( … )`, `>( … )`
    Process(ShellScript),
    /// `$(( … ))`
    Arithmetic(ArithmeticText),
    /// The text of a here-document; it is put in at the line's end.
    Document(Rc<OnceCell<Vec<WordPiece>>>),
}

impl ShellWord {
    /// The letters of a word that nothing is quoted in and nothing has to be expanded for.
    pub fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [WordPiece::Plain(text)] => Some(text),
            _ => None,
        }
    }
}

/// A text that the shell computes as a number. The value of each variable in it is computed as well, and may run commands.
#[derive(Debug, Clone, Default)]
pub(super) struct ArithmeticText {
    /// Variables whose values are computed.
    pub names: Vec<String>,
    /// Expansions in it.
    pub pieces: Vec<WordPiece>,
    /// It gives a variable another value: `x = 1`, `x++`.
    pub sets: bool,
    /// A name in it that only expanding it would tell: `x$i`, `${!1}`.
    pub open_name: Option<String>,
}

impl ArithmeticText {
    /// Takes in what is computed beside it.
    pub fn and(&mut self, other: ArithmeticText) {
        self.names.extend(other.names);
        self.pieces.extend(other.pieces);
        self.sets |= other.sets;
        self.open_name = self.open_name.take().or(other.open_name);
    }
}

/// True if a text that is computed gives a variable another value.
pub(super) fn sets(text: &str) -> bool {
    if text.contains("++") || text.contains("--") {
        return true;
    }
    let letters = text.as_bytes();
    (0..letters.len()).any(|at| {
        let before = |count: usize| at.checked_sub(count).map(|at| letters[at]);
        let compares = match before(1) {
            Some(b'=' | b'!') => true,
            // `<=`, but `<<=` shifts.
            Some(sign @ (b'<' | b'>')) => before(2) != Some(sign),
            _ => false,
        };
        letters[at] == b'=' && letters.get(at + 1) != Some(&b'=') && !compares
    })
}

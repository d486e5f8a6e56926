//! What is known while a script is followed: [`ScriptWalk`] for the whole text, [`CommandScope`] where one of its commands runs.
//!
//! Every kind of command adds what it means to [`ScriptWalk`] in a module of its own; `walk` goes through the script with it.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    rc::Rc,
};

use super::{
    ShellEnvironment, fuel::ReadingFuel, grammar::ShellDialect, numbers::ArithmeticVariables,
    place::WorkingDirectory, reading::ShellAnalysisDraft, syntax::CommandNode, value::ShellVariables,
};

mod seen;

pub(super) use seen::{CandidateNames, FoldersSeen, PatternOfName};

/// All that is found, and what holds for the whole text.
pub(super) struct ScriptWalk<'a> {
    pub around: &'a ShellEnvironment<'a>,
    pub fuel: ReadingFuel<'a>,
    pub draft: ShellAnalysisDraft,
    pub numbers: ArithmeticVariables,
    /// Scripts that run at some time later, wherever that is.
    pub traps: Vec<(String, ShellDialect)>,
    pub visited: Vec<WorkingDirectory>,
    /// Variables that hold numbers of open files.
    pub descriptors: HashSet<String>,
    /// Links that the text makes.
    pub links: Vec<ScriptLink>,
    /// Folders that patterns were held against.
    pub seen: FoldersSeen,
    /// A search may list the daemon's secrets, for others to open.
    pub searches_secret: bool,
    pub depth: usize,
    pub steps: usize,
    /// The letters of all texts that were read, nested ones, too.
    pub letters: usize,
}

/// Everything that holds where a command runs.
#[derive(Debug, Clone)]
pub(super) struct CommandScope {
    pub place: WorkingDirectory,
    pub home: Option<PathBuf>,
    /// `$PWD` may have been set to something else.
    pub keeps_directory: bool,
    pub input: CommandInput,
    pub functions: Rc<HashMap<String, Rc<CommandNode>>>,
    /// Functions that are being run, so that one that calls itself ends.
    pub calls: Rc<Vec<String>>,
    pub dialect: ShellDialect,
}

impl CommandScope {
    pub fn new(around: &ShellEnvironment<'_>) -> CommandScope {
        CommandScope {
            place: WorkingDirectory::new(around.directory),
            home: around.home.map(PathBuf::from),
            keeps_directory: true,
            input: CommandInput::Outside,
            functions: Rc::default(),
            calls: Rc::default(),
            dialect: ShellDialect::Bash,
        }
    }

    pub fn known(&self) -> ShellVariables<'_> {
        ShellVariables {
            home: self.home.as_deref(),
            directory: self.directory(),
            has_own_cat: !self.functions.contains_key("cat"),
        }
    }

    fn directory(&self) -> Option<&std::path::Path> {
        let is_sure = self.keeps_directory && self.place.others.is_empty();
        self.place.main.as_deref().filter(|_| is_sure)
    }

    pub fn with_input(&self, input: CommandInput) -> CommandScope {
        CommandScope { input, ..self.clone() }
    }
}

/// The text that stands in a command's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandInput {
    /// Whatever the whole text was given.
    Outside,
    /// This text.
    Text(String),
    /// What only running it would tell: another command's output, a file.
    Pipe,
}

/// A link that the text makes.
#[derive(Debug, Clone)]
pub(super) struct ScriptLink {
    pub path: PathBuf,
    /// Everywhere it may lead.
    pub leads: Vec<PathBuf>,
}

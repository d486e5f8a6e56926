//! What was found so far? A reading while it is made; it only ever gets stricter.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use super::{RiskFinding, ShellAnalysis, value::WordValue};
use protocol::{CommandReach, CommandWord, ResourceAccess, Risk, ShellCommand};

/// Commands that one text may have. More are a program.
const MOST_COMMANDS: usize = 2_000;
/// Files that one text may name.
const MOST_ACCESSES: usize = 2_000;

#[derive(Debug)]
pub(super) struct ShellAnalysisDraft {
    commands: Vec<ShellCommand>,
    known_commands: HashSet<ShellCommand>,
    accesses: Vec<ResourceAccess>,
    known_accesses: HashSet<ResourceAccess>,
    findings: Vec<RiskFinding>,
    known_findings: HashSet<RiskFinding>,
    /// Known names of the commands.
    names: HashSet<String>,
    /// The name of a command may be any.
    has_open_name: bool,
    unknown: Option<String>,
    /// Something changes what commands find in their environment, or reads other lines into the shell.
    is_set_up: bool,
}

impl ShellAnalysisDraft {
    pub fn new() -> ShellAnalysisDraft {
        ShellAnalysisDraft {
            commands: Vec::new(),
            known_commands: HashSet::new(),
            accesses: Vec::new(),
            known_accesses: HashSet::new(),
            findings: Vec::new(),
            known_findings: HashSet::new(),
            names: HashSet::new(),
            has_open_name: false,
            unknown: None,
            is_set_up: false,
        }
    }

    /// Its commands find another environment than the one of whoever allowed them by their words.
    pub fn sets_up(&mut self) {
        self.is_set_up = true;
    }

    /// One of which nobody asked how far it reaches.
    pub fn command(&mut self, words: Vec<CommandWord>) {
        self.reaching(words, CommandReach::Anywhere);
    }

    pub fn reaching(&mut self, words: Vec<CommandWord>, reach: CommandReach) {
        let command = ShellCommand { words, reach };
        if self.known_commands.contains(&command) {
            return;
        }
        if self.commands.len() >= MOST_COMMANDS {
            return self.unknown("it has too many commands");
        }
        match command.words.first() {
            Some(CommandWord::Known(name)) => drop(self.names.insert(name.clone())),
            Some(CommandWord::Unknown(_)) => self.has_open_name = true,
            None => (),
        }
        self.known_commands.insert(command.clone());
        self.commands.push(command);
    }

    pub fn access(&mut self, access: ResourceAccess) {
        if self.known_accesses.contains(&access) {
            return;
        }
        if self.accesses.len() >= MOST_ACCESSES {
            return self.unknown("it names too many files");
        }
        self.known_accesses.insert(access.clone());
        self.accesses.push(access);
    }

    /// True if it was found before.
    pub fn has_access(&self, access: &ResourceAccess) -> bool {
        self.known_accesses.contains(access)
    }

    pub fn writes(&mut self, path: &Path) {
        self.access(ResourceAccess::Write { path: path.to_owned() });
    }

    pub fn reads(&mut self, path: PathBuf) {
        self.access(ResourceAccess::Read { path });
    }

    pub fn writes_something(&mut self, value: &WordValue) {
        self.access(ResourceAccess::Opaque { what: format!("writes the file that `{}` names", value.raw()) });
    }

    pub fn reads_something(&mut self, value: &WordValue) {
        self.access(ResourceAccess::Opaque { what: format!("reads the file that `{}` names", value.raw()) });
    }

    pub fn found(&mut self, risk: Risk, what: impl Into<String>) {
        let finding = RiskFinding { risk, what: what.into() };
        if risk > Risk::Medium && self.known_findings.insert(finding.clone()) {
            self.findings.push(finding);
        }
    }

    /// The first reason stays.
    pub fn unknown(&mut self, why: impl Into<String>) {
        self.unknown.get_or_insert_with(|| why.into());
    }

    /// True if a command of this name was found, or one whose name may be any.
    pub fn has_command(&self, name: &str) -> bool {
        self.has_open_name || self.names.contains(name)
    }

    pub fn is_unknown(&self) -> bool {
        self.unknown.is_some()
    }

    pub fn finish(self) -> ShellAnalysis {
        let worst = self.findings.iter().map(|finding| finding.risk).max().unwrap_or(Risk::Medium);
        let floor = if self.unknown.is_some() { Risk::High } else { Risk::Medium };
        let mut commands = self.commands;
        if self.is_set_up {
            let of_words = commands.iter_mut().filter(|command| command.reach == CommandReach::Workspace);
            of_words.for_each(|command| command.reach = CommandReach::Anywhere);
        }
        ShellAnalysis {
            commands,
            accesses: self.accesses,
            risk: worst.max(floor),
            findings: self.findings,
            unknown: self.unknown,
        }
    }
}
